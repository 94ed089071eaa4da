package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestReasons holds that each module that go.mod requires has a reason, and that no reason is left of one that it does not.
func TestReasons(t *testing.T) {
	direct, err := requirements()
	if err != nil {
		t.Fatal(err)
	}
	for path := range reasons {
		if direct[path] == "" {
			t.Errorf("%s has a reason and is not required by go.mod", path)
		}
	}
	for path := range direct {
		if reasons[path] == "" {
			t.Errorf("%s is required by go.mod: say why in reasons", path)
		}
	}
}

// TestPage holds that the committed page lists the modules and versions of today. Its figures are those of the last `make dependencies`.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds both programs")
	}
	want, err := dependencies()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(root + "/stdlib/docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rows(have), rows(want); !slices.Equal(got, want) {
		t.Errorf("run `make dependencies`: the page has the modules\n%s\nand the programs have\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// rows returns the first cell of each row of the tables of page.
func rows(page []byte) (list []string) {
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| ") {
			list = append(list, strings.TrimSpace(strings.Split(line, "|")[1]))
		}
	}
	return list
}

// TestSBOM reads the bill of materials of a program with the library that defines it.
func TestSBOM(t *testing.T) {
	program := filepath.Join(t.TempDir(), "dialect-mcp")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/dialect/dialect-mcp")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	first, err := sbom(program)
	if err != nil {
		t.Fatal(err)
	}
	second, err := sbom(program)
	if err != nil || !bytes.Equal(first, second) {
		t.Error("the same program gave two documents", err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(first), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	_, modules, err := linked(program)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range *bom.Components {
		names[c.Name] = true
		if c.Licenses == nil || len(*c.Licenses) == 0 || (*c.Properties)[0].Value == "" {
			t.Errorf("%s has no licence or no sum", c.Name)
		}
	}
	if len(names) != len(modules) || !names["github.com/modelcontextprotocol/go-sdk"] {
		t.Errorf("the document has %v", slices.Sorted(maps.Keys(names)))
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"sbom"}, {"sbom", "no-such-program", filepath.Join(t.TempDir(), "x")}} {
		if run(args) == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
