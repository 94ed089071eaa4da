package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A definition is a case before its files are made.
type definition struct {
	name string
	slow bool // a round takes seconds
	make func(fixture) (benchCase, error)
}

// A fixture is what a case is made from.
type fixture struct {
	builds *builds
	peers  []foundPeer
	dir    string // empty, and the case's own
}

// A benchCase is a set of subjects to be timed in turn. The first is the
// baseline of the ratios that are printed; a budget names its own.
type benchCase struct {
	subjects []subject
	budgets  []budget
}

// Names of subjects that budgets refer to.
const (
	bare      = "bare fork+exec loop"
	unkept    = "dialect, no store"
	kept      = "dialect, receipts and gate"
	teeLoop   = "hash-and-tee loop"
	nothing   = "empty Go program"
	gitStatus = "git status"
	bareKept  = "dialect, receipts and gate, --no-tree"
	executed  = "dialect exec"
	signed    = "dialect exec --no-tree, signed"
	started   = "dialect --version"

	floorLinked   = "floor: SQLite linked, nothing done"
	floorCommands = "floor: and the commands run"
	floorTree     = "floor: and the tree read twice"
	floorStore    = "floor: and the records kept"
)

// floors are the subjects that do what cannot be left out, each all of the one before and a part more, and who that part is the cost of.
var floors = []struct{ subject, part string }{
	{nothing, "the kernel and the Go runtime"},
	{floorLinked, "SQLite in the program"},
	{floorCommands, "the commands"},
	{floorTree, "the files"},
	{floorStore, "SQLite and the disk"},
}

// definitions are the budgets of the design that a whole process can show. The
// others are benchmarks of their packages.
var definitions = []definition{
	{name: "start-up", make: startUp},
	{name: "package init", make: packageInit},
	{name: "1 step", make: func(f fixture) (benchCase, error) {
		return steps(f, 1, 1, []budget{
			{subject: unkept, kind: ratio, limit: 1.8, yardstick: "make", floor: floorCommands},
			{subject: kept, kind: ratio, limit: 4, yardstick: bare, floor: floorStore},
		})
	}},
	{name: "100 steps in sequence", make: func(f fixture) (benchCase, error) {
		return steps(f, 100, 1, []budget{
			{subject: unkept, kind: ratio, limit: 1.1, yardstick: bare, floor: floorCommands},
			{subject: kept, kind: ratio, limit: 1.5, yardstick: bare, floor: floorStore},
			{subject: kept, kind: ahead, limit: 1, yardstick: "just"},
			{subject: kept, kind: ahead, limit: 1, yardstick: "ninja"},
			{subject: kept, kind: ahead, limit: 1, yardstick: "task"},
			{subject: kept, kind: ahead, limit: 1, yardstick: "lefthook"},
		})
	}},
	{name: "100 steps in parallel, 8 jobs", make: func(f fixture) (benchCase, error) {
		return steps(f, 100, 8, []budget{
			{subject: kept, kind: ratio, limit: 1.5, yardstick: bare, floor: floorStore},
		})
	}},
	{name: "exec of one command", make: wrappers},
	{name: "1 GiB on standard output", slow: true, make: func(f fixture) (benchCase, error) { return flood(f, 1<<30, 0) }},
	{name: "1 GiB on both streams", slow: true, make: func(f fixture) (benchCase, error) { return flood(f, 1<<30, 1<<30) }},
	{name: "check of 100,000 lines", slow: true, make: checkScript},
	{name: "a tree of 10,000 files", make: func(f fixture) (benchCase, error) { return tree(f, 10_000) }},
	// As many as a large monorepo has: Kubernetes has some 30,000.
	{name: "a tree of 30,000 files", slow: true, make: func(f fixture) (benchCase, error) { return tree(f, 30_000) }},
	{name: "a tree of 100,000 files", slow: true, make: func(f fixture) (benchCase, error) { return tree(f, 100_000) }},
}

func startUp(f fixture) (benchCase, error) {
	return benchCase{
		subjects: []subject{
			{name: nothing, dir: f.dir, argv: []string{f.builds.empty}},
			{name: started, dir: f.dir, argv: []string{f.builds.dialect, "--version"}},
			{name: floorLinked, dir: f.dir, argv: []string{f.builds.floor, f.builds.program, "0", "1"}},
		},
		budgets: []budget{{subject: started, kind: difference, limit: 1, yardstick: nothing, floor: floorLinked}},
	}, nil
}

// packageInit adds up what the init functions of the linked packages take, by
// the runtime's own clock.
func packageInit(f fixture) (benchCase, error) {
	trace := []string{"GODEBUG=inittrace=1"}
	return benchCase{
		subjects: []subject{
			{name: nothing, dir: f.dir, argv: []string{f.builds.empty}, env: trace, metric: sumInits},
			{name: started, dir: f.dir, argv: []string{f.builds.dialect, "--version"}, env: trace, metric: sumInits},
			{name: floorLinked, dir: f.dir, argv: []string{f.builds.floor, f.builds.program, "0", "1"}, env: trace, metric: sumInits},
		},
		budgets: []budget{{subject: started, kind: duration, limit: 0.7, floor: floorLinked}},
	}, nil
}

// initLine is a line of inittrace: "init os @0.25 ms, 0.017 ms clock, 4616 bytes, 22 allocs".
var initLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^init \S+ @[0-9.e-]+ ms, ([0-9.e-]+) ms clock`)
})

func sumInits(output string) (time.Duration, error) {
	found := initLine().FindAllStringSubmatch(output, -1)
	if len(found) == 0 {
		return 0, errors.New("GODEBUG=inittrace=1 printed nothing that can be read")
	}
	var sum time.Duration
	for _, m := range found {
		ms, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ms * float64(time.Millisecond))
	}
	return sum, nil
}

// steps compares runners on count steps. Those of dialect are lines of a script,
// or the members of one composite where they run in parallel; its project is a
// git repository, so that the gate has a tree to compare receipts with.
func steps(f fixture, count, jobs int, budgets []budget) (benchCase, error) {
	c := benchCase{budgets: budgets}
	c.subjects = append(c.subjects, subject{
		name: bare, dir: f.dir,
		argv: []string{f.builds.loop, f.builds.program, strconv.Itoa(count), strconv.Itoa(jobs)},
	})
	for _, d := range []struct {
		name     string
		receipts bool
		flags    []string
	}{
		{unkept, false, []string{"--store", "none"}},
		{kept, true, nil},
		{bareKept, true, []string{"--no-tree"}},
	} {
		dir := filepath.Join(f.dir, strings.ReplaceAll(d.name, " ", "-"))
		if err := write(dir, "routing.toml", stepsMatrix(f.builds.program, count, jobs, d.receipts)); err != nil {
			return c, err
		}
		if err := write(dir, "bench.dlct", stepsScript(count, jobs)); err != nil {
			return c, err
		}
		if err := gitInit(dir); err != nil {
			return c, err
		}
		argv := append([]string{f.builds.dialect, "run", "--jobs", strconv.Itoa(jobs)}, d.flags...)
		c.subjects = append(c.subjects, subject{name: d.name, dir: dir, argv: append(argv, "bench.dlct")})
	}
	tree := c.subjects[len(c.subjects)-1].dir
	least := []string{f.builds.floor, f.builds.program, strconv.Itoa(count), strconv.Itoa(jobs), tree, filepath.Join(f.dir, "floor.db")}
	c.subjects = append(c.subjects,
		subject{name: nothing, dir: f.dir, argv: []string{f.builds.empty}},
		subject{name: floorLinked, dir: f.dir, argv: []string{f.builds.floor, f.builds.program, "0", "1"}},
		subject{name: floorCommands, dir: f.dir, argv: least[:4]},
		subject{name: floorTree, dir: f.dir, argv: least[:5]},
		subject{name: floorStore, dir: f.dir, argv: least},
	)
	for _, p := range f.peers {
		if p.runner == nil {
			continue
		}
		dir := filepath.Join(f.dir, p.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return c, err
		}
		args, err := p.runner(dir, f.builds.program, count, jobs)
		if err != nil {
			return c, fmt.Errorf("%s: %w", p.name, err)
		}
		c.subjects = append(c.subjects, subject{name: p.name, version: p.is, dir: dir, argv: append([]string{p.path}, args...)})
	}
	return c, nil
}

// stepsMatrix binds the lines of stepsScript. Values make the commands differ,
// as those of a real script do. They come as a second argument: given exactly one,
// true(1) loads the locale to see whether it is --help, which costs as much as a
// third of a fork, and the others' steps have none.
func stepsMatrix(program string, count, jobs int, receipts bool) string {
	var b strings.Builder
	if jobs == 1 {
		fmt.Fprintf(&b, "[commands.step]\nverb = \"test\"\nnoun = \"step\"\ntool = \"%s - {object}\"\nreceipt_required = %t\n", program, receipts)
		return b.String()
	}
	var members []string
	for _, n := range names(count) {
		fmt.Fprintf(&b, "[commands.%s]\nverb = \"test\"\nnoun = \"%s\"\ntool = \"%s - %s\"\nreceipt_required = %t\n\n", n, n, program, n, receipts)
		members = append(members, strconv.Quote(n))
	}
	fmt.Fprintf(&b, "[commands.all]\nverb = \"gate\"\nnoun = \"all\"\norder = \"parallel\"\ncomposite = [%s]\nreceipt_required = %t\n", strings.Join(members, ", "), receipts)
	return b.String()
}

func stepsScript(count, jobs int) string {
	if jobs > 1 {
		return "Gate against all\n"
	}
	return each("Test %s with step\n", names(count))
}

// wrappers compares programs that run one command and leave a record of it.
func wrappers(f fixture) (benchCase, error) {
	c := benchCase{
		subjects: []subject{
			{name: bare, dir: f.dir, argv: []string{f.builds.loop, f.builds.program, "1", "1"}},
			{name: executed, dir: filepath.Join(f.dir, "dialect"), argv: []string{f.builds.dialect, "exec", "--", f.builds.program}},
			{
				name: signed, dir: filepath.Join(f.dir, "signed"), fd3: filepath.Join(f.dir, "signed.key"),
				argv: []string{f.builds.dialect, "exec", "--no-tree", "--key-fd", "3", "--", f.builds.program},
			},
		},
		budgets: []budget{
			{subject: signed, kind: ratio, limit: 1, yardstick: "in-toto-golang", floor: floorStore},
			{subject: signed, kind: ratio, limit: 0.25, yardstick: "witness", floor: floorStore},
		},
	}
	if out, err := exec.Command(f.builds.dialect, "receipts", "keygen", "bench", c.subjects[2].fd3).CombinedOutput(); err != nil {
		return c, fmt.Errorf("keygen: %w\n%s", err, out)
	}
	// A project, so that the store is where it is for a user.
	for _, s := range c.subjects[1:] {
		if err := write(s.dir, "routing.toml", ""); err != nil {
			return c, err
		}
	}
	least := []string{f.builds.floor, f.builds.program, "1", "1", "-", filepath.Join(f.dir, "floor.db")}
	c.subjects = append(c.subjects,
		subject{name: nothing, dir: f.dir, argv: []string{f.builds.empty}},
		subject{name: floorLinked, dir: f.dir, argv: []string{f.builds.floor, f.builds.program, "0", "1"}},
		subject{name: floorCommands, dir: f.dir, argv: least[:4]},
		subject{name: floorStore, dir: f.dir, argv: least},
	)
	for _, p := range f.peers {
		if p.wrapper == nil {
			continue
		}
		dir := filepath.Join(f.dir, p.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return c, err
		}
		args, err := p.wrapper(dir, f.builds.program)
		if err != nil {
			return c, fmt.Errorf("%s: %w", p.name, err)
		}
		c.subjects = append(c.subjects, subject{name: p.name, version: p.is, dir: dir, argv: append([]string{p.path}, args...)})
	}
	return c, nil
}

// logLimit is what dialect keeps of a stream on disk, in bytes; the baseline
// keeps as much.
const logLimit = 64 << 20

func flood(f fixture, stdout, stderr int) (benchCase, error) {
	command := []string{f.builds.flood, strconv.Itoa(stdout), strconv.Itoa(stderr)}
	tool := "[commands.flood]\nverb = \"test\"\nnoun = \"flood\"\nreceipt_required = true\ntool = \"" + strings.Join(command, " ") + "\"\n"
	dir := filepath.Join(f.dir, "dialect")
	if err := write(dir, "routing.toml", tool); err != nil {
		return benchCase{}, err
	}
	if err := write(dir, "bench.dlct", "Test with flood\n"); err != nil {
		return benchCase{}, err
	}
	return benchCase{
		subjects: []subject{
			{name: teeLoop, dir: f.dir, argv: append([]string{f.builds.tee, f.dir, strconv.Itoa(logLimit)}, command...)},
			{name: "dialect", dir: dir, argv: []string{f.builds.dialect, "run", "bench.dlct"}},
			{name: started, dir: dir, argv: []string{f.builds.dialect, "--version"}},
		},
		budgets: []budget{
			{subject: "dialect", kind: throughput, limit: 0.9, yardstick: teeLoop},
			{subject: "dialect", kind: memory, limit: 20, floor: started},
		},
	}, nil
}

// checkScript has no line twice, so that nothing that remembers lines helps.
func checkScript(f fixture) (benchCase, error) {
	matrix := `
[commands.close_issue]
verb = "close"
noun = "issue"
tool = "tracker close {id}"

[commands.move_issue]
verb = "move"
noun = "issue"
tool = "tracker move {object} {column}"
`
	var script strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&script, "Close issue BD-%d # done\nMove \"BD %d\" to issue column=todo\n", i, i)
	}
	if err := write(f.dir, "routing.toml", matrix); err != nil {
		return benchCase{}, err
	}
	if err := write(f.dir, "bench.dlct", script.String()); err != nil {
		return benchCase{}, err
	}
	return benchCase{
		subjects: []subject{{name: "dialect check", dir: f.dir, argv: []string{f.builds.dialect, "check", "bench.dlct"}}},
		budgets:  []budget{{subject: "dialect check", kind: duration, limit: 1000}},
	}, nil
}

// tree compares the verification of a tree that has not changed with what git does to say that it has not.
func tree(f fixture, files int) (benchCase, error) {
	for i := range files {
		if err := write(f.dir, fmt.Sprintf("d%d/e%d/f%d.go", i/1000, i/50, i), fmt.Sprintf("package f%d\n", i)); err != nil {
			return benchCase{}, err
		}
	}
	matrix := "[commands.step]\nverb = \"test\"\nnoun = \"step\"\ntool = \"" + f.builds.program + "\"\nreceipt_required = true\n"
	if err := write(f.dir, "routing.toml", matrix); err != nil {
		return benchCase{}, err
	}
	if err := write(f.dir, "bench.dlct", "Test with step\n"); err != nil {
		return benchCase{}, err
	}
	if err := gitInit(f.dir); err != nil {
		return benchCase{}, err
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return benchCase{}, err
	}
	once := exec.Command(f.builds.dialect, "run", "bench.dlct")
	once.Dir = f.dir
	if out, err := once.CombinedOutput(); err != nil {
		return benchCase{}, fmt.Errorf("dialect run: %w\n%s", err, out)
	}
	c := benchCase{subjects: []subject{
		{name: gitStatus, dir: f.dir, argv: []string{git, "status", "--porcelain"}},
		{name: "dialect verify", dir: f.dir, argv: []string{f.builds.dialect, "verify"}},
		{name: kept, dir: f.dir, argv: []string{f.builds.dialect, "run", "bench.dlct"}},
	}}
	if files == 30_000 {
		c.budgets = []budget{{subject: "dialect verify", kind: duration, limit: 1000}}
	}
	return c, nil
}
