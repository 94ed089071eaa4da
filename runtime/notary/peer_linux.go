package notary

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peer says who is at the other end of a connection, as the kernel kept it when the connection was made.
func peer(c net.Conn) (Peer, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return Peer{}, errors.New("the connection is not of a UNIX socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil {
		return Peer{}, cerr
	}
	if err != nil {
		return Peer{}, err
	}
	return Peer{UID: int(cred.Uid)}, nil
}
