//go:build unix

package tempdir

import (
	"os"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
)

// hold locks dir until release is called or the process ends.
func hold(dir string) (release func()) {
	f, err := lock(dir)
	if err != nil {
		return func() {} // it is removed when it is old
	}
	return func() { f.Close() }
}

func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepOne removes dir if it is one that was left behind.
func sweepOne(dir string) {
	if info, err := os.Lstat(dir); err != nil || !leftBehind(info) {
		return
	}
	f, err := lock(dir)
	if err != nil {
		return // in use
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && leftBehind(info) {
		_ = RemoveAll(dir)
	}
}

func leftBehind(info os.FileInfo) bool {
	return info.IsDir() && info.Mode().Perm()&0o077 == 0 && regular.Owner(info) == os.Geteuid() && time.Since(info.ModTime()) >= minAge
}
