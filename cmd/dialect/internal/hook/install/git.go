package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// gitClient stands for git's pre-push hook, whichever program keeps it.
func gitClient(manager string) Client { return Client{Name: "git", Title: manager} }

const (
	blockBegin = "# >>> dialect hook\n"
	blockEnd   = "# <<< dialect hook\n"
)

// Git says what git's pre-push hook becomes: in the configuration of lefthook or pre-commit, in husky's folder, or in the hook itself, where
// core.hooksPath has it. add is false to take it out.
func (in Installer) Git(add bool) (ch Change, err error) {
	ch.Level = Project
	has := func(names ...string) string {
		for _, n := range names {
			if path := filepath.Join(in.Root, n); place.Exists(path) {
				return path
			}
		}
		return ""
	}
	var edit func(text []byte) ([]byte, error)
	lefthook := has("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml")
	precommit := has(".pre-commit-config.yaml")
	if !place.Exists(filepath.Join(in.Root, ".git")) {
		return ch, exit.Failf(exit.Failed, "this is not a git repository: --git is about its pre-push hook")
	}
	hooks, err := in.hooks()
	switch {
	case err != nil:
		return ch, exit.Failf(exit.Failed, "%v", err)
	case lefthook != "":
		ch.Client, ch.Path, edit = gitClient("lefthook"), lefthook, in.lefthook
	case precommit != "":
		ch.Client, ch.Path, edit = gitClient("pre-commit"), precommit, in.preCommit
	case filepath.Base(hooks) == "_" && filepath.Base(filepath.Dir(hooks)) == ".husky":
		ch.Client, ch.Path, edit = gitClient("husky"), filepath.Join(filepath.Dir(hooks), "pre-push"), in.script
	default:
		ch.Client, ch.Path, edit, ch.direct = gitClient("git"), filepath.Join(hooks, "pre-push"), in.script, true
	}
	if ch.Old, err = current(ch.Path); err != nil {
		return ch, exit.Failf(exit.Failed, "cannot read %s: %v", ch.Path, err)
	}
	r := in.record(ch.Path)
	clean, err := unblock(ch.Old)
	if err != nil {
		return ch, exit.Failf(exit.Failed, "%s was left as it is: %v", ch.Path, err)
	}
	if r != nil && digest(ch.Old) == r.After {
		clean = r.Before
	} else if r != nil && r.Before == nil && strings.TrimSpace(string(clean)) == "#!/bin/sh" {
		clean = nil
	}
	if ch.New = clean; !add {
		return ch, nil
	}
	if ch.New, err = edit(clean); err != nil {
		return ch, left(ch.Path, err)
	}
	ch.record = &record{Client: "git", Level: Project, Path: ch.Path, At: now(), Before: clean, After: digest(ch.New)}
	if r != nil {
		ch.record.Made = r.Made
	}
	return ch, nil
}

// A manual error says that an edit is the user's to make.
type manual struct{ why, add string }

func (m *manual) Error() string { return m.why }

// hooks returns the folder of git's hooks for the project.
func (in Installer) hooks() (string, error) {
	program, err := git.FindGit("", in.Root) // not one that the project brings
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program.Program, "rev-parse", "--path-format=absolute", "--git-path", "hooks", "--git-common-dir")
	cmd.Dir = in.Root
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err == nil && len(lines) != 2 {
		err = errors.New("an answer of another form")
	}
	if err != nil {
		return "", fmt.Errorf("git does not say where the hooks of %s are: %w", in.Root, err)
	}
	hooks, common := filepath.Clean(lines[0]), filepath.Clean(lines[1])
	for _, dir := range []string{in.Root, common} {
		if rel, err := filepath.Rel(dir, hooks); err == nil && filepath.IsLocal(rel) {
			return hooks, nil
		}
	}
	return "", fmt.Errorf("core.hooksPath leads to %s, which other repositories use, too: add the line yourself: %s", hooks, in.pushLine())
}

// quoted is the program as a word of a shell.
func (in Installer) quoted() string {
	if plainPath().MatchString(in.Program) {
		return in.Program
	}
	return "'" + strings.ReplaceAll(in.Program, "'", `'\''`) + "'"
}

func (in Installer) pushLine() string { return in.quoted() + ` hook git pre-push "$@"` }

// unblock returns a text without our block.
func unblock(text []byte) ([]byte, error) {
	from := bytes.Index(text, []byte(blockBegin))
	if from < 0 {
		return text, nil
	}
	from = bytes.LastIndexByte(text[:from], '\n') + 1 // it may be indented
	to := bytes.Index(text[from:], []byte(blockEnd))
	if to < 0 {
		return nil, errors.New("the end of our block is gone: take it out by hand")
	}
	return append(append([]byte{}, text[:from]...), text[from+to+len(blockEnd):]...), nil
}

// script returns a hook that is a script of a shell with our block at its begin. What git writes to a hook can be read once, so that the block
// hands it on to what follows.
func (in Installer) script(text []byte) ([]byte, error) {
	head, rest := []byte("#!/bin/sh\n"), text
	if bytes.HasPrefix(text, []byte("#!")) {
		i := bytes.IndexByte(text, '\n') + 1
		if i == 0 {
			return nil, errors.New("it is one line")
		}
		head, rest = text[:i], text[i:]
		if !isShell(string(head)) {
			return nil, &manual{"it is not a script of a shell", "call this in it: " + in.pushLine()}
		}
	}
	block := blockBegin + "dialect_refs=$(cat)\n" +
		"if [ -x " + in.quoted() + " ]; then printf '%s\\n' \"$dialect_refs\" | " + in.pushLine() + " || exit 1; fi\n" +
		"exec <<DIALECT_REFS\n$dialect_refs\nDIALECT_REFS\n" + blockEnd
	return append(append(append([]byte{}, head...), block...), rest...), nil
}

// isShell reports whether a first line names a shell.
func isShell(line string) bool {
	return regexp.MustCompile(`^#! *(/usr)?/bin/(env +)?(sh|bash|dash|zsh|ksh)\s`).MatchString(line)
}

// lefthook returns its configuration with our command.
func (in Installer) lefthook(text []byte) ([]byte, error) {
	block := "pre-push:\n  commands:\n    dialect:\n      use_stdin: true\n      run: " + in.quoted() + " hook git pre-push {1} {2}\n"
	if regexp.MustCompile(`(?m)^pre-push\s*:`).Match(text) {
		return nil, &manual{"it has a pre-push already", "add this to its commands:\n" + strings.Join(strings.Split(block, "\n")[2:], "\n")}
	}
	return appended(text, block), nil
}

// appended is text with our block at its end.
func appended(text []byte, block string) []byte {
	out := append([]byte{}, text...)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return append(out, blockBegin+block+blockEnd...)
}

// preCommit returns its configuration with our hook, at the end of its repositories.
func (in Installer) preCommit(text []byte) ([]byte, error) {
	lines := []string{
		"- repo: local", "  hooks:", "    - id: dialect-verify", "      name: dialect verify", "      entry: " + in.quoted() + " hook git pre-push",
		"      language: system", "      pass_filenames: false", "      always_run: true", // at a commit it has no tip: the name of the stage of a push changed
	}
	repos := regexp.MustCompile(`(?m)^( *)- +repo *:`).FindAllSubmatch(text, -1)
	tops := regexp.MustCompile(`(?m)^([A-Za-z_]+) *:`).FindAllSubmatch(text, -1)
	if len(repos) == 0 || len(tops) == 0 || string(tops[len(tops)-1][1]) != "repos" {
		return nil, &manual{"its repos are not its last key", "add this to them:\n" + strings.Join(lines, "\n")}
	}
	indent := string(repos[len(repos)-1][1])
	return appended(text, indent+strings.Join(lines, "\n"+indent)+"\n"), nil
}

// writeDirect writes a hook of git, which stands where no other command of dialect writes.
func writeDirect(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		mode = info.Mode().Perm() | 0o100
	}
	return blob.Write(path, text, mode)
}
