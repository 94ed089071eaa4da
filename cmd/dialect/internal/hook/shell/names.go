package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A definition is one of a variable, a function, an alias of the shell or a file: what its name begins with says which.
type definition struct {
	name   string
	value  string       // items of a list have the byte [itemEnd] between them
	known  bool         // else its value is known only when the command runs
	body   *syntax.Stmt // of a function
	before *definition
}

const (
	ofFunction = "()"
	ofAlias    = "alias "
	ofFile     = ">"
	ofArgs     = "@" // the arguments of a script or function
)

// itemEnd stands where an expansion is split into words.
const itemEnd = "\x00"

// define defines a name, for what comes after it.
func (st *state) define(d definition) {
	d.before = st.names
	if len(d.value) > maxValue {
		d.value, d.known = "", false
	}
	st.names = &d
}

// lookup finds the last definition of a name; nil for none.
func (in *Intent) lookup(st *state, name string) *definition {
	for d := st.names; d != nil && in.spend(1); d = d.before {
		if d.name == name {
			return d
		}
	}
	return nil
}

// value returns what a variable or parameter is. It returns false twice where the command line does not say so, and once where it may be more than that.
func (in *Intent) value(st *state, name string) (value string, here, sure bool) {
	if d := in.lookup(st, name); d != nil {
		return d.value, true, d.known
	}
	if name == "*" {
		return in.value(st, ofArgs)
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		list, here, sure := in.value(st, ofArgs)
		args := strings.Split(list, itemEnd)
		if n := int(name[0] - '1'); here && n < len(args) {
			return args[n], true, sure
		}
	}
	return " ", name == "IFS", name == "IFS"
}

// with returns a state where the arguments are args.
func (st *state) with(args []word) *state {
	c := st.clone()
	known := !slices.ContainsFunc(args, func(a word) bool { return !a.known })
	c.define(definition{name: ofArgs, value: strings.Join(texts(args), itemEnd), known: known})
	return c
}

// file returns what the command line has written into a file, as far as it is known.
func (in *Intent) file(w word, st *state) string {
	if w.file != "" || w.text == "" {
		return w.file
	}
	if d := in.lookup(st, ofFile+path.Clean(w.text)); d != nil {
		return d.value
	}
	return ""
}

// writes notes what a command writes into files.
func (in *Intent) writes(s *syntax.Stmt, st *state) {
	write := func(name word, add bool, text string) {
		if name.text == "" || text == "" {
			return
		}
		key := ofFile + path.Clean(name.text)
		if d := in.lookup(st, key); add && d != nil {
			text = d.value + "\n" + text
		}
		st.define(definition{name: key, value: text, known: true})
	}
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			write(in.literal(r.Word, st), r.Op == syntax.AppOut || r.Op == syntax.AppAll, in.printed(st, &syntax.Stmt{Cmd: s.Cmd, Redirs: s.Redirs}))
		}
	}
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 1 && st.stdin != "" && in.literal(c.Args[0], st).text == "tee" {
		for _, w := range c.Args[1:] {
			write(in.literal(w, st), false, st.stdin)
		}
	}
}

// assigned looks at NAME=VALUE.
func (in *Intent) assigned(a *syntax.Assign, st *state) {
	if a.Name == nil || a.Index != nil {
		return
	}
	d := definition{name: a.Name.Value, known: true}
	switch {
	case a.Array != nil:
		var list []*syntax.Word
		for _, e := range a.Array.Elems {
			list = append(list, e.Value)
		}
		items := in.fields(list, st)
		d.value, d.known = strings.Join(texts(items), itemEnd), !slices.ContainsFunc(items, func(w word) bool { return !w.known })
	case a.Value != nil:
		to := in.literal(a.Value, st)
		in.variable(a.Name.Value, to, st)
		d.value, d.known = to.text, to.known
	case a.Naked:
		return
	}
	if before := in.lookup(st, d.name); a.Append && before != nil {
		d.value, d.known = before.value+d.value, d.known && before.known
	}
	st.define(d)
}

// defined walks the function, or the alias, that a name stands for.
func (in *Intent) defined(args []word, st *state, depth int) {
	name := args[0].text
	if d := in.lookup(st, ofFunction+name); d != nil && d.body != nil && depth < maxDepth {
		c := st.with(args[1:])
		c.define(definition{name: ofFunction + name}) // it ends
		in.walk(d.body, c, depth+1)
		st.at = c.at
	}
	if d := in.lookup(st, ofAlias+name); d != nil && d.value != "" && depth < maxDepth {
		c := st.clone()
		c.define(definition{name: ofAlias + name})
		in.read(d.value+" "+strings.Join(texts(args[1:]), " "), c, depth+1)
		st.at = c.at
	}
}

// items are the words that xargs reads, or the one where it does not split.
func (st *state) items(whole bool) (list []word) {
	text := strings.TrimRight(strings.ReplaceAll(st.stdin, itemEnd, "\n"), "\n")
	if whole && text != "" {
		return []word{{text: text, known: true}}
	}
	for _, f := range strings.Fields(text) {
		if list = append(list, word{text: f, known: true}); len(list) > 16*maxItems {
			break
		}
	}
	return list
}

// names gives the variables that read names what is on its standard input.
func (in *Intent) names(args []word, st *state) {
	var names []string
	for _, a := range args {
		if !strings.HasPrefix(a.text, "-") {
			names = append(names, a.text)
		}
	}
	line, _, _ := strings.Cut(st.stdin, "\n")
	words := strings.Fields(line)
	for i, name := range names {
		d := definition{name: name, known: st.stdin != ""}
		if i < len(words) {
			d.value = words[i]
		}
		if i == len(names)-1 && i < len(words) {
			d.value = strings.Join(words[i:], " ")
		}
		in.variable(name, word{text: d.value, known: d.known}, st)
		st.define(d)
	}
}
