package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/archive"
)

// An outfile is a file that the user named for a command to write.
type outfile struct {
	flag string // "--junit"; empty for an argument
	name string // as the user wrote it; empty for none, "-" for standard output
	// fresh says that the file must not exist yet.
	fresh bool
	// stream says that the file is written while the command works: it may be a named
	// pipe that has its reader.
	stream bool
	// edits says that the file is one of the user's, which the command rewrites.
	edits bool
	// path is the place of the file without links, absolute; empty if there is no file.
	// [settle] fills it in.
	path string
	// folder is the folder of path, open: a tool can put another folder, or a link, in its
	// place before the file is written. in is what path must not be.
	folder *os.Root
	in     inUse
}

// settle decides whether a command may write all of its outfiles, and finds their places.
// It owns that question for the whole command line, and is asked before anything is run,
// written or removed.
//
// It refuses what is below a store (.dialect, its skills apart) or a repository (.git),
// matrices, scripts and lists of MCP servers, what the command reads or keeps (in), a second outfile in the same place, a folder, a
// device, a socket, a pipe, and a place that cannot be written because of its folder or its
// mode.
func settle(in inUse, outs ...*outfile) error {
	taken := make(map[string]*outfile)
	for _, o := range outs {
		switch o.name {
		case "":
			continue
		case "-":
			if o.stream {
				return usagef("%s -: standard output has the report; name a file", o.flag)
			}
			if other := taken["-"]; other != nil {
				return usagef("%s and %s both go to standard output", other.flag, o.flag)
			}
			taken["-"] = o
			continue
		}
		if err := o.settle(in); err != nil {
			return usagef("%s: %v", strings.TrimSpace(o.flag+" "+o.name), err)
		}
		for _, other := range taken {
			if sameFile(o.path, other.path) {
				return usagef("%s and %s name the same file: %s", other.flag, o.flag, o.name)
			}
		}
		taken[o.path] = o
	}
	return nil
}

// inUse is what an outfile must not be.
type inUse struct {
	files []string // that the command reads; empty names count for nothing
	store string   // path of the store; empty for none
}

// rulesAround returns the paths of the files that the matrix above dir is made of, its pins
// included, and of the scripts beside it and in dir.
func rulesAround(dir string) (paths []string) {
	folders := []string{dir}
	if m, _, err := loadMatrix(dir, ""); err == nil {
		paths = append(rulesOf(resolve.Matrix(m)), m.Path)
		folders = append(folders, m.Root)
	}
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // one that cannot be read has no script that can be run
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".dlct" {
				paths = append(paths, filepath.Join(folder, e.Name()))
			}
		}
	}
	return paths
}

// rulesOf returns the paths of the files that a matrix is made of, its pins included.
func rulesOf(m plan.Matrix) (paths []string) {
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

func (o *outfile) settle(in inUse) (err error) {
	o.in = in
	if o.path, err = placeOf(o.name); err != nil {
		return err
	}
	if err := guarded(o.path); err != nil {
		return err
	}
	if !o.fresh && !o.edits && isRules(o.path) {
		return errors.New("a report never replaces a matrix, a script or a list of MCP servers")
	}
	for _, name := range in.files {
		if path, err := placeOf(name); err == nil && sameFile(o.path, path) {
			return errors.New("this command reads that file")
		}
	}
	if store, err := placeOf(in.store); err == nil && ofStore(o.path, store) {
		return errors.New("it belongs to the store of receipts")
	}
	info, err := os.Lstat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return pathError(err)
	case o.fresh:
		return errors.New("it exists, and is never overwritten")
	case info.IsDir():
		return errors.New("it is a folder")
	case info.Mode()&fs.ModeNamedPipe != 0 && o.stream:
		return nil // opening it says whether somebody reads it
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	default:
		f, err := os.OpenFile(o.path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return pathError(err)
		}
		f.Close()
	}
	if err := writableFolder(filepath.Dir(o.path)); err != nil {
		return err
	}
	o.folder, err = openFolder(filepath.Dir(o.path))
	return err
}

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
		return nil, pathError(err)
	}
	if !isFolder(folder, dir) {
		folder.Close()
		return nil, errors.New("its folder was replaced")
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
			return "", fmt.Errorf("it is a link that leads nowhere: %w", pathError(err))
		}
		return path, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", pathError(err)
	}
	return filepath.Join(dir, filepath.Base(path)), nil
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
		if sameFile(path, f) {
			return true
		}
	}
	return strings.HasPrefix(path, string(archive.Of(store))+string(filepath.Separator))
}

// makeFolder makes the folder of the file at path, and those above it that are missing.
func makeFolder(path string, mode fs.FileMode) error {
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
		return pathError(err)
	}
	if err := guarded(filepath.Join(at, rest)); err != nil {
		return err
	}
	if err := writableFolder(at); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Dir(filepath.Join(at, rest)), mode)
}

// writableFolder tries whether a file can be made in dir.
func writableFolder(dir string) error {
	probe, err := os.CreateTemp(dir, ".dialect-*")
	if err != nil {
		return fmt.Errorf("cannot write in %s: %w", shortPath(dir), pathError(err))
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// sameFile reports whether two resolved paths are the same file.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	ia, err := os.Stat(a)
	if err != nil {
		return false
	}
	ib, err := os.Stat(b)
	return err == nil && os.SameFile(ia, ib)
}

// pathError drops the path from an error about it: the message has it already.
func pathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// write writes a settled outfile, whole or not at all; nothing if there is none.
func (o *outfile) write(u *ui, write func(io.Writer) error) error {
	if o.name == "" {
		return nil
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if o.name == "-" {
		_, err := u.out.Write(b.Bytes())
		return err
	}
	if err := o.replace(b.Bytes(), 0o666); err != nil {
		return failf(exitInternal, "%v", err)
	}
	return nil
}

// replace puts text in the place of a settled outfile by a temporary file beside it, so that
// the old content stays until the new one is whole. An existing file keeps its mode; a new
// one gets mode less the umask.
//
// It writes in the folder that was settled. Where a tool has removed that folder and made another
// one, it settles the place again.
func (o *outfile) replace(text []byte, mode fs.FileMode) error {
	fail := func(err error) error {
		return fmt.Errorf("%s was not written: %w", strings.TrimSpace(o.flag+" "+o.name), pathError(err))
	}
	defer func() { o.folder.Close() }()
	if !isFolder(o.folder, filepath.Dir(o.path)) {
		again := &outfile{flag: o.flag, name: o.path, edits: o.edits}
		if err := again.settle(o.in); err != nil {
			return fail(err)
		}
		o.folder.Close()
		o.folder, o.path = again.folder, again.path
	}
	base := filepath.Base(o.path)
	f, err := createBeside(o.folder, base, mode)
	if err != nil {
		return fail(err)
	}
	_, err = f.Write(text)
	if info, serr := o.folder.Lstat(base); err == nil && serr == nil && info.Mode().IsRegular() {
		err = f.Chmod(info.Mode().Perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	temporary := filepath.Base(f.Name())
	if err == nil {
		err = o.folder.Rename(temporary, base)
	}
	if err != nil {
		_ = o.folder.Remove(temporary)
		return fail(err)
	}
	return nil
}

// createBeside makes a temporary file for base in folder. os.CreateTemp would give it mode
// 0600, and nobody but the kernel knows the umask.
func createBeside(folder *os.Root, base string, mode fs.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := fmt.Sprintf(".%.100s.%s", base, newRunID())
		f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || try == 10 {
			return f, err
		}
	}
}

// createFile makes a new file with text, and never replaces one; the error is then fs.ErrExist.
func createFile(path string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

// An edit is the new text of a file that exists.
type edit struct {
	path string // absolute
	text []byte
	told string // what to say when it is written; may be empty
}

// rewriteAll writes edits, once all of them may be written. A link stays a link.
func rewriteAll(u *ui, edits []edit) error {
	outs := make([]*outfile, len(edits))
	for i, e := range edits {
		outs[i] = &outfile{name: e.path, edits: true}
		if err := outs[i].settle(inUse{}); err != nil {
			return usagef("cannot write %s: %v", shortPath(e.path), err)
		}
	}
	for i, e := range edits {
		if err := outs[i].replace(e.text, 0); err != nil {
			return failf(exitFailed, "%v", err)
		}
		if e.told != "" {
			u.notef("%s", e.told)
		}
	}
	return nil
}
