package explain

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
)

// words.txt has an entry for each word that a report, a verdict or a receipt says: the word, or several of one
// meaning with commas between, and in the next line what it means and what to do. The words are as [wordOf] makes
// them.
//
//go:embed words.txt
var words string

// An Entry explains a word of a report or a verdict.
type Entry struct {
	Schema string   `json:"schema"` // dialect.word/1
	Words  []string `json:"words"`
	Text   string   `json:"text"`
}

// WriteText writes the words and the text.
func (t Entry) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n\n%s\n", strings.Join(t.Words, ", "), diag.Wrap(t.Text, 80, ""))
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
