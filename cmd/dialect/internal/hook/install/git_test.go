package install

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
)

// repository makes a repository, without any configuration but its own.
func repository(t *testing.T, config ...string) Installer {
	t.Helper()
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": t.TempDir()} {
		t.Setenv(name, value)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{"init", "-q"}}
	if len(config) > 0 {
		commands = append(commands, append([]string{"config"}, config...))
	}
	for _, args := range commands {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return Installer{Root: root, Program: program, State: t.TempDir()}
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// applyGit puts the hook in, or takes it out.
func applyGit(t *testing.T, in Installer, add bool) Change {
	t.Helper()
	ch, err := in.Git(add)
	if err == nil {
		err = in.Apply([]Change{ch})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// TestGit has the hook of a push go where the project keeps it, and be taken out again byte by byte; what the user adds
// meanwhile stays.
func TestGit(t *testing.T) {
	const commit = "repos:\n  - repo: https://example.org/x\n    hooks:\n      - id: x\n"
	for _, c := range []struct {
		name   string
		config []string // of git
		files  map[string]string
		path   string // that is written
		before string
		begin  string // what it then begins with
		ours   string // a line of it
	}{
		{"git, without a hook", nil, nil, ".git/hooks/pre-push", "", "#!/bin/sh\n" + blockBegin, program + ` hook git pre-push "$@"`},
		{"git, with a hook", nil, nil, ".git/hooks/pre-push", "#!/usr/bin/env bash\necho mine\n", "#!/usr/bin/env bash\n" + blockBegin, program + ` hook git pre-push "$@"`},
		{"git, with a hook that names no shell", nil, nil, ".git/hooks/pre-push", "echo mine\n", "#!/bin/sh\n" + blockBegin, blockEnd + "echo mine\n"},
		{"a folder of hooks in the project", []string{"core.hooksPath", "hooks"}, nil, "hooks/pre-push", "#!/bin/sh\n", "#!/bin/sh\n" + blockBegin, "hook git pre-push"},
		{"husky", []string{"core.hooksPath", ".husky/_"}, nil, ".husky/pre-push", "npm test\n", "#!/bin/sh\n" + blockBegin, blockEnd + "npm test\n"},
		{"lefthook", nil, nil, "lefthook.yml", "pre-commit:\n  commands: {}\n", "pre-commit:\n  commands: {}\n" + blockBegin, "then dialect hook git pre-push '{1}' '{2}'" + orMeant + "; else "},
		{"lefthook, without an end of line", nil, nil, ".lefthook.yaml", "skip: true", "skip: true\n" + blockBegin, "files: echo .lefthook.yaml\n"},
		{"lefthook, of one user", nil, nil, "lefthook-local.yml", "x: y\n", "x: y\n", "files: echo lefthook-local.yml\n"},
		{"lefthook, of a user and of all", nil, map[string]string{".lefthook-local.toml": ""}, ".config/lefthook.yml", "x: y\n", "x: y\n", "files: echo .config/lefthook.yml\n"},
		{"lefthook, of two files", nil, map[string]string{"lefthook.yaml": "", ".config/lefthook.yml": "", "lefthook.json": "", "lefthook-local.yml": ""}, ".lefthook.yml", "x: y\n", "x: y\n", "files: echo .lefthook.yml\n"},
		{"lefthook before pre-commit", nil, map[string]string{".pre-commit-config.yaml": commit}, "lefthook.yml", "x: y\n", "x: y\n", "pre-push:\n"},
		{"pre-commit that is not installed yet", nil, map[string]string{".pre-commit-config.yaml": commit}, ".git/hooks/pre-push", "", "#!/bin/sh\n" + blockBegin, program + ` hook git pre-push "$@"`},
		{"pre-commit", nil, map[string]string{".pre-commit-config.yaml": commit, ".git/hooks/pre-push": "#!/bin/sh\n# " + ofPreCommit + "\n"}, ".git/hooks/pre-push.legacy", "", "#!/bin/sh\n" + blockBegin, program + ` hook git pre-push "$@"`},
		{"pre-commit that keeps a hook", nil, map[string]string{".git/hooks/pre-push": "#!/bin/sh\n# " + ofPreCommit + "\n"}, ".git/hooks/pre-push.legacy", "#!/bin/sh\nmine\n", "#!/bin/sh\n" + blockBegin, blockEnd + "mine\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := repository(t, c.config...)
			for name, text := range c.files {
				put(t, filepath.Join(in.Root, name), text, 0o644)
			}
			path := filepath.Join(in.Root, filepath.FromSlash(c.path))
			if c.before != "" {
				put(t, path, c.before, 0o744)
			}
			ch := applyGit(t, in, true)
			got := text(t, path)
			if ch.Path != path || !strings.HasPrefix(got, c.begin) || strings.Count(got, c.ours) != 1 || strings.Count(got, blockBegin) != 1 || strings.Count(got, blockEnd) != 1 {
				t.Fatalf("%s:\n%s", ch.Path, got)
			}
			if info, err := os.Stat(path); err != nil || strings.HasSuffix(path, "pre-push") && ch.direct && info.Mode().Perm()&0o100 == 0 || c.before != "" && info.Mode().Perm() != 0o744 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if again := applyGit(t, in, true); !again.Unchanged() {
				t.Errorf("it is added twice:\n%s", again.New)
			}
			moved := in
			moved.Program = "/opt/dialect"
			applyGit(t, moved, true)
			now := text(t, path)
			if shared := !strings.Contains(path, ".git/hooks"); shared && (now != got || strings.Contains(now, filepath.Dir(program)) || !strings.Contains(now, "if command -v dialect >")) {
				t.Errorf("a file that a team shares names a path of this machine:\n%s", now)
			} else if !shared && (strings.Contains(now, program) || !strings.Contains(now, "/opt/dialect") || strings.Count(now, blockBegin) != 1) {
				t.Errorf("another dialect does not take the place of the first:\n%s", now)
			}
			applyGit(t, in, true)
			put(t, path, text(t, path)+"# later\n", 0o744)
			applyGit(t, in, false)
			want := c.before + "# later\n"
			switch {
			case c.before == "" || !strings.HasPrefix(c.before, "#!") && strings.HasPrefix(c.begin, "#!"):
				want = "#!/bin/sh\n" + want // it was ours, and the user's text is below it
			case !strings.HasSuffix(c.before, "\n"):
				want = c.before + "\n# later\n"
			}
			if now := text(t, path); now != want {
				t.Errorf("edited meanwhile, and taken out:\n%q\nwant\n%q", now, want)
			}
			// Unedited, the bytes are those that were there, or no file is.
			os.Remove(path)
			if c.before != "" {
				put(t, path, c.before, 0o744)
			}
			applyGit(t, in, true)
			applyGit(t, in, false)
			if now, err := os.ReadFile(path); c.before == "" && !os.IsNotExist(err) || string(now) != c.before {
				t.Errorf("taken out: %q, %v; want %q", now, err, c.before)
			}
		})
	}
}

// TestGitRefused has hooks that are not ours to change: they stay as they are, and the user is given what to add.
func TestGitRefused(t *testing.T) {
	outside := t.TempDir()
	for _, c := range []struct {
		name            string
		config          []string
		path, before    string
		message, advice string
	}{
		{"another language", nil, ".git/hooks/pre-push", "#!/usr/bin/env python3\nprint()\n", "not a script of a shell", program + ` hook git pre-push "$@"`},
		{"one line", nil, ".git/hooks/pre-push", "#!/bin/sh", "it is one line", ""},
		{"half of our block", nil, ".git/hooks/pre-push", "#!/bin/sh\n" + blockBegin + "x\n", "the end of our block is gone", ""},
		{"lefthook with a pre-push", nil, "lefthook.yml", "pre-push :\n  commands: {}\n", "it has a pre-push already", "    dialect:\n      use_stdin: true\n"},
		{"lefthook in TOML", nil, "lefthook.toml", "[pre-commit]\n", "it is not YAML", "      run: |\n"},
		{"lefthook in JSON", nil, ".lefthook.json", "{}\n", "it is not YAML", "pre-push:\n  commands:\n    dialect:\n"},
		{"lefthook in TOML, of one user", nil, ".lefthook-local.toml", "", "it is not YAML", "add what this says there"},
		{"a program", nil, ".git/hooks/pre-push", "\x7fELF\x02\x00\n", "it is a program", program + ` hook git pre-push "$@"`},
		{"a program without a zero", nil, ".git/hooks/pre-push", "\xcf\xfa\xed\xfe\n", "it is a program", program},
		{"hooks of other repositories", []string{"core.hooksPath", outside}, "", "", "core.hooksPath leads to " + outside, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := repository(t, c.config...)
			path := filepath.Join(in.Root, filepath.FromSlash(c.path))
			if c.path != "" {
				put(t, path, c.before, 0o755)
			}
			_, err := in.Git(true)
			var f *exit.Failure
			if !errors.As(err, &f) || f.Status != exit.Failed || !strings.Contains(err.Error(), c.message) || !strings.Contains(strings.Join(f.Hints, "\n"), c.advice) {
				t.Errorf("%v, %q", err, f.Hints)
			}
			if c.path != "" && text(t, path) != c.before {
				t.Errorf("%s", text(t, path))
			}
		})
	}
}

// TestGitHookRuns runs the hook that is written: dialect is asked first with what git says, a refusal ends the push, and what
// follows reads the same. Where that dialect is gone, the one on PATH is asked; without one the push passes, and a line says that it was not checked.
func TestGitHookRuns(t *testing.T) {
	in := repository(t)
	folder := filepath.Join(t.TempDir(), "it's here")
	in.Program = filepath.Join(folder, "dialect")
	put(t, filepath.Join(in.Root, ".git/hooks/pre-push"), "#!/bin/sh\ncat >rest\n", 0o755)
	applyGit(t, in, true)
	const refs = "refs/heads/a 1 refs/heads/a 2\nrefs/heads/b 3 refs/heads/b 4"
	other := filepath.Join(t.TempDir(), "dialect")
	t.Setenv("PATH", filepath.Dir(other)+":/usr/bin:/bin")
	for _, c := range []struct {
		name, at, program string // its script; empty for none
		meant             string // the variable DIALECT
		refused           bool
	}{
		{"passes", in.Program, "exit 0", "", false},
		{"refuses", in.Program, "exit 1", "", true},
		{"refuses, with another value", in.Program, "exit 1", "1", true},
		{"is killed", in.Program, "kill -9 $$", "", true},
		{"is killed, and meant", in.Program, "kill -9 $$", "0", false},
		{"moved, passes", other, "exit 0", "", false},
		{"moved, refuses", other, "exit 1", "", true},
		{"moved, is killed, and meant", other, "kill -9 $$", "0", false},
		{"is gone", in.Program, "", "", false},
	} {
		os.Remove(in.Program)
		os.Remove(other)
		if c.program != "" {
			put(t, c.at, "#!/bin/sh\necho \"$*\" >args\ncat >asked\n"+c.program+"\n", 0o755)
		}
		for _, name := range []string{"args", "asked", "rest"} {
			os.Remove(filepath.Join(in.Root, name))
		}
		cmd := exec.Command(filepath.Join(in.Root, ".git/hooks/pre-push"), "origin", "https://example.org/x")
		cmd.Dir, cmd.Stdin, cmd.Env = in.Root, strings.NewReader(refs+"\n"), append(os.Environ(), "DIALECT="+c.meant)
		out, err := cmd.CombinedOutput()
		if (err != nil) != c.refused {
			t.Errorf("%s: %v: %s", c.name, err, out)
		}
		if gone := "dialect: " + in.Program + " is gone, and none is on PATH: this push is not checked; install dialect, then: dialect hook install --git\n"; c.program == "" && string(out) != gone {
			t.Errorf("%s: %q, want %q", c.name, out, gone)
		}
		if c.program != "" && (text(t, filepath.Join(in.Root, "asked")) != refs+"\n" || text(t, filepath.Join(in.Root, "args")) != "hook git pre-push origin https://example.org/x\n") {
			t.Errorf("%s: it was asked %q %q", c.name, text(t, filepath.Join(in.Root, "args")), text(t, filepath.Join(in.Root, "asked")))
		}
		rest, err := os.ReadFile(filepath.Join(in.Root, "rest"))
		if c.refused != (err != nil) || err == nil && string(rest) != refs+"\n" {
			t.Errorf("%s: what follows read %q, %v", c.name, rest, err)
		}
	}
}

// TestGitHookReads runs the hook without a program on PATH, with each shell that is here: dialect is asked about all that git writes, also
// about a line without an end, and nothing passes that cannot be read. A block that an earlier dialect wrote, which called cat, is renewed.
func TestGitHookReads(t *testing.T) {
	in := repository(t)
	in.Program = filepath.Join(t.TempDir(), "dialect")
	asked, path := filepath.Join(in.Root, "asked"), filepath.Join(in.Root, ".git/hooks/pre-push")
	put(t, in.Program, "#!/bin/sh\nwhile IFS= read -r line; do echo \"<$line>\"; done >asked\n", 0o755)
	put(t, path, "#!/bin/sh\n"+blockBegin+"dialect_refs=$(cat)\n"+blockEnd+"exit 0\n", 0o755)
	if s := in.Status(nil); len(s.Agents) != 1 || !s.Agents[0].Installed {
		t.Errorf("%+v", s)
	}
	applyGit(t, in, true)
	if now := text(t, path); strings.Contains(now, "$(cat)") || strings.Count(now, blockBegin) != 1 {
		t.Fatalf("%s", now)
	}
	for _, shell := range [][]string{{"sh"}, {"bash"}, {"dash"}, {"busybox", "sh"}, {"zsh"}} {
		program, err := exec.LookPath(shell[0])
		if err != nil {
			continue
		}
		for refs, want := range map[string]string{"a 1 b 2\n": "<a 1 b 2>\n", " a\\ 1\n-n 2": "< a\\ 1>\n<-n 2>\n"} {
			os.Remove(asked)
			cmd := exec.Command(program, append(shell[1:len(shell):len(shell)], path, "origin", "x")...)
			cmd.Dir, cmd.Env, cmd.Stdin = in.Root, []string{"PATH=" + filepath.Join(in.Root, "none")}, strings.NewReader(refs)
			if out, err := cmd.CombinedOutput(); err != nil || text(t, asked) != want {
				t.Errorf("%q: %v: %s", shell, err, out)
			}
		}
		os.Remove(asked)
		cmd := exec.Command("sh", append([]string{"-c", `exec "$@" <&-`, "sh", program}, append(shell[1:len(shell):len(shell)], path)...)...)
		cmd.Dir = in.Root
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "dialect: cannot read what git writes of the push\n") {
			t.Errorf("%q, without stdin: %v: %s", shell, err, out)
		}
	}
}

// TestGitState says of git's hook what keeps it from checking a push.
func TestGitState(t *testing.T) {
	in := repository(t)
	bin := t.TempDir()
	in.Program = filepath.Join(t.TempDir(), "it's here", "dialect")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(git, filepath.Join(bin, "git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	check := func(program, fault, advice string) {
		t.Helper()
		r := in.Status(nil)
		if len(r.Agents) != 1 {
			t.Fatalf("%+v", r)
		}
		s := r.Agents[0]
		if s.Agent != "git" || !s.Installed || s.Program != program || s.Fault != fault || s.Advice != advice {
			t.Errorf("%+v, want %q, %q, %q", s, program, fault, advice)
		}
	}
	if r := in.Status(nil); len(r.Agents) != 0 {
		t.Errorf("%+v", r)
	}
	applyGit(t, in, true)
	check("missing", "it names "+in.Program+", which is gone, and none is on PATH: no push is checked", "dialect hook install --git")
	put(t, filepath.Join(bin, "dialect"), "#!/bin/sh\n", 0o755)
	check("missing", "it names "+in.Program+", which is gone: the one on PATH is asked", "dialect hook install --git")
	put(t, in.Program, "#!/bin/sh\n", 0o755)
	check("", "", "")
	hook := filepath.Join(in.Root, ".git/hooks/pre-push")
	if err := os.Chmod(hook, 0o644); err != nil {
		t.Fatal(err)
	}
	check("", "git does not run it: it is not executable", "chmod +x "+hook)
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	in.Program = program
	check("", "", "it names another dialect than this one; `dialect hook install --git` names this one")

	in = repository(t, "core.hooksPath", "hooks") // one that a team shares
	applyGit(t, in, true)
	check("", "", "")
	os.Remove(filepath.Join(bin, "dialect"))
	check("missing", "dialect is not on PATH: no push is checked", "put dialect on PATH")
}

// TestDirect writes a hook of git in the place of a regular file alone.
func TestDirect(t *testing.T) {
	in := repository(t)
	path, target := filepath.Join(in.Root, ".git/hooks/pre-push"), filepath.Join(t.TempDir(), "shared")
	put(t, target, "#!/bin/sh\n", 0o755)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	ch, err := in.Git(true)
	if err == nil {
		err = in.Apply([]Change{ch})
	}
	if err == nil || text(t, target) != "#!/bin/sh\n" {
		t.Errorf("%v: what a link leads to is %q", err, text(t, target))
	}
}

// TestSwitchedOff has a hook that its user switched off stay off, and one that is ours alone be switched on again.
func TestSwitchedOff(t *testing.T) {
	in := repository(t)
	path := filepath.Join(in.Root, ".git/hooks/pre-push")
	mode := func() os.FileMode {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	put(t, path, "#!/bin/sh\nexit 1\n", 0o644)
	if _, err := in.Git(true); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("%v", err)
	}
	if ch, err := in.Git(false); err != nil || !ch.Unchanged() || mode() != 0o644 {
		t.Errorf("%v, %v", err, mode())
	}
	// It is switched off after we added to it, and gets its text back without being switched on.
	put(t, path, "#!/bin/sh\nexit 1\n", 0o755)
	applyGit(t, in, true)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	applyGit(t, in, false)
	if got := text(t, path); got != "#!/bin/sh\nexit 1\n" || mode() != 0o644 {
		t.Errorf("%v: %q", mode(), got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	applyGit(t, in, true)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if applyGit(t, in, true); mode()&0o100 == 0 {
		t.Errorf("%v: ours is not switched on again", mode())
	}
}

// TestWithoutDialect runs what a team shares on a machine without dialect on PATH: the push goes on, and what follows reads what git wrote.
func TestWithoutDialect(t *testing.T) {
	in := repository(t, "core.hooksPath", "hooks")
	path := filepath.Join(in.Root, "hooks/pre-push")
	put(t, path, "#!/bin/sh\ncat >rest\n", 0o755)
	applyGit(t, in, true)
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(cat, filepath.Join(folder, "cat")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "origin", "x")
	cmd.Dir, cmd.Env, cmd.Stdin = in.Root, []string{"PATH=" + folder}, strings.NewReader("a 1 b 2\n")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "dialect is not on PATH: the push is not checked\n" || text(t, filepath.Join(in.Root, "rest")) != "a 1 b 2\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestGitHangs has a FIFO in the place of git's configuration: nobody waits for who writes to it.
func TestGitHangs(t *testing.T) {
	in := repository(t)
	config := filepath.Join(in.Root, ".git", "config")
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", config).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	if _, err := in.Git(true); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
	if in.BeforePreCommit() {
		t.Error("what cannot be read is ours")
	}
}

// TestGitRefuses: where git refuses a repository of another user, the error says so as git does, with what git proposes.
func TestGitRefuses(t *testing.T) {
	in := repository(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	_, err := in.Git(true)
	if err == nil || !strings.Contains(err.Error(), ": detected dubious ownership in repository at ") || !strings.HasSuffix(err.Error(), ": git config --global --add safe.directory "+in.Root) {
		t.Errorf("%v", err)
	}
}
