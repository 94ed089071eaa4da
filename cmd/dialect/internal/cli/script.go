package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// readScript reads the script that the arguments of run, check or explain name:
// FILE, FILE:LINE, "-" or nothing for standard input, or the lines of -e.
func readScript(u *ui, args, lines []string) (*project.Script, error) {
	switch {
	case len(lines) > 0 && len(args) > 0:
		return nil, exit.Usagef("-e takes the place of a script: leave %q out", args[0])
	case len(lines) > 0:
		return &project.Script{Name: "-e", Part: true, Text: []byte(strings.Join(lines, "\n") + "\n")}, nil
	case len(args) == 0 || args[0] == "-":
		return readStdin(u)
	}
	name, line := args[0], 0
	if _, err := os.Lstat(name); err != nil {
		if i := strings.LastIndexByte(name, ':'); i > 0 {
			if n, err := strconv.Atoi(name[i+1:]); err == nil && n > 0 {
				name, line = name[:i], n
			}
		}
	}
	text, err := readFile("script", name)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, exit.Failf(exit.Usage, "%v", err)
	}
	return &project.Script{Name: name, Path: path, Line: line, Part: line > 0, Text: text}, nil
}

// readFile reads a file that the user named; what says in a message what it is.
func readFile(what, name string) ([]byte, error) {
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
			return text, nil
		}
	}
	e := exit.Usagef("cannot read the %s: %v", what, err)
	if what == "script" && errors.Is(err, fs.ErrNotExist) {
		e = exit.Usagef("there is no script %s", name)
		if above := scriptAbove(name); above != "" {
			e.Hint("it is above: dialect run %s", report.Command([]string{above}))
		} else if found, _ := filepath.Glob("*.dlct"); len(found) > 0 {
			for i, f := range found {
				found[i] = report.Command([]string{f})
			}
			e.Hint("here are: %s", strings.Join(found, ", "))
		} else {
			e.Hint("`dialect init` writes one for the tools that the project has; `dialect run -e \"Test with go\"` runs a line")
		}
	}
	return nil, e
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

func readStdin(u *ui) (*project.Script, error) {
	timer := time.AfterFunc(stdinNotice, func() { u.notef("reading the script from standard input") })
	text, err := io.ReadAll(io.LimitReader(u.in, project.MaxScript))
	timer.Stop()
	if err != nil {
		return nil, exit.Usagef("cannot read standard input: %v", err)
	}
	if len(text) == 0 {
		return nil, exit.Usagef("standard input is empty").Hint("pipe a script in, or name one: dialect run quality.dlct")
	}
	return &project.Script{Name: "-", Text: text}, nil
}

// loadMatrix finds and loads the matrix for dir, or the one that --routing names.
func loadMatrix(dir, name string) (*routing.Matrix, diag.List, error) {
	m, l, err := project.LoadMatrix(dir, name)
	return m, l, exit.NoMatrix(err)
}

// variables reads the --set flags.
func variables(set []string) (map[string]string, error) {
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

// quoteArgs renders arguments for a message.
func quoteArgs(args []string) string {
	q := make([]string, len(args))
	for i, a := range args {
		q[i] = fmt.Sprintf("%q", a)
	}
	return strings.Join(q, " ")
}

// arg returns the only argument; empty if there is none.
func arg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
