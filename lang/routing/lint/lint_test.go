package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

// load loads a matrix that stands in a folder of its own; it must have no fault.
func load(t *testing.T, text string) *routing.Matrix {
	t.Helper()
	path := filepath.Join(t.TempDir(), routing.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, list := routing.Load(path, routing.FileName, routing.Options{})
	if list.Count(diag.Error) > 0 {
		t.Fatalf("the matrix has faults: %v\n%s", list, text)
	}
	return m
}

// everything is there on the machine of a test, but what a program or path called "missing" is.
func everything(o Options) Options {
	o.LookPath = func(program, _ string) error {
		if filepath.Base(program) == "missing" {
			return fs.ErrNotExist
		}
		return nil
	}
	o.Stat = func(path string) error {
		if strings.Contains(path, "missing") {
			return fs.ErrNotExist
		}
		return nil
	}
	return o
}

// in returns the text that a finding is about.
func in(m *routing.Matrix, d diag.Diagnostic) string {
	for _, s := range m.Files {
		if s.Name == d.File && d.Span.IsValid() {
			text, _ := os.ReadFile(filepath.Join(m.Root, s.Name))
			return string(text[d.Span.Start.Offset:d.Span.End.Offset])
		}
	}
	return ""
}

func bind(name, rest string) string {
	verb, noun, _ := strings.Cut(name, "_")
	return fmt.Sprintf("[commands.%s]\nverb = %q\nnoun = %q\n%s\n", name, verb, noun, rest)
}

const (
	read  = "tool = \"cat x\"\neffect = \"read\""
	write = "tool = \"touch x\"\neffect = \"write\""
)

// Each rule of the lint, where it holds and where it does not. A warning is written: code, the text that it is about, and
// words of its message or hint.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string // "code @ text @ words"; nil for no warning
	}{
		{"nothing is suspicious", bind("test_a", read), Options{}, nil},

		// Receipts.
		{"reuse of what writes", bind("test_a", write+"\nreuse = true"), Options{}, []string{"bad-value @ true @ changes state"}},
		{"reuse of what reads", bind("test_a", read+"\nreuse = true"), Options{}, nil},
		{"reuse of a composite", bind("test_a", read) + bind("test_b", "composite = [\"test_a\"]\nreuse = true\neffect = \"read\""), Options{}, []string{"bad-value @ true @ it runs no process"}},
		{"when beside finally", bind("test_a", write+"\nfinally = true\nwhen = \"failure\""), Options{}, []string{"bad-value @ \"failure\" @ finally = true runs it"}},
		{"finally alone", bind("test_a", write+"\nfinally = true"), Options{}, nil},
		{"when alone", bind("test_a", write+"\nwhen = \"failure\""), Options{}, nil},
		{"a secret that it takes", bind("test_a", "tool = \"cat {id}\"\neffect = \"read\"\nsecrets = [\"id\"]"), Options{}, nil},
		{"all values are secret", bind("test_a", "tool = \"cat {args...}\"\neffect = \"read\"\nsecrets = [\"args\"]"), Options{}, nil},
		{"a pin that is gone", bind("test_a", read+"\npins = [\"there\", \"missing/x\"]"), Options{}, []string{"bad-value @ [\"there\", \"missing/x\"] @ missing/x, which does not exist"}},

		// Tools that cannot fail.
		{"true", bind("test_a", "tool = \"true\"\neffect = \"read\""), Options{}, []string{"cannot-fail @ \"true\" @ its receipt would prove nothing"}},
		{"a shell that ends well", bind("test_a", "tool = \"pytest || true\"\nshell = true"), Options{}, []string{"cannot-fail @ \"pytest || true\" @ cannot fail"}},
		{"a shell that can fail", bind("test_a", "tool = \"pytest && ruff\"\nshell = true"), Options{}, nil},
		{"true, of which output is expected", bind("test_a", "tool = \"true\"\neffect = \"read\"\nexpect = { stdout = \"x\" }"), Options{}, nil},

		// Shell text where no shell runs.
		{"a pipe", bind("test_a", "tool = \"cat x | wc\"\neffect = \"read\""), Options{}, []string{"shell-character @ | @ quote it if that is meant"}},
		{"a pattern", bind("test_a", "tool = \"cat *.go\"\neffect = \"read\""), Options{}, []string{"shell-character @ * @ no shell expands it"}},
		{"two commands", bind("test_a", "tool = \"cat x && cat y\"\neffect = \"read\""), Options{}, []string{"shell-character @ && @ name them in a composite"}},
		{"several marks are one warning", bind("test_a", "tool = \"cat x | wc && y\"\neffect = \"read\""), Options{}, []string{"shell-character @ | @ means nothing without a shell"}},
		{"a quoted mark", bind("test_a", "tool = \"cat '|'\"\neffect = \"read\""), Options{}, nil},
		{"a variable for the program", bind("test_a", "tool = \"A=1 cat x\"\neffect = \"read\""), Options{}, []string{"shell-character @ A=1 @ set variables in env"}},
		{"a sign in a path", bind("test_a", "tool = \"./a=b x\"\neffect = \"read\""), Options{}, nil},

		// Composites that write.
		{"parallel writes", bind("test_a", read) + bind("test_b", write) + bind("test_c", "composite = [\"test_a\", \"test_b\"]\norder = \"parallel\""), Options{}, []string{"parallel-writes @ \"parallel\" @ \"test_b\", which changes state +1"}},
		{"writes in sequence", bind("test_a", read) + bind("test_b", write) + bind("test_c", "composite = [\"test_a\", \"test_b\"]"), Options{}, nil},
		{"parallel reads", bind("test_a", read) + bind("test_c", "composite = [\"test_a\"]\norder = \"parallel\""), Options{}, nil},
		{"what writes comes at the end in any case", bind("test_a", read) + bind("test_b", write+"\nfinally = true") + bind("test_c", "composite = [\"test_a\", \"test_b\"]\norder = \"parallel\""), Options{}, nil},
		{"a group says that it reads", bind("test_b", write) + bind("test_c", "composite = [\"test_b\"]\neffect = \"read\""), Options{}, []string{"bad-value @ \"read\" @ its member \"test_b\" writes +1"}},
		{"a group says that it writes", bind("test_b", write) + bind("test_c", "composite = [\"test_b\"]\neffect = \"write\""), Options{}, nil},

		// What is not there.
		{"a program", bind("test_a", "tool = \"missing -x\"\neffect = \"read\""), Options{}, []string{"missing-tool @ missing @ install it, or bind another tool"}},
		{"a program of two bindings", bind("test_a", "tool = \"missing -x\"\neffect = \"read\"") + bind("test_b", "tool = \"missing -y\"\neffect = \"read\""), Options{}, []string{"missing-tool @ missing @ \"test_a\" was not found +1"}},
		{"two programs", bind("test_a", "tool = \"./missing\"\neffect = \"read\"") + bind("test_b", "tool = \"a/missing\"\neffect = \"read\""), Options{}, []string{"missing-tool @ ./missing @ test_a", "missing-tool @ a/missing @ test_b"}},
		{"a program on a PATH of the binding's own", bind("test_a", "tool = \"missing\"\neffect = \"read\"\nenv = { PATH = \"/opt\" }"), Options{}, nil},
		{"a path beside a PATH of the binding's own", bind("test_a", "tool = \"./missing\"\neffect = \"read\"\nenv = { PATH = \"/opt\" }"), Options{}, []string{"missing-tool @ ./missing @ test_a"}},
		{"a server", bind("test_a", "tool = \"mcp:hub:find\"\neffect = \"read\""), Options{}, []string{"missing-server @ \"mcp:hub:find\" @ [servers.hub]"}},
		{"a server of two bindings", bind("test_a", "tool = \"mcp:hub:find\"") + bind("test_b", "tool = \"mcp:hub:get\""), Options{}, []string{"missing-server @ \"mcp:hub:find\" @ no MCP server \"hub\" +1"}},
		{"a server that is declared", bind("test_a", "tool = \"mcp:hub:find\"") + "[servers.hub]\ncommand = \"hub\"\n", Options{}, nil},
		{"a skill", bind("test_a", read+"\nskill = \"no-such\""), Options{}, []string{"missing-skill @ \"no-such\" @ .dialect/skills/no-such/SKILL.md"}},
		{"a skill of two bindings", bind("test_a", read+"\nskill = \"no-such\"") + bind("test_b", read+"\nskill = \"no-such\""), Options{}, []string{"missing-skill @ \"no-such\" @ no-such +1"}},
		{"a skill of the standard library", bind("test_a", read+"\nskill = \"dialect\""), Options{}, nil},

		// What nobody uses.
		{"unused", bind("test_a", read) + bind("test_b", read), Options{Used: []string{"test_a"}, Unused: true}, []string{"unused-binding @ * @ nothing uses \"test_b\""}},
		{"a member of what is used", bind("test_a", read) + bind("test_c", "composite = [\"test_a\"]"), Options{Used: []string{"test_c"}, Unused: true}, nil},
		{"a name for what is used, as dialect init writes one for verify --require", bind("test_a", read) + bind("test_b", read) + bind("gate_c", "composite = [\"test_a\", \"test_b\"]"), Options{Used: []string{"test_a", "test_b"}, Unused: true}, nil},
		{"a name for a name for what is used", bind("test_a", read) + bind("gate_b", "composite = [\"test_a\"]") + bind("gate_c", "composite = [\"gate_b\"]"), Options{Used: []string{"test_a"}, Unused: true}, nil},
		{"a name for what is not all used", bind("test_a", read) + bind("test_b", read) + bind("gate_c", "composite = [\"test_a\", \"test_b\"]"), Options{Used: []string{"test_a"}, Unused: true}, []string{"unused-binding @ * @ nothing uses \"test_b\"", "unused-binding @ * @ nothing uses \"gate_c\""}},
		{"not asked for", bind("test_a", read), Options{}, nil},
		{"a name of nothing", bind("test_a", read), Options{Used: []string{"test_b"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := load(t, c.text)
			list := Check(m, everything(c.o))
			for i, d := range list {
				about := in(m, d)
				if d.Severity != diag.Warning {
					t.Errorf("%s is not a warning: %s", d.Code, d.Message)
				}
				if i >= len(c.want) {
					t.Errorf("more than is wanted: %s @ %s @ %s (%s)", d.Code, about, d.Message, d.Hint)
					continue
				}
				want, related, _ := strings.Cut(c.want[i], " +")
				w := strings.SplitN(want, " @ ", 3)
				if string(d.Code) != w[0] || w[1] != "*" && about != w[1] || !strings.Contains(d.Message+"; "+d.Hint, w[2]) || fmt.Sprint(len(d.Related)) != "0"[len(related):]+related {
					t.Errorf("%s @ %s @ %s; %s +%d\nwant %s", d.Code, about, d.Message, d.Hint, len(d.Related), c.want[i])
				}
			}
			if len(list) < len(c.want) {
				t.Errorf("%d warnings, want %q", len(list), c.want)
			}
		})
	}
}

// The project's own words and bindings are counted; those of a pack are not, and a word is counted once.
func TestLimits(t *testing.T) {
	limits := func(verbs, nouns, bindings int) string {
		return fmt.Sprintf("extends = [\"go\"]\n[limits]\nverbs = %d\nnouns = %d\nbindings = %d\n", verbs, nouns, bindings)
	}
	text := bind("test_a", read) + bind("test_b", read) + bind("check_a", read) + bind("check_c", read)
	for _, c := range []struct {
		verbs, nouns, bindings int
		want                   []diag.Code
	}{
		{2, 3, 4, nil},
		{1, 3, 4, []diag.Code{diag.TooManyVerbs}},
		{2, 2, 4, []diag.Code{diag.TooManyNouns}},
		{2, 3, 3, []diag.Code{diag.TooManyBindings}},
		{1, 1, 1, []diag.Code{diag.TooManyNouns, diag.TooManyBindings, diag.TooManyVerbs}}, // in the order of the file, each said once
	} {
		var got []diag.Code
		for _, d := range Check(load(t, limits(c.verbs, c.nouns, c.bindings)+text), everything(Options{})) {
			got = append(got, d.Code)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Of a pack the tools of those bindings are looked for that a script uses, and no others.
func TestPacks(t *testing.T) {
	none := everything(Options{})
	none.LookPath = func(string, string) error { return errors.New("nothing is there") }
	m := load(t, "extends = [\"go\"]\n"+bind("test_a", read))
	if list := Check(m, none); len(list) != 1 || !strings.Contains(list[0].Message, `"cat"`) {
		t.Errorf("tools of bindings that nobody uses are looked for: %v", list)
	}
	looked := 0
	there := everything(Options{})
	there.LookPath = func(string, string) error { looked++; return nil }
	if Check(load(t, bind("test_a", read)+bind("test_b", read)+bind("test_c", write)), there); looked != 2 {
		t.Errorf("two programs were looked for %d times", looked)
	}
	b := m.Bindings[slices.IndexFunc(m.Bindings, func(b *routing.Binding) bool { return b.Pack && b.Template != nil && b.Name == "test_go" })]
	none.Used = []string{b.Name}
	var hints []string
	for _, d := range Check(m, none) {
		hints = append(hints, d.Hint)
	}
	if !slices.Contains(hints, `install it, or bind "test go" in the project`) {
		t.Errorf("%q", hints)
	}
	// A binding of a pack is not the project's: nobody has to use it, and it is not found fault with.
	none.Used, none.Unused = []string{"test_a"}, true
	for _, d := range Check(m, none) {
		if d.Code == diag.UnusedBinding {
			t.Errorf("%s", d.Message)
		}
	}
}

// On the disk, a program with a slash is looked up from the root of the matrix, and must be a file that can be run.
func TestLookPath(t *testing.T) {
	root := t.TempDir()
	t.Setenv("PATH", filepath.Join(root, "path"))
	for name, mode := range map[string]fs.FileMode{"bin/tool": 0o755, "bin/text": 0o644, "path/found": 0o755} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]bool{
		"bin/tool": true, "./bin/tool": true, filepath.Join(root, "bin/tool"): true, "bin/text": false, "bin": false, "./bin": false, "bin/none": false,
		"found": true, "tool": false,
	} {
		if err := lookPath(program, root); (err == nil) != want {
			t.Errorf("%s: %v", program, err)
		}
	}
	m := load(t, bind("test_a", "tool = \"./none\"\neffect = \"read\"\npins = [\"none\", \"routing.toml\"]"))
	var got []string
	for _, d := range Check(m, Options{}) {
		got = append(got, string(d.Code))
	}
	if slices.Sort(got); !slices.Equal(got, []string{"bad-value", "missing-tool"}) {
		t.Errorf("%q", got)
	}
}

// The skill of a project is a regular file below one of the folders in which agents keep them, the first of them first; a
// name never leads out of it.
func TestSkillFile(t *testing.T) {
	root := t.TempDir()
	write := func(folder, name string) string {
		path := filepath.Join(root, folder, name, "SKILL.md")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for i := len(skillFolders) - 1; i >= 0; i-- {
		want := write(skillFolders[i], "one")
		if got, ok := SkillFile(root, "one"); !ok || got != want {
			t.Errorf("%s, %t; want %s", got, ok, want)
		}
	}
	write(".dialect", "outside")
	if err := os.MkdirAll(filepath.Join(root, skillFolders[0], "folder", "SKILL.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(skillFolders[0], "")
	write(".dialect", "") // that is skills/..
	for _, name := range []string{"two", "", ".", "..", "../outside", "folder", "one/", `a\b`, "one\x00"} {
		if got, ok := SkillFile(root, name); ok || got != "" {
			t.Errorf("%q: %s", name, got)
		}
	}
}

// A server that is disabled counts as missing, and the warning says where.
func TestDisabledServer(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		routing.FileName: bind("test_a", "tool = \"mcp:hub:find\""), ".mcp.json": `{"mcpServers": {"hub": {"command": "hub", "disabled": true}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, _ := routing.Load(filepath.Join(dir, routing.FileName), routing.FileName, routing.Options{})
	list := Check(m, everything(Options{}))
	if len(list) != 1 || list[0].Code != diag.MissingServer || !strings.Contains(list[0].Message, `"hub" is disabled in `) || !strings.Contains(list[0].Message, ".mcp.json") || !strings.Contains(list[0].Hint, "enable it") {
		t.Errorf("%v", list)
	}
}
