package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// A Ledger is a consumer's own list of what is spent, in a file of its own. A log
// cannot prove that something did not happen, so single use is as strong as the
// place that keeps what was used: copies of a store share no memory, but they share
// the ledger of the asker.
//
// A ledger and a store are two files, and no commit is of both. So what is consumed is entered in the ledger as
// unfinished, recorded in the store, and then finished in the ledger; only then does the answer say that it is consumed. A
// crash, or a full disk, at any point between leaves it unfinished, for the same consumer alone. For one hash
// [Spending.Finish] succeeds once, whatever the stores say.
//
// A ledger is made by the first [Ledger.Begin]: what asks whether something may be consumed,
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

// unfinishedSchema is the table of hashes spent by an attempt that has not ended yet, or never did. A program that
// does not know this table takes them for spent.
const unfinishedSchema = `CREATE TABLE IF NOT EXISTS unfinished(sha BLOB PRIMARY KEY, attempt BLOB NOT NULL) STRICT, WITHOUT ROWID`

// A LedgerError says that a ledger cannot be opened, read or written: nothing was consumed.
type LedgerError struct {
	Path     string
	Err      error
	Recorded bool // the store has recorded that it was consumed
}

func (e *LedgerError) Error() string {
	if e.Recorded {
		return "the store has recorded the consumption, and the ledger " + e.Path + " cannot: " + e.Err.Error()
	}
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

// Begin enters hashes as being spent by a consumer, all or none: the refusal names one that was spent
// already. Those apart are entered, too, and refuse nothing: they may be spent. Until the consumer called by has recorded that, and [Spending.Finish] has returned, they count as
// unfinished: after a crash or a full disk the same consumer may begin again, and nobody else. Of processes that
// race for the same hash one wins, and the others wait for its end. An error of the file is a [*LedgerError].
func (l *Ledger) Begin(ctx context.Context, hashes verify.Covered, by, purpose string, at receipts.Time) (*Spending, *receipts.Refusal, error) {
	p, refusal, err := l.begin(ctx, hashes, by, purpose, at)
	return p, refusal, l.unusable(err)
}

func (l *Ledger) unusable(err error) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case isCode(err, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY): // its journal, in a folder that cannot be written
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return &LedgerError{Path: l.path, Err: withCause(err)}
}

// A Spending is hashes that are being spent. It holds the lock of the ledger.
type Spending struct {
	ledger *Ledger
	tx     *sql.Tx // says that they are spent
}

func (l *Ledger) begin(ctx context.Context, hashes verify.Covered, by, purpose string, at receipts.Time) (_ *Spending, _ *receipts.Refusal, err error) {
	if err := l.open(ctx); err != nil {
		return nil, nil, err
	}
	var attempt [16]byte
	_, _ = rand.Read(attempt[:]) // never fails (crypto/rand)
	entered, refusal, err := l.enter(ctx, attempt[:], hashes, by, purpose, at)
	if err != nil || refusal != nil {
		return nil, refusal, err
	}
	// The lock is held from here to the end, so that nobody takes a live attempt for one that has ended. A signal that
	// comes after the store's commit does not end the transaction.
	tx, err := l.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, nil, err
	}
	res, err := tx.Exec("DELETE FROM unfinished WHERE attempt = ?", attempt[:])
	if err == nil {
		var n int64
		if n, err = res.RowsAffected(); err == nil && n == entered {
			return &Spending{l, tx}, nil, nil
		}
	}
	_ = tx.Rollback()
	if err == nil { // the same consumer has begun again in between: it will have them
		_, refusal, err = l.enter(ctx, nil, hashes, by, purpose, at)
	}
	return nil, refusal, err
}

// enter enters hashes for an attempt, in a transaction, and counts them. Without an attempt it refuses each that somebody else is spending.
func (l *Ledger) enter(ctx context.Context, attempt []byte, hashes verify.Covered, by, purpose string, at receipts.Time) (entered int64, _ *receipts.Refusal, err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, nil, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, unfinishedSchema); err != nil {
		return 0, nil, err
	}
	for i, h := range slices.Concat(hashes.Taken, hashes.Apart) {
		apart := i >= len(hashes.Taken)
		var who, when string
		var unfinished bool
		err := tx.QueryRowContext(ctx, "SELECT by, at, sha IN (SELECT sha FROM unfinished) FROM spent WHERE sha = ?", blob(h)).Scan(&who, &when, &unfinished)
		switch free := errors.Is(err, sql.ErrNoRows); {
		case free && attempt != nil:
		case free:
			continue
		case err != nil:
			return 0, nil, err
		case apart && (!unfinished || who != by || attempt == nil):
			continue
		case !unfinished:
			return 0, &receipts.Refusal{Reason: receipts.Spent, SHA: h,
				Message: fmt.Sprintf("%s was spent by %s at %s, says the ledger %s", h.Short(), who, when, l.path)}, nil
		case who != by || attempt == nil:
			return 0, &receipts.Refusal{Reason: receipts.Spent, SHA: h,
				Message: fmt.Sprintf("%s is being spent by %s since %s, who alone may try again, says the ledger %s", h.Short(), who, when, l.path)}, nil
		}
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO spent(sha, by, purpose, at) VALUES (?, ?, ?, ?)", blob(h), by, purpose, at.String()); err != nil {
			return 0, nil, err
		}
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO unfinished(sha, attempt) VALUES (?, ?)", blob(h), attempt); err != nil {
			return 0, nil, err
		}
		entered++
	}
	if attempt == nil {
		return 0, nil, ErrBusy
	}
	return entered, nil, tx.Commit()
}

// Finish makes the hashes spent, for good. Only after it may a report say that they were consumed.
func (p *Spending) Finish() error {
	err := p.tx.Commit()
	if err == nil {
		return nil
	}
	_ = p.tx.Rollback() // what failed may have left it open
	err = p.ledger.unusable(err)
	var e *LedgerError
	if errors.As(err, &e) {
		e.Recorded = true
	}
	return err
}

// Abandon leaves the hashes unfinished: nobody knows whether what failed is recorded all the same.
func (p *Spending) Abandon() { _ = p.tx.Rollback() }

// Close closes the file.
func (l *Ledger) Close() error {
	if l.db == nil {
		return nil
	}
	return l.db.Close()
}
