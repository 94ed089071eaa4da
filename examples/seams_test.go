package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Attacks on the places where two parts meet: between the audit and the answer, the
// matrix and its baseline, a commit and the files that were tested.

// checks has the binding check_alpha run another tool; the orchestrator trusts that.
func checks(w *world, tool, more string) {
	w.t.Helper()
	w.write("routing.toml", strings.Replace(project["routing.toml"], "grep -q good alpha.txt", tool, 1)+more)
	w.sh("git add . && git commit --quiet --message=tool && git tag --force trusted >/dev/null")
}

// washed has a line fail in one way, and then pass on the same files.
func washed(script string, env ...string) func(*world) string {
	return washedBy(script, env, func(w *world) {
		if out, status := w.start([]string{"TZ=UTC"}, "run", "quality.dlct"); status == 0 {
			w.t.Fatalf("the red run passes: %s", out)
		}
	})
}

// hung has a line hang until its run takes too long, and then pass on the same files.
func hung() func(*world) string {
	return washedBy("test ! -e \"$HOME/red\" || exec sleep 600\n", nil, func(w *world) {
		for timeout := 2 * time.Second; ; timeout *= 4 { // on a busy machine the line may begin later
			out, status := w.start(nil, "run", "--timeout", timeout.String(), "quality.dlct")
			if status == 0 {
				w.t.Fatalf("the red run passes: %s", out)
			}
			if strings.Contains(out, "fault timeout, killed") {
				return
			}
			if timeout > time.Minute {
				w.t.Fatalf("the line does not hang: %s", out)
			}
		}
	})
}

// washedBy has a line of this script fail in a run, and then pass on the same files.
func washedBy(script string, env []string, fail func(*world)) func(*world) string {
	return func(w *world) string {
		w.write("check.sh", script)
		w.write("tests.sh", "echo 'ok 1 - first'\necho 'ok 2 - second'\necho 1..2\n") // which pass in both runs
		checks(w, "sh check.sh", "")
		red(w)
		fail(w)
		green(w)
		if out, status := w.start(env, "run", "quality.dlct"); status != 0 {
			w.t.Fatalf("the green run ends with %d: %s", status, out)
		}
		w.keep()
		return w.ask()
	}
}

// toggle has the agent run a script in a loop until the function that it returns is
// called. The script gets the connection d.
func (w *world) toggle(script string) (stop func()) {
	w.t.Helper()
	loop := "import os,sqlite3,sys\nd=sqlite3.connect('.dialect/store/receipts.db',timeout=5,isolation_level=None)\n" + script + `
open('../home/toggling','w').close()
while not os.path.exists('../home/stop'):
    step()
`
	cmd := w.command(python(), "-c", loop)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.waitFor("home/toggling")
	return func() {
		w.t.Helper()
		w.sh(`touch "$HOME/stop"`)
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("the attacker ended: %v: %s", err, out.String())
		}
	}
}

// rounds asks many times, and returns the one answer, or all that there were.
func rounds(n int, ask func() string) string {
	var seen []string
	for range n {
		if a := ask(); !strings.Contains(strings.Join(seen, " or "), a) {
			seen = append(seen, a)
		}
	}
	return strings.Join(seen, " or ")
}

// failedLast has a pass be followed by a failure.
func failedLast(w *world) {
	w.honest()
	red(w)
	w.start(nil, "run", "quality.dlct")
	green(w)
	w.keep()
}

// cut takes the records of the failed run out of the log, and builds the log anew.
// With the argument "misdirect" it puts back the signed checkpoint of before the failure, adds records
// of nobody, and overwrites the inner keys of the table, so that a scan sees all records and a
// reading from one of them on does not.
const cut = `
import hashlib, json, os, sqlite3, struct, sys
misdirect, note = 'misdirect' in sys.argv, None
d = sqlite3.connect('.dialect/store/receipts.db')
rows = d.execute('SELECT seq, sha, kind, body, signature FROM record ORDER BY seq').fetchall()
failed = {json.loads(r[3])['run'] for r in rows if r[2] == 'receipt' and json.loads(r[3])['status'] == 'failed'}
keep = [r for r in rows if json.loads(r[3]).get('run') not in failed]
assert 0 < len(keep) < len(rows)
if misdirect:
    note = sqlite3.connect('../before.db').execute('SELECT note FROM head').fetchone()[0]
    for i in range(60):
        body = b'{"n":%d,"pad":"%s"}' % (i, b'x' * 150)
        keep.append((-1, hashlib.sha256(b'dialect.junk/1\n' + body).digest(), 'junk', body, None))
for table in ('record', 'node'):
    d.execute('DELETE FROM ' + table)
nodes, edge = 0, []
for n, (old, sha, kind, body, signature) in enumerate(keep):
    d.execute('INSERT INTO record(seq, sha, kind, body, signature) VALUES (?, ?, ?, ?, ?)', (n, sha, kind, body, signature))
    h, size = hashlib.sha256(b'\0dialect.' + kind.encode() + b'/1\n' + body).digest(), 1
    while True:
        d.execute('INSERT INTO node(idx, hash) VALUES (?, ?)', (nodes, h))
        nodes += 1
        if not edge or edge[-1][1] != size:
            break
        h, size = hashlib.sha256(b'\1' + edge.pop()[0] + h).digest(), 2 * size
    edge.append((h, size))
root = edge.pop()[0]
while edge:
    root = hashlib.sha256(b'\1' + edge.pop()[0] + root).digest()
d.execute('UPDATE head SET count = ?, root = ?, note = ?', (len(keep), root, note))
d.execute('DELETE FROM item WHERE seq IN (%s)' % ','.join(str(r[0]) for r in rows if r not in keep))
for n, r in enumerate(keep):
    d.execute('UPDATE item SET seq = ? WHERE seq = ?', (n, r[0]))
    d.execute('UPDATE item SET consumption = ? WHERE consumption = ?', (n, r[0]))
d.commit()
if misdirect:
    page = d.execute("SELECT rootpage FROM sqlite_master WHERE name = 'record'").fetchone()[0]
    d.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()
    d.close()
    with open('.dialect/store/receipts.db', 'r+b') as f:
        size = struct.unpack('>H', f.read(18)[16:])[0]
        f.seek((page - 1) * size)
        b = bytearray(f.read(size))
        assert b[0] == 5, 'the table has one page'
        for i in range(struct.unpack('>H', b[3:5])[0]):
            at = struct.unpack('>H', b[12 + 2 * i:14 + 2 * i])[0] + 4
            assert b[at] < 128
            b[at] = min(i, 1)
        f.seek((page - 1) * size)
        f.write(b)
`

// agrees is an MCP server whose tool says no while the file ../home/red is there.
const agrees = `import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "check", "inputSchema": {"type": "object"}}]}
    else:
        no = os.path.exists("../home/red")
        if no and sys.argv[1:] == ["error"]:
            print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32000, "message": "no"}}), flush=True)
            continue
        r = {"isError": no, "content": [{"type": "text", "text": "no" if no else "yes"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

var saidWords = regexp.MustCompile(`(failed [a-z0-9 ]+?|[0-9]+ attempts?) on these files( gave no answer)?`)

// ownGate returns what a run by the orchestrator says of itself.
func (w *world) ownGate(args ...string) string {
	w.t.Helper()
	out, status := w.start(nil, append([]string{"run"}, args...)...)
	m := saidWords.FindStringSubmatch(out)
	switch {
	case status == 0 && m != nil:
		return "reported: " + m[1] + m[2]
	case status == 0:
		w.t.Log(out)
		return uncaught
	case status == 3:
		return "the gate REFUSED"
	}
	w.t.Errorf("run ends with %d: %s", status, out)
	return "?"
}

// inClone asks whether what a clone of HEAD has was tested, where it was not.
func inClone(build string, checked string) func(*world) string {
	return func(w *world) string {
		w.write("check.sh", checked)
		checks(w, "sh check.sh", "")
		w.sh(build)
		w.sh("git clone --quiet --no-hardlinks . ../clone")
		cmd := w.command("sh", "check.sh")
		cmd.Dir = w.path("clone")
		if out, status := w.run(cmd); status == 0 {
			w.t.Errorf("the check passes in a clone: %s", out)
		}
		w.honest()
		return w.ask("--tree", "HEAD")
	}
}

// unseenPin hides a pinned file from snapshots, and has the agent put another one in its place
// while a run on red files goes on. It asks when all is as it was.
func unseenPin(hide, file string, args ...string) func(*world) string {
	return func(w *world) string {
		w.write("check.sh", `touch "$HOME/checking"; for i in $(seq 400); do test -e "$HOME/swapped" && exit; sleep 0.05; done; exit 1`+"\n")
		w.write("routing.toml", strings.Replace(project["routing.toml"], `pins = ["Makefile"]`, `pins = ["Makefile", "GNUmakefile"]`, 1))
		w.sh(`sed -i 's/tool = "grep.*/tool = "sh check.sh"/' routing.toml && git add . && git commit --quiet --message=tool && git tag --force trusted >/dev/null`)
		base := w.trusted()
		red(w)
		w.sh(hide)
		cmd := w.command("sh", "-ec", `until test -e "$HOME/checking"; do sleep 0.05; done
test ! -e "$1" || mv "$1" ../good
printf 'test:\n\t@echo ok 1; echo ok 2; echo 1..2\n' >"$1"
touch "$HOME/swapped"`, "sh", file)
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
		w.start(nil, "run", "quality.dlct")
		if err := cmd.Wait(); err != nil {
			w.t.Fatal(err)
		}
		w.sh("rm " + file + "; test ! -e ../good || mv ../good " + file)
		w.keep()
		return w.ask(append([]string{"--base", base}, args...)...)
	}
}

// untrack takes the Makefile out of the index, and hides it.
const untrack = `echo Makefile >>.gitignore; git rm --quiet --cached Makefile; git commit --quiet --all --message=x`

// kept is the cell of an attack that was to hide a pass, or to destroy it.
func (w *world) kept(cell string) string {
	if cell == uncaught {
		return "VERIFIED all the same"
	}
	w.t.Errorf("the pass is not found any more: %s", cell)
	return cell
}

var seams = []attack{
	{"**While somebody asks**", nil},
	{"the projection is toggled while verify asks, by SQL", func(w *world) string {
		failedLast(w)
		stop := w.toggle(`def step():
    for s in ('succeeded', 'failed'):
        d.execute("UPDATE item SET status = ? WHERE kind = 'receipt' AND line = 2 AND seq > 5", (s,))`)
		defer stop()
		return rounds(10, func() string { return w.ask() })
	}},
	{"the projection is toggled while verify asks, by pwrite(2) on the file", func(w *world) string {
		failedLast(w)
		stop := w.toggle(`path = '.dialect/store/receipts.db'
def pages():
    d.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    b = open(path, 'rb').read()
    return [b[i:i+4096] for i in range(0, len(b), 4096)]
before = pages()
d.execute("UPDATE item SET status = 'succeeded' WHERE kind = 'receipt' AND status = 'failed'")
after = pages()
d.execute("UPDATE item SET status = 'failed' WHERE kind = 'receipt' AND line = 2 AND seq > 5")
pages()
d.close()
f = os.open(path, os.O_RDWR)
changed = [i for i in range(1, min(len(before), len(after))) if before[i] != after[i]]
assert changed
def step():
    for image in (after, before):
        for i in changed:
            os.pwrite(f, image[i], i * 4096)`)
		defer stop()
		return rounds(10, func() string { return w.ask() })
	}},
	{"`consumed` is toggled while one gate is consumed ten times", func(w *world) string {
		w.honest()
		g := w.gate()
		stop := w.toggle(`def step():
    d.execute("UPDATE item SET consumed = 0, consumed_by = NULL, consumed_at = NULL, consumption = NULL WHERE kind = 'gate'")`)
		defer stop()
		if first := w.consume(g); first != uncaught {
			return first
		}
		return rounds(9, func() string { return w.consume(g) })
	}},
	{"a failure is painted over before the run's own gate", func(w *world) string {
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.sql(`UPDATE item SET status = 'succeeded' WHERE status = 'failed'`)
		return w.ownGate("quality.dlct")
	}},
	{"rows that settle themselves (`settlement = seq`)", tampered(`UPDATE item SET settlement = seq`)},
	{"a report is written over the store (`--junit .dialect/store/receipts.db`)", func(w *world) string {
		w.honest()
		if out, status := w.start(nil, "run", "--junit", ".dialect/store/receipts.db", "quality.dlct"); status != 64 {
			w.t.Errorf("exit %d: %s", status, out)
		}
		return w.kept(w.ask())
	}},

	{"**The signed log**", nil},
	{"a failure is cut out of the middle of the log, which is built anew", func(w *world) string {
		w.honest()
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.start(nil, "run", "quality.dlct")
		w.keep()
		w.write("../cut.py", cut)
		w.sh(python() + " ../cut.py")
		return w.ask()
	}},
	{"the same, and then the orchestrator runs once more", func(w *world) string {
		w.honest()
		w.keep()
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.start(nil, "run", "quality.dlct")
		w.write("../cut.py", cut)
		w.sh(python() + " ../cut.py")
		w.start(nil, "run", "quality.dlct")
		return w.ask()
	}},
	{"the same, the signatures emptied while the orchestrator runs once more, and put back", func(w *world) string {
		w.honest()
		w.keep()
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.start(nil, "run", "quality.dlct")
		w.write("../cut.py", cut)
		w.write("../mask.py", `
import json, os, sqlite3
d = sqlite3.connect('.dialect/store/receipts.db')
if os.path.exists('../masked'):
    d.executemany('UPDATE record SET signature = ? WHERE seq = ?', json.load(open('../masked')))
else:
    json.dump(d.execute('SELECT signature, seq FROM record WHERE signature IS NOT NULL').fetchall(), open('../masked', 'w'))
    d.execute('UPDATE record SET signature = NULL')
d.commit()
`)
		w.sh(python() + " ../cut.py && " + python() + " ../mask.py")
		w.start(nil, "run", "-e", "Check with alpha")
		w.sh(python() + " ../mask.py")
		return w.ask()
	}},
	{"the same, under the signed checkpoint of before it, in a table whose inner keys mislead a second reading", func(w *world) string {
		w.honest()
		w.sh("cp .dialect/store/receipts.db ../before.db; cp .dialect/store/receipts.db-wal ../before.db-wal 2>/dev/null || true; echo two >extra.txt; git add .; git commit --quiet --message=two")
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.start(nil, "run", "quality.dlct")
		w.keep()
		w.write("../cut.py", cut)
		w.sh(python() + " ../cut.py misdirect")
		return w.ask()
	}},
	{"the signature of a failure is taken away", func(w *world) string {
		failedLast(w)
		w.sql(`UPDATE record SET signature = NULL WHERE kind = 'receipt' AND instr(CAST(body AS TEXT), '"status":"failed"')`)
		return w.ask()
	}},
	{"a bundle whose checkpoint has lost its signature", func(w *world) string {
		if w.key == "" {
			return "no key"
		}
		w.honest()
		out, status := w.agent("receipts", "export", "--bundle", w.gate())
		if status != 0 {
			w.t.Fatal(out)
		}
		// The checkpoint is three lines, an empty one, and the signature.
		bare := regexp.MustCompile(`("checkpoint":"(?:[^"\\]+\\n){3})\\n[^"]*"`).ReplaceAllString(out, `$1"`)
		if bare == out {
			w.t.Fatalf("the checkpoint is not signed: %s", out)
		}
		w.write("../bundle.json", bare)
		out, status = w.orchestrate("verify", "--require", "gate_quality", "--key", w.path("boss.pub"), "--level", "L1", "--bundle", w.path("bundle.json"))
		return w.cell(out, status)
	}},
	{"a pass is hidden by 200 gates that nobody signed", func(w *world) string {
		w.honest()
		w.write("../many.dlct", strings.Repeat("Check with alpha\nGate against results\n", 201))
		if out, status := w.agent("run", "--routing", "routing.toml", "../many.dlct"); status != 0 {
			w.t.Fatal(out)
		}
		return w.kept(w.ask())
	}},

	{"**The last word**", nil},
	{"red, then green in another time zone", washed("test ! -e \"$HOME/red\"\n", "TZ=Asia/Tokyo")},
	{"the tool crashes on red (SIGSEGV), then passes", washed("test ! -e \"$HOME/red\" || kill -SEGV $$\n")},
	{"the tool is killed on red, then passes", washed("test ! -e \"$HOME/red\" || kill -KILL $$\n")},
	{"the tool hangs on red until the timeout, then passes", hung()},
	{"the tool ends on red like a shell that misses a command (127, and its words), then passes", func(w *world) string {
		w.write("check.sh", "test ! -e \"$HOME/red\" || { echo 'sh: 1: x: not found' >&2; exit 127; }\n")
		w.write("tests.sh", "echo 'ok 1 - first'\necho 'ok 2 - second'\necho 1..2\n") // which pass in both runs
		checks(w, "sh check.sh\"\nshell = true\nhint = \"x", "")
		red(w)
		if out, status := w.start(nil, "run", "quality.dlct"); status == 0 {
			w.t.Fatal(out)
		}
		green(w)
		w.honest()
		return w.ask()
	}},
	{"the tool prints on red what it should not, and exits 0 (`expect`), then passes", func(w *world) string {
		w.write("check.sh", "test ! -e \"$HOME/red\" || echo bad\n")
		checks(w, "sh check.sh\"\nexpect = { stdout = \"\" }\nhint = \"x", "")
		red(w)
		if out, status := w.start(nil, "run", "quality.dlct"); status == 0 {
			w.t.Fatal(out)
		}
		green(w)
		w.honest()
		return w.ask()
	}},
	{"an MCP tool says no, then yes", server("")},
	{"an MCP tool answers with an error of JSON-RPC, then yes", server(" error")},
	{"a report says that a test failed, and the tool exits 0 (`junit`)", func(w *world) string {
		w.write("check.sh", `echo '<testsuite><testcase name="a"><failure/></testcase></testsuite>' >report.log`+"\n")
		checks(w, "sh check.sh\"\njunit = \"report.log\"\nhint = \"x", "")
		return w.ends(nil, "quality.dlct")
	}},
	{"red, then green, and between them a filter that gives the same files another tree in git", func(w *world) string {
		red(w)
		if out, status := w.start(nil, "run", "quality.dlct"); status == 0 {
			w.t.Fatal(out)
		}
		green(w)
		tree := w.sh("git add . && git write-tree")
		w.sh("echo 'alpha.txt filter=f' >.git/info/attributes; git config filter.f.clean 'tr a-z A-Z'; touch alpha.txt")
		if w.sh("git add . && git write-tree") == tree {
			w.t.Fatal("the tree is the same")
		}
		w.honest()
		return w.ask()
	}},
	{"a weaker script passes on the files that failed; plain `verify`", func(w *world) string {
		red(w)
		w.start(nil, "run", "quality.dlct")
		w.write("../weak.dlct", "Check with alpha\nGate against results\n")
		if out, status := w.start(nil, "run", "--routing", "routing.toml", "../weak.dlct"); status != 0 {
			w.t.Fatal(out)
		}
		w.keep()
		return w.plain()
	}},
	{"the run is repeated until it is green; plain `verify` of who runs it", func(w *world) string {
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.honest()
		out, status := w.agent("verify")
		return w.cell(out, status)
	}},

	{"**What is consumed**", nil},
	{"`consume` of a gate on files that changed since", func(w *world) string {
		w.honest()
		g := w.gate()
		w.sh(edit)
		return w.consume(g)
	}},
	{"`consume` of a gate under an edited matrix", func(w *world) string {
		write0(w, "routing.toml", `tool = "grep -q good alpha.txt"`, lie)
		w.honest()
		return w.consume(w.gate())
	}},
	{"`exec` of the words of a binding, without `--as`, in a gate", func(w *world) string {
		a, b := w.exec("grep", "-q", "good", "alpha.txt"), w.exec("make", "--silent", "test")
		return w.refused(w.agent("gate", "--require", "gate_quality", a, b))
	}},
	{"what ran in another project of the working tree is handed up, with a copy of its store", func(w *world) string {
		w.sh("mkdir b && cp routing.toml Makefile alpha.txt quality.dlct b/ && echo 'exit 1' >b/tests.sh && git add . && git commit --quiet --message=b")
		w.honest()
		w.sh("cp -a .dialect b/")
		return w.askIn("b")
	}},
	{"the consumption is cut off the log, and the gate consumed again", consumedAgain(false)},
	{"the same, and the orchestrator keeps its own decisions (`consume --state`)", consumedAgain(true)},

	{"**The baseline**", nil},
	{"the agent's own matrix is put below the one that the commit has for the folder", func(w *world) string {
		w.sh("mkdir b && cp quality.dlct alpha.txt b/ && git add . && git commit --quiet --message=b")
		w.sh(`sed 's/tool = .*/tool = "echo ok 1; echo ok 2; echo 1..2"\nshell = true/' routing.toml >b/routing.toml`)
		if out, status := w.start(nil, "run", "b/quality.dlct"); status != 0 {
			w.t.Fatal(out)
		}
		return w.askIn("b")
	}},
	{"the `.mcp.json` of a server is deleted, so that another file's server of that name answers; with `--base`", func(w *world) string {
		if err := os.Link(filepath.Join(filepath.Dir(dialect), "dialect-mcp"), w.path("dialect-mcp")); err != nil {
			w.t.Skip(err)
		}
		w.write("server.py", agrees)
		w.write(".mcp.json", `{"mcpServers": {"judge": {"command": "false"}}}`)
		w.write(".cursor/mcp.json", `{"mcpServers": {"judge": {"command": "`+python()+`", "args": ["server.py"]}}}`)
		checks(w, "mcp:judge:check", "")
		w.sh("git rm --quiet .mcp.json && git commit --quiet --message=x")
		w.honest()
		return w.ask("--base", w.trusted())
	}},
	{"the tree object of the trusted commit is overwritten; `--base HASH`", func(w *world) string {
		base := w.trusted()
		write0(w, "routing.toml", `tool = "grep -q good alpha.txt"`, lie)
		w.sh(edit + `; git commit --quiet --all --message=x
object() { h=$(git rev-parse "$1^{tree}"); echo ".git/objects/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-)"; }
cp -f "$(object HEAD)" "$(object trusted)"`)
		w.honest()
		return w.ask("--base", base)
	}},
	{"a tag that is called like the branch: `--base origin/main`", func(w *world) string {
		w.sh("git update-ref refs/remotes/origin/main trusted")
		write0(w, "routing.toml", `tool = "grep -q good alpha.txt"`, lie)
		w.sh(edit + "; git commit --quiet --all --message=x; git tag origin/main")
		w.honest()
		return w.ask("--base", "origin/main")
	}},
	{"a pin is a link to an ignored file that changes during the run", unseenPin("cp Makefile m.log; ln -sf m.log Makefile", "m.log")},
	{"a pinned file is ignored and taken out of the index, and changes during the run", unseenPin(untrack, "Makefile")},
	{"the same; `--tree HEAD` of a commit that does not have it", unseenPin(untrack, "Makefile", "--tree", "HEAD")},
	{"a pin that is not there is ignored, and there during the run (`GNUmakefile`)", unseenPin("echo GNUmakefile >>.gitignore; git commit --quiet --all --message=x", "GNUmakefile")},

	{"**New files**", nil},
	{"a file named `.git`, which is not a repository, is edited after the run", func(w *world) string {
		w.write("data/.git", "good")
		checks(w, "grep -q good data/.git", "")
		w.honest()
		w.write("data/.git", "bad")
		return w.ask()
	}},
	{"a file is dropped during the run", func(w *world) string {
		w.write("tests.sh", "echo ok 1; echo ok 2; echo 1..2; echo x >conftest.py\n")
		w.sh("git add . && git commit --quiet --message=x")
		w.honest()
		return w.ask()
	}},
	{"and committed afterwards; `--tree HEAD`", func(w *world) string {
		w.write("tests.sh", "echo ok 1; echo ok 2; echo 1..2; echo x >conftest.py\n")
		w.sh("git add . && git commit --quiet --message=x")
		w.honest()
		w.sh("git add . && git commit --quiet --message=y")
		return w.ask("--tree", "HEAD")
	}},
	{"a report takes the place of a test that fails, which is put back (`--junit bad.sh`)", func(w *world) string {
		w.write("bad.sh", "exit 1\n")
		w.write("check.sh", "grep -q xml bad.sh || test ! -s bad.sh || sh bad.sh\n")
		checks(w, "sh check.sh", "")
		w.start(nil, "run", "--junit", "bad.sh", "quality.dlct")
		w.write("bad.sh", "exit 1\n")
		w.keep()
		return w.ask()
	}},

	{"**A commit: `verify --tree HEAD`, where the tests fail in a clone**", nil},
	{"a clean filter that hides its own attributes", inClone(`printf 'x -text\n' >.gitattributes; echo bad >alpha.txt; git add .; git commit --quiet --message=x
git config filter.lie.clean "printf 'bad\n'"; git config filter.hide.clean "printf 'x -text\n'"
printf 'x -text\nalpha.txt filter=lie\n.gitattributes filter=hide\n' >.gitattributes; echo good >alpha.txt`, "grep -q good alpha.txt\n")},
	{"a working-tree-encoding of UTF-7", inClone(`echo 'alpha.txt working-tree-encoding=UTF-7' >.gitattributes; echo '+AGEAYg-' >alpha.txt; git add .; git commit --quiet --message=x`, "grep -q AGEA alpha.txt\n")},
	{"a sparse entry that is gone", inClone(`echo x >broken.txt; git add .; git commit --quiet --message=x
git config core.sparseCheckout true; git update-index --skip-worktree broken.txt; rm broken.txt`, "test ! -e broken.txt\n")},
	{"a dirty submodule", inClone(`git init --quiet ../sub; (cd ../sub; echo bad >beta.txt; git add .; git commit --quiet --message=x)
git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit --quiet --message=x; echo good >sub/beta.txt`, "grep -q good sub/beta.txt\n")},
	{"a FIFO", inClone(`mkfifo pipe`, "test -p pipe\n")},
	{"`STRICT=1` with a carriage return, under `text=auto`", inClone(`printf '* text=auto\n' >.gitattributes; printf 'STRICT=1\r\n' >mode.sh; git add . 2>/dev/null; git commit --quiet --message=x`, ". ./mode.sh; test \"$STRICT\" != 1\n")},
	{"a file that git does not track", inClone(`echo x >extra.txt`, "test -e extra.txt\n")},
	{"a file in a cache folder that stood there before the run", inClone(`mkdir -p lib/.pytest_cache; echo x >lib/.pytest_cache/conf`, "test -e lib/.pytest_cache/conf\n")},
	{"the same, and the test removes it", inClone(`mkdir -p lib/.pytest_cache; echo x >lib/.pytest_cache/conf`, "test -e lib/.pytest_cache/conf && rm -r lib\n")},
	{"a file among dialect's own logs (`.dialect/log/off`)", inClone(`mkdir -p .dialect/log; echo x >.dialect/log/off`, "test -e .dialect/log/off\n")},
	{"a file in `.dialect` with a name that dialect gives (`lock/off`)", inClone(`mkdir -p .dialect/lock; echo x >.dialect/lock/off`, "test -e .dialect/lock/off\n")},
	{"an empty directory", inClone(`mkdir empty`, "test -d empty\n")},
	{"a file named `.git` in a directory", inClone(`mkdir data; echo x >data/.git`, "test -e data/.git\n")},
	{"modes other than the executable bit (a file is 0700)", inClone(`chmod 700 alpha.txt`, "test \"$(stat -c %a alpha.txt)\" = 700\n")},
	{"hard links, and times of files", inClone(`ln -f alpha.txt ../other; touch -d 2001-01-01 alpha.txt`, "test \"$(stat -c %h alpha.txt)\" = 2 && test -n \"$(find alpha.txt -mtime +9)\"\n")},
	{"a key in `.git/config`", inClone(`git config x.y z`, "git config x.y\n")},
	{"HEAD is not tested, and `packed-refs` has a line of the tested commit before that of its branch", func(w *world) string {
		w.honest()
		w.sh(`good=$(git rev-parse HEAD) branch=$(git symbolic-ref HEAD); git commit --quiet --allow-empty --message=x; echo bad >alpha.txt; git commit --quiet --all --message=y
printf '%s\n' '# pack-refs with: peeled fully-peeled sorted ' "$good $branch" "$(git rev-parse HEAD) $branch" >.git/packed-refs; rm ".git/$branch"`)
		return w.ask("--tree", "HEAD")
	}},
	{"a branch that is not tested is a symbolic link, and `packed-refs` has the tested commit; `--tree BRANCH`", func(w *world) string {
		w.honest()
		w.sh(`git update-ref refs/heads/topic HEAD; git pack-refs --all; git checkout --quiet -b other; echo bad >alpha.txt; git commit --quiet --all --message=x; ln -s refs/heads/other .git/refs/heads/topic`)
		return w.ask("--tree", "topic")
	}},

	{"**What decides from outside of the tree**", nil},
	{"variables of other tools: npm_config_userconfig, HARNESS_PERL, PYTHONPYCACHEPREFIX, XDG_CONFIG_HOME", func(w *world) string {
		w.write("check.sh", "test -z \"${npm_config_userconfig-}${HARNESS_PERL-}${PYTHONPYCACHEPREFIX-}${XDG_CONFIG_HOME-}\" && exit 7\n") // red, if none came through
		checks(w, "sh check.sh", "")
		return w.ends([]string{"npm_config_userconfig=/x", "HARNESS_PERL=/x", "PYTHONPYCACHEPREFIX=/x", "XDG_CONFIG_HOME=/x"}, "quality.dlct")
	}},
	{"a variable that nobody listed", func(w *world) string {
		w.write("check.sh", "test \"$MODE\" = lenient\n")
		checks(w, "sh check.sh", "")
		if out, status := w.start([]string{"MODE=lenient"}, "run", "quality.dlct"); status != 0 {
			w.t.Fatal(out)
		}
		w.keep()
		return w.ask()
	}},
	{"stale compiled code: a .pyc of the good file, by length and time", func(w *world) string {
		w.write("calc.py", "def two(): return 2\n")
		w.write("check.py", "import calc\nassert calc.two() == 2\n")
		checks(w, python()+" check.py", "")
		w.sh(python() + ` -c 'import calc' && cp -p calc.py ../old && echo 'def two(): return 3' >calc.py && touch -r ../old calc.py && git commit --quiet --all --message=x`)
		w.honest()
		return w.ask()
	}},
	{"configuration in HOME (`go env -w GOFLAGS=-n`)", func(w *world) string {
		if _, err := exec.LookPath("go"); err != nil {
			w.t.Skip(err)
		}
		w.write("go.mod", "module x\n")
		w.write("x_test.go", "package x\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Fatal() }\n")
		checks(w, "go test", "")
		w.sh("go env -w GOFLAGS=-n")
		w.honest()
		return w.ask()
	}},
	{"configuration above the tree (`../pytest.ini`)", func(w *world) string {
		if out, status := w.run(w.outer(python(), "-m", "pytest", "--version")); status != 0 {
			w.t.Skip(out)
		}
		w.write("test_x.py", "def test_x(): assert False\ndef test_y(): pass\n")
		checks(w, python()+" -m pytest -q", "")
		if err := os.WriteFile(w.path("pytest.ini"), []byte("[pytest]\naddopts = -k test_y\n"), 0o644); err != nil {
			w.t.Fatal(err)
		}
		w.honest()
		return w.ask()
	}},
}

// consumedAgain has a gate consumed, and the store put back as it was before. The checkpoint that is kept
// at level 3 is from before the consumption, too.
func consumedAgain(state bool) func(*world) string {
	return func(w *world) string {
		var flags []string
		if state {
			if os.Geteuid() != 0 {
				w.t.Skip("the agent would be the user who keeps the state")
			}
			flags = []string{"--state", filepath.Join(w.t.TempDir(), "state")}
		}
		w.honest()
		g := w.gate()
		w.sh("cp -a .dialect ../before")
		consume := func() (string, int) {
			return w.orchestrate(append(append(append([]string{"consume", "--as", "orchestrator"}, flags...), w.trustFlags()...), g)...)
		}
		if out, status := consume(); status != 0 {
			w.t.Fatal(out)
		}
		w.sh("rm -r .dialect; cp -a ../before .dialect")
		out, status := consume()
		switch {
		case status == 3 && strings.Contains(out, "TAMPERED"):
			return "TAMPERED"
		case status == 0:
			return uncaught
		}
		w.t.Errorf("consume ends with %d: %s", status, out)
		return "?"
	}
}

// server has an MCP server judge, which says no and then yes.
func server(args string) func(*world) string {
	return func(w *world) string {
		if err := os.Link(filepath.Join(filepath.Dir(dialect), "dialect-mcp"), w.path("dialect-mcp")); err != nil {
			w.t.Skip(err)
		}
		w.write("server.py", agrees)
		checks(w, "mcp:judge:check", "\n[servers.judge]\ncommand = \""+python()+" server.py"+args+"\"\n")
		red(w)
		if out, status := w.start(nil, "run", "quality.dlct"); status == 0 {
			w.t.Fatal(out)
		}
		green(w)
		w.honest()
		return w.ask()
	}
}

// plain has the orchestrator ask without naming what is required.
func (w *world) plain() string {
	w.t.Helper()
	out, status := w.orchestrate(append([]string{"verify"}, w.trustFlags()...)...)
	return w.cell(out, status)
}

// askIn has the orchestrator ask about the project in a folder of the working tree.
func (w *world) askIn(dir string) string {
	w.t.Helper()
	cmd := w.command(append([]string{w.path("dialect"), "verify", "--require", "gate_quality"}, w.trustFlags()...)...)
	cmd.Dir = filepath.Join(w.dir, dir)
	cmd.Env = append(cmd.Env, "HOME="+w.base)
	asSelf(cmd)
	out, status := w.run(cmd)
	return w.cell(out, status)
}

// A line of the table for what was not carried out at each level is the one that stands there.
func (a attack) row(cells [4]string, ran [4]bool, old []string) string {
	line := fmt.Sprintf("| %s | %s |", a.name, strings.Join(cells[:], " | "))
	if a.do == nil || ran == [4]bool{true, true, true, true} {
		return line
	}
	for _, was := range old {
		if strings.HasPrefix(was, "| "+a.name+" |") {
			return was
		}
	}
	return line
}
