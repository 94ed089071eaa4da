//go:build unix

package trial_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/survey"
	"github.com/command-dialect/dialect/cmd/dialect/internal/trial"
)

// project makes a repository with these files, committed, and returns the plan for it.
func project(t *testing.T, files map[string]string) scaffold.Plan {
	t.Helper()
	for _, program := range []string{"make", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not there")
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git := exec.Command("sh", "-c", "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")
	git.Dir = dir
	git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := survey.Look(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// names returns what is in a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestTry(t *testing.T) {
	const code = "package p\nfunc  F() {}\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // outcome and reason of each line
		left  string // new files
	}{
		"passes":               {map[string]string{"Makefile": "test:\n\t@echo ok\n"}, "Test with make: runs", ""},
		"is red":               {map[string]string{"Makefile": "lint:\n\t@printf 'a.c:1:2: error: x\\na.c:3: error: y\\n'; exit 1\ntest:\n\t@echo b.c:9: error: z; exit 1\n"}, "Check with make: red, 2 places, first: a.c:1: x; Test with make: red, b.c:9: z", ""},
		"is missing":           {map[string]string{"Makefile": "test:\n\t@no-such-program-here\n"}, "Test with make: needs, no-such-program-here is missing", ""},
		"sums up":              {map[string]string{"Makefile": "lint:\n\t@echo some files are not well; exit 1 || :\ntest:\n\t@true\n"}, "Check with make: red, some files are not well; Test with make: runs", ""},
		"sums up in a frame":   {map[string]string{"Makefile": "test:\n\t@printf -- '-----\\nthe order of keys is wrong\\n-----\\n\\n'; exit 1\n"}, "Test with make: red, the order of keys is wrong", ""},
		"a gem is missing":     {map[string]string{"Makefile": "test:\n\t@echo \"<internal:/usr/lib/ruby/require.rb>:85:in 'require': cannot load such file -- simplecov (LoadError)\"; exit 1\n"}, "Test with make: needs, simplecov is missing", ""},
		"a gem of a Gemfile":   {map[string]string{"Makefile": "test:\n\t@echo \"Could not find gem 'ronn-ng' in locally installed gems.\"; exit 7\n"}, "Test with make: needs, ronn-ng is missing", ""},
		"a module is missing":  {map[string]string{"Makefile": "test:\n\t@echo \"E   ModuleNotFoundError: No module named 'thing'\"; exit 1\n"}, "Test with make: needs, thing is missing", ""},
		"a Makefile says so":   {map[string]string{"Makefile": "$(error Did you forget to run `npm install`? utilities not found: urchin semver)\ntest:\n\t@true\n"}, "Test with make: needs, urchin is missing", ""},
		"is not built":         {map[string]string{"Makefile": "test:\n\t@echo 'ui/serve.go:15:12: pattern build/*: no matching files found'; exit 1\n"}, "Test with make: needs, build/* is missing", ""},
		"cannot fetch itself":  {map[string]string{"Makefile": "test:\n\t@echo 'ERROR  Refusing to run pnpm@10.33.0: its npm registry signature could not be verified'; exit 1\n"}, "Test with make: needs, a package cannot be fetched: ERROR  Refusing to run pnpm@10.33.0: its npm registry signature could not be verified", ""},
		"cannot fetch offline": {map[string]string{"Makefile": "test:\n\t@printf 'q.go:3:8: module lookup disabled by GOPROXY=off\\nFAIL\\tq [setup failed]\\n'; exit 1\n"}, "Test with make: needs, a package cannot be fetched: q.go:3:8: module lookup disabled by GOPROXY=off", ""},
		"cargo is offline":     {map[string]string{"Makefile": "test:\n\t@printf 'error: no matching package named `itoa` found\\nlocation searched: crates.io index\\nAs a reminder, you'\\''re using offline mode (--offline)\\n'; exit 1\n"}, "Test with make: needs, a package cannot be fetched: error: no matching package named `itoa` found", ""},
		"has no server":        {map[string]string{"Makefile": "test:\n\t@printf -- '--- FAIL: TestA (0.00s)\\n    a_test.go:3: dial tcp 127.0.0.1:5432: connect: connection refused\\nFAIL\\n'; exit 1\n"}, "Test with make: red, 1 test, first: a_test.go:3: TestA: dial tcp 127.0.0.1:5432: connect: connection refused", ""},
		"is not installed itself": {map[string]string{"Makefile": "test:\n\t@printf '____ test_v ____\\nE   importlib.metadata.PackageNotFoundError: No package metadata was found for thing\\na.py:3: PackageNotFoundError\\n1 failed, 3 passed in 0.1s\\n'; exit 1\n"},
			"Test with make: red, 1 of 4 tests, first: a.py:3: importlib.metadata.PackageNotFoundError: No package metadata was found for thing; thing is not installed", ""},
		"a module is not tidy": {map[string]string{"Makefile": "test:\n\t@printf 'go: updates to go.mod needed; to update it:\\n\\tgo mod tidy\\n'; exit 1\n"}, "Test with make: needs, its go.mod is not up to date (go mod tidy)", ""},
		"a sum is missing":     {map[string]string{"Makefile": "test:\n\t@printf 'go: example.com/x@v1.0.0: missing go.sum entry for go.mod file; to add it:\\n\\tgo mod download example.com/x\\n'; exit 1\n"}, "Test with make: needs, its go.sum lacks a module (go mod tidy)", ""},
		"a test has a name":    {map[string]string{"Makefile": "test:\n\t@printf -- '--- FAIL: TestA (0.00s)\\n    a_test.go:3: got 1\\nFAIL\\nFAIL\\tx\\t0.1s\\n'; exit 1\n"}, "Test with make: red, 1 test, first: a_test.go:3: TestA: got 1", ""},
		"changes a file":       {map[string]string{"Makefile": "test:\n\t@echo x >>a.txt\n", "a.txt": ""}, "Test with make: writes, it changed a.txt, put back as before", ""},
		"leaves a file":        {map[string]string{"Makefile": "test:\n\t@touch new.txt\n"}, "Test with make: runs", "new.txt"},
		"nothing runs it":      {map[string]string{"go.mod": "module p\n\ngo 1.21\n", "p.go": code, "p_test.go": "package p\n"}, "Format with gofmt: stranger, no file of the project runs it, and it says no: 1 file, first: p.go; Check with vet: runs; Test with go: vacuous, it tested nothing", ""},
		"leaves a cache":       {map[string]string{"Makefile": "test:\n\t@mkdir __pycache__; touch __pycache__/a.pyc\n"}, "Test with make: runs", "__pycache__"},
		"the project runs it":  {map[string]string{"go.mod": "module p\n\ngo 1.21\n", "p.go": code, "Makefile": "x:\n\tgofmt -l .\n"}, "Format with gofmt: red, 1 file, first: p.go; Check with vet: runs; Test with go: vacuous, it tested nothing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("gofmt"); err != nil && c.files["go.mod"] != "" {
				t.Skip(err)
			}
			p := project(t, c.files)
			before := names(t, p.Dir)
			results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
			if err != nil {
				t.Fatal(err)
			}
			var got, left []string
			for _, r := range results {
				text := r.Line.Text + ": " + string(r.Outcome)
				if r.Why != "" {
					text += ", " + r.Why
				}
				if r.Line.Install != "" && r.Outcome == trial.Needs {
					text += " (" + r.Line.Install + ")"
				}
				got, left = append(got, text), slices.Concat(left, r.Left, r.Caches, r.Beyond)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
			if text := strings.Join(left, " "); text != c.left {
				t.Errorf("left %q, want %q", text, c.left)
			}
			after := slices.DeleteFunc(names(t, p.Dir), func(n string) bool { return n == c.left })
			if !slices.Equal(before, after) {
				t.Errorf("the folder has %q, and had %q", after, before)
			}
		})
	}
}

// What the packages of a project do not have is not to be had by installing them once more.
func TestUnhelped(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(err)
	}
	p := project(t, map[string]string{
		"package.json":      `{"devDependencies": {"thing": "1"}, "scripts": {"lint": "eslint-lite src", "test": "node t.js"}}`,
		"package-lock.json": `{}`,
		"t.js":              "require('other')\n",
		".gitignore":        "node_modules\n",
	})
	for _, c := range []struct{ lint, test, install string }{
		{"npm found no command eslint-lite: its packages are not installed, run `npm ci`", "other is missing", "npm ci"},
		{"npm found no command eslint-lite in the installed packages: run `npm ci` if package.json names its package, else add that to package.json, or install the command itself", "other is missing, and no package of package.json has it", ""},
	} {
		results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
		if err != nil || len(results) != 2 {
			t.Fatalf("%v, %+v", err, results)
		}
		if lint, test := results[0], results[1]; lint.Why != c.lint || lint.Line.Install != c.install || test.Why != c.test || test.Line.Install != c.install {
			t.Errorf("got %q (%s), %q (%s)", lint.Why, lint.Line.Install, test.Why, test.Line.Install)
		}
		if err := os.MkdirAll(filepath.Join(p.Dir, "node_modules", "thing"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// A line that does not end is ended, with all that it started, and the lines after it are tried.
func TestTimeout(t *testing.T) {
	p := project(t, map[string]string{"Makefile": "lint:\n\t@sleep 600 & echo $$! >pid; wait\ntest:\n\t@true\n", ".gitignore": "pid\n"})
	var results []trial.Result
	var err error
	for timeout := time.Second; timeout < 2*time.Minute; timeout *= 4 {
		results, err = trial.Try(t.Context(), p, trial.Options{Timeout: timeout, Environ: os.Environ()})
		// On a busy machine it takes more than a second until the first has begun, and until the others end.
		_, begun := os.Stat(filepath.Join(p.Dir, "pid"))
		if begun == nil && !slices.ContainsFunc(results[min(1, len(results)):], func(r trial.Result) bool { return r.Outcome == trial.Unfinished }) {
			break
		}
	}
	if err != nil || len(results) != 2 || results[0].Outcome != trial.Unfinished || !results[0].Outcome.Written() || results[1].Outcome != trial.Runs {
		t.Fatalf("%+v, %v", results, err)
	}
	gone(t, p.Dir)
}

// gone wants the process whose id is in the file pid to be gone.
func gone(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is left: %v", pid, err)
	}
}

// Anyone who is interrupted leaves nothing running.
func TestInterrupted(t *testing.T) {
	p := project(t, map[string]string{"Makefile": "test:\n\t@sleep 600 & echo $$! >pid; wait\n", ".gitignore": "pid\n"})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		for {
			if text, _ := os.ReadFile(filepath.Join(p.Dir, "pid")); len(text) > 0 {
				cancel(why)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if results, err := trial.Try(ctx, p, trial.Options{Timeout: time.Minute, Environ: os.Environ()}); !errors.Is(err, why) || len(results) > 0 {
		t.Errorf("%+v, %v", results, err)
	}
	gone(t, p.Dir)
}

func TestSettle(t *testing.T) {
	p := scaffold.Plan{LeftOut: []string{"x"}, Sets: []string{`TZ = "UTC" (ci.yml)`}}
	line := func(text string) scaffold.Line { return scaffold.Line{Text: text, Install: "npm ci"} }
	settled, facts := trial.Settle(p, []trial.Result{
		{Line: line("A with a"), Outcome: trial.Runs, Why: "3 tests"},
		{Line: line("B with b"), Outcome: trial.Red, Why: "exit 1", Left: []string{"n"}},
		{Line: line("C with c"), Outcome: trial.Needs, Why: "x is missing"},
		{Line: line("D with d"), Outcome: trial.Unfinished, Why: "not done"},
		{Line: line("E with e"), Outcome: trial.Runs, Caches: []string{".pytest_cache"}, Beyond: []string{"out"}, Installed: []string{".venv"}},
		{Line: line("F with f"), Outcome: trial.Needs, Why: "y is missing"},
		{Line: line("G with g"), Outcome: trial.Needs, Why: "x is missing"},
	}, "that is so in HEAD, too")
	var lines []string
	for _, l := range settled.Lines {
		lines = append(lines, l.Text)
	}
	if got := strings.Join(lines, ","); got != "A with a,B with b,D with d,E with e" {
		t.Error(got)
	}
	if got := strings.Join(settled.LeftOut, ","); got != "x,C with c, G with g (x is missing),F with f (y is missing)" || len(p.LeftOut) != 1 {
		t.Error(got)
	}
	if !slices.Equal(settled.Caches, []string{".pytest_cache"}) {
		t.Error(settled.Caches)
	}
	if !slices.Equal(settled.Installs, []string{"npm ci"}) {
		t.Error(settled.Installs)
	}
	const want = `passes today: A with a (3 tests), E with e
no test is run: none of these lines runs one
does not pass today: B with b: exit 1
that is so in HEAD, too
its CI sets TZ = "UTC" (ci.yml); ` + "`env`" + ` of a binding sets it here
to leave a line out, delete it in quality.dlct, and its name in gate_quality of routing.toml
not known: D with d: not done
trying the lines left new files: n; list them in .gitignore, or commit them
trying the lines left out: list that in a tracked .gitignore, else ` + "`dialect verify --tree HEAD`" + ` says STALE, since a clone lacks it
no tracked .gitignore names .venv: list it there before you commit, else it is a part of what is tested`
	if got := strings.Join(facts, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSecret has what a line says not repeat a secret.
func TestSecret(t *testing.T) {
	const value, token = "kQ7zR+vxxWm3Lp8T2sYdAB", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	p := project(t, map[string]string{"Makefile": "test:\n\t@echo \"Error: no login with $$API_TOKEN, " + token + "\"; exit 1\n"})
	results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: append(os.Environ(), "API_TOKEN="+value)})
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprintf("%+v", results); strings.Contains(said, value) || strings.Contains(said, token) || !strings.Contains(said, "Error: no login with [redacted") {
		t.Error(said)
	}
}

// TestSecretMixed has it not repeat one half of a secret, either, between whose halves the other stream says something.
func TestSecretMixed(t *testing.T) {
	const value = "kQ7zR+vxxWm3Lp8T2sYdAB"
	p := project(t, map[string]string{"Makefile": "test:\n\t@printf 'signing in with %.11s' $$API_TOKEN; sleep .3; echo wait >&2; sleep .3; echo $${API_TOKEN#???????????} ; sleep .3; exit 1\n"})
	results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: append(os.Environ(), "API_TOKEN="+value)})
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprintf("%+v", results); strings.Contains(said, value[:11]) || strings.Contains(said, value[11:]) {
		t.Error(said)
	}
}

// What a build makes is not to be installed.
func TestUnbuilt(t *testing.T) {
	for text, want := range map[string]string{
		"Cannot find module '/x/dist/index.js'":                                   "npm run build",
		"Cannot find module '../dist/index.js'":                                   "npm run build",
		"Failed to resolve entry for package \"@a/core\". The package may have":   "npm run build",
		"a.ts(1,2): error TS2307: Cannot find module 'other' or its":              "npm ci",
		"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported f": "npm ci",
	} {
		p := project(t, map[string]string{"Makefile": "test:\n\t@cat said; exit 1\n", "said": text + "\n"})
		if err := os.MkdirAll(filepath.Join(p.Dir, "node_modules", "@a", "core"), 0o777); err != nil {
			t.Fatal(err)
		}
		p.Lines[0].Install, p.Lines[0].Build = "npm ci", "npm run build"
		results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		if settled, _ := trial.Settle(p, results, ""); !slices.Equal(settled.Installs, []string{want}) {
			t.Errorf("%s: %+v, %q; want %s", text, results, settled.Installs, want)
		}
	}
}

// Packages that are installed here and that git does not ignore are named; those that it ignores or tracks are not.
func TestInstalled(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a virtual environment": {map[string]string{".venv/pyvenv.cfg": "", ".venv/a": ""}, []string{".venv"}},
		"npm":                   {map[string]string{"node_modules/.package-lock.json": "{}"}, []string{"node_modules"}},
		"ignored":               {map[string]string{"node_modules/.package-lock.json": "{}", "venv/pyvenv.cfg": "", ".gitignore": "node_modules\nvenv/\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := project(t, map[string]string{"Makefile": "test:\n\t@true\n", ".gitignore": c.files[".gitignore"]})
			for f, text := range c.files {
				f = filepath.Join(p.Dir, f)
				if err := errors.Join(os.MkdirAll(filepath.Dir(f), 0o777), os.WriteFile(f, []byte(text), 0o666)); err != nil {
					t.Fatal(err)
				}
			}
			results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
			if err != nil || !slices.Equal(results[len(results)-1].Installed, c.want) {
				t.Errorf("%+v, %v; want %q", results, err, c.want)
			}
		})
	}
}

// Lines that pass and test nothing are not to be taken for tests.
func TestSettleTests(t *testing.T) {
	for line, want := range map[string]int{"Check with sh": 2, "Test with make": 1} {
		if _, facts := trial.Settle(scaffold.Plan{}, []trial.Result{{Line: scaffold.Line{Text: line}, Outcome: trial.Runs}}, ""); len(facts) != want {
			t.Errorf("%s: %q", line, facts)
		}
	}
}

// A line of which the trial counted tests asks for one: else nothing tells a later run without any from one of a tool that does not count.
func TestCounted(t *testing.T) {
	for name, c := range map[string]struct {
		makefile, want string
	}{
		"counted":      {"test:\n\t@echo 3 runs, 4 assertions, 0 failures, 0 errors, 0 skips\n", "tool = \"make test\"\nexpect = { min_tests = 1 }\nreceipt_required = true\n"},
		"not counted":  {"test:\n\t@echo fine\n", "tool = \"make test\"\nreceipt_required = true\n"},
		"no such line": {"lint:\n\t@echo 3 runs, 4 assertions, 0 failures, 0 errors, 0 skips\n", "tool = \"make lint\"\nreceipt_required = true\n"},
		"red":          {"test:\n\t@echo 3 runs, 4 assertions, 1 failures, 0 errors, 0 skips; exit 1\n", "tool = \"make test\"\nexpect = { min_tests = 1 }\nreceipt_required = true\n"},
	} {
		p := project(t, map[string]string{"Makefile": c.makefile})
		results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		if settled, _ := trial.Settle(p, results, ""); len(settled.Lines) != 1 || !strings.Contains(settled.Lines[0].Table, c.want) {
			t.Errorf("%s: %+v", name, settled.Lines)
		}
		if again, _ := trial.Settle(p, results, ""); strings.Count(again.Lines[0].Table, "expect") > 1 {
			t.Errorf("%s: %+v", name, again.Lines)
		}
	}
}

func TestAtHead(t *testing.T) {
	p := project(t, map[string]string{"Makefile": "test:\n\t@true\n"})
	if got := trial.AtHead(t.Context(), p.Dir); got != "that is so in HEAD, too: the files are those of HEAD" {
		t.Error(got)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "Makefile"), []byte("test:\n\t@false\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := trial.AtHead(t.Context(), p.Dir); got != "the files differ from those of HEAD, which was not tried" {
		t.Error(got)
	}
	if got := trial.AtHead(t.Context(), t.TempDir()); got != "" {
		t.Errorf("outside of a repository: %s", got)
	}
}

// Where shellcheck is a guess and says no, the syntax is checked instead.
func TestInstead(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "shellcheck"), []byte("#!/bin/sh\necho \"$1:1:1: error: no [SC2148]\"; exit 1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	p := project(t, map[string]string{"z.sh": "f() { :; }\n"})
	results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
	if err != nil || len(results) != 2 || results[0].Outcome != trial.Stranger || results[1].Line.Text != "Check with sh" || results[1].Outcome != trial.Runs {
		t.Fatalf("%+v, %v", results, err)
	}
	settled, _ := trial.Settle(p, results, "")
	if files := settled.Files(); !strings.HasPrefix(files[1].Text, "Check with sh\n") || !strings.Contains(files[0].Text, `extends = ["shell"]`) {
		t.Errorf("%+v", files)
	}
}

// The line of the pack shell reads each script with the shell of its first line.
func TestShellPack(t *testing.T) {
	p := project(t, map[string]string{"Makefile": "", "a.sh": "#!/usr/bin/env bash\na=(1 2)\n", "b.sh": "#!/bin/sh\n:\n", "c.sh": "#!/bin/zsh\nfor x (a b) { }\n"})
	bin := t.TempDir()
	for _, program := range []string{"sh", "bash", "find", "head", "git"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, program)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin) // without shellcheck
	for script, want := range map[string]trial.Outcome{"": trial.Runs, "cat < <(true)\n": trial.Runs, "#!/bin/sh\ncat < <(true)\n": trial.Stranger, "#!/bin/sh\nif\n": trial.Stranger, "#!/bin/bash\na=(\n": trial.Stranger} {
		if err := os.WriteFile(filepath.Join(p.Dir, "d.sh"), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := survey.Look(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
		if err != nil || len(results) != 1 || results[0].Outcome != want {
			t.Errorf("%q: %+v, %v", script, results, err)
		}
	}
}

// A project below runs in its folder, with the tools of its own environment.
func TestBelow(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	p := project(t, map[string]string{"Makefile": "test:\n\t@true\n"})
	for name, text := range map[string]string{"setup.py": "", "there.txt": "", "test_a.py": "import os, unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        assert os.path.exists('there.txt')\n"} {
		path := filepath.Join(p.Dir, "below", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(python, "-m", "venv", "--without-pip", filepath.Join(p.Dir, "below", ".venv")).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	if p, err = survey.Look(p.Dir); err != nil {
		t.Fatal(err)
	}
	results, err := trial.Try(t.Context(), p, trial.Options{Timeout: time.Minute, Environ: os.Environ()})
	if err != nil || len(results) != 1 || results[0].Outcome != trial.Runs || results[0].Why != "1 test" {
		t.Errorf("%+v, %v", results, err)
	}
	if text := p.Files()[0].Text; !strings.Contains(text, "cwd = \"below\"") || !strings.Contains(text, "\"below/.venv/bin/python -m unittest\"") && !strings.Contains(text, "pytest") {
		t.Error(text)
	}
}

// TestCachesOf holds that lines that are not tried have the caches that trying finds.
func TestCachesOf(t *testing.T) {
	lines := []scaffold.Line{{Text: "Check with mypy"}, {Text: "Test with pytest"}, {Text: "Test with make"}}
	for ignored, want := range map[string]string{"": ".mypy_cache .pytest_cache", ".pytest_cache/\n": ".mypy_cache"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignored), 0o600); err != nil {
			t.Fatal(err)
		}
		p := scaffold.Plan{Dir: dir, Lines: lines}
		if got := trial.CachesOf(t.Context(), p); len(got) != 0 {
			t.Errorf("in no repository: %q", got)
		}
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Skipf("git: %v %s", err, out)
		}
		if got := strings.Join(trial.CachesOf(t.Context(), p), " "); got != want {
			t.Errorf("%q: %q, want %q", ignored, got, want)
		}
	}
}
