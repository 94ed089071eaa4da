package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	first, err := sbom(program, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	second, err := sbom(program, "v1.2.3")
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
	own := bom.Metadata.Component
	digest := sha256.Sum256(read(t, program))
	if own.Version != "v1.2.3" || !strings.HasSuffix(own.PackageURL, "@v1.2.3") || own.Hashes == nil || (*own.Hashes)[0].Value != hex.EncodeToString(digest[:]) {
		t.Errorf("the document is not of this program: %+v", own)
	}
	for _, c := range *bom.Components {
		if c.Name == "std" {
			continue // it has no sum of its own: it is that of the version of Go
		}
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
	for _, args := range [][]string{nil, {"sbom"}, {"sbom", "no-such-program", "v1", filepath.Join(t.TempDir(), "x")}} {
		if run(args) == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestReproducible builds a release of one platform twice, with what a machine can have otherwise: the umask, the time zone, the
// language, settings of Go, a blank in the path. All files have the same bytes, and anyone who unpacks them can start the programs.
func TestReproducible(t *testing.T) {
	for _, tool := range []string{"make", "node", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	var sums [2]string
	for i, environ := range [][]string{
		{"GOFLAGS=-buildvcs=true", "TZ=Asia/Tokyo", "LC_ALL=C"},
		{"GOFLAGS=-buildvcs=false -ldflags=-v", "GOAMD64=v2", "GOARM64=v8.1", "TZ=UTC", "LC_ALL=C.UTF-8"},
	} {
		dist := filepath.Join(t.TempDir(), "a dist")
		make := exec.Command("sh", "-c", `umask $0; exec "$@"`, []string{"022", "077"}[i],
			"make", "--no-print-directory", "-C", root, "release", "PLATFORMS=linux/"+runtime.GOARCH, "DIST="+dist, "version=v1.2.3")
		make.Env = append(os.Environ(), environ...)
		if out, err := make.CombinedOutput(); err != nil {
			t.Fatalf("make release: %v\n%s", err, out)
		}
		sums[i] = string(read(t, filepath.Join(dist, "SHA256SUMS")))
		archives, err := filepath.Glob(filepath.Join(dist, "*gz"))
		if err != nil || len(archives) != 3 {
			t.Fatalf("%q, %v", archives, err)
		}
		for _, archive := range archives {
			modes(t, archive)
		}
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 5 {
		t.Errorf("two builds of the same differ:\n%s\n%s", sums[0], sums[1])
	}
}

// modes holds that all may read the files of archive, that the programs alone can be started, and that each is below the one folder
// of the archive.
func modes(t *testing.T, archive string) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(read(t, archive)))
	if err != nil {
		t.Fatal(err)
	}
	folder := ""
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		want := int64(0o644)
		switch filepath.Base(h.Name) {
		case "dialect", "dialect-mcp", "dialect.js":
			want = 0o755
		}
		if h.Typeflag == tar.TypeDir {
			want = 0o755
		}
		if h.Mode != want || h.Uid != 0 || h.Gid != 0 || h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir {
			t.Errorf("%s: %s has mode %o, owner %d, group %d, type %c", filepath.Base(archive), h.Name, h.Mode, h.Uid, h.Gid, h.Typeflag)
		}
		first, _, _ := strings.Cut(h.Name, "/")
		if folder == "" {
			folder = first
		}
		if first != folder || !filepath.IsLocal(h.Name) {
			t.Errorf("%s: %s is not in %s", filepath.Base(archive), h.Name, folder)
		}
	}
}

// TestLean holds that dialect links nothing that calls methods by their names: else the linker keeps each exported method of each type.
func TestLean(t *testing.T) {
	program := filepath.Join(t.TempDir(), "dialect")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/dialect")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	symbols, err := exec.Command("go", "tool", "nm", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, called := range []string{" text/template.(*state).evalField", " reflect.Value.MethodByName", " reflect.(*rtype).MethodByName"} {
		if strings.Contains(string(symbols), called+"\n") {
			t.Errorf("%s is linked: which change needs it?", called)
		}
	}
	if !strings.Contains(string(symbols), " main.main\n") {
		t.Error("these are not the symbols of dialect")
	}
}
