// Package voice is what dialect says to the user: in come results, messages and findings, out come standard output and
// standard error. It knows no command, and decides nothing.
package voice

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/view"
)

// A Voice is the one voice to the user: results on Out, everything else on Err,
// messages in lower case without a full stop, each hint on a line of its own.
type Voice struct {
	In       *os.File
	Out, Err io.Writer
	OutTTY   bool
	ErrTTY   bool

	answer answer     // what Out is, of a Voice that [New] made
	mu     sync.Mutex // guards Err, which listeners write to from other goroutines, and view
	view   view.View  // of a run that lasts; nil for none
}

// An answer is standard output. It remembers that something could not be written there, so that no command
// succeeds whose answer is lost, and, of what stands all the same, what it was: see [Voice.Stands].
type answer struct {
	w io.Writer

	mu     sync.Mutex
	err    error
	stands bool
	unsaid []byte // since err, where it stands; at most maxUnsaid
	long   bool   // there was more
}

// maxUnsaid bounds, in bytes, what standard error says in place of standard output: an answer, and no page or bundle.
const maxUnsaid = 8 << 10

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.w.Write(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	if a.err != nil && a.stands {
		a.long = a.long || len(a.unsaid)+len(p) > maxUnsaid
		if !a.long {
			a.unsaid = append(a.unsaid, p...)
		}
	}
	return n, err
}

// New returns the voice of this process.
func New() *Voice { return of(os.Stdin, os.Stdout, os.Stderr) }

func of(in, out, err *os.File) *Voice {
	v := &Voice{
		In: in, Err: err,
		OutTTY: term.IsTerminal(int(out.Fd())),
		ErrTTY: term.IsTerminal(int(err.Fd())),
	}
	v.answer.w = out
	v.Out = &v.answer
	return v
}

// Lost returns the first error of a write to standard output; nil if all was written.
func (v *Voice) Lost() error {
	v.answer.mu.Lock()
	defer v.answer.mu.Unlock()
	return v.answer.err
}

// Stands says that what is printed from here on tells of something that was done, such as a consumption, and stands whether or not it can
// be printed.
func (v *Voice) Stands() {
	v.answer.mu.Lock()
	defer v.answer.mu.Unlock()
	v.answer.stands = true
}

// TellLost says that standard output cannot be written, and of what stands all the same what was to be written there, if it is short.
func (v *Voice) TellLost() {
	v.answer.mu.Lock()
	err, text, long := v.answer.err, strings.TrimRight(string(v.answer.unsaid), "\n"), v.answer.long
	v.answer.mu.Unlock()
	if err == nil {
		return
	}
	v.Errorf("%v", err)
	if text != "" && !long {
		v.Notef("this was to be written there:")
		v.Say(diag.PrintableLines(diag.HideKeys(text)))
	}
}

// Piped reports whether standard input may hold a script: it is neither a terminal nor another device, such as
// /dev/null, nor closed.
func (v *Voice) Piped() bool {
	info, err := v.In.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// Typed reports whether standard input is a terminal.
func (v *Voice) Typed() bool { return term.IsTerminal(int(v.In.Fd())) }

// Color reports whether text for a terminal (or not) is coloured: NO_COLOR and
// TERM=dumb say no, FORCE_COLOR says yes, else it is the terminal that counts.
func Color(tty bool) bool {
	switch {
	case os.Getenv("NO_COLOR") != "":
		return false
	case os.Getenv("FORCE_COLOR") != "" && os.Getenv("FORCE_COLOR") != "0":
		return true
	default:
		return tty && os.Getenv("TERM") != "dumb"
	}
}

// A message has a label: an error is why the command did not do what was asked, a warning is
// what makes its result worth less, and a hint what to do. What it tells beside that has none.

// Errorf says why the command did not do what was asked.
func (v *Voice) Errorf(format string, args ...any) { v.line("dialect: error: ", format, args...) }

// Warnf says what makes the result of the command worth less.
func (v *Voice) Warnf(format string, args ...any) { v.line("dialect: warning: ", format, args...) }

// Notef tells something beside the result.
func (v *Voice) Notef(format string, args ...any) { v.line("dialect: ", format, args...) }

// Note tells text beside the result.
func (v *Voice) Note(text string) { v.Notef("%s", text) }

// Hintf prints advice, of which each line stands on its own.
func (v *Voice) Hintf(format string, args ...any) {
	const prefix = "  hint: "
	text := strings.TrimRight(diag.PrintableLines(fmt.Sprintf(format, args...)), "\n")
	v.Say(prefix + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(prefix))))
}

// line prints one line: a name of others in it, such as that of a file, cannot add a second.
func (v *Voice) line(prefix, format string, args ...any) {
	v.Say(prefix + diag.Printable(strings.TrimRight(fmt.Sprintf(format, args...), "\n")))
}

// Say prints text as it is.
func (v *Voice) Say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.view != nil {
		v.view.Print(text)
		return
	}
	fmt.Fprintln(v.Err, text)
}

// A Document is printed as JSON, or writes itself for people.
type Document interface{ WriteText(w io.Writer) error }

// Print prints a document on standard output.
func (v *Voice) Print(asJSON bool, d Document) error { return Write(v.Out, asJSON, d) }

// Write writes a document to w.
func Write(w io.Writer, asJSON bool, d Document) error {
	if asJSON {
		return output.WriteJSON(w, d)
	}
	return d.WriteText(w)
}

// JSON prints a document on standard output as JSON.
func (v *Voice) JSON(d any) error { return output.WriteJSON(v.Out, d) }

// maxDiagnostics bounds how many findings are printed one by one; the rest is
// counted.
const maxDiagnostics = 200

// Diagnostics prints findings for people to w, a terminal or not.
func (v *Voice) Diagnostics(w io.Writer, tty bool, l diag.List, sources map[string]*diag.Source) error {
	return diag.WriteText(w, l, options(tty, sources))
}

// Faults is [Voice.Diagnostics] on standard error, for a script that does not run: an agent gets as much as of a failure.
func (v *Voice) Faults(l diag.List, sources map[string]*diag.Source) error {
	o := options(v.ErrTTY, sources)
	if !v.ErrTTY && !InCI() {
		o.Size = report.AgentLimit - faultsRoom
		o.More = "; `dialect check` prints up to " + strconv.Itoa(maxDiagnostics)
	}
	return diag.WriteText(v.Err, l, o)
}

// faultsRoom is what is left, in bytes, for the line that nothing was run.
const faultsRoom = 200

func options(tty bool, sources map[string]*diag.Source) diag.TextOptions {
	return diag.TextOptions{Color: Color(tty), Sources: func(name string) *diag.Source { return sources[name] }, Max: maxDiagnostics}
}

// Diff prints what differs between two texts of others, with stars for values beside names as secrets have. A reviewer reads it in
// a terminal, a pager or the log of a CI. Colours are replaced, too, since they can hide text.
func (v *Voice) Diff(oldName string, old []byte, newName string, text []byte) error {
	return v.difference(project.Reviewed(newName, old, text, between(oldName, old, newName, text)))
}

func between(oldName string, old []byte, newName string, text []byte) []byte {
	return diff.Diff(diag.Printable(oldName), old, diag.Printable(newName), text)
}

func (v *Voice) difference(text []byte) error {
	_, err := io.WriteString(v.Out, noCommands(diag.PrintableLines(string(text))))
	return err
}

// noCommands marks those lines of a difference which a runner of GitHub would take for commands in the log of a job: it takes blanks before them away.
func noCommands(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest := strings.TrimLeftFunc(line, unicode.IsSpace); strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, "##[") {
			b.WriteString("|")
		}
		b.WriteString(line)
	}
	return b.String()
}

// maxDiff is the size, in bytes, of the largest script that is compared line by line: nobody
// reads the difference of a larger one, and finding it takes memory.
const maxDiff = 1 << 20

// ScriptDiff prints what would change of a script.
func (v *Voice) ScriptDiff(s *project.Script, what string, text []byte) error {
	if len(s.Text) > maxDiff {
		_, err := fmt.Fprintf(v.Out, "%s would change, and is too large to show how\n", diag.Printable(s.Name))
		return err
	}
	return v.difference(between(s.Name, s.Text, s.Name+" ("+what+")", text))
}

// Change prints what changed in a file of a policy.
func (v *Voice) Change(c policy.Change) error {
	var why string
	switch {
	case c.Foreign:
		why = "its content is not shown, since it is not, or not for certain, a file of this repository"
	case max(len(c.Old), len(c.New)) > maxDiff:
		why = fmt.Sprintf("it is too large to show how: it had %d bytes, and has %d", len(c.Old), len(c.New))
	default:
		return v.Diff(cmp.Or(c.Of, "trusted")+"/"+c.Path, c.Old, cmp.Or(c.In, "present")+"/"+c.Path, c.New)
	}
	_, err := fmt.Fprintf(v.Out, "%s differs; %s\n", diag.Printable(c.Path), why)
	return err
}

// Changes prints what changed in a policy.
func (v *Voice) Changes(list []policy.Change) error {
	for _, c := range list {
		if err := v.Change(c); err != nil {
			return err
		}
	}
	return nil
}
