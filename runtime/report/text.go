// Package report renders what a run came to: as text for a terminal, as short
// text for an agent, and as a JSON document. What comes in is a
// [runner.Outcome]; nothing here decides a verdict or an exit status.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/runner"
)

// A Form is the kind of reader that a text is for.
type Form uint8

const (
	// Agent is short: silent about passes except for a count, at most
	// AgentLimit bytes, without colour, with an index of failures at the end.
	Agent Form = iota
	// Terminal lists every line, passes first and failures last, each failure
	// with its command, tail and hint.
	Terminal
	// CI is Terminal without a bound on the tails.
	CI
)

// AgentLimit is the greatest size of an agent's report, in bytes.
const AgentLimit = 2048

// Options say how to render a text.
type Options struct {
	Form  Form
	Color bool
	// Rel shortens the paths of logs; nil leaves them.
	Rel func(path string) string
	// Rerun is the command that runs one line again, for example
	// "dialect run quality.dlct:5"; nil leaves the advice out.
	Rerun func(s *plan.Step) string
	// Store is where the receipts are, for people; empty leaves it out.
	Store string
}

// Text writes o for a reader of opt.Form.
func Text(w io.Writer, o *runner.Outcome, opt Options) error {
	p := &printer{opt: opt, o: o}
	if opt.Form == Agent {
		p.agent()
	} else {
		p.terminal()
	}
	_, err := w.Write(p.buf.Bytes())
	return err
}

type printer struct {
	buf bytes.Buffer
	opt Options
	o   *runner.Outcome
}

func (p *printer) f(format string, args ...any) { fmt.Fprintf(&p.buf, format, args...) }

// paint wraps text in a colour, given as an SGR parameter.
func (p *printer) paint(sgr, text string) string {
	if !p.opt.Color {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

const (
	green  = "32"
	red    = "1;31"
	yellow = "33"
	dim    = "2"
	bold   = "1"
)

func (p *printer) terminal() {
	width := 0
	runner.Leaves(p.o.Results, func(r *runner.Result) {
		width = max(width, len(r.Step.ID)+len(title(r))+2)
	})
	width = min(width, 60)
	// Passes, then what was given up, then what failed: the last is what is read.
	rows := slices.Clone(p.o.Results)
	slices.SortStableFunc(rows, func(a, b *runner.Result) int { return cmp.Compare(rank(a), rank(b)) })
	for _, r := range rows {
		p.row(r, 0, width)
	}
	runner.Leaves(p.o.Results, func(r *runner.Result) {
		if p.needsBlock(r) {
			p.f("\n")
			tail := r.Step.Budget.TailLines
			if p.opt.Form == CI {
				tail = 1000
			}
			p.block(r, tail, 1<<20)
		}
	})
	if len(rows) > 0 {
		p.f("\n")
	}
	p.summary()
}

// row writes the line of one result in the list, and those of its members.
func (p *printer) row(r *runner.Result, depth, width int) {
	mark, sgr := mark(r)
	indent := strings.Repeat("  ", depth)
	name := indent + r.Step.ID + "  " + title(r)
	line := fmt.Sprintf("%s  %-*s", p.paint(sgr, fmt.Sprintf("%-4s", mark)), width, name)
	if !r.Started.IsZero() {
		line += fmt.Sprintf("  %8s", seconds(r.Duration))
	}
	var notes []string
	if r.Verdict != runner.Passed && r.Detail != "" && r.Step.Kind != plan.Composite {
		notes = append(notes, clean(r.Detail))
	}
	if t := r.Tests; t != nil {
		notes = append(notes, testCount(t))
	}
	if r.Waited >= 100*time.Millisecond {
		notes = append(notes, "waited "+seconds(r.Waited)+" for "+r.Step.Exclusive)
	}
	if len(notes) > 0 {
		line += "  " + p.paint(dim, strings.Join(notes, ", "))
	}
	p.f("%s\n", strings.TrimRight(line, " "))
	for _, m := range r.Members {
		p.row(m, depth+1, width)
	}
}

// block writes all that helps to understand one result that did not pass, with
// at most lines lines and size bytes of its output.
func (p *printer) block(r *runner.Result, lines, size int) {
	s := r.Step
	p.f("%s: %s: %s\n", p.paint(bold, place(s)), clean(title(r)), p.paint(red, verdict(r)))
	if len(s.Argv) > 0 && s.Kind == plan.Process {
		p.f("  $ %s\n", command(s))
	}
	tail := tailLines(r, lines, size)
	if f := r.Finding; f != nil && (f.File != "" || len(tail) == 0) && !slices.ContainsFunc(tail, func(l string) bool { return strings.Contains(l, clean(f.Message)) }) {
		p.f("  error: %s\n", cut(clean(f.String()), 160))
	}
	for _, l := range tail {
		p.f("%s\n", strings.TrimRight("  | "+l, " "))
	}
	if r.Gate != nil {
		for _, ref := range r.Gate.Refusals {
			p.f("  %s\n", clean(ref.Error()))
		}
	}
	if s.Hint != "" {
		p.f("  hint: %s\n", clean(s.Hint))
	}
	if s.Skill != "" {
		p.f("  skill: %s\n", clean(s.Skill))
	}
	if r.Process != nil {
		for _, n := range r.Process.Notes {
			p.f("  note: %s\n", clean(n))
		}
	}
	for _, path := range logs(r) {
		p.f("  log: %s\n", p.rel(path))
	}
	if p.opt.Rerun != nil && r.Step.Kind != plan.Builtin {
		p.f("  again: %s\n", p.opt.Rerun(s))
	}
}

// agent writes the short form: the blocks of the failures, then an index of
// them, then the verdict. The index and the verdict always fit; the tails share
// what is left of AgentLimit.
func (p *printer) agent() {
	var bad []*runner.Result
	runner.Leaves(p.o.Results, func(r *runner.Result) {
		if p.needsBlock(r) {
			bad = append(bad, r)
		}
	})
	end := &printer{opt: p.opt, o: p.o}
	if len(bad) > 1 { // of one failure the block says it all
		end.f("index:\n")
		const most = 12
		for i, r := range bad {
			if i == most {
				end.f("  and %d more; see --json\n", len(bad)-most)
				break
			}
			end.f("%s\n", cut(place(r.Step)+" | "+verdict(r)+" | "+firstError(r), 110))
		}
	}
	end.summary()
	left := AgentLimit - end.buf.Len()
	for i, r := range bad {
		share := left / (len(bad) - i)
		b := &printer{opt: p.opt, o: p.o}
		b.block(r, 0, 0)
		if b.buf.Len() > share {
			continue // the index names it
		}
		if room := share - b.buf.Len(); room > 40 {
			b.buf.Reset()
			b.block(r, min(max(r.Step.Budget.TailLines, 1), 15), room)
		}
		if b.buf.Len() <= left {
			p.buf.Write(b.buf.Bytes())
			left -= b.buf.Len()
		}
	}
	p.buf.Write(end.buf.Bytes())
}

// summary writes the last line: verdict, counts, seconds, gate, trust level.
func (p *printer) summary() {
	o := p.o
	total := len(o.Results)
	word, sgr := strings.ToUpper(o.Verdict()), red
	var parts []string
	switch o.Verdict() {
	case "passed":
		word, sgr = "passed", green
		parts = append(parts, diag.Number(total, "line"))
		if t := o.Tests(); t != nil {
			parts = append(parts, testCount(t))
		}
		if n := o.Count(runner.Flaky); n > 0 {
			parts = append(parts, strconv.Itoa(n)+" flaky")
		}
		if n := o.Count(runner.Skipped); n > 0 {
			parts = append(parts, strconv.Itoa(n)+" skipped")
		}
	case "interrupted":
		word += " by " + o.Signal
		fallthrough
	default:
		if total == 0 {
			parts = append(parts, "nothing was tested")
			break
		}
		for _, v := range []runner.Verdict{runner.Fault, runner.Failed, runner.Flaky, runner.Cancelled, runner.Skipped, runner.Passed} {
			if n := o.Count(v); n > 0 {
				parts = append(parts, strconv.Itoa(n)+" "+string(v))
			}
		}
		if total > 1 {
			parts[len(parts)-1] += " of " + diag.Number(total, "line")
		}
	}
	p.f("%s: %s in %s; %s\n", p.paint(sgr, word), strings.Join(parts, ", "), seconds(o.Duration), p.gate())
	if o.Limit != "" {
		p.f("%s\n", o.Limit)
	}
	told := 0
	runner.Leaves(o.Results, func(r *runner.Result) {
		if b := r.Baseline; b != nil && told < 5 {
			told++
			p.f("%s: %s: %d tests passed, %d did in %s\n", p.paint(yellow, "warning"), place(r.Step), r.Tests.Passed, b.Passed, b.Run)
		}
	})
	p.leftRunning()
	if o.KeepGoing {
		p.f("--keep-going: lines that change state ran after a failure\n")
	}
	if o.Gate.Verdict == runner.GateRefusal {
		for i, ref := range o.Gate.Refusals {
			// That there is no store needs no proof by enumeration.
			if i == 8 || i == 2 && ref.Reason == receipts.Degraded {
				p.f("  and %d more refusals; see --json\n", len(o.Gate.Refusals)-i)
				break
			}
			p.f("  %s\n", p.bounded(ref.Error()))
		}
	}
	if len(o.Gate.Noted) > 0 {
		p.f("note: files that came during the run were not tested: %s\n", p.bounded(some(o.Gate.Noted, 5)))
		p.f("hint: ignore them in a tracked .gitignore, or add their directory to caches in routing.toml; else run again\n")
	}
	if o.Degraded != "" {
		p.f("%s: %s\n", p.paint(yellow, "DEGRADED"), p.bounded(Degraded(o)))
	}
	if len(o.Removed) > 0 && o.Verdict() != "passed" {
		p.f("note: not passed on to the tools: %s (set them in routing.toml, env = {...}, if a check needs them)\n", p.bounded(strings.Join(o.Removed, ", ")))
	}
	if p.opt.Form == Terminal && p.opt.Store != "" && o.Degraded == "" && o.Verdict() != "passed" {
		p.f("%s\n", p.paint(dim, "receipts: dialect receipts list --run "+o.Run))
	}
}

// leftRunning names what commands left running that have no block of their own.
func (p *printer) leftRunning() {
	told := 0
	runner.Leaves(p.o.Results, func(r *runner.Result) {
		if r.Process == nil || len(r.Process.Left) == 0 || p.needsBlock(r) || told >= 5 {
			return
		}
		told++
		var names []string
		for _, l := range r.Process.Left {
			names = append(names, strconv.Itoa(l.PID)+" "+l.Name)
		}
		p.f("note: %s: left running: %s\n", place(r.Step), p.bounded(some(names, 5)))
	})
}

func (p *printer) gate() string {
	g := p.o.Gate
	switch g.Verdict {
	case runner.GatePassed:
		if list := exceptions(g); len(list) > 0 {
			return fmt.Sprintf("gate %s (%s)", g.ID, strings.Join(list, ", "))
		}
		return "gate " + g.ID
	case runner.GateRefusal:
		return "gate REFUSED"
	case runner.GateDeferred:
		return fmt.Sprintf("gate deferred, %s left", diag.Number(g.Members, "receipt"))
	case runner.GateDegraded:
		return "no gate: DEGRADED"
	case runner.GateVacuous:
		return "gate not run: " + g.Detail
	default:
		return "gate not run"
	}
}

// bounded cleans a text of unknown length, and cuts it where space is short.
func (p *printer) bounded(s string) string {
	if p.opt.Form == Agent {
		return cut(clean(s), 200)
	}
	return clean(s)
}

// testCount renders what a test runner counted.
func testCount(t *receipts.Tests) string {
	text := diag.Number(t.Passed+t.Failed, "test")
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	return text
}

// some renders the first n of paths.
func some(paths []string, n int) string {
	text := strings.Join(paths[:min(len(paths), n)], ", ")
	if len(paths) > n {
		text += fmt.Sprintf(" and %d more", len(paths)-n)
	}
	return text
}

// exceptions says what is out of the ordinary about a gate that passed.
func exceptions(g *runner.Gate) (list []string) {
	if g.Level >= receipts.LevelKey {
		list = append(list, "recorded under a key")
	}
	if !g.Final {
		list = append(list, "part of the script")
	}
	if g.Reused > 0 {
		list = append(list, fmt.Sprintf("%d reused", g.Reused))
	}
	switch g.Policy {
	case receipts.PolicyChanged:
		list = append(list, "rules CHANGED")
	case receipts.PolicyNew:
		list = append(list, "rules new")
	}
	if g.Failures > 0 {
		list = append(list, "failed "+Times(g.Failures)+" on exactly these files")
	}
	if g.Early > 0 {
		list = append(list, CutShort(g.Early))
	}
	return list
}

// CutShort says that n attempts ended without an answer.
func CutShort(n int) string {
	if n == 1 {
		return "1 attempt on exactly these files gave no answer"
	}
	return fmt.Sprintf("%d attempts on exactly these files gave no answer", n)
}

// Times renders how often something happened.
func Times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func (p *printer) rel(path string) string {
	if p.opt.Rel != nil {
		return p.opt.Rel(path)
	}
	return path
}

// rank orders the rows of a list.
func rank(r *runner.Result) int {
	switch {
	case r.Verdict.Bad():
		return 2
	case r.Verdict == runner.Passed, r.Verdict == runner.Flaky, r.Verdict == runner.Skipped && (r.Reason == runner.NoFailure || r.Reason == runner.NotNeeded):
		return 0
	default:
		return 1
	}
}

// needsBlock reports whether r is worth a block of its own: a step that failed
// itself, not one that was given up for another. What the final gate says is part
// of the summary.
func (p *printer) needsBlock(r *runner.Result) bool {
	return r.Verdict.Bad() && (r.Gate == nil || r.Gate != p.o.Gate)
}

func mark(r *runner.Result) (word, sgr string) {
	switch r.Verdict {
	case runner.Passed:
		return "ok", green
	case runner.Flaky:
		return "flak", yellow
	case runner.Failed:
		return "FAIL", red
	case runner.Fault:
		return "FALT", red
	case runner.Cancelled:
		return "stop", yellow
	default:
		return "skip", yellow
	}
}

// title is what a result is called: the line of the script, or, for a member of
// a composite, the words of its binding.
func title(r *runner.Result) string {
	s := r.Step
	if strings.Contains(s.ID, ".") {
		return s.Verb + " " + s.Noun
	}
	return s.Line.Text
}

func place(s *plan.Step) string {
	at := s.Line.File + ":" + strconv.Itoa(s.Line.Number)
	if strings.Contains(s.ID, ".") {
		at += " (" + s.ID + ")"
	}
	return at
}

// verdict says how a result ended, with the reason and the time.
func verdict(r *runner.Result) string {
	text := string(r.Verdict)
	switch {
	case r.Verdict == runner.Fault:
		text += " " + string(r.Reason)
		if r.Detail != "" {
			text += ", " + clean(r.Detail)
		}
	case r.Detail != "":
		text += ", " + clean(r.Detail)
	}
	if !r.Started.IsZero() {
		text += ", " + seconds(r.Duration)
	}
	return text
}

// command is the argv of a step as it could be typed at a shell.
func command(s *plan.Step) string { return Command(s.Argv) }

// Command renders an argv as it could be typed at a shell.
func Command(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shellQuote(a)
	}
	return clean(strings.Join(words, " "))
}

func shellQuote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("%+,-./:=@_", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func logs(r *runner.Result) []string {
	if r.Process == nil {
		return nil
	}
	var paths []string
	for _, out := range []string{r.Process.Stdout.Log, r.Process.Stderr.Log} {
		if out != "" {
			paths = append(paths, filepath.Clean(out))
		}
	}
	return paths
}

// seconds renders a duration for people: "0.04 s", "12.3 s", "2m03s".
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 2, 64) + " s"
	case s < 60:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	default:
		return d.Round(time.Second).String()
	}
}

// Rerun returns the command that runs the line of s again, or "" for a script
// that is not a file.
func Rerun(p *plan.Plan, s *plan.Step) string {
	if p.Script.Path == "" {
		return "dialect run -e " + shellQuote(s.Line.Text)
	}
	return "dialect run " + shellQuote(s.Line.File+":"+strconv.Itoa(s.Line.Number))
}

// AgentVariable names the variable that says that an agent reads the report, on a machine of CI
// as well.
const AgentVariable = "DIALECT_AGENT"

// Degraded says, of a run that is degraded, how many receipts were not kept, and why.
func Degraded(o *runner.Outcome) string {
	kept, lost := 0, 0
	runner.Leaves(o.Results, func(r *runner.Result) {
		switch {
		case r.Degraded:
			lost++
		case !r.Receipt.IsZero():
			kept++
		}
	})
	switch {
	case kept == 0:
		return "no receipt was kept: " + o.Degraded
	case lost == 0:
		return "the receipts of all lines were kept, but the store failed: " + o.Degraded
	default:
		return fmt.Sprintf("%d of %d receipts were not kept: %s", lost, kept+lost, o.Degraded)
	}
}
