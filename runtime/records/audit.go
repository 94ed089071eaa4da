package records

import (
	"fmt"
	"io"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
)

// An Audit is what `dialect receipts audit --json` prints.
type Audit struct {
	Schema     string    `json:"schema"` // dialect.audit/1
	Consistent bool      `json:"consistent"`
	Truncation string    `json:"truncation"` // "not checked" or "checked"
	Origin     string    `json:"origin"`
	Records    int64     `json:"records"`
	Root       string    `json:"root"`
	Signed     *int64    `json:"signed,omitempty"` // records that a signed checkpoint covers; with keys
	Unsigned   *int64    `json:"unsigned,omitempty"`
	Findings   []Finding `json:"findings"`
}

// A Finding is one thing that is not as it must be.
type Finding struct {
	Kind    string `json:"kind"` // "tampered" or "unsigned"
	Seq     int64  `json:"seq"`
	SHA256  string `json:"sha256,omitempty"`
	Message string `json:"message"`
}

// NewAudit makes the document of an audit; keyed says that it was made with keys.
func NewAudit(a *sqlite.Audit, keyed bool) Audit {
	doc := Audit{
		Schema: "dialect.audit/1", Consistent: a.Consistent(), Truncation: "not checked",
		Origin: a.Origin, Records: a.Count, Root: receipts.Hash(a.Root).String(), Findings: []Finding{},
	}
	if a.Since >= 0 {
		doc.Truncation = "checked"
	}
	if keyed {
		doc.Signed, doc.Unsigned = &a.Signed, &a.Unsigned
	}
	for _, x := range a.Findings {
		d := Finding{Kind: "tampered", Seq: x.Seq, Message: x.Message}
		if x.Unsigned {
			d.Kind = "unsigned"
		}
		if !x.SHA.IsZero() {
			d.SHA256 = x.SHA.String()
		}
		doc.Findings = append(doc.Findings, d)
	}
	return doc
}

// TellAudit writes what an audit found, for people; keyed says that it was made with keys.
func TellAudit(w io.Writer, a *sqlite.Audit, keyed bool) error {
	var b strings.Builder
	if a.Consistent() {
		truncation := "truncation not checked (no kept checkpoint)"
		if a.Since >= 0 {
			truncation = fmt.Sprintf("complete up to the kept checkpoint of %d", a.Since)
		}
		fmt.Fprintf(&b, "consistent: %s, root %s; %s", diag.Number(int(a.Count), "record"), receipts.Hash(a.Root), truncation)
		if keyed {
			fmt.Fprintf(&b, "; signed up to record %d, %d unsigned", a.Signed, a.Unsigned)
		}
		b.WriteByte('\n')
	}
	for _, x := range a.Findings {
		word := "TAMPERED"
		if x.Unsigned {
			word = "UNSIGNED"
		}
		fmt.Fprintf(&b, "%s: %s\n", word, diag.Printable(x.Message))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
