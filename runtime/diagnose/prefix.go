package diagnose

import "bytes"

const (
	maxNested = 3  // prefixes before a line
	maxWriter = 64 // bytes of the name in one
)

// levels are the names with which a build tool says how grave a line is: all lines are of one writer.
var levels = map[string]bool{
	"debug": true, "info": true, "warn": true, "warning": true, "error": true, "success": true,
	"DEBUG": true, "INFO": true, "WARN": true, "WARNING": true, "ERROR": true,
}

// prefixed returns what a line says after what another tool put before it, and the name of the command in that. ok is false if nothing stands
// before it. The name is empty where only the time or the gravity of the line do.
//
//	sbt, Maven              [info] ScalaTest
//	mill, concurrently, go-task, Yarn
//	                        [205-08] ...   [web] ...   [@a/web]: ...
//	Docker Compose, moon    web-1  | ...   web:test | ...
//	foreman                 14:31:31 web.1  | ...
//	docker build            #12 3.456 ...
//	CI services             2026-11-23T14:31:31.0512345Z ...
func prefixed(l []byte) (name string, rest []byte, ok bool) {
	rest = l
	for range maxNested {
		who, after := prefix(rest)
		if after == nil {
			break
		}
		rest, ok = after, true
		if len(who) > 0 && !levels[string(who)] {
			name += string(who) + " "
		}
	}
	return name, rest, ok
}

// prefix returns the name in the first prefix of l, which may be empty, and what stands after it; nil if there is none.
func prefix(l []byte) (name, rest []byte) {
	if len(l) == 0 {
		return nil, nil
	}
	switch b := l[0]; {
	case b == '[':
		end := bytes.IndexByte(l[:min(len(l), maxWriter)], ']')
		if end < 2 {
			return nil, nil
		}
		name, rest = l[1:end], bytes.TrimPrefix(l[end+1:], []byte(":"))
		if timed(name) == len(name) {
			name = nil
		} else if span(name) < len(name) {
			return nil, nil
		}
		return name, afterSpace(rest)
	case b == '#':
		if n := digits(l[1:]); n > 0 && len(l) > n+1 && l[n+1] == ' ' {
			at := l[n+2:]
			if k := digits(at); k > 0 && k < len(at) && at[k] == '.' {
				k += 1 + digits(at[k+1:])
				return l[:n+1], afterSpace(at[k:])
			}
		}
		return nil, nil
	case b >= '0' && b <= '9':
		if n := timed(l); n > 0 {
			return nil, afterSpace(l[n:])
		}
	}
	n := span(l[:min(len(l), maxWriter)])
	rest = bytes.TrimLeft(l[n:], " ")
	if n > 0 && len(rest) < len(l)-n && rest[0] == '|' {
		return l[:n], afterSpace(rest[1:])
	}
	return nil, nil
}

// timed returns the length of the time with which l begins, as CI services, Docker, foreman and sbt write it: "2026-11-23T14:31:31.051Z",
// "04-09 22:41:59.531".
func timed(l []byte) int {
	at := 0
	for _, date := range [...]string{"0000-00-00T", "0000-00-00 ", "00-00 "} {
		if like(l, date) {
			at = len(date)
		}
	}
	if !like(l[at:], "00:00:00") {
		return 0
	}
	if at += len("00:00:00"); like(l[at:], ".0") || like(l[at:], ",0") {
		at += 1 + digits(l[at+1:])
	}
	for _, zone := range [...]string{"Z", "+00:00", "-00:00", "+0000", "-0000"} {
		if like(l[at:], zone) {
			return at + len(zone)
		}
	}
	return at
}

// like reports whether l begins as form does, in which 0 stands for a digit.
func like(l []byte, form string) bool {
	if len(l) < len(form) {
		return false
	}
	for i, b := range l[:len(form)] {
		if f := form[i]; b != f && (f != '0' || b < '0' || b > '9') {
			return false
		}
	}
	return true
}

// span returns how many bytes of l can be a name.
func span(l []byte) int {
	for i, b := range l {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', bytes.IndexByte([]byte("_-./:@#"), b) >= 0:
		default:
			return i
		}
	}
	return len(l)
}

func digits(l []byte) int {
	for i, b := range l {
		if b < '0' || b > '9' {
			return i
		}
	}
	return len(l)
}

// afterSpace returns l without the space that it begins with; nil if there is none before a text.
func afterSpace(l []byte) []byte {
	switch {
	case len(l) == 0:
		return l
	case l[0] == ' ':
		return l[1:]
	}
	return nil
}
