//go:build unix

package live

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repository makes a repository with a matrix, a script and a remote, and PATH with dialect and programs of folder.
func repository(t *testing.T, dialect, folder string) *project {
	t.Helper()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{root: real, dir: filepath.Join(real, "project"), dialect: dialect, path: folder}
	p.put(t, "project/routing.toml", matrix)
	p.put(t, "project/quality.dlct", "Test with it\n")
	p.put(t, "project/check.sh", check)
	p.put(t, "project/.gitignore", "/.husky/_/\n")
	p.put(t, "project/doomed", "")
	p.must(t, "git", "init", "-q", "-b", "main")
	p.must(t, "git", "config", "user.name", "a")
	p.must(t, "git", "config", "user.email", "a@b")
	p.must(t, "git", "init", "-q", "--bare", "../remote.git")
	p.must(t, "git", "remote", "add", "origin", "../remote.git")
	return p
}

// TestManagers pushes through the programs that keep git's hooks: those that `make test-agents` installs, and pre-commit where the system has it.
func TestManagers(t *testing.T) {
	bin := filepath.Join(os.Getenv("DIALECT_AGENTS"), "managers", "node_modules", ".bin")
	for _, m := range []struct {
		name, program, file, text string
		install                   []string
	}{
		{"lefthook", filepath.Join(bin, "lefthook"), "lefthook.yml", "# ours\npre-commit:\n  commands:\n    a:\n      run: \"true\"\n", []string{"install"}},
		{"husky", filepath.Join(bin, "husky"), ".husky/pre-push", "echo husky ran\n", nil},
		{"pre-commit", "pre-commit", ".pre-commit-config.yaml", "repos:\n  - repo: local\n    hooks:\n      - id: x\n        name: x\n        entry: \"true\"\n        language: system\n", []string{"install", "-t", "pre-push"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			program, err := exec.LookPath(m.program)
			if err != nil {
				t.Skipf("NOT RUN: `make test-agents` runs it: %v", err)
			}
			dialect := build(t)
			p := repository(t, dialect, filepath.Dir(program))
			if m.name == "husky" {
				p.must(t, program)
			}
			p.put(t, "project/"+m.file, m.text)
			p.must(t, dialect, "hook", "install", "--git")
			if m.install != nil {
				p.must(t, program, m.install...)
			}
			if text, err := os.ReadFile(filepath.Join(p.dir, m.file)); err != nil || bytes.Contains(text, []byte(filepath.Dir(dialect))) {
				t.Errorf("what the team shares: %v\n%s", err, text)
			}
			p.must(t, "git", "add", "-A")
			p.must(t, "git", "commit", "-qm", "one")
			if out, err := p.run(t, "git", "push", "origin", "main"); err == nil || !strings.Contains(out, "is not verified") {
				t.Fatalf("pushed: %v\n%s", err, out)
			}
			p.must(t, dialect, "run", "quality.dlct")
			p.must(t, "git", "push", "-u", "origin", "main")
			others(t, p)
			p.put(t, "project/broken", "")
			p.must(t, "git", "add", "-A")
			p.must(t, "git", "commit", "-qm", "two")
			if out, err := p.run(t, "git", "push", "origin", "main"); err == nil || !strings.Contains(out, "is not verified") {
				t.Fatalf("pushed: %v\n%s", err, out)
			}
			hook := filepath.Join(p.dir, ".git", "hooks", "pre-push")
			theirs, err := os.ReadFile(hook)
			if m.name == "husky" {
				hook, err = "", nil // it points git elsewhere
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.name != "husky" && bytes.Contains(theirs, []byte("dialect")) {
				t.Errorf("the hook that %s writes has our line:\n%s", m.name, theirs)
			}
			p.must(t, dialect, "hook", "uninstall", "--git")
			if text, err := os.ReadFile(hook); hook != "" && (err != nil || !bytes.Equal(text, theirs)) {
				t.Errorf("the hook that %s wrote: %v\n%s", m.name, err, text)
			}
			p.must(t, "git", "add", "-A") // pre-commit wants its configuration staged
			if out, err := p.run(t, "git", "push", "origin", "main"); err != nil {
				t.Errorf("after the uninstall: %v\n%s", err, out)
			}
			if text, err := os.ReadFile(filepath.Join(p.dir, m.file)); err != nil || string(text) != m.text {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// others pushes what is not verified beside HEAD, which is: none of it arrives.
func others(t *testing.T, p *project) {
	t.Helper()
	p.must(t, "git", "checkout", "-q", "-b", "bad")
	p.must(t, "git", "rm", "-q", "doomed")
	p.must(t, "git", "commit", "-q", "-m", "bad")
	p.must(t, "git", "init", "-q", "--bare", "../empty.git")
	for _, args := range [][]string{{"origin", "bad"}, {"../empty.git", "bad"}} { // a commit that deletes alone
		if out, err := p.run(t, "git", append([]string{"push"}, args...)...); err == nil || !strings.Contains(out, "bad is not verified") {
			t.Errorf("HEAD, %v: %v\n%s", args, err, out)
		}
	}
	p.must(t, "git", "checkout", "-q", "main")
	for _, args := range [][]string{
		{"origin", "bad"}, {"origin", "main:m2", "bad"}, {"origin", "bad:a", "main:z"}, {"origin", "+bad:main"}, {"origin", "bad:refs/tags/x"}, {"--all", "origin"},
		{"--mirror", "origin"}, {"../empty.git", "bad"}, {"../empty.git", "main", "bad"},
	} {
		if out, err := p.run(t, "git", append([]string{"push"}, args...)...); err == nil || !strings.Contains(out, "bad is not verified") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	for _, remote := range []string{"../remote.git", "../empty.git"} {
		if out, err := p.run(t, "git", "ls-remote", remote); err != nil || strings.Contains(out, strings.TrimSpace(p.must(t, "git", "rev-parse", "bad"))) {
			t.Errorf("%s: %v\n%s", remote, err, out)
		}
	}
	p.must(t, "git", "branch", "-q", "-D", "bad")
}

// TestAction runs what the GitHub action runs: a script where nothing came along, a bundle where it speaks for the commit.
func TestAction(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	script, err := filepath.Abs("../../../../../.github/actions/verify/verify.sh")
	if err != nil {
		t.Fatal(err)
	}
	p := repository(t, build(t), "")
	p.must(t, "git", "add", "-A")
	p.must(t, "git", "commit", "-qm", "one")
	output := filepath.Join(p.root, "output")
	action := func(env ...string) (string, string, error) {
		t.Helper()
		p.put(t, "output", "")
		cmd := exec.Command("bash", script)
		cmd.Dir = p.dir
		cmd.Env = append(append(p.environ(), "GITHUB_OUTPUT="+output, "RUNNER_TEMP="+p.root, "CI=true", "GITHUB_ACTIONS=true"), env...)
		out, err := cmd.CombinedOutput()
		set, rerr := os.ReadFile(output)
		if rerr != nil {
			t.Fatal(rerr)
		}
		return string(out), string(set), err
	}
	out, set, err := action("REQUIRE=test_it")
	if err != nil || !regexp.MustCompile(`^gate=g-[0-9a-f]{12}\nbundle=.*/dialect-bundle.json\n$`).MatchString(set) || !strings.Contains(out, "VERIFIED: test_it passed on HEAD") {
		t.Fatalf("%v\n%s\n%s", err, out, set)
	}
	if out, err := p.run(t, p.dialect, "verify", "--tree", "HEAD", "--bundle", filepath.Join(p.root, "dialect-bundle.json")); err != nil {
		t.Errorf("the bundle that is uploaded: %v\n%s", err, out)
	}
	// A bundle without a key is no more than what its writer says: the script is run.
	p.put(t, "project/broken", "")
	p.must(t, "git", "add", "-A")
	p.must(t, "git", "commit", "-qm", "two")
	for _, env := range [][]string{{"BUNDLE=" + filepath.Join(p.root, "dialect-bundle.json")}, nil} {
		out, set, err = action(env...)
		if err == nil || set != "" || !strings.Contains(out, "::error title=dialect::dialect run quality.dlct ended with status 1") {
			t.Errorf("%v\n%s\n%s", err, out, set)
		}
		if len(env) > 0 && !strings.Contains(out, "::warning title=dialect::a bundle without a key") {
			t.Errorf("%s", out)
		}
	}
}

// TestActionInputs holds that no input of the action becomes an option, an output, a pattern of files or text of a shell. The dialect
// of this test prints what it is asked.
func TestActionInputs(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	script, err := filepath.Abs("../../../../../.github/actions/verify/verify.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"dialect":  "#!/bin/sh\nprintf '<%s>' \"$@\" >>\"$ASKED\"; echo >>\"$ASKED\"\ncase \" $* \" in *' --json '*) printf '{\\n  \"gate\": \"g-0123456789ab\",\\n}\\n' ;; *) echo answer ;; esac\n",
		"quality1": "", "quality2": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, asked, set string
		status           int
		env              []string
	}{
		{"nothing", "<run><--><quality.dlct>\n<verify><--tree><HEAD>\n<verify><--tree><HEAD><--json>\n<receipts><export><--bundle><g-0123456789ab>\n",
			"gate=g-0123456789ab\nbundle=DIR/dialect-bundle.json\n", 0, nil},
		{"a bundle", "<verify><--tree><HEAD><--bundle><b.json><--key><k><--base><h>\n<verify><--tree><HEAD><--json><--bundle><b.json><--key><k><--base><h>\n",
			"gate=g-0123456789ab\nbundle=b.json\n", 0, []string{"BUNDLE=b.json", "KEY=k", "BASE=h"}},
		{"options and shell", "<run><--><--defer-gate>\n<verify><--tree><HEAD><--base><--json; $(touch x)><--require><quality*><--require><$(id)>\n",
			"gate=g-0123456789ab\nbundle=DIR/dialect-bundle.json\n", 0, []string{"SCRIPT=--defer-gate", "BASE=--json; $(touch x)", "REQUIRE=quality* $(id)"}},
		{"an output", "", "", 64, []string{"BUNDLE=b.json\ngate=g-ffffffffffff", "KEY=k"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, output := filepath.Join(t.TempDir(), "asked"), filepath.Join(t.TempDir(), "output")
			cmd := exec.Command("bash", script)
			cmd.Dir = dir
			cmd.Env = append([]string{"PATH=" + dir + ":" + os.Getenv("PATH"), "ASKED=" + asked, "GITHUB_OUTPUT=" + output, "RUNNER_TEMP=" + dir}, c.env...)
			out, err := cmd.CombinedOutput()
			if status := cmd.ProcessState.ExitCode(); status != c.status {
				t.Fatalf("status %d, %v: %s", status, err, out)
			}
			was, _ := os.ReadFile(asked)
			set, _ := os.ReadFile(output)
			if !strings.HasPrefix(string(was), c.asked) || c.asked == "" && len(was) > 0 {
				t.Errorf("dialect was asked\n%s", was)
			}
			if string(set) != strings.ReplaceAll(c.set, "DIR", dir) {
				t.Errorf("the outputs are\n%s", set)
			}
		})
	}
}
