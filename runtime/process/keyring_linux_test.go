package process

import "golang.org/x/sys/unix"

// sessionKeyring returns the number of the session's keyring.
func sessionKeyring() (int, error) {
	return unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
}
