package redact

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SecretName reports whether a variable of that name holds a secret.
func SecretName(name string) bool {
	n := strings.ReplaceAll(strings.ToUpper(name), "-", "_") // of a header: X-Api-Key
	for _, word := range [...]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL", "AUTHORIZATION"} {
		if strings.Contains(n, word) {
			return true
		}
	}
	return strings.HasSuffix(n, "_PAT") || strings.HasSuffix(n, "_PWD") || strings.HasSuffix(n, "_AUTH") || strings.HasSuffix(n, "_KEY") && !strings.HasSuffix(n, "PUBLIC_KEY")
}

// Secret reports whether v, the value of a variable or of another thing of that name, is to be taken out of what others see.
func Secret(name, v string) bool { return SecretName(name) && secretValue(name, v) }

// secretValue reports whether the value v of a variable, whose name looks secret, is to be taken out. Some such variables hold
// no secret, and their values would take half of the output with them:
//
//	a short value      it stands in other words
//	a plain word       TOKEN=disabled
//	a path             the file is there, or the name of the variable says that it is a path
//	an address         the name says so, and the address holds nothing that is made up of letters and digits at random
//	a number           the name says what it counts
//
// What only begins as a path or an address does is a secret: one of 64 keys in base64 begins with a slash.
func secretValue(name, v string) bool {
	if len(v) < minValue || len(v) > maxMatch {
		return false
	}
	says := wordsOf(name)
	path := strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~/") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") || filepath.IsAbs(v)
	switch {
	case path && (says.path() || there(v)), says.path() && there(v):
		return false
	case isAddress(v) && (says.path() || says.address()):
		return false
	}
	lower := strings.ToLower(v)
	digits, letters, others := 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		default:
			others++
		}
	}
	switch {
	case letters+others == 0:
		return !says.number()
	case digits+others == 0 && v == lower && len(v) < 16:
		return false
	}
	switch lower {
	case "disabled", "required", "optional", "anonymous", "undefined":
		return false
	}
	return true
}

// nameWords are the words of the name of a variable, in capitals.
type nameWords []string

func wordsOf(name string) nameWords {
	return strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z') })
}

// last reports whether the name ends in one of words, which may be grown together with what stands before: TOKENFILE.
func (n nameWords) last(words ...string) bool {
	return len(n) > 0 && slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(n[len(n)-1], w) })
}

func (n nameWords) path() bool {
	return n.last("FILE", "FILES", "FILENAME", "PATH", "PATHS", "DIR", "DIRS", "DIRECTORY", "FOLDER", "SOCK", "SOCKET", "HOME", "ASKPASS")
}

func (n nameWords) address() bool {
	return n.last("URL", "URLS", "URI", "ENDPOINT", "HOST", "SERVER", "ADDR", "ADDRESS", "ISSUER", "PROXY")
}

func (n nameWords) number() bool {
	if slices.Contains(n, "TOKENS") { // MAX_TOKENS, TOKENS_PER_MINUTE: of a model
		return true
	}
	return len(n) > 0 && (slices.Contains([]string{"MAX", "MIN", "NUM"}, n[0]) || slices.Contains([]string{
		"AGE", "AT", "BITS", "BYTES", "COST", "COUNT", "DAYS", "DELAY", "DURATION", "EXPIRATION", "EXPIRE", "EXPIRES", "EXPIRY", "GID", "HOURS", "ID",
		"IN", "INTERVAL", "ITERATIONS", "LEN", "LENGTH", "LIFETIME", "LIMIT", "MAX", "MIN", "MINUTES", "MS", "NUM", "NUMBER", "PERIOD", "PORT",
		"RETRIES", "ROUNDS", "SECONDS", "SECS", "SIZE", "TIME", "TIMEOUT", "TIMESTAMP", "TTL", "UID", "VERSION", "WINDOW",
	}, n[len(n)-1]))
}

// there reports whether v names a file. One that nobody may look at counts: its folder is there.
func there(v string) bool {
	if rest, ok := strings.CutPrefix(v, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		v = filepath.Join(home, rest)
	}
	_, err := os.Lstat(v)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// isAddress reports whether v is a URL without a user, and without a part that looks as if it was made at random: 16 letters and
// digits or more, with both cases among them.
func isAddress(v string) bool {
	scheme, rest, ok := strings.Cut(v, "://")
	if !ok || scheme == "" || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-") != "" || strings.Contains(rest, "@") {
		return false
	}
	const random = 16
	var digits, lower, upper int
	for i := range len(rest) + 1 {
		var c byte
		if i < len(rest) {
			c = rest[i]
		}
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c == '-' || c == '_':
		default:
			if digits+lower+upper >= random && digits > 0 && lower > 0 && upper > 0 {
				return false
			}
			digits, lower, upper = 0, 0, 0
		}
	}
	return true
}
