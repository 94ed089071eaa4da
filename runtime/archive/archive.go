// Package archive is the layout of the folder where a project keeps its receipts, and what
// lies beside them: the output of commands, lists of files, the documents of runs, the marks
// of those that last, the key of redacted texts. None of that is evidence, which is in the
// store alone; what is missing of it costs a reader a convenience.
//
//	.dialect/               private, ignored by git
//	    store/              the store of receipts, receipts.db, and its other files, see [Files]
//	    store.bad/          a store that was moved away, for a new one to begin; the next is store.bad2
//	    lock/               locks between runs
//	    log/                an [Archive]; of another store X it is X.log
//	        sha256/         blobs: what commands wrote, and lists of files, by digest
//	        runs/RUN        the document of a run that ended, JSON
//	        runs/live/RUN   the mark of a run that lasts
//	        runs/key/RUN    the private key of a run on other machines, until it is over
//	        redact          a key, which makes the marks of secrets
//
// The folder disturbs no tool that looks at the project. Nothing is created or removed in it directly
// once [Make] has made it: Go caches no result of a test that lists a folder in which an entry has a
// new time. No file in it has an extension that formatters, linters or watchers look for.
//
// A writer of the project can put anything in these places: files are opened as package
// regular does, and folders that lead elsewhere are refused by [Archive.Check].
package archive

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/blob"
)

// Folder is the name of the folder, at the root of a project.
const Folder = ".dialect"

// StoreFile is the name of the file of a store, unless the user names another.
const StoreFile = "receipts.db"

// Aside follows the name of a store that was moved away, and a number where there is one already.
const Aside = ".bad"

const (
	stores = "store"
	logs   = "log"
	locks  = "lock"
)

// storeSuffixes are what follows the path of a store: the files of SQLite, and the memory
// of its verifiers.
var storeSuffixes = []string{"", "-wal", "-shm", "-journal", "-audit"}

// Store returns the path of the store of the project at root.
func Store(root string) string { return filepath.Join(root, Folder, stores, StoreFile) }

// Project returns the root of the project whose own store is at a path; empty if it is not a project's.
func Project(store string) string {
	abs, err := filepath.Abs(store)
	if root := filepath.Dir(filepath.Dir(filepath.Dir(abs))); err == nil && Store(root) == abs {
		return root
	}
	return ""
}

// Locks returns the folder of the locks of the project at root.
func Locks(root string) string { return filepath.Join(root, Folder, locks) }

// Files returns the paths of the files that the store at a path is made of.
func Files(store string) []string {
	list := make([]string, len(storeSuffixes))
	for i, s := range storeSuffixes {
		list[i] = store + s
	}
	return list
}

// An Exempt is a file or a folder that is not part of a project, by its absolute path.
type Exempt struct {
	Path   string
	Whole  bool   // a folder with all that is in it
	folder string // what a folder is in [Folder]
}

// Makes reports whether dialect itself makes name, a path inside of the exempt folder with slashes, or the folder itself where name is empty, and
// whether as a folder. Inside of a file, and of a whole folder, it makes nothing.
func (x Exempt) Makes(name string) (folder, ok bool) {
	switch {
	case name == "":
		return x.Whole || x.folder != "", true
	case x.folder == "":
		return false, false
	}
	return Makes(x.folder + "/" + name)
}

// Except returns what is not part of the project at root: a store, what lies
// beside it, and the locks.
func Except(root, store string) (list []Exempt) {
	if store == "" {
		return nil
	}
	for _, file := range Files(store) {
		list = append(list, Exempt{Path: file})
	}
	list = append(list, Exempt{Path: string(Of(store)), folder: logs}, Exempt{Path: Locks(root), folder: locks})
	for i := range list {
		if abs, err := filepath.Abs(list[i].Path); err == nil {
			list[i].Path = abs
		}
	}
	return list
}

// Makes reports whether dialect itself makes name, a path inside of [Folder] with slashes, and whether as a folder: no commit holds that, and a clone
// has its own. Of locks any name will do, since matrices name them.
func Makes(name string) (folder, ok bool) {
	way := strings.Split(name, "/")
	if n, ok := strings.CutPrefix(way[0], stores+Aside); ok && strings.Trim(n, "0123456789") == "" {
		way[0] = stores
	}
	last, deep := way[len(way)-1], len(way)
	file := func(ok bool) (bool, bool) { return false, ok }
	switch {
	case deep == 1 && slices.Contains([]string{stores, locks, logs}, way[0]):
		return true, true
	case deep == 1:
		return file(name == ".gitignore")
	case way[0] == locks:
		return file(deep == 2)
	case way[0] == stores:
		suffix, ok := strings.CutPrefix(strings.Join(way[1:], "/"), StoreFile)
		return file(ok && slices.Contains(storeSuffixes, suffix))
	case way[0] != logs:
		return false, false
	case deep <= 4 && blob.IsTemp(last):
		return file(true)
	case deep == 2:
		folder = last == "sha256" || last == "runs"
		return folder, folder || last == "redact"
	case way[1] == "sha256":
		folder = deep == 3 && len(last) == 2 && isHex(last)
		return folder, folder || deep == 4 && len(way[2]) == 2 && len(last) == 62 && isHex(way[2]+last)
	case way[1] == "runs":
		folder = deep == 3 && (last == "live" || last == "key")
		return folder, folder || IsRun(last) && (deep == 3 || deep == 4 && (way[2] == "live" || way[2] == "key"))
	}
	return false, false
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// Nearest returns the path of the store of the project that dir is in, the nearest one; it is
// empty where there is none in dir or above it. Where there is none that can be looked at and is not a
// stranger's, and one that is otherwise, err says why: that one is not known to be missing.
func Nearest(dir string) (store string, err error) {
	for at := range regular.Above(dir) {
		path := Store(at)
		info, missed := os.Lstat(path)
		if missed == nil {
			folder, _ := os.Stat(filepath.Dir(path))
			if regular.Familiar(dir, info, folder) {
				return path, nil
			}
			err = cmp.Or(err, fmt.Errorf("%s belongs to the user %d; --store PATH names it, if it is meant", path, regular.Owner(info)))
			continue
		}
		if missed = cmp.Or(CheckStore(path), missed); !errors.Is(missed, fs.ErrNotExist) {
			err = cmp.Or(err, missed)
		}
	}
	return "", err
}

// Below returns the paths of the stores of the projects in the folders of the working
// directory, relative to it.
func Below() []string {
	list, _ := filepath.Glob(filepath.Join("*", Folder, stores, StoreFile)) // the pattern is well formed
	return list
}

// Make makes the folder of the project at root, with all that ever stands directly in it: private, ignored
// by git, and folders, not links that lead elsewhere.
func Make(root string) error {
	dir := filepath.Join(root, Folder)
	fresh, err := makeFolder(dir)
	if err != nil {
		return err
	}
	began := fresh
	for _, name := range []string{stores, logs, locks} {
		made, err := makeFolder(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		began = began || made
	}
	ignore := filepath.Join(dir, ".gitignore")
	text := "*\n"
	switch info, err := os.Lstat(ignore); {
	case fresh:
	case errors.Is(err, fs.ErrNotExist) && began: // the user keeps something else here
		text = "/.gitignore\n/" + stores + "/\n/" + logs + "/\n/" + locks + "/\n"
	case err != nil || !info.Mode().IsRegular() || info.Size() > 0: // a full disk leaves an empty one
		return nil
	}
	return os.WriteFile(ignore, []byte(text), 0o600)
}

// makeFolder makes a private folder where nothing is, and reports whether it did.
func makeFolder(dir string) (fresh bool, err error) {
	info, err := os.Lstat(dir)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return false, fmt.Errorf("%s is a symbolic link; remove it, or name a store with --store", dir)
	case err == nil && !info.IsDir():
		return false, fmt.Errorf("%s is not a directory", dir)
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return true, nil
}

// An Archive is the folder of what lies beside a store, by its path. The zero Archive keeps
// nothing, and has nothing.
type Archive string

// Of returns the archive of the store at a path.
func Of(store string) Archive {
	if folder, ok := FolderOf(store); ok && filepath.Base(store) == StoreFile {
		return Archive(filepath.Join(folder, logs))
	}
	return Archive(store + ".log")
}

func (a Archive) path(names ...string) string {
	return filepath.Join(append([]string{string(a)}, names...)...)
}

// folders returns the folders that must not lead elsewhere: the archive itself, and,
// where that is in one, the project's [Folder]. Folders above that, and above the archive of
// a store that was named, are the user's.
func (a Archive) folders() []string {
	if up := filepath.Dir(string(a)); filepath.Base(up) == Folder {
		return []string{up, string(a)}
	}
	return []string{string(a)}
}

// own returns an error if the archive, or the [Folder] that it is in, leads elsewhere.
func (a Archive) own() error {
	for _, dir := range a.folders() {
		if err := regular.Folder(dir); err != nil {
			return err
		}
	}
	return nil
}

// TryRoom writes so many bytes into the archive, and removes them.
func (a Archive) TryRoom(size int) error {
	r, err := a.open(true)
	if err != nil {
		return err
	}
	defer r.Close()
	name, err := blob.TempIn(r, make([]byte, size), 0o600) // a run that begins meanwhile sees no stranger
	if err != nil {
		return err
	}
	f, err := r.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close()) // some file systems say only then that there is no room
	}
	return errors.Join(err, r.Remove(name))
}

// FolderOf returns the [Folder] of a project that the store at a path is in: as a file of its folder of
// stores, or directly, as one that was named. ok is false where it is in none.
func FolderOf(store string) (folder string, ok bool) {
	dir := filepath.Dir(store)
	if filepath.Base(dir) == stores && filepath.Base(filepath.Dir(dir)) == Folder {
		return filepath.Dir(dir), true
	}
	return dir, filepath.Base(dir) == Folder
}

// CheckStore returns an error if the store at a path is in a [Folder] that leads elsewhere: it
// is another project's. A store with another place is the user's to name.
func CheckStore(store string) error {
	folder, ok := FolderOf(store)
	if !ok {
		return nil
	}
	if err := regular.Folder(folder); err != nil {
		return err
	}
	return regular.Folder(filepath.Dir(store))
}

// Check returns an error if the archive, the [Folder] that it is in, or a folder in it that
// is written to leads elsewhere.
func (a Archive) Check() error {
	if err := a.own(); err != nil {
		return err
	}
	for _, dir := range []string{a.path("runs"), a.path("runs", "live"), a.path("runs", "key"), a.path("sha256")} {
		if err := regular.Folder(dir); err != nil {
			return err
		}
	}
	blobs, _ := os.ReadDir(a.path("sha256"))
	for _, e := range blobs {
		if !e.IsDir() {
			return fmt.Errorf("%s is not a directory; remove it", a.path("sha256", e.Name()))
		}
	}
	return nil
}

// Keep keeps text, whose SHA-256 is sum, where it is not kept yet. In another user's archive it keeps nothing: what root makes there is in that user's way.
func (a Archive) Keep(sum [32]byte, text func() []byte) {
	r, err := a.open(true)
	if err != nil {
		return
	}
	defer r.Close()
	if info, err := r.Stat("."); err != nil || regular.Owner(info) != os.Geteuid() {
		return
	}
	name := blob.Path("", sum)
	if _, err := r.Lstat(name); err != nil {
		_ = blob.WriteIn(r, name, text(), 0o600)
	}
}

// RedactKey returns the key of the marks that stand for secrets: with it the same secret
// has the same mark in all runs, and without it nobody can try one out. Where it cannot be
// kept it is made for this process alone.
func (a Archive) RedactKey() []byte {
	const size = 32
	key := make([]byte, size)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	if a == "" || a.own() != nil {
		return key
	}
	path := a.path("redact")
	read := func() bool {
		b, err := regular.ReadOwn(path, size)
		return err == nil && copy(key, b) == size
	}
	if read() {
		return key
	}
	r, err := a.open(true)
	if err != nil {
		return key
	}
	defer r.Close()
	temp, err := blob.TempIn(r, key, 0o600)
	if err != nil {
		return key
	}
	defer r.Remove(temp)
	// Of two that make it at once the first wins.
	if r.Link(temp, "redact") != nil {
		read()
	}
	return key
}
