package redact

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// signing is the shape of a key that signs a log.
const signing = "PRIVATE+KEY+boss+9e38bc93+AUPdCAfj6so5RG6lhhSbidreiZv0jJlVPI5otE42qqZ9"

const github = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

func redactor() *Redactor {
	return New(Options{
		Environ:  []string{"GH_TOKEN=correct-horse-battery", "HOME=/home/me", "MY_PASSWORD_LENGTH=123456789012", "API_KEY_FILE=/etc/keys/api", "TOKEN=disabled", "AUTHOR=somebody-with-a-name", "DB_URL=postgres://x", "npm_config_a_setting_that_looks_like_a_token_of_npm=1"},
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
		{"signing key", "key: " + signing + "\n", []string{"AUPd", "qqZ9", "9e38"}, []string{"key: [redacted:", "]\n"}},
		{"signing key in a URL", "?k=" + url.QueryEscape(signing) + "&x=1", []string{"AUPd", "qqZ9"}, []string{"?k=[redacted:", "]&x=1"}},
		{"signing key in JSON", `{"k":"` + strings.ReplaceAll(signing, "+", `\u002b`) + `"}`, []string{"AUPd", "qqZ9"}, []string{`{"k":"[redacted:`, `]"}`}},
		{"signing key in colours", strings.ReplaceAll(signing, "boss", "\x1b[1mboss\x1b[0m") + "\x1b[0m end", []string{"AUPd", "qqZ9"}, []string{"[redacted:", "]\x1b[0m end"}},
		{"no signing key", "PRIVATE+KEY+NAME+HASH+KEY PRIVATE+KEY+... PRIVATE+KEY+\x1b]0; PRIVATE", nil, []string{"PRIVATE+KEY+NAME+HASH+KEY PRIVATE+KEY+... PRIVATE+KEY+\x1b]0; PRIVATE"}},
		{"public key of a log", strings.TrimPrefix(signing, "PRIVATE+KEY+"), nil, []string{"boss+9e38bc93"}},
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

// TestValues: what only looks like a path, an address or a number is a secret, and goes; what its variable's name, or the
// disk, says to be one stays.
func TestValues(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	for _, name := range []string{"a.key", filepath.Join("keys", "api.json")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for kv, secret := range map[string]bool{
		"AWS_SECRET_ACCESS_KEY=/bPxRfiCYwJalrXUtnFEMIK7MDENGzz0123456789": true,
		"DB_PASSWORD=~/correct-horse":                                     true, "DB_PASSWORD=./correct-horse": true, "DB_PASSWORD=../correct-horse": true, "DB_PASSWORD=/correct/horse": true,
		"DB_PASSWORD=hunter2:/9xY": true, "DB_PASSWORD=a://correct-horse": true, "API_KEY=" + `C:\correct`: true,
		"SLACK_TOKEN=https://hooks.slack.com/services/T0000AAAA/B0000BBBB/XyZ123secretsecret":     true,
		"SLACK_TOKEN_URL=https://hooks.slack.com/services/T0000AAAA/B0000BBBB/XyZ123secretsecret": true,
		"TOKEN_URL=https://me:hunter2@example.com/":                                               true,
		"X-Api-Key=0a1b2c3d4e5f": true, "Authorization=Bearer 0a1b2c3d": true,
		"PIN_PASSWORD=83920174655": true, "TOKEN_2=12345678": true, "API_KEY=00112233445566778899": true,
		"SECRET=/" + strings.Repeat("a", 5000): true, "SECRET=/a\x00bcdefgh": true,

		"SSH_AUTH_SOCK=/run/user/0/ssh.sock": false, "GIT_ASKPASS=/usr/bin/askpass-of-git": false, "KUBECONFIG=/home/me/.kube/config": false,
		"GOOGLE_APPLICATION_CREDENTIALS=" + filepath.Join(dir, "keys", "api.json"): false, "TLS_KEY=~/a.key": false, "TLS_KEY=./keys/api.json": false,
		"TOKEN_FILE=/run/secrets/token": false, "TOKENFILE=~/.token-of-mine": false, "CREDENTIALS_DIRECTORY=/run/credentials/x": false, "TOKEN_PATH=../token/of/mine": false,
		"TOKEN_FILE=keys/api.json": false, "SECRETS_PATH=/a/secret:/another": false, "TOKEN_SOCKET=unix:///run/token.sock": false, "SECRET_HOME=/nowhere/at/all": false,
		"TOKEN_URL=https://example.com/oauth2/v2.0/token": false, "AWS_CREDENTIALS_URI=http://169.254.170.2/v2/credentials/0a1b2c3d-aaaa-bbbb-cccc-0123456789ab": false,
		"TOKEN_TTL=8640000000": false, "MAX_TOKENS=1000000000": false, "OPENAI_TOKENS_PER_MINUTE=10000000": false, "TOKEN_EXPIRES_AT=1732352063": false, "PASSWORD_PORT=123456789": false,
		"TOKEN=disabled": false, "TOKEN=1": false, "SECRETS=true": false, "TOKEN=1234567": false, "USE_TOKEN=Required": false,
	} {
		name, value, _ := strings.Cut(kv, "=")
		text := "with " + value + " it ends"
		if got := New(Options{Environ: []string{kv}, Key: []byte("k")}).Text(text); (got != text) != secret || secret && strings.Contains(got, value) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A text whose beginning was lost may begin with a part of a secret.
func TestTail(t *testing.T) {
	r := redactor()
	for text, want := range map[string]string{
		"horse-battery\nok\n":                                                         "ok\n",
		"AAAA\nBBBB\n-----END RSA PRIVATE KEY-----\nok\n":                             "\nok\n",
		"x\n-----BEGIN RSA PRIVATE KEY-----\nAA\n-----END RSA PRIVATE KEY-----\nok\n": "[redacted:",
		strings.Repeat("no line end", 3):                                              "",
	} {
		if got := string(r.Tail([]byte(text))); !strings.HasPrefix(got, want) || want == "" && got != "" {
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
	f.Add([]byte("x "+signing+" PRIVATE%2BKEY\\u002b\x1b]PRIVATE+KEY+y"), 3)
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

// BenchmarkPass has lines that are read while they come.
func BenchmarkPass(b *testing.B) {
	for name, r := range map[string]*Redactor{"one line": redactor(), "several": New(Options{Declared: []string{"some lines\nof a & secret\nin the matrix"}})} {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat("    median_test.go:13: Median([3 1 2]) = 1, want 2 at https://example.com/x\n", 4))
			b.SetBytes(int64(len(text)))
			w := r.Writer(io.Discard)
			for b.Loop() {
				_, _ = w.Write(text)
				_ = w.Pass()
			}
		})
	}
}

// TestThrough writes all of a text, or nothing of it.
func TestThrough(t *testing.T) {
	r := New(Options{Declared: []string{"open-sesame"}, Key: []byte("k")})
	var b strings.Builder
	err := r.Through(&b, Text, func(w io.Writer) error {
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
	if err := r.Through(&b, Text, func(w io.Writer) error { _, _ = io.WriteString(w, "begun"); return want }); err != want || b.Len() > 0 {
		t.Errorf("%v: %q", err, b.String())
	}
}

func TestMarked(t *testing.T) {
	r := New(Options{Declared: []string{"hunter2hunter2"}})
	for text, want := range map[string]bool{
		r.Text("a hunter2hunter2 b"): true, "[redacted:[redacted:01234567]": true,
		"": false, "[redacted:": false, "[redacted:0123456]": false, "[redacted:0123456x]": false, "[redacted:01234567": false,
	} {
		if got := Marked(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestDeclaredLine: who prints a declared secret ends the line himself, however short it is.
func TestDeclaredLine(t *testing.T) {
	r := New(Options{Declared: []string{"hunt2\n"}, Environ: []string{"PIN_TOKEN=ab12\n\n\n\n"}})
	if got := r.Text("a hunt2 b ab12"); strings.Contains(got, "hunt2") || !strings.Contains(got, "ab12") {
		t.Error(got)
	}
}
