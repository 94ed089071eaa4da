package edit

import (
	"bytes"
	"strings"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// A Spot is what an editor's cursor is at in the text of a matrix.
type Spot struct {
	Place routing.Place // the table; 0 for one that dialect does not know
	Key   string        // whose value the cursor is in; empty where a key may stand
	Taken []string      // keys of the same table, up to the cursor

	// Start and End are the bytes of the word at the cursor: of a key, of a header, or of a value, without
	// its quotes.
	Start, End int
	Header     bool // the word is the path in a header
	Quoted     bool // the word is in quotes
	Array      bool // the word is in an array
}

// maxDepth is how deep tables and arrays nest, and how many parts a key has, that At follows: nothing of a
// matrix that is known lies deeper.
const maxDepth = 8

// A level is an open table or array.
type level struct {
	path  string   // of the table
	key   []string // the parts of the key whose value is read; nil where a key may stand
	array bool
	taken []string
}

// At returns what the byte offset of a matrix is at; ok is false in a comment and in text that stands for
// nothing known. It reads the text up to the offset as far as tables, keys, brackets and strings go, and so
// needs no valid TOML: nobody's text is while it is typed.
func At(text []byte, offset int) (s Spot, ok bool) {
	offset = min(max(offset, 0), len(text))
	stack := []level{{}}
	top := func() *level { return &stack[len(stack)-1] }
	i, begin := 0, 0 // begin is where the text of the key or value at i begins
	header := false
	for i < offset {
		if len(stack) > maxDepth {
			return s, false
		}
		c := text[i]
		switch l := top(); {
		case c == '#':
			for i < offset && text[i] != '\n' {
				i++
			}
			if i == offset {
				return s, false
			}
			continue
		case c == '"' || c == '\'':
			start, end, next := quoted(text, i)
			if start <= offset && offset <= end {
				s.Quoted, s.Start, s.End = true, start, end
				return s.in(l, header)
			}
			if i = next; i > offset {
				return s, false // in the quotes themselves
			}
			continue
		case header && c == ']':
			path := strings.Trim(string(text[begin:i]), "[ \t")
			stack = []level{{path: path}}
			header, begin = false, i
		case header && c != '\n':
		case c == '[' && (i == 0 || text[i-1] == '\n' || len(stack) == 1 && l.key == nil && blank(text[begin:i])):
			// At the start of a line it is a header even in an array: that is one which nobody has closed yet.
			stack, header, begin = stack[:1], true, i
		case c == '=' && l.key == nil && !l.array:
			l.key = split(string(text[begin:i]))
			if len(l.key) == 1 {
				l.taken = append(l.taken, l.key[0])
			}
			begin = i + 1
		case c == '[':
			stack = append(stack, level{path: l.path, key: l.key, array: true})
			begin = i + 1
		case c == '{':
			stack = append(stack, level{path: join(l.path, l.key...)})
			begin = i + 1
		case (c == ']' || c == '}') && len(stack) > 1:
			stack = stack[:len(stack)-1]
			begin = i // what is complete does not go on after its bracket
		case c == ',':
			if !l.array && len(stack) > 1 {
				l.key = nil
			}
			begin = i + 1
		case c == '\n':
			if len(stack) == 1 {
				l.key, header = nil, false
			} else if !l.array { // an inline table that is not closed yet ends with its line
				stack = stack[:1]
				stack[0].key = nil
			}
			begin = i + 1
		}
		i++
	}
	l := top()
	s.Start, s.End = offset, offset
	for s.Start > begin && isWord(text[s.Start-1], header) {
		s.Start--
	}
	for s.End < len(text) && isWord(text[s.End], header) {
		s.End++
	}
	between := strings.TrimSpace(string(text[begin:s.Start]))
	if header {
		between = strings.Trim(between, "[")
	} else if path, ok := strings.CutSuffix(between, "."); ok && l.key == nil { // the last part of a dotted key
		l.path, l.taken, between = join(l.path, split(path)...), nil, ""
	}
	if between != "" {
		return s, false // after a complete value, or in a key of several words
	}
	if s, ok = s.in(l, header); ok && len(stack) == 1 && !header {
		s.Taken = append(s.Taken, following(text[s.End:])...)
	}
	return s, ok
}

// in returns s with what is known of the level l that it is in.
func (s Spot) in(l *level, header bool) (Spot, bool) {
	if s.Header = header; header {
		return s, true
	}
	path := l.path
	if n := len(l.key); n > 0 {
		path, s.Key = join(path, l.key[:n-1]...), l.key[n-1]
	}
	s.Place, s.Array, s.Taken = placeOf(path), l.array, l.taken
	return s, s.Place != 0
}

// following returns the keys of the lines of text after the first, up to the next header.
func following(text []byte) (keys []string) {
	first := true
	for line := range bytes.Lines(text) {
		key, _, ok := strings.Cut(string(line), "=")
		switch key = strings.TrimSpace(key); {
		case first:
			first = false
		case strings.HasPrefix(key, "["):
			return keys
		case ok:
			keys = append(keys, split(key)...)
		}
	}
	return keys
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// placeOf returns the place of the table at path.
func placeOf(path string) routing.Place {
	have := split(path)
	for _, p := range routing.Places() {
		want := split(p.Path())
		same := len(have) == len(want)
		for i := range want {
			same = same && (want[i] == have[i] || want[i] == "NAME")
		}
		if same {
			return p
		}
	}
	return 0
}

// split returns the parts of a dotted key, the first maxDepth of them; a part in quotes may hold dots.
func split(path string) (parts []string) {
	for path = strings.TrimSpace(path); path != "" && len(parts) < maxDepth; {
		if quote := path[0]; quote == '"' || quote == '\'' {
			body, rest, _ := strings.Cut(path[1:], string(quote))
			parts, path = append(parts, body), strings.TrimPrefix(strings.TrimSpace(rest), ".")
		} else {
			part, rest, _ := strings.Cut(path, ".")
			parts, path = append(parts, strings.TrimSpace(part)), rest
		}
		path = strings.TrimSpace(path)
	}
	return parts
}

func join(path string, keys ...string) string {
	for _, key := range keys {
		if path != "" {
			path += "."
		}
		path += tomltree.Key(key)
	}
	return path
}

// quoted returns the bytes [start, end) inside the quotes of the string that begins at i, and what follows
// it. A string that nobody has closed ends with its line, or with the text if it is one of several lines.
func quoted(text []byte, i int) (start, end, next int) {
	quote := text[i : i+1]
	long := bytes.Repeat(quote, 3)
	if bytes.HasPrefix(text[i:], long) {
		quote = long
	}
	start = i + len(quote)
	for end = start; end < len(text); end++ {
		switch {
		case bytes.HasPrefix(text[end:], quote):
			return start, end, end + len(quote)
		case text[end] == '\\' && quote[0] == '"' && end+1 < len(text):
			end++
		case text[end] == '\n' && len(quote) == 1:
			return start, end, end
		}
	}
	return start, len(text), len(text)
}

// isWord reports whether c is part of a bare key or value; a header has dots, too.
func isWord(c byte, header bool) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' && header
}
