// Package exit holds the exit statuses of dialect, and the errors that carry one.
package exit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// The exit statuses; [Table] says which command ends with which.
const (
	Failed   = 1   // a line failed; for check, an error was found
	Fault    = 2   // a line could not be bound or completed, or nothing was there to run
	Refused  = 3   // the gate, or a verification, refused
	Usage    = 64  // the command line is wrong (sysexits.h)
	Internal = 70  // a fault of dialect (sysexits.h)
	Pipe     = 141 // as of a process that SIGPIPE ends
)

// A Status is an error that only carries an exit status: all there is to say has been said.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Of is a [Status], or nil for 0.
func Of(status int) error {
	if status == 0 {
		return nil
	}
	return Status(status)
}

// A Failure is an error with an exit status of its own and advice.
type Failure struct {
	Status int
	Err    error
	Hints  []string // what to do, one a line
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Usagef makes an error about the command line.
func Usagef(format string, args ...any) *Failure { return Failf(Usage, format, args...) }

// Failf makes an error with an exit status.
func Failf(status int, format string, args ...any) *Failure {
	return &Failure{Status: status, Err: fmt.Errorf(format, args...)}
}

// Hint adds advice, and returns f.
func (f *Failure) Hint(format string, args ...any) *Failure {
	f.Hints = append(f.Hints, fmt.Sprintf(format, args...))
	return f
}

// NoBinding is the error that the name that a flag has is not a binding of m; several is as [routing.Matrix.Named]
// returns it.
func NoBinding(status int, flag string, m *routing.Matrix, name string, several []string) *Failure {
	if len(several) > 0 {
		return Failf(status, "%s: several bindings have that word: %s", flag, strings.Join(several, ", "))
	}
	f := Failf(status, "%s: the matrix binds nothing of that name", flag)
	var known []string
	for _, b := range m.Bindings {
		known = append(known, b.Name)
	}
	for _, b := range m.Bindings {
		known = append(known, b.Noun) // which names it, too
	}
	if near := suggest.Near(name, known); near != "" {
		f.Hint("did you mean %q?", near)
	}
	return f.Hint("`dialect vocab` lists what is bound")
}

// NoMatrix is the error that no matrix was found, or that of looking; nil of nil.
func NoMatrix(err error) error {
	if err == nil {
		return nil
	}
	f := Failf(Fault, "%w", err)
	var lost *project.LostError
	switch {
	case errors.As(err, &lost):
		f.Hint("%s", Restore("HEAD", lost.Path))
	case errors.Is(err, routing.ErrNotFound):
		if text := routing.MeantBelow("."); text != "" {
			f.Hint("%s", text)
		}
		f.Hint("--routing FILE names a matrix elsewhere")
	}
	return f
}

// maxLines is the most lines that [NewScript] writes: nobody reads a longer command.
const maxLines = 20

// NewScript is the command that writes the script of m, and its path. Its lines are those that m itself binds, that only
// read and that take no value. The command is empty where there are none or too many, or where m has a script.
func NewScript(m *routing.Matrix) (write, path string) {
	if script, several := project.DefaultScript(m.Root, m); script != "" || len(several) > 0 {
		return "", ""
	}
	words := []string{"printf", `%s\n`}
	for _, b := range m.Bindings {
		if usage := b.Usage(); !b.Pack && b.Kind != "" && b.Effect == plan.Read && !strings.Contains(usage, "{") {
			words = append(words, usage)
		}
	}
	if n := len(words) - 2; n == 0 || n > maxLines {
		return "", ""
	}
	path = place.Short(filepath.Join(m.Root, routing.ScriptName))
	return report.Command(words) + " >" + report.Command([]string{path}), path
}

// NoScript adds to f, which says that there is no script, how to have one; m is nil where there is no matrix.
func (f *Failure) NoScript(m *routing.Matrix) *Failure {
	if m != nil {
		if write, path := NewScript(m); write != "" {
			return f.Hint("%s && dialect run %s", write, report.Command([]string{path}))
		}
	}
	return f.Hint("`dialect init` writes one for the tools that the project has; `dialect run -e LINE` runs a line, and `dialect vocab` lists them")
}

// Nothing is the error that `dialect init` found nothing to run in dir: without a matrix one has to be written, and with one a script.
func Nothing(dir string, err error) *Failure {
	f := Failf(Failed, "%w", err)
	m, _, err := project.LoadMatrix(dir, "")
	if err != nil {
		return f.Hint("write a %s, which binds a line to what you type to run the tests; then `dialect init` again says how to have a script of it:\n%s", routing.FileName, sampleMatrix)
	}
	if write, _ := NewScript(m); write != "" {
		return f.NoScript(m)
	}
	return f.Hint("%s binds lines already: `dialect vocab` lists those that a script may have", m.Name)
}

const sampleMatrix = `[commands.test_project]
verb = "test"
noun = "project"
tool = "./run-the-tests"
receipt_required = true`

// Restore is the command that brings a matrix or script back that a commit has, and that is gone here: it takes the place of nothing.
func Restore(commit, path string) string {
	return report.Command([]string{"git", "checkout", commit, "--", place.Short(path)})
}
