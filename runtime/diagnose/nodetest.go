package diagnose

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

type nodePatterns struct {
	tapFailed, specTest, specPlace, crash, caret *regexp.Regexp
}

var nodes = sync.OnceValue(func() (p nodePatterns) {
	c := regexp.MustCompile
	p.tapFailed = c(`^( *)not ok \d+ - (.*)$`)
	p.specTest = c(`^( *)([✖✔﹣▶]) (.*?)(?: \(\d[\d.]*ms\))?( # (?:TODO|SKIP).*)?$`)
	p.specPlace = c(`^test at (.+):(\d+):(\d+)$`)
	p.crash = c(`^(?:file://)?(/.+|[A-Za-z]:\\.+|node:\S+):(\d+)$`)
	p.caret = c(`^\s*\^+$`)
	return p
})

// ofNodeSpec reads what node --test prints for people.
func ofNodeSpec(text []byte) (Finding, bool) {
	p := nodes()
	var name, place string
	var indent int
	var block []string
	var before []string // what was printed since the last result
	if i := bytes.Index(text, []byte("\n✖ failing tests:\n")); i >= 0 && !bytes.Contains(text[i:], []byte("'test failed'")) {
		text = text[i:] // it has the places of all failures
	}
	end := func() (Finding, bool) {
		list := block
		if block = nil; name == "" || len(list) == 0 { // a suite
			return Finding{}, false
		}
		if list[0] == "'test failed'" {
			f, _ := ofNodeFile(name, before)
			return f, true
		}
		f, ok := nodeFailure(name, list)
		ok = ok && !strings.HasPrefix(list[0], "'test did not finish before its parent")
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
			if name, place, indent = "", last, len(m[1]); m[2] == "✖" && m[4] == "" {
				name = m[3]
			} else if m[2] != "▶" {
				before = nil
			}
		case t == "":
		case len(l)-len(strings.TrimLeft(l, " ")) > indent:
			if block = append(block, t); name == "" {
				before = append(before, l)
			}
		default:
			if f, ok := end(); ok {
				return f, true
			}
			name, before = "", append(before, l)
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
	if text := unquote(message[0]); text != message[0] { // of the runner itself
		message[0], ok = text, true
	}
	isError := strings.Contains(message[0], ": ")
	message[0] = strings.TrimPrefix(nodeError(message[0]), "AssertionError: ")
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

// ofNodeTAP reads what node --test prints for programs: TAP, whose failures carry a block of YAML.
func ofNodeTAP(text []byte) (Finding, bool) {
	p := nodes()
	var printed []string // by a file, since the last test
	var cancelled Finding
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
				printed = append(printed, strings.TrimPrefix(c, " "))
			} else if strings.HasPrefix(t, "ok ") {
				printed = nil
			}
		case t == "---" && !inside:
			inside = true
		case t == "..." && inside && indent == depth+2:
			if kind != "subtestsFailed" {
				if len(reason) == 1 && reason[0] == "test failed" { // the file itself, which says why above
					f, _ := ofNodeFile(name, printed)
					return f, true
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
				if f.Message = name + ": " + nodeMessage(reason); kind != "cancelledByParent" {
					return f, true
				}
				if cancelled.Message == "" { // the parent says why, further below
					cancelled = f
				}
			}
			name, printed = "", nil
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
	return cancelled, cancelled.Message != ""
}

// unquote takes the quotes of a scalar off.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == s[len(s)-1] && strings.ContainsRune("'\"`", rune(s[0])) {
		return s[1 : len(s)-1]
	}
	return s
}
