package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/command-dialect/dialect/cmd/dialect/internal/mcpmain"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[0] == guardName {
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
//	alive WORD / dead WORD         want a process with WORD in its command line, or none
func TestScript(t *testing.T) {
	check, err := filepath.Abs("../../../../receipts/vectors/check.py")
	if err != nil {
		t.Fatal(err)
	}
	seed, err := filepath.Abs("../../../../lang/routing/testdata/seed.toml")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_GOLDEN") != "",
		Setup: func(e *testscript.Env) error {
			// The environment that a script starts from is listed, not filtered.
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
				if pids := processes(ts, args[0]); (len(pids) > 0) != neg {
					ts.Fatalf("processes with %s: %v", args[0], pids)
				}
			},
		},
	})
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

// processes returns the ids of the processes with word in their command line.
func processes(ts *testscript.TestScript, word string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	var pids []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), word) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}
