//go:build linux

package listening

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

// maxTable bounds the table of /proc, in bytes.
const maxTable = 16 << 20

// Unix returns the paths that sockets listen on.
func Unix() ([]string, error) {
	text, err := regular.Read("/proc/net/unix", maxTable)
	if err != nil {
		return nil, err
	}
	return unixListeners(string(text)), nil
}

// TCP returns the TCP sockets that listen.
func TCP() (list []Socket, err error) {
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		found, e := ofFamily(family)
		list, err = append(list, found...), errors.Join(err, e)
	}
	return list, err
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

// A Socket listens for TCP connections.
type Socket struct {
	At  netip.AddrPort
	UID int // of its owner
}

// Of linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
const (
	sockDiagByFamily = 20
	tcpListen        = 10
	diagRequestSize  = 56
	diagMessageSize  = 72
)

// ofFamily asks the kernel for the TCP sockets of a family that listen. The tables of /proc tell the same, and take
// milliseconds, as the kernel walks over all connections for them.
func ofFamily(family byte) ([]Socket, error) {
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
	var list []Socket
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
func tcpListeners(answer []byte) (list []Socket, more bool, err error) {
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
			list = append(list, Socket{netip.AddrPortFrom(at.Unmap(), binary.BigEndian.Uint16(message[4:])), int(native.Uint32(message[64:]))})
		}
		answer = answer[min((size+3)&^3, len(answer)):]
	}
	return list, true, nil
}
