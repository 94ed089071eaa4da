package receipts

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{}`, `{}`},
		{` { "b" : 1 , "a" : [ true , false , "x" ] } `, `{"a":[true,false,"x"],"b":1}`},
		// The order of RFC 8785, section 3.2.3: by UTF-16 code units.
		{`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"},
		{`"\u0000\u000f\b\t\n\f\r\"\\\/\u001f\u2028"`, "\"\\u0000\\u000f\\b\\t\\n\\f\\r\\\"\\\\/\\u001f\u2028\""},
		{`9007199254740991`, `9007199254740991`},
		{`-1`, `-1`},
		{`[]`, `[]`},
		{`[[],{"a":{}}]`, `[[],{"a":{}}]`},
	}
	for _, tt := range tests {
		got, err := Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, in := range []string{
		``, ` `, `{`, `[`, `"`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `{"a":1 "b":2}`, `{a:1}`, `'a'`, `nul`, `tru`,
		`null`, `[null]`, `{"a":null}`, `1.0`, `1e3`, `-0`, `01`, `+1`, `0x1`, `9007199254740992`, `-9007199254740992`, `99999999999999999999`,
		`{"a":1,"a":1}`, `{"b":1,"a":1,"b":2}`, `{"a":1,"\u0061":2}`,
		`"\ud800"`, `"\udc00"`, `"\ud800x"`, `"\ud800\u0041"`, `"\ud83d\ud83d"`, "\"\xff\"", "\"\x01\"", "\"\n\"", `"\x"`, `"\u12g4"`, `"\u12`,
		`{} {}`, `1 2`, `{}x`, "\ufeff{}",
		strings.Repeat("[", 40) + strings.Repeat("]", 40), strings.Repeat("[", 100000),
	} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("Canonical(%.60q) = %s", in, got)
		}
	}
}

// The worked example of the package documentation is what the code makes.
func TestDocExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	body := regexp.MustCompile(`(?m)^//\tdialect\.consumption/1\n//\t(\{.*\})$`).FindSubmatch(doc)
	sha := regexp.MustCompile(`(?m)^//\t([0-9a-f]{64})$`).FindSubmatch(doc)
	if body == nil || sha == nil {
		t.Fatal("doc.go has no example")
	}
	r, err := parseRecord(append([]byte("dialect.consumption/1\n"), body[1]...))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.SHA().String(); got != string(sha[1]) {
		t.Errorf("the hash of the example is %s, doc.go says %s", got, sha[1])
	}
}

var when = Time{time.Date(2026, 2, 17, 16, 20, 0, 5, time.UTC)}

func sample() *Receipt {
	code := 0
	argv := []string{"python3", "-m", "pytest", "-q", "a b", "\xff\xfe", "naïve ☃ 😀"}
	r := &Receipt{
		Version: 1, Command: CommandHash(argv), Kind: "process", Attempt: 1, Timestamp: when, DurationNS: 12345,
		Status: Succeeded, ExitCode: &code, Session: "s", Run: "r-0000000000000001", Step: "1",
		Line: Line{File: Text("quality.dlct"), Number: 5, Text: Text("Test with pytest")}, Binding: "test_pytest",
		Values:     []Value{{Name: "id", Text: Text("BD-1")}, {Text: Text("\x80")}},
		Executable: &File{Path: Text("/usr/bin/python3"), SHA256: Hash{1}}, Environment: Hash{2}, Matrix: Hash{3}, Script: Hash{4},
		Nonce: "n", Tests: &Tests{Passed: 3}, Handle: &Handle{Route: Text("slack"), Preview: Text("<b>&\u2028")},
		Workspace: &Workspace{Before: Tree{Tree: strings.Repeat("a", 40), Bytes: Hash{5}}, After: &Tree{Bytes: Hash{6}}},
	}
	for _, a := range argv {
		r.Argv = append(r.Argv, Text(a))
	}
	return r
}

func records(t testing.TB) []Record {
	t.Helper()
	var rs []Record
	for _, b := range []interface{ Record() (Record, error) }{
		sample(),
		&Run{Version: 1, Run: "r-1", Session: "s", Started: when, Script: File{Path: Text("x")}, Planned: []Planned{{Step: "1", Line: 1, Command: Hash{1}}}, Dialect: "devel", System: "linux/amd64"},
		&Gate{Version: 1, Run: "r-1", Session: "s", Timestamp: when, Final: true, Members: []Hash{{1}, {2}}, Required: 1, Policy: "unpinned", Covers: Covers{1, 5, 4}},
		&Consumption{Version: 1, Consumed: []Hash{{1}}, By: "boss", Purpose: "release", Timestamp: when},
	} {
		r, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

func TestRoundTrip(t *testing.T) {
	for _, r := range records(t) {
		p, err := parseRecord(r.Text())
		if err != nil {
			t.Errorf("%s: %v", r.Text(), err)
			continue
		}
		if p.Kind != r.Kind || !bytes.Equal(p.Body, r.Body) || p.SHA() != r.SHA() {
			t.Errorf("%s came back as %s", r.Text(), p.Text())
		}
		v, err := p.Parse()
		if err != nil {
			t.Fatal(err)
		}
		again, err := encode(v.(body))
		if err != nil || !bytes.Equal(again, r.Body) {
			t.Errorf("%s encodes to %s, %v", r.Body, again, err)
		}
	}
}

// Every change of a record that still is JSON is refused or has another hash;
// what is not a record any more is refused.
func TestStrict(t *testing.T) {
	body := string(records(t)[0].Body)
	for _, tt := range []struct{ name, from, to string }{
		{"unknown member", `{"argv"`, `{"aardvark":1,"argv"`},
		{"other case", `"binding"`, `"Binding"`},
		{"space", `"attempt":1`, `"attempt": 1`},
		{"zero that is absent", `"attempt":1,"binding":"test_pytest"`, `"attempt":1,"binding":""`},
		{"null", `"attempt":1`, `"attempt":null`},
		{"float", `"attempt":1`, `"attempt":1.0`},
		{"other status", `"succeeded"`, `"success"`},
		{"other version", `"version":1`, `"version":2`},
		{"other argument", `"a b"`, `"a c"`},
		{"base64 of UTF-8", `{"base64":"//4="}`, `{"base64":"YQ=="}`},
		{"base64 with junk bits", `{"base64":"//4="}`, `{"base64":"//5="}`},
		{"local time", `16:20:00.000000005Z`, `16:20:00.000000005+01:00`},
		{"short time", `16:20:00.000000005Z`, `16:20:00Z`},
		{"hash in capitals", `"sha256":"0100`, `"sha256":"010A`},
		{"line 0", `"number":5`, `"number":0`},
	} {
		changed := strings.Replace(body, tt.from, tt.to, 1)
		if changed == body {
			t.Errorf("%s: %s is not in the body", tt.name, tt.from)
			continue
		}
		if _, err := parseRecord([]byte("dialect.receipt/1\n" + changed)); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
	for _, text := range []string{"", "dialect.receipt/1", "dialect.receipt/2\n" + body, "dialect.gate/1\n" + body, "dialect.x/1\n{}", body, "dialect.receipt/1\n" + body + "\n", "dialect.receipt/1\r\n" + body} {
		if _, err := parseRecord([]byte(text)); err == nil {
			t.Errorf("accepted: %.60q", text)
		}
	}
}

// However large what a command was given, the record keeps its bound, and names
// the same command.
func TestLargeBodies(t *testing.T) {
	for _, argv := range [][]string{
		{"x", strings.Repeat("a", 100<<10)},
		{"x", strings.Repeat("\xff", 60<<10)},
		append([]string{"x"}, strings.Fields(strings.Repeat("word ", 20000))...),
	} {
		r := sample()
		r.Argv, r.Command = nil, CommandHash(argv)
		for _, a := range argv {
			r.Argv = append(r.Argv, Text(a))
		}
		for range 3000 {
			r.Values = append(r.Values, Value{Text: Text("value")})
		}
		rec, err := r.Record()
		if err != nil {
			t.Errorf("%d arguments: %v", len(argv), err)
			continue
		}
		p, err := parseRecord(rec.Text())
		if err != nil {
			t.Errorf("%d arguments: %v", len(argv), err)
			continue
		}
		v, _ := p.Parse()
		if v.(*Receipt).Command != CommandHash(argv) {
			t.Errorf("%d arguments: another command", len(argv))
		}
	}
	many := &Run{Version: 1, Run: "r", Session: "s", Started: when, Script: File{Path: Text("x")}, Planned: make([]Planned, 5000), Dialect: "d", System: "s"}
	rec, err := many.Record()
	if err != nil {
		t.Fatal(err)
	}
	v, err := rec.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if run := v.(*Run); len(run.Planned)+run.More != 5000 || run.More == 0 {
		t.Errorf("%d planned and %d more", len(run.Planned), run.More)
	}
}

func TestDatum(t *testing.T) {
	for _, s := range []string{"", "a", "\xff", "naïve", "<>&", "\u2028", strings.Repeat("x", 1000)} {
		b, err := json.Marshal(Text(s))
		if err != nil {
			t.Fatal(err)
		}
		var d Datum
		if err := json.Unmarshal(b, &d); err != nil || d.Text != s || !d.Carried() {
			t.Errorf("%q: %s came back as %+v, %v", s, b, d, err)
		}
	}
	d := Text("secret").Digest()
	b, _ := json.Marshal(d)
	var back Datum
	if err := json.Unmarshal(b, &back); err != nil || back != d || back.Carried() {
		t.Errorf("%s came back as %+v, %v", b, back, err)
	}
}

// CommandHash tells apart whatever differs as a list of arguments.
func TestCommandHash(t *testing.T) {
	seen := make(map[Hash][]string)
	for _, argv := range [][]string{
		nil, {""}, {"", ""}, {"a b"}, {"a", "b"}, {"ab"}, {`a","b`}, {"\xff"}, {`{"base64":"/w=="}`}, {"/w=="}, {"a\x00b"}, {"\ufffd"},
	} {
		h := CommandHash(argv)
		if other, ok := seen[h]; ok {
			t.Errorf("%q and %q have one hash", argv, other)
		}
		seen[h] = argv
	}
}

func FuzzCanonical(f *testing.F) {
	for _, r := range records(f) {
		f.Add(r.Body)
	}
	for _, s := range []string{`{}`, `[1,2]`, `"\ud83d\ude00"`, `{"b":1,"a":{"\u0061":1}}`, `-1`, `"\u2028"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Canonical(text)
		if err != nil {
			return
		}
		again, err := Canonical(c)
		if err != nil || !bytes.Equal(c, again) {
			t.Fatalf("%q: canonical %q, of that %q, %v", text, c, again, err)
		}
		// encoding/json reads the same value from both.
		var x, y any
		if json.Unmarshal(text, &x) != nil || json.Unmarshal(c, &y) != nil {
			t.Fatalf("%q is no JSON to encoding/json", text)
		}
		a, _ := json.Marshal(x)
		b, _ := json.Marshal(y)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q: %s is not %s", text, a, b)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	for _, r := range records(f) {
		f.Add(r.Text())
	}
	f.Add([]byte("dialect.consumption/1\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRecord(text)
		if err != nil {
			return
		}
		if !bytes.Equal(r.Text(), text) {
			t.Fatalf("%q is also %q", text, r.Text())
		}
		v, err := r.Parse()
		if err != nil {
			t.Fatal(err)
		}
		again, err := encode(v.(body))
		if err != nil || !bytes.Equal(again, r.Body) {
			t.Fatalf("%q encodes to %q, %v", r.Body, again, err)
		}
	})
}

// parseRecord parses the text of a record. The body is strict: bytes that parse
// encode to the same bytes again.
func parseRecord(text []byte) (Record, error) {
	line, body, ok := bytes.Cut(text, []byte("\n"))
	kind, isRecord := bytes.CutPrefix(line, []byte("dialect."))
	kind, isVersion1 := bytes.CutSuffix(kind, []byte("/1"))
	if !ok || !isRecord || !isVersion1 {
		return Record{}, errors.New("the text does not begin with the line dialect.KIND/1")
	}
	r := Record{Kind: Kind(kind), Body: body}
	if _, err := r.Parse(); err != nil {
		return Record{}, err
	}
	return r, nil
}
