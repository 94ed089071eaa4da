package ignore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzIgnore looks for panics, and for work without end.
func FuzzIgnore(f *testing.F) {
	for _, p := range []string{
		"*.log", "/build/", "!keep", "**/x", "a/**/b", "a**/b", "[", "[]", "[!]", "[a-", "[[:alpha:]]", "[[:x:]]", "[[:", "[\\", "\\", "*\\", "a\\ ", "  ", "#", "!", "/", "//",
		strings.Repeat("*a", 40) + "b", strings.Repeat("**/a/", 30),
	} {
		f.Add([]byte(p), "a/a/a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac")
	}
	f.Fuzz(func(t *testing.T, content []byte, path string) {
		if strings.Contains(path, "\x00") || filepath.Clean(path) != path {
			return
		}
		file := (*File)(nil).Under("", content)
		if again := (*File)(nil).Under("", append(slices.Clone(content), '\n')); !reflect.DeepEqual(file, again) && !bytes.HasSuffix(content, []byte{'\r'}) {
			t.Errorf("%q: a newline at the end makes %v of %v", content, again, file)
		}
		_, _ = file.Hides(NewBudget(t.Context()), path, path[strings.LastIndexByte(path, '/')+1:], true)
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
		if got, steps := wildmatch(c.pattern, c.name, c.pathname); got != c.want || steps > wildSteps {
			t.Errorf("wildmatch(%q, %q, %v) = %v, %d steps", c.pattern, c.name, c.pathname, got, steps)
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
	file := (*File)(nil).Under("", []byte("*\n!"+strings.Repeat("**/a*/", 5000)+"b\n"))
	path := strings.Repeat("a/", 2000) + "x"
	if hidden, err := file.Hides(NewBudget(t.Context()), path, "x", false); hidden || err != nil {
		t.Errorf("hidden %v, %v, though it takes too long to find out", hidden, err)
	}
}

// TestBudget matches one name against files of many patterns, each far below the limit of one pattern: the budget of
// the snapshot and its context end that, and the error names the ignore file.
func TestBudget(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, line := range []string{
		strings.Repeat("*a", 60) + "*b*c", strings.Repeat("[a]*", 60) + "b*c", "?*z", "?*[" + strings.Repeat("b", 1000) + "]",
		"?" + strings.Repeat("*a", 30) + strings.Repeat("*", 1000) + "b", "b",
	} {
		file := (*File)(nil).Under("d/", []byte(strings.Repeat(line+"\n", 8<<20/(len(line)+1))))
		for _, end := range []string{"steps", "time"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			b := NewBudget(ctx)
			b.left.Store(1 << 21)
			if end == "time" {
				b.left.Store(1 << 62)
				cancel(nil)
			}
			start := time.Now()
			hidden, err := file.Hides(b, "d/"+long, long, false)
			var named *Error
			if hidden || !errors.As(err, &named) || named.Dir != "d/" || errors.Is(err, context.Canceled) != (end == "time") {
				t.Errorf("%.20q, no %s left: hidden %v, %v", line, end, hidden, err)
			}
			if took := time.Since(start); took > time.Minute { // what is exponential takes years
				t.Errorf("%.20q, no %s left: ended after %v", line, end, took)
			}
			cancel(nil)
		}
	}
}

// TestManyPatterns matches a name against many patterns that begin otherwise: each costs one step.
func TestManyPatterns(t *testing.T) {
	var text strings.Builder
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&text, "p%d*q*r\n", i)
	}
	file := (*File)(nil).Under("", []byte(text.String()))
	for name, want := range map[string]bool{"p99qq": false, "p99qqr": true, "other": false} {
		b := NewBudget(t.Context())
		hidden, err := file.Hides(b, name, name, false)
		if took := steps - b.left.Load(); err != nil || hidden != want || took > 2*n {
			t.Errorf("%s: %v, %v, after %d steps", name, hidden, err, took)
		}
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
