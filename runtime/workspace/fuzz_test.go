package workspace

import (
	"bytes"
	"fmt"
	"reflect"
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

// FuzzIgnore looks for panics, and for work without end.
func FuzzIgnore(f *testing.F) {
	for _, p := range []string{
		"*.log", "/build/", "!keep", "**/x", "a/**/b", "a**/b", "[", "[]", "[!]", "[a-", "[[:alpha:]]", "[[:x:]]", "[[:", "[\\", "\\", "*\\", "a\\ ", "  ", "#", "!", "/", "//",
		strings.Repeat("*a", 40) + "b", strings.Repeat("**/a/", 30),
	} {
		f.Add([]byte(p), "a/a/a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac")
	}
	f.Fuzz(func(t *testing.T, content []byte, path string) {
		if strings.Contains(path, "\x00") || !validPath(path) {
			return
		}
		list := parseIgnore(content)
		if again := parseIgnore(append(slices.Clone(content), '\n')); !reflect.DeepEqual(list, again) && !bytes.HasSuffix(content, []byte{'\r'}) {
			t.Errorf("%q: a newline at the end makes %v of %v", content, again, list)
		}
		file := &ignoreFile{patterns: list}
		file.hides(path, path[strings.LastIndexByte(path, '/')+1:], true)
	})
}

func TestWildmatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		pathname      bool
		want          bool
	}{
		{"", "", true, true}, {"*", "", true, true}, {"*", "foo/bar", true, false}, {"*", "foo/bar", false, true},
		{"**", "foo/bar", true, true}, {"**/bar", "bar", true, true}, {"foo/**/bar", "foo/bar", true, true}, {"foo/**/bar", "foo/a/b/bar", true, true},
		{"foo**bar", "foo/baz/bar", true, false}, {"foo/**", "foo", true, false}, {"foo/**", "foo/", true, true}, {"*/*/*", "a/b/c", true, true}, {"*/*/*", "a/b", true, false},
		{"?", "/", true, false}, {"[/]", "/", true, false}, {"[/]", "/", false, true}, {"[a-c]x", "bx", true, true}, {"[!a-c]x", "bx", true, false}, {"[^a]", "b", true, true},
		{"[]]", "]", true, true}, {"[]-a]", "^", true, true}, {"[!]a-]", "-", true, false}, {"[a", "a", true, false}, {"[[:digit:][:upper:]]", "Z", true, true}, {"[[:nope:]]", "n", true, false},
		{"[[:]ab]", ":ab]", true, true}, {"[[:]", "[", true, true}, {"\\*", "*", true, true}, {"\\", "\\", true, false}, {"a\\", "a\\", true, false}, {"[\\\\-^]", "]", true, true}, {"[--A]", "5", true, true},
		{"-*-*-*-*-*-*-12-*-*-*-m-*-*-*", "-adobe-courier-bold-o-normal--12-120-75-75-m-70-iso8859-1", true, true},
		{"**/*a*b*g*n*t", "abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txt", true, true},
		{strings.Repeat("*a", 60) + "b", strings.Repeat("a", 3000), false, false},
		{strings.Repeat("**/a/", 40) + "b", strings.Repeat("a/", 1500), true, false},
	} {
		if got, ok := wildmatch(c.pattern, c.name, c.pathname); got != c.want || !ok {
			t.Errorf("wildmatch(%q, %q, %v) = %v, %v", c.pattern, c.name, c.pathname, got, ok)
		}
	}
}

// TestWildmatchIsPolynomial counts the steps: never more than the pattern is long times the name is.
func TestWildmatchIsPolynomial(t *testing.T) {
	for _, unit := range []string{"*a", "*", "**/", "**/a/", "*/", "**/*", "**/*a", "a**/", "?*", "[a]*", "*[!b]", "**/?/", "\\a*", "**/**/a/*"} {
		for _, n := range []int{1, 10, 30, 60} {
			for _, name := range []string{strings.Repeat("a", 400), strings.Repeat("a/", 200), strings.Repeat("ab/a/", 80)} {
				for _, pathname := range []bool{false, true} {
					for _, end := range []string{"b", "", "/b", "*b", "**/b", "[", "a*"} {
						p := strings.Repeat(unit, n) + end
						m := matcher{pathname: pathname}
						m.dowild(p, 0, name, 0)
						if most := wildPlain + 2*(len(p)+1)*(len(name)+1); m.steps > most {
							t.Errorf("%q, %d times, then %q, and %.10q...: %d steps, want at most %d", unit, n, end, name, m.steps, most)
						}
					}
				}
			}
		}
	}
	list := parseIgnore([]byte("*\n!" + strings.Repeat("**/a*/", 5000) + "b\n"))
	path := strings.Repeat("a/", 2000) + "x"
	if (&ignoreFile{patterns: list}).hides(path, "x", false) {
		t.Error("a file is hidden, though it takes too long to find out")
	}
}

// FuzzWildmatch holds answers that are kept to answers that are found each time.
func FuzzWildmatch(f *testing.F) {
	f.Add([]byte("\x04\x04\x05\x00\x05\x04\x01"), []byte("\x00\x05\x00\x05\x01"))
	f.Add([]byte("\x04\x04\x05\x04\x00\x04\x04\x05\x01"), []byte("\x00\x00\x05\x00\x05\x01\x01"))
	f.Fuzz(func(t *testing.T, pattern, name []byte) {
		if len(pattern) > 16 || len(name) > 24 {
			return
		}
		spell := func(of string, text []byte) string {
			var b strings.Builder
			for _, c := range text {
				b.WriteByte(of[int(c)%len(of)])
			}
			return b.String()
		}
		p, n := spell("ab?[*/]\\!*/*", pattern), spell("ab/a/", name)
		for _, pathname := range []bool{false, true} {
			kept, plain := matcher{pathname: pathname, plain: -wildPlain}, matcher{pathname: pathname, plain: wildSteps}
			if got, want := kept.dowild(p, 0, n, 0), plain.dowild(p, 0, n, 0); got != want && plain.steps <= wildSteps {
				t.Fatalf("%q and %q, pathname %v: %d, want %d", p, n, pathname, got, want)
			}
		}
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
