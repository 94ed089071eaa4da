package scaffold

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/place"
)

// Existing returns which of the files of p are there.
func (p Plan) Existing() (paths []string) {
	for _, f := range p.Files() {
		if place.Exists(f.Path) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// New returns p with the lines and the caches alone that its project does not have yet: neither has its script the line,
// nor its own matrix a binding of the same verb and noun.
func (p Plan) New() Plan {
	has := make(map[string]bool)
	key := func(verb, noun string) string { return strings.ToLower(verb + " " + noun) }
	files := p.Files()
	if text, err := regular.Read(files[1].Path, 1<<20); err == nil {
		f, _ := lang.Parse(diag.NewSource(ScriptName, text))
		for _, c := range f.Commands {
			has[key(c.Verb.Text, c.Noun.Text)] = true
		}
	}
	if place.Exists(files[0].Path) {
		m, _ := routing.Load(files[0].Path, filepath.Base(files[0].Path), routing.Options{})
		p.Caches = slices.DeleteFunc(slices.Clone(p.Caches), func(name string) bool { return slices.Contains(m.Caches, name) })
		for _, b := range m.Bindings {
			if b.Origin().File == routing.FileName {
				has[key(b.Verb, b.Noun)] = true
			}
		}
	}
	p.Lines = slices.DeleteFunc(slices.Clone(p.Lines), func(l Line) bool {
		words := strings.Fields(l.Text)
		return has[key(words[0], words[2])]
	})
	return p
}

// Addition returns the text that adds the lines of p to the files of its project by hand.
func (p Plan) Addition() string {
	var b strings.Builder
	var packs, names []string
	if len(p.Lines) > 0 {
		b.WriteString("# " + ScriptName + ":\n")
	}
	for _, l := range p.Lines {
		b.WriteString(l.Text + "\n")
		names = append(names, l.Name)
		if l.Pack != "" && !slices.Contains(packs, l.Pack) {
			packs = append(packs, l.Pack)
		}
	}
	var into []string
	for _, place := range []struct {
		name  string
		texts []string
	}{{"the composite of gate_quality", names}, {"extends", packs}, {"caches of [defaults]", p.Caches}} {
		if len(place.texts) > 0 {
			into = append(into, "into "+place.name+" "+List(place.texts))
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString("# " + routing.FileName + ": " + strings.Join(into, ", ") + "\n")
	for _, l := range p.Lines {
		if l.Table != "" {
			b.WriteString("\n" + l.Table)
		}
	}
	return b.String()
}
