//go:build linux && !portable

package domain

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/namespace"
)

// mountCaps are the capabilities, of the new user namespace alone, that the helper keeps over its own start.
var mountCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}

// furnish makes the namespaces of the calling process what the command is to see. notes are what it could not do and did
// without.
func (o *order) furnish() (notes []string, err error) {
	if err := namespace.MapSelf(o.UID, o.GID); err != nil {
		return nil, err
	}
	// Nothing of what follows is to be read or changed from within.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	// What is mounted here is seen nowhere else, and what is mounted elsewhere from now on is not seen here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, os.NewSyscallError("mount", err)
	}
	if err := namespace.HoldControlGroups(); err != nil {
		return nil, err
	}
	for _, m := range o.Masks {
		if err := m.mount(); err != nil {
			return nil, err
		}
	}
	if err := unix.Mount("dialect", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		notes = append(notes, "the agent sees the other terminals of this user: "+err.Error())
	}
	// Last: what is above goes by /proc.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, fmt.Errorf("/proc cannot be mounted: %w", err)
	}
	return notes, nil
}

// mount hides what is at the mask's path. What was a socket, or a directory of them, and is something else by now is left alone.
func (m *mask) mount() error {
	fail := func(err error) error { return &os.PathError{Op: "mask", Path: m.Path, Err: err} }
	fd, err := unix.Openat2(unix.AT_FDCWD, m.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		defer unix.Close(fd)
	}
	var st unix.Stat_t
	switch gone := err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP; {
	case gone && !m.ReadOnly:
		return nil
	case err == nil:
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return fail(err)
	}
	if m.File && !hideable(st.Mode) {
		return nil
	}
	keep := make([]int, len(m.Keep))
	for i, path := range m.Keep {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			defer unix.Close(fd)
		case m.ReadOnly || err != unix.ENOENT && err != unix.ENOTDIR:
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
		keep[i] = fd // -1: the server of the user that was to be left has ended
	}
	switch gone, err := namespace.Hide(fd, !m.File); {
	case gone: // another may be there by now; without its folder a domain is an error
		return m.mount()
	case err != nil:
		return fail(err)
	}
	for i, path := range m.Keep {
		if keep[i] < 0 {
			continue
		}
		if !strings.HasPrefix(path, m.Path+"/") {
			return fail(fmt.Errorf("%s is not below it", path))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		f.Close()
		err = unix.Mount("/proc/self/fd/"+strconv.Itoa(keep[i]), path, "", unix.MS_BIND, "")
		if err != nil && (m.ReadOnly || err != unix.ENOENT) {
			return &os.PathError{Op: "bind", Path: path, Err: err}
		}
	}
	if m.ReadOnly {
		if err := unix.MountSetattr(unix.AT_FDCWD, m.Path, unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fail(err)
		}
	}
	return nil
}
