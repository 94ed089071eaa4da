package routing_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/routing"
)

// bounded loads a matrix whose other files have size bytes each, and returns what was read.
func bounded(t *testing.T, matrix string, size int, most int64) (*routing.Matrix, string) {
	t.Helper()
	root := t.TempDir()
	var read int64
	m, list := routing.Load(filepath.Join(root, routing.FileName), routing.FileName, routing.Options{ReadFile: func(path string) ([]byte, error) {
		switch filepath.Ext(path) {
		case ".toml":
			if filepath.Base(path) == routing.FileName {
				return []byte(matrix), nil
			}
			fallthrough
		case ".cfg":
			read += int64(size)
			return bytes.Repeat([]byte("#\n"), size/2), nil
		}
		return nil, fs.ErrNotExist
	}})
	if read > most {
		t.Errorf("%d bytes were read, and %d are allowed", read, most)
	}
	if err := list.Err(); err != nil {
		return m, err.Error()
	}
	return m, ""
}

// A matrix is bounded as a whole, and not file by file alone: what is loaded is held in memory.
func TestBoundsOfAllFiles(t *testing.T) {
	var extends, pins []string
	for i := range 90 {
		extends = append(extends, fmt.Sprintf("%q", fmt.Sprintf("./m%d.toml", i)))
		pins = append(pins, fmt.Sprintf("%q", fmt.Sprintf("p%d.cfg", i)))
	}
	binding := "[commands.c]\nverb = \"check\"\nnoun = \"x\"\ntool = \"true\"\npins = [" + strings.Join(pins, ", ") + "]\n"
	for _, c := range []struct {
		matrix string
		size   int
		most   int64
		fault  string
	}{
		{"extends = [" + strings.Join(extends, ", ") + "]\n", 64 << 10, 8 << 20, ""},
		{"extends = [" + strings.Join(extends, ", ") + "]\n", 1 << 20, 9 << 20, "cannot read m7.toml: with it the files of the matrix are larger than 8 MiB"},
		{binding, 64 << 10, 90 * 64 << 10, ""},
		{binding, 4 << 20, 68 << 20, "commands.c.pins names p23.cfg, which cannot be read: with it the pinned files are larger than 64 MiB"},
	} {
		m, fault := bounded(t, c.matrix, c.size, c.most)
		if c.fault == "" && fault != "" || !strings.Contains(fault, c.fault) {
			t.Errorf("files of %d bytes: %q, want %q", c.size, fault, c.fault)
		}
		problems := 0
		for _, f := range m.Read {
			if f.Pin && f.Problem != "" {
				problems++
				if f.Problem != "with it the pinned files are larger than 64 MiB" || f.Content != nil {
					t.Errorf("%s: %q, %d bytes are kept", f.Name, f.Problem, len(f.Content))
				}
			}
		}
		if want := 90 - 16; strings.HasPrefix(c.matrix, "[") && c.size == 4<<20 && problems != want || c.size != 4<<20 && problems != 0 {
			t.Errorf("%d pins of %d bytes are not read", problems, c.size)
		}
	}
}

// The cost of pins is that of reading them, however many there are: ten times as many take some ten
// times as long, not a hundred times.
func TestManyPins(t *testing.T) {
	took := func(n int) time.Duration {
		var b strings.Builder
		b.WriteString("[commands.c]\nverb = \"check\"\nnoun = \"x\"\ntool = \"true\"\npins = [")
		for i := range n {
			fmt.Fprintf(&b, "%q, ", fmt.Sprintf("p%d.cfg", i))
		}
		b.WriteString("]\n")
		start := time.Now()
		if _, fault := bounded(t, b.String(), 2, int64(2*n)); fault != "" {
			t.Error(fault)
		}
		return time.Since(start)
	}
	few, many := took(10_000), took(100_000)
	for range 4 { // a busy machine counts once, another order each time
		if many <= 50*few {
			return
		}
		few, many = max(few, took(10_000)), min(many, took(100_000))
	}
	t.Errorf("10,000 pins take %v, 100,000 take %v", few, many)
}
