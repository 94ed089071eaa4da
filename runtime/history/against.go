package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/report"
)

// against says, in a sentence each, what the store has of the run of a document and the document lacks or contradicts, and where its
// summary is not that of its lines. Proofs compare what is there; a line that was taken out has none, so the records of the run are
// looked through as well.
func against(ctx context.Context, s *sqlite.Store, d *report.Document, proofs map[*report.DocResult]*report.Proof, gate func(*report.DocGate) *report.Proof) (list []string) {
	no := func(format string, args ...any) { list = append(list, diag.Printable(fmt.Sprintf(format, args...))) }
	es, err := s.OfRun(ctx, d.Run)
	if err != nil {
		no("The store does not verify: %v.", err)
		return list
	}
	lines := make(map[string]*report.DocResult)
	named := make(map[string]bool) // receipts that the document names
	var wrong []string
	leaves(d.Lines, func(l *report.DocResult) {
		if lines[l.ID] != nil {
			no("The line %s stands in the document twice.", l.ID)
		}
		lines[l.ID] = l
		for _, sha := range append([]string{l.Receipt}, l.Earlier...) {
			named[sha] = true
		}
		if p := proofs[l]; p != nil && !p.OK && !l.Degraded {
			wrong = append(wrong, l.ID)
		}
	})
	if d.Gate != nil {
		named[d.Gate.SHA256] = true
		if p := gate(d.Gate); p != nil && !p.OK {
			no("%s", p.Text)
		}
	}
	if len(wrong) > 0 {
		no("What the document says of %s is not what their receipts say: %s.", diag.Number(len(wrong), "line"), strings.Join(wrong[:min(len(wrong), maxNamed)], ", "))
	}
	list = append(list, missing(d, es, lines, named)...)
	for _, text := range d.Contradictions() {
		no("%s", text)
	}
	return list
}

// maxNamed bounds how many lines one sentence names.
const maxNamed = 20

// missing compares the records of a run with the lines and the receipts that its document names.
func missing(d *report.Document, es []receipts.Entry, lines map[string]*report.DocResult, named map[string]bool) (list []string) {
	no := func(format string, args ...any) { list = append(list, diag.Printable(fmt.Sprintf(format, args...))) }
	var begun *receipts.Run
	last := make(map[string]receipts.Entry) // receipt of each step
	for _, e := range es {
		v, _ := e.Parse()
		switch b := v.(type) {
		case *receipts.Run:
			if begun == nil {
				begun = b
			}
		case *receipts.Gate:
			if !named[e.SHA.String()] {
				no("The store has the gate %s of this run, and the document does not.", receipts.GateID(e.SHA))
			}
		case *receipts.Receipt:
			last[b.Step] = e
			if !named[e.SHA.String()] {
				no("The store has a receipt of line %s (%s) that the document does not have: %s, receipt %s.", b.Step, b.Line.Text.Text, strings.ReplaceAll(string(b.Status), "_", " "), e.SHA.Short())
			}
		}
	}
	for id, l := range lines {
		if e, ok := last[id]; ok && l.Receipt != e.SHA.String() && named[e.SHA.String()] {
			no("The last receipt of line %s is %s, and the document names another.", id, e.SHA.Short())
		}
	}
	slices.Sort(list)
	switch {
	case begun == nil && d.Degraded != "":
	case begun == nil && len(es) == 0 && len(lines) == 0 && d.Verdict == "fault": // of a script without a command nothing is recorded
	case begun == nil:
		no("The store does not know that this run began.")
	default:
		if begun.Script.SHA256.String() != d.Script.SHA256 || begun.Part != d.Script.Part {
			no("The run was of another script.")
		}
		if m := begun.Matrix; m != nil && (d.Matrix == nil || m.SHA256.String() != d.Matrix.SHA256) {
			no("The run was under another matrix.")
		}
		if begun.Session != d.Session || begun.Nonce != d.Nonce {
			no("The run was of another session, or had another nonce.")
		}
		for _, p := range begun.Planned {
			if _, had := last[p.Step]; lines[p.Step] == nil && !had {
				no("The run had a line %s (%s) that the document does not have.", p.Step, p.Binding)
			}
		}
	}
	return list
}

// leaves calls f for each line without members, and each member.
func leaves(lines []*report.DocResult, f func(*report.DocResult)) {
	for _, l := range lines {
		switch {
		case l == nil:
		case len(l.Members) > 0:
			leaves(l.Members, f)
		default:
			f(l)
		}
	}
}
