// Package suggest finds the name that a word was meant to be.
//
// In come a word and the names that are known, out comes the nearest of them, for advice: nothing is
// ever bound by it.
package suggest

import (
	"strings"
	"unicode/utf8"
)

// maxWord is the length, in characters, beyond which a word is not a slip of another: the edit distance takes
// the product of the two lengths.
const maxWord = 64

// work bounds what a [Finder] compares, in cells of the table of edit distances: a fraction of a second.
const work = 64 << 20

// A Finder answers for many words, all together in bounded time: a script of many slips and a matrix of many names
// would otherwise cost their product. The zero Finder is ready to use.
type Finder struct{ cells int }

// Near is the function [Near] while there is work left, and then finds nothing.
func (f *Finder) Near(word string, names []string) string {
	if !f.Spend(len(names)) {
		return ""
	}
	near, cells := nearest(word, names)
	f.cells += cells
	return near
}

// Spend takes n names that are looked at in another way into account, and reports whether there is work left.
func (f *Finder) Spend(n int) bool {
	const each = 64 // cells
	if f.cells < work {
		f.cells += each * n
	}
	return f.cells < work
}

// Near returns the one of names that word was most likely meant to be, by
// edit distance (insertion, deletion, substitution, transposition of
// neighbours), or "" if none is near. Of equals, the first wins.
func Near(word string, names []string) string {
	near, _ := nearest(word, names)
	return near
}

// nearest also returns the number of cells that it filled in.
func nearest(word string, names []string) (near string, cells int) {
	word = strings.ToLower(word)
	// One slip in a short word, one in three letters of a long one: beyond that
	// a suggestion misleads more often than it helps.
	letters := utf8.RuneCountInString(word)
	if letters > maxWord {
		return "", 0
	}
	limit := max(1, letters/3)
	best, bestDistance := "", limit+1
	for _, name := range names {
		lower := strings.ToLower(name)
		if lower == word {
			return name, cells
		}
		d, n := distance(word, lower, bestDistance)
		if cells += n; d < bestDistance {
			best, bestDistance = name, d
		}
	}
	if bestDistance >= letters {
		return "", cells // nothing of the word would be left
	}
	return best, cells
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
// some number >= limit if it is at least limit, and how many cells of its table that took.
func distance(a, b string, limit int) (d, cells int) {
	if len(b) > utf8.UTFMax*(len(a)+limit) {
		return limit, 0 // whatever its letters are
	}
	s, t := []rune(a), []rune(b)
	if abs(len(s)-len(t)) >= limit {
		return limit, 0
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
	return above[len(t)], len(s) * len(t)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
