package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
)

// TestLinesSecret has output come in pieces of any size, with secrets of several lines and at the bound of a long line.
func TestLinesSecret(t *testing.T) {
	several, long := "first-of-the-secret\nsecond-of-the-secret", "a-secret-at-the-bound"
	r := redact.New(redact.Options{Declared: []string{several, long}})
	text := "begin\n" + several + "\nfirst-of-the-secret\nno\n" + strings.Repeat("x", maxLine-5) + long + "\n-----BEGIN PRIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcN\n-----END PRIVATE KEY-----\nend"
	s := new(plan.Step)
	for size := 1; size <= len(text); size = size*2 + 1 {
		var got strings.Builder
		l := Lines{Secret: r}
		for at := 0; at < len(text); at += size {
			l.Add(attempt.Output{Step: s, Data: []byte(text[at:min(at+size, len(text))])}, func(line []byte) { got.Write(append(line, '\n')) })
		}
		l.Flush(s, func(_ process.Stream, line []byte) { got.Write(append(line, '\n')) })
		for _, secret := range []string{"second-of", "at-the-bound", "MIIB"} {
			if strings.Contains(got.String(), secret) {
				t.Errorf("in pieces of %d: %q is there", size, secret)
			}
		}
		if out := got.String(); !strings.HasPrefix(out, "begin\n[redacted:") || !strings.HasSuffix(out, "\nend\n") || !strings.Contains(out, "]\nfirst-of-the-secret\nno\nxxx") {
			t.Errorf("in pieces of %d: %.80q ... %q", size, out, out[max(0, len(out)-80):])
		}
	}
}

// TestLinesCut has output end in the midst of a secret, wherever that is, and another attempt begin.
func TestLinesCut(t *testing.T) {
	secret := "first-of-the-secret\nsecond-of-the-secret"
	r := redact.New(redact.Options{Declared: []string{secret}})
	for n := 1; n < len(secret); n++ {
		var got strings.Builder
		add := func(line []byte) { got.Write(append(line, '\n')) }
		l, s := Lines{Secret: r}, new(plan.Step)
		l.Add(attempt.Output{Step: s, Data: []byte("begin\n" + secret[:n])}, add)
		l.Add(attempt.Output{Step: s, Cut: true}, add)
		l.Add(attempt.Output{Step: s, Data: []byte("again\n")}, add)
		l.Flush(s, func(_ process.Stream, line []byte) { add(line) })
		if out := got.String(); out != "begin\nagain\n" {
			t.Errorf("after %d bytes: %q", n, out)
		}
	}
}

// TestLinesAtOnce passes a line on when it ends.
func TestLinesAtOnce(t *testing.T) {
	l, n := Lines{Secret: redact.New(redact.Options{Declared: []string{"first\nsecond"}})}, 0
	for _, c := range []struct {
		data string
		want int
	}{{"one\n", 1}, {"tw", 1}, {"o\nthree\n", 3}, {"first\n", 3}, {"other\n", 5}} {
		if l.Add(attempt.Output{Data: []byte(c.data)}, func([]byte) { n++ }); n != c.want {
			t.Errorf("after %q there are %d lines, want %d", c.data, n, c.want)
		}
	}
}

// TestCommandSecret has a command line quote a secret, and JSON quote that.
func TestCommandSecret(t *testing.T) {
	for _, secret := range []string{"it's-a-secret", "it's\nof two lines", `with\backslash and 'quotes'`, "tab\tand\x01control", "plain-secret"} {
		r := redact.New(redact.Options{Declared: []string{secret}})
		text, err := json.Marshal(Command([]string{"sh", "login.sh", "x" + secret + "y"}))
		if err != nil {
			t.Fatal(err)
		}
		if out := r.Text(string(text)); !strings.Contains(out, "x[redacted:") || !strings.Contains(out, "]y") {
			t.Errorf("%q: %s", secret, out)
		}
	}
}

// TestSecretLineEnd has a secret whose value ends in a line end be printed without it.
func TestSecretLineEnd(t *testing.T) {
	r := redact.New(redact.Options{Declared: []string{"a-declared-one\n"}, Environ: []string{"MY_TOKEN=Qx7-EFGH9912zzW\r\n"}})
	for _, text := range []string{"say a-declared-one.", "say Qx7-EFGH9912zzW."} {
		if out := r.Text(text); !strings.HasPrefix(out, "say [redacted:") {
			t.Error(out)
		}
	}
}
