//go:build linux && !portable

package domain

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/namespace"
)

// A mask hides what is at a path without links: a directory, or a socket or a device.
type mask struct {
	Path     string
	File     bool     // /dev/null instead of an empty directory
	ReadOnly bool     // of the folder: it is there, and nothing can be made in it
	Keep     []string // sockets below it that stay seen, as absolute paths
}

// A finder looks for what is to be masked. The names in a home, in /tmp and in the environment may be those of an earlier agent, or of
// another user, and so may what is at them: a file or a link is never masked by such a name.
type finder struct {
	o     *Options
	env   func(name string) string
	uid   int
	list  []mask
	later []string // where a server can be started that is not hidden
}

// places returns the masks of a command with this environment: of the folder, and of where other processes of
// the user listen that run the commands of their clients. sockets are what listens. later are places that cannot be masked where nothing is yet.
func places(o *Options, sockets []string) (list []mask, later []string, err error) {
	f := &finder{o: o, uid: os.Getuid(), env: func(name string) string {
		for _, v := range slices.Backward(o.Env) {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return ""
	}}
	folders, err := aliases(o.Folder)
	if err != nil {
		return nil, nil, err
	}
	for i, folder := range folders {
		m := mask{Path: folder, ReadOnly: true}
		if i == 0 {
			m.Keep = o.Sockets
		}
		f.list = append(f.list, m)
	}
	f.desktop()
	f.terminals()
	f.containers()
	f.agents()
	f.groups(sockets)
	for _, path := range sockets {
		if real, err := filepath.EvalSymlinks(path); err == nil && socketName(real, f.uid) != "" {
			f.server(real)
		}
	}
	for _, socket := range f.o.Leave {
		real, err := filepath.EvalSymlinks(socket)
		for i := range f.list {
			if m := &f.list[i]; err == nil && !m.ReadOnly && !m.File && strings.HasPrefix(real, m.Path+"/") {
				m.Keep = append(m.Keep, real)
			}
		}
	}
	slices.Sort(f.later)
	return f.list, slices.Compact(f.later), nil
}

// desktop masks the session bus, systemd --user, and the window systems.
func (f *finder) desktop() {
	uid := strconv.Itoa(f.uid)
	f.dir("/run/user/"+uid, true)
	if dir := f.env("XDG_RUNTIME_DIR"); dir != "" && ownDir(dir) {
		f.dir(dir, !under(dir, f.env("HOME")))
	}
	for address := range strings.SplitSeq(f.env("DBUS_SESSION_BUS_ADDRESS"), ";") {
		for part := range strings.SplitSeq(strings.TrimPrefix(address, "unix:"), ",") {
			if path, ok := strings.CutPrefix(part, "path="); ok {
				f.place(path)
			}
		}
	}
	f.dir("/tmp/.X11-unix", true)
	f.dir("/tmp/.ICE-unix", true)
}

// terminals masks what runs commands in terminals of the user, and the console.
func (f *finder) terminals() {
	uid := strconv.Itoa(f.uid)
	for _, stream := range f.o.Streams { // on a console: those of /dev/pts are hidden as a whole
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(stream.Fd()))); err == nil && strings.HasPrefix(name, "/dev/tty") {
			f.socket(name)
		}
	}
	for _, dir := range []string{"/tmp/tmux-" + uid, f.env("TMUX_TMPDIR") + "/tmux-" + uid, "/tmp/zellij-" + uid} {
		if filepath.IsAbs(dir) {
			_ = os.Mkdir(dir, 0o700) // so that a server that is started later is not seen either
			f.dir(dir, strings.HasPrefix(dir, "/tmp/"))
		}
	}
	if socket, _, _ := strings.Cut(f.env("TMUX"), ","); filepath.IsAbs(socket) {
		f.place(socket)
	}
	f.dir("/run/screen/S-"+f.env("USER"), true)
	if dir := f.env("SCREENDIR"); dir != "" {
		f.dir(dir, false)
	}
}

// containers masks docker and podman.
func (f *finder) containers() {
	if socket, ok := strings.CutPrefix(f.env("DOCKER_HOST"), "unix://"); ok {
		f.place(socket)
	}
	for _, socket := range []string{"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"} {
		if g, err := user.LookupGroup("docker"); !f.socket(socket) && err == nil { // it is made where nothing else of root's can be hidden
			if groups, err := os.Getgroups(); err == nil && slices.ContainsFunc(groups, func(gid int) bool { return strconv.Itoa(gid) == g.Gid }) {
				f.later = append(f.later, socket)
			}
		}
	}
	for _, dir := range []string{"run", "desktop"} {
		if dir = f.env("HOME") + "/.docker/" + dir; !f.socket(dir+"/docker.sock") && filepath.IsAbs(dir) {
			f.dir(dir, false)
		}
	}
}

// agents masks what holds keys for the user and runs, outside, programs that its client names: gpg-agent runs the pinentry of a file in the
// user's home, and ssh-agent loads libraries.
func (f *finder) agents() {
	gnupg := f.env("GNUPGHOME")
	if gnupg == "" {
		gnupg = f.env("HOME") + "/.gnupg"
	}
	if _, err := os.Stat(gnupg); err == nil && filepath.IsAbs(gnupg) {
		for _, name := range []string{"S.gpg-agent", "S.gpg-agent.extra", "S.gpg-agent.browser", "S.gpg-agent.ssh", "S.dirmngr", "S.keyboxd", "S.scdaemon"} {
			f.socket(filepath.Join(gnupg, name))
		}
		if !hidden(f.list, "/run/user/"+strconv.Itoa(f.uid)+"/gnupg") { // else they listen there
			f.later = append(f.later, gnupg)
		}
	}
	if socket := f.env("SSH_AUTH_SOCK"); filepath.IsAbs(socket) {
		f.server(socket)
	}
}

// groups masks what a user has by a group alone: sockets of docker, libvirt, lxd and their like, whose servers are root and do
// what they are asked for, disks, and the device that types keys.
func (f *finder) groups(sockets []string) {
	for _, path := range sockets {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil && int(st.Uid) != f.uid && st.Mode&0o002 == 0 && unix.Access(path, unix.W_OK) == nil {
			f.socket(path)
		}
	}
	list, _ := os.ReadDir("/dev") // without it there are no devices
	for _, e := range list {
		disk := e.Type()&os.ModeDevice != 0 && e.Type()&os.ModeCharDevice == 0
		if path := "/dev/" + e.Name(); (disk || e.Name() == "uinput") && (unix.Access(path, unix.R_OK) == nil || unix.Access(path, unix.W_OK) == nil) {
			f.socket(path)
		}
	}
}

// socket masks the socket or device that a path leads to, where that is, and reports whether one is there. Links are followed, as a client
// follows them; a file that one leads to stays seen.
func (f *finder) socket(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(real) {
		return false
	}
	var st unix.Stat_t
	if unix.Lstat(real, &st) != nil || !hideable(st.Mode) {
		return false
	}
	if !f.left(real) && !hidden(f.list, real) && !slices.ContainsFunc(f.list, func(m mask) bool { return under(real, m.Path) }) {
		f.list = append(f.list, mask{Path: real, File: true})
	}
	return true
}

// server masks the socket that a path leads to, with its directory where that holds sockets alone: it may be gone, and there anew, at any time.
func (f *finder) server(path string) {
	real, err := filepath.EvalSymlinks(path)
	var st unix.Stat_t
	if err == nil && unix.Lstat(real, &st) == nil && hideable(st.Mode) && !f.whole(filepath.Dir(real), false, false) {
		f.socket(real)
	}
}

// left reports whether the user wants a socket to stay.
func (f *finder) left(real string) bool {
	return slices.ContainsFunc(f.o.Leave, func(path string) bool { is, err := filepath.EvalSymlinks(path); return err == nil && is == real })
}

// hideable reports whether a mode is that of a socket or a device.
func hideable(mode uint32) bool {
	switch mode & unix.S_IFMT {
	case unix.S_IFSOCK, unix.S_IFCHR, unix.S_IFBLK:
		return true
	}
	return false
}

// place masks the socket at a path, or, where there is none yet, the directory that it would be in.
func (f *finder) place(path string) {
	if f.socket(path) || !filepath.IsAbs(path) {
		return
	}
	if dir, theirs, err := resolve(filepath.Dir(path)); err == nil && !f.whole(dir, theirs, false) && !slices.ContainsFunc(f.list, func(m mask) bool { return under(dir, m.Path) }) {
		f.later = append(f.later, path)
	}
}

// dir masks a directory of sockets, or those in it where it is not to be masked as a whole. known says that neither the project nor a tool
// can be in it by somebody's choice.
func (f *finder) dir(path string, known bool) {
	real, theirs, err := resolve(path)
	var st unix.Stat_t
	if err != nil || unix.Lstat(real, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || f.whole(real, theirs, known) {
		return
	}
	f.later = append(f.later, path)
	_ = filepath.WalkDir(real, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil || strings.Count(path[len(real):], "/") > maxDeep:
			return filepath.SkipDir
		case e.Type() == os.ModeSocket:
			f.socket(path)
		}
		return nil
	})
}

// maxDeep is how deep in a directory sockets are looked for.
const maxDeep = 3

// whole masks a directory, and reports whether it did: it belongs to the user or to root, no link of others leads to it, it is neither the
// project, around that or a home, nor in the project, and it is known or holds sockets alone.
func (f *finder) whole(real string, theirs, known bool) bool {
	var st unix.Stat_t
	switch {
	case theirs || unix.Lstat(real, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR, int(st.Uid) != f.uid && st.Uid != 0:
		return false
	case f.o.Tree != "" && (under(f.o.Tree, real) || under(real, f.o.Tree)), under(f.o.Dir, real), under(real, f.o.Dir), under(f.env("HOME"), real):
		return false
	case !known && !socketsAlone(real, 0):
		return false
	}
	if !slices.ContainsFunc(f.list, func(m mask) bool { return !m.File && under(real, m.Path) }) {
		f.list = append(f.list, mask{Path: real})
	}
	return true
}

// socketsAlone reports whether a directory, with those in it, holds nothing but sockets.
func socketsAlone(dir string, deep int) bool {
	list, err := os.ReadDir(dir)
	return err == nil && deep <= maxDeep && !slices.ContainsFunc(list, func(e os.DirEntry) bool {
		return e.Type() != os.ModeSocket && (!e.IsDir() || !socketsAlone(filepath.Join(dir, e.Name()), deep+1))
	})
}

// resolve returns an absolute path without links. theirs says that one was there that somebody else than root made, or could have.
func resolve(path string) (real string, theirs bool, err error) {
	real = "/"
	way := regular.NewWay(path)
	for name := way.Next(); name != ""; name = way.Next() {
		next := filepath.Join(real, name) // of "..", the directory above
		var st, in unix.Stat_t
		if err := unix.Lstat(next, &st); err != nil {
			return "", theirs, &os.PathError{Op: "lstat", Path: next, Err: err}
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			real = next
			continue
		}
		if unix.Lstat(real, &in) != nil || st.Uid != 0 || in.Uid != 0 || in.Mode&0o022 != 0 {
			theirs = true
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", theirs, err
		}
		if !way.Follow(to) {
			return "", theirs, &os.PathError{Op: "resolve", Path: path, Err: unix.ELOOP}
		}
		if filepath.IsAbs(to) {
			real = "/"
		}
	}
	return real, theirs, nil
}

// ownDir reports whether a directory is the user's, and nobody else may enter it.
func ownDir(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && int(st.Uid) == os.Getuid() && st.Mode&0o077 == 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// aliases returns the paths at which a directory is seen, itself first: a file system can be mounted in more places than
// one, as /var is on some systems.
func aliases(folder string) ([]string, error) {
	mounts, err := namespace.Mounts()
	if err != nil {
		return nil, err
	}
	var want, st unix.Stat_t
	if err := unix.Lstat(folder, &want); err != nil {
		return nil, &os.PathError{Op: "lstat", Path: folder, Err: err}
	}
	list := []string{folder}
	for _, path := range seenAt(mounts, folder) {
		if unix.Lstat(path, &st) == nil && st.Dev == want.Dev && st.Ino == want.Ino {
			list = append(list, path)
		}
	}
	return list, nil
}

// seenAt returns the other paths at which path may be seen, as the mounts say.
func seenAt(mounts []namespace.Mount, path string) (list []string) {
	var of namespace.Mount
	for _, m := range mounts {
		if under(path, m.At) && len(m.At) >= len(of.At) { // a later mount covers an earlier one
			of = m
		}
	}
	if of.At == "" {
		return nil
	}
	inner := filepath.Join(of.Root, strings.TrimPrefix(path, of.At))
	for _, m := range mounts {
		if m.Device != of.Device || !under(inner, m.Root) {
			continue
		}
		if other := filepath.Join(m.At, strings.TrimPrefix(inner, m.Root)); other != path && !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	return list
}

// under reports whether path is dir, or below it.
func under(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
