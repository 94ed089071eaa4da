package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// endless rewrites the table of the store at path whose root is a page, 1 for the schema: pages of 500 children that are one page each have the same
// row more often than anyone can read, and SQLite finds no fault in that.
func endless(t *testing.T, path string, root int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const depth, children = 16, 500
	size := int(binary.BigEndian.Uint16(text[16:]))
	count := len(text) / size
	old, at := text[(root-1)*size:root*size], 0
	if root == 1 {
		at = 100 // behind the header of the file
	}
	if old[at] != 0x0d || len(text)%size != 0 {
		t.Fatal("the table is not in one page")
	}
	leaf := make([]byte, size)
	copy(leaf, old[at:at+8+2*int(binary.BigEndian.Uint16(old[at+3:]))])
	top := int(binary.BigEndian.Uint16(old[at+5:]))
	copy(leaf[top:], old[top:])
	one := append([]byte(nil), leaf...) // the row of the index that the unique column has, again and again
	binary.BigEndian.PutUint16(one[3:], 1)
	copy(one[8:10], leaf[10:12])
	interior := func(page []byte, at int, first, other uint32) {
		end := size
		page[at] = 0x05
		for i := range children {
			child := other
			if i == 0 {
				child = first
			}
			end -= 5
			binary.BigEndian.PutUint32(page[end:], child)
			page[end+4] = 1
			binary.BigEndian.PutUint16(page[at+12+2*i:], uint16(end))
		}
		binary.BigEndian.PutUint16(page[at+3:], children)
		binary.BigEndian.PutUint16(page[at+5:], uint16(end))
		binary.BigEndian.PutUint32(page[at+8:], other)
	}
	pages := append(append([]byte(nil), leaf...), one...)
	for i := range depth {
		page, next := make([]byte, size), uint32(count+3+i+1)
		if i == depth-1 {
			next = uint32(count + 2)
		}
		interior(page, 0, next, next)
		pages = append(pages, page...)
	}
	clear(old[at:])
	interior(old, at, uint32(count+1), uint32(count+3))
	text = append(text, pages...)
	binary.BigEndian.PutUint32(text[28:], uint32(len(text)/size))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEndless opens a store that SQLite never finishes to read.
func TestEndless(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	endless(t, path, 1)
	for _, readOnly := range []bool{false, true} {
		if _, err := Open(t.Context(), path, Options{ReadOnly: readOnly}); !errors.Is(err, errForeign) {
			t.Errorf("read only %v: %v", readOnly, err)
		}
	}
}

// TestEndlessTable audits a log whose rows have no end.
func TestEndlessTable(t *testing.T) {
	for table, rows := range map[string]string{
		"node": "INSERT INTO node VALUES (0, zeroblob(32)), (1, zeroblob(32)), (2, zeroblob(32))",
		"record": "INSERT INTO record(seq, sha, kind, body) VALUES (0, x'00', 'run', x'7b7d'), (1, x'01', 'run', x'7b7d'), (2, x'02', 'run', x'7b7d');" +
			"INSERT INTO item(seq, kind, run, session, binding, status, line, started) VALUES (0, 'run', '', '', '', '', 0, ''), (1, 'run', '', '', '', '', 0, ''), (2, 'run', '', '', '', '', 0, '')",
	} {
		path := filepath.Join(t.TempDir(), "s.db")
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var root int
		err = s.conn.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_master WHERE name = ?", table).Scan(&root)
		if err == nil {
			_, err = s.conn.ExecContext(t.Context(), rows)
		}
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		endless(t, path, root)
		if s, err = Open(t.Context(), path, Options{}); err != nil {
			t.Fatal(err)
		}
		a, err := s.Audit(t.Context())
		if err != nil || !slices.ContainsFunc(a.Findings, func(f Finding) bool { return strings.Contains(f.Message, "do not increase") }) {
			t.Errorf("%s: %v, %v", table, a, err)
		}
		if es, err := s.List(t.Context(), Filter{Kinds: []receipts.Kind{receipts.KindRun}}); table == "record" && (err == nil || !strings.Contains(err.Error(), "the newest first: the file was changed")) {
			t.Errorf("%d records are listed, %v", len(es), err)
		}
		s.Close()
	}
}

// TestWithin has opening last longer than it may, as with a WAL that has such a page.
func TestWithin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	why, held, opened := errors.New("too long"), make(chan bool), make(chan *Store, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	s, err := within(ctx, func() (*Store, error) {
		<-held
		s, err := Open(context.Background(), path, Options{})
		opened <- s
		return s, err
	})
	if s != nil || !errors.Is(err, why) {
		t.Errorf("%v, %v", s, err)
	}
	close(held)
	late := <-opened
	if late == nil {
		t.Fatal("it was not opened")
	}
	for late.conn.PingContext(t.Context()) == nil { // until it is closed: nobody else has it
		time.Sleep(time.Millisecond)
	}
}

// TestHugeRow: a row of which the file says that it is larger than any of ours is not read into memory.
func TestHugeRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.conn.ExecContext(t.Context(), "INSERT INTO record(seq, sha, kind, body) VALUES (0, x'00', 'receipt', zeroblob(?))", maxRow-1000); err != nil {
		t.Fatal(err) // it is not the bound itself that is too small
	}
	if _, err := s.conn.ExecContext(t.Context(), "UPDATE record SET body = zeroblob(?)", maxRow+1); !isCode(err, sqlite3.SQLITE_TOOBIG) {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Exec("UPDATE record SET body = zeroblob(50000000); UPDATE head SET count = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Audit(t.Context()); !isCode(err, sqlite3.SQLITE_TOOBIG) {
		t.Errorf("%v", err)
	}
}
