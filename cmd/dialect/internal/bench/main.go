// Command bench times dialect against its baselines and its peers, and holds
// the figures against the project's budgets.
//
//	go run . [-n ROUNDS] [-filter REGEXP] [-json] [-page FILE]
//
// It is run in its own folder, and is a module of its own: nothing of it can enter a build of dialect. With -page it also writes
// the page of the documentation, and beside it a chart (benchmarks.svg).
//
// In comes a checkout with a Go toolchain, and whatever peers are on PATH. Out
// comes, case by case, what each subject took and how that compares; a peer that
// is not there is named and left out, and no figure is ever taken from anywhere
// but this run. It does not judge a machine: absolute times move, ratios of one
// run hold.
//
// What is timed is a whole process, from fork to exit, with its streams at
// /dev/null. The subjects of a case take turns (A B C, B C A, ...), so that drift
// of the machine meets all of them; each is run before once, to warm caches and to
// find out whether it works; the figure is the median. The peak resident set is
// that of the largest process of a subject's tree, over all rounds.
//
// The exit status is 1 if a budget was missed, which is named, or something could not run; 2 for wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	rounds := fs.Int("n", 21, "rounds of each case; the slow ones take a fifth")
	filter := fs.String("filter", "", "only the cases whose name matches this regular expression")
	asJSON := fs.Bool("json", false, "print one JSON document instead of tables")
	page := fs.String("page", "", "write the page of the documentation to this file, and its chart beside it")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	match, err := regexp.Compile(*filter)
	if err != nil || *rounds < 1 || fs.NArg() > 0 {
		fmt.Fprintf(stderr, "bench: want -n 1 or more, a valid -filter and no arguments\n")
		return 2
	}
	rep, err := bench(*rounds, match, func(format string, args ...any) {
		fmt.Fprintf(stderr, format+"\n", args...)
	})
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	write := rep.text
	if *asJSON {
		write = rep.json
	}
	if err := write(stdout); err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	if *page != "" {
		chart := filepath.Join(filepath.Dir(*page), "benchmarks.svg")
		if err := errors.Join(os.WriteFile(*page, rep.page(), 0o644), os.WriteFile(chart, rep.chart(), 0o644)); err != nil {
			fmt.Fprintf(stderr, "bench: %v\n", err)
			return 1
		}
	}
	for _, name := range rep.missed() {
		fmt.Fprintf(stderr, "bench: missed: %s\n", name)
	}
	if rep.broken() || len(rep.missed()) > 0 {
		return 1
	}
	return 0
}

// bench builds what is timed, runs the cases and says on the way, through say,
// which one runs.
func bench(rounds int, match *regexp.Regexp, say func(string, ...any)) (*reportData, error) {
	work, err := os.MkdirTemp("", "dialect-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)

	say("building")
	b, err := build(work)
	if err != nil {
		return nil, err
	}
	rep := &reportData{
		Machine: machine{CPUs: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()},
		Rounds:  rounds,
	}
	found, missing := findPeers()
	rep.Missing = missing
	for _, d := range definitions {
		if !match.MatchString(d.name) {
			continue
		}
		dir, err := os.MkdirTemp(work, "case-")
		if err != nil {
			return nil, err
		}
		c, err := d.make(fixture{builds: b, peers: found, dir: dir})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		n := rounds
		if d.slow {
			n = max(min(rounds, 3), rounds/5)
		}
		say("%s, %d rounds", d.name, n)
		rep.Cases = append(rep.Cases, judge(d.name, n, measure(b.spawn, c.subjects, n), c.budgets))
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	if len(rep.Cases) == 0 {
		return nil, errors.New("-filter leaves no case")
	}
	return rep, nil
}

// write writes a generated file below dir.
func write(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
