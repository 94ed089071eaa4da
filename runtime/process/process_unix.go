//go:build unix

package process

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "signal " + s.String()
}

// candidates returns the names under which file may be found in a directory.
func candidates(file string, _ []string) []string { return []string{file} }

func sameName(a, b string) bool { return a == b }

func permitted(path string, info os.FileInfo) bool {
	// Not even root may execute what nobody may.
	return info.Mode()&0o111 != 0 && unix.Access(path, unix.X_OK) == nil
}

// identify returns what tells the content of the file at path from any earlier
// one. The error says that it is not a file to be read; ok is false if its content
// may change unseen.
func identify(path string) (id fileID, ok bool, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return id, false, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return id, false, fmt.Errorf("%s is not a regular file", path) // to open a pipe could block
	}
	return fileID{
		dev: uint64(st.Dev), ino: uint64(st.Ino), size: st.Size,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}, true, nil
}
