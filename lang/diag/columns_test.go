package diag

import (
	"strings"
	"testing"
)

// FuzzColumns holds Columns to the plain count of [Source.Pos], at each byte of a line.
func FuzzColumns(f *testing.F) {
	for _, unit := range []string{"", "a", "é", "世", "😀", "\x80", "é\xc3", "a\xf0\x9f", "e\u0301 "} {
		for _, n := range []int{1, 15, 16, 31, 32, 33, 63, 64, 65, 300} {
			f.Add(unit, n)
		}
	}
	f.Fuzz(func(t *testing.T, unit string, n int) {
		if n < 0 || n > 300 || len(unit) > 100 {
			return
		}
		line := strings.ReplaceAll(strings.Repeat(unit, n), "\n", "")
		src := NewSource("f", []byte(line))
		var c Columns
		for _, text := range []string{"another line, before", line} {
			c.Reset([]byte(text))
			c.Column(len(text))
		}
		for i := -1; i <= len(line)+1; i++ {
			if got, want := c.Column(i), src.Pos(i).Column; got != want {
				t.Fatalf("%q: byte %d is in column %d, want %d", line, i, got, want)
			}
			if got, want := c.UTF16(i), src.UTF16Column(src.Pos(i)); got != want {
				t.Fatalf("%q: byte %d is in column %d of UTF-16, want %d", line, i, got, want)
			}
		}
	})
}
