//go:build linux && !portable

package domain

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
)

// listeners returns what listens on this machine and could run a command of a client, as this user: sockets of
// the user, of docker and its like, and sshd. Those that a mask hides are closed.
func listeners(folder string, masks []mask) (reach, closed []string) {
	uid := os.Getuid()
	if text, err := regular.Read("/proc/net/unix", maxTable); err == nil {
		for _, path := range unixListeners(string(text)) {
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
			} else {
				reach = append(reach, told)
			}
		}
	}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		found, err := listening(family)
		if err != nil {
			reach = append(reach, "tcp: what listens cannot be listed: "+err.Error())
		}
		for _, l := range found {
			switch {
			case l.at.Port() == 22:
				reach = append(reach, "ssh "+l.at.String())
			case l.uid == uid:
				reach = append(reach, "tcp "+l.at.String())
			}
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
	case strings.Contains(path, "/tmux-"):
		return "tmux"
	case strings.Contains(path, "/.X11-unix/"):
		return "X11"
	case strings.Contains(path, "/screen/S-"):
		return "screen"
	}
	return ""
}

// unixListeners returns the paths that sockets listen on, of the text of /proc/net/unix. Abstract sockets
// are left out: a Landlock scope closes them.
func unixListeners(table string) (list []string) {
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		var field [7]string // Num RefCount Protocol Flags Type St Inode
		rest := line
		for i := range field {
			rest = strings.TrimLeft(rest, " ")
			field[i], rest, _ = strings.Cut(rest, " ")
		}
		flags, err := strconv.ParseUint(field[3], 16, 64)
		if err != nil || flags&unixAccepts == 0 || !filepath.IsAbs(rest) || slices.Contains(list, rest) {
			continue
		}
		list = append(list, rest)
	}
	return list
}

// unixAccepts is __SO_ACCEPTCON of linux/net.h.
const unixAccepts = 1 << 16

type tcpListener struct {
	at  netip.AddrPort
	uid int
}

// Of linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
const (
	sockDiagByFamily = 20
	tcpListen        = 10
	diagRequestSize  = 56
	diagMessageSize  = 72
)

// listening asks the kernel for the TCP sockets of a family that listen. The tables of /proc tell the same, and take
// milliseconds, as the kernel walks over all connections for them.
func listening(family byte) ([]tcpListener, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	request := make([]byte, unix.SizeofNlMsghdr+diagRequestSize)
	native := binary.NativeEndian
	native.PutUint32(request[0:], uint32(len(request)))
	native.PutUint16(request[4:], sockDiagByFamily)
	native.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request[16], request[17] = family, unix.IPPROTO_TCP
	native.PutUint32(request[20:], 1<<tcpListen)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2})
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("sendto", err)
	}
	var list []tcpListener
	for buf := make([]byte, 64<<10); ; {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("recvfrom", err)
		}
		part, more, err := tcpListeners(buf[:n])
		if list = append(list, part...); err != nil || !more {
			return list, err
		}
	}
}

// tcpListeners returns what listens, of one answer of the kernel; more says that others follow.
func tcpListeners(answer []byte) (list []tcpListener, more bool, err error) {
	native := binary.NativeEndian
	for len(answer) >= unix.SizeofNlMsghdr {
		size := int(native.Uint32(answer))
		if size < unix.SizeofNlMsghdr || size > len(answer) {
			break
		}
		message := answer[unix.SizeofNlMsghdr:size]
		switch native.Uint16(answer[4:]) {
		case unix.NLMSG_DONE:
			return list, false, nil
		case unix.NLMSG_ERROR:
			if len(message) >= 4 {
				if code := int32(native.Uint32(message)); code < 0 {
					return list, false, syscall.Errno(-code)
				}
			}
			return list, false, nil
		case sockDiagByFamily:
			if len(message) < diagMessageSize {
				return list, false, errors.New("a short message of the kernel")
			}
			at, _ := netip.AddrFromSlice(message[8:24])
			if message[0] == unix.AF_INET {
				at, _ = netip.AddrFromSlice(message[8:12])
			}
			list = append(list, tcpListener{netip.AddrPortFrom(at.Unmap(), binary.BigEndian.Uint16(message[4:])), int(native.Uint32(message[64:]))})
		}
		answer = answer[min((size+3)&^3, len(answer)):]
	}
	return list, true, nil
}
