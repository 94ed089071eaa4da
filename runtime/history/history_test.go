package history

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/report"
)

// documents keeps three runs, of which the last in the list is the oldest.
func documents(t *testing.T) Documents {
	t.Helper()
	d := Documents{archive.Archive(t.TempDir())}
	for i, run := range []string{"r-aaaa1111", "r-aaaa2222", "r-bbbb3333"} {
		doc := &report.Document{Schema: "dialect.report/1", Run: run}
		doc.Script.Path, doc.Script.SHA256 = "/p/a.dlct", "aa"
		if run == "r-bbbb3333" {
			doc.Script.Path, doc.Script.SHA256 = "", "bb"
		}
		doc.Lines = []*report.DocResult{nil, {ID: "1", Members: []*report.DocResult{{ID: "1.1", Receipt: "00ff11" + run[2:]}}}}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		d.KeepRun(run, text)
		at := time.Unix(int64(1000-i), 0)
		if err := os.Chtimes(d.RunPath(run), at, at); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestFind(t *testing.T) {
	d := documents(t)
	for id, want := range map[string]string{
		"": "r-aaaa1111", "r-aaaa2222": "r-aaaa2222", "r-bb": "r-bbbb3333", "r-b": "no run", "r-aaaa": "not unique", "r-c": "no run",
	} {
		doc, err := d.Find(id)
		var lookup *LookupError
		switch {
		case err == nil && doc.Run == want:
		case err != nil && strings.Contains(err.Error(), want) && errors.As(err, &lookup) && !lookup.Bad:
		default:
			t.Errorf("%q: %v, %v; want %s", id, doc, err, want)
		}
	}
	if _, err := (Documents{archive.Archive(t.TempDir())}).Find(""); err == nil || !strings.Contains(err.Error(), "no run is kept") {
		t.Errorf("of none: %v", err)
	}
	d.KeepRun("r-other", []byte(`{"schema":"dialect.report/1","run":"r-aaaa1111"}`))
	if _, err := d.Find("r-other"); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("a document under the name of another run: %v", err)
	}
}

func TestLine(t *testing.T) {
	d := documents(t)
	for id, want := range map[string]string{
		"": "r-aaaa1111", "r-bbbb": "r-bbbb3333", "r-bbbb/1": "r-bbbb3333 1", "r-bbbb/1.1": "r-bbbb3333 1.1", "r-bbbb/2": "has no step",
		"00ff11bbbb": "r-bbbb3333 1.1", "00ff11": "r-aaaa1111 1.1", "00ff12": "no kept run", "00ff": "is not an id", "xyzxyz": "is not an id",
	} {
		doc, l, err := d.Line(id)
		var lookup *LookupError
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), want) || !errors.As(err, &lookup) || lookup.Bad != (want == "is not an id") {
				t.Errorf("%q: %v; want %s", id, err, want)
			}
		case l == nil && doc.Run != want, l != nil && doc.Run+" "+l.ID != want:
			t.Errorf("%q: %s, %v; want %s", id, doc.Run, l, want)
		}
	}
}

func TestLast(t *testing.T) {
	d := documents(t)
	for _, c := range []struct{ path, sha256, want string }{
		{"/p/a.dlct", "cc", "r-aaaa1111"}, // whatever it says by now
		{"", "bb", "r-bbbb3333"}, {"", "aa", ""}, {"/p/b.dlct", "aa", ""},
	} {
		switch doc := d.Last(c.path, c.sha256); {
		case doc == nil && c.want != "", doc != nil && doc.Run != c.want:
			t.Errorf("%q %q: %v, want %q", c.path, c.sha256, doc, c.want)
		}
	}
}

// entry makes an entry of the log.
func entry(t *testing.T, seq int64, b interface {
	Record() (receipts.Record, error)
}) receipts.Entry {
	t.Helper()
	rec, err := b.Record()
	if err != nil {
		t.Fatal(err)
	}
	return receipts.Entry{Record: rec, Seq: seq, SHA: rec.SHA()}
}

// TestRuns makes runs that passed, failed, were killed, and had no gate.
func TestRuns(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0).UTC()
	at := func(seconds int) receipts.Time {
		return receipts.Time{Time: begin.Add(time.Duration(seconds) * time.Second)}
	}
	var es []receipts.Entry
	add := func(b interface {
		Record() (receipts.Record, error)
	}) {
		es = append(es, entry(t, int64(len(es)), b))
	}
	planned := []receipts.Planned{{Step: "1", Line: 1, Binding: "vet"}, {Step: "2", Line: 2, Binding: "test"}, {Step: "3", Line: 3, Binding: "gate_results"}}
	run := func(id string) {
		add(&receipts.Run{Version: 1, Run: id, Session: "s", Started: at(0), Script: receipts.File{Path: receipts.Text("a.dlct")}, Planned: planned, Dialect: "d", System: "s"})
	}
	step := func(id, step string, status receipts.Status, tree byte, took int64) {
		code := 0
		if status == receipts.StatusFailed {
			code = 1
		}
		r := &receipts.Receipt{
			Version: 1, Run: id, Session: "s", Step: step, Binding: map[string]string{"1": "vet", "2": "test"}[step], Status: status, ExitCode: &code, Kind: "process", Attempt: 1,
			Timestamp: at(1), DurationNS: took * int64(time.Second), Argv: []receipts.Datum{receipts.Text("x")},
			Line:      receipts.Line{File: receipts.Text("a.dlct"), Number: 1, Text: receipts.Text("line " + step)},
			Workspace: &receipts.Workspace{Before: receipts.Tree{Bytes: receipts.Hash{tree}}},
		}
		r.Command = receipts.CommandHash([]string{"x"})
		add(r)
	}
	run("r-passed")
	step("r-passed", "1", receipts.Succeeded, 1, 2)
	step("r-passed", "2", receipts.Succeeded, 1, 4)
	add(&receipts.Gate{Version: 1, Run: "r-passed", Session: "s", Timestamp: at(9), Final: true, Members: []receipts.Hash{es[1].SHA}})
	run("r-failed")
	step("r-failed", "1", receipts.Succeeded, 1, 1)
	step("r-failed", "2", receipts.StatusFailed, 1, 8)
	run("r-killed")
	step("r-killed", "1", receipts.Succeeded, 2, 3)
	run("r-ungated")
	step("r-ungated", "1", receipts.Succeeded, 2, 9)
	step("r-ungated", "2", receipts.Succeeded, 2, 6)
	for i, e := range es {
		if v, err := e.Parse(); err != nil {
			t.Fatalf("record %d: %v: %T", i, err, v)
		}
	}
	want := []string{
		"r-passed passed, 2 of 3, 0 failed, 5 s, next ",
		"r-failed failed, 2 of 3, 1 failed, 9 s, next ",
		"r-killed unfinished, 1 of 3, 0 failed, 4 s, next line 2 (test)",
		"r-ungated ungated, 2 of 3, 0 failed, 10 s, next ",
	}
	list := runs(es)
	if len(list) != len(want) {
		t.Fatalf("%d runs", len(list))
	}
	for i, r := range list {
		got := strings.Join([]string{r.Run + " " + r.Verdict, strconv.Itoa(r.Ended) + " of " + strconv.Itoa(r.Commands), strconv.Itoa(r.Failed) + " failed", strconv.Itoa(int(r.Elapsed)) + " s", "next " + r.Next}, ", ")
		if got != want[i] {
			t.Errorf("%s\nwant %s", got, want[i])
		}
	}
	stats := lines(es, map[string]bool{"r-passed": true, "r-failed": true, "r-ungated": true})
	if len(stats) != 2 {
		t.Fatalf("%d lines", len(stats))
	}
	if l := stats[0]; l.Line != "line 1" || l.Runs != 3 || l.Failed != 0 || l.Median != 2 || l.Slowest != 9 || l.Trees != 2 || l.Flaked != 0 {
		t.Errorf("%+v", l)
	}
	if l := stats[1]; l.Binding != "test" || l.Runs != 3 || l.Failed != 1 || l.Median != 6 || l.Slowest != 8 || l.Trees != 2 || l.Flaked != 1 {
		t.Errorf("%+v", l)
	}
}
