package inquiry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// run is the command line of a run whose gate has what was asked for: the store, the matrix,
// the session, the nonce and the key.
func (q *Question) run(args ...string) string { return q.recorded("run", q.flags(args)) }

// flags are the arguments of [Question.run], with args behind.
func (q *Question) flags(args []string) []string {
	var words []string
	if q.Clean {
		words = append(words, "--clean")
	}
	if q.o.Routing != "" {
		words = append(words, "--routing", q.o.Routing)
	}
	return slices.Concat(words, q.sessionFlags(), args)
}

// noScript stands in a command for a script that nobody knows: the command is then no more than [advice].
const noScript = "SCRIPT"

// recorded is a subcommand whose receipts have the level that was asked for, in the store that was. Without a script it writes one first, where the
// lines are known, and else is a comment.
func (q *Question) recorded(name string, args []string) string {
	command := q.command(name, args)
	if i := slices.Index(args, noScript); i >= 0 {
		if q.rules != nil && q.commit == nil && q.o.Routing == "" && q.Level == receipts.LevelHash {
			if write, path := exit.NewScript(q.rules); write != "" {
				return write + " && " + q.command(name, slices.Replace(slices.Clone(args), i, i+1, path))
			}
		}
		return advice("run the script that has these lines: %s", command)
	}
	return command
}

// command is [Question.recorded] as one would type it. A notary has rules and a store of its own, and gives its level to what runs in its session.
func (q *Question) command(name string, args []string) string {
	switch {
	case q.Level == receipts.LevelHash:
		return report.Command(slices.Concat([]string{"dialect", name}, q.storeFlags(), args))
	case q.Level < receipts.LevelNotary:
		return keyed(runtime.GOOS, slices.Concat([]string{"dialect", name}, q.storeFlags(), []string{"--key-fd", "3"}, args))
	case os.Getenv(notary.Variable) != "":
		return report.Command(slices.Concat([]string{"dialect", name}, args))
	}
	return keyed(runtime.GOOS, slices.Concat([]string{"dialect", "guard", "--bundle", cmp.Or(q.bundle, "proof.json"), "--identity", "3", "--", "dialect", name}, args))
}

// keyed is a command that takes the key from descriptor 3, as bash hands it over. Shells of Windows cannot.
func keyed(goos string, words []string) string {
	if goos == "windows" {
		return advice("hand the key over by a descriptor, on a system where a shell can: %s", report.Command(words))
	}
	return report.Command(words) + " 3< <(cat KEYFILE)"
}

// nextOfLevel is what to do about a record without the level that a key gives; weakness says why a run of this process would not have it either, and whole
// runs the script.
func nextOfLevel(goos, weakness, whole string) []string {
	if goos != "linux" {
		return []string{advice("a run counts for its key only on Linux, where its commands can be kept from the key: run it there")}
	}
	if weakness != "" {
		why, cure, _ := strings.Cut(weakness, ": ")
		return []string{advice("a run from here would not count for its key (%s): %s, as `dialect doctor` says, and then: %s", why, cmp.Or(cure, "fix that"), whole)}
	}
	return []string{advice("a run counts for its key only where its commands cannot read the key, as `dialect doctor` says:"), whole}
}

// storeFlags names the store, if the asker did, or another folder would have one of its own: what is run without one can never be verified.
func (q *Question) storeFlags() []string {
	if path, err := filepath.Abs(q.path); err == nil && q.apart && q.o.Store != attempt.NoStore {
		return []string{"--store", path}
	}
	if q.o.Store == "" || q.o.Store == attempt.NoStore {
		return nil
	}
	return []string{"--store", place.Short(q.path)}
}

// folders are those that a script may be in: the project, and, where the asker named a matrix elsewhere, which then binds it, the working directory.
func (q *Question) folders() []string {
	if wd, err := os.Getwd(); err == nil && q.Query.Root != "" && q.o.Routing != "" {
		return []string{q.root, wd}
	}
	return []string{q.root}
}

// scriptOf returns the script that a line of a run is in, as a path from here; empty if it
// is not a file of this project. The log has the name as the user of the run wrote it; the
// document of the run, where it is kept, the whole path. Both are the words of who wrote the
// store: what lies outside of its folders, under another matrix, is not recommended.
func (q *Question) scriptOf(run, name string) string {
	inside := func(path string) bool {
		return place.Exists(path) && slices.ContainsFunc(q.folders(), func(dir string) bool {
			rel, err := filepath.Rel(dir, path)
			return err == nil && filepath.IsLocal(rel)
		})
	}
	if d, err := (history.Documents{Archive: q.logs}).Read(run); err == nil && d.Script.Path != "" && (name == "" || filepath.Base(name) == filepath.Base(d.Script.Path)) && inside(d.Script.Path) {
		return place.Short(d.Script.Path)
	}
	if !verify.IsScript(name) {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(q.root, filepath.FromSlash(name))
	}
	if !inside(name) {
		return ""
	}
	return place.Short(name)
}

// script returns the script to run again: the default one where all of it has to be covered, else that of the gate, else that of the last run, else
// one that the project has. Without any it is a word that the user replaces.
func (q *Question) script(g *receipts.Gate, members []*receipts.Entry) string {
	if q.whole != "" && place.Exists(q.whole) {
		return place.Short(q.whole)
	}
	if g != nil && g.Place == q.Place {
		if name := q.scriptOf(g.Run, ""); name != "" {
			return name
		}
		for _, m := range members {
			v, _ := m.Parse()
			if r, ok := v.(*receipts.Receipt); ok {
				if name := q.scriptOf(r.Run, r.Line.File.Text); name != "" {
					return name
				}
			}
		}
	}
	for i, run := range q.logs.Runs() {
		if i == 20 {
			break
		}
		if name := q.scriptOf(run, ""); name != "" {
			return name
		}
	}
	rules := q.rules
	if rules == nil {
		rules = &routing.Matrix{Root: q.root}
	}
	folders := q.folders()
	if name, _ := project.DefaultScript(folders[len(folders)-1], rules); name != "" && place.Exists(name) {
		return place.Short(name)
	}
	return noScript
}

// leftBehind says where files go that are not part of the project.
const leftBehind = "what tools leave behind belongs into a tracked .gitignore, or into caches of routing.toml"

// advice is a sentence among commands: a comment, where the list is pasted into a shell.
func advice(format string, args ...any) string { return "# " + fmt.Sprintf(format, args...) }

// again takes a receipt again: by its line, which the matrix binds. What `dialect exec` ran
// is for the reader to look at first: it is whatever the writer of the store wrote.
func (q *Question) again(r *receipts.Receipt, sha receipts.Hash) []string {
	switch name := q.scriptOf(r.Run, r.Line.File.Text); {
	case fromExec(r):
		if words := q.commandOf(r); words != nil {
			return []string{q.recorded("exec", slices.Concat(q.sessionFlags(), []string{"--as", r.Binding, "--"}, words))}
		}
		return []string{
			advice("see what it ran; if that is what you want, run it again: dialect exec -- COMMAND"),
			report.Command(slices.Concat([]string{"dialect", "receipts", "show", sha.Short()}, q.storeFlags())),
		}
	case name != "":
		return []string{q.run(q.as(r, false, name+":"+r.At())...)}
	}
	return []string{q.run(q.as(r, true, "-e", r.Line.Text.Text)...)}
}

// commandOf returns the command of the binding that a receipt of exec was judged by, as the trusted matrix has it: what the store says may be anything. It
// is nil where it is another one, and exec would refuse it.
func (q *Question) commandOf(r *receipts.Receipt) []string {
	if r.Binding == "" || q.rules == nil || q.o.Routing != "" {
		return nil
	}
	b := q.rules.ByName(r.Binding)
	if b == nil || b.Kind != plan.Process || q.bindingOf(r) != b.Name {
		return nil
	}
	file, parsed := lang.Parse(diag.NewSource("--as", []byte(b.Verb+" "+b.Noun+"\n")))
	p, l := resolve.Resolve(file, q.rules, resolve.Options{Parsed: parsed})
	if l.Count(diag.Error) > 0 || len(p.Steps) != 1 {
		return nil
	}
	return p.Steps[0].Argv
}

// sessionFlags name the session and the nonce that were asked for.
func (q *Question) sessionFlags() (words []string) {
	if q.Session != "" {
		words = append(words, "--session", q.Session)
	}
	if q.Nonce != "" {
		words = append(words, "--nonce", q.Nonce)
	}
	return words
}

// fromExec reports whether `dialect exec` ran the command of a receipt.
func fromExec(r *receipts.Receipt) bool { return r.Binding == "" || r.Line.File.Text == "exec" }

// as are the arguments of a run that is as that of r was: in a clean checkout if that was, since what fails there may pass here each time.
func (q *Question) as(r *receipts.Receipt, alone bool, args ...string) []string {
	flags := q.givenTo(r, alone)
	if r.Clean != nil && !q.Clean {
		flags = append([]string{"--clean"}, flags...)
	}
	return append(flags, args...)
}

// givenTo are the flags that set the variables of the script as the run of r did, or what its line alone needs of them: another value is
// another command. The matrix is that which is asked about: another one proves nothing here.
func (q *Question) givenTo(r *receipts.Receipt, alone bool) (flags []string) {
	d, err := (history.Documents{Archive: q.logs}).Read(r.Run)
	if err != nil {
		return nil
	}
	given := history.GivenTo(d)
	if alone {
		given = given.For(r.Line.Text.Text)
	}
	for _, text := range given.Set {
		flags = append(flags, "--set", text)
	}
	return flags
}

// runRequired runs what is required, a line each, as a script of its own: a gate over a
// part of a script is not final. Where nothing is required it runs the script.
func (q *Question) runRequired(script string) string {
	if len(q.lines) == 0 {
		return q.run(script)
	}
	return report.Command(append([]string{"printf", `%s\n`}, q.lines...)) + " | " + q.run()
}

// next says what to do about a refusal: commands, and what a person has to decide as [advice].
// script is the one that was run, culprit the receipt that the refusal is of, or nil.
func (q *Question) next(refused receipts.Refusal, verdict verify.Verdict, script string, culprit *receipts.Receipt, rev string) []string {
	whole := q.run(script)
	switch {
	case q.matrix.Path == "" && len(q.restore) == 0:
		whole = q.begin(rev)
	case script != noScript:
	case len(q.lines) > 0: // of a script that is gone
		whole = q.runRequired(script)
	}
	if q.remedy != "" && q.ofCommit == nil && refused.Reason == receipts.TreeChanged {
		return []string{advice("%s", q.remedy), whole}
	}
	switch refused.Reason {
	case receipts.NotTerminal:
		return []string{
			advice("settle it once it is known how it ended, and gate it then: %s", report.Command(slices.Concat([]string{"dialect", "receipts", "settle"}, q.storeFlags(), []string{"--status", "STATUS", refused.SHA.Short()}))),
			q.gate(q.o.Require, refused.SHA.Short())}
	case receipts.NotSucceeded, receipts.Superseded:
		if q.apart && q.ofCommit != nil {
			return q.ofCommit(script, whole)
		}
		list := q.cure(culprit, refused.SHA)
		if culprit == nil || culprit.Place != q.Place {
			return append(list, whole) // a run of another project began it, which by itself would record elsewhere
		}
		if refused.Reason == receipts.Superseded && fromExec(culprit) && script != noScript {
			// Its words are those of a line, which only a line takes back.
			return append(list, whole)
		}
		if q.several && !fromExec(culprit) && q.scriptFor(culprit, "") != "" {
			flags := []string{"--failed", q.scriptFor(culprit, "")}
			if culprit.Clean != nil && !q.Clean {
				flags = append([]string{"--clean"}, flags...)
			}
			list = append(list, q.run(flags...))
		} else {
			list = append(list, q.again(culprit, refused.SHA)...)
		}
		if culprit.Binding != "" && verify.IsScript(culprit.Line.File.Text) {
			list = append(list, q.run(q.as(culprit, false, q.scriptFor(culprit, script))...))
		} else if q.commandOf(culprit) != nil { // a pass of it alone gates no script
			list = append(list, whole)
		}
		return list
	case receipts.InputsChanged:
		return append(q.install(culprit, ""), whole)
	case receipts.FlakyPass:
		return q.nextOfFlaky(culprit, refused.SHA, script)
	case receipts.OtherPolicy:
		return q.nextOfPolicy(whole, script, rev)
	case receipts.Outside:
		return []string{q.runRequired(script)}
	case receipts.NotCovered, receipts.CommandDiffers, receipts.NotFinal:
		if q.ofCommit != nil {
			return q.ofCommit(script, q.runRequired(script))
		}
		return []string{q.runRequired(script)}
	case receipts.Tampered, receipts.NotInLog:
		return q.nextOfTampered()
	case receipts.Degraded:
		if hint := store.Remedy(q.unusable); hint != "" {
			return []string{advice("%s", hint)}
		}
		return []string{"dialect doctor", store.Aside(q.path), whole}
	case receipts.Inexact:
		if !q.Commit {
			return []string{advice("%s:", leftBehind), whole}
		}
		if q.apart && q.ofCommit != nil {
			return q.ofCommit(script, whole)
		}
		return q.nextOfUnlike(rev, whole)
	case receipts.Consumed, receipts.Spent:
		return []string{advice("a receipt is consumed once; make new ones:"), whole}
	case receipts.Cut:
		return []string{advice("ask for the bundle that the notary wrote at the end of the session; a session that was killed has none")}
	case receipts.LevelTooLow:
		if q.Level >= receipts.LevelNotary {
			return []string{advice("a notary has to record it, in a clean checkout that shares nothing that the agent can write: see `dialect help notary`")}
		}
		return nextOfLevel(runtime.GOOS, keyfd.Weakness(), whole)
	case receipts.NotKept:
		return []string{advice("a checkpoint covers only earlier records: run again, keep a new checkpoint before anyone else can write to the store, and pass it with --since:"), whole}
	case receipts.NotClean:
		switch {
		case culprit == nil || culprit.Clean == nil:
		case len(culprit.Clean.Lowered) > 0:
			share := ""
			if q.rules != nil && len(q.rules.Clean.Share) > 0 {
				share = "take what is named out of [clean] share, or "
			}
			return []string{advice("%sinstall what is named where your user cannot write, such as by a package of the system, then run it again:", share), whole, advice("or ask without --clean")}
		case culprit.Clean.Unconfined:
			return []string{advice("run it where user namespaces are allowed, as an ordinary user, with a dialect that this user can read:"), whole, advice("or ask without --clean")}
		}
	case receipts.Untested:
		args := []string{script}
		if q.o.Routing != "" {
			args = []string{"--routing", q.o.Routing, script}
		}
		return []string{q.recorded("prove", args)}
	case receipts.Repeated:
		return []string{advice("name each receipt once")}
	case receipts.NoTree:
		if q.Tree == nil {
			return []string{advice("fix what keeps the files from being read, then:"), whole}
		}
	case receipts.NotReceipt:
		return []string{report.Command(append([]string{"dialect", "receipts", "list"}, q.storeFlags()...))}
	case receipts.Missing:
		if verdict == verify.Tampered {
			return q.nextOfGone()
		}
		if verdict == verify.Missing && script == noScript && len(q.lines) > 0 {
			return []string{q.runRequired(script)}
		}
	}
	if q.ofCommit != nil {
		return q.ofCommit(script, whole)
	}
	if culprit != nil && culprit.Line.File.Text == "exec" {
		return q.again(culprit, refused.SHA)
	}
	return []string{whole}
}

// cure is what to do about a failed line before it runs again: its inputs may be what is missing, or a package that was not to be had.
func (q *Question) cure(r *receipts.Receipt, sha receipts.Hash) []string {
	fix := "fix it"
	if q.commit != nil {
		fix = "fix it, commit that"
	}
	if list := q.install(r, ", or "+fix); list != nil {
		return list
	}
	switch line, command := q.unfetched(r, sha); {
	case command != "":
		return []string{advice("its output says that a package could not be fetched (%s): run `%s`, or %s, then:", line, command, fix)}
	case line != "":
		return []string{advice("its output says that a package could not be fetched (%s): look at the network, or %s, then:", line, fix)}
	}
	return []string{advice("%s, then:", fix)}
}

// nextOfFlaky is what to do about a pass after a failure, whose receipt is culprit, on the same files. Only a person may say that the failure does not
// matter, so that a comment says how.
func (q *Question) nextOfFlaky(culprit *receipts.Receipt, sha receipts.Hash, script string) (list []string) {
	table, clean, pack, program := "[commands.NAME] in routing.toml", false, false, ""
	var inputs []string
	if culprit != nil && culprit.Binding != "" && culprit.Place == q.Place {
		script, clean = q.scriptFor(culprit, script), culprit.Clean != nil
		inputs, table = q.matrix.Inputs[culprit.Binding], fmt.Sprintf("[commands.%s] in routing.toml", culprit.Binding)
		if b := q.bound(culprit.Binding); b != nil {
			pack, program = b.Pack, b.Tool()
		}
		if pack {
			table += " (copy the pack's whole table there)"
		}
	}
	line, command := q.unfetched(culprit, sha)
	if line != "" {
		list = append(list, advice("its output said that a package could not be fetched: %s", line))
	}
	decides := fmt.Sprintf("a person decides that the failure does not matter, and says why: `%s`", q.command("run", q.flags([]string{"--accept-flaky", "REASON", script})))
	text := fmt.Sprintf("if what the tools depend on was installed since, name a file that this changed, which must lie in the project, in %s, inputs = [\"PATH\"]; commit that, and run again:", table)
	switch {
	case clean: // where inputs excuse nothing, unless a setup installed others
		text = "it failed in a clean checkout, of just these files, which may lack what is here: find out why, and run again:"
	case len(inputs) > 0:
		text = fmt.Sprintf("if what the tools depend on was installed since, and did not change the inputs (%s), add a file that it changed, which must lie in the project, to those of %s; commit that, and run again:", strings.Join(inputs, ", "), table)
	case pack, outside(cmp.Or(command, program)): // a pack names what there is
		return append(list, advice("%s", decides), advice("or find out why it failed (%s), fix that in the files, commit it, and run again:", q.log(sha)), q.run(script))
	}
	return append(list, advice("%s", text), q.run(script), advice("or %s", decides))
}

// scriptFor is the script of a receipt, or the given one.
func (q *Question) scriptFor(r *receipts.Receipt, script string) string {
	if q.Level > receipts.LevelHash && r.Signer == "" { // of a run that a signed line started: by itself it would be of a lower level
		return script
	}
	if name := q.scriptOf(r.Run, r.Line.File.Text); name != "" {
		return name
	}
	return script
}

// nextOfTampered is what to do about a log that is not what was logged. No command of it takes evidence away: the memory of --state may be all that
// is left of records that were cut off, so a user who replaced the store has to remove it without our advice.
func (q *Question) nextOfTampered() []string {
	if q.bundle != "" {
		again := advice("a changed bundle cannot be repaired; the store may be intact: export the bundle again there: dialect receipts export --bundle g-... >FILE")
		if q.bundle == "-" { // which is read
			return []string{again}
		}
		return []string{advice("the audit says what is wrong with the bundle:"), q.audit(), again}
	}
	repair := "changed evidence cannot be repaired: keep a copy of the store with the files beside it (-wal, -audit), move them away, and run again"
	if q.o.State == "" {
		return append([]string{q.audit(), advice("the audit names what was changed; %s", repair)}, q.nextOfMemory()...)
	}
	return append([]string{
		advice("dialect receipts audit names changed records; it does not know --state, and calls a log consistent even if it was cut off, rolled back or replaced:"),
		q.audit(), advice("%s", repair),
	}, q.nextOfMemory()...)
}

// nextOfGone is what to do where a store is gone of which something is known.
func (q *Question) nextOfGone() []string {
	if q.bundle != "" {
		return q.nextOfTampered()
	}
	return append([]string{advice("put the store back, or a copy of it: nothing else proves what was recorded")}, q.nextOfMemory()...)
}

// nextOfMemory is what to do about what was kept of an older store, where that is meant to be gone.
func (q *Question) nextOfMemory() (list []string) {
	if q.o.Since != "" {
		list = append(list, advice("a new store has a new checkpoint to keep: dialect receipts checkpoint"))
	}
	if q.o.State != "" {
		list = append(list, advice("if you yourself replaced the store: remove %s, and with it all memory of the old store; each store needs a folder for --state of its own", place.Short(sqlite.StateFile(q.o.State))))
	}
	return list
}

// audit is the command that says what was changed in the store or the bundle.
func (q *Question) audit() string {
	words := []string{"dialect", "receipts", "audit"}
	switch {
	case q.bundle != "":
		words = append(words, "--bundle", q.bundle)
	default:
		words = append(words, q.storeFlags()...)
	}
	for _, k := range q.o.KeyFiles {
		words = append(words, "--key", k)
	}
	if q.o.Since != "" {
		words = append(words, "--since", q.o.Since)
	}
	return report.Command(words)
}

// nextOf is what to do about the gravest refusal of a result.
func (q *Question) nextOf(res *verify.Result, rev string) []string {
	if res.Verdict == verify.Verified || len(res.Refusals) == 0 {
		return nil
	}
	switch {
	case q.unshown:
		return []string{
			advice("export it again where the store is; what is signed ends at the last signed run, so keep a checkpoint after one: %s",
				report.Command([]string{"dialect", "receipts", "export", "--bundle", "--since", q.o.Since, "GATE"})),
		}
	case q.noRecord:
		list := []string{report.Command(append([]string{"dialect", "receipts", "list"}, q.storeFlags()...))}
		if len(q.others) > 0 {
			list = append(list, advice("or it is of another worktree of the repository:"), report.Command([]string{"dialect", "receipts", "list", "--store", q.others[0]}))
		}
		return list
	case q.matrix.Path == "" && res.Verdict == verify.Missing && q.bundle == "" && q.o.Routing == "":
		if list := q.below(rev); len(list) > 0 {
			return list
		}
	}
	first := res.Refusals[0]
	q.restore, q.unlike = q.nextOfNoMatrix(), differences(res.Body)
	script := q.script(res.Body, res.Members)
	if q.rules != nil && q.commit == nil {
		if lost := project.LostScript(context.Background(), filepath.Join(q.root, filepath.FromSlash(q.From)), q.rules); lost != "" {
			q.restore = append(q.restore, exit.Restore("HEAD", lost))
			if script == noScript {
				script = place.Short(lost)
			}
		}
	}
	list := q.next(first, res.Verdict, script, q.culprit, rev)
	if q.snapshot != nil && q.snapshot.Unmerged && (res.Verdict == verify.Stale || res.Verdict == verify.Missing) {
		list = append([]string{advice("%s", Unmerged(context.Background(), q.root))}, list...)
	}
	if len(q.nested) > 0 {
		list = append(q.nextOfNested(runtime.GOOS), q.runRequired(script))
	}
	switch n := len(q.ungated); {
	case n == 0 || len(q.gateFor) == 0:
	case first.Reason == receipts.Outside || len(q.Require) == 0: // where nothing is required, a whole script says more
		list = append(list, advice("or gate the receipt%s:", plural(n)), q.gate(q.gateFor, q.ungated...))
	default:
		list = slices.Concat([]string{advice("gate the receipt%s:", plural(n)), q.gate(q.gateFor, q.ungated...), advice("or run again:")}, list)
	}
	if q.commit != nil && !q.apart && (res.Verdict == verify.Failed || res.Verdict == verify.Flaky) {
		list = append(list, advice("then ask about the new commit"))
	}
	if first.Reason != receipts.OtherPolicy && q.bundle == "" { // nothing runs without a matrix
		list = slices.Concat(q.restore, list)
	}
	if q.bundle != "" && first.Reason != receipts.Tampered && q.Level != receipts.LevelNotary {
		list = append(list, advice("then, or if the bundle leaves a record out, export it again where the store is: dialect receipts export --bundle g-... >FILE"))
	}
	return list
}

// nextOfNested is what to do about repositories and worktrees in the tree that are not submodules: a run tests their
// files, and git add adds none of them. The command has git ignore them, and commits all else.
func (q *Question) nextOfNested(goos string) []string {
	var names, added, patterns []string
	for _, n := range q.nested {
		names = append(names, n.Path)
		if n.Tracked {
			added = append(added, n.Path)
		}
		pattern := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(n.Path)
		patterns = append(patterns, "/"+pattern+"/")
	}
	list := []string{advice("a commit has nothing of the files of %s, a repository or worktree of its own: move it out of the project, make it a submodule, or have git ignore it:", strings.Join(names[:min(len(names), 5)], ", "))}
	if goos == "windows" || slices.ContainsFunc(names, func(n string) bool { return strings.ContainsAny(n, "\n\r") }) {
		return list
	}
	git := func(args ...string) string {
		words := []string{"git"}
		if dir := place.Short(q.gitRoot); dir != "." {
			words = append(words, "-C", dir)
		}
		return report.Command(append(words, args...))
	}
	ignore, format := filepath.Join(q.gitRoot, ".gitignore"), `%s\n`
	if text, err := regular.Read(ignore, 1<<20); err == nil && len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		format = `\n%s\n`
	}
	commands := []string{report.Command(append([]string{"printf", format}, patterns...)) + " >>" + report.Command([]string{place.Short(ignore)})}
	if len(added) > 0 {
		commands = append(commands, git(append([]string{"rm", "--quiet", "--cached", "--"}, added...)...))
	}
	return append(list, strings.Join(append(commands, git("add", "--all"), git("commit", "--message=The files as tested")), " && "))
}

// leftOver finds what a gate over receipts that are there has to name, so that it would answer the question. Where nothing is required, only one
// over every line of the default script would: a gate over some would make VERIFIED of less than the last run did.
func (q *Question) leftOver(ctx context.Context, res *verify.Result) {
	if q.rules == nil || len(q.matrix.Path) == 0 {
		return
	}
	q.gateFor = q.required()
	for _, e := range res.Ungated {
		v, _ := e.Parse()
		r, ok := v.(*receipts.Receipt)
		if !ok {
			continue
		}
		if len(q.Require) == 0 {
			name := q.bindingOf(r)
			if name == "" {
				continue // no gate over it is final
			}
			if !slices.Contains(q.gateFor, name) {
				q.gateFor = append(q.gateFor, name)
			}
		}
		q.ungated = append(q.ungated, e.SHA.Short())
	}
	if len(q.Require) == 0 && len(q.ungated) > 0 {
		if _, list, _ := q.Default(ctx, "HEAD"); len(list) == 0 || uncovered(res.Ungated, list) != nil {
			q.gateFor = nil
		}
	}
}

// bindingOf returns the binding that a receipt meets as a requirement; empty for none.
func (q *Question) bindingOf(r *receipts.Receipt) string {
	for _, b := range q.rules.Bindings {
		if r.Binding != "" && r.Binding != b.Name {
			continue
		}
		list, _, err := requirements(q.rules, []string{b.Name})
		if err == nil && len(list) == 1 && list[0].Meets(r) {
			return b.Name
		}
	}
	return ""
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// gate is the command line of a gate over receipts, whose answer has what was asked for.
func (q *Question) gate(require []string, ids ...string) string {
	words := slices.Concat([]string{"dialect", "gate"}, q.storeFlags())
	if q.o.Routing != "" {
		words = append(words, "--routing", q.o.Routing)
	}
	for _, name := range require {
		words = append(words, "--require", name)
	}
	words = append(words, q.sessionFlags()...)
	if q.Level == receipts.LevelHash {
		return report.Command(append(words, ids...))
	}
	for _, k := range q.o.KeyFiles {
		words = append(words, "--key", k)
	}
	return keyed(runtime.GOOS, slices.Concat(words, []string{"--key-fd", "3"}, ids))
}

// nextOfDecision is what to do about the first refusal of a consumption or a gate.
func (q *Question) nextOfDecision(d receipts.Decision, get func(id string) (receipts.Entry, error)) []string {
	if d.Passed() {
		return nil
	}
	first := d.Refusals[0]
	var culprit *receipts.Receipt
	var gate *receipts.Gate
	var of []*receipts.Entry
	for i := range d.Records {
		e := &d.Records[i]
		v, _ := e.Parse()
		switch b := v.(type) {
		case *receipts.Gate:
			if gate == nil {
				gate = b
			}
		case *receipts.Receipt:
			of = append(of, e)
			if e.SHA == first.SHA {
				culprit = b
			}
		}
	}
	if e, err := get(first.SHA.String()); culprit == nil && !first.SHA.IsZero() && err == nil {
		v, _ := e.Parse()
		culprit, _ = v.(*receipts.Receipt)
	}
	if gate == nil && len(of) > 0 {
		gate = &receipts.Gate{Place: q.Place}
	}
	if first.Reason == receipts.Missing {
		return []string{report.Command(append([]string{"dialect", "receipts", "list"}, q.storeFlags()...))}
	}
	q.unlike = differences(gate)
	return q.next(first, "", q.script(gate, of), culprit, "")
}

// nextOfGate is what to do about the first refusal of a gate over the receipts ids.
func (q *Question) nextOfGate(d receipts.Decision, ids []string, get func(id string) (receipts.Entry, error)) []string {
	if d.Passed() {
		return nil
	}
	switch d.Refusals[0].Reason {
	case receipts.FlakyPass:
		return []string{advice("a person decides that the failure does not matter, and says why: %s", q.gate(q.o.Require, slices.Concat([]string{"--accept-flaky", "REASON"}, ids)...))}
	case receipts.NotCovered:
		return []string{advice("name a receipt of each command that is required, or run them:"), q.runRequired(noScript)}
	}
	return q.nextOfDecision(d, get)
}

// culprit returns the receipt of the gravest refusal; nil if it is about none. several reports whether other lines failed in the same run of its
// script, too. get finds a record.
func culprit(res *verify.Result, get func(id string) (receipts.Entry, error)) (first *receipts.Receipt, several bool) {
	of := func(r receipts.Refusal) *receipts.Receipt {
		e, err := get(r.SHA.String())
		if r.SHA.IsZero() || err != nil {
			return nil
		}
		v, _ := e.Parse()
		receipt, _ := v.(*receipts.Receipt)
		return receipt
	}
	for i, r := range res.Refusals {
		switch {
		case i == 0:
			if first = of(r); first == nil || r.Reason != receipts.NotSucceeded {
				return first, false
			}
		case r.Reason == receipts.NotSucceeded:
			if other := of(r); other != nil && other.Run == first.Run && other.Line.File.Text == first.Line.File.Text && other.Line.Number != first.Line.Number {
				return first, true
			}
		}
	}
	return first, false
}

// CheckIDs refuses what cannot be the id of a record, with what was meant, perhaps.
func CheckIDs(ids ...string) error {
	for _, id := range ids {
		if _, err := verify.ParseID(id); err != nil {
			return badID(id, &verify.LookupError{ID: id, Bad: true})
		}
	}
	return nil
}

// badID is the usage error about an id, with the flag that was meant, as far as that shows.
func badID(id string, err error) *exit.Failure {
	f := exit.Usagef("%v", err)
	info, serr := os.Stat(id)
	switch {
	case serr == nil && info.IsDir():
		f.Hint("to ask about the project in that folder: cd %s && dialect verify", report.Command([]string{id}))
		f.Hint("to insist on a binding of that name: --require %s", report.Command([]string{id}))
	case serr == nil && strings.HasSuffix(id, ".dlct"):
		f.Hint("verify asks about the files, not about a script: dialect verify; --require NAME insists on a binding")
	case serr == nil:
		f.Hint("verify asks about all files of the project: dialect verify")
	case strings.HasPrefix(id, "g-"):
		f.Hint("the id of a gate is g- and hex digits: `dialect receipts list` prints them")
	default:
		f.Hint("to ask about a commit: dialect verify --tree %s; to insist on a binding: --require %[1]s", report.Command([]string{id}))
	}
	return f
}
