// Package doctor looks at all that a run needs, and says what is broken and what to do.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/survey"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/domain"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Options say what is looked at.
type Options struct {
	Dir     string // where a run would be started
	Routing string // path of the matrix; empty for the nearest
	Store   string // path of the store; empty for the project's own
	Online  bool   // start the MCP servers
	Version string
	Environ []string // of the caller, as a run would get it
	Domain  []string // argv of this program as the helper of a domain; nil to try none
}

// A Report is what was found: the document of `dialect doctor --json`.
type Report struct {
	Schema string  `json:"schema"` // dialect.doctor/1
	Checks []Check `json:"checks"`
}

// A Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	State  string `json:"state"` // "ok", "warning" or "broken"
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

const (
	ok      = "ok"
	warning = "warning"
	broken  = "broken"
)

func (r *Report) say(state, name, advice, format string, args ...any) {
	r.Checks = append(r.Checks, Check{name, state, fmt.Sprintf(format, args...), advice})
}

// Broken reports whether a run would not work.
func (r *Report) Broken() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.State == broken })
}

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	const width = 88 // beside the columns of states and names
	quoted := false
	space := func(r rune) rune { // what stands in backquotes is copied as one
		if quoted = quoted != (r == '`'); quoted && r == ' ' {
			return '\ue000'
		}
		return r
	}
	wrap := func(text, indent string) string {
		quoted = false
		return strings.ReplaceAll(diag.Wrap(strings.Map(space, diag.Printable(text)), width, indent), "\ue000", " ")
	}
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.State, c.Name, wrap(c.Detail, "\t\t"))
		for l := range strings.Lines(c.Advice) { // one thing to do in each
			fmt.Fprintf(w, "\t\t-> %s\n", wrap(strings.TrimSuffix(l, "\n"), "\t\t   "))
		}
	}
	return w.Flush()
}

// Examine looks at everything, in the order in which a run would need it.
func Examine(o Options) *Report {
	r := &Report{Schema: "dialect.doctor/1", Checks: []Check{}}
	m, found, err := project.LoadMatrix(o.Dir, o.Routing)
	if err != nil {
		advice := "`dialect init` makes one"
		var lost *project.LostError
		switch {
		case errors.As(err, &lost):
			advice = exit.Restore("HEAD", lost.Path)
		case errors.Is(err, routing.ErrNotFound): // which says so
			advice = routing.MeantBelow(o.Dir)
		}
		r.say(broken, "matrix", advice, "%v", err)
		return r
	}
	switch errs := found.Count(diag.Error); {
	case errs > 0:
		r.say(broken, "matrix", "`dialect check "+m.Name+"` shows them", "%s has %s", m.Name, found.Summary())
	default:
		r.say(ok, "matrix", "", "%s: %s, sha256 %.12s", m.Name, diag.Number(len(m.Bindings), "binding"), m.SHA256)
	}
	used := usedBy(m)
	warnings := lint.Check(m, lint.Options{Used: slices.Collect(maps.Keys(used))})
	tools := 0
	for _, d := range warnings {
		switch d.Code {
		case diag.MissingTool:
			tools++
			r.say(broken, "tool", advice(m, d), "%s: %s", d.Place(), d.Message)
		case diag.MissingServer, diag.MissingSkill, diag.CannotFail:
			r.say(warning, string(d.Code), strings.ReplaceAll(d.Hint, "\n", "; "), "%s: %s", d.Place(), d.Message)
		}
	}
	if n := r.installed(m, used); tools+n == 0 {
		r.say(ok, "tools", "", "every program that the project and its scripts use is there")
	}
	r.store(m, o.Store)
	r.key()
	top := place.Repository(m.Root)
	if g, err := git.FindGit(top); err != nil {
		r.say(warning, "git", "install git: without it receipts name the files by their bytes alone", "%v", err)
	} else if _, err := exec.LookPath("git"); err != nil {
		r.say(warning, "git", "add its folder to PATH, for tools that ask git", "git is not in PATH: dialect itself uses %s", g.Program)
	} else if !place.Exists(filepath.Join(top, ".git")) {
		r.say(warning, "git", "`git init`: without a repository a receipt cannot be compared with a commit", "%s is not in a repository", m.Root)
	} else {
		r.say(ok, "git", "", "repository at %s", top)
	}
	if _, _, state, err := project.Trusted(context.Background(), nil, m, "", ""); err != nil {
		r.say(warning, "trust", "", "%v", err)
	} else if c := state.Complaint(); c != "" {
		r.say(warning, "trust", "review the change and commit it, or `dialect trust` it", "%s", c)
	} else if state.New {
		r.say(ok, "trust", "commit it, or `dialect trust` it: a new matrix is compared with nothing", "the matrix is new: HEAD does not have it")
	} else if state.Kind == policy.None {
		r.say(warning, "trust", "`git init` and commit the matrix, or `dialect trust` it", "there is no commit and no pin: the matrix is compared with nothing")
	} else {
		r.say(ok, "trust", "", "the matrix is that of %s", state.Against)
	}
	if _, left := environ.Make(o.Environ, environ.Options{}); len(left) > 0 {
		r.say(ok, "environ", "set them in routing.toml, env = {...}, if a check needs them", "not passed on to the tools: %s", strings.Join(left, ", "))
	}
	r.hooks(o.Dir)
	if o.Domain != nil {
		r.guard(o.Domain)
	}
	if o.Online {
		r.servers(m, o)
	}
	return r
}

// guard says which domain `dialect guard` would give an agent here. A machine that gives none has no fault: dialect guard itself refuses.
func (r *Report) guard(helper []string) {
	facts, err := domain.Probe(helper)
	switch {
	case os.Geteuid() == 0:
		r.say(ok, "guard", "`dialect guard` is for an ordinary user: no domain holds root", "agents of root cannot be guarded")
	case err != nil:
		r.say(ok, "guard", "`dialect help guard` says what it needs", "agents cannot be guarded: %v", err)
	case facts.Mode == domain.Namespaces:
		r.say(ok, "guard", "", "agents can be guarded: namespaces, and Landlock (ABI %d)", facts.ABI)
	default:
		r.say(ok, "guard", "`dialect help guard` says what that leaves open", "agents can be guarded by Landlock alone (ABI %d), and their runs are refused: %s", facts.ABI, facts.Why)
	}
}

// hooks says whether the agents' hooks that are installed work.
func (r *Report) hooks(dir string) {
	status, err := hook.Status(dir)
	if err != nil {
		return
	}
	for _, s := range status.Agents {
		switch {
		case !s.Installed:
		case s.Fault != "":
			r.say(warning, "hook", s.Advice, "%s, %s: %s", s.Title, place.Short(s.Path), s.Fault)
		case s.Last == nil:
			r.say(ok, "hook", s.Advice, "%s: installed, and never fired", s.Title)
		default:
			r.say(ok, "hook", s.Advice, "%s: installed, last fired %s", s.Title, records.Stamp(*s.Last))
		}
	}
}

// maxScripts bounds how many scripts are looked at.
const maxScripts = 500

// usedBy returns the names of the bindings that the scripts of a project use, those of packs among them,
// and the members of composites.
func usedBy(m *routing.Matrix) map[string]bool {
	used := make(map[string]bool)
	names, _ := project.Scripts([]string{m.Root}) // without one nothing is used
	for _, name := range names[:min(len(names), maxScripts)] {
		if path, _, err := project.FindMatrix(filepath.Dir(name), ""); err != nil || !place.Same(path, m.Path) {
			continue // it is bound by another matrix
		}
		text, err := regular.Read(name, project.MaxScript)
		if err != nil {
			continue
		}
		_, by := resolve.Check(diag.NewSource(name, text), m, resolve.Options{})
		maps.Copy(used, by)
	}
	for name := range maps.Clone(used) {
		members(m.ByName(name), used)
	}
	return used
}

func members(b *routing.Binding, used map[string]bool) {
	if b == nil {
		return
	}
	for _, m := range b.Members {
		if !used[m.Name] {
			used[m.Name] = true
			members(m, used)
		}
	}
}

// installed looks for what the commands need beside their programs, and returns how much is missing.
func (r *Report) installed(m *routing.Matrix, used map[string]bool) (missing int) {
	said := make(map[string]bool)
	for _, b := range m.Bindings {
		if b.Kind != plan.Process || b.Template == nil || b.Pack && !used[b.Name] {
			continue
		}
		what, install := survey.Missing(m.Root, b.AbsDir(m.Root), strings.Fields(b.Tool()))
		if what == "" || said[what+install] || strings.HasPrefix(what, "node_modules/") { // whose program is named above
			continue
		}
		said[what+install] = true
		missing++
		r.say(broken, "install", install, "%s needs %s, which is not installed", b.Name, what)
	}
	return missing
}

// advice says how to get a program that is missing.
func advice(m *routing.Matrix, d diag.Diagnostic) string {
	for _, b := range m.Bindings {
		if b.Kind == plan.Process && b.Template != nil && strings.Contains(d.Message, fmt.Sprintf("of %q ", b.Name)) {
			if _, install := survey.Missing(m.Root, b.AbsDir(m.Root), strings.Fields(b.Tool())); install != "" {
				return install
			}
			if _, _, install := survey.Absent(m, b); install != "" {
				return install
			}
			if b.Hint != "" && !b.Pack { // those of packs say what to do about a finding
				return b.Hint
			}
			program := b.Template.Program()
			if strings.Contains(program, "/") && !filepath.IsAbs(program) {
				program = filepath.Join(m.Root, program)
			}
			if how := process.Remedy(place.Short(program)); how != "" && filepath.IsAbs(program) && !place.Exists(program) {
				return how
			}
		}
	}
	return strings.ReplaceAll(d.Hint, "\n", "; ")
}

// store looks at the store without making one.
func (r *Report) store(m *routing.Matrix, path string) {
	if path == "" {
		path = archive.Store(m.Root)
	}
	if err := archive.CheckStore(path); err != nil {
		r.say(broken, "store", store.Remedy(err), "%v", err)
		return
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		dir := filepath.Dir(path)
		for !place.Exists(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		if err := place.TryWrite(dir); err != nil {
			r.say(broken, "store", "make the folder writable, or name another store: --store PATH, DIALECT_STORE", "no store can be made below %s: %v", dir, err)
			return
		}
		r.say(ok, "store", "", "none yet; the first run makes %s", place.Short(path))
		return
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		advice := cmp.Or(store.Remedy(err), "a run without it is DEGRADED; a run makes a new one once it is moved away: "+store.Aside(path))
		r.say(broken, "store", advice, "%s cannot be read: %v", place.Short(path), err)
		return
	}
	defer s.Close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		r.say(broken, "store", "make it writable for you", "%s cannot be written: %v", place.Short(path), err)
		return
	}
	f.Close()
	if err := archive.Of(path).TryRoom(aRun); err != nil {
		r.say(broken, "store", "make room, or name another store: --store PATH, DIALECT_STORE", "nothing can be added to %s: %v", place.Short(path), err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, auditLong)
	defer cancel()
	a, err := s.Audit(ctx)
	switch {
	case ctx.Err() != nil:
		r.say(ok, "store", "`dialect receipts audit` checks all of it against its log: here there was no time for that", "%s", place.Short(path))
	case err != nil:
		r.say(broken, "store", cmp.Or(store.Remedy(err), tampered), "%s cannot be read: %v", place.Short(path), err)
	case a.Tampered():
		r.say(broken, "store", tampered, "%s is not what its log says: %s", place.Short(path), a.Findings[0].Message)
	default:
		r.say(ok, "store", "", "%s, %s, as its log says", place.Short(path), diag.Number(int(a.Count), "record"))
	}
}

const tampered = "`dialect receipts audit` names each change; changed evidence cannot be repaired: keep a copy of the store with the files beside it (-wal, -audit), move them away, and run again"

// auditLong bounds how long the store is compared with its log.
const auditLong = 2 * time.Second

// aRun is how many bytes a run adds beside the store, about.
const aRun = 64 << 10

// key says whether a key that is handed to this binary, by this user, would be believed.
// Without one that is not a fault: a record is then self-recorded, as most are.
func (r *Report) key() {
	why := keyfd.Weakness()
	if why == "" {
		r.say(ok, "key", "", "a key that is handed over by --key-fd gives level L1, if no shell of this user starts dialect: runuser -u USER -- dialect")
		return
	}
	state := ok
	if os.Getenv(keyfd.Variable) != "" {
		state = warning
	}
	why, advice, _ := strings.Cut(why, ": ")
	if strings.Contains(advice, "start dialect as") || strings.Contains(advice, "install") {
		advice = "start dialect as an ordinary user without capabilities, from a binary that this user can neither read nor replace (`sudo make install`: owner root, mode 0711)\nhand the key over by a pipe: dialect run --key-fd 3 SCRIPT 3< <(cat KEYFILE)"
	}
	r.say(state, "key", advice, "a key by --key-fd would not count, records stay as recorded by itself (L0): %s", why)
}

// said returns the last line of what a server wrote to its standard error; "" if there is none that may be shown.
func said(e *mcpclient.Error, hidden *redact.Redactor) string {
	text := strings.TrimSpace(string(hidden.Part([]byte(e.Stderr), !e.Begun, !e.Whole)))
	if text == "" {
		return ""
	}
	return "it said: " + text[strings.LastIndexByte(text, '\n')+1:]
}

// servers asks each server for its tools.
func (r *Report) servers(m *routing.Matrix, o Options) {
	pool := mcpclient.New(mcpclient.Options{Servers: m.Servers, Dir: m.Root, Environ: os.Environ(), Version: o.Version, Helper: mcpclient.Helper()})
	defer pool.Close()
	hidden := redact.New(redact.Options{Environ: slices.Concat(os.Environ(), (&plan.Plan{Servers: m.Servers}).Environ())}) // a server may say them
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		if m.Servers[name].Disabled {
			r.say(warning, "server", "enable it in "+m.Servers[name].Origin, "%s is disabled", name)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		tools, err := pool.Tools(ctx, name)
		cancel()
		if err != nil {
			e := &mcpclient.Error{Message: err.Error()}
			errors.As(err, &e)
			r.say(broken, "server", said(e, hidden), "%s", e.Public(hidden.Part))
			continue
		}
		r.say(ok, "server", "", "%s: %s", name, diag.Number(len(tools), "tool"))
	}
}
