// Package keyfd takes the signing key of a run from a file descriptor, out of reach
// of the commands that the run will start.
//
// An orchestrator starts dialect with the reading end of a pipe that holds the key.
// The key is read before anything else is started, the descriptor is closed, and on
// Linux the process makes itself undumpable first: then no other process of the same
// user can attach to it, or read its memory or descriptors. No command inherits the
// descriptor or an environment variable that names it.
//
// That does not help where the commands run as root or with CAP_SYS_PTRACE, where the
// key is in a file that they can read, or where they can read the orchestrator's own
// memory. The first two are found out here, and then the key gives no higher level
// than none; the last is for the orchestrator to see to.
package keyfd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// Variable names the environment variable that holds the number of the descriptor.
const Variable = "DIALECT_KEY_FD"

// maxKey bounds a key, in bytes.
const maxKey = 4096

// A Key is a signing key, and why it is not out of reach.
type Key struct {
	Signer *receipts.Signer
	// Weakness says why what the key signs has trust level 0 all the same; empty if it
	// has level 1.
	Weakness string
}

// Take reads the key from the descriptor that text names, closes it, and protects
// this process. It must be called before any command is started.
func Take(text string) (*Key, error) {
	private, weakness, err := read(text)
	if err != nil {
		return nil, err
	}
	s, err := receipts.NewSigner(private, weakness == "")
	if err != nil {
		return nil, fmt.Errorf("descriptor %s: %w", text, err)
	}
	return &Key{Signer: s, Weakness: weakness}, nil
}

// Read reads the text of a key as [Take] does, for what signs and runs nothing.
func Read(text string) (private string, err error) {
	private, _, err = read(text)
	return private, err
}

func read(text string) (private, weakness string, err error) {
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 0 || fd > 1<<20 {
		return "", "", fmt.Errorf("%q is no number of a file descriptor", text)
	}
	if fd <= 2 {
		return "", "", fmt.Errorf("descriptor %d is a standard stream: hand the key over by another one", fd)
	}
	weakness = protect()
	f := os.NewFile(uintptr(fd), "key")
	if f == nil {
		return "", "", fmt.Errorf("descriptor %d is not open", fd)
	}
	defer f.Close()
	if w := inspect(f); weakness == "" {
		weakness = w
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	defer clear(b)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("the key cannot be read from descriptor %d: %w", fd, pathless(err))
	case len(b) == 0:
		return "", "", fmt.Errorf("descriptor %d holds no key: it is empty, or was read before", fd)
	case len(b) > maxKey:
		return "", "", fmt.Errorf("descriptor %d holds more than a key", fd)
	}
	return strings.TrimSpace(string(b)), weakness, nil
}

// pathless drops the made-up name of the descriptor.
func pathless(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// inspect says why what is behind a descriptor is within reach of others.
func inspect(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return "what the descriptor is cannot be told"
	}
	if info.Mode().IsRegular() && linked(info) {
		return "the key is in a file that commands may read: hand it over by a pipe"
	}
	return ""
}
