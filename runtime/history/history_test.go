package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// documents keeps three runs, of which the last in the list is the oldest.
func documents(t *testing.T) Documents {
	t.Helper()
	d := Documents{archive.Archive(t.TempDir())}
	for i, run := range []string{"r-aaaa1111aaaa1111", "r-aaaa2222aaaa2222", "r-bbbb3333bbbb3333"} {
		doc := &report.Document{Schema: "dialect.report/1", Run: run}
		doc.Script.Name, doc.Script.Path, doc.Script.SHA256 = "a.dlct", "/p/a.dlct", "aa"
		if run == "r-bbbb3333bbbb3333" {
			doc.Script.Path, doc.Script.SHA256 = "", "bb"
		}
		doc.Lines = []*report.DocResult{nil, {ID: "1", Line: 1, Members: []*report.DocResult{{ID: "1.1", Line: 1, Receipt: "00ff11" + run[2:]}}}}
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
		"": "r-aaaa1111aaaa1111", "r-aaaa2222aaaa2222": "r-aaaa2222aaaa2222", "r-bb": "r-bbbb3333bbbb3333", "r-b": "no run", "r-aaaa": "not unique", "r-c": "no run",
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
	d.KeepRun("r-cccc4444cccc4444", []byte(`{"schema":"dialect.report/1","run":"r-aaaa1111aaaa1111"}`))
	if _, err := d.Find("r-cccc4444cccc4444"); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("a document under the name of another run: %v", err)
	}
}

// TestFindKilled: the newest run is the one that was killed, if it began after the last one with a document had ended.
func TestFindKilled(t *testing.T) {
	for started, want := range map[string]string{"1970-01-01T00:16:39Z": "", "1970-01-01T00:16:41Z": "r-dead of a.dlct, was killed"} {
		d := documents(t)
		path := filepath.Join(d.RunsPath(), "live", "r-dead")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"run":"r-dead","script":"a.dlct","started":"`+started+`"}`), 0o600)); err != nil {
			t.Fatal(err)
		}
		for id, dead := range map[string]bool{"": true, "3": true, "r-aaaa1111aaaa1111": false} {
			doc, _, err := d.Line(id)
			if said := err != nil && strings.Contains(err.Error(), "was killed"); said != (dead && want != "") || said && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %q: %v, %v", started, id, doc, err)
			}
		}
	}
}

// TestKilled kills a few runs, each of which is named, and more, which are counted.
func TestKilled(t *testing.T) {
	for n, want := range map[int]string{
		0: "", 1: "the run r-0 of a.dlct, begun ", 3: "the run r-1 of a.dlct, begun ", 5: "5 runs were killed; `dialect runs` lists them. The last of them: the run r-0 of a.dlct, begun ",
	} {
		d := documents(t)
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "receipts.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		for i := range n {
			path := filepath.Join(d.RunsPath(), "live", fmt.Sprint("r-", i))
			text := fmt.Sprintf(`{"run":"r-%d","script":"a.dlct","started":"1970-01-01T00:16:%02dZ"}`, i, 50-i)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		texts := Killed(t.Context(), d.Archive, store)
		if all := strings.Join(texts, "\n"); !strings.Contains(all, want) || len(texts) != min(n, 3) && len(texts) != 1 {
			t.Errorf("%d: %q", n, texts)
		}
	}
}

func TestLine(t *testing.T) {
	d := documents(t)
	for id, want := range map[string]string{
		"": "r-aaaa1111aaaa1111", "r-bbbb": "r-bbbb3333bbbb3333", "r-bbbb/1": "r-bbbb3333bbbb3333 1", "r-bbbb/1.1": "r-bbbb3333bbbb3333 1.1", "r-bbbb/2": "has no step",
		"00ff11bbbb": "r-bbbb3333bbbb3333 1.1", "00ff11": "r-aaaa1111aaaa1111 1.1", "00ff12": "no kept run", "00ff": "is not an id", "xyzxyz": "is not an id",
		"1": "r-aaaa1111aaaa1111 1", "1.1": "r-aaaa1111aaaa1111 1.1", "9": "has no line 9", "1.x": "is not an id", "0": "is not an id",
		"/p/a.dlct:1.1": "r-aaaa1111aaaa1111 1.1", "/p/b.dlct:1": "no run of /p/b.dlct is kept", "123456": "no kept run",
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
	// A line that the last run had no part in is in one before it.
	keep(t, d, "r-cccc4444cccc4444", "/p/a.dlct", nil, &report.DocResult{ID: "1", File: "a.dlct", Line: 3})
	var lookup *LookupError
	if _, _, err := d.Line("1"); !errors.As(err, &lookup) || lookup.Hint != "it has: 3; a run before it has a.dlct:1: dialect log r-aaaa1111aaaa1111/1" {
		t.Errorf("%+v", err)
	}
	if _, _, err := d.Line("9"); !errors.As(err, &lookup) || lookup.Hint != "it has: 3" {
		t.Errorf("%+v", err)
	}
}

func TestLast(t *testing.T) {
	d := documents(t)
	for _, c := range []struct{ path, sha256, want string }{
		{"/p/a.dlct", "cc", "r-aaaa1111aaaa1111"}, // whatever it says by now
		{"", "bb", "r-bbbb3333bbbb3333"}, {"", "aa", ""}, {"/p/b.dlct", "aa", ""},
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

// keep keeps the document of a run of a script with these lines.
func keep(t *testing.T, d Documents, run, path string, text []byte, lines ...*report.DocResult) *report.Document {
	t.Helper()
	doc := &report.Document{Schema: "dialect.report/1", Run: run, Lines: lines}
	doc.Script.Path, doc.Script.SHA256 = path, (&project.Script{Text: text}).SHA256()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	d.KeepRun(run, b)
	return doc
}

// TestLeftOver finds lines that did not pass by their text, where they are by now.
func TestLeftOver(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.dlct")
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(&project.Script{Name: "a.dlct", Path: path, Text: []byte("# moved\nTest with go\nCheck with vet\nTest with go\nClose issue\n")}, "")
	if err != nil {
		t.Fatal(err)
	}
	line := func(text, verdict, reason string) *report.DocResult {
		return &report.DocResult{Text: text, Verdict: verdict, Reason: reason}
	}
	gate := line("Close issue", "failed", "")
	gate.Gate = &report.DocGate{}
	for i, c := range []struct {
		lines []*report.DocResult
		want  []int
		why   string
	}{
		{nil, nil, "nothing of a.dlct is left over"},
		{[]*report.DocResult{nil, line("Test with go", "failed", ""), line("Check with vet", "passed", "")}, []int{2, 4}, ""},
		{[]*report.DocResult{line("Test with go", "flaky", ""), line("Check with vet", "skipped", "no_failure"), gate}, nil, "nothing of a.dlct is left over"},
		{[]*report.DocResult{line("Check with vet", "skipped", "barrier"), line("Gone with wind", "failed", "")}, nil, "a.dlct has changed since r-1111111111111111, and a line that did not pass there is not found: running all of it"},
	} {
		d := Documents{archive.Archive(filepath.Join(dir, strconv.Itoa(i)))}
		keep(t, d, "r-1111111111111111", path, nil, c.lines...)
		if got, _, why := d.LeftOver(p); !slices.Equal(got, c.want) || !strings.HasPrefix(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%d: %v, %q; want %v, %q", i, got, why, c.want, c.why)
		}
	}
	// Of the same script the number tells, whatever is shown of the text.
	d := Documents{archive.Archive(filepath.Join(dir, "same"))}
	doc := &report.Document{Schema: "dialect.report/1", Run: "r-1111111111111111", Script: report.DocScript{Path: path, SHA256: p.Script.SHA256()}, Lines: []*report.DocResult{
		{Line: 2, Text: "Test with go", Verdict: "passed"}, {Line: 4, Text: "Test with [redacted:00112233]", Verdict: "failed"},
	}}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	d.KeepRun("r-1111111111111111", text)
	if got, _, why := d.LeftOver(p); !slices.Equal(got, []int{4}) || why != "" {
		t.Errorf("%v, %q", got, why)
	}
	// What a run left that was killed since is not known.
	mark := filepath.Join(d.RunsPath(), "live", "r-dead")
	started, _ := json.Marshal(time.Now().Add(time.Hour))
	if err := errors.Join(os.MkdirAll(filepath.Dir(mark), 0o700), os.WriteFile(mark, []byte(`{"run":"r-dead","script":"a.dlct","started":`+string(started)+`}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, _, why := d.LeftOver(p); got != nil || !strings.HasPrefix(why, "the run r-dead of a.dlct was killed") {
		t.Errorf("%v, %q", got, why)
	}
	if got, _, why := (Documents{archive.Archive(filepath.Join(dir, "none"))}).LeftOver(p); got != nil || !strings.HasPrefix(why, "no earlier run") {
		t.Errorf("%v, %q", got, why)
	}
}

// TestAgain says how runs of scripts that are as they were, have changed, are gone or are another project's
// are run again.
func TestAgain(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	text := []byte("Test with go\nCheck with vet\n")
	store, path := archive.Store(dir), filepath.Join(dir, "a.dlct")
	d := Documents{archive.Of(store)}
	if err := errors.Join(os.MkdirAll(string(d.Archive), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	one, two := &report.DocResult{ID: "1", Line: 1, Text: "Test with go"}, &report.DocResult{ID: "2", Line: 2, Text: "Check with vet"}
	part := keep(t, d, "r-part", path, text, two)
	part.Script.Part = true
	damaged := keep(t, d, "r-damaged", path, text, nil)
	damaged.Script.Part = true
	outside := filepath.Join(t.TempDir(), "b.dlct")
	if err := os.WriteFile(outside, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		doc    *report.Document
		line   *report.DocResult
		script string
		lines  string
		note   string
		err    string
	}{
		{keep(t, d, "r-1111111111111111", path, text, one, two), nil, "a.dlct", "", "", ""},
		{keep(t, d, "r-1111111111111111", path, text, one, two), two, "a.dlct:2", "", "", ""},
		{part, nil, "a.dlct:2", "", "", ""},
		{damaged, nil, "a.dlct", "", "", ""},
		{keep(t, d, "r-2222222222222222", path, []byte("x"), one), nil, "a.dlct", "", "a.dlct has changed since r-2222222222222222", ""},
		{keep(t, d, "r-2222222222222222", path, []byte("x"), one), one, "", "", "", "line 1 may be another"},
		{keep(t, d, "r-3333333333333333", "", text, one, nil, two), nil, "", "Test with go|Check with vet", "", ""},
		{keep(t, d, "r-3333333333333333", "", text, one, two), two, "", "Check with vet", "", ""},
		{keep(t, d, "r-4444444444444444", outside, text, one), nil, "", "", "", "is outside of the project"},
		{keep(t, d, "r-5555555555555555", path+".gone", text, one), nil, "", "", "", "is gone: "},
	} {
		got, err := d.Again(store, c.doc, c.line)
		var lookup *LookupError
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) || !errors.As(err, &lookup) {
				t.Errorf("%s: %v; want %q", c.doc.Run, err, c.err)
			}
		case err != nil || got.Script != c.script || strings.Join(got.Lines, "|") != c.lines || got.Note != c.note:
			t.Errorf("%s: %+v, %v", c.doc.Run, got, err)
		}
	}
	// The flags that say what the lines are.
	flagged := keep(t, d, "r-6666666666666666", path, text, one, two)
	flagged.Script.Flags = []string{"--set", "a=1", "--clean", "--routing", "x.toml", "--engine", "temporal", "--set", "b=--set", "--routing"}
	if got, err := d.Again(store, flagged, nil); err != nil || !slices.Equal(got.Set, []string{"a=1", "b=--set"}) || got.Routing != "x.toml" || got.Engine != "temporal" || got.Run != "r-6666666666666666" {
		t.Errorf("%+v, %v", got, err)
	}
	// A store that is not a project's says nothing of where its scripts are.
	if got, err := d.Again(filepath.Join(dir, "other.db"), keep(t, d, "r-4444444444444444", outside, text, one), nil); err != nil || got.Script == "" {
		t.Errorf("%+v, %v", got, err)
	}
}
