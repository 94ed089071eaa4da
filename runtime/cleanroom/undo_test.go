//go:build linux

package cleanroom

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A watching context looks at something each time it is asked whether it ends.
type watching struct {
	context.Context
	look func() error
}

func (w watching) Err() error { return w.look() }

// allOf is what stands in a folder: kind, mode, inode and content of each name.
func allOf(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		st, err := lstat(name)
		text := []byte(nil)
		switch d.Type() {
		case 0:
			text, _ = os.ReadFile(name)
		case fs.ModeSymlink:
			target, _ := os.Readlink(name)
			text = []byte(target)
		}
		fmt.Fprintf(&all, "%s %o %d %q\n", name[len(root)+1:], st.Mode, st.Ino, text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}

// A fromLine is a working tree and one in which a line has changed it.
type fromLine struct {
	root, there string
	now         *workspace.Snapshot
	names       []string
}

// lineOf makes a tree, and a copy of it that a shell command changes.
func lineOf(t *testing.T, change string) *fromLine {
	t.Helper()
	l := &fromLine{root: t.TempDir(), there: t.TempDir()}
	for _, name := range []string{"a/1", "a/2", "a/3", "build/sub/y", "build/x", "f", "gone/deep/g"} {
		put(t, l.root, name, "only in "+name+"\n")
	}
	shell(t, l.root, "chmod 600 a/1; chmod 700 build/sub; ln -s f link; mkdir empty build/none gone/none")
	if err := os.CopyFS(l.there, os.DirFS(l.root)); err != nil {
		t.Fatal(err)
	}
	shell(t, l.there, change)
	var err error
	if l.now, err = workspace.Take(t.Context(), l.root, workspace.Options{}); err != nil {
		t.Fatal(err)
	}
	theirs, err := workspace.Take(t.Context(), l.there, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range workspace.Diff(l.now, theirs) {
		l.names = append(l.names, c.Path)
	}
	return l
}

// bringBack is BringBack by one of the ways in which two files change places.
func (l *fromLine) bringBack(ctx context.Context, swap swapper, from func(string) string) error {
	live, err := l.now.Open()
	if err != nil {
		return err
	}
	defer live.Close()
	b := &backing{checkout: newCheckout(l.now.Root, slices.Collect(l.now.Checkout(git.FormatSHA1))), live: live, swap: swap}
	return b.all(ctx, from, l.names)
}

// before has from do something when the new file of a name is asked for to be written, which is the second time.
func (l *fromLine) before(name string, do func() (file string)) func(string) string {
	from, asked := Below(l.there), 0
	return func(n string) string {
		if n == name {
			if asked++; asked == 2 {
				if file := do(); file != "" {
					return file
				}
			}
		}
		return from(n)
	}
}

// Changes are what lines do to the tree of lineOf.
var changes = map[string]string{
	"swap":              "mv a/1 t; mv f a/1; mv t f",
	"rotation":          "mv a/3 t; mv a/2 a/3; mv a/1 a/2; mv t a/1",
	"shift":             "mv a/2 a/3; mv a/1 a/2",
	"removed":           "rm a/2 link; rm -r gone",
	"made":              "mkdir -p new/deep; echo n >new/deep/n; echo n >new/n; ln -s n new/l; echo n >z",
	"folder to file":    "mv build/x x; rm -r build; echo b >build; echo 1 >>a/1; echo z >z",
	"folder to link":    "mv build t; ln -s a build; mv t other",
	"below to file":     "mv build/sub/y y; rm -r build/sub; echo s >build/sub",
	"file to folder":    "mv f t; mkdir -p f/g; mv t f/g/f; echo z >z",
	"link to folder":    "rm link; mkdir link; echo z >link/z",
	"file to link":      "mv f a/f; ln -s a/f f",
	"there and back":    "mv build t; mv f build; mkdir f; mv t f/build",
	"moved, all of it":  "mkdir m; mv a build f gone link m/",
	"of another case":   "mv f F; mv a A",
	"long name":         "mv f " + strings.Repeat("語", 85),
	"all kinds at once": "mv a/1 t; mv f a/1; mv t f; rm a/2; mkdir -p new/deep; echo n >new/deep/n; mv build/x a/3; rm -r build; echo b >build; mv gone/deep/g g; ln -sf g link",
}

// TestBackWhole has an end come at any moment: all of it is brought back or nothing, and whatever a kill would leave at that moment, no content is lost.
func TestBackWhole(t *testing.T) {
	for name, change := range changes {
		for how, swap := range map[string]swapper{"exchanged": swapIn, "replaced": replace} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				l := lineOf(t, change)
				before, theirs := allOf(t, l.root), allOf(t, l.there)
				var olds []string
				for _, old := range regexp.MustCompile(`"only in \S+\\n"`).FindAllString(before, -1) {
					if strings.Contains(theirs, old) { // else it is the line that removed it
						olds = append(olds, old)
					}
				}
				for ends := 0; ; ends++ {
					asked := 0
					ctx := watching{t.Context(), func() error {
						if asked++; asked > ends {
							return context.Canceled
						}
						all := allOf(t, l.root)
						for _, old := range olds {
							if !strings.Contains(all, old) {
								t.Errorf("at look %d %s is nowhere:\n%s", asked, old, all)
							}
						}
						return nil
					}}
					err := l.bringBack(ctx, swap, Below(l.there))
					after := allOf(t, l.root)
					if strings.Contains(after, ".dialect-back-") {
						t.Errorf("after %d looks, %v, there is left\n%s", ends, err, after)
					}
					if err == nil {
						const look = `find . \( -type f -o -type l \) -printf '%P %y %l\n' | sort; find . -type f | sort | xargs cat; ls -d empty`
						if got, want := shell(t, l.root, look), shell(t, l.there, look); got != want {
							t.Errorf("it is\n%s\nand not\n%s", got, want)
						}
						if ends < len(l.names) {
							t.Errorf("%d looks for %d names", ends, len(l.names))
						}
						return
					}
					if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "what it wrote is not brought back, since ") {
						t.Fatalf("after %d looks: %v", ends, err)
					}
					if after != before {
						t.Fatalf("after %d looks it was\n%s\nand is\n%s", ends, before, after)
					}
				}
			})
		}
	}
}

// TestBackFails has each new file fail in turn.
func TestBackFails(t *testing.T) {
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lineOf(t, change)
			before := allOf(t, l.root)
			for _, n := range l.names {
				if Below(l.there)(n) == "" {
					continue
				}
				err := BringBack(t.Context(), l.now, l.before(n, func() string { return filepath.Join(l.there, "none") }), l.names)
				if want := "what it wrote is not brought back, since " + list([]string{n}) + ": no such file or directory"; err == nil || err.Error() != want {
					t.Errorf("%v, want %s", err, want)
				}
				if after := allOf(t, l.root); after != before {
					t.Errorf("without %s it was\n%s\nand is\n%s", n, before, after)
				}
			}
		})
	}
}

// TestBackEdited has somebody change what was brought back, and then the rest of it fail: what was there is back, and the edit is left beside it.
func TestBackEdited(t *testing.T) {
	for name, tt := range map[string]struct {
		change, edit string
		want         map[string]string // what is there then
		kept         string            // where the edit is; "" for where it was made
		part         bool              // whether not all can be undone
	}{
		"in place":             {"echo new >a/1; echo z >z", "echo mine >>a/1", map[string]string{"a/1": "only in a/1\n"}, "a/.1.dialect-back-*", false},
		"another file":         {"echo new >a/1; echo z >z", "echo mine >t; mv t a/1", map[string]string{"a/1": "only in a/1\n"}, "a/.1.dialect-back-*", false},
		"a folder":             {"echo new >a/1; echo z >z", "rm a/1; mkdir a/1; echo mine >a/1/x", map[string]string{"a/1": "only in a/1\n"}, "a/.1.dialect-back-*/x", false},
		"gone":                 {"echo new >a/1; echo z >z", "rm a/1; echo mine >mine", map[string]string{"a/1": "only in a/1\n"}, "", false},
		"a new one":            {"echo new >n; echo z >z", "echo mine >>n", nil, ".n.dialect-back-*", false},
		"a new one is gone":    {"echo new >n; echo z >z", "rm n; echo mine >mine", nil, "", false},
		"in a new folder":      {"mkdir n; echo new >n/n; echo z >z", "echo mine >n/mine", nil, "", false},
		"of a new folder":      {"mkdir n; echo new >n/n; echo z >z", "echo mine >>n/n", nil, "n/.n.dialect-back-*", false},
		"a file for a folder":  {"mkdir n; echo new >n/n; echo z >z", "rm -r n; echo mine >n", nil, "", false},
		"where a folder was":   {"rm -r build; echo new >build; echo z >z", "echo mine >>build", map[string]string{"build/x": "only in build/x\n", "build/sub/y": "only in build/sub/y\n"}, ".build.dialect-back-*", false},
		"where a file was":     {"rm f; mkdir f; echo new >f/n; echo z >z", "echo mine >f/mine", map[string]string{"f": "only in f\n"}, ".f.dialect-back-*/mine", false},
		"of it, a file":        {"rm f; mkdir f; echo new >f/n; echo z >z", "echo mine >>f/n", map[string]string{"f": "only in f\n"}, ".f.dialect-back-*/.n.dialect-back-*", false},
		"the old one":          {"echo new >a/1; echo z >z", "for f in a/.1.dialect-back-*; do echo mine >>$f; done", map[string]string{}, "a/1", false},
		"the old one is gone":  {"echo new >a/1; echo z >z", "rm a/.1.dialect-back-*; echo mine >mine", map[string]string{"a/1": "new\n"}, "", true},
		"the folder is a file": {"echo new >a/1; echo z >z", "mv a b; echo mine >a", map[string]string{"a": "mine\n"}, "", true},
	} {
		for how, swap := range map[string]swapper{"exchanged": swapIn, "replaced": replace} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				l := lineOf(t, tt.change)
				err := l.bringBack(t.Context(), swap, l.before("z", func() string {
					shell(t, l.root, tt.edit)
					return filepath.Join(l.there, "none")
				}))
				if err == nil {
					t.Fatal("no error")
				}
				for n, want := range tt.want {
					if text, err := os.ReadFile(filepath.Join(l.root, n)); string(text) != want {
						t.Errorf("%s: %q, %v", n, text, err)
					}
				}
				if part := new(partError); errors.As(err, &part) != tt.part || tt.part != strings.Contains(err.Error(), "only in part") {
					t.Error(err)
				}
				at, _ := filepath.Glob(filepath.Join(l.root, tt.kept))
				if len(at) != 1 {
					t.Fatalf("%v: %s is %v: %s", err, tt.kept, at, allOf(t, l.root))
				}
				if !strings.Contains(shell(t, l.root, "cat $(find "+at[0]+" -type f)"), "mine") {
					t.Errorf("%v: the edit is not at %s: %s", err, tt.kept, allOf(t, l.root))
				}
				told := regexp.MustCompile(`[^ ]*\.dialect-back-[0-9a-f]{8}`).FindString(err.Error())
				if strings.Contains(tt.kept, ".dialect-back-") {
					if rest, ok := strings.CutPrefix(at[0], filepath.Join(l.root, told)); told == "" || !ok || rest != "" && rest[0] != '/' {
						t.Errorf("%v: %s is not named", err, at[0])
					}
				} else if told != "" && !tt.part {
					t.Error(err)
				}
				if left := allOf(t, l.root); strings.Contains(left, ".dialect-back-") && told == "" && !tt.part {
					t.Errorf("%v: %s is left", err, left)
				}
			})
		}
	}
}

// TestBackStays has what was kept be edited by who has it open, or cannot be removed: it is left, and named.
func TestBackStays(t *testing.T) {
	for name, edit := range map[string]string{
		"in place":    "for f in a/.1.dialect-back-*; do echo mine >>$f; done",
		"in a folder": "for f in .build.dialect-back-*; do echo mine >$f/sub/mine; done",
	} {
		l := lineOf(t, "echo new >a/1; rm -r build; echo b >build; echo z >z")
		err := BringBack(t.Context(), l.now, l.before("z", func() string { shell(t, l.root, edit); return "" }), l.names)
		left := regexp.MustCompile(`[^ ]*\.dialect-back-[0-9a-f]{8}`).FindString(fmt.Sprint(err))
		if part := new(partError); !errors.As(err, &part) || !strings.Contains(err.Error(), "not all is removed") || left == "" {
			t.Fatalf("%s: %v", name, err)
		}
		if text := shell(t, l.root, "cat $(find "+left+" -type f)"); !strings.Contains(text, "mine") {
			t.Errorf("%s: %s has %s", name, left, text)
		}
		for n, want := range map[string]string{"a/1": "new\n", "build": "b\n", "z": "z\n"} {
			if text, err := os.ReadFile(filepath.Join(l.root, n)); string(text) != want {
				t.Errorf("%s: %s: %q, %v", name, n, text, err)
			}
		}
	}
}

// TestKeepWhole has a run end between two files that a line swapped.
func TestKeepWhole(t *testing.T) {
	root := project(t, home(t))
	put(t, root, "ro/y", "only y\n")
	r := confined(t, root)
	s, res, err := in(t, r, []string{"sh", "-ec", "mv a.txt t; mv ro/y a.txt; mv t ro/y; echo z >z"})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%v %+v", err, res)
	}
	before, asked := allOf(t, root), 0
	err = s.Keep(watching{t.Context(), func() error {
		if text, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(text) == "only y\n" {
			asked++
			return context.Canceled
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || asked == 0 {
		t.Error(err)
	}
	if after := allOf(t, root); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	// The lines after it run on what the tree has.
	wrote(t, r, "echo more >>ro/y")
	if text, err := os.ReadFile(filepath.Join(root, "ro/y")); string(text) != "only y\nmore\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestBackForbidden has a folder be read-only for the user: the last file cannot be written or removed, or what is in a folder cannot that a file
// takes the place of.
func TestBackForbidden(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	for name, change := range map[string]string{
		"write":  "mv a/1 t; mv gone/deep/g a/1; mv t gone/deep/g",
		"make":   "mv a/1 gone/deep/h",
		"remove": "mv gone/deep/g g",
		"folder": "mv a b; mv gone/deep/g f; rm -r gone; echo g >gone",
	} {
		l := lineOf(t, change)
		shell(t, l.root, "chmod 555 gone/deep")
		before := allOf(t, l.root)
		err := BringBack(t.Context(), l.now, Below(l.there), l.names)
		if !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(err.Error(), "what it wrote is not brought back, since gone") {
			t.Errorf("%s: %v", name, err)
		}
		if after := allOf(t, l.root); after != before {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, before, after)
		}
		shell(t, l.root, "chmod 755 gone/deep") // so that it can be removed
	}
}
