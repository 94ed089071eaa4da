package receipts

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// fill sets each text below v, and each list of texts to many of them, but those that
// are of a closed set.
func fill(v reflect.Value, text string, many int) {
	switch v.Interface().(type) {
	case Time, Status, StopReason, Hash:
		return
	case Datum:
		v.Set(reflect.ValueOf(Text(text)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, many)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text, many)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), many, many))
		for i := range many {
			if h, ok := v.Index(i).Interface().(Hash); ok {
				h = sha256.Sum256([]byte(fmt.Sprint(v.Type(), h, i, text)))
				v.Index(i).Set(reflect.ValueOf(h))
			}
			fill(v.Index(i), text, many)
		}
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	}
}

// filled are records of each kind with text in the place of each text, and lists of
// many elements, or of as many as the kind can have.
func filled(text string, many int) []body {
	r, run, g, c, s, t := new(Receipt), new(Run), new(Gate), new(Consumption), new(Settlement), new(Trust)
	for _, b := range []body{r, run, g, c, s, t} {
		fill(reflect.ValueOf(b).Elem(), text, many)
	}
	argv := make([]string, max(many, 1))
	r.Argv = make([]Datum, len(argv))
	for i := range argv {
		argv[i], r.Argv[i] = text, Text(text)
	}
	r.Command, r.Status, r.Timestamp, r.StopReason = CommandHash(argv), StatusFailed, when, StopTimeout
	r.Workspace.Changed = r.Workspace.Changed[:min(many, MaxChanged)]
	if r.Executable.Path.IsZero() {
		r.Executable = nil
	}
	if set := r.Clean.Setup; len(set.Commands) == 0 || len(set.Locks) == 0 {
		r.Clean.Setup = nil
	} else {
		set.Key = Hash{1}
	}
	k := *r
	k.Binding, k.Command, k.Control = "", CommandHash(ControlArgv(r.Command)), &Control{Binding: text, Command: r.Command, Path: Text(text), Line: 1, Test: Text(text), Nonce: text, Outcome: text}
	k.Argv = nil
	for _, a := range ControlArgv(r.Command) {
		k.Argv = append(k.Argv, Text(a))
	}
	r.Control = nil
	run.Started, s.Timestamp, s.Status, s.Receipt = when, when, Succeeded, Hash{1}
	g.Final, g.Part, g.Timestamp, g.Tree.Exact = false, false, when, false
	g.Beyond = g.Beyond[:min(many, MaxBeyond)]
	g.Failed, g.Early = g.Failed[:min(many, MaxFailed)], g.Early[:min(many, MaxFailed)]
	g.Nested = g.Nested[:min(many, MaxMembers/4)]
	g.Members = g.Members[:min(many, MaxMembers-len(g.Nested))]
	c.Consumed, c.Timestamp = append([]Hash{{9}}, c.Consumed[:min(many, MaxMembers-1)]...), when
	t.What, t.Timestamp, t.Receipts = TrustMatrix, when, nil
	t.Matrix = Hash{1}
	u := *t
	u.What, u.Receipts = TrustFlaky, append([]Hash{{9}}, c.Consumed[1:]...)
	all := []body{r, &k, run, g, c, s, t, &u}
	for _, must := range []*string{&run.Run, &run.Session, &g.Run, &g.Session, &c.By, &s.By, &t.By, &u.By, &u.Reason} {
		if *must == "" {
			*must = "x"
		}
	}
	return all
}

// mustFit fails unless b has a record, which fits, parses, and is that of what it parses to.
func mustFit(t *testing.T, b body) any {
	t.Helper()
	rec, err := b.(interface{ Record() (Record, error) }).Record()
	if err != nil {
		t.Fatalf("%T: %v", b, err)
	}
	if len(rec.Body) > MaxBody {
		t.Fatalf("%T: a body of %d bytes", b, len(rec.Body))
	}
	p, err := parseRecord(rec.Text())
	if err != nil {
		t.Fatalf("%T: %v\n%.2000s", b, err, rec.Text())
	}
	v, err := p.Parse()
	if err != nil {
		t.Fatal(err)
	}
	again, err := v.(interface{ Record() (Record, error) }).Record()
	if err != nil || !bytes.Equal(again.Body, rec.Body) {
		t.Fatalf("%T: the record of what it parses to is another: %v", b, err)
	}
	return v
}

func FuzzFits(f *testing.F) {
	for _, text := range []string{"", "a", "\xff", "\x01", "naïve ☃", "\"\\\x00", "sha256:00:1", strings.Repeat("\u2028", 30)} {
		f.Add(text, uint32(1), uint16(1))
		f.Add(text, uint32(300), uint16(40))
		f.Add(text, uint32(20000), uint16(3))
		f.Add(text, uint32(2), uint16(1500))
	}
	f.Fuzz(func(t *testing.T, text string, times uint32, many uint16) {
		text = strings.Repeat(text, int(times%100000))
		if len(text) > 300<<10 {
			text = text[:300<<10]
		}
		n := int(many % 4000)
		n = min(n, 4<<20/(len(text)+1)) // 4 MB in one list are enough
		for _, b := range filled(text, n) {
			v := mustFit(t, b)
			if r, ok := v.(*Receipt); ok && r.Command != b.(*Receipt).Command {
				t.Fatal("another command")
			}
		}
	})
}

// What is too large is carried by digest and length, the longest text first, and no more
// of it than need be: nothing is dropped.
func TestTooLarge(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	r := sample()
	r.Handle.ExternalID, r.Result, r.Effects = Text(long), Text(long+"r"), Text(`{"small":1}`)
	before := *r.Handle
	v := mustFit(t, r).(*Receipt)
	if v.Handle.ExternalID != Text(long).Digest() || v.Result != Text(long+"r").Digest() {
		t.Errorf("carried as %v and %v", v.Handle.ExternalID, v.Result)
	}
	if v.Handle.ExternalID.Bytes != 70<<10 || v.Handle.ExternalID.SHA256 != sha256.Sum256([]byte(long)) {
		t.Errorf("by digest: %+v", v.Handle.ExternalID)
	}
	if v.Effects != r.Effects || v.Handle.Route != r.Handle.Route || v.Line != r.Line || len(v.Argv) != len(r.Argv) || !v.Argv[0].Carried() {
		t.Error("more was taken out than was too large")
	}
	if *r.Handle != before {
		t.Error("the receipt itself was changed")
	}
	paths := sample()
	for i := range MaxChanged {
		paths.Workspace.Changed = append(paths.Workspace.Changed, Text(strings.Repeat(string(rune('a'+i)), 4095)))
	}
	whole := 0
	for _, p := range mustFit(t, paths).(*Receipt).Workspace.Changed {
		if p.Carried() {
			whole++
		}
	}
	if whole < 10 || whole == MaxChanged {
		t.Errorf("%d of %d paths are carried whole", whole, MaxChanged)
	}
	// By what others compare it a receipt is found whatever else it carries.
	if v.Dir != r.Dir || v.Place != r.Place || v.Session != r.Session {
		t.Error("a text that is compared has another form")
	}
	values := sample()
	for i := range 5000 {
		values.Values = append(values.Values, Value{Name: "n", Text: Text(fmt.Sprint("value ", i))})
	}
	if got := mustFit(t, values).(*Receipt).Values; len(got) != 1 || got[0].Text.Carried() || got[0].Text.Bytes < 5000*20 {
		t.Errorf("values %v", got)
	}
}

func TestName(t *testing.T) {
	long := strings.Repeat("n", MaxName+1)
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {"r-1", "r-1"}, {"naïve", "naïve"}, {long[1:], long[1:]},
		{long, fmt.Sprintf("sha256:%x:%d", sha256.Sum256([]byte(long)), len(long))},
		{"\xff", fmt.Sprintf("sha256:%x:1", sha256.Sum256([]byte("\xff")))},
	} {
		got := Name(tt.in)
		if got != tt.want || Name(got) != got || !utf8.ValidString(got) {
			t.Errorf("Name(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	// The same session in records of each kind.
	run, gate, r := records(t)[1], records(t)[2], sample()
	r.Session = long
	a, _ := run.Parse()
	a.(*Run).Session = long
	b, _ := gate.Parse()
	b.(*Gate).Session = long
	x, y, z := mustFit(t, a.(*Run)).(*Run).Session, mustFit(t, b.(*Gate)).(*Gate).Session, mustFit(t, r).(*Receipt).Session
	if x != Name(long) || x != y || y != z {
		t.Errorf("%s, %s, %s", x, y, z)
	}
}

// What no record can say is an error of the record, and never a record that does not parse.
func TestUnwritable(t *testing.T) {
	for name, change := range map[string]func(r *Receipt){
		"time":     func(r *Receipt) { r.Timestamp = Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} },
		"duration": func(r *Receipt) { r.DurationNS = MaxInteger + 1 },
		"tests":    func(r *Receipt) { r.Tests = &Tests{Passed: MaxInteger + 1} },
		"status":   func(r *Receipt) { r.Status = "fine" },
	} {
		r := sample()
		change(r)
		if rec, err := r.Record(); err == nil {
			t.Errorf("%s: %s", name, rec.Body)
		}
	}
	var g Gate
	if _, err := g.Record(); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("%v", err)
	}
}

func TestRedacted(t *testing.T) {
	r := sample()
	argv := []string{"curl", "hunter2-secret", "x"}
	r.Command, r.Argv = CommandHash(argv), []Datum{Text("curl"), Redacted("[redacted:12345678]"), Text("x")}
	r.Values = []Value{{Text: Redacted("a\xff[redacted:12345678]")}}
	v := mustFit(t, r).(*Receipt)
	if v.Argv[1] != r.Argv[1] || v.Argv[1].Carried() || v.Command != r.Command || v.String() != "curl [redacted:12345678] x" {
		t.Errorf("%+v: %s", v.Argv, v)
	}
	// Too long, it is cut: its digest would pass for that of the argument.
	r.Argv[1] = Redacted(strings.Repeat("[redacted:12345678]", 10000))
	if d := mustFit(t, r).(*Receipt).Argv[1]; !d.Redacted || len(d.Text) > 60 || !d.SHA256.IsZero() {
		t.Errorf("%+v", d)
	}
}
