//go:build linux

package domain

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// home makes a home of the user beside the project.
func (p *place) home() string {
	p.t.Helper()
	return p.mkdir(filepath.Join(filepath.Dir(p.dir), "home"))
}

// mkdir makes a directory of the user, with those above it that are missing.
func (p *place) mkdir(dir string) string {
	p.t.Helper()
	if _, err := os.Stat(filepath.Dir(dir)); err != nil {
		p.mkdir(filepath.Dir(dir))
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Lchown(dir, p.uid, -1)); err != nil {
		p.t.Fatal(err)
	}
	return dir
}

// write makes a file of the user.
func (p *place) write(name, text string) {
	p.t.Helper()
	if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Lchown(name, p.uid, -1)); err != nil {
		p.t.Fatal(err)
	}
}

// link makes a link of the user.
func (p *place) link(to, name string) {
	p.t.Helper()
	if err := errors.Join(os.Symlink(to, name), os.Lchown(name, p.uid, -1)); err != nil {
		p.t.Fatal(err)
	}
}

// listen has a socket of the user.
func (p *place) listen(network, name string) {
	p.t.Helper()
	var l interface{ Close() error }
	var err error
	if network == "unixgram" {
		l, err = net.ListenUnixgram(network, &net.UnixAddr{Name: name, Net: network})
	} else {
		l, err = net.Listen(network, name)
	}
	if err == nil {
		p.t.Cleanup(func() { l.Close() })
		err = os.Lchown(name, p.uid, -1)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// masked runs a shell command in a domain, and returns the facts; the command has to succeed.
func (p *place) masked(command string, env ...string) Facts {
	p.t.Helper()
	if out, status := p.finish(p.command(Options{Modes: []Mode{Namespaces}, Argv: []string{"sh", "-ec", command}, Env: env})); status != 0 {
		p.t.Errorf("%d %s", status, out)
	}
	return p.facts()
}

// What an earlier agent, or another user, put at a place of sockets decides nothing: a file is not masked, wherever a link to it stands, and
// a directory is not masked that such a link leads to, or that holds files. The socket that a link leads to is masked where it is.
func TestMasksNobodyChooses(t *testing.T) {
	p := newPlace(t)
	home := p.home()
	tests, tools, tmp := p.mkdir(filepath.Join(p.dir, "tests")), p.mkdir(filepath.Join(home, "tools")), p.mkdir(filepath.Join(home, "tmp"))
	for _, name := range []string{p.dir + "/t.sh", p.dir + "/tm", p.dir + "/bus", tests + "/a.sh", tools + "/tool"} {
		p.write(name, "text\n")
	}
	p.link(filepath.Join(p.dir, "t.sh"), filepath.Join(p.mkdir(filepath.Join(home, ".docker/run")), "docker.sock"))
	p.link(tests, filepath.Join(tmp, "tmux-"+strconv.Itoa(p.uid)))
	p.listen("unix", filepath.Join(tests, "server"))
	p.listen("unix", filepath.Join(tools, "server"))
	p.listen("unix", filepath.Join(home, "real"))
	p.link(filepath.Join(home, "real"), filepath.Join(home, "way"))
	f := p.masked("cat t.sh tm bus tests/a.sh ../home/tools/tool; test -c tests/server; test -c ../home/tools/server; test -c ../home/real",
		"HOME="+home, "TMUX_TMPDIR="+tmp, "SCREENDIR="+tools, "TMUX="+p.dir+"/tm,1,2", "DBUS_SESSION_BUS_ADDRESS=unix:path="+p.dir+"/bus", "DOCKER_HOST=unix://"+home+"/way")
	for _, name := range f.Masked {
		if under(name, p.dir) && name != filepath.Join(tests, "server") || name == tools {
			t.Errorf("%s is masked", name)
		}
	}
	for _, place := range []string{filepath.Join(tmp, "tmux-"+strconv.Itoa(p.uid)), tools} {
		if !slices.Contains(f.Later, place) {
			t.Errorf("%s, where a server can be started later, is not named: %q", place, f.Later)
		}
	}
}

// What runs programs that its client names is masked: gpg-agent and its like wherever they listen, and ssh-agent, unless the user leaves it.
func TestMasksAgents(t *testing.T) {
	p := newPlace(t)
	home := p.home()
	gnupg, elsewhere := p.mkdir(filepath.Join(home, ".gnupg")), p.mkdir(filepath.Join(home, "elsewhere"))
	ssh := p.mkdir(filepath.Join(home, "ssh-abc"))
	p.write(filepath.Join(gnupg, "trustdb.gpg"), "")
	for _, name := range []string{gnupg + "/S.gpg-agent", gnupg + "/S.gpg-agent.ssh", gnupg + "/S.keyboxd", elsewhere + "/S.gpg-agent.extra", elsewhere + "/S.scdaemon", ssh + "/agent.1", ssh + "/agent.2", home + "/own"} {
		p.listen("unix", name)
	}
	f := p.masked("for s in .gnupg/S.gpg-agent .gnupg/S.gpg-agent.ssh .gnupg/S.keyboxd elsewhere/S.gpg-agent.extra elsewhere/S.scdaemon ssh-abc/agent.1 own; do ! test -S ../home/$s; done; test -c ../home/own; test -e ../home/.gnupg/trustdb.gpg",
		"HOME="+home, "SSH_AUTH_SOCK="+home+"/own")
	if _, err := os.Stat("/run/user/" + strconv.Itoa(p.uid)); err != nil && !slices.Contains(f.Later, gnupg) {
		t.Errorf("%q", f.Later)
	}
	o := Options{Modes: []Mode{Namespaces}, Argv: []string{"sh", "-ec", "test -S ../home/own; test -S ../home/ssh-abc/agent.1; ! test -S ../home/ssh-abc/agent.2"}, Env: []string{"HOME=" + home, "SSH_AUTH_SOCK=" + home + "/own"}, Leave: []string{filepath.Join(home, "own"), filepath.Join(ssh, "agent.1")}}
	if out, status := p.finish(p.command(o)); status != 0 {
		t.Errorf("%d %s", status, out)
	}
	if f := p.facts(); !slices.ContainsFunc(f.Reach, func(s string) bool { return strings.HasSuffix(s, home+"/own") }) {
		t.Errorf("what was left is not named: %q", f.Reach)
	}
}

// Where a server is not there yet its place is masked beforehand, or it is named.
func TestMasksWhatComesLater(t *testing.T) {
	p := newPlace(t)
	home := p.home()
	empty, full := p.mkdir(filepath.Join(home, "empty")), p.mkdir(filepath.Join(home, "full"))
	p.write(filepath.Join(full, "notes"), "")
	desktop := p.mkdir(filepath.Join(home, ".docker/desktop"))
	f := p.masked("test -e ../home/full/notes; ! test -e ../home/empty/x", "HOME="+home, "DOCKER_HOST=unix://"+empty+"/docker.sock", "TMUX="+full+"/tm,1,2")
	for _, dir := range []string{empty, desktop, "/tmp/zellij-" + strconv.Itoa(p.uid), "/tmp/tmux-" + strconv.Itoa(p.uid)} {
		if !slices.Contains(f.Masked, dir) {
			t.Errorf("%s is not masked: %q", dir, f.Masked)
		}
	}
	if !slices.Contains(f.Later, full+"/tm") {
		t.Errorf("%q", f.Later)
	}
}

// Datagrams run commands as streams do.
func TestDatagramsAreNamed(t *testing.T) {
	p := newPlace(t)
	p.listen("unixgram", filepath.Join(p.dir, "gram"))
	if f := p.masked("true"); !slices.Contains(f.Reach, filepath.Join(p.dir, "gram")) {
		t.Errorf("%q", f.Reach)
	}
}

// Links are followed where root alone could make them; resolve reports others.
func TestResolve(t *testing.T) {
	p := newPlace(t)
	p.link("/proc", filepath.Join(p.dir, "way"))
	real, theirs, err := resolve(filepath.Join(p.dir, "way/self/../1"))
	if real != "/proc/1" || !theirs || err != nil {
		t.Errorf("%q %v %v", real, theirs, err)
	}
	p.link("loop", filepath.Join(p.dir, "loop"))
	if real, _, err := resolve(filepath.Join(p.dir, "loop")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("%q %v", real, err)
	}
	if real, theirs, err := resolve("/proc/self/../version"); real != "/proc/version" || theirs || err != nil {
		t.Errorf("%q %v %v", real, theirs, err)
	}
}

// A socket or directory of a server that is gone needs no mask; without its folder there is no domain.
func TestMaskOfWhatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone")
	for _, m := range []mask{{Path: path, File: true}, {Path: path}} {
		if err := m.mount(); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if err := (&mask{Path: path, ReadOnly: true}).mount(); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the folder: %v", err)
	}
}
