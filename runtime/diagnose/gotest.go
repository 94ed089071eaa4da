package diagnose

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
)

type goPatterns struct {
	result, current, log, blame, status, header *regexp.Regexp
}

var gos = sync.OnceValue(func() (p goPatterns) {
	c := regexp.MustCompile
	p.result = c(`--- (FAIL|PASS|SKIP): (\S+) \(\d[\d.]*s\)$`)
	p.current = c(`^=== (RUN|CONT|NAME|PAUSE) +(\S+)$`)
	p.log = c(`^( {4,})([^\s:]+\.go):(\d+):(?: (.*))?$`)
	p.blame = c(`(?i)\b(want|wanted|got|expected|unexpected|actual|should)\b|!=|not equal`)
	p.status = c(`^(ok  |FAIL|\?   )\t(\S+)(.*)$`)
	p.header = c(`^# (\S+|\[\S+\])(?: \[\S+\.test\])?$`)
	return p
})

// A goLog is what a test said by t.Log, t.Error and their like, which look the same.
type goLog struct {
	Finding
	more []string // the lines below it
}

// Bounds of what is held of tests that run, or have failed.
const (
	goRunning  = 1000 // tests of a package
	goSections = 200  // packages at a time
	goBuild    = 500  // lines of the compiler and of vet
)

// What became of a line.
type goUse uint8

const (
	goNone  goUse = iota // it is not go test's, as far as is known
	goBegan              // likewise, and it may be the first of a package
	goOwned              // it is of a test, or of go test itself
	goEnded              // it ends a package, of which the lines since goBegan are
)

// goTests reads the output of go test, with -json, with -v and without. The text is a sequence of sections, one a
// package, each of which ends with the status of its package; without -v only what t.Log and its like wrote
// follows the result of a test, and what a test printed stands before it and names nobody. Events name
// their package and their test.
type goTests struct {
	Failures
	plain    *goSection            // of a text; nil between two sections
	events   map[string]*goSection // by package
	build    []string              // what the compiler or vet printed
	header   bool                  // the lines are the compiler's
	unbuilt  []string              // the status of packages that were not built
	finished bool
}

// A goSection is what go test printed of one package.
type goSection struct {
	pkg      string
	tests    map[string]*goTest
	failed   []*goTest
	more     int    // failed tests that are not in failed
	words    string // the last line that may say why the process ended
	wordsOf  string // the test that printed it
	dump     []string
	race     []string // the first report of the race detector
	dumpOf   string   // the test that panicked
	verbose  bool
	current  *goTest // that prints
	reported *goTest // that had its result just now
	status   string
	suite    goSuite // of what was printed by no test that is known: without -v, by any
}

// A goTest is a test that runs, or has failed.
type goTest struct {
	name   string
	lines  kept
	goesOn int // how many more lines the present log may have that says why the test fails
	suite  goSuite
}

func newSection(pkg string) *goSection {
	return &goSection{pkg: pkg, tests: make(map[string]*goTest)}
}

func (s *goSection) test(name string) *goTest {
	t := s.tests[name]
	if t == nil {
		t = &goTest{name: name}
		if len(s.tests) < goRunning {
			s.tests[name] = t
		}
	}
	return t
}

// event reads a line of go test -json; it reports whether l is one.
func (g *goTests) event(l []byte) bool {
	if !bytes.Contains(l, []byte(`"Action":"`)) {
		return false
	}
	var e struct{ Action, Output, Package, ImportPath, Test string }
	if json.Unmarshal(l, &e) != nil {
		// One that is too long was cut: only what a test printed is, and what was printed first is enough.
		text := string(l)
		if !strings.HasPrefix(text, `{"Time":"`) || !strings.Contains(text, `"Action":"output"`) {
			return false
		}
		return true
	}
	if e.Package == "" && e.ImportPath == "" {
		return false
	}
	switch e.Action {
	case "build-output":
		for _, line := range strings.Split(strings.TrimRight(e.Output, "\n"), "\n") {
			g.compiled(line)
		}
		return true
	case "build-fail", "start", "run", "pause", "cont", "bench", "attr", "artifacts":
		return true
	case "pass", "skip", "fail", "output":
	default:
		return false
	}
	s := g.events[e.Package]
	if s == nil {
		if g.events == nil {
			g.events = make(map[string]*goSection)
		}
		if len(g.events) >= goSections {
			return true
		}
		s = newSection(e.Package)
		s.verbose = true
		g.events[e.Package] = s
	}
	switch {
	case e.Action == "output":
		if e.Test != "" {
			s.current = s.test(e.Test)
		} else if !strings.HasPrefix(e.Output, "=== ") {
			s.current = nil
		}
		lines := strings.Split(strings.TrimSuffix(e.Output, "\n"), "\n")
		for _, line := range lines {
			line = strings.TrimRight(line, "\r\t ")
			if len(lines) > 1 { // go test writes one: of several, each that is kept would hold all
				line = strings.Clone(line)
			}
			if m := gos().status.FindStringSubmatch(line); m != nil && e.Test == "" {
				s.status = line
				continue
			}
			s.line(line, true)
		}
	case e.Test != "" && e.Action == "fail":
		s.fail(e.Test)
	case e.Test != "":
		s.pass(e.Test)
	case e.Action == "fail":
		delete(g.events, e.Package)
		if s.status == "" {
			s.status = "FAIL\t" + e.Package
		}
		g.close(s)
	default:
		delete(g.events, e.Package)
	}
	return true
}

// compiled takes a line that the compiler or vet printed.
func (g *goTests) compiled(l string) {
	if len(g.build) < goBuild {
		g.build = append(g.build, diag.ClipBytes(l, maxText))
	}
}

// line reads a line of text.
func (g *goTests) line(l string) goUse {
	p := gos()
	var m []string
	if len(l) > 4 && (l[:4] == "ok  " || l[:4] == "FAIL" || l[:4] == "?   ") {
		m = p.status.FindStringSubmatch(l)
	}
	switch {
	case m == nil && g.header && (l == "" || p.current.MatchString(l) || p.result.MatchString(l)):
		g.header = false
	case m == nil && (g.header || l != "" && l[0] == '#' && p.header.MatchString(l)):
		g.compiled(l)
		g.header = true
		return goNone // vet alone prints the same, and the scan knows it
	}
	if m == nil {
		began := goNone
		if g.plain == nil {
			g.plain, began = newSection(""), goBegan
		}
		if g.plain.line(l, false) {
			return goOwned
		}
		return began
	}
	g.header = false
	s := g.plain
	g.plain = nil
	if m[1] == "FAIL" {
		if s == nil {
			s = newSection("")
		}
		s.pkg, s.status = m[2], l
		g.close(s)
	}
	return goEnded
}

// close judges a package that failed.
func (g *goTests) close(s *goSection) {
	if strings.HasSuffix(s.status, " [build failed]") || strings.HasSuffix(s.status, " [setup failed]") {
		g.unbuilt = append(g.unbuilt, s.status) // what the compiler printed may come late: it is another stream
		return
	}
	g.add(s.failures()...)
	g.Total += s.more
}

// end returns what failed. Packages that could not be built go first.
func (g *goTests) end() *Failures {
	if g.finished {
		return &g.Failures
	}
	g.finished = true
	tests := g.Failures
	g.Failures = Failures{most: g.most}
	if len(g.unbuilt) > 0 {
		built := ofGoBuild(g.build)
		if len(built) == 0 {
			for _, l := range g.unbuilt {
				built = append(built, Failure{Finding: Finding{Message: l}})
			}
		}
		g.add(built...)
	}
	g.Add(tests)
	// What was cut short has no status.
	for _, s := range g.events {
		g.unfinished(s)
	}
	if g.plain != nil {
		g.unfinished(g.plain)
	}
	return &g.Failures
}

func (g *goTests) unfinished(s *goSection) {
	if len(s.failed) > 0 || len(s.dump) > 0 && s.dumped() {
		g.close(s)
	}
}

// ofGoBuild returns the errors that the compiler or vet printed.
func ofGoBuild(lines []string) (list []Failure) {
	message := ""
	for _, l := range lines {
		if m := places().colon.FindStringSubmatch(l); m != nil && isPath(m[1]) {
			list = append(list, Failure{Finding: Finding{strings.TrimPrefix(m[1], "./"), number(m[2]), number(m[3]), m[4]}})
		} else if message == "" && !gos().header.MatchString(l) {
			message = l
		}
	}
	if len(list) == 0 && message != "" {
		list = append(list, Failure{Finding: Finding{Message: message}})
	}
	return list
}

// line reads a line of the section; it reports whether the line is go test's own, or a test's. Events say whose it is.
func (s *goSection) line(l string, event bool) bool {
	p := gos()
	if strings.HasPrefix(l, "=== ") {
		if m := p.current.FindStringSubmatch(l); m != nil {
			s.verbose, s.dump, s.reported = true, nil, nil
			if !event {
				if s.current = s.test(m[2]); m[1] == "PAUSE" {
					s.current = nil
				}
			}
			return true
		}
	}
	if strings.Contains(l, "--- ") {
		if m := p.result.FindStringSubmatch(l); m != nil {
			s.current, s.reported, s.dump = nil, nil, nil
			if m[1] == "FAIL" {
				s.reported = s.fail(m[2])
			} else {
				s.pass(m[2])
			}
			return true
		}
	}
	if l == "PASS" || l == "FAIL" {
		s.current, s.reported, s.dump = nil, nil, nil
		return false
	}
	t := s.current
	if t == nil {
		t = s.reported
	}
	if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
		s.dump, s.dumpOf = []string{}, ""
		if t != nil {
			s.dumpOf = t.name
		}
	}
	if n := len(s.race); n > 0 && n < keptFirst || n == 0 && l == "WARNING: DATA RACE" {
		s.race = append(s.race, diag.ClipBytes(l, maxText))
	}
	if s.dump != nil && len(s.dump) < keptCrash {
		s.dump = append(s.dump, diag.ClipBytes(l, maxText))
	}
	if w := strings.TrimSpace(l); w != "" && !strings.HasPrefix(w, "exit status ") {
		s.words, s.wordsOf = w, ""
		if t != nil {
			s.wordsOf = t.name
		}
	}
	if t == nil {
		s.suite.line(l)
		return false
	}
	t.suite.line(l)
	switch {
	case t.lines.n < keptFirst:
		t.lines.add(l, false)
	case t.accuses(l):
		t.lines.keep(l)
	default:
		t.lines.add(l, strings.Contains(l, ".go:") || looseWord(l))
	}
	return true
}

// accuses reports whether a line is the log of a test that compares, or goes on with one. A test can print any number of lines
// that read like an error before it and after it.
func (t *goTest) accuses(l string) bool {
	if strings.HasPrefix(l, "    ") && strings.Contains(l, ".go:") {
		if m := gos().log.FindStringSubmatch(l); m != nil {
			t.goesOn = 0
			if m[4] == "" || gos().blame.MatchString(m[4]) { // testify's is on the lines below
				t.goesOn = maxDetail
				return true
			}
			return false
		}
	}
	if t.goesOn > 0 && strings.HasPrefix(l, "        ") {
		t.goesOn--
		return true
	}
	t.goesOn = 0
	return false
}

func (s *goSection) pass(name string) {
	if s.wordsOf == name {
		s.words = ""
	}
	delete(s.tests, name)
}

func (s *goSection) fail(name string) *goTest {
	t := s.test(name)
	if !slices.Contains(s.failed, t) {
		if len(s.failed) >= 2*maxFailures {
			s.more++
			return t
		}
		s.failed = append(s.failed, t)
	}
	return t
}

// dumped reports whether the dump is that of a process that ended.
func (s *goSection) dumped() bool {
	_, _, ok := ofGoDump(s.dump)
	return ok
}

// failures says what failed in the package.
func (s *goSection) failures() (list []Failure) {
	panicked := ""
	if len(s.dump) > 0 {
		if f, from, ok := ofGoDump(s.dump); ok {
			panicked = s.dumpOf
			late := strings.HasPrefix(f.Message, "panic: test timed out after ")
			if late {
				panicked = ""
			}
			x := Failure{Finding: f, Test: panicked}
			if from != "" {
				x.Detail = []string{"called at " + from}
			}
			list = append(list, x)
		}
	}
	parents := make(map[string]bool)
	for _, t := range s.failed {
		for name, i := t.name, 0; i >= 0; parents[name] = true {
			i = strings.LastIndexByte(name, '/')
			name = name[:max(i, 0)]
		}
	}
	unnamed := s.suite.end()
	for _, t := range s.failed {
		if panicked != "" && strings.HasPrefix(t.name, panicked+"/") && t.lines.n == 0 {
			list[0].Test = t.name
			continue
		}
		if parents[t.name] || panicked != "" && (t.name == panicked || strings.HasPrefix(panicked, t.name+"/")) {
			continue
		}
		of := t.suite.end()
		if t.lines.n == 0 { // what it printed was not known to be its own
			of, unnamed = append(of, unnamed...), nil
		}
		if len(of) > 0 {
			list = append(list, of...)
			continue
		}
		list = append(list, t.failure(s.verbose, s.race))
	}
	if len(list) == 0 { // the last words of a process that ended itself
		f := Finding{Message: s.status}
		if s.words != "" && s.words != "PASS" && s.words != "FAIL" {
			f = firstLine(s.words)
		}
		test := s.wordsOf
		if running := s.unfinished(); test == "" && running != "" {
			test = running
			if f.Message == s.status {
				f.Message = "the test binary ended while this test ran"
			}
		}
		list = append(list, Failure{Finding: f, Test: test})
	}
	for i := range list {
		list[i].Package = s.pkg
	}
	return list
}

// unfinished returns the one test that began and did not end; empty if more than one did not, those that it is a part of apart.
func (s *goSection) unfinished() (name string) {
	for other := range s.tests {
		switch {
		case name == "" || strings.HasPrefix(other, name+"/"):
			name = other
		case !strings.HasPrefix(name, other+"/"):
			return ""
		}
	}
	return name
}

// firstLine reads one line as an error.
func firstLine(l string) Finding {
	var s scan
	s.line(l)
	f, _ := s.end()
	return f.List[0].Finding
}

// failure says why a test failed.
func (t *goTest) failure(verbose bool, race []string) Failure {
	var logs []goLog
	var printed []string
	open := false // the last log goes on
	for _, l := range t.lines.lines() {
		if m := gos().log.FindStringSubmatch(l); m != nil && (!open || len(m[1]) < 8 || !verbose) {
			logs = append(logs, goLog{Finding: Finding{File: m[2], Line: number(m[3]), Message: strings.TrimSpace(m[4])}})
			open = true
			continue
		}
		if open && strings.HasPrefix(l, "        ") {
			last := &logs[len(logs)-1]
			last.more = append(last.more, strings.TrimRight(l[8:], " "))
			continue
		}
		printed, open = append(printed, l), false
	}
	f := Failure{Test: t.name}
	switch {
	case len(logs) > 0:
		f.Finding, f.Detail = blamed(logs)
	case len(printed) > 0:
		var s scan
		for _, l := range printed {
			s.line(l)
		}
		if found, _ := s.end(); len(found.List) > 0 {
			f.Finding = found.List[0].Finding
		}
		if strings.HasPrefix(t.name, "Example") {
			f.Message = squash(printed)
		}
	}
	if f.Message == "" {
		f.Message = "failed"
	}
	if strings.HasPrefix(f.Message, "race detected during execution of test") {
		f.Finding = dataRace(race, f.Finding)
		f.Detail = nil
	}
	return f
}

// ofGoDump reads the stacks that a process prints as it ends by a panic. The place is the
// innermost frame of the project: of a goroutine that runs a test if the tests took too long, else of
// the first goroutine, which is the one that panicked. from is the place in a file of tests from which it was reached,
// without its folder, if that is another: a helper that panics is the same for all that call it.
func ofGoDump(lines []string) (f Finding, from string, ok bool) {
	var frames [][]Finding // by goroutine
	var running []bool     // a test, likewise
	late := strings.HasPrefix(lines[0], "panic: test timed out after ")
	f.Message = lines[0]
	root := rootOf(lines)
	for i, l := range lines {
		if strings.HasPrefix(l, "goroutine ") && strings.HasSuffix(l, ":") {
			frames, running = append(frames, nil), append(running, false)
			continue
		}
		n := len(frames) - 1
		switch m := places().frame.FindStringSubmatch(l); {
		case n < 0 && late && strings.HasPrefix(l, "\t\t"):
			f.Message += ", " + strings.TrimSpace(l)
		case n < 0 || m == nil:
		case root.has(m[1]):
			running[n] = running[n] || i > 0 && strings.HasPrefix(lines[i-1], "testing.tRunner(")
		default:
			frames[n] = append(frames[n], Finding{File: m[1], Line: number(m[2])})
		}
	}
	for _, inProject := range []bool{true, false} {
		for n, list := range frames {
			for _, at := range list {
				foreign := strings.Contains(at.File, "/pkg/mod/") || strings.Contains(at.File, "/vendor/")
				if (!late || running[n]) && !(inProject && foreign) {
					f.File, f.Line = at.File, at.Line
					for _, o := range list {
						if strings.HasSuffix(o.File, "_test.go") && o.Place() != f.Place() && !late {
							from = path.Base(o.Place())
						}
					}
					return f, from, true
				}
			}
		}
	}
	return f, "", len(frames) > 0
}

// A goRoot is the folder of the standard library's files, as stacks name them; it is empty with -trimpath.
type goRoot string

// rootOf finds the root in a dump: a stack of a test has a frame of package testing or runtime.
func rootOf(lines []string) goRoot {
	for _, l := range lines {
		for _, file := range []string{"testing/testing.go:", "runtime/panic.go:", "runtime/proc.go:"} {
			if before, _, ok := strings.Cut(strings.TrimSpace(l), "/src/"+file); ok {
				return goRoot(before + "/src/")
			}
		}
	}
	return ""
}

// has reports whether a file is the standard library's. With -trimpath, that is one in a
// package whose first element has no dot.
func (r goRoot) has(file string) bool {
	if r != "" && strings.HasPrefix(file, string(r)) || file == "_testmain.go" {
		return true
	}
	first, _, inside := strings.Cut(file, "/")
	return inside && first != "" && !strings.ContainsAny(first, ".:")
}

// dataRace returns the first place that the race detector reports, or f if it reports none.
func dataRace(lines []string, f Finding) Finding {
	i := slices.Index(lines, "WARNING: DATA RACE")
	if i < 0 {
		return f
	}
	race, root := Finding{Message: lines[i]}, rootOf(lines)
	for _, l := range lines[i+1:] {
		if m := places().frame.FindStringSubmatch("\t" + strings.TrimSpace(l)); m != nil && !root.has(m[1]) {
			race.File, race.Line = m[1], number(m[2])
			return race
		}
	}
	return f
}

// blamed returns the log that says why a test failed, and what there is beside it. That is the first that compares,
// else the first that reads like an error, else the last, after which t.Fatal ends the test.
func blamed(logs []goLog) (f Finding, detail []string) {
	for i, l := range logs {
		if l.Message == "" {
			logs[i].Message, logs[i].more = below(l.more), nil
			if at := traced(l.more); at.File != "" && path.Base(at.File) != path.Base(l.File) { // without t.Helper the place is testify's own
				logs[i].File, logs[i].Line = at.File, at.Line
			}
		}
	}
	at := len(logs) - 1
search:
	for _, re := range []*regexp.Regexp{gos().blame, places().loose} {
		for i, l := range logs {
			if re.MatchString(l.Message) {
				at = i
				break search
			}
		}
	}
	detail = logs[at].more
	for i, l := range logs[at+1:] {
		if i < 3 && (gos().blame.MatchString(l.Message) || places().loose.MatchString(l.Message)) {
			detail = append(detail, l.Finding.String())
		}
	}
	return logs[at].Finding, detail
}

// traced returns the place that testify, and what derives from it, names in the first row of its table.
func traced(lines []string) (f Finding) {
	for _, l := range lines {
		if at, ok := strings.CutPrefix(strings.TrimSpace(l), "Error Trace:"); ok {
			if at = strings.TrimSpace(at); strings.Contains(at, ".go:") {
				i := strings.LastIndexByte(at, ':')
				return Finding{File: at[:i], Line: number(at[i+1:])}
			}
			break
		}
	}
	return Finding{}
}

// below reads a message that begins on the line after its place, such as testify's, which has
// a table with a row for the error.
func below(lines []string) string {
	var list []string
	for _, l := range lines {
		l = strings.TrimSpace(l)
		label, rest, table := strings.Cut(l, ":")
		switch {
		case table && label == "Error Trace":
			list = nil
		case table && label == "Error":
			list = []string{rest}
		case table && (label == "Test" || label == "Messages"):
			return squash(list)
		case l != "":
			list = append(list, l)
		}
	}
	return squash(list)
}

// squash makes one line of several.
func squash(lines []string) string {
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}
