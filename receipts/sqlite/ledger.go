package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A Ledger is a consumer's own list of what is spent, in a file of its own. A log
// cannot prove that something did not happen, so single use is as strong as the
// place that keeps what was used: copies of a store share no memory, but they share
// the ledger of whoever asks.
type Ledger struct {
	path string
	db   *sql.DB
}

const ledgerSchema = `
CREATE TABLE IF NOT EXISTS spent(sha BLOB PRIMARY KEY, by TEXT NOT NULL, purpose TEXT NOT NULL, at TEXT NOT NULL) STRICT, WITHOUT ROWID;
PRAGMA application_id=0x646c6c67;
`

// OpenLedger opens the ledger in the file at path, and makes it where there is none.
func OpenLedger(ctx context.Context, path string) (*Ledger, error) {
	l := &Ledger{path: path}
	if err := l.open(ctx); err != nil {
		return nil, &UnusableError{Path: path, Err: err}
	}
	return l, nil
}

func (l *Ledger) open(ctx context.Context) error {
	abs, err := filepath.Abs(l.path)
	if err != nil {
		return err
	}
	f, _, err := hold(abs, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close() // also below: a second time does nothing
	// Without a WAL the file alone is the whole ledger: it can be copied and kept.
	db, conn, err := dial(ctx, abs, f, "mode=rw&_pragma=synchronous(FULL)&_txlock=immediate"+busyTimeout(20*time.Second))
	if err != nil {
		return err
	}
	conn.Close() // back to db, which has no other
	f.Close()
	var app, tables int64
	err = db.QueryRowContext(ctx, "SELECT a.application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id a").Scan(&app, &tables)
	if err == nil && app != 0x646c6c67 && tables > 0 {
		err = errors.New("it is a database of something else; it was left as it is")
	}
	if err == nil && tables == 0 {
		_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE;"+ledgerSchema+"COMMIT")
	}
	if err != nil {
		db.Close()
		return err
	}
	l.db = db
	return nil
}

// Spend enters hashes, all or none: the refusal names one that is there already.
// Of processes that race for the same hash one wins.
func (l *Ledger) Spend(ctx context.Context, hashes []receipts.Hash, by, purpose string, at receipts.Time) (*receipts.Refusal, error) {
	refusal, err := l.spend(ctx, hashes, by, purpose, at)
	if err != nil {
		return nil, &UnusableError{Path: l.path, Err: err}
	}
	return refusal, nil
}

func (l *Ledger) spend(ctx context.Context, hashes []receipts.Hash, by, purpose string, at receipts.Time) (*receipts.Refusal, error) {
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
func (l *Ledger) Close() error { return l.db.Close() }
