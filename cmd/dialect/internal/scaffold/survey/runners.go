package survey

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/archive"
)

type target struct {
	verb  string
	names []string
}

// targets are the names that people give to what only looks, in the order in which they are tried.
var targets = []target{
	{"Check", []string{"lint", "check-lint"}},
	{"Test", []string{"test", "tests", "check", "unittest", "unit-test", "spec"}},
}

// runners looks at what the project uses to run its checks now. A target is bound only where no line has
// its verb yet: what a tool of an ecosystem does already is not bound a second time.
func (d *draft) runners() {
	for _, r := range d.habits.Runners {
		run, install := r.Program, ""
		if r.Program == "rake" && d.exists("Gemfile") {
			if install = "bundle install"; installed("bundle") {
				run = "bundle exec rake"
			}
		}
		if first, _, _ := strings.Cut(run, " "); !installed(first) {
			d.leaveOut(r.File, first+" is not installed")
			continue
		}
		var covered []string
		for _, t := range targets {
			i := slices.IndexFunc(t.names, func(n string) bool { return slices.Contains(r.Targets, n) })
			switch {
			case i < 0:
			case d.has(t.verb):
				covered = append(covered, t.names[i])
			default:
				d.found(r.File)
				d.bind(t.verb+" with "+r.Program, binding{tool: run + " " + t.names[i], pins: []string{r.File}}, r.File, install)
			}
		}
		if len(covered) > 0 {
			d.found(r.File + " (" + strings.Join(covered, ", ") + ": covered by the lines)")
		} else if !slices.ContainsFunc(d.Found, func(f string) bool { return strings.HasPrefix(f, r.File) }) {
			d.leaveOut(r.File, "none of its targets is called lint, test or check: "+strings.Join(r.Targets[:min(len(r.Targets), 8)], ", "))
		}
	}
}

// known are the tools that are bound by themselves, as far as people know them by name.
var known = []string{"ruff", "black", "isort", "flake8", "pylint", "mypy", "pyright", "pytest", "py.test", "gofmt", "go", "golangci-lint", "staticcheck", "prettier", "eslint", "tsc", "biome", "vitest", "jest", "cargo", "shellcheck", "bats"}

// docker warns of a context that the store would be part of: each run changes it.
func (d *draft) docker() {
	if text, _ := d.read(".dockerignore"); d.exists("Dockerfile") && !strings.Contains(string(text), archive.Folder) {
		d.Offers = append(d.Offers, "Dockerfile: a line "+archive.Folder+" in .dockerignore keeps the store of receipts out of its context")
	}
}

// unread says what was read of what is not bound as a whole, and what is not read.
func (d *draft) unread() {
	for _, file := range []string{"tox.ini", "noxfile.py", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml"} {
		if !slices.Contains(d.habits.Files, file) {
			continue
		}
		var tools []string
		for _, c := range d.habits.Commands {
			if c.Source == file && !slices.Contains(tools, c.Program) && slices.Contains(known, c.Program) {
				tools = append(tools, c.Program)
			}
		}
		if len(tools) > 0 {
			d.found(file + " (" + strings.Join(tools, ", ") + ")")
		} else {
			d.leaveOut(file, "it runs no tool that is known here")
		}
	}
	var others []string
	ignored := ofOthers
	if len(d.Lines) == 0 {
		ignored = foreign // a project of headers may be built for its tests alone
	}
	for _, pattern := range slices.Sorted(maps.Keys(byHand)) {
		how := byHand[pattern]
		if !d.has("Test") && d.matches(pattern) {
			if first := configure[pattern]; first != "" {
				how = "configure it, with its tests: " + first + "; then `dialect init` proposes its tests"
			}
			others = append(others, d.glob(pattern)[0]+" ("+how+")")
		}
		how = byHand[pattern]
		if configure[pattern] != "" && d.exists(pattern) {
			continue // those below are parts of it
		}
		for _, file := range d.glob("*/"+pattern, "*/*/"+pattern) {
			if dir := path.Dir(file); !ignored(dir) && how != byHand["configure.ac"] && !slices.ContainsFunc(others, func(o string) bool { return strings.HasPrefix(o, dir+"/") }) {
				others = append(others, file+" ("+how+", with cwd = \""+dir+"\")")
			}
		}
	}
	slices.Sort(others)
	if n := len(others) - maxNested; n > 0 {
		others = append(others[:maxNested], fmt.Sprintf("%s of other languages below", diag.Number(n, "more project")))
	}
	d.LeftOut = append(d.LeftOut, others...)
}

// byHand says of files by which other ecosystems are known how to bind what they test.
var byHand = map[string]string{
	"CMakeLists.txt": "bind what builds and tests it by hand: cmake --build build, ctest --test-dir build",
	"meson.build":    "bind `meson test -C build` by hand",
	"configure.ac":   "after ./configure there is a Makefile",
	"build.gradle":   "bind `./gradlew check` by hand", "build.gradle.kts": "bind `./gradlew check` by hand",
	"pom.xml": "bind `mvn -q verify` by hand", "composer.json": "bind `vendor/bin/phpunit` by hand",
	"Gemfile": "bind `bundle exec rake`, or `bundle exec rspec`, by hand", "mix.exs": "bind `mix test` by hand",
	"*.sln": "bind `dotnet test` by hand", "Makefile.PL": "bind `prove -lrv` by hand", "cpanfile": "bind `prove -lrv` by hand",
}

// configure has the command after which [draft.native] binds what the file describes.
var configure = map[string]string{"CMakeLists.txt": "cmake -S . -B build", "meson.build": "meson setup build"}

// ofOthers reports whether a folder below, or one around it, holds no project of the user's, or one that is not looked into.
func ofOthers(dir string) bool { return foreign(dir) || within(dir, aside) }

// foreign reports whether a folder below holds what others wrote, or what tools made.
func foreign(dir string) bool {
	return !habit.IsPlain(dir) || within(dir, made) || slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_")
	})
}

// within reports whether a folder, or one around it, has one of names.
func within(dir string, names []string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return slices.Contains(names, strings.ToLower(part)) })
}

// made are the names of folders that hold what others wrote, and what tools made.
var made = []string{"node_modules", "vendor", "third_party", "thirdparty", "external", "deps", "testdata", "fixtures", "__fixtures__", "target", "dist", "build", "out", "venv", "env", "__pycache__"}

// aside are the names of folders whose projects mostly show or test another one: they are named, and not looked into.
var aside = []string{"test", "tests", "docs", "doc", "website", "site", "www", "examples", "example", "samples", "demo", "bench", "benches", "benchmark", "benchmarks",
	"ci", "e2e", "fuzz", "templates", "playground", "tools", "scripts"}

// maxNested bounds how many projects below are bound.
const maxNested = 8

// here reports whether a folder below is one, and no link leads there: what lies elsewhere does not belong to the project.
func (d *draft) here(dir string) bool {
	for at := dir; at != "."; at = path.Dir(at) {
		if info, err := os.Lstat(filepath.Join(d.dir, filepath.FromSlash(at))); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// nested looks for projects one and two folders down, which the lines of the folder itself do not reach.
func (d *draft) nested() {
	var beyond, beside, quiet []string
	count := 0
	names, prefixes := map[string]bool{}, map[string]bool{}
	covers := d.covered()
	for _, marker := range []string{"go.mod", "package.json", "pyproject.toml", "setup.py", "Cargo.toml"} {
		if covers[marker] {
			continue
		}
		for _, file := range d.glob("*/"+marker, "*/*/"+marker, "*/*/*/"+marker) {
			dir := path.Dir(file)
			if names[dir] || foreign(dir) {
				continue
			}
			if !d.here(dir) {
				continue
			}
			names[dir] = true
			if within(dir, aside) {
				beside = append(beside, dir)
				continue
			}
			if count == maxNested || strings.Count(dir, "/") > 1 {
				beyond = append(beyond, dir)
				continue
			}
			sub := &draft{Plan: scaffold.Plan{Dir: d.Dir}, dir: filepath.Join(d.dir, filepath.FromSlash(dir)), below: dir, prefix: word(path.Base(dir))}
			if prefixes[sub.prefix] {
				sub.prefix = word(dir)
			}
			prefixes[sub.prefix] = true
			sub.habits = habit.Read(sub.dir)
			if !covers["go.mod"] {
				sub.golang()
			}
			if !covers["pyproject.toml"] {
				sub.python()
			}
			if !covers["package.json"] {
				sub.node()
			}
			if !covers["Cargo.toml"] {
				sub.rust()
			}
			if len(sub.Lines) > 0 {
				count++
			} else if len(sub.LeftOut) == 0 {
				quiet = append(quiet, dir)
				continue
			}
			d.Lines = append(d.Lines, sub.Lines...)
			d.Found = append(d.Found, sub.Found...)
			d.LeftOut = append(d.LeftOut, sub.LeftOut...)
			d.Installs = append(d.Installs, sub.Installs...)
			for _, name := range sub.Caches {
				if !slices.Contains(d.Caches, name) {
					d.Caches = append(d.Caches, name)
				}
			}
		}
	}
	d.leaveFolders(beyond, "more projects below: bind a line to each by hand, with cwd")
	d.leaveFolders(beside, "init skips folders with such a name: bind a line to each by hand, with cwd")
	d.leaveFolders(quiet, "nothing that a line could run was found there")
	d.runnersBelow(names)
}

// leaveFolders leaves out folders below, of which it names maxNested at most.
func (d *draft) leaveFolders(dirs []string, why string) {
	if n := len(dirs) - maxNested; n > 0 {
		dirs = append(slices.Clip(dirs[:maxNested]), fmt.Sprintf("and %d more", n))
	}
	if len(dirs) > 0 {
		d.leaveOut(strings.Join(dirs, ", "), why)
	}
}

// runnersBelow names the folders below that have targets which test, and no lines by what else is in them.
func (d *draft) runnersBelow(known map[string]bool) {
	var list []string
	for _, file := range d.glob("*/[Mm]akefile", "*/*/[Mm]akefile", "*/justfile", "*/*/justfile", "*/Taskfile.yml", "*/*/Taskfile.yml") {
		dir := path.Dir(file)
		if known[dir] || ofOthers(dir) {
			continue
		}
		known[dir] = true
		i := slices.IndexFunc(targets, func(t target) bool { return t.verb == "Test" })
		for _, r := range habit.Read(filepath.Join(d.dir, filepath.FromSlash(dir))).Runners {
			if j := slices.IndexFunc(targets[i].names, func(n string) bool { return slices.Contains(r.Targets, n) }); j >= 0 {
				list = append(list, r.Program+" "+targets[i].names[j]+" in "+dir)
				break
			}
		}
	}
	d.leaveFolders(list, "bind a line to each by hand, with cwd")
}

// word makes a part of a noun of a path.
func word(path string) string {
	return strings.Trim(strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("/.@_+=,:%", r) {
			return '-'
		}
		return r
	}, path)), "-")
}

// covered returns the markers of projects below that the lines of the folder itself reach.
func (d *draft) covered() map[string]bool {
	c := map[string]bool{"go.mod": d.exists("go.work"), "package.json": d.exists("pnpm-workspace.yaml") || d.exists("lerna.json") || d.exists("nx.json") || d.exists("turbo.json")}
	if text, err := d.read("package.json"); err == nil {
		if v, err := settings.JSON(text); err == nil && v.Has("workspaces") {
			c["package.json"] = true
		}
	}
	if text, err := d.read("Cargo.toml"); err == nil {
		v, _ := settings.TOML(text)
		c["Cargo.toml"] = v.Has("workspace")
	}
	if text, err := d.read("pyproject.toml"); err == nil {
		v, _ := settings.TOML(text)
		if v.At("tool", "uv").Has("workspace") {
			c["pyproject.toml"], c["setup.py"] = true, true
		}
	}
	return c
}

// matrices looks for matrices that others wrote, such as those of agents, and offers them.
func (d *draft) matrices() {
	files := d.glob("*.toml", "*/*.toml", "*/*/*.toml")
	for _, file := range files[:min(len(files), 500)] {
		if file == routing.FileName || strings.HasPrefix(file, "node_modules/") || strings.HasPrefix(file, "target/") {
			continue
		}
		text, err := d.read(file)
		if err != nil || !strings.Contains(string(text), "[commands.") {
			continue
		}
		full := filepath.Join(d.dir, filepath.FromSlash(file))
		m, findings := routing.Load(full, file, routing.Options{})
		n := 0
		for _, b := range m.Bindings {
			if origin := b.Origin(); origin.File == file {
				n++
			}
		}
		if n == 0 {
			continue
		}
		offer := file + " is a matrix with " + diag.Number(n, "binding") + ": extends = " + scaffold.List([]string{file}) + " in " + routing.FileName + " adds what it binds"
		if dir := path.Dir(file); dir != "." && path.Base(file) == routing.FileName { // what it binds runs there
			script := dir + "/" + scaffold.ScriptName
			if others := d.glob(dir + "/*.dlct"); !d.exists(script) && len(others) > 0 {
				script = others[0]
			}
			offer = file + " is the matrix of a project of its own, with " + diag.Number(n, "binding") + ": a line with tool = \"dialect run " + script + "\" runs it; see `dialect help monorepos`"
		}
		if findings.Count(diag.Error) > 0 {
			offer = file + " is a matrix, and it does not load: dialect check --routing " + file
		}
		d.Offers = append(d.Offers, offer)
	}
}
