package history

import (
	"bytes"
	"context"
	"crypto/sha256"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/report"
)

// proven is a store with a run of one line and its gate, and the document of that run as it should be.
type proven struct {
	path string
	*sqlite.Store
	doc *report.Document
}

func newProven(t *testing.T) *proven {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store", "receipts.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	code, script, tree := 0, receipts.Hash{5}, receipts.Tree{Bytes: receipts.Hash{9}}
	at := receipts.Time{Time: time.Unix(1_800_000_000, 0).UTC()}
	argv := []string{"go", "test", "./..."}
	r := &receipts.Receipt{
		Version: 1, Run: "r-1", Session: "s", Step: "1", Binding: "test_go", Kind: "process", Attempt: 1, Timestamp: at, DurationNS: 1,
		Status: receipts.Succeeded, ExitCode: &code, Script: script, Command: receipts.CommandHash(argv), Tests: &receipts.Tests{Passed: 3, Skipped: 1},
		Argv:      []receipts.Datum{receipts.Text(argv[0]), receipts.Text(argv[1]), receipts.Text(argv[2])},
		Line:      receipts.Line{File: receipts.Text("q.dlct"), Number: 4, Text: receipts.Text("Test with go")},
		Stdout:    receipts.Stream{SHA256: receipts.Hash{1}, Bytes: 2},
		Stderr:    receipts.Stream{SHA256: receipts.Hash{2}, Bytes: 2},
		Workspace: &receipts.Workspace{Before: tree},
	}
	begun, err := (&receipts.Run{
		Version: 1, Run: "r-1", Session: "s", Started: at, Script: receipts.File{Path: receipts.Text("q.dlct"), SHA256: script},
		Planned: []receipts.Planned{{Step: "1", Line: 4, Binding: "test_go"}},
	}).Record()
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Record()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, begun, rec); err != nil {
		t.Fatal(err)
	}
	d, err := s.Gate(ctx, receipts.GateRequest{
		Run: "r-1", Session: "s", At: at, Final: true, Tree: &tree, Script: script,
		Expect: []receipts.Expectation{{SHA: rec.SHA(), Step: "1", Binding: "test_go", Argv: argv, Required: true}},
	})
	if err != nil || !d.Passed() {
		t.Fatalf("%v, %+v", err, d)
	}
	doc := &report.Document{Run: "r-1", Session: "s", Verdict: "passed", Counts: report.DocCounts{Lines: 1, Passed: 1}, Tests: &report.DocTests{Passed: 3, Skipped: 1}}
	doc.Script.SHA256 = script.String()
	doc.Lines = []*report.DocResult{{
		ID: "1", File: "q.dlct", Line: 4, Text: "Test with go", Binding: "test_go", Kind: "process", Argv: argv, Verdict: "passed", ExitCode: &code,
		Tests:  &report.DocTests{Passed: 3, Skipped: 1},
		Stdout: &report.DocOutput{SHA256: r.Stdout.SHA256.String()}, Stderr: &report.DocOutput{SHA256: r.Stderr.SHA256.String()}, Receipt: rec.SHA().String(),
	}}
	doc.Gate = &report.DocGate{
		Verdict: "passed", ID: receipts.GateID(d.Gate), SHA256: d.Gate.String(), Final: true, Level: "L0", Rules: receipts.PolicyUnpinned,
		Tree: &report.DocTree{Bytes: tree.Bytes.String()},
	}
	return &proven{path, s, doc}
}

// Nothing that a document says of a line, and that its receipt has, can be changed without the page saying so.
func TestProof(t *testing.T) {
	p, ctx := newProven(t), context.Background()
	good := proof(ctx, p.Store, p.doc, p.doc.Lines[0])
	if good == nil || !good.OK || !strings.Contains(good.Text, "Record 1 of the log, intact") || !strings.Contains(good.Text, "consumed by ") {
		t.Fatalf("%+v", good)
	}
	for _, name := range []string{"../../q.dlct", "./q.dlct", "/home/u/p/q.dlct"} { // as a caller elsewhere named it
		at := *p.doc.Lines[0]
		at.File = name
		if got := proof(ctx, p.Store, p.doc, &at); got == nil || !got.OK {
			t.Errorf("%s: %+v", name, got)
		}
	}
	one := 1
	for name, change := range map[string]func(d *report.Document, l *report.DocResult){
		"another run":           func(d *report.Document, _ *report.DocResult) { d.Run = "r-2" },
		"another script":        func(d *report.Document, _ *report.DocResult) { d.Script.SHA256 = receipts.Hash{6}.String() },
		"another step":          func(_ *report.Document, l *report.DocResult) { l.ID = "2" },
		"another binding":       func(_ *report.Document, l *report.DocResult) { l.Binding = "test_all" },
		"another kind":          func(_ *report.Document, l *report.DocResult) { l.Kind = "mcp" },
		"another line":          func(_ *report.Document, l *report.DocResult) { l.Line = 5 },
		"another text":          func(_ *report.Document, l *report.DocResult) { l.Text = "Test with pytest" },
		"another file":          func(_ *report.Document, l *report.DocResult) { l.File = "p.dlct" },
		"a longer name":         func(_ *report.Document, l *report.DocResult) { l.File = "../xq.dlct" },
		"another command":       func(_ *report.Document, l *report.DocResult) { l.Argv = []string{"go", "test", "./a"} },
		"a part of the command": func(_ *report.Document, l *report.DocResult) { l.Argv = l.Argv[:2] },
		"no command":            func(_ *report.Document, l *report.DocResult) { l.Argv = nil },
		"more tests":            func(_ *report.Document, l *report.DocResult) { l.Tests = &report.DocTests{Passed: 4, Skipped: 1} },
		"no tests":              func(_ *report.Document, l *report.DocResult) { l.Tests = nil },
		"it failed":             func(_ *report.Document, l *report.DocResult) { l.Verdict = "failed" },
		"another exit code":     func(_ *report.Document, l *report.DocResult) { l.ExitCode = &one },
		"other standard output": func(_ *report.Document, l *report.DocResult) {
			l.Stdout = &report.DocOutput{SHA256: receipts.Hash{3}.String()}
		},
		"other standard error": func(_ *report.Document, l *report.DocResult) {
			l.Stderr = &report.DocOutput{SHA256: receipts.Hash{3}.String()}
		},
		"a receipt that is lost":        func(_ *report.Document, l *report.DocResult) { l.Degraded = true },
		"a receipt that does not exist": func(_ *report.Document, l *report.DocResult) { l.Receipt = receipts.Hash{8}.String() },
		"no receipt":                    func(_ *report.Document, l *report.DocResult) { l.Receipt = "" },
		"a gate that was deferred": func(d *report.Document, l *report.DocResult) {
			l.Kind, l.Argv, l.Gate = "builtin", []string{"gate"}, &report.DocGate{Verdict: "deferred", SHA256: l.Receipt}
		},
		"a gate that was refused": func(d *report.Document, l *report.DocResult) {
			l.Kind, l.Argv, l.Receipt, l.Gate = "builtin", []string{"gate"}, "", &report.DocGate{Verdict: "refused"}
		},
		"the receipt of the gate": func(d *report.Document, l *report.DocResult) { l.Receipt = d.Gate.SHA256 },
	} {
		d, l := *p.doc, *p.doc.Lines[0]
		change(&d, &l)
		if got := proof(ctx, p.Store, &d, &l); got == nil || got.OK || got.Text == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A flaky line passed; and what the receipt does not have is not compared.
	for name, change := range map[string]func(l *report.DocResult){
		"flaky":             func(l *report.DocResult) { l.Verdict = "flaky" },
		"another directory": func(l *report.DocResult) { l.Dir = "/elsewhere" },
		"no exit code":      func(l *report.DocResult) { l.ExitCode = nil },
		"no output":         func(l *report.DocResult) { l.Stdout, l.Stderr = nil, nil },
	} {
		l := *p.doc.Lines[0]
		change(&l)
		if got := proof(ctx, p.Store, p.doc, &l); got == nil || !got.OK {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// What never ran proves nothing, and that a line bears a gate takes no comparison away.
	l := *p.doc.Lines[0]
	l.Gate = p.doc.Gate
	if got := proof(ctx, p.Store, p.doc, &l); got == nil || !got.OK {
		t.Errorf("a line with a gate: %+v", got)
	}
	l = report.DocResult{ID: "2", Verdict: "skipped"}
	if got := proof(ctx, p.Store, p.doc, &l); got != nil {
		t.Errorf("a line that was skipped: %+v", got)
	}
}

// The gate of a document is proven by the gate receipt of the same run, script and kind; one that refused has none.
func TestGateProof(t *testing.T) {
	p, ctx := newProven(t), context.Background()
	good := gateProof(ctx, p.Store, p.doc, p.doc.Gate, false)
	if good == nil || !good.OK || !strings.Contains(good.Text, "record 2 of a log of ") || !strings.Contains(good.Text, "consumed 1 receipt.") {
		t.Fatalf("%+v", good)
	}
	for name, change := range map[string]func(d *report.Document, g *report.DocGate){
		"another run":      func(d *report.Document, _ *report.DocGate) { d.Run = "r-2" },
		"another script":   func(d *report.Document, _ *report.DocGate) { d.Script.SHA256 = receipts.Hash{6}.String() },
		"another name":     func(_ *report.Document, g *report.DocGate) { g.ID = "g-0123456789ab" },
		"a higher level":   func(_ *report.Document, g *report.DocGate) { g.Level = "L2" },
		"a clean checkout": func(_ *report.Document, g *report.DocGate) { g.Clean = "clean" },
		"other rules":      func(_ *report.Document, g *report.DocGate) { g.Rules = receipts.PolicyPinned },
		"results repeated": func(_ *report.Document, g *report.DocGate) { g.Reused = 1 },
		"no tree":          func(_ *report.Document, g *report.DocGate) { g.Tree = nil },
		"another tree": func(_ *report.Document, g *report.DocGate) {
			g.Tree = &report.DocTree{Bytes: receipts.Hash{8}.String()}
		},
		"not final":               func(_ *report.Document, g *report.DocGate) { g.Final = false },
		"one that does not exist": func(_ *report.Document, g *report.DocGate) { g.SHA256 = receipts.Hash{8}.String() },
		"a receipt":               func(d *report.Document, g *report.DocGate) { g.SHA256 = d.Lines[0].Receipt },
		"no id":                   func(_ *report.Document, g *report.DocGate) { g.SHA256 = "" },
		"what is not an id":       func(_ *report.Document, g *report.DocGate) { g.SHA256 = "g-x" },
	} {
		d, g := *p.doc, *p.doc.Gate
		change(&d, &g)
		if got := gateProof(ctx, p.Store, &d, &g, false); got == nil || got.OK || got.Text == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, verdict := range []string{"refused", "not_run", ""} {
		g := *p.doc.Gate
		g.Verdict = verdict
		if got := gateProof(ctx, p.Store, p.doc, &g, false); got != nil {
			t.Errorf("%q: %+v", verdict, got)
		}
	}
}

// The headline of the page names what the store has of a run and its document lacks, or contradicts.
func TestAgainst(t *testing.T) {
	p := newProven(t)
	page := func(d *report.Document) string {
		var b bytes.Buffer
		if err := HTML(t.Context(), &b, d, p.path, nil, "1"); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := page(p.doc); strings.Contains(text, "Contradicted") || !strings.Contains(text, `<span class="passed">Passed</span>`) {
		t.Error("the page of a document as it was written is contradicted")
	}
	for name, tt := range map[string]struct {
		change func(d *report.Document)
		want   string
	}{
		"no line": {func(d *report.Document) { d.Lines, d.Counts, d.Tests = nil, report.DocCounts{}, nil },
			"The store has a receipt of line 1 (Test with go) that the document does not have: succeeded, receipt "},
		"another verdict": {func(d *report.Document) { d.Verdict = "failed" }, "Its lines and its gate make the run passed."},
		"no gate":         {func(d *report.Document) { d.Gate = nil }, "The store has the gate g-"},
		"a gate that was deferred": {func(d *report.Document) { d.Gate = &report.DocGate{Verdict: "deferred"} },
			"The store has the gate g-"},
		"a gate of more":   {func(d *report.Document) { d.Gate.Level = "L2" }, "The gate receipt says another trust level: L0."},
		"other counts":     {func(d *report.Document) { d.Counts.Passed = 2 }, "The counts are not those of its lines: 1 line, 1 passed."},
		"other tests":      {func(d *report.Document) { d.Tests = nil }, "The tests are not those of its lines: 3 tests (1 skipped)."},
		"a line that says": {func(d *report.Document) { d.Lines[0].Text = "Check with go" }, "What the document says of 1 line is not what their receipts say: 1."},
		"a line lost": {func(d *report.Document) { d.Lines[0].Receipt, d.Lines[0].Degraded = "", true },
			"The store has a receipt of line 1 (Test with go) that the document does not have: succeeded, receipt "},
		"a line twice": {func(d *report.Document) { d.Lines = append(d.Lines, d.Lines[0]) }, "The line 1 stands in the document twice."},
		"an earlier one last": {func(d *report.Document) {
			d.Lines[0].Earlier, d.Lines[0].Receipt = []string{d.Lines[0].Receipt}, d.Gate.SHA256
		}, "The last receipt of line 1 is "},
		"a composite that passed": {func(d *report.Document) {
			d.Lines[0].Verdict = "failed"
			d.Lines = []*report.DocResult{{ID: "1", Verdict: "passed", Members: d.Lines}}
		}, "Line 1 is passed, and its member 1 failed."},
		"another run":     {func(d *report.Document) { d.Run = "r-2" }, "The store does not know that this run began."},
		"another session": {func(d *report.Document) { d.Session = "t" }, "The run was of another session, or had another nonce."},
		"another script":  {func(d *report.Document) { d.Script.Part = true }, "The run was of another script."},
	} {
		d, l, g := *p.doc, *p.doc.Lines[0], *p.doc.Gate
		d.Lines, d.Gate = []*report.DocResult{&l}, &g
		tt.change(&d)
		text := page(&d)
		if !strings.Contains(text, `<span class="failed">Contradicted</span>`) || !strings.Contains(text, html.EscapeString(tt.want)) {
			at := strings.Index(text, "<h1>")
			t.Errorf("%s: want %q in\n%s", name, tt.want, text[at:at+900])
		}
	}
}

// A text of a receipt may be a digest, or cut where secrets were taken out: it says a text of a document or it does not.
func TestSays(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	digest := receipts.Datum{SHA256: receipts.Hash(sha256.Sum256([]byte(long))), Bytes: int64(len(long))}
	for _, c := range []struct {
		name string
		d    receipts.Datum
		text string
		want bool
	}{
		{"the text", receipts.Text("a"), "a", true}, {"another", receipts.Text("a"), "b", false}, {"a part", receipts.Text("ab"), "a", false},
		{"a digest", digest, long, true}, {"a digest of another text", digest, long[1:] + "y", false},
		{"a digest with another length", receipts.Datum{SHA256: digest.SHA256, Bytes: 3}, long, false},
		{"cut and without secrets", receipts.Datum{Text: "begin...", Redacted: true}, "begin and end", true},
		{"cut, of another beginning", receipts.Datum{Text: "begin...", Redacted: true}, "end", false},
		{"without secrets, whole", receipts.Datum{Text: "begin", Redacted: true}, "begin and end", false},
		{"dots of its own", receipts.Text("begin..."), "begin and end", false},
		{"bytes that are not text", receipts.Datum{Text: "a\xff"}, "a\ufffd", true},
	} {
		if got := says(c.d, c.text); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// What is kept of an output is found by its digest alone, whatever the path of a document says, and only its end is shown.
func TestKeptOutput(t *testing.T) {
	logs := archive.Archive(t.TempDir())
	put := func(text string) receipts.Hash {
		sum := receipts.Hash(sha256.Sum256([]byte(text)))
		path := blob.Path(string(logs), sum)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	at := func(folder string, h receipts.Hash) string {
		return filepath.Join(folder, h.String()[:2], h.String()[2:])
	}
	whole, cut, big := put("hello"), put("hel"), put(strings.Repeat("a", 1<<16)+"end")
	broken := put("was")
	if err := os.WriteFile(blob.Path(string(logs), broken), []byte("is"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := func(log string, sum receipts.Hash) *report.DocOutput {
		return &report.DocOutput{Log: log, SHA256: sum.String()}
	}
	for _, c := range []struct {
		name, stream string
		l            report.DocResult
		text, note   string
	}{
		{"standard output", "stdout", report.DocResult{Stdout: out(at(string(logs), whole), whole)}, "hello", ""},
		{"standard error", "stderr", report.DocResult{Stderr: out(at(string(logs), whole), whole), Stdout: out(at(string(logs), cut), cut)}, "hello", ""},
		{"at a path of others", "stdout", report.DocResult{Stdout: out(at("/etc", whole), whole)}, "hello", ""},
		{"without secrets", "stdout", report.DocResult{Stdout: out(at(string(logs), cut), whole)}, "hel", "without its secrets, or cut"},
		{"the end of a long one", "stdout", report.DocResult{Stdout: out(at(string(logs), big), big)}, strings.Repeat("a", 1<<16-3) + "end", ""},
		{"not kept", "stdout", report.DocResult{Stdout: out("", whole)}, "", "not kept"},
		{"no output", "stderr", report.DocResult{Stdout: out(at(string(logs), whole), whole)}, "", "not kept"},
		{"a path without a digest", "stdout", report.DocResult{Stdout: out("/etc/passwd", whole)}, "", "not kept"},
		{"gone", "stdout", report.DocResult{Stdout: out(at(string(logs), receipts.Hash{7}), whole)}, "", "dropped since"},
		{"changed", "stdout", report.DocResult{Stdout: out(at(string(logs), broken), broken)}, "", "the kept text differs from the written one"},
	} {
		if text, note := keptOutput(t.Context(), logs, &c.l, c.stream); text != c.text || note != c.note {
			t.Errorf("%s: %.40q, %q", c.name, text, note)
		}
		f := Outputs(logs)(&c.l, c.stream)
		if (f != nil) != (c.text != "") {
			t.Errorf("%s: opened: %t", c.name, f != nil)
		}
		if f != nil {
			f.Close()
		}
	}
}

// The page of a run says what the store says, and where there is no store, or one that cannot be read, proves nothing.
func TestHTML(t *testing.T) {
	p := newProven(t)
	page := func(path string) string {
		var b bytes.Buffer
		if err := HTML(context.Background(), &b, p.doc, path, nil, "1.2.3-test"); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := page(p.path); !strings.Contains(text, "Record 1 of the log, intact") || !strings.Contains(text, "record 2 of a log of ") || !strings.Contains(text, "1.2.3-test") {
		t.Error("the page does not have the proofs, or the version")
	}
	dir := t.TempDir()
	if text := page(filepath.Join(dir, "none.db")); strings.Contains(text, "intact") || strings.Contains(text, "cannot be read") {
		t.Error("without a store something is proven, or the store cannot be read")
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.db"), []byte("not a store"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := page(filepath.Join(dir, "bad.db")); strings.Contains(text, "intact") || !strings.Contains(text, "the store cannot be read") {
		t.Error("with a file that is not a store something is proven, or nothing is said of it")
	}
}
