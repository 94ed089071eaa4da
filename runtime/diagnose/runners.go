package diagnose

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A test runner says which test failed, and what a test that passed prints often reads like an
// error: logs of retries, stacks of errors that were expected. So where the output is that of
// go test or of node's runner, the failure is looked for where the runner puts it, and only an output without
// one is read line by line.

// ofRunner returns the first failure that a test runner reports; ok is false if the output is no
// such report. rest is what remains to be read line by line then.
func ofRunner(text []byte) (f Finding, rest []byte, ok bool) {
	if bytes.Contains(text, []byte("--- FAIL: ")) || bytes.Contains(text, []byte("=== RUN ")) {
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
	return Finding{}, text, false
}

type runnerPatterns struct {
	goResult, goCurrent, goLog, goBlame, tapFailed, specTest, specPlace *regexp.Regexp
}

var runners = sync.OnceValue(func() (p runnerPatterns) {
	c := regexp.MustCompile
	p.goResult = c(`--- (FAIL|PASS|SKIP): (\S+) \(\d[\d.]*s\)$`)
	p.goCurrent = c(`^=== (RUN|CONT|NAME|PAUSE) +(\S+)$`)
	p.goLog = c(`^( {4,})([^\s:]+\.go):(\d+):(?: (.*))?$`)
	p.goBlame = c(`(?i)\b(want|wanted|got|expected|unexpected|actual|should)\b|!=|not equal`)
	p.tapFailed = c(`^( *)not ok \d+ - (.*)$`)
	p.specTest = c(`^( *)([✖✔﹣▶]) (.*?)(?: \(\d[\d.]*ms\))?(?: # .*)?$`)
	p.specPlace = c(`^test at (.+):(\d+):(\d+)$`)
	return p
})

// A goLog is what a test said by t.Log, t.Error and their like; they look the same.
type goLog struct {
	Finding
	more []string // the lines below it
}

// A goFailure is a test that failed.
type goFailure struct {
	name string
	logs []goLog // without -v, where they follow
	next string  // the line after its own
}

// ofGoTest reads the output of go test, with -v and without. What tests print that passed, or
// were skipped, is no part of the rest.
func ofGoTest(text []byte) (Finding, []byte, bool) {
	p := runners()
	verbose := bytes.Contains(text, []byte("=== RUN "))
	logs := make(map[string][]goLog) // by test, of -v
	said := make(map[string][]int)   // likewise, the lines
	fine := make(map[string]bool)
	var failures []*goFailure
	var lines []string
	current := ""         // test that the lines are of
	var open *[]goLog     // whose last log goes on
	var failed *goFailure // whose lines follow, without -v
	header := false       // the lines are of a package that does not build, or that vet refuses
	for raw := range bytes.Lines(text) {
		l := string(bytes.TrimRight(raw, "\r\n\t "))
		at := len(lines)
		lines = append(lines, l)
		if header {
			if header = !isGoStatus(l); header {
				if m := places().colon.FindStringSubmatch(l); m != nil && isPath(m[1]) {
					return Finding{m[1], number(m[2]), number(m[3]), m[4]}, nil, true
				}
				continue
			}
		}
		if n := len(failures); n > 0 && failures[n-1].next == "" && l != "" {
			failures[n-1].next = l
		}
		if m := p.goCurrent.FindStringSubmatch(l); m != nil {
			if current, open = m[2], nil; m[1] == "PAUSE" {
				current = ""
			}
			continue
		}
		if m := p.goResult.FindStringSubmatch(l); m != nil {
			current, open, failed = "", nil, nil
			if m[1] == "FAIL" {
				failed = &goFailure{name: m[2]}
				failures = append(failures, failed)
			} else {
				fine[m[2]] = true
			}
			continue
		}
		if isGoStatus(l) {
			current, open, failed = "", nil, nil
			continue
		}
		if current != "" {
			said[current] = append(said[current], at)
		}
		if m := p.goLog.FindStringSubmatch(l); m != nil && (open == nil || len(m[1]) < 8 || !verbose) {
			log := goLog{Finding: Finding{File: m[2], Line: number(m[3]), Message: strings.TrimSpace(m[4])}}
			switch {
			case current != "":
				logs[current] = append(logs[current], log)
				list := logs[current]
				open = &list
			case failed != nil:
				failed.logs = append(failed.logs, log)
				open = &failed.logs
			}
			continue
		}
		if open != nil && strings.HasPrefix(l, "        ") {
			last := &(*open)[len(*open)-1]
			last.more = append(last.more, strings.TrimSpace(l))
			continue
		}
		open = nil
		header = current == "" && failed == nil && strings.HasPrefix(l, "# ") && len(failures) == 0
	}
	for _, f := range failures {
		if strings.HasPrefix(f.next, "panic: ") {
			break // the stack says where
		}
		if slices.ContainsFunc(failures, func(o *goFailure) bool { return strings.HasPrefix(o.name, f.name+"/") }) {
			continue
		}
		if all := append(f.logs, logs[f.name]...); len(all) > 0 {
			return blamed(all), nil, true
		}
	}
	drop := make(map[int]bool)
	for name, list := range said {
		if fine[name] {
			for _, i := range list {
				drop[i] = true
			}
		}
	}
	var rest []byte
	for i, l := range lines {
		if !drop[i] {
			rest = append(append(rest, l...), '\n')
		}
	}
	return Finding{}, rest, false
}

// isGoStatus reports whether a line is the result of a package.
func isGoStatus(l string) bool {
	return l == "PASS" || l == "FAIL" || strings.HasPrefix(l, "FAIL\t") || strings.HasPrefix(l, "ok  \t") || strings.HasPrefix(l, "?   \t")
}

// blamed returns the log that says why a test failed: the first that compares, else the
// first that reads like an error, else the last, after which t.Fatal ends the test.
func blamed(logs []goLog) Finding {
	for i, l := range logs {
		if l.Message == "" {
			logs[i].Message = below(l.more)
		}
	}
	for _, re := range []*regexp.Regexp{runners().goBlame, places().loose} {
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
func squash(lines []string) string { return strings.Join(strings.Fields(strings.Join(lines, " ")), " ") }

// ofNodeSpec reads what node --test prints for people.
func ofNodeSpec(text []byte) (Finding, bool) {
	p := runners()
	var name, place string
	var indent int
	var block []string
	end := func() (Finding, bool) {
		list := block
		if block = nil; name == "" || len(list) == 0 || list[0] == "'test failed'" { // a suite; a file, which says itself why
			return Finding{}, false
		}
		f, ok := nodeFailure(name, list)
		if m := p.specPlace.FindStringSubmatch(place); ok && f.File == "" && m != nil {
			f.File, f.Line, f.Column = m[1], number(m[2]), number(m[3])
		}
		return f, ok
	}
	last := ""
	for raw := range bytes.Lines(text) {
		l := string(bytes.TrimRight(raw, "\r\n\t "))
		m := p.specTest.FindStringSubmatch(l)
		t := strings.TrimSpace(l)
		switch {
		case m != nil:
			if f, ok := end(); ok {
				return f, true
			}
			if name, place, indent = "", last, len(m[1]); m[2] == "✖" {
				name = m[3]
			}
		case t == "":
		case len(l)-len(strings.TrimLeft(l, " ")) > indent:
			block = append(block, t)
		default:
			if f, ok := end(); ok {
				return f, true
			}
			name = ""
		}
		if t != "" {
			last = t
		}
	}
	return end()
}

// nodeFailure reads the error of a test: its message, the frames of its stack, its properties.
func nodeFailure(name string, block []string) (f Finding, ok bool) {
	var message []string
	for _, l := range block {
		if strings.HasPrefix(l, "at ") {
			f = nodeFrame(l)
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
	head, rest, isError := strings.Cut(message[0], ": ")
	if class, _, coded := strings.Cut(head, " ["); isError && coded {
		message[0] = class + ": " + rest
	}
	message[0] = strings.TrimPrefix(message[0], "AssertionError: ")
	ok = ok || isError
	f.Message = name + ": " + nodeMessage(message)
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

// ofNodeTAP reads what node --test prints for programs: TAP, whose failures carry a block of YAML.
func ofNodeTAP(text []byte) (Finding, bool) {
	p := runners()
	var comments []byte // since the last test: what a file printed
	var name string
	var f Finding
	var stack, reason []string
	var block *[]string // that the lines are of
	kind, depth, inside := "", 0, false
	for raw := range bytes.Lines(text) {
		l := string(bytes.TrimRight(raw, "\r\n\t "))
		t := strings.TrimSpace(l)
		indent := len(l) - len(strings.TrimLeft(l, " "))
		if m := p.tapFailed.FindStringSubmatch(l); m != nil && !strings.Contains(m[2], " # ") {
			name, depth, inside, kind, f, stack, reason, block = m[2], indent, false, "", Finding{}, nil, nil, nil
			continue
		}
		switch {
		case name == "":
			if c, ok := strings.CutPrefix(strings.TrimLeft(l, " "), "#"); ok && !strings.HasPrefix(c, " Subtest: ") {
				comments = append(append(comments, strings.TrimPrefix(c, " ")...), '\n')
			} else if strings.HasPrefix(t, "ok ") {
				comments = nil
			}
		case t == "---" && !inside:
			inside = true
		case t == "..." && inside && indent == depth+2:
			if kind != "subtestsFailed" {
				if len(reason) == 1 && reason[0] == "test failed" { // the file itself, which says why above
					if f, ok := byLine(comments); ok {
						return f, true
					}
				}
				for _, frame := range stack {
					if at := nodeFrame(frame); at.File != "" {
						f = at
						break
					}
				}
				if len(reason) == 0 {
					reason = []string{kind}
				}
				f.Message = name + ": " + nodeMessage(reason)
				return f, true
			}
			name, comments = "", nil
		case !inside:
			name = ""
		case block != nil && (indent > depth+2 || t == ""):
			if t != "" {
				*block = append(*block, t)
			}
		default:
			block = nil
			key, value, _ := strings.Cut(t, ": ")
			folded := value == "|-"
			value = unquote(value)
			switch {
			case key == "failureType":
				kind = value
			case key == "location":
				f = nodeFrame(value)
			case key == "error" && folded:
				block = &reason
			case key == "error":
				reason = []string{value}
			case key == "stack" && folded:
				block = &stack
			}
		}
	}
	return Finding{}, false
}

// unquote takes the quotes of a scalar off.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == s[len(s)-1] && strings.ContainsRune("'\"`", rune(s[0])) {
		return s[1 : len(s)-1]
	}
	return s
}
