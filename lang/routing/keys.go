package routing

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/template"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// A Place is a table of a matrix, or a set of tables.
type Place uint16

// The tables of a matrix.
const (
	InFile Place = 1 << iota // above the first header
	InCommand
	InExpect
	InControl
	InDefaults
	InRun
	InVerify
	InHooks
	InLimits
	InAliases
	InServer
	InAgent
	InClean
	InEngine
	InTemporal
)

// headers are the tables in the order of the reference page, as a header names them.
var headers = [...]struct {
	place Place
	path  string
}{
	{InFile, ""}, {InCommand, "commands.NAME"}, {InExpect, "commands.NAME.expect"}, {InControl, "commands.NAME.control"}, {InDefaults, "defaults"}, {InRun, "run"}, {InClean, "clean"},
	{InEngine, "engine"}, {InTemporal, "engine.temporal"},
	{InVerify, "verify"}, {InHooks, "hooks"}, {InLimits, "limits"}, {InAliases, "aliases"}, {InServer, "servers.NAME"}, {InAgent, "agents.NAME"},
}

// Places returns the tables of a matrix, in the order of the reference page.
func Places() []Place {
	list := make([]Place, len(headers))
	for i, h := range headers {
		list[i] = h.place
	}
	return list
}

// Path returns the name of one table, such as "commands.NAME"; "" for the top of the file.
func (p Place) Path() string {
	for _, h := range headers {
		if h.place == p {
			return h.path
		}
	}
	return ""
}

// A Type is what a key takes.
type Type uint8

// The types of keys.
const (
	Text        Type = iota // a string
	Texts                   // an array of strings
	Word                    // one of Key.Values
	Words                   // an array of Key.Values
	Boolean                 // true or false
	Integer                 // from Key.Min to Key.Max
	Integers                // an array of them
	Duration                // a string as time.ParseDuration reads it
	Size                    // bytes: an integer, or a string such as "10MB"
	TextOrTexts             // a string, or an array of strings
	Strings                 // a table of strings
	Any                     // a table of anything
	Table                   // the table Key.Sub
	Tables                  // tables of any name, each of them a Key.Sub
)

// A Key is a key of a matrix. The table of keys is all that decoding, suggestions, `dialect explain`, the
// reference page, the JSON Schema, and the completion and hover of an editor know of a key: a new one is
// added to the table and nowhere else.
type Key struct {
	Name     string
	In       Place // the tables that take it
	Type     Type
	Sub      Place    // of a Table or of Tables
	Values   []string // of a Word or Words
	Min, Max int64    // of an Integer or Integers
	Required bool
	Default  string   // what holds without the key, in words; empty for nothing
	Doc      string   // sentences
	Example  string   // a value, as TOML
	Kinds    Kinds    // the kinds of binding that it has an effect on; zero for all, and for keys of other tables
	Judges   bool     // it decides whether a line passes
	Binding  bool     // its strings name bindings
	Also     []string // what other runners call it

	// apply decodes a value; nil for what reader.table and reader.tool read.
	apply func(r *reader, t *target, v *tomltree.Value, where string)
}

// maxSetup bounds the commands of a setup, and the directories that it keeps.
const maxSetup = 16

// Kinds is a set of kinds of binding. The table of keys holds it, so that what a key does nothing for is
// diagnosed and documented from one place.
type Kinds uint8

// The kinds of binding, in the order of [Kinds.Names].
const (
	OnProcess Kinds = 1 << iota
	OnTask
	OnMCP
	OnBuiltin
	OnComposite
)

// What several keys apply to: a program that dialect runs, and whatever carries out a line.
const (
	onPrograms = OnProcess | OnTask
	onCalls    = onPrograms | OnMCP
	onLeaves   = onCalls | OnBuiltin
)

var kindNames = [...]struct {
	kind plan.Kind
	name string
}{{plan.Process, "a command line"}, {plan.Task, "a task"}, {plan.MCP, "an MCP tool"}, {plan.Builtin, "a built-in"}, {plan.Composite, "a composite"}}

// Names returns the kinds of k in words.
func (k Kinds) Names() (list []string) {
	for i, n := range kindNames {
		if k&(1<<i) != 0 {
			list = append(list, n.name)
		}
	}
	return list
}

// without returns the name of kind if k does not apply to it, else "".
func (k Kinds) without(kind plan.Kind) string {
	for i, n := range kindNames {
		if n.kind == kind && k != 0 && k&(1<<i) == 0 {
			return n.name
		}
	}
	return ""
}

// A target is what the keys of one table fill: those of its fields that the table has are set.
type target struct {
	doc     *document
	binding *Binding
	budget  *budget
	env     *map[string]string
	server  *draft
	agent   *Agent
}

// Keys returns all keys, by table in the order of [Places]. The caller must not change what they hold.
func Keys() []Key { return slices.Clone(keys) }

// KeysIn returns the keys of the tables p.
func KeysIn(p Place) (list []Key) {
	for _, k := range keys {
		if k.In&p != 0 {
			list = append(list, k)
		}
	}
	return list
}

// keyOf returns the key of the table p that is called name, or nil.
func keyOf(p Place, name string) *Key {
	for i := range keys {
		if keys[i].Name == name && keys[i].In&p != 0 {
			return &keys[i]
		}
	}
	return nil
}

// Bounds of what a matrix may say.
const (
	maxTailLines = 50 // the line-fault contract
	maxRetries   = 10
	maxPatterns  = 64 // of one binding, in one key
)

// keys is the table. It holds no call: Go would make it at each start of dialect.
var keys = []Key{
	// The file.
	{Name: "extends", In: InFile, Type: Texts, Example: `["python", "../base.toml"]`,
		Doc: "Packs of the stdlib, or paths of other matrices relative to this file. They are loaded before this file, in order; what is loaded later wins. The pack core is always loaded. All files together have at most 8 MiB.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if r.Is(v, where, tomltree.Array) {
				for _, item := range v.Items {
					if r.Is(item, "an item of extends", tomltree.String) {
						t.doc.extends = append(t.doc.extends, item)
					}
				}
			}
		}},
	{Name: "environment", In: InFile, Type: Texts, Example: `["TICKET"]`,
		Doc: "The variables of the environment that a script may read, as {env.NAME}.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			for i, name := range r.Strings(v, where) {
				if !template.IsName(name) || strings.ContainsAny(name, "-.") {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is not the name of an environment variable", name)
				} else {
					t.doc.environment = append(t.doc.environment, name)
				}
			}
		}},
	{Name: "commands", In: InFile, Type: Tables, Sub: InCommand,
		Doc: "The bindings: [commands.NAME] says what one verb and one noun run."},
	{Name: "defaults", In: InFile, Type: Table, Sub: InDefaults,
		Doc: "Defaults of all bindings; a key of the binding itself wins."},
	{Name: "run", In: InFile, Type: Table, Sub: InRun,
		Doc: "Which script a bare `dialect run` runs, the order of its lines, and bounds of the whole run."},
	{Name: "clean", In: InFile, Type: Table, Sub: InClean,
		Doc: "What commands get in a clean checkout (`dialect run --clean`) beside the files of the project and the system."},
	{Name: "engine", In: InFile, Type: Table, Sub: InEngine,
		Doc: "Other machines that carry out the lines of a run."},
	{Name: "verify", In: InFile, Type: Table, Sub: InVerify,
		Doc: "What `dialect verify` requires. It is read from the baseline, not from the changed files."},
	{Name: "hooks", In: InFile, Type: Table, Sub: InHooks,
		Doc: "What the hooks of coding agents do (`dialect hook`). It is read from the baseline, not from the changed files."},
	{Name: "limits", In: InFile, Type: Table, Sub: InLimits,
		Doc: "How many words and bindings a project should have at most. Beyond that `dialect check` warns: a small vocabulary is what makes the words reliable."},
	{Name: "aliases", In: InFile, Type: Table, Sub: InAliases,
		Doc: "Synonyms of verbs and nouns, for all bindings."},
	{Name: "vars", In: InFile, Type: Strings, Example: `{ ticket = "BD-12" }`,
		Doc: "Values of the variables that scripts use as {name}. `--set NAME=VALUE` wins over them.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if !r.Is(v, where, tomltree.Table) {
				return
			}
			for _, e := range v.Entries {
				if !template.IsName(strings.ReplaceAll(e.Key, ".", "_")) {
					r.Errorf(diag.BadValue, r.KeySpan(e), "%q is not the name of a variable", e.Key).
						Hint = "a name is of letters, digits, \"_\", \"-\" and \".\", and begins with a letter or \"_\""
				}
				r.Is(e.Value, where+"."+e.Key, tomltree.String)
			}
			t.doc.vars = v
		}},
	{Name: "servers", In: InFile, Type: Tables, Sub: InServer,
		Doc: "MCP servers. A server that no matrix declares is looked for in .mcp.json, .kilocode/mcp.json, .cursor/mcp.json and .vscode/mcp.json."},
	{Name: "agents", In: InFile, Type: Tables, Sub: InAgent,
		Doc: "Commands that carry out tasks (tool = \"new_task\"). A task whose target has no agent of its own goes to [agents.default]. Only a task without any agent is carried out by the script of its name (NAME.dlct beside the script)."},
	{Name: "meta", In: InFile, Type: Any, Example: `{ owner = "team" }`,
		Doc:   "Notes about the matrix in any form. dialect ignores it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { r.Is(v, where, tomltree.Table) }},

	// [commands.NAME]
	{Name: "verb", In: InCommand, Type: Text, Required: true, Example: `"test"`,
		Doc: "The verb of the lines that this binding runs. It begins with a letter and is compared in lower case.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Verb = r.pairWord(v, where, aVerb)
		}},
	{Name: "noun", In: InCommand, Type: Text, Required: true, Example: `"pytest"`,
		Doc: "The noun of the lines that this binding runs. Verb and noun together select the binding; the preposition does not. It cannot be a preposition.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Noun = r.pairWord(v, where, aNoun)
		}},
	{Name: "aliases", In: InCommand, Type: Texts, Example: `["tests"]`,
		Doc: "Further nouns that select this binding with its verb.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			for i, text := range r.Strings(v, where) {
				if r.word(text, r.ItemSpan(v, i), aNoun) {
					t.binding.Aliases = append(t.binding.Aliases, strings.ToLower(text))
				}
			}
		}},
	{Name: "prepositions", In: InCommand, Type: Words, Values: lang.Prepositions[:], Default: "all", Example: `["with"]`,
		Doc: "The prepositions that read well with this binding. `dialect check` warns about another one; it is accepted all the same. The tool gets it as {preposition}.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			for i, text := range r.Strings(v, where) {
				if lang.IsPreposition(text) {
					if text = strings.ToLower(text); !slices.Contains(t.binding.Prepositions, text) {
						t.binding.Prepositions = append(t.binding.Prepositions, text)
					}
					continue
				}
				d := r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is not a preposition", text)
				d.Hint = "prepositions: " + strings.Join(lang.Prepositions[:], ", ")
				if near := r.slips.Near(text, lang.Prepositions[:]); near != "" {
					didYouMean(d, near, fmt.Sprintf("%q", near))
				}
			}
		}},
	{Name: "tool", In: InCommand, Type: Text, Example: `".venv/bin/python -m pytest -q {args...}"`,
		Doc:  "What the binding runs: a command line, \"mcp:SERVER:TOOL\", \"new_task\" or \"builtin:NAME\". A command line is split into arguments once, by the quoting rules of the shell; no shell runs. {object}, {NAME}, {preposition} and {args...} are replaced by the values of the line, inside arguments; {{ is a brace. The program is looked up from the directory of the matrix.",
		Also: []string{"cmd", "command", "run", "exec", "script", "cmds"}},
	{Name: "shell", In: InCommand, Kinds: onLeaves, Type: Boolean, Default: "false", Example: `true`,
		Doc: "Run the tool as a script of /bin/sh. Values of the line arrive as $1, $2 and $@ only, never in the text of the script."},
	{Name: "arguments", In: InCommand, Kinds: OnMCP, Type: Any, Default: "the values of the line", Example: `{ id = "{id}", note = "closed" }`,
		Doc: "The arguments of an MCP tool. Strings may hold placeholders; a value fills part of a string and never becomes structure."},
	{Name: "composite", In: InCommand, Type: Texts, Binding: true, Example: `["check_ruff", "test_pytest"]`,
		Doc:  "The bindings that this one runs instead of a tool, by NAME; from 1 to 10000. If a binding has both, composite wins.",
		Also: []string{"steps", "members", "deps", "depends", "tasks"},
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.composite = r.Strings(v, where)
			if n := len(v.Items); v.Kind == tomltree.Array && (n == 0 || n > maxSteps) {
				r.Errorf(diag.BadValue, r.Span(v), "%s has %d members; a composite has 1 to %d", where, n, maxSteps)
				t.binding.composite = nil
			}
		}},
	{Name: "order", In: InCommand, Kinds: OnComposite, Type: Word, Values: []string{"parallel", "sequence"}, Default: "parallel if all members only read, else sequence", Example: `"sequence"`,
		Doc: "Whether the members of a composite run at the same time or one after the other.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.order = r.OneOf(v, where, "parallel", "sequence")
		}},
	{Name: "effect", In: InCommand, Type: Word, Values: []string{string(plan.Read), string(plan.Write)},
		Default: "read for a tool whose flags are known to make it only look (ruff format --check), else what the verb implies; a verb that is not in the vocabulary writes", Example: `"read"`,
		Doc: "Whether the tool changes state. A line that reads still runs after a failure, may run beside others, and may be reused; a line that writes never runs after a failure. A composite with a member that writes writes.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.effect = plan.Effect(r.OneOf(v, where, string(plan.Read), string(plan.Write)))
		}},
	{Name: "cwd", In: InCommand, Kinds: onPrograms, Type: Text, Default: "the directory of the matrix", Example: `"web"`,
		Doc:  "The directory that the tool runs in, relative to that of the matrix.",
		Also: []string{"dir", "workdir", "working_dir", "working-directory"},
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if t.binding.Dir = r.String(v, where); strings.Contains(t.binding.Dir, "\x00") || v.Text == "" && v.Kind == tomltree.String {
				r.Errorf(diag.BadValue, r.Span(v), "%s is not a path", where)
			}
		}},
	{Name: "env", In: InCommand, Kinds: onPrograms, Type: Strings, Example: `{ GOFLAGS = "-mod=readonly" }`,
		Doc: "Variables of the tool's environment, over those of [defaults]. A verdict judges two bindings that run the same command with different variables separately, and so the runs that they start.", Also: []string{"environment"}, apply: applyEnv},
	{Name: "flags", In: InCommand, Kinds: onLeaves, Type: Boolean, Default: "false", Example: `true`,
		Doc:   "Accept values that begin with \"-\". Without it such a value is an error, since an option like --version could turn a check into a pass.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Flags = r.Bool(v, where) }},
	{Name: "expect", In: InCommand, Kinds: onCalls, Judges: true, Type: Table, Sub: InExpect, Example: `{ min_tests = 1 }`,
		Doc: "What a pass needs, beside the exit status."},
	{Name: "control", In: InCommand, Kinds: OnProcess, Type: Table, Sub: InControl, Default: "that of the pack whose tool it runs", Example: `{ file = "src/app.py", text = "dialect_control_{nonce}" }`,
		Doc: "How `dialect prove` breaks a file, in a clean checkout, to see whether the tool notices: it must refuse, and name the file, the test or the nonce."},
	{Name: "timeout", In: InCommand | InDefaults, Kinds: onCalls, Type: Duration, Default: `"10m"; none for a composite`, Example: `"3m"`,
		Doc: "How long the tool may run (wall clock); then its whole process group is killed. \"0\" is unbounded.", apply: applyTimeout},
	{Name: "stall", In: InCommand | InDefaults, Kinds: onCalls, Type: Duration, Default: "unbounded", Example: `"90s"`,
		Doc: "How long the tool may print nothing; then it is killed. Many tools are quiet while they work.", apply: applyStall},
	{Name: "max_output", In: InCommand | InDefaults, Kinds: onCalls, Type: Size, Default: "unbounded", Example: `"10MB"`,
		Doc: "How many bytes the tool may print, both streams together; then it is killed.", apply: applyMaxOutput},
	{Name: "tail_lines", In: InCommand | InDefaults, Type: Integer, Max: maxTailLines, Default: "20", Example: `40`,
		Doc: "How many lines of the output a report of a failure shows.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if n, ok := r.Integer(v, where, 0, maxTailLines); ok {
				t.budget.tail = new(int(n))
			}
		}},
	{Name: "retries", In: InCommand | InDefaults, Kinds: onCalls, Type: Integer, Max: maxRetries, Default: "0", Example: `1`,
		Doc: "How often the tool is run again after a failure. Each attempt has its receipt; a pass after a failure is flaky.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if n, ok := r.Integer(v, where, 0, maxRetries); ok {
				t.budget.retries = new(int(n))
			}
		}},
	{Name: "when", In: InCommand, Type: Word, Values: []string{"failure"}, Default: "always", Example: `"failure"`,
		Doc: "\"failure\" runs the line only after a line has failed.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.WhenFailure = r.OneOf(v, where, "failure") != ""
		}},
	{Name: "finally", In: InCommand, Type: Boolean, Default: "false", Example: `true`,
		Doc:   "Always run, also after failures. A member of a composite runs after all others.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Finally = r.Bool(v, where) }},
	{Name: "exclusive", In: InCommand, Type: Text, Example: `"test-db"`,
		Doc: "The name of a lock. Bindings with the same name never run at the same time, in any run of the project; with --engine temporal, in any run of the namespace. A run that a line with a lock started waits two minutes at most for another lock.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Exclusive = r.lockName(v, where)
		}},
	{Name: "queue", In: InCommand, Kinds: OnProcess | OnMCP | OnComposite, Type: Text, Default: "the task queue of the run", Example: `"gpu"`,
		Doc:   "With --engine temporal: the task queue whose workers carry the line out; the queue of a composite applies to members that name none. A run on this machine ignores it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Queue = r.queueName(v, where) }},
	{Name: "junit", In: InCommand, Kinds: onPrograms, Judges: true, Type: Text, Example: `"build/test-results/*.xml"`,
		Doc: "A path or pattern, relative to the directory that the tool runs in, of JUnit XML files that it writes. Tests are counted there instead of in the output; one that failed there fails the line, whatever the exit status. Lines of a run whose patterns may name the same file do not run at the same time.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			text := r.String(v, where)
			if _, err := filepath.Match(text, ""); err != nil || v.Kind == tomltree.String && text == "" || strings.ContainsRune(text, 0) {
				r.Errorf(diag.BadValue, r.Span(v), "%q is not a path, nor a pattern of paths", text).Hint = "for example \"build/test-results/*.xml\""
				return
			}
			t.binding.Expect.JUnit = text
		}},
	{Name: "problems", In: InCommand, Kinds: onPrograms, Type: Texts, Example: `['^ERR (?P<file>\S+):(?P<line>\d+) (?P<message>.*)']`,
		Doc: "Regular expressions (RE2) that find the first error in the output, with the groups file, line, column and message; file or message must be there.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			for i, text := range r.Strings(v, where) {
				if err := checkProblem(text); err != nil {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%s: %v", where, err).
						Hint = "write a regular expression (RE2) with the groups (?P<file>...), (?P<line>...), (?P<column>...) and (?P<message>...), of which file or message must be there"
					continue
				}
				t.binding.Expect.Problems = append(t.binding.Expect.Problems, text)
			}
		}},
	{Name: "receipt_required", In: InCommand, Type: Boolean, Default: "false", Example: `true`,
		Doc: "The gate refuses without a receipt of this binding. Values of a line are then not appended to a tool without placeholders.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.ReceiptRequired = r.Bool(v, where)
		}},
	{Name: "expected_receipt_fields", In: InCommand, Kinds: onCalls, Type: Texts, Example: `["result.id"]`,
		Doc: "Fields that the tool's own receipt must have, as paths with dots.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Expect.Fields = r.Strings(v, where)
			for i, f := range t.binding.Expect.Fields {
				if !fieldPath().MatchString(f) {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is not a path of a receipt's field", f).Hint = "a path has names with dots between: \"result.id\""
				}
			}
		}},
	{Name: "reuse", In: InCommand, Type: Boolean, Default: "false", Example: `true`,
		Doc:   "`dialect run --reuse` may use an earlier pass on the same files, inputs, command, environment and matrix instead of running the tool. Only a process that only reads can be reused.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Reuse = r.Bool(v, where) }},
	{Name: "secrets", In: InCommand, Type: Texts, Example: `["token"]`,
		Doc:   "Placeholders whose values dialect never shows, logs or records; a variable of the environment is hidden by its own name, as API_TOKEN is. Command lines that differ only in these values are the same command.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Secrets = r.Strings(v, where) }},
	{Name: "pins", In: InCommand, Type: Texts, Example: `["conftest.py", "Makefile"]`,
		Doc: "Files that are part of the policy, relative to the directory of the matrix: `dialect verify` refuses if one differs from the baseline, and a run does not pass if one is ignored, since then no snapshot sees it change. Pin what could turn the check into `true`; at most 16 MiB a file, and 64 MiB all together. One that cannot be read is an error; a missing one is a warning.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Pins = r.Strings(v, where)
			for i, p := range t.binding.Pins {
				if p == "" || strings.ContainsRune(p, 0) {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is not a path of a file", p)
				}
			}
		}},
	{Name: "inputs", In: InCommand, Kinds: onCalls, Type: Texts, Example: `["node_modules/.package-lock.json", ".venv/**/RECORD"]`,
		Doc: "Files outside the project's tree (ignored by git) that decide the result, as paths or patterns below the directory of the matrix; ** is any number of directories. The receipt has one digest of them; at most 64 patterns.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Inputs = r.patterns(v, where, "be an input", "\"node_modules/.package-lock.json\", \".venv/**/RECORD\"")
		}},
	{Name: "files", In: InCommand, Kinds: OnProcess, Type: Texts, Example: `["**/*.go", "go.*"]`,
		Doc: "All files of the project that the verdict is about, as patterns below the directory of the matrix; ** is any number of directories. `dialect run --changed` leaves the line out while they are as they were at its last pass. Name all files that the tool reads, its configuration too: if this binding forgets a file that another line names, the file can change without a new run. Only a tool that only reads takes part; at most 64 patterns.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Files = r.patterns(v, where, "name files", "\"**/*.go\", \"pyproject.toml\"")
		}},
	{Name: "hint", In: InCommand, Type: Text, Example: "\"run `make venv` first\"",
		Doc:   "What to do when the line fails; it is printed with the failure.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Hint = r.String(v, where) }},
	{Name: "install", In: InCommand, Type: Text, Example: "\"run `npm ci`\"",
		Doc:   "How the tool is installed; it is printed only if the tool is missing.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Install = r.String(v, where) }},
	{Name: "skill", In: InCommand, Type: Text, Example: `"quality-gates"`,
		Doc:   "The skill (SKILL.md) that explains the line to an agent, of the project or of the stdlib: `dialect explain --skill`.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Skill = r.String(v, where) }},
	{Name: "deprecated", In: InCommand, Type: Boolean, Default: "false", Example: `true`,
		Doc:   "`dialect check` warns about lines that use this binding, with the first line of its notes.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Deprecated = r.Bool(v, where) }},
	{Name: "notes", In: InCommand, Type: Text, Example: `"needs the database"`,
		Doc:   "Notes for readers; an editor shows them.",
		Also:  []string{"description", "desc", "doc"},
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Notes = r.String(v, where) }},
	{Name: "target_mode", In: InCommand, Kinds: OnTask, Type: Text, Default: "the noun", Example: `"fitter"`,
		Doc:   "The agent of a task (tool = \"new_task\"): the NAME of its [agents.NAME].",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.TargetMode = r.String(v, where) }},
	{Name: "contract", In: InCommand, Kinds: OnTask, Type: Text, Example: `"contracts/fitter.md"`,
		Doc:   "The path of what the agent of a task must hand back; the agent gets it as {contract}.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.binding.Contract = r.String(v, where) }},
	{Name: "gate_wrapper", In: InCommand, Type: Text, Example: `"bounded_gate.py"`,
		Doc:   "The wrapper that other runners put around the tool. It is never run.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { r.Is(v, where, tomltree.String) }},

	// [commands.NAME.expect]
	{Name: "exit_codes", In: InExpect, Kinds: onPrograms, Judges: true, Type: Integers, Max: 255, Default: "[0]", Example: `[0, 20]`,
		Doc: "The exit statuses that pass. Without it a line whose tool says that tests failed, and exits 0, fails.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if !r.Is(v, where, tomltree.Array) {
				return
			}
			for i, item := range v.Items {
				if n, ok := r.Integer(item, fmt.Sprintf("%s[%d]", where, i), 0, 255); ok {
					t.binding.Expect.ExitCodes = append(t.binding.Expect.ExitCodes, int(n))
				}
			}
			if len(v.Items) == 0 {
				r.Errorf(diag.BadValue, r.Span(v), "%s is empty: nothing could pass", where)
			}
		}},
	{Name: "min_tests", In: InExpect, Kinds: onPrograms, Judges: true, Type: Integer, Max: math.MaxInt32, Default: "1 where the output has a count of tests", Example: `1`,
		Doc: "How many tests must have run; fewer are the fault \"vacuous\". 0 accepts a run without tests. Without this key, a run fails if its runner says that no test ran. dialect knows the words of about ninety runners, among them those of Go, Python, Rust, JavaScript, Java, .NET, Ruby, Elixir, PHP, Swift, C and C++. A command that says nothing about tests, such as a script of your own, passes without them, and so does a build that has no tests (`mvn verify`, `gradle build`), unless you set a number here.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if n, ok := r.Integer(v, where, 0, math.MaxInt32); ok {
				if t.binding.Expect.MinTests = int(n); n == 0 {
					t.binding.Expect.MinTests = -1 // said, and not merely left out
				}
			}
		}},
	{Name: "stdout", In: InExpect, Kinds: onCalls, Judges: true, Type: Text, Example: `""`,
		Doc: "A regular expression (RE2) that the standard output must match, which then has at most 16 MiB; \"\" accepts no output at all, as of gofmt -l.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			x := &t.binding.Expect
			x.Stdout = r.String(v, where)
			x.EmptyStdout = v.Kind == tomltree.String && x.Stdout == ""
			if _, err := regexp.Compile(x.Stdout); err != nil {
				r.Errorf(diag.BadValue, r.Span(v), "%s: %s", where, strings.TrimPrefix(err.Error(), "error parsing regexp: ")).
					Hint = "it is a regular expression (RE2); \"\" means no output at all"
				x.Stdout = ""
			}
		}},

	// [commands.NAME.control]
	{Name: "file", In: InControl, Type: TextOrTexts, Required: true, Example: `["src/**/*.py", "app.py"]`,
		Doc: "The file to break, or patterns of files, below the directory of the matrix, of which a nonce chooses one; ** is any number of directories. Files that the passing run names come first. A name without pattern characters need not exist.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if v.Kind == tomltree.String {
				if err := plan.CheckInput(v.Text); err != nil {
					r.Errorf(diag.BadValue, r.Span(v), "%q cannot name files: %v", v.Text, err)
				}
				t.binding.Control.Files = []string{v.Text}
				return
			}
			if t.binding.Control.Files = r.patterns(v, where, "name files", "\"src/**/*.py\""); v.Kind == tomltree.Array && len(v.Items) == 0 {
				r.Errorf(diag.BadValue, r.Span(v), "%s is empty: nothing could be broken", where)
			}
		}},
	{Name: "text", In: InControl, Type: Text, Required: true, Example: `"import dialect_control_{nonce}"`,
		Doc: "The text that breaks the file, as lines at its end. {nonce} stands for letters that no earlier run has seen: put them where the tool prints them.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if t.binding.Control.Text = r.String(v, where); v.Kind == tomltree.String && v.Text == "" {
				r.Errorf(diag.BadValue, r.Span(v), "%s is empty: nothing would be broken", where)
			}
		}},
	{Name: "after", In: InControl, Type: Text, Default: "the end of the file", Example: `'(?m)^func (?P<name>Test\w*)\((\w+) \*testing\.T\) \{'`,
		Doc: "A regular expression (RE2): the text is put after one of its matches instead, and can use its groups as $1 or ${name}; $$ is a dollar sign. The group name is the name of the test that is broken, which the refusal must name.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Control.After = r.regexp(v, where)
		}},
	{Name: "unlike", In: InControl, Type: Text, Example: `"\\[build failed\\]"`,
		Doc: "A regular expression (RE2) that a refusal of another kind matches, such as a syntax error where a test has to fail: then the line counts as not tested.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.binding.Control.Unlike = r.regexp(v, where)
		}},
	{Name: "tool", In: InControl, Type: TextOrTexts, Default: "this binding alone", Example: `"go vet"`,
		Doc: "Consecutive words of a command line that runs this tool. Other bindings that run it get this control, unless they have their own.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if v.Kind == tomltree.String {
				t.binding.Control.Tools = []string{v.Text}
			} else {
				t.binding.Control.Tools = r.Strings(v, where)
			}
		}},

	// [defaults], beside the budgets above.
	{Name: "env", In: InDefaults, Type: Strings, Example: `{ LC_ALL = "C.UTF-8" }`,
		Doc: "Variables of the environment of each tool. A variable that a binding sets itself wins.", Also: []string{"environment"}, apply: applyEnv},
	{Name: "caches", In: InDefaults, Type: Texts, Example: `[".turbo"]`,
		Doc: "Names of directories that are not part of the project's files, wherever they are, beside .dialect, .mypy_cache, .pytest_cache, .ruff_cache and __pycache__. They may exist before a run, as files may that a tracked .gitignore names. Of .mypy_cache and the like, unless they are named here, `dialect verify --tree` says that a clone lacks them.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			for i, name := range r.Strings(v, where) {
				if name == "" || name == "." || name == ".." || name == ".git" || strings.ContainsAny(name, "/\\\x00") {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is not the name of a directory", name)
					continue
				}
				t.doc.caches = append(t.doc.caches, name)
			}
		}},

	// [run]
	{Name: "default", In: InRun, Type: Text, Default: "quality.dlct, or else the only script", Example: `"ci/all.dlct"`,
		Doc: "The script that `dialect run` runs if none is named, as a path below the directory of the matrix.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if t.doc.script = r.String(v, where); v.Kind == tomltree.String && (!filepath.IsLocal(filepath.FromSlash(t.doc.script)) || path.Ext(t.doc.script) != ".dlct") {
				r.Errorf(diag.BadValue, r.Span(v), "%q is not a script below the directory of the matrix", t.doc.script).Hint = "a script is a file NAME.dlct"
				t.doc.script = ""
			}
		}},
	{Name: "order", In: InRun, Type: Word, Values: []string{"parallel", "sequence"}, Default: "sequence", Example: `"parallel"`,
		Doc: "Whether adjacent lines of a script that only read run at the same time. A line that writes, a gate, and a line that runs only after a failure wait for all lines before them in any case.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.order = r.OneOf(v, where, "parallel", "sequence")
		}},
	{Name: "timeout", In: InRun, Type: Duration, Default: "unbounded", Example: `"20m"`,
		Doc: "How long a whole run may take. `dialect run --timeout` wins over it.", apply: applyTimeout},
	{Name: "stall", In: InRun, Type: Duration, Default: "unbounded", Example: `"5m"`,
		Doc: "How long no tool of a run may print anything. `dialect run --stall` wins over it.", apply: applyStall},
	{Name: "max_output", In: InRun, Type: Size, Default: "unbounded", Example: `"1GB"`,
		Doc: "How many bytes all tools of a run may print together. `dialect run --max-output` wins over it.", apply: applyMaxOutput},

	{Name: "clean", In: InRun, Type: Boolean, Default: "false", Example: `true`,
		Doc: "Run the commands in a checkout of exactly the project's files, apart from the working tree, as `dialect run --clean` does. `dialect run --in-place` wins over it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			clean := r.Bool(v, where)
			t.doc.clean.run = &clean
		}},

	// [clean]
	{Name: "env", In: InClean, Type: Texts, Example: `["DATABASE_URL"]`,
		Doc: "Names of variables of the environment that commands get in a clean checkout. Without it they get only those that describe the user and the machine, such as PATH, LANG and the proxies.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			for i, name := range r.Strings(v, where) {
				if !template.IsName(name) {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q cannot be the name of an environment variable", name)
					continue
				}
				t.doc.clean.env = append(t.doc.clean.env, name)
			}
		}},

	{Name: "share", In: InClean, Type: Texts, Example: `[".venv", "~/.cargo"]`,
		Doc: "Directories and files of the machine that commands see in a clean checkout; changes to them are dropped, and files that are named themselves are read-only. Name what is installed beside the project's files, such as .venv or node_modules, by a path relative to this file; and tools and caches elsewhere by an absolute path or one that begins with ~/. The user can change them, so a verdict names them, and `dialect verify --clean` refuses it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			for i, name := range r.Strings(v, where) {
				rel, home := strings.CutPrefix(name, "~/")
				if local := filepath.IsLocal(rel) && filepath.Clean(rel) != "."; strings.ContainsRune(name, 0) || !local && (home || !filepath.IsAbs(name)) {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is neither below this file's directory or the home directory nor an absolute path", name)
					continue
				}
				t.doc.clean.share = append(t.doc.clean.share, name)
			}
		}},
	{Name: "setup", In: InClean, Type: TextOrTexts, Example: `"npm ci"`,
		Doc: "Command lines that install dependencies in a clean checkout, one after the other; no shell runs them. They see only the files that `locks` names, and the network, and get the variables of [defaults] and of `env`. dialect keeps the files that they leave in the project, if git ignores them, and in the directories of `keep`, and gives them to later runs with the same bytes in those files, the same commands and the same tools. `dialect verify` names them.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			lines := v.Items
			if v.Kind == tomltree.String {
				lines = []*tomltree.Value{v}
			} else if !r.Is(v, where, tomltree.Array) {
				return
			}
			c := &t.doc.clean
			c.setupAt = v
			for _, line := range lines {
				command := r.template(line, where)
				switch {
				case command == nil:
				case !command.Fixed():
					r.Errorf(diag.BadValue, r.Span(line), "%q has a placeholder, and nothing fills it: a setup has no line", line.Text)
				case len(command.Marks()) > 0:
					r.Errorf(diag.BadValue, r.Span(line), "%q holds %s, which only a shell acts on", line.Text, command.Marks()[0].Text).
						Hint = "write each command as a string of its own: setup = [\"corepack enable\", \"pnpm install --frozen-lockfile\"]"
				default:
					c.setup = append(c.setup, plan.Command{Text: line.Text, Argv: command.Argv(nil, nil)})
				}
			}
			if len(lines) == 0 || len(lines) > maxSetup {
				r.Errorf(diag.BadValue, r.Span(v), "%s has %d commands; a setup has 1 to %d", where, len(lines), maxSetup)
			}
		}},
	{Name: "locks", In: InClean, Type: Texts, Example: `["package.json", "package-lock.json"]`,
		Doc: "The files of the project that decide what `setup` installs, as paths or patterns below the directory of the matrix; ** is any number of directories. The commands of `setup` see only these files. While the bytes of all of them are the same, `setup` does not run again; at most 64 patterns.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.clean.locksAt, t.doc.clean.locks = v, r.patterns(v, where, "be a lock file", "\"package.json\", \"**/package.json\"")
		}},
	{Name: "keep", In: InClean, Type: Texts, Default: "what is in the project", Example: `["~/go/pkg/mod"]`,
		Doc: "Directories below the home directory in which `setup` installs, each beginning with ~/. Other files that it leaves in the home directory are dropped.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.clean.keepAt = v
			for i, name := range r.Strings(v, where) {
				rel, home := strings.CutPrefix(name, "~/")
				if !home || !filepath.IsLocal(rel) || filepath.Clean(rel) == "." || strings.ContainsRune(name, 0) {
					r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q is not below the home directory: it has to begin with ~/", name)
					continue
				}
				t.doc.clean.keep = append(t.doc.clean.keep, path.Clean(rel))
			}
			if len(t.doc.clean.keep) > maxSetup {
				r.Errorf(diag.BadValue, r.Span(v), "%s has %d directories; a setup has at most %d", where, len(t.doc.clean.keep), maxSetup)
			}
		}},

	// [engine]
	{Name: "temporal", In: InEngine, Type: Table, Sub: InTemporal,
		Doc: "Settings of `dialect run --engine temporal`; a flag wins over them. See `dialect help temporal`."},

	// [engine.temporal]
	{Name: "address", In: InTemporal, Type: Text, Default: "TEMPORAL_ADDRESS", Example: `"temporal.example.org:7233"`,
		Doc: "The address of the Temporal server, HOST:PORT. `--address` wins over it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.temporal.Address = r.String(v, where)
		}},
	{Name: "namespace", In: InTemporal, Type: Text, Default: "TEMPORAL_NAMESPACE", Example: `"quality"`,
		Doc: "The namespace of the Temporal server. `--namespace` wins over it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.temporal.Namespace = r.String(v, where)
		}},
	{Name: "task_queue", In: InTemporal, Type: Text, Example: `"dialect"`,
		Doc:   "The task queue whose workers carry out the lines. `--task-queue` wins over it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.doc.temporal.Queue = r.String(v, where) }},
	{Name: "remote", In: InTemporal, Type: Text, Example: `"ssh://git@example.org/depot.git"`,
		Doc: "The git repository that carries the files to the workers: a URL, or the path of a bare repository. `--remote` wins over it.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.temporal.Remote = r.String(v, where)
		}},
	{Name: "keys", In: InTemporal, Type: Texts, Example: `["worker+684ce579+AZlDKUl/0QvdGdEvDoYawfx4v1Q/s4UgdS6lb0vjGm3o"]`,
		Doc:   "The public keys of the workers whose receipts are accepted (`dialect receipts keygen`). `--worker-key` wins over them.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.doc.temporal.Keys = r.Strings(v, where) }},
	{Name: "send_untracked", In: InTemporal, Type: Boolean, Default: "false", Example: `true`,
		Doc: "Whether files that git does not track are sent to the workers, too, as `--send-untracked` does.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.temporal.Untracked = r.Bool(v, where)
		}},

	// [verify]
	{Name: "require", In: InVerify, Type: Texts, Binding: true, Default: "nothing", Example: `["quality"]`,
		Doc: "The bindings that `dialect verify` requires if it is given no --require: a NAME, a noun, a verb, or \"verb noun\". If another line of the same script failed on these files after it had passed, `dialect verify` refuses as well; other failures are notes.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.require, t.doc.requireAt = r.Strings(v, where), v
		}},

	{Name: "scoped", In: InVerify, Type: Boolean, Default: "false", Example: `true`,
		Doc:   "Whether VERIFIED FOR CHANGED PATHS, which rests on `files` of the bindings, is enough for `dialect verify` with --require, --base, --key or --since, and under CI. It is read from the baseline.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.doc.scoped = new(r.Bool(v, where)) }},
	// [hooks]
	{Name: "ignore", In: InHooks, Type: Texts, Default: "nothing", Example: `["*.md", "docs/"]`,
		Doc: "Patterns, as in a .gitignore beside the matrix, of files that need no check: if an agent changed no other file, it is not held when it stops.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.doc.hooksIgnore, t.doc.hooksIgnoreAt = r.Strings(v, where), v
		}},
	{Name: "run", In: InHooks, Type: Duration, Default: "nothing is run", Example: `"30s"`,
		Doc: "Run the default script if an agent stops on files that nothing checked. The value is the time limit, at most 30 s. It takes effect only if you pinned the rules with `dialect trust`: clients start hooks outside of their sandboxes. A script that took longer the last time is not started.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			d := r.duration(v, where)
			if d != nil && *d > MaxHooksRun {
				r.Errorf(diag.BadValue, r.Span(v), "%s cannot be %q", where, v.Text).Hint = "write at most \"30s\": clients end a hook that takes longer than a minute"
				return
			}
			t.doc.hooksRun = d
		}},

	// [limits]
	{Name: "verbs", In: InLimits, Type: Integer, Max: math.MaxInt32, Default: "15", Example: `20`, Doc: "How many verbs the project may bind.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { r.limit(&t.doc.limits[0], v, where) }},
	{Name: "nouns", In: InLimits, Type: Integer, Max: math.MaxInt32, Default: "15", Example: `20`, Doc: "How many nouns the project may bind.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { r.limit(&t.doc.limits[1], v, where) }},
	{Name: "bindings", In: InLimits, Type: Integer, Max: math.MaxInt32, Default: "50", Example: `80`, Doc: "How many bindings the project may have.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { r.limit(&t.doc.limits[2], v, where) }},

	// [aliases]
	{Name: "verbs", In: InAliases, Type: Strings, Example: `{ verify = "check" }`, Doc: "Synonyms of verbs: each key means the verb that is its value.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.doc.verbs = r.aliases(v, where, aVerb) }},
	{Name: "nouns", In: InAliases, Type: Strings, Example: `{ tests = "pytest" }`, Doc: "Synonyms of nouns: each key means the noun that is its value.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.doc.nouns = r.aliases(v, where, aNoun) }},

	// [servers.NAME]
	{Name: "command", In: InServer, Type: Text, Example: `"python3 server.py"`,
		Doc: "The command line that starts the server; dialect speaks to it over stdin and stdout. It has no placeholders.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if c := r.template(v, where); c != nil {
				if len(c.Names()) > 0 || c.Rest() {
					r.Errorf(diag.BadTemplate, r.Span(v), "%s holds a placeholder: a server is started before any line", where)
				}
				t.server.Argv = c.Argv(func(string) string { return "" }, nil)
			}
		}},
	{Name: "args", In: InServer, Type: Texts, Example: `["--stdio"]`, Doc: "Further arguments of the command.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.server.args = r.Strings(v, where) }},
	{Name: "env", In: InServer, Type: Strings, Example: `{ TOKEN = "${TRACKER_TOKEN}" }`,
		Doc: "Variables of the server's environment.", Also: []string{"environment"}, apply: applyEnv},
	{Name: "url", In: InServer, Type: Text, Example: `"https://mcp.example.com/"`, Doc: "The address of a server that is reached over HTTP, instead of a command. Redirects to another host are not followed.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.server.URL = r.String(v, where) }},
	{Name: "headers", In: InServer, Type: Strings, Example: `{ Authorization = "Bearer ${TOKEN}" }`, Doc: "Headers of each request to the url.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.server.Headers = r.StringTable(v, where)
		}},
	{Name: "disabled", In: InServer, Type: Boolean, Default: "false", Example: `true`, Doc: "Do not use the server: lines that need it end in not_configured.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) { t.server.Disabled = r.Bool(v, where) }},

	// [agents.NAME]
	{Name: "command", In: InAgent, Type: Text, Required: true, Example: `"claude -p {prompt}"`,
		Doc: "The command line of the agent. It may use {object}, {mode}, {contract}, {prompt}, {preposition} and {args...}; a placeholder that the line does not set is empty.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			t.agent.Command = r.template(v, where)
			if t.agent.Command == nil {
				return
			}
			for _, name := range t.agent.Command.Names() {
				if !slices.Contains(agentNames, name) {
					r.Errorf(diag.BadTemplate, r.Span(v), "{%s} means nothing in %s", name, where).
						Hint = "placeholders: {" + strings.Join(agentNames, "} {") + "} {preposition} {args...}"
				}
			}
		}},
	{Name: "require", In: InAgent, Type: TextOrTexts, Binding: true, Example: `"quality"`,
		Doc: "The bindings that the gate which the agent hands back must cover. Without it the agent's answer is accepted without proof, and `dialect check` warns.",
		apply: func(r *reader, t *target, v *tomltree.Value, where string) {
			if v.Kind == tomltree.String {
				t.agent.Require = []string{v.Text}
			} else {
				t.agent.Require = r.Strings(v, where)
			}
		}},
}
