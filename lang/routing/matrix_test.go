package routing_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/stdlib"
)

// load loads a matrix from text and fails on any finding.
func load(t testing.TB, text string) *routing.Matrix {
	t.Helper()
	m, list := loadArchive(txtar.Parse([]byte("-- routing.toml --\n" + text)))
	if len(list) > 0 {
		t.Fatalf("%s", render(m, list))
	}
	return m
}

func TestSeedLoadsAsItStands(t *testing.T) {
	m, list := routing.Load("testdata/seed.toml", "seed.toml", routing.Options{})
	if len(list) > 0 {
		t.Fatalf("%s", render(m, list))
	}
	if got, want := len(m.Bindings), 14; got != want { // 13 of its own, and the gate
		t.Errorf("%d bindings, want %d", got, want)
	}
	for _, line := range []struct{ verb, noun, name string }{
		{"Sync", "remote", "sync_remote"}, {"FORMAT", "Ruff", "format_ruff"}, {"gate", "results", "gate_results"},
		{"validate", "receipt", "validate_receipt"}, {"gate", "quality", "gate_quality"},
	} {
		if b := m.Lookup(line.verb, line.noun); b == nil || b.Name != line.name {
			t.Errorf("%s %s is bound to %v, want %s", line.verb, line.noun, b, line.name)
		}
	}
	if b := m.ByName("validate_receipt"); b.Kind != plan.Process || b.Pack {
		t.Errorf("the project does not override the pack: %+v", b)
	}
	checkOnlyWarns(t, m)
}

func TestAuthorMatrix(t *testing.T) {
	path := os.Getenv("DIALECT_AUTHOR_MATRIX")
	if path == "" {
		t.Skip("DIALECT_AUTHOR_MATRIX names no file")
	}
	m, list := routing.Load(path, "author.toml", routing.Options{})
	if len(list) > 0 {
		t.Fatalf("%s", render(m, list))
	}
	if b := m.Lookup("land", "plane"); b == nil || b.Kind != plan.Composite || b.Parallel || b.Effect != plan.Write {
		t.Errorf("land plane: %+v", b)
	} else if got := b.Usage(); got != "Land plane {id}" {
		t.Errorf("usage of land plane: %q", got)
	}
	checkOnlyWarns(t, m)
}

func checkOnlyWarns(t *testing.T, m *routing.Matrix) {
	t.Helper()
	for _, d := range lint.Check(m, lint.Options{LookPath: programs}) {
		if d.Severity == diag.Error {
			t.Errorf("%s", render(m, diag.List{d}))
		}
	}
}

func TestPacks(t *testing.T) {
	for _, name := range stdlib.Packs() {
		m := load(t, fmt.Sprintf("extends = [%q]\n", name))
		for _, b := range m.Bindings {
			if !b.Pack || !strings.HasPrefix(b.Source.Name, "pack:") {
				t.Errorf("%s: %q is of %s", name, b.Name, b.Source.Name)
			}
			// Packs are not warned of: hold them to the same all the same.
			if b.Template != nil {
				if why := b.Template.CannotFail(b.Expect); why != "" {
					t.Errorf("%s: %q cannot fail: %s", name, b.Name, why)
				}
				if len(b.Template.Marks()) > 0 {
					t.Errorf("%s: %q holds shell text", name, b.Name)
				}
			}
		}
	}
}

func TestVocabulary(t *testing.T) {
	v := routing.StandardVocabulary()
	if len(v.Verbs) != 12 || len(v.Nouns) != 12 {
		t.Errorf("%d verbs, %d nouns; want 12 and 12", len(v.Verbs), len(v.Nouns))
	}
	for _, verb := range v.Verbs {
		if verb.Effect != plan.Read && verb.Effect != plan.Write || verb.Family == "" || verb.Weight != "high" && verb.Weight != "medium" {
			t.Errorf("verb %+v", verb)
		}
		if verb.Preposition != "" && !lang.IsPreposition(verb.Preposition) {
			t.Errorf("%s: %q is not a preposition", verb.Name, verb.Preposition)
		}
	}
	var words []string
	for _, p := range v.Prepositions {
		words = append(words, p.Name)
		if p.Meaning == "" {
			t.Errorf("preposition %s has no meaning", p.Name)
		}
	}
	if !slices.Equal(words, lang.Prepositions[:]) {
		t.Errorf("prepositions of the vocabulary:\n got %q\nwant %q", words, lang.Prepositions)
	}
}

// TestKeysAreTyped has each key with a value of a type that none takes.
func TestKeysAreTyped(t *testing.T) {
	for _, place := range routing.Places() {
		text := "[" + strings.ReplaceAll(place.Path(), "NAME", "a") + "]\n"
		if place == routing.InFile {
			text = "\n"
		}
		keys := routing.KeysIn(place)
		if len(keys) == 0 {
			t.Errorf("%s has no keys", place.Path())
		}
		for _, key := range keys {
			text += key.Name + " = 1.5\n"
		}
		_, list := loadArchive(txtar.Parse([]byte("-- routing.toml --\n" + text)))
		complained := make(map[int]bool)
		for _, d := range list {
			complained[d.Span.Start.Line] = true
			if d.Code == diag.UnknownKey {
				t.Errorf("%s: %s", place.Path(), d)
			}
		}
		for i, key := range keys {
			// A composite is what runs, so tool and what goes with it are not read.
			if !complained[i+2] && key.Name != "tool" && key.Name != "arguments" {
				t.Errorf("%s.%s = 1.5 is accepted", place.Path(), key.Name)
			}
		}
	}
}

func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		text string
		want plan.Effect
	}{
		{`verb = "check"` + "\n" + `tool = "x"`, plan.Read},
		{`verb = "format"` + "\n" + `tool = "x"`, plan.Write},
		{`verb = "format"` + "\n" + `tool = "x --check ."`, plan.Write},
		{`verb = "format"` + "\n" + `tool = "gofmt -l ."`, plan.Read},
		{`verb = "deploy"` + "\n" + `tool = "x"`, plan.Write},
		{`verb = "deploy"` + "\n" + `tool = "x --dry-run"`, plan.Write},
		{`verb = "deploy"` + "\n" + `tool = "x"` + "\n" + `effect = "read"`, plan.Read},
		{`verb = "check"` + "\n" + `tool = "x"` + "\n" + `effect = "write"`, plan.Write},
		{`verb = "deploy"` + "\n" + `tool = "builtin:validate {args...}"`, plan.Read},
		{`verb = "retrieve"` + "\n" + `tool = "mcp:a:b"`, plan.Read},
		{`verb = "spawn"` + "\n" + `tool = "new_task"`, plan.Write},
		{`verb = "close"` + "\n" + `tool = "x --check $1"` + "\n" + `shell = true`, plan.Write},
	} {
		m := load(t, "[commands.a]\nnoun = \"a\"\n"+tt.text+"\n")
		if got := m.ByName("a").Effect; got != tt.want {
			t.Errorf("%s\ngot %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestCompositeOrder(t *testing.T) {
	m := load(t, `
[commands.read]
verb = "check"
noun = "a"
tool = "x"
[commands.write]
verb = "sync"
noun = "a"
tool = "x"
[commands.reads]
verb = "gate"
noun = "reads"
composite = ["read"]
[commands.writes]
verb = "gate"
noun = "writes"
composite = ["reads", "write"]
[commands.nested]
verb = "gate"
noun = "nested"
composite = ["read", "writes"]
[commands.declared]
verb = "gate"
noun = "declared"
composite = ["read"]
effect = "write"
[commands.serial]
verb = "gate"
noun = "serial"
composite = ["read"]
order = "sequence"
[commands.racing]
verb = "gate"
noun = "racing"
composite = ["read", "write"]
order = "parallel"
`)
	for name, want := range map[string]struct {
		effect   plan.Effect
		parallel bool
	}{
		"reads": {plan.Read, true}, "writes": {plan.Write, false}, "nested": {plan.Write, false},
		"declared": {plan.Write, false}, "serial": {plan.Read, false}, "racing": {plan.Write, true},
	} {
		if b := m.ByName(name); b.Effect != want.effect || b.Parallel != want.parallel {
			t.Errorf("%s: %s, parallel %v; want %+v", name, b.Effect, b.Parallel, want)
		}
	}
}

func TestBudgets(t *testing.T) {
	m := load(t, `
[defaults]
timeout = "5m"
retries = 1
max_output = "10MB"
env = { A = "1", B = "1" }
[commands.plain]
verb = "check"
noun = "plain"
tool = "x"
env = { B = "2" }
[commands.own]
verb = "check"
noun = "own"
tool = "x"
timeout = "0"
retries = 0
stall = "30s"
tail_lines = 5
max_output = "1GiB"
[commands.group]
verb = "gate"
noun = "group"
composite = ["plain", "own"]
`)
	for name, want := range map[string]plan.Budget{
		"plain": {Timeout: 5 * time.Minute, Retries: 1, MaxOutput: 10e6, TailLines: routing.DefaultTailLines},
		"own":   {Stall: 30 * time.Second, MaxOutput: 1 << 30, TailLines: 5},
		"group": {TailLines: routing.DefaultTailLines},
	} {
		if got := m.ByName(name).Budget; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if env := m.ByName("plain").Env; env["A"] != "1" || env["B"] != "2" {
		t.Errorf("env of plain: %v", env)
	}
	m = load(t, "[commands.a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"x\"\n")
	if got := m.ByName("a").Budget; got.Timeout != routing.DefaultTimeout {
		t.Errorf("timeout where nobody says one: %v", got.Timeout)
	}
}

func TestAliasesAndLookup(t *testing.T) {
	m := load(t, `
[aliases]
verbs = { lint = "check", verify = "test" }
nouns = { tests = "unit" }
[commands.a]
verb = "check"
noun = "ruff"
aliases = ["style"]
tool = "x"
[commands.b]
verb = "Test"
noun = "Unit"
tool = "x"
`)
	for _, tt := range []struct{ verb, noun, want string }{
		{"check", "ruff", "a"}, {"Lint", "RUFF", "a"}, {"lint", "style", "a"}, {"check", "style", "a"},
		{"test", "unit", "b"}, {"test", "tests", "b"}, {"verify", "tests", "b"},
		{"test", "ruff", ""}, {"lint", "tests", ""}, {"", "", ""},
	} {
		got := ""
		if b := m.Lookup(tt.verb, tt.noun); b != nil {
			got = b.Name
		}
		if got != tt.want {
			t.Errorf("Lookup(%q, %q) = %q, want %q", tt.verb, tt.noun, got, tt.want)
		}
	}
	if got := m.Verb("LINT"); got != "check" {
		t.Errorf("Verb(LINT) = %q", got)
	}
	if got := m.Noun("tests"); got != "unit" {
		t.Errorf("Noun(tests) = %q", got)
	}
	if got := m.VerbsOf("style"); !slices.Equal(got, []string{"check"}) {
		t.Errorf("VerbsOf(style) = %q", got)
	}
	if got := m.Verbs(); !slices.Equal(got, []string{"check", "gate", "test", "validate"}) {
		t.Errorf("Verbs() = %q", got)
	}
}

func TestUsage(t *testing.T) {
	for text, want := range map[string]string{
		`verb = "close"` + "\n" + `tool = "bd close {id}"`:                                 "Close a {id}",
		`verb = "test"` + "\n" + `tool = "x"`:                                              "Test with a",
		`verb = "test"` + "\n" + `tool = "x {args...}"`:                                    "Test with a {args...}",
		`verb = "spawn"` + "\n" + `tool = "new_task"`:                                      "Spawn {object} as a",
		`verb = "move"` + "\n" + `tool = "x {to} {object}"`:                                "Move a {object} {to}",
		`verb = "move"` + "\n" + `tool = "x {to} {object}"` + "\n" + `prepositions=["to"]`: "Move {object} to a {to}",
		`verb = "count"` + "\n" + `tool = 'x "$1" "$@"'` + "\n" + `shell = true`:           "Count a {1} {args...}",
	} {
		m := load(t, "[commands.a]\nnoun = \"a\"\n"+text+"\n")
		if got := m.ByName("a").Usage(); got != want {
			t.Errorf("%s\ngot %q, want %q", text, got, want)
		}
	}
}

func TestReplacedMember(t *testing.T) {
	m := load(t, `
extends = ["python"]
[commands.my_tests]
verb = "test"
noun = "pytest"
tool = ".venv/bin/pytest"
`)
	quality := m.Lookup("gate", "quality")
	if last := quality.Members[len(quality.Members)-1]; last.Name != "my_tests" {
		t.Errorf("the pack's composite runs %q, want the project's binding", last.Name)
	}
	if b := m.ByName("test_pytest"); b == nil || b.Name != "my_tests" {
		t.Errorf("ByName of a replaced binding: %v", b)
	}
}

func TestCyclesAreCut(t *testing.T) {
	a, err := txtar.ParseFile("testdata/cases/composites.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := loadArchive(a)
	var depth func(b *routing.Binding, n int)
	depth = func(b *routing.Binding, n int) {
		if n > len(m.Bindings) {
			t.Fatalf("%q reaches itself", b.Name)
		}
		for _, m := range b.Members {
			depth(m, n+1)
		}
	}
	for _, b := range m.Bindings {
		depth(b, 0)
	}
}

func TestDigest(t *testing.T) {
	archive := func(files string) string {
		m, _ := loadArchive(txtar.Parse([]byte(files)))
		return m.SHA256
	}
	core, _ := stdlib.Pack("core")
	text := "[vars]\na = \"b\"\n"
	sum := sha256.Sum256(fmt.Appendf(nil, "dialect.matrix/1\n9:pack:core,%d:%s,12:routing.toml,%d:%s,", len(core), core, len(text), text))
	if got, want := archive("-- routing.toml --\n"+text), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	seen := make(map[string]string)
	for _, files := range []string{
		"-- routing.toml --\n",
		"-- routing.toml --\n# x\n",
		"-- routing.toml --\nextends = [\"go\"]\n",
		"-- routing.toml --\nextends = [\"a.toml\"]\n-- a.toml --\n# x\n",
		"-- routing.toml --\nextends = [\"b.toml\"]\n-- b.toml --\n# x\n",
		"-- routing.toml --\nextends = [\"a.toml\"]\n-- a.toml --\n# y\n",
	} {
		d := archive(files)
		if other, ok := seen[d]; ok {
			t.Errorf("the same digest for %q and %q", files, other)
		}
		seen[d] = files
	}
	// The place on this machine is not part of it.
	dir := t.TempDir()
	path := filepath.Join(dir, routing.FileName)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m, list := routing.Load(path, "x/routing.toml", routing.Options{})
	if len(list) > 0 || m.SHA256 != hex.EncodeToString(sum[:]) || m.Root != dir {
		t.Errorf("%v: digest %s in %s", list, m.SHA256, m.Root)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	// A folder of that name is passed over.
	if err := os.MkdirAll(filepath.Join(deep, routing.FileName), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := routing.Find(deep); !errors.Is(err, routing.ErrNotFound) || !strings.Contains(err.Error(), deep) || !strings.Contains(err.Error(), "dialect init") {
		t.Errorf("Find where there is none: %v", err)
	}
	want := filepath.Join(dir, routing.FileName)
	if err := os.WriteFile(want, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := routing.Find(deep); err != nil || got != want {
		t.Errorf("Find = %q, %v; want %q", got, err, want)
	}
}

// A link that leads nowhere is a matrix that cannot be read, not one that is not there: the rules of a folder above
// are not those of this project.
func TestFindLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, routing.FileName), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for at, target := range map[string]string{"none": "nowhere", "loop": routing.FileName} {
		link := filepath.Join(dir, at, routing.FileName)
		if err := os.Mkdir(filepath.Dir(link), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
		got, err := routing.Find(filepath.Dir(link))
		if err != nil || got != link {
			t.Errorf("%s: Find = %q, %v", at, got, err)
		}
		if _, list := routing.Load(link, routing.FileName, routing.Options{}); len(list) != 1 || list[0].Code != diag.MatrixMissing || !strings.Contains(list[0].Message, "symbolic link") {
			t.Errorf("%s: %v", at, list)
		}
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.toml")
	if err := os.WriteFile(large, make([]byte, 4<<20+1), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "not a regular file", large: "larger than 4 MiB", filepath.Join(dir, "none"): "no such file"} {
		m, list := routing.Load(path, "named", routing.Options{})
		if m == nil || len(list) != 1 || list[0].Code != diag.MatrixMissing || !strings.Contains(list[0].Message, want) || strings.Contains(list[0].Message, dir) {
			t.Errorf("%s: %v, want %q", path, list, want)
		}
	}
	denied := func(string) ([]byte, error) { return nil, &fs.PathError{Op: "open", Path: "p", Err: fs.ErrPermission} }
	if _, list := routing.Load("p", "p", routing.Options{ReadFile: denied}); len(list) != 1 || !strings.Contains(list[0].Message, "permission denied") {
		t.Errorf("%v", list)
	}
}

func TestDiamondIsLoadedOnce(t *testing.T) {
	m, list := loadArchive(txtar.Parse([]byte(`
-- routing.toml --
extends = ["a.toml", "b.toml"]
-- a.toml --
extends = ["base.toml"]
[commands.x]
verb = "check"
noun = "x"
tool = "a"
-- b.toml --
extends = ["base.toml"]
-- base.toml --
[commands.x]
verb = "check"
noun = "x"
tool = "base"
`)))
	if len(list) > 0 || len(m.Files) != 5 {
		t.Fatalf("%d files\n%s", len(m.Files), render(m, list))
	}
	if got := m.ByName("x").Template.Program(); got != "a" {
		t.Errorf("the base that came first won over what extends it: %q", got)
	}
}

func BenchmarkLoad(b *testing.B) {
	// The size of a real project: 54 bindings and a pack.
	var text strings.Builder
	text.WriteString("extends = [\"python\"]\n")
	for i := range 54 {
		fmt.Fprintf(&text, "[commands.b%d]\nverb = \"check\"\nnoun = \"n%d\"\nskill = \"cli\"\ntool = \".venv/bin/python -m tool {id} --flag\"\nreceipt_required = true\n", i, i)
	}
	read := func(string) ([]byte, error) { return []byte(text.String()), nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, list := routing.Load("/project/routing.toml", routing.FileName, routing.Options{ReadFile: read}); len(list) > 0 {
			b.Fatal(list)
		}
	}
}
