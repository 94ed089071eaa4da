package inputs

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// A virtual environment of 200 distributions, as `inputs` of the pack python names it.
func BenchmarkVenv(b *testing.B) {
	dir := b.TempDir()
	record := strings.Repeat("package/module.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n", 200)
	for i := range 200 {
		tree(b, dir, fmt.Sprintf(".venv/lib/python3.12/site-packages/d%d-1.dist-info/RECORD", i), record)
	}
	patterns := []string{".venv/pyvenv.cfg", ".venv/lib/python*/site-packages/*.dist-info/RECORD", ".venv/Lib/site-packages/*.dist-info/RECORD"}
	for b.Loop() {
		if _, err := Digest(context.Background(), dir, patterns); err != nil {
			b.Fatal(err)
		}
	}
}

// A binding whose package manager was never used.
func BenchmarkAbsent(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		if _, err := Digest(context.Background(), dir, []string{"node_modules/.package-lock.json", "node_modules/.modules.yaml"}); err != nil {
			b.Fatal(err)
		}
	}
}
