package lang

import "strings"

// Prepositions is the closed class of words that end the object of a command
// and announce its noun. It is a constant of the language: the vocabulary of
// the stdlib describes these words and cannot add to them.
var Prepositions = [...]string{
	"across", "after", "against", "as", "at", "before", "between", "by", "for", "from", "in", "into",
	"of", "on", "onto", "over", "per", "through", "to", "toward", "under", "using", "via", "with", "within", "without",
}

// IsPreposition reports whether word is a preposition, in whatever case.
func IsPreposition(word string) bool {
	for _, p := range Prepositions {
		if len(p) == len(word) && strings.EqualFold(p, word) {
			return true
		}
	}
	return false
}
