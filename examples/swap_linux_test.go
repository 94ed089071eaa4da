package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// show has the next reader of routing.toml, and nobody else, see another text: once the file has
// been read, a rename puts the honest one back. The function that it returns waits for that.
func (w *world) show(t *testing.T, text string) (done func()) {
	t.Helper()
	honest, err := os.ReadFile(filepath.Join(w.dir, "routing.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("../honest.toml", string(honest))
	w.write("../evil.toml", text)
	path := filepath.Join(w.dir, "routing.toml")
	if err := os.Rename(w.path("evil.toml"), path); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_CLOSE_NOWRITE); err != nil {
		t.Fatal(err)
	}
	swapped := make(chan error, 1)
	go func() {
		defer unix.Close(fd)
		if _, err := unix.Read(fd, make([]byte, 4096)); err != nil {
			swapped <- err
			return
		}
		swapped <- os.Rename(w.path("honest.toml"), path)
	}()
	return func() {
		t.Helper()
		if err := <-swapped; err != nil {
			t.Fatal(err)
		}
	}
}

// The loader of the matrix is shown a tool that cannot fail, and everybody after it the
// committed file: in the run, in the verification, and in both.
func TestSwappedMatrix(t *testing.T) {
	for _, level := range []int{0, 3} {
		for _, in := range []string{"the run", "the verification", "both"} {
			t.Run(in, func(t *testing.T) {
				w := newWorld(t, level)
				evil := strings.Replace(project["routing.toml"], `tool = "grep -q good alpha.txt"`, lie, 1)
				base := strings.TrimSpace(w.sh("git rev-parse HEAD"))
				w.sh(edit + "; git commit --quiet --all --message=x")
				if in != "the verification" {
					swapped := w.show(t, evil)
					out, status := w.start(nil, "run", "quality.dlct")
					swapped()
					if status != 3 || !strings.Contains(out, "routing.toml is not what the matrix was loaded from") {
						t.Errorf("the run ends with %d: %s", status, out)
					}
				} else {
					// A pass under the evil matrix, which is put back before anybody asks.
					w.write("routing.toml", evil)
					if out, status := w.start(nil, "run", "quality.dlct"); status != 0 {
						t.Fatalf("the run ends with %d: %s", status, out)
					}
					w.write("routing.toml", project["routing.toml"])
				}
				w.keep()
				if in != "the run" {
					swapped := w.show(t, evil)
					if got := w.ask("--base", base); got != "POLICY CHANGED" {
						t.Errorf("shown another matrix, verify says %s", got)
					}
					swapped()
				}
				if got := w.ask("--base", base); got == uncaught {
					t.Errorf("verify says %s", got)
				}
			})
		}
	}
}
