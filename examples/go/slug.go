// Package slug makes a title fit for a path.
package slug

import (
	"strings"
	"unicode"
)

// Make returns title in lower case, with each run of characters other than
// letters and digits replaced by one hyphen, and none at either end.
func Make(title string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), "-")
}
