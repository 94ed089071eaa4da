package stdlib

import (
	"slices"
	"strings"
	"testing"
)

func TestPacks(t *testing.T) {
	if got, want := Packs(), []string{"core", "git", "go", "node", "python", "rust", "shell"}; !slices.Equal(got, want) {
		t.Errorf("Packs() = %q, want %q", got, want)
	}
	for _, name := range Packs() {
		text, ok := Pack(name)
		file, err := files.ReadFile("packs/" + name + ".toml")
		if !ok || err != nil || string(text) != string(file) || len(text) == 0 {
			t.Errorf("Pack(%q): %v, %v", name, ok, err)
		}
	}
	for _, name := range []string{"", ".", "..", "none", "../vocabulary", "/etc/passwd", "Go", "go.toml", "go/"} {
		if text, ok := Pack(name); ok || text != nil {
			t.Errorf("Pack(%q) gives %d bytes", name, len(text))
		}
	}
	if len(Vocabulary()) == 0 {
		t.Error("the vocabulary is empty")
	}
}

// TestPackTests: a test may read any file (testdata, go:embed, a program of another language that it starts), so that the line of one names
// no files and runs whatever has changed. A pattern for all files would not do: then no file is one that no line names, and what configures a linter
// could change without a run of that.
func TestPackTests(t *testing.T) {
	for _, name := range Packs() {
		text, _ := Pack(name)
		for table := range strings.SplitSeq("\n"+string(text), "\n[commands.") {
			if !strings.Contains(table, "\nverb = \"test\"\n") {
				continue
			}
			binding, _, _ := strings.Cut(table, "]")
			if strings.Contains(table, "\nfiles = ") {
				t.Errorf("pack %s: %s names files", name, binding)
			}
		}
	}
}
