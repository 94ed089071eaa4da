// Package sqlite keeps records in one SQLite file: an append-only Merkle log, and
// a projection of it that can be asked. What comes in are records and requests of
// package receipts; what goes out are entries and decisions. Package verify
// decides what is valid; this package makes the decision and its consequence one
// transaction.
//
// # The file
//
//	record  the log: its text by index, SHA-256, kind, body, signature
//	node    the stored hashes of the log, numbered as by golang.org/x/mod/sumdb/tlog
//	head    the log's checkpoint: the store's origin, the number of records and the root over them; the
//	        last checkpoint that was signed
//	item    a projection: run, session, binding, command, tree, status, line, and
//	        who consumed, settled or accepted it
//
// The projection can be made again from the log, so that a column of it that is
// set back is found by [Store.Audit].
//
// # Durability
//
// The file is in WAL mode with synchronous=FULL: a record that [Store.Append] or
// [Store.Durable] has acknowledged survives kill -9 and loss of power. Writers of
// several processes take turns (BEGIN IMMEDIATE); a record that is appended again
// is not appended twice. A file at this path that is not a store
// is refused and left unchanged.
//
// It is one package of up to 4,070 lines because records, projection, decisions and audits are read and
// written in transactions of one connection, under one lock.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// ErrNoStore is wrapped by the error of an Open that makes no store where there is none.
var ErrNoStore = errors.New("there is no store")

// ErrBusy is wrapped by the error of a store that another process has locked, for longer
// than [Options.BusyTimeout]. Its records are there.
var ErrBusy = errors.New("another process has it locked")

// ErrNoRoom is wrapped by the error of a store that SQLite could not write to, or not open, since
// no file on its disk can grow.
var ErrNoRoom = errors.New("its disk is full, or a limit on the size of files is reached")

// A ForeignError is wrapped by the error of a store in whose place stands what dialect did not make, and says what.
type ForeignError string

func (e ForeignError) Error() string { return string(e) }

// ErrLongPath is wrapped by the error of a store whose path is too long.
var ErrLongPath = errors.New("SQLite opens no file with a path of more than 500 bytes")

// longPath is the bytes that a path may have: SQLite takes 512, of which its own files beside
// the store need some.
const longPath = 500

// A StateError says that the folder of [Options.State] cannot be used. The store is whole.
type StateError struct {
	Dir      string
	Recorded bool // the log has the decision that was asked for
	Err      error
}

func (e *StateError) Error() string {
	text := "cannot keep in " + e.Dir + " how far the store was audited: " + e.Err.Error()
	if e.Recorded {
		text = "the decision is in the log, but " + text
	}
	return text
}

func (e *StateError) Unwrap() error { return e.Err }

// An UnusableError says that a store cannot be opened, read or written. It is
// never a refusal: nothing is known about the records.
type UnusableError struct {
	Path string
	Err  error
}

func (e *UnusableError) Error() string {
	return "the store " + e.Path + " cannot be used: " + e.Err.Error()
}
func (e *UnusableError) Unwrap() error { return e.Err }

// Options say how to open a store.
type Options struct {
	// ReadOnly opens a store that exists, and changes nothing.
	ReadOnly bool
	// Existing opens a store that exists, to add to it.
	Existing bool
	// BusyTimeout is how long to wait for another writer; 0 means 20 s.
	BusyTimeout time.Duration
	// Signer signs what is appended, and the checkpoint; nil signs nothing.
	Signer *receipts.Signer
	// Keys are those whose signatures count; by default the signer's own.
	Keys note.Verifiers
	// Kept is a checkpoint that was kept elsewhere, for verdicts; nil if there is none.
	Kept *receipts.Checkpoint
	// State is a folder of the verifier's own, in which it keeps how far it has audited
	// which store, and which the store's writers cannot write; empty if there is none.
	// Without it that is kept beside the store, and believed only where no keys are given.
	State string

	between watcher
}

// makes reports whether a store is made where there is none.
func (o Options) makes() bool { return !o.ReadOnly && !o.Existing }

// A Store is an open store. It is safe for concurrent use.
type Store struct {
	path string
	db   *sql.DB

	signer *receipts.Signer
	keys   note.Verifiers
	kept   *receipts.Checkpoint
	state  string
	busy   time.Duration

	between watcher

	info, wal   os.FileInfo // of the file, and of its WAL, as they were when they were first seen
	remembering bool
	memory      *memory
	before      *verify.Session // the last that was of committed records
	written     *appender       // of the transaction under way

	mu    sync.Mutex // guards conn and statements: one writer at a time
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	mine  map[receipts.Hash]bool    // records that this process has signed
	fresh map[int64]receipts.Record // the last that this process has appended, parsed, by their index; of a transaction that failed, too
	last  receipts.Checkpoint       // the checkpoint that this process has signed last
	next  receipts.Checkpoint       // the one of the transaction under way

	workers workers
	queue   queue
}

const (
	applicationID = 0x646c6374 // "dlct"
	schemaVersion = 2
)

const schemaLog = `
CREATE TABLE record(seq INTEGER PRIMARY KEY, sha BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, body BLOB NOT NULL, signature TEXT) STRICT;
CREATE TABLE node(idx INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
CREATE TABLE head(id INTEGER PRIMARY KEY CHECK (id = 1), origin TEXT NOT NULL, count INTEGER NOT NULL, root BLOB NOT NULL, note BLOB) STRICT;
`

const schemaItem = `
CREATE TABLE item(seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, run TEXT NOT NULL, session TEXT NOT NULL, parent TEXT, binding TEXT NOT NULL, status TEXT NOT NULL, line INTEGER NOT NULL, started TEXT NOT NULL, command BLOB, tree BLOB, gittree TEXT, consumed INTEGER NOT NULL DEFAULT 0, consumed_by TEXT, consumed_at TEXT, consumption INTEGER, settlement INTEGER, accepted INTEGER) STRICT;
CREATE INDEX item_run ON item(run);
CREATE INDEX item_tree ON item(tree) WHERE tree IS NOT NULL;
CREATE INDEX item_gittree ON item(gittree) WHERE gittree IS NOT NULL;
CREATE INDEX item_binding ON item(binding) WHERE binding <> '';
`

// Open opens the store in the file at path, and makes it where there is none, unless the
// options say otherwise; the directory must exist. The file is never a link, nor are those
// that SQLite keeps beside it. Any error but that of ctx is an [*UnusableError].
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, &UnusableError{Path: path, Err: err}
	}
	return s, nil
}

// openLong bounds what opening takes beside waiting for others. The pages of a table can name each other so that SQLite, which reads the schema
// before all else, has more rows to read than there is time.
const openLong = 5 * time.Second

func open(ctx context.Context, path string, o Options) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 20 * time.Second
	}
	limit := 2*o.BusyTimeout + openLong
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it does not open within %v: it is damaged, or its disk is slow", limit))
	defer cancel()
	s, err := within(ctx, func() (*Store, error) { return connect(ctx, abs, o, "") })
	if err != nil && len(abs) > longPath && isCode(err, sqlite3.SQLITE_CANTOPEN) {
		return nil, fmt.Errorf("%w: %w", ErrLongPath, err)
	}
	if err != nil && o.ReadOnly && (isCode(err, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) || isNoRoom(err)) {
		// In a directory that cannot be written, or on a full disk, the WAL has no index. Without
		// a WAL the file alone is the whole store.
		if wal, werr := os.Lstat(abs + "-wal"); errors.Is(werr, fs.ErrNotExist) || werr == nil && wal.Mode().IsRegular() && wal.Size() == 0 {
			s, err = within(ctx, func() (*Store, error) { return connect(ctx, abs, o, "&immutable=1") })
		}
	}
	return s, withCause(err)
}

// within returns what open does, or why ctx is over: the driver heeds no context while SQLite reads the schema.
func within(ctx context.Context, open func() (*Store, error)) (*Store, error) {
	var s *Store
	var err error
	done := make(chan struct{})
	go func() {
		s, err = open()
		close(done)
	}()
	select {
	case <-done:
		return s, err
	case <-ctx.Done():
		go func() {
			if <-done; s != nil {
				s.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

func connect(ctx context.Context, path string, o Options, extra string) (*Store, error) {
	mode, flag := "rw", os.O_RDWR
	switch {
	case o.ReadOnly:
		mode, flag = "ro", os.O_RDONLY
	case o.makes():
		flag |= os.O_CREATE // SQLite would make the file with the umask's mode
	}
	wal, werr := os.Lstat(path + "-wal") // before the file itself, which another process may be making
	left := werr == nil && wal.Size() > 0
	f, fresh, err := hold(path, flag, o.between)
	switch {
	case left && (fresh || errors.Is(err, fs.ErrNotExist)):
		err = errLeft
	case !o.makes() && (fresh || errors.Is(err, fs.ErrNotExist)):
		err = ErrNoStore
	}
	if f != nil {
		defer f.Close() // also below: a second time does nothing
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && left && info.Size() == 0 {
		err = errLeft
	}
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		allowWriting(path, info)
	}
	db, conn, err := dial(ctx, path, f, "mode="+mode+busyTimeout(o.BusyTimeout)+extra, o.between)
	if err != nil {
		return nil, err
	}
	f.Close()
	s := &Store{path: path, db: db, conn: conn, info: info, stmts: make(map[string]*sql.Stmt), signer: o.Signer, keys: o.Keys, kept: o.Kept, state: o.State, busy: o.BusyTimeout, between: o.between, mine: make(map[receipts.Hash]bool), fresh: make(map[int64]receipts.Record)}
	if s.signer != nil && s.keys == nil {
		s.keys = s.signer.Keys()
	}
	s.queue.init()
	if err := s.prepareFile(ctx, o); err != nil {
		conn.Close()
		db.Close()
		return nil, err
	}
	return s, nil
}

// prepareFile makes sure that the file is a store of this version.
func (s *Store) prepareFile(ctx context.Context, o Options) error {
	app, version, tables, err := s.identity(ctx)
	if err != nil {
		return err
	}
	if app == 0 && tables > 0 {
		return errForeign
	}
	if app == 0 && !o.makes() {
		return ErrNoStore
	}
	if !o.ReadOnly {
		// The mode is kept in the file; asking for it again would cost a lock.
		var mode string
		if err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
			return err
		}
		if mode != "wal" && (app == 0 || app == applicationID && version <= schemaVersion) {
			if err := s.retryBusy(ctx, "PRAGMA journal_mode=WAL"); err != nil {
				return err
			}
		}
		if _, err := s.conn.ExecContext(ctx, "PRAGMA synchronous=FULL"); err != nil {
			return err
		}
		if app == 0 {
			if err := s.create(ctx); err != nil {
				return err
			}
			if app, version, _, err = s.identity(ctx); err != nil {
				return err
			}
		}
	}
	switch {
	case app != applicationID:
		return errForeign
	case version < schemaVersion:
		return fmt.Errorf("it was made by an older dialect (schema version %d, and this one knows %d)", version, schemaVersion)
	case version != schemaVersion:
		return fmt.Errorf("it has schema version %d, and this dialect knows %d: use a newer dialect", version, schemaVersion)
	}
	return nil
}

// errLeft is of a file that is gone or empty beside its WAL, which SQLite would remove: the last records can be there alone.
var errLeft = errors.New("it is gone or empty, and its WAL is there, which may have records")

const errForeign = ForeignError("it is a database of something else; it was left unchanged")

// identity reads whose database it is, and how many tables it has: one without an
// application is fresh if it has none, else somebody's. One statement sees one
// state, another process that makes the store at this moment.
func (s *Store) identity(ctx context.Context) (app, version, tables int64, err error) {
	row := s.conn.QueryRowContext(ctx, "SELECT a.application_id, u.user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id a, pragma_user_version u")
	err = row.Scan(&app, &version, &tables)
	return app, version, tables, err
}

// create makes the tables, unless another process has, or the file holds
// somebody else's.
func (s *Store) create(ctx context.Context) error {
	return s.immediate(ctx, func(ctx context.Context) error {
		app, _, tables, err := s.identity(ctx)
		if err != nil || app != 0 || tables > 0 {
			return err
		}
		var origin [16]byte
		_, _ = rand.Read(origin[:]) // never fails (crypto/rand)
		root := rootOf(0, nil)
		_, err = s.conn.ExecContext(ctx, schemaLog+schemaItem+fmt.Sprintf(
			"INSERT INTO head(id, origin, count, root) VALUES (1, 'dialect/%s', 0, x'%s'); PRAGMA application_id=%d; PRAGMA user_version=%d",
			hex.EncodeToString(origin[:]), hex.EncodeToString(root[:]), applicationID, schemaVersion))
		return err
	})
}

// retryBusy runs a statement that SQLite refuses while others use the file,
// whatever the busy timeout.
func (s *Store) retryBusy(ctx context.Context, stmt string) error {
	for i := 0; ; i++ {
		_, err := s.conn.ExecContext(ctx, stmt)
		if err == nil || i == 400 || !isCode(err, sqlite3.SQLITE_BUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// immediate runs f in a transaction that is a writer's from its start: one that
// reads first and writes then fails under other writers. It commits nothing once outer has
// ended. The statements of f get a context without an end: the driver starts a goroutine
// or two for each statement that could be cancelled, which costs more than a short statement.
func (s *Store) immediate(outer context.Context, f func(context.Context) error) error {
	ctx := context.WithoutCancel(outer)
	if err := outer.Err(); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	s.next, s.written = s.last, nil
	err := s.checkSchema(ctx)
	if err == nil {
		err = f(ctx)
	}
	if err == nil && s.written != nil {
		err = s.written.readBack()
	}
	if err == nil {
		err = outer.Err()
	}
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
	}
	if err == nil {
		s.between.over("committed")
		s.last = s.next
		return s.inPlace()
	}
	s.workers = workers{} // it may know of records that are not there
	// The transaction may be gone already; what counts is the first error.
	_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// snapshot runs f over one state of the store: writers of other processes do not move the ground.
func (s *Store) snapshot(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unusable(s.frozen(ctx, f))
}

// frozen is snapshot for a caller that holds the lock of s.
func (s *Store) frozen(ctx context.Context, f func() error) error {
	_, err := s.conn.ExecContext(ctx, "BEGIN")
	if err == nil {
		defer func() { _, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
		err = f()
	}
	return err
}

// errSchema says that somebody changed what the file does with what is written to it.
var errSchema = errors.New("its schema is not that of a store: a table, index, view or trigger was added, changed or removed")

// checkSchema compares all that the schema holds with what [Store.create] makes, in the
// transaction under way. A trigger could drop what is written, a view make up what is read.
func (s *Store) checkSchema(ctx context.Context) error {
	st, err := s.stmt(ctx, "SELECT coalesce(sql, name) FROM sqlite_master")
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	left := schema()
	n := 0
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if n++; !left[text] || n > len(left) {
			return errSchema
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n != len(left) && n != 0 { // none: it is about to be made
		return errSchema
	}
	return nil
}

// schema is what the schema of a store holds: the statements that made it, and the name of
// the index that the unique column of record has.
var schema = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{"sqlite_autoindex_record_1": true}
	for _, stmt := range strings.Split(schemaLog+schemaItem, ";\n") {
		if stmt = strings.TrimSpace(stmt); stmt != "" {
			all[stmt] = true
		}
	}
	return all
})

// inPlace checks that what was committed is in the file that stands at the path: one that
// was put there meanwhile has none of it, and what was taken away is lost on closing.
func (s *Store) inPlace() error {
	for _, f := range []struct {
		path string
		seen *os.FileInfo
	}{{s.path, &s.info}, {s.path + "-wal", &s.wal}} {
		info, err := os.Lstat(f.path)
		if err != nil {
			return fmt.Errorf("the records are lost: %w", err)
		}
		if *f.seen == nil {
			*f.seen = info
		}
		if !os.SameFile(info, *f.seen) {
			return fmt.Errorf("the records are lost: %s was replaced meanwhile", f.path)
		}
	}
	return nil
}

// stmt returns a prepared statement.
func (s *Store) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := s.stmts[text]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(ctx, text)
	if err == nil {
		s.stmts[text] = st
	}
	return st, err
}

// Close makes durable what was submitted, and closes the file.
func (s *Store) Close() error {
	err := s.queue.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory != nil {
		s.memory.file.Close()
	}
	if info, lerr := os.Lstat(s.path); err == nil && s.wal != nil && (lerr != nil || !os.SameFile(info, s.info)) {
		err = errors.New("the records are lost: the file was replaced meanwhile")
	}
	for _, st := range s.stmts {
		st.Close()
	}
	if cerr := s.conn.Close(); err == nil {
		err = cerr
	}
	if cerr := s.db.Close(); err == nil {
		err = cerr
	}
	return s.unusable(err)
}

// unusable wraps an error of SQLite in the store. It does not wrap an answer about an id, a bundle or an attempt, or an error of a ledger, which is another file.
func (s *Store) unusable(err error) error {
	var u *UnusableError
	var lookup *verify.LookupError
	var refused *bundleError
	var ledger *LedgerError
	var taken *AttemptTakenError
	var state *StateError
	if err == nil || errors.As(err, &taken) || errors.As(err, &state) || errors.As(err, &u) || errors.As(err, &ledger) || errors.As(err, &lookup) || errors.As(err, &refused) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &UnusableError{Path: s.path, Err: withCause(err)}
}

// withCause has an error of SQLite say that another process has the file locked, or that there is no room, where that is what it means.
func withCause(err error) error {
	switch {
	case isCode(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL): // the last of the index of the WAL
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case isNoRoom(err):
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return err
}

// isNoRoom reports whether err is that of a file that cannot grow. SQLite says SQLITE_FULL of a
// write that ENOSPC ended alone: not of one beyond a limit or a quota, nor of the index of the WAL.
func isNoRoom(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE:
		return true
	}
	return false
}

func isCode(err error, codes ...int) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code()&0xff == c {
			return true
		}
	}
	return false
}

// rootOf returns the root over n records, where r reads the stored hashes; that
// over none is the zero hash, as tlog has it.
func rootOf(n int64, r tlog.HashReader) tlog.Hash {
	root, err := tlog.TreeHash(n, r)
	if err != nil {
		return tlog.Hash{}
	}
	return root
}

func blob(h receipts.Hash) []byte { return h[:] }

// hashOf converts a column.
func hashOf(b []byte) (h receipts.Hash) {
	copy(h[:], b)
	return h
}

// Copy writes the store, as it is now, into a file that is not there yet.
func (s *Store) Copy(ctx context.Context, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.ExecContext(ctx, "VACUUM INTO ?", path)
	return s.unusable(err)
}
