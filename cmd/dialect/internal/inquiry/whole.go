package inquiry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/recording"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// maxScript bounds what is read of a default script, in bytes.
const maxScript = 1 << 20

// fromRun stands for each value that a line takes from the environment of its run, which differs from that of the asker.
const fromRun = "dialect-value-of-the-run"

// A Bound line is a command of the default script.
type Bound struct {
	verify.Requirement
	Line   plan.Line
	writes bool
	varies bool // its command depends on the environment of its run
	words  []string
	hidden []bool // the words that a redactor changes, whatever the run
}

// meets reports whether r is a receipt of the line.
func (b Bound) meets(r *receipts.Receipt) bool {
	n := b.Requirement
	if b.varies && r.Binding == n.Binding && len(r.Argv) == len(b.words) {
		n.Command = r.Command
		for i, was := range r.Argv {
			if !like(b.words[i], was) && !(was.Redacted && b.hidden[i]) {
				return false
			}
		}
	}
	return n.Meets(r)
}

// like reports whether a word of a line that varies can have become that of a receipt. Nothing more is known about a word that was dropped or redacted.
func like(word string, was receipts.Datum) bool {
	before, after, varies := strings.Cut(word, fromRun)
	switch {
	case was.Redacted: // a word that neither varies nor holds a secret is not a part of what was taken out
		return varies || strings.Contains(word, plan.HiddenValue)
	case !was.SHA256.IsZero():
		return varies || was.SHA256 == sha256.Sum256([]byte(word))
	case !varies:
		return was.Text == word
	}
	if i := strings.LastIndex(after, fromRun); i >= 0 {
		after = after[i+len(fromRun):]
	}
	return len(was.Text) >= len(before)+len(after) && strings.HasPrefix(was.Text, before) && strings.HasSuffix(was.Text, after)
}

// Default returns the commands of the default script, see [project.DefaultScript], as the commit from has it and the trusted matrix binds it; if that commit
// has no such script, or from is empty, as it is here. Changed says that the script here differs. Default leaves out lines that run only after a
// failure, and those that a handler of the runtime carries out.
func (q *Question) Default(ctx context.Context, from string) (path string, list []Bound, changed bool) {
	if q.rules == nil {
		return "", nil, false
	}
	dir := filepath.Join(q.root, filepath.FromSlash(q.From))
	here := func(path string) []byte {
		text, err := regular.Read(path, maxScript)
		if err != nil {
			return nil
		}
		return text
	}
	var text []byte
	if from == "" {
	} else if c, err := workspace.Resolve(ctx, q.root, from, workspace.Options{}); err == nil {
		if path, _, err = project.DefaultScriptIn(ctx, c, dir, q.rules); err == nil && path != "" {
			if b, err := c.ReadFile(ctx, path); err == nil && len(b) <= maxScript {
				text, changed = b, q.commit == nil && !bytes.Equal(b, here(path))
			}
		}
	}
	if text == nil {
		if path, _ = project.DefaultScript(dir, q.rules); path != "" {
			text = here(path)
		}
	}
	if text == nil {
		return "", nil, false
	}
	file, parsed := lang.Parse(diag.NewSource(path, text))
	p, _ := resolve.Resolve(file, q.rules, resolve.Options{Parsed: parsed, Env: func(string) (string, bool) { return fromRun, true }, Vars: given(file, q.rules)})
	if p == nil {
		return path, list, changed
	}
	public := recording.Redactor(p, "")
	passing(p.Steps, func(s *plan.Step) {
		if s.Kind == plan.Builtin {
			return
		}
		argv := s.Command()
		words := s.Identity()
		hidden := make([]bool, len(words))
		for i, word := range words {
			hidden[i] = public.Text(word) != word
		}
		list = append(list, Bound{verify.Requirement{
			Name: s.Binding, Binding: s.Binding, Command: receipts.CommandHash(words), Dir: dirOf(q.rules.Root, s), Words: report.Command(argv),
		}, s.Line, s.Effect == plan.Write, slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, fromRun) }), words, hidden})
	})
	return path, list, changed
}

// given has the variables of a script that its matrix gives no value: --set does, in each run.
func given(file *lang.File, m *routing.Matrix) map[string]string {
	vars := make(map[string]string)
	look := func(v *lang.Value) {
		lang.Expand(v.Text, func(name string) (string, bool) {
			if _, known := m.Vars[name]; !known && !strings.HasPrefix(name, "env.") {
				vars[name] = fromRun
			}
			return "", true
		})
	}
	for _, c := range file.Commands {
		if c.Object != nil {
			look(c.Object)
		}
		for i := range c.Arguments {
			look(&c.Arguments[i].Value)
		}
	}
	return vars
}

// AskWhole is [Question.Ask], but a gate counts only if it covers every line of the default script, as the commit from has it. That applies
// if there is such a script and the rules require nothing themselves. Other failures on these files become notes.
func (q *Question) AskWhole(ctx context.Context, rev, from string) (*verify.Result, error) {
	var list []Bound
	var changed bool
	if len(q.Require) == 0 {
		q.whole, list, changed = q.Default(ctx, from)
	}
	res, err := q.Ask(ctx, nil, "", rev, "")
	if err != nil || len(list) == 0 {
		return res, err
	}
	passed := res.Verdict == verify.Verified || res.Verdict == verify.Scoped
	if !passed {
		if aside, err := q.aside(ctx, res, list); err != nil || !aside {
			return res, err
		}
	}
	left := uncovered(res.Members, list)
	if passed && left == nil {
		return res, nil
	}
	other := *q
	for _, b := range list {
		if !b.varies && !b.writes { // what wrote ran on other files
			other.Require = append(other.Require, b.Requirement)
		}
	}
	if len(other.Require) > 0 {
		again, err := other.answer(ctx, "")
		if err != nil {
			return nil, err
		}
		verified := again.Verdict == verify.Verified || again.Verdict == verify.Scoped
		switch {
		case verified && uncovered(again.Members, list) == nil:
			return again, q.notes(ctx, again, rev)
		case !verified && !passed: // what refuses the lines themselves, and not what failed beside them
			err := q.notes(ctx, again, rev)
			q.nextSteps = q.nextOf(again, rev)
			return again, err
		}
	}
	if !passed {
		return res, nil
	}
	name := place.Short(q.whole)
	refusal := receipts.Refusal{Reason: receipts.NotCovered, Message: name + " was not run as a whole: no gate on these files covers its line " + left.Line.Text}
	verdict := verify.Missing
	if changed {
		verdict, refusal.Reason = verify.Policy, receipts.OtherPolicy
		refusal.Message = name + " changed, and no gate on these files covers its former line " + left.Line.Text
	}
	whole := *res
	whole.Verdict, whole.Refusals = verdict, []receipts.Refusal{refusal}
	res = &whole
	q.nextSteps = q.nextOf(res, rev)
	return res, nil
}

// Unrun returns the lines of what is required, or else of the default script as the commit from has it, that were not carried out on the files
// that are asked about: they neither passed on them, nor are they among what res says failed.
func (q *Question) Unrun(ctx context.Context, from string, res *verify.Result) (lines []string, err error) {
	var list []Bound
	names := q.required() // a line each
	for _, need := range q.Require {
		if i := slices.Index(names, need.Name); i >= 0 && i < len(q.lines) {
			list = append(list, Bound{Requirement: need, Line: plan.Line{Text: q.lines[i]}})
		}
	}
	if len(list) == 0 {
		_, list, _ = q.Default(ctx, from)
	}
	if q.Tree == nil || len(list) == 0 {
		return nil, nil
	}
	err = q.withRefused(ctx, res, func(s *sqlite.Store, failed []*receipts.Receipt) error {
		for _, b := range list {
			if slices.Contains(lines, b.Line.Text) || slices.ContainsFunc(failed, b.meets) || b.writes && q.passedBefore(b, failed) {
				continue
			}
			met, err := s.Met(ctx, q.Query, b.meets)
			if err != nil {
				return err
			}
			if !met {
				lines = append(lines, b.Line.Text)
			}
		}
		return nil
	})
	return lines, err
}

// aside reports whether what res refuses are failures of commands, none of which is one of list.
func (q *Question) aside(ctx context.Context, res *verify.Result, list []Bound) (aside bool, err error) {
	if res.Verdict != verify.Failed {
		return false, nil
	}
	err = q.withRefused(ctx, res, func(_ *sqlite.Store, failed []*receipts.Receipt) error {
		aside = len(failed) == len(res.Refusals) && !slices.ContainsFunc(failed, func(r *receipts.Receipt) bool {
			return slices.ContainsFunc(list, func(b Bound) bool { return b.meets(r) })
		})
		return nil
	})
	return aside, err
}

// withRefused calls f with the store, open for reading, and the receipts that res names in what it refuses.
func (q *Question) withRefused(ctx context.Context, res *verify.Result, f func(*sqlite.Store, []*receipts.Receipt) error) error {
	o := q.storeOptions()
	o.ReadOnly = true
	return interrupt.Await(ctx, func() error {
		s, err := sqlite.Open(ctx, q.path, o)
		if err != nil {
			return err
		}
		defer s.Close()
		var failed []*receipts.Receipt
		for _, refusal := range res.Refusals {
			if refusal.SHA.IsZero() {
				continue
			}
			e, err := s.Get(ctx, refusal.SHA.String())
			if err != nil {
				return err
			}
			v, _ := e.Parse()
			if r, ok := v.(*receipts.Receipt); ok {
				failed = append(failed, r)
			}
		}
		return f(s, failed)
	})
}

// passedBefore reports whether a line that changes files passed in the run of one of failed: what fails on the files that it left has them from it.
func (q *Question) passedBefore(b Bound, failed []*receipts.Receipt) bool {
	return slices.ContainsFunc(failed, func(r *receipts.Receipt) bool {
		doc, err := (history.Documents{Archive: q.logs}).Read(r.Run)
		return err == nil && slices.ContainsFunc(doc.Lines, func(l *report.DocResult) bool {
			return l.Binding == b.Binding && l.Text == b.Line.Text && l.Verdict == "passed"
		})
	})
}

// partly says how much of the default script, as the commit rev has it, a gate covers where nothing is required and it is not all; else nothing.
func (q *Question) partly(ctx context.Context, res *verify.Result, rev string) string {
	if res.Verdict != verify.Verified || len(q.Require) > 0 || q.bundle != "" {
		return ""
	}
	path, list, _ := q.Default(ctx, rev)
	if uncovered(res.Members, list) == nil {
		return ""
	}
	covered := slices.DeleteFunc(slices.Clone(list), func(b Bound) bool { return uncovered(res.Members, []Bound{b}) != nil })
	return fmt.Sprintf("that is %d of the %s of %s", len(covered), diag.Number(len(list), "command"), place.Short(path))
}

// uncovered returns the first line that none of the receipts is of; nil for none.
func uncovered(members []*receipts.Entry, list []Bound) *Bound {
	for i, b := range list {
		if !slices.ContainsFunc(members, func(e *receipts.Entry) bool {
			v, _ := e.Parse()
			r, ok := v.(*receipts.Receipt)
			return ok && b.meets(r)
		}) {
			return &list[i]
		}
	}
	return nil
}
