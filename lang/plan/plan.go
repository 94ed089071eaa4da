// Package plan holds a bound program as plain data: what package resolve makes
// of a script and a routing matrix, and the only input of the runtime. A plan is
// complete: anyone who has it needs neither the script nor the matrix to run it. It
// is not changed once made.
package plan

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
)

// A Plan is a bound script.
type Plan struct {
	Script Script
	Matrix Matrix
	Steps  []*Step // the lines of the script, in order

	// Budget bounds the run as a whole: its wall clock, the time without a byte of
	// output of any step while one runs, and the output of all steps together.
	Budget Budget

	Parallel bool // adjacent steps that only read run at the same time

	// Named are the patterns of files of all lines of the script, also of those that Steps leave out.
	Named []string

	Servers map[string]Server // MCP servers that the matrix declares; nil for none

	Sets   []map[string]string // variables: of the script, of the matrix, and of the environment of each of its bindings, also of those that Steps leave out
	Hidden []string            // those of the script, and the values of lines that Steps leaves out, that the matrix declares as secret
}

// A Server says how to reach an MCP server: a command that speaks over its
// standard input and output, or a URL. Texts may hold ${VAR} and ${VAR:-default}, which the
// runtime replaces: what they stand for is in no plan.
type Server struct {
	Argv     []string
	Env      map[string]string
	URL      string
	Headers  map[string]string // of requests to URL
	Disabled bool
	Origin   string // the file that says so, as the user would name it
}

// A Script says where the steps came from.
type Script struct {
	Name   string // as the user named it; "-" for standard input, "-e" for a line of the command line
	Path   string // absolute; empty where there is no file
	SHA256 string // of the whole text, 64 hex digits
	Part   bool   // true if not all of its lines were asked for (FILE:LINE, -e), or not with the values that the matrix gives
	Whole  bool   // true if all lines were asked for, and no variable was set beside the script

	Flags []string // of the command line, that a run of one of its lines again needs; nil for none
}

// MatrixFile is the name of a routing matrix, unless the user names another.
const MatrixFile = "routing.toml"

// A Matrix says which routing matrix bound the steps.
type Matrix struct {
	Name   string // as the user would name it, for messages
	Path   string // absolute
	Root   string // absolute directory of the root matrix: tools run here
	Folder string // absolute: the nearest routing.toml for it decides Root; empty where the path of the matrix does
	SHA256 string // over the matrix, all that it extends and the pinned files, 64 hex digits

	Files  []File   // what the rules are made of, sorted by path
	Caches []string // names of directories that are not part of the project's files
	Clean  Clean

	Inputs map[string][]string // of each binding that names inputs, its patterns; see [Step]
	Scopes map[string][]string // of each binding that names files, its patterns; likewise

	Retries map[string]bool   // the bindings with retries
	Env     map[string]string // a digest of the variables of each that sets some
}

// A Clean says how commands run in a clean checkout.
type Clean struct {
	Run bool     // they do, unless the command line says otherwise
	Env []string // names of variables that commands get beside those of the machine
	// Share are directories and files of the machine that commands see: relative to the root of the matrix, or
	// absolute, or below the home directory with "~/" before it.
	Share []string

	// Setup are commands that install what the files in Locks ask for, before others run. Locks are patterns below the root of
	// the matrix; Keep are directories below the home directory, with slashes, in which they install as well.
	Setup       []Command
	Locks, Keep []string
	Vars        map[string]string // of the environment of Setup, as [defaults] sets them
}

// A Command is a command line of the matrix.
type Command struct {
	Text string // as the matrix has it
	Argv []string
}

// A File is a file that the rules are made of, as it was when the matrix was loaded: a matrix, a
// configuration of MCP servers, or a file that a binding pins. It was read once; anyone who asks
// whether it is the trusted one compares these bytes, and does not read the file again.
type File struct {
	Path    string // absolute
	Name    string // relative to Matrix.Root, with slashes
	Pin     bool   // no matrix: a binding pins it
	By      string // the first binding that pins it; empty for none, or for one of an inner matrix
	Absent  bool   // it was looked for, and is not there
	Problem string // why it could not be read; empty if it was, or is absent
	Content []byte // nil if absent or not read
	SHA256  [32]byte
	Own     bool // Content was read from a commit of the repository
}

// A Kind says what carries a step out.
type Kind string

// The kinds of step.
const (
	Process   Kind = "process"   // Argv is executed
	Composite Kind = "composite" // Members are
	Builtin   Kind = "builtin"   // a handler of the runtime, named by Target
	MCP       Kind = "mcp"       // Target is "server:tool", Values are its arguments
	Task      Kind = "task"      // new_task: another script or agent
)

// The built-in handlers, as the Target of a step of kind Builtin.
const (
	GateResults     = "gate"     // consume the receipts of the lines above
	ValidateReceipt = "validate" // check the receipts that the values name
)

// An Effect says whether a step only reads, or changes state. A step that writes
// does not run after a failure.
type Effect string

// The effects of a step.
const (
	Read  Effect = "read"
	Write Effect = "write"
)

// A Step is a bound line, or a member of a composite.
type Step struct {
	ID   string // position in the script: "3" for the third command, "3.2" for its second member
	Line Line

	Binding     string // name of the binding, the key below [commands]
	Verb        string
	Noun        string // canonical: aliases are resolved
	Preposition string // lower case; empty in the short form
	Values      []Value

	Kind   Kind
	Target string   // for Builtin, MCP and Task (the name of the agent)
	Argv   []string // for Task: the agent's command, nil if none is configured; for Builtin: Target and its values; for Process: the template after substitution, before PATH look-up; for a shell step sh, -c, the script, sh, the values
	Same   []string // what [Step.Identity] is, where Values has secrets
	Shell  bool     // the matrix asked for a shell

	Arguments string   // for MCP: the JSON object that the matrix makes of the values; empty: the values are the arguments
	Require   []string // for Task: bindings that the gate which an agent hands back must cover
	Contract  string   // for Task: path, as in the matrix, of what must be handed back; empty for none

	Members  []*Step // for Composite
	Parallel bool    // members run at the same time

	Dir string            // absolute working directory
	Env map[string]string // set by the matrix; nil for none

	Effect          Effect
	ReceiptRequired bool   // the gate insists on this step's receipt
	Reuse           bool   // an earlier pass on the same tree may stand for it, if the run wants that
	WhenFailure     bool   // runs only after a failure
	Finally         bool   // runs in any case; as a member, after the others
	Exclusive       string // name of what is never worked on by two at once; empty for nothing
	Queue           string // of the workers that carry it out, where the run has workers; empty for that of the run
	Budget          Budget
	Expect          Expect
	Inputs          []string // patterns of files outside of the tree that decide, relative to the root of the matrix; see [CheckInput]
	Files           []string // patterns of the files of the project that the verdict is about, likewise; none if the step may write
	Skill           string
	Hint            string  // printed when the step fails
	Install         string  // printed when its tool is missing
	Control         Control // how its binding says that it is broken on purpose
	Origin          Origin  // where the binding is written
}

// A Line is the place in the script that a step came from.
type Line struct {
	File   string // as the user named it
	Number int    // 1-based
	Text   string // the command without comment and surrounding space
	Span   diag.Span
}

// An Origin is the place in a routing matrix that a binding came from.
type Origin struct {
	File string // as the user would name it; "pack:go" for a pack of the stdlib
	Line int    // 1-based
}

// Command is what a step carries out, as a list of words: the argv of a process, or, of what
// starts none, its target and the values, in a form of their own. Of a task it is both: an agent may be given what it is asked on its standard
// input. Receipts name it.
func (s *Step) Command() []string {
	if len(s.Argv) > 0 && s.Kind != Task {
		return s.Argv
	}
	words := append(slices.Clip(s.Argv), string(s.Kind)+":"+s.Target)
	if s.Arguments != "" {
		return append(words, s.Arguments) // the values are in it
	}
	for _, v := range s.Values {
		if s.Kind == MCP && v.Name != "" {
			words = append(words, v.Name+"="+v.Text)
		} else {
			words = append(words, v.Text)
		}
	}
	return words
}

// Identity identifies a step's command, and is what the digest of a command is over: Command with [HiddenValue] for each of the values that
// the binding declares as secret. A mark made with a key would not do: anyone who can remove the key could give the command another identity, under
// which its failures are not found.
func (s *Step) Identity() []string {
	if s.Same != nil {
		return s.Same
	}
	return s.Command()
}

// HiddenValue stands for each declared secret in what tells commands apart.
const HiddenValue = "[secret]"

// WithoutSecrets returns text with [HiddenValue] for each of the secrets of s, where it stands as it is.
func (s *Step) WithoutSecrets(text string) string {
	var pairs []string
	for _, v := range slices.SortedStableFunc(slices.Values(s.Values), func(a, b Value) int { return len(b.Text) - len(a.Text) }) {
		if v.Secret && v.Text != "" {
			pairs = append(pairs, v.Text, HiddenValue)
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Secret reports whether the command of a step has a value that the binding declares as secret.
func (s *Step) Secret() bool {
	return slices.ContainsFunc(s.Values, func(v Value) bool { return v.Secret })
}

// Secrets returns the values of s itself that the binding declares as secret.
func (s *Step) Secrets() (values []string) {
	for _, v := range s.Values {
		if v.Secret {
			values = append(values, v.Text)
		}
	}
	return values
}

// A Value is a value of the line and the placeholder that it filled.
type Value struct {
	Name string // "object", the placeholder's or the argument's name; empty if it was appended
	Text string // after substitution of variables

	Secret bool // it is never shown, recorded or exported
}

// A Budget bounds a step. Zero means unbounded.
type Budget struct {
	Timeout   time.Duration // wall clock
	Stall     time.Duration // without a byte of output
	MaxOutput int64         // bytes, standard output and standard error together
	Retries   int           // further attempts after a failure
	TailLines int           // lines of output that a report shows
}

// Expect narrows what counts as a pass. The zero Expect means: exit status 0.
type Expect struct {
	ExitCodes []int // instead of {0}
	// MinTests is the number of tests below which a pass is vacuous. Zero: where the
	// output has a count, it must not be none. Below zero: none will do.
	MinTests    int
	JUnit       string   // pattern of paths, relative to Dir, of files with test results; empty for none
	Problems    []string // patterns that find the first error in the output
	EmptyStdout bool     // any output is a failure, as of `gofmt -l`
	Stdout      string   // a regular expression (RE2) that standard output must match

	Fields []string // of the tool's own receipt that must be there: "result.id"
}

// CheckInput returns why p is not a pattern of input files; nil if it is one: a path with
// slashes, relative to the root of the matrix, that does not lead out of it. A component
// is "**", or a pattern of [path.Match].
func CheckInput(p string) error {
	switch {
	case p == "" || path.Clean(p) == ".":
		return errors.New("it names no file")
	case strings.ContainsRune(p, 0):
		return errors.New("it holds a NUL")
	case path.IsAbs(p) || filepath.IsAbs(p):
		return errors.New("it is absolute")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return errors.New(`it has a ".."`)
	}
	for part := range strings.SplitSeq(p, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return fmt.Errorf("%q is not a pattern", part)
		}
	}
	return nil
}

// Walk calls f for each step of steps and, after it, for its members.
func Walk(steps []*Step, f func(*Step)) {
	for _, s := range steps {
		f(s)
		Walk(s.Members, f)
	}
}

// Secrets returns the values of the plan that are declared as secret; a nil plan has none.
func (p *Plan) Secrets() (values []string) {
	if p == nil {
		return nil
	}
	return append(secrets(p.Steps), p.Hidden...)
}

// Hide adds the secrets of steps that are left out to those of p.
func (p *Plan) Hide(steps ...*Step) { p.Hidden = append(p.Hidden, secrets(steps)...) }

func secrets(steps []*Step) (values []string) {
	Walk(steps, func(s *Step) { values = append(values, s.Secrets()...) })
	return values
}

// Environ returns what the steps of p and its servers set for programs, and what p was bound with, as "NAME=VALUE": variables, and headers and queries of
// requests, with "_" for "-".
// A text that the runtime replaces is left out: what it stands for is in the environment.
func (p *Plan) Environ() (list []string) {
	if p == nil {
		return nil
	}
	seen := make(map[[2]string]bool) // most bindings set the same ones
	add := func(set map[string]string) {
		for name, value := range set {
			if kv := [2]string{name, value}; !seen[kv] && !strings.Contains(value, "${") {
				seen[kv] = true
				list = append(list, strings.ReplaceAll(name, "-", "_")+"="+value)
			}
		}
	}
	for _, set := range p.Sets {
		add(set)
	}
	Walk(p.Steps, func(s *Step) { add(s.Env) })
	for _, s := range p.Servers {
		add(s.Env)
		add(s.Headers)
		if at, err := url.Parse(s.URL); err == nil {
			for name, values := range at.Query() {
				for _, value := range values {
					add(map[string]string{name: value})
				}
			}
		}
		for name, value := range s.Headers {
			if scheme, credential, ok := strings.Cut(value, " "); ok && strings.EqualFold(name, "Authorization") {
				add(map[string]string{scheme + "_TOKEN": credential})
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
