package routing

import (
	"sync"

	"github.com/command-dialect/dialect/stdlib"
)

// packControls are the bindings of all packs that say how their tool is broken.
var packControls = sync.OnceValue(func() (list []*Binding) {
	for _, name := range stdlib.Packs() {
		m, _ := Load("/"+name+".toml", name, Options{Root: "/", ReadFile: func(string) ([]byte, error) {
			return []byte("extends = [\"" + name + "\"]\n"), nil // which a test loads
		}})
		for _, b := range m.Bindings {
			if b.Pack && b.Source.Name == "pack:"+name && !b.Control.IsZero() {
				list = append(list, b)
			}
		}
	}
	return list
})

// Controls returns the bindings that say how their tool is broken: those of m, and then those of all packs, also of
// packs that m does not extend.
func (m *Matrix) Controls() (list []*Binding) {
	for _, b := range m.Bindings {
		if !b.Control.IsZero() && !b.Pack {
			list = append(list, b)
		}
	}
	return append(list, packControls()...)
}
