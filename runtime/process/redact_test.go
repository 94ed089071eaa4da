//go:build unix

package process

import (
	"crypto/sha256"
	"os"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/redact"
)

// Where a text was cut no part of a secret stays that was cut there.
func TestRedactAtBorder(t *testing.T) {
	const long = "correct-horse-battery-staple-and-more"
	const lines = "first-line-of-it\nsecond-line-of-it\nthird-line-of-it"
	redactor := redact.New(redact.Options{Declared: []string{long, lines}})
	const maxLog = 80_000
	for _, secret := range []string{long, lines, "ghp_" + strings.Repeat("a1B2", 10)} {
		for _, prefix := range []string{"a line\n", "no line end "} {
			for back := 0; back <= len(secret); back += 3 {
				for name, border := range map[string]int{"log": maxLog - maxLog/4, "head": HeadBytes, "output": 3000, "output in the log": 30_000, "output past the cut": 200_000} {
					dir := t.TempDir()
					var r recorder
					c := &Command{LogDir: dir, MaxLog: maxLog, Redact: redactor}
					if strings.HasPrefix(name, "output") {
						c.MaxOutput = int64(border)
					}
					r.init(c)
					begin := strings.Repeat(prefix, border/len(prefix)+1)[:border-back-1] + " "
					rest := begin + secret + "\nmore" + strings.Repeat("\nx line", 20_000)
					for rest != "" {
						n := min(7000, len(rest))
						r.streams[0].write(r.admit(Stdout, []byte(rest[:n])))
						rest = rest[n:]
					}
					var res Result
					r.finish(&res)
					kept, err := os.ReadFile(res.Stdout.Log)
					if err != nil {
						t.Fatal(err)
					}
					if sha256.Sum256(kept) != res.Stdout.LogSHA256 {
						t.Fatalf("%s: the log has another name than its digest", name)
					}
					for what, text := range map[string]string{"log": string(kept), "head": string(res.Stdout.Head), "tail": string(res.Tail)} {
						for n := 6; n <= len(secret); n++ {
							if strings.Contains(text, " "+secret[:n]) || strings.Contains(text, secret[len(secret)-n:]+"\nmore") {
								t.Fatalf("%s, border %s, %d bytes before it: %s holds %d bytes of %q", prefix, name, back, what, n, secret)
							}
						}
					}
				}
			}
		}
	}
}

// What is kept holds no secret; what is hashed is what was written.
func TestRedact(t *testing.T) {
	const secret = "correct-horse-battery"
	for name, text := range map[string]string{
		"short":    "token " + secret + " end\n",
		"long":     strings.Repeat("a line\n", 4000) + secret + strings.Repeat("\na line", 4000),
		"cut":      secret + strings.Repeat("\na line", 40_000) + secret,
		"harmless": strings.Repeat("a line\n", 4000),
	} {
		dir := t.TempDir()
		var r recorder
		r.init(&Command{LogDir: dir, MaxLog: 100_000, Redact: redact.New(redact.Options{Declared: []string{secret}})})
		r.admit(Stdout, []byte(text))
		for rest := text; rest != ""; {
			n := min(1000, len(rest))
			r.streams[0].write([]byte(rest[:n]))
			rest = rest[n:]
		}
		var res Result
		r.finish(&res)
		out := res.Stdout
		kept, err := os.ReadFile(out.Log)
		if err != nil {
			t.Fatal(err)
		}
		has := strings.Contains(text, secret)
		switch {
		case strings.Contains(string(kept)+string(out.Head)+string(res.Tail), secret):
			t.Errorf("%s: the secret was kept", name)
		case out.SHA256 != sha256.Sum256([]byte(text)) || out.Bytes != int64(len(text)):
			t.Errorf("%s: the digest is not of what was written", name)
		case out.LogSHA256 != sha256.Sum256(kept):
			t.Errorf("%s: the log has another name than its digest", name)
		case out.Redacted != has || !has && out.LogSHA256 != out.SHA256:
			t.Errorf("%s: redacted %v", name, out.Redacted)
		}
		noTemporary(t, dir)
	}
}

// TestRedactEnded ends a command in the midst of a write of a secret, by a budget or a signal: nothing shows what was written of it.
func TestRedactEnded(t *testing.T) {
	const secret = "correct-horse-battery-staple-and-more"
	for name, res := range map[string]Result{"budget": {Stop: Timeout}, "signal": {Signal: "SIGKILL"}, "by itself": {}} {
		for _, before := range []int{10, HeadBytes, 100_000} {
			dir := t.TempDir()
			var r recorder
			cut := 0
			r.init(&Command{LogDir: dir, Redact: redact.New(redact.Options{Declared: []string{secret}}), Cut: func(Stream) { cut++ }})
			text := strings.Repeat("a", before) + "\n" + secret[:30]
			r.streams[0].write(r.admit(Stdout, []byte(text)))
			r.finish(&res)
			kept, err := os.ReadFile(res.Stdout.Log)
			if err != nil {
				t.Fatal(err)
			}
			ended := name != "by itself"
			if shown := strings.Contains(string(kept)+string(res.Stdout.Head)+string(res.Tail), secret[:6]); shown == ended || (cut == 1) != ended {
				t.Errorf("%s, behind %d bytes: shown %v, cut %d times", name, before, shown, cut)
			}
			if sha256.Sum256(kept) != res.Stdout.LogSHA256 {
				t.Errorf("%s, behind %d bytes: the log has another name than its digest", name, before)
			}
		}
	}
}

// TestRedactMixed: the tail has no part of a secret between whose parts the other stream wrote something, wherever the tail begins or ends, and
// else has both streams in order.
func TestRedactMixed(t *testing.T) {
	const secret, long = "correct-horse-battery-staple", "first-line-of-it\nsecond-line-of-it\nthird-line-of-it"
	hidden := redact.New(redact.Options{Declared: []string{secret, long}})
	for _, limit := range []int{1 << 10, 150, 120, 90, 70, 60, 50, 40, 30} {
		for _, stop := range []Stop{"", Timeout} {
			var r recorder
			r.init(&Command{Redact: hidden, TailBytes: limit})
			say := func(s Stream, text string) { r.streams[s].write(r.admit(s, []byte(text))) }
			say(Stdout, "one\nsigning in with "+secret[:9])
			say(Stderr, "two\n")
			say(Stdout, secret[9:]+"\nfirst-line-of-it\n")
			say(Stderr, "three\n")
			say(Stdout, "second-line-of-it\nthird-line-of-it\n")
			say(Stderr, "four\nand "+secret[:12])
			say(Stdout, "five\n")
			res := Result{Stop: stop}
			r.finish(&res)
			got := string(res.Tail)
			for _, part := range []string{secret[:8], secret[10:20], secret[20:], "line-of-it"} {
				if strings.Contains(got, part) && !(stop == "" && part == secret[:8]) {
					t.Errorf("%d %q: it shows %q: %q", limit, stop, part, got)
				}
			}
			if i, k := strings.Index(got, "four\n"), strings.Index(got, "five\n"); k < 0 || i > k || limit > 150 && !(strings.HasPrefix(got, "one\ntwo\nsigning in with [") && i > 0) {
				t.Errorf("%d %q: %q", limit, stop, got)
			}
		}
	}
}
