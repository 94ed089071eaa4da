package examples_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// guarded runs a script of the agent's under guard, and returns all that was printed, and the exit status. The identity key is
// handed over where the world has one.
func (w *world) guarded(flags []string, script string) (string, int) {
	w.t.Helper()
	w.write("attempt.sh", script)
	argv := append([]string{w.path("dialect"), "guard"}, flags...)
	argv = append(argv, "--", "sh", "attempt.sh")
	cmd := w.command(argv...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	cmd.Env = append(cmd.Env, "PATH="+w.base+":"+os.Getenv("PATH"))
	if w.key != "" {
		r, done := pipeOf(w.t, w.key)
		defer done()
		cmd.ExtraFiles = []*os.File{r}
	}
	return w.run(cmd)
}

// guardWorld is a world in which agents can be guarded.
func guardWorld(t *testing.T) *world {
	t.Helper()
	if notClosed != nil {
		t.Skip(notClosed)
	}
	w := newWorld(t, 1)
	out, status := w.guarded(nil, "true\n")
	if status != 0 {
		if os.Getenv("CI") != "" || !strings.Contains(out, "this machine gives no domain") {
			t.Fatalf("exit %d\n%s", status, out)
		}
		t.Skipf("NOT TESTED: %s", out)
	}
	return w
}

// What the agent asks for is recorded outside of its reach, red runs too, and a verifier that names the identity key accepts the bundle
// at level L2, and no other.
func TestGuard(t *testing.T) {
	w := guardWorld(t)
	bundle := w.path("home/proof.json")
	flags := []string{"--bundle", bundle, "--identity", "3"}
	out, status := w.guarded(flags, `
echo "asks at $DIALECT_NOTARY"
echo bad >alpha.txt; dialect run quality.dlct; echo "red $?"
echo good >alpha.txt; dialect run quality.dlct; echo "green $?"
dialect guard status
exit 7
`)
	for _, want := range []string{"red 1", "green 0", "quality.dlct: failed", "quality.dlct: passed", "namespaces", "boss vouches for it", "exit status 7"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if status != 7 {
		t.Errorf("exit %d, want the agent's", status)
	}
	verify := []string{"verify", "--bundle", bundle, "--require", "gate_quality", "--level", "notary", "--key"}
	if out, status := w.orchestrate(append(verify, w.path("boss.pub"))...); status != 0 || !strings.Contains(out, "VERIFIED") {
		t.Errorf("exit %d\n%s", status, out)
	}
	other, _ := w.orchestrate("receipts", "keygen", "other", w.path("other.key"))
	if err := os.WriteFile(w.path("other.pub"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := w.orchestrate(append(verify, w.path("other.pub"))...); status == 0 {
		t.Errorf("another key vouches for it:\n%s", out)
	}
	_, socket, _ := strings.Cut(out, "asks at ")
	socket, _, _ = strings.Cut(socket, "\n")
	if _, err := os.Stat(filepath.Dir(socket)); !strings.HasPrefix(socket, "/var/tmp/dialect-") || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %q, %v", socket, err)
	}
}

// A program that its user can read takes no identity: another process of the user could have taken the key first.
func TestGuardIdentity(t *testing.T) {
	w := guardWorld(t)
	if err := os.Remove(w.path("dialect")); err != nil { // a link to the one that nobody can read
		t.Fatal(err)
	}
	if out, err := exec.Command("install", "-m", "0755", dialect, w.path("dialect")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, status := w.guarded([]string{"--bundle", w.path("home/proof.json"), "--identity", "3"}, "echo begun\n")
	if status != 125 || strings.Contains(out, "begun\n") || !strings.Contains(out, "vouches for nothing") {
		t.Errorf("exit %d\n%s", status, out)
	}
	if _, err := os.Stat(w.path("home/proof.json")); err == nil {
		t.Error("there is a bundle")
	}
	if out, status := w.guarded(nil, "dialect run quality.dlct\n"); status != 0 || !strings.Contains(out, "nobody vouches") {
		t.Errorf("without an identity: exit %d\n%s", status, out)
	}
}

// Another terminal of the user sees what a session has come to, and what its agent can reach.
func TestGuardStatus(t *testing.T) {
	w := guardWorld(t)
	w.write("attempt.sh", "PATH="+w.base+":$PATH dialect run quality.dlct; touch ready; while test ! -e stop; do sleep 0.02; done\n")
	cmd := w.command(w.path("dialect"), "guard", "--", "sh", "attempt.sh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ {
		if _, err := os.Stat(filepath.Join(w.dir, "ready")); err == nil {
			break
		}
		if time.Sleep(20 * time.Millisecond); tries == 6000 {
			t.Fatal("the agent is never ready")
		}
	}
	out, status := w.agent("guard", "status")
	w.write("stop", "")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"tree      " + w.dir + "\n", "mode      namespaces, Landlock ABI", "hidden    from the agent: /var/tmp/dialect-", "quality.dlct: passed; gate g-"} {
		if !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s", status, want, out)
		}
	}
}

// What an agent tries at the command line does not give it a better verdict.
func TestGuardAttacks(t *testing.T) {
	w := guardWorld(t)
	const green = `dialect run quality.dlct; echo "status $?"`
	for _, test := range []struct {
		name, script string
		want         string // of what is printed
		not          string
	}{
		{"rules that it edits", "sed -i 's/grep -q good alpha.txt/true/' routing.toml; echo bad >alpha.txt\n" + green + "\ngit checkout -q .", "routing.toml differs", "\nstatus 0"},
		{"rules that it commits", "sed -i 's/grep -q good alpha.txt/true/' routing.toml; echo bad >alpha.txt; git commit -qam x\n" + green + "\ngit reset -q --hard HEAD~", "routing.toml differs", "\nstatus 0"},
		{"a PATH of its own", "mkdir -p fake; printf '#!/bin/sh\\nexit 0\\n' >fake/grep; chmod +x fake/grep; echo bad >alpha.txt\nPATH=$PWD/fake:$PATH " + green + "\nrm -r fake; git checkout -q .", "\nstatus 1", "\nstatus 0"},
		{"a HOME of its own", "mkdir -p h; printf '[core]\\n\\tfsmonitor = touch '$PWD'/ran\\n' >h/.gitconfig\nHOME=$PWD/h " + green + "; ls ran; rm -rf h", "\nstatus 0", "\nran"},
		{"git that runs a program", "git config core.fsmonitor \"sh -c 'ls /var/tmp/dialect-*/*/notary >'$PWD/stolen\"\n" + green + "; git config --unset core.fsmonitor; cat stolen; rm -f stolen", "\nstatus 0", "\nstore"},
		{"a guard inside", "dialect guard -- dialect run quality.dlct; echo \"status $?\"", "\nstatus 125", "\nstatus 0"},
		{"a notary of its own", "DIALECT_NOTARY=$PWD/mine " + green, "no notary answers", "\nstatus 0"},
		{"no notary", "echo bad >alpha.txt; env -u DIALECT_NOTARY dialect run -q -e 'Check with alpha'; git checkout -q .; dialect guard status", "no run was asked for", "passed"},
		{"the socket", "rm -f $DIALECT_NOTARY; mv $DIALECT_NOTARY x; rm -f x; ln -sf x $DIALECT_NOTARY; chmod 0 $DIALECT_NOTARY; rm -rf /var/tmp/dialect-*; rm -f x\n" + green, "\nstatus 0", ""},
		{"killing all that it can", "(kill -9 -1) ; dialect run quality.dlct; echo \"status $?\"", "", ""},
		{"the folder", "find /var/tmp/dialect-* -name 'receipts.db*'; ls $(dirname $DIALECT_NOTARY); " + green, "\nstatus 0", "receipts.db"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, _ := w.guarded(nil, test.script)
			w.sh("git reset -q --hard trusted && git clean -fdxq")
			if !strings.Contains(out, test.want) || test.not != "" && strings.Contains(out, test.not) {
				t.Errorf("want %q, and no %q:\n%s", test.want, test.not, out)
			}
			if !strings.Contains(out, "guard: sh ended") {
				t.Errorf("the notary did not survive:\n%s", out)
			}
		})
	}
}

// Where user namespaces are forbidden Landlock keeps the agent from the folder, and the user learns what that leaves open.
func TestGuardLandlock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make a namespace in which root is known")
	}
	w := guardWorld(t)
	w.write("attempt.sh", "for f in /var/tmp/dialect-*/*/notary; do cat $f/store/receipts.db; echo \"read $?\"; done\n")
	cmd := w.command("sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$0\" guard -- sh attempt.sh", w.path("dialect"))
	id := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: uidAgent, HostID: uidAgent, Size: 1}}
	cmd.SysProcAttr.Cloneflags, cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = syscall.CLONE_NEWUSER, id, id
	cmd.SysProcAttr.AmbientCaps = []uintptr{21, 24} // CAP_SYS_ADMIN, CAP_SYS_RESOURCE: of the namespace alone
	out, status := w.run(cmd)
	for _, want := range []string{"guarded by Landlock alone", "sandboxes that mount", "read 1", "no run was asked for"} {
		if !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s", status, want, out)
		}
	}
}

// A guard that the agent started itself, with an identity of its own, proves nothing to others.
func TestGuardForged(t *testing.T) {
	w := guardWorld(t)
	w.key = ""
	out, status := w.guarded([]string{"--bundle", w.path("home/proof.json")}, "dialect run quality.dlct\n")
	if status != 0 {
		t.Fatalf("exit %d\n%s", status, out)
	}
	out, status = w.orchestrate("verify", "--bundle", w.path("home/proof.json"), "--require", "gate_quality", "--level", "notary", "--key", w.path("boss.pub"))
	if status == 0 || strings.Contains(out, "VERIFIED:") {
		t.Errorf("exit %d\n%s", status, out)
	}
}

// TestGuardPage runs the commands of the page in their order.
func TestGuardPage(t *testing.T) {
	guardWorld(t)
	w := newWorld(t, 0)
	w.write("attempt.sh", "echo bad >alpha.txt; dialect run quality.dlct\necho good >alpha.txt; dialect run quality.dlct\n")
	text, err := os.ReadFile(filepath.Join("..", "stdlib", "docs", "guard.md"))
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "keygen") {
			commands = append(commands, block[1])
		}
	}
	if len(commands) != 1 {
		t.Fatalf("%q", commands)
	}
	cmd := w.command("bash", "-ec", commands[0])
	cmd.Env = append(cmd.Env, "PATH="+w.base+":"+os.Getenv("PATH"))
	out, status := w.run(cmd)
	if status != 0 || !strings.Contains(out, "quality.dlct: failed") || !strings.Contains(out, "VERIFIED: gate_quality") {
		t.Errorf("exit %d\n%s", status, out)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
}
