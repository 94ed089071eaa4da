// Package exit holds the exit statuses of dialect, and the errors that carry one.
package exit

import (
	"errors"
	"fmt"
	"strings"

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
		f.Hint("--routing FILE names a matrix elsewhere")
	}
	return f
}

// Restore is the command that brings a matrix or script back that a commit has, and that is gone here: it takes the place of nothing.
func Restore(commit, path string) string {
	return report.Command([]string{"git", "checkout", commit, "--", place.Short(path)})
}
