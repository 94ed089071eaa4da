package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// TestState keeps a memory in a folder of another user than the store's, and refuses to in one
// of the same user.
func TestState(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s.db")
	s := openAt(t, path)
	fill(t, s, "r-1", 3)
	s.Close()
	_, o := newKey(t, "boss")
	ask := func(path string, keys bool) (*verify.Result, int64, error) {
		t.Helper()
		o := Options{ReadOnly: true, State: state, Keys: o.Keys}
		if !keys {
			o.Keys = nil
		}
		s := openWith(t, path, o)
		defer s.Close()
		res, err := s.Ask(ctx, verify.Query{Outside: true, Now: at(100).Time}, "")
		if err != nil {
			return nil, -1, err
		}
		return res, res.Records - res.Remembered, nil
	}
	if protects, err := StateProtects(state, path); protects || err != nil {
		t.Errorf("of the same user: %v, %v", protects, err)
	}
	if _, _, err := ask(path, false); !errors.Is(err, ErrUnprotected) {
		t.Errorf("of the same user: %v", err)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make a store of somebody else")
	}
	give := func(names ...string) {
		t.Helper()
		for _, name := range names {
			all, err := filepath.Glob(name + "*") // with what SQLite keeps beside it
			for _, file := range all {
				err = errors.Join(err, os.Chown(file, 65534, -1))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	give(dir, path)
	if protects, err := StateProtects(state, path); !protects || err != nil {
		t.Errorf("%v, %v", protects, err)
	}
	for i, keys := range []bool{false, false, true} {
		if _, read, err := ask(path, keys); err != nil || read != []int64{3, 0, 0}[i] {
			t.Errorf("ask %d: %d records are read, %v", i, read, err)
		}
	}
	// Another store is a problem under any name, each time, and the first is not forgotten.
	other := filepath.Join(dir, "other.db")
	s = openAt(t, other)
	fill(t, s, "r-2", 4)
	s.Close()
	give(other)
	for range 2 {
		if res, _, err := ask(other, true); err != nil || res.Verdict != verify.Tampered {
			t.Errorf("%v, %v", res, err)
		}
	}
	if _, read, err := ask(path, true); err != nil || read != 0 {
		t.Errorf("the first one again: %d records are read, %v", read, err)
	}
	// What cannot be kept is reported.
	s = openAt(t, path)
	fill(t, s, "r-3", 1)
	s.Close()
	give(path)
	r := openWith(t, path, Options{ReadOnly: true, State: state})
	defer r.Close()
	err := r.read(ctx, func(*verify.Session) error { return r.memory.file.Close() })
	if e := (*StateError)(nil); !errors.As(err, &e) || e.Dir != state || e.Recorded {
		t.Errorf("a file that is closed: %v", err)
	}
}

// TestStateOfDecisions cuts a gate, and a consumption, off the end of the log. The folder of the
// verifier that decided them knows that they are missing, so that nothing is decided twice.
func TestStateOfDecisions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openAt(t, path)
	hs := fill(t, s, "r-1", 3)
	s.Close()
	state := stateFor(t, path)
	decide := func(path, state string, f func(s *Store) (receipts.Decision, error)) receipts.Decision {
		t.Helper()
		s := openWith(t, path, Options{Existing: true, State: state})
		defer s.Close()
		d, err := f(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	gate := func(s *Store) (receipts.Decision, error) { return s.Gate(ctx, request("r-1", hs)) }
	d := decide(path, state, gate)
	if !d.Passed() {
		t.Fatal(reasons(d))
	}
	consume := func(s *Store) (receipts.Decision, error) {
		return s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{d.Gate.String()}, By: "boss", At: at(60)})
	}
	before := copyStore(t, path)
	if err := os.Chown(before, 65534, -1); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if b, err := os.ReadFile(StateFile(state)); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(StateFile(other), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if d := decide(path, state, consume); !d.Passed() {
		t.Fatal(reasons(d))
	}
	if d := decide(before, state, consume); reasons(d) != string(receipts.Tampered) {
		t.Errorf("the consumption is cut off: %q", reasons(d))
	}
	cutOut(t, before, 4, nil)
	cutOut(t, before, 3, nil)
	if d := decide(before, other, gate); reasons(d) != string(receipts.Tampered) {
		t.Errorf("the gate is cut off: %q", reasons(d))
	}
}

// TestStateRolledBack has the store be rolled back when a consumption was committed, before the
// verifier has kept it: it does not say that anything was consumed.
func TestStateRolledBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openAt(t, path)
	hs := fill(t, s, "r-1", 3)
	s.Close()
	s = openWith(t, path, Options{Existing: true, State: stateFor(t, path)})
	defer s.Close()
	s.between = func(step string) {
		if step != "committed" {
			return
		}
		for _, q := range []string{"DELETE FROM record WHERE seq > 2", "UPDATE head SET count = 3, root = x'" + rootText(t, s, 3) + "'"} {
			if _, err := s.conn.ExecContext(ctx, q); err != nil {
				t.Error(err)
			}
		}
	}
	if d, err := s.Gate(ctx, request("r-1", hs)); err != nil || reasons(d) != string(receipts.Tampered) || !d.Gate.IsZero() {
		t.Errorf("%q, %v, gate %v", reasons(d), err, d.Gate)
	}
}

// TestStateInUse decides nothing while another process has the folder of the verifier: it could
// not keep there what it decided.
func TestStateInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openAt(t, path)
	hs := fill(t, s, "r-1", 3)
	s.Close()
	state := stateFor(t, path)
	f, err := openRegular(StateFile(state))
	if err != nil {
		t.Fatal(err)
	}
	if !tryLock(f) {
		t.Fatal("it is not locked")
	}
	s = openWith(t, path, Options{Existing: true, State: state, BusyTimeout: 30 * time.Millisecond})
	defer s.Close()
	if d, err := s.Gate(ctx, request("r-1", hs)); !errors.Is(err, ErrBusy) {
		t.Errorf("%q, %v", reasons(d), err)
	}
	// What a question saw would be forgotten, too.
	if _, err := s.Ask(ctx, verify.Query{Outside: true, Now: at(100).Time}, ""); !errors.Is(err, ErrBusy) {
		t.Errorf("a question: %v", err)
	}
	f.Close()
	if d, err := s.Gate(ctx, request("r-1", hs)); err != nil || !d.Passed() {
		t.Errorf("%q, %v", reasons(d), err)
	}
}

// TestStateUnread answers nothing where what was kept cannot be read: a store that was rolled back meanwhile would pass.
func TestStateUnread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openAt(t, path)
	hs := fill(t, s, "r-1", 3)
	s.Close()
	state := stateFor(t, path)
	if err := os.WriteFile(StateFile(state), []byte("dialect.memory/9"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckState(state); !errors.Is(err, ErrUnread) {
		t.Errorf("the folder: %v", err)
	}
	s = openWith(t, path, Options{Existing: true, State: state})
	defer s.Close()
	for what, err := range map[string]error{
		"a question": func() error { _, err := s.Ask(ctx, verify.Query{Outside: true, Now: at(100).Time}, ""); return err }(),
		"a gate":     func() error { _, err := s.Gate(ctx, request("r-1", hs)); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "cannot be read: it is damaged, or of another version of dialect") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.Remove(StateFile(state)); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Gate(ctx, request("r-1", hs)); err != nil || !d.Passed() {
		t.Errorf("without the file: %q, %v", reasons(d), err)
	}
}

// TestLocked says of a store that another program has locked that it is: its records are there.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openAt(t, path)
	fill(t, s, "r-1", 1)
	s.Close()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=locking_mode(EXCLUSIVE)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{ReadOnly: true}, {Existing: true}} {
		o.BusyTimeout = 30 * time.Millisecond
		if s, err := Open(ctx, path, o); err == nil {
			s.Close()
			t.Errorf("%+v: it was opened", o)
		} else if !errors.Is(err, ErrBusy) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestWALAlone has the file of a store gone, or empty, beside its WAL: SQLite would begin a new one, and remove the records that are there.
func TestWALAlone(t *testing.T) {
	for _, empty := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "s.db")
		s := openAt(t, path)
		fill(t, s, "r-1", 1)
		wal, err := os.ReadFile(path + "-wal")
		s.Close()
		if err != nil || len(wal) == 0 {
			t.Fatal(err, len(wal))
		}
		if err := os.WriteFile(path+"-wal", wal, 0o600); err != nil {
			t.Fatal(err)
		}
		if empty {
			err = os.Truncate(path, 0)
		} else {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{ReadOnly: true}, {Existing: true}, {}} {
			if s, err := Open(ctx, path, o); err == nil {
				s.Close()
				t.Errorf("empty %v, %+v: it was opened", empty, o)
			} else if !errors.Is(err, errLeft) {
				t.Errorf("empty %v, %+v: %v", empty, o, err)
			}
		}
		if now, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(now, wal) {
			t.Errorf("empty %v: of %d bytes of the WAL %d are left, %v", empty, len(wal), len(now), err)
		}
	}
}
