package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// edit is the change that must not go by: the tests would fail on it.
const edit = "echo bad > alpha.txt"

func hidden(script string) func(*world) string {
	return func(w *world) string {
		w.honest()
		w.sh(script)
		return w.ask()
	}
}

func tampered(sql string) func(*world) string {
	return func(w *world) string {
		w.honest()
		w.sql(sql)
		return w.audit()
	}
}

// red and green are what the world outside of the tree makes of the tests.
func red(w *world)   { w.turn(true, `touch "$HOME/red"`) }
func green(w *world) { w.turn(false, `rm -f "$HOME/red"`) }

func (w *world) turn(red bool, script string) {
	if w.outside != nil {
		w.outside.red.Store(red)
		return
	}
	w.sh(script)
}

// subtask binds a task whose agent is a script.
func subtask(w *world, script string) {
	w.write("routing.toml", project["routing.toml"]+`
[commands.spawn_subtask]
verb = "spawn"
noun = "subtask"
tool = "new_task"
receipt_required = true

[agents.default]
command = "sh agent.sh"
require = "gate_quality"
`)
	w.write("agent.sh", script+"\n")
	w.sh("git add . && git commit --quiet --message=subtask")
}

// inner binds a line that starts a run of the whole script, with flags of its own.
func inner(w *world, flags string) {
	text := strings.Replace(project["routing.toml"], "pins = ", "effect = \"read\"\nreuse = true\npins = ", 1)
	w.write("routing.toml", text+`
[commands.test_inner]
verb = "test"
noun = "inner"
tool = "../dialect run `+flags+`quality.dlct"
receipt_required = true
`)
	w.write("outer.dlct", "Test with inner\nGate against results\n")
	w.sh("git add . && git commit --quiet --message=inner && git tag --force trusted")
}

// forge has the agent make a pass of its own, with tools that say yes.
func forge(w *world) {
	forgeTools(w)
	cmd := w.command("env", "-u", "DIALECT_NOTARY", w.path("dialect"), "run", "quality.dlct")
	cmd.Env = append(cmd.Env, "PATH="+w.path("fake")+":"+os.Getenv("PATH"))
	if out, status := w.run(cmd); status != 0 {
		w.t.Fatalf("the forgery ends with %d: %s", status, out)
	}
}

func forgeTools(w *world) {
	w.sh(`for tool in grep make; do printf '#!/bin/sh\necho ok 1; echo ok 2; echo 1..2\n' >../fake/$tool; chmod +x ../fake/$tool; done`)
}

func write0(w *world, name, old, new string) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil || !strings.Contains(string(b), old) {
		w.t.Fatalf("%s does not hold %q: %v", name, old, err)
	}
	w.write(name, strings.Replace(string(b), old, new, 1))
}

const lie = `tool = "true"`

var attacks = []attack{
	{"**The store**", nil},
	{"a row is forged by INSERT", tampered(`INSERT INTO record(seq, sha, kind, body) SELECT 99, randomblob(32), kind, body FROM record WHERE kind = 'receipt' LIMIT 1`)},
	{"a row is edited", tampered(`UPDATE record SET body = CAST(replace(CAST(body AS TEXT), '"succeeded"', '"failed"') AS BLOB) WHERE seq = 1`)},
	{"two rows change places", tampered(`UPDATE record SET seq = 99 WHERE seq = 1; UPDATE record SET seq = 1 WHERE seq = 2; UPDATE record SET seq = 2 WHERE seq = 99`)},
	{"a row is deleted from the middle", tampered(`DELETE FROM record WHERE seq = 2; DELETE FROM item WHERE seq = 2`)},
	{"a failure is painted over in the projection", func(w *world) string {
		w.honest()
		red(w)
		w.start(nil, "run", "quality.dlct")
		w.keep()
		w.sql(`UPDATE item SET status = 'succeeded' WHERE status = 'failed'`)
		return w.ask()
	}},
	{"the tail is deleted, and the checkpoint rewritten", func(w *world) string {
		w.honest()
		old := w.sh(python() + " -c \"import sqlite3;print(sqlite3.connect('.dialect/store/receipts.db').execute('select count, hex(root) from head').fetchone())\"")
		var count int
		var root string
		if _, err := fmt.Sscanf(strings.NewReplacer("(", "", ",", "", "'", "", ")", "").Replace(old), "%d %s", &count, &root); err != nil {
			w.t.Fatal(err)
		}
		red(w)
		w.start(nil, "run", "quality.dlct")
		w.keep()
		w.sql(fmt.Sprintf("DELETE FROM record WHERE seq >= %d; DELETE FROM item WHERE seq >= %[1]d; DELETE FROM node WHERE idx >= (SELECT %d); UPDATE head SET count = %[1]d, root = x'%[3]s'", count, nodesOf(count), root))
		return w.ask()
	}},
	{"the whole store is rolled back to a copy", func(w *world) string {
		w.honest()
		w.sh("cp -a .dialect ../copy")
		red(w)
		w.start(nil, "run", "quality.dlct")
		w.keep()
		w.sh("rm -r .dialect && cp -a ../copy .dialect")
		return w.ask()
	}},
	{"a failure is undone by a copy of the store from after the kept checkpoint; at L3 with `--level L3`", func(w *world) string {
		w.honest()
		w.write("alpha.txt", "good, and new\n")
		w.sh("cp -a .dialect ../copy")
		red(w)
		w.start(nil, "run", "quality.dlct")
		w.sh("rm -r .dialect && cp -a ../copy .dialect")
		green(w)
		w.passes(nil)
		if w.level == 3 {
			return w.ask("--level", "L3")
		}
		return w.ask()
	}},
	{"the same of a failure after the checkpoint, by a copy from before the failure: the checkpoint covers the pass, and has not seen the failure", func(w *world) string {
		w.honest()
		w.sh("cp -a .dialect ../copy")
		red(w)
		w.start(nil, "run", "quality.dlct")
		w.sh("rm -r .dialect && cp -a ../copy .dialect")
		if w.level == 3 {
			return w.ask("--level", "L3")
		}
		return w.ask()
	}},
	{"the store is deleted, and a pass forged in a new one", func(w *world) string {
		w.honest()
		w.sh("rm -r .dialect")
		forge(w)
		return w.ask()
	}},
	{"a pass is forged with the agent's own tools in PATH", func(w *world) string {
		forge(w)
		if w.level == 3 {
			w.keep()
		}
		return w.ask()
	}},
	{"rows without a key slip in before a keyed append", func(w *world) string {
		if w.key == "" {
			return "no key"
		}
		w.honest()
		forge(w)
		w.honest()
		return w.audit()
	}},
	{"a failure is left in a second store (DIALECT_STORE)", func(w *world) string {
		red(w)
		cmd := w.command(w.path("dialect"), "run", "quality.dlct")
		cmd.Env = append(cmd.Env, "DIALECT_STORE="+w.path("other.db"))
		if out, status := w.run(cmd); status != 1 {
			w.t.Fatal(out)
		}
		green(w)
		if out, status := w.agent("run", "quality.dlct"); status != 0 {
			w.t.Fatal(out)
		}
		if w.level == 3 {
			w.keep()
		}
		return w.ask()
	}},
	{"a command attacks the store while it runs", func(w *world) string {
		w.write("attack.py", "import sqlite3\nd = sqlite3.connect('.dialect/store/receipts.db', timeout=9)\nd.execute(\"UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'r-', 'x-') AS BLOB)\")\nd.commit()\n")
		w.write("tests.sh", "echo ok 1; echo ok 2; "+python()+" attack.py || echo failed; echo 1..2\n")
		w.sh("git add . && git commit --quiet --message=x")
		w.start(nil, "run", "quality.dlct")
		return w.ask()
	}},
	{".dialect is replaced by a link", func(w *world) string {
		w.sh("mkdir ../elsewhere && ln -s ../elsewhere .dialect")
		return w.ends(nil, "quality.dlct")
	}},

	{"**Consumption**", nil},
	{"a gate is consumed twice", func(w *world) string {
		w.honest()
		g := w.gate()
		w.consume(g)
		return w.consume(g)
	}},
	{"a copy of the store is consumed too, without a ledger", func(w *world) string {
		w.honest()
		w.sh("cp -a .dialect ../copy")
		g := w.gate()
		w.consume(g)
		w.sh("rm -r .dialect && cp -a ../copy .dialect")
		return w.consume(g)
	}},
	{"a copy of the store is consumed too, with a ledger", func(w *world) string {
		w.honest()
		w.sh("cp -a .dialect ../copy")
		g, ledger := w.gate(), w.path("home/ledger")
		w.consume(g, "--ledger", ledger)
		w.sh("rm -r .dialect && cp -a ../copy .dialect")
		return w.consume(g, "--ledger", ledger)
	}},
	{"a gate is set back to unconsumed by UPDATE", func(w *world) string {
		w.honest()
		g := w.gate()
		w.consume(g)
		w.sql("UPDATE item SET consumed = 0, consumed_by = NULL, consumed_at = NULL, consumption = NULL WHERE kind = 'gate'")
		return w.consume(g, "--require", "gate_quality")
	}},
	{"the record of the consumption is deleted", func(w *world) string {
		w.honest()
		g := w.gate()
		w.consume(g)
		w.keep()
		w.sql("DELETE FROM record WHERE seq = (SELECT max(seq) FROM record); UPDATE item SET consumed = 0, consumed_by = NULL, consumed_at = NULL, consumption = NULL WHERE kind = 'gate'")
		return w.consume(g, "--require", "gate_quality")
	}},
	{"two gates race for the same receipts", func(w *world) string {
		a, b := w.execAs("check_alpha", "grep", "-q", "good", "alpha.txt"), w.execAs("test_make", "make", "--silent", "test")
		results := make(chan int, 2)
		for range 2 {
			cmd := w.command(w.path("dialect"), "gate", "--require", "gate_quality", a, b)
			go func() {
				_ = cmd.Run()
				results <- cmd.ProcessState.ExitCode()
			}()
		}
		switch x, y := <-results, <-results; {
		case x+y == 3 && x*y == 0:
			return "one wins"
		case x == 3 && y == 3:
			return "both refused"
		}
		return uncaught
	}},

	{"**Other receipts**", nil},
	{"a gate of another session is handed up", func(w *world) string {
		w.honest()
		return w.ask("--session", "today", w.gate())
	}},
	{"an old gate is handed up for a new nonce", func(w *world) string {
		w.honest()
		return w.ask("--nonce", "5f1c", w.gate())
	}},
	{"the gate of the lines before the failing one is handed up", func(w *world) string {
		red(w)
		w.start(nil, "run", "quality.dlct:1")
		w.keep()
		return w.ask(w.gate())
	}},
	{"passes are picked from runs on different files", func(w *world) string {
		a := w.exec("make", "--silent", "test")
		w.sh("echo changed >> tests.sh")
		b := w.exec("grep", "-q", "good", "alpha.txt")
		return w.refused(w.agent("gate", a, b))
	}},
	{"the command ran, but outside of the matrix", func(w *world) string {
		w.exec("grep", "-q", "good", "alpha.txt")
		w.exec("make", "--silent", "test")
		w.keep()
		return w.ask()
	}},
	{"the same words are run in a directory with another Makefile", func(w *world) string {
		w.write("sub/Makefile", "test:\n\t@echo ok 1; echo ok 2; echo 1..2\n")
		w.write("sub/alpha.txt", "good\n")
		w.sh("git add . && git commit --quiet --message=x")
		var hs []string
		for _, argv := range [][]string{{"grep", "-q", "good", "alpha.txt"}, {"make", "--silent", "test"}} {
			cmd := w.command(append([]string{w.path("dialect"), "exec", "--"}, argv...)...)
			cmd.Dir = filepath.Join(w.dir, "sub")
			out, _ := w.run(cmd)
			hs = append(hs, hash64.FindString(out))
		}
		return w.refused(w.agent(append([]string{"gate", "--require", "gate_quality"}, hs...)...))
	}},
	{"the run is repeated until it is green", func(w *world) string {
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.start(nil, "run", "quality.dlct")
		w.keep()
		return w.ask()
	}},
	{"the run that a line starts is repeated until it is green", func(w *world) string {
		inner(w, "")
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		w.start(nil, "run", "outer.dlct")
		w.keep()
		return w.askAbout("test_inner")
	}},
	{"the run that a line starts repeats (`--reuse`) what the agent ran until it was green", func(w *world) string {
		inner(w, "--reuse ")
		red(w)
		w.agent("run", "quality.dlct")
		green(w)
		w.agent("run", "quality.dlct")
		red(w)
		w.start(nil, "run", "outer.dlct")
		w.keep()
		return w.askAbout("test_inner")
	}},
	{"the agent waves its failure away itself (`--accept-flaky`)", func(w *world) string {
		red(w)
		w.start(nil, "run", "quality.dlct")
		green(w)
		if out, status := w.agent("run", "--accept-flaky", "it is fine", "quality.dlct"); status != 0 && w.level == 0 {
			w.t.Fatal(out)
		}
		w.start(nil, "run", "quality.dlct")
		w.keep()
		return w.ask()
	}},
	{"the run is killed on red, after an earlier pass", func(w *world) string {
		w.honest()
		w.killed()
		return w.ask()
	}},
	{"the run is killed between a command and its receipt", func(w *world) string {
		w.killed()
		w.keep()
		return w.ask()
	}},
	{"a subtask hands back a gate that it made with tools of its own", func(w *world) string {
		subtask(w, "PATH=$PWD/../fake:$PATH ../dialect run quality.dlct")
		red(w)
		forgeTools(w)
		return w.ends(nil, "-e", "Spawn worker as subtask")
	}},
	{"a subtask hands back a gate of before its run", func(w *world) string {
		subtask(w, "cat ../old")
		w.honest()
		w.sh("echo " + w.gate() + " >../old")
		return w.ends(nil, "-e", "Spawn worker as subtask")
	}},
	{"a line validates a receipt that the agent made itself (`Validate receipt`)", func(w *world) string {
		return w.ends(nil, "-e", "Validate receipt "+w.exec("true"))
	}},
	{"a script that bears the name of a task is left for the agent that must bring a gate", func(w *world) string {
		subtask(w, "true")
		w.write("worker.dlct", "Check with alpha\nGate against results\n")
		return w.ends(nil, "-e", "Spawn worker as subtask")
	}},

	{"**The matrix and the script**", nil},
	{"the matrix is edited (`tool = \"true\"`), not committed", func(w *world) string {
		write0(w, "routing.toml", `tool = "grep -q good alpha.txt"`, lie)
		w.start(nil, "run", "quality.dlct")
		w.keep()
		return w.ask()
	}},
	{"the matrix is edited and committed; the verifier names no base", func(w *world) string {
		write0(w, "routing.toml", `tool = "grep -q good alpha.txt"`, lie)
		w.sh("git commit --quiet --all --message=x")
		w.honest()
		return w.ask()
	}},
	{"the matrix is edited and committed; `--base` names a trusted revision", func(w *world) string {
		write0(w, "routing.toml", `tool = "grep -q good alpha.txt"`, lie)
		w.sh("git commit --quiet --all --message=x")
		w.honest()
		return w.ask("--base", w.trusted())
	}},
	{"the exit code is masked in the matrix (`\\|\\| true`), committed; with `--base`", func(w *world) string {
		write0(w, "routing.toml", `tool = "make --silent test"`, "tool = \"make --silent test || true\"\nshell = true")
		w.sh("git commit --quiet --all --message=x")
		w.honest()
		return w.ask("--base", w.trusted())
	}},
	{"the exit code is masked by a pipe in the matrix, committed; with `--base`", func(w *world) string {
		write0(w, "routing.toml", `tool = "make --silent test"`, "tool = \"make --silent test | tail\"\nshell = true")
		w.sh("git commit --quiet --all --message=x")
		w.honest()
		return w.ask("--base", w.trusted())
	}},
	{"the Makefile behind `make test` is edited, which the binding pins", func(w *world) string {
		w.write("Makefile", "test:\n\t@echo ok 1; echo ok 2; echo 1..2\n")
		w.start(nil, "run", "quality.dlct")
		w.keep()
		return w.ask()
	}},
	{"the same, committed; with `--base`", func(w *world) string {
		w.write("Makefile", "test:\n\t@echo ok 1; echo ok 2; echo 1..2\n")
		w.sh("git commit --quiet --all --message=x")
		w.honest()
		return w.ask("--base", w.trusted())
	}},
	{"what the Makefile calls is edited, which nobody pins", func(w *world) string {
		w.write("tests.sh", "echo ok 1; echo ok 2; echo 1..2\n")
		w.honest()
		return w.ask()
	}},
	{"the script is edited: a line is left out", func(w *world) string {
		w.write("quality.dlct", "Check with alpha\nGate against results\n")
		w.honest()
		return w.ask()
	}},
	{"a value is slipped in: `Test with make --version`", func(w *world) string {
		w.write("quality.dlct", "Check with alpha\nTest with make --version\n")
		return w.ends(nil, "quality.dlct")
	}},
	{"no test is run", func(w *world) string {
		w.write("tests.sh", "echo 1..0\n")
		return w.ends(nil, "quality.dlct")
	}},
	{"a test is deleted, below `min_tests`", func(w *world) string {
		w.write("tests.sh", "echo 'ok 1 - first'\necho 1..1\n")
		return w.ends(nil, "quality.dlct")
	}},
	{"a test is emptied", func(w *world) string {
		w.write("tests.sh", "echo 'ok 1 - first'\necho 'ok 2 - second'\necho 1..2\n")
		w.honest()
		return w.ask()
	}},

	{"**The files**", nil},
	{"a file is edited after the run", hidden(edit)},
	{"and its time is put back, its length kept", hidden("cp -p alpha.txt ../old && printf 'bad!\\n' > alpha.txt && touch -r ../old alpha.txt")},
	{"hidden by assume-unchanged", hidden("git update-index --assume-unchanged alpha.txt && " + edit)},
	{"hidden by skip-worktree", hidden("git update-index --skip-worktree alpha.txt && " + edit)},
	{"a new file, hidden by info/exclude", hidden("echo conftest.py >> .git/info/exclude && echo x > conftest.py")},
	{"a new file, hidden by an untracked .gitignore that hides itself", hidden("mkdir new && printf '*\\n' > new/.gitignore && echo x > new/conftest.py")},
	{"hidden by a filter", hidden("git config filter.same.clean 'echo good' && echo 'alpha.txt filter=same' > .git/info/attributes && " + edit)},
	{"hidden in a nested repository", func(w *world) string {
		w.sh("mkdir nested && cd nested && git init --quiet && echo good > beta.txt && git add . && git commit --quiet --message=x")
		w.honest()
		w.sh("cd nested && echo bad > beta.txt && git update-index --assume-unchanged beta.txt")
		return w.ask()
	}},
	{"an exec bit is changed, with core.fileMode off", hidden("git config core.fileMode false && chmod -x alpha.txt")},
	{"hidden by core.fsmonitor and core.trustctime", hidden("git config core.fsmonitor /bin/true && git config core.trustctime false && " + edit)},
	{"the agent's own git is planted, which sees no change", func(w *world) string {
		w.honest()
		w.sh(edit + ` && printf '#!/bin/sh\nexit 0\n' > ../fake/git && chmod +x ../fake/git`)
		cmd := w.command(append([]string{w.path("dialect"), "verify", "--require", "gate_quality"}, w.trustFlags()...)...)
		cmd.Env = append(cmd.Env, "PATH="+w.path("fake")+":"+os.Getenv("PATH"))
		out, status := w.run(cmd)
		if word := verdictWord.FindString(out); status == 3 && word != "" {
			return word
		}
		w.t.Logf("%d: %s", status, out)
		return uncaught
	}},
	{"a file is edited during the run", func(w *world) string {
		w.write("tests.sh", "echo ok 1; echo ok 2; echo 1..2; echo bad > alpha.txt\n")
		w.sh("git commit --quiet --all --message=x")
		return w.ends(nil, "quality.dlct")
	}},
	{"a new file comes during the run, makes it pass, and is removed after it", func(w *world) string {
		w.write("tests.sh", "touch \"$HOME/began\"; i=0; until test -e new.txt; do i=$((i+1)); test $i -lt 600 || exit 1; sleep 0.1; done; echo ok 1; echo ok 2; echo 1..2\n")
		w.sh("git commit --quiet --all --message=x")
		w.sh("(i=0; until test -e \"$HOME/began\"; do i=$((i+1)); test $i -lt 600 || exit 1; sleep 0.1; done; touch new.txt) >/dev/null 2>&1 &")
		w.passes(nil)
		w.sh("rm -f new.txt")
		return w.ask()
	}},
	{"the same, and once the file is put back its receipts are gated on their own", func(w *world) string {
		w.write("switch.txt", "bad\n")
		w.write("tests.sh", "echo good > switch.txt; echo ok 1; echo ok 2; echo 1..2\n")
		w.sh("git add . && git commit --quiet --all --message=x")
		w.start(nil, "run", "quality.dlct")
		w.write("switch.txt", "bad\n")
		list, _ := w.agent("receipts", "list")
		ids := regexp.MustCompile(`(?m)^[0-9a-f]{12}\b`).FindAllString(list, -1)
		w.start(nil, append([]string{"gate", "--require", "gate_quality"}, ids...)...)
		return w.ask()
	}},
	{"a file is edited and put back during the run", func(w *world) string {
		w.write("tests.sh", "cp -p alpha.txt ../old; echo bad > alpha.txt; cp -p ../old alpha.txt; echo ok 1; echo ok 2; echo 1..2\n")
		w.sh("git commit --quiet --all --message=x")
		w.honest()
		return w.ask()
	}},
	{"an ignored file is edited", func(w *world) string {
		w.write("venv.log", "good\n")
		w.honest()
		w.write("venv.log", "bad\n")
		return w.ask()
	}},

	{"**The environment**", nil},
	{"MAKEFLAGS=-n, PYTEST_ADDOPTS=--co, PYTHONPATH, LD_PRELOAD are set", func(w *world) string {
		w.write("tests.sh", "test -z \"${PYTEST_ADDOPTS-}${PYTHONPATH-}${LD_PRELOAD-}\" && exit 7\n") // red, if none came through
		return w.ends([]string{"MAKEFLAGS=-n", "PYTEST_ADDOPTS=--co", "PYTHONPATH=/tmp", "LD_PRELOAD="}, "quality.dlct")
	}},
	{"a tool is replaced after an honest run", func(w *world) string {
		w.honest()
		w.sh(`for tool in grep make; do printf '#!/bin/sh\necho ok 1; echo ok 2; echo 1..2\n' >../fake/$tool; chmod +x ../fake/$tool; done`)
		if out, status := w.start([]string{"PATH=" + w.path("fake") + ":" + os.Getenv("PATH")}, "run", "quality.dlct"); status != 0 {
			w.t.Fatal(out)
		}
		w.keep()
		return w.ask()
	}},
	{"the agent's dialect is replaced by a script that says passed", func(w *world) string {
		w.sh(`printf '#!/bin/sh\necho "passed: 3 lines; gate g-000000000000"\n' > ../fake/dialect && chmod +x ../fake/dialect && ../fake/dialect run quality.dlct`)
		return w.ask()
	}},
	{"the orchestrator's dialect is replaced", func(w *world) string { return uncaught }},

	{"**The key**", nil},
	{"a command looks for the key: environment, descriptors, its parent's environment, descriptors and memory", func(w *world) string {
		if w.key == "" {
			return "no key"
		}
		w.write("thief.py", thief)
		w.write("Makefile", "test:\n\t@"+python()+" thief.py; echo ok 1; echo ok 2; echo 1..2\n")
		w.sh("git add . && git commit --quiet --message=x")
		if out, status := w.start(nil, "run", "quality.dlct"); status != 0 {
			w.t.Fatal(out)
		}
		found, err := os.ReadFile(w.path("home/loot"))
		if err != nil {
			w.t.Fatal(err)
		}
		if len(found) > 0 {
			w.t.Logf("loot: %s", found)
			return uncaught
		}
		return "out of reach"
	}},
	{"a process of the same user waits for dialect to start, and copies the key from its pipe", func(w *world) string {
		if w.key == "" {
			return "no key"
		}
		if stolen := w.wait(); stolen {
			return uncaught
		}
		return "out of reach"
	}},
	{"the same, and the binary is one that the user can read", func(w *world) string {
		if w.key == "" {
			return "no key"
		}
		w.readable()
		w.wait()
		w.keep()
		return w.ask()
	}},
	{"the key is handed over in a file that commands can read", func(w *world) string {
		if w.key == "" {
			return "no key"
		}
		f, err := os.Open(w.handOver())
		if err != nil {
			w.t.Fatal(err)
		}
		defer f.Close()
		cmd := w.command(w.path("dialect"), "run", "--key-fd", "3", "quality.dlct")
		cmd.ExtraFiles = []*os.File{f}
		if out, status := w.run(cmd); status != 0 {
			w.t.Fatal(out)
		}
		w.keep()
		return w.ask()
	}},
}

// readable makes the dialect of the world one that its user can read.
func (w *world) readable() {
	w.t.Helper()
	// By another program: while this one has it open for writing, a test beside this one may start a process that inherits that.
	if out, err := exec.Command("cp", "--remove-destination", dialect, w.path("dialect")).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(w.path("dialect"), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// handOver puts the key into a file of the agent's user.
func (w *world) handOver() string {
	w.t.Helper()
	key, err := os.ReadFile(w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	name := w.path("home/key")
	if err := os.WriteFile(name, key, 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.own(name, 0o644)
	return name
}

// nodesOf is the number of stored hashes of a log of n records.
func nodesOf(n int) int {
	nodes := 0
	for ; n > 0; n >>= 1 {
		nodes += n
	}
	return nodes
}

// wait has a thief wait for honest runs, and reports whether it got the key.
func (w *world) wait() bool {
	w.t.Helper()
	var loot strings.Builder
	cmd := w.outer(python(), "-c", pipeThief) // a guard gets its key outside of the domain
	cmd.Stdout = &loot
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	for range 3 {
		w.passes(nil)
		if w.level == levelNotary {
			w.over()
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	key, err := os.ReadFile(w.key) // others run beside this one, and some lose theirs
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Contains(loot.String(), strings.TrimSpace(string(key)))
}

// pipeThief copies what the descriptor 3 of each new process holds, and leaves it there.
// TestThief of runtime/keyfd has a faster one, and shows that it succeeds.
const pipeThief = `import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
r, w = os.pipe2(os.O_NONBLOCK)
avg = os.open("/proc/loadavg", os.O_RDONLY)
while True:
    last = int(os.pread(avg, 100, 0).split()[-1])
    for pid in range(last + 1, last - 12, -1):
        p = libc.syscall(434, pid, 0) # pidfd_open
        if p < 0:
            continue
        fd = libc.syscall(438, p, 3, 0) # pidfd_getfd
        os.close(p)
        if fd < 0:
            continue
        if libc.tee(fd, w, 4096, 2) > 0:
            text = os.read(r, 4096)
            if b"PRIVATE+KEY" in text:
                sys.stdout.buffer.write(text)
                sys.stdout.flush()
        os.close(fd)
`

// thief looks for the key wherever a command of the same user could.
const thief = `import os, re
loot = open(os.path.join(os.environ["HOME"], "loot"), "w")
def look(where, data):
    if b"PRIVATE+KEY" in data or b"DIALECT_KEY" in data:
        loot.write(where + "\n")
pids = [os.getpid()]
while pids[-1] > 1:
    try:
        pids.append(int(re.search(r"PPid:\t(\d+)", open("/proc/%d/status" % pids[-1]).read()).group(1)))
    except OSError:
        break
look("environment", repr(os.environ).encode())
for fd in range(3, 64):
    try:
        look("descriptor %d" % fd, os.read(fd, 4096))
    except OSError:
        pass
for pid in pids[1:]:
    try:
        if b"dialect" not in open("/proc/%d/cmdline" % pid, "rb").read():
            continue
    except OSError:
        continue
    for name in ("environ",):
        try:
            look("parent's " + name, open("/proc/%d/%s" % (pid, name), "rb").read())
        except OSError:
            pass
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            try:
                look("parent's descriptor", os.read(os.open("/proc/%d/fd/%s" % (pid, fd), os.O_RDONLY | os.O_NONBLOCK), 4096))
            except OSError:
                pass
    except OSError:
        pass
    try:
        mem = open("/proc/%d/mem" % pid, "rb", 0)
        for line in open("/proc/%d/maps" % pid):
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if m:
                mem.seek(int(m.group(1), 16))
                look("parent's memory", mem.read(int(m.group(2), 16) - int(m.group(1), 16)))
    except OSError:
        pass
`
