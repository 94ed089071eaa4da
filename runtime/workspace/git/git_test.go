package git

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

func FuzzParseIndex(f *testing.F) {
	for _, s := range []string{
		"",
		"H 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 0\td1/f0.py\x00",
		"S 100755 3622a097f9f6f42139478f784a6d64018dbeaadb 0\ta\nb\x00h 160000 3622a097f9f6f42139478f784a6d64018dbeaadb 0\t-\x00",
		"M 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 1\ta\x00M 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 2\ta\x00",
		"H 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 0\t../x\x00",
		"H 100644 3622A097f9f6f42139478f784a6d64018dbeaadb 0\tx\x00",
		"H 040000 3622a097f9f6f42139478f784a6d64018dbeaadb 0\tx\x00",
		"H 100644 36 0\tx\x00", "H 100644 3622a097f9f6f42139478f784a6d64018dbeaadb 0 x\x00", "H 100644", "\x00", "\t\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		idx, err := ParseIndex(out, FormatSHA1)
		if err != nil {
			return
		}
		for _, e := range idx.All() {
			name := e.Path
			if got := idx.Find(name, nil); got == nil || *got != e {
				t.Errorf("%q is not found", name)
			}
			if !ValidPath(name) || e.Stage > 0 && idx.Conflict == "" {
				t.Errorf("%q: %+v", name, e)
			}
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				if !idx.Folder(dir) {
					t.Errorf("%q: its directory %q is missing", name, dir)
				}
			}
		}
		// What was read renders to the same bytes, the order of paths apart.
		var got []string
		for _, e := range idx.All() {
			got = append(got, fmt.Sprintf("%s %s %d\t%s", e.Mode, FormatSHA1.Format(e.Id), e.Stage, e.Path))
		}
		var want []string
		for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if record != "" {
				want = append(want, record[2:])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(got) == len(want) && !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestSeek finds each element from each place, also from behind the end, and looks at few where it is near.
func TestSeek(t *testing.T) {
	for n := range 40 {
		for want := 0; want <= n; want++ {
			for near := 0; near <= n+1; near++ {
				looks := 0
				got := Seek(n, near, func(i int) bool {
					if looks++; i < 0 || i >= n {
						t.Fatalf("%d of %d is looked at", i, n)
					}
					return i < want
				})
				if got != want {
					t.Errorf("of %d from %d: %d, want %d", n, near, got, want)
				}
				if near == want-1 && looks > 2 || near == want && looks > 2 {
					t.Errorf("of %d from %d to %d: %d looks", n, near, want, looks)
				}
			}
		}
	}
}
