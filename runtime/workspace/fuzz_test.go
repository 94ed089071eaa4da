package workspace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		"", "core.autocrlf\ntrue\x00", "core.autocrlf\x00", "filter.lfs.clean\ngit-lfs clean -- %f\x00filter.lfs.required\x00",
		"filter.a.b\"\\c.process\nx\ny\x00", "filter.x\n\x00", "core.sparsecheckout\nno\x00", "\x00", "x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		c, err := git.ParseConfig(out)
		if err != nil {
			return
		}
		var b bytes.Buffer
		c.Write(&b)
	})
}

// TestConfigSurvives gives odd settings to git, reads them, writes them for the
// temporary repository and reads them again.
func TestConfigSurvives(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, name := range []string{"lfs", "a.b", `q"uo\te`, "sp ace", "[x]", "#;"} {
		for _, value := range []string{"", "plain", " spaces ", "two\nlines", "tab\there", `"quoted" \back`, "; # comment", "a\rb", "\x01ü\xff"} {
			r.git("config", "--replace-all", "filter."+name+".clean", value)
			repo := git.Repository{Root: r.dir, Format: git.FormatSHA1}
			var err error
			repo.Git, err = git.FindGit(r.dir)
			r.do(err)
			c, err := repo.ReadConfig(t.Context())
			r.do(err)
			var b bytes.Buffer
			c.Write(&b)
			r.write("copy", b.String())
			if got := r.git("config", "--file", "copy", "--get", "filter."+name+".clean"); got != value {
				t.Errorf("%s: %q became %q:\n%s", name, value, got, b.Bytes())
			}
		}
		r.git("config", "--unset", "filter."+name+".clean")
	}
}

func FuzzParseAttributes(f *testing.F) {
	var b strings.Builder
	for _, name := range attributeNames {
		b.WriteString("a b\x00" + name + "\x00unspecified\x00")
	}
	f.Add([]byte(b.String()))
	f.Add([]byte(b.String() + b.String()[:10]))
	f.Add([]byte("\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		_ = parseAttributes(out, make(map[string]attributes))
	})
}

// TestDigest is the formula of the package documentation, computed elsewhere.
func TestDigest(t *testing.T) {
	r := newRepo(t)
	r.write("a", "hello\n")
	r.write("b/x", "")
	got := fmt.Sprintf("%x", r.take(Options{}).Bytes)
	// Computed by another implementation (Python's hashlib and struct).
	const want = "04e40552fa2802c305f5ec7f32d387660d7a58fde822892c74d9e46a4d228408"
	if got != want {
		t.Errorf("bytes %s, want %s", got, want)
	}
}
