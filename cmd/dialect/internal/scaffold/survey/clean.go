package survey

import (
	"bytes"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/settings"
)

// clean proposes what a clean checkout of the project needs, from its lock files: nothing that is installed in the working tree, or for
// the user, is there. It turns no clean checkout on.
func (d *draft) clean() {
	d.cleanNode()
	d.cleanGo()
	d.cleanRust()
	d.cleanPython()
	d.cleanRuby()
}

// setup adds commands, with the lock files of the project that they need. Names that the project has nothing of are left out, but for patterns.
func (d *draft) setup(why string, commands, locks []string, keep ...string) {
	c := &d.Clean
	c.Why = append(c.Why, why)
	c.Setup = append(c.Setup, commands...)
	for _, name := range locks {
		if (strings.ContainsAny(name, "*") || d.exists(name)) && !slices.Contains(c.Locks, name) {
			c.Locks = append(c.Locks, name)
		}
	}
	c.Keep = append(c.Keep, keep...)
}

// share shares what is installed and has no lock file.
func (d *draft) share(name, why string) {
	if d.exists(name) {
		d.Clean.Why = append(d.Clean.Why, why)
		d.Clean.Share = append(d.Clean.Share, name)
	}
}

// scriptsOfInstall are the scripts of a project that managers run when they install its packages.
var scriptsOfInstall = []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"}

func (d *draft) cleanNode() {
	text, err := d.read("package.json")
	if err != nil {
		return
	}
	p, err := settings.JSON(text)
	if err != nil || len(p.At("dependencies").Keys)+len(p.At("devDependencies").Keys) == 0 && !p.Has("workspaces") {
		return
	}
	m := d.manager()
	command, why := m.install, m.program+" compares each package with its hash in "+m.lock
	locks := []string{"package.json", m.lock, ".npmrc"}
	if p.Has("workspaces") || d.exists("pnpm-workspace.yaml") {
		locks = append(locks, "pnpm-workspace.yaml", "**/package.json")
	}
	berry := m.program == "yarn" && d.exists(".yarnrc.yml")
	var keep []string
	if berry {
		command, keep = "yarn install --immutable", []string{"~/.yarn/berry"}
		locks = append(locks, ".yarnrc.yml", ".yarn/releases/**", ".yarn/plugins/**", ".yarn/patches/**")
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
	case m.lock == "":
		d.share("node_modules", "package.json has no lock file: node_modules is this machine's, and lowers the claim")
	case m.program == "bun":
	default:
		d.setup(why, []string{command}, locks, keep...)
	}
}

func (d *draft) cleanGo() {
	if d.exists("vendor/modules.txt") || !d.exists("go.sum") && !d.exists("go.work") {
		return
	}
	locks := []string{"go.mod", "go.sum"}
	if d.exists("go.work") {
		locks = []string{"go.work", "go.work.sum", "**/go.mod", "**/go.sum"}
	}
	d.setup("go compares each module with its hash in go.sum", []string{"go mod download"}, locks, "~/go/pkg/mod")
}

func (d *draft) cleanRust() {
	if !d.exists("Cargo.lock") || !d.exists("Cargo.toml") || d.exists("vendor") {
		return
	}
	d.setup("cargo compares each crate with its hash in Cargo.lock; it wants to see the roots of packages, too", []string{"cargo fetch --locked"},
		[]string{"**/Cargo.toml", "Cargo.lock", "**/src/lib.rs", "**/src/main.rs", ".cargo/config.toml", "rust-toolchain.toml"}, "~/.cargo/registry", "~/.cargo/git")
}

func (d *draft) cleanPython() {
	const venv = "python3 -m venv .venv"
	requirements, err := d.read("requirements.txt")
	switch {
	case d.exists("uv.lock"):
		d.setup("uv compares each package with its hash in uv.lock; the project itself is not there yet",
			[]string{"uv sync --frozen --no-install-project"}, []string{"pyproject.toml", "uv.lock", ".python-version", "uv.toml"})
	case err == nil && bytes.Contains(requirements, []byte("--hash=")):
		d.setup("pip compares each package with its hash in requirements.txt",
			[]string{venv, ".venv/bin/python -m pip install --require-hashes -r requirements.txt"}, []string{"requirements.txt"})
	case err == nil && len(bytes.TrimSpace(requirements)) > 0:
		d.setup("requirements.txt has no hashes: packages are believed by their names and versions",
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

func (d *draft) cleanRuby() {
	lock, err := d.read("Gemfile.lock")
	if err != nil || !d.exists("Gemfile") {
		return
	}
	why := "Gemfile.lock has no checksums: gems are believed by their names and versions"
	if bytes.Contains(lock, []byte("\nCHECKSUMS\n")) {
		why = "bundler compares each gem with its checksum in Gemfile.lock"
	}
	d.setup(why, []string{"bundle config set --local frozen true", "bundle config set --local path vendor/bundle", "bundle install"},
		[]string{"Gemfile", "Gemfile.lock", "*.gemspec", ".ruby-version"})
}
