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

// maxNamespaces bounds the tables of other network namespaces that are read.
const maxNamespaces = 64

// Unix returns the paths that sockets listen on, or take datagrams at: those of this network namespace and those of other ones in which
// processes run that this user may look at. A path is reached from each of them.
func Unix() ([]string, error) {
	text, err := regular.Read("/proc/net/unix", maxTable)
	if err != nil {
		return nil, err
	}
	list := unixListeners(string(text))
	for _, table := range others() {
		if text, err := regular.Read(table, maxTable); err == nil { // else the process has ended
			for _, path := range unixListeners(string(text)) {
				if !slices.Contains(list, path) {
					list = append(list, path)
				}
			}
		}
	}
	return list, nil
}

// others returns the tables of other network namespaces, one for each. Of a process of this user that hides its namespace, such as one that
// keeps keys, it is the one of that process.
func others() (tables []string) {
	seen := make(map[string]bool)
	if own, err := os.Readlink("/proc/self/ns/net"); err == nil {
		seen[own] = true
	}
	var hiding []string
	list, _ := filepath.Glob("/proc/[0-9]*") // without any there are no others
	for _, process := range list {
		space, err := os.Readlink(process + "/ns/net")
		switch {
		case err == nil && !seen[space]:
			seen[space] = true
			tables = append(tables, process+"/net/unix")
		case errors.Is(err, os.ErrPermission) && ownedBySelf(process):
			hiding = append(hiding, process+"/net/unix")
		}
	}
	tables = append(tables, hiding...)
	return tables[:min(len(tables), maxNamespaces)]
}

// ownedBySelf reports whether a process runs as this user, also where its files belong to root.
func ownedBySelf(process string) bool {
	text, err := regular.Read(process+"/status", maxTable)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			return f[1] == strconv.Itoa(os.Getuid())
		}
	}
	return false
}

// TCP returns the TCP sockets that listen.
func TCP() (list []Socket, err error) {
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		found, e := ofFamily(family)
		list, err = append(list, found...), errors.Join(err, e)
	}
	return list, err
}

// unixListeners returns the paths that sockets listen on, or take datagrams at, of the text of /proc/net/unix. Abstract sockets
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
		if err != nil || flags&unixAccepts == 0 && field[4] != datagram || !filepath.IsAbs(rest) || slices.Contains(list, rest) {
			continue
		}
		list = append(list, rest)
	}
	return list
}

// unixAccepts is __SO_ACCEPTCON of linux/net.h, and datagram is SOCK_DGRAM.
const (
	unixAccepts = 1 << 16
	datagram    = "0002"
)

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
