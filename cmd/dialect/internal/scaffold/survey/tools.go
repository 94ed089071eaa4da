package survey

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/stdlib"
)

// installed reports whether a program is on PATH.
func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// works reports whether a command succeeds in dir; an empty dir is the working directory. A program may
// be on PATH and not work, such as a cargo without a toolchain.
func works(dir string, argv ...string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	return cmd.Run() == nil
}

// pack adds a line that a pack binds under name. Below the project the pack cannot bind it, which knows
// no folder: then the binding's table is written out.
func (d *draft) pack(pack, name, line, source, install string) {
	if d.below == "" {
		d.Lines = append(d.Lines, scaffold.Line{Text: line, Name: name, Pack: pack, Source: source, Install: install})
		return
	}
	text, _ := stdlib.Pack(pack)
	tree, _ := tomltree.Parse(diag.NewSource(pack, text), true)
	var keys strings.Builder
	var inputs, pins []string
	for _, e := range tree.Get("commands").Get(name).Entries {
		switch e.Key {
		case "verb", "noun", "aliases", "skill", "prepositions", "notes", "control": // a control is found by the tool
		case "tool":
			fmt.Fprintf(&keys, "tool = %q\n", d.at(e.Value.Text))
		case "inputs":
			inputs = texts(e.Value)
		case "pins":
			pins = texts(e.Value)
		case "files":
			keys.WriteString(d.files(pack, texts(e.Value)))
		default:
			keys.WriteString(e.Key + " = " + string(text[e.Value.Start:e.Value.End]) + "\n")
		}
	}
	d.add(line, keys.String(), inputs, pins, source, install)
}

// packFiles returns the key `files` that a pack has for the verb and the noun, as a line of TOML: the project's own way to run a
// tool reads the same files as the pack's.
func (d *draft) packFiles(verb, noun string) string {
	for _, pack := range stdlib.Packs() {
		text, _ := stdlib.Pack(pack)
		tree, _ := tomltree.Parse(diag.NewSource(pack, text), true)
		table := tree.Get("commands").Get(verb + "_" + noun)
		if table == nil {
			continue
		}
		for _, e := range table.Entries {
			if e.Key == "files" {
				return d.files(pack, texts(e.Value))
			}
		}
	}
	return ""
}

// files returns the key `files`, as a line of TOML, for patterns of a pack: they are below the matrix, wherever the tool runs. A folder
// below is all that a Go module is made of, unless its go.mod names others. What other languages import may lie beside it.
func (d *draft) files(pack string, patterns []string) string {
	if d.below != "" {
		mod, err := d.read("go.mod")
		local := regexp.MustCompile(`=>\s*["` + "`" + `]?(\.|/|[A-Za-z]:)`) // a replace by a folder
		own := pack == "go" && err == nil && !local.Match(mod) && !d.exists("go.work") && !strings.ContainsAny(d.below, `*?[]{}\`)
		var all []string
		for _, p := range patterns {
			anywhere := strings.HasPrefix(p, "**/")
			if !anywhere || !own {
				all = append(all, p)
			}
			if !anywhere || own {
				all = append(all, d.below+"/"+p)
			}
		}
		patterns = all
	}
	return "files = " + scaffold.List(patterns) + "\n"
}

func texts(v *tomltree.Value) (list []string) {
	for _, item := range v.Items {
		list = append(list, item.Text)
	}
	return list
}
