package records

import (
	"fmt"
	"io"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
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

	since int64 // records that the kept checkpoint covers
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
		Origin: a.Origin, Records: a.Count, Root: receipts.Hash(a.Root).String(), Findings: []Finding{}, since: a.Since,
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

// WriteText writes what the audit found, for people.
func (a Audit) WriteText(w io.Writer) error {
	var b strings.Builder
	if a.Consistent {
		truncation := "truncation not checked (no kept checkpoint)"
		if a.since >= 0 {
			truncation = fmt.Sprintf("complete up to the kept checkpoint of %d", a.since)
		}
		fmt.Fprintf(&b, "consistent: %s, root %s; %s", diag.Number(int(a.Records), "record"), a.Root, truncation)
		if a.Signed != nil {
			fmt.Fprintf(&b, "; signed up to record %d, %d unsigned", *a.Signed, *a.Unsigned)
		}
		b.WriteByte('\n')
	}
	for _, x := range a.Findings {
		fmt.Fprintf(&b, "%s: %s\n", strings.ToUpper(x.Kind), diag.Printable(x.Message))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A BundleAudit is what `dialect receipts audit --bundle --json` prints.
type BundleAudit struct {
	Schema          string `json:"schema"` // dialect.bundle-audit/1
	Consistent      bool   `json:"consistent"`
	Problem         string `json:"problem,omitempty"`
	Origin          string `json:"origin,omitempty"`
	Records         int    `json:"records"`
	Unsigned        int    `json:"unsigned"`
	CheckpointKey   string `json:"checkpoint_signed_by,omitempty"`
	CheckpointCount int64  `json:"checkpoint_records,omitempty"`
	Truncation      string `json:"truncation"` // "not checked" or "checked"

	kept  *receipts.Checkpoint
	gates []receipts.Entry
}

// NewBundleAudit makes the document of the audit of a bundle, which was checked against the checkpoint kept,
// if there is one, and refused, or read as book.
func NewBundleAudit(book *verify.Session, refused error, kept *receipts.Checkpoint) BundleAudit {
	doc := BundleAudit{Schema: "dialect.bundle-audit/1", Consistent: refused == nil, Truncation: "not checked", kept: kept}
	if refused != nil {
		doc.Problem = refused.Error()
		return doc
	}
	h := book.Last()
	doc.Origin, doc.CheckpointKey, doc.CheckpointCount = h.Origin, book.CheckpointKey(), h.Count
	if kept != nil {
		doc.Truncation = "checked"
	}
	for _, e := range book.Entries() {
		doc.Records++
		if e.Key == "" {
			doc.Unsigned++
		}
		if e.Kind == receipts.KindGate {
			doc.gates = append(doc.gates, e)
		}
	}
	return doc
}

// WriteText writes the audit for people, with the gates that the bundle holds.
func (a BundleAudit) WriteText(w io.Writer) error {
	if !a.Consistent {
		_, err := fmt.Fprintf(w, "TAMPERED: %s\n", diag.Printable(a.Problem))
		return err
	}
	signed, since := "not signed by a key that was given", ""
	if a.CheckpointKey != "" {
		signed = "signed by " + a.CheckpointKey
	}
	if a.kept != nil {
		since = fmt.Sprintf("; the log begins with the kept checkpoint of %d", a.kept.Count)
	}
	_, err := fmt.Fprintf(w, "consistent: %s of a log of %d, %d unsigned; the checkpoint is %s%s\n", diag.Number(a.Records, "record"), a.CheckpointCount, a.Unsigned, signed, since)
	for _, e := range a.gates {
		fmt.Fprintf(w, "  gate %s (%s)\n", receipts.GateID(e.SHA), RecordedBy(e.Level, e.Key))
	}
	return err
}
