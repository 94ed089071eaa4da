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
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/runtime/process"
)

// InCI reports whether this process runs under continuous integration: CI is set, and not to 0 or false.
func InCI() bool {
	v := os.Getenv("CI")
	return v != "" && v != "0" && !strings.EqualFold(v, "false")
}

// Absolute makes HOME and TMPDIR of this process absolute, for all that reads them later: commands run in other folders, where a relative one
// would be another.
func Absolute() {
	for _, name := range [...]string{"HOME", "TMPDIR"} {
		if dir := os.Getenv(name); dir != "" && !filepath.IsAbs(dir) {
			if abs, err := filepath.Abs(dir); err == nil { // else the working directory is gone: who needs it says so
				_ = os.Setenv(name, abs)
			}
		}
	}
}

// columns is the width that tools are given: pytest and others cut the reason of a failure at the width of
// the terminal, which is 80 where there is none.
const columns = "240"

// Options say how to make an environment.
type Options struct {
	// Set is what the routing matrix sets. It wins over everything but keys.
	Set map[string]string
	// Clean leaves out all but what the machine and the user are (see ofMachine), what o.Set has, and what Pass names.
	Clean bool
	Pass  []string
}

// Make makes the environment of a command from base, usually os.Environ.
//
// It names each variable once, the last one winning, in the order of base; what
// is added comes after that, sorted. The locale and the variables about colour stay
// as they are, and CI is never added: a tool must behave as it does for the user, and
// tests of colour see these variables. Nothing can page (PAGER) or
// ask for a password (GIT_TERMINAL_PROMPT), and lines are long (COLUMNS). The keys of dialect itself
// (DIALECT_KEY*) are never handed to a tool.
//
// Variables through which a caller could change what a check does, so that it
// passes on the same bytes, are left out unless o.Set has them. The names of those
// that had a value are returned in left, sorted: a report shows them, since a
// job may mean them. It then says so in the matrix, where it can be reviewed.
func Make(base []string, o Options) (env, left []string) {
	add := map[string]string{"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "COLUMNS": columns}
	for name, value := range o.Set {
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
		if o.Clean && !ofMachine(name) && !slices.Contains(o.Pass, name) {
			if classOf(fold(name)) != free && strings.TrimSpace(value) != "" {
				left = append(left, name)
			}
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

// ofMachine reports whether a command in a clean checkout gets a variable: it says who and where the user is, how output
// looks, how the network is reached, or what run the command is part of. It is a list of the names that may pass, since
// nobody can list what a program reads. The categories of the locale are those of glibc's locale(7).
func ofMachine(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "LANG", "LANGUAGE", "TZ", "CI", "TMPDIR",
		"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
		"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC",
		"LC_PAPER", "LC_TELEPHONE", "LC_TIME":
		return true
	}
	return Own(name)
}

// Own reports whether a variable is one that a run hands on to the runs that its commands start.
func Own(name string) bool {
	switch name {
	case "DIALECT_SESSION", "DIALECT_NONCE", "DIALECT_STORE", "DIALECT_NOTARY", "DIALECT_RULES", "DIALECT_PARENT", "DIALECT_DEPTH", "DIALECT_JOBS", "DIALECT_LOCKS",
		"DIALECT_SECRETS":
		return true
	}
	return false
}

func secret(name string) bool { return strings.HasPrefix(fold(name), "DIALECT_KEY") }

func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }
