package inquiry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/survey"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/report"
)

// inputsOf returns the inputs of a binding, by their patterns: those that are there, and those that are gone. A receipt has one digest of all, so that
// nobody knows which of them differ. Of those in the same folder, as of the package managers of a language, most are never there: they are gone only
// if all are, and the folder stands for them if it is gone, too.
func (q *Question) inputsOf(binding string) (there, gone []string) {
	list := q.matrix.Inputs[binding]
	folder := func(pattern string) string {
		first, _, deep := strings.Cut(pattern, "/")
		if !deep {
			return pattern
		}
		return first
	}
	is := func(pattern string) bool {
		found, err := filepath.Glob(filepath.Join(q.root, filepath.FromSlash(pattern)))
		return strings.Contains(pattern, "**") || err != nil || len(found) > 0
	}
	for _, pattern := range list {
		beside := func(other string) bool { return folder(other) == folder(pattern) && is(other) }
		switch _, err := os.Lstat(filepath.Join(q.root, folder(pattern))); {
		case is(pattern):
			there = append(there, pattern)
		case slices.ContainsFunc(list, beside):
		case err != nil && !strings.ContainsAny(folder(pattern), `*?[\`):
			gone = append(gone, folder(pattern))
		default:
			gone = append(gone, pattern)
		}
	}
	return there, slices.Compact(gone)
}

// differ names the inputs of a binding that may not be those of a receipt.
func (q *Question) differ(binding string) string {
	there, gone := q.inputsOf(binding)
	text := strings.Join(there, ", ")
	switch {
	case len(gone) == 0:
		return text
	case text != "":
		text += "; "
	}
	return text + "not there: " + strings.Join(gone, ", ")
}

// install is what to do, before a line runs again, about inputs of r's binding that are not there; nil if all are, as far as that can be known. or says what else may
// have to be done.
func (q *Question) install(r *receipts.Receipt, or string) []string {
	if r == nil || r.Place != q.Place || r.Clean != nil {
		return nil
	}
	_, gone := q.inputsOf(r.Binding)
	if len(gone) == 0 {
		return nil
	}
	text := "these inputs are not there: " + strings.Join(gone, ", ")
	if q.rules != nil {
		if b := q.rules.ByName(r.Binding); b != nil {
			if what, dir, command := survey.Absent(q.rules, b); what != "" {
				if wd, err := os.Getwd(); err != nil || wd != dir {
					command = "(" + report.Command([]string{"cd", place.Short(dir)}) + " && " + command + ")"
				}
				return []string{advice("%s; install them%s:", text, or), command}
			}
		}
	}
	return []string{advice("%s; install what makes them%s, then:", text, or)}
}
