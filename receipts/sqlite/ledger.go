package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/command-dialect/dialect/receipts"
)

// A Ledger is a consumer's own list of what is spent, in a file of its own. A log
// cannot prove that something did not happen, so single use is as strong as the
// place that keeps what was used: copies of a store share no memory, but they share
// the ledger of the asker.
//
// A ledger is made by the first [Ledger.Spend]: what asks whether something may be consumed,
// and is refused before, leaves none. It appears whole, with its table.
type Ledger struct {
	path string
	db   *sql.DB // nil until something is spent
}

const ledgerID = 0x646c6c67 // "dllg"

const ledgerSchema = `
CREATE TABLE spent(sha BLOB PRIMARY KEY, by TEXT NOT NULL, purpose TEXT NOT NULL, at TEXT NOT NULL) STRICT, WITHOUT ROWID;
PRAGMA application_id=0x646c6c67;
`

// A LedgerError says that a ledger cannot be opened, read or written: nothing was consumed.
type LedgerError struct {
	Path string
	Err  error
}

func (e *LedgerError) Error() string {
	return "the ledger " + e.Path + " cannot be used: " + e.Err.Error()
}
func (e *LedgerError) Unwrap() error { return e.Err }

// errNoLedger says that something else is at the path of a ledger.
var errNoLedger = errors.New("it is not a ledger; it was left unchanged")

// OpenLedger returns the ledger in the file at path, which need not exist; its directory must.
// If something else is there, it returns a [*LedgerError], and does not open it for writing.
func OpenLedger(path string) (*Ledger, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		err = lookLedger(abs)
	}
	if err != nil {
		return nil, &LedgerError{Path: path, Err: err}
	}
	return &Ledger{path: path}, nil
}

// lookLedger returns an error if something is at path that is not a ledger, or nothing can be there.
func lookLedger(path string) error {
	f, _, err := hold(path, os.O_RDONLY, nil)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(path))
		return err
	}
	if err != nil {
		return err
	}
	defer f.Close()
	// The header says whose database it is: https://www.sqlite.org/fileformat.html#application_id
	const at = 68
	var id [4]byte
	if _, err := f.ReadAt(id[:], at); err != nil || binary.BigEndian.Uint32(id[:]) != ledgerID {
		return errNoLedger // an empty file is not a ledger either
	}
	return nil
}

// make makes the ledger at path, unless another process has.
func (l *Ledger) make(ctx context.Context, path string) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".dialect-ledger-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, filepath.Base(path))
	db, err := dialLedger(ctx, name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE;"+ledgerSchema+"COMMIT")
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		// Unlike a new name, a second name replaces nothing. Of two that make it the first wins.
		if err = os.Link(name, path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return err
}

func dialLedger(ctx context.Context, path string, flag int) (*sql.DB, error) {
	f, _, err := hold(path, flag, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close() // no lock is taken before the first transaction
	// Without a WAL the file alone is the whole ledger: it can be copied and kept.
	db, conn, err := dial(ctx, path, f, "mode=rw&_pragma=synchronous(FULL)&_txlock=immediate"+busyTimeout(20*time.Second), nil)
	if err != nil {
		return nil, err
	}
	return db, conn.Close() // back to db, which has no other
}

func (l *Ledger) open(ctx context.Context) error {
	path, err := filepath.Abs(l.path)
	if err != nil || l.db != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := l.make(ctx, path); err != nil {
			return err
		}
	}
	if err := lookLedger(path); err != nil { // it may be another since OpenLedger
		return err
	}
	l.db, err = dialLedger(ctx, path, os.O_RDWR)
	return err
}

// Spend enters hashes, all or none: the refusal names one that was spent already.
// Of processes that race for the same hash one wins. An error of its file is a [*LedgerError].
func (l *Ledger) Spend(ctx context.Context, hashes []receipts.Hash, by, purpose string, at receipts.Time) (*receipts.Refusal, error) {
	refusal, err := l.spend(ctx, hashes, by, purpose, at)
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return refusal, err
	case isCode(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	case isCode(err, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY): // its journal, in a folder that cannot be written
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return nil, &LedgerError{Path: l.path, Err: withRoom(err)}
}

func (l *Ledger) spend(ctx context.Context, hashes []receipts.Hash, by, purpose string, at receipts.Time) (*receipts.Refusal, error) {
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	for _, h := range hashes {
		res, err := tx.ExecContext(ctx, "INSERT INTO spent(sha, by, purpose, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", blob(h), by, purpose, at.String())
		if err != nil {
			return nil, err
		}
		if n, err := res.RowsAffected(); err != nil {
			return nil, err
		} else if n == 1 {
			continue
		}
		var who, when string
		if err := tx.QueryRowContext(ctx, "SELECT by, at FROM spent WHERE sha = ?", blob(h)).Scan(&who, &when); err != nil {
			return nil, err
		}
		return &receipts.Refusal{Reason: receipts.Spent, SHA: h,
			Message: fmt.Sprintf("%s was spent by %s at %s, says the ledger %s", h.Short(), who, when, l.path)}, nil
	}
	return nil, tx.Commit()
}

// Close closes the file.
func (l *Ledger) Close() error {
	if l.db == nil {
		return nil
	}
	return l.db.Close()
}
