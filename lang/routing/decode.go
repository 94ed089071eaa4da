package routing

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/lang/template"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// The keys of a file and of its tables, for suggestions. A test holds them
// against the switches that read them.
var (
	fileKeys    = []string{"extends", "commands", "defaults", "limits", "meta", "servers", "agents", "vars", "aliases", "run", "verify", "environment"}
	bindingKeys = []string{"verb", "noun", "aliases", "skill", "tool", "composite", "order", "effect", "prepositions",
		"arguments", "cwd", "env", "shell", "flags", "retries", "when", "finally", "exclusive", "junit", "problems", "stall", "timeout", "tail_lines", "max_output",
		"expect", "hint", "receipt_required", "reuse", "secrets", "expected_receipt_fields", "pins", "inputs", "gate_wrapper", "notes", "deprecated", "target_mode", "contract"}
	defaultKeys = []string{"timeout", "stall", "tail_lines", "max_output", "retries", "env", "caches"}
	runKeys     = []string{"timeout", "stall", "max_output"}
	verifyKeys  = []string{"require"}
	limitKeys   = []string{"verbs", "nouns", "bindings"}
	expectKeys  = []string{"exit_codes", "min_tests", "stdout"}
	serverKeys  = []string{"command", "args", "env", "url", "headers", "disabled"}
	agentKeys   = []string{"command", "require"}
	aliasKeys   = []string{"verbs", "nouns"}
)

// Bounds of what a matrix may say.
const (
	maxTailLines = 50 // the line-fault contract
	maxRetries   = 10
	maxInputs    = 64 // patterns of one binding
)

// A reader takes the values of one file out of its tree.
type reader struct {
	tomltree.Reader
	partial bool // the rest of the file could not be read
}

func newReader(src *diag.Source, list *diag.List) *reader {
	return &reader{Reader: tomltree.Reader{Source: src, List: list}}
}

// A document is one file, decoded.
type document struct {
	src      *diag.Source
	pack     bool
	extends  []*tomltree.Value
	bindings []*Binding
	budget   budget
	run      budget // of the run as a whole
	env      map[string]string
	caches   []string
	limits   [3]*tomltree.Value // verbs, nouns, bindings
	vars     *tomltree.Value
	servers  []namedServer
	agents   []namedAgent
	verbs    []alias
	nouns    []alias
	meta     *tomltree.Value

	environment []string

	require   []string        // of [verify]
	requireAt *tomltree.Value // nil if the file does not say
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

// read puts v into b if key is one of a budget.
func (b *budget) read(r *reader, key, where string, v *tomltree.Value) bool {
	switch key {
	case "timeout":
		b.timeout = r.duration(v, where)
	case "stall":
		b.stall = r.duration(v, where)
	case "max_output":
		b.maxOutput = r.size(v, where)
	case "retries":
		if n, ok := r.Integer(v, where, 0, maxRetries); ok {
			b.retries = new(int(n))
		}
	case "tail_lines":
		if n, ok := r.Integer(v, where, 0, maxTailLines); ok {
			b.tail = new(int(n))
		}
	default:
		return false
	}
	return true
}

// unknown reports a key that nobody reads.
func (r *reader) unknown(e *tomltree.Entry, where string, known []string) {
	d := r.Warnf(diag.UnknownKey, r.KeySpan(e), "unknown key %q in %s", e.Key, where)
	near := ""
	switch strings.ToLower(e.Key) { // what other runners call it
	case "cmd", "command", "run", "exec", "script", "cmds":
		near = "tool"
	case "steps", "members", "deps", "depends", "tasks":
		near = "composite"
	case "description", "desc", "doc":
		near = "notes"
	case "dir", "workdir", "working_dir", "working-directory":
		near = "cwd"
	case "environment":
		near = "env"
	}
	if !slices.Contains(known, near) {
		near = suggest.Near(e.Key, known)
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
// If the file is cut short by a syntax error, partial, nothing is said to be
// missing.
func decode(src *diag.Source, root *tomltree.Value, pack, partial bool, list *diag.List) *document {
	r := newReader(src, list)
	r.partial = partial
	d := &document{src: src, pack: pack}
	for _, e := range root.Entries {
		switch e.Key {
		case "extends":
			if r.Is(e.Value, "extends", tomltree.Array) {
				for _, item := range e.Value.Items {
					if r.Is(item, "an item of extends", tomltree.String) {
						d.extends = append(d.extends, item)
					}
				}
			}
		case "commands":
			if r.Is(e.Value, "commands", tomltree.Table) {
				for i, c := range e.Value.Entries {
					if i == maxBindings {
						r.Errorf(diag.BadValue, r.KeySpan(c), "more than %d bindings in one file", maxBindings)
						break
					}
					if b := r.binding(c); b != nil {
						b.Pack = pack
						d.bindings = append(d.bindings, b)
					}
				}
			}
		case "defaults":
			r.table(e, defaultKeys, func(e *tomltree.Entry, where string) {
				switch e.Key {
				case "env":
					d.env = r.env(e.Value, where)
				case "caches":
					for i, name := range r.Strings(e.Value, where) {
						if name == "" || name == "." || name == ".." || name == ".git" || strings.ContainsAny(name, "/\\\x00") {
							r.Errorf(diag.BadValue, r.ItemSpan(e.Value, i), "%q is no name of a directory", name)
							continue
						}
						d.caches = append(d.caches, name)
					}
				default:
					d.budget.read(r, e.Key, where, e.Value)
				}
			})
		case "run":
			r.table(e, runKeys, func(e *tomltree.Entry, where string) { d.run.read(r, e.Key, where, e.Value) })
		case "verify":
			r.table(e, verifyKeys, func(e *tomltree.Entry, where string) {
				d.require, d.requireAt = r.Strings(e.Value, where), e.Value
			})
		case "limits":
			r.table(e, limitKeys, func(e *tomltree.Entry, where string) {
				if _, ok := r.Integer(e.Value, where, 0, math.MaxInt32); ok {
					d.limits[slices.Index(limitKeys, e.Key)] = e.Value
				}
			})
		case "meta":
			if r.Is(e.Value, "meta", tomltree.Table) {
				d.meta = e.Value
			}
		case "servers":
			d.servers = r.servers(e)
		case "agents":
			d.agents = r.agents(e)
		case "vars":
			if r.Is(e.Value, "vars", tomltree.Table) {
				for _, v := range e.Value.Entries {
					if !template.IsName(strings.ReplaceAll(v.Key, ".", "_")) {
						r.Errorf(diag.BadValue, r.KeySpan(v), "%q is no name of a variable", v.Key).
							Hint = "a name is of letters, digits, \"_\", \"-\" and \".\", and begins with a letter or \"_\""
					}
					r.Is(v.Value, "vars."+v.Key, tomltree.String)
				}
				d.vars = e.Value
			}
		case "environment":
			for i, name := range r.Strings(e.Value, "environment") {
				if !template.IsName(name) || strings.ContainsAny(name, "-.") {
					r.Errorf(diag.BadValue, r.ItemSpan(e.Value, i), "%q is no name of an environment variable", name)
				} else {
					d.environment = append(d.environment, name)
				}
			}
		case "aliases":
			r.table(e, aliasKeys, func(e *tomltree.Entry, where string) {
				if e.Key == "verbs" {
					d.verbs = r.aliases(e.Value, where, aVerb)
				} else {
					d.nouns = r.aliases(e.Value, where, aNoun)
				}
			})
		default:
			r.unknown(e, src.Name, fileKeys)
		}
	}
	return d
}

// table calls read for each known entry of the table at e, and warns of others.
func (r *reader) table(e *tomltree.Entry, known []string, read func(e *tomltree.Entry, where string)) {
	if !r.Is(e.Value, e.Key, tomltree.Table) {
		return
	}
	for _, sub := range e.Value.Entries {
		if slices.Contains(known, sub.Key) {
			read(sub, e.Key+"."+sub.Key)
		} else {
			r.unknown(sub, "["+e.Key+"]", known)
		}
	}
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

// CheckNoun is said at [CheckVerb].
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

func (r *reader) env(v *tomltree.Value, where string) map[string]string {
	env := r.StringTable(v, where)
	for _, e := range v.Entries {
		if e.Key == "" || strings.ContainsAny(e.Key, "=\x00") || strings.Contains(env[e.Key], "\x00") {
			r.Errorf(diag.BadValue, r.KeySpan(e), "%q cannot be an environment variable", e.Key)
			delete(env, e.Key)
		}
	}
	return env
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
	valid := true
	for _, e := range c.Value.Entries {
		where, v := where+"."+e.Key, e.Value
		switch e.Key {
		case "verb":
			b.Verb = strings.ToLower(r.String(v, where))
			valid = v.Kind == tomltree.String && r.word(b.Verb, r.Span(v), aVerb) && valid
		case "noun":
			b.Noun = strings.ToLower(r.String(v, where))
			valid = v.Kind == tomltree.String && r.word(b.Noun, r.Span(v), aNoun) && valid
		case "aliases":
			for i, text := range r.Strings(v, where) {
				if r.word(text, r.ItemSpan(v, i), aNoun) {
					b.Aliases = append(b.Aliases, strings.ToLower(text))
				}
			}
		case "skill":
			b.Skill = r.String(v, where)
		case "tool", "arguments", "shell": // below: they depend on each other
		case "composite":
			b.composite = r.Strings(v, where)
			if n := len(v.Items); v.Kind == tomltree.Array && (n == 0 || n > maxSteps) {
				r.Errorf(diag.BadValue, r.Span(v), "%s has %d members; a composite has 1 to %d", where, n, maxSteps)
				b.composite = nil
			}
		case "order":
			b.order = r.OneOf(v, where, "parallel", "sequence")
		case "effect":
			b.effect = plan.Effect(r.OneOf(v, where, string(plan.Read), string(plan.Write)))
		case "prepositions":
			for i, text := range r.Strings(v, where) {
				if lang.IsPreposition(text) {
					b.Prepositions = append(b.Prepositions, strings.ToLower(text))
					continue
				}
				d := r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is no preposition", text)
				d.Hint = "prepositions: " + strings.Join(lang.Prepositions[:], ", ")
				if near := suggest.Near(text, lang.Prepositions[:]); near != "" {
					didYouMean(d, near, fmt.Sprintf("%q", near))
				}
			}
		case "cwd":
			if b.Dir = r.String(v, where); strings.Contains(b.Dir, "\x00") || v.Text == "" && v.Kind == tomltree.String {
				r.Errorf(diag.BadValue, r.Span(v), "%s is no path", where)
			}
		case "env":
			b.Env = r.env(v, where)
		case "flags":
			b.Flags = r.Bool(v, where)
		case "when":
			b.WhenFailure = r.OneOf(v, where, "failure") != ""
		case "finally":
			b.Finally = r.Bool(v, where)
		case "exclusive":
			if b.Exclusive = r.String(v, where); v.Kind == tomltree.String && !isLockName(b.Exclusive) {
				r.Errorf(diag.BadValue, r.Span(v), "%q cannot name a lock", b.Exclusive).
					Hint = "a name is of at most 64 letters, digits, \"_\", \"-\" and \".\", and begins with a letter or digit"
				b.Exclusive = ""
			}
		case "junit":
			b.junit = r.String(v, where)
			if _, err := filepath.Match(b.junit, ""); err != nil || v.Kind == tomltree.String && b.junit == "" || strings.ContainsRune(b.junit, 0) {
				r.Errorf(diag.BadValue, r.Span(v), "%q is no path, nor a pattern of paths", b.junit).Hint = "for example \"build/test-results/*.xml\""
				b.junit = ""
			}
		case "problems":
			for i, text := range r.Strings(v, where) {
				if err := checkProblem(text); err != nil {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%s: %v", where, err).
						Hint = "write a regular expression (RE2) with the groups (?P<file>...), (?P<line>...), (?P<column>...) and (?P<message>...), of which file or message must be there"
					continue
				}
				b.problems = append(b.problems, text)
			}
		case "expect":
			r.expect(v, where, &b.Expect)
		case "hint":
			b.Hint = r.String(v, where)
		case "receipt_required":
			b.ReceiptRequired = r.Bool(v, where)
		case "reuse":
			b.Reuse = r.Bool(v, where)
		case "secrets":
			b.Secrets = r.Strings(v, where)
		case "expected_receipt_fields":
			b.Expect.Fields = r.Strings(v, where)
			for i, f := range b.Expect.Fields {
				if !fieldPath().MatchString(f) {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is no path of a receipt's field", f).Hint = "a path has names with dots between: \"result.id\""
				}
			}
		case "pins":
			b.Pins = r.Strings(v, where)
			for i, p := range b.Pins {
				if p == "" || strings.ContainsRune(p, 0) {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is no path of a file", p)
				}
			}
		case "inputs":
			b.Inputs = r.inputs(v, where)
		case "gate_wrapper":
			b.GateWrapper = r.String(v, where)
		case "notes":
			b.Notes = r.String(v, where)
		case "deprecated":
			b.Deprecated = r.Bool(v, where)
		case "target_mode":
			b.TargetMode = r.String(v, where)
		case "contract":
			b.Contract = r.String(v, where)
		default:
			if !b.budget.read(r, e.Key, where, v) {
				r.unknown(e, "["+"commands."+c.Key+"]", bindingKeys)
			}
		}
	}
	for _, key := range [...]string{"verb", "noun"} {
		if c.Value.Get(key) == nil {
			r.missing(b.Span, "a binding says what one verb and one noun run", "%s has no %s", where, key)
			valid = false
		}
	}
	r.tool(b, where)
	if !valid {
		return nil
	}
	return b
}

// inputs reads patterns of files, each once.
func (r *reader) inputs(v *tomltree.Value, where string) (patterns []string) {
	for i, p := range r.Strings(v, where) {
		if err := plan.CheckInput(p); err != nil {
			r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q cannot be an input: %v", p, err).
				Hint = "an input is a path or a pattern below the directory of the matrix, with slashes: \"node_modules/.package-lock.json\", \".venv/**/RECORD\""
			continue
		}
		if p = path.Clean(p); !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	if len(patterns) > maxInputs {
		r.Errorf(diag.BadValue, r.Span(v), "%s has %d patterns; a binding has at most %d", where, len(patterns), maxInputs)
		patterns = nil
	}
	return patterns
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
		}
	}
	b.Expect.JUnit, b.Expect.Problems = b.junit, b.problems
	for _, key := range [...]string{"cwd", "env", "shell", "flags", "expect", "stall", "max_output", "junit", "problems", "inputs"} {
		if v := b.Syntax.Get(key); v != nil && b.Kind == plan.Composite {
			r.Warnf(diag.BadValue, r.Span(v), "%s.%s has no effect on a composite", where, key).
				Hint = "say it of the members"
		}
	}
	if v := b.Syntax.Get("order"); v != nil && b.order != "" && b.Kind != plan.Composite && b.Kind != "" {
		r.Warnf(diag.BadValue, r.Span(v), "%s.order has no effect: only a composite has one", where)
	}
	switch {
	case arguments == nil:
	case b.Kind == plan.MCP:
		b.Arguments = template.ReadArguments(&r.Reader, arguments, where+".arguments")
	case b.Kind != "":
		r.Warnf(diag.BadValue, r.Span(arguments), "%s.arguments has no effect: only MCP tools take it", where)
	}
}

// isLockName reports whether text can name a lock: it becomes the name of a file.
func isLockName(text string) bool {
	for i := range len(text) {
		if !template.IsNameByte(text[i]) && (i == 0 || text[i] != '-' && text[i] != '.') {
			return false
		}
	}
	return text != "" && len(text) <= 64 && text[0] != '_'
}

// checkProblem says why text cannot find an error in an output.
func checkProblem(text string) error {
	re, err := regexp.Compile("(?m)" + text)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if re.SubexpIndex("message") < 0 && re.SubexpIndex("file") < 0 {
		return errors.New("it has neither a group message nor a group file")
	}
	return nil
}

// fieldPath is the form of a field of a tool's receipt.
var fieldPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`)
})

const builtinPrefix = "builtin:"

// template reads a command line; nil if it is none.
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

func (r *reader) expect(v *tomltree.Value, where string, x *plan.Expect) {
	r.table(&tomltree.Entry{Key: where, Value: v}, expectKeys, func(e *tomltree.Entry, where string) {
		switch e.Key {
		case "exit_codes":
			if !r.Is(e.Value, where, tomltree.Array) {
				return
			}
			for i, item := range e.Value.Items {
				if n, ok := r.Integer(item, fmt.Sprintf("%s[%d]", where, i), 0, 255); ok {
					x.ExitCodes = append(x.ExitCodes, int(n))
				}
			}
			if len(e.Value.Items) == 0 {
				r.Errorf(diag.BadValue, r.Span(e.Value), "%s is empty: nothing could pass", where)
			}
		case "min_tests":
			if n, ok := r.Integer(e.Value, where, 0, math.MaxInt32); ok {
				if x.MinTests = int(n); n == 0 {
					x.MinTests = -1 // said, and not merely left out
				}
			}
		case "stdout":
			x.Stdout = r.String(e.Value, where)
			x.EmptyStdout = e.Value.Kind == tomltree.String && x.Stdout == ""
			if _, err := regexp.Compile(x.Stdout); err != nil {
				r.Errorf(diag.BadValue, r.Span(e.Value), "%s: %s", where, strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
					Hint = "it is a regular expression (RE2); \"\" means no output at all"
				x.Stdout = ""
			}
		}
	})
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
	text := strings.ToLower(strings.TrimSpace(v.Text))
	digits := strings.TrimRight(text, "bikmgt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, ok := sizeUnit(strings.TrimSpace(text[len(digits):]))
	if err != nil || !ok || n < 0 || n > math.MaxInt64/unit {
		r.Errorf(diag.BadValue, r.Span(v), "%s cannot be %q", where, v.Text).
			Hint = "write bytes, or a whole number with kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)"
		return nil
	}
	n *= unit
	return &n
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
