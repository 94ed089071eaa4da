package script

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
)

// TestReadFileNamesWhatItReads: a skill that cannot be read is not reported as a script.
func TestReadFileNamesWhatItReads(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ what, name, want string }{
		{"skill", dir, "is a directory, not a skill"},
		{"skill", filepath.Join(dir, "none"), "cannot read the skill: "},
		{"script", dir, "is a directory, not a script"},
	} {
		if _, err := File(tt.what, tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.what, tt.name, err, tt.want)
		}
	}
}

// TestReadNumber: `dialect log 3` takes the number of a line; `dialect run 3` says how that line is named.
func TestReadNumber(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("quality.dlct", []byte("Test with go\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"3", "3.2"} {
		_, err := Read("run", nil, nil, []string{name}, nil)
		var e *exit.Failure
		if !errors.As(err, &e) || !strings.Contains(strings.Join(e.Hints, "\n"), "dialect run quality.dlct:"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWithin: what does not come is not waited for without end.
func TestWithin(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go w.Write([]byte("Test with x\n"))
	in := Within(r, 50*time.Millisecond)
	if _, err := readStdin(in, func(string) {}); err == nil || !strings.Contains(err.Error(), "it did not end within 50ms") {
		t.Errorf("%v", err)
	}
	if s, err := readStdin(Within(strings.NewReader("Test with x\n"), time.Minute), func(string) {}); err != nil || string(s.Text) != "Test with x\n" {
		t.Errorf("%v, %v", s, err)
	}
}
