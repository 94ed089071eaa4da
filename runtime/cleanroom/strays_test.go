//go:build linux

package cleanroom

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Of the directory of objects the room has what git takes for one, or for a pack, and nothing else.
func TestStrays(t *testing.T) {
	for name, packed := range map[string]bool{"loose": false, "packed": true} {
		t.Run(name, func(t *testing.T) {
			root := project(t, home(t))
			if packed {
				gitIn(t, root, "repack", "-adqb")
				gitIn(t, root, "multi-pack-index", "write")
			}
			gitIn(t, root, "commit-graph", "write", "--reachable")
			at := filepath.Join(root, ".git", "objects")
			want(t, "objects", find(t, confined(t, root)), strings.Split(strings.TrimSpace(gitFind(t, at)), "\n")...)
			for _, stray := range []string{"off", "off.d/off", "pack/off", "pack/pack-" + strings.Repeat("a", 40) + ".keep", "info/off", "0a/off", "0A/" + strings.Repeat("0", 38), "zz/" + strings.Repeat("0", 38),
				gitFind(t, at)[:2] + "/off", gitFind(t, at)[:2] + "/d/off", "odd\xff/x"} {
				put(t, at, stray, "good")
			}
			for _, err := range []error{
				os.Symlink("../HEAD", filepath.Join(at, "link")), os.Symlink("../../HEAD", filepath.Join(at, "pack", "pack-"+strings.Repeat("b", 40)+".pack")), os.Mkdir(filepath.Join(at, "0e"), 0o755),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			r := confined(t, root)
			want(t, "objects, and no more", find(t, r), strings.Split(strings.TrimSpace(gitFind(t, at)), "\n")...)
			out, _ := sh(t, r, "git log --format=%s && git fsck --full && git status --short && touch .git/shared-objects/x")
			if !strings.HasPrefix(out, "first\nM  a.txt\nA  dir/untracked.txt\n") || !strings.Contains(out, "touch: ") {
				t.Errorf("git: %s", out)
			}
			r.marks = "" // where its file system cannot be a layer
			out, _ = sh(t, r, "git log --format=%s; cd .git/shared-objects; cat off pack/off info/off */off 2>/dev/null; ls off.d")
			want(t, "masked", out, "first")
		})
	}
}

// What git packs while a command runs stays there for it: no directory of objects is hidden, also if nothing in it is an object when the room is made.
func TestPackedMeanwhile(t *testing.T) {
	for _, stray := range []string{"", "pack/off", "info/off", "0e/off"} {
		for _, layer := range []bool{true, false} {
			root := project(t, home(t))
			at := filepath.Join(root, ".git", "objects")
			if stray != "" {
				put(t, at, stray, "good")
			}
			gitIn(t, root, "commit-graph", "write", "--reachable")
			r := confined(t, root)
			if !layer {
				r.marks = ""
			}
			mark := t.TempDir()
			packed := make(chan error, 1)
			go func() {
				for _, err := os.Stat(mark + "/begun"); err != nil; _, err = os.Stat(mark + "/begun") {
					time.Sleep(5 * time.Millisecond)
				}
				out, err := exec.Command("git", "-C", root, "gc", "-q", "--prune=now").CombinedOutput()
				if err != nil {
					err = fmt.Errorf("%w: %s", err, out)
				}
				packed <- errors.Join(err, os.WriteFile(mark+"/packed", nil, 0o644))
			}()
			const look = `git log --format=%s; touch "$0/begun"; while [ ! -e "$0/packed" ]; do sleep 0.01; done; git log --format=%s && git show HEAD:a.txt`
			s, res, err := in(t, r, []string{"sh", "-c", look, mark}, mark)
			if err := errors.Join(err, <-packed); err != nil {
				t.Fatal(err)
			}
			if out := string(res.Stdout.Head); res.ExitCode != 0 || out != "first\nfirst\na\n" || len(res.Stderr.Head) > 0 {
				t.Errorf("%q, layer %t: exit %d: %s%s", stray, layer, res.ExitCode, out, res.Stderr.Head)
			}
			if _, err := s.End(t.Context()); err != nil {
				t.Error(err)
			}
			out, _ := sh(t, r, "git log --format=%s 2>&1")
			want(t, "the next command", out, "first")
		}
	}
}

// The file of alternates has nothing but paths of directories, or it is a stray.
func TestAlternates(t *testing.T) {
	dir := t.TempDir()
	for text, stray := range map[string]bool{dir + "\n": false, "/usr\n" + dir + "\n": false, "": false, "# off\n": false, dir + "/\n": false, "..\n": false, "off\n": true, dir + "/off\n": true, "/etc/passwd\n": true} {
		put(t, dir, "info/alternates", text)
		if names, err := strays(dir, git.FormatSHA1); err != nil || stray != slices.Equal(names, []string{"info/alternates"}) || !stray && len(names) > 0 {
			t.Errorf("%q: %q, %v", text, names, err)
		}
	}
}

// find lists what commands see of the objects, but for the directories in which they are.
func find(t *testing.T, r *Room) string {
	t.Helper()
	out, _ := sh(t, r, "cd .git/shared-objects && find . -mindepth 1 ! -name '[0-9a-f][0-9a-f]' ! -path ./pack ! -path ./info -printf '%P\n' | LC_ALL=C sort")
	return out
}

// gitFind lists those that a directory has.
func gitFind(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `cd "$1" && find . -type f -printf '%P\n' | LC_ALL=C sort | grep -E '^([0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]{40}\.(pack|idx))$'`, "sh", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
