//go:build unix

package environ_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/environ"
)

// A plant is a variable that turns a red check green. {} stands for the folder of the test.
type plant struct {
	name  string
	needs string            // programs
	files map[string]string // in the folder; those of mode 0755 begin with "#!"
	setup string            // shell, in the folder
	set   string            // NAME=VALUE
	argv  string            // the check, in the folder
}

var plants = []plant{
	{name: "python: options", needs: "python3", set: "PYTHONOPTIMIZE=1", argv: "python3 check.py", files: map[string]string{"check.py": "assert 1 + 1 == 3\n"}},
	{name: "python: path", needs: "python3", set: "PYTHONPATH={}/evil", argv: "python3 check.py",
		files: map[string]string{"check.py": "assert 1 + 1 == 3\n", "evil/sitecustomize.py": "import os\nos._exit(0)\n"}},
	{name: "python: compiled code of another file", needs: "python3", set: "PYTHONPYCACHEPREFIX={}/evil", argv: "python3 -B -c import(calc)",
		setup: `echo 'assert 1 + 1 == 2' >calc.py; touch -d 2020-01-01 calc.py; PYTHONPYCACHEPREFIX=$PWD/evil python3 -c 'import calc'
			echo 'assert 1 + 1 == 3' >calc.py; touch -d 2020-01-01 calc.py`},
	{name: "pytest", needs: "pytest", set: "PYTEST_ADDOPTS=--collect-only", argv: "pytest -q -p no:cacheprovider", files: map[string]string{"test_x.py": "def test_x():\n    assert False\n"}},
	{name: "node: options", needs: "node", set: "NODE_OPTIONS=--require={}/evil.js", argv: "node check.js",
		files: map[string]string{"check.js": "process.exit(1)\n", "evil.js": "process.exit(0)\n"}},
	{name: "npm: configuration of the user", needs: "npm", set: "npm_config_userconfig={}/evil", argv: "npm test",
		files: map[string]string{"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"exit 1"}}`, "evil": "script-shell=/bin/true\n"}},
	{name: "npm: the same in capitals", needs: "npm", set: "NPM_CONFIG_SCRIPT_SHELL=/bin/true", argv: "npm test",
		files: map[string]string{"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"exit 1"}}`}},
	{name: "go: flags", needs: "go", set: "GOFLAGS=-tags=evil", argv: "go vet ./...", files: goFiles},
	{name: "go: configuration below XDG_CONFIG_HOME", needs: "go", set: "XDG_CONFIG_HOME={}/evil", argv: "go vet ./...",
		files: map[string]string{"go.mod": goFiles["go.mod"], "x.go": goFiles["x.go"], "y.go": goFiles["y.go"], "evil/go/env": "GOFLAGS=-tags=evil\n"}},
	{name: "go: another system", needs: "go", set: "GOOS=plan9", argv: "go vet ./...",
		files: map[string]string{"go.mod": goFiles["go.mod"], "x.go": strings.Replace(goFiles["x.go"], "!evil", "!plan9", 1), "y.go": goFiles["y.go"]}},
	{name: "make: flags", needs: "make", set: "MAKEFLAGS=-i", argv: "make test", files: map[string]string{"Makefile": "test:\n\tfalse\n"}},
	{name: "make: files", needs: "make", set: "MAKEFILES={}/evil.mk", argv: "make test",
		files: map[string]string{"Makefile": "CHECK ?= false\ntest:\n\t$(CHECK)\n", "evil.mk": "CHECK = true\n"}},
	{name: "make: flags of its shell", needs: "make", set: ".SHELLFLAGS=-nc", argv: "make test", files: map[string]string{"Makefile": "test:\n\tfalse\n"}},
	{name: "make: another make below", needs: "make", set: "MAKE=true", argv: "make test", files: map[string]string{"Makefile": "test:\n\t$(MAKE) check\ncheck:\n\tfalse\n"}},
	{name: "npm: prefix", needs: "npm", set: "PREFIX={}/evil", argv: "npm test",
		files: map[string]string{"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"exit 1"}}`, "evil/etc/npmrc": "script-shell=/bin/true\n"}},
	{name: "npm: folder of an installation", needs: "npm", set: "DESTDIR={}/evil", argv: "sh check.sh",
		files: map[string]string{"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"exit 1"}}`, "check.sh": "p=$(npm prefix -g)\ncase $p in */evil*) exit 0;; esac\nexit 1\n"}},
	{name: "xz: options", needs: "xz", set: "XZ_OPT=--help", argv: "xz -t x.xz", files: map[string]string{"x.xz": "bad\n"}},
	{name: "xz: defaults", needs: "xz", set: "XZ_DEFAULTS=--help", argv: "xz -t x.xz", files: map[string]string{"x.xz": "bad\n"}},
	{name: "du: unit", needs: "du", set: "BLOCK_SIZE=1G", argv: "sh check.sh", setup: "head -c 300000 /dev/urandom >x", files: map[string]string{"check.sh": "test $(du x | cut -f1) -lt 10\n"}},
	{name: "df: unit", needs: "df", set: "DF_BLOCK_SIZE=1Y", argv: "sh check.sh", files: map[string]string{"check.sh": "test $(df . | tail -1 | awk '{print $2}') -lt 10\n"}},
	{name: "gawk: path", needs: "gawk", set: "AWKPATH={}/evil", argv: "gawk -f check.awk",
		files: map[string]string{"sub/check.awk": "", "evil/check.awk": "BEGIN { exit 0 }\n"}},
	{name: "javac: options", needs: "javac", set: "JDK_JAVAC_OPTIONS=-cp {}/evil", argv: "javac Main.java",
		files: map[string]string{"Main.java": "class Main { int x = Evil.x; }\n", "evil/Evil.java": "class Evil { static int x; }\n"}},
	{name: "bc: options", needs: "bc", set: "BC_ENV_ARGS={}/evil", argv: "sh check.sh", files: map[string]string{"check.sh": "test \"$(echo 'f(1)' | bc 2>&1)\" = 0\n", "evil": "define f(x) { return 0; }\n"}},
	{name: "prove: another perl", needs: "prove perl", set: "HARNESS_PERL={}/evil", argv: "prove x.t",
		files: map[string]string{"x.t": "print qq{1..1\\nnot ok 1\\n};\n", "evil": "#!/bin/sh\necho 1..1; echo ok 1\n"}},
	{name: "perl: options", needs: "perl", set: "PERL5OPT=-I{} -Mevil", argv: "perl check.pl",
		files: map[string]string{"check.pl": "exit 1;\n", "evil.pm": "package evil; exit 0; 1;\n"}},
	{name: "git: another repository", needs: "git", set: "GIT_DIR={}/evil/.git", argv: "git diff --quiet HEAD",
		setup: `for d in evil honest; do git init --quiet $d; echo 1 >$d/f; git -C $d add f; git -C $d -c user.name=a -c user.email=a@b commit --quiet -m x; done
			mv honest/.git .git; echo 2 >f; echo 2 >evil/f; git -C evil add f; git -C evil -c user.name=a -c user.email=a@b commit --quiet -m y; rm -r honest`},
	{name: "git: configuration", needs: "git", set: "GIT_CONFIG_PARAMETERS='alias.check=!true'", argv: "git check",
		setup: `git init --quiet .; git config alias.check '!false'`},
	{name: "a shell's first file", needs: "bash", set: "BASH_ENV={}/evil", argv: "bash check.sh", files: map[string]string{"check.sh": "exit 1\n", "evil": "exit 0\n"}},
	{name: "a shell's functions", needs: "bash", set: "BASH_FUNC_grep%%=() { return 0; }", argv: "bash check.sh", files: map[string]string{"check.sh": "grep -q good check.sh.txt\n", "check.sh.txt": "bad\n"}},
	{name: "the loader", needs: "cc", set: "LD_PRELOAD={}/evil.so", argv: "grep -q good file", setup: `echo bad >file
			echo '#include <unistd.h>
			__attribute__((constructor)) static void f(void) { _exit(0); }' >evil.c; cc -shared -fPIC -o evil.so evil.c`},
	{name: "java: class path", needs: "java javac", set: "CLASSPATH={}/evil", argv: "java Main",
		setup: `mkdir evil
			echo 'class Main { public static void main(String[] a) { System.exit(0); } }' >evil/Main.java; javac -d evil evil/Main.java
			echo 'class Main { public static void main(String[] a) { System.exit(1); } }' >Main.java; javac Main.java`},
	{name: "ruby: options", needs: "ruby", set: "RUBYOPT=-r{}/evil.rb", argv: "ruby check.rb", files: map[string]string{"check.rb": "exit 1\n", "evil.rb": "exit! 0\n"}},
}

var goFiles = map[string]string{
	"go.mod": "module x\n\ngo 1.20\n",
	"x.go":   "//go:build !evil\n\npackage x\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\", \"x\") }\n",
	"y.go":   "package x\n",
}

// A variable that an agent sets turns no red check green: the tool itself, which is real,
// shows first that it would.
func TestFamilies(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for program := range strings.FieldsSeq(p.needs) {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip(err)
				}
			}
			dir := t.TempDir()
			for name, text := range p.files {
				path := filepath.Join(dir, name)
				mode := os.FileMode(0o644)
				if strings.HasPrefix(text, "#!") {
					mode = 0o755
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			home := t.TempDir()
			base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GOCACHE=" + goCache(t), "TMPDIR=" + t.TempDir()}
			if p.setup != "" {
				if out, err := run(t, dir, base, "sh", "-euc", p.setup); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			argv := strings.Fields(p.argv)
			for i, a := range argv {
				argv[i] = strings.Replace(a, "import(calc)", "import calc", 1)
			}
			set := strings.ReplaceAll(p.set, "{}", dir)
			name, _, _ := strings.Cut(set, "=")
			if out, err := run(t, dir, base, argv...); err == nil {
				t.Fatalf("the check is green as it stands: %s", out)
			}
			planted := append(slices.Clone(base), set)
			if out, err := run(t, dir, planted, argv...); err != nil {
				t.Fatalf("%s does not turn the check green, so that this shows nothing: %v: %s", set, err, out)
			}
			env, left := environ.Make(planted, environ.Options{})
			if out, err := run(t, dir, env, argv...); err == nil {
				t.Errorf("%s turned the check green: %s", set, out)
			}
			if !slices.Contains(left, name) {
				t.Errorf("left out: %q, want %s", left, name)
			}
			// A matrix that sets it can be reviewed.
			_, value, _ := strings.Cut(set, "=")
			env, _ = environ.Make(base, environ.Options{Set: map[string]string{name: value}})
			if out, err := run(t, dir, env, argv...); err != nil {
				t.Errorf("a matrix cannot set %s: %v: %s", name, err, out)
			}
		})
	}
}

func run(t *testing.T, dir string, env []string, argv ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// goCache is one for all tests: an empty one would be filled with the standard library.
func goCache(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "dialect-environ-test-gocache")
	if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		dir = strings.TrimSpace(string(out))
	}
	return dir
}
