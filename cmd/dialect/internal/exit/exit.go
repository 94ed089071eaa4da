// Package exit holds the exit statuses of dialect, and the errors that carry one.
package exit

import (
	"errors"
	"fmt"

	"github.com/command-dialect/dialect/lang/routing"
)

// The exit statuses; the rest of `dialect --help` says which command ends with which.
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

// NoMatrix is the error that no matrix was found, or that of looking; nil of nil.
func NoMatrix(err error) error {
	if err == nil {
		return nil
	}
	f := Failf(Fault, "%w", err)
	if errors.Is(err, routing.ErrNotFound) {
		f.Hint("--routing FILE names a matrix elsewhere")
	}
	return f
}
