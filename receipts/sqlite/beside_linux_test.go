package sqlite

import (
	"bytes"
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

// TestFilesOfRoot has the owner of a store put a file of root in the place of one that SQLite keeps beside it: root, who asks the store, neither writes into it
// nor gives it away.
func TestFilesOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root")
	}
	const user = 12345
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		for name, o := range map[string]Options{"existing": {Existing: true}, "read-only": {ReadOnly: true}} {
			dir := t.TempDir()
			path := filepath.Join(dir, "receipts.db")
			makeStore(t, path)
			secret := bytes.Repeat([]byte("a key "), 10_000)
			if err := errors.Join(os.Chown(dir, user, user), os.Chown(path, user, user), os.WriteFile(path+suffix, secret, 0o400)); err != nil {
				t.Fatal(err)
			}
			o.between = exchange("compared", func() { // and one of root's in the place of the database, which then is nobody's to judge by
				if err := errors.Join(os.Rename(path, path+".held"), os.WriteFile(path, nil, 0o600)); err != nil {
					t.Error(err)
				}
			})
			s, err := Open(ctx, path, o)
			if err == nil {
				if _, err = s.Audit(ctx); err == nil && !o.ReadOnly {
					err = s.Append(ctx, makeReceipt("r-1", 0))
				}
				s.Close()
			}
			info, serr := os.Stat(path + suffix)
			content, rerr := os.ReadFile(path + suffix)
			if serr != nil || rerr != nil || ownedBy(info) != 0 || info.Mode().Perm() != 0o400 || !bytes.Equal(content, secret) {
				t.Errorf("%s, %s: of user %v now, the same content %v, %v; the store: %v", suffix, name, info, bytes.Equal(content, secret), errors.Join(serr, rerr), err)
			}
			// What SQLite itself leaves, it can open again.
			o.between = nil
			beside, err := filepath.Glob(path + "-*") // made for the file that took the place of the database, perhaps
			for _, file := range beside {
				err = errors.Join(err, os.Remove(file))
			}
			if err = errors.Join(err, os.Rename(path+".held", path)); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(ctx, path, o); err == nil {
				_, err = s.Audit(ctx)
				err = errors.Join(err, s.Close())
			}
			if err != nil {
				t.Errorf("%s, %s: without it: %v", suffix, name, err)
			}
		}
	}
}

// TestOwnerOfBeside has the owner of a store put a link to a file of root's in the place of the database, before SQLite makes, or opens, what it keeps beside
// that: root, who asks, gives it to the owner of the database that was opened, with the mode of that.
func TestOwnerOfBeside(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root")
	}
	const user = 12345
	for name, o := range map[string]Options{"existing": {Existing: true}, "read-only": {ReadOnly: true}} {
		for _, there := range []bool{false, true} {
			dir := t.TempDir()
			path, victim := filepath.Join(dir, "receipts.db"), filepath.Join(t.TempDir(), "of-root")
			makeStore(t, path)
			err := errors.Join(os.Chown(dir, user, user), os.Chown(path, user, user), os.WriteFile(victim, nil, 0o666), os.Chmod(victim, 0o666))
			if there {
				err = errors.Join(err, os.WriteFile(path+"-wal", nil, 0o600), os.Chown(path+"-wal", user, user))
			}
			if err != nil {
				t.Fatal(err)
			}
			o.between = exchange("compared", func() {
				if err := errors.Join(os.Rename(path, path+".held"), os.Symlink(victim, path)); err != nil {
					t.Error(err)
				}
			})
			s, err := Open(ctx, path, o)
			if err == nil {
				_, _ = s.Audit(ctx)
			}
			beside, gerr := filepath.Glob(path + "-*")
			if gerr != nil || len(beside) == 0 {
				t.Errorf("%s, there %v: nothing is beside it: %v, %v", name, there, err, gerr)
			}
			for _, file := range beside {
				if info, err := os.Lstat(file); err != nil || ownedBy(info) != user || info.Mode().Perm() != 0o600 {
					t.Errorf("%s, there %v: %s is of user %d, %v: %v", name, there, filepath.Base(file), ownedBy(info), info.Mode(), err)
				}
			}
			if s != nil {
				s.Close()
			}
		}
	}
}
