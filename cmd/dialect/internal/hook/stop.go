package hook

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/report"
)

// maxReport bounds the reason of a refusal, in bytes, and maxPaths how many paths it names.
const (
	maxReport = 2500
	maxPaths  = 10
)

// prompt notes the state of the files at a person's prompt. Where nobody judged what changed since an earlier one (the agent asked, is held, or is still
// at work), that stays the begin: the person's answer verifies nothing.
func (r *run) prompt(s *journal.Session) reply {
	r.begin(s)
	var now receipts.Tree
	anew := !s.Open || s.Prompt.Bytes.IsZero()
	l, err := r.ask("", func(q *inquiry.Question) bool {
		now = present(q)
		if snap := q.Snapshot(); snap != nil {
			if paths, ok := since(s.Kept(journal.AtStop), snap); ok && s.Stopped {
				s.Others = append(s.Others, absolute(snap, paths)...)
			}
			if anew {
				s.Keep(journal.AtPrompt, snap.Manifest())
				s.Rules = q.Rules()
			}
		}
		return true
	})
	if err == nil && l.evidence.NoTree != "" {
		err = fmt.Errorf("not checked: %s", l.evidence.NoTree)
	}
	if anew {
		s.Prompt = now
	}
	s.Held, s.Open, s.Stopped = 0, true, false
	s.Ignored, s.Waited = append(s.Ignored, s.Waited...), nil
	if s.Start.Bytes.IsZero() {
		s.Start = now
	}
	if err == nil {
		err = s.Save()
	}
	if err != nil {
		return reply{Decision: decide.Decision{Action: decide.Allow, Rule: "prompt", Text: err.Error()}}
	}
	return reply{Decision: decide.Decision{Action: decide.Allow, Rule: "prompt"}}
}

// stop decides whether the agent may end its turn.
func (r *run) stop(f decide.Stop, s *journal.Session) reply {
	d := f.Decide()
	if d.Action != decide.Look {
		return reply{Decision: d}
	}
	r.begin(s)
	var unchanged bool
	var l *look
	learn := func() error {
		var err error
		l, err = r.ask("", func(q *inquiry.Question) bool {
			now := present(q)
			unchanged = !s.Prompt.Bytes.IsZero() && s.Prompt.SameFiles(now)
			return unchanged
		})
		if err != nil {
			return err
		}
		e := &l.evidence
		e.Unchanged, e.NewRules = unchanged, s.Rules != "" && s.Rules != l.q.Rules()
		if snap := l.q.Snapshot(); l.res != nil && l.res.Verdict != verify.Verified && snap != nil {
			paths, ok := since(s.Kept(journal.AtPrompt), snap)
			if e.Ignored = ok && ignored(r.ctx, l.q, paths); !e.Ignored && l.res.Verdict == verify.Stale && ignored(r.ctx, l.q, bare(l.doc.Changed)) {
				if e.Ignored, err = r.verifiedThen(l); err != nil {
					return err
				}
			}
		}
		if e.Verdict == verify.Failed {
			if e.Old = r.old(l, s); e.Old {
				if e.Unrun, err = l.q.Unrun(r.ctx, cmp.Or(r.head, "HEAD"), l.res); err != nil {
					return err
				}
			}
		}
		f.Evidence, f.Held, f.HeldHere = e, s.Held, s.HeldOn(r.tree)
		d = f.Decide()
		return nil
	}
	if err := learn(); err != nil {
		return fault("no-look", err)
	}
	ran := ""
	if d.Action == decide.Refuse && d.Rule == "not-checked" {
		if c := r.check(l); c != nil && c.overrun {
			f.Overrun = c.text
			d = f.Decide()
		} else if c != nil {
			ran = c.text
			if err := learn(); err != nil {
				return fault("no-look", err)
			}
		}
	}
	snap, tree := l.q.Snapshot(), r.tree
	out := reply{Decision: d}
	if out.Text == "" {
		out.Text = ran
	}
	if d.Action == decide.Refuse {
		s.Held++
		s.Trees = append(s.Trees, tree)
		out.say = r.reason(l, s)
	}
	s.Stopped, s.Open = true, d.Action == decide.Refuse || d.Rule == "question" || d.Rule == "background"
	if d.Rule == "background" {
		s.Waited = r.event.Background
	}
	if snap != nil && !unchanged {
		s.Keep(journal.AtStop, snap.Manifest())
	}
	if err := s.Save(); err != nil && d.Action == decide.Refuse {
		return fault("not-counted", err) // what cannot be counted has no bound
	}
	return out
}

// verifiedThen reports whether the files were verified as they were at the gate of l: a gate of a part of what has to pass, or one after which that
// failed, says nothing of what did not change since.
func (r *run) verifiedThen(l *look) (bool, error) {
	if l.res.Body == nil || l.res.Body.Tree == nil {
		return false, nil
	}
	res, err := l.q.At(*l.res.Body.Tree).AskWhole(r.ctx, "", cmp.Or(r.head, "HEAD"))
	return err == nil && res.Verdict == verify.Verified, err
}

// bare returns the paths of a document without what stands in parentheses after them.
func bare(list []string) (paths []string) {
	for _, p := range list {
		if i := strings.LastIndex(p, " ("); i >= 0 {
			p = p[:i]
		}
		paths = append(paths, p)
	}
	return paths
}

// reason is what an agent reads that is held: what is wrong, and last the one command to run.
func (r *run) reason(l *look, s *journal.Session) string {
	var b strings.Builder
	b.WriteString(Held + " ")
	command := next(l.doc)
	failed, unrun := l.evidence.Verdict == verify.Failed, l.evidence.Unrun
	switch {
	case failed && len(unrun) > 0:
		fmt.Fprintf(&b, "these lines have not run on the present files: %s\nthe other failures are older than this session.\n", some(unrun))
		command = report.Command(append([]string{"printf", `%s\n`}, unrun...)) + " | dialect run"
	case failed:
		fmt.Fprintf(&b, "the checks fail on these files.\n%s", r.report(l))
	default:
		b.WriteString("not checked since the last edit.\n")
		if len(l.res.Refusals) > 0 && l.res.Refusals[0].Reason == receipts.NotCovered {
			b.WriteString(l.evidence.Why + "\n")
		}
		if others := l.q.Others(); len(others) > 0 {
			fmt.Fprintf(&b, "this worktree has a store of its own: what was checked in another one does not count here: %s\n", some(others))
		}
	}
	paths, than, snap := bare(l.doc.Changed), "gate", l.q.Snapshot()
	if len(paths) == 0 { // there is none
		than = "prompt"
		paths, _ = since(s.Kept(journal.AtPrompt), snap)
	}
	if len(paths) > 0 && snap != nil {
		fmt.Fprintf(&b, "changed since the last %s: %s\n", than, some(paths))
		var foreign []string
		for _, p := range s.Foreign(absolute(snap, paths)) {
			rel, _ := filepath.Rel(snap.Root, p) // it is below
			foreign = append(foreign, filepath.ToSlash(rel))
		}
		if len(foreign) > 0 {
			fmt.Fprintf(&b, "not written by this session, leave them as they are: %s\n", some(foreign))
		}
	}
	if failed && len(unrun) == 0 {
		b.WriteString("fix what fails, then run: " + command)
	} else {
		b.WriteString("run: " + command)
	}
	return diag.PrintableLines(b.String())
}

func some(paths []string) string { return diag.Some(paths, len(paths), maxPaths) }

// next is the command that leads to a verified tree: the last of those that a verdict names.
func next(doc inquiry.Document) string {
	for _, n := range slices.Backward(doc.Next) {
		if !strings.HasPrefix(n, "#") {
			return n
		}
		if _, run, ok := strings.Cut(n, ": dialect run "); ok {
			return "dialect run " + run
		}
	}
	return "dialect verify"
}

// report is the text of the run that failed, as an agent gets it.
func (r *run) report(l *look) string {
	for _, refusal := range l.res.Refusals {
		if refusal.SHA.IsZero() {
			continue
		}
		doc, _, err := (history.Documents{Archive: archive.Of(l.q.Store())}).Line(refusal.SHA.String())
		var b strings.Builder
		if err == nil && report.Text(&b, doc, report.Options{Form: report.Agent}) == nil {
			text := b.String()
			if len(text) > maxReport {
				text = strings.ToValidUTF8(text[:maxReport], "") + "\n"
			}
			return text
		}
	}
	return l.evidence.Why + "\n"
}
