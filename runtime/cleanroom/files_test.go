//go:build linux

package cleanroom

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/overlay"
)

// listing is what find and cat say of a tree, without .git.
func listing(t *testing.T, files overlay.Files) string {
	t.Helper()
	var lines []string
	var walk func(dir string)
	walk = func(dir string) {
		if err := files.ReadDir(dir, func(list []fs.DirEntry) error {
			for _, d := range list {
				name := path.Join(dir, d.Name())
				switch {
				case name == ".git":
				case d.IsDir():
					lines = append(lines, "d "+name)
					walk(name)
				case d.Type() == fs.ModeSymlink:
					target, err := files.Readlink(name)
					if err != nil {
						t.Error(err)
					}
					lines = append(lines, "l "+name+" "+target)
				case d.Type().IsRegular():
					f, err := files.Open(name)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					text, _ := io.ReadAll(f)
					f.Close()
					lines = append(lines, "f "+name+" "+strings.TrimSpace(string(text)))
				default:
					lines = append(lines, "p "+name)
				}
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	walk(".")
	lines = strings.Split(strings.Join(lines, "\n"), "\n") // as sort has it
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

const lists = `find . -path ./.git -prune -o ! -name . -print | while read -r p; do n=${p#./}
if [ -L "$p" ]; then echo "l $n $(readlink "$p")"; elif [ -d "$p" ]; then echo "d $n"; elif [ -f "$p" ]; then echo "f $n $(cat "$p")"; else echo "p $n"; fi; done | LC_ALL=C sort`

// What is read of a stay is what its command saw: of its own writing, of lines before it, of a share, and nothing of the working tree.
func TestFiles(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	gitIn(t, root, "add", "dir")
	gitIn(t, root, "commit", "-qm", "second")
	put(t, root, "ignored-venv/lib/RECORD", "shared\n")
	put(t, root, "ignored-venv/lib/other", "shared\n")
	r := enter(t, root, Options{Helper: []string{helperName}, Cache: Cache(), Share: []string{"ignored-venv"}})
	if why := r.Unconfined(); why != "" {
		t.Skip(why)
	}
	lines := []string{
		"mkdir -p ignored/made; echo one >ignored/made/x; rm dir/untracked.txt; echo new >dir/new.txt; mv dir/sub dir/moved",
		"rm -rf ignored/made; mkdir -p ignored/made out; echo two >ignored/made/y; ln -s ../dir out/l; mkfifo out/p; echo mine >ignored-venv/lib/RECORD; rm a.txt; mkdir a.txt; chmod 600 run.sh; rm -r dir; mkdir dir; echo z >dir/z",
	}
	for i, line := range lines {
		s, p, err := in(t, r, []string{"sh", "-c", line + "\n" + lists})
		if err != nil {
			t.Fatal(err)
		}
		put(t, root, "ignored-planted.txt", "while it runs\n")
		files, err := s.Files()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := listing(t, files), strings.TrimSpace(string(p.Stdout.Head)); got != want {
			t.Errorf("line %d:\n%s\nwant\n%s", i, got, want)
		}
		if at, err := s.In(filepath.Join(root, "dir/z")); err != nil || at != "dir/z" {
			t.Errorf("%q, %v", at, err)
		}
		if at, err := s.In(os.DevNull); err == nil {
			t.Errorf("%s is in the working tree as %q", os.DevNull, at)
		}
		files.Close()
		if i == 0 {
			err = s.Keep(t.Context())
		} else {
			_, err = s.End(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Access(filepath.Join(root, "dir/new.txt"), unix.R_OK); err != nil {
		t.Errorf("what the first line wrote is not brought back: %v", err)
	}
}

// What somebody puts in the place of a share while a command runs is not what that saw.
func TestFilesOfAnother(t *testing.T) {
	root := project(t, home(t))
	put(t, root, "ignored-venv/RECORD", "shared\n")
	r := enter(t, root, Options{Helper: []string{helperName}, Cache: Cache(), Share: []string{"ignored-venv"}})
	if why := r.Unconfined(); why != "" {
		t.Skip(why)
	}
	s, _, err := in(t, r, []string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	share := filepath.Join(root, "ignored-venv")
	if err := os.Rename(share, share+"-was"); err != nil {
		t.Fatal(err)
	}
	put(t, root, "ignored-venv/RECORD", "planted\n")
	if files, err := s.Files(); err == nil {
		files.Close()
		t.Error("another directory is read")
	} else if want := "ignored-venv is not what commands were shown there any more"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if _, err := s.End(t.Context()); err != nil {
		t.Error(err)
	}
}
