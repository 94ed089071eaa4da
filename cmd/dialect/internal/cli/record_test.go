package cli

import (
	"database/sql"
	"path/filepath"
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
