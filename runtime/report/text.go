// Package report makes the document of what a run came to, and renders it: as JSON, as text for a
// terminal, as short text for an agent. What comes in is a [engine.Outcome], or the document that
// was kept of one; nothing here decides a verdict or an exit status.
//
// It is one package of up to 3,100 lines because all of its forms are of one document: a field that is
// added to it has to be shown, or left out on purpose, in each of them.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
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
	// Rel shortens paths; nil leaves them.
	Rel func(path string) string
	// Store is the path of the store in which "dialect log" looks where no flag names one; empty if there is none.
	Store string
}

// Text writes d for a reader of opt.Form. A document that was read back has less to show than
// one that [NewDocument] made: no more than 50 lines of an output.
func Text(w io.Writer, d *Document, opt Options) error {
	p := &printer{opt: opt, d: d}
	if opt.Form == Agent {
		p.agent()
	} else {
		p.terminal()
	}
	_, err := w.Write(p.buf.Bytes())
	return err
}

type printer struct {
	buf  bytes.Buffer
	opt  Options
	d    *Document
	said map[diagnose.Finding]*DocResult // the errors that were written, and of which line

	shown int // errors of the last block
}

// f writes a format of ours with strings of others: none of them, such as the name of a script, can end
// its line or drive the terminal.
func (p *printer) f(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = oneLine(a)
		case painted:
			args[i] = a.sgr + oneLine(a.text) + a.end
		}
	}
	fmt.Fprintf(&p.buf, format, args...)
}

// painted is a text with the control sequences of its colour.
type painted struct{ sgr, text, end string }

// paint gives text a colour, an SGR parameter.
func (p *printer) paint(sgr, text string) painted {
	if !p.opt.Color {
		return painted{text: text}
	}
	return painted{"\x1b[" + sgr + "m", text, "\x1b[0m"}
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
	p.leaves(func(l *DocResult) { width = max(width, len(l.ID)+len(l.Title())+2) })
	width = min(width, 60)
	// Passes, then what was given up, then what failed: the last is what is read.
	rows := slices.Clone(p.d.Lines)
	slices.SortStableFunc(rows, func(a, b *DocResult) int { return cmp.Compare(rank(a), rank(b)) })
	for _, l := range rows {
		p.row(l, 0, width)
	}
	p.leaves(func(l *DocResult) {
		if l.needsBlock() {
			p.f("\n")
			p.block(l, 1<<20)
		}
	})
	if len(rows) > 0 {
		p.f("\n")
	}
	p.summary()
}

// row writes the line of one result in the list, and those of its members.
func (p *printer) row(l *DocResult, depth, width int) {
	mark, sgr := mark(l)
	name := strings.Repeat("  ", depth) + l.ID + "  " + clean(l.Title())
	line := fmt.Sprintf("%-*s", width, name)
	if l.Started != "" {
		line += fmt.Sprintf("  %8s", seconds(l.Elapsed))
	}
	var notes []string
	if l.Verdict != string(schedule.Passed) && l.Detail != "" && l.Kind != string(plan.Composite) {
		notes = append(notes, clean(l.Detail))
	}
	if l.Tests != nil {
		notes = append(notes, l.Tests.String())
	}
	if l.Waited >= 0.1 {
		notes = append(notes, "waited "+seconds(l.Waited)+" for "+l.lock())
	}
	if len(notes) > 0 {
		p.f("%s  %s  %s\n", p.paint(sgr, fmt.Sprintf("%-4s", mark)), line, p.paint(dim, strings.Join(notes, ", ")))
	} else {
		p.f("%s  %s\n", p.paint(sgr, fmt.Sprintf("%-4s", mark)), strings.TrimRight(line, " "))
	}
	for _, m := range l.Members {
		p.row(m, depth+1, width)
	}
}

// block writes all that helps to understand one result that did not pass, in at most size bytes for what failed.
func (p *printer) block(l *DocResult, size int) {
	p.f("%s: %s: %s", p.paint(bold, l.place()), clean(l.Title()), p.paint(red, l.ending()))
	if known := p.known(l); known != "" && p.opt.Form == Agent {
		p.f("; %s\n", known) // it is fixed, and run again, with the line that said it
		return
	}
	p.f("\n")
	certain := l.Error != nil && (l.Error.File != "" || l.Error.Test != "")
	if len(l.Argv) > 0 && l.Kind == string(plan.Process) && (p.opt.Form != Agent || !certain && l.Reason != string(receipts.StopEnvMissing)) {
		p.f("  $ %s\n", Command(l.Argv))
	}
	if certain {
		p.errors(l, size)
	}
	if !certain || p.opt.Form == CI {
		p.tail(l, size)
	}
	if l.Gate != nil {
		for _, r := range l.Gate.Refusals {
			p.f("  %s\n", clean(r.Message))
		}
	}
	if l.Fault != nil && len(l.Fault.ReproHints) > 1 {
		p.f("  hint: %s\n", clean(l.Fault.ReproHints[1]))
	}
	for _, n := range l.Notes {
		p.f("  note: %s\n", clean(n))
	}
	if whole := certain && p.opt.Form == Agent && p.shown == l.Count; !whole || l.size() > fewBytes {
		p.log(l)
	}
	if l.Kind != string(plan.Builtin) {
		p.f("  again: %s\n", rerun(p.d.Script, l.File, l.At(), l.Text))
	}
}

// fewBytes is the size of an output of which nothing is left to read once its errors are reported.
const fewBytes = 400

// size is how much l wrote, in bytes.
func (l *DocResult) size() (n int64) {
	for _, out := range []*DocOutput{l.Stdout, l.Stderr} {
		if out != nil {
			n += out.Bytes
		}
	}
	return n
}

// rule reports whether a line is a rule or the underline of a heading: four or more of one sign. Carets point at something.
func rule(line string) bool {
	t := strings.TrimSpace(line)
	return len(t) >= 4 && strings.ContainsRune("-=*#_~", rune(t[0])) && strings.Trim(t, t[:1]) == ""
}

// tail writes the end of what l printed, without blank lines and rules, and the first error if that is not in it.
func (p *printer) tail(l *DocResult, size int) {
	lines := l.tailLines()
	switch p.opt.Form {
	case Agent:
		lines = min(max(lines, 1), 15)
	case CI:
		lines, size = 1000, 1<<20
	default:
		size = 1 << 20
	}
	output := l.output()
	if l.Count > 0 {
		output = slices.DeleteFunc(slices.Clone(output), diagnose.Passing)
	}
	if p.opt.Form == Agent {
		output = slices.DeleteFunc(slices.Clone(output), func(l string) bool { return strings.TrimSpace(l) == "" || rule(l) })
	}
	tail := lastLines(output, lines, size)
	if e := p.seen(l, l.Error); e != nil && (e.File != "" || len(tail) == 0) && !slices.ContainsFunc(tail, func(l string) bool { return strings.Contains(l, e.Message) }) && p.opt.Form != CI {
		p.f("  error: %s\n", diag.ClipBytes(e.String(), 160))
	}
	for _, line := range tail {
		if p.opt.Form == Agent {
			line = diag.ClipBytes(line, 240)
		}
		p.f("%s\n", strings.TrimRight("  | "+line, " "))
	}
}

// log says how to read all that l printed: by its receipt, else in the files that keep it.
func (p *printer) log(l *DocResult) {
	var paths []string
	wrote := false
	for _, out := range []*DocOutput{l.Stdout, l.Stderr} {
		if out != nil && out.Log != "" {
			paths = append(paths, p.rel(filepath.Clean(out.Log)))
		}
		wrote = wrote || out != nil && out.Bytes > 0
	}
	switch {
	case l.Receipt != "" && (wrote || len(paths) > 0):
		flag := ""
		if p.d.Store != "" && !place.Same(p.d.Store, p.opt.Store) {
			flag = "--store " + shellQuote(p.rel(p.d.Store)) + " "
		}
		p.f("  log: dialect log %s%s\n", flag, l.Receipt[:min(len(l.Receipt), 12)])
	case len(paths) > 0:
		p.f("  log: %s\n", strings.Join(paths, ", "))
	}
}

func (p *printer) rel(path string) string {
	if p.opt.Rel == nil {
		return path
	}
	return p.opt.Rel(path)
}

// agent writes the short form: the blocks of the failures, of many an index unless the blocks have all, then the verdict. The index and the
// verdict always fit; the blocks share what is left of AgentLimit.
func (p *printer) agent() {
	var bad []*DocResult
	p.leaves(func(l *DocResult) {
		if l.needsBlock() {
			bad = append(bad, l)
		}
	})
	index, end := &printer{opt: p.opt, d: p.d}, &printer{opt: p.opt, d: p.d}
	if len(bad) > 3 { // of a few the blocks say it all
		index.f("index:\n")
		const most = 12
		for i, l := range bad {
			if i == most {
				index.f("  and %d more; see --json\n", len(bad)-most)
				break
			}
			index.f("%s\n", p.index(l))
		}
	}
	end.summary()
	left := AgentLimit - index.buf.Len() - end.buf.Len()
	whole := true // each block has all that there is
	for i, l := range bad {
		share := min(left/(len(bad)-i), agentBlock)
		b := &printer{opt: p.opt, d: p.d, said: maps.Clone(p.said)}
		b.block(l, 0)
		bare := b.buf.Len()
		if room := share - bare; room > 40 {
			for room > 40 { // what is cut in the middle is a little longer than its share
				b = &printer{opt: p.opt, d: p.d, said: maps.Clone(p.said)}
				if b.block(l, room); b.buf.Len() <= share {
					break
				}
				room -= max(b.buf.Len()-share, 40)
			}
		}
		if b.buf.Len() > share {
			whole = false
			if len(bad) <= 3 { // there is no index that names it
				p.f("%s\n", p.index(l))
			}
			continue
		}
		whole = whole && l.Count > 0 && b.shown == l.Count
		p.buf.Write(b.buf.Bytes())
		p.said = b.said
		left -= b.buf.Len()
	}
	if !whole {
		p.buf.Write(index.buf.Bytes())
	}
	p.buf.Write(end.buf.Bytes())
}

// index is the line of an index that names l.
func (p *printer) index(l *DocResult) string {
	return diag.ClipBytes(l.place()+" | "+l.ending()+" | "+p.firstError(l), 110)
}

// agentBlock is the greatest size of a block, in bytes.
const agentBlock = 1400

// summary writes the last line: verdict, counts, seconds, gate, trust level.
func (p *printer) summary() {
	d := p.d
	word, sgr := strings.ToUpper(d.Verdict), red
	var parts []string
	switch d.Verdict {
	case "passed":
		word, sgr = "passed", green
		parts = append(parts, diag.Number(d.Counts.Lines, "line"))
		if n := d.Counts.Flaky; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" flaky")
		}
		if n := d.Counts.Skipped; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" skipped")
		}
	case "interrupted":
		word += " by " + d.Signal
		fallthrough
	default:
		parts = d.Counts.list()
		if len(parts) == 0 {
			parts = append(parts, "nothing was tested")
		} else if d.Counts.Lines > 1 {
			parts[len(parts)-1] += " of " + diag.Number(d.Counts.Lines, "line")
		}
	}
	if d.Tests != nil {
		parts = append(parts, d.Tests.String())
	}
	p.f("%s: %s, %s; %s\n", p.paint(sgr, word), strings.Join(parts, ", "), seconds(d.Elapsed), p.gate())
	if d.Limit != "" {
		p.f("%s\n", d.Limit)
	}
	p.waiting()
	p.fewer()
	p.leftRunning()
	if d.KeepGoing {
		p.f("--keep-going: lines that change state ran after a failure\n")
	}
	if g := d.Gate; g != nil {
		if g.Verdict == string(attempt.GateRefusal) {
			for i, ref := range g.Refusals {
				// That there is no store needs no proof by enumeration.
				if left := len(g.Refusals) - i; left > 1 && (i == 8 || i == 2 && ref.Reason == string(receipts.Degraded)) {
					p.f("  and %d more refusals; see --json\n", len(g.Refusals)-i)
					break
				}
				p.f("  %s\n", p.bounded(ref.Message, 400)) // with the remedy at its end
			}
		}
		if len(g.New) > 0 {
			p.f("note: files came during the run, and lines may have read them: %s\n", p.bounded(diag.Some(g.New, max(g.noted, len(g.New)), 5), 200))
			p.f("hint: verify will not accept this gate: ignore them in a tracked .gitignore, or add their directory to caches in routing.toml, and run again\n")
		}
	}
	if d.Degraded != "" {
		p.f("%s: %s\n", p.paint(yellow, "DEGRADED"), p.bounded(d.Lost(), 400))
	}
	if d.live == nil || d.Verdict == "passed" {
		return
	}
	if names := d.missed(); len(names) > 0 {
		p.f("note: not passed on to the tools: %s (set them in routing.toml, env = {...}, if a check needs them)\n", p.bounded(strings.Join(names, ", "), 200))
	}
	if p.opt.Form == Terminal && d.Store != "" && d.Degraded == "" {
		p.f("%s\n", p.paint(dim, "receipts: dialect receipts list --run "+d.Run))
	}
}

// waiting names the lines that were still waiting for a lock when the run was cut short.
func (p *printer) waiting() {
	shown := 0
	p.leaves(func(l *DocResult) {
		if l.Verdict != string(schedule.Cancelled) || l.Waited == 0 || l.live == nil || shown == 3 {
			return
		}
		shown++
		by := ""
		if h := l.live.Holder; h != "" {
			by = ", held by " + clean(h)
		}
		p.f("note: %s:%d: %s had waited %s for the lock %q%s\n", l.File, l.Line, l.Title(), seconds(l.Waited), l.lock(), by)
	})
}

// missed returns the variables that commands did not get, as far as a line that did not pass may have needed them.
// `dialect doctor` names them all.
func (d *Document) missed() (names []string) {
	for _, name := range d.live.Removed {
		concerned := false
		d.leaves(func(l *DocResult) {
			if concerned || l.live == nil || l.live.Process == nil || l.live.Verdict == schedule.Passed {
				return
			}
			if _, set := l.live.Step.Env[name]; set {
				return
			}
			p := l.live.Process
			concerned = environ.Concerns(name, l.live.Step.Argv, slices.Concat(p.Stdout.Head, []byte("\n"), p.Stderr.Head, []byte("\n"), p.Tail))
		})
		if concerned {
			names = append(names, name)
		}
	}
	return names
}

// fewer names the lines of which fewer tests passed than before, where the last line does not: it says so of a gate that passed.
func (p *printer) fewer() {
	if g := p.d.Gate; g != nil && g.Verdict == string(attempt.GatePassed) {
		return
	}
	told := 0
	p.leaves(func(l *DocResult) {
		if l.fewer() && told < 5 {
			told++
			p.f("%s: %s: %s\n", p.paint(yellow, "warning"), l.place(), l.missing())
		}
	})
}

// leftRunning names what commands left running that have no block of their own.
func (p *printer) leftRunning() {
	const most = 5
	lines := 0
	p.leaves(func(l *DocResult) {
		i := slices.IndexFunc(l.Notes, func(n string) bool { return strings.HasPrefix(n, process.LeftRunning) })
		if i < 0 || l.needsBlock() {
			return
		}
		if lines++; lines <= most {
			p.f("note: %s: %s\n", l.place(), p.bounded(l.Notes[i], 200))
		}
	})
	if lines > most {
		p.f("note: and %s left processes running: see --json\n", diag.Number(lines-most, "more line"))
	}
}

// leaves calls f for each line or member that is not a composite.
func (p *printer) leaves(f func(*DocResult)) {
	p.d.leaves(func(l *DocResult) {
		if l.Kind != string(plan.Composite) {
			f(l)
		}
	})
}

func (p *printer) gate() string {
	g := p.d.Gate
	if g == nil {
		return "gate not run"
	}
	switch attempt.GateVerdict(g.Verdict) {
	case attempt.GatePassed:
		if list := append(exceptions(g), p.missing()...); len(list) > 0 {
			return fmt.Sprintf("gate %s (%s)", g.ID, strings.Join(list, ", "))
		}
		return "gate " + g.ID
	case attempt.GateRefusal:
		return "gate REFUSED"
	case attempt.GateDeferred:
		return fmt.Sprintf("gate deferred, %s left", diag.Number(g.Members, "receipt"))
	case attempt.GateDegraded:
		return "no gate: DEGRADED"
	case attempt.GateVacuous:
		return "gate not run: " + g.Detail
	default:
		return "gate not run"
	}
}

// missing says of which lines fewer tests passed than before.
func (p *printer) missing() (list []string) {
	n := 0
	p.leaves(func(l *DocResult) {
		if l.fewer() {
			if n++; n <= 2 {
				list = append(list, l.missing())
			}
		}
	})
	if n > 2 {
		list = append(list, fmt.Sprintf("and fewer on %d more", n-2))
	}
	return list
}

// bounded cleans a text of unknown length, and cuts it to so many bytes where space is short.
func (p *printer) bounded(s string, most int) string {
	if p.opt.Form == Agent {
		return diag.ClipBytes(clean(s), most)
	}
	return clean(s)
}

// exceptions says what is out of the ordinary about a gate that passed.
func exceptions(g *DocGate) (list []string) {
	switch {
	case g.Level >= "L2":
		list = append(list, "recorded by the notary")
	case g.Level > "L0":
		list = append(list, "recorded under a key")
	}
	if !g.Final {
		list = append(list, "part of the script")
	}
	if at, err := receipts.ParseGround(g.Clean); err == nil && at != receipts.InPlace {
		list = append(list, at.String())
	}
	if g.Reused > 0 {
		list = append(list, fmt.Sprintf("%d reused", g.Reused))
	}
	switch g.Rules {
	case receipts.PolicyChanged:
		list = append(list, "rules changed")
	case receipts.PolicyNew:
		list = append(list, "rules new")
	}
	if g.Failures > 0 {
		list = append(list, "failed "+Times(g.Failures)+" on these files")
	}
	if g.Early > 0 {
		list = append(list, CutShort(g.Early))
	}
	return list
}

// CutShort says that n attempts ended without an answer.
func CutShort(n int) string {
	return diag.Number(n, "attempt") + " on these files gave no answer"
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

// rank orders the rows of a list.
func rank(l *DocResult) int {
	switch reason := schedule.Reason(l.Reason); schedule.Verdict(l.Verdict) {
	case schedule.Failed, schedule.Fault:
		return 2
	case schedule.Passed, schedule.Flaky:
		return 0
	case schedule.Skipped:
		if reason == schedule.NoFailure || reason == schedule.NotNeeded {
			return 0
		}
	}
	return 1
}

func mark(l *DocResult) (word, sgr string) {
	switch schedule.Verdict(l.Verdict) {
	case schedule.Passed:
		return "ok", green
	case schedule.Flaky:
		return "flak", yellow
	case schedule.Failed:
		return "FAIL", red
	case schedule.Fault:
		return "FALT", red
	case schedule.Cancelled:
		return "stop", yellow
	default:
		return "skip", yellow
	}
}

// needsBlock reports whether l is worth a block of its own: a step that failed
// itself, not one that was given up for another. What the final gate says is part
// of the summary.
func (l *DocResult) needsBlock() bool { return l.Bad() && !l.summed }

func (l *DocResult) place() string {
	at := l.File + ":" + strconv.Itoa(l.Line)
	if strings.Contains(l.ID, ".") {
		at += " (" + l.ID + ")"
	}
	return at
}

// ending is [DocResult.How], with the time that it took.
func (l *DocResult) ending() string {
	if l.Started == "" {
		return l.How()
	}
	return l.How() + ", " + seconds(l.Elapsed)
}

// lock is what l waited for.
func (l *DocResult) lock() string {
	if l.live == nil {
		return ""
	}
	return l.live.Step.Exclusive
}

// tailLines is how many lines of the output a text shows.
func (l *DocResult) tailLines() int {
	if l.live != nil {
		return l.live.Step.Budget.TailLines
	}
	return 20
}

// output returns what is known of what l printed: of a document that was kept, the end.
func (l *DocResult) output() []string {
	switch {
	case l.live != nil && l.live.Process != nil:
		return outputLines(l.live.Process.Tail)
	case l.live == nil && l.Fault != nil:
		return outputLines([]byte(strings.Join(l.Fault.LastOutput, "\n")))
	}
	return nil
}

// firstError returns what most likely went wrong: the first error that was found in the
// output, else its last line, else the detail.
func (p *printer) firstError(l *DocResult) string {
	if l.Error != nil {
		return p.seen(l, l.Error).String()
	}
	lines := l.output()
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			return line
		}
	}
	return clean(l.Detail)
}

// Command renders an argv as it could be typed at a shell.
func Command(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shellQuote(a)
	}
	return strings.Join(words, " ")
}

// shellQuote quotes s for a shell. What would act on a terminal is escaped, which POSIX has since 2024 and shells have
// had for long.
func shellQuote(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r == '\t' || r == '\n' || r == utf8.RuneError || !diag.IsPrintable(r) }) {
		var b strings.Builder
		for i := range len(s) {
			switch c := s[i]; {
			case c == '\'' || c == '\\':
				b.WriteString("\\" + string(rune(c)))
			case c == '\n':
				b.WriteString(`\n`)
			case c == '\t':
				b.WriteString(`\t`)
			case c < ' ' || c >= 0x7f:
				fmt.Fprintf(&b, "\\%03o", c)
			default:
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("%+,-./:=@_", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// seconds renders a duration for people: "0.04 s", "12.3 s", "2m03s".
func seconds(s float64) string {
	switch {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 2, 64) + " s"
	case s < 60:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	default:
		return time.Duration(s * float64(time.Second)).Round(time.Second).String()
	}
}

// rerun returns the command that runs a line again, by its text where the script is not a file.
func rerun(script DocScript, file, at, text string) string {
	words := []string{"dialect", "run"}
	if script.Path == "" {
		return Command(append(append(words, flagsOf(script.Flags, text)...), "-e", text))
	}
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	return Command(append(append(words, script.Flags...), file+":"+at))
}

// flagsOf returns the flags of a run that a run of one of its lines alone, of that text, needs.
func flagsOf(flags []string, text string) (kept []string) {
	for i := 0; i < len(flags); i++ {
		if flags[i] != "--set" || i+1 == len(flags) {
			kept = append(kept, flags[i])
		} else if i++; Takes(text, flags[i]) {
			kept = append(kept, "--set", flags[i])
		}
	}
	return kept
}

// Takes reports whether a line of that text takes the variable of --set NAME=VALUE. A --set of what no line takes is refused.
func Takes(text, set string) bool {
	name, _, _ := strings.Cut(set, "=")
	return strings.Contains(text, "{"+name+"}")
}

// AgentVariable names the variable that says that an agent reads the report, on a machine of CI
// as well.
const AgentVariable = "DIALECT_AGENT"

// Lost says, of a run that is degraded, how many receipts were not kept, and why.
func (d *Document) Lost() string {
	kept, lost := 0, 0
	d.leaves(func(l *DocResult) {
		switch {
		case l.Degraded:
			lost++
		case l.Receipt != "":
			kept++
		}
	})
	switch {
	case kept == 0:
		return "no receipt was kept: " + d.Degraded
	case lost == 0:
		return "the receipts of all lines were kept, but the store failed: " + d.Degraded
	default:
		return fmt.Sprintf("%d of %d receipts were not kept: %s", lost, kept+lost, d.Degraded)
	}
}
