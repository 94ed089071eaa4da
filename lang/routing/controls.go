package routing

import (
	"slices"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/stdlib"
)

// packBindings are the bindings of all packs.
var packBindings = sync.OnceValue(func() (list []*Binding) {
	for _, name := range stdlib.Packs() {
		m, _ := Load("/"+name+".toml", name, Options{Root: "/", ReadFile: func(string) ([]byte, error) {
			return []byte("extends = [\"" + name + "\"]\n"), nil // which a test loads
		}})
		for _, b := range m.Bindings {
			if b.Pack && b.Source.Name == "pack:"+name {
				list = append(list, b)
			}
		}
	}
	return list
})

// PacksOf returns the names of the packs that bind a verb and a noun, in their order.
func PacksOf(verb, noun string) (names []string) {
	for _, b := range packBindings() {
		if b.Verb == verb && (b.Noun == noun || slices.Contains(b.Aliases, noun)) {
			names = append(names, strings.TrimPrefix(b.Source.Name, "pack:"))
		}
	}
	return names
}

// Controls returns the bindings that say how their tool is broken: those of m, and then those of all packs, also of
// packs that m does not extend.
func (m *Matrix) Controls() (list []*Binding) {
	for _, b := range m.Bindings {
		if !b.Control.IsZero() && !b.Pack {
			list = append(list, b)
		}
	}
	for _, b := range packBindings() {
		if !b.Control.IsZero() {
			list = append(list, b)
		}
	}
	return list
}
