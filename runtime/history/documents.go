// Package history says what earlier runs came to: by the documents that they left, which are
// their reports and no evidence, and by their receipts.
package history

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/report"
)

// Documents are those that runs left in an archive.
type Documents struct{ archive.Archive }

// A LookupError says that no document is what was asked for, or several are.
type LookupError struct {
	Text string
	Hint string // what to do; may be empty
	Bad  bool   // what was asked for cannot be an id
}

func (e *LookupError) Error() string { return e.Text }

const runsHint = "`dialect runs` shows what there is"

// Read returns the document of a run.
func (d Documents) Read(run string) (*report.Document, error) {
	text, err := d.ReadRun(run)
	if errors.Is(err, regular.ErrKind) {
		return nil, fmt.Errorf("%s is not a document of a run", d.RunPath(run))
	}
	if err != nil {
		return nil, err
	}
	doc, err := report.Read(bytes.NewReader(text))
	if err == nil && doc.Run != run {
		err = errors.New("it is of another run")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", d.RunPath(run), err)
	}
	return doc, nil
}

// Find returns the document of a run: by its id, a prefix of it of at least four bytes,
// or, for "", of the newest run, which must not have been killed. The error is a [*LookupError], or that of [Documents.Read].
func (d Documents) Find(id string) (*report.Document, error) {
	names := d.Runs()
	if id == "" {
		if m := d.Dead(""); m != nil && (len(names) == 0 || d.Kept(names[0]).Before(m.Started)) {
			e := &LookupError{Text: fmt.Sprintf("the newest run, %s of %s, was killed: it has no report", m.Run, diag.Name(m.Script)), Hint: "`dialect run` runs it again"}
			if len(names) > 0 {
				e.Hint = "the run before it is " + names[0]
			}
			return nil, e
		}
	}
	if len(names) == 0 {
		return nil, &LookupError{Text: "no run is kept in " + d.RunsPath(), Hint: "`dialect run FILE` keeps one, unless it has no store"}
	}
	if id == "" {
		return d.Read(names[0])
	}
	var found []string
	for _, n := range names {
		if n == id {
			return d.Read(n)
		}
		if strings.HasPrefix(n, id) && len(id) >= 4 {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return d.Read(found[0])
	case 0:
		return nil, &LookupError{Text: fmt.Sprintf("no run %s is kept", id), Hint: runsHint}
	}
	return nil, &LookupError{Text: fmt.Sprintf("%s is not unique: %s", id, strings.Join(found[:min(len(found), 5)], ", "))}
}

// maxLooked bounds how many documents are read to find one.
const maxLooked = 1000

// each calls f for the documents that can be read, the newest first, until f returns true.
func (d Documents) each(f func(*report.Document) bool) {
	names := d.Runs()
	for _, run := range names[:min(len(names), maxLooked)] {
		if doc, err := d.Read(run); err == nil && f(doc) {
			return
		}
	}
}

// Last returns the newest document, of those of the newest thousand runs, of the script at
// path; where path is empty, of the script without one that has the digest. It returns nil
// if there is none.
func (d Documents) Last(path, sha256 string) (last *report.Document) {
	d.each(func(doc *report.Document) bool {
		if doc.Script.Path == path && (path != "" || doc.Script.SHA256 == sha256) {
			last = doc
		}
		return last != nil
	})
	return last
}

// Line returns the document, and the line of it, that an id names: RUN, RUN/STEP, a place as reports
// print it (LINE or LINE.MEMBER of the newest run, FILE:LINE of the newest of that script), or a receipt
// by at least six hex digits of its hash. The line is nil for a whole run. The error is as that of
// [Documents.Find].
func (d Documents) Line(id string) (*report.Document, *report.DocResult, error) {
	run, step, one := strings.Cut(id, "/")
	if id == "" || strings.HasPrefix(id, "r-") {
		doc, err := d.Find(run)
		if err != nil || !one {
			return doc, nil, err
		}
		if l := find(doc.Lines, func(l *report.DocResult) bool { return l.ID == step }); l != nil {
			return doc, l, nil
		}
		return nil, nil, &LookupError{Text: fmt.Sprintf("the run %s has no step %s", doc.Run, step)}
	}
	if name, at, ok := isPlace(id); ok {
		return d.at(name, at)
	}
	if len(id) < 6 || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, nil, &LookupError{Bad: true, Text: fmt.Sprintf("%q is not an id: want r-..., r-.../STEP, a line such as 3 or 3.2, or at least 6 hex digits of a receipt", id)}
	}
	var found *report.Document
	var line *report.DocResult
	d.each(func(doc *report.Document) bool {
		found, line = doc, find(doc.Lines, func(l *report.DocResult) bool { return strings.HasPrefix(l.Receipt, id) })
		return line != nil
	})
	if line == nil {
		return nil, nil, &LookupError{Text: "no kept run has a receipt " + id, Hint: runsHint}
	}
	return found, line, nil
}

// isPlace takes apart FILE:LINE.MEMBER; the file may be missing. Six digits are an id.
func isPlace(id string) (name, at string, ok bool) {
	if i := strings.LastIndexByte(id, ':'); i > 0 {
		name, id = id[:i], id[i+1:]
	}
	for part := range strings.SplitSeq(id, ".") {
		if n, err := strconv.Atoi(part); err != nil || n < 1 || len(part) > 5 {
			return "", "", false
		}
	}
	return name, id, true
}

// at returns the line at a place of the newest run, or of the newest of the script that is called name.
func (d Documents) at(name, at string) (doc *report.Document, l *report.DocResult, err error) {
	if name == "" {
		doc, err = d.Find("")
	} else if path, aerr := filepath.Abs(name); aerr != nil {
		err = aerr
	} else if doc = d.Last(path, ""); doc == nil {
		err = &LookupError{Text: "no run of " + name + " is kept", Hint: runsHint}
	}
	if err != nil {
		return nil, nil, err
	}
	if l = find(doc.Lines, func(l *report.DocResult) bool { return l.At() == at }); l == nil {
		var places []string
		for _, l := range doc.Lines {
			if l != nil {
				places = append(places, l.At())
			}
		}
		if len(places) == 0 {
			return nil, nil, &LookupError{Text: fmt.Sprintf("%s, of %s, ran no line", doc.Run, doc.Script.Name), Hint: runsHint}
		}
		hint := "it has: " + strings.Join(places[:min(len(places), 20)], ", ")
		d.each(func(before *report.Document) bool { // a run of one line of a script, or of what was piped in, hides that of the script
			if doc.Script.Path != "" && before.Script.Path != doc.Script.Path {
				return false
			}
			l := find(before.Lines, func(l *report.DocResult) bool { return l.At() == at })
			if l != nil {
				hint += fmt.Sprintf("; a run before it has %s:%s: dialect log %s/%s", before.Script.Name, at, before.Run, l.ID)
			}
			return l != nil
		})
		return nil, nil, &LookupError{Text: fmt.Sprintf("%s, of %s, has no line %s", doc.Run, doc.Script.Name, at), Hint: hint}
	}
	return doc, l, nil
}

// Recorded returns the command whose output is meant by l, or, where that is nil, by the run of doc: the only
// one with a receipt, or the only one of several that did not pass. The error is a [*LookupError].
func Recorded(doc *report.Document, l *report.DocResult) (*report.DocResult, error) {
	what, lines := "run "+doc.Run, doc.Lines
	if l != nil {
		what, lines = fmt.Sprintf("line %s (%s)", l.At(), l.Title()), []*report.DocResult{l}
	}
	var all, bad []*report.DocResult
	var leaves func(l *report.DocResult)
	leaves = func(l *report.DocResult) {
		if l == nil {
			return
		}
		for _, m := range l.Members {
			leaves(m)
		}
		if l.Receipt != "" && l.Gate == nil {
			if all = append(all, l); l.Bad() {
				bad = append(bad, l)
			}
		}
	}
	for _, l := range lines {
		leaves(l)
	}
	switch {
	case len(bad) == 1:
		return bad[0], nil
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return nil, &LookupError{Text: what + " has no receipt, so no log"}
	}
	var places []string
	for _, m := range all {
		places = append(places, m.At())
	}
	return nil, &LookupError{Text: fmt.Sprintf("%s ran %s", what, diag.Number(len(all), "command")), Hint: "name one: " + strings.Join(places[:min(len(places), 20)], ", ")}
}

// find returns the first line or member that ok is true of.
func find(lines []*report.DocResult, ok func(*report.DocResult) bool) *report.DocResult {
	for _, l := range lines {
		if l == nil {
			continue
		}
		if ok(l) {
			return l
		}
		if m := find(l.Members, ok); m != nil {
			return m
		}
	}
	return nil
}
