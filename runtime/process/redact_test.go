//go:build unix

package process

import (
	"crypto/sha256"
	"os"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/redact"
)

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
