// Package lang reads the command dialect: it makes an AST of the text of a
// script, with exact positions, and says everything that is wrong with the text.
// It does not know what is bound to what; that is the business of packages
// routing and resolve.
//
// # The language
//
// UTF-8, one command a line:
//
//	File     = { [ Command ] [ Comment ] EOL } .
//	Command  = Verb ( Phrase | Bare ) .
//	Phrase   = [ Value ] Prep Noun { Argument } .
//	Bare     = Noun { Argument } .                  // no preposition on the line
//	Argument = Name "=" Value | Value .
//	Value    = Word | String .
//	Comment  = "#" at the start of a line, or after a blank and before a blank or the end .
//
// A Word is a run without blank or quote. A String is quoted with ", on one line,
// and knows the escapes \" \\ \n \t. A Name is [A-Za-z_][A-Za-z0-9_-]*, split from
// its value at the first "=". The first unquoted preposition after the verb
// (see [Prepositions]) ends the object, and the word behind it is the noun. Verb,
// preposition and noun are compared without case.
//
// In values {name} is a variable, {{ a literal brace (see [Expand]).
//
// # Faults
//
// Each line is parsed on its own, so that one bad line never hides another.
// Control characters, bidirectional marks and invisible ones are faults. What
// models add to plain lines (list markers, code fences, backticks, a final full
// stop, CRLF, a byte order mark) is left out with a warning, never silently.
//
// It is one package of up to 1,800 lines because lexer, grammar, faults and canonical form work on one
// line in the same pass: what one of them leaves out another must not miss.
package lang

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/command-dialect/dialect/lang/diag"
)

const (
	maxFile  = 64 << 20 // bytes
	maxLine  = 64 << 10 // bytes
	maxWords = 4096     // of one line
	maxEdits = 100      // of one fix: more of them are not a slip of the pen
)

// Parse parses a script. The file holds a command for each line that is one,
// good or bad; the list is sorted, and has an error for each bad command.
func Parse(src *diag.Source) (*File, diag.List) {
	f := &File{Source: src}
	var all diag.Collector
	Scan(src, 1, src.Lines(), func(c *Command, found diag.List) {
		all.Add(found...)
		if c != nil {
			f.Commands = append(f.Commands, c)
		}
	})
	return f, all.List()
}

// Scan parses the lines from first to last (1-based, both included), and calls each for those
// that hold a command or a fault: with the command, nil if there is none, and with the
// findings of the line, which each must not keep. A caller that needs one line at a time needs no more
// memory than a line takes.
func Scan(src *diag.Source, first, last int, each func(c *Command, found diag.List)) {
	p := newParser(src)
	if len(src.Text) > maxFile {
		each(nil, diag.List{tooLarge(src)})
		return
	}
	for n := max(first, 1); n <= min(last, src.Lines()); n++ {
		if c := p.parseLine(n); c != nil || len(p.list) > 0 {
			each(c, p.list)
		}
	}
}

func tooLarge(src *diag.Source) diag.Diagnostic {
	return diag.Errorf(diag.FileTooLarge, src.Name, diag.Span{}, "the script is larger than %d MiB", maxFile>>20)
}

type parser struct {
	src     *diag.Source
	list    diag.List // of the line
	crlf    bool      // said
	tokens  []token
	strings map[string]string // interned words
	memo    map[string]memoed

	line               int // of what follows
	lineStart, lineEnd int
	ascii              bool
	columns            diag.Columns // of a line that is not ASCII
	bad                bool
	ticked             int // where list says so of the backticks of this line; -1 if it does not
}

func newParser(src *diag.Source) *parser {
	return &parser{src: src, strings: make(map[string]string), memo: make(map[string]memoed)}
}

func (p *parser) beginLine(n int) []byte {
	line := p.src.Line(n)
	p.line, p.lineStart, p.lineEnd = n, p.src.LineStart(n), p.src.LineStart(n)+len(line)
	p.tokens, p.list, p.bad, p.ascii, p.ticked = p.tokens[:0], p.list[:0], false, true, -1
	p.columns.Reset(p.src.Text[p.lineStart:min(p.lineEnd+1, len(p.src.Text))]) // with a CR, which CRLF points at
	return line
}

// Bounds of the memo of lines: scripts repeat short lines, and nothing else is
// worth the memory.
const (
	memoLines = 1 << 12
	memoBytes = 128
)

func (p *parser) parseLine(n int) *Command {
	line := p.beginLine(n)
	if m, ok := p.memo[string(line)]; ok {
		return m.command.moved(p.lineStart-m.start, n-m.row)
	}
	c := p.parse(line)
	if p.bad {
		p.unsure()
	}
	if c != nil && len(p.list) == 0 && len(line) <= memoBytes && len(p.memo) < memoLines {
		p.memo[string(line)] = memoed{c, p.lineStart, n}
	}
	if !p.crlf && p.lineEnd < len(p.src.Text) && p.src.Text[p.lineEnd] == '\r' {
		p.crlf = true
		p.warn(diag.CRLF, p.lineEnd, p.lineEnd+1, "the lines end in CR LF").hint("save the script with line ends of Unix")
	}
	return c
}

// unsure takes back the certainty of the fixes of a bad line: without its marker, "- - Test
// with go" would be a command, which it is not now.
func (p *parser) unsure() {
	for _, d := range p.list {
		for i := range d.Fixes {
			if d.Code != diag.ByteOrder {
				d.Fixes[i].Applicability = max(d.Fixes[i].Applicability, diag.MaybeIncorrect)
			}
		}
	}
}

// A memoed is a command that was parsed before, and where its line begins.
type memoed struct {
	command    *Command
	start, row int
}

// moved returns a copy of c, moved by bytes and lines.
func (c *Command) moved(bytes, lines int) *Command {
	d := *c
	move := func(s *diag.Span) {
		if s.IsValid() {
			s.Start.Offset += bytes
			s.End.Offset += bytes
			s.Start.Line += lines
			s.End.Line += lines
		}
	}
	move(&d.Span)
	move(&d.Verb.Span)
	move(&d.Prep.Span)
	move(&d.Noun.Span)
	if c.Object != nil {
		o := *c.Object
		move(&o.Span)
		d.Object = &o
	}
	d.Arguments = slices.Clone(c.Arguments)
	for i := range d.Arguments {
		move(&d.Arguments[i].Name.Span)
		move(&d.Arguments[i].Value.Span)
	}
	return &d
}

// parse parses the line that beginLine took up.
func (p *parser) parse(line []byte) *Command {
	start, end := p.lineStart, p.lineEnd
	if p.line == 1 && bytes.HasPrefix(line, []byte("\ufeff")) {
		start += 3
		p.ascii = false
		p.warn(diag.ByteOrder, start-3, start, "the script begins with a byte order mark").hint("save it as UTF-8 without one").
			fix(diag.Certain, "remove it", start-3, start, "")
	}
	if len(line) > maxLine {
		p.fault(diag.LineTooLong, start, start+1, "a line of %d bytes; at most %d are read", len(line), maxLine)
		return p.badCommand(start, start)
	}
	ok := p.characters(start, end)
	text := p.src.Text
	for start < end && isBlank(text[start]) {
		start++
	}
	for start < end && isBlank(text[end-1]) {
		end--
	}
	switch {
	case start == end:
		return nil
	case !ok:
		return p.badCommand(start, end)
	case text[start] == '#':
		return nil
	case bytes.HasPrefix(text[start:end], []byte("```")):
		p.warn(diag.CodeFence, start, end, "a code fence").hint("leave the line out").removeLine()
		return nil
	}
	if n := markerLen(text[start:end]); n > 0 {
		p.warn(diag.ListMarker, start, start+len(bytes.TrimRight(text[start:start+n], " \t")), "a list marker before the verb").
			hint("begin the line with its verb").fix(diag.Certain, "remove the marker", start, start+n, "")
		start += n
	}
	p.lex(start, end)
	if len(p.tokens) == 0 {
		if p.bad {
			return p.badCommand(start, end)
		}
		p.removeRest(end)
		return nil // a comment behind a list marker, or backticks alone: said
	}
	return p.command()
}

// badCommand is the command of a line that was not lexed.
func (p *parser) badCommand(start, end int) *Command {
	c := &Command{Bad: true, Span: p.span(start, end)}
	if end-start <= maxLine {
		c.Text = string(p.src.Text[start:end])
	}
	return c
}

// command makes a command of the tokens of the line.
func (p *parser) command() *Command {
	first, last := p.tokens[0], p.tokens[len(p.tokens)-1]
	c := &Command{Span: p.span(first.start, last.end), Text: string(p.src.Text[first.start:last.end])}
	prep := p.preposition()
	if !p.bad {
		p.checkVerb(first)
	}
	if !p.bad {
		if !p.build(c, prep) {
			p.explain(prep)
		} else if !strings.ContainsFunc(c.Noun.Text, isLetterOrDigit) {
			t := c.Noun.Span
			p.fault(diag.MissingNoun, t.Start.Offset, t.End.Offset, "%q is not a noun", c.Noun.Text).
				hint("a noun is a word: " + Example)
		}
		p.checkBraces()
	}
	p.list = slices.DeleteFunc(p.list, func(d diag.Diagnostic) bool {
		return d.Code == diag.LookAlike && d.Span == c.Noun.Span // nothing is bound to it: resolve reports that then
	})
	if p.bad {
		p.partial(c, prep)
	}
	return c
}

// preposition returns which of the tokens is the first preposition; -1 if none is.
func (p *parser) preposition() int {
	return slices.IndexFunc(p.tokens, func(t token) bool { return t.kind == prepToken })
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// build fills c by the grammar, and reports whether the line is in it.
func (p *parser) build(c *Command, prep int) bool {
	var args []*argument
	if prep >= 0 {
		g, err := parsePhrase(p)
		if err != nil {
			return false
		}
		c.Verb, c.Prep, c.Noun, args = p.word(g.Verb), p.word(g.Prep), p.word(g.Noun), g.Args
		if len(g.Object) > 0 {
			v := p.value(g.Object[0])
			c.Object = &v
		}
	} else {
		g, err := parseBare(p)
		if err != nil {
			return false
		}
		c.Verb, c.Noun, args = p.word(g.Verb), p.word(g.Noun), g.Args
	}
	c.Arguments = slices.Grow(c.Arguments, len(args)) // nil for none
	for _, a := range args {
		x := Argument{Value: p.value(a.Value)}
		if len(a.Name) > 0 {
			x.Name = p.word(a.Name[0])
		}
		c.Arguments = append(c.Arguments, x)
	}
	return true
}

// partial fills what is known of a bad line, for stages that know more.
func (p *parser) partial(c *Command, prep int) {
	*c = Command{Bad: true, Span: c.Span, Text: c.Text}
	take := func(i int, w *Word) {
		if i >= 0 && i < len(p.tokens) && p.tokens[i].kind == wordToken {
			t := p.tokens[i]
			*w = Word{Text: t.text, Span: p.span(t.start, t.end)}
		}
	}
	if !isVerb(p.tokens[0].text) || IsPreposition(p.tokens[0].text) {
		return
	}
	take(0, &c.Verb)
	if prep < 0 {
		take(1, &c.Noun)
		return
	}
	t := p.tokens[prep]
	c.Prep = Word{Text: t.text, Span: p.span(t.start, t.end)}
	take(prep+1, &c.Noun)
}

// explain says why the tokens are not in the grammar. Participle's own words
// would mislead: it reports where it gave up, not what is wrong.
func (p *parser) explain(prep int) {
	noun := 1
	if prep >= 0 {
		noun = prep + 1
		objects := p.tokens[1:prep]
		if i := slices.IndexFunc(objects, func(t token) bool { return t.kind == nameToken }); i >= 0 {
			p.misplaced(objects[i])
			return
		}
		if len(objects) > 1 {
			start, end := objects[0].start, objects[len(objects)-1].end
			text := string(p.src.Text[start:end])
			p.fault(diag.ManyObjects, start, end, "%d words before %q; an object is one value", len(objects), p.tokens[prep].text).
				hint("quote them as one: %s, or join them: %s", QuoteRaw(text), strings.Join(strings.Fields(text), "-")).
				fix(diag.MaybeIncorrect, "quote the words as one value", start, end, QuoteRaw(text))
			return
		}
	}
	if noun >= len(p.tokens) {
		after := p.tokens[noun-1]
		p.fault(diag.MissingNoun, after.start, after.end, "a noun is missing after %q", after.text).
			hint(form)
		return
	}
	switch t := p.tokens[noun]; t.kind {
	case stringToken:
		p.fault(diag.MissingNoun, t.start, t.end, "a quoted value where the noun belongs").
			hint("a noun is one word without quotes; values come before the preposition or after the noun")
		return
	case nameToken:
		p.misplaced(t)
		return
	case prepToken:
		p.extraPreposition(t)
		return
	}
	if i := slices.IndexFunc(p.tokens[noun+1:], func(t token) bool { return t.kind == prepToken }); i >= 0 {
		p.extraPreposition(p.tokens[noun+1+i])
		return
	}
	// The grammar refuses nothing else; should it ever, the line is still no command.
	first, last := p.tokens[0], p.tokens[len(p.tokens)-1]
	p.fault(diag.BadVerb, first.start, last.end, "this is not a command").hint(form)
}

func (p *parser) misplaced(t token) {
	p.fault(diag.Misplaced, t.start, t.end, "%q stands before the noun", t.text+"=").
		hint("named arguments come after the noun: Close issue id=BD-12")
}

func (p *parser) extraPreposition(t token) {
	p.fault(diag.ExtraPreposition, t.start, t.end, "a second preposition, %q", t.text).
		hint(`if it is a value, quote it: %s`, QuoteRaw(t.text)).
		fix(diag.MaybeIncorrect, "quote "+t.text, t.start, t.end, QuoteRaw(t.text))
}

// Example is the line that hints give for one; a project that does not bind it has a line of its own.
const Example = "Test with pytest"

const form = "a line is a verb, a preposition and a noun: " + Example

// checkVerb refuses lines that do not begin with a word.
func (p *parser) checkVerb(t token) {
	switch {
	case t.kind == stringToken:
		p.fault(diag.BadVerb, t.start, t.end, "a line begins with its verb, not with a quoted value").hint(form)
	case IsPreposition(t.text):
		p.fault(diag.BadVerb, t.start, t.end, "a line begins with its verb, not with the preposition %q", t.text).hint(form)
	case !isVerb(t.text):
		f := p.fault(diag.BadVerb, t.start, t.end, "%q is not a verb", t.text)
		odd, latin := LookAlike(t.text)
		if strings.ContainsAny(t.text, "{}") {
			f.hint("a verb is one word, and cannot be a variable: routing is fixed before the run")
		} else if odd != 0 && isVerb(latin) {
			f.d.Message += fmt.Sprintf(": its %q is %U, which only looks like a Latin letter", odd, odd)
			f.hint("did you mean %q?", latin).fix(diag.MaybeIncorrect, fmt.Sprintf("replace it by %q", latin), t.start, t.end, latin)
		} else if i := strings.IndexFunc(t.text, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
			r, _ := utf8.DecodeRuneInString(t.text[i:])
			f.hint("%q is %U, which is not a Latin letter; %s", r, r, form)
		} else {
			f.hint(form)
		}
	}
}

// isVerb reports whether a word can be a verb: a Latin letter, then letters,
// digits, "-" and "_".
func isVerb(w string) bool {
	for i := 0; i < len(w); i++ {
		c := w[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '_')) {
			return false
		}
	}
	return w != ""
}

// checkBraces refuses braces that are not variables, and variables where routing
// needs a word.
func (p *parser) checkBraces() {
	if p.bad {
		return
	}
	noun := max(p.preposition(), 0) + 1
	for i, t := range p.tokens {
		if !strings.Contains(t.text, "{") {
			continue
		}
		if i == noun {
			p.fault(diag.BadVariable, t.start, t.end, "a noun cannot be a variable").hint("routing is fixed before the run; only values may hold variables")
			continue
		}
		// One fault a word: its fix is for all such braces of the word.
		raw := string(p.src.Text[t.start:t.end])
		var edits []diag.Edit
		for at := 0; len(edits) < maxEdits; {
			i, n, ok := nextBrace(raw[at:])
			if n == 0 {
				break
			}
			if !ok {
				start := t.start + at + i
				edits = append(edits, diag.Edit{File: p.src.Name, Span: p.span(start, start+1), New: "{{"})
			}
			at += i + n
		}
		if len(edits) > 0 {
			first := edits[0].Span.Start.Offset
			p.fault(diag.BadVariable, first, first+1, "a brace that begins no variable").
				hint("a variable is {name}; a literal brace is written twice: {{").
				fixAll(diag.MaybeIncorrect, "write a literal brace", edits...)
		}
	}
}

func (p *parser) token(t lexer.Token) token {
	i := sort.Search(len(p.tokens), func(i int) bool { return p.tokens[i].start >= t.Pos.Offset })
	for i < len(p.tokens)-1 && p.tokens[i].kind != t.Type {
		i++
	}
	return p.tokens[i]
}

func (p *parser) word(t lexer.Token) Word {
	tok := p.token(t)
	return Word{Text: tok.text, Span: p.span(tok.start, tok.end)}
}

func (p *parser) value(t lexer.Token) Value {
	tok := p.token(t)
	return Value{Text: tok.text, Quoted: tok.kind == stringToken, Span: p.span(tok.start, tok.end)}
}

// span returns a span within the current line.
func (p *parser) span(start, end int) diag.Span {
	return diag.Span{Start: p.pos(start), End: p.pos(end)}
}

func (p *parser) pos(offset int) diag.Pos {
	column := offset - p.lineStart
	if p.ascii {
		column++
	} else {
		column = p.columns.Column(column)
	}
	return diag.Pos{Offset: offset, Line: p.line, Column: column}
}

// intern returns text as a string, the same one for the same words: verbs and
// nouns repeat.
func (p *parser) intern(text []byte) string {
	if s, ok := p.strings[string(text)]; ok {
		return s
	}
	s := string(text)
	if len(p.strings) < memoLines && len(s) <= memoBytes {
		p.strings[s] = s
	}
	return s
}

// A finding is the diagnostic that was made last, to be given a hint and fixes.
type finding struct {
	p *parser
	d *diag.Diagnostic
}

func (f finding) hint(format string, args ...any) finding {
	f.d.Hint = fmt.Sprintf(format, args...)
	return f
}

// fix adds a fix that replaces the bytes from start to end of the line by text.
func (f finding) fix(a diag.Applicability, message string, start, end int, text string) {
	f.fixAll(a, message, diag.Edit{File: f.d.File, Span: f.p.span(start, end), New: text})
}

func (f finding) fixAll(a diag.Applicability, message string, edits ...diag.Edit) {
	if len(edits) > 0 {
		f.d.Fixes = append(f.d.Fixes, diag.Fix{Message: message, Applicability: a, Edits: edits})
	}
}

// removeLine adds the fix that takes the whole line out.
func (f finding) removeLine() {
	p := f.p
	span := p.span(p.lineStart, p.lineEnd)
	if i := bytes.IndexByte(p.src.Text[p.lineEnd:], '\n'); i >= 0 {
		span.End = diag.Pos{Offset: p.lineEnd + i + 1, Line: p.line + 1, Column: 1}
	}
	f.fixAll(diag.Certain, "remove the line", diag.Edit{File: f.d.File, Span: span})
}

// removeRest makes the fixes of a line without a command, which ends at end, take out all but
// its comment: what is left of "- `" without its backticks would be no blank line.
func (p *parser) removeRest(end int) {
	text := bytes.TrimPrefix(p.src.Text[p.lineStart:end], []byte("\ufeff"))
	first := end - len(text) + blanks(text, 0)
	comment := commentStart(p.src.Text[first:end])
	for i := range p.list {
		f := finding{p, &p.list[i]}
		if f.d.Code == diag.ByteOrder {
			continue
		}
		f.d.Fixes = nil
		if comment < 0 {
			f.removeLine()
		} else {
			f.fix(diag.Certain, "leave only the comment", first, first+comment, "")
		}
	}
}

func (p *parser) fault(code diag.Code, start, end int, format string, args ...any) finding {
	p.bad = true
	p.list = append(p.list, diag.Errorf(code, p.src.Name, p.span(start, end), format, args...))
	return finding{p, &p.list[len(p.list)-1]}
}

func (p *parser) warn(code diag.Code, start, end int, format string, args ...any) finding {
	p.list = append(p.list, diag.Warnf(code, p.src.Name, p.span(start, end), format, args...))
	return finding{p, &p.list[len(p.list)-1]}
}

// backticks warns, once a line, of backticks, and adds the edits that remove them to its fix. They come in
// the order of the line.
func (p *parser) backticks(edits ...diag.Edit) {
	if len(edits) == 0 {
		return
	}
	if p.ticked < 0 {
		p.ticked = len(p.list)
		at := edits[0].Span
		p.warn(diag.Backtick, at.Start.Offset, at.End.Offset, "backticks around words").hint("leave them out; inside quotes they would be kept").
			fixAll(diag.Certain, "remove the backticks", edits...)
		return
	}
	fix := &p.list[p.ticked].Fixes[0]
	fix.Edits = append(fix.Edits, edits...)
}

func (p *parser) smartQuote(start, end int, r rune) {
	if slices.ContainsFunc(p.list, func(d diag.Diagnostic) bool { return d.Code == diag.SmartQuote }) {
		p.bad = true
		return // once a line: the fix is for all of them
	}
	p.fault(diag.SmartQuote, start, end, "a typographic quote, %U", r).hint(`values are quoted with " (U+0022)`).
		fixAll(diag.MaybeIncorrect, `quote with "`, p.replaceRunes(func(i, j int, r rune) (string, bool) {
			// Between letters it is an apostrophe, and may stay.
			text := p.src.Text
			outer := i == p.lineStart || isBlank(text[i-1]) || text[i-1] == '=' || j == p.lineEnd || isBlank(text[j]) || text[j] == '.'
			return `"`, isSmartQuote(r) && outer
		})...)
}

// replaceRunes returns the edits that replace the characters of the line that with wants
// replaced; i and j are where one begins and ends.
func (p *parser) replaceRunes(with func(i, j int, r rune) (string, bool)) (edits []diag.Edit) {
	for i := p.lineStart; i < p.lineEnd && len(edits) < maxEdits; {
		r, size := utf8.DecodeRune(p.src.Text[i:p.lineEnd])
		if text, ok := with(i, i+size, r); ok {
			edits = append(edits, diag.Edit{File: p.src.Name, Span: p.span(i, i+size), New: text})
		}
		i += size
	}
	return edits
}

// markerLen returns the length of the list marker that line begins with, blanks
// behind it included, or 0.
func markerLen(line []byte) int {
	i := 0
	switch {
	case line[0] == '-' || line[0] == '*' || line[0] == '+':
		i = 1
	case bytes.HasPrefix(line, []byte("•")):
		i = len("•")
	default:
		for i < len(line) && i < 4 && line[i] >= '0' && line[i] <= '9' {
			i++
		}
		if i == 0 || i == len(line) || line[i] != '.' && line[i] != ')' {
			return 0
		}
		i++
	}
	n := blanks(line, i)
	if n == i {
		return 0
	}
	for _, box := range []string{"[ ]", "[x]", "[X]"} {
		if bytes.HasPrefix(line[n:], []byte(box)) {
			if m := blanks(line, n+len(box)); m > n+len(box) {
				return m
			}
		}
	}
	return n
}

func blanks(line []byte, i int) int {
	for i < len(line) && isBlank(line[i]) {
		i++
	}
	return i
}
