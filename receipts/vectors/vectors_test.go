package vectors_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/vectors"
)

// content is the content of the file.
type content struct {
	Records []vector `json:"records"`
	Roots   []string `json:"roots"` // over the first 0, 1, 2, ... valid records, hex
}

// A vector is one text and what is to be made of it.
type vector struct {
	Name   string `json:"name"`
	Expect string `json:"expect"`
	Kind   string `json:"kind"`
	Body   []byte `json:"body"` // base64 in the file: a body need not be UTF-8
	SHA256 string `json:"sha256,omitempty"`
	Leaf   string `json:"leaf,omitempty"`
}

var update = flag.Bool("update", false, "write vectors.json anew")

// cases are the vectors without what is computed.
func cases(t *testing.T) []vector {
	when := receipts.Time{Time: time.Date(2026, 2, 17, 16, 20, 0, 123456789, time.UTC)}
	argv := []string{"python3", "-m", "pytest", "-q", "a b", "\xff\xfe", "naïve ☃ 😀 \u2028", "<&>\x00\x1f\x7f"}
	code := 1
	r := &receipts.Receipt{
		Version: 1, Command: receipts.CommandHash(argv), Kind: "process", Attempt: 2, Timestamp: when, DurationNS: 1<<53 - 1,
		Status: receipts.StatusFailed, StopReason: "timeout", ExitCode: &code, Session: "gate-quality-001", Run: "r-0000000000000001", Step: "3.2",
		Line:   receipts.Line{File: receipts.Text("quality.dlct"), Number: 5, Text: receipts.Text("Test with pytest")},
		Values: []receipts.Value{{Name: "id", Text: receipts.Text("BD-1")}, {Text: receipts.Text(strings.Repeat("x", 300)).Digest()}},
		Handle: &receipts.Handle{Route: receipts.Text("slack"), Type: receipts.Text("message"), Operation: receipts.Text("send"), Status: receipts.Text("success"), ExternalID: receipts.Text("1708.3"), Preview: receipts.Text("hello")},
		Result: receipts.Text(`{"a": 1.5, "b": null}`),
	}
	for _, a := range argv {
		r.Argv = append(r.Argv, receipts.Text(a))
	}
	sha := receipts.Hash{1, 2, 3}
	var list []vector
	add := func(name string, b interface {
		Record() (receipts.Record, error)
	}) {
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, vector{Name: name, Expect: "valid", Kind: string(rec.Kind), Body: rec.Body})
	}
	add("receipt", r)
	add("run", &receipts.Run{Version: 1, Run: "r-1", Session: "s", Started: when, Nonce: "n", Script: receipts.File{Path: receipts.Text("x.dlct"), SHA256: sha}, Planned: []receipts.Planned{{Step: "1", Line: 1, Command: sha, Required: true}}, Dialect: "devel", System: "linux/amd64"})
	add("gate", &receipts.Gate{Version: 1, Run: "r-1", Session: "s", Timestamp: when, Final: true, Members: []receipts.Hash{sha, {4}}, Required: 1, Policy: "unpinned", Covers: receipts.Covers{FirstLine: 1, LastLine: 5, Commands: 2}})
	add("consumption", &receipts.Consumption{Version: 1, Consumed: []receipts.Hash{sha}, By: "boss", Purpose: "release", Timestamp: when})
	add("another consumption", &receipts.Consumption{Version: 1, Consumed: []receipts.Hash{{4}}, By: "böss", Timestamp: when})
	tree := receipts.Tree{Tree: strings.Repeat("ab", 20), Bytes: receipts.Hash{5}}
	w := *r
	w.Workspace = &receipts.Workspace{Before: tree, After: &receipts.Tree{Bytes: receipts.Hash{6}}, Changed: []receipts.Datum{receipts.Text("a\xff"), receipts.Text("b/ü")}, More: 3}
	w.Dir, w.Reused, w.Tests = receipts.Text("sub"), receipts.Hash{7}, &receipts.Tests{Passed: 3, Failed: 1}
	add("receipt with a workspace", &w)
	add("run with a parent", &receipts.Run{Version: 1, Run: "r-2", Session: "s", Started: when, Parent: "r-1/3.2", Tree: &tree, Script: receipts.File{Path: receipts.Text("x.dlct")}, Planned: []receipts.Planned{}, Dialect: "devel", System: "linux/amd64"})
	add("gate with a tree", &receipts.Gate{Version: 1, Run: "r-1", Session: "s", Timestamp: when, Members: []receipts.Hash{}, Reused: 1, Level: 1, Policy: "pinned", Tree: &tree, Beyond: []receipts.Datum{receipts.Text("pipe: a FIFO: no commit holds it")}, BeyondMore: 2, Nested: []receipts.Hash{{9}}})
	add("settlement", &receipts.Settlement{Version: 1, Receipt: sha, Status: receipts.Succeeded, By: "worker", Timestamp: when, Handle: &receipts.Handle{ExternalID: receipts.Text("page-1"), VerifiableURL: receipts.Text("https://example.com/1")}})
	add("trust in a matrix", &receipts.Trust{Version: 1, What: "matrix", Matrix: sha, Files: []receipts.File{{Path: receipts.Text("routing.toml"), SHA256: receipts.Hash{4}}}, By: "me", Timestamp: when})
	add("trust in a flaky pass", &receipts.Trust{Version: 1, What: "flaky", Receipts: []receipts.Hash{sha}, Reason: "the network was down", By: "me", Timestamp: when})
	x := *r
	x.Argv, x.Command = []receipts.Datum{receipts.Text("curl"), receipts.Redacted("--token=[redacted:0a1b2c3d]")}, receipts.CommandHash([]string{"curl", "--token=x"})
	x.Handle = &receipts.Handle{Route: receipts.Text("page"), ExternalID: receipts.Text(strings.Repeat("é", 40<<10)), Preview: receipts.Redacted("a [redacted:0a1b2c3d]")}
	x.Nonce = strings.Repeat("n", receipts.MaxName+1)
	add("receipt of what is too large, and of secrets", &x)
	good := string(list[3].Body)
	bad := func(expect, name, body string) {
		list = append(list, vector{Name: name, Expect: expect, Kind: "consumption", Body: []byte(body)})
	}
	for _, c := range [][2]string{
		{"empty", ""}, {"white space", " " + good}, {"a line end", good + "\n"}, {"cut short", good[:len(good)-1]}, {"two values", "{}{}"},
		{"members out of order", `{"b":1,"a":1}`}, {"a member twice", `{"a":1,"a":1}`}, {"null", `{"a":null}`}, {"fraction", `{"a":1.0}`}, {"exponent", `{"a":1e3}`},
		{"minus zero", `{"a":-0}`}, {"leading zero", `{"a":01}`}, {"2^53", `{"a":9007199254740992}`}, {"NaN", `{"a":NaN}`}, {"needless escape", `{"a":"\u0041"}`},
		{"escape in capitals", `{"a":"\u001F"}`}, {"escaped slash", `{"a":"\/"}`}, {"unpaired surrogate", `{"a":"\ud800"}`}, {"not UTF-8", "{\"a\":\"\xff\"}"},
		{"control character", "{\"a\":\"\x01\"}"}, {"byte order mark", "\ufeff{}"}, {"nested too deep", strings.Repeat("[", 18) + strings.Repeat("]", 18)},
		{"too large", `{"a":"` + strings.Repeat("x", receipts.MaxBody) + `"}`}, {"comma behind the last", `[1,]`},
		{"order of UTF-16", "{\"\ufb33\":1,\"\U0001f600\":1}"},
	} {
		bad("not-canonical", c[0], c[1])
	}
	for _, c := range [][2]string{
		{"nothing", `{}`}, {"an array", `[]`}, {"unknown member", strings.Replace(good, `{`, `{"aa":1,`, 1)}, {"another version", strings.Replace(good, `"version":1`, `"version":2`, 1)},
		{"time without nanoseconds", strings.Replace(good, ".123456789Z", "Z", 1)}, {"hash in capitals", strings.Replace(good, "010203", "0102AA", 1)},
		{"nothing consumed", `{"by":"x","consumed":[],"timestamp":"2026-02-17T16:20:00.000000000Z","version":1}`},
		{"empty member that is absent", strings.Replace(good, `"purpose":"release"`, `"purpose":""`, 1)},
		{"of UTF-16 in order", "{\"\U0001f600\":1,\"\ufb33\":1}"},
	} {
		bad("not-a-record", c[0], c[1])
	}
	return list
}

type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, i := range indexes {
		out = append(out, h[i])
	}
	return out, nil
}

// complete computes what a case leaves out.
func complete(t *testing.T, list []vector) *content {
	v := &content{Roots: []string{receipts.Hash{}.String()}}
	var log hashes
	n := int64(0)
	for _, c := range list {
		if c.Expect == "valid" {
			rec := receipts.Record{Kind: receipts.Kind(c.Kind), Body: c.Body}
			c.SHA256, c.Leaf = rec.SHA().String(), receipts.Hash(rec.Leaf()).String()
			hs, err := tlog.StoredHashesForRecordHash(n, rec.Leaf(), log)
			if err != nil {
				t.Fatal(err)
			}
			log, n = append(log, hs...), n+1
			root, err := tlog.TreeHash(n, log)
			if err != nil {
				t.Fatal(err)
			}
			v.Roots = append(v.Roots, receipts.Hash(root).String())
		}
		v.Records = append(v.Records, c)
	}
	return v
}

// The file is what this version of the package makes of the cases.
func TestFile(t *testing.T) {
	want, err := json.MarshalIndent(complete(t, cases(t)), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("vectors.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, vectors.File) {
		t.Error("vectors.json differs from what is made; if the format is meant to change, it needs a new version, then -update")
	}
}

// The package judges the vectors as their class says.
func TestVectors(t *testing.T) {
	v := new(content)
	err := json.Unmarshal(vectors.File, v)
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, c := range v.Records {
		rec := receipts.Record{Kind: receipts.Kind(c.Kind), Body: c.Body}
		_, err := rec.Parse()
		canonical, cerr := receipts.Canonical(c.Body)
		isCanonical := cerr == nil && bytes.Equal(canonical, c.Body) && len(c.Body) <= receipts.MaxBody
		count[c.Expect]++
		switch c.Expect {
		case "valid":
			if err != nil || rec.SHA().String() != c.SHA256 || receipts.Hash(rec.Leaf()).String() != c.Leaf {
				t.Errorf("%s: %v", c.Name, err)
			}
		case "not-canonical":
			if err == nil || isCanonical {
				t.Errorf("%s: accepted", c.Name)
			}
		case "not-a-record":
			if err == nil || !isCanonical {
				t.Errorf("%s: parse %v, canonical %v", c.Name, err, isCanonical)
			}
		default:
			t.Fatalf("%s: unknown class %q", c.Name, c.Expect)
		}
	}
	for _, class := range []string{"valid", "not-canonical", "not-a-record"} {
		if count[class] < 5 {
			t.Errorf("%d vectors of class %s", count[class], class)
		}
	}
}

// So does the checker in another language.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if out, err := exec.Command(python, "check.py", "vectors.json").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("all agree")) {
		t.Errorf("%v: %s", err, out)
	}
}
