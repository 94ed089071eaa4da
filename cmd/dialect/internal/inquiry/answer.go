package inquiry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry/why"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// Ask answers the question by the record that id names, or by any gate if id is empty: from the
// bundle in a file, if one is named ("-" is stdin), else from the store. rev is that of [New].
func (q *Question) Ask(ctx context.Context, stdin io.Reader, bundle, rev, id string) (*verify.Result, error) {
	var res *verify.Result
	var err error
	if bundle != "" {
		q.bundle = bundle
		res, err = q.answerFromBundle(stdin, bundle, id)
	} else {
		res, err = q.answer(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	if err := q.notes(ctx, res, rev); err != nil {
		return nil, err
	}
	q.nextSteps = q.nextOf(res, rev)
	return res, nil
}

// Broken is a question that cannot be asked, such as where the rules cannot be read or the notary is gone, with its answer.
func Broken(o Options, e *exit.Failure) (*Question, *verify.Result) {
	return &Question{o: o, nextSteps: Steps(e)}, broken(verify.Degraded, receipts.Degraded, e.Error())
}

// broken is the result where there is no log to ask.
func broken(v verify.Verdict, reason receipts.Reason, text string) *verify.Result {
	return &verify.Result{Verdict: v, Refusals: []receipts.Refusal{{Reason: reason, Message: text}}}
}

// answer asks the store.
func (q *Question) answer(ctx context.Context, id string) (*verify.Result, error) {
	if q.unusable = archive.CheckStore(q.path); q.unusable != nil {
		return broken(verify.Degraded, receipts.Degraded, q.unusable.Error()), nil
	}
	o := q.storeOptions()
	o.ReadOnly = true
	var s *sqlite.Store
	var res *verify.Result
	var asked error
	err := interrupt.Await(ctx, func() (err error) {
		if s, err = sqlite.Open(ctx, q.path, o); err == nil {
			res, asked = s.Ask(ctx, q.Query, id)
		}
		return err
	})
	var unusable *sqlite.UnusableError
	switch {
	case errors.Is(err, sqlite.ErrNoStore) && q.remembered():
		return broken(verify.Tampered, receipts.Missing, "the store "+place.Short(q.path)+" is gone, but --state remembers it"), nil
	case errors.Is(err, sqlite.ErrNoStore) && q.o.Kept == nil:
		return broken(verify.Missing, receipts.Missing, q.noStore()), nil
	case errors.Is(err, sqlite.ErrNoStore):
		return broken(verify.Tampered, receipts.Missing, "the store "+place.Short(q.path)+" is gone, and a checkpoint was kept of it"), nil
	case errors.As(err, &unusable):
		q.unusable = err
		return broken(verify.Degraded, receipts.Degraded, err.Error()), nil
	case err != nil:
		return nil, err
	}
	defer s.Close()
	err = asked
	var lookup *verify.LookupError
	switch {
	case errors.As(err, &lookup) && lookup.Bad:
		return nil, badID(id, err)
	case errors.As(err, &lookup):
		if q.noRecord = true; q.o.Store == "" {
			q.others = store.Elsewhere(q.root)
		}
		text := err.Error()
		if len(lookup.Matches) == 0 {
			text += " in " + place.Short(q.path)
		}
		return broken(verify.Missing, receipts.Missing, text), nil
	case ctx.Err() != nil: // what it was asked about was not looked at to the end
		return nil, interrupt.Ended(ctx, cmp.Or(err, ctx.Err()))
	case err != nil:
		q.unusable = err
		return broken(verify.Degraded, receipts.Degraded, err.Error()), nil
	}
	q.culprit, q.several = culprit(res, func(id string) (receipts.Entry, error) { return s.Get(ctx, id) })
	return res, nil
}

// below asks in folders below, three at most, where there is no matrix here: in those that have one, or a store.
func (q *Question) below(rev string) (list []string) {
	folders := routing.Below(q.root)
	for _, path := range q.stores {
		folder, _ := archive.FolderOf(path)
		if dir := filepath.ToSlash(filepath.Dir(folder)); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	ask := []string{"dialect", "verify"}
	if rev != "" {
		ask = append(ask, "--tree", rev)
	}
	for _, dir := range folders[:min(len(folders), 3)] {
		list = append(list, "("+report.Command([]string{"cd", dir})+" && "+report.Command(ask)+")")
	}
	return list
}

// remembered reports whether the folder of --state, which the store's writers cannot write, has
// something of the store.
func (q *Question) remembered() bool {
	if q.o.State == "" {
		return false
	}
	protects, err := sqlite.StateProtects(q.o.State, q.path)
	if err != nil || !protects {
		return false
	}
	_, err = os.Lstat(sqlite.StateFile(q.o.State))
	return err == nil
}

// noStore says where a store was looked for.
func (q *Question) noStore() string {
	text := "there is no store of receipts " + place.Short(q.path)
	if q.o.Store != "" {
		return text
	}
	if q.stores = archive.Below(); len(q.stores) > 0 && q.matrix.Path == "" {
		return text + ": receipts are stored next to routing.toml; stores in folders below: " + strings.Join(q.stores[:min(len(q.stores), 3)], ", ")
	}
	q.stores = nil
	text += ": it is looked for beside the matrix, in " + q.root
	if q.others = store.Elsewhere(q.root); len(q.others) > 0 {
		return text + "; other worktrees of the repository have one: " + strings.Join(q.others[:min(len(q.others), 3)], ", ")
	}
	return text + "; --store names another"
}

// notes adds to a result what the store cannot know. The error says that a signal ended it: for that the files are read.
func (q *Question) notes(ctx context.Context, res *verify.Result, rev string) error {
	note := func(format string, args ...any) { res.Notes = append(res.Notes, fmt.Sprintf(format, args...)) }
	if res.Verdict == verify.Scoped {
		q.changed, _ = q.changedSince(ctx, res.Body)
	}
	if res.Verdict == verify.Stale {
		var remedy string
		if q.changed, remedy = q.changedSince(ctx, res.Body); len(q.changed) > 0 && remedy != "" {
			q.remedy = remedy
		}
	}
	if text := q.someLines(ctx, res); text != "" {
		note("%s", text)
	}
	if (res.Verdict == verify.Stale || res.Verdict == verify.Missing) && rev != "" {
		if q.beyond = q.compareCommit(ctx, res.Body, rev); q.beyond != "" {
			note("%s", q.beyond)
		}
	}
	if res.Verdict == verify.Failed && rev != "" {
		q.compareFailed(ctx, rev)
	}
	for i, r := range res.Refusals {
		if r.Reason != receipts.InputsChanged {
			continue
		}
		for _, m := range res.Leaves() {
			if v, _ := m.Parse(); m.SHA == r.SHA {
				if text := q.differ(v.(*receipts.Receipt).Binding); text != "" {
					res.Refusals[i].Message += ": " + text
				}
			}
		}
	}
	if q.leftOver(ctx, res); len(q.ungated) > 0 {
		note("not gated yet, although the commands passed on these files: %s %s", "receipt"+plural(len(q.ungated)), strings.Join(q.ungated, ", "))
	}
	if rev != "" || q.o.Elsewhere {
		var names []string
		for _, m := range res.Members {
			v, _ := m.Parse()
			if r, ok := v.(*receipts.Receipt); ok && !r.Inputs.IsZero() && r.Clean == nil && !slices.Contains(names, r.Binding) {
				names = append(names, r.Binding)
			}
		}
		if len(names) > 0 {
			note("the inputs of %s were not compared: --tree and --bundle do not see the files that a binding names as `inputs`", strings.Join(quoted(names), ", "))
		}
	}
	if text := q.partly(ctx, res, rev); text != "" {
		note("%s", text)
	}
	if res.Verdict == verify.Verified && res.Gate.Consumption != nil {
		note("the gate %s was consumed by %s at %s", receipts.GateID(res.Gate.SHA), res.Gate.Consumption.Who(), records.Stamp(res.Gate.Consumption.At.Time))
	}
	if n := q.statement; n != nil && res.Level >= receipts.LevelNotary && len(n.Listeners) > 0 {
		var names []string
		for _, d := range n.Listeners {
			names = append(names, diag.Printable(d.String()))
		}
		note("when the session began these could run programs for the agent outside of its domain: %s", receipts.ListPaths(names))
	}
	switch n := res.Below; {
	case n == 1:
		note("1 record about these files is not signed with a key that --key names, and does not count")
	case n > 1:
		note("%d records about these files are not signed with a key that --key names, and do not count", n)
	}
	if s := q.snapshot; s != nil && s.Absent.Count > 0 {
		note("a sparse checkout left out %s: no command has seen them", diag.Number(s.Absent.Count, "file"))
	}
	if s := q.snapshot; s != nil && s.Tree == "" && s.Reason != workspace.ErrNoRepository.Error() { // it may be the index, which says what counts in a cache
		note("git has no tree of these files, which are compared by their bytes: %s", s.Reason)
	}
	for _, text := range q.otherScripts(res) {
		note("%s", text)
	}
	if errors.Is(ctx.Err(), context.Canceled) { // past a deadline the answer stands, without some notes
		return exit.Status(interrupt.Status(ctx))
	}
	return nil
}

// rulesText says what the rules, those of a matrix, were compared with.
func rulesText(matrix string, s policy.State) string {
	switch {
	case s.Lacks:
		return "rules that " + s.Against + " does not have"
	case s.Above != "":
		return "rules nearer than those of " + s.Against
	case s.Complaint() != "" && s.LineEnds():
		return "rules with other line ends than in " + s.Against
	case s.Complaint() != "":
		return "rules CHANGED"
	case s.New:
		return diag.Name(matrix) + " is new: HEAD does not have it"
	case s.Kind == policy.Base:
		if strings.HasPrefix(s.Commit, s.Against) {
			return "rules as in " + s.Commit[:min(12, len(s.Commit))]
		}
		return fmt.Sprintf("rules as in %s, %s", s.Against, s.Commit[:min(12, len(s.Commit))])
	case s.Pinned:
		return "rules as in " + s.Against
	case s.Against != "":
		return headOnly
	}
	return "rules compared with nothing"
}

// headOnly is what a verdict says where an agent can have committed the rules.
const headOnly = "rules compared with HEAD only"

// session says what the session of a notary rests on, for which a key vouches.
func (q *Question) session(res *verify.Result) string {
	n := q.statement
	if n == nil || res.Level < receipts.LevelNotary {
		return ""
	}
	text := " (" + n.Mode
	if n.ABI > 0 {
		text += fmt.Sprintf(", Landlock ABI %d", n.ABI)
	}
	return text + "), for which " + diag.Name(q.voucher) + " vouches"
}

// trust says in words what a verdict rests on.
func (q *Question) trust(res *verify.Result) string {
	list := []string{}
	if res.Gate != nil {
		list = append(list, records.RecordedBy(res.Level, res.Gate.Key)+q.session(res))
		switch {
		case res.Level >= receipts.LevelNotary && q.statement != nil: // its closing record says that nothing is missing
		case res.Kept:
			list = append(list, "log kept")
		case res.Level >= receipts.LevelKey:
			list = append(list, "log not kept")
		}
	}
	switch {
	case len(res.Lowered) > 0:
		list = append(list, "in a clean checkout that shared "+diag.Printable(receipts.ListPaths(res.Lowered)))
	case res.Ground != receipts.InPlace:
		list = append(list, res.Ground.String())
	}
	for _, text := range res.Setups {
		list = append(list, diag.Printable(text))
	}
	if !q.Place.IsZero() {
		list = append(list, "project in "+diag.Name(q.Place.Text))
	}
	rules := rulesText(q.matrix.Name, q.state)
	if rules == headOnly {
		if name := q.base(); name != "" {
			rules += ": --base " + name + " would compare them with what was merged"
		}
	}
	list = append(list, rules)
	if res.Tested != nil {
		list = append(list, res.Tested.String())
	}
	if c := res.Checks; c != nil {
		list = append(list, fmt.Sprintf("checks tested: %d of %d, as of %s", c.Tested, c.Of, treeName(c)))
	}
	if len(q.Require) == 0 {
		list = append(list, "nothing required")
	}
	return strings.Join(list, "; ")
}

// treeName names the tree that checks were tested on.
func treeName(c *verify.Checks) string {
	name := c.Tree.Tree
	if name == "" {
		name = c.Tree.Bytes.String()
	}
	if name = "tree " + name[:min(len(name), 12)]; !c.Same {
		name = "another tree, " + name[len("tree "):]
	}
	return name
}

// lastWords says what else is known of the commands on exactly these files.
func lastWords(res *verify.Result) string {
	var list []string
	if n := res.Failures; n > 0 {
		list = append(list, "failed "+report.Times(n)+" on these files")
	}
	if n := res.Early; n > 0 {
		list = append(list, report.CutShort(n))
	}
	text := ""
	if len(list) > 0 {
		text = ", but " + strings.Join(list, ", and ")
	}
	if n := res.OtherInputs; n > 0 {
		text += fmt.Sprintf(", and failed %s with other inputs", report.Times(n))
	}
	if n := res.InPlace; n > 0 {
		text += fmt.Sprintf(", and failed %s outside of a clean checkout", report.Times(n))
	}
	if len(res.Accepted) > 0 {
		text += ", after a failure " + strings.Join(res.Accepted, ", and one ")
	}
	return diag.Printable(text)
}

// Tell writes a verdict for people; changes writes what changed in the rules.
func (q *Question) Tell(w io.Writer, changes func([]policy.Change) error, res *verify.Result, rev, id string) error {
	subject := "this tree"
	if rev != "" {
		subject = diag.Printable(rev)
		if q.commit != nil && !strings.HasPrefix(q.commit.ID, rev) { // a branch may be another commit by now
			subject += " (" + q.commit.ID[:min(12, len(q.commit.ID))] + ")"
		}
	}
	about := ""
	if res.Body != nil {
		about = fmt.Sprintf("gate %s of %s", receipts.GateID(res.Gate.SHA), records.Stamp(res.Body.Timestamp.Time))
		if res.Verdict != verify.Verified && id == "" {
			about = "last gate: " + about[len("gate "):]
		}
		if q.Tree != nil && (res.Body.Tree == nil || !res.Body.Tree.Matches(*q.Tree)) {
			about += ", of other files"
		}
		about = "; " + about
	}
	if res.Verdict == verify.Verified {
		what := diag.Number(len(res.Members), "command") + q.scriptOfAll(res)
		if len(q.Require) > 0 {
			what = strings.Join(q.required(), ", ")
		}
		reused := ""
		if res.Body.Reused > 0 {
			reused = fmt.Sprintf(", %d reused", res.Body.Reused)
		}
		fmt.Fprintf(w, "VERIFIED: %s passed on %s%s%s%s\n  %s\n", what, subject, reused, lastWords(res), about, q.trust(res))
	} else if res.Verdict == verify.Scoped {
		fmt.Fprintf(w, "VERIFIED for changed paths: %s passed on the files that they name, %d of them since%s; full run: gate %s of %s\n  %s\n",
			diag.Number(len(res.Members), "command")+q.scriptOfAll(res), res.Since, lastWords(res), receipts.GateID(res.Gate.SHA), records.Stamp(res.Body.Timestamp.Time), q.trust(res))
		for _, name := range scoped(res) {
			fmt.Fprintf(w, "  scope of %s: %s\n", diag.Name(name), diag.Printable(cmp.Or(strings.Join(q.matrix.Scopes[name], ", "), "all files")))
		}
	} else {
		fmt.Fprintf(w, "%s: %s is not verified%s\n  %s\n", res.Verdict, subject, about, q.trust(res))
		shown := slices.DeleteFunc(slices.Clone(res.Refusals), func(r receipts.Refusal) bool {
			// That an older gate is of other files is not news beside what failed on these.
			return r.Reason == receipts.TreeChanged && r.SHA.IsZero() && res.Refusals[0].Reason != receipts.TreeChanged
		})
		for i, r := range shown {
			if i == 10 {
				fmt.Fprintf(w, "  and %d more\n", len(shown)-i)
				break
			}
			fmt.Fprintf(w, "  %s\n", diag.Printable(r.Message))
		}
	}
	if changed := q.changed; len(changed) > 0 {
		var list []string
		for _, text := range changed[:min(len(changed), 10)] {
			kind := strings.LastIndex(text, " (")
			list = append(list, diag.Name(text[:kind])+text[kind:])
		}
		fmt.Fprintf(w, "  changed since: %s\n", strings.Join(list, ", "))
		if n := len(changed) - 10; n > 0 {
			fmt.Fprintf(w, "  and %s more\n", diag.Number(n, "path"))
		}
	}
	if res.Verdict == verify.Policy {
		if err := changes(q.state.Changes); err != nil {
			return err
		}
	}
	if q.o.Why {
		if err := why.WriteText(w, why.Of(q.facts(res))); err != nil {
			return err
		}
	}
	for _, n := range res.Notes {
		fmt.Fprintf(w, "  note: %s\n", diag.Printable(n))
	}
	for _, n := range q.nextSteps {
		fmt.Fprintf(w, "  next: %s\n", diag.Printable(n))
	}
	return nil
}

// facts are what the long form of an answer is made of.
func (q *Question) facts(res *verify.Result) why.Facts {
	f := why.Facts{
		Query: q.Query, Result: res, Source: place.Short(q.path), Subject: "the present files", Matrix: q.matrix.Name, Rules: rulesText(q.matrix.Name, q.state),
		Checkpoint: q.o.Since, State: q.o.State, Keys: q.o.KeyFiles, Inputs: q.matrix.Inputs, Scopes: q.matrix.Scopes,
	}
	if q.bundle != "" {
		f.Source = "the bundle " + q.bundle
	}
	if q.commit != nil {
		f.Subject = "the files of the commit"
	}
	return f
}

// scoped returns the bindings of the members of a result, sorted.
func scoped(res *verify.Result) (names []string) {
	for _, m := range res.Members {
		v, _ := m.Parse()
		if r, ok := v.(*receipts.Receipt); ok && r.Binding != "" {
			names = append(names, r.Binding)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// required names what is required, each once.
func (q *Question) required() []string {
	var names []string
	for _, r := range q.Require {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

// quoted returns names as they stand in a sentence.
func quoted(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = diag.Name(name)
	}
	return list
}

// scriptOfAll names the script that the members of a result are lines of, if it is one.
func (q *Question) scriptOfAll(res *verify.Result) string {
	name := ""
	for _, m := range res.Members {
		v, _ := m.Parse()
		r, ok := v.(*receipts.Receipt)
		if !ok || r.Binding == "" || name != "" && r.Line.File.Text != name {
			return ""
		}
		name = r.Line.File.Text
	}
	if !verify.IsScript(name) {
		return ""
	}
	return " of " + diag.Name(q.Named(name))
}

// A Document is what `verify --json` prints.
type Document struct {
	Schema   string `json:"schema"` // "dialect.verdict/1"
	Verdict  string `json:"verdict"`
	Verified bool   `json:"verified"`

	Level      string `json:"level"`                 // "L0": recorded by itself; "L1": under a key; "L2": by a notary
	RecordedBy string `json:"recorded_by,omitempty"` // the name of the key
	LogKept    bool   `json:"log_kept"`              // a checkpoint that the verifier kept covers the gate

	Clean   string   `json:"clean,omitempty"`         // "clean": all ran in a clean checkout; "unconfined": in one without namespaces
	Lowered []string `json:"clean_lowered,omitempty"` // what commands saw of the machine in spite of a clean checkout
	Setups  []string `json:"clean_setup,omitempty"`   // what was installed in clean checkouts by the matrix's setup, and what that rests on

	Rules       string `json:"rules"`                  // "pinned", "unpinned", "new" or "changed"
	RulesOf     string `json:"rules_of,omitempty"`     // what the matrix was compared with
	RulesCommit string `json:"rules_commit,omitempty"` // its full hash, if it is a commit

	Tree    *DocTree `json:"tree,omitempty"` // that was asked about
	Gate    string   `json:"gate,omitempty"` // that the verdict rests on; where it is not VERIFIED, the one that comes nearest
	GateSHA string   `json:"gate_sha256,omitempty"`
	At      string   `json:"gate_timestamp,omitempty"`
	Run     string   `json:"run,omitempty"`
	Session string   `json:"session,omitempty"`
	Reused  int      `json:"reused,omitempty"`
	Members []string `json:"members,omitempty"`
	Require []string `json:"require,omitempty"` // bindings; empty: nothing required

	Tests *records.Tests `json:"tests,omitempty"` // of the members, and of the gate before

	Why    []why.Condition `json:"why,omitempty"`           // with --why: what each condition was decided from
	Checks *Checks         `json:"checks_tested,omitempty"` // absent where no check was ever tested

	Failures    int      `json:"failures"`           // of the commands on exactly these files, those that refuse among them
	EarlyEnds   int      `json:"early_ends"`         // likewise: timeouts, kills
	OtherInputs int      `json:"other_inputs"`       // failures with other inputs
	InPlace     int      `json:"in_place,omitempty"` // where a clean checkout is asked for: failures outside of one
	Accepted    []string `json:"accepted,omitempty"`
	Unsigned    int      `json:"unsigned"` // records that did not count for the level

	Scope map[string][]string `json:"scope,omitempty"` // of VERIFIED FOR CHANGED PATHS: bindings, and the patterns of the files that they name
	Since int                 `json:"since,omitempty"` // likewise: members of runs after the gate

	Changed  []string          `json:"changed,omitempty"`
	Refusals []records.Refusal `json:"refusals,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	Next     []string          `json:"next,omitempty"` // what to do: commands, and behind "# " what a person decides or does
}

// A DocTree is a state of the files.
type DocTree struct {
	Tree  string `json:"tree,omitempty"`
	Bytes string `json:"bytes,omitempty"`
}

// Checks says how many checks refused what was broken on purpose: `dialect prove`.
type Checks struct {
	Tested   int      `json:"tested"`
	Of       int      `json:"of"`
	Tree     DocTree  `json:"tree"`               // that they were tested on
	Same     bool     `json:"same"`               // it is that of the gate
	Untested []string `json:"untested,omitempty"` // lines
}

// Document makes the document of an answer.
func (q *Question) Document(res *verify.Result) Document {
	doc := Document{
		Schema: "dialect.verdict/1", Verdict: string(res.Verdict), Verified: res.Verdict == verify.Verified,
		Level: fmt.Sprintf("L%d", res.Level), LogKept: res.Kept,
		Rules: q.state.Name(), RulesOf: q.state.Against, RulesCommit: q.state.Commit,
		Failures: res.Failures, EarlyEnds: res.Early, OtherInputs: res.OtherInputs, InPlace: res.InPlace, Accepted: res.Accepted, Unsigned: res.Below,
		Clean: res.Ground.Name(), Lowered: res.Lowered, Setups: res.Setups, Changed: q.changed, Refusals: records.Refusals(res.Refusals), Notes: res.Notes, Next: q.nextSteps,
	}
	if c := res.Checks; c != nil {
		doc.Checks = &Checks{Tested: c.Tested, Of: c.Of, Tree: DocTree{Tree: c.Tree.Tree, Bytes: c.Tree.Bytes.String()}, Same: c.Same, Untested: c.Untested}
	}
	if res.Verdict == verify.Scoped {
		doc.Scope, doc.Since = make(map[string][]string), res.Since
		for _, name := range scoped(res) {
			doc.Scope[name] = q.matrix.Scopes[name]
		}
	}
	if q.Tree != nil {
		doc.Tree = &DocTree{Tree: q.Tree.Tree}
		if !q.Tree.Bytes.IsZero() {
			doc.Tree.Bytes = q.Tree.Bytes.String()
		}
	}
	if res.Gate != nil {
		doc.RecordedBy = res.Gate.Key
		doc.Tests = records.NewTests(res.Gate.SHA, res.Tested)
	}
	if res.Body != nil {
		doc.Gate, doc.GateSHA, doc.Run, doc.Session, doc.Reused = receipts.GateID(res.Gate.SHA), res.Gate.SHA.String(), res.Body.Run, res.Body.Session, res.Body.Reused
		doc.At = res.Body.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	if q.o.Why {
		doc.Why = why.Of(q.facts(res))
	}
	for _, m := range res.Members {
		doc.Members = append(doc.Members, m.SHA.String())
	}
	for _, r := range q.Require {
		doc.Require = append(doc.Require, r.Binding)
	}
	return doc
}
