package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// hermetic has git read no configuration but the repository's.
func hermetic(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("/usr/bin/git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, name := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+name+"_NAME", "a")
		t.Setenv("GIT_"+name+"_EMAIL", "a@example.com")
	}
}

// simple reports whether the system's configuration, which no test can replace, is one that is read here.
func simple(t *testing.T) bool {
	content, err := os.ReadFile("/etc/gitconfig")
	if err == nil {
		_, err = parseFile(content)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Log("/etc/gitconfig is left to git")
		return false
	}
	return true
}

// TestDirect has repositories of many kinds say the same, read from their files and by git.
func TestDirect(t *testing.T) {
	hermetic(t)
	known := simple(t)
	const begin = `git init -q "$@" . && printf a >a && mkdir -p d/e && printf b >d/e/b && ln -s a l && printf '#!/bin/sh\n' >x && chmod +x x && git add . && `
	for name, c := range map[string]struct {
		script string
		unsure bool
	}{
		"a commit":           {begin + "git commit -q -m x", false},
		"no commit":          {begin + "true", false},
		"no index":           {"git init -q .", false},
		"SHA-256":            {strings.Replace(begin, `"$@"`, "--object-format=sha256", 1) + "git commit -q -m x", false},
		"a detached HEAD":    {begin + "git commit -q -m x && git checkout -q --detach", false},
		"version 4":          {begin + "for i in $(seq 200); do echo $i >d/e/long-name-$i; done; git add . && git update-index --index-version 4", false},
		"version 3":          {begin + "git update-index --skip-worktree d/e/b && git update-index --assume-unchanged a && touch n && git add -N n", false},
		"odd names":          {begin + `for i in é "a b" "t	t" '-x' "$(printf 'n\nn')" "$(head -c 250 /dev/zero | tr '\0' y)"; do echo 1 >"$i"; done; git add . && git commit -q -m x`, false},
		"a conflict":         {begin + "git commit -q -m x && git checkout -q -b o && echo 1 >a && git commit -q -a -m o && git checkout -q - && echo 2 >a && git commit -q -a -m m && ! git merge -q o", false},
		"a worktree":         {"cd .. && rmdir r && mkdir main && cd main && " + begin + "git commit -q -m x && git worktree add -q ../r && cd ../r && git rm -q x", false},
		"a submodule":        {begin + "git init -q s && cd s && git commit -q --allow-empty -m s && cd .. && git add s 2>/dev/null", false},
		"an untracked cache": {begin + "git update-index --untracked-cache 2>/dev/null; git status -s", false},
		"filters":            {begin + "git config filter.x.clean 'tr a b' && git config filter.x.required true && git config core.autocrlf input && git config core.eol lf && git config user.name 'a \"b\" # \\ é'", false},
		"of the user":        {begin + "git config --global filter.lfs.clean 'git-lfs clean -- %f' && git config --global core.autocrlf true && git config core.autocrlf false", false},
		"sparse":             {begin + "git commit -q -m x && git sparse-checkout set --no-cone /d && git config --unset extensions.worktreeConfig; git config core.sparseCheckout true", true},
		"a split index":      {begin + "git update-index --split-index", true},
		"a sparse index":     {begin + "git commit -q -m x && git sparse-checkout set --cone --sparse-index d", true},
		"an include":         {begin + "printf '[core]\\n\\tautocrlf = input\\n' >../more && git config include.path ../../more", true},
		"a quoted value":     {begin + `git config filter.x.clean 'sed "s/a/b/"'`, true},
		"a git file to none": {begin + "mv .git ../g && echo 'gitdir: ../g' >.git", false},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			dir, err := filepath.EvalSymlinks(base)
			if err != nil {
				t.Fatal(err)
			}
			dir = filepath.Join(dir, "r")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-euc", c.script, "sh", "--initial-branch=main")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PWD="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			ctx := context.Background()
			r, err := Discover(ctx, nil, dir)
			if err != nil {
				t.Fatal(err)
			}
			asked := Repository{Git: r.Git, Root: r.Root}
			out, err := asked.Git.Run(ctx, dir, Here(dir), nil, "rev-parse", "--show-object-format", "--git-path", "objects")
			if err == nil {
				err = asked.parse(string(out))
			}
			if err != nil {
				t.Fatal(err)
			}
			wantIndex, wantConfig, err := asked.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			idx, config, err := r.Read(ctx)
			if err != nil || !reflect.DeepEqual(idx, wantIndex) || !reflect.DeepEqual(config, wantConfig) {
				t.Errorf("%v:\n%v\n%+v, and by git\n%v\n%+v", err, idx, config, wantIndex, wantConfig)
			}
			real := func(path string) string {
				path, err := filepath.EvalSymlinks(path)
				if err != nil {
					t.Error(err)
				}
				return path
			}
			if r.Format != asked.Format || real(r.Objects) != real(asked.Objects) {
				t.Errorf("%s, %s; by git %s, %s", r.Format, r.Objects, asked.Format, asked.Objects)
			}
			unsure := r.direct == nil
			if !unsure {
				_, err := r.direct.readIndex(config.Sparse)
				unsure = errors.Is(err, errUnsure)
			}
			if known && unsure != c.unsure {
				t.Errorf("git had to be asked: %v", unsure)
			}
		})
	}
}

// git decides about what is not one, or is damaged.
func TestNotDirect(t *testing.T) {
	hermetic(t)
	for name, script := range map[string]string{
		"an empty .git":          "mkdir .git",
		"no refs":                "git init -q . && rm -r .git/refs",
		"no HEAD":                "git init -q . && rm .git/HEAD",
		"a HEAD that is none":    "git init -q . && echo x >.git/HEAD",
		"a HEAD that is a link":  "git init -q . && rm .git/HEAD && ln -s refs/heads/main .git/HEAD",
		"a .git that is a link":  "git init -q . && mv .git ../g && ln -s ../g .git",
		"a .git to nowhere":      "echo 'gitdir: ../nowhere' >.git",
		"an unknown extension":   "git init -q . && git config core.repositoryformatversion 1 && git config extensions.x y",
		"an unknown version":     "git init -q . && git config core.repositoryformatversion 9",
		"a configuration's FIFO": "git init -q . && rm .git/config && mkfifo .git/config",
	} {
		dir := t.TempDir()
		cmd := exec.Command("sh", "-euc", script)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if d, err := readDirect(filepath.Join(dir, ".git"), "/usr/bin/git"); !errors.Is(err, errUnsure) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := readDirect(filepath.Join(dir, ".git"), "/usr/bin/git"); err != nil && simple(t) {
		t.Error(err)
	}
	if _, err := readDirect(filepath.Join(dir, ".git"), "/opt/git/bin/git"); !errors.Is(err, errUnsure) {
		t.Error("where that git has its configuration is not known")
	}
}

// FuzzParseFile compares what is read of a file of configuration with what git says.
func FuzzParseFile(f *testing.F) {
	for _, text := range []string{
		"", "[core]\n\tautocrlf = input\n", "[core]\nautocrlf\n", "[CORE]\n  EOL=lf\n", "[filter \"a b.c\"]\n\tclean = tr a b\n\tClean=\n", "[filter]\n\tx = y\n",
		"[user]\n\tname = \"a # b\" ; c\n[core]\n\teol = crlf\n", "[core]\n\teol = a \\\n b\n", "[core] eol = lf\n", "[core]\n\teol = \"lf\"\n", "[core]\neol = a  b\n",
		"[extensions]\n\tobjectFormat = sha256\n[core]\nrepositoryformatversion = 1\n", "# c\n; d\n[alias]\n\tx = !f() { :; }\n", "[filter.x]\nclean=a\n", "[a]\nb=[core]\n",
		"[include]\npath = x\n", "[includeIf \"x\"]\npath = x\n", "[core]\r\neol = lf\r\n", "eol = lf\n", "[core]\n\teol = lf # x\n", "[core \"x\"]\neol = lf\n", "[core]\neol\t=\tlf\t\n",
		"[filter \"\"]\nclean = x\n", "[core]\n-x = y\n", "[core]\nx y = z\n", "[x", "[core]]\n", "[core]\v\neol=lf\n", "[core]\neol=\vlf\n", "[core]\neol=lf",
	} {
		f.Add([]byte(text))
	}
	if _, err := os.Stat("/usr/bin/git"); err != nil {
		f.Skip(err)
	}
	const all = `^(core\.(autocrlf|eol|checkroundtripencoding|sparsecheckout|repositoryformatversion)|extensions\..*|filter\..*)$`
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseFile(text)
		if err != nil {
			return
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/usr/bin/git", "config", "-z", "--file", file, "--get-regexp", all)
		cmd.Env = []string{"HOME=/nonexistent"}
		want, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			err = nil // nothing matches
		}
		if err != nil {
			// Git refuses the whole file for a line of a section that is not looked at here. It would do
			// the same whenever it is run in such a repository, as for the objects of HEAD.
			return
		}
		var got []byte
		for _, s := range list {
			got = append(got, s.Key...)
			if s.hasValue {
				got = append(append(got, '\n'), s.Value...)
			}
			got = append(got, 0)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%q: %q, and git says %q", text, got, want)
		}
	})
}

// FuzzParseIndexFile has any bytes be an index, and compares what is read with what git says.
func FuzzParseIndexFile(f *testing.F) {
	if _, err := os.Stat("/usr/bin/git"); err != nil {
		f.Skip(err)
	}
	dir := f.TempDir()
	run := func(args ...string) {
		cmd := exec.Command("/usr/bin/git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			f.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	run("init", "-q", ".")
	for _, name := range []string{"a", "ab/c", "ab/cd", "b"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	run("add", ".")
	for _, version := range []string{"2", "4"} {
		run("update-index", "--index-version", version, "--force-write-index")
		content, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
		run("update-index", "--skip-worktree", "a")
		if content, err = os.ReadFile(filepath.Join(dir, ".git/index")); err != nil {
			f.Fatal(err)
		}
		f.Add(content)
		run("update-index", "--no-skip-worktree", "a")
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		idx, err := parseIndexFile(content, FormatSHA1, largestIndex)
		if err != nil {
			return
		}
		file := filepath.Join(t.TempDir(), "index")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/usr/bin/git", "ls-files", "--stage", "-v", "-z")
		cmd.Dir = dir
		cmd.Env = []string{"HOME=/nonexistent", "GIT_INDEX_FILE=" + file}
		out, err := cmd.Output()
		if err != nil {
			return // git finds more fault with it
		}
		want, err := ParseIndex(out, FormatSHA1)
		if err != nil || !reflect.DeepEqual(idx, want) {
			t.Errorf("%+v, and git says %+v, %v", idx, want, err)
		}
	})
}

// TestLongPaths has an index of version 4 repeat a path of 4,000 bytes in a few: it is read, and is an error, and not for git to read, where its paths
// take more than they may.
func TestLongPaths(t *testing.T) {
	const entries = 500
	long := strings.Repeat(strings.Repeat("p", 249)+"/", 16)[:4000]
	content := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x04"), entries)
	for i := range entries {
		own, strip := fmt.Sprintf("%07d", i), byte(7)
		if i == 0 {
			own, strip = long+own, 0
		}
		entry := make([]byte, 62)
		binary.BigEndian.PutUint32(entry[24:], 0o100644)
		binary.BigEndian.PutUint16(entry[60:], 0xfff)
		content = append(append(append(append(content, entry...), strip), own...), 0)
	}
	content = append(content, make([]byte, 20)...)
	if idx, err := parseIndexFile(content, FormatSHA1, 4007*entries); err != nil || len(idx.list) != entries {
		t.Errorf("%d entries, %v", len(idx.list), err)
	}
	if _, err := parseIndexFile(content, FormatSHA1, 4007*entries-1); err == nil || errors.Is(err, errUnsure) {
		t.Errorf("more than it may: %v", err)
	}
}
