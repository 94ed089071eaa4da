package exit_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/routing"
)

func TestFailure(t *testing.T) {
	f := exit.Usagef("no %s: %w", "file", fs.ErrNotExist).Hint("make %d", 1).Hint("or not")
	var found *exit.Failure
	if err := fmt.Errorf("run: %w", f); !errors.As(err, &found) || found.Status != exit.Usage || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if f.Error() != "no file: file does not exist" || !slices.Equal(f.Hints, []string{"make 1", "or not"}) {
		t.Errorf("%q, %q", f.Error(), f.Hints)
	}
}

func TestOf(t *testing.T) {
	if err := exit.Of(0); err != nil {
		t.Errorf("0 is %v", err)
	}
	var s exit.Status
	if err := exit.Of(3); !errors.As(err, &s) || int(s) != 3 {
		t.Errorf("%v", err)
	}
}

func TestNoMatrix(t *testing.T) {
	if err := exit.NoMatrix(nil); err != nil {
		t.Errorf("nil is %v", err)
	}
	for _, c := range []struct {
		err   error
		hints int
	}{{fmt.Errorf("x: %w", routing.ErrNotFound), 1}, {fs.ErrPermission, 0}} {
		var f *exit.Failure
		if err := exit.NoMatrix(c.err); !errors.As(err, &f) || f.Status != exit.Fault || !errors.Is(err, c.err) || len(f.Hints) != c.hints {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

func TestNoBinding(t *testing.T) {
	path := filepath.Join(t.TempDir(), routing.FileName)
	if err := os.WriteFile(path, []byte("[commands.test_pytest]\nverb = \"test\"\nnoun = \"pytest\"\ntool = \"pytest\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := routing.Load(path, "routing.toml", routing.Options{})
	const vocab = "`dialect vocab` lists what is bound"
	for _, c := range []struct {
		name    string
		several []string
		text    string
		hints   []string
	}{
		{"test_pytets", nil, "--as X: the matrix binds nothing of that name", []string{`did you mean "test_pytest"?`, vocab}},
		{"pytets", nil, "--as X: the matrix binds nothing of that name", []string{`did you mean "pytest"?`, vocab}},
		{"zzz", nil, "--as X: the matrix binds nothing of that name", []string{vocab}},
		{"go", []string{"a", "b"}, "--as X: several bindings have that word: a, b", nil},
	} {
		f := exit.NoBinding(125, "--as X", m, c.name, c.several)
		if f.Status != 125 || f.Error() != c.text || !slices.Equal(f.Hints, c.hints) {
			t.Errorf("%s: %d, %q, %q", c.name, f.Status, f.Error(), f.Hints)
		}
	}
}
