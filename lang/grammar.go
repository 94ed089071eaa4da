package lang

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// phrase is a command with a preposition: [Value] Prep Noun { Argument }.
type phrase struct {
	Verb   lexer.Token   `parser:"@Word"`
	Object []lexer.Token `parser:"@(Word | String)?"`
	Prep   lexer.Token   `parser:"@Prep"`
	Noun   lexer.Token   `parser:"@Word"`
	Args   []*argument   `parser:"@@*"`
}

// bare is the short form: Noun { Argument }, without a preposition on the line.
type bare struct {
	Verb lexer.Token `parser:"@Word"`
	Noun lexer.Token `parser:"@Word"`
	Args []*argument `parser:"@@*"`
}

// argument is Name "=" Value | Value. The lexer makes sure that nothing stands
// between the name and its value.
type argument struct {
	Name  []lexer.Token `parser:"@Name?"`
	Value lexer.Token   `parser:"@(Word | String)"`
}

// Building a parser takes reflection, so it waits for the first line.
var (
	phraseParser = sync.OnceValue(func() *participle.Parser[phrase] {
		return participle.MustBuild[phrase](participle.Lexer(definition{}))
	})
	bareParser = sync.OnceValue(func() *participle.Parser[bare] {
		return participle.MustBuild[bare](participle.Lexer(definition{}))
	})
)

// A line is classed as phrase or bare by its tokens before participle sees it:
// bounded lookahead alone would take "plane" of "land plane BD-1" for an object
// and then miss the preposition.

func parsePhrase(p *parser) (*phrase, error) { return parseBy(phraseParser(), p) }

func parseBare(p *parser) (*bare, error) { return parseBy(bareParser(), p) }

func parseBy[T any](by *participle.Parser[T], p *parser) (*T, error) {
	lex, err := lexer.Upgrade(&tokens{p: p})
	if err != nil {
		return nil, err
	}
	return by.ParseFromLexer(lex)
}
