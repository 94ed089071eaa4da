package inquiry

import (
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/report"
)

// unfetched returns what the receipt r, whose hash is sha, said of a package that could not be fetched, and the command that fetches it, as
// [report.DocFault.Unfetched] does. It is the output of what was tested, in a document that anyone may have written who can write the store: it is
// shown to a person, and decides nothing.
func (q *Question) unfetched(r *receipts.Receipt, sha receipts.Hash) (line, command string) {
	if r == nil || r.Place != q.Place {
		return "", ""
	}
	d, err := (history.Documents{Archive: q.logs}).Read(r.Run)
	if err != nil {
		return "", ""
	}
	var look func(list []*report.DocResult)
	look = func(list []*report.DocResult) {
		for _, l := range list {
			if l == nil {
				continue
			}
			if l.Fault != nil && l.Receipt == sha.String() {
				line, command = l.Fault.Unfetched()
			}
			look(l.Members)
		}
	}
	look(d.Lines)
	return line, command
}

// outside reports whether a tool keeps the packages that it fetches outside of the project, where `inputs` cannot name them.
func outside(tool string) bool {
	program, _, _ := strings.Cut(tool, " ")
	return slices.Contains([]string{"go", "cargo", "mvn"}, program)
}

// bound returns a binding of the trusted matrix, nil if it has none of that name.
func (q *Question) bound(name string) *routing.Binding {
	if q.rules == nil {
		return nil
	}
	for _, b := range q.rules.Bindings {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// log is the command that prints the output of a receipt.
func (q *Question) log(sha receipts.Hash) string {
	return report.Command(slices.Concat([]string{"dialect", "log"}, q.storeFlags(), []string{sha.Short()}))
}
