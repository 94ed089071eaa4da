package examples_test

import "strings"

// scoped makes a world whose lines name their files, runs all of it, and has the matrix committed. forgotten says that what
// the test reads besides, alpha.txt, is named by the other line alone.
func scoped(w *world, forgotten, trusted bool) {
	w.t.Helper()
	files := `files = ["Makefile", "tests.sh", "alpha.txt"]`
	if forgotten {
		files = `files = ["Makefile", "tests.sh"]`
	}
	text := strings.Replace(project["routing.toml"], `expect = { min_tests = 2 }`, "expect = { min_tests = 2 }\n"+files, 1)
	text = strings.Replace(text, `tool = "grep -q good alpha.txt"`, "tool = \"grep -q good alpha.txt\"\nfiles = [\"alpha.txt\"]", 1)
	if trusted {
		text += "\n[verify]\nscoped = true\n"
	}
	w.write("routing.toml", text)
	w.write("tests.sh", "grep -q best alpha.txt && exit 1\n"+project["tests.sh"])
	w.sh("git add . && git commit --quiet --message=scopes && git tag --force trusted")
	w.honest()
	w.sh("echo good and best >alpha.txt") // the line of alpha passes, the test fails
}

// changed has the orchestrator run what changed.
func (w *world) changed() {
	w.t.Helper()
	if out, status := w.start(nil, "run", "--changed", "quality.dlct"); status != 0 && !strings.Contains(out, "failed") {
		w.t.Fatalf("%d: %s", status, out)
	}
	w.keep()
}

func scopeAttack(forgotten, trusted bool, then func(w *world) string) func(w *world) string {
	return func(w *world) string {
		scoped(w, forgotten, trusted)
		w.changed()
		return then(w)
	}
}

// scopes are the attacks on VERIFIED FOR CHANGED PATHS.
var scopes = []attack{
	{"**Files that a binding names (`files`, `run --changed`)**", nil},
	{"a file that a line names is edited, and the line is not run again; plain `verify`", func(w *world) string {
		scoped(w, false, false)
		if out, status := w.start(nil, "run", "quality.dlct:1"); status != 0 {
			w.t.Fatal(out)
		}
		w.keep()
		return w.plain()
	}},
	{"the same, and the line fails; plain `verify`", scopeAttack(false, false, (*world).plain)},
	{"the same, of a file that a line names through a link to a folder, and another line by its own name; plain `verify`", func(w *world) string {
		scoped(w, false, false)
		w.sh(`git checkout --quiet alpha.txt && mkdir lib && echo good >lib/f.txt && ln -s lib link &&
			sed -i 's!"tests.sh", "alpha.txt"]!"tests.sh", "link/*.txt"]!; s!\["alpha.txt"]!["alpha.txt", "link", "lib/**"]!' routing.toml &&
			sed -i '1s!.*!grep -q best link/f.txt \&\& exit 1!' tests.sh &&
			git add . && git commit --quiet --message=links && git tag --force trusted`)
		w.honest()
		w.sh("echo best >lib/f.txt")
		w.changed()
		return w.plain()
	}},
	{"a file is edited that no line names; plain `verify`", func(w *world) string {
		scoped(w, true, false)
		w.sh("git checkout --quiet alpha.txt && echo x >other.txt")
		return w.plain()
	}},
	{"a file is edited that a tool reads, and that the `files` of another line name alone; plain `verify`", scopeAttack(true, false, (*world).plain)},
	{"the same, of who runs it: `dialect verify` without a key", scopeAttack(true, false, func(w *world) string {
		out, status := w.agent("verify")
		return w.cell(out, status)
	})},
	{"the same; `verify --require`", scopeAttack(true, false, func(w *world) string { return w.ask() })},
	{"the same; `verify --require`, where the baseline says `[verify] scoped = true`", scopeAttack(true, true, func(w *world) string { return w.ask() })},
	{"the same, and `consume` of the full run's gate", func(w *world) string {
		scoped(w, true, true)
		full := w.gate()
		w.changed()
		return w.consume(full, "--require", "gate_quality")
	}},
	{"`files` are edited in the matrix so that the test is left out; with `--base`", func(w *world) string {
		scoped(w, false, true)
		w.sh(`sed -i 's/, "alpha.txt"]/]/' routing.toml && git commit --quiet --all --message=x`)
		w.changed()
		return w.ask("--base", w.trusted())
	}},
}
