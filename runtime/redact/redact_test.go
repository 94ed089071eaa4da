package redact

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

const github = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

func redactor() *Redactor {
	return New(Options{
		Environ:  []string{"GH_TOKEN=correct-horse-battery", "HOME=/home/me", "MY_PASSWORD=123456789012", "API_KEY=/etc/keys/api", "TOKEN=disabled", "AUTHOR=somebody-with-a-name", "DB_URL=postgres://x", "npm_config_a_setting_that_looks_like_a_token_of_npm=1"},
		Declared: []string{"s3", "quite a secret"},
		Key:      []byte("k"),
	})
}

func TestText(t *testing.T) {
	r := redactor()
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"
	pem := "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\nBBBB\n-----END OPENSSH PRIVATE KEY-----"
	for _, tt := range []struct {
		name, text string
		gone       []string
		stays      []string
	}{
		{"nothing", "ok  	example.com/median	0.003s\nPASS\n", nil, []string{"ok  	example.com/median	0.003s\nPASS\n"}},
		{"a variable", "pushing with correct-horse-battery now", []string{"horse"}, []string{"pushing with [redacted:", "] now"}},
		{"declared", "x=s3;y=quite a secret", []string{"s3", "quite"}, []string{"x=[redacted:", "];y="}},
		{"not secret", "/home/me 123456789012 /etc/keys/api disabled somebody-with-a-name", nil, []string{"/home/me 123456789012 /etc/keys/api disabled somebody-with-a-name"}},
		{"the name of a variable", "not passed on: npm_config_a_setting_that_looks_like_a_token_of_npm, A", nil, []string{"npm_config_a_setting_that_looks_like_a_token_of_npm, A"}},
		{"a longer word than a name", "xnpm_config_a_setting_that_looks_like_a_token_of_npm", []string{"npm_config"}, nil},
		{"github", "token: " + github + ".", []string{"ghp_"}, []string{"token: [redacted:", "]."}},
		{"too short to be one", "ghp_short sk-abc AKIA123 eyJ.a.b", nil, []string{"ghp_short sk-abc AKIA123 eyJ.a.b"}},
		{"aws", "AKIAIOSFODNN7EXAMPLE", []string{"AKIA"}, nil},
		{"web token", "t=" + jwt + "\n", []string{"eyJ"}, []string{"t=[redacted:", "]\n"}},
		{"bearer", "Authorization: Bearer abcdefghijklmnop1234", []string{"abcdefgh"}, []string{"Authorization: Bearer [redacted:"}},
		{"private key", "before\n" + pem + "\nafter", []string{"AAAA", "BEGIN", "END"}, []string{"before\n[redacted:", "]\nafter"}},
		{"public key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", nil, []string{"AAAA"}},
		{"url", "https://me:hunter22@example.com/x and https://example.com/a:b@c", []string{"hunter22"}, []string{"https://me:[redacted:", "]@example.com/x", "https://example.com/a:b@c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := r.Text(tt.text)
			for _, s := range tt.gone {
				if strings.Contains(got, s) {
					t.Errorf("%q still holds %q", got, s)
				}
			}
			for _, s := range tt.stays {
				if !strings.Contains(got, s) {
					t.Errorf("%q has lost %q", got, s)
				}
			}
			if again := r.Text(got); again != got {
				t.Errorf("twice gives %q, once %q", again, got)
			}
		})
	}
	if a, b := r.Text(github), r.Text("x "+github); "x "+a != b {
		t.Errorf("the same secret has the marks %q and %q", a, b)
	}
	if other := New(Options{Key: []byte("other")}); other.Text(github) == r.Text(github) {
		t.Error("the mark does not depend on the key")
	}
	var none *Redactor
	if none.Text(github) != github {
		t.Error("no Redactor redacts")
	}
}

// A text whose beginning was lost may begin with a part of a secret.
func TestTail(t *testing.T) {
	r := redactor()
	for text, want := range map[string]string{
		"horse-battery\nok\n":                                                         "ok\n",
		"AAAA\nBBBB\n-----END RSA PRIVATE KEY-----\nok\n":                             "\nok\n",
		"x\n-----BEGIN RSA PRIVATE KEY-----\nAA\n-----END RSA PRIVATE KEY-----\nok\n": "[redacted:",
		strings.Repeat("no line end", 3):                                              "no line endno line endno line end",
	} {
		if got := string(r.Tail([]byte(text))); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func stream(t testing.TB, r *Redactor, text []byte, chunk int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	for rest := text; len(rest) > 0; {
		n := min(chunk, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	replaced, err := w.Close()
	if err != nil || replaced != !bytes.Equal(out.Bytes(), text) {
		t.Fatalf("replaced %v, %v", replaced, err)
	}
	return out.Bytes()
}

// A secret that lies across the borders of what is written at once is found too.
func TestWriter(t *testing.T) {
	r := redactor()
	text := bytes.Repeat([]byte(strings.Repeat("a line of output\n", 900)+"key "+github+" end "), 12)
	want := r.Bytes(text)
	if bytes.Contains(want, []byte("ghp_")) {
		t.Fatal("it is still there")
	}
	for _, chunk := range []int{1 << 20, 64 << 10, 4093, 100} {
		if got := stream(t, r, text, chunk); !bytes.Equal(got, want) {
			t.Errorf("in chunks of %d the result is another", chunk)
		}
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("x "+github+" y"), 3)
	f.Add([]byte("-----BEGIN RSA PRIVATE KEY-----\nA\n-----END RSA PRIVATE KEY-----"), 7)
	f.Add([]byte("https://a:b@c quite a secret s3 correct-horse-battery Bearer "), 1)
	f.Fuzz(func(t *testing.T, text []byte, chunk int) {
		r := redactor()
		want := r.Bytes(text)
		if got := stream(t, r, text, max(chunk&0xffff, 1)); !bytes.Equal(got, want) {
			t.Errorf("%q as a stream is %q, whole %q", text, got, want)
		}
		for _, secret := range []string{"quite a secret", "correct-horse-battery"} {
			if bytes.Contains(want, []byte(secret)) {
				t.Errorf("%q holds %q", want, secret)
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	r := redactor()
	text := []byte(strings.Repeat("    median_test.go:13: Median([3 1 2]) = 1, want 2 at https://example.com/x\n", 4000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := r.Writer(io.Discard)
		_, _ = w.Write(text)
		_, _ = w.Close()
	}
}

// TestThrough writes all of a text, or nothing of it.
func TestThrough(t *testing.T) {
	r := New(Options{Declared: []string{"open-sesame"}, Key: []byte("k")})
	var b strings.Builder
	err := r.Through(&b, func(w io.Writer) error {
		_, err := io.WriteString(w, "say open-")
		if err == nil {
			_, err = io.WriteString(w, "sesame\n")
		}
		return err
	})
	if err != nil || strings.Contains(b.String(), "sesame") || !strings.HasPrefix(b.String(), "say ") || !strings.HasSuffix(b.String(), "\n") {
		t.Errorf("%v: %q", err, b.String())
	}
	b.Reset()
	want := errors.New("x")
	if err := r.Through(&b, func(w io.Writer) error { _, _ = io.WriteString(w, "begun"); return want }); err != want || b.Len() > 0 {
		t.Errorf("%v: %q", err, b.String())
	}
}
