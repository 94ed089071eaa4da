package lang

import (
	"bytes"
	"strings"
)

// declareMark is what a comment begins with that declares a variable of the script:
//
//	# dialect: var ticket  the issue to close
const declareMark = "# dialect: var "

// A Variable is one that a script takes.
type Variable struct {
	Name  string
	Text  string // what it is for, as its declaration says; empty without one
	Lines []int  // that use it
}

// Variables returns the variables of a script: those that comments declare, in their order, and
// then the others that values use.
func Variables(f *File) (list []Variable) {
	index := make(map[string]int)
	find := func(name string) *Variable {
		i, ok := index[name]
		if !ok {
			i = len(list)
			index[name] = i
			list = append(list, Variable{Name: name})
		}
		return &list[i]
	}
	for n := 1; n <= f.Source.Lines(); n++ {
		rest, ok := bytes.CutPrefix(bytes.TrimSpace(f.Source.Line(n)), []byte(declareMark))
		if !ok {
			continue
		}
		name, text, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
		if variableLen("{"+name+"}") == len(name)+2 {
			find(name).Text = strings.TrimSpace(text)
		}
	}
	use := func(v *Value, line int) {
		_, _ = Expand(v.Text, func(name string) (string, bool) {
			if x := find(name); len(x.Lines) == 0 || x.Lines[len(x.Lines)-1] != line { // lines come in order
				x.Lines = append(x.Lines, line)
			}
			return "", true
		})
	}
	for _, c := range f.Commands {
		if c.Bad {
			continue
		}
		if c.Object != nil {
			use(c.Object, c.Span.Start.Line)
		}
		for i := range c.Arguments {
			use(&c.Arguments[i].Value, c.Span.Start.Line)
		}
	}
	return list
}
