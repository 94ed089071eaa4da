package cleanroom

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	files "github.com/command-dialect/dialect/runtime/place" // a room has a place of its own
)

// Away is what commands are kept from, as it was found before any of them ran. The asker of a command may move a directory around it: the
// path then leads to something else, and commands see the original in its new place.
type Away struct {
	hide, mask []string
	all        []masked
}

// A masked is what is hidden, in a directory that has to be where it was.
type masked struct {
	Dir, Name []byte
	Dev, Ino  uint64 // of Dir; 0 where it was not there
	Only      *only  // nil for whatever is there

	// dir is Dir, open, where what is hidden belongs to a server, which may end and remove both at any time; nil if it was not there, or if
	// its file system does not show that it was removed. It is not handed to a helper.
	dir *os.File
}

// An only is what a mask is for: a socket or a device, or a directory if there was one when the mask was made. Commands see any other file
// in its place: the asker may have put it there.
type only struct{ Dir bool }

// NewAway returns what hides the directories in hide, which commands see empty, and what is at the paths of mask where they see it: sockets
// whose servers do what they are asked for. Paths are without links; of those in mask there need be nothing yet.
func NewAway(hide, mask []string) (*Away, error) {
	a := &Away{hide: slices.Clone(hide), mask: slices.Clone(mask)}
	for i, path := range slices.Concat(hide, mask) {
		k := masked{Dir: []byte(filepath.Dir(path)), Name: []byte(filepath.Base(path))}
		if i >= len(hide) {
			info, err := os.Lstat(path)
			k.Only = &only{Dir: err == nil && info.IsDir()}
			k.dir = hold(string(k.Dir))
		}
		info, err := os.Lstat(string(k.Dir))
		if k.dir != nil {
			info, err = k.dir.Stat()
		}
		switch {
		case err == nil:
			id, _ := files.Identity(info)
			k.Dev, k.Ino = id.Dev, id.Ino
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR): // else nobody has it, or gets there
			return nil, err
		}
		a.all = append(a.all, k)
	}
	return a, nil
}

// paths returns all that is hidden.
func (a *Away) paths() []string {
	if a == nil {
		return nil
	}
	return slices.Concat(a.hide, a.mask)
}
