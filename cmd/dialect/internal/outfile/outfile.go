// Package outfile decides whether a command may write the files that its command line names, and
// writes them, whole or not at all.
package outfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/place"
)

// A File is a file that the user named for a command to write.
type File struct {
	Flag string // "--junit"; empty for an argument
	Name string // as the user wrote it; empty for none, "-" for standard output
	// Fresh says that the file must not exist yet.
	Fresh bool
	// Stream says that the file is written while the command works: it may be a named
	// pipe that has its reader.
	Stream bool
	// Edits says that the file is one of the user's, which the command rewrites.
	Edits bool
	// Was is what the file held when the edit was made, empty where there was none; nil if that does not matter. A file that holds
	// something else by then is left as it is.
	Was []byte
	// Inside says that no link may lead the file out of its repository; see [Inside].
	Inside bool
	// Path is the place of the file without links, absolute; empty if there is no file.
	// [Settle] fills it in.
	Path string

	// The folder of Path, open: a tool can put another folder, or a link, in its place before
	// the file is written. in is what Path must not be.
	folder *os.Root
	in     InUse
	pipe   bool // it is an inherited pipe (see [openPipe]), which has no place
}

// Settle decides whether a command may write all of its files, and finds their places.
// It owns that question for the whole command line, and is asked before anything is run,
// written or removed.
//
// It refuses what is below a store (.dialect, its skills apart) or a repository (.git),
// matrices, scripts and lists of MCP servers, what the command reads or keeps (in), a second file in the same place, a folder, a
// device, a socket, a pipe that was not inherited (see [openPipe]), and a place that cannot be written because of its folder or its
// mode.
func Settle(in InUse, outs ...*File) error {
	taken := make(map[string]*File)
	for _, o := range outs {
		switch o.Name {
		case "":
			continue
		case "-":
			if o.Stream {
				return exit.Usagef("%s -: standard output has the report; name a file", o.Flag)
			}
			if other := taken["-"]; other != nil {
				return exit.Usagef("%s and %s both go to standard output", other.Flag, o.Flag)
			}
			taken["-"] = o
			continue
		}
		if err := o.settle(in); err != nil {
			return exit.Usagef("%s: %v", strings.TrimSpace(o.Flag+" "+o.Name), err)
		}
		for _, other := range taken {
			if place.Same(o.Path, other.Path) {
				return exit.Usagef("%s and %s name the same file: %s", other.Flag, o.Flag, o.Name)
			}
		}
		taken[o.Path] = o
	}
	return nil
}

// InUse is what a file that is written must not be.
type InUse struct {
	Files []string // that the command reads; empty names count for nothing
	Store string   // path of the store; empty for none
}

func (o *File) settle(in InUse) (err error) {
	o.in = in
	if o.pipe = !o.Fresh && !o.Edits && !o.Inside && openPipe(o.Name); o.pipe {
		o.Path = o.Name
		w, err := o.Open()
		if err != nil {
			return err
		}
		return w.Close()
	}
	if o.Path, err = placeOf(o.Name); err != nil {
		return err
	}
	if err := guarded(o.Path); err != nil {
		return err
	}
	if o.Inside {
		at, err := inside(o.Name)
		if err != nil {
			return err
		}
		if at != o.Path { // two looks at the same names, and somebody has exchanged one between
			return errReplaced
		}
	}
	if !o.Fresh && !o.Edits && isRules(o.Path) {
		return errors.New("a report never replaces a matrix, a script or a list of MCP servers")
	}
	for _, name := range in.Files {
		if path, err := placeOf(name); err == nil && place.Same(o.Path, path) {
			return errors.New("this command reads that file")
		}
	}
	if store, err := placeOf(in.Store); err == nil && ofStore(o.Path, store) {
		return errors.New("it belongs to the store of receipts")
	}
	info, err := os.Lstat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return regular.Reason(err)
	case o.Fresh:
		return errors.New("it exists, and is never overwritten")
	case info.IsDir():
		return errors.New("it is a folder")
	case info.Mode()&fs.ModeNamedPipe != 0 && o.Stream:
		return nil // opening it says whether somebody reads it
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	default:
		f, err := os.OpenFile(o.Path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return regular.Reason(err)
		}
		f.Close()
	}
	dir := filepath.Dir(o.Path)
	if o.folder, err = openFolder(dir); err != nil {
		return err
	}
	f, err := createBeside(o.folder, "dialect", 0o600)
	if err != nil {
		o.folder.Close()
		return fmt.Errorf("cannot write in %s: %w", place.Short(dir), regular.Reason(err))
	}
	return errors.Join(f.Close(), o.folder.Remove(filepath.Base(f.Name())))
}

// errReplaced says that what stands at a path is not what was looked at.
var errReplaced = errors.New("its folder was replaced")

// openPipe reports whether name is that of a pipe that this process inherited, open for writing, such as >(jq .) in a shell. Such a name is a
// link in /proc to nothing on a disk. It is false for the standard streams: they have names of their own. No command inherits the pipe: one that is left
// running would keep its reader waiting.
func openPipe(name string) bool {
	number, ok := strings.CutPrefix(name, "/dev/fd/")
	if !ok {
		number, ok = strings.CutPrefix(name, "/proc/self/fd/")
	}
	if n, err := strconv.Atoi(number); !ok || err != nil || n <= 2 {
		return false
	}
	end, err := os.Lstat(name)
	if err != nil || end.Mode()&0o200 == 0 { // of the other end of a pipe Linux says that it can only be read
		return false
	}
	if info, err := os.Stat(name); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return false
	}
	keyfd.Withhold(number)
	return true
}

// pour writes text to an inherited pipe. It waits up to slowReader for a reader.
func (o *File) pour(text []byte) error {
	w, err := o.Open()
	if err != nil {
		return err
	}
	if f, ok := w.(*os.File); ok {
		_ = f.SetWriteDeadline(time.Now().Add(slowReader)) // an error means that it has no deadlines: the write waits
	}
	_, err = w.Write(text)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.EPIPE) {
		err = errors.New("nobody reads it")
	}
	return err
}

// slowReader is how long a report waits to be read.
const slowReader = time.Minute

// isRules reports whether the name of a file says that it decides what is run.
func isRules(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return name == routing.FileName || name == ".mcp.json" || name == "mcp.json" || filepath.Ext(name) == ".dlct"
}

// openFolder opens the folder dir, a path without links. It fails if dir leads through a link
// meanwhile.
func openFolder(dir string) (*os.Root, error) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, regular.Reason(err)
	}
	if !isFolder(folder, dir) {
		folder.Close()
		return nil, errReplaced
	}
	return folder, nil
}

// isFolder reports whether folder is still at dir, which leads through no link.
func isFolder(folder *os.Root, dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return false
	}
	at, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	info, err := folder.Stat(".")
	return err == nil && os.SameFile(at, info)
}

// placeOf returns the absolute path of name without links. The file itself need not exist,
// its folder must.
func placeOf(name string) (string, error) {
	if name == "" {
		return "", errors.New("it has no name")
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if os.IsPathSeparator(name[len(name)-1]) {
		return "", errors.New("it names a folder")
	}
	if _, err := os.Lstat(path); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", fmt.Errorf("it is a link that leads nowhere: %w", regular.Reason(err))
		}
		return path, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", regular.Reason(err)
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// Inside refuses the file or folder name where a link on the way to it leads out of the repository that has the
// link: a user who names a file, or all files of a folder by a pattern, does not name what a link in a project of
// others leads to. Outside of repositories a link must lead to its own folder or below it, if it is the file itself or is below
// the working directory; other links above a file are the system's, such as /tmp of macOS.
// What is missing at the end of name leads nowhere.
func Inside(name string) error {
	_, err := inside(name)
	return err
}

// inside is [Inside], and returns the absolute path of name without links.
func inside(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	at := filepath.VolumeName(name) + string(filepath.Separator)
	rest, below := name[len(at):], false
	if wd, err := os.Getwd(); err == nil { // where the user is, by whatever link
		if rel, err := filepath.Rel(wd, name); err == nil && filepath.IsLocal(rel) {
			if at, err = filepath.EvalSymlinks(wd); err != nil {
				return "", err
			}
			rest, below = rel, true
		}
	}
	words := strings.Split(rest, string(filepath.Separator))
	for i, word := range words {
		next := filepath.Join(at, word)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(append([]string{at}, words[i:]...)...), nil
		}
		if err != nil {
			return "", regular.Reason(err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := filepath.EvalSymlinks(next)
		if err != nil {
			return "", fmt.Errorf("%s is a link that leads nowhere: %w", place.Short(next), regular.Reason(err))
		}
		top := place.Repository(at)
		system := !below && i < len(words)-1 && !place.Exists(filepath.Join(top, ".git"))
		if rel, err := filepath.Rel(top, target); !system && (err != nil || !filepath.IsLocal(rel)) {
			return "", fmt.Errorf("%s is a link that leads out of %s, to %s", place.Short(next), top, target)
		}
		at = target
	}
	return at, nil
}

// guarded refuses a place below a store or a repository, wherever it is.
func guarded(path string) error {
	words := strings.Split(filepath.ToSlash(path), "/")
	for i, word := range words {
		switch {
		case strings.EqualFold(word, archive.Folder) && (i+2 >= len(words) || words[i+1] != "skills"):
			return fmt.Errorf("%s belongs to the store of receipts", archive.Folder)
		case strings.EqualFold(word, ".git"):
			return errors.New(".git belongs to git")
		}
	}
	return nil
}

// ofStore reports whether path is a file of the store at the path store, wherever that is.
func ofStore(path, store string) bool {
	for _, f := range archive.Files(store) {
		if place.Same(path, f) {
			return true
		}
	}
	return strings.HasPrefix(path, string(archive.Of(store))+string(filepath.Separator))
}

// MakeFolder makes the folder of the file at path, and those above it that are missing.
func MakeFolder(path string, mode fs.FileMode) error {
	at, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return err
	}
	rest := filepath.Base(path)
	for {
		if _, err := os.Lstat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest)
	}
	if at, err = filepath.EvalSymlinks(at); err != nil {
		return regular.Reason(err)
	}
	if err := guarded(filepath.Join(at, rest)); err != nil {
		return err
	}
	if err := writableFolder(at); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Dir(filepath.Join(at, rest)), mode)
}

// writableFolder says why no file can be made in dir.
func writableFolder(dir string) error {
	if err := place.TryWrite(dir); err != nil {
		return fmt.Errorf("cannot write in %s: %w", place.Short(dir), regular.Reason(err))
	}
	return nil
}

// Write writes a settled file, whole or not at all; nothing if there is none. The name "-"
// stands for std.
func (o *File) Write(std io.Writer, write func(io.Writer) error) error {
	if o.Name == "" {
		return nil
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if o.Name == "-" {
		_, err := std.Write(b.Bytes())
		return err
	}
	if err := o.Replace(b.Bytes(), 0o666); err != nil {
		return exit.Failf(exit.Internal, "%v", err)
	}
	return nil
}

// Open opens the place of a settled stream. A pipe must have its reader already. An existing
// file is replaced, not cut: another name of it keeps its content.
func (o *File) Open() (io.WriteCloser, error) {
	info, err := os.Lstat(o.Path)
	switch {
	case err != nil && !o.pipe:
	case o.pipe || info.Mode()&os.ModeNamedPipe != 0:
		w, err := os.OpenFile(o.Path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		switch {
		case err == nil:
			return w, nil
		case o.pipe && errors.Is(err, fs.ErrPermission):
			return nil, errors.New("another user made that pipe, and Linux lets nobody else open it: name a file, or a pipe of your own")
		case errors.Is(err, fs.ErrPermission):
			return nil, regular.Reason(err)
		}
		return nil, errors.New("nobody reads it")
	default:
		if err := os.Remove(o.Path); err != nil {
			return nil, regular.Reason(err)
		}
	}
	return os.OpenFile(o.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Append adds to the end of a settled file.
func (o *File) Append(write func(io.Writer) error) error {
	if o.pipe {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		return o.pour(b.Bytes())
	}
	defer o.folder.Close()
	w, err := o.folder.OpenFile(filepath.Base(o.Path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = write(w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}

// Replace puts text in the place of a settled file by a temporary file beside it, so that
// the old content stays until the new one is whole. An existing file keeps its mode, and what
// [regular.Inherit] keeps; a new one gets mode less the umask.
//
// It writes in the folder that was settled. Where a tool has removed that folder and made another
// one, it settles the place again; a link in its place is an error.
func (o *File) Replace(text []byte, mode fs.FileMode) error {
	defer func() {
		if o.folder != nil {
			o.folder.Close()
		}
	}()
	return o.replace(text, mode)
}

// Clear empties a settled file that is there, as [File.Replace] does, which can follow: what it had is not
// what it will have.
func (o *File) Clear() error {
	if o.Path == "" || o.pipe {
		return nil
	}
	if _, err := o.folder.Lstat(filepath.Base(o.Path)); err != nil {
		return nil // there is none
	}
	return o.replace(nil, 0)
}

func (o *File) replace(text []byte, mode fs.FileMode) error {
	fail := func(err error) error {
		return fmt.Errorf("%s was not written: %w", strings.TrimSpace(o.Flag+" "+o.Name), regular.Reason(err))
	}
	if o.pipe {
		if err := o.pour(text); err != nil {
			return fail(err)
		}
		return nil
	}
	if !isFolder(o.folder, filepath.Dir(o.Path)) {
		again := &File{Flag: o.Flag, Name: o.Path, Edits: o.Edits, Inside: o.Inside}
		if err := again.settle(o.in); err != nil {
			return fail(err)
		}
		if again.Path != o.Path { // a link stands in its place now, and leads wherever its maker wants
			again.folder.Close()
			return fail(errReplaced)
		}
		o.folder.Close()
		o.folder = again.folder
	}
	base := filepath.Base(o.Path)
	f, err := createBeside(o.folder, base, mode)
	if err != nil {
		return fail(err)
	}
	_, err = f.Write(text)
	if info, serr := o.folder.Lstat(base); err == nil && serr == nil && info.Mode().IsRegular() {
		if was, oerr := o.folder.OpenFile(base, os.O_RDONLY|regular.OwnFlags, 0); oerr == nil {
			err = regular.Inherit(f, was, info.Mode().Perm())
			was.Close()
		} else { // it can be written, and not read
			err = f.Chmod(info.Mode().Perm() & 0o700)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	temporary := filepath.Base(f.Name())
	if err == nil && o.Was != nil {
		if !o.isStill(base) {
			err = errors.New("it was edited meanwhile; run this again")
		}
	}
	if err == nil {
		err = o.folder.Rename(temporary, base)
	}
	if err != nil {
		_ = o.folder.Remove(temporary)
		return fail(err)
	}
	return nil
}

// isStill reports whether the file has the text that the new one was made of. What cannot be read is not compared.
func (o *File) isStill(base string) bool {
	f, err := o.folder.OpenFile(base, os.O_RDONLY|regular.OwnFlags, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	now, err := io.ReadAll(io.LimitReader(f, int64(len(o.Was))+1))
	return err != nil || bytes.Equal(now, o.Was)
}

// Remove removes a settled file that has the text of Was.
func (o *File) Remove() error {
	defer o.folder.Close()
	base := filepath.Base(o.Path)
	if !isFolder(o.folder, filepath.Dir(o.Path)) {
		return errReplaced
	}
	if !o.isStill(base) {
		return errors.New("it was edited meanwhile; run this again")
	}
	return o.folder.Remove(base)
}

// createBeside makes a temporary file for base in folder. os.CreateTemp would give it mode
// 0600, and nobody but the kernel knows the umask.
func createBeside(folder *os.Root, base string, mode fs.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		name := fmt.Sprintf(".%.100s.%x", base, b)
		f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || try == 10 {
			return f, err
		}
	}
}

// Create writes a settled fresh file; the error is fs.ErrExist where it is there by now.
func (o *File) Create(text []byte, mode fs.FileMode) error {
	base := filepath.Base(o.Path)
	f, err := o.folder.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = o.folder.Remove(base)
	}
	return err
}

// An Edit is the new text of a file that exists.
type Edit struct {
	Path string // absolute
	Was  []byte // what it was made of
	Text []byte
	Told string // what to say when it is written; may be empty
}

// Rewrite writes edits, once all of them may be written, and calls told for each that has
// something to say. A link stays a link, and must not lead out of its repository.
func Rewrite(edits []Edit, told func(string)) error {
	outs := make([]*File, len(edits))
	for i, e := range edits {
		outs[i] = &File{Name: e.Path, Edits: true, Inside: true, Was: e.Was}
		if err := outs[i].settle(InUse{}); err != nil {
			return exit.Usagef("cannot write %s: %v", place.Short(e.Path), err)
		}
	}
	written := make(map[string]bool) // a file may be named twice
	for i, e := range edits {
		if written[outs[i].Path] {
			continue
		}
		written[outs[i].Path] = true
		if err := outs[i].Replace(e.Text, 0); err != nil {
			return exit.Failf(exit.Failed, "%v", err)
		}
		if e.Told != "" {
			told(e.Told)
		}
	}
	return nil
}
