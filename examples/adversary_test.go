package examples_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The adversary has the uid of the commands and all of their means; the orchestrator
// is another user wherever the tests run as root. Each attack is made on three
// orchestrators, by trust level, and the cell of the table is what their verdict was:
// examples/adversary.md is generated from here and says no more than happened.

// uidAgent is the user that commands and attackers are, where the tests are root.
const uidAgent = 65534

// A world is a project, its honest orchestrator and an attacker.
type world struct {
	t          *testing.T
	level      int // 0, 1, levelNotary or 3
	base       string
	dir        string // the project
	key        string // the private key; empty at level 0
	checkpoint string // file of the kept checkpoint; empty below level 3

	session  *guardedSession // of the level of the notary: the last one
	sessions int
	outside  *outsider
	identity string // a file to hand over; empty for a pipe
}

// An attack returns the cell: what the orchestrator got to see.
type attack struct {
	name string
	do   func(w *world) string
}

var project = map[string]string{
	"routing.toml": `[commands.check_alpha]
verb = "check"
noun = "alpha"
tool = "grep -q good alpha.txt"
receipt_required = true

[commands.test_make]
verb = "test"
noun = "make"
tool = "make --silent test"
receipt_required = true
pins = ["Makefile"]
expect = { min_tests = 2 }

[commands.gate_quality]
verb = "gate"
noun = "quality"
composite = ["check_alpha", "test_make"]
`,
	"Makefile":     "test:\n\t@sh tests.sh\n",
	"tests.sh":     "echo 'ok 1 - first'\necho 'ok 2 - second'\ntest ! -e \"$HOME/red\" || exit 1\necho 1..2\n",
	"alpha.txt":    "good\n",
	"quality.dlct": "Check with alpha\nTest with make\nGate against results\n",
	".gitignore":   "*.log\n",
}

func newWorld(t *testing.T, level int) *world {
	base, err := os.MkdirTemp("", "adversary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	w := &world{t: t, level: level, base: base, dir: filepath.Join(base, "project")}
	for _, dir := range []string{base, w.dir, w.path("home"), w.path("fake")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		w.own(dir, 0o755)
	}
	// A link, since 60 copies are a gigabyte; a symbolic one where links to files of others are
	// protected (fs.protected_hardlinks).
	if os.Link(closed, w.path("dialect")) != nil {
		if err := os.Symlink(closed, w.path("dialect")); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range project {
		w.write(name, text)
	}
	if level == levelNotary {
		w.answer()
	}
	w.sh("git init --quiet --initial-branch=main && git add . && git commit --quiet --message=begin && git tag trusted")
	if level > 0 {
		out, status := w.orchestrate("receipts", "keygen", "boss", w.path("boss.key"))
		if status != 0 {
			t.Fatal(out)
		}
		w.key = w.path("boss.key")
		if err := os.WriteFile(w.path("boss.pub"), []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.base, name) }

// own gives a file to the agent.
func (w *world) own(path string, mode os.FileMode) {
	w.t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, uidAgent, uidAgent); err != nil {
			w.t.Fatal(err)
		}
	}
}

// write writes a file of the project as the agent.
func (w *world) write(name, text string) {
	w.t.Helper()
	if w.outside != nil {
		text = strings.ReplaceAll(text, `test ! -e "$HOME/red"`, python()+" outside.py")
	}
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.own(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.own(path, 0o755)
}

// command makes a command of the agent, in the project.
func (w *world) command(argv ...string) *exec.Cmd {
	if w.level == levelNotary {
		return w.inside(argv...)
	}
	return w.outer(argv...)
}

// outer makes a command of the agent's user, in the project and under no guard.
func (w *world) outer(argv ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.path("home"), "LC_ALL=C", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_GLOBAL=/dev/null",
	}
	asAgent(cmd)
	return cmd
}

// run runs a command and returns all that it printed, and its exit status.
func (w *world) run(cmd *exec.Cmd) (string, int) {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		w.t.Fatalf("%q: %v", cmd.Args, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// sh runs a script of the agent's user, which changes files.
func (w *world) sh(script string) string {
	w.t.Helper()
	out, status := w.run(w.outer("sh", "-euc", script))
	if status != 0 {
		w.t.Fatalf("%s: exit %d\n%s", script, status, out)
	}
	return out
}

// sql changes the store behind its back, as the agent.
func (w *world) sql(script string) {
	w.t.Helper()
	out, status := w.run(w.command(python(), "-c", "import sqlite3,sys\nd=sqlite3.connect('.dialect/store/receipts.db')\nd.executescript(sys.argv[1])\nd.close()", script))
	if status != 0 {
		w.t.Fatalf("%s: %s", script, out)
	}
}

// agent runs dialect as the agent does: it has no key.
func (w *world) agent(args ...string) (string, int) {
	w.t.Helper()
	return w.run(w.command(append([]string{w.path("dialect")}, args...)...))
}

// orchestrate runs dialect as the orchestrator does, who reads what it likes.
func (w *world) orchestrate(args ...string) (string, int) {
	w.t.Helper()
	cmd := w.outer(append([]string{w.path("dialect")}, args...)...)
	cmd.Env = append(cmd.Env, "HOME="+w.base)
	asSelf(cmd)
	return w.run(cmd)
}

// start has the orchestrator run dialect with its key, as the agent's user.
func (w *world) start(env []string, args ...string) (string, int) {
	w.t.Helper()
	cmd, done := w.keyed(env, args...)
	defer done()
	return w.run(cmd)
}

// keyed makes the command of a run that the orchestrator starts with its key; done is to
// be called once it was started.
func (w *world) keyed(env []string, args ...string) (cmd *exec.Cmd, done func()) {
	w.t.Helper()
	cmd = w.command(append([]string{w.path("dialect")}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	if w.key == "" || w.level == levelNotary {
		return cmd, func() {}
	}
	r, done := pipeOf(w.t, w.key)
	cmd.ExtraFiles = []*os.File{r}
	cmd.Env = append(cmd.Env, "DIALECT_KEY_FD=3")
	return cmd, done
}

// pipeOf returns a pipe that holds the content of a file.
func pipeOf(t *testing.T, name string) (r *os.File, done func()) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, p, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(text); err != nil {
		t.Fatal(err)
	}
	p.Close()
	return r, func() { r.Close() }
}

// honest has the whole script run by the orchestrator, and keeps its checkpoint.
func (w *world) honest() {
	w.t.Helper()
	w.passes(nil)
	w.keep()
}

// passes has the orchestrator run the whole script. Where the notary does not let it pass, that is the cell.
func (w *world) passes(env []string) {
	w.t.Helper()
	out, status := w.start(env, "run", "quality.dlct")
	if status == 0 {
		return
	}
	if w.level == levelNotary {
		panic(early(w.ended(out, status)))
	}
	w.t.Fatalf("an honest run ends with %d: %s", status, out)
}

// early is the cell of an attack that ends before it is through, as a panic.
type early string

// carryOut makes an attack.
func (a attack) carryOut(w *world) (c string) {
	defer func() {
		if v := recover(); v != nil {
			said, ok := v.(early)
			if !ok {
				panic(v)
			}
			c = string(said)
		}
	}()
	if w.level == levelNotary {
		if do, ok := notary[a.name]; ok {
			return do(w)
		}
	}
	return a.do(w)
}

func (w *world) keep() {
	w.t.Helper()
	if w.level < 3 {
		return
	}
	out, status := w.agent("receipts", "checkpoint")
	if status != 0 {
		w.t.Fatal(out)
	}
	w.checkpoint = w.path("checkpoint.txt")
	if err := os.WriteFile(w.checkpoint, []byte(out), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// trustFlags are what the orchestrator of this level adds.
func (w *world) trustFlags() []string {
	var flags []string
	switch {
	case w.level == levelNotary:
		flags = append(flags, "--key", w.path("boss.pub"), "--level", "notary", "--bundle", w.over())
	case w.key != "":
		flags = append(flags, "--key", w.path("boss.pub"), "--level", "L1")
	}
	if w.checkpoint != "" {
		flags = append(flags, "--since", w.checkpoint)
	}
	return flags
}

var verdictWord = regexp.MustCompile(`(?m)^(VERIFIED|TAMPERED|DEGRADED|POLICY CHANGED|FAILED|FLAKY|RAN OUTSIDE THE MATRIX|STALE|MISSING)\b`)

const uncaught = "**not caught**"

// ask has the orchestrator ask whether the tree was tested, and returns the cell.
func (w *world) ask(args ...string) string {
	w.t.Helper()
	return w.askAbout("gate_quality", args...)
}

// askAbout is ask of another binding.
func (w *world) askAbout(binding string, args ...string) string {
	w.t.Helper()
	out, status := w.orchestrate(append(append([]string{"verify", "--require", binding}, w.trustFlags()...), args...)...)
	return w.cell(out, status)
}

// cell is what verify said, in the words of the table.
func (w *world) cell(out string, status int) string {
	w.t.Helper()
	word := verdictWord.FindString(out)
	said := saidWords.FindStringSubmatch(out)
	switch {
	case status == 0 && strings.HasPrefix(out, "VERIFIED for changed paths: "):
		return "reported: VERIFIED FOR CHANGED PATHS"
	case status == 0 && word == "VERIFIED" && said != nil:
		return "reported: " + said[1] + said[2]
	case status == 64 && strings.Contains(out, "ambiguous"):
		return "refused: ambiguous"
	case status == 64 && strings.Contains(out, " in two ways, as "):
		return "refused: two commits"
	case status == 64 && strings.Contains(out, "full commit hash"):
		return "refused: not a full hash"
	case status == 0 && word == "VERIFIED" && strings.Contains(out, "  note: "):
		note := out[strings.Index(out, "  note: ")+8:]
		for _, what := range []string{"executable", "did not reach its gate"} {
			if strings.Contains(note, what) {
				return "noted: " + what
			}
		}
		return uncaught
	case status == 0 && word == "VERIFIED":
		return uncaught
	case status == 3 && word != "" && word != "VERIFIED":
		return word
	}
	w.t.Errorf("verify ends with %d: %s", status, out)
	return "?"
}

// audit has the orchestrator check the store against its log.
func (w *world) audit() string {
	w.t.Helper()
	args := []string{"receipts", "audit"}
	if w.key != "" {
		args = append(args, "--all-signed", "--key", w.path("boss.pub"))
	}
	if w.checkpoint != "" {
		args = append(args, "--since", w.checkpoint)
	}
	out, status := w.orchestrate(args...)
	switch {
	case status == 0:
		return uncaught
	case status == 3 && strings.HasPrefix(out, "TAMPERED"):
		return "TAMPERED"
	case status == 3 && strings.HasPrefix(out, "UNSIGNED"):
		return "UNSIGNED"
	}
	w.t.Errorf("receipts audit ends with %d: %s", status, out)
	return "?"
}

var refusedReason = regexp.MustCompile(`(?m)^refused: ([a-z_]+)(?:: ([A-Z]{4,}[A-Z ]*):)?`)

// consume has the orchestrator consume, and returns the cell.
func (w *world) consume(args ...string) string {
	w.t.Helper()
	args = append([]string{"consume", "--as", "orchestrator"}, args...)
	cmd := w.command(append([]string{w.path("dialect")}, args...)...) // it writes into the agent's store
	return w.refused(w.run(cmd))
}

// refused is the cell of a consumption, or of a gate over receipts that are named.
func (w *world) refused(out string, status int) string {
	w.t.Helper()
	m := refusedReason.FindStringSubmatch(out)
	switch {
	case status == 0:
		return uncaught
	case status == 3 && strings.Contains(out, "TAMPERED"):
		return "TAMPERED"
	case status == 3 && m != nil:
		return "refused: " + m[1]
	case status == 3 && strings.Contains(out, "the store is the notary's"):
		return "refused: the notary's"
	}
	w.t.Errorf("exit %d: %s", status, out)
	return "?"
}

var gateID = regexp.MustCompile(`g-[0-9a-f]{12}`)

// gate returns the id of the newest gate.
func (w *world) gate() string {
	w.t.Helper()
	out, _ := w.agent("receipts", "list")
	ids := gateID.FindAllString(out, -1)
	if len(ids) == 0 {
		w.t.Fatalf("there is no gate: %s", out)
	}
	return ids[len(ids)-1]
}

var hash64 = regexp.MustCompile(`[0-9a-f]{64}`)

// exec leaves a receipt as the agent, and returns its hash.
func (w *world) exec(argv ...string) string {
	w.t.Helper()
	return w.execAs("", argv...)
}

// execAs takes a receipt of a command, judged by a binding if one is named.
func (w *world) execAs(binding string, argv ...string) string {
	w.t.Helper()
	args := []string{"exec"}
	if binding != "" {
		args = append(args, "--as", binding)
	}
	out, _ := w.agent(append(append(args, "--"), argv...)...)
	h := hash64.FindString(out)
	if h == "" {
		w.t.Fatalf("exec left no receipt: %s", out)
	}
	return h
}

// trusted is the hash of the commit that the orchestrator trusts.
func (w *world) trusted() string {
	w.t.Helper()
	return strings.TrimSpace(w.sh("git rev-parse trusted"))
}

// ends returns the cell of a run by the orchestrator that should not pass.
func (w *world) ends(env []string, args ...string) string {
	w.t.Helper()
	return w.ended(w.start(env, append([]string{"run"}, args...)...))
}

// ended is the cell of a run by how it ended.
func (w *world) ended(out string, status int) string {
	w.t.Helper()
	switch status {
	case 0:
		return uncaught
	case 1:
		return "the run FAILED"
	case 2:
		return "the run ended in a fault"
	case 3:
		if strings.Contains(out, "and start the session again") || strings.Contains(out, "run it without one") {
			return "the run REFUSED"
		}
		return "the gate REFUSED"
	}
	w.t.Errorf("run ends with %d: %s", status, out)
	return "?"
}

// python is the system's: what a version manager puts before it belongs to one user.
func python() string {
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		return "/usr/bin/python3"
	}
	return "python3"
}

// waitFor waits until a file is there.
func (w *world) waitFor(name string) {
	w.t.Helper()
	for range 6000 {
		if _, err := os.Stat(w.path(name)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("%s never came", name)
}

// killed starts a run as the agent, and kills dialect while the second command runs.
func (w *world) killed() {
	w.t.Helper()
	w.sh(`printf '#!/bin/sh\ntouch "$HOME/started"\nexec sleep 600\n' >../fake/make && chmod +x ../fake/make`)
	cmd, done := w.keyed([]string{"PATH=" + w.path("fake") + ":" + os.Getenv("PATH")}, "run", "quality.dlct")
	defer done()
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.waitFor("home/started")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// The table says what happened.
func TestAdversary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the attacks are Linux's")
	}
	for _, tool := range []string{"git", "make", "python3", "grep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if notClosed != nil {
		text := fmt.Sprintf("NOT TESTED: the levels above L0 need root, or sudo: %v", notClosed)
		if os.Getenv("CI") != "" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	levels := []int{0, 1, 3, levelNotary}
	all := slices.Concat(attacks, scopes, seams)
	cells, ran := make([][4]string, len(all)), make([][4]bool, len(all))
	t.Run("attacks", func(t *testing.T) {
		for i, a := range all {
			for j, level := range levels {
				if a.do == nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s", strings.ReplaceAll(a.name, "/", " "), levelNames[j]), func(t *testing.T) {
					t.Parallel()
					cells[i][j] = a.carryOut(newWorld(t, level))
					ran[i][j] = true
					t.Log(cells[i][j])
				})
			}
		}
	})
	want, err := os.ReadFile("adversary.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(adversaryHead)
	for i, a := range all {
		b.WriteString(a.row(cells[i], ran[i], strings.Split(string(want), "\n")) + "\n")
	}
	b.WriteString(adversaryFoot)
	if *update {
		if err := os.WriteFile("adversary.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Errorf("adversary.md:%d says something else than happened; -update writes it anew\n%s", i+1, is[min(i, len(is)-1)])
		}
	}
}

var levelNames = [...]string{"L0", "L1", "L3", "notary"}

const adversaryHead = `# What an agent that cheats gets away with

Made by ` + "`go test ./examples -run Adversary`" + `, which carries out each attack at each level and fails when a cell differs;
` + "`-update`" + ` writes this file. The attacker has the uid of the commands and may change any file of theirs. A cell is what the
orchestrator got to see: the verdict of ` + "`dialect verify --require gate_quality`" + ` where nothing else is named, of ` + "`receipts audit`" + `,
of ` + "`consume`" + ` or of the run itself. "reported" means that the verdict is VERIFIED, or that the run passed, and that its line says so.

L0 has no key: the run is recorded by itself. At L1 the orchestrator starts dialect with a key by descriptor, from a binary that
the agent cannot read, and accepts its signatures alone (` + "`--key boss.pub --level L1`" + `). At L3 it also keeps the checkpoint of the log
elsewhere (` + "`--since checkpoint.txt`" + `).

All attacks are made in the working tree itself, and in what lies around it. What only a run in a clean checkout
could catch is in the last section.

In the column notary the agent works under ` + "`dialect guard --identity`" + `, and the orchestrator looks at the bundle of the session alone
(` + "`--bundle`, `--level notary`, `--key boss.pub`" + `). Commands run in a clean checkout there. "out of reach" means that the agent found no store to
attack, and that the tests had passed.

| attack | L0 | L1 | L3 | notary |
|---|---|---|---|---|
`

const adversaryFoot = `
No level in the working tree catches what the signed and kept evidence itself does not see: files that were edited and put back between two
snapshots, ignored files, tests that prove nothing, a tool that lies and was never another one, a matrix that lies and was
committed where nobody names a base, root, and an orchestrator whose own dialect, key or eyes are somebody else's. A clock
that is set back undoes no failure: the log's order counts, and a failure that began after a pass counts as well; ` + "`--max-age`" + ` trusts the clock of the machine that made the receipt. A kept
checkpoint proves that nothing of what it covers was taken away, not that nothing was recorded after it, nor that all that happened was
recorded: anyone who runs a check elsewhere, and deletes that, leaves no trace here. VERIFIED FOR CHANGED PATHS claims no more than that each line passed on the files that it
names: what a tool reads beyond them, and another line names, may have changed. So it is not a gate, and nothing consumes it, and only a
baseline that says so lets ` + "`--require`, `--base` or a key" + ` accept it.
`
