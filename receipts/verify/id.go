package verify

import (
	"encoding/hex"
	"strings"
)

// IsID reports whether id can name a record: a SHA-256, a prefix of one, the g-... of a
// gate, or the r-... of a run. What cannot is a mistake of the caller, and not a record that is missing.
func IsID(id string) bool {
	id = strings.TrimSpace(id)
	if strings.HasPrefix(id, "r-") {
		return true
	}
	digits := strings.TrimPrefix(strings.ToLower(id), "g-")
	if len(digits) < minPrefix || len(digits) > 2*len([32]byte{}) {
		return false
	}
	_, err := hex.DecodeString(digits + strings.Repeat("0", len(digits)%2))
	return err == nil
}
