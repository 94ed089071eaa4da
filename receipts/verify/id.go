package verify

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// An ID names a record: by a SHA-256 or the beginning of one, which stands for the hashes from First
// to Last, or the start of a run by its name.
type ID struct {
	Text        string // as it was given, without blanks around it
	Run         string // r-...; else empty
	First, Last receipts.Hash
	Gate        bool // g-...: a gate alone is meant
}

const minPrefix = 6 // hex digits

// ParseID parses a SHA-256, a prefix of one, the g-... of a gate, or the r-... of a run. The
// error is a [*LookupError]: what cannot be an id is a mistake of the caller, and not a record that is missing.
func ParseID(text string) (ID, error) {
	id := ID{Text: strings.TrimSpace(text)}
	if strings.HasPrefix(id.Text, "r-") {
		id.Run = id.Text
		return id, nil
	}
	var prefix string
	prefix, id.Gate = strings.CutPrefix(strings.ToLower(id.Text), "g-")
	rest := hex.EncodedLen(len(id.First)) - len(prefix)
	if len(prefix) < minPrefix || rest < 0 {
		return id, &LookupError{ID: id.Text, Bad: true}
	}
	if _, err := hex.Decode(id.First[:], []byte(prefix+strings.Repeat("0", rest))); err != nil {
		return id, &LookupError{ID: id.Text, Bad: true}
	}
	_, err := hex.Decode(id.Last[:], []byte(prefix+strings.Repeat("f", rest)))
	return id, err
}

// A LookupError says that an id names no record, or several.
type LookupError struct {
	ID      string
	Bad     bool            // it cannot be the id of a record
	Matches []receipts.Hash // at most [MaxMatches]
}

// MaxMatches is how many records a [LookupError] names.
const MaxMatches = 8

func (e *LookupError) Error() string {
	switch {
	case e.Bad:
		return fmt.Sprintf("%q is not an id: want a SHA-256, a prefix of at least %d hex digits, g-... or r-...", e.ID, minPrefix)
	case len(e.Matches) == 0:
		return "no record " + e.ID
	}
	names := make([]string, len(e.Matches))
	for i, h := range e.Matches {
		names[i] = h.String()[:min(64, max(len(e.ID)+4, 16))]
	}
	return fmt.Sprintf("%s is not unique: %s", e.ID, strings.Join(names, ", "))
}
