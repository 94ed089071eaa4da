package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func FuzzParseIndex(f *testing.F) {
	for _, s := range []string{
		"",
		"H 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 0\td1/f0.py\x00",
		"S 100755 3622a097f9f6f42139478f784a6d64018dbeaadb 0\ta\nb\x00h 160000 3622a097f9f6f42139478f784a6d64018dbeaadb 0\t-\x00",
		"M 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 1\ta\x00M 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 2\ta\x00",
		"H 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 0\t../x\x00",
		"H 100644 3622A097f9f6f42139478f784a6d64018dbeaadb 0\tx\x00",
		"H 040000 3622a097f9f6f42139478f784a6d64018dbeaadb 0\tx\x00",
		"H 100644 36 0\tx\x00", "H 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 0 x\x00", "H 100644", "\x00", "\t\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		idx, err := parseIndex(out, formatSHA1)
		if err != nil {
			return
		}
		for path, e := range idx.paths {
			if !validPath(path) || e.stage > 0 && idx.conflict == "" {
				t.Errorf("%q: %+v", path, e)
			}
			eachFolder(path, func(dir string) bool {
				if !idx.folders[dir] {
					t.Errorf("%q: its directory %q is missing", path, dir)
				}
				return true
			})
		}
		// What was read renders to the same bytes, the order of paths apart.
		var got []string
		for path, e := range idx.paths {
			got = append(got, fmt.Sprintf("%s %s %d\t%s", e.mode, formatSHA1.format(e.id), e.stage, path))
		}
		var want []string
		for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if record != "" {
				want = append(want, record[2:])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(got) == len(want) && !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		"", "core.autocrlf\ntrue\x00", "core.autocrlf\x00", "filter.lfs.clean\ngit-lfs clean -- %f\x00filter.lfs.required\x00",
		"filter.a.b\"\\c.process\nx\ny\x00", "filter.x\n\x00", "core.sparsecheckout\nno\x00", "\x00", "x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		c, err := parseConfig(out)
		if err != nil {
			return
		}
		var b bytes.Buffer
		c.write(&b)
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
			repo := repository{root: r.dir, format: formatSHA1}
			var err error
			repo.git, err = findGit("", r.dir)
			r.do(err)
			c, err := repo.readConfig(t.Context())
			r.do(err)
			var b bytes.Buffer
			c.write(&b)
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
