package outfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
)

// in works in a folder of its own, with these files.
func in(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("was"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func usage(err error) bool {
	var f *exit.Failure
	return errors.As(err, &f) && f.Status == exit.Usage
}

// What Settle refuses, and what it does not, before anything is written.
func TestSettle(t *testing.T) {
	in(t, "there", "read.txt", "folder/x", ".git/config", ".dialect/store/receipts.db", "elsewhere/s.db", "elsewhere/s.db.log/aa/bb", ".dialect/skills/mine/x")
	if err := os.Symlink("missing", "dangling"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("read.txt", "link"); err != nil {
		t.Fatal(err)
	}
	use := InUse{Files: []string{"read.txt", ""}, Store: "elsewhere/s.db"}
	for _, c := range []struct {
		file File
		want string // of the error; empty for none
	}{
		{File{Name: "new"}, ""}, {File{Name: "there"}, ""}, {File{Name: ""}, ""}, {File{Name: "-"}, ""},
		{File{Name: "-", Stream: true}, "standard output has the report"},
		{File{Name: "there", Fresh: true}, "is never overwritten"},
		{File{Name: "new", Fresh: true}, ""},
		{File{Name: "folder"}, "it is a folder"}, {File{Name: "folder/"}, "it names a folder"}, {File{Name: "none/new"}, "no such file"},
		{File{Name: ".git/config"}, ".git belongs to git"}, {File{Name: ".git/new"}, ".git belongs to git"},
		{File{Name: ".dialect/store/new"}, "belongs to the store"}, {File{Name: ".dialect/x"}, "belongs to the store"}, {File{Name: ".dialect/skills/mine/x"}, ""},
		{File{Name: "elsewhere/s.db"}, "it belongs to the store of receipts"}, {File{Name: "elsewhere/s.db-wal"}, "it belongs to the store of receipts"}, {File{Name: "elsewhere/other"}, ""},
		{File{Name: "read.txt"}, "this command reads that file"}, {File{Name: "link"}, "this command reads that file"}, {File{Name: "folder/../read.txt"}, "this command reads that file"},
		{File{Name: "dangling"}, "a link that leads nowhere"}, {File{Name: os.DevNull}, "not a regular file"},
		{File{Name: "routing.toml"}, "a report never replaces"}, {File{Name: "folder/ROUTING.toml"}, "a report never replaces"}, {File{Name: "q.dlct"}, "a report never replaces"},
		{File{Name: ".mcp.json"}, "a report never replaces"}, {File{Name: "mcp.json"}, "a report never replaces"},
		{File{Name: "routing.toml", Fresh: true}, ""}, {File{Name: "q.dlct", Edits: true}, ""},
	} {
		f := c.file
		f.Flag = "--out"
		err := Settle(use, &f)
		if c.want == "" != (err == nil) || err != nil && (!usage(err) || !strings.Contains(err.Error(), c.want) || f.Name != "-" && !strings.HasPrefix(err.Error(), "--out "+f.Name)) {
			t.Errorf("%+v: %v, want %q", c.file, err, c.want)
		}
		if named := f.Name != "" && f.Name != "-"; err == nil && named != filepath.IsAbs(f.Path) {
			t.Errorf("%s is settled at %q", f.Name, f.Path)
		}
	}
	for _, pair := range [][2]string{{"-", "-"}, {"new", "./new"}, {"there", "folder/../there"}, {"dangling2", "dangling2"}} {
		if err := Settle(InUse{}, &File{Flag: "--a", Name: pair[0]}, &File{Flag: "--b"}, &File{Flag: "--b", Name: pair[1]}); !usage(err) || !strings.Contains(err.Error(), "--a") || !strings.Contains(err.Error(), "--b") {
			t.Errorf("%q: %v", pair, err)
		}
	}
	if err := Settle(InUse{}, &File{Name: "new"}, &File{Name: "newer"}, &File{Name: "-"}); err != nil {
		t.Error(err)
	}
}

// A file is replaced whole or stays, keeps its mode, and nothing is left beside it.
func TestWrite(t *testing.T) {
	in(t, "there")
	for _, c := range []struct {
		name string
		fail bool
		want string
		mode fs.FileMode
	}{{"there", true, "was", 0o640}, {"there", false, "is", 0o640}, {"new", true, "", 0}, {"new", false, "is", 0}} {
		f := File{Flag: "--out", Name: c.name}
		if err := Settle(InUse{}, &f); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		err := f.Write(nil, func(w io.Writer) error {
			if _, err := io.WriteString(w, "is"); err != nil || c.fail {
				return errors.Join(err, broken)
			}
			return nil
		})
		if c.fail != errors.Is(err, broken) || !c.fail && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got, _ := os.ReadFile(c.name)
		info, err := os.Stat(c.name)
		if string(got) != c.want || (err == nil) != (c.want != "") || c.mode != 0 && info.Mode().Perm() != c.mode {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if list, err := os.ReadDir("."); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	var std bytes.Buffer
	if err := (&File{Name: "-"}).Write(&std, func(w io.Writer) error { _, err := io.WriteString(w, "out"); return err }); err != nil || std.String() != "out" {
		t.Errorf("%v, %q", err, std.String())
	}
	if err := new(File).Write(&std, func(io.Writer) error { t.Error("a file without a name is made"); return nil }); err != nil {
		t.Error(err)
	}
}

// A pipe that is open already, as >(cmd) of a shell is, takes a report and a stream; its other end, and a file that is open, are what they were.
func TestOpenPipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the names are those of Linux")
	}
	in(t, "there")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	file, err := os.OpenFile("there", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, format := range []string{"/dev/fd/%d", "/proc/self/fd/%d"} {
		name := fmt.Sprintf(format, w.Fd())
		f, stream := File{Flag: "--junit", Name: name}, File{Flag: "--events", Name: name, Stream: true}
		if err := errors.Join(Settle(InUse{}, &f), Settle(InUse{}, &stream)); err != nil {
			t.Fatal(err)
		}
		events, err := stream.Open()
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(events, "events ")
		err = errors.Join(err, events.Close(), f.Write(nil, func(w io.Writer) error { _, err := io.WriteString(w, "report"); return err }))
		got := make([]byte, len("events report"))
		if _, rerr := io.ReadFull(r, got); err != nil || rerr != nil || string(got) != "events report" {
			t.Errorf("%s: %q, %v, %v", name, got, err, rerr)
		}
		if err := Settle(InUse{}, &File{Flag: "--a", Name: name}, &File{Flag: "--b", Name: name}); !usage(err) {
			t.Errorf("the same twice: %v", err)
		}
		if err := Settle(InUse{}, &File{Name: fmt.Sprintf(format, r.Fd())}); !usage(err) {
			t.Errorf("the end that is read: %v", err)
		}
		if err := Settle(InUse{}, &File{Name: name, Fresh: true}); !usage(err) {
			t.Errorf("a key in a pipe: %v", err)
		}
		open := File{Name: fmt.Sprintf(format, file.Fd())}
		if err := Settle(InUse{}, &open); err != nil || open.pipe || filepath.Base(open.Path) != "there" {
			t.Errorf("a file: %v, %+v", err, open)
		}
	}
	gone := fmt.Sprintf("/dev/fd/%d", w.Fd())
	f := File{Flag: "--junit", Name: gone}
	if err := Settle(InUse{}, &f); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := f.Write(nil, func(w io.Writer) error { _, err := io.WriteString(w, "report"); return err }); err == nil || !strings.Contains(err.Error(), "nobody reads it") {
		t.Errorf("without a reader: %v", err)
	}
	w.Close()
}

// A link that takes the place of the folder, or of the file, after it was settled leads nowhere else.
func TestSwapped(t *testing.T) {
	in(t, "folder/x", "outside/x", "file")
	f, g := File{Name: "folder/report"}, File{Name: "file"}
	if err := Settle(InUse{}, &f, &g); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename("folder", "moved"), os.Symlink("outside", "folder"), os.Remove("file"), os.Symlink("outside/x", "file")); err != nil {
		t.Fatal(err)
	}
	err := f.Replace([]byte("is"), 0o600)
	if _, e := os.Lstat("outside/report"); err == nil || e == nil {
		t.Errorf("%v; written outside: %v", err, e)
	}
	_ = g.Replace([]byte("is"), 0o600)
	if got, _ := os.ReadFile("outside/x"); string(got) != "was" {
		t.Errorf("outside: %q", got)
	}
	// A folder that was made anew is another matter.
	h := File{Name: "outside/report"}
	if err := Settle(InUse{}, &h); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll("outside"), os.Mkdir("outside", 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := h.Replace([]byte("is"), 0o600); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile("outside/report"); string(got) != "is" {
		t.Errorf("%q", got)
	}
}

// Inside refuses a link that leads out of its repository, at any place of the name, and no other.
func TestInside(t *testing.T) {
	dir := in(t, "repo/.git/config", "repo/a/x", "outside/x", "plain/a/x", "plain/b/x")
	for name, target := range map[string]string{
		"repo/out": filepath.Join(dir, "outside"), "repo/file": "../outside/x", "repo/here": "a", "repo/a/up": "../a/x", "repo/gone": "nowhere", "repo/chain": "out",
		"plain/out": "../outside", "plain/file": "../outside/x", "plain/here": "a", "plain/b/beside": "../a",
	} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"repo/a/x": "", "repo/new": "", "repo/new/deeper": "", "repo/here/x": "", "repo/a/up": "", "outside/x": "",
		"repo/out": "leads out", "repo/out/x": "leads out", "repo/out/new": "leads out", "repo/file": "leads out", "repo/chain/x": "leads out", "repo/gone": "leads nowhere",
		"plain/out/x": "leads out", "plain/out/new": "leads out", "plain/file": "leads out", "plain/here/x": "", "plain/b/beside/x": "leads out",
	} {
		if err := Inside(name); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	// A folder elsewhere is reached by the links of its system, and by the working directory's own.
	t.Chdir("outside")
	for name, ok := range map[string]bool{"../plain/out/x": true, "../plain/file": false, "../repo/out/x": false} {
		if err := Inside(name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that is rewritten keeps its owner and group.
func TestRewriteOwner(t *testing.T) {
	dir := in(t, "a")
	if err := os.Chown("a", 1234, 100); err != nil {
		t.Skip("only root gives files away: ", err)
	}
	if err := Rewrite([]Edit{{Path: filepath.Join(dir, "a"), Text: []byte("is")}}, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat("a")
	if err != nil {
		t.Fatal(err)
	}
	if got := regular.Owner(info); got != 1234 || info.Mode().Perm() != 0o640 {
		t.Errorf("it belongs to %d, mode %o", got, info.Mode().Perm())
	}
}

// TestEditedMeanwhile leaves a file as it is that holds something else than what its edit was made of.
func TestEditedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.dlct")
	for now, want := range map[string]string{"old": "new", "edited": "edited"} {
		if err := os.WriteFile(path, []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
		err := Rewrite([]Edit{{Path: path, Was: []byte("old"), Text: []byte("new")}}, nil)
		if text, rerr := os.ReadFile(path); string(text) != want || rerr != nil || (err != nil) != (want == "edited") || err != nil && !strings.Contains(err.Error(), "edited meanwhile") {
			t.Errorf("%s: %q, %v, %v", now, text, err, rerr)
		}
	}
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	edit := Edit{Path: path, Was: []byte("old"), Text: []byte("new")}
	if err := Rewrite([]Edit{edit, edit}, nil); err != nil {
		t.Errorf("named twice: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("it leaves %v", left)
	}
}

// Edits are written once all of them may be, and each that says something says it once it is written.
func TestRewrite(t *testing.T) {
	dir := in(t, "a", "b", ".git/c")
	at := func(name string) string { return filepath.Join(dir, name) }
	var told []string
	tell := func(text string) { told = append(told, text) }
	if err := Rewrite([]Edit{{Path: at("a"), Text: []byte("is"), Told: "a"}, {Path: at(".git/c"), Text: []byte("is")}}, tell); !usage(err) || len(told) != 0 {
		t.Errorf("%v, %q", err, told)
	}
	if got, _ := os.ReadFile("a"); string(got) != "was" {
		t.Errorf("the first was written though the second may not be: %q", got)
	}
	if err := Rewrite([]Edit{{Path: at("a"), Text: []byte("is"), Told: "a"}, {Path: at("b"), Text: []byte("too")}}, tell); err != nil || strings.Join(told, " ") != "a" {
		t.Errorf("%v, %q", err, told)
	}
	a, _ := os.ReadFile("a")
	b, _ := os.ReadFile("b")
	if string(a)+string(b) != "istoo" {
		t.Errorf("%q, %q", a, b)
	}
}

// Create makes a file that is not there, and never another; a folder is made for it, but not in a store or a repository.
func TestCreate(t *testing.T) {
	in(t, "x")
	for name, ok := range map[string]bool{"new/deep/file": true, ".git/new/file": false, ".dialect/new/file": false, ".dialect/skills/a/file": true} {
		if err := MakeFolder(name, 0o777); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(filepath.Dir(name)); (err == nil) != ok || ok && !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := File{Name: "new/deep/file", Fresh: true}
	if err := Settle(InUse{}, &f); err != nil {
		t.Fatal(err)
	}
	if err := f.Create([]byte("is"), 0o600); err != nil {
		t.Error(err)
	}
	if err := f.Create([]byte("other"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if got, _ := os.ReadFile("new/deep/file"); string(got) != "is" {
		t.Errorf("%q", got)
	}
}
