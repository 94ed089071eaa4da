package routing

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/template"
)

// MaxHooksRun bounds [Matrix.HooksRun]: clients end a hook after a minute, which has its own work to do.
const MaxHooksRun = 30 * time.Second

// A Matrix is a routing matrix with all that it extends. It is not changed after
// [Load], and safe for concurrent use.
//
// What the keys of its files mean is in the table of keys; see [Keys].
type Matrix struct {
	Name   string // as the user named it
	Path   string // absolute
	Root   string // absolute: tools run here. The directory of Path, unless Options.Root says otherwise
	Folder string // see [plan.Matrix]; who loads the matrix sets it
	SHA256 string // see the package doc; 64 hex digits

	Files      []*diag.Source // all that was read, in the order of loading: core first, then the root, then what has its MCP servers
	Read       []plan.File    // all that was looked for on the disk, in the order of loading: matrices, configurations of MCP servers, pinned files
	Caches     []string       // names of directories that are not part of the project's files
	Clean      plan.Clean
	Temporal   Temporal
	Bindings   []*Binding // those in effect, in the order of definition
	Vocabulary *Vocabulary
	Vars       map[string]string
	// Environment names the variables of the environment that a script may read as {env.NAME}.
	Environment []string
	Servers     map[string]plan.Server
	Agents      map[string]*Agent
	Limits      Limits
	Run         plan.Budget // of a run as a whole: Timeout, Stall and MaxOutput
	Script      string      // that runs if none is named, relative to Root with slashes; empty: see package project
	Parallel    bool        // adjacent lines that only read run at the same time
	// Require names the bindings that a verification insists on if the user names none.
	Require []string
	// Scoped says that a verification may rest on the files of bindings; see [Binding].
	Scoped bool
	// HooksIgnore are patterns, as in a .gitignore, of files that need no check before an agent stops.
	HooksIgnore []string
	// HooksRun is how long the default script may run where an agent stops on files that nothing checked; 0 runs nothing.
	HooksRun time.Duration

	names     map[string]*Binding
	pairs     map[pair]*Binding // aliases of bindings included
	replaced  map[string]*Binding
	paths     map[*diag.Source]string // of those of Files that are files
	verbs     []string                // sorted
	nouns     []string                // sorted
	nounsOf   map[string][]string
	verbsOf   map[string][]string
	verbAlias map[string]alias
	nounAlias map[string]alias
}

// A Temporal is what a matrix says of the engine of that name.
type Temporal struct {
	Address, Namespace, Queue, Remote string // empty for silence

	Keys      []string // public, of workers
	Untracked bool     // files that git does not track are sent
}

// over returns t with what it leaves unsaid taken from below.
func (t Temporal) over(below Temporal) Temporal {
	t.Address, t.Namespace = cmp.Or(t.Address, below.Address), cmp.Or(t.Namespace, below.Namespace)
	t.Queue, t.Remote = cmp.Or(t.Queue, below.Queue), cmp.Or(t.Remote, below.Remote)
	if t.Keys == nil {
		t.Keys = below.Keys
	}
	t.Untracked = t.Untracked || below.Untracked
	return t
}

// A pair is what routes, in lower case.
type pair struct{ verb, noun string }

// An Agent is a command that carries out a new_task. Its template may use
// {object}, {mode}, {contract}, {prompt}, {preposition} and {args...}; what a line does
// not give is empty.
type Agent struct {
	Command *template.Template
	Require []string // bindings that the gate which it hands back must cover
}

// agentNames are the placeholders of an agent's command besides {preposition}
// and {args...}.
var agentNames = []string{template.Object, "mode", "contract", "prompt"}

// Limits bound what a project binds itself: a vocabulary that a reader, human or
// model, can hold.
type Limits struct{ Verbs, Nouns, Bindings int }

// Lookup returns the binding of verb and noun, in any case and by any alias, or
// nil. A word that is itself bound goes before one that is an alias.
func (m *Matrix) Lookup(verb, noun string) *Binding {
	verb, noun = strings.ToLower(verb), strings.ToLower(noun)
	if b := m.pairs[pair{verb, noun}]; b != nil {
		return b
	}
	v, aliasedVerb := m.verbAlias[verb]
	n, aliasedNoun := m.nounAlias[noun]
	if aliasedVerb {
		if b := m.pairs[pair{v.to, noun}]; b != nil {
			return b
		}
	}
	if aliasedNoun {
		if b := m.pairs[pair{verb, n.to}]; b != nil {
			return b
		}
	}
	if aliasedVerb && aliasedNoun {
		return m.pairs[pair{v.to, n.to}]
	}
	return nil
}

// ByName returns the binding called name, or nil. If a later binding of the same
// verb and noun took its place, that one is returned.
func (m *Matrix) ByName(name string) *Binding {
	if b := m.names[name]; b != nil {
		return b
	}
	if old := m.replaced[name]; old != nil {
		return m.pairs[pair{old.Verb, old.Noun}]
	}
	return nil
}

// Verb returns the bound verb that word means: itself, in lower case, or what it
// is an alias of; "" if there is none.
func (m *Matrix) Verb(word string) string {
	return meant(strings.ToLower(word), m.nounsOf, m.verbAlias)
}

func meant(word string, bound map[string][]string, aliases map[string]alias) string {
	for _, w := range []string{word, aliases[word].to} {
		if _, ok := bound[w]; ok {
			return w
		}
	}
	return ""
}

// Noun returns the bound noun that word means, as [Matrix.Verb] does. The nouns
// that a binding declares as aliases count as bound.
func (m *Matrix) Noun(word string) string {
	return meant(strings.ToLower(word), m.verbsOf, m.nounAlias)
}

// Verbs returns the bound verbs, sorted. The caller must not change it.
func (m *Matrix) Verbs() []string { return m.verbs }

// Nouns returns the bound nouns, sorted. The caller must not change it.
func (m *Matrix) Nouns() []string { return m.nouns }

// NounsOf returns the nouns that are bound with verb, sorted.
func (m *Matrix) NounsOf(verb string) []string { return m.nounsOf[m.Verb(verb)] }

// VerbsOf returns the verbs that are bound with noun, sorted.
func (m *Matrix) VerbsOf(noun string) []string { return m.verbsOf[m.Noun(noun)] }

// VerbAliases returns the synonyms of verbs, each with its verb.
func (m *Matrix) VerbAliases() map[string]string { return targets(m.verbAlias) }

// NounAliases returns the synonyms of nouns, each with its noun; those that a
// binding declares for itself are in [Binding.Aliases].
func (m *Matrix) NounAliases() map[string]string { return targets(m.nounAlias) }

func targets(aliases map[string]alias) map[string]string {
	out := make(map[string]string, len(aliases))
	for from, a := range aliases {
		out[from] = a.to
	}
	return out
}

// Source returns the file called name, as diagnostics name it, or nil.
func (m *Matrix) Source(name string) *diag.Source {
	if i := slices.IndexFunc(m.Files, func(src *diag.Source) bool { return src.Name == name }); i >= 0 {
		return m.Files[i]
	}
	return nil
}

// PathOf returns the absolute path of one of Files; empty for a pack.
func (m *Matrix) PathOf(src *diag.Source) string { return m.paths[src] }

// Named returns the binding that a user means by name: its name, its verb and noun, or else its noun or its
// verb alone, of which a composite goes before others. several are the names of those that a noun or a verb
// leaves open.
func (m *Matrix) Named(name string) (b *Binding, several []string) {
	if b = m.ByName(name); b != nil {
		return b, nil
	}
	if words := strings.Fields(name); len(words) == 2 {
		return m.Lookup(words[0], words[1]), nil
	}
	noun, verb := m.Noun(name), m.Verb(name)
	var found []*Binding
	for _, meant := range []func(*Binding) bool{
		func(c *Binding) bool { return c.Noun == noun && c.Kind == plan.Composite },
		func(c *Binding) bool { return c.Noun == noun },
		func(c *Binding) bool { return c.Verb == verb && c.Kind == plan.Composite },
		func(c *Binding) bool { return c.Verb == verb },
	} {
		for _, c := range m.Bindings {
			if c.Verb != "" && c.Noun != "" && meant(c) {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	for _, c := range found {
		several = append(several, c.Name)
	}
	return nil, several
}

// Agent returns the agent for a task whose target is name: the one of that name,
// else the one called "default", else nil.
func (m *Matrix) Agent(name string) *Agent {
	if a := m.Agents[name]; a != nil {
		return a
	}
	return m.Agents["default"]
}

// index fills the tables that look-ups use.
func (m *Matrix) index() {
	m.names = make(map[string]*Binding, len(m.Bindings))
	m.pairs = make(map[pair]*Binding, len(m.Bindings))
	m.nounsOf = make(map[string][]string)
	m.verbsOf = make(map[string][]string)
	for _, b := range m.Bindings {
		m.names[b.Name] = b
		for _, noun := range b.Aliases {
			m.pairs[pair{b.Verb, noun}] = b
			if !slices.Contains(m.verbsOf[noun], b.Verb) {
				m.verbsOf[noun] = append(m.verbsOf[noun], b.Verb)
			}
		}
	}
	nouns := make(map[string]bool)
	for _, b := range m.Bindings { // a name goes before any alias
		m.pairs[pair{b.Verb, b.Noun}] = b
		m.nounsOf[b.Verb] = append(m.nounsOf[b.Verb], b.Noun)
		if !slices.Contains(m.verbsOf[b.Noun], b.Verb) {
			m.verbsOf[b.Noun] = append(m.verbsOf[b.Noun], b.Verb)
		}
		nouns[b.Noun] = true
	}
	for _, nouns := range m.nounsOf {
		slices.Sort(nouns)
	}
	for _, verbs := range m.verbsOf {
		slices.Sort(verbs)
	}
	m.verbs = slices.Sorted(maps.Keys(m.nounsOf))
	m.nouns = slices.Sorted(maps.Keys(nouns))
}
