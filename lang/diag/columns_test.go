package diag

import (
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// FuzzColumns holds Columns, and a Source, to the plain count at each byte of a line.
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
		far := strings.Repeat("é", near) // a line that is long enough for a Source to keep its columns
		src := NewSource("f", []byte("x\n"+far+line+"\ny"))
		var c Columns
		for _, text := range []string{"another line, before", line} {
			c.Reset([]byte(text))
			c.Column(len(text))
		}
		for i := -1; i <= len(line)+1; i++ {
			at := max(0, min(i, len(line)))
			column, units := utf8.RuneCountInString(line[:at])+1, 0
			for _, r := range line[:at] {
				units += max(1, utf16.RuneLen(r))
			}
			if got := c.Column(i); got != column {
				t.Fatalf("%q: byte %d is in column %d, want %d", line, i, got, column)
			}
			if got := c.UTF16(i); got != units {
				t.Fatalf("%q: byte %d is in column %d of UTF-16, want %d", line, i, got, units)
			}
			p := src.Pos(2 + len(far) + at)
			if p.Line != 2 || p.Column != near+column || src.UTF16Column(p) != near+units {
				t.Fatalf("%q: byte %d is at %+v, %d in UTF-16; want column %d, %d", line, i, p, src.UTF16Column(p), near+column, near+units)
			}
		}
	})
}

// 64 times as many places of a line that is 64 times as long take some 64 times as long, not 4096 times.
func TestLongLine(t *testing.T) {
	took := func(size int) time.Duration {
		src := NewSource("f", []byte(strings.Repeat("é ", size/3)))
		start := time.Now()
		for i := 0; i < size; i += 8 {
			src.UTF16Column(src.Pos(i))
		}
		return time.Since(start)
	}
	short, long := took(64<<10), took(4<<20)
	for range 4 { // a busy machine counts once, another order each time
		if long <= 1000*short {
			return
		}
		short, long = max(short, took(64<<10)), min(long, took(4<<20))
	}
	t.Errorf("64 KiB take %v, 4 MiB %v", short, long)
}
