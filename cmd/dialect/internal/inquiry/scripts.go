package inquiry

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// ran looks up, of a result, the receipt that its gravest refusal is about and one of each run that a command below its gate started.
func (q *Question) ran(res *verify.Result, get func(id string) (receipts.Entry, error)) {
	q.culprit = culprit(res, get)
	if res.Body == nil {
		return
	}
	seen := make(map[receipts.Hash]bool)
	todo := res.Body.Nested
	for len(todo) > 0 && len(seen) < receipts.MaxMembers {
		h := todo[0]
		todo = todo[1:]
		if seen[h] {
			continue
		}
		seen[h] = true
		e, err := get(h.String())
		if err != nil || e.SHA != h { // a bundle may leave it out
			continue
		}
		switch v, _ := e.Parse(); b := v.(type) {
		case *receipts.Receipt:
			if b.Place == res.Body.Place {
				q.started = append(q.started, b)
			}
		case *receipts.Gate:
			todo = append(append(b.Nested, b.Members[:min(len(b.Members), 1)]...), todo...)
		}
	}
}

// otherScripts says which of the scripts that ran are not those of the baseline, also those that a task ran.
func (q *Question) otherScripts(res *verify.Result) (notes []string) {
	if q.trusted == nil {
		return nil
	}
	var list []*receipts.Receipt
	for _, m := range res.Members {
		if v, _ := m.Parse(); v != nil {
			if r, ok := v.(*receipts.Receipt); ok {
				list = append(list, r)
			}
		}
	}
	seen := make(map[string]bool)
	for _, r := range append(list, q.started...) {
		name := r.Line.File.Text
		if !isScript(name) || seen[name] || r.Script.IsZero() {
			continue
		}
		seen[name] = true
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(q.root, filepath.FromSlash(path))
		}
		text, err := q.trusted.ReadFile(path)
		if err == nil && receipts.Hash(sha256.Sum256(text)) != r.Script {
			notes = append(notes, fmt.Sprintf("the script %s that ran is not that of %s", diag.Name(q.Named(name)), q.state.Against))
		}
	}
	return notes
}
