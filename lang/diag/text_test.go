package diag

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func text(t testing.TB, l List, src *Source, o TextOptions) string {
	t.Helper()
	if src != nil {
		o.Sources = func(string) *Source { return src }
	}
	var b bytes.Buffer
	if err := WriteText(&b, l, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteText(t *testing.T) {
	long := strings.Repeat("a", 500) + " X " + strings.Repeat("b", 500)
	for _, tt := range []struct {
		name, line string
		from, to   int
		want       string
	}{
		{"plain", "Test with pytst", 10, 15, "  1 | Test with pytst\n    |           ^^^^^\n"},
		{"at the end", "Test with", 9, 9, "  1 | Test with\n    |          ^\n"},
		{"tab", "\tTest\twith x", 11, 12, "  1 |  Test with x\n    |            ^\n"},
		{"wide", "Close 世界 x", 13, 14, "  1 | Close 世界 x\n    |            ^\n"},
		{"under wide", "Close 世界 x", 6, 12, "  1 | Close 世界 x\n    |       ^^^^\n"},
		{"combining", "e\u0301 x", 4, 5, "  1 | e\u0301 x\n    |   ^\n"},
		{"control", "a\x1b[31mb", 1, 2, "  1 | a\\x1b[31mb\n    |  ^^^^\n"},
		{"bidi", "a\u202eb", 1, 4, "  1 | a\\u{202e}b\n    |  ^^^^^^^^\n"},
		{"not UTF-8", "a\xffb", 1, 2, "  1 | a\\xffb\n    |  ^^^^\n"},
		{"long", long, 501, 502, "  1 | ..." + strings.Repeat("a", 49) + " X " + strings.Repeat("b", 48) + "...\n    | " + strings.Repeat(" ", 53) + "^\n"},
	} {
		src := NewSource("f", []byte(tt.line))
		d := Errorf(UnboundVerb, "f", src.Span(tt.from, tt.to), "wrong").WithHint("first\nsecond")
		got := text(t, List{d}, src, TextOptions{})
		head, rest, _ := strings.Cut(got, "\n")
		if !strings.HasPrefix(head, "f:1:") || !strings.HasSuffix(head, ": error: wrong [unbound-verb]") {
			t.Errorf("%s: first line %q", tt.name, head)
		}
		if want := tt.want + "  hint: first\n        second\n"; rest != want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, rest, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		text           string
		n              int
		letters, bytes string
	}{
		{"", 4, "", ""}, {"abcd", 4, "abcd", "abcd"}, {"abcde", 4, "a...", "a..."},
		{"äöüß", 4, "äöüß", "..."}, {"äöüßx", 4, "ä...", "..."}, {"äöüßx", 5, "äöüßx", "ä..."}, {"aüb", 3, "aüb", "..."},
		{"abcd", 3, "...", "..."}, {"\xff\xff\xff\xff\xff", 4, "\xff...", "\xff..."},
	} {
		if got := Clip(tt.text, tt.n); got != tt.letters {
			t.Errorf("Clip(%q, %d): %q", tt.text, tt.n, got)
		}
		if got := ClipBytes(tt.text, tt.n); got != tt.bytes {
			t.Errorf("ClipBytes(%q, %d): %q", tt.text, tt.n, got)
		}
	}
}

func TestWriteTextMax(t *testing.T) {
	l := List{
		Errorf(UnboundVerb, "f", Span{}, "one"), Warnf(CRLF, "f", Span{}, "two"), Errorf(UnboundVerb, "f", Span{}, "three"), Warnf(CRLF, "f", Span{}, "four"),
	}
	want := "f: error: one [unbound-verb]\n... and 1 more errors, 2 more warnings\n"
	if got := text(t, l, nil, TextOptions{Max: 1}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A bound on the text counts what it leaves out, never cuts a finding, and always shows the first.
func TestWriteTextSize(t *testing.T) {
	var l List
	for range 60 {
		d := Errorf(UnboundVerb, "f", Span{}, "%s", strings.Repeat("x", 100))
		d.Hint = strings.Repeat("h", 200)
		l = append(l, d)
	}
	got := text(t, l, nil, TextOptions{Size: 1800})
	if n := strings.Count(got, "hint:"); len(got) > 1800 || n < 4 || !strings.HasSuffix(got, fmt.Sprintf("h\n... and %d more errors, 0 more warnings\n", 60-n)) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := text(t, l, nil, TextOptions{Size: 10}); strings.Count(got, "hint:") != 1 || !strings.HasSuffix(got, "\n... and 59 more errors, 0 more warnings\n") {
		t.Errorf("%q", got)
	}
	long := slices.Clone(l[:2])
	long[0].Hint = strings.Repeat("ä", 5000)
	for n, end := range map[int]string{1: "ä...\n", 2: "ä...\n... and 1 more errors, 0 more warnings\n"} {
		if got := text(t, long[:n], nil, TextOptions{Size: 1800}); len(got) > 1800 || len(got) < 1790 || !strings.HasSuffix(got, end) || !utf8.ValidString(got) {
			t.Errorf("%d findings, the first of them long, are %d bytes: %q", n, len(got), got[len(got)-100:])
		}
	}
	if got := text(t, l[:5], nil, TextOptions{Size: 1700}); strings.Count(got, "hint:") != 5 || strings.Contains(got, "more") {
		t.Errorf("%q", got)
	}
}

func TestSource(t *testing.T) {
	src := NewSource("f", []byte("ab\r\né😀x\n\nlast"))
	if src.Lines() != 4 || string(src.Line(1)) != "ab" || string(src.Line(3)) != "" || string(src.Line(4)) != "last" || src.Line(5) != nil || src.Line(0) != nil {
		t.Errorf("%d lines", src.Lines())
	}
	p := src.Pos(bytes.IndexByte(src.Text, 'x'))
	if p.Line != 2 || p.Column != 3 || src.UTF16Column(p) != 3 {
		t.Errorf("%+v, UTF-16 %d", p, src.UTF16Column(p))
	}
	for i := -3; i < len(src.Text)+3; i++ {
		if p := src.Pos(i); p.Line < 1 || p.Line > 4 || p.Column < 1 {
			t.Errorf("Pos(%d) = %+v", i, p)
		}
	}
	if empty := NewSource("f", nil); empty.Lines() != 1 || len(empty.Line(1)) != 0 || empty.Pos(0) != (Pos{0, 1, 1}) {
		t.Error("an empty source")
	}
}

func TestSort(t *testing.T) {
	at := func(file string, offset int, s Severity) Diagnostic {
		return Diagnostic{File: file, Severity: s, Span: Span{Start: Pos{Offset: offset, Line: 1, Column: 1}}}
	}
	l := List{at("b", 5, Error), at("a", 9, Error), at("b", 1, Warning), at("b", 1, Error), at("a", 2, Error)}
	l.Sort()
	var got []string
	for _, d := range l {
		got = append(got, d.File+string(rune('0'+d.Span.Start.Offset))+d.Severity.String()[:1])
	}
	if want := "b1e b1w b5e a2e a9e"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if l.Err() == nil || (List{at("a", 1, Warning)}).Err() != nil {
		t.Error("Err")
	}
}

func FuzzWriteText(f *testing.F) {
	f.Add("Test with pytst", 10, 15, "message")
	f.Add("a\x1b]0;x\x07b\xff\u202e\tc", 1, 9, "\x1b[31m")
	f.Add(strings.Repeat("世", 300), 600, 603, "x\ny")
	f.Add("\n\n", 1, 1, "")
	f.Fuzz(func(t *testing.T, line string, from, to int, message string) {
		if len(line) > 1<<16 {
			return
		}
		src := NewSource("f", []byte(line))
		from, to = min(max(from, 0), len(line)), min(max(to, 0), len(line))
		d := Errorf(UnboundVerb, "f", src.Span(min(from, to), max(from, to)), "%s", message).WithHint("%s", message)
		d.Related = []Related{{File: message, Message: message}}
		got := text(t, List{d}, src, TextOptions{})
		for _, r := range got {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || hidden(r) {
				t.Fatalf("%U in %q", r, got)
			}
		}
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		for _, l := range strings.Split(got, "\n") {
			if strings.HasPrefix(l, "  ") && strings.Contains(l, " | ") && Width(l) > 4*window && len(message) < 10 {
				t.Fatalf("a line of %d columns", Width(l))
			}
		}
	})
}

// TestVisible keeps colours, and nothing else that acts on a terminal.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n":                                 "a\tb\n",
		"\x1b[31mred\x1b[0m":                     "\x1b[31mred\x1b[0m",
		"\x1b[2Jx":                               "\ufffd[2Jx",
		"\x1b]0;title\x07":                       "\ufffd]0;title\ufffd",
		"\x1b[31":                                "\ufffd[31",
		"a\u202eb":                               "a\ufffdb",
		"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14m": "\ufffd[1;2;3;4;5;6;7;8;9;10;11;12;13;14m",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestEscapeLen: a sequence ends where a terminal shows the next letter.
func TestEscapeLen(t *testing.T) {
	for text, want := range map[string]int{
		"\x1b": 1, "\x1b[31mx": 5, "\x1b[": 2, "\x1b]0;t\ax": 6, "\x1bP1$r\x1b\\x": 7, "\x1b]0;t\nx": 5,
		"\x1b7x": 2, "\x1bMx": 2, "\x1bcx": 2,
		"\x1b(Bx": 3, "\x1b(0x": 3, "\x1b%Gx": 3, "\x1b#8x": 3, "\x1b Fx": 3, "\x1b$(Bx": 4, "\x1b(": 2, "\x1b$(": 3, // tput sgr0 prints the first
		"\x1b\x1b[31mx": 1, "\x1b(\x1b[31mx": 2, "\x1b\nx": 1, "\x1bé": 1, "\x1b\x00x": 1, // what ends a sequence is not a part of it
	} {
		if got := EscapeLen(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestPrintable: nothing that acts on a terminal goes through, and nothing else is changed.
func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, line, lines string }{
		{"a\tb\nc", "a b c", "a\tb\nc"}, {"\x1b[2J\r\u009b", "\ufffd[2J\ufffd\ufffd", "\ufffd[2J\ufffd\ufffd"}, {"é 日 \u202eabc\u2066", "é 日 \ufffdabc\ufffd", "é 日 \ufffdabc\ufffd"}, {"\xff", "\ufffd", "\ufffd"},
	} {
		if line, lines := Printable(c.text), PrintableLines(c.text); line != c.line || lines != c.lines {
			t.Errorf("%q: %q, %q", c.text, line, lines)
		}
	}
	for r := rune(0); r < 0x3000; r++ {
		acts := unicode.In(r, unicode.Cc, unicode.Bidi_Control) && r != '\n' && r != '\t'
		if IsPrintable(r) == acts {
			t.Errorf("%U: %t", r, acts)
		}
	}
	if got := Visible("\x1b[31mred\x1b[0m\x1b[2J\t\n"); got != "\x1b[31mred\x1b[0m\ufffd[2J\t\n" {
		t.Errorf("%q", got)
	}
}

// A name that could read as a part of the sentence around it is quoted, and any other is as it was.
func TestName(t *testing.T) {
	for _, s := range []string{"quality.dlct", "a/b-c_d/quality.dlct:3", "test_a", `C:\x\q.dlct`, "prüfung.dlct", "質.dlct", "~/x", "a@b", "r=1"} {
		if got := Name(s); got != s {
			t.Errorf("%q: %s", s, got)
		}
	}
	for s, want := range map[string]string{
		"": `""`, "x y": `"x y"`, "x;y": `"x;y"`, "x, y": `"x, y"`, `x"y`: `"x\"y"`, "x (y)": `"x (y)"`, "x\ny": `"x\ny"`, "x\x1b[31m": `"x\x1b[31m"`,
		"x\u202ey": `"x\u202ey"`, "x\u00a0y": `"x\u00a0y"`, "x\u2003y": `"x\u2003y"`, "\xff": `"\xff"`, "x\u3164y": "\"x\u3164y\"", "x\u200by": `"x\u200by"`,
	} {
		if got := Name(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
