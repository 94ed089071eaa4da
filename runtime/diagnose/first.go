package diagnose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Finding is the first error that an output tells of.
type Finding struct {
	File    string // as the tool wrote it; empty if it named none
	Line    int    // 1-based; 0 if not known
	Column  int    // 1-based, in the tool's own units; 0 if not known
	Message string // one line; never empty
}

// String renders f as compilers do: "a.go:3:5: message".
func (f Finding) String() string {
	if f.File == "" || f.File == f.Message { // a tool that only lists files
		return f.Message
	}
	return f.Place() + ": " + f.Message
}

// Place is "file:line", or as much of it as is known.
func (f Finding) Place() string {
	if f.File == "" || f.Line == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}

// maxMessage bounds a message, in bytes.
const maxMessage = 300

// A Pattern is a regular expression (RE2) that finds an error in an output, with groups
// called file, line, column and message, of which message or file must be there. It is
// matched with (?m): a pattern with \n in it spans lines.
type Pattern struct{ re *regexp.Regexp }

// ParsePattern reads a pattern.
func ParsePattern(text string) (Pattern, error) {
	re, err := regexp.Compile("(?m)" + text)
	if err != nil {
		return Pattern{}, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	names := re.SubexpNames()
	if !slices.Contains(names, "message") && !slices.Contains(names, "file") {
		return Pattern{}, errors.New("it has neither a group (?P<message>...) nor (?P<file>...)")
	}
	return Pattern{re}, nil
}

func (p Pattern) find(text []byte) (f Finding, ok bool) {
	m := p.re.FindSubmatch(text)
	if m == nil {
		return f, false
	}
	for i, name := range p.re.SubexpNames() {
		switch v := string(bytes.TrimSpace(m[i])); name {
		case "file":
			f.File = v
		case "line":
			f.Line = number(v)
		case "column", "col":
			f.Column = number(v)
		case "message":
			f.Message = v
		}
	}
	if f.Message == "" {
		first, _, _ := bytes.Cut(m[0], []byte("\n"))
		f.Message = string(bytes.TrimSpace(first))
	}
	return f, f.Message != ""
}

// Places: a path, a line and perhaps a column, as the tools write them.
type placePatterns struct {
	colon, tsc, java, msvc, github, rust, eslint, path, python, stack, vitest, panicked, shellcheck, raised, frame, loose, makefile, black, tap *regexp.Regexp
}

var places = sync.OnceValue(func() (p placePatterns) {
	const file = `((?:[A-Za-z]:[\\/])?[^\s:()'"\[\]|<>,;][^\s:()'"\[\]|<>]*)`
	c := regexp.MustCompile
	p.colon = c(`^\s*(?:vet: |go: )?` + file + `:(\d+)(?::(\d+))?:?\s+(.+)$`)
	p.tsc = c(`^` + file + `(?:\((\d+),(\d+)\): |:(\d+):(\d+) - )error (.+)$`)
	p.java = c(`^\[ERROR\] ` + file + `:\[(\d+),(\d+)\] (.+)$`)
	p.msvc = c(`^\s*` + file + `\((\d+)(?:,(\d+))?\) ?: (?:fatal )?error (.+)$`)
	p.github = c(`^::error (?:.*,)?file=([^,:]+)(?:,line=(\d+))?(?:,[^:]*)?::(.+)$`)
	p.rust = c(`^\s*--> ` + file + `:(\d+):(\d+)$`)
	p.eslint = c(`^\s+(\d+):(\d+)\s+(?:✖\s+)?error\s+(.+?)$`)
	p.path = c(`^(/?[^\s:]+\.[A-Za-z]{1,5})$`)
	p.python = c(`^\s+File "([^"<>]+)", line (\d+)`)
	p.stack = c(`^\s+at .*?\(?(?:file://)?((?:/|[A-Za-z]:[\\/]|\.{0,2}[\w@-])[^\s():\[\]<>]*):(\d+):(\d+)\)?$`)
	p.vitest = c(`^\s*❯ (?:.* )?` + file + `:(\d+):(\d+)$`)
	p.panicked = c(`^thread '.*' (?:\(\d+\) )?panicked at ` + file + `:(\d+):(\d+):$`)
	p.shellcheck = c(`^In (\S+) line (\d+):$`)
	p.raised = c(`^(?:[A-Za-z_][\w.]*\.)?(?:(?:[A-Z]\w*)?(?:Error|Exception)|[A-Z]\w*(?:Exit|Interrupt|Warning))\b(?: \[\w+\])?(?:: .*)?$`)
	p.frame = c(`^\t` + file + `:(\d+)(?: \+0x[0-9a-f]+)?$`)
	p.loose = c(`(?i)\b(error|errors|fail|failed|failure|fatal|panic|exception|undefined|cannot|assert\w*)\b|^E\s|^✗|^✖|\bnot ok\b`)
	p.makefile = c(`^(?:g?make|ninja)(?:\[\d+\])?: \*\*\* \[`)
	p.black = c(`^(?:would reformat (.+\.\w+)|error: cannot format (.+?): (.*?)(?:: )?(\d+):(\d+): .*)$`)
	p.tap = c(`^(location|error): '(.*)'$`)
	return p
})

// First returns the first error in an output; ok is false if nothing in it reads like
// one, and then the message is its last line.
func First(output []byte, patterns []Pattern) (f Finding, ok bool) {
	text := Readable(output)
	for _, p := range patterns {
		if f, ok := p.find(text); ok {
			return f.tidy(), true
		}
	}
	f, text, ok = ofRunner(text)
	if ok {
		return f.tidy(), true
	}
	return byLine(text)
}

// ofRunner returns the first failure that a test runner reports; ok is false if the output is no
// such report, and rest is then what remains to be read line by line. A test runner says which test
// failed, and what a test that passed prints often reads like an error: logs of retries, stacks of errors that
// were expected. So the failure of go test and of node --test is taken from where the runner puts it.
func ofRunner(text []byte) (f Finding, rest []byte, ok bool) {
	if isGoTest(text) {
		return ofGoTest(text)
	}
	if bytes.Contains(text, []byte("failureType: ")) {
		if f, ok := ofNodeTAP(text); ok {
			return f, text, true
		}
	}
	if bytes.Contains(text, []byte("✖ ")) {
		if f, ok := ofNodeSpec(text); ok {
			return f, text, true
		}
	}
	if i := bytes.Index(text, []byte("\nNode.js v")); i >= 0 {
		lines := strings.Split(strings.ReplaceAll(string(text[:i+len("\nNode.js v")]), "\r\n", "\n"), "\n")
		if f, ok := ofNodeFile("", lines); ok {
			return f, text, true
		}
	}
	return Finding{}, text, false
}

// byLine reads an output line by line.
func byLine(text []byte) (Finding, bool) {
	s := scan{places: places()}
	for l := range bytes.Lines(text) {
		if s.line(string(bytes.TrimRight(l, "\r\n\t "))); s.done {
			break
		}
	}
	return s.result()
}

// A scan goes through the lines of an output once.
type scan struct {
	places placePatterns
	done   bool

	placed  Finding // the first error with a place
	loose   string  // the first line that reads like an error
	last    string  // that is not blank
	before  string  // the line before this one
	path    string  // of eslint: the file of the lines that follow
	listed  string  // the first line that is a path and nothing else, as gofmt -l prints them
	place   Finding // of a panic, a test or a stack: its message follows, or went before
	pending bool    // place has its message on the next line that is not blank
	raised  string  // the message of pytest, jest or vitest
	python  Finding
	goPanic string
	tap     bool // the lines that follow are about a test that failed
	frames  bool // python is the last frame of a traceback of pytest
}

func (s *scan) found(f Finding) {
	if s.placed.Message == "" {
		s.placed = f
		s.done = true
	}
}

func (s *scan) line(l string) {
	if len(l) > 2000 {
		l = l[:2000]
	}
	t := strings.TrimSpace(l)
	if t == "" {
		return
	}
	defer func() { s.before, s.last = t, t }()
	p := &s.places
	if s.pending {
		f := s.place
		f.Message = strings.TrimLeft(t, "^ ")
		s.pending = false
		s.found(f)
		return
	}
	switch {
	case strings.HasPrefix(l, "::error "):
		if m := p.github.FindStringSubmatch(l); m != nil {
			s.found(Finding{m[1], number(m[2]), 0, m[3]})
			return
		}
	case strings.Contains(l, "-->"):
		if m := p.rust.FindStringSubmatch(l); m != nil && s.before != "" && !strings.HasPrefix(s.before, "warning") {
			s.found(Finding{m[1], number(m[2]), number(m[3]), s.before})
			return
		}
	case strings.HasPrefix(l, "thread '"):
		if m := p.panicked.FindStringSubmatch(l); m != nil {
			s.place, s.pending = Finding{m[1], number(m[2]), number(m[3]), ""}, true
			return
		}
	case strings.HasPrefix(l, "In ") && strings.HasSuffix(l, ":"):
		if m := p.shellcheck.FindStringSubmatch(l); m != nil {
			s.path, s.python = "", Finding{m[1], number(m[2]), 0, ""}
			return
		}
	case strings.HasPrefix(t, "^--") && s.python.File != "": // shellcheck
		if i := strings.Index(t, "SC"); i >= 0 {
			f := s.python
			f.Message = t[i:]
			s.found(f)
			return
		}
	case strings.HasPrefix(l, "panic: "):
		s.goPanic = t
	case s.goPanic != "" && l[0] == '\t':
		if m := p.frame.FindStringSubmatch(l); m != nil && !strings.Contains(m[1], "/src/runtime/") && !strings.Contains(m[1], "/src/testing/") {
			s.found(Finding{m[1], number(m[2]), 0, s.goPanic})
		}
		return
	case strings.HasPrefix(t, "not ok "):
		s.raised, s.tap = t, true
		return
	case s.tap && l[0] == ' ':
		m := p.tap.FindStringSubmatch(t)
		switch {
		case m == nil:
		case m[1] == "error":
			f := s.place
			f.Message = strings.TrimPrefix(s.raised, "not ok ") + ": " + m[2]
			s.found(f)
		default:
			if c := p.stack.FindStringSubmatch("  at " + m[2]); c != nil {
				s.place = Finding{c[1], number(c[2]), number(c[3]), ""}
			}
		}
		return
	case strings.HasPrefix(l, "would reformat "), strings.HasPrefix(l, "error: cannot format "):
		if m := p.black.FindStringSubmatch(l); m != nil {
			f := Finding{m[1] + m[2], number(m[4]), number(m[5]), m[3]}
			if f.Message == "" {
				f.Message = "would be reformatted"
			}
			s.found(f)
			return
		}
	case strings.HasPrefix(l, "E  "): // pytest
		e := strings.TrimSpace(l[1:])
		if m := p.python.FindStringSubmatch("  " + e); m != nil {
			s.python, s.frames = Finding{m[1], number(m[2]), 0, ""}, false
			return
		}
		if s.python.File != "" && (s.frames || p.raised.MatchString(e)) {
			f := s.python
			f.Message = e
			s.found(f)
			return
		}
		if s.raised == "" {
			s.raised = e
		}
		return
	case strings.HasPrefix(t, `File "`):
		if m := p.python.FindStringSubmatch(l); m != nil {
			s.python = Finding{m[1], number(m[2]), 0, ""}
			return
		}
	case s.python.File != "" && l[0] != ' ' && p.raised.MatchString(l):
		f := s.python
		f.Message = t
		s.found(f)
		return
	case strings.HasPrefix(t, "at ") && s.raised != "":
		if m := p.stack.FindStringSubmatch(l); m != nil && isPath(m[1]) && !strings.Contains(m[1], "node_modules/") && !strings.Contains(l, "node:") {
			s.found(Finding{m[1], number(m[2]), number(m[3]), s.raised})
			return
		}
	case strings.HasPrefix(t, "❯ "):
		if m := p.vitest.FindStringSubmatch(l); m != nil && s.raised != "" {
			s.found(Finding{m[1], number(m[2]), number(m[3]), s.raised})
			return
		}
	case s.path != "" && l[0] == ' ':
		if m := p.eslint.FindStringSubmatch(l); m != nil {
			s.found(Finding{s.path, number(m[1]), number(m[2]), strings.Join(strings.Fields(m[3]), " ")})
			return
		}
	case l[0] != ' ' && p.path.MatchString(l):
		if s.path = t; s.listed == "" {
			s.listed = t
		}
		return
	case p.makefile.MatchString(l): // what it names is the recipe, not the fault
		if s.loose == "" {
			s.loose = t
		}
		return
	}
	if s.colon(l, t) {
		return
	}
	if s.raised == "" && (p.raised.MatchString(t) || strings.HasPrefix(t, "expect(")) {
		s.raised = t
	}
	if s.loose == "" && p.loose.MatchString(t) && !harmless(t) {
		s.loose = t
	}
}

// colon looks for a place at the begin of the line.
func (s *scan) colon(l, t string) bool {
	p := &s.places
	if strings.Contains(l, "error") {
		if m := p.tsc.FindStringSubmatch(l); m != nil {
			s.found(Finding{m[1], number(m[2] + m[4]), number(m[3] + m[5]), m[6]})
			return true
		}
		if m := p.msvc.FindStringSubmatch(l); m != nil {
			s.found(Finding{m[1], number(m[2]), number(m[3]), m[4]})
			return true
		}
	}
	if strings.HasPrefix(l, "[ERROR] ") {
		if m := p.java.FindStringSubmatch(l); m != nil {
			s.found(Finding{m[1], number(m[2]), number(m[3]), m[4]})
			return true
		}
	}
	m := p.colon.FindStringSubmatch(l)
	if m == nil || !isPath(m[1]) {
		return false
	}
	f := Finding{m[1], number(m[2]), number(m[3]), m[4]}
	lower := strings.ToLower(f.Message)
	switch {
	case f.Line == 0, strings.HasPrefix(lower, "note:"), strings.HasPrefix(lower, "warning:"), strings.HasPrefix(lower, "warn:"), strings.HasPrefix(lower, "info:"), strings.HasPrefix(lower, "in function"):
		return true
	case strings.HasPrefix(lower, "in ") && !strings.Contains(f.Message[3:], " "): // a frame of a short traceback
		s.python, s.frames = f, true
		return true
	case s.raised != "" && p.raised.MatchString(f.Message):
		f.Message = s.raised // pytest's last line of a traceback
	}
	for _, prefix := range []string{"fatal error: ", "error: "} {
		if strings.HasPrefix(lower, prefix) {
			f.Message = f.Message[len(prefix):]
		}
	}
	s.found(f)
	return true
}

// isPath tells a path from what else stands before a colon and a number: a clock, a
// host and its port.
func isPath(s string) bool {
	if s == "http" || s == "https" || strings.Contains(s, "//") {
		return false
	}
	if strings.ContainsAny(s, "/\\") {
		return true
	}
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s == "Makefile" || s == "Dockerfile" || s == "justfile"
	}
	ext := s[i+1:]
	if ext == "" || len(ext) > 8 {
		return false
	}
	letter := false
	for _, r := range ext {
		letter = letter || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return letter
}

// harmless reports whether a line counts errors and has none.
func harmless(t string) bool {
	lower := strings.ToLower(t)
	return strings.Contains(lower, "0 errors") && !strings.Contains(lower, "10 errors") || strings.Contains(lower, "0 failed") && !strings.Contains(lower, "10 failed") || strings.Contains(lower, "no error")
}

func (s *scan) result() (Finding, bool) {
	switch {
	case s.placed.Message != "":
		return s.placed.tidy(), true
	case s.raised != "":
		f := s.python
		f.Message = s.raised
		return f.tidy(), true
	case s.goPanic != "":
		return Finding{Message: s.goPanic}.tidy(), true
	case s.loose != "":
		return Finding{Message: s.loose}.tidy(), true
	case s.listed != "": // gofmt -l
		return Finding{File: s.listed, Message: s.listed}.tidy(), true
	}
	return Finding{Message: s.last}.tidy(), false
}

func (f Finding) tidy() Finding {
	f.Message = strings.ToValidUTF8(f.Message, "\ufffd")
	f.File = strings.ToValidUTF8(f.File, "\ufffd")
	if n := maxMessage; len(f.Message) > n {
		for n > 0 && !utf8.RuneStart(f.Message[n]) {
			n--
		}
		f.Message = f.Message[:n] + "..."
	}
	return f
}

// number reads a count, a line or a column; what is not a number, or absurd, is 0.
func number[T string | []byte](text T) int {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// Readable returns an output without escape sequences, and that of go test -json as
// go test would have printed it: the lines of a package stand together. What is neither is returned as it is.
func Readable(output []byte) []byte {
	if bytes.IndexByte(output, 0x1b) >= 0 {
		output = escapes().ReplaceAll(output, nil)
	}
	if !bytes.Contains(output, []byte(`"Action":"`)) {
		return output
	}
	var order []string // packages, "" for what is not an event
	parts := make(map[string][]byte)
	events := 0
	for l := range bytes.Lines(output) {
		var e struct{ Action, Output, Package, ImportPath string }
		of := ""
		if l[0] != '{' || json.Unmarshal(l, &e) != nil || e.Action == "" {
			// The first line is cut short if only the end of the output was kept.
			if len(order) == 0 && l[0] != '{' && bytes.Contains(l, []byte(`"`)) {
				continue
			}
			e.Output = string(l)
		} else {
			events++
			of = e.Package + e.ImportPath
		}
		if _, known := parts[of]; !known {
			order = append(order, of)
		}
		parts[of] = append(parts[of], e.Output...)
	}
	if events == 0 {
		return output
	}
	var out []byte
	for _, of := range order {
		out = append(out, parts[of]...)
	}
	return out
}
