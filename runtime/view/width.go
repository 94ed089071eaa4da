package view

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// columns returns how many columns of a terminal r takes. Where terminals disagree (emoji
// that are joined, ambiguous signs) it is the greater number: a line that is cut too early
// does no harm, one that wraps does.
func columns(r rune) int {
	switch {
	case r < 0x7f:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	if r >= 0x2600 && r <= 0x27bf || r >= 0x1f000 {
		return 2
	}
	return 1
}

func textWidth(s string) (n int) {
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// fit cuts s to at most n columns, the last of them "…" if something was cut off.
func fit(s string, n int) string {
	if len(s) <= n || textWidth(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	used := 0
	for i, r := range s {
		w := columns(r)
		if used+w > n-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// pad fills s up with spaces to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-textWidth(s)))
}
