//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// exchange returns what calls f when a step of opening is over, once.
func exchange(step string, f func()) watcher {
	done := false
	return func(s string) {
		if s == step && !done {
			done = true
			f()
		}
	}
}

// makeStore makes a store, and closes it.
func makeStore(t *testing.T, path string) {
	t.Helper()
	s, err := Open(ctx, path, Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestExchanged puts links in the place of a store while it is opened: nothing is made or
// changed where they lead, by any of the ways to open one.
func TestExchanged(t *testing.T) {
	for _, step := range []string{"looked", "held", "dialled"} {
		for _, kind := range []string{"nothing", "a store", "an empty file"} {
			for name, o := range map[string]Options{"new": {}, "existing": {Existing: true}, "read-only": {ReadOnly: true}} {
				t.Run(step+", "+kind+", "+name, func(t *testing.T) {
					dir, outside := t.TempDir(), t.TempDir()
					path, target := filepath.Join(dir, "receipts.db"), filepath.Join(outside, "target.db")
					makeStore(t, path)
					switch kind {
					case "a store":
						makeStore(t, target)
					case "an empty file":
						if err := os.WriteFile(target, nil, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					before, _ := os.ReadFile(target)
					o.between = exchange(step, func() {
						if err := errors.Join(os.Rename(path, path+".old"), os.Symlink(target, path)); err != nil {
							t.Error(err)
						}
					})
					s, err := Open(ctx, path, o)
					if err == nil {
						s.Close()
						t.Error("it is opened")
					}
					after, err := os.ReadFile(target)
					if string(after) != string(before) || kind == "nothing" && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("the target was made or changed: %d bytes, %v", len(after), err)
					}
					if list, _ := os.ReadDir(outside); len(list) > 1 {
						t.Errorf("beside the target: %v", list)
					}
				})
			}
		}
	}
}

// TestExchangedParent exchanges the folder of a store for a link while it is opened, and puts it
// back before anybody looks again: what SQLite has opened is told apart by its own words.
func TestExchangedParent(t *testing.T) {
	base := t.TempDir()
	dir, other := filepath.Join(base, "dir"), filepath.Join(base, "other")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "receipts.db")
	makeStore(t, path)
	makeStore(t, filepath.Join(other, "receipts.db"))
	between := func(step string) {
		var err error
		switch step {
		case "held":
			err = errors.Join(os.Rename(dir, dir+".old"), os.Symlink(other, dir))
		case "dialled":
			err = errors.Join(os.Remove(dir), os.Rename(dir+".old", dir))
		}
		if err != nil {
			t.Error(err)
		}
	}
	if s, err := Open(ctx, path, Options{between: between}); err == nil {
		s.Close()
		t.Error("the store behind the link is opened")
	}
}

// TestLinkedWAL puts links in the place of the files that SQLite keeps beside a store, after
// they were looked at.
func TestLinkedWAL(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		for _, step := range []string{"looked", "dialled"} {
			dir, outside := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, "receipts.db")
			makeStore(t, path)
			target := filepath.Join(outside, "target")
			between := exchange(step, func() {
				if err := os.Symlink(target, path+suffix); err != nil {
					t.Error(err)
				}
			})
			if s, err := Open(ctx, path, Options{between: between}); err == nil {
				if err := s.Append(ctx, makeReceipt("r-1", 0)); err == nil {
					t.Errorf("%s, %s: a record is acknowledged", suffix, step)
				}
				s.Close()
			}
			if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, %s: a file was made through the link", suffix, step)
			}
		}
	}
}

// TestExisting holds that what adds to a store makes none.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "none.db"), filepath.Join(dir, "no", "folder.db"), empty} {
		for _, o := range []Options{{Existing: true}, {ReadOnly: true}} {
			if s, err := Open(ctx, path, o); !errors.Is(err, ErrNoStore) {
				t.Errorf("%s: %v", path, err)
				if err == nil {
					s.Close()
				}
			}
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("made: %v", list)
	}
	if info, err := os.Stat(empty); err != nil || info.Size() != 0 {
		t.Errorf("the empty file: %v, %v", info, err)
	}
	path := filepath.Join(dir, "store.db")
	makeStore(t, path)
	s, err := Open(ctx, path, Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, makeReceipt("r-1", 0)); err != nil {
		t.Error(err)
	}
	s.Close()
}
