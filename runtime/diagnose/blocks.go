package diagnose

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A blockKind is a runner that writes a block for each test that failed: a header, then its text.
type blockKind uint8

const (
	noBlock blockKind = iota
	pytestBlock
	unittestBlock
	cargoBlock
	jestBlock
	vitestBlock
	mochaBlock
	rspecBlock
	rspecLoadBlock
	minitestBlock
	uvuBlock
)

type blockPatterns struct {
	pytest, summary, section, unittest, cargo, vitest, uvu, mocha, rspec, minitest, mini, rubyAt, location, isolated, panicked, quoted, syntax, frame, diff *regexp.Regexp
}

var blockForms = sync.OnceValue(func() (p blockPatterns) {
	c := regexp.MustCompile
	p.pytest = c(`^_+ (.+?) _+$`)
	p.section = c(`^=+ (.+?) =+$`)
	p.summary = c(`^(FAILED|ERROR) (\S+?)(?:::(\S.*?))?(?: - (.*))?$`)
	p.unittest = c(`^(FAIL|ERROR): (\S+) \((\S+)\)`)
	p.cargo = c(`^---- (\S+)(?: stdout)? ----$`)
	p.vitest = c(`^ *FAIL  (.+)$`)
	p.uvu = c(`^   FAIL  (?:(.+)  )?"(.+)"$`)
	p.mocha = c(`^ {2,4}(\d+)\) (.*)$`)
	p.rspec = c(`^\s+# (?:\./)?(\S+?):(\d+)(?::in .*)?$`)
	p.minitest = c(`^ {0,2}\d+\) (?:Failure|Error):$`)
	p.mini = c(`^(.+?)(?: \[([^\]]+):(\d+)\])?:$`)
	p.rubyAt = c(`^\s+(?:from )?(\S[^:]*|[A-Za-z]:[^:]*):(\d+):in `)
	p.location = c(`^(\S[^:]*|[A-Za-z]:[^:]*):(\d+): ?(.*)$`)
	p.isolated = c(`^(-{4,}|_ _ _).*$`)
	p.panicked = c(`^thread '.*' (?:\(\d+\) )?panicked at (?:'(.*)', )?([^\s:]+):(\d+):(\d+):?$`)
	p.quoted = c(`^\s*>?\s*\d+ ?\|`)
	p.syntax = c(`^SyntaxError: (\S+?): (.*) \((\d+):(\d+)\)$`)
	p.diff = c(`^(?:- (?:Expected|Snapshot)(?: +- \d+)?|\+ Received(?: +\+ \d+)?|\+ expected - actual)$`)
	p.frame = c(`^\s*(?:at .*?\(?|❯ (?:.* )?)((?:file://)?[^\s()]+):(\d+):(\d+)\)?$`)
	return p
})

// blockTests reads the runners that write blocks: pytest, unittest, cargo, jest, vitest, uvu, mocha, RSpec and minitest.
type blockTests struct {
	Failures
	kind    blockKind
	name    string
	more    []string // further tests that have the same block
	lines   kept
	skip    bool // what the test printed
	before  string
	file    string   // of jest, whose tests follow
	failing bool     // mocha's list has begun
	rspec   bool     // RSpec's list has begun
	mini    bool     // minitest's list has begun
	told    bool     // jest repeats itself from here on
	inside  bool     // pytest's sections of failures
	short   Failures // of pytest's summary
}

// line reads one line; it reports whether the runner is known by it.
func (b *blockTests) line(l string) (known bool) {
	defer func() { b.before = l }()
	if kind, name := b.header(l); kind != noBlock {
		if kind == vitestBlock && b.kind == vitestBlock && b.lines.n == 0 {
			b.more = append(b.more[:min(len(b.more), maxFailures)], name)
			return true
		}
		b.flush()
		b.kind, b.name = kind, name
		return true
	}
	if b.kind == noBlock {
		return false
	}
	switch b.kind {
	case pytestBlock:
		if l == "" {
			return true
		}
		if l[0] == '-' && strings.HasSuffix(l, "-") && strings.Contains(l, " Captured ") {
			b.skip = true
		}
	case unittestBlock:
		if strings.HasPrefix(l, "Ran ") && strings.Contains(l, " in ") {
			b.flush()
			return false
		}
	case cargoBlock:
		if l == "failures:" || strings.HasPrefix(l, "test result: ") {
			b.flush()
			return false
		}
	case jestBlock:
		if strings.HasPrefix(l, "Test Suites: ") || strings.HasPrefix(l, "PASS ") {
			b.flush()
			return false
		}
	case rspecBlock, rspecLoadBlock:
		if strings.HasPrefix(l, "Finished in ") {
			b.flush()
			b.rspec = false
			return false
		}
	case minitestBlock:
		if strings.Contains(l, " runs, ") && strings.Contains(l, " assertions, ") {
			b.flush()
			b.mini = false
			return false
		}
	case vitestBlock:
		if strings.HasPrefix(l, "⎯⎯") {
			b.flush()
			return false
		}
	case uvuBlock:
		if l == "" && b.before == "" {
			b.flush()
			return true
		}
	}
	if !b.skip {
		b.lines.add(l, b.lines.n >= keptFirst && b.worth(l))
	}
	return true
}

// worth reports whether a line of a long block says something of the failure.
func (b *blockTests) worth(l string) bool {
	return strings.HasPrefix(l, "E ") || b.kind == unittestBlock && (strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "+ ")) || strings.HasPrefix(l, "thread '") || b.kind == pytestBlock && hasPlace(l) && blockForms().location.MatchString(l)
}

// header returns the kind and the test of a block that begins with l, and ends what l ends.
func (b *blockTests) header(l string) (blockKind, string) {
	p := blockForms()
	switch {
	case len(l) < 5:
	case l[0] == '=':
		m := p.section.FindStringSubmatch(l)
		if m == nil {
			break
		}
		if was := b.inside; was || b.kind == pytestBlock {
			b.flush()
		}
		b.inside = m[1] == "FAILURES" || m[1] == "ERRORS"
	case l[0] == '_' && b.inside:
		if m := p.pytest.FindStringSubmatch(l); m != nil && !p.isolated.MatchString(l) {
			return pytestBlock, m[1]
		}
	case strings.HasPrefix(l, "ImportError while loading conftest"):
		return pytestBlock, ""
	case (l[0] == 'F' || l[0] == 'E') && strings.HasPrefix(b.before, "=====") && strings.Trim(b.before, "=") == "":
		if m := p.unittest.FindStringSubmatch(l); m != nil {
			name := strings.TrimPrefix(strings.TrimPrefix(m[3], "__main__."), "unittest.loader._FailedTest.")
			if !strings.HasSuffix(name, "."+m[2]) && name != m[2] {
				name += "." + m[2]
			}
			return unittestBlock, name
		}
	case (l[0] == 'F' || l[0] == 'E') && b.kind != unittestBlock && strings.Contains(l, ".py"):
		if m := p.summary.FindStringSubmatch(l); m != nil && isPath(m[2]) {
			message := m[4]
			if message == "" {
				message = map[string]string{"FAILED": "failed", "ERROR": "cannot be loaded"}[m[1]]
			}
			b.short.add(Failure{Finding: Finding{File: m[2], Message: message}, Test: m[3]})
		}
	case strings.HasPrefix(l, "---- "):
		if m := p.cargo.FindStringSubmatch(l); m != nil {
			return cargoBlock, m[1]
		}
	case l == "Summary of all failing tests": // of jest, which has told them all
		b.flush()
		b.told = true
	case strings.HasPrefix(l, "  ● ") && !b.told:
		if name := strings.TrimSpace(l[len("  ● "):]); name != "Console" {
			return jestBlock, name
		}
	case strings.HasPrefix(l, "FAIL ") && strings.Contains(l, ".") && !strings.Contains(l, "  ") && !strings.Contains(l, "\t"): // jest
		b.flush()
		b.file = strings.TrimPrefix(strings.Fields(l)[1], "./")
	case strings.HasPrefix(l, "   FAIL  ") && l[len(l)-1] == '"':
		if m := p.uvu.FindStringSubmatch(l); m != nil {
			return uvuBlock, strings.TrimSpace(m[1] + " " + m[2])
		}
	case strings.Contains(l, "FAIL  ") && strings.TrimLeft(l, " ")[0] == 'F':
		if m := p.vitest.FindStringSubmatch(l); m != nil && isPath(strings.Fields(m[1] + " .")[0]) || m != nil && strings.HasPrefix(m[1], "|") {
			return vitestBlock, m[1]
		}
	case strings.HasSuffix(l, " failing") && strings.HasPrefix(l, "  "):
		b.failing = true
	case l == "Failures:":
		b.flush()
		b.rspec = true
	case strings.HasPrefix(l, rspecLoad):
		file, _, _ := strings.Cut(l[len(rspecLoad):], " - Did you mean?")
		return rspecLoadBlock, strings.TrimPrefix(strings.TrimSuffix(file, "."), "./")
	case b.rspec && l[:2] == "  ":
		if m := p.mocha.FindStringSubmatch(l); m != nil {
			return rspecBlock, m[2]
		}
	case strings.HasPrefix(l, "Finished in ") && strings.HasSuffix(l, " assertions/s."):
		b.mini = true
	case b.mini && l[0] == ' ' && p.minitest.MatchString(l):
		return minitestBlock, ""
	case b.failing && l[:2] == "  ":
		if m := p.mocha.FindStringSubmatch(l); m != nil {
			return mochaBlock, m[2]
		}
	}
	return noBlock, ""
}

// flush ends the present block.
func (b *blockTests) flush() {
	kind, name, more, lines := b.kind, b.name, b.more, b.lines.lines()
	b.kind, b.name, b.more, b.lines, b.skip = noBlock, "", nil, kept{}, false
	var f Failure
	switch kind {
	case noBlock:
		return
	case pytestBlock:
		f = ofPytest(name, lines)
	case unittestBlock:
		f = ofTraceback(differing(lines))
		f.Test = name
		f.Detail = undiffed(f.Message, f.Detail)
	case cargoBlock:
		f = ofCargo(lines)
		f.Test = name
	case jestBlock:
		f = ofJest(lines)
		if f.Test = name; name == "Test suite failed to run" {
			f.Test = ""
			if f.File == "" {
				f.File = b.file
			}
		}
	case vitestBlock:
		f = ofJest(lines)
		file, test, found := strings.Cut(name, " > ")
		if f.Test = test; !found { // "a.test.js [ a.test.js ]": it cannot be loaded
			f.Test, file = "", strings.Fields(name)[0]
		}
		if f.File == "" {
			f.File = file
		}
	case uvuBlock:
		f = ofJest(uvuValues(lines))
		f.Test = name
	case rspecBlock:
		f = ofRSpec(lines)
		f.Test = name
	case rspecLoadBlock:
		if f = ofRSpec(lines); f.File == "" {
			f.File = name
		}
	case minitestBlock:
		f = ofMinitest(lines)
	case mochaBlock: // the names of suites are indented by seven or more; a blank line, or an error indented by five, follows
		for len(lines) > 0 && strings.HasPrefix(lines[0], "       ") && strings.TrimSpace(lines[0]) != "" {
			name = strings.TrimSpace(name + " " + strings.TrimSpace(lines[0]))
			lines = lines[1:]
		}
		f = ofJest(lines)
		f.Test = strings.TrimSuffix(name, ":")
	}
	if f.Message == "" {
		f.Message = "failed"
	}
	b.add(f)
	for _, name := range more {
		_, f.Test, _ = strings.Cut(name, " > ")
		b.add(f)
	}
}

// end returns what failed. pytest's summary alone tells of it where no block does.
func (b *blockTests) end() *Failures {
	b.flush()
	if b.Total == 0 {
		return &b.short
	}
	return &b.Failures
}

// rspecLoad begins what RSpec writes of a file that it cannot load.
const rspecLoad = "An error occurred while loading "

// ofRSpec reads the block of an example: what it quotes of the source, the message, and the frames that are not RSpec's own.
func ofRSpec(lines []string) (f Failure) {
	var message []string
	quoted := false // the source of the failure, which a blank line or the message's indentation ends
	for _, l := range lines {
		t := strings.TrimSpace(l)
		if m := blockForms().rspec.FindStringSubmatch(" " + l); m != nil {
			if f.File == "" {
				f.File, f.Line = m[1], number(m[2])
			}
			continue
		}
		switch _, source, found := strings.Cut(l, "Failure/Error:"); {
		case found:
			quoted = strings.TrimSpace(source) != ""
		case t == "":
			quoted = false
		case t == "(compared using ==)", t == "Diff:", t == "No examples found.", strings.Trim(t, "^") == "",
			f.File != "" && len(message) == 0, len(message) == 0 && strings.HasPrefix(t, "Got ") && strings.HasSuffix(t, " failures:"):
		case quoted && len(message) == 0 && !strings.HasPrefix(t, "expected"):
			// the source goes on
		default:
			quoted = false
			message = append(message, t)
		}
	}
	if len(message) == 0 {
		return f
	}
	f.Message, f.Detail = message[0], message[1:]
	if len(f.Detail) > 0 && (strings.HasSuffix(f.Message, ":") || strings.HasPrefix(f.Message, "expected: ") && strings.HasPrefix(f.Detail[0], "got: ")) {
		sep := ", "
		if strings.HasSuffix(f.Message, ":") {
			sep = " "
		}
		f.Message, f.Detail = f.Message+sep+f.Detail[0], f.Detail[1:]
	}
	return f
}

// ofMinitest reads the block of a test: its name, with the place of an assertion, what it says, the stack of an error.
func ofMinitest(lines []string) (f Failure) {
	var message []string
	over := false // what Ruby quotes of the source stands below a blank line, above the stack
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if i == 0 {
			if m := blockForms().mini.FindStringSubmatch(l); m != nil {
				f.Test, f.File, f.Line = m[1], m[2], number(m[3])
			}
			continue
		}
		if m := blockForms().rubyAt.FindStringSubmatch(l); m != nil {
			if over = true; f.File == "" && !gem(m[1]) {
				f.File, f.Line = m[1], number(m[2])
			}
			continue
		}
		if over = over || t == "" && len(message) > 0; !over && t != "" {
			message = append(message, t)
		}
	}
	if len(message) == 0 {
		return f
	}
	if diff := slices.Index(message, "--- expected"); diff >= 0 {
		values := ofDiff(message[diff:])
		if message = message[:diff:diff]; len(values) == 2 && strings.HasPrefix(values[0], "expected: ") {
			message = append(message, strings.Join(values, ", "))
		} else {
			message = append(append(message, "- expected, + actual:"), values...)
		}
	}
	f.Message, f.Detail = message[0], message[1:]
	if len(f.Detail) == 1 && strings.HasPrefix(f.Message, "Expected: ") && strings.HasPrefix(f.Detail[0], "Actual: ") {
		f.Message, f.Detail = f.Message+", "+f.Detail[0], nil
	}
	return f
}

// gem reports whether a file is of Ruby itself, or of a gem.
func gem(file string) bool {
	return strings.HasPrefix(file, "<") || strings.Contains(file, "/gems/") || strings.Contains(file, "/lib/ruby/") || strings.Contains(file, "/rubygems/")
}

// library reports whether a file is of Python itself, or of a package that was installed.
func library(file string) bool {
	return strings.Contains(file, "/site-packages/") || strings.Contains(file, "/dist-packages/") || strings.Contains(file, "/lib/python") ||
		strings.HasPrefix(file, "<") || strings.HasPrefix(file, "site-packages/")
}

// Of a chain of exceptions the last one ended the test.
const (
	whileHandling = "During handling of the above exception, another exception occurred:"
	directCause   = "The above exception was the direct cause of the following exception:"
)

// ofPytest reads the block of a test. The place is where the error was raised; of a library it is the last of the
// project's lines on the way there.
func ofPytest(name string, lines []string) (f Failure) {
	var raised []string // the lines of E
	var last, own Finding
	inText := false
	for _, l := range lines {
		switch {
		case l == whileHandling, l == directCause:
			raised, last, own = nil, Finding{}, Finding{}
		case strings.HasPrefix(l, "E ") || l == "E":
			e := strings.TrimPrefix(strings.TrimPrefix(l, "E"), "   ")
			if m := places().python.FindStringSubmatch("  " + strings.TrimSpace(e)); m != nil {
				last, inText = Finding{File: m[1], Line: number(m[2])}, true
				continue
			}
			raised = append(raised, e)
		default:
			m := blockForms().location.FindStringSubmatch(l)
			if m == nil {
				if p := places().python.FindStringSubmatch(l); p != nil {
					m = p[:3:3]
				}
			}
			if m == nil || !isPath(m[1]) && !library(m[1]) || inText {
				continue
			}
			if last = (Finding{File: m[1], Line: number(m[2])}); !library(m[1]) {
				own = last
			}
		}
	}
	if f.Finding = last; library(last.File) {
		f.Finding = own
	}
	if inText { // what the parser quotes stands before its message
		for len(raised) > 1 && !places().raised.MatchString(raised[0]) {
			raised = raised[1:]
		}
	}
	for len(raised) > 1 && strings.TrimSpace(raised[0]) == "" {
		raised = raised[1:]
	}
	f.Test = name
	if file, ok := strings.CutPrefix(name, "ERROR collecting "); ok {
		if f.Test = ""; f.File == "" {
			f.File = file
		}
	}
	at := ""
	for _, when := range []string{"setup", "teardown"} {
		if test, ok := strings.CutPrefix(name, "ERROR at "+when+" of "); ok {
			f.Test, at = test, "in "+when+": "
		}
	}
	if len(raised) == 0 { // native, or without a traceback
		g := ofTraceback(lines)
		if g.File == "" {
			g.Finding = Finding{f.File, f.Line, f.Column, g.Message}
		}
		g.Test = f.Test
		f = g
	} else {
		f.Message = strings.TrimSpace(raised[0])
		for _, l := range raised[1:] {
			if strings.TrimSpace(l) != "" {
				f.Detail = append(f.Detail, strings.TrimRight(l, " "))
			}
		}
	}
	f.Message = at + f.Message
	return f
}

// ofTraceback reads the tracebacks of Python's own.
func ofTraceback(lines []string) (f Failure) {
	var own Finding
	for _, l := range lines {
		if l == whileHandling || l == directCause {
			f, own = Failure{}, Finding{}
			continue
		}
		if m := places().python.FindStringSubmatch(l); m != nil {
			if f = (Failure{Finding: Finding{File: m[1], Line: number(m[2])}}); !library(m[1]) {
				own = f.Finding
			}
			continue
		}
		t := strings.TrimSpace(l)
		switch {
		case t == "" || strings.Trim(t, "-=") == "":
		case f.Message == "" && (places().raised.MatchString(t) && l[0] != ' ' || f.File == "" && !strings.HasPrefix(t, "Traceback")):
			f.Message = t
		case f.Message != "" && len(f.Detail) < maxDetail:
			f.Detail = append(f.Detail, strings.TrimRight(l, " "))
		}
	}
	if library(f.File) && own.File != "" {
		f.File, f.Line = own.File, own.Line
	}
	return f
}

// differing returns the lines of a traceback of unittest without those of a diff that both values have, which could be all that
// there is room for. What the test itself said stands in the last line, after " : ".
func differing(lines []string) []string {
	raised := -1
	differs := false
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, "AssertionError: "):
			raised, differs = i, false
		case strings.HasPrefix(l, "Traceback "):
			raised = -1
		case raised >= 0:
			differs = differs || strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "+ ")
		}
	}
	if raised < 0 || !differs {
		return lines
	}
	kept, last := slices.Clone(lines[:raised+1]), ""
	for _, l := range lines[raised+1:] {
		if strings.Trim(l, "-= ") != "" {
			last = l
		}
		if !strings.HasPrefix(l, "  ") && !strings.HasPrefix(l, "? ") {
			kept = append(kept, l)
		}
	}
	if i := strings.LastIndex(last, " : "); i >= 0 && strings.HasPrefix(last, "  ") {
		kept = append(kept, last[i+3:])
	}
	return kept
}

// undiffed returns the detail of an assertion of unittest without the diff of two values that the message has both, whole and
// in one line. What the test itself said of them stands after " : ", at the end.
func undiffed(message string, detail []string) []string {
	if !strings.Contains(message, " != ") || strings.Contains(message, " chars]") || strings.Contains(message, `\n`) || len(message) > 160 || len(detail) == 0 {
		return detail
	}
	if _, own, ok := strings.Cut(detail[len(detail)-1], " : "); ok {
		return []string{own}
	}
	return nil
}

// ofCargo reads what a test of Rust printed: a panic has its place, and its values on the lines below.
func ofCargo(lines []string) (f Failure) {
	reading := false
	for _, l := range lines {
		t := strings.TrimSpace(l)
		if m := blockForms().panicked.FindStringSubmatch(l); m != nil && f.File == "" {
			f = Failure{Finding: Finding{m[2], number(m[3]), number(m[4]), m[1]}}
			reading = true
			continue
		}
		switch {
		case t == "", strings.HasPrefix(t, "note: "), strings.HasPrefix(t, "stack backtrace:"):
			reading = reading && f.Message == ""
		case reading && f.Message == "":
			f.Message = t
		case reading:
			f.Detail = append(f.Detail, t)
		case f.File == "" && strings.HasPrefix(t, "Error: "):
			f.Message = t
		}
	}
	return f
}

// ofJest reads the block of a test of jest, vitest or mocha: the message, what differs, a piece of the source, the stack.
func ofJest(lines []string) (f Failure) {
	var message []string
	over, diff := false, false
	for _, l := range lines {
		t := strings.TrimSpace(l)
		if m := blockForms().frame.FindStringSubmatch(l); m != nil {
			over = true
			file := strings.TrimPrefix(m[1], "file://")
			if f.File == "" && isPath(file) && !strings.Contains(file, "node_modules/") && !strings.HasPrefix(file, "node:") {
				f.File, f.Line, f.Column = file, number(m[2]), number(m[3])
			}
			continue
		}
		if strings.HasPrefix(t, "at ") || strings.HasPrefix(t, "❯ ") || blockForms().quoted.MatchString(l) {
			over = true
		}
		heads := blockForms().diff.MatchString(t)
		if i := slices.Index(message, "+ actual - expected"); heads && i > 0 { // of node's assert, after which mocha shows its own
			message = message[:i]
		}
		switch diff = diff || heads; {
		case over, t == "", heads && t != "+ expected - actual": // which mocha alone writes, and jest the other way around
		case !diff || heads:
			message = append(message, t)
		case t[0] == '-' || t[0] == '+': // what is the same on both sides could be all that there is room for
			message = append(message, t[:1]+" "+strings.TrimSpace(t[1:]))
		}
	}
	if len(message) == 0 {
		return f
	}
	f.Message, f.Detail = message[0], message[1:]
	if m := blockForms().syntax.FindStringSubmatch(f.Message); m != nil {
		f.Finding = Finding{m[1], number(m[3]), number(m[4]), "SyntaxError: " + m[2]}
		f.Detail = nil
	}
	return f
}

// uvuValues keeps the lines in which two values differ. uvu writes both whole, with a dot for each blank.
func uvuValues(lines []string) (out []string) {
	for _, l := range lines {
		switch t := strings.TrimSpace(l); {
		case strings.HasPrefix(t, "++"), strings.HasPrefix(t, "--"):
			out = append(out, t[:1]+" "+strings.Join(strings.Fields(strings.ReplaceAll(t[2:], "·", " ")), " "))
		case t == "Actual:", t == "Expected:", strings.HasPrefix(t, "··"), strings.Trim(t, "^") == "":
		default:
			out = append(out, strings.NewReplacer(":  (", " (", "  (", " (").Replace(l)) // the operator
		}
	}
	return out
}
