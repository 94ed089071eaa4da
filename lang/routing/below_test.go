package routing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBelow(t *testing.T) {
	dir := t.TempDir()
	if got := MeantBelow(dir); got != "" {
		t.Errorf("in an empty folder: %q", got)
	}
	for _, name := range []string{"api/routing.toml", "api/inner/routing.toml", "api/a.dlct", "api/quality.dlct", "packages/web/routing.toml", ".hidden/routing.toml", "node_modules/x/routing.toml", "a/b/c/routing.toml"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(Below(dir), " "); got != "api packages/web" {
		t.Errorf("%q", got)
	}
	if got, want := MeantBelow(dir), "a matrix is in api, packages/web: run there, or name a script of it: dialect run api/quality.dlct"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
