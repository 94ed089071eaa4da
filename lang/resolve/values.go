package resolve

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
)

// An input is a value of the line after substitution of variables.
type input struct {
	name    lang.Word // empty for the object and positional arguments
	text    string
	written string   // the text before its variables are substituted: messages show it, as a variable may hold a secret
	parts   []string // the values of its variables
	span    diag.Span
}

// A filled is what the values of a line became.
type filled struct {
	preposition string
	values      []plan.Value // in the order of the line
	rest        []string     // those for {args...} or the end
	fills       int          // how often a value was put in
}

// get returns the value of a placeholder.
func (v *filled) get(name string) string {
	v.fills++
	if name == "preposition" {
		return v.preposition
	}
	for i := range v.values {
		if v.values[i].Name == name {
			return v.values[i].Text
		}
	}
	return ""
}

// without returns v with the same text for each secret, whatever it is.
func (v *filled) without() *filled {
	out := &filled{preposition: v.preposition, values: slices.Clone(v.values), rest: slices.Clone(v.rest)}
	for i := range out.values {
		value := &out.values[i]
		if !value.Secret {
			continue
		}
		if value.Name == "args" || value.Name == "" { // one of those that have no placeholder of their own
			if n := slices.Index(out.rest, value.Text); n >= 0 {
				out.rest[n] = plan.HiddenValue
			}
		}
		value.Text = plan.HiddenValue
	}
	return out
}

// only returns the values that the member d of a composite has a placeholder
// for. None is ever a named argument of an MCP tool, or appended.
func (v *filled) only(d *bound) []plan.Value {
	if len(v.values) == len(d.params.Names) {
		return v.values // all: the composite takes what its members take together
	}
	var out []plan.Value
	for _, value := range v.values {
		if d.named[value.Name] {
			out = append(out, value)
		}
	}
	return out
}

// expand substitutes the variables of c, and reports whether all are known.
func (r *resolver) expand(c *lang.Command) ([]input, bool) {
	n := len(c.Arguments)
	if c.Object != nil {
		n++
	}
	if n == 0 {
		return nil, true
	}
	ok := true
	inputs := make([]input, 0, n)
	if c.Object != nil {
		text, parts, known := r.variables(c.Object)
		inputs = append(inputs, input{text: text, written: c.Object.Text, parts: parts, span: c.Object.Span})
		ok = known
	}
	for i := range c.Arguments {
		a := &c.Arguments[i]
		text, parts, known := r.variables(&a.Value)
		at := a.Value.Span
		if a.Name.Text != "" {
			at = span(a.Name.Span, at)
		}
		inputs = append(inputs, input{name: a.Name, text: text, written: a.Value.Text, parts: parts, span: at})
		ok = ok && known
	}
	return inputs, ok
}

// variables substitutes {name} in v, and returns what it put there.
func (r *resolver) variables(v *lang.Value) (text string, parts []string, ok bool) {
	text, ok = v.Text, true
	if strings.ContainsAny(text, "{}") {
		var unknown []string
		text, unknown = lang.Expand(text, func(name string) (string, bool) {
			value, ok := r.variable(name)
			if r.spend(copies * len(value)); r.spent > maxPlan {
				return "", true
			}
			if ok {
				parts = append(parts, value)
			}
			return value, ok
		})
		ok = len(unknown) == 0
		r.unknownVariables(v, unknown)
	}
	if strings.IndexByte(text, 0) >= 0 {
		r.errorf(diag.ForbiddenCharacter, v.Span, "the value holds a NUL once its variables are substituted").
			Hint = "no argument of a program can hold one"
		return text, parts, false
	}
	return text, parts, ok
}

// variable returns the value of a variable.
func (r *resolver) variable(name string) (string, bool) {
	if value, ok := r.o.Vars[name]; ok {
		return value, true
	}
	if env, ok := strings.CutPrefix(name, "env."); ok {
		if r.o.Env == nil || !r.environment()[env] {
			return "", false
		}
		return r.o.Env(env)
	}
	value, ok := r.m.Vars[name]
	return value, ok
}

// unknownVariables reports the variables of v that have no value, each once, at the place where it stands first.
func (r *resolver) unknownVariables(v *lang.Value, names []string) {
	start, end := v.Span.Start.Offset, v.Span.End.Offset
	var text []byte
	if 0 <= start && start <= end && end <= len(r.src.Text) {
		text = r.src.Text[start:end]
	}
	seen := make(map[string]bool, len(names))
	from := 0 // of text: the names come in its order
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		at := v.Span
		if i := bytes.Index(text[from:], []byte("{"+name+"}")); i >= 0 {
			from += i
			at = r.src.Span(start+from, start+from+len(name)+2)
			from += len(name) + 2
		}
		d := r.errorf(diag.UnknownVariable, at, "the variable {%s} has no value", name)
		if r.full() {
			continue
		}
		d.Hint = fmt.Sprintf("give it one: --set %s=VALUE, or %s = \"VALUE\" below [vars] in %s; a literal brace is written {{", name, name, r.m.Name)
		if env, ok := strings.CutPrefix(name, "env."); ok {
			d.Hint = fmt.Sprintf("a script reads what the matrix allows: environment = [%q] in %s", env, r.m.Name)
			if r.environment()[env] {
				d.Hint = fmt.Sprintf("%s allows it, but it is not set", r.m.Name)
			}
		} else if near := r.slips.Near(name, r.variableNames()); near != "" {
			d.Hint = fmt.Sprintf("did you mean {%s}?", near)
			r.fix(d, fmt.Sprintf("replace {%s} by {%s}", name, near), d.Span, "{"+near+"}")
		} else if known := r.variableNames(); len(known) > 0 {
			d.Hint += "\nknown: {" + strings.Join(known[:min(len(known), maxListed)], "} {") + "}"
		}
	}
}

// variableNames returns the names of the variables that have a value, sorted.
func (r *resolver) variableNames() []string {
	if r.known == nil {
		r.known = slices.AppendSeq(make([]string, 0, len(r.m.Vars)+len(r.o.Vars)), maps.Keys(r.m.Vars))
		r.known = slices.AppendSeq(r.known, maps.Keys(r.o.Vars))
		slices.Sort(r.known)
		r.known = slices.Compact(r.known)
	}
	return r.known
}

// fill gives the values of c to the parameters of d, and reports whether they fit.
func (r *resolver) fill(c *lang.Command, b *routing.Binding, d *bound, inputs []input) (filled, bool) {
	if len(inputs) == 0 && len(d.params.Names) == 0 {
		return filled{}, true
	}
	var v filled
	ok := true
	v.values = make([]plan.Value, 0, len(inputs))
	taken := make([]string, len(inputs)) // the parameter of each input
	used := make(map[string]int, len(inputs))
	for i, in := range inputs {
		name := in.name.Text
		if name == "" {
			continue
		}
		switch first, again := used[name]; {
		case again:
			r.errorf(diag.RepeatedName, in.name.Span, "%q is given twice", name).
				Related = []diag.Related{{File: r.file, Span: inputs[first].span, Message: "given here"}}
			ok = false
		case d.named[name] || d.params.Named:
			used[name], taken[i] = i, name
		default:
			r.unknownName(b, d, in)
			ok = false
		}
	}
	// The positional ones fill what is left.
	left := make([]string, 0, len(d.params.Names))
	for _, name := range d.params.Names {
		if _, given := used[name]; !given {
			left = append(left, name)
		}
	}
	surplus := -1
	lone := d.params.Lone
	for i, in := range inputs {
		if in.name.Text != "" {
			if taken[i] != "" {
				v.values = append(v.values, plan.Value{Name: taken[i], Text: in.text})
			}
			continue
		}
		name := ""
		switch {
		case len(left) > 0:
			name, left = left[0], left[1:]
		case b.Kind == plan.Task && len(v.rest) == 0 && !has(v.values, "object") && !contains(used, "object"):
			name = "object"
		case d.params.Rest:
			v.rest = append(v.rest, in.text)
			if b.Template != nil && b.Template.Rest() {
				name = "args"
			}
		case lone:
			lone = false
		default:
			if surplus < 0 {
				surplus = i
			}
			continue
		}
		v.values = append(v.values, plan.Value{Name: name, Text: in.text})
	}
	for i := range v.values {
		value := &v.values[i]
		if value.Secret = d.secrets[value.Name]; !value.Secret {
			continue
		}
		for _, in := range inputs {
			if in.text != value.Text {
				continue
			}
			for _, part := range in.parts {
				if len(part) >= minPart {
					r.hidden = append(r.hidden, part)
				}
			}
		}
	}
	if surplus >= 0 {
		r.surplus(c, b, d, inputs, surplus)
		ok = false
	} else if len(left) > 0 && ok {
		r.missing(c, b, left)
		ok = false
	}
	if !r.flags(b, inputs, surplus) || ok && !r.begun(c, b, &v) {
		ok = false
	}
	return v, ok
}

// minPart is how long a variable must be that is a part of a secret, for it to be one: a shorter one stands in words that have nothing to
// do with it.
const minPart = 4

// environment returns the names of the variables that the matrix allows.
func (r *resolver) environment() map[string]bool {
	if r.allowed == nil {
		r.allowed = make(map[string]bool, len(r.m.Environment))
		for _, name := range r.m.Environment {
			r.allowed[name] = true
		}
	}
	return r.allowed
}

func contains(m map[string]int, key string) bool {
	_, ok := m[key]
	return ok
}

func has(values []plan.Value, name string) bool {
	return slices.ContainsFunc(values, func(v plan.Value) bool { return v.Name == name })
}

// flags reports values that a tool would take for an option, and returns whether
// there is none. Positional ones from surplus on, if it is not negative, are reported already.
func (r *resolver) flags(b *routing.Binding, inputs []input, surplus int) bool {
	ok := true
	open, allowed := r.shellOptions(b), allowsFlags(b)
	for i, in := range inputs {
		dash := strings.HasPrefix(in.text, "-")
		shell := open && (strings.HasPrefix(in.text, "+") || dash && allowed) // of an agent's command, what flags allow is asked here alone
		if !shell && (!dash || allowed) || surplus >= 0 && i >= surplus && in.name.Text == "" {
			continue
		}
		ok = false
		substituted := ""
		if in.written != in.text {
			substituted = " once its variables are substituted"
		}
		d := r.errorf(diag.FlagArgument, in.span, "the value %q begins with %q%s: the tool would take it for an option", in.written, in.text[:1], substituted)
		switch {
		case shell && r.shellAgent(b):
			d.Hint = "an option of a shell could make the next value code; name the script that the shell runs in the command of the agent, before the values"
		case shell:
			d.Hint = "an option of a shell could make the next value code; name the script that the shell runs in the tool, before the values"
		case b.Kind == plan.Composite:
			d.Hint = fmt.Sprintf("an option could change what a receipt stands for; put it into the tools of the members of %q, or say flags = true there", b.Name)
		case b.Kind == plan.Builtin:
			d.Hint = "a built-in takes no options"
		default:
			d.Hint = fmt.Sprintf("an option could change what a receipt stands for; put it into the tool of %q, or say flags = true there", b.Name)
		}
	}
	return ok
}

// begun reports arguments that values turn into options although none of them begins so, and returns whether there is none.
func (r *resolver) begun(c *lang.Command, b *routing.Binding, v *filled) bool {
	ok := true
	for _, m := range b.Members {
		ok = r.begun(c, m, v) && ok
	}
	t := b.Template
	if b.Kind == plan.Task {
		t = nil
		if agent := r.m.Agent(b.Target); agent != nil {
			t = agent.Command
		}
	}
	if b.Kind != plan.Process && b.Kind != plan.Task || t == nil || b.Flags && !r.shellAgent(b) {
		return ok
	}
	if w := t.Option(filling(b, v, func() string { return "{" })); w != "" {
		r.errorf(diag.FlagArgument, c.Span, "with these values an argument of %q is %q: the tool would take it for an option", b.Name, w).
			Hint = fmt.Sprintf("the value before the %q may not be empty", w[:1])
		return false
	}
	return ok
}

// shellOptions reports whether a value of b, or of a member of it, could be an option of a shell: of its tool, or of the command of the agent that
// carries it out.
func (r *resolver) shellOptions(b *routing.Binding) bool { return b.ShellOptions() || r.shellAgent(b) }

// shellAgent is shellOptions for the commands of agents alone.
func (r *resolver) shellAgent(b *routing.Binding) bool {
	if b.Kind == plan.Task {
		agent := r.m.Agent(b.Target)
		return agent != nil && agent.Command.ShellOptions()
	}
	return slices.ContainsFunc(b.Members, r.shellAgent)
}

// allowsFlags reports whether whatever b runs may be given options by a script.
func allowsFlags(b *routing.Binding) bool {
	switch b.Kind {
	case plan.MCP:
		return true // a value is a string of a JSON object, nothing parses it
	case plan.Composite:
		for _, m := range b.Members {
			if len(m.Parameters().Names) > 0 && !allowsFlags(m) {
				return false
			}
		}
		return true
	default:
		return b.Flags
	}
}

func (r *resolver) unknownName(b *routing.Binding, d *bound, in input) {
	x := r.errorf(diag.UnknownArgument, in.name.Span, "\"%s %s\" has no parameter %q", b.Verb, b.Noun, in.name.Text)
	names := make([]string, 0, len(d.params.Names))
	for _, name := range d.params.Names {
		if b.Script == nil {
			names = append(names, name)
		}
	}
	quoted := fmt.Sprintf("if the \"=\" is part of the value, quote it: %s", lang.QuoteRaw(in.name.Text+"="+in.written))
	switch near := r.slips.Near(in.name.Text, names); {
	case near != "":
		x.Hint = fmt.Sprintf("did you mean %s=?", near)
		r.fix(x, fmt.Sprintf("write %s=", near), x.Span, near+"=")
	case len(names) > 0:
		x.Hint = "parameters: " + strings.Join(names, ", ") + "; " + quoted
	default:
		x.Hint = quoted
	}
}

func (r *resolver) missing(c *lang.Command, b *routing.Binding, left []string) {
	for i, name := range left {
		if b.Script != nil {
			left[i] = "$" + name
		}
	}
	r.errorf(diag.MissingArgument, span(c.Verb.Span, c.Noun.Span), "\"%s %s\" needs a value for %s", b.Verb, b.Noun, strings.Join(left, ", ")).
		Hint = "write: " + example(b)
}

func (r *resolver) surplus(c *lang.Command, b *routing.Binding, d *bound, inputs []input, first int) {
	at, last := inputs[first].span, inputs[len(inputs)-1].span
	if last.Start.Offset > at.Start.Offset {
		at = span(at, last)
	}
	takes := "no value"
	switch n := len(d.params.Names); {
	case d.params.Lone:
		takes = "one value without a name"
	case n == 1:
		takes = "one value"
	case n > 1:
		takes = fmt.Sprintf("%d values", n)
	}
	x := r.errorf(diag.SurplusArgument, at, "\"%s %s\" takes %s", b.Verb, b.Noun, takes)
	if other := r.m.Lookup(c.Verb.Text, inputs[first].text); other != nil && other != b {
		x.Hint = fmt.Sprintf("one line runs one noun; put %q on a line of its own", example(other))
		return
	}
	switch {
	case b.Script != nil:
		x.Hint = fmt.Sprintf("use \"$@\" in the tool of %q to pass it on", b.Name)
	case b.Kind == plan.Composite:
		x.Hint = "a composite takes what its members have placeholders for"
	case d.params.Lone:
		x.Hint = "name the others: name=value"
	case b.Kind == plan.Process:
		x.Hint = fmt.Sprintf("write: %s\nor add {args...} to the tool of %q in %s", example(b), b.Name, b.Source.Name)
		if b.Pack {
			x.Hint = fmt.Sprintf("write: %s\nor bind \"%s %s\" in %s with {args...} in its tool", example(b), b.Verb, b.Noun, r.m.Name)
		}
	default:
		x.Hint = "write: " + example(b)
	}
}
