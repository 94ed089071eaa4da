package diagnose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The commands of a workspace are told apart, however their lines are mixed.
func TestForks(t *testing.T) {
	const (
		start = "@m/a:test: cache bypass, force executing 7e728d4294fae812\n@m/b:test: cache hit, replaying logs 750ad6e95f38b496\n"
		red   = "a.test.js\n@m/a:test:   ● adds\n@m/b:test: Tests:       7 passed, 7 total\n@m/a:test:     Expected: 3\n@m/a:test:     Received: 2\n" +
			"@m/a:test:       at Object.toBe (test/a.test.js:3:17)\n@m/a:test: Test Suites: 1 failed, 1 total\n@m/a:test: Tests:       1 failed, 1 passed, 2 total\n"
		pnpm = "p/a test$ jest\np/b test$ jest\np/b test: Tests:       7 passed, 7 total\np/a test: Tests:       1 failed, 1 passed, 2 total\n"
	)
	for _, c := range []struct {
		name, out string
		want      Tests
		known     bool
		denied    bool
		failed    []string
	}{
		{"turbo", start + "@m/a:test: > @m/a@1.0.0 test /w/p/a\n@m/a:test: FAIL " + red, Tests{8, 1, 0}, true, true, []string{"/w/p/a/test/a.test.js adds"}},
		{"turbo, without a folder", start + "@m/a:test: FAIL " + red, Tests{8, 1, 0}, true, true, []string{"test/a.test.js adds"}},
		{"pnpm", pnpm, Tests{8, 1, 0}, true, true, nil},
		{"pnpm, a folder with a blank", strings.ReplaceAll(pnpm, "p/a", "my pkgs/a (old) c++"), Tests{8, 1, 0}, true, true, nil},
		{"pnpm, folders of which one begins as another", strings.NewReplacer("p/a", "p/a: b", "p/b", "p/a").Replace(pnpm), Tests{8, 1, 0}, true, true, nil},
		{"pnpm, a script with a blank", strings.ReplaceAll(pnpm, " test", " test unit"), Tests{8, 1, 0}, true, true, nil},
		{"pnpm, a folder in other letters", strings.ReplaceAll(pnpm, "p/a", "pakete/größe"), Tests{8, 1, 0}, true, true, nil},
		{"a price among tests", "TAP version 13\nnot ok 1 - the price in US$ is shown\nok 2 - adds\n1..2\n", Tests{1, 1, 0}, true, true, []string{"the price in US$ is shown"}},
		{"lerna, a name as of before", "a+(b)~c: > a+(b)~c@1.0.0 test\nalfa: > alfa@1.0.0 test\na+(b)~c: Tests:       7 passed, 7 total\nalfa: Tests:       1 failed, 1 passed, 2 total\n", Tests{8, 1, 0}, true, true, nil},
		{"nx, a project with a blank", "> nx run my app (old):test\n\n> nx run b:test\n\nmy app (old): Tests:       7 passed, 7 total\nb: Tests:       1 failed, 1 passed, 2 total\n", Tests{8, 1, 0}, true, true, nil},
		{"lerna", "lerna info Executing command in 2 packages: \"npm run test\"\nalfa: > alfa@1.0.0 test\nalfa: > jest\n@m/b: > @m/b@1.0.0 test /w/p/b\nalfa: Tests:       7 passed, 7 total\n@m/b: Tests:       1 failed, 1 passed, 2 total\n", Tests{8, 1, 0}, true, true, nil},
		{"nx", "> nx run a:test\n\n> nx run b:test --ci\n> nx run b:e2e\n\na: Tests:       7 passed, 7 total\nb: Tests:       1 failed, 1 passed, 2 total\n", Tests{8, 1, 0}, true, true, nil},
		{"nx, not mixed", "> nx run a:test\n\nTests:       7 passed, 7 total\n\n> nx run b:test\n\nTests:       1 failed, 1 passed, 2 total\n", Tests{8, 1, 0}, true, false, nil},
		{"a quotation", "alfa: > a quoted line\nalfa: Tests:       1 failed, 1 passed, 2 total\n", Tests{}, false, false, nil},
		{"another prefix", "c:test: Tests:       7 passed, 7 total\n", Tests{}, false, false, nil},
		{"coloured", "\x1b[35m@m/a:test: \x1b[0mcache miss, executing 7e728d4294fae812\n\x1b[35m@m/a:test: \x1b[0m\x1b[1mTests:       \x1b[22m7 passed, 7 total\n", Tests{7, 0, 0}, true, false, nil},
		{"one of them does not count", start + "@m/a:test: ok  \tm\t0.1s\n@m/b:test: Tests:       7 passed, 7 total\n", Tests{}, false, false, nil},
	} {
		var count Counter
		count.Write(0, []byte(c.out))
		got, known := count.Tests()
		_, denied := count.Denied()
		if got != c.want || known != c.known || denied != c.denied {
			t.Errorf("%s: %+v, %v, denied %v", c.name, got, known, denied)
		}
		if failed := FailedTests([]byte(c.out)); !slices.Equal(failed, c.failed) {
			t.Errorf("%s: %q", c.name, failed)
		}
	}
}

// That a command of a workspace had no tests to run says nothing where some of its lines were not looked at.
func TestForksCut(t *testing.T) {
	const start, idle = "a:test: cache miss\n", "a:test: > Task :test NO-SOURCE\n"
	for _, c := range []struct {
		between string
		ok      bool
	}{
		{strings.Repeat("x", scanned) + "\n", true},
		{strings.Repeat("x", scanned) + "\na:test: > Task :checkstyleMain\n" + strings.Repeat(strings.Repeat("x", 99)+"\n", 8*summary/100), false},
	} {
		count := Counter{spent: further}
		for l := range strings.Lines(start + c.between + idle) {
			count.Write(0, []byte(l))
		}
		if got, ok := count.Tests(); ok != c.ok || got != (Tests{}) {
			t.Errorf("%d bytes between: %+v, %v", len(c.between), got, ok)
		}
	}
}

// Commands of commands are not told apart: 256 of each of 256 would take more memory than an output may.
func TestForksInForks(t *testing.T) {
	var out strings.Builder
	for i := range maxForks {
		fmt.Fprintf(&out, "p%d:test: cache miss\n", i)
		for j := range 3 {
			fmt.Fprintf(&out, "p%d:test: q%d:test: cache miss\n", i, j)
		}
	}
	var count Counter
	count.Write(0, []byte(out.String()))
	var r Reader
	r.Write(0, []byte(out.String()))
	if len(count.forked) != maxForks || len(r.forked) != maxForks {
		t.Fatalf("%d, %d", len(count.forked), len(r.forked))
	}
	for i := range maxForks {
		if len(count.forked[i].forked)+len(r.forked[i].forked) > 0 {
			t.Fatal("a command has commands")
		}
	}
}

// What pnpm may have started takes bounded memory, and its lines count once one of them comes.
func TestForksMaybe(t *testing.T) {
	var out strings.Builder
	for i := range 20 * maxForks {
		fmt.Fprintf(&out, "my folder %d test$ jest\n", i)
	}
	for i := range 20 * maxForks {
		fmt.Fprintf(&out, "my folder %d test: Tests:       1 passed, 1 total\n", i)
	}
	var count Counter
	count.Write(0, []byte(out.String()))
	if tests, ok := count.Tests(); !ok || tests.Passed != maxForks || len(count.forked) != maxForks || len(count.forks.maybe) > maxMaybe {
		t.Errorf("%+v, %v, %d, %d", tests, ok, len(count.forked), len(count.forks.maybe))
	}
}

// The place of a failure is named from the root of the workspace, and what another command printed does not count.
func TestForksPlace(t *testing.T) {
	for name, dir := range map[string]string{"turbo.txt": "/home/dev/shop", "pnpm-recursive.txt": "/home/dev/shop"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var r Reader
		r.Write(0, text)
		f, sure := r.Failures()
		f.Locate(dir, func(path string) bool {
			return strings.HasSuffix(filepath.ToSlash(path), "shop/packages/sum/test/sum.test.js")
		}, nil)
		if got := f.First(); !sure || f.Total != 1 || got.Place() != "packages/sum/test/sum.test.js:3" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
