package lang

import (
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
)

// A File is a parsed script.
type File struct {
	Source   *diag.Source
	Commands []*Command // in source order, the bad ones included
}

// A Command is one line of a script: verb, object, preposition, noun, arguments.
//
// Of a line that could not be parsed (Bad), the fields hold what was read up to
// the fault, so that a later stage can say more about it; the fault itself is a
// diagnostic of [Parse].
type Command struct {
	Span      diag.Span // from the verb to the last value, without comment
	Text      string    // the bytes of Span
	Bad       bool
	Verb      Word
	Object    *Value // nil if there is none
	Prep      Word   // Prep.Text is empty in the short form
	Noun      Word
	Arguments []Argument
}

// A Word is a verb, a preposition or a noun.
type Word struct {
	Text string // as written
	Span diag.Span
}

// Key returns the word as routing compares it: in lower case.
func (w Word) Key() string { return strings.ToLower(w.Text) }

// A Value is an object or the value of an argument.
type Value struct {
	Text   string // unquoted and unescaped; variables are not yet substituted
	Quoted bool
	Span   diag.Span // quotes included
}

// An Argument is a value after the noun, named or not.
type Argument struct {
	Name  Word // Name.Text is empty for a positional one; Name.Span includes the "="
	Value Value
}
