// Package regular opens files that others may have put there: regular files, and nothing
// else. A FIFO, a device or a socket in the place of a file never holds the caller, and
// is never read. What was opened is looked at, not its name, so it does not matter when
// somebody puts something else there.
//
// A file that takes the place of another one gets what that had beside its content by [Inherit].
//
// It also looks for names in a folder, [In], and walks paths by hand: [Above] goes up, a [Way] goes over links.
package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrKind says that something is there, and is not a regular file.
var ErrKind = errors.New("not a regular file")

// Open opens a regular file for reading. Links are followed.
func Open(name string) (*os.File, error) { return open(name, 0) }

// OwnFlags are for a file that its owner opens by other means than those here, to write it:
// nothing waits for a FIFO, and no link is followed where the system can be asked that.
const OwnFlags = nonBlock | openable

// OpenOwn is Open for files that dialect made itself: the last element of name is not
// followed if it is a link.
func OpenOwn(name string) (*os.File, error) { return open(name, noFollow) }

// Read returns the content of a regular file of at most limit bytes. Links are followed.
func Read(name string, limit int64) ([]byte, error) { return read(name, limit, 0) }

// ReadOwn is Read for files that dialect made itself, as [OpenOwn] opens them.
func ReadOwn(name string, limit int64) ([]byte, error) { return read(name, limit, noFollow) }

// Append writes text at the end of a file that dialect made itself, and makes the file where there is none.
func Append(name string, text []byte) error {
	if err := before(name, noFollow); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := checked(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY|OwnFlags)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Reason returns err without the path that it is about, for a message that names the path itself.
func Reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func open(name string, flags int) (*os.File, error) {
	if err := before(name, flags); err != nil {
		return nil, err
	}
	return checked(name, os.O_RDONLY|nonBlock|flags&openable)
}

func checked(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrKind}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func read(name string, limit int64, flags int) ([]byte, error) {
	f, err := open(name, flags)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() <= limit {
		b.Grow(int(info.Size()) + bytes.MinRead) // as much as is there, and room to see the end
	}
	_, err = b.ReadFrom(io.LimitReader(f, limit+1))
	text := b.Bytes()
	if err == nil && int64(len(text)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", limit)}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// Folder returns an error if path is there and is not a directory itself, but a link to
// one or something else. What is not there is no error.
func Folder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot be reached: %w", path, Reason(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return &NotFolderError{path, "a symbolic link"}
	case !info.IsDir():
		return &NotFolderError{path, "not a directory"}
	}
	return nil
}

// A NotFolderError says that something else stands in the place of a folder. Nobody but a
// person can say whether that may go.
type NotFolderError struct {
	Path string
	Is   string // what it is: "a symbolic link"
}

func (e *NotFolderError) Error() string { return e.Path + " is " + e.Is + "; remove it" }
