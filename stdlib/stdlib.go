// Package stdlib embeds the data that dialect ships with: the vocabulary, the packs, which are
// routing matrices by ecosystem, the skills that bindings name, and the pages of `dialect help TOPIC`.
// It returns bytes; package routing reads the matrices, package explain shows the pages.
package stdlib

import (
	"embed"
	"path"
	"strings"
)

//go:embed vocabulary.toml packs/*.toml skills/*/SKILL.md docs/*.md
var files embed.FS

// Vocabulary returns vocabulary.toml.
func Vocabulary() []byte {
	// The file is embedded: an error would have been one of the compiler.
	b, _ := files.ReadFile("vocabulary.toml")
	return b
}

// Pack returns the matrix of the pack called name, such as "go".
func Pack(name string) ([]byte, bool) {
	if name != path.Base(name) {
		return nil, false
	}
	b, err := files.ReadFile("packs/" + name + ".toml")
	return b, err == nil
}

// Packs returns the names of the packs, sorted.
func Packs() []string {
	entries, _ := files.ReadDir("packs")
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}
