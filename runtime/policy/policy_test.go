package policy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/workspace"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false") // in the background
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// folder is an empty directory, with a configuration of its own for the user.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	t.Setenv("HOME", t.TempDir())
	return dir
}

// load loads the matrix at path with read, or from the disk.
func load(t *testing.T, path string, read func(string) ([]byte, error)) plan.Matrix {
	t.Helper()
	m, _ := routing.Load(path, filepath.Base(path), routing.Options{ReadFile: read})
	return resolve.Matrix(m)
}

// state compares the matrix at path, as it is on the disk, with its baseline.
func state(t *testing.T, path, base string) (State, error) {
	t.Helper()
	return Check(t.Context(), load(t, path, nil), base, func(read func(string) ([]byte, error)) plan.Matrix { return load(t, path, read) })
}

func check(t *testing.T, path, base, want, complaint string) {
	t.Helper()
	s, err := state(t, path, base)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Name(); got != want || !strings.Contains(s.Complaint(), complaint) || complaint == "" && s.Complaint() != "" {
		t.Errorf("%s: %q; want %s: %q", got, s.Complaint(), want, complaint)
	}
}

const matrix = `[commands.test_it]
verb = "test"
noun = "it"
tool = "make test"
pins = ["Makefile", "absent"]

[commands.find_issues]
verb = "find"
noun = "issues"
tool = "mcp:tracker:find"
`

// project has a matrix with pinned files and a configuration of MCP servers; git says whether it
// is committed.
func project(t *testing.T, git bool) (dir, path string) {
	t.Helper()
	dir = folder(t)
	path = filepath.Join(dir, "routing.toml")
	write(t, path, matrix)
	write(t, filepath.Join(dir, "Makefile"), "test:\n")
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"tracker": {"command": "test"}}}`)
	if git {
		sh(t, dir, "git init -q . && git add . && git commit -qm x && git tag base")
	}
	return dir, path
}

func TestCheck(t *testing.T) {
	dir, m := project(t, true)
	check(t, m, "", "unpinned", "")
	check(t, m, "base", "pinned", "")
	write(t, filepath.Join(dir, "Makefile"), "test: ;\n")
	check(t, m, "", "changed", "what the matrix pins is not that of HEAD: Makefile differs (test_it pins it)")
	sh(t, dir, "git commit -qam y")
	check(t, m, "", "unpinned", "")
	check(t, m, "base", "changed", "not that of base: Makefile differs")

	pin, err := New(load(t, m, nil), "", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := pin.Save()
	if err != nil {
		t.Fatal(err)
	}
	check(t, m, "", "pinned", "")
	check(t, m, "base", "changed", "not that of base: Makefile differs") // what is named goes before the pin
	write(t, m, "# two\n"+matrix)
	write(t, filepath.Join(dir, "absent"), "here now\n")
	check(t, m, "", "changed", "the matrix is not that of the pin of "+pin.At.Format(time.DateOnly)+": absent is not in it (test_it pins it), routing.toml differs")
	os.Remove(filepath.Join(dir, "Makefile"))
	check(t, m, "", "changed", "Makefile is gone")

	write(t, file, "damaged")
	if _, err := state(t, m, ""); err == nil {
		t.Error("a damaged pin is not an error")
	}
	if was, err := Remove(dir); !was || err != nil {
		t.Error(was, err)
	}
	if was, err := Remove(dir); was || err != nil {
		t.Error(was, err)
	}
	if _, err := state(t, m, "nowhere"); !errors.Is(err, workspace.ErrNoCommit) {
		t.Error("a base that is not there:", err)
	}
}

// TestNoHead: who takes the commit of HEAD away has the rules compared with nothing only where nothing was ever committed.
func TestNoHead(t *testing.T) {
	for script, want := range map[string]string{
		"true": "",
		"H=$(git rev-parse HEAD); rm -f .git/objects/${H%${H#??}}/${H#??}": "refs/heads/",
		": >.git/$(git symbolic-ref HEAD)":                                 "HEAD",
		"git rev-parse HEAD | tr 0-9a-f 1 >.git/$(git symbolic-ref HEAD)":  "HEAD",
		"echo x >.git/HEAD":  "",
		"rm .git/HEAD":       "does not take",
		"rm -r .git/objects": "does not take",
		"rm -r .git/refs":    "does not take",
		"git tag -d base; rm .git/$(git symbolic-ref HEAD)":                                                  "logs/HEAD",
		"git tag -d base; rm -r .git/logs .git/$(git symbolic-ref HEAD)":                                     "the repository has some",
		"git checkout -q --orphan other":                                                                     "has one",
		"git rev-parse HEAD >.git/x; git checkout -q --detach; rm -r .git/refs/heads/*; git pack-refs --all": "",
	} {
		dir, m := project(t, true)
		sh(t, dir, script)
		write(t, m, "# two\n"+matrix)
		s, err := state(t, m, "")
		if err != nil || s.Complaint() == "" || !strings.Contains(s.Complaint(), want) {
			t.Errorf("%s: %q, %v", script, s.Complaint(), err)
		}
	}
	for _, script := range []string{"git init -q . && git add .", "true", "mkdir .git"} {
		dir, m := project(t, false)
		sh(t, dir, script)
		if s, err := state(t, m, ""); err != nil || s.Complaint() != "" {
			t.Errorf("%s: %q, %v", script, s.Complaint(), err)
		}
	}
}

// Each file of the rules that is added, changed or deleted is a change.
func TestEachFile(t *testing.T) {
	for _, base := range []string{"", "base", "the pin"} {
		for name, c := range map[string]struct{ script, want string }{
			"matrix":                {"echo >> routing.toml", "routing.toml differs"},
			"server":                {"echo '{}' > .mcp.json", ".mcp.json differs"},
			"server deleted":        {"rm .mcp.json", ".mcp.json is gone"},
			"server added":          {"mkdir .cursor && echo '{}' > .cursor/mcp.json", ".cursor/mcp.json is not in it"},
			"server is a folder":    {"rm .mcp.json && mkdir .mcp.json", "cannot compare the matrix with"},
			"server is a FIFO":      {"rm .mcp.json && mkfifo .mcp.json", "cannot compare the matrix with"},
			"pinned":                {"echo >> Makefile", "Makefile differs"},
			"pinned deleted":        {"rm Makefile", "Makefile is gone"},
			"pinned, in no commit":  {"echo > absent", "absent is not in it"},
			"pinned, large":         {"truncate -s 17M absent", "absent: larger than 16 MiB"},
			"pinned is a FIFO":      {"rm Makefile && mkfifo Makefile", "not a regular file"},
			"pin taken out":         {"sed -i '/pins/d' routing.toml && echo >> Makefile", "routing.toml differs"},
			"server taken out":      {"sed -i 's/mcp:tracker:find/true/' routing.toml && rm .mcp.json", "routing.toml differs"},
			"matrix is another one": {"cp routing.toml x.toml && echo >> x.toml && ln -sf x.toml routing.toml", "routing.toml differs"},
		} {
			t.Run(base+"/"+name, func(t *testing.T) {
				dir, m := project(t, true)
				rev := base
				if base == "the pin" {
					rev = ""
					pin, err := New(load(t, m, nil), "", time.Now(), nil)
					if err == nil {
						_, err = pin.Save()
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if s, err := state(t, m, rev); err != nil || s.Complaint() != "" {
					t.Fatal(s, err)
				}
				sh(t, dir, c.script)
				check(t, m, rev, "changed", c.want)
			})
		}
	}
}

// What was loaded is compared, not what is there when the comparison is made.
func TestOneLook(t *testing.T) {
	for _, name := range []string{"routing.toml", "Makefile", ".mcp.json"} {
		for _, base := range []string{"", "base"} {
			dir, m := project(t, true)
			file := filepath.Join(dir, name)
			honest, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, strings.ReplaceAll(string(honest), "test", "best"))
			present := load(t, m, nil)
			write(t, file, string(honest))
			s, err := Check(t.Context(), present, base, func(read func(string) ([]byte, error)) plan.Matrix { return load(t, m, read) })
			if err != nil || s.Name() != receipts.PolicyChanged || len(s.Changes) != 1 || s.Changes[0].Path != name {
				t.Errorf("%s, %q: %s, %+v, %v", name, base, s.Name(), s.Changes, err)
			}
			snap, err := workspace.Take(t.Context(), dir, workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := Agree(present.Files, snap, "it changed"), name+" is not what the matrix was loaded from: it changed"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if got := Agree(load(t, m, nil).Files, snap, "it changed"); got != "" {
				t.Errorf("the same files: %s", got)
			}
		}
	}
}

// A baseline gives the same matrix, wherever it is and however it is asked for.
func TestPlaces(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "other.toml"), matrix)
	write(t, filepath.Join(dir, "a", "routing.toml"), "extends = [\"../other.toml\", \"go\"]\n")
	write(t, filepath.Join(dir, "a", "b", "Makefile"), "x")
	if err := os.Symlink("b/Makefile", filepath.Join(dir, "a", "Makefile")); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "git init -q . && git add . && git commit -qm x && git tag base")
	m := filepath.Join(dir, "a", "routing.toml")
	above := filepath.Join(t.TempDir(), "above")
	if err := os.Symlink(dir, above); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{m, filepath.Join(above, "a", "routing.toml")} {
		check(t, path, "", "unpinned", "")
		check(t, path, "base", "pinned", "")
		b, err := Open(t.Context(), nil, load(t, path, nil), "base")
		if err != nil {
			t.Fatal(err)
		}
		if trusted, present := load(t, path, b.ReadFile), load(t, path, nil); trusted.SHA256 != present.SHA256 {
			t.Errorf("%s: digest %s from the commit, %s from the disk", path, trusted.SHA256, present.SHA256)
		}
		if b.Kind != Base || b.Commit != sh(t, dir, "git rev-parse HEAD") {
			t.Errorf("%+v", b)
		}
		if b, err = Open(t.Context(), nil, load(t, path, nil), b.Commit); err != nil || b.Kind != Base {
			t.Errorf("%+v, %v", b, err)
		}
	}
	write(t, filepath.Join(dir, "a", "b", "Makefile"), "y")
	check(t, m, "base", "changed", "Makefile differs")
	sh(t, dir, "git checkout -q a && rm other.toml")
	check(t, m, "base", "changed", "../other.toml is gone")
	// The baseline is loaded from the commit alone.
	sh(t, dir, "rm -rf a/b a/routing.toml")
	b, err := Open(t.Context(), nil, plan.Matrix{Root: filepath.Dir(m), Path: m}, "base")
	if err != nil {
		t.Fatal(err)
	}
	trusted, list := routing.Load(m, m, routing.Options{ReadFile: b.ReadFile})
	if list.Err() != nil || trusted.ByName("test_it") == nil || trusted.ByName("test_go") == nil {
		t.Error(list.Err())
	}
}

// A matrix that HEAD does not have is new; one that the named baseline does not have is a change.
func TestNew(t *testing.T) {
	dir, m := project(t, false)
	sh(t, dir, "git init -q . && git commit --allow-empty -qm x && git tag base")
	check(t, m, "", "new", "")
	check(t, m, "base", "changed", "has no such matrix")
	if s, err := state(t, m, "base"); err != nil || !s.Lacks || s.New || len(s.Changes) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
	sh(t, dir, "git add routing.toml && git commit -qm y")
	check(t, m, "", "changed", "Makefile is not in it")
	sh(t, dir, "git add . && git commit -qm z")
	check(t, m, "", "unpinned", "")
}

// A pin without the matrix, and one of another project, are no way to a new matrix.
func TestOtherPin(t *testing.T) {
	dir, m := project(t, true)
	pin, err := New(load(t, m, nil), "", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pin.Files = slices.DeleteFunc(pin.Files, func(f File) bool { return f.Path == "routing.toml" })
	file, err := pin.Save()
	if err != nil {
		t.Fatal(err)
	}
	check(t, m, "", "changed", "routing.toml is not in it")
	pin.Root, pin.real = filepath.Join(dir, "other"), ""
	sh(t, dir, "mkdir other")
	other, err := pin.Save()
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "mv "+other+" "+file)
	if s, err := state(t, m, ""); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestFault has a baseline that can be opened, and not read.
func TestFault(t *testing.T) {
	_, m := project(t, false)
	present := load(t, m, nil)
	broken := errors.New("broken")
	b := &Baseline{
		Kind: Base, Name: "base",
		read: func(string) ([]byte, error) { return nil, broken },
		look: func(string) (workspace.Found, error) { return workspace.Found{}, broken },
	}
	trusted := load(t, m, b.ReadFile)
	s := b.See(b.Compare(present, trusted), present, func(string) (workspace.Found, error) { return workspace.Found{Outside: true}, nil })
	if s.Name() != receipts.PolicyChanged || s.Unknown != "broken" || s.Unseen != "" {
		t.Errorf("%s: %+v", s.Name(), s)
	}
}

// TestCompare compares what a loader made: no files, one that the baseline cannot give, and the
// same files with another digest.
func TestCompare(t *testing.T) {
	_, m := project(t, true)
	present := load(t, m, nil)
	b, err := Open(t.Context(), nil, present, "base")
	if err != nil {
		t.Fatal(err)
	}
	if !b.Same(present) || b.Same(plan.Matrix{}) || (&Baseline{Kind: None}).Same(present) {
		t.Error("the same is what has all files as they are")
	}
	for _, c := range []struct {
		change func(*plan.Matrix)
		want   string
	}{
		{func(*plan.Matrix) {}, ""},
		{func(m *plan.Matrix) { m.Files[0].Problem = "larger than 16 MiB" }, present.Files[0].Name + " of base: larger than 16 MiB"},
		{func(m *plan.Matrix) { m.SHA256 = strings.Repeat("0", 64) }, "the same files give another matrix"},
	} {
		trusted := present
		trusted.Files = slices.Clone(present.Files)
		c.change(&trusted)
		if s := b.Compare(present, trusted); s.Unknown != c.want {
			t.Errorf("%q, want %q", s.Unknown, c.want)
		}
	}
}

// An object that was overwritten is no way around the baseline.
func TestOverwritten(t *testing.T) {
	for _, what := range []string{"HEAD", "HEAD^{tree}"} {
		dir, m := project(t, true)
		good, target := sh(t, dir, "git rev-parse HEAD"), sh(t, dir, "git rev-parse "+what)
		write(t, m, strings.ReplaceAll(matrix, "make test", "true"))
		sh(t, dir, "git commit -qam evil")
		evil := sh(t, dir, "git rev-parse "+what)
		sh(t, dir, "cp -f .git/objects/"+evil[:2]+"/"+evil[2:]+" .git/objects/"+target[:2]+"/"+target[2:])
		check(t, m, good, "changed", "does not have the content that its name says")
	}
}

// A pin that somebody else could have made does not count.
func TestPinOfOthers(t *testing.T) {
	dir, m := project(t, true)
	pin, err := New(load(t, m, nil), "", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := pin.Save()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Dir(file), filepath.Dir(filepath.Dir(file))} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, bit := range []os.FileMode{0o020, 0o002} {
			if err := os.Chmod(path, info.Mode().Perm()|bit); err != nil {
				t.Fatal(err)
			}
			if _, err := state(t, m, ""); err == nil || !strings.Contains(err.Error(), "others may write "+path) {
				t.Errorf("%s, %o: %v", path, bit, err)
			}
			if _, err := pin.Save(); path != file && err == nil {
				t.Errorf("%s, %o: a pin is kept there", path, bit)
			}
			if err := os.Chmod(path, info.Mode().Perm()); err != nil {
				t.Fatal(err)
			}
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, 12345, -1); err != nil {
				t.Fatal(err)
			}
			if _, err := state(t, m, ""); err == nil || !strings.Contains(err.Error(), path+" belongs to the user 12345") {
				t.Errorf("%s: %v", path, err)
			}
			if err := os.Chown(path, 0, -1); err != nil {
				t.Fatal(err)
			}
		}
		check(t, m, "", "pinned", "")
	}
	// A FIFO in its place holds nobody up, and is not a pin, whatever is written to it.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "rm "+file+" && mkfifo -m 600 "+file)
	if _, err := state(t, m, ""); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
	fifo, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	if _, err := fifo.Write(text); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(5*time.Second, func() { fifo.Close() }).Stop() // ends who reads it
	if _, err := state(t, m, ""); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("written to: %v", err)
	}
}

// Without a repository, or a commit, there is no baseline; a git that is broken is no way
// around it.
func TestNoBaseline(t *testing.T) {
	dir, m := project(t, false)
	check(t, m, "", "unpinned", "")
	sh(t, dir, "git init -q .")
	check(t, m, "", "unpinned", "")
	sh(t, dir, "git add . && git commit -qm x")
	check(t, m, "", "unpinned", "")
	write(t, filepath.Join(dir, ".git", "config"), "[core\n")
	check(t, m, "", "changed", "cannot compare the matrix with HEAD")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b, err := Open(ctx, nil, load(t, m, nil), "")
	if err == nil && b.Compare(plan.Matrix{}, plan.Matrix{}).Complaint() == "" {
		t.Error("a cancelled comparison passes")
	}
}

// A file outside of the repository is in no commit.
func TestOutside(t *testing.T) {
	dir, m := project(t, true)
	other := filepath.Join(t.TempDir(), "shared.toml")
	write(t, other, "# shared\n")
	write(t, m, "extends = [\""+other+"\"]\n"+matrix)
	sh(t, dir, "git commit -qam x")
	check(t, m, "", "changed", "shared.toml is not in it")
}

// Rules that no snapshot sees, or that are read through other links than in the baseline, are not
// those of the baseline, though their content is.
func TestUnseen(t *testing.T) {
	const change, hidden = "it changed", ", so no snapshot sees it change: take it out of .gitignore"
	for name, c := range map[string]struct {
		script    string
		see, base string // complaints of See: without a commit as baseline, and with one
		agree     string // of a run
	}{
		"as it is":                {"true", "", "", ""},
		"another file is ignored": {"echo x >m.log", "", "", ""},
		"a pin leads to what is ignored": {
			"cp Makefile m.log; ln -sf m.log Makefile", "Makefile is ignored" + hidden, "Makefile is ignored" + hidden, "Makefile is ignored" + hidden,
		},
		"a pin leads out":             {"cp Makefile ../../out; ln -sf ../../out Makefile", "Makefile is a link that leads out of the tree, so", "Makefile is a link that leads out of the tree, so", "Makefile is a link that leads out of the tree, so"},
		"a pin leads to another file": {"cp Makefile other; ln -sf other Makefile", "", "Makefile is a link (a/Makefile -> other), and in base a file of its own", ""},
		"a pin is in a linked folder": {"mv sub other; ln -s other sub", "", "sub/pin is a link (a/sub -> other), and in base a file of its own", ""},
		"a link leads to another":     {"cp real other; ln -sf other alias", "", "alias is a link (a/alias -> other), and in base a link (a/alias -> real)", ""},
		"a link is a file":            {"cp alias x; mv x alias", "", "alias is a file of its own, and in base a link (a/alias -> real)", ""},
		"a pin is ignored":            {"echo Makefile >>.gitignore; git rm -q --cached Makefile", "Makefile is ignored" + hidden, "Makefile is ignored" + hidden, "Makefile is ignored" + hidden},
		"a pinned folder is ignored":  {"echo /sub >>.gitignore; git rm -q -r --cached sub", "sub/pin is ignored" + hidden, "sub/pin is ignored" + hidden, "sub/pin is ignored" + hidden},
		"a pin that is absent is":     {"echo absent >>.gitignore", "absent is ignored" + hidden, "absent is ignored" + hidden, "absent is ignored" + hidden},
		"a pin is in a cache":         {"git mv sub .pytest_cache; git rm -q -r --cached .pytest_cache; ln -s .pytest_cache sub", "sub/pin is in a cache, .pytest_cache, so no snapshot sees it change: pin a file that counts", "sub/pin is in a cache", "sub/pin is in a cache"},
		"the matrix is ignored":       {"echo routing.toml >>.gitignore; git rm -q --cached routing.toml", "", "routing.toml is ignored" + hidden, ""},
		"the matrix leads to what is": {"cp routing.toml r.log; ln -sf r.log routing.toml", "", "routing.toml is ignored" + hidden, ""},
		"what it extends is ignored":  {"echo other.toml >>../.gitignore; git rm -q --cached ../other.toml", "", "../other.toml is ignored" + hidden, ""},
		"the servers are ignored":     {"echo .mcp.json >>.gitignore; git rm -q --cached .mcp.json", "", ".mcp.json is ignored" + hidden, ""},
		"new servers are ignored":     {"mkdir .cursor; echo '{}' >.cursor/mcp.json; echo .cursor >>.gitignore", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := folder(t)
			dir := filepath.Join(root, "p", "a")
			m := filepath.Join(dir, "routing.toml")
			write(t, filepath.Join(root, "p", "other.toml"), matrix)
			write(t, m, "extends = [\"../other.toml\"]\n[commands.lint_it]\nverb = \"lint\"\nnoun = \"it\"\ntool = \"true\"\npins = [\"sub/pin\", \"alias\"]\n")
			write(t, filepath.Join(dir, "Makefile"), "test:\n")
			write(t, filepath.Join(dir, "sub", "pin"), "pin\n")
			write(t, filepath.Join(dir, ".mcp.json"), "{}")
			write(t, filepath.Join(dir, ".gitignore"), "*.log\n")
			write(t, filepath.Join(root, "p", ".gitignore"), "*.pid\n")
			sh(t, dir, "echo x >real; ln -s real alias; cd .. && git init -q . && git add . && git commit -qm x && git tag base")
			sh(t, dir, c.script)
			present := load(t, m, nil)
			snap, err := workspace.Take(t.Context(), dir, workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			look := func(path string) (workspace.Found, error) { return snap.Lookup(path), nil }
			pin, err := New(present, "", time.Now(), nil)
			if err != nil {
				t.Fatal(err)
			}
			commit, err := Open(t.Context(), nil, present, "base")
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range []struct {
				*Baseline
				want string
			}{{&Baseline{Kind: None}, c.see}, {pin.baseline(), c.see}, {commit, c.base}} {
				s := b.See(State{Kind: b.Kind}, present, look)
				if got := s.Complaint(); !strings.HasPrefix(got, b.want) || b.want == "" && got != "" || got != "" && s.Name() != receipts.PolicyChanged {
					t.Errorf("%s: %s: %q, want %q", b.Kind, s.Name(), got, b.want)
				}
			}
			if got := Agree(present.Files, snap, change); !strings.HasPrefix(got, c.agree) || c.agree == "" && got != "" {
				t.Errorf("%q, want %q", got, c.agree)
			}
		})
	}
}

// A pin outside of the worktree is in no snapshot: with each, the file itself is compared, unless
// it could not be read in the first place.
func TestPinOutside(t *testing.T) {
	dir := folder(t)
	m, out := filepath.Join(dir, "p", "routing.toml"), filepath.Join(dir, "shared")
	// The second is below a file, the third is not there.
	write(t, m, strings.Replace(matrix, `"Makefile"`, `"../shared", "../shared/below", "../gone"`, 1))
	for _, c := range []struct{ before, change, want string }{
		{"true", "true", ""},
		{"true", "echo more >>shared", "../shared is not what"},
		{"true", "rm shared", "../shared is not what"},
		{"true", "rm shared; mkfifo shared", "../shared is not what"},
		{"true", "echo >gone", "../gone is not what"},
		{"true", "mkfifo gone", "../gone is not what"},
		{"true", "cp shared x; rm shared; mkdir shared; mv x shared/below", "../shared is not what"},
		{"rm shared; mkfifo shared", "true", ""},
	} {
		sh(t, dir, "rm -rf shared gone; echo shared >shared;"+c.before)
		present := load(t, m, nil)
		sh(t, dir, c.change)
		snap, err := workspace.Take(t.Context(), filepath.Dir(m), workspace.Options{})
		if err != nil || !snap.Lookup(out).Outside {
			t.Fatal(err)
		}
		if got := Agree(present.Files, snap, "it changed"); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s; %s: %q", c.before, c.change, got)
		}
	}
}

// TestNoHome asks without a folder where a pin could be: none may be overlooked.
func TestNoHome(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "routing.toml"), "")
	sh(t, dir, "git init -q . && git add . && git commit -qm x")
	m := load(t, filepath.Join(dir, "routing.toml"), nil)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	if _, err := Open(t.Context(), nil, m, ""); err == nil || !strings.Contains(err.Error(), "set HOME to a folder of your own, or name the commit that you trust with --base") {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), nil, m, "HEAD"); err != nil {
		t.Errorf("with a base: %v", err)
	}
}

// TestPinAndLinks pins a project and asks about it through a link, pins one through a link, and
// puts a link in the place of a pinned one.
func TestPinAndLinks(t *testing.T) {
	dir, m := project(t, true)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	through := filepath.Join(link, "routing.toml")
	for _, path := range []string{m, through} {
		pin, err := New(load(t, path, nil), "", time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pin.Save(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{m, through} {
			check(t, path, "", "pinned", "")
			if !IsPinned(filepath.Dir(path)) {
				t.Errorf("%s is not pinned", path)
			}
		}
		if there, err := Remove(link); !there || err != nil {
			t.Errorf("%v, %v", there, err)
		}
		check(t, m, "", "unpinned", "")
	}
	pin, err := New(load(t, m, nil), "", time.Now(), nil)
	if err == nil {
		_, err = pin.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
	sh(t, filepath.Dir(dir), "mv "+dir+" "+dir+".moved && ln -s "+dir+".moved "+dir)
	if s, err := state(t, m, ""); err == nil || !strings.Contains(err.Error(), "it now links to") {
		t.Errorf("%+v, %v", s, err)
	}
	// A link that was pinned through, and leads to a copy of the project now.
	other := filepath.Join(t.TempDir(), "link")
	sh(t, filepath.Dir(dir), "ln -s "+dir+".moved "+other+" && cp -r "+dir+".moved "+dir+".copy")
	if pin, err = New(load(t, filepath.Join(other, "routing.toml"), nil), "", time.Now(), nil); err == nil {
		_, err = pin.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
	check(t, filepath.Join(other, "routing.toml"), "", "pinned", "")
	sh(t, filepath.Dir(dir), "ln -sfn "+dir+".copy "+other)
	if s, err := state(t, filepath.Join(other, "routing.toml"), ""); err == nil || !strings.Contains(err.Error(), "it now links to") {
		t.Errorf("%+v, %v", s, err)
	}
	if !IsPinned(other) {
		t.Error("a link that leads elsewhere now is not pinned")
	}
	// Once its pin is removed there is nothing that the link could contradict.
	sh(t, filepath.Dir(dir), "ln -sfn "+dir+".moved "+other)
	if there, err := Remove(other); !there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	kept, err := path(other)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "ln -s /nowhere "+kept)
	if !IsPinned(other) {
		t.Error("a pin that is a link to nothing is there, and is said not to be")
	}
	sh(t, dir, "rm "+kept)
	sh(t, filepath.Dir(dir), "ln -sfn "+dir+".copy "+other)
	if p, err := Load(other); p != nil || err != nil || IsPinned(other) {
		t.Errorf("after its pin was removed: %v, %v, pinned %v", p, err, IsPinned(other))
	}
}

// TestPinExchanged has somebody put another project in the place of the one that is pinned, before and after its files were looked at.
func TestPinExchanged(t *testing.T) {
	dir, m := project(t, true)
	loaded := load(t, m, nil)
	exchange := func() {
		sh(t, filepath.Dir(dir), "mv "+dir+" "+dir+"-away && mkdir "+dir+" && echo '# weak' >"+dir+"/routing.toml")
	}
	pin, err := New(loaded, "", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := pin.Here(); err != nil {
		t.Error(err)
	}
	sh(t, filepath.Dir(dir), "mkdir -p elsewhere && mv "+dir+" "+dir+"-real && ln -s elsewhere "+dir)
	if file, err := pin.Save(); !errors.Is(err, errExchanged) {
		t.Errorf("saved in %s: %v", file, err)
	}
	sh(t, filepath.Dir(dir), "rm "+dir+" && mv "+dir+"-real "+dir)
	sh(t, filepath.Dir(dir), "cp -a "+dir+" "+dir+"-copy && mv "+dir+" "+dir+"-real && ln -s "+dir+"-copy "+dir)
	if pin, err = New(loaded, "", time.Now(), nil); err == nil {
		err = pin.Here()
	}
	if err == nil {
		t.Error("made of the same files of another project")
	}
	sh(t, filepath.Dir(dir), "rm "+dir+" && mv "+dir+"-real "+dir)
	exchange()
	if _, err := New(loaded, "", time.Now(), nil); !errors.Is(err, errExchanged) {
		t.Errorf("made of another project's folder: %v", err)
	}
}

// TestPlaceOfPin compares with a pin of other files than the matrix: it still says in which working tree the project counts. Where nothing says in which
// one the files are, nothing contradicts it.
func TestPlaceOfPin(t *testing.T) {
	_, m := project(t, false)
	present := load(t, m, nil)
	b := &Baseline{Kind: Pinned, Name: "the pin", root: "/tree"}
	s := b.Compare(present, plan.Matrix{Root: present.Root, Path: present.Path, Files: []plan.File{{Path: present.Path, Name: "routing.toml", Absent: true}}})
	if !s.At("/elsewhere").Apart() || s.At("/tree").Apart() || s.At("").Apart() {
		t.Errorf("%q, %q, %q", s.At("/elsewhere").Complaint(), s.At("/tree").Complaint(), s.At("").Complaint())
	}
}

// TestOldPin: a pin that does not say which working tree counts holds in any, but not where git takes a repository for none.
func TestOldPin(t *testing.T) {
	dir, m := project(t, true)
	pin, err := New(load(t, m, nil), "", time.Now(), nil)
	if err == nil {
		_, err = pin.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
	check(t, m, "", "pinned", "")
	if s, _ := state(t, m, ""); s.At("/elsewhere").Complaint() != "" {
		t.Error(s.At("/elsewhere").Complaint())
	}
	sh(t, dir, "mv .git/HEAD .git/was")
	check(t, m, "", "changed", "git does not take "+dir+"/.git for a repository")
	sh(t, dir, "mv .git .kept")
	check(t, m, "", "pinned", "")
}
