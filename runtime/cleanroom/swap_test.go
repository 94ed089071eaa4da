//go:build unix

package cleanroom

import (
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
		for how, swapIn := range map[string]func(*os.Root, string, string, isOld) error{"swapIn": swapIn, "replace": replace} {
			live := tree(t, map[string]string{"d/f": tt.has, "d/.temp": "new"})
			if err := swapIn(live, "d/.temp", "d/f", text(live, tt.old)); !errors.Is(err, tt.err) {
				t.Errorf("%s, %s: %v", tt.name, how, err)
			}
			want := map[string]string{"d/f": "new"}
			if tt.err != nil {
				want = map[string]string{"d/f": tt.has, "d/.temp": "new"}
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
		if err := takeAway(live, "d/.temp", "d/f", text(live, "old")); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if b, _ := live.ReadFile("d/f"); string(b) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, b, tt.want)
		}
		if b, err := live.ReadFile("d/.temp"); err == nil {
			t.Errorf("%s: %q is left", tt.name, b)
		}
	}
}

// TestGoneAndNew: what a line has not, and the snapshot has not, was made meanwhile, and stays.
func TestGoneAndNew(t *testing.T) {
	live := tree(t, map[string]string{"d/f": "mine"})
	if err := newCheckout(live.Name(), nil).writeBack(t.Context(), live, "", "d/f"); err != nil {
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
