package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
)

type nodePatterns struct {
	tapFailed, specTest, specPlace, crash, bats *regexp.Regexp
}

var nodes = sync.OnceValue(func() (p nodePatterns) {
	c := regexp.MustCompile
	p.tapFailed = c(`^( *)not ok \d+(?: -)? (.*?)(?i: # *((?:todo|skip).*)| # .*)?$`)
	p.specTest = c(`^( *)([✖✔﹣▶]) (.*?)(?: \(\d[\d.]*ms\))?( # (?:TODO|SKIP).*)?$`)
	p.specPlace = c(`^test at (.+):(\d+):(\d+)$`)
	p.crash = c(`^(?:file://)?(/.+|[A-Za-z]:\\.+|node:\S+):(\d+)$`)
	p.bats = c(`^\(?(?:in|from) .*?(?:test )?file (\S+), line (\d+)`)
	return p
})

// maxPrinted bounds the lines that are kept of what a file of tests printed.
const maxPrinted = 60

// specTests reads what node --test prints for people: a line a test, the errors of failed tests indented below it, and
// at the end all failures once more, with their places.
type specTests struct {
	Failures
	name, place string // of the test whose block is read
	indent      int
	block       []string
	before      []string // what was printed since the last result
	last        string
	again       bool   // the list at the end has begun
	group       string // of tap-spec: the last line that stands alone, which names the tests below it
	crash       []string
	files       map[string]Finding // of files that failed as a whole: what they printed stands before their result alone
}

func (s *specTests) line(l string) (known bool) {
	t := strings.TrimSpace(l)
	if l == "✖ failing tests:" {
		s.flush()
		s.Failures, s.name, s.block, s.again = Failures{most: s.most}, "", nil, true
		return true
	}
	var m []string
	if strings.ContainsAny(l, "✖✔﹣▶") {
		m = nodes().specTest.FindStringSubmatch(l)
	}
	switch {
	case m != nil:
		s.flush()
		if s.name, s.place, s.indent = "", s.last, len(m[1]); m[2] == "✖" && m[4] == "" {
			s.name = m[3]
		} else if m[2] != "▶" {
			s.before = nil
		}
	case t == "":
	case s.name != "" && len(s.block) == 0 && strings.Trim(t, "-") == "": // tap-spec's line below a name
	case len(l)-len(strings.TrimLeft(l, " ")) > s.indent:
		if len(s.block) < maxPrinted {
			s.block = append(s.block, diag.ClipBytes(t, maxText))
		}
		if s.name == "" {
			s.group = t
			s.print(l)
		}
	default:
		s.flush()
		s.name, s.group = "", t
		s.print(l)
	}
	if t != "" {
		s.last = t
	}
	return m != nil
}

// print keeps a line that a file printed: the first ones, and the last.
func (s *specTests) print(l string) {
	if len(s.before) == maxPrinted {
		s.before = append(s.before[:maxPrinted/2], s.before[maxPrinted/2+1:]...)
	}
	s.before = append(s.before, diag.ClipBytes(l, maxText))
	if strings.HasPrefix(l, "Node.js v") && s.crash == nil {
		s.crash = slices.Clone(s.before)
	}
}

// flush ends the block of a test.
func (s *specTests) flush() {
	list := s.block
	if s.block = nil; s.name == "" || len(list) == 0 { // a suite
		return
	}
	if list[0] == "'test failed'" { // the file itself
		f, known := s.files[s.name]
		if !known {
			f, _ = ofNodeFile(s.name, s.before)
		}
		if !s.again && len(s.files) < maxFailures {
			if s.files == nil {
				s.files = make(map[string]Finding)
			}
			s.files[s.name] = f
		}
		s.add(Failure{Finding: f})
		return
	}
	if strings.HasPrefix(list[0], "operator: ") {
		s.add(tapSpecFailure(s.group, s.name, list))
		return
	}
	f, ok := nodeFailure(list)
	if !ok || strings.HasPrefix(list[0], "'test did not finish before its parent") {
		return
	}
	if m := nodes().specPlace.FindStringSubmatch(s.place); f.File == "" && m != nil {
		f.File, f.Line, f.Column = m[1], number(m[2]), number(m[3])
	}
	f.Test = s.name
	s.add(f)
}

// end returns what failed. Without any test that failed, it is the error that ended node.
func (s *specTests) end() *Failures {
	s.flush()
	s.name = ""
	if s.Total == 0 && s.crash != nil {
		if f, ok := ofNodeFile("", s.crash); ok {
			s.add(Failure{Finding: f})
		}
	}
	return &s.Failures
}

// tapSpecFailure reads the block that tap-spec prints of an assertion of tape: its operator, both values, the place.
func tapSpecFailure(group, name string, block []string) (f Failure) {
	var values []string
	for i, l := range block {
		key, value, _ := strings.Cut(l, ": ")
		switch value = strings.TrimSpace(value); {
		case key == "at":
			f.Finding = nodeFrame(value)
		case key != "expected" && key != "actual":
		case !strings.HasPrefix(value, "|"):
			values = append(values, key+": "+value)
		default: // in lines of its own
			end := slices.IndexFunc(block[i+1:], func(l string) bool {
				return strings.HasPrefix(l, "actual: ") || strings.HasPrefix(l, "at: ") || strings.HasPrefix(l, "stack: ")
			})
			if end > 0 {
				values = append(values, key+": "+strings.Join(block[i+1:i+1+end], " "))
			}
		}
	}
	f.Test, f.Message = name, strings.Join(values, ", ")
	if group != "" {
		f.Test = group + ": " + name
	}
	return f
}

// nodeFailure reads the error of a test: its message, the frames of its stack, its properties.
func nodeFailure(block []string) (f Failure, ok bool) {
	var message []string
	for _, l := range block {
		if strings.HasPrefix(l, "at ") {
			f.Finding = nodeFrame(l)
			if ok = true; f.File != "" {
				break
			}
			continue
		}
		if ok {
			break // the properties
		}
		message = append(message, l)
	}
	if len(message) == 0 {
		return f, false
	}
	if text := unquote(message[0]); text != message[0] { // of the runner itself
		message[0], ok = text, true
	}
	isError := strings.Contains(message[0], ": ")
	message[0] = strings.TrimPrefix(nodeError(message[0]), "AssertionError: ")
	ok = ok || isError
	f.Message = nodeMessage(message)
	return f, ok
}

// nodeMessage makes one line of an error's message: what differs of a comparison, else the first
// line, and those after a colon.
func nodeMessage(lines []string) string {
	first := lines[0]
	if !strings.HasSuffix(first, ":") {
		return first
	}
	rest := slices.DeleteFunc(slices.Clone(lines[1:]), func(l string) bool { return l == "" })
	if slices.Contains(rest, "+ actual - expected") {
		rest = slices.DeleteFunc(rest, func(l string) bool {
			return l == "+ actual - expected" || l[0] != '+' && l[0] != '-'
		})
	}
	return squash(append([]string{first}, rest[:min(len(rest), 6)]...))
}

// ofNodeFile returns why a file failed that is not a test. It could not be loaded, or threw, and crashed is true; or it ended
// the process, and the message is the last line of what it printed.
func ofNodeFile(file string, printed []string) (f Finding, crashed bool) {
	p := nodes()
	f = Finding{File: file, Message: "test failed"}
	last := len(printed) - 1 // node's version, below an error
	for last >= 0 && !strings.HasPrefix(printed[last], "Node.js v") {
		last--
	}
	var head Finding // where node says that the error is, above the line itself
	for i, l := range printed {
		if m := p.crash.FindStringSubmatch(l); m != nil && !crashed {
			if head = (Finding{File: m[1], Line: number(m[2])}); strings.HasPrefix(m[1], "node:") {
				head = Finding{}
			}
		}
		if t := strings.TrimSpace(l); t != "" && !crashed && !strings.HasPrefix(t, "Node.js v") {
			f.Message = t
		}
		if !crashed && places().raised.MatchString(l) && i < last {
			crashed, f.Message = true, nodeError(l)
			if head.File != "" {
				f = Finding{File: head.File, Line: head.Line, Message: f.Message}
			}
			continue
		}
		if at := nodeFrame(strings.TrimSpace(l)); crashed && at.File != "" && strings.HasPrefix(strings.TrimSpace(l), "at ") {
			f.File, f.Line, f.Column = at.File, at.Line, at.Column
			break
		}
	}
	return f, crashed
}

// nodeError returns the first line of an error without its code: Error [CODE]: message.
func nodeError(l string) string {
	head, rest, ok := strings.Cut(l, ": ")
	if class, _, coded := strings.Cut(head, " ["); ok && coded {
		return class + ": " + rest
	}
	return l
}

// nodeFrame reads a frame of a stack; it is zero if it lies in node or in a package.
func nodeFrame(l string) (f Finding) {
	if !strings.HasPrefix(l, "at ") {
		l = "at " + l
	}
	m := places().stack.FindStringSubmatch(" " + l)
	if m == nil || !isPath(m[1]) || strings.Contains(m[1], "node_modules/") || strings.Contains(l, "node:") {
		return Finding{}
	}
	return Finding{File: m[1], Line: number(m[2]), Column: number(m[3])}
}

// tapTests reads the Test Anything Protocol, as node --test and others write it: failures carry a block of YAML, or
// are followed by comments that say why.
type tapTests struct {
	Failures
	known     bool
	printed   []string // by a file, since the last test
	cancelled Failure
	name      string // of the failure that is read
	indent    int
	inside    bool // its block
	at        Failure
	kind      string
	stack     []string
	reason    []string
	values    []string // expected, actual
	comments  []string
	block     *[]string // that the lines are of
	diff      []string  // of tap: both values, by lines
	below     int       // the indentation of the last failure, until what is around it ends; 0 for none
	parent    bool      // the failure that is read is of what is around another one
}

func (s *tapTests) line(l string) bool {
	t := strings.TrimSpace(l)
	indent := len(l) - len(strings.TrimLeft(l, " "))
	if strings.HasPrefix(t, "not ok ") {
		if m := nodes().tapFailed.FindStringSubmatch(l); m != nil {
			s.flush()
			s.known = true
			if s.parent = indent < s.below; m[3] == "" {
				s.name, s.indent, s.below = m[2], indent, indent
			} else if s.parent {
				s.below = 0
			}
			return true
		}
	}
	if strings.HasPrefix(l, "TAP version ") || strings.HasPrefix(t, "ok ") && len(t) > 3 && t[3] >= '0' && t[3] <= '9' {
		s.known = s.known || l[0] == 'T'
		if s.flush(); !s.inside {
			s.printed = nil
		}
		if indent < s.below {
			s.below = 0
		}
		return s.known
	}
	switch {
	case s.name == "":
		if c, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "#"); ok && !strings.HasPrefix(c, " Subtest: ") {
			if len(s.printed) == maxPrinted {
				s.printed = append(s.printed[:maxPrinted/2], s.printed[maxPrinted/2+1:]...)
			}
			s.printed = append(s.printed, diag.ClipBytes(strings.TrimPrefix(c, " "), maxText))
		}
	case t == "---" && !s.inside:
		s.inside = true
	case t == "..." && s.inside && indent == s.indent+2:
		s.flush()
	case !s.inside:
		if c, ok := strings.CutPrefix(t, "#"); ok && len(s.comments) < maxDetail {
			s.comments = append(s.comments, strings.TrimSpace(c))
		} else if !ok {
			s.flush()
		}
	case s.block != nil && (indent > s.indent+2 || t == ""):
		if t != "" && len(*s.block) < maxPrinted {
			*s.block = append(*s.block, diag.ClipBytes(t, maxText))
		}
	default:
		s.block = nil
		key, value, _ := strings.Cut(t, ":")
		value = strings.TrimSpace(value)
		folded := strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">")
		value = unquote(value)
		switch {
		case key == "failureType":
			s.kind = value
		case key == "location" || key == "at":
			s.at.Finding = nodeFrame(value)
		case (key == "error" || key == "message") && folded:
			s.block = &s.reason
		case key == "error" || key == "message":
			s.reason = []string{value}
		case key == "diff" && folded:
			s.block = &s.diff
		case key == "wanted" && value != "" && !folded && len(value) < 200:
			s.values = append([]string{"expected: " + value}, s.values...)
		case key == "found" && value != "" && !folded && len(value) < 200:
			s.values = append(s.values, "actual: "+value)
		case (key == "expected" || key == "actual") && value != "" && !folded && len(value) < 200:
			s.values = append(s.values, key+": "+value)
		case key == "stack" && folded:
			s.block = &s.stack
		}
	}
	return false
}

// flush ends the failure that is read.
func (s *tapTests) flush() {
	name, f, reason, inside, parent, diff := s.name, s.at, s.reason, s.inside, s.parent, s.diff
	kind, values, comments, stack, printed := s.kind, s.values, s.comments, s.stack, s.printed
	s.name, s.at, s.reason, s.inside, s.kind, s.values, s.comments, s.stack, s.block, s.parent, s.diff = "", Failure{}, nil, false, "", nil, nil, nil, nil, false, nil
	if name == "" {
		return
	}
	s.printed = nil
	switch {
	case kind == "subtestsFailed", parent && len(reason) == 0 && len(values) == 0 && len(diff) == 0 && len(stack) == 0:
		return
	case !inside:
		f = Failure{Finding: commented(comments), Test: name}
		f.Detail = slices.DeleteFunc(comments, func(c string) bool { return c == f.Message || nodes().bats.MatchString(c) })
		s.add(f)
		return
	case len(reason) == 1 && reason[0] == "test failed": // the file itself, which says why above
		f, _ := ofNodeFile(name, printed)
		s.add(Failure{Finding: f})
		return
	}
	for _, frame := range stack {
		if at := nodeFrame(frame); at.File != "" {
			f.Finding = at
			break
		}
	}
	if len(values) == 0 {
		values = ofDiff(diff)
	}
	if len(reason) == 0 && len(values) == 2 && strings.HasPrefix(values[0], "expected: ") {
		reason, values = []string{strings.Join(values, ", ")}, nil
	}
	if len(reason) == 0 {
		reason = []string{cmp.Or(kind, "failed")}
	}
	f.Test = name
	if f.Message = nodeMessage(reason); len(reason) > 7 || len(reason) == 1 && reason[0] == f.Message {
		f.Detail = values
		if len(values) == 2 && strings.Contains(f.Message, strings.TrimPrefix(values[0], "expected: ")) && strings.Contains(f.Message, strings.TrimPrefix(values[1], "actual: ")) {
			f.Detail = nil
		}
	}
	if kind == "cancelledByParent" { // the parent says why, further below
		if s.cancelled.Message == "" {
			s.cancelled = f
		}
		return
	}
	s.add(f)
}

func (s *tapTests) end() *Failures {
	s.flush()
	if s.known && s.Total == 0 && s.cancelled.Message != "" {
		s.add(s.cancelled)
	}
	return &s.Failures
}

// ofDiff returns the two values of a diff of one line each, or the lines that differ.
func ofDiff(diff []string) (lines []string) {
	for _, l := range diff {
		if (l[0] == '-' || l[0] == '+') && !strings.HasPrefix(l, "--- ") && !strings.HasPrefix(l, "+++ ") {
			lines = append(lines, l)
		}
	}
	if len(lines) == 2 && lines[0][0] == '-' && lines[1][0] == '+' {
		return []string{"expected: " + strings.TrimSpace(lines[0][1:]), "actual: " + strings.TrimSpace(lines[1][1:])}
	}
	return lines
}

// commented reads the comments below a failure, as bats writes them: "(in test file t/a.bats, line 3)", and what failed. The functions
// that the test called stand before it, each in a line of its own.
func commented(comments []string) (f Finding) {
	for _, c := range comments {
		if m := nodes().bats.FindStringSubmatch(c); m != nil {
			f.File, f.Line = m[1], number(m[2])
			continue
		}
		if f.Message == "" {
			f.Message = c
		}
	}
	if f.Message == "" {
		f.Message = "failed"
	}
	return f
}

// unquote takes the quotes of a scalar off.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == s[len(s)-1] && strings.ContainsRune("'\"`", rune(s[0])) {
		return s[1 : len(s)-1]
	}
	return s
}
