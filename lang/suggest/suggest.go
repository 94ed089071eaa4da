// Package suggest finds the name that a word was meant to be.
//
// In come a word and the names that are known, out comes the nearest of them, for advice: nothing is
// ever bound by it.
package suggest

import (
	"strings"
	"unicode/utf8"
)

// maxWord is the length, in characters, beyond which a word is no slip of another: the edit distance takes
// the product of the two lengths.
const maxWord = 64

// Near returns the one of names that word was most likely meant to be, by
// edit distance (insertion, deletion, substitution, transposition of
// neighbours), or "" if none is near. Of equals, the first wins.
func Near(word string, names []string) string {
	word = strings.ToLower(word)
	// One slip in a short word, one in three letters of a long one: beyond that
	// a suggestion misleads more often than it helps.
	letters := utf8.RuneCountInString(word)
	if letters > maxWord {
		return ""
	}
	limit := max(1, letters/3)
	best, bestDistance := "", limit+1
	for _, name := range names {
		lower := strings.ToLower(name)
		if lower == word {
			return name
		}
		if d := distance(word, lower, bestDistance); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	if bestDistance >= letters {
		return "" // nothing of the word would be left
	}
	return best
}

// Variant reports whether two different words, in lower case, are forms of one: singular and
// plural, or British and American spelling. What is bound is never found by it; it only makes
// for better advice.
func Variant(a, b string) bool {
	return a != b && (plural(a, b) || plural(b, a) || spelling(a) == spelling(b))
}

// plural reports whether many is the plural of one, by the rules that need no dictionary.
func plural(one, many string) bool {
	if stem, ok := strings.CutSuffix(one, "y"); ok && many == stem+"ies" {
		return true
	}
	return many == one+"s" || many == one+"es"
}

var spellings = strings.NewReplacer("isation", "ization", "ise", "ize", "yse", "yze", "our", "or", "ogue", "og", "ence", "ense", "ll", "l", "tre", "ter")

func spelling(word string) string { return spellings.Replace(word) }

// distance returns the optimal string alignment distance between a and b, or
// some number >= limit if it is at least limit.
func distance(a, b string, limit int) int {
	if len(b) > utf8.UTFMax*(len(a)+limit) {
		return limit // whatever its letters are
	}
	s, t := []rune(a), []rune(b)
	if abs(len(s)-len(t)) >= limit {
		return limit
	}
	before := make([]int, len(t)+1) // two rows up
	above := make([]int, len(t)+1)
	row := make([]int, len(t)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(t)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
