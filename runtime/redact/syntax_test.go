package redact

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

type doc struct {
	XMLName xml.Name `xml:"line" json:"-"`
	Verdict string   `xml:"verdict,attr" json:"verdict"`
	Count   int      `xml:"count,attr" json:"count"`
	Name    string   `xml:"name,attr" json:"name"`
	Tail    []string `xml:"tail" json:"tail"`
}

var syntaxes = []struct {
	name   string
	syntax Syntax
	write  func(doc) ([]byte, error)
	read   func([]byte, *doc) error
}{
	{"JSON", JSON("verdict"), func(d doc) ([]byte, error) { return json.Marshal(d) }, func(p []byte, d *doc) error { return json.Unmarshal(p, d) }},
	{"indented JSON", JSON("verdict"), func(d doc) ([]byte, error) { return json.MarshalIndent(d, "", "  ") }, func(p []byte, d *doc) error { return json.Unmarshal(p, d) }},
	{"XML", Markup("verdict"), func(d doc) ([]byte, error) {
		p, err := xml.Marshal(d)
		return append([]byte(xml.Header+"<!-- 1 -->\n"), p...), err
	}, func(p []byte, d *doc) error { return xml.Unmarshal(p, d) }},
}

// A secret that is an ordinary word, a digit or a piece of the syntax itself leaves a document that is read as before, and is in none of its words.
func TestSyntax(t *testing.T) {
	for _, s := range syntaxes {
		for _, secret := range []string{"name", "true", "passed", "1", "n", "a", `"`, `\`, "<", "&", ">", "'", "amp", "line", "u003c", ":", ",", "{", "é", "verdict", "tail", "=", "x\ny", "</tail>"} {
			r := New(Options{Declared: []string{secret}, Key: []byte("k")})
			d := doc{Verdict: "passed", Count: 11, Name: "Check with " + secret + " & \"co\"", Tail: []string{secret, "<" + secret + ">\n\t", "", "it: " + secret + secret}}
			written, err := s.write(d)
			if err != nil {
				t.Fatal(err)
			}
			public := r.Document(written, s.syntax)
			var got doc
			if err := s.read(public, &got); err != nil {
				t.Errorf("%s, %q: %v: %s", s.name, secret, err, public)
				continue
			}
			if got.Verdict != "passed" || got.Count != 11 || got.Name != r.Text(d.Name) || len(got.Tail) != len(d.Tail) {
				t.Errorf("%s, %q: %+v", s.name, secret, got)
			}
			for i := range min(len(got.Tail), len(d.Tail)) {
				if got.Tail[i] != r.Text(d.Tail[i]) {
					t.Errorf("%s, %q: %q for %q", s.name, secret, got.Tail[i], d.Tail[i])
				}
			}
		}
	}
}

// A page keeps its style and its tags.
func TestSyntaxPage(t *testing.T) {
	r := New(Options{Declared: []string{"class"}, Key: []byte("k")})
	page := "<!doctype html>\n<meta charset=\"class\"><style>\n.class{}\n</style><p class=\"class\" title=\"a class\">first class</p><pre>class"
	mark := html.EscapeString(r.Text("class"))
	want := strings.NewReplacer("a class", "a "+mark, "first class", "first "+mark, "<pre>class", "<pre>"+mark).Replace(page)
	if got := string(r.Document([]byte(page), Markup("class"))); got != want {
		t.Errorf("%s", got)
	}
}

// FuzzSyntax: a document stays one, and any other text comes to an end.
func FuzzSyntax(f *testing.F) {
	f.Add("hunter2", "a hunter2 b")
	f.Add(`"`, `a"b\`)
	f.Add("a", `{"a":"a","b":["a",{"a":1}]}`)
	f.Add("p", `<p a="p">p</p>`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		if secret == "" || !utf8.ValidString(secret) || !utf8.ValidString(text) || len(secret) > 100 || len(text) > 10_000 {
			return
		}
		r := New(Options{Declared: []string{secret}, Key: []byte("k")})
		for _, s := range syntaxes {
			r.Document([]byte(text), s.syntax) // ends, whatever it is
			written, err := s.write(doc{Name: text})
			if err != nil {
				continue
			}
			var was, got doc
			if s.read(written, &was) != nil {
				continue
			}
			if err := s.read(r.Document(written, s.syntax), &got); err != nil {
				t.Fatalf("%s: %v: %s", s.name, err, r.Document(written, s.syntax))
			}
			if got.Name != was.Name && got.Name != r.Text(was.Name) {
				t.Fatalf("%s: %q for %q", s.name, got.Name, was.Name)
			}
		}
		var b strings.Builder
		if err := r.Through(&b, Text, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil || b.String() != r.Text(text) {
			t.Fatalf("%v: %q", err, b.String())
		}
	})
}
