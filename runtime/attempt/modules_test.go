package attempt

import (
	"os"
	"path/filepath"
	"testing"
)

// The folder of a package is that of its module in the workspace, whatever the module is called.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.work":      "go 1.26\n\nuse (\n\t.\n\t./tests // called otherwise\n\t\"./lib/b\"\n\t./gone\n\t../out\n\t./[x]\n)\nuse ./c\n",
		"go.mod":       "module example.com/m/v2\n",
		"tests/go.mod": "// x\nmodule \"example.com/m/m_tests\"\r\n",
		"lib/b/go.mod": "module example.com/b\n",
		"c/go.mod":     "module c\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	folder := modules(t.Context(), live{}, dir)
	for imported, want := range map[string]string{
		"example.com/m/v2": ".", "example.com/m/v2/a/b": "a/b", "example.com/m/m_tests": "tests", "example.com/b/in": "lib/b/in", "c": "c", "c/d": "c/d",
		"example.com/m": "", "example.com": "", "": "", "/": "", ".": "", "example.com/bb": "",
	} {
		if got, ok := folder(imported); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", imported, got, ok, want)
		}
	}
	if got, ok := modules(t.Context(), live{}, t.TempDir())("example.com/m"); ok {
		t.Errorf("without a workspace: %q", got)
	}
}
