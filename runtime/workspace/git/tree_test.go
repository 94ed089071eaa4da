package git

import (
	"slices"
	"testing"
)

// TestLookupDamaged: a name is no more known in a damaged tree when few are asked for than when many are.
func TestLookupDamaged(t *testing.T) {
	content := append([]byte("100644 a\x00"), make([]byte, 20)...)
	for _, damage := range []string{"", "100644 b\x00short"} {
		tree := FormatSHA1.Names(append(slices.Clone(content), damage...))
		for n := range few + 2 {
			if _, _, err := tree.Lookup("a"); (err == nil) != (damage == "") {
				t.Errorf("%q, asked %d times: %v", damage, n+1, err)
			}
		}
	}
}
