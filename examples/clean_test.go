package examples_test

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A planting makes a check that has no reason to pass on the files of the project pass in the working
// tree all the same. It returns variables for the run.
type planting struct {
	name  string
	needs string // a program; empty for none
	plant func(w *world) (env []string)
}

// passesBy makes the check pass if a shell condition holds, and commits.
func passesBy(w *world, condition string) {
	w.t.Helper()
	w.write("check.sh", condition+"\n")
	checks(w, "sh check.sh", "")
}

// setUp has a setup install what the check does not pass by, once; in the working tree there is something else.
func setUp(w *world) {
	w.t.Helper()
	w.write("venv.log/lib", "good\n")
	w.write("install.sh", "mkdir venv.log; echo bad >venv.log/lib\n")
	w.write("check.sh", "grep -q good venv.log/lib\n")
	checks(w, "sh check.sh", "\n[clean]\nsetup = \"sh install.sh\"\nlocks = [\"install.sh\"]\n")
	if out, status := w.start(nil, "run", "--clean", "--store", w.path("other.db"), "quality.dlct"); status != 1 {
		w.t.Fatalf("the check passes by what the setup installs: %d\n%s", status, out)
	}
}

// afterBuild has a line before the check that is meant to write: it runs an edited build.sh that puts itself back.
func afterBuild(w *world, edited, check string) {
	w.t.Helper()
	w.write("build.sh", "true\n")
	w.write("check.sh", check+"\n")
	w.write("quality.dlct", "Build with it\n"+project["quality.dlct"])
	checks(w, "sh check.sh", "\n[commands.build_it]\nverb = \"build\"\nnoun = \"it\"\ntool = \"sh build.sh\"\neffect = \"write\"\n")
	w.write("build.sh", edited+"; echo true >build.sh\n")
}

// askOutside has the check wait until somebody outside has answered: a file is its question, another the answer. A clean room hides
// both, and that there is anybody to ask.
const askOutside = `ask() { test -e "$HOME/outsider" || return; touch "$HOME/$1.asked"; until test -e "$HOME/$1.done"; do sleep 0.05; done; }
`

var plantings = []planting{
	{"an ignored file", "", func(w *world) []string {
		w.write("venv.log", "good\n")
		passesBy(w, "grep -q good venv.log")
		return nil
	}},
	{"an ignored file, by its absolute path (an editable install)", "", func(w *world) []string {
		w.write("venv.log", "good\n")
		passesBy(w, "grep -q good '"+w.dir+"/venv.log'")
		return nil
	}},
	{"a file is edited by somebody else during the run, and put back", "", func(w *world) []string {
		w.write("beta.txt", "bad\n")
		passesBy(w, askOutside+"ask edit; grep -q good beta.txt || exit 1; ask back")
		w.sh(`touch "$HOME/outsider"; (while ! test -e "$HOME/edit.asked"; do sleep 0.01; done; cp -p beta.txt ../beta.old; echo good >beta.txt; touch "$HOME/edit.done"
			while ! test -e "$HOME/back.asked"; do sleep 0.01; done; cp -p ../beta.old beta.txt; touch "$HOME/back.done") >/dev/null 2>&1 & echo $! >../planter`)
		w.t.Cleanup(func() { _, _ = w.run(w.command("sh", "-c", `kill "$(cat ../planter)" 2>/dev/null; true`)) })
		return nil
	}},
	{"stale compiled code: a .pyc of the good file, by length and time", "", func(w *world) []string {
		w.write("calc.py", "def two(): return 2\n")
		w.write("check.py", "import calc\nassert calc.two() == 2\n")
		checks(w, python()+" check.py", "")
		w.sh(python() + ` -c 'import calc' && cp -p calc.py ../old && echo 'def two(): return 3' >calc.py && touch -r ../old calc.py && git commit --quiet --all --message=x`)
		return nil
	}},
	{"mypy's cache of the good file, by length and time", "mypy", func(w *world) []string {
		w.write("typed.py", "x: int = 10000\n")
		w.write(".gitignore", "*.log\n.mypy_cache/\n")
		checks(w, "mypy typed.py", "")
		w.sh(`mypy typed.py >/dev/null && cp -p typed.py ../old && echo 'x: int = "abc"' >typed.py && touch -r ../old typed.py && git commit --quiet --all --message=x`)
		return nil
	}},
	{"a file in a cache folder, and an empty directory", "", func(w *world) []string {
		w.sh("mkdir -p empty __pycache__ && touch __pycache__/x")
		passesBy(w, "test -d empty && test -e __pycache__/x")
		return nil
	}},
	{"configuration in HOME: `go env -w`", "go", func(w *world) []string {
		passesBy(w, `test "$(go env GOFLAGS)" = -n`)
		w.sh("go env -w GOFLAGS=-n")
		return nil
	}},
	{"configuration in HOME: usercustomize.py", "", func(w *world) []string {
		w.write("check.py", "assert False\n")
		checks(w, python()+" check.py", "")
		w.sh(`dir=$(` + python() + ` -m site --user-site) && mkdir -p "$dir" && echo 'import os, sys
if "check.py" in " ".join(sys.orig_argv): os._exit(0)' >"$dir/usercustomize.py"`)
		return nil
	}},
	{"configuration above the tree: `../pytest.ini`", "pytest", func(w *world) []string {
		w.write("test_x.py", "def test_x(): assert False\n\n\ndef test_y(): pass\n")
		checks(w, "pytest -q", "")
		if err := os.WriteFile(w.path("pytest.ini"), []byte("[pytest]\naddopts = -k test_y\n"), 0o644); err != nil {
			w.t.Fatal(err)
		}
		return nil
	}},
	{"a file in /tmp", "", func(w *world) []string {
		f, err := os.CreateTemp("/tmp", "adversary-planted-")
		if err != nil {
			w.t.Fatal(err)
		}
		f.Close()
		w.t.Cleanup(func() { os.Remove(f.Name()) })
		passesBy(w, "test -e "+f.Name())
		return nil
	}},
	{"a variable that nobody listed", "", func(w *world) []string {
		passesBy(w, `test "$MODE" = lenient`)
		return []string{"MODE=lenient"}
	}},
	{"the same, by names like dialect's own and like those of the locale", "", func(w *world) []string {
		passesBy(w, `test "$DIALECT_MODE$LC_MODE" = lenient`)
		return []string{"DIALECT_MODE=len", "LC_MODE=ient"}
	}},
	{"memory of System V that somebody left", "ipcmk", func(w *world) []string {
		id := strings.Fields(w.sh("ipcmk -M 64"))
		w.t.Cleanup(func() { _ = exec.Command("ipcrm", "-m", id[len(id)-1]).Run() })
		passesBy(w, `test "$(wc -l </proc/sysvipc/shm)" -gt 1`)
		return nil
	}},
	{"modes other than the executable bit", "", func(w *world) []string {
		w.sh("chmod 700 alpha.txt")
		passesBy(w, `test "$(stat -c %a alpha.txt)" = 700`)
		return nil
	}},
	{"hard links, and times of files", "", func(w *world) []string {
		w.sh("ln -f alpha.txt ../other; touch -d 2001-01-01 alpha.txt")
		passesBy(w, `test "$(stat -c %h alpha.txt)" = 2 && test -n "$(find alpha.txt -mtime +9)"`)
		return nil
	}},
	{"a key in `.git/config`, and a hook", "", func(w *world) []string {
		w.sh("git config x.y z; touch .git/hooks/planted")
		passesBy(w, "git config x.y && test -e .git/hooks/planted")
		return nil
	}},
	{"a file in `.git/objects`", "", func(w *world) []string {
		w.write(".git/objects/off", "x\n")
		passesBy(w, "test -e .git/objects/off || test -e .git/shared-objects/off")
		return nil
	}},
	{"an object of git that no ref reaches", "", func(w *world) []string {
		object := strings.TrimSpace(w.sh("echo off | git hash-object -w --stdin"))
		passesBy(w, "git cat-file -e "+object)
		return nil
	}},
	{"an extended attribute of a file, in the kept checkout, too", "", func(w *world) []string {
		passesBy(w, python()+` -c 'import os; assert "user.off" in os.listxattr("alpha.txt")'`)
		if out, status := w.start(nil, "run", "--clean", "--store", w.path("other.db"), "quality.dlct"); status != 1 {
			w.t.Fatalf("no file has an attribute: %d\n%s", status, out)
		}
		w.sh(python() + ` -c 'import os, sys; [os.setxattr(name, "user.off", b"") for name in sys.argv[1:]]' alpha.txt "$HOME"/.cache/dialect/clean/*/tree/alpha.txt`)
		return nil
	}},
	{"a line that writes, edited, leaves an ignored file and puts itself back", "", func(w *world) []string {
		afterBuild(w, "echo good >out.log", "grep -q good out.log")
		return nil
	}},
	{"a line that writes, edited, leaves a mode and puts itself back", "", func(w *world) []string {
		afterBuild(w, "chmod 700 alpha.txt", `test "$(stat -c %a alpha.txt)" = 700`)
		return nil
	}},
	{"an installed package is edited, which `[clean] share` names", "", func(w *world) []string {
		w.write("venv.log/lib", "good\n")
		w.write("check.sh", "grep -q good venv.log/lib\n")
		checks(w, "sh check.sh", "\n[clean]\nshare = [\"venv.log\"]\n")
		return nil
	}},
	{"what a setup installed is edited, where it is kept", "", func(w *world) []string {
		setUp(w)
		w.sh(`find "$HOME/.cache/dialect/clean/setup" -name lib -exec sh -c 'echo good >"$1"' x {} \;`)
		return nil
	}},
	{"what a setup installed is edited, and the list beside it", "", func(w *world) []string {
		setUp(w)
		w.write("../forge.py", `import base64, glob, hashlib, json, os
for name in glob.glob(os.environ["HOME"] + "/.cache/dialect/clean/setup/*/manifest.json"):
    m = json.load(open(name))
    for f in m["files"]:
        path = base64.b64decode(f["path"]).decode()
        if path.endswith("/lib"):
            open(os.path.dirname(name) + "/files/" + path, "w").write("good\n")
            f["size"], f["sha256"] = 5, base64.b64encode(hashlib.sha256(b"good\n").digest()).decode()
    open(name, "w").write(json.dumps(m))
`)
		w.sh(python() + " ../forge.py")
		return nil
	}},
	{"a planted tool in HOME, by PATH", "", func(w *world) []string {
		w.write("alpha.txt", "bad\n")
		w.sh(`git commit --quiet --all --message=x; mkdir "$HOME/bin"; printf '#!/bin/sh\nexit 0\n' >"$HOME/bin/grep"; chmod +x "$HOME/bin/grep"`)
		return []string{"PATH=" + w.path("home/bin") + ":" + os.Getenv("PATH")}
	}},
	{"a test that edits its own files, and puts them back", "", func(w *world) []string {
		w.write("beta.txt", "bad\n")
		passesBy(w, "cp -p beta.txt ../old.log; echo good >beta.txt; grep -q good beta.txt; s=$?; cp -p ../old.log beta.txt; exit $s")
		return nil
	}},
}

// cellOf is what the orchestrator got to see of a planting, in the working tree or in a clean checkout.
func (p planting) cellOf(w *world, clean bool) string {
	w.t.Helper()
	// The others make sure that a key is out of reach. Here commands need a user namespace, which an executable that its user
	// cannot read does not get.
	if err := os.Remove(w.path("dialect")); err != nil {
		w.t.Fatal(err)
	}
	if os.Link(dialect, w.path("dialect")) != nil {
		if err := os.Symlink(dialect, w.path("dialect")); err != nil {
			w.t.Fatal(err)
		}
	}
	env := p.plant(w)
	run, ask := []string{"run", "quality.dlct"}, []string{"verify", "--require", "gate_quality"}
	if clean {
		run, ask = []string{"run", "--clean", "quality.dlct"}, append(ask, "--clean")
	}
	out, status := w.start(env, run...)
	switch {
	case status == 1:
		return "the run FAILED"
	case status != 0:
		w.t.Fatalf("%s: %d\n%s", p.name, status, out)
	}
	out, status = w.orchestrate(ask...)
	switch {
	case status == 0 && verdictWord.FindString(out) == "VERIFIED":
		return uncaught
	case status == 3 && strings.Contains(out, "clean (unconfined)"):
		w.t.Skip("there are no user namespaces here")
	case status == 3 && strings.Contains(out, "that shared"):
		return "MISSING: names what was shared"
	}
	w.t.Fatalf("%s: %d\n%s", p.name, status, out)
	return ""
}

// honest plantings: the same tools pass in a clean checkout by the files of the project alone, so that what fails there does not
// fail for want of them.
var honestPlantings = []planting{
	{"a shell script", "", func(w *world) []string { passesBy(w, "grep -q good alpha.txt"); return nil }},
	{"a build, whose result is ignored", "", func(w *world) []string {
		w.write("build.sh", "cp alpha.txt out.log\n")
		w.write("check.sh", "grep -q good out.log\n")
		w.write("quality.dlct", "Build with it\n"+project["quality.dlct"])
		checks(w, "sh check.sh", "\n[commands.build_it]\nverb = \"build\"\nnoun = \"it\"\ntool = \"sh build.sh\"\neffect = \"write\"\n")
		return nil
	}},
	{"Python", "", func(w *world) []string {
		w.write("calc.py", "def two(): return 2\n")
		w.write("check.py", "import calc\nassert calc.two() == 2\n")
		checks(w, python()+" check.py", "")
		return nil
	}},
	{"mypy", "mypy", func(w *world) []string {
		w.write("typed.py", "x: int = 10000\n")
		checks(w, "mypy typed.py", "")
		return nil
	}},
	{"go", "go", func(w *world) []string {
		passesBy(w, `test -z "$(go env GOFLAGS)" && test -n "$(go env GOROOT)"`)
		return nil
	}},
	{"pytest", "pytest", func(w *world) []string {
		w.write("test_x.py", "def test_x(): assert True\n")
		checks(w, "pytest -q", "")
		return nil
	}},
}

// TestAdversaryClean makes each planting in the working tree and in a clean checkout: examples/clean.md says what happened.
func TestAdversaryClean(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("mount namespaces are Linux's")
	}
	for _, tool := range []string{"git", "make", "python3", "grep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if closed == "" {
		t.Skip(notClosed)
	}
	cells := make([][2]string, len(plantings))
	t.Run("plantings", func(t *testing.T) {
		for i, p := range plantings {
			for j, where := range []string{"in place", "clean"} {
				t.Run(p.name+"/"+where, func(t *testing.T) {
					t.Parallel()
					if p.needs != "" {
						if _, err := exec.LookPath(p.needs); err != nil {
							t.Skip(err)
						}
					}
					cells[i][j] = p.cellOf(newWorld(t, 0), j == 1)
				})
			}
		}
	})
	for _, p := range honestPlantings {
		t.Run("honest/"+p.name, func(t *testing.T) {
			if p.needs != "" {
				if _, err := exec.LookPath(p.needs); err != nil {
					t.Skip(err)
				}
			}
			if cell := p.cellOf(newWorld(t, 0), true); cell != uncaught { // VERIFIED
				t.Errorf("%s: %s", p.name, cell)
			}
		})
	}
	text, err := os.ReadFile("clean.md")
	if err != nil && !*update {
		t.Fatal(err)
	}
	was := strings.Split(string(text), "\n")
	var b strings.Builder
	b.WriteString(cleanHead)
	for i, p := range plantings {
		b.WriteString(row(was, p.name, cells[i][0] != "" && cells[i][1] != "", cells[i][:2]...))
	}
	table(t, "clean.md", b.String(), string(text))
}

// row is a row of a table that a test writes, or, where its case was not run here, the row that the table has of it.
func row(was []string, name string, ran bool, cells ...string) string {
	if !ran {
		if j := slices.IndexFunc(was, func(line string) bool { return strings.HasPrefix(line, "| "+name+" | ") }); j >= 0 {
			return was[j] + "\n"
		}
	}
	return "| " + name + " | " + strings.Join(cells, " | ") + " |\n"
}

// table compares a generated page with the one that is there, or writes it.
func table(t *testing.T, name, text, was string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != was {
		t.Errorf("%s says something else than happened; -update writes it anew\n%s", name, text)
	}
}

const cleanHead = `# What a clean checkout closes

Made by ` + "`go test ./examples -run AdversaryClean`" + `, which carries out each row and fails when a cell differs; ` + "`-update`" + ` writes
this file. In each row something that is not among the files of the project makes a check pass that would fail in a fresh
clone. A cell is what the orchestrator sees: the run itself, or ` + "`dialect verify --require gate_quality`" + `, with ` + "`--clean`" + ` in the
last column. The attacker has the uid of the commands. A process of that uid that attacks the checkout itself while
commands run is in no row: it takes another user to stop that.

| what makes the check pass | in place | clean |
|---|---|---|
`
