package redact

import (
	"html"
	"io"
	"strings"
	"testing"
	"time"
)

// lined is a secret of several lines with what writings escape.
const lined = "Kq9xZ7pL2v&Rt5wY8n<Bd3aaQQ\nMm4nB7vC9x\"Z1l'K3j&H5gF\np0o9i8u7y6&t5r4e3w2q1"

// linedForms are the writings of a text that keep its line ends, or write them in another way.
var linedForms = []encoder{
	{"itself", func(s string) string { return s }},
	{"HTML", html.EscapeString},
	{"HTML by number", func(s string) string {
		return strings.NewReplacer("&", "&#38;", "<", "&#x3c;", `"`, "&#34;", "'", "&#x27;").Replace(s)
	}},
	{"a shell word", func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }},
	{"backslashes", func(s string) string {
		return strings.NewReplacer("&", `\&`, "<", `\<`, `"`, `\"`, "'", `\'`).Replace(s)
	}},
	{"colours", func(s string) string {
		return "\x1b[1m" + strings.NewReplacer("Rt5", "\x1b[31mRt5", "\n", "\x1b[0m\n\x1b[32m", "t5r", "\x1b[0mt5r").Replace(s)
	}},
	{"line ends of Windows", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
	{"of two terminals", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\r\n") }},
	{"HTML of Windows", func(s string) string { return strings.ReplaceAll(html.EscapeString(s), "\n", "\r\n") }},
}

// shown returns what of a writing of the secret a text shows: eight bytes or more, which are in no other place.
func shown(text, writing string) string {
	for i := 0; i+8 <= len(writing); i++ {
		if piece := writing[i : i+8]; strings.Contains(text, piece) {
			return piece
		}
	}
	return ""
}

// TestCutWritings cuts a text at each place of a secret of several lines, in each writing.
func TestCutWritings(t *testing.T) {
	r := New(Options{Declared: []string{lined}, Key: []byte("k")})
	for _, e := range linedForms {
		writing := e.do(lined)
		if got := r.Text("a\n" + writing + "\nz\n"); shown(got, writing) != "" || !strings.HasSuffix(got, "\nz\n") {
			t.Fatalf("%s: %q", e.name, got)
		}
		for i := 1; i < len(writing); i++ {
			if got := string(r.Tail([]byte(writing[i:] + "\nfirst\nsecond\n"))); shown(got, writing) != "" || !strings.HasSuffix(got, "second\n") {
				t.Errorf("%s: the end %q leaves %q", e.name, writing[i:], got)
			}
			if got := string(r.Head([]byte("first\nsecond\n" + writing[:i]))); shown(got, writing) != "" || !strings.HasPrefix(got, "first\n") {
				t.Errorf("%s: the beginning %q leaves %q", e.name, writing[:i], got)
			}
			for j := i + 1; j < len(writing); j++ {
				if got := string(r.Part([]byte(writing[i:j]), true, true)); shown(got, writing) != "" {
					t.Fatalf("%s: the middle %q leaves %q", e.name, writing[i:j], got)
				}
			}
		}
	}
}

// TestPass writes secrets in two parts. A reader sees each line that could be none of them as soon as it has come.
func TestPass(t *testing.T) {
	const event = `{"Action":"output","Package":"p","Output":"`
	single := "correct-horse-battery"
	pem := "-----BEGIN RSA PRIVATE KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END RSA PRIVATE KEY-----"
	r := New(Options{Declared: []string{lined, single}, Key: []byte("k")})
	try := func(name, text, writing string) {
		for i := 1; i < len(text); i++ {
			var b strings.Builder
			w := r.Writer(&b)
			for _, part := range []string{"Kq9x\nM\nfirst\n", text[:i], text[i:], "\nlast\n"} {
				_, _ = io.WriteString(w, part)
				if err := w.Pass(); err != nil {
					t.Fatal(err)
				}
				if got := b.String(); !strings.HasPrefix(got, "Kq9x\nM\nfirst\n") {
					t.Fatalf("%s: %q of whole lines is shown", name, got)
				}
			}
			if got := b.String(); shown(got, writing) != "" || !strings.HasSuffix(got, "\nlast\n") {
				t.Errorf("%s, cut at %d: %q", name, i, got)
			}
		}
	}
	for _, e := range linedForms {
		try(e.name, e.do(lined), e.do(lined))
	}
	try("a private key", pem, pem)
	try("two events", event+"correct-h\"}\n"+event+"orse-battery\"}", single)
	try("two events in CR LF", event+"correct-h\"}\r\n"+event+"orse-battery\"}", single)
}

// FuzzPass: what is written of whole lines is what the whole text has there.
func FuzzPass(f *testing.F) {
	secrets := []string{"ab\ncd\n\nef", "b&\"\nab<'", "\nx", "cdefgh", "b\r\nb\\c"}
	for _, e := range linedForms {
		f.Add([]byte("x\nb"+strings.Join(secrets, e.do("\n"))+"\ny"), 3)
		for _, s := range secrets {
			f.Add([]byte("x\n"+e.do(s)+"\ny"), 4)
		}
	}
	f.Add([]byte("-----BEGIN RSA PRIVATE KEY-----\nA\n-----END RSA PRIVATE KEY-----\nx"), 5)
	f.Add([]byte(`{"Output":"cde"}`+"\n"+`{"Output":"fgh `+signing[:30]+`"}`+"\r\n"+`{"Output":"`+signing[30:]+`"}`+"\n"), 1)
	r := New(Options{Declared: secrets, Key: []byte("k")})
	f.Fuzz(func(t *testing.T, text []byte, chunk int) {
		var b strings.Builder
		w := r.Writer(&b)
		for rest := text; len(rest) > 0; {
			n := min(max(chunk&0xff, 1), len(rest))
			_, _ = w.Write(rest[:n])
			_ = w.Pass()
			rest = rest[n:]
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := r.Text(string(text)); b.String() != want {
			t.Errorf("%q in pieces of %d is %q, whole %q", text, chunk&0xff, b.String(), want)
		}
		for i := 1; i < min(len(text), 40); i++ {
			r.Part(text[i:], true, i%2 == 0)
		}
	})
}

// TestTailWithoutLine: without a line end nearby nobody knows where the rest of a secret ends, nor, of what is dropped for it, whether another begins there.
func TestTailWithoutLine(t *testing.T) {
	secret := "s3cr3tTOKENvalue0123456789abcdefghij"
	r := New(Options{Environ: []string{"API_TOKEN=" + secret}, Key: []byte("k")})
	for at := range 2 * len(secret) {
		text := secret[1:] + strings.Repeat("x", r.Hold()-len(secret)-at) + secret + strings.Repeat("y", 50_000)
		if got := string(r.Tail([]byte(text))); shown(got, secret) != "" || !strings.HasSuffix(got, strings.Repeat("y", 40_000)) {
			t.Fatalf("at %d: %.100q", at, got)
		}
	}
	if got := string(r.Tail([]byte(secret[1:] + "\r 10 %\r 20 %\r"))); got != " 10 %\r 20 %\r" {
		t.Errorf("a progress bar is %q", got)
	}
}

// TestPartOfLines: a line of a secret that is a secret itself hides no other line, wherever the text was cut.
func TestPartOfLines(t *testing.T) {
	secret := "first-line\nsecond-line\nthird-line\nfourth-line"
	r := New(Options{Declared: []string{secret, "second-line", "third-line"}, Key: []byte("k")})
	for i := 1; i < len(secret); i++ {
		for j := i + 1; j <= len(secret); j++ {
			if got := string(r.Part([]byte(secret[i:j]), true, true)); shown(got, secret) != "" {
				t.Errorf("%q leaves %q", secret[i:j], got)
			}
		}
	}
}

// TestLineEnds: a secret whose lines end as on Windows is hidden also as it is on Unix, under the same mark, and the other way round.
func TestLineEnds(t *testing.T) {
	windows := strings.ReplaceAll(lined, "\n", "\r\n")
	for _, secret := range []string{lined, windows} {
		r := New(Options{Declared: []string{secret}, Key: []byte("k")})
		mark := r.Text(secret)
		for _, text := range []string{lined, windows, jsonText(true)(lined), jsonText(true)(windows), html.EscapeString(windows)} {
			if got := r.Text("a " + text + " z"); got != "a "+mark+" z" {
				t.Errorf("%q is %q", text, got)
			}
		}
	}
	r := New(Options{Declared: []string{"two words"}})
	if got := r.Text("two\r words"); got != "two\r words" {
		t.Errorf("%q", got)
	}
}

// TestPassLinear passes on texts in small pieces that nearly repeat a secret of several lines.
func TestPassLinear(t *testing.T) {
	for name, tt := range map[string]struct{ secret, output string }{
		"lines":       {strings.Repeat("a\n", 7000) + "b", strings.Repeat("a\n", 100_000)},
		"escaped":     {strings.Repeat("a&\n", 5000) + "b", strings.Repeat("a&amp;\n", 30_000)},
		"of Windows":  {strings.Repeat("aa\n", 5000) + "b", strings.Repeat("aa\r\n", 50_000)},
		"no line end": {strings.Repeat("a\n", 7000) + "b", strings.Repeat("a", 200_000)},
		"one line":    {strings.Repeat("a", 14_000) + "b", strings.Repeat("a\"}\n", 50_000)},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Declared: []string{tt.secret}, Key: []byte("k")})
			begin := time.Now() // for what takes hours otherwise
			w := r.Writer(io.Discard)
			for rest := tt.output; rest != ""; rest = rest[min(3, len(rest)):] {
				_, _ = io.WriteString(w, rest[:min(3, len(rest))])
				_ = w.Pass()
			}
			if d := time.Since(begin); d > time.Minute {
				t.Errorf("it takes %v", d)
			}
		})
	}
}
