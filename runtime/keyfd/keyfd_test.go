//go:build linux

package keyfd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/receipts"
)

// The test binary is also the victim and the thief, by this variable.
const roleVariable = "KEYFD_TEST_ROLE"

// keyName is that of the keys of this process: others on this machine may hold keys, too.
var keyName = fmt.Sprintf("boss%d", os.Getpid())

// nameVariable tells the thief whose keys to take.
const nameVariable = "KEYFD_TEST_NAME"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "take": // as dialect does, as soon as it can
		key, err := Take("3")
		if err != nil {
			fmt.Print("error: ", err)
			os.Exit(1)
		}
		fmt.Print(key.Weakness)
		os.Exit(0)
	case "thief":
		thief()
	default:
		os.Exit(m.Run())
	}
}

// thief waits for processes to appear, and copies what their descriptor 3 holds without
// taking it out of the pipe. It prints the first key that it gets.
func thief() {
	fmt.Println("ready")
	var loot [2]int
	if err := unix.Pipe2(loot[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		panic(err)
	}
	buf := make([]byte, 4096)
	avg, err := os.Open("/proc/loadavg") // its last word is the pid that was given out last
	if err != nil {
		panic(err)
	}
	for {
		n, _ := avg.ReadAt(buf, 0)
		last := 0
		if words := strings.Fields(string(buf[:n])); len(words) > 0 {
			_, _ = fmt.Sscan(words[len(words)-1], &last)
		}
		for pid := last + 1; pid > last-12 && pid > 1; pid-- { // threads have ids, too
			p, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue
			}
			fd, err := unix.PidfdGetfd(p, 3, 0)
			_ = unix.Close(p)
			if err != nil {
				continue
			}
			got, _ := unix.Tee(fd, loot[1], len(buf), unix.SPLICE_F_NONBLOCK)
			_ = unix.Close(fd)
			if got <= 0 {
				continue
			}
			if n, _ := unix.Read(loot[0], buf); n > 0 && bytes.Contains(buf[:n], []byte("PRIVATE+KEY+"+os.Getenv(nameVariable)+"+")) {
				fmt.Println("stolen")
				os.Exit(0)
			}
		}
	}
}

// agent is the user that commands and thieves are, where the tests are root.
const agent = 65534

// closedBinary returns a copy of the test binary with a mode and the owner root, in a folder
// that everybody can enter. Without root, nor sudo that asks for nothing, it skips the test;
// under CI that fails it.
func closedBinary(t *testing.T, mode os.FileMode, owner int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "keyfd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "victim")
	install := []string{"install", "-m", fmt.Sprintf("%o", mode), self, path}
	switch {
	case owner == os.Geteuid():
	case os.Geteuid() == 0:
		install = append([]string{install[0], "-o", fmt.Sprint(owner), "-g", fmt.Sprint(owner)}, install[1:]...)
	default:
		install = append([]string{"sudo", "-n", install[0], "-o", fmt.Sprint(owner), "-g", fmt.Sprint(owner)}, install[1:]...)
	}
	if out, err := exec.Command(install[0], install[1:]...).CombinedOutput(); err != nil {
		text := fmt.Sprintf("NOT TESTED: no binary with another owner can be made here (be root, or have sudo): %v %s", err, out)
		if os.Getenv("CI") != "" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func command(path, role string, uid int) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Env = []string{roleVariable + "=" + role, nameVariable + "=" + keyName}
	if uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// take starts the victim with a key by descriptor, and returns what it says of the key.
func take(t *testing.T, path string, uid int) string {
	t.Helper()
	return takeAs(t, func() *exec.Cmd { return command(path, "take", uid) })
}

func takeAs(t *testing.T, victim func() *exec.Cmd) string {
	t.Helper()
	private, _, err := receipts.GenerateKey(keyName)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.WriteString(w, private); err != nil {
		t.Fatal(err)
	}
	w.Close()
	cmd := victim()
	cmd.ExtraFiles = []*os.File{r}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// user is an ordinary one: the tests' own, or the agent's where they are root.
func user() int {
	if uid := os.Geteuid(); uid != 0 {
		return uid
	}
	return agent
}

// TestCapable starts a closed binary by setpriv, which is still allowed to read any file when the kernel looks at the binary.
func TestCapable(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and setpriv(1)")
	}
	path, uid := closedBinary(t, 0o711, 0), fmt.Sprint(agent)
	got := takeAs(t, func() *exec.Cmd {
		cmd := exec.Command(setpriv, "--reuid", uid, "--regid", uid, "--clear-groups", path)
		cmd.Env = []string{roleVariable + "=take"}
		return cmd
	})
	if want := "dialect was started with a capability to read any file"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStarter has a shell of the agent's user start a closed binary: until then each process of that user could take the descriptor from the shell.
func TestStarter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	path := closedBinary(t, 0o711, 0)
	got := takeAs(t, func() *exec.Cmd {
		cmd := command("/bin/sh", "take", agent)
		cmd.Args = []string{"sh", "-c", path + "; exit $?"}
		return cmd
	})
	if want := "the process that started dialect (sh, "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = takeAs(t, func() *exec.Cmd { // the shell may be gone by then; a session of its own, as no test knows whose child dialect is after that
		cmd := command("/bin/sh", "take", agent)
		cmd.Args = []string{"sh", "-c", path + " & exit 0"}
		cmd.SysProcAttr.Setsid = true
		return cmd
	})
	if !strings.HasPrefix(got, "the process that started dialect ") {
		t.Errorf("%q of a shell that ends", got)
	}
	got = takeAs(t, func() *exec.Cmd { // as the documentation has it
		cmd := exec.Command("chroot", fmt.Sprintf("--userspec=%d:%d", agent, agent), "--groups=", "--skip-chdir", "/", path)
		cmd.Env = command(path, "take", os.Geteuid()).Env
		return cmd
	})
	if got != "" {
		t.Errorf("%q of a key whose pipe only root had", got)
	}
}

// TestStarterOfContainer has root's process 1, whose session is that of all, be the parent of dialect, which it may have started or adopted. One
// that leads a session it has started: orphans that do are the orchestrator's to see to.
func TestStarterOfContainer(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 || exec.Command(unshare, "--pid", "--fork", "--mount-proc", "true").Run() != nil {
		t.Skip("needs root, unshare(1) and a namespace of processes")
	}
	path := closedBinary(t, 0o711, 0)
	for _, test := range []struct{ name, before, want string }{
		{"parent", "", "process 1, the parent of dialect, may have adopted it "},
		{"parent of a session", "setsid ", ""},
	} {
		got := takeAs(t, func() *exec.Cmd {
			script := fmt.Sprintf("chroot --userspec=%d:%d --groups= --skip-chdir / %s%s & wait", agent, agent, test.before, path)
			cmd := exec.Command(unshare, "--pid", "--fork", "--mount-proc", "sh", "-c", script)
			cmd.Env = command(path, "take", os.Geteuid()).Env
			return cmd
		})
		if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestWeakness(t *testing.T) {
	for _, test := range []struct {
		name       string
		mode       os.FileMode
		owner, uid int
		want       string // empty: level 1
	}{
		{"readable", 0o755, 0, user(), "another process of this user could take the key"},
		{"closed", 0o711, 0, user(), ""},
		{"executable alone", 0o111, 0, user(), ""},
		{"closed, of the same owner", 0o111, user(), user(), "this user owns the binary"},
		{"readable, of the same owner", 0o711, user(), user(), "another process of this user could take the key"},
		{"root", 0o711, 0, 0, "commands run as root"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.uid == 0 && os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			if test.want == "" && test.uid == os.Geteuid() {
				test.want = "the process that started dialect" // this one
			}
			got := take(t, closedBinary(t, test.mode, test.owner), test.uid)
			if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A process of the same user that waits for dialect gets the key of a readable binary, which
// says that the attack works here, and nothing of a closed one.
func TestThief(t *testing.T) {
	open, closed := closedBinary(t, 0o755, 0), closedBinary(t, 0o711, 0)
	attack := func(victim string, tries int) (stolen bool, levels []string) {
		cmd := command(open, "thief", user())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := make(chan string, 2)
		go func() {
			defer close(said)
			buf := make([]byte, 64)
			for {
				n, err := out.Read(buf)
				if err != nil {
					return
				}
				said <- string(buf[:n])
			}
		}()
		if text := <-said; text != "ready\n" {
			t.Fatalf("the thief says %q", text)
		}
		for range tries {
			levels = append(levels, take(t, victim, user()))
			select {
			case text, ok := <-said:
				if stolen = text == "stolen\n"; !stolen {
					t.Fatalf("the thief says %q, and goes on: %v", text, ok)
				}
			case <-time.After(20 * time.Millisecond):
			}
			if stolen {
				break
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return stolen, levels
	}
	stolen, levels := attack(open, 200)
	if !stolen {
		t.Errorf("no key was stolen from a readable binary in %d tries: the test shows nothing", len(levels))
	}
	for _, why := range levels {
		if why == "" {
			t.Error("a key that could be stolen has level 1")
		}
	}
	t.Logf("stolen from a readable binary at start %d", len(levels))
	stolen, levels = attack(closed, 40)
	if stolen {
		t.Error("the key of a closed binary was stolen")
	}
	for _, why := range levels {
		if why != "" && user() != os.Geteuid() {
			t.Errorf("a key that is out of reach has level 0: %s", why)
		}
	}
}

func TestTakeRefuses(t *testing.T) {
	for text, want := range map[string]string{"": "not the number", "x": "not the number", "-1": "not the number", "2": "standard stream", "987": "descriptor 987 is not open; bash opens it for one command: 987< <(cat KEYFILE)"} {
		if _, err := Take(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestOpenPipe has somebody hold the other end of the pipe open: a key ends with its line, and what does not come is not waited for.
func TestOpenPipe(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 50 * time.Millisecond
	for text, want := range map[string]string{"key\n": "key", "key": "no key came within 50ms", "": "no key came within 50ms"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Dup(int(r.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		got, _, err := read(strconv.Itoa(fd))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestNamedPipe looks at a pipe that has a name, which others can open too, and at one that has
// none.
func TestNamedPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if why := inspect(f); !strings.Contains(why, "a pipe with a name") {
		t.Errorf("with a name: %q", why)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if why := inspect(r); why != "" {
		t.Errorf("without a name: %q", why)
	}
}
