package settings

import "strings"

// maxDepth bounds how deep a file nests, and maxFlow how long a value in flow style is, in bytes.
const (
	maxDepth = 64
	maxFlow  = 4 << 10
)

// YAML reads the first document of a YAML file.
func YAML(text []byte) Value {
	p := &yaml{}
	for line := range strings.Lines(string(text)) {
		p.raw = append(p.raw, strings.TrimRight(line, "\r\n"))
	}
	if at, ok := p.next(); ok {
		return p.block(at.indent, 0)
	}
	return Value{}
}

// yaml reads lines one after another. A line that begins an item of a list, "- key: value", is read as
// one that begins with its key: here holds what is left of it.
type yaml struct {
	raw   []string
	i     int
	begun bool // a line of the document was read
	here  *line
}

type line struct {
	indent int
	text   string // without indentation and comment
}

// next returns the line that is to be read; ok is false at the end of the document.
func (p *yaml) next() (l line, ok bool) {
	if p.here != nil {
		return *p.here, true
	}
	for ; p.i < len(p.raw); p.i++ {
		text := strings.TrimLeft(p.raw[p.i], " ")
		indent := len(p.raw[p.i]) - len(text)
		text = strings.TrimSpace(uncomment(text))
		switch {
		case text == "" || indent == 0 && strings.HasPrefix(text, "%"):
		case indent == 0 && (text == "---" || text == "..."):
			if p.begun {
				p.raw = p.raw[:p.i]
			}
		default:
			p.begun = true
			return line{indent, text}, true
		}
	}
	return line{}, false
}

func (p *yaml) skip() {
	p.here = nil
	p.i++
}

// block reads the value whose lines are indented by indent.
func (p *yaml) block(indent, depth int) (v Value) {
	first, ok := p.next()
	if !ok || depth > maxDepth {
		p.i = len(p.raw)
		p.here = nil
		return v
	}
	if isItem(first.text) {
		for {
			l, ok := p.next()
			if !ok || l.indent != indent || !isItem(l.text) {
				return v
			}
			v.List = append(v.List, p.item(l, depth))
		}
	}
	if _, _, ok := splitKey(first.text); !ok {
		p.here = nil
		p.i++
		return p.scalar(first.text, indent-1, depth)
	}
	for {
		l, ok := p.next()
		if !ok || l.indent != indent || isItem(l.text) {
			return v
		}
		key, rest, ok := splitKey(l.text)
		p.skip()
		if ok {
			v.set(key, p.value(rest, l.indent, depth))
		}
	}
}

// item reads an item of a list, of which l is the first line.
func (p *yaml) item(l line, depth int) Value {
	rest := unmark(strings.TrimLeft(l.text[1:], " "))
	if rest == "" {
		p.skip()
		if n, ok := p.next(); ok && n.indent > l.indent {
			return p.block(n.indent, depth+1)
		}
		return Value{}
	}
	if _, _, ok := splitKey(rest); ok || isItem(rest) {
		p.here = &line{l.indent + len(l.text) - len(rest), rest}
		return p.block(p.here.indent, depth+1)
	}
	p.skip()
	return p.scalar(rest, l.indent, depth)
}

// value reads what comes after a key that is indented by indent.
func (p *yaml) value(rest string, indent, depth int) Value {
	if rest = unmark(rest); rest != "" {
		return p.scalar(rest, indent, depth)
	}
	n, ok := p.next()
	if ok && (n.indent > indent || n.indent == indent && isItem(n.text)) {
		return p.block(n.indent, depth+1)
	}
	return Value{}
}

// scalar reads a text that begins with rest, or a list or table in flow style. What is more indented
// than indent belongs to it.
func (p *yaml) scalar(rest string, indent, depth int) Value {
	switch rest[0] {
	case '|', '>':
		return Value{Text: p.literal(indent, rest[0] == '>')}
	case '[', '{', '"', '\'':
		for len(rest) < maxFlow && !balanced(rest) {
			n, ok := p.next()
			if !ok || n.indent <= indent && !strings.ContainsAny(n.text[:1], "]}") {
				break
			}
			rest += " " + n.text
			p.skip()
		}
		f := flow{text: rest}
		return f.value(depth)
	}
	words := []string{rest}
	for {
		n, ok := p.next()
		if !ok || n.indent <= indent {
			return Value{Text: strings.Join(words, " ")}
		}
		words = append(words, n.text)
		p.skip()
	}
}

// literal reads the lines of a block scalar.
func (p *yaml) literal(indent int, fold bool) string {
	var lines []string
	strip := -1
	for ; p.i < len(p.raw); p.i++ {
		text := strings.TrimLeft(p.raw[p.i], " ")
		at := len(p.raw[p.i]) - len(text)
		if strings.TrimSpace(text) == "" {
			lines = append(lines, "")
			continue
		}
		if at <= indent {
			break
		}
		if strip < 0 {
			strip = at
		}
		lines = append(lines, p.raw[p.i][min(strip, at):])
	}
	sep := "\n"
	if fold {
		sep = " "
	}
	return strings.TrimRight(strings.Join(lines, sep), "\n ")
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// unmark takes anchors and tags away that stand before a value.
func unmark(text string) string {
	for text != "" && (text[0] == '&' || text[0] == '!') {
		_, text, _ = strings.Cut(text, " ")
		text = strings.TrimLeft(text, " ")
	}
	return text
}

// splitKey splits "key: rest" and "key:".
func splitKey(text string) (key, rest string, ok bool) {
	if text[0] == '"' || text[0] == '\'' {
		end := quoted(text)
		if end < 0 || !strings.HasPrefix(text[end:], ":") || len(text) > end+1 && text[end+1] != ' ' {
			return "", "", false
		}
		return unquote(text[:end]), strings.TrimSpace(text[end+1:]), true
	}
	if strings.ContainsRune("[{|>", rune(text[0])) {
		return "", "", false
	}
	i := strings.Index(text, ": ")
	if i < 0 {
		if i = len(text) - 1; text[i] != ':' {
			return "", "", false
		}
	}
	return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:]), i > 0
}

// quoted returns where the quoted text ends that text begins with; -1 where it does not end.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[i] == text[0] && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return -1
}

func unquote(text string) string {
	inner := text[1 : len(text)-1]
	if text[0] == '\'' {
		return strings.ReplaceAll(inner, "''", "'")
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t").Replace(inner)
}

// uncomment takes the comment of a line away.
func uncomment(text string) string {
	for i := 0; i < len(text); i++ {
		switch before := i == 0 || strings.IndexByte(" \t[{,:", text[i-1]) >= 0; {
		case text[i] == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t'):
			return text[:i]
		case before && (text[i] == '"' || text[i] == '\''):
			if end := quoted(text[i:]); end > 0 {
				i += end - 1
			}
		}
	}
	return text
}

// balanced reports whether all brackets and quotes of a flow value are closed.
func balanced(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"', '\'':
			if i > 0 && strings.IndexByte(" [{,:", text[i-1]) < 0 {
				continue
			}
			end := quoted(text[i:])
			if end < 0 {
				return false
			}
			i += end - 1
		}
	}
	return depth <= 0
}

// flow reads a value in flow style: [a, "b"], {c: d}.
type flow struct {
	text string
	i    int
}

func (f *flow) space() {
	for f.i < len(f.text) && f.text[f.i] == ' ' {
		f.i++
	}
}

func (f *flow) value(depth int) (v Value) {
	f.space()
	if f.i >= len(f.text) || depth > maxDepth {
		f.i = len(f.text)
		return v
	}
	switch c := f.text[f.i]; c {
	case '[', '{':
		f.i++
		for {
			f.space()
			if f.i >= len(f.text) {
				return v
			}
			if d := f.text[f.i]; d == ']' || d == '}' {
				f.i++
				return v
			} else if d == ',' {
				f.i++
				continue
			}
			at := f.i
			item := f.value(depth + 1)
			f.space()
			if c == '{' && f.i < len(f.text) && f.text[f.i] == ':' {
				f.i++
				v.set(item.Text, f.value(depth+1))
			} else if c == '[' {
				v.List = append(v.List, item)
			}
			if f.i == at {
				f.i++ // a stray character: what remains is read all the same
			}
		}
	case '"', '\'':
		if end := quoted(f.text[f.i:]); end > 0 {
			v.Text = unquote(f.text[f.i : f.i+end])
			f.i += end
			return v
		}
	}
	start := f.i
	for f.i < len(f.text) && strings.IndexByte(",]}", f.text[f.i]) < 0 && !strings.HasPrefix(f.text[f.i:], ": ") {
		f.i++
	}
	v.Text = strings.TrimSpace(f.text[start:f.i])
	return v
}
