//go:build unix

package cleanroom

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestSwapIn: an edit that is saved after the last look at a file, while what a line wrote is on its way there, stays.
func TestSwapIn(t *testing.T) {
	for _, tt := range []struct {
		name     string
		has, old string // what stands there; what the snapshot has
		err      error
	}{
		{"as the snapshot has it", "old", "old", nil},
		{"a new file", "", "", nil},
		{"edited", "mine", "old", errEdited},
		{"deleted", "", "old", errEdited},
		{"another new file", "mine", "", errEdited},
	} {
		for how, swap := range map[string]swapper{"swapIn": swapIn, "replace": replace} {
			live := tree(t, map[string]string{"d/f": tt.has, "d/.temp": "new"})
			ours, err := live.Lstat("d/.temp")
			if err != nil {
				t.Fatal(err)
			}
			if err := swap(live, "d/.temp", "d/f", text(live, tt.old)); !errors.Is(err, tt.err) {
				t.Errorf("%s, %s: %v", tt.name, how, err)
			}
			want := map[string]string{"d/f": "new", "d/.temp": tt.old}
			if tt.err != nil {
				want = map[string]string{"d/f": tt.has}
				if edit, err := (&step{name: "d/f", temp: "d/.temp", ours: ours}).undo(live, swap); edit != "" || err != nil {
					t.Errorf("%s, %s: %s, %v", tt.name, how, edit, err)
				}
			}
			list, err := filepath.Glob(filepath.Join(live.Name(), "d/.*"))
			if len(list) > 1 || err != nil {
				t.Errorf("%s, %s: %v, %v", tt.name, how, list, err)
			}
			for _, name := range []string{"d/f", "d/.temp"} {
				if b, _ := live.ReadFile(name); string(b) != want[name] {
					t.Errorf("%s, %s: %s is %q, want %q", tt.name, how, name, b, want[name])
				}
			}
		}
	}
}

// TestTakeAway: nor is an edit removed that is saved while the line's removal is on its way.
func TestTakeAway(t *testing.T) {
	for _, tt := range []struct {
		name, has, want string
		err             error
	}{
		{"as the snapshot has it", "old", "", nil},
		{"edited", "mine", "mine", errEdited},
		{"removed by both", "", "", os.ErrNotExist},
	} {
		live := tree(t, map[string]string{"d/f": tt.has})
		old := workspace.File{Path: "d/f", Kind: workspace.Regular, Size: 3, SHA256: sha256.Sum256([]byte("old"))}
		b := &backing{checkout: newCheckout(live.Name(), []workspace.File{old}), live: live, swap: swapIn}
		err := b.takeAway(t.Context(), "d/f")
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil {
			if part := new(partError); errors.As(b.undo("d/f", err), &part) {
				t.Errorf("%s: %v", tt.name, part)
			}
		} else if err := b.end(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if b, _ := live.ReadFile("d/f"); string(b) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, b, tt.want)
		}
		if list, err := filepath.Glob(filepath.Join(live.Name(), "d/.*")); len(list) > 0 || err != nil {
			t.Errorf("%s: %v is left, %v", tt.name, list, err)
		}
	}
}

// TestGoneAndNew: what a line has not, and the snapshot has not, stays, which was made meanwhile.
func TestGoneAndNew(t *testing.T) {
	live := tree(t, map[string]string{"d/f": "mine"})
	b := &backing{checkout: newCheckout(live.Name(), nil), live: live, swap: swapIn}
	if err := b.change(t.Context(), func(string) string { return "" }, "d/f"); !errors.Is(err, errEdited) {
		t.Error(err)
	}
	if b, err := live.ReadFile("d/f"); string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestModeStays: a file that its owner has made unreadable meanwhile is looked at in vain, and keeps its mode.
func TestModeStays(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read every file")
	}
	live := tree(t, map[string]string{"f": "old"})
	snapshot, err := workspace.Take(t.Context(), live.Name(), workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Chmod("f", 0); err != nil {
		t.Fatal(err)
	}
	if err := BringBack(t.Context(), snapshot, Below(t.TempDir()), []string{"f"}); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
	if info, err := live.Stat("f"); err != nil || info.Mode() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// tree makes a working tree of the files that have a text.
func tree(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	live, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { live.Close() })
	return live
}

// text is the isOld of a file of that text; of no file if it is empty.
func text(live *os.Root, old string) isOld {
	if old == "" {
		return nil
	}
	return func(at string) (bool, error) {
		b, err := live.ReadFile(at)
		return string(b) == old, err
	}
}
