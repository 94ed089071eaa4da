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

	"github.com/command-dialect/dialect/lang/diag"
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

// maxMessage bounds a message, and a name, in bytes, maxPath the path of a file.
const maxMessage, maxPath = 300, 4096

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

// find returns what p finds first, and where in the text that ends.
func (p Pattern) find(text []byte) (f Finding, end int, ok bool) {
	at := p.re.FindSubmatchIndex(text)
	if at == nil {
		return f, 0, false
	}
	m := make([][]byte, len(at)/2)
	for i := range m {
		if at[2*i] >= 0 {
			m[i] = text[at[2*i]:at[2*i+1]]
		}
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
	return f, at[1], f.Message != ""
}

// Places: a path, a line and perhaps a column, as the tools write them.
type placePatterns struct {
	colon, tsc, java, msvc, github, rust, eslint, pretty, prettyPath, path, python, stack, panicked, shellcheck, raised, frame, loose, makefile, ruby, rubySyntax, black, rustfmt, prettier, mypy, quoted, label *regexp.Regexp
}

var places = sync.OnceValue(newPlaces)

// allPlaces are the patterns; the pointer saves a copy a line.
var allPlaces = sync.OnceValue(func() *placePatterns { p := places(); return &p })

func newPlaces() (p placePatterns) {
	const file = `((?:[A-Za-z]:[\\/])?[^\s:()'"\[\]|<>,;][^\s:()'"\[\]|<>]*)`
	c := regexp.MustCompile
	p.colon = c(`^\s*(?:vet: |go: )?` + file + `:(\d+)(?::(\d+))?:?\s+(.+)$`)
	p.tsc = c(`^` + file + `(?:\((\d+),(\d+)\): |:(\d+):(\d+) - )error (.+)$`)
	p.java = c(`^\[ERROR\] ` + file + `:\[(\d+),(\d+)\] (.+)$`)
	p.msvc = c(`^\s*` + file + `\((\d+)(?:,(\d+))?\) ?: (?:fatal )?error (.+)$`)
	p.github = c(`^::error (?:.*,)?file=([^,:]+)(?:,line=(\d+))?(?:,[^:]*)?::(.+)$`)
	p.rust = c(`^\s*--> ` + file + `:(\d+):(\d+)$`)
	p.eslint = c(`^\s+(\d+):(\d+)\s+(?:✖\s+)?(error|warning)\s+(.+?)$`)
	p.pretty = c(`^ +([✖⚠]) +(\d+):(\d+)  (.+)$`)
	p.prettyPath = c(`^ +([^\s:]+\.[A-Za-z]{1,5}):\d+:\d+$`)
	p.path = c(`^(/?[^\s:]+\.[A-Za-z]{1,5})$`)
	p.python = c(`^\s+File "([^"<>]+)", line (\d+)`)
	p.stack = c(`^\s+at .*?\(?(?:file://)?((?:/|[A-Za-z]:[\\/]|\.{0,2}[\w@-])[^\s():\[\]<>]*):(\d+):(\d+)\)?$`)
	p.panicked = c(`^thread '.*' (?:\(\d+\) )?panicked at ` + file + `:(\d+):(\d+):$`)
	p.shellcheck = c(`^In (\S+) line (\d+):$`)
	p.raised = c(`^(?:[A-Za-z_][\w.]*\.)?(?:(?:[A-Z]\w*)?(?:Error|Exception)|[A-Z]\w*(?:Exit|Interrupt|Warning))\b(?: \[\w+\])?(?:: .*)?$`)
	p.frame = c(`^\t` + file + `:(\d+)(?: \+0x[0-9a-f]+)?$`)
	p.loose = c(`(?i)\b(error|errors|fail|failed|failure|fatal|panic|exception|undefined|cannot|assert\w*)\b|^E\s|^✗|^✖|\bnot ok\b|: (?:command )?not found$`)
	p.makefile = c(`^(?:g?make|ninja)(?:\[\d+\])?: \*\*\* \[`)
	p.ruby = c(`^(\S[^:]*(?::[^:]*>)?|[A-Za-z]:[^:]*):(\d+):in [^:]*: (.+) \(([A-Z]\w*(?:::\w+)*)\)$`)
	p.rubySyntax = c(`^(\S[^:]*|[A-Za-z]:[^:]*):(\d+): (.+)$`)
	p.black = c(`^(?:[wW]ould reformat:? (.+\.\w+)|error: cannot format (.+?): (.*?)(?:: )?(\d+):(\d+): .*)$`)
	p.rustfmt = c(`^Diff in (.+?)(?: at line |:)(\d+):$`)
	p.prettier = c(`^\[(?:warn|error)\] (\S+\.\w+)(?:: (.+) \((\d+):(\d+)\))?$`)
	p.quoted = c(`^\s*(?:\d+ |~)`)
	p.label = c(`^\s*\|.*\^ ([^\^].*)$`)
	p.mypy = c(`^error: .*[^\]]$`)
	return p
}

// A scan goes through the lines of an output that is not of a known test runner: compilers, linters, formatters,
// tracebacks. It may be copied, to go back to where it was.
type scan struct {
	list  []Failure // errors with a place
	total int

	loose   string    // the first line that reads like an error
	last    string    // that is not blank
	before  string    // the line before this one
	path    string    // of eslint: the file of the lines that follow
	listed  []string  // lines that are a path and nothing else, as gofmt -l prints them
	warned  []Failure // warnings, which are what is wrong where nothing else is
	place   Finding   // of a panic, a test or a stack: its message follows, or went before
	pending bool      // place has its message on the next line that is not blank
	raised  string    // the message of an error whose place follows
	python  Finding
	ruby    string // an error of Ruby that a gem raised: the frame of the project follows
	rake    bool   // the line before says that rake ended: its error follows
	goPanic string
	frames  bool // python is the last frame of a traceback of pytest
	opened  bool // the message of the last error ends in a colon: what follows may be on the next line
	wraps   int  // lines that may go on with the message of the last error
	below   int  // likewise, with its detail
	label   int  // likewise, with the source that rustc shows, and what it says of it
}

// found notes an error, and reports whether it is a new one.
func (s *scan) found(f Finding) bool {
	s.pending, s.raised, s.python, s.goPanic, s.frames, s.wraps, s.below, s.label, s.opened = false, "", Finding{}, "", false, 0, 0, 0, false
	for _, o := range s.list {
		if o.Finding == f {
			return false // it is reported once
		}
	}
	if s.total++; len(s.list) >= maxFailures {
		return false
	}
	s.list = append(s.list[:len(s.list):len(s.list)], Failure{Finding: f})
	return true
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
	p := allPlaces()
	if s.goesOn(l, t) {
		return
	}
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
			if s.found(Finding{m[1], number(m[2]), number(m[3]), s.before}) {
				s.label = 8
			}
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
	case strings.HasPrefix(l, "Diff in "):
		if m := p.rustfmt.FindStringSubmatch(l); m != nil {
			s.found(Finding{m[1], number(m[2]), 0, "would be reformatted"})
			return
		}
	case strings.HasPrefix(l, "[warn] "), strings.HasPrefix(l, "[error] "):
		if m := p.prettier.FindStringSubmatch(l); m != nil {
			f := Finding{m[1], number(m[3]), number(m[4]), m[2]}
			if f.Message == "" {
				f.Message = "would be reformatted"
			}
			s.found(f)
			return
		}
	case strings.HasPrefix(l, "would reformat "), strings.HasPrefix(l, "Would reformat: "), strings.HasPrefix(l, "error: cannot format "):
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
	case s.rake:
		if s.rake = false; !strings.HasPrefix(t, "Command failed with status") { // which says why above
			s.rakeError(t)
			return
		}
	case s.ruby != "" && (strings.HasPrefix(t, "from ") || l[0] != ' ' && strings.Contains(l, ":in ")):
		if m := blockForms().rubyAt.FindStringSubmatch(" " + l); m != nil && !gem(m[1]) {
			s.found(Finding{m[1], number(m[2]), 0, s.ruby})
			s.ruby = ""
		}
		return
	case l == "rake aborted!":
		s.rake = true
		return
	case l[len(l)-1] == ')' && strings.Contains(l, ":in ") && s.rubyError(l):
		return
	case strings.HasPrefix(t, `File "`):
		if m := p.python.FindStringSubmatch(l); m != nil {
			s.python = Finding{m[1], number(m[2]), 0, ""}
			return
		}
	case s.python.File != "" && l[0] != ' ' && raises(l) && p.raised.MatchString(l):
		f := s.python
		f.Message = t
		s.found(f)
		return
	case strings.HasPrefix(t, "at ") && s.raised != "":
		if m := p.stack.FindStringSubmatch(l); m != nil && isPath(m[1]) && !strings.Contains(m[1], "node_modules/") && !strings.Contains(l, "node:") {
			s.found(Finding{m[1], number(m[2]), number(m[3]), s.raised})
			return
		}
	case s.path != "" && l[0] == ' ':
		if m := p.eslint.FindStringSubmatch(l); m != nil {
			s.rated(m[3] == "error", m[1], m[2], m[4])
			return
		}
		if m := p.pretty.FindStringSubmatch(l); m != nil { // xo, and others with eslint-formatter-pretty
			s.rated(m[1] == "✖", m[2], m[3], m[4])
			return
		}
		if m := p.prettyPath.FindStringSubmatch(l); m != nil {
			s.path = m[1]
			return
		}
	case l[0] == ' ' && p.prettyPath.MatchString(l):
		s.path = p.prettyPath.FindStringSubmatch(l)[1]
		return
	case l[0] != ' ' && !strings.ContainsAny(l, " :") && p.path.MatchString(l):
		if s.path = t; len(s.listed) < maxFailures {
			s.listed = append(s.listed[:len(s.listed):len(s.listed)], t)
		}
		return
	case strings.Contains(l, "*** [") && p.makefile.MatchString(l): // what it names is the recipe, not the fault
		if s.loose == "" {
			s.loose = t
		}
		return
	}
	if s.colon(l) {
		return
	}
	if s.raised == "" && (raises(t) && p.raised.MatchString(t) || strings.HasPrefix(t, "expect(")) {
		s.raised = t
	}
	if s.loose == "" && looseWord(t) && p.loose.MatchString(t) && !harmless(t) {
		s.loose = t
	}
}

// rubyError notes an error that ended a program of Ruby; it reports whether l is one.
func (s *scan) rubyError(l string) bool {
	m := allPlaces().ruby.FindStringSubmatch(l)
	if m == nil {
		return false
	}
	at := Finding{m[1], number(m[2]), 0, m[3]}
	if own := allPlaces().rubySyntax.FindStringSubmatch(m[3]); own != nil && isPath(own[1]) { // a file that it cannot read
		at = Finding{own[1], number(own[2]), 0, own[3]}
	}
	if at.Message = m[4] + ": " + at.Message; !gem(at.File) {
		s.found(at)
	} else if s.ruby = at.Message; s.raised == "" {
		s.raised = at.Message
	}
	return true
}

// rakeError notes the error of a Rakefile: t stands below "rake aborted!", above the frames.
func (s *scan) rakeError(t string) {
	class, message, named := strings.Cut(t, ": ")
	if m := allPlaces().rubySyntax.FindStringSubmatch(message); named && m != nil && isPath(m[1]) { // a file that it cannot read
		s.found(Finding{m[1], number(m[2]), 0, class + ": " + m[3]})
		return
	}
	if s.ruby = t; s.raised == "" {
		s.raised = t
	}
}

// rated notes an error, or a warning, of the file that a line before named.
func (s *scan) rated(bad bool, line, column, message string) {
	f := Finding{s.path, number(line), number(column), strings.Join(strings.Fields(message), " ")}
	if bad {
		s.found(f)
	} else if len(s.warned) < maxFailures {
		s.warned = append(s.warned[:len(s.warned):len(s.warned)], Failure{Finding: f})
	}
}

// colon looks for a place at the begin of the line.
func (s *scan) colon(l string) bool {
	p := allPlaces()
	if strings.Contains(l, "error") {
		if m := p.tsc.FindStringSubmatch(l); m != nil {
			if s.found(Finding{m[1], number(m[2] + m[4]), number(m[3] + m[5]), m[6]}) {
				s.below = 3
			}
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
	if !hasPlace(l) {
		return false
	}
	if m := markForms().cassert.FindStringSubmatch(l); m != nil && isPath(m[1]) { // of C, with the program before it
		s.found(Finding{m[1], number(m[2]), 0, m[3]})
		return true
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
	wraps := p.mypy.MatchString(f.Message) && (strings.HasSuffix(f.File, ".py") || strings.HasSuffix(f.File, ".pyi"))
	for _, prefix := range []string{"fatal error: ", "error: "} {
		if strings.HasPrefix(lower, prefix) {
			f.Message = f.Message[len(prefix):]
		}
	}
	if s.found(f) && wraps {
		s.wraps = 4
	} else {
		s.opened = strings.HasSuffix(f.Message, ":")
	}
	return true
}

// hasPlace reports whether l has a colon and a digit behind it, without which it names no place. Most lines of most
// outputs have none: this, [raises] and [looseWord] spare them the expressions.
func hasPlace(l string) bool {
	for i := 0; i+1 < len(l); i++ {
		if l[i] == ':' && l[i+1] >= '0' && l[i+1] <= '9' {
			return true
		}
	}
	return false
}

// raises reports whether l has what the name of an exception ends in.
func raises(l string) bool {
	for _, word := range [...]string{"Error", "Exception", "Exit", "Interrupt", "Warning"} {
		if strings.Contains(l, word) {
			return true
		}
	}
	return false
}

// looseWord reports whether l has the begin of a word that reads like an error, see loose of [placePatterns].
func looseWord(l string) bool {
	if strings.HasPrefix(l, "E ") || strings.HasPrefix(l, "✗") || strings.HasPrefix(l, "✖") {
		return true
	}
	for i := 0; i+4 <= len(l); i++ {
		switch l[i] | 0x20 {
		case 'e', 'f', 'p', 'u', 'c', 'a', 'n':
		default:
			continue
		}
		word := l[i : i+4]
		for _, begin := range [...]string{"erro", "fail", "fata", "pani", "exce", "unde", "cann", "asse", "not "} {
			if strings.EqualFold(word, begin) {
				return true
			}
		}
	}
	return false
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

// harmless reports whether a line only reads like an error: it counts none, or is the name of a test that passed.
func harmless(t string) bool {
	if strings.HasPrefix(t, "✔") || strings.HasPrefix(t, "✓") || strings.HasPrefix(t, "[pass] ") || strings.HasPrefix(t, "[PASS] ") || strings.HasPrefix(t, "[ok] ") || strings.HasPrefix(t, "PASS: ") { // the name of a test that passed
		return true
	}
	if rest, ok := strings.CutPrefix(t, "ok "); ok && rest[0] >= '0' && rest[0] <= '9' || strings.HasPrefix(t, "# Subtest: ") { // TAP
		return true
	}
	lower := strings.ToLower(t)
	switch strings.TrimLeft(lower, "#ℹ -") { // of node and tape, and of lists of counts
	case "fail 0", "fail: 0", "fail  0", "failed 0", "failed: 0", "failures: 0", "errors: 0", "error: 0", "errors 0":
		return true
	}
	return counts0(lower, "0 errors") || counts0(lower, "0 failed") || strings.Contains(lower, "no error")
}

// counts0 reports whether a line has the words, which begin with a 0 that does not end another number.
func counts0(l, words string) bool {
	i := strings.Index(l, words)
	return i == 0 || i > 0 && (l[i-1] < '0' || l[i-1] > '9')
}

// goesOn reports whether a line goes on with the last error: mypy breaks its messages at the width of the terminal, and
// tsc explains a type on the lines below.
func (s *scan) goesOn(l, t string) bool {
	if s.opened {
		if s.opened = false; l[0] == '\t' && len(s.list) > 0 { // as go does
			s.amend(func(f *Failure) { f.Message += " " + t })
			return true
		}
	}
	if s.wraps > 0 {
		if s.wraps--; l[0] == ' ' || len(s.list) == 0 || allPlaces().colon.MatchString(l) {
			s.wraps = 0
			return false
		}
		s.amend(func(f *Failure) { f.Message += " " + t })
		if strings.HasSuffix(t, "]") {
			s.wraps = 0
		}
		return true
	}
	if s.label > 0 {
		s.label--
		if m := allPlaces().label.FindStringSubmatch(l); m != nil && len(s.list) > 0 {
			s.label = 0
			s.amend(func(f *Failure) { f.Detail = append(f.Detail, m[1]) })
			return true
		}
		if !strings.Contains(l, "|") && l != "..." { // lines that rustc leaves out
			s.label = 0
		}
		return s.label > 0
	}
	if s.below > 0 {
		if s.below--; !strings.HasPrefix(l, "  ") || len(s.list) == 0 || allPlaces().quoted.MatchString(l) {
			s.below = 0
			return false
		}
		s.amend(func(f *Failure) { f.Detail = append(f.Detail, t) })
		return true
	}
	return false
}

// amend changes the last error of s alone: copies of s share the list.
func (s *scan) amend(change func(*Failure)) {
	s.list = slices.Clone(s.list)
	last := &s.list[len(s.list)-1]
	last.Detail = slices.Clone(last.Detail)
	change(last)
}

// end returns what was found; sure is false if that is the last line, for want of anything that reads like an error.
func (s *scan) end() (f Failures, sure bool) {
	sure = true
	one := Finding{Message: s.last}
	switch {
	case len(s.list) > 0:
		f.add(s.list...)
		f.Total += s.total - len(s.list)
		return f, true
	case s.raised != "":
		one = s.python
		one.Message = s.raised
	case s.goPanic != "":
		one.Message = s.goPanic
	case len(s.warned) > 0:
		f.add(s.warned...)
		return f, true
	case s.loose != "":
		one.Message = s.loose
	case len(s.listed) > 0: // gofmt -l
		for _, file := range s.listed {
			f.add(Failure{Finding: Finding{File: file, Message: file}})
		}
		return f, true
	default:
		sure = false
	}
	if one.Message != "" {
		f.add(Failure{Finding: one})
	}
	return f, sure
}

func (f Finding) tidy() Finding {
	f.Message = short(f.Message)
	if len(f.File) > maxPath {
		f.File, f.Line, f.Column = "", 0, 0 // no file is called that
	}
	f.File = strings.Clone(strings.ToValidUTF8(f.File, "\ufffd"))
	return f
}

// short returns a text as it is kept: of at most maxMessage bytes, and not as a piece of the text that a tool wrote, which would be kept with it.
func short(text string) string {
	return strings.Clone(diag.ClipBytes(strings.ToValidUTF8(text, "\ufffd"), maxMessage))
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
