package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// Whatever is added to the schema, nothing is acknowledged that the file does not hold, and
// nothing is answered.
func TestSchema(t *testing.T) {
	for name, stmts := range map[string][]string{
		"a trigger that drops failures": {`CREATE TRIGGER t BEFORE INSERT ON record WHEN instr(CAST(NEW.body AS TEXT), '"status":"failed"') BEGIN SELECT RAISE(IGNORE); END`},
		"a trigger that drops all":      {`CREATE TRIGGER t BEFORE INSERT ON record BEGIN SELECT RAISE(IGNORE); END`},
		"a trigger that takes back":     {`CREATE TRIGGER t AFTER UPDATE ON head BEGIN DELETE FROM record WHERE seq >= OLD.count; UPDATE head SET count = OLD.count, root = OLD.root; END`},
		"a trigger on the projection":   {`CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM record WHERE seq = NEW.seq; END`},
		"a view in the place of a table": {`ALTER TABLE head RENAME TO h`,
			`CREATE VIEW head AS WITH RECURSIVE c(id, origin, count, root, note) AS (SELECT id, origin, count, root, note FROM h UNION ALL SELECT id + 1, origin, count, root, note FROM c) SELECT * FROM c`},
		"a table":       {`CREATE TABLE x(y)`},
		"an index":      {`CREATE INDEX x ON record(kind)`},
		"an index less": {`DROP INDEX item_run`},
		"a column":      {`ALTER TABLE record ADD COLUMN z TEXT`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "receipts.db")
			s := openAt(t, path) // it is open when the schema is changed
			fill(t, s, "r-1", 2)
			execAt(t, path, stmts...)
			failed := mustRecord(receiptOf("r-2", 0, receipts.StatusFailed))
			if err := s.Append(ctx, failed); err == nil {
				t.Error("a record is acknowledged")
			}
			for _, again := range []*Store{s, openAny(t, path)} {
				if again == nil {
					continue
				}
				if _, err := again.Ask(ctx, here, ""); err == nil {
					t.Error("a question is answered")
				}
				if _, err := again.Export(ctx, func(Exported) error { return nil }); err == nil {
					t.Error("the log is exported")
				}
				if d, err := again.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{makeReceipt("r-1", 0).SHA().String()}, By: "x", At: at(1)}); err == nil && d.Passed() {
					t.Error("a record is consumed")
				}
			}
		})
	}
}

// A body that is larger than that of any record is not read: it can be of any size.
func TestLargeBody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	s := openAt(t, path)
	fill(t, s, "r-1", 2)
	s.Close()
	execAt(t, path, fmt.Sprintf("UPDATE record SET body = zeroblob(%d) WHERE seq = 0", receipts.MaxBody+1))
	s = openAt(t, path)
	list, err := s.List(ctx, Filter{})
	if err != nil || len(list) != 2 || len(list[0].Body) > 0 || list[0].InLog || !list[1].InLog {
		t.Errorf("%v, %d records", err, len(list))
	}
	var sizes []int
	if _, err := s.Export(ctx, func(e Exported) error { sizes = append(sizes, len(e.Body)); return nil }); err != nil || len(sizes) != 2 || sizes[0] > 0 || sizes[1] == 0 {
		t.Errorf("%v, bodies of %d bytes", err, sizes)
	}
}

func openAny(t *testing.T, path string) *Store {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return nil
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// What is committed to a file that no longer stands at the path is not acknowledged.
func TestReplacedStore(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"by a copy": func(path string) error {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path+".new", text, 0o600)
			}
			if err == nil {
				err = os.Rename(path+".new", path)
			}
			return err
		},
		"by nothing":         os.Remove,
		"its WAL by nothing": func(path string) error { return os.Remove(path + "-wal") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "receipts.db")
			s := openAt(t, path)
			fill(t, s, "r-1", 2)
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			if err := s.Append(ctx, makeReceipt("r-2", 0)); err == nil {
				t.Error("a record is acknowledged")
			}
		})
	}
}
