// Package lint says what is suspicious in a routing matrix: limits passed, tools that cannot fail or are not
// there, servers and skills that nobody declared.
//
// In come a matrix that package routing has read and the names of the bindings that scripts use, out come
// warnings. It is the part of a matrix's check that looks at the disk and at $PATH; it starts nothing.
package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/template"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/stdlib"
)

// Options changes what [Check] looks at. The zero Options looks for executables on
// this machine.
type Options struct {
	// LookPath finds the program of a process; root is the absolute directory
	// of the matrix, where a program with a slash is looked up. An error means
	// that it is not there. Nil looks in the file system and in $PATH.
	LookPath func(program, root string) error

	// Stat says why the file at an absolute path is not there. Nil looks in the
	// file system.
	Stat func(path string) error

	// Used holds the names of the bindings that the scripts at hand use. The
	// tools of those are looked for even if a pack binds them; the tools of
	// the other packs' bindings are not, since nobody asked for them.
	Used []string

	// Unused asks for a warning about each binding of the project that is not
	// in Used, is not a member of one that is, and is not a composite of used ones alone.
	Unused bool
}

// Check reports what is allowed and suspicious: limits passed, tools that cannot
// fail or are not there, text that only a shell would understand, composites
// that change state in parallel. All its findings are warnings; the errors of a
// matrix come from [routing.Load].
func Check(m *routing.Matrix, o Options) diag.List {
	if o.LookPath == nil {
		o.LookPath = lookPath
	}
	if o.Stat == nil {
		o.Stat = func(path string) error { _, err := os.Stat(path); return err }
	}
	c := &checker{m: m, o: o, wanted: make(map[*routing.Binding]bool), missing: make(map[[2]string]int)}
	used := make(map[*routing.Binding]bool)
	for _, name := range o.Used {
		if b := m.ByName(name); b != nil {
			reach(b, used)
		}
	}
	for b := range used {
		c.wanted[b] = true
	}
	for _, b := range m.Bindings {
		if !b.Pack {
			reach(b, c.wanted)
		}
	}
	c.limits()
	for _, b := range m.Bindings {
		if b.Pack && !c.wanted[b] {
			continue
		}
		if !b.Pack {
			c.binding(b)
			if o.Unused && !groups(b, used) {
				c.warn(diag.UnusedBinding, b, b.Span, "nothing uses %q", b.Name).
					Hint = fmt.Sprintf("write %q in a script, or remove it", b.Usage())
			}
		}
		c.program(b)
		c.server(b)
		c.skill(b)
	}
	c.list.Sort()
	return c.list
}

// server looks for the configuration of the MCP server of b.
func (c *checker) server(b *routing.Binding) {
	if b.Kind != plan.MCP {
		return
	}
	name, _, _ := strings.Cut(b.Target, ":")
	found := c.m.Server(b.Target)
	if found != "" && !c.m.Servers[found].Disabled {
		return
	}
	key := [2]string{"mcp:", name}
	if at, ok := c.missing[key]; ok {
		c.list[at].Related = append(c.list[at].Related, diag.Related{File: b.Source.Name, Span: b.Span, Message: "needed here too"})
		return
	}
	c.missing[key] = len(c.list)
	d := c.warn(diag.MissingServer, b, b.KeySpan("tool"), "no MCP server %q is configured", name)
	d.Hint = fmt.Sprintf("name it below [servers.%s] (command, args, env, or url), or in .mcp.json; until then the line ends in not_configured", tomltree.Key(name))
	if found != "" {
		d.Message = fmt.Sprintf("the MCP server %q is disabled in %s", found, c.m.Servers[found].Origin)
		d.Hint = "enable it; until then the line ends in not_configured"
	}
}

// skill looks for the SKILL.md that b names.
func (c *checker) skill(b *routing.Binding) {
	if b.Skill == "" {
		return
	}
	if _, ok := SkillFile(c.m.Root, b.Skill); ok {
		return
	}
	if _, ok := stdlib.Skill(b.Skill); ok {
		return
	}
	key := [2]string{"skill:", b.Skill}
	if at, ok := c.missing[key]; ok {
		c.list[at].Related = append(c.list[at].Related, diag.Related{File: b.Source.Name, Span: b.Span, Message: "named here too"})
		return
	}
	c.missing[key] = len(c.list)
	c.warn(diag.MissingSkill, b, b.KeySpan("skill"), "there is no skill %q", b.Skill).
		Hint = fmt.Sprintf("write %s/%s/SKILL.md, or leave the key out", skillFolders[0], b.Skill)
}

// reach adds b and all that it expands to.
func reach(b *routing.Binding, set map[*routing.Binding]bool) {
	if set[b] {
		return
	}
	set[b] = true
	for _, m := range b.Members {
		reach(m, set)
	}
}

// groups reports whether b is used, or is a composite of nothing but what is: a name for
// `verify --require`, such as `dialect init` writes, needs no line of its own. It adds b to used then.
func groups(b *routing.Binding, used map[*routing.Binding]bool) bool {
	if used[b] {
		return true
	}
	for _, m := range b.Members {
		if !groups(m, used) {
			return false
		}
	}
	if len(b.Members) > 0 {
		used[b] = true
	}
	return used[b]
}

// lookPath is the LookPath of the zero Options.
func lookPath(program, root string) error {
	if !strings.Contains(program, "/") {
		_, err := exec.LookPath(program)
		return err
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(root, program)
	}
	info, err := os.Stat(program)
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		err = os.ErrPermission
	}
	return err
}

type checker struct {
	m      *routing.Matrix
	o      Options
	wanted map[*routing.Binding]bool // bindings whose tools should be there
	list   diag.List

	missing map[[2]string]int // by file and program: index into list, or -1 if it is there
}

func (c *checker) warn(code diag.Code, b *routing.Binding, span diag.Span, format string, args ...any) *diag.Diagnostic {
	c.list = append(c.list, diag.Warnf(code, b.Source.Name, span, format, args...))
	return &c.list[len(c.list)-1]
}

// limits counts the words and bindings that the project adds.
func (c *checker) limits() {
	verbs, nouns, bindings := make(map[string]bool), make(map[string]bool), 0
	past := func(code diag.Code, key string, b *routing.Binding, n, limit int, what string) {
		if n == limit+1 {
			c.warn(code, b, b.KeySpan(key), "more than %d %s of the project's own", limit, what).
				Hint = "a small vocabulary is what makes the words reliable; [limits] changes the bound"
		}
	}
	for _, b := range c.m.Bindings {
		if b.Pack {
			continue
		}
		if !verbs[b.Verb] {
			verbs[b.Verb] = true
			past(diag.TooManyVerbs, "verb", b, len(verbs), c.m.Limits.Verbs, "verbs")
		}
		if !nouns[b.Noun] {
			nouns[b.Noun] = true
			past(diag.TooManyNouns, "noun", b, len(nouns), c.m.Limits.Nouns, "nouns")
		}
		bindings++
		past(diag.TooManyBindings, "", b, bindings, c.m.Limits.Bindings, "bindings")
	}
}

// evidence reports keys about receipts that do not do what they seem to.
func (c *checker) evidence(b *routing.Binding) {
	if b.Reuse && b.Effect == plan.Write {
		c.warn(diag.BadValue, b, b.KeySpan("reuse"), "commands.%s.reuse has no effect: the binding changes state", b.Name).
			Hint = "only what reads can be repeated by an earlier result; say effect = \"read\" if it does"
	}
	if b.Reuse && b.Kind != plan.Process {
		c.warn(diag.BadValue, b, b.KeySpan("reuse"), "commands.%s.reuse has no effect: it runs no process", b.Name).
			Hint = "say it of the bindings that it stands for"
	}
	if b.Finally && b.WhenFailure {
		c.warn(diag.BadValue, b, b.KeySpan("when"), "commands.%s.when has no effect: finally = true runs it in any case", b.Name)
	}
	for _, pin := range b.Pins {
		path := pin
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.m.Root, filepath.FromSlash(path))
		}
		if c.o.Stat(path) != nil {
			c.warn(diag.BadValue, b, b.KeySpan("pins"), "commands.%s.pins names %s, which does not exist", b.Name, pin)
		}
	}
}

// binding looks at what one binding says.
func (c *checker) binding(b *routing.Binding) {
	tool := b.Syntax.Get("tool")
	c.evidence(b)
	switch {
	case b.Kind == plan.Composite:
		c.composite(b)
		return
	case b.Kind != plan.Process:
		return
	}
	if b.Script != nil {
		if why := template.NeverFails(b.Script.Text); why != "" {
			c.cannotFail(b, b.KeySpan("tool"), why)
		}
		return
	}
	t := b.Template
	if why := t.CannotFail(b.Expect); why != "" {
		c.cannotFail(b, b.KeySpan("tool"), why)
	}
	if len(t.Marks()) == 0 && !strings.Contains(t.Program(), "=") {
		return
	}
	r := tomltree.Reader{Source: b.Source}
	if name, _, ok := strings.Cut(t.Program(), "="); ok && template.IsName(name) {
		c.warn(diag.ShellCharacter, b, r.Inside(tool, 0, len(t.Program())), "%q is taken for the program", t.Program()).
			Hint = "set variables in env = { ... }"
	}
	if len(t.Marks()) == 0 {
		return
	}
	mark := t.Marks()[0] // one is enough: they come in numbers
	hint := "no shell runs, so it reaches the tool as it stands; quote it if that is meant, or say shell = true"
	switch mark.Text {
	case "*":
		hint = "no shell expands it: the tool gets the pattern itself; quote it if that is meant, or say shell = true"
	case "&&", ";", template.LineEnd:
		hint = "bind each command on its own and name them in a composite, or say shell = true"
	}
	what := fmt.Sprintf("%q", mark.Text)
	if mark.Text == template.LineEnd {
		what = mark.Text
	}
	c.warn(diag.ShellCharacter, b, r.Inside(tool, mark.Start, mark.End), "%s in the tool of %q means nothing without a shell", what, b.Name).Hint = hint
}

func (c *checker) cannotFail(b *routing.Binding, span diag.Span, why string) {
	c.warn(diag.CannotFail, b, span, "the tool of %q cannot fail: %s", b.Name, why).
		Hint = "its receipt would prove nothing"
}

// composite looks at the order and effect of a group.
func (c *checker) composite(b *routing.Binding) {
	var writer *routing.Binding
	for _, m := range b.Members {
		if m.Effect == plan.Write && !m.Finally {
			writer = m
			break
		}
	}
	if writer == nil {
		return
	}
	related := []diag.Related{{File: writer.Source.Name, Span: writer.Span, Message: "this one writes"}}
	if b.Parallel {
		d := c.warn(diag.ParallelWrites, b, b.KeySpan("order"), "%q runs %q, which changes state, beside its other members", b.Name, writer.Name)
		d.Hint = "leave order out, or say effect = \"read\" of the member if it only reads"
		d.Related = related
	}
	if v := b.Syntax.Get("effect"); v != nil && v.Text == string(plan.Read) {
		d := c.warn(diag.BadValue, b, b.KeySpan("effect"), "%q cannot only read: its member %q writes", b.Name, writer.Name)
		d.Hint = "say effect = \"read\" of the member if it only reads"
		d.Related = related
	}
}

// program looks for the executable of b.
func (c *checker) program(b *routing.Binding) {
	if b.Kind != plan.Process || b.Template == nil {
		return
	}
	program := b.Template.Program()
	if _, own := b.Env["PATH"]; own && !strings.Contains(program, "/") {
		return // found by a $PATH that is not ours
	}
	key := [2]string{b.Source.Name, program}
	if at, ok := c.missing[key]; ok {
		if at >= 0 { // said already: one line for a program of a file, not one for each use
			c.list[at].Related = append(c.list[at].Related, diag.Related{File: b.Source.Name, Span: b.Span, Message: "needed here too"})
		}
		return
	}
	if c.o.LookPath(program, c.m.Root) == nil {
		c.missing[key] = -1
		return
	}
	c.missing[key] = len(c.list)
	hint := "install it, or bind another tool"
	if b.Pack {
		hint = fmt.Sprintf("install it, or bind \"%s %s\" in the project", b.Verb, b.Noun)
	}
	span := b.KeySpan("tool")
	if tool := b.Syntax.Get("tool"); tool != nil {
		if i := strings.Index(tool.Text, program); i >= 0 {
			r := tomltree.Reader{Source: b.Source}
			span = r.Inside(tool, i, i+len(program))
		}
	}
	c.warn(diag.MissingTool, b, span, "the program %q of %q was not found", program, b.Name).Hint = hint
}

// skillFolders are where agents keep skills, below the root of a project, by preference.
var skillFolders = []string{".dialect/skills", ".claude/skills", ".kilocode/skills", ".agents/skills"}

// SkillFile returns the path of the SKILL.md of a skill of the project at root; ok is false if it is
// missing, or the name is not that of a folder.
func SkillFile(root, name string) (path string, ok bool) {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." {
		return "", false
	}
	for _, folder := range skillFolders {
		path = filepath.Join(root, filepath.FromSlash(folder), name, "SKILL.md")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}
