package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
)

// must resolves a script that has no error.
func must(t testing.TB, text, script string, o Options) *plan.Plan {
	t.Helper()
	_, p, list := resolveText(matrix(t, []byte(text)), script, o)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStepIsComplete(t *testing.T) {
	m := `extends = ["git"]
[defaults]
env = { A = "1" }

[servers.s]
url = "http://127.0.0.1"

[commands.test_unit]
verb = "test"
noun = "unit"
aliases = ["units"]
skill = "quality-gates"
tool = "x {args...}"
cwd = "sub/dir"
env = { B = "2" }
retries = 2
stall = "30s"
timeout = "3m"
tail_lines = 5
max_output = 1000
expect = { min_tests = 1 }
hint = "a hint"
receipt_required = true
inputs = [".venv/**/RECORD", "x.lock"]
when = "failure"
`
	p := must(t, m, "# first\n\n  Test with Units a b  # why\n", Options{Script: plan.Script{Path: "/p", SHA256: "ab"}})
	if len(p.Steps) != 1 {
		t.Fatalf("%d steps", len(p.Steps))
	}
	got := *p.Steps[0]
	want := plan.Step{
		ID: "1",
		Line: plan.Line{File: "script.dlct", Number: 3, Text: "Test with Units a b", Span: diag.Span{
			Start: diag.Pos{Offset: 11, Line: 3, Column: 3}, End: diag.Pos{Offset: 30, Line: 3, Column: 22}}},
		Binding: "test_unit", Verb: "test", Noun: "unit", Preposition: "with",
		Values: []plan.Value{{Name: "args", Text: "a"}, {Name: "args", Text: "b"}},
		Kind:   plan.Process, Argv: []string{"x", "a", "b"},
		Dir: filepath.FromSlash("/project/sub/dir"), Env: map[string]string{"A": "1", "B": "2"},
		Effect: plan.Read, ReceiptRequired: true, WhenFailure: true,
		Budget: plan.Budget{Timeout: 3 * time.Minute, Stall: 30 * time.Second, MaxOutput: 1000, Retries: 2, TailLines: 5},
		Expect: plan.Expect{MinTests: 1}, Inputs: []string{".venv/**/RECORD", "x.lock"}, Skill: "quality-gates", Hint: "a hint",
		Origin: plan.Origin{File: "routing.toml", Line: 8},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("step:\n got %+v\nwant %+v", got, want)
	}
	if p.Script.Name != "script.dlct" || p.Script.Path != "/p" || p.Script.Part {
		t.Errorf("script: %+v", p.Script)
	}
	if p.Matrix.Root != filepath.FromSlash("/project") || len(p.Matrix.SHA256) != 64 || p.Servers["s"].URL == "" {
		t.Errorf("matrix: %+v, servers %v", p.Matrix, p.Servers)
	}
	if want := map[string][]string{"test_unit": want.Inputs}; !reflect.DeepEqual(p.Matrix.Inputs, want) {
		t.Errorf("inputs of the matrix: %v, want %v", p.Matrix.Inputs, want)
	}
	p = must(t, m, "Check diff\n", Options{})
	if o := p.Steps[0].Origin; o.File != "pack:git" || o.Line == 0 {
		t.Errorf("origin in a pack: %+v", o)
	}
}

func TestCompositeMembers(t *testing.T) {
	m := `
[commands.a]
verb = "check"
noun = "a"
tool = "x {id}"

[commands.b]
verb = "check"
noun = "b"
tool = "y {id} --as={name}"

[commands.inner]
verb = "gate"
noun = "inner"
composite = ["a", "b"]

[commands.outer]
verb = "gate"
noun = "outer"
composite = ["a", "inner", "call"]
receipt_required = true

[commands.call]
verb = "search"
noun = "a"
tool = "mcp:s:t"
`
	p := must(t, m, "Gate outer 7 n\nGate inner 7 n\nCheck a 7\n", Options{})
	var got []string
	plan.Walk(p.Steps, func(s *plan.Step) {
		got = append(got, fmt.Sprintf("%s %s %q %d %v %d", s.ID, s.Binding, s.Argv, len(s.Values), s.ReceiptRequired, s.Line.Number))
	})
	want := []string{
		`1 outer [] 2 true 1`, `1.1 a ["x" "7"] 1 true 1`, `1.2 inner [] 2 true 1`,
		`1.2.1 a ["x" "7"] 1 true 1`, `1.2.2 b ["y" "7" "--as=n"] 2 true 1`, `1.3 call [] 0 true 1`,
		// Standing alone, the same bindings are as they were.
		`2 inner [] 2 false 2`, `2.1 a ["x" "7"] 1 false 2`, `2.2 b ["y" "7" "--as=n"] 2 false 2`,
		`3 a ["x" "7"] 1 false 3`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNoTextBecomesSyntax holds that a value is one argv element or part of one,
// whatever it holds.
func TestNoTextBecomesSyntax(t *testing.T) {
	m := matrix(t, []byte(`
[commands.process]
verb = "close"
noun = "process"
tool = "x {id} --note={id}"

[commands.appended]
verb = "close"
noun = "appended"
tool = "x y"

[commands.rest]
verb = "close"
noun = "rest"
tool = "x {args...} y"

[commands.script]
verb = "close"
noun = "script"
shell = true
tool = "x \"$1\""
`))
	for _, value := range []string{
		"x; touch pwned", "$(touch pwned)", "`touch pwned`", "a b  c", "'", `"`, `\`, "{id}", "{args...}", "}}", "{{", "*", "~", "|",
		"&&", ">f", "#", "a=b", "with", "", "\t", "ü\u00a0x", "$1", "%s",
	} {
		for noun, want := range map[string][]string{
			"process":  {"x", value, "--note=" + value},
			"appended": {"x", "y", value},
			"rest":     {"x", value, "y"},
			"script":   {"/bin/sh", "-c", `x "$1"`, "sh", value},
		} {
			// By hand, so that values that no script could spell are held too.
			at := diag.Span{Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 1}}
			escaped := strings.NewReplacer("{", "{{", "}", "}}").Replace(value)
			f := &lang.File{Source: diag.NewSource("f", nil), Commands: []*lang.Command{{
				Span: at, Verb: lang.Word{Text: "Close", Span: at}, Noun: lang.Word{Text: noun, Span: at},
				Arguments: []lang.Argument{{Value: lang.Value{Text: escaped, Quoted: true, Span: at}}},
			}}}
			p, list := Resolve(f, m, Options{})
			if list.Err() != nil {
				t.Errorf("%s %q: %v", noun, value, list)
				continue
			}
			if got := p.Steps[0].Argv; !slices.Equal(got, want) {
				t.Errorf("%s %q:\n got %q\nwant %q", noun, value, got, want)
			}
		}
	}
}

func TestBrokenBindingGivesNoSecondFault(t *testing.T) {
	m, list := routing.Load("/project/routing.toml", "routing.toml", routing.Options{ReadFile: func(string) ([]byte, error) {
		return []byte("[commands.a]\nverb = \"check\"\nnoun = \"a\"\ntool = \"x {\"\n"), nil
	}})
	if list.Err() == nil {
		t.Fatal("the template is accepted")
	}
	_, p, list := resolveText(m, "Check a\nCheck b\n", Options{})
	if len(p.Steps) != 0 || len(list) != 1 || list[0].Code != diag.UnboundNoun {
		t.Errorf("%d steps, %v", len(p.Steps), list)
	}
}

func TestUnreadableMatrixIsHeldAgainst(t *testing.T) {
	m, _ := routing.Load("/nowhere/routing.toml", "routing.toml", routing.Options{ReadFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }})
	_, p, list := resolveText(m, "Gate against results\n", Options{})
	if len(p.Steps) != 1 || list.Err() != nil {
		t.Errorf("%d steps, %v", len(p.Steps), list)
	}
}

func FuzzResolve(f *testing.F) {
	cases := caseFiles(f)
	matrices := make([]*routing.Matrix, 0, len(cases))
	for i, name := range cases {
		c := readCase(f, name)
		matrices = append(matrices, matrix(f, c.matrix))
		f.Add(c.script, i, c.options.Line)
	}
	f.Fuzz(func(t *testing.T, script string, i, line int) {
		m := matrices[uint(i)%uint(len(matrices))]
		if len(script) > 1<<16 {
			return
		}
		src, p, list := resolveText(m, script, Options{Line: line, Vars: map[string]string{"id": "{x} -y"}})
		for _, d := range list {
			if d.Message == "" || d.Span.Start.Offset > d.Span.End.Offset || d.File == src.Name && d.Span.End.Offset > len(src.Text) {
				t.Fatalf("%#v", d)
			}
		}
		if list.Err() != nil {
			return
		}
		plan.Walk(p.Steps, func(s *plan.Step) {
			b := m.ByName(s.Binding)
			if b == nil || s.Kind != b.Kind {
				t.Fatalf("%+v", s)
			}
			if s.Kind != plan.Process || b.Script != nil {
				return
			}
			// As many elements as the template has, plus those appended.
			params := b.Parameters()
			rest := 0
			for _, v := range s.Values {
				if !slices.Contains(params.Names, v.Name) {
					rest++
				}
			}
			if want := len(b.Template.Argv(func(string) string { return "" }, nil)) + rest; len(s.Argv) != want {
				t.Fatalf("%q has %d elements, want %d", s.Argv, len(s.Argv), want)
			}
		})
	})
}

func BenchmarkResolve(b *testing.B) {
	c := readCase(b, "testdata/cases/lines.txtar")
	m := matrix(b, c.matrix)
	lines := []string{
		"Check with ruff", "Check with mypy", "Test with pytest -q", "Close issue BD-12", "Move BD-1 to issue done \"all done\"",
		"Gate against quality", "Search code \"auth flow\"", "Count lines a.txt", "Show issue", "Close BD-12 as issue",
	}
	var script strings.Builder
	for i := range 100_000 {
		script.WriteString(lines[i%len(lines)])
		script.WriteByte('\n')
	}
	f, list := lang.Parse(diag.NewSource("script.dlct", []byte(script.String())))
	if len(list) > 0 {
		b.Fatal(list)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, list := Resolve(f, m, Options{}); len(list) > 0 {
			b.Fatal(list[0])
		}
	}
}

// TestIdentity: what differs in a declared secret alone is one command, whatever else the words of the command hold.
func TestIdentity(t *testing.T) {
	m := matrix(t, []byte(`
[commands.check_door]
verb = "check"
noun = "door"
tool = "sh door.sh alphabeta {id} {what} x{id}"
secrets = ["id"]
[commands.check_all]
verb = "check"
noun = "all"
tool = "sh all.sh {args...}"
secrets = ["args"]
[commands.check_both]
verb = "check"
noun = "both"
composite = ["check_door"]
`))
	identity := func(line string) []string {
		t.Helper()
		_, p, l := resolveText(m, line+"\n", Options{})
		if l.Err() != nil || len(p.Steps) != 1 {
			t.Fatal(l)
		}
		s := p.Steps[0]
		if len(s.Members) > 0 {
			s = s.Members[0]
		}
		return s.Identity()
	}
	want := []string{"sh", "door.sh", "alphabeta", plan.HiddenValue, "beta", "x" + plan.HiddenValue}
	for _, id := range []string{"beta", "real", "sh", "x", "[secret]", `""`} {
		for _, noun := range []string{"door", "both"} {
			if got := identity("Check with " + noun + " id=" + id + " what=beta"); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q", noun, id, got)
			}
		}
	}
	if got := identity("Check with door id=beta what=other"); slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := identity("Check with all a sh a"); !slices.Equal(got, []string{"sh", "all.sh", plan.HiddenValue, plan.HiddenValue, plan.HiddenValue}) {
		t.Errorf("%q", got)
	}
}
