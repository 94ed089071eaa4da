package lang

import (
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
)

// TestIgnoreOfALongLine: the cost is that of the line and of the warnings, not of one times the other.
func TestIgnoreOfALongLine(t *testing.T) {
	took := func(size int) time.Duration {
		src := diag.NewSource("f", []byte(strings.Repeat("a ", size/2)+" # dialect: ignore unused-binding"))
		var l diag.List
		for i := 0; i < size; i += 16 {
			l = append(l, diag.Warnf("unused-binding", "f", src.Span(i, i+1), "x"))
		}
		l = append(l, diag.Warnf("full-stop", "f", src.Span(0, 1), "x"), diag.Errorf("unused-binding", "f", src.Span(0, 1), "x"))
		start := time.Now()
		if left := Ignore(l, map[string]*diag.Source{"f": src}); len(left) != 2 {
			t.Errorf("%d are left", len(left))
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
