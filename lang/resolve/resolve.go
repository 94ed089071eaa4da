// Package resolve binds a parsed script to a routing matrix.
//
// In come the AST of package lang and a [routing.Matrix]; out come a
// [plan.Plan], complete and plain, and every fault that can be found without
// running anything: words that nothing is bound to, values that are missing,
// surplus or unknown, lines that read two ways. One faulty line never hides
// another. A plan that comes with errors holds the lines that could be bound
// and must not be run.
//
// The package runs nothing, reads no file and looks for no executable. It is one package of up to 1,720 lines because what a line is bound to,
// what is wrong with it and what it meant instead are found in one walk over its words.
//
// # Values
//
// The values of a line are its object, if it has one, and then its positional
// arguments. Named arguments fill the placeholders of their name; the rest fill
// those that are left, {object} first and then in order of appearance. What
// remains goes to {args...}, or is appended to a template that has no
// placeholder and whose receipt no gate insists on. Anything else is a fault:
//
//	tool = "bd close {id} --reason {reason}"
//	Close issue BD-12 done               id = BD-12, reason = done
//	Close issue reason="all done" BD-12  id = BD-12, reason = all done
//
// A composite takes the placeholders of its members; a value goes to each
// member that has the placeholder. A shell script takes $1, $2, ... and $@. An
// MCP tool takes one positional value and named ones of any name, unless the
// matrix has a table of arguments; a task takes whatever it is given.
//
// A value is part of one argv element, or one element: no text of a script
// changes how many there are, except by how many values it has.
package resolve

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/handoff"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/suggest"
)

// Options changes what is resolved. The zero Options resolves a whole script.
type Options struct {
	// Script is copied into the plan; an empty name is that of the source.
	Script plan.Script

	// Vars are the variables of the command line. They go before those of the
	// matrix.
	Vars map[string]string

	// Env looks up a variable of the environment, for {env.NAME} where the matrix allows
	// NAME; nil has none.
	Env func(name string) (string, bool)

	// Line, if not 0, asks for the command on that line (1-based) alone; faults
	// of other lines are left out. The step keeps its position in the script.
	Line int

	// Member asks, of the command on Line, for one member of its composite, as a path of 1-based
	// positions. The composites above it stay, with their locks and without their other members.
	Member []int

	// Lines, if not empty, asks for the commands on those lines alone; faults of other
	// lines are reported all the same.
	Lines []int

	// Parsed is what [lang.Parse] said of the file. It is returned with the
	// findings of this package, in order, and with hints that only a matrix
	// can give.
	Parsed diag.List
}

// Matrix is what a plan says of a matrix.
func Matrix(m *routing.Matrix) plan.Matrix {
	files := slices.Clone(m.Read)
	slices.SortFunc(files, func(a, b plan.File) int { return strings.Compare(a.Path, b.Path) })
	retries, env := make(map[string]bool), make(map[string]string)
	for _, b := range m.Bindings {
		if b.Budget.Retries > 0 {
			retries[b.Name] = true
		}
		if len(b.Env) > 0 {
			sum := sha256.Sum256(fmt.Appendf(nil, "%q", b.Env)) // in the order of the names
			env[b.Name] = string(sum[:])
		}
	}
	return plan.Matrix{Name: m.Name, Path: m.Path, Root: m.Root, Folder: m.Folder, SHA256: m.SHA256, Files: files, Caches: m.Caches, Clean: m.Clean, Inputs: patterns(m, func(b *routing.Binding) []string { return b.Inputs }), Scopes: patterns(m, scope), Retries: retries, Env: env}
}

// bent reports whether a variable was set to another value than the matrix gives it: what runs then is not what the two files say.
func bent(m *routing.Matrix, o Options) bool {
	for name, value := range o.Vars {
		if given, ok := m.Vars[name]; ok && given != value {
			return true
		}
	}
	return false
}

// Resolve binds f to m. The plan is never nil; it may be run only if the list
// (and that of [routing.Load]) holds no error. A line bound to a binding that
// Load found broken gives no step and no further error.
func Resolve(f *lang.File, m *routing.Matrix, o Options) (*plan.Plan, diag.List) {
	r := newResolver(f.Source, m, o)
	p := &plan.Plan{
		Script: o.Script,
		Matrix: Matrix(m),
		Sets:   []map[string]string{o.Vars, m.Vars},
	}
	for _, b := range m.Bindings {
		if len(b.Env) > 0 {
			p.Sets = append(p.Sets, b.Env)
		}
	}
	p.Budget, p.Parallel = m.Run, m.Parallel
	if len(m.Servers) > 0 {
		p.Servers = m.Servers
	}
	if p.Script.Name == "" {
		p.Script.Name = f.Source.Name
	}
	p.Script.Part = p.Script.Part || o.Line != 0 || len(o.Lines) > 0 || bent(m, o)
	hides := r.declared(p)
	var left *resolver // binds lines that are left out, for their secrets: a report names the variables of the run
	found, said := false, o.Parsed
	for i, c := range f.Commands {
		n := c.Span.Start.Line
		if o.Line != 0 && n != o.Line {
			if hides {
				if left == nil {
					left = newResolver(f.Source, m, o)
				}
				if s := left.line(c, i+1, nil); s != nil {
					p.Hide(s)
				} else {
					left.faulty(c)
				}
			}
			continue
		}
		found = true
		said = r.before(said, n)
		of := slices.IndexFunc(said, func(d diag.Diagnostic) bool { return d.Span.Start.Line > n })
		if of < 0 {
			of = len(said)
		}
		if s := r.line(c, i+1, said[:of]); s != nil {
			plan.Walk([]*plan.Step{s}, func(s *plan.Step) { p.Named = append(p.Named, s.Files...) })
			if len(o.Lines) == 0 || slices.Contains(o.Lines, n) {
				p.Steps = append(p.Steps, s)
			} else {
				p.Hide(s)
			}
		}
		said = said[of:]
	}
	if len(o.Member) > 0 && len(p.Steps) > 0 {
		p.Hide(p.Steps[0])
		p.Steps = r.member(p.Steps[0])
	}
	r.before(said, len(f.Source.Text)+2)
	if o.Line != 0 && !found {
		r.noSuchLine(f)
	}
	if len(f.Commands) == 0 {
		r.empty()
	}
	if p.Hidden = append(p.Hidden, r.hidden...); left != nil {
		p.Hidden = append(p.Hidden, left.hidden...)
	}
	return p, r.all.List()
}

// faulty takes all values of a line that does not bind for secrets, if its binding has some: which of them is which is not known.
func (r *resolver) faulty(c *lang.Command) {
	b := r.lookup(c.Verb.Text, c.Noun.Text)
	if b == nil || !hasSecrets(b) {
		return
	}
	inputs, _ := r.expand(c)
	for _, in := range inputs {
		for _, part := range append(in.parts, in.text) {
			if len(part) >= minPart {
				r.hidden = append(r.hidden, part)
			}
		}
	}
}

// hasSecrets reports whether b, or a member of it, declares one.
func hasSecrets(b *routing.Binding) bool {
	return len(b.Secrets) > 0 || b.Kind == plan.Composite && slices.ContainsFunc(b.Members, hasSecrets)
}

// declared reports whether the matrix declares secrets, and adds the variables of their names to those of p.
func (r *resolver) declared(p *plan.Plan) (any bool) {
	for _, b := range r.m.Bindings {
		for _, name := range b.Secrets {
			any = true
			if value := r.o.Vars[name]; value != "" && !slices.Contains(p.Hidden, value) {
				p.Hidden = append(p.Hidden, value)
			}
		}
	}
	return any
}

// Check parses src and binds it to m, and says what is wrong with both, as [lang.Parse] and
// Resolve would. It keeps no command and no step, so that a large script costs little more
// memory than its text. Of o it heeds Vars, Env and Line. used has the name of each binding that a
// command is bound to.
func Check(src *diag.Source, m *routing.Matrix, o Options) (list diag.List, used map[string]bool) {
	first, last := 1, src.Lines()
	if o.Line != 0 {
		first, last = o.Line, o.Line
	}
	r := newResolver(src, m, o)
	if commands := r.scan(first, last); commands == 0 && o.Line == 0 {
		r.empty()
	} else if commands == 0 {
		f, _ := lang.Parse(src)
		r.noSuchLine(f)
	}
	return r.all.List(), r.used
}

// CheckLines is [Check] of the lines from first to last (1-based, both included), for who has
// seen the others before: an editor. The script as a whole gets no findings. Commands is
// how many of the lines hold one.
func CheckLines(src *diag.Source, first, last int, m *routing.Matrix, o Options) (list diag.List, commands int) {
	r := newResolver(src, m, o)
	commands = r.scan(first, last)
	return r.all.List(), commands
}

func (r *resolver) scan(first, last int) (commands int) {
	lang.Scan(r.src, first, last, func(c *lang.Command, found diag.List) {
		if c == nil {
			r.all.Add(found...)
			return
		}
		commands++
		r.line(c, commands, found)
	})
	return commands
}

// before takes up what lang said of the lines above n, those apart that nobody asked about,
// and returns the rest.
func (r *resolver) before(said diag.List, n int) diag.List {
	for len(said) > 0 && said[0].Span.Start.Line < n {
		if d := said[0]; r.o.Line == 0 || !d.Span.IsValid() || d.Span.Start.Line == r.o.Line {
			r.all.Add(d)
		}
		said = said[1:]
	}
	return said
}

// line binds the command of a line, of which lang has said said; nil if it cannot be bound.
func (r *resolver) line(c *lang.Command, position int, said diag.List) *plan.Step {
	if r.over {
		return nil
	}
	defer r.flush()
	if !c.Bad && r.lookup(c.Verb.Text, c.Noun.Text) != nil {
		r.list = append(r.list, said...)
		return r.command(c, position)
	}
	if said = r.misread(c, said); said == nil {
		return nil
	}
	for _, d := range said {
		r.list = append(r.list, r.parsed(d, c))
	}
	return r.command(c, position)
}

func newResolver(src *diag.Source, m *routing.Matrix, o Options) *resolver {
	return &resolver{
		m: m, o: o, src: src, file: src.Name,
		bound: make(map[*routing.Binding]*bound),
		words: make(map[[2]string]route),
		used:  make(map[string]bool),
	}
}

// scope returns the patterns of the files that the verdict of b is about. What writes has none: it changes what
// others read.
func scope(b *routing.Binding) []string {
	if b.Effect != plan.Read || b.Kind != plan.Process {
		return nil
	}
	return b.Files
}

// patterns returns those that of returns for each binding of m that runs something.
func patterns(m *routing.Matrix, of func(*routing.Binding) []string) map[string][]string {
	var all map[string][]string
	for _, b := range m.Bindings {
		list := of(b)
		if len(list) == 0 || b.Kind == plan.Composite {
			continue
		}
		if all == nil {
			all = make(map[string][]string)
		}
		all[b.Name] = list
	}
	return all
}

type resolver struct {
	m     *routing.Matrix
	o     Options
	src   *diag.Source
	file  string // its name
	all   diag.Collector
	prose bool      // the verbs were listed to somebody who writes prose
	list  diag.List // of the line at hand; see flush

	slips suggest.Finder // of the words that are bound to nothing

	trials int // texts that were tried as commands; see [resolver.sequence]

	hidden []string // variables that are parts of secrets
	known  []string // variables that have a value; see variableNames

	spent int  // of [maxPlan]
	over  bool // more than that, which was said

	bound   map[*routing.Binding]*bound
	allowed map[string]bool // see environment

	words map[[2]string]route // by verb and noun as written
	used  map[string]bool     // names of bindings
}

// A route is the answer to verb and noun as written.
type route struct {
	binding *routing.Binding
	known   bool // asked before
}

// A bound is what all lines of one binding share.
type bound struct {
	source  *routing.Binding
	step    plan.Step // without ID, Line, values and argv
	params  routing.Parameters
	members []*bound
	named   map[string]bool // params.Names as a set; nil if there are none
	secrets map[string]bool // placeholders that it, or a member, declares as secret
	cost    cost
}

func (r *resolver) errorf(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	r.list = append(r.list, diag.Errorf(code, r.file, span, format, args...))
	return &r.list[len(r.list)-1]
}

func (r *resolver) warnf(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	r.list = append(r.list, diag.Warnf(code, r.file, span, format, args...))
	return &r.list[len(r.list)-1]
}

// full reports whether the finding that was made last would only be counted, so that nobody reads its hint.
func (r *resolver) full() bool { return r.all.Full(diag.Error) || len(r.list) > diag.MaxFindings }

// flush takes up what was said of a line.
func (r *resolver) flush() {
	r.all.Add(r.list...)
	r.list = r.list[:0]
}

// lookup finds the binding of c; a script says the same few pairs again and again.
func (r *resolver) lookup(verb, noun string) *routing.Binding {
	key := [2]string{verb, noun}
	if known := r.words[key]; known.known {
		return known.binding
	}
	b := r.m.Lookup(verb, noun)
	if len(r.words) < 1<<14 {
		r.words[key] = route{b, true}
	}
	return b
}

// command binds one line; nil if it cannot be bound.
func (r *resolver) command(c *lang.Command, position int) *plan.Step {
	if c.Bad {
		// Package lang reports its fault; an unbound verb is another one.
		if c.Verb.Text != "" && r.m.Verb(c.Verb.Text) == "" {
			r.unboundVerb(c)
		}
		return nil
	}
	values, ok := r.expand(c)
	if !r.fits(c) {
		return nil
	}
	b := r.lookup(c.Verb.Text, c.Noun.Text)
	if c.Object != nil && !c.Object.Quoted {
		if other := r.lookup(c.Verb.Text, c.Object.Text); other != nil {
			r.ambiguous(c, b, other)
			return nil
		}
	}
	if b == nil {
		r.unbound(c)
		return nil
	}
	r.used[b.Name] = true
	if b.Deprecated {
		r.warnf(diag.DeprecatedLine, span(c.Verb.Span, c.Noun.Span), "%q is deprecated", b.Verb+" "+b.Noun).Hint = firstLine(b.Notes)
	}
	if c.Prep.Text != "" && len(b.Prepositions) > 0 {
		r.preposition(c, b)
	}
	if r.o.Script.Path != "" && runs(b, r.o.Script.Path) {
		r.warnf(diag.RunsItself, span(c.Verb.Span, c.Noun.Span), "%q runs the script that it is a line of", b.Verb+" "+b.Noun).Hint = "take the line out, or have it run another script or single lines (FILE:LINE)"
	}
	if b.Kind == "" {
		return nil
	}
	d := r.binding(b)
	if !r.afford(d.cost, c, values) || !ok || !r.joined(c) {
		return nil
	}
	filled, ok := r.fill(c, b, d, values)
	if !ok {
		return nil
	}
	filled.preposition = c.Prep.Key()
	line := plan.Line{File: r.file, Number: c.Span.Start.Line, Text: c.Text, Span: c.Span}
	return r.step(d, strconv.Itoa(position), line, &filled)
}

// runs reports whether b, or a member of it, runs that script.
func runs(b *routing.Binding, script string) bool {
	return slices.Contains(b.Runs, script) || slices.ContainsFunc(b.Members, func(m *routing.Binding) bool { return runs(m, script) })
}

// member returns s with the member alone that is asked for, and so on below it; nothing if there is none.
func (r *resolver) member(s *plan.Step) []*plan.Step {
	top := *s
	at := &top
	for i, n := range r.o.Member {
		if len(at.Members) == 0 {
			r.errorf(diag.NotOneLine, s.Line.Span, "%q is bound to %s, which has no members", s.Line.Text, at.Binding)
		} else if n > len(at.Members) {
			r.errorf(diag.NotOneLine, s.Line.Span, "%s has %s, and no member %d", at.Binding, diag.Number(len(at.Members), "member"), n)
		} else {
			m := *at.Members[n-1]
			m.Finally = false // nothing comes before it
			at.Members = []*plan.Step{&m}
			if at = &m; i == len(r.o.Member)-1 {
				return []*plan.Step{&top}
			}
			continue
		}
		r.flush()
		break
	}
	return nil
}

// binding returns what the lines of b share, members included.
func (r *resolver) binding(b *routing.Binding) *bound {
	if d := r.bound[b]; d != nil {
		return d
	}
	d := &bound{source: b, params: b.Parameters()}
	r.bound[b] = d
	d.step = plan.Step{
		Binding: b.Name, Verb: b.Verb, Noun: b.Noun,
		Kind: b.Kind, Target: b.Target, Shell: b.Script != nil,
		Parallel: b.Parallel,
		Dir:      b.AbsDir(r.m.Root), Env: b.Env,
		Effect: b.Effect, ReceiptRequired: b.ReceiptRequired, Reuse: b.Reuse, WhenFailure: b.WhenFailure,
		Finally: b.Finally, Exclusive: b.Exclusive, Queue: b.Queue,
		Budget: b.Budget, Expect: b.Expect, Inputs: b.Inputs, Files: scope(b),
		Skill: b.Skill, Hint: b.Hint, Install: b.Install, Contract: b.Contract, Origin: b.Origin(), Control: b.Control,
	}
	if len(d.params.Names) > 0 {
		d.named = make(map[string]bool, len(d.params.Names))
		for _, name := range d.params.Names {
			d.named[name] = true
		}
	}
	d.secrets = make(map[string]bool, len(b.Secrets))
	for _, name := range b.Secrets {
		d.secrets[name] = true
	}
	for _, m := range b.Members {
		member := r.binding(m)
		small, large := d.named, member.secrets
		if len(small) > len(large) {
			small, large = large, small
		}
		for name := range small { // no other takes a value
			if large[name] {
				d.secrets[name] = true
			}
		}
		if b.ReceiptRequired && !member.step.ReceiptRequired {
			// The gate insists on the whole, so on each part; a copy, since the
			// member may also stand alone.
			member = requireAll(member)
		}
		if b.Queue != "" {
			member = inQueue(member, b.Queue)
		}
		d.members = append(d.members, member)
	}
	d.weigh(r)
	return d
}

// requireAll returns d and its members as a gate insists on them.
func requireAll(d *bound) *bound {
	out := *d
	out.step.ReceiptRequired = true
	out.members = make([]*bound, len(d.members))
	for i, m := range d.members {
		out.members[i] = requireAll(m)
	}
	return &out
}

// inQueue returns d as a member of a composite that names a queue: what names one of its own keeps it, and its members do.
func inQueue(d *bound, queue string) *bound {
	if d.step.Queue != "" {
		return d
	}
	out := *d
	out.step.Queue = queue
	out.members = make([]*bound, len(d.members))
	for i, m := range d.members {
		out.members[i] = inQueue(m, queue)
	}
	return &out
}

// step makes the step of d, and of its members, from the values of a line.
func (r *resolver) step(d *bound, id string, line plan.Line, v *filled) *plan.Step {
	s := new(plan.Step)
	*s = d.step
	s.ID, s.Line, s.Preposition = id, line, v.preposition
	b := d.source
	s.Values = v.values
	if b.Kind == plan.Composite {
		s.Members = make([]*plan.Step, len(d.members))
		for i, m := range d.members {
			s.Members[i] = r.step(m, id+"."+strconv.Itoa(i+1), line, &filled{preposition: v.preposition, values: v.only(m)})
		}
		return s
	}
	r.carries(d, s, v)
	if s.Secret() {
		other := *s
		without := v.without()
		other.Values, other.Line.Text = without.values, s.WithoutSecrets(s.Line.Text)
		r.carries(d, &other, without)
		s.Same = other.Command()
	}
	return s
}

// carries fills in what a step carries out.
func (r *resolver) carries(d *bound, s *plan.Step, v *filled) {
	switch b := d.source; {
	case b.Script != nil:
		params := make([]string, 0, len(d.params.Names)+len(v.rest))
		for _, name := range d.params.Names {
			params = append(params, v.get(name))
		}
		s.Argv = b.Script.Argv(append(params, v.rest...))
	case b.Kind == plan.MCP && b.Arguments != nil:
		s.Arguments = b.Arguments.JSON(v.get)
	case b.Kind == plan.Process || b.Kind == plan.Builtin:
		s.Argv = b.Template.Argv(v.get, v.rest)
	case b.Kind == plan.Task:
		if agent := r.m.Agent(b.Target); agent != nil {
			s.Require = agent.Require
			s.Argv = agent.Command.Argv(filling(b, v, func() string { return string(handoff.Make(s, "")) }), v.rest)
		}
	}
}

// filling returns what fills the placeholders of the tool of b, or of the command of its agent, of which prompt is one.
func filling(b *routing.Binding, v *filled, prompt func() string) func(name string) string {
	if b.Kind != plan.Task {
		return v.get
	}
	return func(name string) string {
		switch name {
		case "mode":
			return b.Target
		case "contract":
			return b.Contract
		case "prompt":
			v.fills++
			return prompt()
		}
		return v.get(name)
	}
}
