package script

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReadFileNamesWhatItReads: a skill that cannot be read is not reported as a script.
func TestReadFileNamesWhatItReads(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ what, name, want string }{
		{"skill", dir, "is a directory, not a skill"},
		{"skill", filepath.Join(dir, "none"), "cannot read the skill: "},
		{"script", dir, "is a directory, not a script"},
		{"script", filepath.Join(dir, "none"), "there is no script "},
	} {
		if _, err := File(tt.what, tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.what, tt.name, err, tt.want)
		}
	}
}
