package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// slow has secrets, and output that reads long parts of them at each of its bytes.
var slow = []struct{ name, secret, output string }{
	{"backslashes", `\\\\\\\\\\\\\\\\\\\\a\\\\\\\\\\\\\\\\b`, strings.Repeat(`\`, 300_000)},
	{"backslashes, one too few", strings.Repeat(`\`, 8000) + "a", strings.Repeat(strings.Repeat(`\`, 7999)+"b", 40)},
	{"many backslashes", strings.Repeat(`\`, 15_000) + "a", strings.Repeat(`\`, 300_000)},
	{"backslashes and letters", strings.Repeat(`\\\a`, 3000) + "b", strings.Repeat(`\\\a`, 75_000)},
	{"one letter", strings.Repeat("a", 15_000) + "b", strings.Repeat("a", 300_000)},
	{"one letter, escaped", strings.Repeat("a", 15_000) + "b", strings.Repeat(`\u0061`, 50_000)},
	{"spaces", "x" + strings.Repeat(" ", 15_000) + "b", strings.Repeat("x++ ", 75_000)},
	{"a period", strings.Repeat("ab%", 5000) + "!", strings.Repeat("ab%", 100_000)},
	{"zeros, in base64", strings.Repeat("\x00", 12_000) + "!", strings.Repeat("A", 300_000)},
	{"lines", strings.Repeat("a\n", 7000) + "b", strings.Repeat("a\n", 150_000)},
	{"web tokens", "unrelated-secret-1", strings.Repeat("eyJ", 100_000)},
	{"signing keys without a name", "unrelated-secret-1", strings.Repeat("PRIVATE+KEY+\x1b]", 20_000)},
	{"signing keys of control characters", "unrelated-secret-1", strings.Repeat("PRIVATE+KEY+", 20_000) + strings.Repeat("PRIVATE+KEY+\x01", 20_000)},
	{"web tokens with dots", "unrelated-secret-1", strings.Repeat(strings.Repeat("eyJ", 5000)+".a.", 20)},
}

// The work is linear in the output, whatever the secrets and the output are.
func TestLinear(t *testing.T) {
	for _, tt := range slow {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{Environ: []string{"SOME_TOKEN=" + tt.secret}, Key: []byte("k")})
			for name, f := range map[string]func(){
				"Text": func() { r.Text(tt.output) },
				"Tail": func() { r.Tail([]byte(tt.output)) },
				"Head": func() { r.Head([]byte(tt.output)) },
				"Writer": func() {
					w := r.Writer(io.Discard)
					io.WriteString(w, tt.output)
					w.Cut()
					w.Close()
				},
			} {
				begin := time.Now() // for what never ends; the steps below hold it to be linear
				f()
				if d := time.Since(begin); d > time.Minute {
					t.Errorf("%s takes %v", name, d)
				}
			}
			if steps, most := stepsOf(r, tt.output), (creditOf+min(len(r.literals), maxEach))*len(tt.output)+maxCredit; steps > most {
				t.Errorf("%d steps, want at most %d", steps, most)
			}
		})
	}
}

// TestManySecrets has many secrets that begin alike, and a text of their beginning: it is searched in as many steps for each byte as with a hundred of them.
// Other text costs less than that.
func TestManySecrets(t *testing.T) {
	var alike, other []string
	for i := range 5000 {
		alike = append(alike, fmt.Sprintf("aa%d-aaaaaa", i))
		sum := sha256.Sum256(fmt.Append(nil, i))
		other = append(other, hex.EncodeToString(sum[:8]))
	}
	r := New(Options{Declared: alike, Key: []byte("k")})
	flood := strings.Repeat("a", 20_000)
	if steps, most := stepsOf(r, flood), 1088*len(flood)+maxCredit; steps > most {
		t.Errorf("%d steps, want at most %d", steps, most)
	}
	begin := time.Now()
	if got := New(Options{Declared: append(alike, strings.Repeat("a", 9000)+"b"), Key: []byte("k")}).Tail([]byte(strings.Repeat("a", 64<<10))); len(got) > 0 && !bytes.HasSuffix(got, []byte(tooCostly)) {
		t.Errorf("of a tail there is %.100q", got)
	}
	if d := time.Since(begin); d > time.Minute {
		t.Errorf("a tail takes %v", d)
	}
	r = New(Options{Declared: other, Key: []byte("k")})
	usual := strings.Repeat("ok  \tgithub.com/a/b\t0.003s {\"a\":\"\\\\x %41\"} 0123456789abcdef\n", 5000)
	if got := r.Text(usual); got != usual {
		t.Errorf("usual output is changed: %.200q", got)
	}
}

// stepsOf counts the steps of a search through s.
func stepsOf(r *Redactor, s string) (steps int) {
	x := r.search([]byte(s))
	for at := 0; at < len(s) && !x.spent(); {
		before := x.credit
		from, to, _, ok := x.next(at, at+1)
		steps += before + x.each - x.credit
		at++
		if ok && from >= 0 {
			at = max(at, to)
		}
	}
	return steps
}

// A search that ends early takes out the rest: nothing of a secret goes through.
func TestTooCostly(t *testing.T) {
	secret := strings.Repeat("a", 15_000) + "b"
	r := New(Options{Declared: []string{secret, "another-secret-1"}, Key: []byte("k")})
	output := "first\n" + strings.Repeat(strings.Repeat("a", 14_999)+"c", 20) + "another-secret-1\n" + secret + "\nlast\n"
	want := "first\n"
	for name, got := range map[string]string{"Text": r.Text(output), "Writer": written(t, r, output)} {
		head, _, _ := strings.Cut(got, markBegin)
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, tooCostly) || strings.Trim(head[len(want):], "ac") != "" {
			t.Errorf("%s gives %.100q … %q", name, got, got[max(0, len(got)-200):])
		}
	}
	// What usual secrets cost is far below the bound: nothing is lost.
	r = redactor()
	output = strings.Repeat(`{"a":"\\\\x\\u0041 %41&#39;' ghp_ eyJ. correct-horse-batterie"}`+"\n", 20_000)
	if got := r.Text(output); got != output {
		t.Errorf("usual output is changed: %.200q", got)
	}
}

func written(t *testing.T, r *Redactor, s string) string {
	t.Helper()
	var b strings.Builder
	w := r.Writer(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What of a secret of several lines is left where a text was cut goes, too.
func TestCutLines(t *testing.T) {
	r := New(Options{Declared: []string{"one\ntwo\nthree\nfour", "two\nfive"}, Key: []byte("k")})
	for i := 1; i < len("one\ntwo\nthree\nfour"); i++ {
		secret := "one\ntwo\nthree\nfour"
		if got := string(r.Tail([]byte(secret[i:] + "\nrest\n"))); got != "\nrest\n" && got != "rest\n" {
			t.Errorf("the end %q leaves %q", secret[i:], got)
		}
		if got := string(r.Head([]byte("rest\n" + secret[:i]))); got != "rest\n" {
			t.Errorf("the begin %q leaves %q", secret[:i], got)
		}
	}
}

// FuzzLinear tries secrets and outputs that are built of few pieces, as those are that cost most.
func FuzzLinear(f *testing.F) {
	for _, tt := range slow {
		f.Add(tt.secret[:min(len(tt.secret), 7)], uint16(2000), tt.secret[max(0, len(tt.secret)-1):], tt.output[:6], uint16(5000))
	}
	f.Fuzz(func(t *testing.T, piece string, n uint16, end, printed string, m uint16) {
		piece, printed = piece[:min(len(piece), 20)], printed[:min(len(printed), 20)]
		secret := strings.Repeat(piece, int(n)%4000) + end[:min(len(end), 20)]
		output := strings.Repeat(printed, int(m))
		r := New(Options{Declared: []string{secret}, Key: []byte("k")})
		begin := time.Now()
		if got, want := written(t, r, output), r.Text(output); got != want && !strings.HasSuffix(want, tooCostly) && len(output) < block {
			t.Errorf("a Writer gives %.100q, Text %.100q", got, want)
		}
		r.Tail([]byte(output))
		r.Head([]byte(output))
		if d := time.Since(begin); d > time.Minute { // what is not linear takes hours
			t.Errorf("it takes %v", d)
		}
		if secret != "" && len(secret) >= 2*minCore && strings.Contains(r.Text(output+secret), secret) {
			t.Error("the secret goes through")
		}
	})
}
