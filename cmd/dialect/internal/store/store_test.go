package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/policy"
)

var noon = receipts.Time{Time: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}

// receipt is one of a command that ended as status says.
func receipt(binding string, status receipts.Status) *receipts.Receipt {
	code := 0
	r := &receipts.Receipt{
		Version: 1, Argv: []receipts.Datum{receipts.Text("go")}, Command: receipts.CommandHash([]string{"go"}), Kind: "process", Attempt: 1, Timestamp: noon, Status: status,
		ExitCode: &code, Session: "s", Run: "r-1", Step: "1", Binding: binding, Line: receipts.Line{File: receipts.Text("q.dlct"), Number: 1, Text: receipts.Text("Test \x1b[2J\nall")},
	}
	if status == receipts.StatusFailed {
		code = 1
		r.StopReason = receipts.StopExitCode
	}
	return r
}

// project makes a project with a store of these receipts, goes there, and returns their ids.
func project(t *testing.T, list ...*receipts.Receipt) (root string, ids []string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	path := archive.Store(root)
	if err := archive.Make(root); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		rec, err := r.Record()
		if err == nil {
			err = s.Append(t.Context(), rec)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, rec.SHA().String())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return root, ids
}

// status is the exit status of an error.
func status(err error) int {
	var f *exit.Failure
	if errors.As(err, &f) {
		return f.Status
	}
	return 0
}

// TestPath looks for the store of the nearest project, and says where there are others.
func TestPath(t *testing.T) {
	root, _ := project(t)
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	if path, err := (store.Place{}).Path(); path != archive.Store(root) || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	if path, err := (store.Place{Name: "x.db"}).Path(); path != "x.db" || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	t.Chdir(filepath.Dir(root))
	if path, err := archive.Nearest(filepath.Dir(root)); path != "" || err != nil {
		t.Skip("there is a store above the temporary files")
	}
	_, err := store.Place{}.Path()
	var f *exit.Failure
	if !errors.As(err, &f) || f.Status != exit.Failed || !strings.Contains(strings.Join(f.Hints, ""), filepath.Join(filepath.Base(root), archive.Folder)) {
		t.Errorf("%v, %+v", err, f)
	}
}

// TestWith opens what is not a store: nothing is made, nothing is changed, and the error has its status.
func TestWith(t *testing.T) {
	root, _ := project(t)
	never := func(context.Context, *sqlite.Store) error {
		t.Error("it is opened")
		return nil
	}
	if err := os.WriteFile("text", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(t.TempDir(), "linked")
	if err := errors.Join(os.Mkdir(linked, 0o700), os.Symlink(filepath.Join(root, archive.Folder), filepath.Join(linked, archive.Folder))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"none.db": exit.Failed, "text": exit.Refused, archive.Store(linked): exit.Refused} {
		err := store.Place{Name: name}.With(sqlite.Options{}, never)
		if status(err) != want || errors.Is(err, store.ErrNone) != (name == "none.db") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat("none.db"); err == nil {
		t.Error("a store was made")
	}
	if text, err := os.ReadFile("text"); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	want := errors.New("x")
	if err := (store.Place{}).With(sqlite.Options{ReadOnly: true}, func(context.Context, *sqlite.Store) error { return want }); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

// TestRecords asks for records by ids that there are and are not.
func TestRecords(t *testing.T) {
	root, ids := project(t, receipt("test_go", receipts.Succeeded), receipt("test_go", receipts.StatusFailed), receipt("vet", receipts.Pending))
	var p store.Place
	if l, err := p.List(store.Filter{Binding: "test_go"}); err != nil || len(l.Records) != 2 || l.Records[0].SHA256 != ids[0] {
		t.Errorf("%v, %+v", err, l)
	}
	if _, err := p.Record(strings.Repeat("ab", 32)); status(err) != exit.Failed {
		t.Errorf("%v", err)
	}
	r, logs, err := p.Receipt(ids[1][:12])
	if err != nil || r.Status != receipts.StatusFailed || logs != archive.Of(archive.Store(root)) {
		t.Errorf("%v, %+v, %s", err, r, logs)
	}
	for i, want := range []bool{true, false, false} {
		if d, err := p.Validate(ids[i]); err != nil || d.Passed() != want || d.Verdict != map[bool]string{true: "valid", false: "refused"}[want] {
			t.Errorf("%d: %v, %+v", i, err, d)
		}
	}
	for i, want := range []bool{true, false} {
		d, err := p.Settle(ids[2], receipts.Settlement{Status: receipts.Succeeded, By: "ann", Timestamp: noon}, nil)
		if err != nil || d.Passed() != want {
			t.Errorf("settlement %d: %v, %+v", i, err, d)
		}
	}
	if got := p.Last("test_go"); !strings.HasPrefix(got, "2; the last is "+ids[1][:12]) {
		t.Errorf("%q", got)
	}
	if got := p.Last("other"); got != "none" {
		t.Errorf("%q", got)
	}
	if got := (store.Place{Name: "none.db"}).Last("test_go"); got != "" {
		t.Errorf("%q", got)
	}
	found := p.IDs()
	for _, id := range found {
		if strings.ContainsAny(id, "\n\x1b") || strings.Count(id, "\t") != 1 {
			t.Errorf("%q", id)
		}
	}
	if len(found) != 3 || !strings.HasPrefix(found[0], ids[2][:12]+"\t") {
		t.Errorf("%q", found)
	}
}

// TestAudit compares a store with its log and with a checkpoint that was kept.
func TestAudit(t *testing.T) {
	root, _ := project(t, receipt("a", receipts.Succeeded), receipt("b", receipts.Succeeded))
	var p store.Place
	text, err := p.Checkpoint()
	if err == nil {
		err = os.WriteFile("kept", text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	kept, err := store.ReadCheckpoint("kept", nil)
	if err != nil || kept.Count != 2 {
		t.Fatalf("%v, %+v", err, kept)
	}
	a, tampered, err := p.Audit(*kept)
	if err != nil || tampered || !a.Consistent || a.Truncation != "checked" || a.Signed != nil {
		t.Errorf("%v, %+v", err, a)
	}
	if err := os.Remove(archive.Store(root)); err != nil {
		t.Fatal(err)
	}
	other, _ := project(t, receipt("c", receipts.Succeeded))
	if a, tampered, err := (store.Place{Name: archive.Store(other)}).Audit(*kept); err != nil || !tampered || a.Consistent || len(a.Findings) == 0 {
		t.Errorf("another store: %v, %+v", err, a)
	}
	for name, want := range map[string]int{"none": exit.Usage, archive.Store(other): exit.Refused} {
		if _, err := store.ReadCheckpoint(name, nil); status(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if kept, err := store.ReadCheckpoint("", nil); kept != nil || err != nil {
		t.Errorf("%v, %v", kept, err)
	}
}

// TestReadKeys reads keys as text and from files.
func TestReadKeys(t *testing.T) {
	dir := t.TempDir()
	var public []string
	for _, name := range []string{"ann", "bob"} {
		_, key, err := receipts.GenerateKey(name)
		if err != nil {
			t.Fatal(err)
		}
		public = append(public, key)
	}
	file, empty := filepath.Join(dir, "keys"), filepath.Join(dir, "empty")
	if err := errors.Join(os.WriteFile(file, []byte(strings.Join(public, "\n")+"\n"), 0o600), os.WriteFile(empty, []byte("\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if v, err := store.ReadKeys(nil); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	for _, names := range [][]string{{file}, public} {
		if v, err := store.ReadKeys(names); v == nil || err != nil {
			t.Errorf("%q: %v", names, err)
		}
	}
	for _, names := range [][]string{{empty}, {"a+b+c"}, {filepath.Join(dir, "none")}, {public[0], dir}} {
		if v, err := store.ReadKeys(names); v != nil || status(err) != exit.Usage {
			t.Errorf("%q: %v, %v", names, v, err)
		}
	}
}

// TestExport writes the log, bundles and statements.
func TestExport(t *testing.T) {
	_, ids := project(t, receipt("a", receipts.Succeeded), receipt("b", receipts.Succeeded))
	var p store.Place
	var b bytes.Buffer
	if err := p.Export(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var first struct {
		SHA256 string
		Body   string
	}
	var head struct{ Count int64 }
	if len(lines) != 3 || json.Unmarshal([]byte(lines[0]), &first) != nil || json.Unmarshal([]byte(lines[2]), &head) != nil || first.SHA256 != ids[0] || head.Count != 2 {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := p.Bundle(&b, nil, ids[1:]); err != nil {
		t.Fatal(err)
	}
	if bundle, err := receipts.ParseBundle(b.Bytes()); err != nil || bundle == nil {
		t.Errorf("%v: %s", err, b.String())
	}
	if err := p.Bundle(&b, nil, []string{"g-000000000000"}); status(err) != exit.Failed {
		t.Errorf("%v", err)
	}
	b.Reset()
	if err := p.InToto(&b, "", nil); err != nil || strings.Count(b.String(), "\n") != 2 || !strings.Contains(b.String(), ids[0]) {
		t.Errorf("%v: %s", err, b.String())
	}
	if err := p.InToto(&b, "99999", nil); status(err) != exit.Usage {
		t.Errorf("a key that is not there: %v", err)
	}
}

// TestTrust records a pin where there is a store.
func TestTrust(t *testing.T) {
	root, _ := project(t)
	path := filepath.Join(root, "routing.toml")
	if err := os.WriteFile(path, []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pin, err := policy.New(plan.Matrix{Root: root, Path: path, SHA256: strings.Repeat("ab", 32), Files: []plan.File{{Path: path, Name: "routing.toml", Content: []byte("# none\n")}}}, "", noon.Time, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := (store.Place{}).Trust(pin, "ann"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (store.Place{}).Export(&b); err != nil || strings.Count(b.String(), `"kind":"trust"`) != 1 {
		t.Errorf("%v: %s", err, b.String())
	}
	if err := (store.Place{Name: "none.db"}).Trust(pin, "ann"); err == nil {
		t.Error("it is recorded in no store")
	}
}

// TestOnTree says what is known of a step on the present files.
func TestOnTree(t *testing.T) {
	root, _ := project(t, receipt("a", receipts.Succeeded))
	m := &plan.Matrix{Root: root}
	for binding, want := range map[string]string{"a": "none on the present files; the last is succeeded", "b": "none yet"} {
		if got := store.OnTree(t.Context(), &plan.Step{Binding: binding}, m); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", binding, got)
		}
	}
	if err := os.WriteFile(archive.Store(root), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := store.OnTree(t.Context(), &plan.Step{Binding: "a"}, m); !strings.HasPrefix(got, "the store cannot be read") {
		t.Errorf("%q", got)
	}
	if got := store.OnTree(t.Context(), &plan.Step{Binding: "a"}, &plan.Matrix{Root: t.TempDir()}); got != "" {
		t.Errorf("%q", got)
	}
}

// TestRemedyOf holds that a fault of the disk is known by its text.
func TestRemedyOf(t *testing.T) {
	for text, want := range map[string]string{
		fmt.Sprintf("%v: SQL: 13", sqlite.ErrNoRoom):       "make room on its disk, ",
		fmt.Sprintf("%v: SQL: 5", sqlite.ErrBusy):          "try again, ",
		"open x: " + syscall.EROFS.Error():                 "its file system can only be read",
		"the store x is not a SQLite database; left alone": "",
	} {
		if got := store.RemedyOf(text); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestRemedyOfState: where the folder of --state cannot be used the store is whole, and stays where it is.
func TestRemedyOfState(t *testing.T) {
	for _, tt := range []struct {
		err  sqlite.StateError
		want string
	}{
		{sqlite.StateError{Err: &fs.PathError{Op: "write", Path: "s.audit", Err: syscall.ENOSPC}}, "make room there, then ask again: the store is whole"},
		{sqlite.StateError{Recorded: true, Err: syscall.EDQUOT}, "make room there, then ask again; if it was to be consumed, treat it as not consumed, and run again for a new gate"},
		{sqlite.StateError{Err: fs.ErrPermission}, "see to it that you can write there, then ask again: the store is whole"},
		{sqlite.StateError{Err: sqlite.ErrUnprotected}, "ask as another user, with a folder of that user's: the store is whole"},
		{sqlite.StateError{Err: fmt.Errorf("%w: it", sqlite.ErrBusy)}, "try again, once that process is done or has ended: the store is whole"},
	} {
		if got := store.Remedy(fmt.Errorf("x: %w", &tt.err)); got != tt.want {
			t.Errorf("%v: %q, want %q", &tt.err, got, tt.want)
		}
	}
}

// TestAside holds that a store which is moved away keeps the records that are in its WAL alone, as after a run that was killed.
func TestAside(t *testing.T) {
	root, _ := project(t)
	for name, path := range map[string]string{"the project's": archive.Store(root), "a named one": filepath.Join(root, "my stores", "s.db")} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			rec, err := receipt("late", receipts.StatusFailed).Record()
			if err == nil {
				err = s.Append(t.Context(), rec)
			}
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
				t.Fatalf("the WAL: %v, %v", info, err)
			}
			for range 2 { // what was moved there before stays
				command := exec.Command("/bin/sh", "-c", store.Aside(path))
				command.Dir = root
				if out, err := command.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v: %s", store.Aside(path), err, out)
				}
				err := os.MkdirAll(filepath.Dir(path), 0o700)
				if err == nil {
					err = os.WriteFile(path, nil, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			moved := filepath.Join(filepath.Dir(path)+".bad", filepath.Base(path))
			if archive.Project(path) == "" {
				moved = filepath.Join(path+".bad", filepath.Base(path))
			}
			err = store.Place{Name: moved}.With(sqlite.Options{ReadOnly: true}, func(ctx context.Context, s *sqlite.Store) error {
				_, err := s.Get(ctx, rec.SHA().String())
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
