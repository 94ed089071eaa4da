// Package lockfiles proposes what a clean checkout of a project needs, from its lock files. The folder of the project and what installs
// its packages of Node come in; the table [clean] of a matrix goes out, with what each command compares. It turns no clean checkout on, and runs nothing.
package lockfiles

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/place"
)

// A Manager installs the packages of package.json.
type Manager struct {
	Lock    string // the name of its lock file; empty where there is none
	Program string
	Install string // the command
}

// Propose returns what the project in dir needs.
func Propose(dir string, m Manager) scaffold.Clean {
	d := &proposal{dir: dir}
	d.node(m)
	d.golang()
	d.rust()
	d.python()
	d.ruby()
	return d.Clean
}

type proposal struct {
	scaffold.Clean
	dir string
}

func (d *proposal) exists(name string) bool { return place.Exists(filepath.Join(d.dir, name)) }

func (d *proposal) read(name string) ([]byte, error) {
	return regular.Read(filepath.Join(d.dir, name), 16<<20)
}

// install adds commands, with the lock files of the project that they need. Names that the project has nothing of are left out, but for patterns.
func (d *proposal) install(why string, commands, locks []string, keep ...string) {
	d.Why = append(d.Why, why)
	d.Setup = append(d.Setup, commands...)
	for _, name := range locks {
		if (strings.ContainsAny(name, "*") || d.exists(name)) && !slices.Contains(d.Locks, name) {
			d.Locks = append(d.Locks, name)
		}
	}
	d.Keep = append(d.Keep, keep...)
}

// share shares what is installed and has no lock file.
func (d *proposal) share(name, why string) {
	if d.exists(name) {
		d.Why = append(d.Why, why)
		d.Share = append(d.Share, name)
	}
}

// scriptsOfInstall are the scripts of a project that managers run when they install its packages.
var scriptsOfInstall = []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"}

func (d *proposal) node(m Manager) {
	text, err := d.read("package.json")
	if err != nil {
		return
	}
	p, err := settings.JSON(text)
	if err != nil || len(p.At("dependencies").Keys)+len(p.At("devDependencies").Keys) == 0 && !p.Has("workspaces") {
		return
	}
	command, why := m.Install, m.Program+" compares each package with its hash in "+m.Lock
	locks := []string{"package.json", m.Lock, ".npmrc"}
	if p.Has("workspaces") || d.exists("pnpm-workspace.yaml") {
		locks = append(locks, "pnpm-workspace.yaml", "**/package.json")
	}
	berry := m.Program == "yarn" && d.exists(".yarnrc.yml")
	var keep []string
	if berry {
		command, keep = "yarn install --immutable", []string{"~/.yarn/berry"}
		locks = append(locks, ".yarnrc.yml", ".yarn/releases/**", ".yarn/plugins/**", ".yarn/patches/**", ".yarn/cache/**", ".pnp.cjs", ".pnp.js", ".pnp.loader.mjs") // what of it is committed is used, and not made
	}
	if slices.ContainsFunc(scriptsOfInstall, func(name string) bool { return p.At("scripts").Has(name) }) {
		if berry {
			command += " --mode=skip-build"
		} else {
			command += " --ignore-scripts"
		}
		why += "; the project's own scripts would not find its files"
	}
	switch {
	case m.Lock == "":
		d.share("node_modules", "package.json has no lock file: node_modules is this machine's, and lowers the claim")
	case m.Program == "bun":
	default:
		d.install(why, []string{command}, locks, keep...)
	}
}

func (d *proposal) golang() {
	if d.exists("vendor/modules.txt") || !d.exists("go.sum") && !d.exists("go.work") {
		return
	}
	locks := []string{"go.mod", "go.sum"}
	if d.exists("go.work") {
		locks = []string{"go.work", "go.work.sum", "**/go.mod", "**/go.sum"}
	}
	d.install("go compares each module with its hash in go.sum", []string{"go mod download"}, locks, "~/go/pkg/mod")
}

func (d *proposal) rust() {
	if !d.exists("Cargo.lock") || !d.exists("Cargo.toml") || d.exists("vendor") {
		return
	}
	d.install("cargo compares each crate with its hash in Cargo.lock; it wants to see the roots of packages, too", []string{"cargo fetch --locked"},
		[]string{"**/Cargo.toml", "Cargo.lock", "**/src/lib.rs", "**/src/main.rs", ".cargo/config.toml", "rust-toolchain.toml"}, "~/.cargo/registry", "~/.cargo/git")
}

func (d *proposal) python() {
	const venv = "python3 -m venv .venv"
	requirements, err := d.read("requirements.txt")
	switch {
	case d.exists("uv.lock"):
		d.install("uv compares each package with its hash in uv.lock; the project itself is not there yet",
			[]string{"uv sync --frozen --no-install-project"}, []string{"pyproject.toml", "uv.lock", ".python-version", "uv.toml"})
	case err == nil && bytes.Contains(requirements, []byte("--hash=")):
		d.install("pip compares each package with its hash in requirements.txt",
			[]string{venv, ".venv/bin/python -m pip install --require-hashes -r requirements.txt"}, []string{"requirements.txt"})
	case err == nil && len(bytes.TrimSpace(requirements)) > 0:
		d.install("requirements.txt has no hashes: names and versions are all that counts",
			[]string{venv, ".venv/bin/python -m pip install -r requirements.txt"}, []string{"requirements*.txt"})
	default:
		for _, name := range []string{".venv", "venv"} {
			if d.exists(name + "/bin/python") {
				d.share(name, "Python has no lock file here: "+name+" is this machine's, and lowers the claim")
				return
			}
		}
	}
}

func (d *proposal) ruby() {
	lock, err := d.read("Gemfile.lock")
	if err != nil || !d.exists("Gemfile") {
		return
	}
	why := "Gemfile.lock has no checksums: names and versions are all that counts"
	if bytes.Contains(lock, []byte("\nCHECKSUMS\n")) {
		why = "bundler compares each gem with its checksum in Gemfile.lock"
	}
	d.install(why, []string{"bundle config set --local frozen true", "bundle config set --local path vendor/bundle", "bundle install"},
		[]string{"Gemfile", "Gemfile.lock", "*.gemspec", ".ruby-version"})
}
