//go:build unix

package cleanroom

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSwapIn: an edit that is saved after the last look at a file, while what a line wrote is on its way there, stays.
func TestSwapIn(t *testing.T) {
	for _, tt := range []struct {
		name      string
		has, want string // what stands there; what the snapshot has
		gone      bool   // the line removed it
		err       error
	}{
		{"as the snapshot has it", "old", "old", false, nil},
		{"a new file", "", "", false, nil},
		{"edited", "mine", "old", false, errEdited},
		{"deleted", "", "old", false, errEdited},
		{"another new file", "mine", "", false, errEdited},
		{"removed", "old", "old", true, nil},
		{"removed, and edited", "mine", "old", true, errEdited},
		{"removed by both", "", "old", true, os.ErrNotExist},
	} {
		for how, swapIn := range map[string]func(*os.Root, string, string, func(string) (bool, error)) error{"swapIn": swapIn, "replace": replace} {
			dir := t.TempDir()
			live, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			if err := live.Mkdir("d", 0o755); err != nil {
				t.Fatal(err)
			}
			write := func(name, text string) {
				if text != "" {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			write("d/f", tt.has)
			was := func(at string) (bool, error) {
				b, err := live.ReadFile(at)
				return string(b) == tt.want, err
			}
			if tt.want == "" {
				was = nil
			}
			if tt.gone {
				err = takeAway(live, "d/.temp", "d/f", was)
			} else {
				write("d/.temp", "new")
				err = swapIn(live, "d/.temp", "d/f", was)
			}
			if !errors.Is(err, tt.err) && !(how == "replace" && errors.Is(err, os.ErrNotExist)) {
				t.Errorf("%s, %s: %v", tt.name, how, err)
			}
			want := tt.has
			if tt.err == nil {
				if want = "new"; tt.gone {
					want = ""
				}
			}
			if b, _ := live.ReadFile("d/f"); string(b) != want {
				t.Errorf("%s, %s: %q, want %q", tt.name, how, b, want)
			}
			if b, err := live.ReadFile("d/.temp"); (tt.err == nil || tt.gone) && err == nil || err == nil && string(b) != "new" {
				t.Errorf("%s, %s: %q is left", tt.name, how, b)
			}
		}
	}
}
