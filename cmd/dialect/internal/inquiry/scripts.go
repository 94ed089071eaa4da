package inquiry

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/policy"
)

// otherScripts says which of the scripts that ran are not those of the baseline, also those that a task ran.
func (q *Question) otherScripts(res *verify.Result) (notes []string) {
	if q.trusted == nil {
		return nil
	}
	type script struct {
		name   string
		digest receipts.Hash // one can have changed between two runs
	}
	seen := make(map[script]bool)
	note := func(format, name string) {
		if text := fmt.Sprintf(format, diag.Name(q.Named(name)), q.state.Against); !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	for _, m := range res.Leaves() {
		v, _ := m.Parse()
		r, ok := v.(*receipts.Receipt)
		if !ok || m.Inner && (res.Body == nil || r.Place != res.Body.Place) {
			continue
		}
		name := r.Line.File.Text
		this := script{name, r.Script}
		if !verify.IsScript(name) || seen[this] || r.Script.IsZero() {
			continue
		}
		seen[this] = true
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(q.root, filepath.FromSlash(path))
		}
		text, err := q.trusted.ReadFile(path)
		switch {
		case err == nil && receipts.Hash(sha256.Sum256(text)) != r.Script:
			note("the script %s that ran is not that of %s", name)
		case err != nil && m.By != nil && m.By.Kind == string(plan.Task) && m.By.HandedBack.IsZero(): // the baseline may have one of that name elsewhere
			note("the script %s that a task ran is not in %s", name)
		case errors.Is(err, fs.ErrNotExist) && !m.Inner && q.state.Commit != "" && q.state.Kind != policy.Pinned: // a pin has no scripts
			note("the script %s that ran is not in %s", name)
		}
	}
	return notes
}
