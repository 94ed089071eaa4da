// Package template reads the command lines of a routing matrix.
//
// In come the texts of the keys tool and arguments. Out come a [Template], split into argv once, a [Script]
// or [Arguments], each of which takes the values of a line as data: no value becomes a further element, an
// option of a shell, or structure of JSON. The package also says what can be seen of a command line from
// its text alone: whether it only looks ([Template.Looks]), and whether it cannot fail. It starts nothing
// and looks for no program.
package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// The placeholders with a meaning of their own. All others are filled by name
// or in order.
const (
	Object      = "object"      // filled first
	Preposition = "preposition" // filled by the line itself, empty in the short form
	Rest        = "args"        // written {args...}: all values that remain
)

// LineEnd is the text of a [Mark] that is a line end.
const LineEnd = "a line end"

// A Template is a command line split into argv once, by the quoting rules of the
// POSIX shell (single quotes, double quotes, backslash) and by nothing else of
// the shell: no expansion, no operator. Placeholders are replaced inside
// elements after the splitting, so that a value never becomes two elements, and
// never syntax.
//
//	{object} {preposition} {name}   part of an element
//	{args...}                       an element of its own, at most once
//	{{ and }}                       literal braces
//
// The program, element 0, holds no placeholder: the matrix says what runs.
type Template struct {
	args  []element
	names []string // placeholders to fill, {object} first, then by first appearance
	rest  bool
	fixed bool // there is no placeholder at all
	marks []Mark

	open   bool  // see [Template.ShellOptions]
	signed []int // arguments that values may turn into options: see [Template.Option]
}

// An element is one argv element: its parts are concatenated.
type element struct {
	parts []part
	rest  bool
}

// A part is literal text, or the placeholder called name.
type part struct {
	text, name string
}

// A Mark is an unquoted piece of a template that a shell would have acted on.
type Mark struct {
	Start, End int // bytes of the text that was parsed
	Text       string
}

// An Error is a fault of a template.
type Error struct {
	Start, End int // bytes of the source of the template
	Message    string
	Hint       string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Report reports an [*Error] in the text of v from offset on; where names the key of v.
func Report(r *tomltree.Reader, v *tomltree.Value, offset int, where string, err error) {
	var te *Error
	if errors.As(err, &te) {
		r.Errorf(diag.BadTemplate, r.Inside(v, offset+te.Start, offset+te.End), "%s: %s", where, te.Message).Hint = te.Hint
	}
}

// Parse splits source. An error is a [*Error].
func Parse(source string) (*Template, error) {
	t := &Template{fixed: true}
	p := templateParser{t: t, s: source}
	if err := p.parse(true); err != nil {
		return nil, err
	}
	switch {
	case len(t.args) == 0:
		return nil, &Error{End: len(source), Message: "the template is empty"}
	case !t.args[0].literal():
		return nil, &Error{End: len(source), Message: "the program is a placeholder",
			Hint: "name the program in the matrix: a script must not choose what runs"}
	case t.args[0].text() == "":
		return nil, &Error{End: len(source), Message: "the program is empty"}
	}
	code, open := t.shells()
	if t.open = open; code {
		return nil, &Error{End: len(source), Message: isCode,
			Hint: `write shell = true and "$1" in the tool, or hand the value over behind the code: sh -c 'grep -r "$1"' sh {object}`}
	}
	for i, e := range t.args {
		if n, sign := e.lead(); n > 0 && !e.rest && (sign == "-" || sign == "+" && open) {
			t.signed = append(t.signed, i)
		}
	}
	return t, nil
}

// parseText reads source as one element: no splitting and no quoting, only
// placeholders. It serves the arguments of MCP tools.
func parseText(source string) (*Template, error) {
	t := &Template{fixed: true}
	p := templateParser{t: t, s: source}
	if err := p.parse(false); err != nil {
		return nil, err
	}
	if t.rest {
		return nil, &Error{End: len(source), Message: "{args...} has no place in an argument", Hint: "name the values: {query}"}
	}
	if len(t.args) == 0 {
		t.args = []element{{}}
	}
	return t, nil
}

// Names returns the placeholders that values fill, in the order in which values
// fill them; {preposition} and {args...} are not among them.
func (t *Template) Names() []string { return t.names }

// Rest reports whether the template has {args...}.
func (t *Template) Rest() bool { return t.rest }

// Fixed reports whether the template has no placeholder at all.
func (t *Template) Fixed() bool { return t.fixed }

// Marks returns what a shell would have acted on, in order.
func (t *Template) Marks() []Mark { return t.marks }

// Program returns element 0.
func (t *Template) Program() string { return t.args[0].text() }

// Argv returns the command line with each placeholder replaced by its value in
// values, and {args...} by the elements of rest. Without {args...}, rest is
// appended. The number of elements is that of the template plus len(rest),
// whatever the values hold.
func (t *Template) Argv(values func(name string) string, rest []string) []string {
	argv := make([]string, 0, len(t.args)+len(rest))
	for _, e := range t.args {
		if e.rest {
			argv = append(argv, rest...)
			continue
		}
		argv = append(argv, e.fill(values))
	}
	if !t.rest {
		argv = append(argv, rest...)
	}
	return argv
}

// Option returns the first argument that a placeholder begins, that begins with "-" once values fill it, and that no value begins so: in
// {a}-{b} an empty a lets b decide which option that is. Where a shell would read it, "+" counts too. It is empty if there is none.
func (t *Template) Option(values func(name string) string) string {
	for _, i := range t.signed {
		e := t.args[i]
		if lead, _ := e.lead(); !slices.ContainsFunc(e.parts[:lead], func(p part) bool { return values(p.name) != "" }) {
			return e.fill(values)
		}
	}
	return ""
}

// lead returns how many placeholders begin e, and with what the text behind them begins.
func (e element) lead() (n int, sign string) {
	for n < len(e.parts) && e.parts[n].name != "" {
		n++
	}
	if n < len(e.parts) {
		sign = e.parts[n].text[:min(1, len(e.parts[n].text))]
	}
	return n, sign
}

func (e element) fill(values func(string) string) string {
	if e.literal() {
		return e.text()
	}
	var b strings.Builder
	for _, p := range e.parts {
		if p.name != "" {
			b.WriteString(values(p.name))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// literal reports whether e has no placeholder; its parts are then one at most.
func (e element) literal() bool {
	return !e.rest && (len(e.parts) == 0 || len(e.parts) == 1 && e.parts[0].name == "")
}

func (e element) text() string {
	if len(e.parts) == 0 {
		return ""
	}
	return e.parts[0].text
}

// maxNames bounds the placeholders of a template, each counted once.
const maxNames = 256

type templateParser struct {
	t    *Template
	s    string
	i    int
	text int // where the white space at the end of s begins

	open    bool // an element has begun
	start   int  // where
	current element
	literal strings.Builder
}

// parse reads the whole of p.s. If split is false, all of it is one element
// without quoting.
func (p *templateParser) parse(split bool) error {
	var quote byte // ' or " while inside
	var quoteAt int
	p.text = len(strings.TrimSpace("x"+p.s)) - 1
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == '{' || c == '}':
			if err := p.brace(); err != nil {
				return err
			}
			continue
		case !split:
			p.put(p.s[p.i : p.i+1])
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
			p.put(p.s[p.i : p.i+1])
		case c == '\\':
			if p.i+1 == len(p.s) {
				return p.fault(p.i, p.i+1, "the template ends in a backslash", "double it, or quote it")
			}
			next := p.s[p.i+1]
			switch {
			case next == '\n':
			case quote == '"' && strings.IndexByte("$`\"\\", next) < 0:
				p.put(p.s[p.i : p.i+2])
			default:
				p.put(p.s[p.i+1 : p.i+2])
			}
			p.i++
		case quote == '"':
			p.mark(true)
			p.put(p.s[p.i : p.i+1])
		case c == '\'' || c == '"':
			quote, quoteAt = c, p.i
			p.begin()
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if err := p.finish(); err != nil {
				return err
			}
			if c == '\n' && len(p.t.args) > 0 && p.i < p.text {
				p.t.marks = append(p.t.marks, Mark{p.i, p.i + 1, LineEnd})
			}
		default:
			p.mark(false)
			p.put(p.s[p.i : p.i+1])
		}
		p.i++
	}
	if quote != 0 {
		return p.fault(quoteAt, len(p.s), fmt.Sprintf("the quote %c is not closed", quote), "close it, or put a backslash before it")
	}
	return p.finish()
}

func (p *templateParser) fault(start, end int, message, hint string) error {
	return &Error{Start: start, End: end, Message: message, Hint: hint}
}

func (p *templateParser) begin() {
	if !p.open {
		p.open, p.start = true, p.i
	}
}

func (p *templateParser) put(text string) {
	p.begin()
	p.literal.WriteString(text)
}

func (p *templateParser) flush() {
	if p.literal.Len() > 0 {
		p.current.parts = append(p.current.parts, part{text: p.literal.String()})
		p.literal.Reset()
	}
}

// finish ends the current element, if there is one.
func (p *templateParser) finish() error {
	if !p.open {
		return nil
	}
	p.flush()
	if p.current.rest && len(p.current.parts) > 0 {
		return p.fault(p.start, p.i, "{args...} is joined to other text", "put a space on both sides: it stands for any number of arguments")
	}
	p.t.args = append(p.t.args, p.current)
	p.open, p.current = false, element{}
	return nil
}

// brace reads what begins with a brace at p.i.
func (p *templateParser) brace() error {
	rest := p.s[p.i:]
	if rest[0] == '}' || strings.HasPrefix(rest, "{{") {
		p.put(rest[:1])
		p.i++
		if strings.HasPrefix(rest, "}}") || rest[0] == '{' {
			p.i++
		}
		return nil
	}
	const literal = "a literal brace is written {{"
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return p.fault(p.i, p.i+1, "the brace is not closed", literal)
	}
	inner := rest[1:end]
	name, dots := strings.CutSuffix(inner, "...")
	switch {
	case !IsName(name):
		return p.fault(p.i, p.i+end+1, fmt.Sprintf("%s is not a placeholder", rest[:end+1]), "a placeholder is a name: {id}; "+literal)
	case dots && name != Rest:
		return p.fault(p.i, p.i+end+1, fmt.Sprintf("%s is not a placeholder", rest[:end+1]), "only {args...} stands for several values")
	case !dots && name == Rest:
		return p.fault(p.i, p.i+end+1, "{args} is not a placeholder", "write {args...}")
	case dots && p.t.rest:
		return p.fault(p.i, p.i+end+1, "{args...} stands in the template twice", "the values can go to one place only")
	}
	p.begin()
	p.flush()
	p.i += end + 1
	p.t.fixed = false
	switch {
	case dots:
		if len(p.current.parts) > 0 {
			return p.fault(p.start, p.i, "{args...} is joined to other text", "put a space on both sides: it stands for any number of arguments")
		}
		p.current.rest, p.t.rest = true, true
		return nil
	case name == Preposition || slices.Contains(p.t.names, name):
	case len(p.t.names) == maxNames:
		return p.fault(p.i-end-1, p.i, fmt.Sprintf("more than %d placeholders", maxNames), "a line cannot fill so many; {args...} stands for any number of values")
	case name == Object:
		p.t.names = slices.Insert(p.t.names, 0, name)
	default:
		p.t.names = append(p.t.names, name)
	}
	p.current.parts = append(p.current.parts, part{name: name})
	return nil
}

// mark notes the text at p.i if a shell would act on it there. Inside double
// quotes that is "$" and "`" only.
func (p *templateParser) mark(quoted bool) {
	rest := p.s[p.i:]
	switch c := rest[0]; {
	case c == '`':
	case c == '$':
		if len(rest) < 2 || !IsNameByte(rest[1]) && strings.IndexByte("({@*?", rest[1]) < 0 {
			return
		}
	case quoted:
		return
	case strings.IndexByte("|&;<>()*", c) >= 0:
		if n := len(p.t.marks); n > 0 && p.t.marks[n-1].End == p.i && p.s[p.i-1] != '\n' && strings.IndexByte("|&;<>", c) >= 0 { // "&&", "2>&1"
			last := &p.t.marks[n-1]
			last.End++
			last.Text = p.s[last.Start:last.End]
			return
		}
	case c == '~' && !p.open && (len(rest) == 1 || rest[1] == '/'):
	default:
		return
	}
	p.t.marks = append(p.t.marks, Mark{p.i, p.i + 1, rest[:1]})
}

// IsName reports whether s is [A-Za-z_][A-Za-z0-9_-]*.
func IsName(s string) bool {
	if s == "" || s[0] == '-' || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if !IsNameByte(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

// IsNameByte reports whether c is an ASCII letter, a digit or "_".
func IsNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
