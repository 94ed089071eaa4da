// Package script finds the script that a command line means: a file, a line of it, lines of the command line itself, or
// standard input. It reads them, and binds nothing.
package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// Read reads the script that the arguments of a command name:
// FILE, FILE:LINE, FILE:LINE.MEMBER, "-" or nothing for standard input, or the lines of -e. What
// is not a file and holds a space is a line. command is the one that was typed, for advice; note gets a line when it
// waits for standard input.
func Read(command string, stdin io.Reader, note func(text string), args, lines []string) (*project.Script, error) {
	switch {
	case len(lines) > 0 && len(args) > 0:
		return nil, beyond(args, lines)
	case len(lines) > 0:
		return &project.Script{Name: "-e", Part: true, Text: []byte(strings.Join(lines, "\n") + "\n")}, nil
	case len(args) == 0 || args[0] == "-":
		return readStdin(stdin, note)
	}
	name, at, suffix := args[0], []int(nil), ""
	_, err := os.Lstat(name)
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		numbers := positions(name[i+1:])
		short, serr := os.Lstat(name[:i])
		switch {
		case numbers != nil && err == nil && serr == nil: // "again:" and rerun name a line, and anyone who can make files could put one there
			return nil, exit.Usagef("%q is a file, and it is a line of the file %q", name, name[:i]).Hint("rename one of them")
		case numbers != nil && err != nil:
			name, at, suffix = name[:i], numbers, name[i:]
		case err != nil && (filepath.Ext(name[:i]) == ".dlct" || serr == nil && short.Mode().IsRegular()):
			return nil, noLine(command, name[:i], name[i+1:])
		}
	}
	if err != nil && at == nil && strings.ContainsAny(name, " \t") && !strings.ContainsAny(name, "\n/\\") && filepath.Ext(name) != ".dlct" {
		return Read(command, stdin, note, nil, []string{name})
	}
	text, err := File("script", name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(command, name, suffix)
	}
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, exit.Failf(exit.Usage, "%v", err)
	}
	s := &project.Script{Name: name, Path: path, Text: text}
	if len(at) > 0 {
		s.Line, s.Member, s.Part = at[0], at[1:], true
	}
	return s, nil
}

// beyond is the error that there are arguments beside the lines of -e: scripts, or the rest of a line without quotes.
func beyond(args, lines []string) error {
	if args[0] == "-" || strings.Contains(args[0], ".dlct") || place.Exists(args[0]) {
		return exit.Usagef("-e takes the place of a script: leave %q out", args[0])
	}
	line := "LINE"
	if len(lines) == 1 {
		line = report.Command([]string{strings.Join(append(lines, args...), " ")})
	}
	return exit.Usagef("-e takes a whole line, and got only %q", lines[0]).Hint("quote the line: -e %s", line)
}

// noLine is the error that at, which follows the name of a script, is the number of no line.
func noLine(command, script, at string) error {
	e := exit.Usagef("%s:%s names no line of %s: want FILE:LINE, or FILE:LINE.MEMBER", script, at, script)
	numbers := strings.FieldsFunc(at, func(r rune) bool { return r == ',' || r == '-' })
	if len(numbers) < 2 || command != "run" && command != "check" || slices.ContainsFunc(numbers, func(n string) bool { return positions(n) == nil }) {
		return e
	}
	for i, n := range numbers {
		numbers[i] = script + ":" + n
	}
	return e.Hint("name several lines one by one: dialect %s %s", command, report.Command(numbers))
}

// positions reads LINE, or LINE.MEMBER and so on; nil for what is neither.
func positions(text string) (numbers []int) {
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// Default returns the script that is run in the working directory if none is named.
func Default(routing string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", exit.Failf(exit.Usage, "%v", err)
	}
	m, _, err := project.LoadMatrix(dir, routing)
	if err != nil {
		return "", exit.NoMatrix(err)
	}
	if lost := project.LostScript(context.Background(), dir, m); lost != "" {
		return "", gone(lost)
	}
	path, several := project.DefaultScript(dir, m)
	switch {
	case path != "":
		return place.Short(path), nil
	case len(several) == 0:
		return "", exit.Usagef("no script: name a FILE, or pipe one in").NoScript(m)
	}
	f := exit.Usagef("no script is named, and there are %d: name one, or set default of [run] in %s", len(several), m.Name)
	for i, path := range several {
		several[i] = report.Command([]string{place.Short(path)})
	}
	return "", f.Hint("here are: %s", strings.Join(several, ", "))
}

// gone is the error that a script is not there any more, where HEAD has it.
func gone(path string) error {
	return exit.Usagef("%v", &project.LostError{Path: path}).Hint("%s", exit.Restore("HEAD", path))
}

// Named returns the line that runs the binding that an argument names; empty where the argument is a script, or a
// line already. The error is that there is no matrix, or no such binding.
func Named(args []string, routing string) (string, error) {
	if len(args) == 0 || strings.ContainsAny(args[0], ": \t/\\") || filepath.Ext(args[0]) == ".dlct" || args[0] == "-" || place.Exists(args[0]) {
		return "", nil
	}
	m, _, err := project.LoadMatrix(".", routing)
	if err != nil {
		return "", exit.NoMatrix(err)
	}
	b, several := m.Named(args[0])
	if b == nil {
		return "", exit.NoBinding(exit.Usage, args[0], m, args[0], several)
	}
	return b.Verb + " with " + b.Noun, nil
}

// File reads a file that the user named; what says in a message what it is.
func File(what, name string) ([]byte, error) {
	f, err := regular.Open(name)
	if errors.Is(err, regular.ErrKind) {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return nil, exit.Usagef("%s is a directory, not a %s", name, what)
		}
		return nil, exit.Usagef("cannot read the %s: %v", what, err).Hint("what another program writes is read from standard input: ... | dialect run")
	}
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, project.MaxScript)); err == nil {
			if project.LeadsOut(name, text) {
				return nil, exit.Usagef("%s is in this repository by a link that leads out of it: nothing of it is run or shown", name).Hint("name the file itself, and the matrix: dialect run --routing routing.toml FILE")
			}
			return text, nil
		}
	}
	return nil, exit.Usagef("cannot read the %s: %w", what, err)
}

// missing is the error that there is no script of that name, with what may be meant; suffix names the line that was asked for.
func missing(command, name, suffix string) error {
	if project.HeadHas(context.Background(), name) {
		return gone(name)
	}
	e := exit.Usagef("there is no script %s", name)
	typed := func(script string) string { return "dialect " + command + " " + report.Command([]string{script}) }
	if above := scriptAbove(name); above != "" {
		return e.Hint("it is above: %s", typed(above+suffix))
	}
	if near := beside(name); near != "" {
		return e.Hint("did you mean %s?", typed(near+suffix))
	}
	found, _ := filepath.Glob("*.dlct")
	switch {
	case len(found) == 0:
		m, _, _ := project.LoadMatrix(".", "")
		return e.NoScript(m)
	case command == "fmt": // which takes no line
	case len(found) == 1 && positions(name) != nil: // as `dialect log 3` names a line
		return e.Hint("line %s of %s: %s", name, found[0], typed(found[0]+":"+name))
	case slices.Contains(found, name+".dlct"):
		return e.Hint("did you mean %s?", typed(name+".dlct"+suffix))
	}
	var lines []struct{ text, place string }
	if command != "fmt" {
		lines = about(name, found)
	}
	for _, l := range lines {
		e.Hint("%q: %s", l.text, typed(l.place))
	}
	if len(lines) > 0 {
		return e
	}
	for i, f := range found {
		found[i] = report.Command([]string{f})
	}
	return e.Hint("here are: %s", strings.Join(found, ", "))
}

// about returns the lines of the scripts that name may mean, since they have its words, as in `test` or `test_go`.
func about(name string, scripts []string) (lines []struct{ text, place string }) {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == ':' })
	for _, path := range scripts {
		text, err := regular.Read(path, project.MaxScript)
		if err != nil {
			continue
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			line = strings.TrimSpace(line)
			has := strings.Fields(strings.ToLower(line))
			if len(words) == 0 || len(line) > 200 || strings.HasPrefix(line, "#") || slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
				continue
			}
			if lines = append(lines, struct{ text, place string }{line, fmt.Sprintf("%s:%d", path, n)}); len(lines) == 3 {
				return lines
			}
		}
	}
	return lines
}

// beside returns the script in the folder of name, another one than this, that name may mean; empty if there is none.
func beside(name string) string {
	dir := filepath.Dir(name)
	if dir == "." {
		return ""
	}
	var found []string
	entries, _ := os.ReadDir(dir)
	for _, f := range entries {
		if filepath.Ext(f.Name()) == ".dlct" {
			found = append(found, f.Name())
		}
	}
	if near := suggest.Near(filepath.Base(name), found); near != "" {
		return filepath.Join(dir, near)
	}
	return ""
}

// scriptAbove returns the nearest script of that name in a folder above this one, as far up
// as the project goes; empty if there is none.
func scriptAbove(name string) string {
	dir, err := os.Getwd()
	if err != nil || filepath.IsAbs(name) {
		return ""
	}
	for up := ".."; !place.Exists(filepath.Join(dir, ".git")) && dir != filepath.Dir(dir); up = filepath.Join("..", up) {
		if dir = filepath.Dir(dir); place.Exists(filepath.Join(dir, name)) {
			return filepath.Join(up, name)
		}
	}
	return ""
}

// stdinNotice is how long standard input may be silent before a notice says that
// it is being waited for.
const stdinNotice = time.Second

// Within returns a reader of r that ends in an error where r has not ended within t. What waits then goes on until the process ends.
func Within(r io.Reader, t time.Duration) io.Reader { return &bounded{r, t, time.Now().Add(t)} }

type bounded struct {
	r   io.Reader
	t   time.Duration
	end time.Time
}

func (b *bounded) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	buf, done := make([]byte, len(p)), make(chan result, 1) // not p: a read that comes late must not write into it
	go func() {
		n, err := b.r.Read(buf)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return copy(p, buf[:r.n]), r.err
	case <-time.After(time.Until(b.end)):
		return 0, fmt.Errorf("it did not end within %v", b.t)
	}
}

func readStdin(stdin io.Reader, note func(text string)) (*project.Script, error) {
	timer := time.AfterFunc(stdinNotice, func() { note("reading the script from standard input") })
	text, err := io.ReadAll(io.LimitReader(stdin, project.MaxScript))
	timer.Stop()
	if err != nil {
		return nil, exit.Usagef("cannot read standard input: %v", err)
	}
	if len(text) == 0 {
		return nil, exit.Usagef("standard input is empty").Hint("pipe a script in, or name a file, such as quality.dlct")
	}
	if shown := diag.HideKeys(string(text)); shown != string(text) { // a message could repeat a part of it
		return nil, exit.Usagef("standard input has a signing key in it, where a script is read").Hint("name the script, or give the key by another descriptor: --key-fd 3 3<FILE")
	}
	return &project.Script{Name: "-", Text: text}, nil
}

// Variables reads the --set flags.
func Variables(set []string) (map[string]string, error) {
	vars := make(map[string]string, len(set))
	for _, kv := range set {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("--set %q: want NAME=VALUE", kv)
		}
		vars[name] = value
	}
	return vars, nil
}

// Used refuses variables that nothing of the programs takes: the name is a slip of another, whose value the lines would run with. What
// [vars] has may be set for any script. It accepts all where a program has errors: a line that cannot be read may take them.
func Used(vars map[string]string, programs ...*project.Program) error {
	if len(vars) == 0 {
		return nil
	}
	var taken []string
	is := make(map[string]bool)
	for _, p := range programs {
		if p.Findings.Count(diag.Error) > 0 || slices.ContainsFunc(p.File.Commands, func(c *lang.Command) bool { return c.Bad }) {
			return nil
		}
		for _, v := range lang.Variables(p.File) {
			if !is[v.Name] {
				is[v.Name], taken = true, append(taken, v.Name)
			}
		}
	}
	known := taken
	for _, p := range programs {
		for _, name := range slices.Sorted(maps.Keys(p.Matrix.Vars)) {
			if !is[name] {
				is[name], known = true, append(known, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if is[name] {
			continue
		}
		e := exit.Usagef("--set %s: no line uses {%s}", report.Command([]string{name}), diag.Printable(name))
		switch near := suggest.Near(name, known); {
		case near != "":
			e.Hint("did you mean --set %s=VALUE?", near)
		case len(taken) == 0:
			e.Hint("no line takes a variable")
		default:
			e.Hint("lines take: %s", strings.Join(taken[:min(len(taken), 10)], ", "))
		}
		return e
	}
	return nil
}

// Flags returns flags without --set of variables that p does not take: with several scripts another one does, and p is run again alone.
func Flags(p *project.Program, flags []string) (kept []string) {
	taken := make(map[string]bool)
	for _, v := range lang.Variables(p.File) {
		taken[v.Name] = true
	}
	for i := 0; i < len(flags); i++ {
		if flags[i] == "--set" && i+1 < len(flags) {
			name, _, _ := strings.Cut(flags[i+1], "=")
			if _, known := p.Matrix.Vars[name]; !known && !taken[name] {
				i++
				continue
			}
			kept = append(kept, flags[i])
			i++
		}
		kept = append(kept, flags[i])
	}
	return kept
}
