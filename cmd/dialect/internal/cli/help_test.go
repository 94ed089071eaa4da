package cli

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/stdlib"
)

var update = flag.Bool("update", false, "write the golden files anew")

// commands returns each command that a user can call, by its path: "dialect receipts list".
func commands(out io.Writer) (list []*cobra.Command) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		list = append(list, c)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				walk(sub)
			}
		}
	}
	root := newRoot(&ui{Out: out, Err: out}, nil)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root)
	return list
}

// TestHelp compares the help of each command with testdata/help.txtar.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	got := &txtar.Archive{Comment: []byte("The help of each command, written by `make golden`.\n\n")}
	for _, c := range commands(&out) {
		if strings.HasPrefix(c.CommandPath(), "dialect completion ") {
			continue // cobra's own
		}
		out.Reset()
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		got.Files = append(got.Files, txtar.File{Name: c.CommandPath(), Data: bytes.Clone(out.Bytes())})
	}
	if len(got.Files) < 35 {
		t.Fatalf("only %d commands", len(got.Files))
	}
	compare(t, filepath.Join("testdata", "help.txtar"), txtar.Format(got))
}

// compare holds text to a golden file.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is another (make golden, if it is right)\n%s", name, diff.Diff("want", want, "got", got))
	}
}

// TestHelpForm holds the help texts to one form: how a text begins and ends, and how wide it is.
func TestHelpForm(t *testing.T) {
	for _, c := range commands(io.Discard) {
		path := c.CommandPath()
		if strings.HasPrefix(path, "dialect completion") {
			continue
		}
		if first := c.Short[:min(1, len(c.Short))]; first != strings.ToLower(first) || strings.HasSuffix(c.Short, ".") || c.Short == "" {
			t.Errorf("%s: the short text %q does not begin in lower case, or ends in a full stop", path, c.Short)
		}
		if c.Long != "" && c != c.Root() && (c.Long[:1] != strings.ToUpper(c.Long[:1])) {
			t.Errorf("%s: the long text does not begin with a capital: %.40q", path, c.Long)
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(line) > 123 {
				t.Errorf("%s: a line of %d bytes, more than 122: %q", path, len(line)-1, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && (f.Usage == "" || strings.HasSuffix(f.Usage, ".") || f.Usage[:1] != strings.ToLower(f.Usage[:1])) {
				t.Errorf("%s --%s: %q does not begin in lower case, or ends in a full stop", path, f.Name, f.Usage)
			}
			if value, _ := pflag.UnquoteUsage(f); value != "" && f.NoOptDefVal != "" {
				t.Errorf("%s --%s: the help shows a value %s, and it takes none", path, f.Name, value)
			}
		})
	}
}

// TestTopics holds that each page prints, and that the help lists all.
func TestTopics(t *testing.T) {
	var out bytes.Buffer
	root := newRoot(&ui{Out: &out, Err: &out}, nil)
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	help := out.String()
	for _, topic := range stdlib.Topics() {
		if !strings.Contains(help, "\n  "+topic.Name+" ") {
			t.Errorf("the help does not list %s", topic.Name)
		}
		out.Reset()
		root := newRoot(&ui{Out: &out, Err: &out}, []string{"help"})
		root.SetArgs([]string{"help", strings.ToUpper(topic.Name)})
		if err := root.Execute(); err != nil {
			t.Errorf("%s: %v", topic.Name, err)
		}
		page := out.String()
		if !strings.HasPrefix(page, topic.Title+"\n==") {
			t.Errorf("%s begins with %.80q", topic.Name, page)
		}
		for _, mark := range []string{"```", "](", "|---", "<!--", "\n\n\n"} {
			if strings.Contains(page, mark) {
				t.Errorf("%s is printed with %q", topic.Name, mark)
			}
		}
	}
}

var (
	inline = regexp.MustCompile("`([^`\n]+)`")
	called = regexp.MustCompile(`(?:^|[|&;(]) *((?:dialect|ar) [^|&;()$]+)`) // in a line of a shell
)

// TestDocsNameCommands parses each command line that the pages name, in the text and in sessions: the commands and
// their flags are there.
func TestDocsNameCommands(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "stdlib", "docs", "*.md"))
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, name := range []string{"README.md", "examples/README.md", ".github/CONTRIBUTING.md", "lang/editors/README.md"} {
		pages = append(pages, filepath.Join(root, filepath.FromSlash(name)))
	}
	skills, err := filepath.Glob(filepath.Join(root, "stdlib", "skills", "*", "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range append(pages, skills...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			var shell []string
			switch rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "    "), "$ "); {
			case strings.HasPrefix(line, "```"):
				fenced = !fenced
			case ok:
				shell = []string{rest}
			case !fenced && strings.HasPrefix(line, "    "):
				shell = []string{strings.TrimSpace(line)}
			case !fenced:
				for _, m := range inline.FindAllStringSubmatch(line, -1) {
					shell = append(shell, m[1])
				}
			}
			for _, text := range shell {
				for _, m := range called.FindAllStringSubmatch(text, -1) {
					named++
					if fault := misnamed(m[1]); fault != "" {
						t.Errorf("%s: %s: %s", page, m[1], fault)
					}
				}
			}
		}
	}
	if named < 80 {
		t.Errorf("only %d commands were found", named)
	}
	for line, want := range map[string]string{"dialect rnu x": "no command", "dialect run --bogus": "--bogus", "dialect help nothing": "no topic", "dialect run -q": "-q", "dialect run --set a=b f.dlct": ""} {
		if fault := misnamed(line); !strings.Contains(fault, want) || want == "" && fault != "" {
			t.Errorf("%s: %q, want %q", line, fault, want)
		}
	}
}

// misnamed says what a command line names that there is not.
func misnamed(line string) string {
	words := strings.Fields(line)
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") || strings.ContainsAny(w[:1], "><|") }); i > 0 {
		words = words[:i]
	}
	root := newRoot(&ui{Out: io.Discard, Err: io.Discard}, nil)
	if words[0] == "ar" {
		root = newAR(&ui{Out: io.Discard, Err: io.Discard})
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	words = words[1:]
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return ""
	}
	c, rest, err := root.Find(words)
	switch {
	case err != nil || c == root:
		return "there is no command " + words[0]
	case c.Name() == "help" && len(rest) == 1 && rest[0] != "TOPIC":
		if _, ok := stdlib.TopicPage(rest[0]); !ok {
			if found, _, err := root.Find(rest); err != nil || found == root {
				return "there is no command and no topic " + rest[0]
			}
		}
	}
	c.InitDefaultHelpFlag()
	for _, word := range rest {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case word == "--":
			return ""
		case strings.HasPrefix(word, "--") && c.Flags().Lookup(name[2:]) == nil && c.InheritedFlags().Lookup(name[2:]) == nil,
			len(word) == 2 && word[0] == '-' && c.Flags().ShorthandLookup(word[1:]) == nil:
			return c.CommandPath() + " has no flag " + name
		}
	}
	return ""
}

// TestNothing runs every command without an argument, with one that means nothing, and with --help: none panics, none waits.
func TestNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		for _, words := range [][]string{nil, {"no-such-thing"}, {"--help"}} {
			args := append(slices.Clone(path), words...)
			if out, status := dialectIn(dir, args...); status == exit.Internal || status < 0 || words != nil && words[0] == "--help" && status != 0 {
				t.Errorf("dialect %s: exit %d: %s", strings.Join(args, " "), status, out)
			}
		}
		for _, c := range cmd.Commands() {
			walk(c, append(slices.Clone(path), c.Name()))
		}
	}
	root := newRoot(&ui{}, nil)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root, nil)
}
