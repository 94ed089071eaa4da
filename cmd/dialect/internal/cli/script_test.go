package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/command-dialect/dialect/cmd/dialect/internal/mcpmain"
)

func TestMain(m *testing.M) {
	if os.Args[0] == roomName || os.Args[0] == domainName || len(os.Args) == 2 && os.Args[0] == guardName {
		os.Exit(Main())
	}
	testscript.Main(m, map[string]func(){
		"dialect":     func() { os.Exit(Main()) },
		"dialect-mcp": func() { os.Exit(mcpmain.Main()) },
		"ar":          func() { os.Exit(Main()) }, // the same, by its other name
	})
}

// TestScript runs testdata/script/*.txtar: each a session at the command line.
//
// Beside testscript's own commands there is
//
//	exitcode N command [args...]   run a command, and want exactly that exit status
//	dead WORD                      want no process with WORD in its command line; ! dead WORD wants one
//	end WORD                       kill the processes with WORD in their command line
//
// Both look at processes of the script alone. PATH holds dialect, a shell and what [base] lists, and beyond that the tools that the script names
// in a comment, "# tools: NAME...": what else is installed changes no result. A tool that is there and does not
// work, such as a cargo without a toolchain, counts as missing; [exec:NAME] asks for it.
func TestScript(t *testing.T) {
	check, err := filepath.Abs("../../../../receipts/vectors/check.py")
	if err != nil {
		t.Fatal(err)
	}
	seed, err := filepath.Abs("../../../../lang/routing/testdata/seed.toml")
	if err != nil {
		t.Fatal(err)
	}
	path := newToolPath(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			// The environment that a script starts from is listed, not filtered.
			e.Setenv("PATH", path.of(t, strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("CHECK", check)
			e.Setenv("SEED", seed)
			e.Setenv("REAL_HOME", os.Getenv("HOME")) // where rustup has its toolchains
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitcode,
			"dead": func(ts *testscript.TestScript, neg bool, args []string) {
				pids := processes(ts, args[0])
				for end := time.Now().Add(time.Minute); !neg && len(pids) > 0 && time.Now().Before(end); pids = processes(ts, args[0]) {
					time.Sleep(10 * time.Millisecond) // what was killed is there for a moment
				}
				if (len(pids) > 0) != neg {
					ts.Fatalf("processes with %s: %v", args[0], pids)
				}
			},
			"end": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, pid := range processes(ts, args[0]) {
					p, err := os.FindProcess(pid)
					ts.Check(err)
					ts.Check(p.Kill())
				}
			},
		},
	})
}

// base are the programs that all scripts have: what a shell script takes for granted, and git.
var base = strings.Fields(`sh bash git python3
	basename cat chmod cp cut date dirname echo env expr false find grep head ln ls mkdir mkfifo mktemp mv nohup od pgrep ps pwd readlink rm rmdir
	sed seq setsid sha256sum sleep sort stat tail tee test timeout touch tr true uname wc which yes`)

// A toolPath makes the PATH of scripts: folders with links to the programs of the machine.
type toolPath struct {
	dialect string            // where testscript put the commands of this package
	root    string            // of the folders
	folders map[string]string // by tool; empty if it is missing
}

func newToolPath(t *testing.T) *toolPath {
	program, err := exec.LookPath("dialect")
	if err != nil {
		t.Fatal(err)
	}
	p := &toolPath{filepath.Dir(program), t.TempDir(), make(map[string]string)}
	for _, tool := range base {
		p.link(t, "base", tool, func(string) bool { return true })
	}
	return p
}

// of returns the PATH of a script.
func (p *toolPath) of(t *testing.T, script string) string {
	list := []string{p.dialect, filepath.Join(p.root, "base")}
	text, err := os.ReadFile(filepath.Join("testdata", "script", script+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(text), "\n-- ")
	named := slices.Clone(base)
	defer func() { // else it depends on the other scripts whether the part is run: testscript remembers what is there
		for _, m := range execCondition.FindAllStringSubmatch(comment, -1) {
			if !slices.Contains(named, m[1]) {
				t.Errorf("%s.txtar asks for %s, and does not name it as a tool: that part of it is not run", script, m[1])
			}
		}
	}()
	for line := range strings.Lines(comment) {
		tools, ok := strings.CutPrefix(line, "# tools: ")
		if !ok {
			continue
		}
		named = append(named, strings.Fields(tools)...)
		for _, tool := range strings.Fields(tools) {
			if slices.Contains(base, tool) {
				t.Errorf("%s.txtar names %s, which every script has", script, tool) // and which may not say its version, as sh
				continue
			}
			folder, known := p.folders[tool]
			if !known {
				if p.link(t, tool, tool, answers) {
					folder = filepath.Join(p.root, tool)
				} else if os.Getenv("CI") != "" {
					t.Errorf("%s is missing; .ci/run installs it", tool) // a gate that skips proves nothing
				}
				p.folders[tool] = folder
			}
			if folder != "" {
				list = append(list, folder)
			}
		}
	}
	return strings.Join(list, string(filepath.ListSeparator))
}

var execCondition = regexp.MustCompile(`\[!?exec:([^\]]+)\]`)

// answers reports whether a program can say its version.
func answers(program string) bool {
	version := "--version"
	switch strings.TrimSuffix(filepath.Base(program), ".exe") {
	case "go":
		version = "version"
	case "gofmt":
		return true // it has no version, and is part of go
	}
	return exec.Command(program, version).Run() == nil
}

// link makes a link in folder to the first program called tool of this machine that is good, and
// reports whether there is one.
func (p *toolPath) link(t *testing.T, folder, tool string, good func(string) bool) bool {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		program, err := exec.LookPath(filepath.Join(dir, tool))
		if err != nil || !good(program) {
			continue
		}
		if tool == "python3" { // it may be a script that picks one by what else is in PATH
			out, err := exec.Command(program, "-c", "import sys; print(sys.executable)").Output()
			if err != nil {
				continue
			}
			program = strings.TrimSpace(string(out))
		}
		to := filepath.Join(p.root, folder)
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(to, filepath.Base(tool))); err != nil && !errors.Is(err, os.ErrExist) { // a script beside this one was faster
			t.Fatal(err)
		}
		return true
	}
	return false
}

func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// processes returns the ids of the processes with word in their command line that work below the
// folder of the script: the same script may run elsewhere on the machine.
func processes(ts *testscript.TestScript, word string) []int {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	root, err := filepath.EvalSymlinks(ts.Getenv("WORK"))
	ts.Check(err)
	var pids []int
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(text), word) {
			continue
		}
		dir, err := os.Readlink(filepath.Join(filepath.Dir(f), "cwd"))
		if err != nil || dir != root && !strings.HasPrefix(dir, root+string(filepath.Separator)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		ts.Check(err)
		pids = append(pids, pid)
	}
	return pids
}
