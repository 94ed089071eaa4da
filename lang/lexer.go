package lang

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/command-dialect/dialect/lang/diag"
)

// Kinds of token. Tokens are whole words: a pattern such as \bin\b would split
// "in-progress".
const (
	wordToken   lexer.TokenType = -(iota + 2)
	prepToken                   // an unquoted preposition after the verb
	nameToken                   // the "name=" of a named argument; its value follows at once
	stringToken                 // "quoted"
	junkToken                   // what is not a token; a diagnostic has been made
)

var symbols = map[string]lexer.TokenType{
	"EOF": lexer.EOF, "Word": wordToken, "Prep": prepToken, "Name": nameToken, "String": stringToken, "Junk": junkToken,
}

// A token is a lexer.Token with its end and its meaning.
type token struct {
	kind       lexer.TokenType
	start, end int    // offsets in the source
	text       string // unquoted and unescaped; of a name without its "="
}

// definition is the lexer of one line as participle sees it. The parser hands
// over tokens that it has lexed already, at absolute positions; this form serves
// anyone who asks participle for the grammar itself.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType { return symbols }

func (definition) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxLine+1))
	if err != nil {
		return nil, err
	}
	p := newParser(diag.NewSource(filename, text))
	p.beginLine(1)
	p.lex(0, len(text))
	if p.bad {
		return nil, fmt.Errorf("%s", p.list[len(p.list)-1].Message)
	}
	return &tokens{p: p}, nil
}

// tokens hands the tokens of a line to participle.
type tokens struct {
	p    *parser
	next int
}

func (t *tokens) Next() (lexer.Token, error) {
	if t.next == len(t.p.tokens) {
		return lexer.EOFToken(lexer.Position{Offset: t.p.lineEnd, Line: t.p.line}), nil
	}
	tok := &t.p.tokens[t.next]
	t.next++
	return lexer.Token{
		Type: tok.kind, Value: tok.text,
		Pos: lexer.Position{Offset: tok.start, Line: t.p.line, Column: tok.start - t.p.lineStart + 1},
	}, nil
}

// lex makes tokens of the text from start to end, which holds one line without
// its end, list marker and surrounding blanks. Faults and warnings go to p.list;
// after a fault p.bad is set and lexing goes on as far as it makes sense.
func (p *parser) lex(start, end int) {
	text := p.src.Text
	for i := start; i < end; {
		if len(p.tokens) > maxWords {
			p.fault(diag.LineTooLong, i, i+1, "more than %d words on a line", maxWords)
			return
		}
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '#' && (i == start || isBlank(text[i-1])) && (i+1 == end || isBlank(text[i+1])):
			return
		case c == '`':
			j := i
			for j < end && text[j] == '`' {
				j++
			}
			p.backticks(diag.Edit{File: p.src.Name, Span: p.span(i, j)})
			i = j
		case c == '"':
			i = p.lexString(i, end)
			i = p.afterString(i, end)
		default:
			i = p.lexWord(i, end)
		}
	}
}

// lexWord makes a token of the word at i, or a name and its value, and returns
// the offset behind it.
func (p *parser) lexWord(i, end int) int {
	text := p.src.Text
	j := i
	for j < end && !isBlank(text[j]) && text[j] != '"' {
		j++
	}
	if len(p.tokens) > 0 {
		if n := nameLen(text[i:j]); n > 0 {
			return p.lexNamed(i, i+n, j, end)
		}
	}
	if j < end && text[j] == '"' {
		p.fault(diag.QuoteInWord, i, j+1, "a quote inside a word").
			hint("put a space before it, or quote the whole value: %s", QuoteRaw(string(text[i:j])+"..."))
		p.push(junkToken, i, j, string(text[i:j]))
		return p.skipString(j, end)
	}
	last := p.isLast(j, end)
	e := p.trimWord(i, j, last)
	if e == i {
		return j // nothing but backticks
	}
	if string(text[i:e]) == "#" { // in backticks, or with a full stop: without them it would be another thing
		p.hash(i, j)
		p.push(junkToken, i, e, "#")
		return j
	}
	p.checkQuotes(i, e)
	if len(p.tokens) > 0 && isOperator(text[i:e]) {
		p.shellOperator(i, e)
	}
	word := p.intern(text[i:e])
	kind := wordToken
	if len(p.tokens) > 0 && IsPreposition(word) {
		kind = prepToken
	}
	p.push(kind, i, e, word)
	return j
}

// lexNamed makes a name and its value of name= at i, whose value begins at v, in
// a word that ends at j.
func (p *parser) lexNamed(i, v, j, end int) int {
	text := p.src.Text
	p.push(nameToken, i, v, p.intern(text[i:v-1]))
	switch {
	case v == j && j < end && text[j] == '"':
		k := p.lexString(j, end)
		return p.afterString(k, end)
	case j < end && text[j] == '"':
		p.fault(diag.QuoteInWord, i, j+1, "a quote inside a word").
			hint("quote the whole value: %s%s", text[i:v], QuoteRaw(string(text[v:j])+"..."))
		p.push(junkToken, v, j, string(text[v:j]))
		return p.skipString(j, end)
	}
	e := p.trimWord(v, j, p.isLast(j, end))
	if e == v {
		p.fault(diag.MissingValue, i, v, "nothing after %q", text[i:v]).
			hint(`write the value after the "=" without a space; an empty one is %s""`, text[i:v]).
			fix(diag.MaybeIncorrect, "give it an empty value", v, v, `""`)
		p.push(junkToken, v, v, "")
		return j
	}
	p.checkQuotes(v, e)
	p.push(wordToken, v, e, p.intern(text[v:e]))
	return j
}

// checkQuotes refuses a word from i to j that a typographic quote begins or ends:
// it was meant to be a string. Inside a word it is an apostrophe.
// A word whose letters look Latin and are not draws a warning; verbs and nouns have faults of
// their own for it.
func (p *parser) checkQuotes(i, j int) {
	if p.ascii {
		return
	}
	text := p.src.Text
	if odd, latin := LookAlike(string(text[i:j])); odd != 0 && len(p.tokens) > 0 && strings.ContainsFunc(latin, isLetterOrDigit) {
		p.warn(diag.LookAlike, i, j, "%q holds %q, %U, which only looks like a Latin letter", text[i:j], odd, odd).
			hint("if Latin letters are meant: %s", latin).
			fix(diag.MaybeIncorrect, "write it in Latin letters", i, j, latin)
	}
	if r, size := utf8.DecodeRune(text[i:j]); isSmartQuote(r) {
		p.smartQuote(i, i+size, r)
	} else if r, size := utf8.DecodeLastRune(text[i:j]); isSmartQuote(r) {
		p.smartQuote(j-size, j, r)
	}
}

func (p *parser) hash(i, j int) {
	for k := range p.list { // without the backticks, or the full stop, it begins one
		for n := range p.list[k].Fixes {
			p.list[k].Fixes[n].Applicability = diag.MaybeIncorrect
		}
	}
	p.fault(diag.MissingValue, i, j, "a # on its own begins a comment").hint(`as a value it is written "#"`)
}

func (p *parser) shellOperator(i, j int) {
	word := string(p.src.Text[i:j])
	if word == `\` {
		p.fault(diag.ShellOperator, i, j, "a backslash at the end of a line: a command ends with its line").
			hint("write all of it on one line; as a value it is written %s", QuoteRaw(word))
		return
	}
	p.fault(diag.ShellOperator, i, j, "%q is an operator of the shell, but no shell runs", word).
		hint("write each command on a line of its own, without what a shell would do to its output or status; as a value it is written %s", QuoteRaw(word)).
		fix(diag.MaybeIncorrect, "quote it as a value", i, j, QuoteRaw(word))
}

// isOperator reports whether a shell would take word for an operator: "|", "&&", ";", "2>&1",
// ">log", "<<EOF", or the backslash that joins two lines.
func isOperator(word []byte) bool {
	switch word[0] {
	case '|', '&', ';', '>', '<', '\\', '1', '2':
	default:
		return false
	}
	switch string(word) {
	case "|", "||", "|&", "&", "&&", ";", ";;", `\`, ">", ">>", "<", "<<", "<<<", "2>&1", "1>&2", ">&2", "&>", "2>", "1>", "2>>":
		return true
	}
	rest := bytes.TrimLeft(word, "12&")
	return len(rest) > 1 && len(word)-len(rest) <= 1 && rest[0] == '>' && (rest[1] == '/' || rest[1] == '>' || rest[1] == '&' || rest[1] == '.') ||
		bytes.HasPrefix(word, []byte("<<"))
}

// trimWord returns the end of the word from i to j without what models put
// there: backticks, and a full stop at the end of the line. It goes from the end to the begin, and says
// what it left out once it knows all of it.
func (p *parser) trimWord(i, j int, last bool) int {
	text := p.src.Text
	end := j
	var stops, ticks []diag.Edit // the last one first
	for j > i && text[j-1] == '`' || last && isFullStop(text[i:j]) {
		k := j
		if text[j-1] == '.' {
			j--
			stops = append(stops, diag.Edit{File: p.src.Name, Span: p.span(j, k)})
			continue
		}
		for j > i && text[j-1] == '`' {
			j--
		}
		ticks = append(ticks, diag.Edit{File: p.src.Name, Span: p.span(j, k)})
	}
	if len(stops) > 1 && len(ticks) > 0 { // by one fix: without what is between them, stops would be another thing
		whole := diag.Edit{File: p.src.Name, Span: p.span(j, end)}
		stops, ticks = []diag.Edit{whole}, []diag.Edit{whole}
	}
	if len(stops) > 0 {
		at := stops[0].Span
		slices.Reverse(stops)
		p.warn(diag.FullStop, at.Start.Offset, at.End.Offset, "a full stop that ends the line").hint("leave it out; inside quotes it would be kept").
			fixAll(diag.Certain, "remove the full stop", stops...)
	}
	slices.Reverse(ticks)
	p.backticks(ticks...)
	return j
}

// isLast reports whether nothing but blanks, backticks and a comment follows
// offset i.
func (p *parser) isLast(i, end int) bool {
	text := p.src.Text
	for ; i < end; i++ {
		if text[i] == '#' && isBlank(text[i-1]) && (i+1 == end || isBlank(text[i+1])) {
			return true
		}
		if !isBlank(text[i]) && text[i] != '`' {
			return false
		}
	}
	return true
}

// isFullStop reports whether word ends in a stop that belongs to a sentence, and
// not to a path or a pattern such as ".", "..", "./x.", "a...".
func isFullStop(word []byte) bool {
	n := len(word)
	return n > 1 && word[n-1] == '.' && word[n-2] != '.' && word[0] != '.'
}

// lexString makes a token of the string that the quote at i opens, and returns
// the offset behind it.
func (p *parser) lexString(i, end int) int {
	text := p.src.Text
	var cooked []byte
	from := i + 1
	for j := from; j < end; j++ {
		switch text[j] {
		case '"':
			if cooked == nil {
				p.push(stringToken, i, j+1, string(text[from:j]))
			} else {
				p.push(stringToken, i, j+1, string(append(cooked, text[from:j]...)))
			}
			return j + 1
		case '\\':
			if j+1 == end {
				continue
			}
			c, ok := unescape(text[j+1])
			if !ok {
				_, size := utf8.DecodeRune(text[j+1 : end])
				p.fault(diag.BadEscape, j, j+1+size, "%q is not an escape", text[j:j+1+size]).
					hint(`a backslash itself is \\; there are \" \\ \n \t`).
					fix(diag.MaybeIncorrect, "write a backslash itself", j, j+1, `\\`)
				c = text[j+1]
			}
			cooked = append(append(cooked, text[from:j]...), c)
			j++
			from = j + 1
		}
	}
	p.fault(diag.UnclosedString, i, i+1, "this quote is never closed").hint("a string ends on its line; close it with \"").
		fix(diag.MaybeIncorrect, "close it at the end of the line", end, end, `"`)
	p.push(junkToken, i, end, "")
	return end
}

func unescape(c byte) (byte, bool) {
	switch c {
	case '"', '\\':
		return c, true
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	}
	return 0, false
}

// afterString refuses what stands directly behind a closing quote at i.
func (p *parser) afterString(i, end int) int {
	text := p.src.Text
	j := i
	for j < end && !isBlank(text[j]) && text[j] != '"' {
		j++
	}
	switch {
	case j == i && (i == end || isBlank(text[i])):
		return i
	case strings.Trim(string(text[i:j]), "`") == "" && (j == end || text[j] != '"'):
		p.backticks(diag.Edit{File: p.src.Name, Span: p.span(i, j)})
		return j
	case p.isLast(j, end) && string(text[i:j]) == ".":
		p.warn(diag.FullStop, i, j, "a full stop that ends the line").hint("leave it out").fix(diag.Certain, "remove the full stop", i, j, "")
		return j
	}
	p.fault(diag.QuoteInWord, i, max(j, i+1), "a quoted value goes on after its quote").
		hint("put a space between the two, or all of it inside the quotes")
	return p.skipString(j, end)
}

// skipString skips the string at i, if there is one, after a fault.
func (p *parser) skipString(i, end int) int {
	text := p.src.Text
	if i < end && text[i] == '"' {
		for i++; i < end && text[i] != '"'; i++ {
			if text[i] == '\\' {
				i++
			}
		}
		i++
	}
	for i < end && !isBlank(text[i]) {
		i++
	}
	return min(i, end)
}

func (p *parser) push(kind lexer.TokenType, start, end int, text string) {
	p.tokens = append(p.tokens, token{kind, start, end, text})
}

// nameLen returns the length of the "name=" that word begins with, or 0.
func nameLen(word []byte) int {
	for i, c := range word {
		switch {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c == '-' || c >= '0' && c <= '9'):
		case i > 0 && c == '=':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSmartQuote(r rune) bool {
	switch r {
	case '“', '”', '„', '‟', '‘', '’', '‚', '‛', '«', '»':
		return true
	}
	return false
}
