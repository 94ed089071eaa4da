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

// A document is one file, decoded.
type document struct {
	src      *diag.Source
	pack     bool
	extends  []*value
	bindings []*Binding
	budget   budget
	run      budget // of the run as a whole
	env      map[string]string
	caches   []string
	limits   [3]*value // verbs, nouns, bindings
	vars     *value
	servers  []namedServer
	agents   []namedAgent
	verbs    []alias
	nouns    []alias
	meta     *value

	environment []string

	require   []string // of [verify]
	requireAt *value   // nil if the file does not say
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
func (b *budget) read(r *reader, key, where string, v *value) bool {
	switch key {
	case "timeout":
		b.timeout = r.duration(v, where)
	case "stall":
		b.stall = r.duration(v, where)
	case "max_output":
		b.maxOutput = r.size(v, where)
	case "retries":
		if n, ok := r.integer(v, where, 0, maxRetries); ok {
			b.retries = new(int(n))
		}
	case "tail_lines":
		if n, ok := r.integer(v, where, 0, maxTailLines); ok {
			b.tail = new(int(n))
		}
	default:
		return false
	}
	return true
}

// unknown reports a key that nobody reads.
func (r *reader) unknown(e *entry, where string, known []string) {
	d := r.warnf(diag.UnknownKey, r.keySpan(e), "unknown key %q in %s", e.key, where)
	near := ""
	switch strings.ToLower(e.key) { // what other runners call it
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
		near = Suggest(e.key, known)
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
		r.errorf(diag.MissingKey, span, format, args...).Hint = hint
	}
}

// decode reads the tree of a file.
//
// If the file is cut short by a syntax error, partial, nothing is said to be
// missing.
func decode(src *diag.Source, root *value, pack, partial bool, list *diag.List) *document {
	r := &reader{src: src, list: list, partial: partial}
	d := &document{src: src, pack: pack}
	for _, e := range root.entries {
		switch e.key {
		case "extends":
			if r.is(e.value, "extends", arrayKind) {
				for _, item := range e.value.items {
					if r.is(item, "an item of extends", stringKind) {
						d.extends = append(d.extends, item)
					}
				}
			}
		case "commands":
			if r.is(e.value, "commands", tableKind) {
				for i, c := range e.value.entries {
					if i == maxBindings {
						r.errorf(diag.BadValue, r.keySpan(c), "more than %d bindings in one file", maxBindings)
						break
					}
					if b := r.binding(c); b != nil {
						b.Pack = pack
						d.bindings = append(d.bindings, b)
					}
				}
			}
		case "defaults":
			r.table(e, defaultKeys, func(e *entry, where string) {
				switch e.key {
				case "env":
					d.env = r.env(e.value, where)
				case "caches":
					for i, name := range r.strings(e.value, where) {
						if name == "" || name == "." || name == ".." || name == ".git" || strings.ContainsAny(name, "/\\\x00") {
							r.errorf(diag.BadValue, r.itemSpan(e.value, i), "%q is no name of a directory", name)
							continue
						}
						d.caches = append(d.caches, name)
					}
				default:
					d.budget.read(r, e.key, where, e.value)
				}
			})
		case "run":
			r.table(e, runKeys, func(e *entry, where string) { d.run.read(r, e.key, where, e.value) })
		case "verify":
			r.table(e, verifyKeys, func(e *entry, where string) {
				d.require, d.requireAt = r.strings(e.value, where), e.value
			})
		case "limits":
			r.table(e, limitKeys, func(e *entry, where string) {
				if _, ok := r.integer(e.value, where, 0, math.MaxInt32); ok {
					d.limits[slices.Index(limitKeys, e.key)] = e.value
				}
			})
		case "meta":
			if r.is(e.value, "meta", tableKind) {
				d.meta = e.value
			}
		case "servers":
			d.servers = r.servers(e)
		case "agents":
			d.agents = r.agents(e)
		case "vars":
			if r.is(e.value, "vars", tableKind) {
				for _, v := range e.value.entries {
					if !isName(strings.ReplaceAll(v.key, ".", "_")) {
						r.errorf(diag.BadValue, r.keySpan(v), "%q is no name of a variable", v.key).
							Hint = "a name is of letters, digits, \"_\", \"-\" and \".\", and begins with a letter or \"_\""
					}
					r.is(v.value, "vars."+v.key, stringKind)
				}
				d.vars = e.value
			}
		case "environment":
			for i, name := range r.strings(e.value, "environment") {
				if !isName(name) || strings.ContainsAny(name, "-.") {
					r.errorf(diag.BadValue, r.itemSpan(e.value, i), "%q is no name of an environment variable", name)
				} else {
					d.environment = append(d.environment, name)
				}
			}
		case "aliases":
			r.table(e, aliasKeys, func(e *entry, where string) {
				if e.key == "verbs" {
					d.verbs = r.aliases(e.value, where, aVerb)
				} else {
					d.nouns = r.aliases(e.value, where, aNoun)
				}
			})
		default:
			r.unknown(e, src.Name, fileKeys)
		}
	}
	return d
}

// table calls read for each known entry of the table at e, and warns of others.
func (r *reader) table(e *entry, known []string, read func(e *entry, where string)) {
	if !r.is(e.value, e.key, tableKind) {
		return
	}
	for _, sub := range e.value.entries {
		if slices.Contains(known, sub.key) {
			read(sub, e.key+"."+sub.key)
		} else {
			r.unknown(sub, "["+e.key+"]", known)
		}
	}
}

func (r *reader) aliases(v *value, where, what string) []alias {
	if !r.is(v, where, tableKind) {
		return nil
	}
	var out []alias
	for _, e := range v.entries {
		if r.is(e.value, where+"."+e.key, stringKind) && r.word(e.key, r.keySpan(e), what) {
			out = append(out, alias{strings.ToLower(e.key), strings.ToLower(e.value.text), r.src, r.keySpan(e)})
		}
	}
	return out
}

// word checks that text can be written in a script as a verb or noun.
func (r *reader) word(text string, span diag.Span, what string) bool {
	switch {
	case lang.IsPreposition(text):
		r.errorf(diag.PrepositionNoun, span, "%q is a preposition and cannot be %s", text, what).
			Hint = "no line could be written with it; choose another word, or join two: \"" + text + "-file\""
	case what == aVerb && !isVerb(text):
		r.errorf(diag.BadValue, span, "%q cannot be a verb", text).
			Hint = "a verb begins with a letter and goes on with letters, digits, \"-\" and \"_\""
	case !isNoun(text):
		r.errorf(diag.BadValue, span, "%q cannot be a noun", text).
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

// isVerb reports whether a script can have text for a verb.
func isVerb(text string) bool { return isName(text) && text[0] != '_' }

// isNoun reports whether text can be a noun. A script would allow more; this is
// what reads the same everywhere, without quotes and look-alikes.
func isNoun(text string) bool {
	for i := range len(text) {
		if !isNameByte(text[i]) && (i == 0 || strings.IndexByte("-.+/", text[i]) < 0) {
			return false
		}
	}
	return text != "" && text[0] != '_' && text[len(text)-1] != '.'
}

func (r *reader) env(v *value, where string) map[string]string {
	env := r.stringTable(v, where)
	for _, e := range v.entries {
		if e.key == "" || strings.ContainsAny(e.key, "=\x00") || strings.Contains(env[e.key], "\x00") {
			r.errorf(diag.BadValue, r.keySpan(e), "%q cannot be an environment variable", e.key)
			delete(env, e.key)
		}
	}
	return env
}

func (r *reader) binding(c *entry) *Binding {
	where := "commands." + c.key
	if !r.is(c.value, where, tableKind) {
		return nil
	}
	if c.key == "" || strings.ContainsFunc(c.key, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '"' }) {
		r.errorf(diag.BadValue, r.keySpan(c), "%q cannot name a binding", c.key).Hint = "use letters, digits, \"_\" and \"-\""
		return nil
	}
	b := &Binding{Name: c.key, Source: r.src, Span: r.keySpan(c), keys: c.value}
	valid := true
	for _, e := range c.value.entries {
		where, v := where+"."+e.key, e.value
		switch e.key {
		case "verb":
			b.Verb = strings.ToLower(r.str(v, where))
			valid = v.kind == stringKind && r.word(b.Verb, r.span(v), aVerb) && valid
		case "noun":
			b.Noun = strings.ToLower(r.str(v, where))
			valid = v.kind == stringKind && r.word(b.Noun, r.span(v), aNoun) && valid
		case "aliases":
			for i, text := range r.strings(v, where) {
				if r.word(text, r.itemSpan(v, i), aNoun) {
					b.Aliases = append(b.Aliases, strings.ToLower(text))
				}
			}
		case "skill":
			b.Skill = r.str(v, where)
		case "tool", "arguments", "shell": // below: they depend on each other
		case "composite":
			b.composite = r.strings(v, where)
			if n := len(v.items); v.kind == arrayKind && (n == 0 || n > maxSteps) {
				r.errorf(diag.BadValue, r.span(v), "%s has %d members; a composite has 1 to %d", where, n, maxSteps)
				b.composite = nil
			}
		case "order":
			b.order = r.oneOf(v, where, "parallel", "sequence")
		case "effect":
			b.effect = plan.Effect(r.oneOf(v, where, string(plan.Read), string(plan.Write)))
		case "prepositions":
			for i, text := range r.strings(v, where) {
				if lang.IsPreposition(text) {
					b.Prepositions = append(b.Prepositions, strings.ToLower(text))
					continue
				}
				d := r.errorf(diag.BadValue, r.itemSpan(v, i), "%q is no preposition", text)
				d.Hint = "prepositions: " + strings.Join(lang.Prepositions[:], ", ")
				if near := Suggest(text, lang.Prepositions[:]); near != "" {
					didYouMean(d, near, fmt.Sprintf("%q", near))
				}
			}
		case "cwd":
			if b.Dir = r.str(v, where); strings.Contains(b.Dir, "\x00") || v.text == "" && v.kind == stringKind {
				r.errorf(diag.BadValue, r.span(v), "%s is no path", where)
			}
		case "env":
			b.Env = r.env(v, where)
		case "flags":
			b.Flags = r.boolean(v, where)
		case "when":
			b.WhenFailure = r.oneOf(v, where, "failure") != ""
		case "finally":
			b.Finally = r.boolean(v, where)
		case "exclusive":
			if b.Exclusive = r.str(v, where); v.kind == stringKind && !isLockName(b.Exclusive) {
				r.errorf(diag.BadValue, r.span(v), "%q cannot name a lock", b.Exclusive).
					Hint = "a name is of at most 64 letters, digits, \"_\", \"-\" and \".\", and begins with a letter or digit"
				b.Exclusive = ""
			}
		case "junit":
			b.junit = r.str(v, where)
			if _, err := filepath.Match(b.junit, ""); err != nil || v.kind == stringKind && b.junit == "" || strings.ContainsRune(b.junit, 0) {
				r.errorf(diag.BadValue, r.span(v), "%q is no path, nor a pattern of paths", b.junit).Hint = "for example \"build/test-results/*.xml\""
				b.junit = ""
			}
		case "problems":
			for i, text := range r.strings(v, where) {
				if err := checkProblem(text); err != nil {
					r.errorf(diag.BadValue, r.itemSpan(v, i), "%s: %v", where, err).
						Hint = "write a regular expression (RE2) with the groups (?P<file>...), (?P<line>...), (?P<column>...) and (?P<message>...), of which file or message must be there"
					continue
				}
				b.problems = append(b.problems, text)
			}
		case "expect":
			r.expect(v, where, &b.Expect)
		case "hint":
			b.Hint = r.str(v, where)
		case "receipt_required":
			b.ReceiptRequired = r.boolean(v, where)
		case "reuse":
			b.Reuse = r.boolean(v, where)
		case "secrets":
			b.Secrets = r.strings(v, where)
		case "expected_receipt_fields":
			b.Expect.Fields = r.strings(v, where)
			for i, f := range b.Expect.Fields {
				if !fieldPath().MatchString(f) {
					r.errorf(diag.BadValue, r.itemSpan(v, i), "%q is no path of a receipt's field", f).Hint = "a path has names with dots between: \"result.id\""
				}
			}
		case "pins":
			b.Pins = r.strings(v, where)
			for i, p := range b.Pins {
				if p == "" || strings.ContainsRune(p, 0) {
					r.errorf(diag.BadValue, r.itemSpan(v, i), "%q is no path of a file", p)
				}
			}
		case "inputs":
			b.Inputs = r.inputs(v, where)
		case "gate_wrapper":
			b.GateWrapper = r.str(v, where)
		case "notes":
			b.Notes = r.str(v, where)
		case "deprecated":
			b.Deprecated = r.boolean(v, where)
		case "target_mode":
			b.TargetMode = r.str(v, where)
		case "contract":
			b.Contract = r.str(v, where)
		default:
			if !b.budget.read(r, e.key, where, v) {
				r.unknown(e, "["+"commands."+c.key+"]", bindingKeys)
			}
		}
	}
	for _, key := range [...]string{"verb", "noun"} {
		if c.value.get(key) == nil {
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
func (r *reader) inputs(v *value, where string) (patterns []string) {
	for i, p := range r.strings(v, where) {
		if err := plan.CheckInput(p); err != nil {
			r.errorf(diag.BadValue, r.itemSpan(v, i), "%q cannot be an input: %v", p, err).
				Hint = "an input is a path or a pattern below the directory of the matrix, with slashes: \"node_modules/.package-lock.json\", \".venv/**/RECORD\""
			continue
		}
		if p = path.Clean(p); !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	if len(patterns) > maxInputs {
		r.errorf(diag.BadValue, r.span(v), "%s has %d patterns; a binding has at most %d", where, len(patterns), maxInputs)
		patterns = nil
	}
	return patterns
}

// tool reads what b runs: composite, tool, shell and arguments.
func (r *reader) tool(b *Binding, where string) {
	shell, arguments := false, b.keys.get("arguments")
	if v := b.keys.get("shell"); v != nil {
		shell = r.boolean(v, where+".shell")
	}
	tool := b.keys.get("tool")
	switch {
	case b.keys.get("composite") != nil:
		// It wins over a tool; the real matrices of the field have both.
		b.Kind = plan.Composite
	case tool == nil:
		r.missing(b.Span, "say what it runs: tool = \"...\"", "%s has neither tool nor composite", where)
	case !r.is(tool, where+".tool", stringKind):
	case strings.ContainsRune(tool.text, 0):
		r.errorf(diag.BadTemplate, r.span(tool), "%s.tool holds a NUL", where)
	case shell:
		script, err := parseScript(tool.text)
		if err != nil {
			r.badTemplate(tool, 0, where+".tool", err)
			return
		}
		b.Kind, b.Script = plan.Process, script
	case strings.HasPrefix(tool.text, "mcp:") || strings.HasPrefix(tool.text, "mcp--"):
		target, ok := mcpTarget(tool.text)
		if !ok {
			r.errorf(diag.BadTemplate, r.span(tool), "%q names no MCP tool", tool.text).
				Hint = "write \"mcp:server:tool\"; values of the call go into the arguments table"
			return
		}
		b.Kind, b.Target = plan.MCP, target
	case tool.text == "new_task":
		b.Kind, b.Target = plan.Task, b.TargetMode
		if b.Target == "" {
			b.Target = b.Noun
		}
	case strings.HasPrefix(tool.text, builtinPrefix):
		text := strings.TrimPrefix(tool.text, builtinPrefix)
		t, err := ParseTemplate(text)
		if err != nil {
			r.badTemplate(tool, len(builtinPrefix), where+".tool", err)
			return
		}
		known := []string{plan.GateResults, plan.ValidateReceipt}
		if !slices.Contains(known, t.Program()) {
			r.errorf(diag.BadValue, r.span(tool), "there is no built-in %q", t.Program()).
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
		if v := b.keys.get(key); v != nil && b.Kind == plan.Composite {
			r.warnf(diag.BadValue, r.span(v), "%s.%s has no effect on a composite", where, key).
				Hint = "say it of the members"
		}
	}
	if v := b.keys.get("order"); v != nil && b.order != "" && b.Kind != plan.Composite && b.Kind != "" {
		r.warnf(diag.BadValue, r.span(v), "%s.order has no effect: only a composite has one", where)
	}
	switch {
	case arguments == nil:
	case b.Kind == plan.MCP:
		b.Arguments = r.arguments(arguments, where+".arguments")
	case b.Kind != "":
		r.warnf(diag.BadValue, r.span(arguments), "%s.arguments has no effect: only MCP tools take it", where)
	}
}

// isLockName reports whether text can name a lock: it becomes the name of a file.
func isLockName(text string) bool {
	for i := range len(text) {
		if !isNameByte(text[i]) && (i == 0 || text[i] != '-' && text[i] != '.') {
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
func (r *reader) template(v *value, where string) *Template {
	if !r.is(v, where, stringKind) {
		return nil
	}
	t, err := ParseTemplate(v.text)
	if err != nil {
		r.badTemplate(v, 0, where, err)
		return nil
	}
	return t
}

// badTemplate reports a [*TemplateError] in the text of v from offset on.
func (r *reader) badTemplate(v *value, offset int, where string, err error) {
	var te *TemplateError
	if errors.As(err, &te) {
		r.errorf(diag.BadTemplate, r.inside(v, offset+te.Start, offset+te.End), "%s: %s", where, te.Message).Hint = te.Hint
	}
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

func (r *reader) expect(v *value, where string, x *plan.Expect) {
	r.table(&entry{key: where, value: v}, expectKeys, func(e *entry, where string) {
		switch e.key {
		case "exit_codes":
			if !r.is(e.value, where, arrayKind) {
				return
			}
			for i, item := range e.value.items {
				if n, ok := r.integer(item, fmt.Sprintf("%s[%d]", where, i), 0, 255); ok {
					x.ExitCodes = append(x.ExitCodes, int(n))
				}
			}
			if len(e.value.items) == 0 {
				r.errorf(diag.BadValue, r.span(e.value), "%s is empty: nothing could pass", where)
			}
		case "min_tests":
			if n, ok := r.integer(e.value, where, 0, math.MaxInt32); ok {
				if x.MinTests = int(n); n == 0 {
					x.MinTests = -1 // said, and not merely left out
				}
			}
		case "stdout":
			x.Stdout = r.str(e.value, where)
			x.EmptyStdout = e.value.kind == stringKind && x.Stdout == ""
			if _, err := regexp.Compile(x.Stdout); err != nil {
				r.errorf(diag.BadValue, r.span(e.value), "%s: %s", where, strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
					Hint = "it is a regular expression (RE2); \"\" means no output at all"
				x.Stdout = ""
			}
		}
	})
}

// itemSpan returns the place of item i of an array of strings.
func (r *reader) itemSpan(v *value, i int) diag.Span {
	if i < len(v.items) {
		return r.span(v.items[i])
	}
	return r.span(v)
}

func (r *reader) oneOf(v *value, where string, allowed ...string) string {
	if !r.is(v, where, stringKind) {
		return ""
	}
	if slices.Contains(allowed, v.text) {
		return v.text
	}
	r.errorf(diag.BadValue, r.span(v), "%s cannot be %q", where, v.text).
		Hint = "write \"" + strings.Join(allowed, "\" or \"") + "\""
	return ""
}

// duration reads a duration; "0" is unbounded.
func (r *reader) duration(v *value, where string) *time.Duration {
	if !r.is(v, where, stringKind) {
		return nil
	}
	d, err := time.ParseDuration(v.text)
	if err != nil || d < 0 {
		r.errorf(diag.BadValue, r.span(v), "%s cannot be %q", where, v.text).
			Hint = "write a duration with its unit: \"90s\", \"3m\", \"1h30m\"; \"0\" for no bound"
		return nil
	}
	return &d
}

// size reads a number of bytes.
func (r *reader) size(v *value, where string) *int64 {
	if v.kind == integerKind {
		if n, ok := r.integer(v, where, 0, math.MaxInt64); ok {
			return &n
		}
		return nil
	}
	if !r.is(v, where, stringKind) {
		return nil
	}
	text := strings.ToLower(strings.TrimSpace(v.text))
	digits := strings.TrimRight(text, "bikmgt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, ok := sizeUnit(strings.TrimSpace(text[len(digits):]))
	if err != nil || !ok || n < 0 || n > math.MaxInt64/unit {
		r.errorf(diag.BadValue, r.span(v), "%s cannot be %q", where, v.text).
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

// positional returns the name of the n-th parameter of a shell script.
func positional(n int) string { return strconv.Itoa(n) }
