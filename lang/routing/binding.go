package routing

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/template"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// A Binding says what one verb and noun run: one table below [commands].
// What each of its keys means is in the table of keys; see [Keys].
type Binding struct {
	Name    string
	Verb    string   // lower case
	Noun    string   // lower case
	Aliases []string // further nouns, lower case
	Skill   string

	Kind      plan.Kind           // empty if the tool could not be read
	Target    string              // as in [plan.Step]
	Template  *template.Template  // of a process; of a built-in, what its values fill; else nil
	Script    *template.Script    // of a process with shell = true, instead of Template
	Arguments *template.Arguments // of an MCP tool; nil where the values are the arguments
	Members   []*Binding          // of a composite; those that are unknown are left out
	Runs      []string            // the scripts that its words plainly run as a whole with dialect, as paths
	Parallel  bool                // members run at the same time

	Effect          plan.Effect
	Prepositions    []string // those that read well; empty for all
	Dir             string   // relative to the root of the matrix, or absolute
	Env             map[string]string
	Flags           bool // values may begin with "-"
	WhenFailure     bool
	Finally         bool   // runs in any case
	Exclusive       string // name of a lock; empty for none
	Queue           string // as in [plan.Step], before a composite says what its members have
	ReceiptRequired bool
	Reuse           bool     // an earlier pass may stand for a run of it
	Secrets         []string // names of values that are never shown or recorded
	Budget          plan.Budget
	Expect          plan.Expect
	Pins            []string
	Inputs          []string // as in [plan.Step]
	Files           []string // likewise
	Control         plan.Control

	Hint       string
	Install    string
	Notes      string
	Deprecated bool
	Contract   string
	TargetMode string

	Source *diag.Source    // the file that defines it
	Span   diag.Span       // of its name there
	Pack   bool            // the file is a pack
	Syntax *tomltree.Value // its table

	composite []string // members as written
	order     string   // "parallel", "sequence" or empty
	effect    plan.Effect
	budget    budget // what the binding itself says
}

// ShellOptions reports whether a value of b, or of a member that is given it, could be an option of a shell; see [template.Template.ShellOptions].
func (b *Binding) ShellOptions() bool {
	switch {
	case b.Script != nil:
		return b.Script.ShellOptions()
	case b.Kind == plan.Process && b.Template != nil:
		return b.Template.ShellOptions()
	}
	return slices.ContainsFunc(b.Members, (*Binding).ShellOptions)
}

// KeySpan returns the place of the value of key in b.Source, or of the name of
// the binding if the key is absent.
func (b *Binding) KeySpan(key string) diag.Span {
	if v := b.Syntax.Get(key); v != nil {
		return b.Source.Span(v.Start, max(v.Start, v.End))
	}
	return b.Span
}

// Tool returns what b runs as the matrix says it: the template, the script or the
// name of a tool; "" for a composite.
func (b *Binding) Tool() string {
	if v := b.Syntax.Get("tool"); v != nil && b.Kind != plan.Composite {
		return v.Text
	}
	return ""
}

// AbsDir returns the directory that b runs in, root being that of the matrix.
func (b *Binding) AbsDir(root string) string {
	if filepath.IsAbs(b.Dir) {
		return filepath.Clean(b.Dir)
	}
	return filepath.Join(root, b.Dir)
}

// Origin returns the place of b for a plan.
func (b *Binding) Origin() plan.Origin {
	return plan.Origin{File: b.Source.Name, Line: b.Span.Start.Line}
}

// Parameters are the values that a line may carry.
type Parameters struct {
	Names []string // placeholders, in the order in which positional values fill them; all are needed
	Rest  bool     // any number of positional values beyond them
	Lone  bool     // one positional value beyond them
	Named bool     // named values of any name
}

// Parameters returns what a line bound to b may carry.
func (b *Binding) Parameters() Parameters {
	switch {
	case b.Script != nil:
		p := Parameters{Rest: b.Script.Rest}
		for i := range b.Script.Arity {
			p.Names = append(p.Names, strconv.Itoa(i+1))
		}
		return p
	case b.Kind == plan.MCP && b.Arguments != nil:
		return Parameters{Names: b.Arguments.Names()}
	case b.Kind == plan.MCP:
		return Parameters{Lone: true, Named: true}
	case b.Kind == plan.Task:
		return Parameters{Rest: true, Named: true}
	case b.Kind == plan.Composite:
		var p Parameters
		seen := make(map[string]bool)
		b.memberNames(seen, &p.Names)
		return p
	case b.Template == nil:
		return Parameters{}
	default:
		// Values are appended to a template that has no place for them, but
		// not where a gate insists on the receipt: it would vouch for another
		// command than the matrix names.
		appended := b.Kind == plan.Process && b.Template.Fixed() && !b.ReceiptRequired
		return Parameters{Names: b.Template.Names(), Rest: b.Template.Rest() || appended}
	}
}

// maxTaken bounds the placeholders of a composite: each in which it is has them again, and a line needs a value for each.
const maxTaken = 1024

// memberNames appends to names the placeholders of all members, {object} first.
func (b *Binding) memberNames(seen map[string]bool, names *[]string) {
	for _, m := range b.Members {
		if len(*names) > maxTaken { // which is an error
			return
		}
		if m.Kind == plan.Composite {
			m.memberNames(seen, names)
			continue
		}
		for _, name := range m.Parameters().Names {
			switch {
			case seen[name]:
			case name == template.Object:
				*names = append([]string{name}, *names...)
			default:
				*names = append(*names, name)
			}
			seen[name] = true
		}
	}
}

// Usage returns a line of a script that reaches b, with the values that its tool
// has a place for in braces: "Close issue {id}", "Spawn {object} as subtask".
func (b *Binding) Usage() string {
	p := b.Parameters()
	preposition := ""
	if v := StandardVocabulary().verb(b.Verb); v != nil {
		preposition = v.Preposition
	}
	if len(b.Prepositions) > 0 {
		preposition = b.Prepositions[0]
	}
	words := make([]string, 0, 4+len(p.Names))
	words = append(words, strings.ToUpper(b.Verb[:1])+b.Verb[1:])
	names, rest := p.Names, b.Script != nil && b.Script.Rest || b.Template != nil && b.Template.Rest()
	if b.Kind == plan.Task {
		names = []string{template.Object}
	}
	switch {
	case preposition == "":
	case len(names) > 0 && names[0] == template.Object:
		words = append(words, "{"+template.Object+"}", preposition)
		names = names[1:]
	case len(names) == 0:
		words = append(words, preposition)
	}
	words = append(words, b.Noun)
	for _, name := range names {
		words = append(words, "{"+name+"}")
	}
	if rest {
		words = append(words, "{"+template.Rest+"...}")
	}
	return strings.Join(words, " ")
}

// reads reports whether the members of a composite only read, those apart that run
// after all others anyway.
func (b *Binding) reads() bool {
	for _, m := range b.Members {
		if m.Effect == plan.Write && !m.Finally {
			return false
		}
	}
	return b.effect != plan.Write
}

// effectOf says whether b reads or writes. Members must be settled before.
func (b *Binding) effectOf(v *Vocabulary) plan.Effect {
	if b.Kind == plan.Composite {
		// A composite cannot be declared harmless over the head of a member.
		for _, m := range b.Members {
			if m.Effect == plan.Write {
				return plan.Write
			}
		}
		if b.effect == "" {
			return plan.Read
		}
	}
	switch {
	case b.effect != "":
		return b.effect
	case b.Kind == plan.Builtin:
		return plan.Read
	case b.Template != nil && b.Template.Looks(b.Flags):
		return plan.Read
	}
	if verb := v.verb(b.Verb); verb != nil {
		return verb.Effect
	}
	return plan.Write
}
