package stdlib

import (
	"slices"
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
