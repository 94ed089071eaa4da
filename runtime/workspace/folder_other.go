//go:build !unix

package workspace

import (
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/command-dialect/dialect/lang/regular"
)

// statTrusted: there is no change time here, so every file is read every time.
const statTrusted = false

// A folder is an open directory, which [os.Root] confines.
type folder struct {
	root *os.Root
	refs atomic.Int32
}

func newFolder(r *os.Root) *folder {
	d := &folder{root: r}
	d.refs.Store(1)
	return d
}

// openRoot opens the directory at path; links in path are followed.
func openRoot(path string) (*folder, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newFolder(r), nil
}

// info says what d is.
func (d *folder) info() (fs.FileInfo, error) { return d.root.Stat(".") }

// sub opens a directory inside d.
func (d *folder) sub(name string) (*folder, error) {
	r, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, regular.Reason(err)
	}
	return newFolder(r), nil
}

// retain adds a holder; the last release closes the directory.
func (d *folder) retain() { d.refs.Add(1) }

func (d *folder) release() {
	if d.refs.Add(-1) == 0 {
		_ = d.root.Close()
	}
}

// names lists d, in no order.
func (d *folder) names([]byte) ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, regular.Reason(err)
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	return names, regular.Reason(err)
}

// lstat says what name is, without following it.
func (d *folder) lstat(name string) (status, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return status{}, regular.Reason(err)
	}
	return makeStatus(fi), nil
}

func makeStatus(fi fs.FileInfo) status {
	s := status{size: fi.Size(), mode: uint32(fi.Mode()), mtime: fi.ModTime().UnixNano()}
	switch m := fi.Mode(); {
	case m.IsRegular():
		s.kind = kindFile
	case m.IsDir():
		s.kind = kindFolder
	case m&fs.ModeSymlink != 0:
		s.kind = kindLink
	case m&fs.ModeNamedPipe != 0:
		s.kind = kindFIFO
	case m&fs.ModeSocket != 0:
		s.kind = kindSocket
	default:
		s.kind = kindDevice
	}
	return s
}

// readlink returns the target of a link.
func (d *folder) readlink(name string) (string, error) {
	s, err := d.root.Readlink(name)
	return s, regular.Reason(err)
}

// A handle is an open file.
type handle struct{ f *os.File }

// open opens a file inside d for reading.
func (d *folder) open(name string) (handle, error) {
	f, err := d.root.Open(name)
	return handle{f}, regular.Reason(err)
}

// read returns 0 at the end of the file.
func (h handle) read(buf []byte) (int, error) {
	n, err := h.f.Read(buf)
	if err == io.EOF {
		err = nil
	}
	return n, regular.Reason(err)
}

func (h handle) stat() (status, error) {
	fi, err := h.f.Stat()
	if err != nil {
		return status{}, regular.Reason(err)
	}
	return makeStatus(fi), nil
}

func (h handle) close() { _ = h.f.Close() }

// swapped reports whether err says that the thing is of another kind than before.
func swapped(error) bool { return false }
