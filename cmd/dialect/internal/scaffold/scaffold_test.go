package scaffold

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
)

// table binds a line to a program of every machine.
func table(name string) string {
	verb, noun, _ := strings.Cut(name, "_")
	return fmt.Sprintf("[commands.%s]\nverb = %q\nnoun = %q\ntool = \"sh {args...}\"\neffect = \"read\"\n", name, verb, noun)
}

// plan has a line of a pack and some of its own.
func plan(dir string, own ...string) Plan {
	p := Plan{Dir: dir, Lines: []Line{{Text: "Test with go", Name: "test_go", Pack: "go"}}}
	for _, name := range own {
		verb, noun, _ := strings.Cut(name, "_")
		p.Lines = append(p.Lines, Line{Text: strings.ToUpper(verb[:1]) + verb[1:] + " with " + noun, Name: name, Table: table(name)})
	}
	return p
}

func write(t *testing.T, p Plan) {
	t.Helper()
	for _, f := range p.Files() {
		if err := os.WriteFile(f.Path, []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func loaded(t *testing.T, p Plan) *routing.Matrix {
	t.Helper()
	m, list := routing.Load(filepath.Join(p.Dir, routing.FileName), routing.FileName, routing.Options{})
	if len(list) > 0 {
		t.Fatalf("%v\n%s", list, p.Files()[0].Text)
	}
	return m
}

// What init writes loads without a fault, binds each line of the script, ends in the gate, and stands as one composite
// for `verify --require quality`.
func TestFiles(t *testing.T) {
	for _, own := range [][]string{nil, {"check_a", "check_b"}} {
		p := plan(t.TempDir(), own...)
		p.Caches = []string{".mypy_cache", "target"}
		write(t, p)
		m := loaded(t, p)
		f, list := lang.Parse(diag.NewSource(ScriptName, []byte(p.Files()[1].Text)))
		if len(list) > 0 || len(f.Commands) != len(p.Lines)+1 {
			t.Fatalf("%v\n%s", list, p.Files()[1].Text)
		}
		var names []string
		for i, l := range p.Lines {
			b := m.ByName(l.Name)
			if c := f.Commands[i]; b == nil || !strings.EqualFold(b.Verb, c.Verb.Text) || !strings.EqualFold(b.Noun, c.Noun.Text) || b.Pack != (l.Pack != "") {
				t.Errorf("line %d, %s: %+v", i, l.Text, b)
			}
			names = append(names, l.Name)
		}
		if last := f.Commands[len(p.Lines)]; last.Verb.Text != "Gate" || last.Noun.Text != "results" {
			t.Errorf("the script ends in %v", last)
		}
		q := m.ByName("gate_quality")
		var members []string
		for _, b := range q.Members {
			members = append(members, b.Name)
		}
		if !slices.Equal(members, names) || !q.ReceiptRequired {
			t.Errorf("the composite: %q, want %q; receipts required: %t", members, names, q.ReceiptRequired)
		}
		if !slices.Equal(m.Caches, p.Caches) {
			t.Errorf("the caches of the matrix: %q", m.Caches)
		}
		p.Caches = append(p.Caches, ".pytest_cache")
		if got := p.New().Addition(); got != "# routing.toml: into caches of [defaults] [\".pytest_cache\"]\n" {
			t.Errorf("what is new: %q", got)
		}
	}
}

// A pack is extended once, and not where no line needs one.
func TestExtends(t *testing.T) {
	p := plan("d", "check_a")
	p.Lines = append(p.Lines, Line{Text: "Check with vet", Name: "check_vet", Pack: "go"}, Line{Text: "Test with pytest", Name: "test_pytest", Pack: "python"})
	if text := p.Files()[0].Text; !strings.Contains(text, "\nextends = [\"go\", \"python\"]\n") {
		t.Error(text)
	}
	p.Lines = p.Lines[1:2]
	if text := p.Files()[0].Text; strings.Contains(text, "extends") {
		t.Error(text)
	}
	if got := []string{p.Files()[0].Path, p.Files()[1].Path}; !slices.Equal(got, []string{filepath.Join("d", "routing.toml"), filepath.Join("d", "quality.dlct")}) {
		t.Errorf("%q", got)
	}
}

// A matrix of many tools has room for them all: a check of it warns of no limit, and a small one sets none.
func TestNouns(t *testing.T) {
	for n, limited := range map[int]bool{13: false, 14: false, 15: true, 40: true} {
		var own []string
		for i := range n {
			own = append(own, fmt.Sprintf("check_n%d", i))
		}
		p := plan(t.TempDir(), own...) // and the noun of its gate
		write(t, p)
		if got := strings.Contains(p.Files()[0].Text, "[limits]"); got != limited {
			t.Errorf("%d nouns and the gate's: limits are set: %t", n, got)
		}
		for _, d := range lint.Check(loaded(t, p), lint.Options{LookPath: func(string, string) error { return nil }}) {
			if d.Code == diag.TooManyNouns {
				t.Errorf("%d nouns: %s", n, d.Message)
			}
		}
	}
}

// A project that has some of the lines already is proposed the others alone, by whatever it has them.
func TestNew(t *testing.T) {
	names := func(p Plan) (list []string) {
		for _, l := range p.Lines {
			list = append(list, l.Name)
		}
		return list
	}
	for _, c := range []struct {
		name           string
		script, matrix string // empty for none
		want           []string
	}{
		{"nothing is there", "", "", []string{"test_go", "check_a", "check_b"}},
		{"a line of the script", "test using GO\n", "", []string{"check_a", "check_b"}},
		{"another noun", "Test with gopher\nCheck with\n", "", []string{"test_go", "check_a", "check_b"}},
		{"a binding of the matrix", "", table("check_b"), []string{"test_go", "check_a"}},
		{"a binding of a pack is not the matrix's own", "", "extends = [\"go\"]\n" + table("check_c"), []string{"test_go", "check_a", "check_b"}},
		{"both", "Check with a\n", table("check_b"), []string{"test_go"}},
		{"all", "Check with a\nTest with go\n", table("check_b"), nil},
	} {
		p := plan(t.TempDir(), "check_a", "check_b")
		var there []string
		for name, text := range map[string]string{ScriptName: c.script, routing.FileName: c.matrix} {
			if text != "" {
				path := filepath.Join(p.Dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				there = append(there, path)
			}
		}
		got := p.Existing()
		slices.Sort(got)
		if slices.Sort(there); !slices.Equal(got, there) {
			t.Errorf("%s: there are %q, want %q", c.name, got, there)
		}
		before := names(p)
		if got := names(p.New()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if after := names(p); !slices.Equal(before, after) {
			t.Errorf("%s: the plan itself lost lines: %q", c.name, after)
		}
	}
}

// The addition has what a person has to write into each of the two files, and nothing twice.
func TestAddition(t *testing.T) {
	p := plan("d", "check_a")
	p.Lines = append(p.Lines, Line{Text: "Check with vet", Name: "check_vet", Pack: "go"})
	text := p.Addition()
	for _, want := range []string{
		"# quality.dlct:\nTest with go\nCheck with a\nCheck with vet\n", `into the composite of gate_quality ["test_go", "check_a", "check_vet"]`, `into extends ["go"]`, "\n" + table("check_a"),
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("no %q, or more than one, in:\n%s", want, text)
		}
	}
	p.Lines = p.Lines[1:2]
	if text := p.Addition(); strings.Contains(text, "extends") {
		t.Error(text)
	}
}
