// Package environ makes the environment of a command. In come the variables of the caller and
// those that the matrix sets; out go the variables of the command, the names of those that were
// left out, and a digest of those that can change a verdict. It starts nothing.
//
// It is a policy of trust: an agent that starts dialect chooses its variables, and must not
// turn a red check green with them. table.go has the list, by family of tools.
package environ

import (
	"crypto/sha256"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/runtime/process"
)

// columns is the width that tools are given: pytest and others cut the reason of a failure at the width of
// the terminal, which is 80 where there is none.
const columns = "240"

// Make makes the environment of a command from base, usually os.Environ, and set, the variables of the
// routing matrix, which win over everything but keys.
//
// It names each variable once, the last one winning, in the order of base; what
// is added comes after that, sorted. The locale and the variables about colour stay
// as they are, and CI is never added: a tool must behave as it does for the user, and
// tests of colour see these variables. Nothing can page (PAGER) or
// ask for a password (GIT_TERMINAL_PROMPT), and lines are long (COLUMNS). The keys of dialect itself
// (DIALECT_KEY*) are never handed to a tool.
//
// Variables through which a caller could change what a check does, so that it
// passes on the same bytes, are left out unless set has them. The names of those
// that had a value are returned in left, sorted: a report shows them, since a
// job may mean them. It then says so in the matrix, where it can be reviewed.
func Make(base []string, set map[string]string) (env, left []string) {
	add := map[string]string{"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "COLUMNS": columns}
	for name, value := range set {
		if !secret(name) && validName(name) {
			add[name] = value
		}
	}
	last := make(map[string]int, len(base))
	for i, kv := range base {
		if name, _, ok := strings.Cut(kv, "="); ok {
			last[fold(name)] = i
		}
	}
	env = make([]string, 0, len(base)+len(add))
	for i, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || last[fold(name)] != i || secret(name) || fold(name) == process.MarkVariable {
			continue
		}
		if _, set := add[name]; set {
			continue
		}
		if classOf(fold(name)) == removed {
			if strings.TrimSpace(value) != "" {
				left = append(left, name)
			}
			continue
		}
		env = append(env, kv)
	}
	for _, name := range slices.Sorted(maps.Keys(add)) {
		env = append(env, name+"="+add[name])
	}
	slices.Sort(left)
	return env, left
}

// Digest returns a digest of the variables in env that can change what a tool does: those that
// [Make] leaves out unless the matrix sets them, and those that ordinary work needs in some
// form (PATH, the locale, HOME, the chosen toolchain).
//
//	SHA-256("dialect.environ/1\n" || for each known NAME, ascending by bytes:
//	        NAME || "=" || decimal length of VALUE in bytes || ":" || VALUE || "\n")
//
// Of a name that occurs twice the last counts; one that is absent is left out, so
// that absent and empty differ. What changes from run to run without changing a
// tool (session ids, terminals, temporary folders, colour) is not in it: equal
// digests mean that two runs can be compared.
func Digest(env []string) [32]byte {
	known := make(map[string]string)
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if name = fold(name); ok && classOf(name) != free {
			known[name] = value
		}
	}
	h := sha256.New()
	buf := []byte("dialect.environ/1\n")
	for _, name := range slices.Sorted(maps.Keys(known)) {
		buf = append(append(buf, name...), '=')
		buf = append(strconv.AppendInt(buf, int64(len(known[name])), 10), ':')
		buf = append(append(buf, known[name]...), '\n')
		h.Write(buf)
		buf = buf[:0]
	}
	h.Write(buf) // the heading, if nothing is known
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

// fold is the form of a name in which two are compared.
func fold(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func secret(name string) bool { return strings.HasPrefix(fold(name), "DIALECT_KEY") }

func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }
