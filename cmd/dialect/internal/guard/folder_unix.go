//go:build unix

package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// folderParent is where the folders of notaries are. It belongs to root: below a directory of the user the agent could put
// another folder in the place of ours, for the next session to find.
const folderParent = "/var/tmp"

// folderPath is the folder of this user's notaries in parent.
func folderPath(parent string) string {
	return filepath.Join(parent, "dialect-"+strconv.Itoa(os.Getuid()))
}

// privateFolder makes the folder of this user's notaries in parent, if it is not there, and returns its path without links. It fails
// where anybody else could put something into it, or another folder in its place.
func privateFolder(parent string) (string, error) {
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Lstat(parent, &st); err != nil {
		return "", &os.PathError{Op: "lstat", Path: parent, Err: err}
	}
	if st.Uid != 0 || st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 {
		return "", fmt.Errorf("%s does not belong to root, or others can rename what is in it", parent)
	}
	path := folderPath(parent)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case int(st.Uid) != os.Getuid():
		return "", fmt.Errorf("%s belongs to another user", path)
	case st.Mode&0o077 != 0:
		if err := unix.Fchmod(fd, 0o700); err != nil {
			return "", &os.PathError{Op: "chmod", Path: path, Err: err}
		}
	}
	return path, nil
}
