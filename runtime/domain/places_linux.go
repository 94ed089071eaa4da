//go:build linux && !portable

package domain

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/domain/listening"
)

// A mask hides what is at a path.
type mask struct {
	Path     string
	File     bool     // /dev/null instead of an empty directory
	ReadOnly bool     // nothing can be made in it
	Keep     []string // sockets below it that stay seen, as absolute paths
}

// places returns the masks of a command with this environment: of the folder, and of where other processes of
// the user listen that run the commands of their clients. Paths are without links, and there.
func places(o *Options) ([]mask, error) {
	folders, err := aliases(o.Folder)
	if err != nil {
		return nil, err
	}
	list := make([]mask, 0, len(folders)+8)
	for i, folder := range folders {
		m := mask{Path: folder, ReadOnly: true}
		if i == 0 {
			m.Keep = o.Sockets
		}
		list = append(list, m)
	}
	uid := strconv.Itoa(os.Getuid())
	env := func(name string) string {
		for _, v := range slices.Backward(o.Env) {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return ""
	}
	add := func(path string, file bool) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !filepath.IsAbs(real) {
			return
		}
		var st unix.Stat_t
		if unix.Lstat(real, &st) != nil || (st.Mode&unix.S_IFMT == unix.S_IFDIR) == file {
			return
		}
		// A directory of another user can be a trap, and one around what the command works on is not a place of sockets.
		if !file && (int(st.Uid) != os.Getuid() && st.Uid != 0 || under(o.Dir, real) || under(env("HOME"), real)) {
			return
		}
		if !slices.ContainsFunc(list, func(m mask) bool { return m.Path == real || !m.File && under(real, m.Path) }) {
			list = append(list, mask{Path: real, File: file})
		}
	}
	for _, f := range o.Streams { // on a console: those of /dev/pts are hidden as a whole
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd()))); err == nil && strings.HasPrefix(name, "/dev/tty") {
			add(name, true)
		}
	}
	addGroups(add)
	add("/run/user/"+uid, false)
	if dir := env("XDG_RUNTIME_DIR"); dir != "" && ownDir(dir) {
		add(dir, false)
	}
	for _, dir := range []string{"/tmp", env("TMUX_TMPDIR")} {
		if filepath.IsAbs(dir) {
			dir = filepath.Join(dir, "tmux-"+uid)
			_ = os.Mkdir(dir, 0o700) // so that a server that is started later is not seen either
			add(dir, false)
		}
	}
	if socket, _, _ := strings.Cut(env("TMUX"), ","); filepath.IsAbs(socket) {
		add(socket, true)
	}
	for address := range strings.SplitSeq(env("DBUS_SESSION_BUS_ADDRESS"), ";") {
		for part := range strings.SplitSeq(strings.TrimPrefix(address, "unix:"), ",") {
			if path, ok := strings.CutPrefix(part, "path="); ok {
				add(path, true)
			}
		}
	}
	if socket, ok := strings.CutPrefix(env("DOCKER_HOST"), "unix://"); ok {
		add(socket, true)
	}
	for _, socket := range []string{"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", env("HOME") + "/.docker/run/docker.sock", env("HOME") + "/.docker/desktop/docker.sock"} {
		add(socket, true)
	}
	for _, dir := range []string{"/tmp/.X11-unix", "/tmp/.ICE-unix", "/run/screen/S-" + env("USER"), env("SCREENDIR"), "/tmp/zellij-" + uid} {
		if filepath.IsAbs(dir) {
			add(dir, false)
		}
	}
	// What signs for the user and runs nothing stays: git push and signed commits need it.
	for _, socket := range []string{env("SSH_AUTH_SOCK"), "/run/user/" + uid + "/gnupg/S.gpg-agent"} {
		real, err := filepath.EvalSymlinks(socket)
		if info, e := os.Lstat(real); err != nil || e != nil || info.Mode()&os.ModeSocket == 0 {
			continue
		}
		for i := range list {
			if m := &list[i]; !m.ReadOnly && !m.File && strings.HasPrefix(real, m.Path+"/") {
				m.Keep = append(m.Keep, real)
			}
		}
	}
	return list, nil
}

// addGroups adds what a user has by a group alone: sockets of docker, libvirt, lxd and their like, whose servers are root and do
// what they are asked for, disks, and the device that types keys.
func addGroups(add func(path string, file bool)) {
	if paths, err := listening.Unix(); err == nil {
		for _, path := range paths {
			var st unix.Stat_t
			if unix.Stat(path, &st) == nil && int(st.Uid) != os.Getuid() && st.Mode&0o002 == 0 && unix.Access(path, unix.W_OK) == nil {
				add(path, true)
			}
		}
	}
	list, _ := os.ReadDir("/dev") // without it there are no devices
	for _, e := range list {
		disk := e.Type()&os.ModeDevice != 0 && e.Type()&os.ModeCharDevice == 0
		if path := "/dev/" + e.Name(); (disk || e.Name() == "uinput") && (unix.Access(path, unix.R_OK) == nil || unix.Access(path, unix.W_OK) == nil) {
			add(path, true)
		}
	}
}

// ownDir reports whether a directory is the user's, and nobody else may enter it.
func ownDir(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && int(st.Uid) == os.Getuid() && st.Mode&0o077 == 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// maxTable bounds the table of mounts, in bytes.
const maxTable = 16 << 20

// aliases returns the paths at which a directory is seen, itself first: a file system can be mounted in more places than
// one, as /var is on some systems.
func aliases(folder string) ([]string, error) {
	text, err := regular.Read("/proc/self/mountinfo", maxTable)
	if err != nil {
		return nil, err
	}
	var want, st unix.Stat_t
	if err := unix.Lstat(folder, &want); err != nil {
		return nil, &os.PathError{Op: "lstat", Path: folder, Err: err}
	}
	list := []string{folder}
	for _, path := range seenAt(string(text), folder) {
		if unix.Lstat(path, &st) == nil && st.Dev == want.Dev && st.Ino == want.Ino {
			list = append(list, path)
		}
	}
	return list, nil
}

// seenAt returns the other paths at which a table of mounts says that path may be seen.
func seenAt(table, path string) (list []string) {
	type mounted struct{ device, root, at string }
	var all []mounted
	var of mounted
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		m := mounted{f[2], unescape(f[3]), unescape(f[4])}
		all = append(all, m)
		if under(path, m.at) && len(m.at) >= len(of.at) { // a later mount covers an earlier one
			of = m
		}
	}
	if of.at == "" {
		return nil
	}
	inner := filepath.Join(of.root, strings.TrimPrefix(path, of.at))
	for _, m := range all {
		if m.device != of.device || !under(inner, m.root) {
			continue
		}
		if other := filepath.Join(m.at, strings.TrimPrefix(inner, m.root)); other != path && !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	return list
}

// under reports whether path is dir, or below it.
func under(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// unescape undoes the octal escapes of mountinfo.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
