package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFolderExchanged puts a link in the place of the folder of a store before SQLite opens what it keeps beside the file, and before it
// removes that: nothing is made or removed where the link leads. Else root, who asks about the store of a user, would give that user a file in
// any folder of root's.
func TestFolderExchanged(t *testing.T) {
	for name, o := range map[string]Options{"existing": {Existing: true}, "read-only": {ReadOnly: true}} {
		for _, last := range []bool{false, true} {
			base, outside := t.TempDir(), t.TempDir()
			dir := filepath.Join(base, "store")
			path := filepath.Join(dir, "receipts.db")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			makeStore(t, path)
			swap := func() {
				if err := errors.Join(os.Rename(dir, dir+".old"), os.Symlink(outside, dir)); err != nil {
					t.Error(err)
				}
			}
			// Between two exchanges SQLite asks by its name whether the database is still there.
			if err := os.Link(path, filepath.Join(outside, "receipts.db")); err != nil {
				t.Fatal(err)
			}
			victim := filepath.Join(outside, "receipts.db-wal")
			if last {
				if err := os.WriteFile(victim, []byte("of somebody else"), 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				o.between = exchange("compared", swap)
			}
			s, err := Open(ctx, path, o)
			if err == nil {
				_, err = s.Audit(ctx)
				if !o.ReadOnly && err == nil {
					err = s.Append(ctx, makeReceipt("r-1", 0))
				}
				if last {
					swap()
				}
				s.Close()
			}
			if !last && err == nil && !o.ReadOnly { // which is content with the file alone
				t.Errorf("%s: it was opened where its folder is another by now", name)
			}
			left, err := os.ReadDir(outside)
			if want := map[bool]int{true: 2, false: 1}[last]; err != nil || len(left) != want {
				t.Errorf("%s, at the end %v: where the link leads is %v, %v", name, last, left, err)
			}
		}
	}
}
