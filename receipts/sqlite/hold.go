package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/command-dialect/dialect/receipts"
)

// maxRow bounds a row, and each value, in bytes: four times the largest body. A file can claim any size, and it would be read into memory.
const maxRow = 4 * receipts.MaxBody

// A watcher is called between the steps of opening a database, of reading its log and of writing it, with
// the name of the step that is over; nil is not. A test exchanges files or rows there.
type watcher func(step string)

func (w watcher) over(step string) {
	if w != nil {
		w(step)
	}
}

// errLink says that a link stands in the place of a file.
var errLink = errors.New("it is a symbolic link")

const magic = "SQLite format 3\x00"

// leafPage begins, at byte 100 of the file, the page of a schema that fits in one, as all of ours do. Those of another can name each other so that
// SQLite never comes to an end with them (https://www.sqlite.org/fileformat2.html#b_tree_pages).
const leafPage = 0x0d

// hold opens the database file at path before SQLite does, which would follow a link, and
// would take an empty or foreign file for its own. flag is O_RDONLY or O_RDWR, with O_CREATE
// if the file may be made; the last element of path is never followed. fresh says that the
// file is empty. What is looked at is the file that is open, whatever stands at the path later;
// [dial] says whether SQLite has opened the same. The caller closes f before SQLite takes locks,
// which in POSIX end with any descriptor of the file.
func hold(path string, flag int, between watcher) (f *os.File, fresh bool, err error) {
	// These are for the words: opening refuses the same.
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, false, errLink
	} else if err == nil && !info.Mode().IsRegular() {
		return nil, false, ForeignError("it is not a regular file")
	}
	// SQLite opens these without following a link.
	for _, suffix := range besides {
		info, err := os.Lstat(path + suffix)
		switch {
		case err == nil && !info.Mode().IsRegular():
			return nil, false, fmt.Errorf("%s is not a regular file; remove it", path+suffix)
		case err == nil && linked(info): // SQLite, as root, gives it to the owner of the store
			return nil, false, fmt.Errorf("%s has a second name, a hard link: replace it with a copy, and do not remove it, since it may hold receipts", path+suffix)
		}
	}
	between.over("looked")
	if f, err = openOwn(path, flag); err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		head := make([]byte, 101)
		switch n, _ := f.ReadAt(head, 0); {
		case n < len(magic) || string(head[:len(magic)]) != magic:
			err = ForeignError("it is not a SQLite database; it was left unchanged")
		case n == len(head) && head[100] != leafPage:
			err = errForeign
		}
	}
	if err != nil {
		f.Close()
		return nil, false, err
	}
	between.over("held")
	return f, info.Size() == 0, nil
}

// besides are what SQLite appends to the path of a database for the files that it keeps beside it: the first two in WAL mode.
var besides = []string{"-wal", "-shm", "-journal"}

// allowWriting gives the files that SQLite keeps beside the database at path the mode of info, which is the database's own, where they
// and the database are this user's and they cannot be written. A reader of a database that could not be written made them so, and SQLite takes such a WAL for a
// database that is read-only. Where that cannot be done, SQLite says so.
func allowWriting(path string, info fs.FileInfo) {
	for _, suffix := range besides[:2] {
		if at, err := os.Lstat(path + suffix); err != nil || at.Mode().Perm()&0o200 != 0 {
			continue // else its descriptor would end locks of this process
		}
		f, err := openOwn(path+suffix, os.O_RDONLY)
		if err != nil {
			continue
		}
		if at, err := f.Stat(); err == nil && !linked(at) && ownedBy(at) == os.Geteuid() && ownedBy(at) == ownedBy(info) {
			_ = f.Chmod(info.Mode().Perm())
		}
		f.Close()
	}
}

// dial makes a connection of SQLite to the file at path, which is held as f. SQLite never
// makes the file, and the connection is refused if it is to another one: SQLite resolves the
// links of a path first, says what came out, and then opens that without following any.
// Nothing is read, written or locked here.
func dial(ctx context.Context, path string, f *os.File, query string, between watcher) (*sql.DB, *sql.Conn, error) {
	if err := cmp.Or(keepBeside(), own(path, f)); err != nil {
		return nil, nil, err
	}
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?%s", (&url.URL{Path: path}).EscapedPath(), query))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	between.over("dialled")
	var seq int
	var name, opened string
	if _, err = driver.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, maxRow); err == nil {
		err = conn.QueryRowContext(ctx, "PRAGMA database_list").Scan(&seq, &name, &opened)
	}
	if err == nil {
		err = sameFile(f, path, opened)
	}
	if err != nil {
		conn.Close()
		db.Close()
		return nil, nil, err
	}
	between.over("compared")
	return db, conn, nil
}

// sameFile returns an error unless f stands at path, and at the path that SQLite has opened,
// which has no links and ends as path does.
func sameFile(f *os.File, path, opened string) error {
	held, err := f.Stat()
	if err != nil {
		return err
	}
	for _, name := range []string{path, opened} {
		info, err := os.Lstat(name)
		if err != nil || !os.SameFile(info, held) || filepath.Base(name) != filepath.Base(path) {
			return fmt.Errorf("%s was replaced while it was opened", path)
		}
	}
	return nil
}

// busyTimeout is the part of a query that says how long to wait for another writer.
func busyTimeout(d time.Duration) string {
	return fmt.Sprintf("&_pragma=busy_timeout(%d)", d.Milliseconds())
}
