package cleanroom

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// swapIn is a [swapper]. The two files change places in one step, and what comes out is looked at under the name temp, where nobody writes.
//
// Source: renameat2(2).
func swapIn(live *os.Root, temp, name string, old isOld) error {
	dir, err := live.OpenFile(filepath.Dir(name), os.O_RDONLY|unix.O_DIRECTORY, 0) // a FIFO in its place would be waited for
	if err != nil {
		return err
	}
	defer dir.Close()
	rename := func(flags uint) error {
		return unix.Renameat2(int(dir.Fd()), filepath.Base(temp), int(dir.Fd()), filepath.Base(name), flags)
	}
	flags := uint(unix.RENAME_NOREPLACE)
	if old != nil {
		flags = unix.RENAME_EXCHANGE
	}
	switch err := rename(flags); {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP): // of the kernel, or of a file system
		return replace(live, temp, name, old)
	case errors.Is(err, fs.ErrExist), old != nil && errors.Is(err, fs.ErrNotExist):
		return errEdited
	case err != nil || old == nil:
		return err
	}
	return old.look(temp)
}
