package recording

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestSnapshotOfTheRun edits a file once the run has begun: what is sent to workers is what its receipts name.
func TestSnapshotOfTheRun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"routing.toml", "a.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rec := Open(dir, nil, Options{})
	defer rec.Close(nil)
	first, err := rec.Options(&plan.Plan{Matrix: plan.Matrix{Root: dir}}).Workspace.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("edited\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := rec.Snapshot(t.Context()); err != nil || s.Bytes != first.Bytes {
		t.Errorf("the run began with %x, and %x is sent: %v", first.Bytes, s.Bytes, err)
	}
}

// A file that was named as a store by mistake gets no folder beside it; a store that cannot be used any more keeps its own.
func TestNamedStore(t *testing.T) {
	dir := t.TempDir()
	o := Options{Store: filepath.Join(dir, "text"), NoTree: true}
	if err := os.WriteFile(o.Store, []byte("a file of the user's\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{false, true} {
		if there {
			if err := os.Mkdir(o.Store+".log", 0o700); err != nil {
				t.Fatal(err)
			}
		}
		rec := Open(dir, nil, o)
		if rec.reason == "" || there != (rec.Archive() != "") {
			t.Errorf("with a folder %t: %q, %q", there, rec.Archive(), rec.reason)
		}
		rec.Close(nil)
	}
}

// A store that fails when it is closed degrades the run, which would be over otherwise.
func TestCloseDegrades(t *testing.T) {
	dir := t.TempDir()
	o := Options{Store: filepath.Join(dir, "receipts.db"), NoTree: true}
	for _, damage := range []string{"", "DROP TABLE node"} {
		rec := Open(dir, nil, o)
		if rec.store == nil {
			t.Fatal(rec.reason)
		}
		if damage != "" {
			db, err := sql.Open("sqlite", rec.Path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(damage); err != nil {
				t.Fatal(err)
			}
			db.Close()
		}
		written, err := (&receipts.Run{
			Version: 1, Run: "r-1" + damage, Session: "s", Started: receipts.Time{Time: time.Now()},
			Script: receipts.File{Path: receipts.Text("x.dlct")}, Planned: []receipts.Planned{}, Dialect: "d", System: "s",
		}).Record()
		if err != nil {
			t.Fatal(err)
		}
		rec.store.Submit(written)
		out := &engine.Outcome{}
		rec.Close(out)
		rec.Close(out)
		if (out.Degraded != "") != (damage != "") {
			t.Errorf("%q: degraded %q", damage, out.Degraded)
		}
	}
}

// A store that another process holds is not waited for longer than the run may take.
func TestLockedStore(t *testing.T) {
	dir := t.TempDir()
	o := Options{Store: filepath.Join(dir, "receipts.db"), NoTree: true}
	first := Open(dir, nil, o)
	if first.store == nil {
		t.Fatal(first.reason)
	}
	first.Close(nil)
	db, err := sql.Open("sqlite", o.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, stmt := range []string{"PRAGMA locking_mode=EXCLUSIVE", "BEGIN EXCLUSIVE", "UPDATE head SET count = count"} {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
	o.Patience = 10 * time.Millisecond
	if rec := Open(dir, nil, o); rec.store != nil || !strings.Contains(rec.reason, "locked") {
		t.Errorf("%v, %q", rec.store, rec.reason)
	}
}

// TestNoStore opens what cannot be a store: the reason is in the options of the run, which has no store.
func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("no store"), 0o600); err != nil {
		t.Fatal(err)
	}
	project, linked := filepath.Join(dir, "project"), filepath.Join(dir, "linked")
	if err := errors.Join(os.MkdirAll(filepath.Join(project, archive.Folder), 0o700), os.Mkdir(linked, 0o700),
		os.Symlink(filepath.Join(project, archive.Folder), filepath.Join(linked, archive.Folder))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ root, store, why string }{
		{dir, "none", "--store none"},
		{dir, file, "file"},
		{dir, filepath.Join(file, "x.db"), "not a directory"},
		{linked, "", "link"},
	} {
		r := Open(c.root, nil, Options{Store: c.store, Session: "s", NoTree: true})
		o := r.Options(&plan.Plan{Matrix: plan.Matrix{Root: c.root}})
		if o.Store != nil || o.Workspace != nil || o.StorePath != "" || !strings.Contains(o.Degraded, c.why) || o.Session != "s" {
			t.Errorf("%q: %v, %q, %q, %q", c.store, o.Store, o.StorePath, o.Degraded, o.Session)
		}
		if killed := r.Begin("r-1", "a.dlct"); killed != nil {
			t.Errorf("%q: %q", c.store, killed)
		}
		r.Keep(&report.Document{Run: "r-1"})
		r.End()
		r.Close(nil)
	}
	if got, err := os.ReadFile(file); string(got) != "no store" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if left, _ := os.ReadDir(filepath.Join(project, archive.Folder)); len(left) > 0 {
		t.Errorf("%v was written through the link", left)
	}
}

// TestRecorded makes a store, keeps the document of a run in it without the secrets of its plan, and says
// of a run whose process ended without a word that it was killed.
func TestRecorded(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "routing.toml"), []byte("# a project\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{Matrix: plan.Matrix{Root: root}, Steps: []*plan.Step{{Values: []plan.Value{{Text: "open-sesame", Secret: true}}, Exclusive: "db"}}}
	slow := make(chan bool, 1)
	r := Open(root, nil, Options{Slow: func() { slow <- true }})
	o := r.Options(p)
	if o.Store == nil || o.Workspace == nil || o.Degraded != "" || o.StorePath != archive.Store(root) || o.Level != receipts.LevelHash {
		t.Fatalf("%+v", o)
	}
	if killed := r.Begin(o.Run, "a.dlct"); killed != nil {
		t.Errorf("%q", killed)
	}
	s, err := o.Workspace.Take(t.Context())
	if err != nil || s.Bytes == (receipts.Hash{}) {
		t.Fatalf("%v, %v", s, err)
	}
	if again, err := o.Workspace.Take(t.Context()); err != nil || again.Bytes != s.Bytes {
		t.Errorf("the store and its archive count as files of the project: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Workspace.Take(ended); err == nil {
		t.Error("a snapshot is taken after an interruption")
	}
	o.Keep(s)
	r.Keep(&report.Document{Run: o.Run, Degraded: "open-sesame", Lines: []*report.DocResult{}})
	r.End()
	r.Close(nil)
	_, logs := r.o.Paths(root)
	if text, err := logs.ReadRun(o.Run); err != nil || strings.Contains(string(text), "sesame") || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("%v: %s", err, text)
	}
	if f, _, err := blob.Open(t.Context(), string(logs), s.Bytes, 1<<20); err != nil {
		t.Error("the list of files is not kept: ", err)
	} else {
		f.Close()
	}
	if len(slow) > 0 {
		t.Error("a snapshot of two files is slow")
	}
}

// TestAheadEnds ends a first snapshot that nobody took.
func TestAheadEnds(t *testing.T) {
	a := begin(workspace.NewTracker(t.TempDir(), workspace.Options{}), func() {}, nil, nil)
	a.end()
	select {
	case <-a.first:
	default:
		t.Error("it goes on")
	}
}

// TestNotStill: a snapshot that does not count is not returned.
func TestNotStill(t *testing.T) {
	why := errors.New("another tree")
	a := begin(workspace.NewTracker(t.TempDir(), workspace.Options{}), func() {}, func(*workspace.Snapshot) error { return why }, nil)
	defer a.end()
	for range 2 {
		if s, err := a.Take(t.Context()); s != nil || !errors.Is(err, why) {
			t.Errorf("%v, %v", s, err)
		}
	}
}
