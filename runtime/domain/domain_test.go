//go:build linux

package domain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/namespace"
)

// The test program is also the helper of a domain, what starts one, and an attacker in one, by its first argument.
func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == helperName:
		os.Exit(Become(os.Args[1:]))
	case os.Getenv(startVariable) != "":
		os.Exit(startMain())
	case len(os.Args) > 2 && os.Args[1] == attackWord:
		os.Exit(attackMain(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

const (
	helperName     = "domain-test: helper"
	startVariable  = "DOMAIN_TEST"
	forbidVariable = "DOMAIN_TEST_FORBID"
	attackWord     = "domain-test-attack"
	nobody         = 65534
)

// A script says what a process does that starts a domain.
type script struct {
	Options
	Facts    string // file that gets the facts
	Dumpable bool   // others of the same user may trace it
	Servers  bool   // it listens, as what is around an agent does, and has descriptors that are inherited
	Suspends bool   // it says that the command has stopped, and lets it go on
	left     string // to be removed
	servers  []net.Listener
	Plain    bool // no domain at all: it becomes the command
}

// startMain starts the domain that the environment describes, as the process around an agent does.
func startMain() int {
	var s script
	if err := json.Unmarshal([]byte(os.Getenv(startVariable)), &s); err != nil {
		panic(err)
	}
	os.Unsetenv(startVariable)
	if os.Getenv(forbidVariable) != "" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			panic(err)
		}
	}
	s.Helper = []string{helperName}
	s.Env = append(os.Environ(), append(s.Env, "TARGET="+strconv.Itoa(os.Getpid()), "FOLDER="+s.Folder)...)
	if s.Servers {
		s.serve()
		defer func() { os.Remove(s.left) }()
	}
	if s.Suspends {
		s.Suspend = func(before func() (after func())) {
			after := before()
			fmt.Println("SUSPENDED")
			after()
		}
	}
	if s.Plain {
		panic(syscall.Exec(s.Argv[0], s.Argv, s.Env))
	}
	d, err := Start(s.Options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "START:", err)
		return 99
	}
	defer d.Close()
	text, _ := json.Marshal(d.Facts())
	if err := os.WriteFile(s.Facts, text, 0o600); err != nil {
		panic(err)
	}
	if s.Dumpable {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	} else if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		panic(err)
	}
	status, err := d.Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "RUN:", err)
		return 98
	}
	if status.Text != "" {
		fmt.Fprintln(os.Stderr, status.Text)
	}
	return status.ExitStatus()
}

// serve listens where attackers look, and leaves descriptors open for them.
func (s *script) serve() {
	abstract := "@dialect-domain-test-" + strconv.Itoa(os.Getpid())
	socket := filepath.Join(s.Folder, "socket")
	tmux := filepath.Join("/tmp", "tmux-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(tmux, 0o700); err != nil && !os.IsExist(err) {
		panic(err)
	}
	tmux = filepath.Join(tmux, "dialect-domain-test-"+strconv.Itoa(os.Getpid()))
	s.left = tmux
	for _, name := range []string{abstract, socket, tmux} {
		_ = os.Remove(name) // of a process of the same number
		l, err := net.Listen("unix", name)
		if err != nil {
			panic(err)
		}
		s.servers = append(s.servers, l)
	}
	s.Sockets = []string{socket}
	s.Env = append(s.Env, "ABSTRACT="+abstract, "TMUX_SERVER="+tmux)
	for _, name := range []string{s.Folder, filepath.Join(s.Folder, "secret")} {
		if _, err := unix.Open(name, unix.O_RDONLY, 0); err != nil { // not closed by an exec
			panic(err)
		}
	}
}

// A place has what a domain is tried on, all of it owned by an ordinary user.
type place struct {
	t      *testing.T
	dir    string // the project
	folder string // hidden; has the file secret, and a socket
	self   string // this program, executable for that user
	uid    int
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, uid: os.Getuid()}
	base, err := os.MkdirTemp("/var/tmp", "dialect-domain-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	p.dir, p.folder, p.self = filepath.Join(base, "project"), filepath.Join(base, "hidden"), filepath.Join(base, "self")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err == nil {
		err = os.WriteFile(p.self, text, 0o755)
	}
	for _, dir := range []string{p.dir, p.folder} {
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(p.folder, "secret"), []byte("SECRET\n"), 0o600)
	}
	if err == nil {
		err = os.Chmod(base, 0o755)
	}
	if err == nil && p.uid == 0 {
		p.uid = nobody
		for _, name := range []string{p.dir, p.folder, filepath.Join(p.folder, "secret")} {
			if err == nil {
				err = os.Chown(name, nobody, nobody)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// command is the process that starts a domain, in a session of its own.
func (p *place) command(o Options) *exec.Cmd { return p.commandOf(script{Options: o}) }

func (p *place) commandOf(s script) *exec.Cmd {
	p.t.Helper()
	s.Dir, s.Folder, s.Facts = p.dir, p.folder, filepath.Join(p.dir, "facts.json")
	text, err := json.Marshal(s)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), p.self)
	cmd.Env = append(os.Environ(), startVariable+"="+string(text), "HOME="+p.dir)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
	}
	return cmd
}

// attacked runs all attacks in a domain of a mode.
func (p *place) attacked(mode Mode, dumpable bool) (string, int) {
	p.t.Helper()
	return p.finish(p.commandOf(script{Options: Options{Modes: []Mode{mode}, Argv: []string{p.self, attackWord, "all"}}, Dumpable: dumpable, Servers: true}))
}

// nestedCommand runs an attack as root of namespaces of its own.
func nestedCommand(word string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", attackWord, word)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd
}

// run runs a command in a domain of a mode, and returns all that it printed, and its exit status.
func (p *place) run(mode Mode, argv ...string) (string, int) {
	p.t.Helper()
	return p.finish(p.command(Options{Modes: []Mode{mode}, Argv: argv}))
}

func (p *place) finish(cmd *exec.Cmd) (string, int) {
	p.t.Helper()
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		p.t.Fatal(err)
	}
	if bytes.HasPrefix(out, []byte("START: ")) {
		if os.Getenv("CI") != "" {
			p.t.Fatalf("NOT TESTED: %s", out)
		}
		p.t.Skipf("NOT TESTED: %s", out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// facts returns what the last domain said of itself.
func (p *place) facts() (f Facts) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "facts.json"))
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

var held = []Mode{Namespaces, Landlock}

// The command runs as the user, in its directory, without privilege, and its exit status is the domain's.
func TestCommand(t *testing.T) {
	for _, mode := range append([]Mode{None}, held...) {
		t.Run(string(mode), func(t *testing.T) {
			p := newPlace(t)
			out, status := p.run(mode, "sh", "-c", "id -u; pwd; grep -e NoNewPrivs -e CapEff /proc/self/status; exit 7")
			if status != 7 || !strings.HasPrefix(out, strconv.Itoa(p.uid)+"\n"+p.dir+"\n") {
				t.Errorf("%d\n%s", status, out)
			}
			if mode != None && (!strings.Contains(out, "NoNewPrivs:\t1") || !strings.Contains(out, "CapEff:\t0000000000000000")) {
				t.Error(out)
			}
			f := p.facts()
			if f.Mode != mode || (mode != None) != (f.ABI >= namespace.ScopesABI) {
				t.Errorf("%+v", f)
			}
			if out, _ := p.run(mode, "cat", filepath.Join(p.folder, "secret")); strings.Contains(out, "SECRET") != (mode == None) {
				t.Errorf("the folder: %q", out)
			}
		})
	}
}

// A signal that ends the command is the domain's status; what cannot be run has the statuses of env(1).
func TestStatus(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		argv   []string
		status int
		text   string
	}{
		{[]string{"sh", "-c", "kill -TERM $$"}, 143, ""},
		{[]string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		{[]string{"no-such-program"}, 127, "no-such-program"},
		{[]string{"/etc/passwd"}, 126, "not executable"},
		{[]string{"true"}, 0, ""},
	} {
		out, status := p.run(Namespaces, test.argv...)
		if status != test.status || !strings.Contains(out, test.text) {
			t.Errorf("%q: %d %q", test.argv, status, out)
		}
	}
}

// What the command leaves running ends with its namespace.
func TestLeft(t *testing.T) {
	p := newPlace(t)
	out, status := p.run(Namespaces, "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & exec setsid -w sh -c 'echo up'")
	if status != 0 || !strings.Contains(out, "up") {
		t.Fatalf("%d %q", status, out)
	}
	// A descriptor of the command that is at its end says that nobody holds it.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := p.command(Options{Modes: []Mode{Namespaces}, Argv: []string{"sh", "-c", "setsid -f sleep 1000 </dev/null 2>&1"}})
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if n, err := r.Read(make([]byte, 1)); n != 0 {
		t.Errorf("%d %v", n, err)
	}
}

// A program that its user cannot read starts undumpable, and makes its namespaces all the same.
func TestClosedBinary(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to own the program")
	}
	p := newPlace(t)
	if err := os.Chmod(p.self, 0o711); err != nil {
		t.Fatal(err)
	}
	if out, status := p.run(Namespaces, "sh", "-c", "echo in; exit 2"); status != 2 || out != "in\n" {
		t.Errorf("%d %q", status, out)
	}
}

// Where user namespaces are forbidden Landlock holds, and the facts say why, and what that leaves open.
func TestFallback(t *testing.T) {
	p := newPlace(t)
	cmd := p.commandOf(script{Options: Options{Argv: []string{"cat", filepath.Join(p.folder, "secret")}}})
	// In a user namespace of its own, where no further one is allowed.
	cmd.Args = append([]string{cmd.Path}, "")
	cmd.Env = append(cmd.Env, forbidVariable+"=1")
	cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: p.uid, HostID: p.uid, Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: p.uid, HostID: p.uid, Size: 1}}
	cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_SYS_ADMIN}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Credential = nil
	}
	out, status := p.finish(cmd)
	f := p.facts()
	if status == 0 || strings.Contains(out, "SECRET") || f.Mode != Landlock || len(f.Gaps) == 0 || !strings.Contains(f.Why, "namespace") {
		t.Errorf("%d %q %+v", status, out, f)
	}
}

// The sockets that the environment names are hidden, also in the project. Those that stay in reach
// are named.
func TestMasks(t *testing.T) {
	p := newPlace(t)
	run := filepath.Join(p.dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bus", "tm", "docker", "other", "run/ssh", "run/bus"} {
		l, err := net.Listen("unix", filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Chown(filepath.Join(p.dir, name), p.uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(run, p.uid, -1); err != nil {
		t.Fatal(err)
	}
	check := ""
	if os.Getuid() == 0 { // of a group of the user
		l, err := net.Listen("unix", filepath.Join(p.dir, "group"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := errors.Join(os.Chown(filepath.Join(p.dir, "group"), 0, p.uid), os.Chmod(filepath.Join(p.dir, "group"), 0o660)); err != nil {
			t.Fatal(err)
		}
		check = "test -c group && "
	}
	out, status := p.finish(p.command(Options{Modes: []Mode{Namespaces}, Argv: []string{"sh", "-c", check + "test -c bus && test -c tm && test -c docker && test -S other && test -c run/ssh && test -c run/bus"}, Env: []string{
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + p.dir + "/bus,guid=1", "TMUX=" + p.dir + "/tm,1,2", "DOCKER_HOST=unix://" + p.dir + "/docker",
		"XDG_RUNTIME_DIR=" + run, "SSH_AUTH_SOCK=" + run + "/ssh",
	}}))
	if status != 0 {
		t.Errorf("%d %s", status, out)
	}
	f := p.facts()
	reach, closed := strings.Join(f.Reach, "\n"), strings.Join(f.Closed, "\n")
	for _, name := range []string{"other"} {
		if !strings.Contains(reach, p.dir+"/"+name) {
			t.Errorf("%s is not named:\n%s", name, reach)
		}
	}
	for _, name := range []string{"bus", "tm", "docker", "run/bus", "run/ssh"} {
		if !strings.Contains(closed, p.dir+"/"+name) || strings.Contains(reach, p.dir+"/"+name+"\n") {
			t.Errorf("%s is not closed:\n%s\n%s", name, closed, reach)
		}
	}
}

// A signal that ends the process around a domain is the command's to answer; when that process is killed, so is all in the domain.
func TestSignals(t *testing.T) {
	for _, mode := range held {
		for _, killed := range []bool{false, true} {
			p := newPlace(t)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := p.command(Options{Modes: []Mode{mode}, Argv: []string{"sh", "-c", "trap 'echo asked; exit 4' TERM; echo up; while :; do sleep 0.05; done"}})
			cmd.Stdout = w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			out := bufio.NewReader(r)
			if line, err := out.ReadString('\n'); err != nil || line != "up\n" {
				t.Fatalf("%s: %q %v", mode, line, err)
			}
			sig := unix.SIGTERM
			if killed {
				sig = unix.SIGKILL
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(out) // ends once nobody holds the pipe
			_ = cmd.Wait()
			if err != nil || !killed && (string(rest) != "asked\n" || cmd.ProcessState.ExitCode() != 4) {
				t.Errorf("%s, killed %v: %q %v %v", mode, killed, rest, cmd.ProcessState, err)
			}
		}
	}
}

// Whose control groups a desktop gives to its user can freeze and end each process in one: none can be written from within.
func TestControlGroups(t *testing.T) {
	p := newPlace(t)
	const look = "while read -r id parent device root at options rest; do case $rest in *'- cgroup'*) echo $at ${options%%,*};; esac; done < /proc/self/mountinfo"
	out, status := p.run(Namespaces, "sh", "-c", look)
	if status != 0 {
		t.Fatalf("exit %d: %s", status, out)
	}
	for line := range strings.Lines(out) {
		if strings.HasSuffix(line, " rw\n") {
			t.Errorf("can be written: %s", line)
		}
	}
}
