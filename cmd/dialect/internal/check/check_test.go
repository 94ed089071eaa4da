package check_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/check"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/project"
)

const matrix = `[commands.test_go]
verb = "test"
noun = "go"
tool = "go test {package}"
secrets = ["token"]
[commands.check_go]
verb = "check"
noun = "go"
tool = "go vet"
`

// folder makes files, and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// script checks a script of a folder.
func script(t *testing.T, c *check.Checker, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.MatrixOf(&project.Script{Name: name, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	c.Script(m, diag.NewSource(name, text), 0)
}

func codes(list diag.List) (codes []diag.Code) {
	for _, d := range list {
		codes = append(codes, d.Code)
	}
	return codes
}

// TestUnused: check knows that a binding is not used only where it looked at all scripts of the project.
func TestUnused(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": strings.Replace(matrix, "secrets = [\"token\"]\n", "", 1), "a.dlct": "Test with go ./x\n", "sub/b.dlct": "Tets with go\n"})
	for _, c := range []struct {
		folders []string
		unused  bool
	}{{nil, false}, {[]string{filepath.Join(dir, "sub")}, false}, {[]string{filepath.Join(dir, "a.dlct")}, false}, {[]string{dir}, true}, {[]string{filepath.Dir(dir)}, true}} {
		k := check.New(check.Options{})
		script(t, k, dir, "a.dlct")
		script(t, k, dir, "sub/b.dlct")
		list := k.Finish(c.folders)
		if got := slices.Contains(codes(list), diag.UnusedBinding); got != c.unused {
			t.Errorf("%q: %v", c.folders, list)
		}
		if !slices.Contains(codes(list), diag.UnboundVerb) || !slices.Equal(k.Names, []string{"a.dlct", "sub/b.dlct"}) || k.Sources["a.dlct"] == nil {
			t.Errorf("%v, %q", list, k.Names)
		}
	}
}

// TestStrict takes warnings for errors, those apart that a comment silences.
func TestStrict(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "a.dlct": "- Check with go\n- Check with go  # dialect: ignore list-marker\n"})
	for _, strict := range []bool{false, true} {
		k := check.New(check.Options{Strict: strict})
		script(t, k, dir, "a.dlct")
		list := k.Finish(nil)
		n := 0
		for _, d := range list {
			if d.File == "a.dlct" {
				n++
				if (d.Severity == diag.Error) != strict {
					t.Errorf("strict %t: %v", strict, d)
				}
			}
		}
		if n != 1 {
			t.Errorf("%v", list)
		}
	}
}

// TestBroken: where a matrix cannot be read, check calls no line unbound; it reads the matrix once.
func TestBroken(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": "[", "a.dlct": "Test with go\n\"\n", "b.dlct": "Test with go\n"})
	k := check.New(check.Options{})
	script(t, k, dir, "a.dlct")
	script(t, k, dir, "b.dlct")
	of := make(map[string]int)
	for _, d := range k.Finish(nil) {
		of[filepath.Base(d.File)]++
	}
	if of["routing.toml"] == 0 || of["a.dlct"] == 0 || of["b.dlct"] > 0 {
		t.Errorf("%v", of)
	}
	empty := t.TempDir()
	_, err := k.MatrixOf(&project.Script{Path: filepath.Join(empty, "a.dlct")})
	if _, ferr := routing.Find(empty); ferr != nil && !errors.Is(err, routing.ErrNotFound) {
		t.Errorf("without a matrix: %v", err)
	}
}

// TestSecrets: no value that is declared as secret is in what was found, or in the text that it is shown in.
func TestSecrets(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "a.dlct": "Test with go ./x token=open-sesame\n"})
	k := check.New(check.Options{})
	script(t, k, dir, "a.dlct")
	list := k.Finish(nil)
	if len(list) == 0 || strings.Contains(string(k.Sources["a.dlct"].Text), "sesame") {
		t.Errorf("%v: %s", list, k.Sources["a.dlct"].Text)
	}
	for _, d := range list {
		if strings.Contains(d.Message+d.Hint, "sesame") {
			t.Errorf("%v", d)
		}
	}
}

// TestNamedMatrix: a matrix of another name is bound where a run binds it, in the project of the script.
func TestNamedMatrix(t *testing.T) {
	dir := folder(t, map[string]string{
		"routing.toml": "", "s.dlct": "Test tool\n", "tool": "#!/bin/sh\n",
		"ci/m.toml": "[commands.test_tool]\nverb = \"test\"\nnoun = \"tool\"\ntool = \"./tool\"\n",
	})
	if err := os.Chmod(filepath.Join(dir, "tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := check.New(check.Options{Routing: filepath.Join(dir, "ci", "m.toml")})
	script(t, c, dir, "s.dlct")
	if list := c.Finish(nil); slices.Contains(codes(list), diag.MissingTool) {
		t.Errorf("%v", list)
	}
}
