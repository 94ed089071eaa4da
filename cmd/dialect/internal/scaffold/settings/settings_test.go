package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
)

// plain returns a value as JSON.
func plain(v settings.Value) string {
	var of func(v settings.Value) any
	of = func(v settings.Value) any {
		switch {
		case v.Table != nil:
			m := make(map[string]any)
			for k, e := range v.Table {
				m[k] = of(e)
			}
			return m
		case v.List != nil:
			var l []any
			for _, e := range v.List {
				l = append(l, of(e))
			}
			return l
		}
		return v.Text
	}
	text, err := json.Marshal(of(v))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestYAML(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":    {"", `""`},
		"hooks":      {"# c\nrepos:\n- repo: https://x/y\n  rev: v1.0  # pinned\n  hooks:\n  - id: black\n    args: [--line-length, \"100\", 'a''b']\n  - id: mypy\n- repo: local\n  hooks: []\n", `{"repos":[{"hooks":[{"args":["--line-length","100","a'b"],"id":"black"},{"id":"mypy"}],"repo":"https://x/y","rev":"v1.0"},{"hooks":"","repo":"local"}]}`},
		"a workflow": {"name: CI\non:\n  push: {branches: [main, 'v*']}\n  pull_request:\njobs:\n  test:\n    runs-on: ${{ matrix.os }}\n    steps:\n      - uses: actions/checkout@v4\n      - name: Test\n        run: |\n          pip install -e .\n\n          pytest -q # tests\n      - run: go vet ./... && go test ./...\n", `{"jobs":{"test":{"runs-on":"${{ matrix.os }}","steps":[{"uses":"actions/checkout@v4"},{"name":"Test","run":"pip install -e .\n\npytest -q # tests"},{"run":"go vet ./... \u0026\u0026 go test ./..."}]}},"name":"CI","on":{"pull_request":"","push":{"branches":["main","v*"]}}}`},
		"tasks":      {"version: '3'\ntasks:\n  test:\n    cmds:\n      - go test ./...\n      - task: lint\n  \"lint\": golangci-lint run\n", `{"tasks":{"lint":"golangci-lint run","test":{"cmds":["go test ./...",{"task":"lint"}]}},"version":"3"}`},
		"folded":     {"run: >-\n  a\n  b\nplain: one\n  two\nquoted: \"x\n  y\"\n", `{"plain":"one two","quoted":"x y","run":"a b"}`},
		"marks":      {"a: &x\n  b: !!str 1\nc: *x\nd: [\n  e,\n  {f: g}\n]\n", `{"a":{"b":"1"},"c":"*x","d":["e",{"f":"g"}]}`},
		"documents":  {"---\na: 1\n---\nb: 2\n", `{"a":"1"}`},
		"a list":     {"- a\n-\n  b: c\n- - d\n  - e\n", `["a",{"b":"c"},["d","e"]]`},
		"a URL":      {"a: http://x#y\nb: 'it''s # no comment'\n", `{"a":"http://x#y","b":"it's # no comment"}`},
		"a tab":      {"a:\n\tb: c\nd: e\n", `{"a":"","b":"c","d":"e"}`},
	} {
		if got := plain(settings.YAML([]byte(c.text))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestINI(t *testing.T) {
	v := settings.INI([]byte("x = 1\n[tox]\nenvlist = py3,\n    lint\n# a comment\n[testenv]\ncommands =\n    pytest {posargs}\n    mypy src\n; black\n[flake8]\nmax-line-length: 100\n[empty]\n"))
	const want = `{"empty":{},"flake8":{"max-line-length":"100"},"testenv":{"commands":"pytest {posargs}\nmypy src"},"tox":{"envlist":"py3,\nlint"}}`
	if got := plain(v); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestTOML(t *testing.T) {
	v, ok := settings.TOML([]byte("# mypy\n[tool.black]\n[tool.mypy]\nfiles = ['src', \"tests\"]\nstrict = true\n[[tool.x]]\na = 'b'\n"))
	const want = `{"tool":{"black":{},"mypy":{"files":["src","tests"],"strict":"true"},"x":[{"a":"b"}]}}`
	if got := plain(v); got != want || !ok {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if _, ok := settings.TOML([]byte("[")); ok {
		t.Error("what is no TOML was read")
	}
}

func TestWalk(t *testing.T) {
	v, err := settings.JSON([]byte(`{"a": {"b": ["c", {"d": "e"}]}, "f": true}`))
	var list []string
	v.Walk(func(path []string, v settings.Value) {
		if v.Text != "" {
			list = append(list, strings.Join(path, ".")+"="+v.Text)
		}
	})
	if got := strings.Join(list, " "); got != "a.b=c a.b.d=e f=true" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLarge reads files of the largest size, of the kinds that repeat one thing. What takes steps by the square
// of the size does not end here.
func TestLarge(t *testing.T) {
	const size = 1 << 20
	for _, unit := range []string{"---\n", "a\n", " a\n", "- ", "[", "{a: ", "a: [\n", "a:\n b\n", "'", "\"\n", "- - a\n", "a: |\n\n", "#\n", "x=1\n", " x\n", "[a]\n", "a: 'b\n"} {
		text := []byte("[s]\nk =\n" + strings.Repeat(unit, size/len(unit)))
		settings.INI(text)
		settings.YAML(text)
		settings.YAML(text[8:])
		settings.YAML(append([]byte("k: "), text[8:]...))
	}
}

// FuzzYAML: whatever comes in, reading ends.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a:\n- b: [c, {d: e}]\n", "- - - a", "? a", "a: |\n  b", "a: [\n}", "a: {b: [", "'a", "- 'a': b", "[[[[", "a: &", "-  ", ": "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := settings.YAML([]byte(text))
		n := 0
		v.Walk(func([]string, settings.Value) { n++ })
		if n > 2*len(text)+2 {
			t.Errorf("%d values of %d bytes", n, len(text))
		}
	})
}
