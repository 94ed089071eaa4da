//go:build linux && !portable

package domain

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/runtime/domain/listening"
)

// listeners returns what listens on this machine and could run a command of a client, as this user: of these sockets those of
// the user, of docker and its like, and sshd. Those that a mask hides are closed.
func listeners(folder string, masks []mask, sockets []string) (reach, closed []string) {
	uid := os.Getuid()
	for _, path := range sockets {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || under(real, folder) { // the caller's own
			continue
		}
		var st unix.Stat_t
		name := socketName(real, uid)
		if unix.Lstat(real, &st) != nil || int(st.Uid) != uid && (name == "" || unix.Access(real, unix.W_OK) != nil) {
			continue
		}
		told := strings.TrimSpace(name + " " + real)
		if hidden(masks, real) {
			closed = append(closed, told)
			if st.Nlink > 1 {
				reach = append(reach, "by another name of it: "+told)
			}
		} else {
			reach = append(reach, told)
		}
	}
	found, err := listening.TCP()
	if err != nil {
		reach = append(reach, "tcp: what listens cannot be listed: "+err.Error())
	}
	for _, l := range found {
		switch {
		case l.At.Port() == 22:
			reach = append(reach, "ssh "+l.At.String())
		case l.UID == uid:
			reach = append(reach, "tcp "+l.At.String())
		}
	}
	for _, list := range []*[]string{&reach, &closed} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return reach, closed
}

// hidden reports whether the command cannot reach a socket by its path.
func hidden(masks []mask, path string) bool {
	return slices.ContainsFunc(masks, func(m mask) bool {
		return (m.File && m.Path == path || !m.File && under(path, m.Path)) && !slices.Contains(m.Keep, path)
	})
}

// socketName says what listens at a path, as far as the path tells; empty if it does not.
func socketName(path string, uid int) string {
	user := "/run/user/" + strconv.Itoa(uid) + "/"
	switch base := filepath.Base(path); {
	case base == "docker.sock" || base == "podman.sock" || base == "containerd.sock":
		return strings.TrimSuffix(base, ".sock")
	case strings.HasPrefix(path, user+"systemd/"):
		return "systemd --user"
	case path == user+"bus":
		return "session bus"
	case strings.HasPrefix(base, "S.gpg-agent"):
		return "gpg-agent"
	case base == "S.dirmngr" || base == "S.keyboxd" || base == "S.scdaemon":
		return strings.TrimPrefix(base, "S.")
	case strings.HasPrefix(base, "agent.") && strings.HasPrefix(filepath.Base(filepath.Dir(path)), "ssh-"), strings.HasSuffix(filepath.Dir(path), "/.ssh/agent"):
		return "ssh-agent"
	case strings.Contains(path, "/zellij-"):
		return "zellij"
	case strings.Contains(path, "/tmux-"):
		return "tmux"
	case strings.Contains(path, "/.X11-unix/"):
		return "X11"
	case strings.Contains(path, "/screen/S-"):
		return "screen"
	}
	return ""
}
