package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/term"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/view"
)

// A ui is the one voice to the user: results on out, everything else on err,
// messages in lower case without a full stop, each hint on a line of its own.
type ui struct {
	in       *os.File
	out, err io.Writer
	outTTY   bool
	errTTY   bool
	mu       sync.Mutex // guards err: listeners write from other goroutines
	answer   *answer    // what out is
	view     view.View  // of a run that lasts; nil for none
	queue    *view.Queue
}

// An answer is standard output. It remembers that something could not be written there, so that no command
// succeeds whose answer is lost; see [Main].
type answer struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.w.Write(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	return n, err
}

// lost returns why something could not be written; nil if all was.
func (a *answer) lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

func newUI() *ui {
	out := &answer{w: os.Stdout}
	return &ui{
		in: os.Stdin, out: out, answer: out, err: os.Stderr,
		outTTY: term.IsTerminal(int(os.Stdout.Fd())),
		errTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
}

// piped reports whether standard input may hold a script: it is neither a terminal nor another device, such as
// /dev/null, nor closed.
func (u *ui) piped() bool {
	info, err := u.in.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// color reports whether text for a terminal (or not) is coloured: NO_COLOR and
// TERM=dumb say no, FORCE_COLOR says yes, else it is the terminal that counts.
func color(tty bool) bool {
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
func (u *ui) errorf(format string, args ...any) { u.line("dialect: error: ", format, args...) }
func (u *ui) warnf(format string, args ...any)  { u.line("dialect: warning: ", format, args...) }
func (u *ui) notef(format string, args ...any)  { u.line("dialect: ", format, args...) }

// hintf prints advice, of which each line stands on its own.
func (u *ui) hintf(format string, args ...any) {
	const prefix = "  hint: "
	text := strings.TrimRight(diag.PrintableLines(receipts.HideKeys(fmt.Sprintf(format, args...))), "\n")
	u.say(prefix + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(prefix))))
}

func (u *ui) note(text string) { u.notef("%s", text) }

// line prints one line: a name of others in it, such as that of a file, cannot add a second. What was given for
// a name can be a signing key.
func (u *ui) line(prefix, format string, args ...any) {
	u.say(prefix + diag.Printable(strings.TrimRight(receipts.HideKeys(fmt.Sprintf(format, args...)), "\n")))
}

func (u *ui) say(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.view != nil {
		u.view.Print(text)
		return
	}
	fmt.Fprintln(u.err, text)
}

// A document is printed as JSON, or writes itself for people.
type document interface{ WriteText(w io.Writer) error }

func (u *ui) print(asJSON bool, d document) error {
	if asJSON {
		return writeJSON(u, d)
	}
	return d.WriteText(u.out)
}

func writeJSON(u *ui, v any) error {
	enc := json.NewEncoder(u.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// maxDiagnostics bounds how many findings are printed one by one; the rest is
// counted.
const maxDiagnostics = 200

// diagnostics prints findings for people.
func (u *ui) diagnostics(w io.Writer, tty bool, l diag.List, sources map[string]*diag.Source) error {
	return diag.WriteText(w, l, diag.TextOptions{
		Color:   color(tty),
		Sources: func(name string) *diag.Source { return sources[name] },
		Max:     maxDiagnostics,
	})
}

// diff prints what differs between two texts of others, wherever it goes: a reviewer reads it in
// a terminal, a pager or the log of a CI. Colours are replaced, too, since they can hide text.
func (u *ui) diff(oldName string, old []byte, newName string, text []byte) error {
	_, err := io.WriteString(u.out, diag.PrintableLines(string(diff.Diff(diag.Printable(oldName), old, diag.Printable(newName), text))))
	return err
}

// maxDiff is the size, in bytes, of the largest script that is compared line by line: nobody
// reads the difference of a larger one, and finding it takes memory.
const maxDiff = 1 << 20

// scriptDiff prints what would change of a script.
func (u *ui) scriptDiff(s *project.Script, what string, text []byte) error {
	if len(s.Text) > maxDiff {
		_, err := fmt.Fprintf(u.out, "%s would change, and is too large to show how\n", diag.Printable(s.Name))
		return err
	}
	return u.diff(s.Name, s.Text, s.Name+" ("+what+")", text)
}

// changes prints what changed in a policy.
func (u *ui) changes(list []policy.Change) error {
	for _, c := range list {
		if err := u.diff("trusted/"+c.Path, c.Old, "present/"+c.Path, c.New); err != nil {
			return err
		}
	}
	return nil
}
