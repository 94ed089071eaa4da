//go:build unix

package tempdir

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test program makes a directory, says where, and stays.
func TestMain(m *testing.M) {
	if os.Getenv("TEMPDIR_TEST") != "" {
		dir, _, err := New(Result)
		if err != nil {
			panic(err)
		}
		os.WriteFile(filepath.Join(dir, "1-1.json"), []byte("{}"), 0o600)
		os.Stdout.WriteString(dir + "\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func maker(t *testing.T, temp string) (dir string, kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "TEMPDIR_TEST=1", "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), kill
}

// What a killed process left is swept; what lives, is young, or is not ours stays.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	killed, kill := maker(t, temp)
	live, _ := maker(t, temp)
	young, killYoung := maker(t, temp)
	kill()
	killYoung()
	old := time.Now().Add(-2 * minAge)
	others := map[string]os.FileMode{
		"dialect-result-x.tmp": 0o700, "dialect-result": 0o700, "other-result-1.tmp": 0o700, "dialect-result-77.tmp": 0o755,
		"dialect-result-78": 0o700, "dialect-notes-2026": 0o700, "dialect-examples-79.tmp": 0o700,
	}
	for name, mode := range others {
		if err := os.Mkdir(filepath.Join(temp, name), mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(filepath.Join(temp, name), mode) // whatever the umask is
		os.Chtimes(filepath.Join(temp, name), old, old)
	}
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chtimes(kept, old, old)
	if err := os.Symlink(kept, filepath.Join(temp, "dialect-result-88.tmp")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{killed, live} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(temp, "dialect-tree-99.tmp")
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(foreign, old, old)
		if err := os.Lchown(foreign, 12345, 12345); err == nil {
			others["dialect-tree-99.tmp"] = 0o700
		}
	}
	// The next process sweeps.
	maker(t, temp)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(killed); os.IsNotExist(err) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what a killed process left is still there")
		}
	}
	time.Sleep(50 * time.Millisecond)
	for name := range others {
		if _, err := os.Lstat(filepath.Join(temp, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, dir := range []string{live, young, kept} {
		if _, err := os.Lstat(dir); err != nil {
			t.Error(err)
		}
	}
	dir, remove, err := New("tree")
	if err != nil || filepath.Dir(dir) != temp {
		t.Fatalf("%s, %v", dir, err)
	}
	remove()
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("not removed: %v", err)
	}
}

// TestWithin finds what New made, and nothing of another kind, place or form.
func TestWithin(t *testing.T) {
	parent := t.TempDir()
	dir, remove, err := NewIn(parent, Tree)
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	for path, want := range map[string]bool{
		dir: true, filepath.Join(dir, "objects", "pack"): true,
		parent: false, dir + "x": false, filepath.Join(parent, "sub", filepath.Base(dir)): false,
		filepath.Join(parent, "dialect-tree-x.tmp"): false, filepath.Join(parent, "dialect-room-1.tmp"): false, "": false,
	} {
		if got, ok := Within(parent, path, Tree); ok != want || ok && got != dir {
			t.Errorf("%s: %s, %v", path, got, ok)
		}
	}
}
