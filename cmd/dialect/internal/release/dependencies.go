package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// reasons says of each module that go.mod requires directly what it is there for.
var reasons = map[string]string{
	"github.com/alecthomas/participle/v2":               "the grammar of the language",
	"github.com/gofrs/flock":                            "locks on files, which end with their holder: lines with `lock`, the records of runs, the hook's journal",
	"github.com/google/jsonschema-go":                   "the JSON Schema of the documents, from their types",
	"github.com/modelcontextprotocol/go-sdk":            "MCP, as a client and as a server: in dialect-mcp alone",
	"github.com/pelletier/go-toml/v2":                   "`routing.toml`, with the places of keys and values",
	"github.com/rogpeppe/go-internal":                   "the differences that `fmt --diff` prints; tests: testscript and txtar",
	"github.com/secure-systems-lab/go-securesystemslib": "tests only: a second opinion on the DSSE envelopes of in-toto statements",
	"github.com/sourcegraph/jsonrpc2":                   "JSON-RPC: the language server, and the pipes to dialect-mcp",
	"github.com/spf13/cobra":                            "commands, help, completion",
	"github.com/spf13/pflag":                            "flags, with cobra",
	"github.com/tailscale/hujson":                       "JSON with comments, as agents' clients write their configuration: edited, not rewritten",
	"golang.org/x/mod":                                  "signed checkpoints and Merkle proofs (sumdb/note, sumdb/tlog)",
	"golang.org/x/sync":                                 "errgroup",
	"golang.org/x/sys":                                  "system calls: processes, namespaces, files opened without following links",
	"golang.org/x/term":                                 "the size and mode of a terminal",
	"golang.org/x/text":                                 "the width of characters on a terminal",
	"modernc.org/libc":                                  "what SQLite is made of: its calls of the system that make and remove files beside a store are replaced",
	"modernc.org/sqlite":                                "the store of receipts, without cgo",
	"mvdan.cc/sh/v3":                                    "what a command line of an agent is about to do with git",
}

// cost is what one module adds to a program: KiB of its symbols, and allocations and bytes of its package initialization. Time is
// left out: it is noise below a tenth of a millisecond, and no two machines agree on it.
type cost struct{ size, bytes, allocs int }

// dependencies returns the page: every module of go.mod's direct requirements, and each further one that is linked.
func dependencies() ([]byte, error) {
	dir, err := os.MkdirTemp("", "dialect-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "./cmd/dialect", "./cmd/dialect/dialect-mcp")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	direct, err := requirements()
	if err != nil {
		return nil, err
	}
	programs := []string{"dialect", "dialect-mcp"}
	modules, in, costs := map[string]*debug.Module{}, map[string][]string{}, map[string]cost{}
	for _, program := range programs {
		_, deps, err := linked(filepath.Join(dir, program))
		if err != nil {
			return nil, err
		}
		for _, m := range deps {
			modules[m.Path] = m
			in[m.Path] = append(in[m.Path], program)
		}
		if program == "dialect" {
			if costs, err = costsOf(filepath.Join(dir, program), deps); err != nil {
				return nil, err
			}
		}
	}
	for path, version := range direct {
		if modules[path] == nil {
			modules[path] = &debug.Module{Path: path, Version: version}
		}
	}
	known, err := licences(slices.Collect(maps.Values(modules)))
	if err != nil {
		return nil, err
	}

	var page bytes.Buffer
	fmt.Fprint(&page, header)
	for _, isDirect := range []bool{true, false} {
		if isDirect {
			fmt.Fprint(&page, "\n## Required by dialect itself\n\n| module | why | licence | in | KiB | start-up |\n|---|---|---|---|---|---|\n")
		} else {
			fmt.Fprint(&page, "\n## Brought along by those\n\n| module | licence | in | KiB | start-up |\n|---|---|---|---|---|\n")
		}
		for _, path := range slices.Sorted(maps.Keys(modules)) {
			if (direct[path] != "") != isDirect {
				continue
			}
			fmt.Fprintf(&page, "| %s %s |", path, modules[path].Version)
			if isDirect {
				fmt.Fprintf(&page, " %s |", reasons[path])
			}
			where := strings.Join(in[path], ", ")
			if where == "" {
				where = "tests, tools"
			}
			fmt.Fprintf(&page, " %s | %s |%s\n", strings.Join(known[path], ", "), where, costs[path])
		}
	}
	return page.Bytes(), nil
}

func (c cost) String() string {
	if c == (cost{}) {
		return " | |"
	}
	start := "nothing"
	if c.allocs > 0 || c.bytes > 0 {
		start = fmt.Sprintf("%d allocations, %d bytes", c.allocs, c.bytes)
	}
	return fmt.Sprintf(" %d | %s |", (c.size+512)/1024, start)
}

const header = `# Dependencies

dialect links few modules, each pinned by go.sum. This page is made by ` + "`make dependencies`" + ` from what the linker recorded in the programs.
The last two columns are about ` + "`dialect`" + ` on linux/amd64: the size of the module's code and data in it, and what its packages do
before ` + "`main`" + ` (GODEBUG=inittrace=1). A module with nothing there is not linked into ` + "`dialect`" + `, or leaves no symbol in it.

Each release comes with the same as a bill of materials for each program (CycloneDX). CI checks the modules with ` + "`go mod verify`" + ` and
` + "`govulncheck`" + `, and that each has a licence that is known.
`

// requirements returns the direct requirements of dialect's go.mod, by path, with their versions.
func requirements() (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	direct := map[string]string{}
	for _, r := range file.Require {
		if !r.Indirect {
			direct[r.Mod.Path] = r.Mod.Version
		}
	}
	return direct, nil
}

var traced = regexp.MustCompile(`^init (\S+) @.* (\d+) bytes, (\d+) allocs$`)

// costsOf measures what each of modules adds to program, which has its symbols.
func costsOf(program string, modules []*debug.Module) (map[string]cost, error) {
	costs := map[string]cost{}
	owner := func(pkg string) string {
		best := ""
		for _, m := range modules {
			if (pkg == m.Path || strings.HasPrefix(pkg, m.Path+"/")) && len(m.Path) > len(best) {
				best = m.Path
			}
		}
		return best
	}
	symbols, err := exec.Command("go", "tool", "nm", "-size", program).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool nm: %w", err)
	}
	for s := bufio.NewScanner(bytes.NewReader(symbols)); s.Scan(); {
		// "  address size kind name": zeroed data (B, b) takes no room in the file.
		fields := strings.Fields(s.Text())
		if len(fields) < 4 || strings.EqualFold(fields[2], "b") {
			continue
		}
		name := strings.TrimPrefix(fields[3], "type:.eq.")
		slash := strings.LastIndexByte(name, '/')
		dot := strings.IndexByte(name[slash+1:], '.')
		if dot < 0 {
			continue
		}
		// The linker writes a dot in the last element of a path as %2e.
		pkg := strings.ReplaceAll(name[:slash+1+dot], "%2e", ".")
		size, _ := strconv.Atoi(fields[1])
		if m := owner(pkg); m != "" {
			c := costs[m]
			c.size += size
			costs[m] = c
		}
	}
	start := exec.Command(program, "--version")
	start.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	start.Stderr = &trace
	if err := start.Run(); err != nil {
		return nil, fmt.Errorf("%s --version: %w", program, err)
	}
	for s := bufio.NewScanner(&trace); s.Scan(); {
		if m := traced.FindStringSubmatch(s.Text()); m != nil {
			if path := owner(m[1]); path != "" {
				c := costs[path]
				n, _ := strconv.Atoi(m[2])
				c.bytes += n
				n, _ = strconv.Atoi(m[3])
				c.allocs += n
				costs[path] = c
			}
		}
	}
	return costs, nil
}
