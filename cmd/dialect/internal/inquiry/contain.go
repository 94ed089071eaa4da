package inquiry

import "github.com/command-dialect/dialect/runtime/process"

// Contain returns what ends the processes that the programs left running which git starts for a snapshot, such as clean
// filters, also in sessions of their own: a question leaves nothing behind.
func Contain(warn func(format string, args ...any)) (end func()) {
	l, err := process.New(process.Options{})
	if err != nil {
		return func() {}
	}
	return func() {
		if left, note := l.NameLeft(); len(left) > 0 {
			warn("a program that git started for this question, such as a clean filter, left processes; ending them (%s)", note)
			_ = l.EndLeft(true)
		}
		_ = l.Close()
	}
}
