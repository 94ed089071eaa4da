package diagnose

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

type goPatterns struct {
	result, current, log, blame, status, header, dump *regexp.Regexp
}

var gos = sync.OnceValue(func() (p goPatterns) {
	c := regexp.MustCompile
	p.result = c(`--- (FAIL|PASS|SKIP): (\S+) \(\d[\d.]*s\)$`)
	p.current = c(`^=== (RUN|CONT|NAME|PAUSE) +(\S+)$`)
	p.log = c(`^( {4,})([^\s:]+\.go):(\d+):(?: (.*))?$`)
	p.blame = c(`(?i)\b(want|wanted|got|expected|unexpected|actual|should)\b|!=|not equal`)
	p.status = c(`^(ok  |FAIL|\?   )\t(\S+)(.*)$`)
	p.header = c(`^# (\S+|\[\S+\])(?: \[\S+\.test\])?$`)
	p.dump = c(`^(panic|fatal error): `)
	return p
})

// A goLog is what a test said by t.Log, t.Error and their like, which look the same.
type goLog struct {
	Finding
	more []string // the lines below it
}

// A goTest is a test that failed. Its lines are those that it printed: with -v before its result,
// without -v only what t.Log and its like wrote, after it.
type goTest struct {
	name  string
	logs  []goLog
	lines []string
}

// isGoTest reports whether an output is that of go test.
func isGoTest(text []byte) bool {
	for _, sign := range []string{"--- FAIL: ", "=== RUN ", "\nFAIL\t"} {
		if bytes.Contains(text, []byte(sign)) {
			return true
		}
	}
	return bytes.HasPrefix(text, []byte("FAIL\t"))
}

// ofGoTest reads the output of go test, with -v and without. The output is a sequence of sections, one
// a package, each of which ends with the status of its package. The first section that failed is read on its
// own. If there is none, rest is the output without what the tests printed that passed.
func ofGoTest(text []byte) (f Finding, rest []byte, ok bool) {
	p := gos()
	var section, kept []string
	var build []string // what the compiler or vet printed
	unbuilt := ""      // the status of a package that was not built, and of which the compiler said nothing yet
	header := false    // the lines are the compiler's
	for raw := range bytes.Lines(text) {
		l := string(bytes.TrimRight(raw, "\r\n\t "))
		m := p.status.FindStringSubmatch(l)
		switch {
		case m == nil && header && (l == "" || p.current.MatchString(l) || p.result.MatchString(l)):
			header = false
		case m == nil && (header || p.header.MatchString(l)):
			build, header = append(build, l), true
			continue
		}
		if m == nil {
			section = append(section, l)
			continue
		}
		header = false
		if m[1] == "FAIL" {
			if strings.HasSuffix(m[3], " [build failed]") || strings.HasSuffix(m[3], " [setup failed]") {
				if f, ok := ofGoBuild(build); ok {
					return f, nil, true
				}
				if unbuilt == "" {
					unbuilt = l // what the compiler printed came late: it is another stream
				}
				continue
			}
			if unbuilt != "" {
				section = nil
				continue
			}
			f, _ := ofGoSection(section)
			if f.Message == "" {
				f.Message = l
			}
			return f, nil, true
		}
		kept, section = append(kept, l), nil
	}
	if unbuilt != "" {
		f, ok := ofGoBuild(build)
		if !ok {
			f.Message = unbuilt
		}
		return f, nil, true
	}
	f, outside := ofGoSection(section)
	if outside == nil {
		return f, nil, true
	}
	kept = append(append(kept, build...), outside...)
	return Finding{}, []byte(strings.Join(kept, "\n")), false
}

// ofGoBuild returns the first error that the compiler or vet printed.
func ofGoBuild(lines []string) (Finding, bool) {
	message := ""
	for _, l := range lines {
		if m := places().colon.FindStringSubmatch(l); m != nil && isPath(m[1]) {
			return Finding{m[1], number(m[2]), number(m[3]), m[4]}, true
		}
		if message == "" && !gos().header.MatchString(l) {
			message = l
		}
	}
	return Finding{Message: message}, message != ""
}

// ofGoSection reads what go test printed of one package. If no test failed, and no panic ended them all, the
// finding is the last line, and rest is what no test printed; else rest is nil.
func ofGoSection(lines []string) (f Finding, rest []string) {
	p := gos()
	tests := make(map[string]*goTest)
	of := func(name string) *goTest {
		if tests[name] == nil {
			tests[name] = &goTest{name: name}
		}
		return tests[name]
	}
	var failed []*goTest
	fine := make(map[string]bool)
	owner := make([]string, len(lines))
	dump := -1                     // the line of the panic that ended the section
	verbose := false               // the results follow what the tests print
	var current, reporting *goTest // prints; had its result on the line before
	var open *goTest               // whose last log goes on
	for i, l := range lines {
		if m := p.current.FindStringSubmatch(l); m != nil {
			verbose, dump, open, reporting = true, -1, nil, nil
			if current = of(m[2]); m[1] == "PAUSE" {
				current = nil
			}
			continue
		}
		if m := p.result.FindStringSubmatch(l); m != nil {
			current, open, reporting, dump = nil, nil, nil, -1
			if m[1] == "FAIL" {
				reporting = of(m[2])
				failed = append(failed, reporting)
			} else {
				fine[m[2]] = true
			}
			continue
		}
		if l == "PASS" || l == "FAIL" {
			current, open, reporting, dump = nil, nil, nil, -1
			continue
		}
		if p.dump.MatchString(l) {
			dump = i
		}
		t := current
		if t == nil {
			t = reporting
		}
		if t == nil {
			continue
		}
		owner[i] = t.name
		if m := p.log.FindStringSubmatch(l); m != nil && (open == nil || len(m[1]) < 8 || !verbose) {
			t.logs = append(t.logs, goLog{Finding: Finding{File: m[2], Line: number(m[3]), Message: strings.TrimSpace(m[4])}})
			open = t
			continue
		}
		if open == t && strings.HasPrefix(l, "        ") {
			last := &t.logs[len(t.logs)-1]
			last.more = append(last.more, strings.TrimSpace(l))
			continue
		}
		t.lines, open = append(t.lines, l), nil
	}
	if dump >= 0 {
		if f, ok := ofGoDump(lines[dump:]); ok {
			return f, nil
		}
	}
	parents := make(map[string]bool)
	for _, t := range failed {
		for name, i := t.name, 0; i >= 0; parents[name] = true {
			i = strings.LastIndexByte(name, '/')
			name = name[:max(i, 0)]
		}
	}
	for _, t := range failed {
		switch {
		case parents[t.name]:
			continue
		case len(t.logs) > 0:
			f = blamed(t.logs)
		case len(t.lines) > 0:
			f, _ = byLine([]byte(strings.Join(t.lines, "\n")))
			if strings.HasPrefix(t.name, "Example") {
				f.Message = squash(t.lines)
			}
			f.Message = t.name + ": " + f.Message
		default:
			f.Message = t.name + " failed"
		}
		if strings.HasPrefix(f.Message, "race detected during execution of test") {
			f = dataRace(lines, f)
		}
		return f, nil
	}
	for i := len(lines) - 1; i >= 0; i-- { // the last words of a process that ended itself
		l := strings.TrimSpace(lines[i])
		if l != "" && l != "PASS" && l != "FAIL" && !strings.HasPrefix(l, "exit status ") && !fine[owner[i]] {
			f, _ = byLine([]byte(l))
			break
		}
	}
	rest = []string{}
	for i, l := range lines {
		if owner[i] == "" {
			rest = append(rest, l)
		}
	}
	return f, rest
}

// ofGoDump reads the stacks that a process prints as it ends by a panic. The place is the
// innermost frame of the project: of a goroutine that runs a test if the tests took too long, else of
// the first goroutine, which is the one that panicked.
func ofGoDump(lines []string) (f Finding, ok bool) {
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
					return f, true
				}
			}
		}
	}
	return f, len(frames) > 0
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

// blamed returns the log that says why a test failed: the first that compares, else the
// first that reads like an error, else the last, after which t.Fatal ends the test.
func blamed(logs []goLog) Finding {
	for i, l := range logs {
		if l.Message == "" {
			logs[i].Message = below(l.more)
		}
	}
	for _, re := range []*regexp.Regexp{gos().blame, places().loose} {
		for _, l := range logs {
			if re.MatchString(l.Message) {
				return l.Finding
			}
		}
	}
	return logs[len(logs)-1].Finding
}

// below reads a message that begins on the line after its place, such as testify's, which has
// a table with a row for the error.
func below(lines []string) string {
	var list []string
	for _, l := range lines {
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
