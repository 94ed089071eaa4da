package explain

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// words.txt has an entry for each word that a report, a verdict or a receipt says: the word, or several of one
// meaning with commas between, and in the next line what it means and what to do. The words are as [wordOf] makes
// them.
//
//go:embed words.txt
var words string

// A Entry explains a word of a report or a verdict.
type Entry struct {
	Schema string   `json:"schema"` // dialect.word/1
	Words  []string `json:"words"`
	Text   string   `json:"text"`
}

// WriteText writes the words and the text.
func (t Entry) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n\n%s\n", strings.Join(t.Words, ", "), wrap(t.Text, 80))
	return err
}

// entries returns all entries of words.txt.
func entries() (list []Entry) {
	for entry := range strings.SplitSeq(strings.TrimSpace(words), "\n\n") {
		first, text, _ := strings.Cut(entry, "\n")
		list = append(list, Entry{"dialect.word/1", strings.Split(first, ", "), text})
	}
	return list
}

// wordOf is a word as words.txt has it: "POLICY CHANGED" is policy_changed.
func wordOf(text string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(text)))
}

// wrap breaks text into lines of at most width bytes, where words allow it.
func wrap(text string, width int) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		switch {
		case n == 0:
		case n+1+len(word) > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
