package cli

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/runner"
)

// A store that fails when it is closed degrades the run, which would be over otherwise.
func TestCloseDegrades(t *testing.T) {
	dir := t.TempDir()
	f := &recordFlags{store: filepath.Join(dir, "receipts.db")}
	for _, damage := range []string{"", "DROP TABLE node"} {
		rec := f.openStore(dir, nil)
		if rec.store == nil {
			t.Fatal(rec.reason)
		}
		if damage != "" {
			db, err := sql.Open("sqlite", rec.path)
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
		o := &runner.Outcome{}
		rec.close(o)
		rec.close(o)
		if (o.Degraded != "") != (damage != "") {
			t.Errorf("%q: degraded %q", damage, o.Degraded)
		}
	}
}

// A store that another process holds is not waited for longer than the run may take.
func TestLockedStore(t *testing.T) {
	dir := t.TempDir()
	f := &recordFlags{store: filepath.Join(dir, "receipts.db")}
	first := f.openStore(dir, nil)
	if first.store == nil {
		t.Fatal(first.reason)
	}
	first.close(nil)
	db, err := sql.Open("sqlite", f.store)
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
	f.patience = 10 * time.Millisecond
	if rec := f.openStore(dir, nil); rec.store != nil || !strings.Contains(rec.reason, "locked") {
		t.Errorf("%v, %q", rec.store, rec.reason)
	}
}
