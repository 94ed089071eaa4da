package archive_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("ARCHIVE_TEST_LIVE"); dir != "" {
		if archive.Archive(dir).Begin("r-killed", "a.dlct") == nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("begun\n")
		select {}
	}
	os.Exit(m.Run())
}

// TestIgnored: git ignores the folder, also where a full disk once left its .gitignore empty. What somebody wrote into it stays.
func TestIgnored(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, archive.Folder, ".gitignore")
	for _, c := range [][2]string{{"*\n", "*\n"}, {"", "*\n"}, {"log\n", "log\n"}} {
		if err := archive.Make(root); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := archive.Make(root); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != c[1] {
			t.Errorf("%q became %q, %v", c[0], text, err)
		}
	}
}

// TestFiles holds the list of a store's files to what the store makes.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	store := archive.Store(root)
	if err := archive.Make(root); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), store, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	files := archive.Files(store)
	if !slices.Contains(files, store+sqlite.MemorySuffix) {
		t.Errorf("%s is missing in %q", sqlite.MemorySuffix, files)
	}
	entries, err := os.ReadDir(filepath.Dir(store))
	if err != nil || len(entries) < 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if path := filepath.Join(filepath.Dir(store), e.Name()); !slices.Contains(files, path) {
			t.Errorf("%s is missing in %q", e.Name(), files)
		}
		if _, ok := archive.Makes("store/" + e.Name()); !ok {
			t.Errorf("%s counts as a file of the project", e.Name())
		}
	}
}

func TestMakes(t *testing.T) {
	for name, want := range map[string]bool{
		"log/sha256/00/" + strings.Repeat("a", 62): true, "log/sha256/00": true, "log/sha256": true, "log": true, "log/redact": true, "log/runs/r-0123456789abcdef": true,
		"log/runs/live/r-0123456789abcdef": true, "log/runs/key": true, "log/runs/live/.log-12": true, "log/x": false, "log/sha256/00/x": false, "log/sha256/x": false, "log/runs/x": false,
		"log/runs/live/x": false, "log/redact/x": false, "lock/a/b": false, ".gitignore/x": false, "lock/db": true, "store": true, "store/receipts.db-audit": true, ".gitignore": true,
		"store.bad": true, "store.bad2": true, "store.bad12/receipts.db-wal": true, "store.bad/x": false, "store.badly": false, "store.bad2/a/receipts.db": false, "lock.bad": false,
		"skills/x.md": false, "store/receipts.db.py": false, "store/receipts.dbx": false, "store/x": false, "receipts.db": false, "logs": false, "x/log": false, "": false,
	} {
		folder, ok := archive.Makes(name)
		if is := slices.Contains([]string{"log", "log/sha256", "log/sha256/00", "log/runs/key", "store", "store.bad", "store.bad2"}, name); ok != want || ok && folder != is {
			t.Errorf("%q: %v, as a folder %v", name, ok, folder)
		}
	}
}

func TestNearest(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if store, err := archive.Nearest(deep); store != "" || err != nil {
		t.Skipf("there is a store above the temporary files: %s, %v", store, err)
	}
	in := filepath.Join(root, "a", archive.Folder)
	if err := os.WriteFile(in, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var other *regular.NotFolderError
	if store, err := archive.Nearest(deep); store != "" || !errors.As(err, &other) || other.Path != in {
		t.Errorf("a file in the place of its folder: %q, %v", store, err)
	}
	if err := errors.Join(os.Remove(in), os.Symlink("nowhere", in)); err != nil {
		t.Fatal(err)
	}
	if store, err := archive.Nearest(deep); store != "" || !errors.As(err, &other) {
		t.Errorf("a link that leads nowhere: %q, %v", store, err)
	}
	want := archive.Store(root)
	if err := errors.Join(archive.Make(root), os.WriteFile(want, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if store, err := archive.Nearest(deep); store != want || err != nil { // not the link's
		t.Errorf("%s, %v; want %s", store, err, want)
	}
}

func TestOf(t *testing.T) {
	for store, want := range map[string]archive.Archive{
		filepath.Join("p", ".dialect", "store", "receipts.db"): archive.Archive(filepath.Join("p", ".dialect", "log")),
		filepath.Join("p", ".dialect", "other.db"):             archive.Archive(filepath.Join("p", ".dialect", "other.db.log")),
		filepath.Join("p", "store", "receipts.db"):             archive.Archive(filepath.Join("p", "store", "receipts.db.log")),
	} {
		if got := archive.Of(store); got != want {
			t.Errorf("%s: %s", store, got)
		}
	}
}

// TestLinks plants links in the places that are written to.
func TestLinks(t *testing.T) {
	for _, name := range []string{"", "runs", "runs/live", "sha256", "sha256/00"} {
		base := t.TempDir()
		a, elsewhere := archive.Archive(filepath.Join(base, "log")), filepath.Join(base, "elsewhere")
		link := filepath.Join(string(a), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Mkdir(elsewhere, 0o700)); err != nil {
			t.Fatal(err)
		}
		if err := a.Check(); err != nil {
			t.Errorf("%q, before: %v", name, err)
		}
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Fatal(err)
		}
		if a.Check() == nil {
			t.Errorf("%q may be a link", name)
		}
		a.Keep(sha256.Sum256(nil), func() []byte { return nil })
		if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
			t.Errorf("%q: %v was written through the link", name, left)
		}
	}
}

// TestQuiet: no tool that lists the folder of a project, or looks for files by their extension, notices
// that a store is used.
func TestQuiet(t *testing.T) {
	root := t.TempDir()
	folder, store := filepath.Join(root, archive.Folder), archive.Store(root)
	use := func(run string) {
		t.Helper()
		if err := archive.Make(root); err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(t.Context(), store, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := archive.Of(store)
		a.RedactKey()
		m := a.Begin(run, "a.dlct")
		a.Keep(sha256.Sum256([]byte(run)), func() []byte { return []byte(run) })
		a.KeepRun(run, []byte("{}"))
		m.End()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	use("r-1")
	old := time.Unix(1_800_000_000, 0)
	if err := errors.Join(os.Chtimes(folder, old, old), os.Chtimes(root, old, old)); err != nil {
		t.Fatal(err)
	}
	before := tree(t, root)
	use("r-2")
	if len(tree(t, root)) <= len(before) {
		t.Error("the second use left nothing")
	}
	for _, dir := range []string{root, folder} {
		if info, err := os.Stat(dir); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("something was created or removed in %s: %v", dir, err)
		}
	}
	for _, name := range tree(t, root) {
		if ext := filepath.Ext(name); ext != "" && !slices.Contains(archive.Files(store), name) && filepath.Base(name) != archive.Folder && filepath.Base(name) != ".gitignore" {
			t.Errorf("%s has an extension", name)
		}
	}
}

// TestLinkedFolder takes the archive of a project whose folder is a link to another project's.
func TestLinkedFolder(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	base := t.TempDir()
	own, linked := filepath.Join(base, "own", archive.Folder), filepath.Join(base, "linked", archive.Folder)
	if err := errors.Join(os.MkdirAll(own, 0o700), os.Mkdir(filepath.Dir(linked), 0o700), os.Symlink(own, linked)); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("x"))
	a := archive.Of(archive.Store(filepath.Dir(own)))
	a.Keep(sum, func() []byte { return []byte("x") })
	a.KeepRun("r-1", []byte("{}"))
	before := tree(t, own)
	for _, store := range []string{archive.Store(filepath.Dir(linked)), filepath.Join(linked, "other.db")} {
		through := archive.Of(store)
		if through.Check() == nil {
			t.Errorf("%s: its folder may be a link", store)
		}
		if archive.CheckStore(store) == nil {
			t.Errorf("%s: a store may be in it", store)
		}
		if c, err := through.Collect(now, archive.Limits{}); err == nil || c.Dropped > 0 {
			t.Errorf("%s: %+v, %v", store, c, err)
		}
		through.Keep(sha256.Sum256(nil), func() []byte { return nil })
		through.KeepRun("r-2", []byte("{}"))
		if m := through.Begin("r-3", "a.dlct"); m != nil {
			m.End()
			t.Errorf("%s: a run is marked", store)
		}
	}
	if got := tree(t, own); !slices.Equal(got, before) {
		t.Errorf("%q, and it was %q", got, before)
	}
	// A store that was named may be behind links.
	up := filepath.Join(base, "up")
	if err := os.Symlink(filepath.Dir(own), up); err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{filepath.Join(up, "x.db"), archive.Store(up)} {
		if err := errors.Join(archive.CheckStore(store), archive.Of(store).Check()); err != nil {
			t.Errorf("%s: %v", store, err)
		}
	}
	if c, err := archive.Of(archive.Store(up)).Collect(now, archive.Limits{}); err != nil || c.Dropped != 2 {
		t.Errorf("through a link above: %+v, %v", c, err)
	}
}

// tree returns the paths of all that is below dir.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		names = append(names, name)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRedactKey(t *testing.T) {
	a := archive.Archive(filepath.Join(t.TempDir(), "log"))
	keys := make(chan string)
	for range 8 {
		go func() { keys <- string(a.RedactKey()) }()
	}
	first := <-keys
	for range 7 {
		if k := <-keys; k != first {
			t.Error("two that make it at once have two keys")
		}
	}
	if len(first) != 32 || first == strings.Repeat("\x00", 32) || string(a.RedactKey()) != first {
		t.Errorf("%x", first)
	}
	none := archive.Archive("")
	if one, other := none.RedactKey(), none.RedactKey(); string(one) == string(other) {
		t.Error("a key that is kept nowhere comes back")
	}
	other, folder := t.TempDir(), filepath.Join(t.TempDir(), archive.Folder)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "log")
	if err := os.Symlink(other, link); err != nil {
		t.Skip(err)
	}
	archive.Archive(link).RedactKey()
	if list, err := os.ReadDir(other); err != nil || len(list) > 0 {
		t.Errorf("it is kept where a link leads: %v, %v", list, err)
	}
}

func TestRuns(t *testing.T) {
	a := archive.Archive(t.TempDir())
	want := []string{archive.NewRun(), archive.NewRun(), archive.NewRun()}
	for i, run := range want {
		a.KeepRun(run, []byte(run))
		at := time.Unix(int64(1000-i), 0)
		if err := os.Chtimes(a.RunPath(run), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(a.RunPath(archive.NewRun()), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"r-$(touch x)", "r-1", want[0] + "a", "r-ABCDEFABCDEFABCD"} { // none is the id of a run
		a.KeepRun(name, nil)
	}
	if got := a.Runs(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if text, err := a.ReadRun(want[1]); string(text) != want[1] || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// TestKilled kills a process that has marked a run, beside one that lasts and one that ended.
func TestKilled(t *testing.T) {
	a := archive.Archive(t.TempDir())
	lasts := a.Begin("r-lasts", "b.dlct")
	defer lasts.End()
	a.Begin("r-ended", "c.dlct").End()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ARCHIVE_TEST_LIVE="+string(a))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if list := a.Killed(); len(list) != 0 {
		t.Errorf("before it is killed: %v", list)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if m := a.Dead(""); m == nil || m.Run != "r-killed" || a.Dead("sub/a.dlct") == nil || a.Dead("b.dlct") != nil {
		t.Errorf("the newest: %v", m)
	}
	if list := a.Killed(); len(list) != 1 || list[0].Run != "r-killed" || list[0].Script != "a.dlct" || list[0].PID != cmd.Process.Pid {
		t.Errorf("%v", list)
	}
	if list := a.Killed(); len(list) != 0 {
		t.Errorf("it is said twice: %v", list)
	}
	if m := a.Dead(""); m != nil {
		t.Errorf("it was said: %v", m)
	}
}

func TestCollect(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	make3 := func(t *testing.T) archive.Archive {
		a := archive.Archive(t.TempDir())
		put := func(path string, size int, age time.Duration) {
			t.Helper()
			if err := errors.Join(blob.Write(path, make([]byte, size), 0o600), os.Chtimes(path, now.Add(-age), now.Add(-age))); err != nil {
				t.Fatal(err)
			}
		}
		put(blob.Path(string(a), [32]byte{1}), 10, time.Hour)
		put(blob.Path(string(a), [32]byte{2}), 20, 48*time.Hour)
		put(a.RunPath("r-1"), 40, 2*time.Hour)
		put(filepath.Join(string(a), ".log-old"), 1, 48*time.Hour)
		put(filepath.Join(string(a), ".log-new"), 1, time.Hour)
		put(filepath.Join(string(a), "redact"), 32, 1000*time.Hour)
		return a
	}
	for name, c := range map[string]struct {
		limits       archive.Limits
		dropped      int
		droppedBytes int64
		left         string
	}{
		"nothing is too old":     {archive.Limits{Size: 1 << 20}, 1, 1, "young old run"},
		"by age":                 {archive.Limits{Age: 24 * time.Hour, Size: 1 << 20}, 2, 21, "young run"},
		"by size, the oldest":    {archive.Limits{Size: 50}, 2, 21, "young run"},
		"by size, what fits not": {archive.Limits{Size: 35}, 2, 41, "young old"},
		"to nothing":             {archive.Limits{}, 4, 71, ""},
		"to nothing, a dry run":  {archive.Limits{DryRun: true}, 4, 71, "young old run"},
	} {
		t.Run(name, func(t *testing.T) {
			a := make3(t)
			got, err := a.Collect(now, c.limits)
			if err != nil || got.Dropped != c.dropped || got.DroppedBytes != c.droppedBytes || got.Schema != "dialect.gc/1" {
				t.Errorf("%+v, %v", got, err)
			}
			var left []string
			for _, f := range []struct{ name, path string }{
				{"young", blob.Path(string(a), [32]byte{1})}, {"old", blob.Path(string(a), [32]byte{2})}, {"run", a.RunPath("r-1")},
			} {
				if _, err := os.Lstat(f.path); err == nil {
					left = append(left, f.name)
				}
			}
			if got := strings.Join(left, " "); got != c.left {
				t.Errorf("left are %q, want %q", got, c.left)
			}
			if _, err := os.Lstat(filepath.Join(string(a), "redact")); err != nil {
				t.Errorf("the key is dropped: %v", err)
			}
		})
	}
	if c, err := archive.Archive(filepath.Join(t.TempDir(), "none")).Collect(now, archive.Limits{}); err != nil || c.Dropped != 0 {
		t.Errorf("of nothing: %+v, %v", c, err)
	}
}

func TestProject(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	for store, want := range map[string]string{
		archive.Store(root): root, archive.Store("."): root, filepath.Join(root, ".dialect", "other.db"): "", filepath.Join(root, ".dialect", "receipts.db"): "", "receipts.db": "", archive.Store(root) + ".log": "",
	} {
		if got := archive.Project(store); got != want {
			t.Errorf("%s: %q, want %q", store, got, want)
		}
	}
}

func TestNewRun(t *testing.T) {
	seen := make(map[string]bool)
	for range 100 {
		id := archive.NewRun()
		if digits, ok := strings.CutPrefix(id, "r-"); !ok || len(digits) != 16 || strings.Trim(digits, "0123456789abcdef") != "" || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id] = true
	}
}

// The key of a run is readable by its user alone, is found by its run, and stays in its place.
func TestKey(t *testing.T) {
	root := t.TempDir()
	if err := archive.Make(root); err != nil {
		t.Fatal(err)
	}
	a := archive.Of(archive.Store(root))
	if _, err := a.Key("r-1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no key: %v", err)
	}
	if err := a.KeepKey("r-1", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if key, err := a.Key("r-1"); err != nil || string(key) != "secret" {
		t.Errorf("%q, %v", key, err)
	}
	path := filepath.Join(string(a), "runs", "key", "r-1")
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, run := range []string{"", ".", "..", "../r-1", "r-1/../r-2", "x", "r-2/x", string(filepath.Separator) + "r-1"} {
		if _, err := a.Key(run); err == nil || a.KeepKey(run, nil) == nil {
			t.Errorf("%q is a run", run)
		}
	}
	now := time.Now()
	for _, age := range []time.Duration{0, 40 * 24 * time.Hour} {
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Collect(now, archive.Limits{Age: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Key("r-1"); (err != nil) != (age > 0) {
			t.Errorf("after %s: %v", age, err)
		}
	}
	if err := a.KeepKey("r-2", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	a.DropKey("r-2")
	if _, err := a.Key("r-2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dropped: %v", err)
	}
}

// A run lasts as long as the process that has marked it, or says that it ended.
func TestLasts(t *testing.T) {
	root := t.TempDir()
	if err := archive.Make(root); err != nil {
		t.Fatal(err)
	}
	a := archive.Of(archive.Store(root))
	if a.Lasts("r-1") {
		t.Error("a run that never began lasts")
	}
	m := a.Begin("r-1", "a.dlct")
	if m == nil {
		t.Fatal("not marked")
	}
	if !a.Lasts("r-1") || a.Lasts("r-2") || a.Lasts("../live/r-1") || a.Lasts("") {
		t.Error("another run lasts, or it does not")
	}
	if m.End(); a.Lasts("r-1") {
		t.Error("it lasts after its end")
	}
}

// TestStrangersStore: what another user put above is not found.
func TestStrangersStore(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file away")
	}
	root := t.TempDir()
	dir, store := filepath.Join(root, "own"), archive.Store(root)
	if err := errors.Join(os.Mkdir(dir, 0o755), archive.Make(root), os.WriteFile(store, nil, 0o600), os.Chown(store, 12345, -1)); err != nil {
		t.Fatal(err)
	}
	if got, err := archive.Nearest(dir); got != "" || err == nil || !strings.Contains(err.Error(), "belongs to the user 12345") {
		t.Errorf("%s, %v", got, err)
	}
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if got, err := archive.Nearest(dir); got != store || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
