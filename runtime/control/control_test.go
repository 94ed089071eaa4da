package control

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
)

// tools are those of the packs.
func tools(t testing.TB) (list []Tool) {
	t.Helper()
	for _, b := range (&routing.Matrix{}).Controls() {
		list = append(list, Tool{b.Verb, append([]string{b.Noun}, b.Aliases...), b.Control})
	}
	if len(list) < 20 {
		t.Fatalf("%d tools", len(list))
	}
	return list
}

// of returns the control of a pack.
func of(t testing.TB, verb, noun string) plan.Control {
	t.Helper()
	for _, x := range tools(t) {
		if x.Verb == verb && slices.Contains(x.Nouns, noun) {
			return x.Control
		}
	}
	t.Fatalf("no control for %s %s", verb, noun)
	return plan.Control{}
}

// files are those of a map.
func files(m map[string]string) Files {
	f := Files{Roots: []string{"/home/u/shop"}, Read: func(path string) ([]byte, error) {
		if text, ok := m[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}
	for name := range m {
		f.List = append(f.List, name)
	}
	slices.Sort(f.List)
	return f
}

func step(argv ...string) *plan.Step {
	return &plan.Step{ID: "1", Dir: "/home/u/shop", Argv: argv, Verb: "check", Noun: "thing"}
}

// Each text of a pack breaks a file of its kind at the right place.
func TestPacks(t *testing.T) {
	for _, c := range []struct{ verb, noun, file, content, want string }{
		{"test", "go", "a_test.go", "package a\n\nfunc TestMain(m *testing.M) {}\n\nfunc TestA(tt *testing.T) {\n\tx()\n}\n", "package a\n\nfunc TestMain(m *testing.M) {}\n\nfunc TestA(tt *testing.T) { if true { tt.Fatal(\"dialect control N\") };\n\tx()\n}\n"},
		{"test", "pytest", "tests/test_a.py", "class A:\n    async def test_a(\n        self, x=(1, 2)\n    ) -> None:  # why\n\n        \"\"\"Doc.\"\"\"\n", "class A:\n    async def test_a(\n        self, x=(1, 2)\n    ) -> None:  # why\n\n        assert False, 'dialect control N'\n        \"\"\"Doc.\"\"\"\n"},
		{"test", "unittest", "test_a.py", "def helper(): pass\ndef test_a(self):\n\tpass\n", "def helper(): pass\ndef test_a(self):\n\tassert False, 'dialect control N'\n\tpass\n"},
		{"test", "jest", "a.test.ts", "it(\"adds\", async () => {\n})\n", "it(\"adds\", async () => { if (Date.now() > 0) throw new Error('dialect control N');\n})\n"},
		{"test", "vitest", "src/a.spec.js", "test(`adds`, function adds(done) {})\n", "test(`adds`, function adds(done) { if (Date.now() > 0) throw new Error('dialect control N');})\n"},
		{"test", "node", "test/a.mjs", "test('adds', t => {})\n", "test('adds', t => { if (Date.now() > 0) throw new Error('dialect control N');})\n"},
		{"test", "cargo", "src/lib.rs", "#[test]\n#[ignore]\nfn adds() -> Result<(), E> {\n}\n", "#[test]\n#[ignore]\nfn adds() -> Result<(), E> { if std::env::args().count() > 0 { panic!(\"dialect control N\") }\n}\n"},
		{"test", "bats", "test/a.bats", "@test 'adds' {\n  true\n}\n", "@test 'adds' {\n  echo 'dialect control N'; return 1\n\n  true\n}\n"},
		{"check", "ruff", "a.py", "x = 1", "x = 1\nimport dialect_control_N\ndialect_undefined_N\n"},
		{"format", "gofmt", "a.go", "package a\n", "package a\nvar   dialect_control_N   = 0\n"},
	} {
		trial := New(step("x"), of(t, c.verb, c.noun), nil, files(map[string]string{c.file: c.content}), "N")
		edits := trial.Next()
		if len(edits) != 1 || edits[0].Path != c.file {
			t.Errorf("%s %s: %d edits", c.verb, c.noun, len(edits))
			continue
		}
		if got := strings.ReplaceAll(string(edits[0].Content), trial.now[0].nonce, "N"); got != c.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.verb, c.noun, got, c.want)
		}
		if c.verb == "test" && trial.now[0].Test == "" {
			t.Errorf("%s %s: no name of a test", c.verb, c.noun)
		}
	}
}

// The expressions of the packs are checked here, and not at each start.
func TestExpressions(t *testing.T) {
	for _, x := range tools(t) {
		for _, text := range []string{x.Control.After, x.Control.Unlike} {
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s %s: %v", x.Verb, x.Nouns, err)
			}
		}
		if len(x.Control.Tools) == 0 || !strings.Contains(x.Control.Text, "{nonce}") {
			t.Errorf("%s %s: neither words of a command nor a nonce", x.Verb, x.Nouns)
		}
	}
}

// A line has the control of its binding, of its verb and noun, of its command, or of what that runs.
func TestFind(t *testing.T) {
	project := files(map[string]string{
		"Makefile":     "lint:\n\tflake8\n\ntest: build\n\tpytest -q; exit 0\n",
		"package.json": `{"scripts": {"test": "jest --ci", "lint": "eslint . && tsc -p ."}}`,
		"check.sh":     "#!/bin/sh\nshellcheck *.sh\n",
		"tox.ini":      "[testenv]\ncommands = mypy .\n",
	})
	own := plan.Control{Files: []string{"x"}, Text: "y"}
	for _, c := range []struct {
		step *plan.Step
		want []string // one of the words of the tool
	}{
		{&plan.Step{Argv: []string{"true"}, Verb: "test", Noun: "pytest"}, []string{"pytest"}},
		{&plan.Step{Argv: []string{"true"}, Verb: "test", Noun: "gotest"}, []string{"go test"}},
		{step("python3", "-m", "ruff", "--quiet", "format", "--check", "."), []string{"ruff format"}},
		{step("ruff", "check"), []string{"ruff check"}},
		{step("uv", "run", "--frozen", "mypy", "src"), []string{"mypy"}},
		{step("node_modules/.bin/tsc", "--noEmit"), []string{"tsc"}},
		{step("node", "node_modules/jest/bin/jest.js"), []string{"jest"}},
		{step("node", "--enable-source-maps", "--test", "test/"), []string{"node --test"}},
		{step("cargo", "+nightly", "clippy"), []string{"cargo clippy"}},
		{step("cargo", "test"), []string{"cargo test"}},
		{step("go", "-C", "x", "vet"), nil}, // a word between
		{step("sh", "-c", "pytest -q || true", "sh"), []string{"pytest"}},
		{step("make", "test"), []string{"pytest"}},
		{step("make"), []string{"flake8", "pytest"}},
		{step("npm", "test", "--silent"), []string{"jest"}},
		{step("npm", "run", "lint"), []string{"eslint", "tsc"}},
		{step("sh", "check.sh"), []string{"shellcheck"}},
		{step("./check.sh"), []string{"shellcheck"}},
		{step("tox"), []string{"mypy"}},
		{step("true"), nil},
		{step("echo", "contest"), nil},
	} {
		got, ok := Find(c.step, tools(t), project, "nonce")
		if ok != (c.want != nil) || ok && !slices.ContainsFunc(c.want, func(w string) bool { return slices.Contains(got.Tools, w) }) {
			t.Errorf("%q: %q, want %q", c.step.Argv, got.Tools, c.want)
		}
	}
	s := step("pytest")
	s.Control = own
	if got, ok := Find(s, tools(t), project, "nonce"); !ok || got.Text != "y" {
		t.Errorf("its own: %+v", got)
	}
}

// What the passing run named goes first, and what tools leave out last.
func TestPreference(t *testing.T) {
	text := "func TestOne(t *testing.T) {\n}\n"
	m := map[string]string{
		"a/a_test.go": text, "b/b_test.go": strings.Replace(text, "One", "Two", 1), "vendor/v_test.go": text, "a/testdata/x_test.go": text, ".hidden/h_test.go": text,
	}
	for _, c := range []struct {
		argv   []string
		output string
		want   []string
	}{
		{[]string{"go", "test", "./..."}, "ok  \texample.com/m/b\t0.1s\n", []string{"b/b_test.go"}},
		{[]string{"go", "test", "./a/..."}, "", []string{"a/a_test.go"}},
		{[]string{"go", "test", "-v"}, "--- PASS: TestTwo (0.00s)\n", []string{"b/b_test.go"}},
		{[]string{"go", "test"}, "", []string{"a/a_test.go", "b/b_test.go"}},
	} {
		for i := range 20 {
			trial := New(step(c.argv...), of(t, "test", "go"), []byte(c.output), files(m), fmt.Sprint("nonce", i))
			if e := trial.Next(); len(e) != 1 || !slices.Contains(c.want, e[0].Path) {
				t.Errorf("%q %q: %q", c.argv, c.output, e[0].Path)
			}
		}
	}
	seen := make(map[string]bool)
	for i := range 40 {
		seen[New(step("go", "test"), of(t, "test", "go"), nil, files(m), fmt.Sprint("n", i)).Next()[0].Path] = true
	}
	if len(seen) != 2 {
		t.Errorf("the nonce chose %v", seen)
	}
}

// A place of the project alone is broken where the matrix is in a directory of the working tree, and a file that is not
// there is made.
func TestPlace(t *testing.T) {
	f := files(map[string]string{"web/a.go": "package a\n", "b.go": "package b\n"})
	f.Place = "web"
	s := step("gofmt")
	s.Dir = "/home/u/shop/web"
	trial := New(s, of(t, "format", "gofmt"), nil, f, "n")
	if e := trial.Next(); len(e) != 1 || e[0].Path != "web/a.go" {
		t.Errorf("%+v", e)
	}
	if j := trial.Judge(Ending{Refused: true, Output: []byte("a.go\n")}); j.Outcome != Noticed {
		t.Errorf("%+v", j)
	}
	if trial = New(s, of(t, "check", "mypy"), nil, f, "n"); !trial.Empty() || trial.Next() != nil {
		t.Error("there is something to break")
	}
	trial = New(s, plan.Control{Files: []string{"new.txt"}, Text: "bad {nonce}"}, nil, f, "n")
	if e := trial.Next(); len(e) != 1 || e[0].Path != "web/new.txt" || string(e[0].Content) != "bad n\n" {
		t.Errorf("%+v", e)
	}
}
