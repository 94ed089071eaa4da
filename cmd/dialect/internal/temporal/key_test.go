package temporal

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/remote"
)

// A run is taken up again with the key that it was begun with: one that the server calls the same, and that has another key or none, is not.
func TestKeyOf(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	const run = "r-0123456789abcdef"
	for name, tt := range map[string]struct {
		spec remote.Spec
		kept []byte // nil for nothing
		want string // of the error
	}{
		"its own":             {remote.Spec{Run: run, Version: 2, Key: public}, private.Seed(), ""},
		"of version 1":        {remote.Spec{Run: run, Version: 1}, nil, ""},
		"over":                {remote.Spec{Run: run, Version: 2, Key: public}, nil, "it is over here"},
		"another key":         {remote.Spec{Run: run, Version: 2, Key: other}, private.Seed(), "somebody else"},
		"without its key":     {remote.Spec{Run: run, Version: 1}, private.Seed(), "somebody else"},
		"cut off":             {remote.Spec{Run: run, Version: 2, Key: public}, private.Seed()[:31], "cannot be read"},
		"empty":               {remote.Spec{Run: run, Version: 2, Key: public}, []byte{}, "cannot be read"},
		"too long":            {remote.Spec{Run: run, Version: 2, Key: public}, make([]byte, 1000), "cannot be read"},
		"the name of nothing": {remote.Spec{Run: "../" + run, Version: 2, Key: public}, nil, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := archive.Make(root); err != nil {
				t.Fatal(err)
			}
			a := archive.Of(archive.Store(root))
			if tt.kept != nil {
				if err := a.KeepKey(run, tt.kept); err != nil {
					t.Fatal(err)
				}
			}
			key, err := keyOf(a, &tt.spec)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || tt.spec.Version == 2 && !key.Equal(private) || tt.spec.Version == 1 && key != nil {
				t.Errorf("%v", err)
			}
		})
	}
}
