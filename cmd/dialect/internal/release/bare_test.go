package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// machine are the programs of a machine that has no toolchain: what the first minutes of README use, and what a script of sh does.
var machine = []string{"sh", "env", "git", "sed", "find", "xargs", "cat", "ls", "mkdir", "tar", "gzip", "sha256sum", "cmp"}

// A bare is a root that holds the programs of machine with their libraries, and nothing else.
type bare struct {
	dir   string
	binds []string // folders of this machine that are there too, to be read
}

var library = regexp.MustCompile(`(/\S+) \(0x`)

// put copies a program of this machine to the same place, with the libraries that it loads.
func (b *bare) put(t *testing.T, name string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not here", name)
	}
	b.copy(t, path, filepath.Join("/usr/bin", filepath.Base(name)), 0o755)
	out, _ := exec.Command("ldd", path).Output() // of a static program it says so, and fails
	for _, m := range library.FindAllSubmatch(out, -1) {
		b.copy(t, string(m[1]), string(m[1]), 0o755)
	}
}

func (b *bare) copy(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, to, string(content), mode)
}

func (b *bare) write(t *testing.T, to, content string, mode os.FileMode) {
	t.Helper()
	to = filepath.Join(b.dir, to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// newBare makes the root, and skips where this machine lets nobody change roots.
func newBare(t *testing.T) *bare {
	t.Helper()
	b := &bare{dir: t.TempDir()}
	for _, dir := range []string{"usr/bin", "dev", "proc", "tmp", "home"} {
		if err := os.MkdirAll(filepath.Join(b.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/bin", filepath.Join(b.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	for _, device := range []string{"null", "zero", "urandom"} {
		b.write(t, "dev/"+device, "", 0o644)
	}
	for _, name := range machine {
		b.put(t, name)
	}
	b.write(t, "home/.gitconfig", "[user]\n\tname = a\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n\ttemplateDir =\n", 0o644)
	if out, err := b.run("true"); err != nil {
		t.Skipf("no root can be changed here: %v\n%s", err, out)
	}
	return b
}

// enter mounts what a root needs below $1, binds the folders up to --, and becomes what is behind it, without a network.
const enter = `root=$1; shift
mount --make-rprivate / && mount -t proc proc "$root/proc" || exit 125
for d in null zero urandom; do mount --bind /dev/$d "$root/dev/$d" || exit 125; done
while [ "$1" != -- ]; do mkdir -p "$root$1" && mount --bind "$1" "$root$1" && mount -o remount,bind,ro "$root$1" || exit 125; shift; done
shift
exec chroot "$root" /usr/bin/env -i HOME=/home PATH=/usr/local/bin:/usr/bin:/bin "$@"`

// run runs a script of sh in the root, and returns what it printed.
func (b *bare) run(script string) (string, error) {
	args := []string{"--mount", "--pid", "--net", "--fork", "--kill-child"}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	args = append(append(append(args, "sh", "-c", enter, "sh", b.dir), b.binds...), "--", "/bin/sh", "-c", script)
	out, err := exec.Command("unshare", args...).CombinedOutput()
	return string(out), err
}

func (b *bare) must(t *testing.T, script string) string {
	t.Helper()
	out, err := b.run(script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// firstMinutes are the commands of that section of README, for a project that this root can check.
func firstMinutes(t *testing.T) (commands []string) {
	t.Helper()
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(readme), "\n## The first three minutes\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatal("README has no first three minutes")
	}
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, strings.TrimSuffix(command, "\n"))
		}
	}
	last := len(commands) - 1
	const edit = "s/strings.ToLower/strings.ToUpper/ slug.go"
	if last < 3 || !strings.Contains(commands[last], edit) {
		t.Fatalf("the first three minutes are other commands: %q", commands)
	}
	commands[last] = strings.ReplaceAll(commands[last], edit, "s/hello/goodbye/ greet.sh")
	return commands
}

// live runs the first three minutes in a new project of the root, with the dialect that is on PATH there, beside whose program is helper.
func (b *bare) live(t *testing.T, project, helper string) {
	t.Helper()
	b.write(t, filepath.Join("home", project, "greet.sh"), "#!/bin/sh\necho \"hello $1\"\n", 0o755)
	in := "cd /home/" + project + " && "
	if out, err := b.run("command -v go"); err == nil {
		t.Fatalf("there is a Go toolchain: %s", out)
	}
	b.must(t, in+"git init --quiet && git add --all && git commit --quiet --message=one")
	commands := firstMinutes(t)
	last := len(commands) - 1
	var said string
	for _, command := range commands[:last] {
		said = b.must(t, in+command)
	}
	if !strings.HasPrefix(said, "VERIFIED: 1 command of quality.dlct passed on this tree") {
		t.Errorf("%s: %s", commands[last-1], said)
	}
	if out, err := b.run(in + commands[last]); err == nil || !strings.HasPrefix(out, "STALE: ") || !strings.Contains(out, "greet.sh (changed)") {
		t.Errorf("%s: %v\n%s", commands[last], err, out)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := b.must(t, "dialect completion "+shell); len(out) < 1000 {
			t.Errorf("the completion of %s is %q", shell, out)
		}
	}
	if out, _ := b.run(helper); !strings.HasPrefix(out, "dialect-mcp is started by dialect") {
		t.Errorf("the helper does not start: %s", out)
	}
}

// TestBare installs a release on a machine that has no toolchain, from its archive and from the packages for npm, and lives the first
// three minutes of README there.
func TestBare(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it changes roots")
	}
	fresh := newBare(t)
	dist := t.TempDir()
	cmd := exec.Command("make", "--no-print-directory", "-C", "../../../..", "dist", "PLATFORMS=linux/"+runtime.GOARCH, "DIST="+dist, "version=v0.0.1-bare")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make dist: %v\n%s", err, out)
	}
	name := "dialect_v0.0.1-bare_linux_" + runtime.GOARCH
	t.Run("archive", func(t *testing.T) {
		fresh.copy(t, filepath.Join(dist, name+".tar.gz"), "home/"+name+".tar.gz", 0o644)
		fresh.copy(t, filepath.Join(dist, "SHA256SUMS"), "home/SHA256SUMS", 0o644)
		fresh.must(t, "cd /home && sha256sum -c SHA256SUMS && mkdir -p /usr/local/bin && tar -xzf "+name+".tar.gz && cd "+name+" && cat dialect >/usr/local/bin/dialect && cat dialect-mcp >/usr/local/bin/dialect-mcp")
		for _, program := range []string{"dialect", "dialect-mcp"} {
			if err := os.Chmod(filepath.Join(fresh.dir, "usr/local/bin", program), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		fresh.live(t, "project", "dialect-mcp")
		fresh.must(t, "cd /home/"+name+"/completions && dialect completion fish | cmp - dialect.fish")
	})
	t.Run("npm", func(t *testing.T) {
		b := newBare(t)
		b.put(t, "node")
		npm, err := exec.LookPath("npm")
		if err == nil {
			npm, err = filepath.EvalSymlinks(npm)
		}
		if err != nil {
			t.Skip("npm is not here")
		}
		b.binds = append(b.binds, filepath.Dir(filepath.Dir(npm)))
		if _, err := os.Stat("/usr/share/nodejs"); err == nil { // what Debian's npm loads
			b.binds = append(b.binds, "/usr/share/nodejs")
		}
		if out, err := exec.Command("node", "../../npm/pack.mjs", "v0.0.1-bare", dist, filepath.Join(b.dir, "home")).CombinedOutput(); err != nil {
			t.Fatalf("pack.mjs: %v\n%s", err, out)
		}
		packages, err := filepath.Glob(filepath.Join(b.dir, "home", "*.tgz"))
		if err != nil || len(packages) != 2 {
			t.Fatalf("%q, %v", packages, err)
		}
		b.must(t, "node "+npm+" install --global --offline --no-audit --no-fund --loglevel=error --prefix /usr/local /home/*.tgz")
		b.live(t, "project", "/usr/local/lib/node_modules/@command-dialect/linux-*/dialect-mcp")
		if out := b.must(t, "dialect --version"); !strings.Contains(out, "0.0.1-bare") {
			t.Errorf("another version was installed: %s", out)
		}
	})
}

// TestBareFails holds that the root has nothing but what was put there, and says how a script of it ended.
func TestBareFails(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it changes roots")
	}
	b := newBare(t)
	if out, err := b.run("dialect --version"); err == nil {
		t.Errorf("dialect is there before it is installed: %s", out)
	}
	if out := b.must(t, "echo /*"); !strings.Contains(out, "/home") || strings.Contains(out, "/root") || strings.Contains(out, "/etc") {
		t.Errorf("the root holds %s", out)
	}
}
