package routing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/lang/template"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// A reader takes the values of one file out of its tree.
type reader struct {
	tomltree.Reader
	partial bool // the rest of the file could not be read
	slips   *suggest.Finder
}

func newReader(src *diag.Source, list *diag.List) *reader {
	return &reader{Reader: tomltree.Reader{Source: src, List: list}, slips: new(suggest.Finder)}
}

// A document is one file, decoded.
type document struct {
	src      *diag.Source
	pack     bool
	extends  []*tomltree.Value
	bindings []*Binding
	budget   budget
	run      budget // of the run as a whole
	script   string // the default of [run]
	order    string // of [run]
	env      map[string]string
	caches   []string
	clean    cleanKeys
	temporal Temporal
	limits   [3]*tomltree.Value // verbs, nouns, bindings
	vars     *tomltree.Value
	servers  []namedServer
	agents   []namedAgent
	verbs    []alias
	nouns    []alias

	environment []string

	require   []string        // of [verify]
	requireAt *tomltree.Value // nil if the file does not say
	scoped    *bool           // likewise

	hooksIgnore   []string        // of [hooks]
	hooksIgnoreAt *tomltree.Value // likewise
	hooksRun      *time.Duration  // likewise
}

// cleanKeys is what a file says of clean checkouts.
type cleanKeys struct {
	run *bool // nil if the file does not say
	env []string

	share []string

	setup                    []plan.Command
	locks, keep              []string
	setupAt, locksAt, keepAt *tomltree.Value // nil if the file does not say
}

type namedServer struct {
	name   string
	server plan.Server
}

type namedAgent struct {
	name  string
	agent *Agent
}

// An alias is an entry of [aliases].
type alias struct {
	from, to string
	src      *diag.Source
	span     diag.Span
}

// A budget is what one table says of a budget; nil is silence.
type budget struct {
	timeout, stall *time.Duration
	maxOutput      *int64
	retries, tail  *int
}

// over returns b with what it leaves unsaid taken from below.
func (b budget) over(below budget) budget {
	return budget{
		timeout: either(b.timeout, below.timeout), stall: either(b.stall, below.stall),
		maxOutput: either(b.maxOutput, below.maxOutput),
		retries:   either(b.retries, below.retries), tail: either(b.tail, below.tail),
	}
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// unknown reports a key that the table p does not take.
func (r *reader) unknown(e *tomltree.Entry, title string, p Place) {
	d := r.Warnf(diag.UnknownKey, r.KeySpan(e), "unknown key %q in %s", e.Key, title)
	near := ""
	var known []string
	for _, k := range KeysIn(p) {
		known = append(known, k.Name)
		if slices.Contains(k.Also, strings.ToLower(e.Key)) {
			near = k.Name
		}
	}
	if near == "" {
		near = r.slips.Near(e.Key, known)
	}
	if near != "" {
		didYouMean(d, near, near)
	} else {
		d.Hint = "known keys: " + strings.Join(known, ", ")
	}
}

// didYouMean offers near in the place of what d is about; text is near as TOML.
func didYouMean(d *diag.Diagnostic, near, text string) {
	d.Hint = fmt.Sprintf("did you mean %q?", near)
	*d = d.WithFix(diag.MaybeIncorrect, fmt.Sprintf("replace it by %q", near), d.Span, text)
}

// missing reports a key that has to be there.
func (r *reader) missing(span diag.Span, hint, format string, args ...any) {
	if !r.partial {
		r.Errorf(diag.MissingKey, span, format, args...).Hint = hint
	}
}

// decode reads the tree of a file.
//
// If the file is cut short by a syntax error, partial, nothing is reported as
// missing.
func decode(src *diag.Source, root *tomltree.Value, pack, partial bool, list *diag.List, slips *suggest.Finder) *document {
	r := newReader(src, list)
	r.slips = slips
	r.partial = partial
	d := &document{src: src, pack: pack}
	r.table(InFile, root, "", &target{doc: d})
	return d
}

// table reads the table v of t, which is one of the place p and called where, key by key, and warns of
// unknown ones.
func (r *reader) table(p Place, v *tomltree.Value, where string, t *target) {
	title, prefix := "["+where+"]", where+"."
	if p == InFile {
		title, prefix = r.Source.Name, ""
	}
	if !r.Is(v, where, tomltree.Table) {
		return
	}
	for _, e := range v.Entries {
		k, where := keyOf(p, e.Key), prefix+e.Key
		switch {
		case k == nil:
			r.unknown(e, title, p)
		case k.Type == Table:
			sub := *t
			switch k.Sub {
			case InDefaults:
				sub.budget, sub.env = &t.doc.budget, &t.doc.env
			case InRun:
				sub.budget = &t.doc.run
			}
			r.table(k.Sub, e.Value, where, &sub)
		case k.Type == Tables:
			if r.Is(e.Value, where, tomltree.Table) {
				r.tables(k.Sub, e.Value, t.doc)
			}
		case k.apply != nil:
			k.apply(r, t, e.Value, where)
		}
	}
}

// tables reads the tables below [commands], [servers] or [agents].
func (r *reader) tables(p Place, v *tomltree.Value, d *document) {
	for i, e := range v.Entries {
		switch p {
		case InCommand:
			if i == maxBindings {
				r.Errorf(diag.BadValue, r.KeySpan(e), "more than %d bindings in one file", maxBindings)
				return
			}
			if b := r.binding(e); b != nil {
				b.Pack = d.pack
				d.bindings = append(d.bindings, b)
			}
		case InServer:
			d.servers = append(d.servers, r.server(e))
		case InAgent:
			if a := r.agent(e); a != nil {
				d.agents = append(d.agents, namedAgent{e.Key, a})
			}
		}
	}
}

// pairWord reads the verb or the noun of a binding.
func (r *reader) pairWord(v *tomltree.Value, where, what string) string {
	word := strings.ToLower(r.String(v, where))
	if v.Kind != tomltree.String || !r.word(word, r.Span(v), what) {
		return ""
	}
	return word
}

func (r *reader) aliases(v *tomltree.Value, where, what string) []alias {
	if !r.Is(v, where, tomltree.Table) {
		return nil
	}
	var out []alias
	for _, e := range v.Entries {
		if r.Is(e.Value, where+"."+e.Key, tomltree.String) && r.word(e.Key, r.KeySpan(e), what) {
			out = append(out, alias{strings.ToLower(e.Key), strings.ToLower(e.Value.Text), r.Source, r.KeySpan(e)})
		}
	}
	return out
}

// word checks that text can be written in a script as a verb or noun.
func (r *reader) word(text string, span diag.Span, what string) bool {
	switch {
	case lang.IsPreposition(text):
		r.Errorf(diag.PrepositionNoun, span, "%q is a preposition and cannot be %s", text, what).
			Hint = "no line could be written with it; choose another word, or join two: \"" + text + "-file\""
	case what == aVerb && !isVerb(text):
		r.Errorf(diag.BadValue, span, "%q cannot be a verb", text).
			Hint = "a verb begins with a letter and goes on with letters, digits, \"-\" and \"_\""
	case !isNoun(text):
		r.Errorf(diag.BadValue, span, "%q cannot be a noun", text).
			Hint = "a noun is one word of letters, digits and \"-\", \"_\", \".\", \"+\", \"/\"; it begins with a letter or digit and does not end in a full stop"
	default:
		return true
	}
	return false
}

// What a word is to be.
const (
	aVerb = "a verb"
	aNoun = "a noun"
)

// CheckVerb and CheckNoun say why a word cannot be a verb or a noun.
func CheckVerb(word string) error { return checkWord(word, aVerb) }

// CheckNoun: see [CheckVerb].
func CheckNoun(word string) error { return checkWord(word, aNoun) }

func checkWord(word, what string) error {
	var list diag.List
	r := newReader(diag.NewSource("", []byte(word)), &list)
	if r.word(word, diag.Span{}, what); len(list) > 0 {
		return fmt.Errorf("%s: %s", list[0].Message, list[0].Hint)
	}
	return nil
}

// isVerb reports whether a script can have text for a verb.
func isVerb(text string) bool { return template.IsName(text) && text[0] != '_' }

// isNoun reports whether text can be a noun. A script would allow more; this is
// what reads the same everywhere, without quotes and look-alikes.
func isNoun(text string) bool {
	for i := range len(text) {
		if !template.IsNameByte(text[i]) && (i == 0 || strings.IndexByte("-.+/", text[i]) < 0) {
			return false
		}
	}
	return text != "" && text[0] != '_' && text[len(text)-1] != '.'
}

func (r *reader) binding(c *tomltree.Entry) *Binding {
	where := "commands." + c.Key
	if !r.Is(c.Value, where, tomltree.Table) {
		return nil
	}
	if c.Key == "" || strings.ContainsFunc(c.Key, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '"' }) {
		r.Errorf(diag.BadValue, r.KeySpan(c), "%q cannot name a binding", c.Key).Hint = "use letters, digits, \"_\" and \"-\""
		return nil
	}
	b := &Binding{Name: c.Key, Source: r.Source, Span: r.KeySpan(c), Syntax: c.Value}
	r.table(InCommand, c.Value, where, &target{binding: b, budget: &b.budget, env: &b.Env})
	for _, k := range keys {
		if k.Required && k.In&InCommand != 0 && c.Value.Get(k.Name) == nil {
			r.missing(b.Span, "a binding says what one verb and one noun run", "%s has no %s", where, k.Name)
		}
		if v := c.Value.Get("control"); k.Required && k.In&InControl != 0 && v != nil && v.Kind == tomltree.Table && v.Get(k.Name) == nil {
			r.missing(r.Span(v), "a control says which file is broken, and by what text", "%s.control has no %s", where, k.Name)
		}
	}
	if b.Control.Origin = b.Origin(); len(b.Control.Files) == 0 || b.Control.Text == "" {
		b.Control = plan.Control{}
	}
	r.tool(b, where)
	if b.Verb == "" || b.Noun == "" {
		return nil
	}
	return b
}

// tool reads what b runs: composite, tool, shell and arguments.
func (r *reader) tool(b *Binding, where string) {
	shell, arguments := false, b.Syntax.Get("arguments")
	if v := b.Syntax.Get("shell"); v != nil {
		shell = r.Bool(v, where+".shell")
	}
	tool := b.Syntax.Get("tool")
	switch {
	case b.Syntax.Get("composite") != nil:
		// It wins over a tool; the real matrices of the field have both.
		b.Kind = plan.Composite
	case tool == nil:
		r.missing(b.Span, "say what it runs: tool = \"...\"", "%s has neither tool nor composite", where)
	case !r.Is(tool, where+".tool", tomltree.String):
	case strings.ContainsRune(tool.Text, 0):
		r.Errorf(diag.BadTemplate, r.Span(tool), "%s.tool holds a NUL", where)
	case shell:
		script, err := template.ParseScript(tool.Text)
		if err != nil {
			template.Report(&r.Reader, tool, 0, where+".tool", err)
			return
		}
		b.Kind, b.Script = plan.Process, script
		r.closed(b, tool, where)
	case strings.HasPrefix(tool.Text, "mcp:") || strings.HasPrefix(tool.Text, "mcp--"):
		target, ok := mcpTarget(tool.Text)
		if !ok {
			r.Errorf(diag.BadTemplate, r.Span(tool), "%q names no MCP tool", tool.Text).
				Hint = "write \"mcp:server:tool\"; values of the call go into the arguments table"
			return
		}
		b.Kind, b.Target = plan.MCP, target
	case tool.Text == "new_task":
		b.Kind, b.Target = plan.Task, b.TargetMode
		if b.Target == "" {
			b.Target = b.Noun
		}
	case strings.HasPrefix(tool.Text, builtinPrefix):
		text := strings.TrimPrefix(tool.Text, builtinPrefix)
		t, err := template.Parse(text)
		if err != nil {
			template.Report(&r.Reader, tool, len(builtinPrefix), where+".tool", err)
			return
		}
		known := []string{plan.GateResults, plan.ValidateReceipt}
		if !slices.Contains(known, t.Program()) {
			r.Errorf(diag.BadValue, r.Span(tool), "there is no built-in %q", t.Program()).
				Hint = "built-ins: " + strings.Join(known, ", ")
			return
		}
		b.Kind, b.Target, b.Template = plan.Builtin, t.Program(), t
	default:
		if t := r.template(tool, where+".tool"); t != nil {
			b.Kind, b.Template = plan.Process, t
			r.closed(b, tool, where)
		}
	}
	r.effective(b, InCommand, b.Syntax, where)
	if v := b.Syntax.Get("expect"); v != nil && v.Kind == tomltree.Table && onCalls.without(b.Kind) == "" {
		r.effective(b, InExpect, v, where+".expect")
	}
	if arguments != nil && b.Kind == plan.MCP {
		b.Arguments = template.ReadArguments(&r.Reader, arguments, where+".arguments")
	}
}

// closed reports a tool of which values may be options of a shell.
func (r *reader) closed(b *Binding, tool *tomltree.Value, where string) {
	if b.Flags && b.ShellOptions() {
		r.Errorf(diag.BadTemplate, r.Span(tool), "%s.tool: with flags = true a value could be an option of the shell, such as -c, which makes the next one code", where).
			Hint = "name the script that the shell runs before the values, or leave flags out"
	}
}

// effective reports the keys of v, a table of b, that have no effect on a binding of its kind. A tool with
// an expectation that nothing would judge is an error: each of its passes would claim too much.
func (r *reader) effective(b *Binding, p Place, v *tomltree.Value, where string) {
	for _, e := range v.Entries {
		k := keyOf(p, e.Key)
		if k == nil {
			continue
		}
		kind := k.Kinds.without(b.Kind)
		if kind == "" {
			continue
		}
		report := r.Warnf
		if k.Judges && b.Kind != plan.Composite {
			report = r.Errorf
		}
		d := report(diag.BadValue, r.Span(e.Value), "%s.%s has no effect on %s", where, e.Key, kind)
		if d.Hint = "it applies to " + strings.Join(k.Kinds.Names(), ", "); b.Kind == plan.Composite {
			d.Hint = "say it of the members"
		}
	}
}

const builtinPrefix = "builtin:"

// template reads a command line; nil if it is not one.
func (r *reader) template(v *tomltree.Value, where string) *template.Template {
	if !r.Is(v, where, tomltree.String) {
		return nil
	}
	t, err := template.Parse(v.Text)
	if err != nil {
		template.Report(&r.Reader, v, 0, where, err)
		return nil
	}
	return t
}

// mcpTarget returns "server:tool" for "mcp:server:tool" and for
// "mcp--server--tool", in which "___" stands for "-".
func mcpTarget(text string) (string, bool) {
	var server, tool string
	if rest, ok := strings.CutPrefix(text, "mcp:"); ok {
		server, tool, _ = strings.Cut(rest, ":")
	} else {
		server, tool, _ = strings.Cut(strings.TrimPrefix(text, "mcp--"), "--")
		server = strings.ReplaceAll(server, "___", "-")
		tool = strings.ReplaceAll(tool, "___", "-")
	}
	ok := server != "" && tool != "" && !strings.ContainsAny(server+tool, " \t\r\n{}:\"'")
	return server + ":" + tool, ok
}

// duration reads a duration; "0" is unbounded.
func (r *reader) duration(v *tomltree.Value, where string) *time.Duration {
	if !r.Is(v, where, tomltree.String) {
		return nil
	}
	d, err := time.ParseDuration(v.Text)
	if err != nil || d < 0 {
		r.Errorf(diag.BadValue, r.Span(v), "%s cannot be %q", where, v.Text).
			Hint = "write a duration with its unit: \"90s\", \"3m\", \"1h30m\"; \"0\" for no bound"
		return nil
	}
	return &d
}

// size reads a number of bytes.
func (r *reader) size(v *tomltree.Value, where string) *int64 {
	if v.Kind == tomltree.Integer {
		if n, ok := r.Integer(v, where, 0, math.MaxInt64); ok {
			return &n
		}
		return nil
	}
	if !r.Is(v, where, tomltree.String) {
		return nil
	}
	n, ok := ParseSize(v.Text)
	if !ok {
		r.Errorf(diag.BadValue, r.Span(v), "%s cannot be %q", where, v.Text).
			Hint = "write bytes, or a whole number with kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)"
		return nil
	}
	return &n
}

// ParseSize reads a number of bytes: a whole number, with a unit if it is not of bytes, in any case of letters.
func ParseSize(text string) (n int64, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "bikmgt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, ok := sizeUnit(strings.TrimSpace(text[len(digits):]))
	if err != nil || !ok || n < 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// sizeUnit returns the bytes of a unit in lower case.
func sizeUnit(unit string) (int64, bool) {
	switch unit {
	case "", "b":
		return 1, true
	case "kb":
		return 1e3, true
	case "mb":
		return 1e6, true
	case "gb":
		return 1e9, true
	case "tb":
		return 1e12, true
	case "kib":
		return 1 << 10, true
	case "mib":
		return 1 << 20, true
	case "gib":
		return 1 << 30, true
	case "tib":
		return 1 << 40, true
	}
	return 1, false
}
