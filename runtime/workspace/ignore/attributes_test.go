package ignore

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttributes compares what attributes files say with git's own answer.
func TestAttributes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, kv := range []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1"} {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	names := []string{"text", "crlf", "eol", "filter", "ident", "working-tree-encoding", "m"}
	paths := []string{"a", "a.txt", "b c", "d/a", "d/a.txt", "d/e/a.txt", "d/e/x\ty", "m", "[attr]", "é", `q"r`}
	patterns := []string{"*", "a", "*.txt", "/a.txt", "d/*", "d/**", "**/a.txt", "e/", "d", `"b c"`, `"x\ty"`, `"\303\251"`, `"a`, `"q\"r"`, "[a-d]*", "!a", `\a`, "#a", "[attr]", "[attr]m", "[attr]binary", "[attr]-x",
		"a**", "**", "?", "é", "/", "d/e", "a.txt/", "*/a.txt", `"d/e/a.txt"text`, `"\400"`}
	states := []string{"text", "-text", "!text", "text=auto", "eol=crlf", "eol=lf", "-eol", "crlf", "-crlf", "crlf=input", "filter=lfs", "-filter", "ident", "!ident", "working-tree-encoding=UTF-16", "binary", "-binary", "!binary", "m", "-m", "m=1",
		"-text=x", "text=", "=x", "-", "!", "--text", "a@b", "text=a=b", "diff"}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	for range 250 {
		files := make(map[string][]byte)
		for _, in := range []string{"", "d/", "d/e/"} {
			var b bytes.Buffer
			for range r.IntN(6) {
				b.WriteString(pick([]string{"", "", "", " ", "\t"}) + pick(patterns))
				for range r.IntN(4) {
					b.WriteString(pick([]string{" ", "\t", "  "}) + pick(states))
				}
				b.WriteString(pick([]string{"\n", "\n", "\r\n", " \n", "\n\n"}))
			}
			files[in+".gitattributes"] = b.Bytes()
		}
		for name, content := range files {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", append([]string{"check-attr", "-z", "--stdin"}, names...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(paths, "\x00"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Split(string(out), "\x00")
		a, budget := ParseAttributes(files), NewBudget(t.Context())
		for i := 0; i+2 < len(said); i += 3 {
			got, err := a.Of(budget, said[i])
			if err != nil {
				t.Fatal(err)
			}
			value, ok := got[said[i+1]]
			if !ok {
				value = Unspecified
			}
			if value != said[i+2] {
				t.Fatalf("%s of %q is %q, and git says %q\n%q", said[i+1], said[i], value, said[i+2], files)
			}
		}
	}
}

func FuzzAttributes(f *testing.F) {
	f.Add([]byte("[attr]m text\n*.txt m eol=crlf\n\"a\\tb\" -m"), "d/a.txt")
	f.Fuzz(func(t *testing.T, content []byte, file string) {
		if strings.ContainsAny(file, "\x00") || file == "" || file[0] == '/' {
			return
		}
		a := ParseAttributes(map[string][]byte{".gitattributes": content, "d/.gitattributes": content})
		if _, err := a.Of(NewBudget(t.Context()), file); err != nil {
			t.Error(err)
		}
	})
}
