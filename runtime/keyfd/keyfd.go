// Package keyfd takes the signing key of a run from a file descriptor. In comes the number
// of the descriptor, out goes a signer, and why its key could be in other hands. It does not
// sign, and it starts no process.
//
// # Who could take the key
//
// An orchestrator starts dialect, as the user of the commands, with the reading end of a pipe
// that holds the key. What counts is whether a process of that user can attach to dialect
// before or after it reads the key: ptrace(2), /proc/PID/mem, /proc/PID/fd and pidfd_getfd(2)
// all ask the same question of the kernel.
//
//   - After: on Linux [Take] makes the process undumpable before it reads the key, and the
//     kernel then refuses. No command inherits the descriptor, or a variable that names it.
//   - Before: between the exec and that call lie some milliseconds. A process that waits for
//     them takes the descriptor by pidfd_getfd, copies the key with tee(2), which leaves it in
//     the pipe, and is not noticed. A handshake does not help: the other end can be taken
//     instead, and asks first. Only the exec itself can close the gap: the kernel starts a
//     binary undumpable that the user may execute and not read. That is why `make install`
//     gives it mode 0711 and the owner root. An owner of the same user could change the mode.
//
// [Weakness] says why neither or only one of the two is closed. The signatures of such a key have
// level 0: the record is as good as one that the commands' user made.
//
// Nothing helps where the commands run as root or with CAP_SYS_PTRACE, or where the user
// owns the user namespace. All of this is found out here. A key in a file that commands can
// read is found out, too, and that the process which started dialect is one that they can read.
// Not found out, and for the orchestrator to see to: whether a shell of that user had the
// descriptor and became dialect by exec (su -c), whether the commands can read what stands further
// up, and whether they can replace the binary that it starts, by a folder that they can write.
package keyfd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
)

// Variable names the environment variable that holds the number of the descriptor.
const Variable = "DIALECT_KEY_FD"

// maxKey bounds a key, in bytes.
const maxKey = 4096

// A Key is a signing key, and why it is not out of reach.
type Key struct {
	Signer *receipts.Signer
	// Weakness says why what the key signs has trust level 0, and what to do about it;
	// empty if it has level 1.
	Weakness string
}

// Withhold keeps the descriptor that text names from all processes that this one starts from now on. A program calls it first of all,
// whether it takes the key or not: what git starts for a project, a clean filter for one, is the project's own. What names no
// descriptor is for [Take] to refuse. A pipe that a report goes to is withheld as well; other descriptors are for the commands.
func Withhold(text string) {
	if fd, err := strconv.Atoi(text); err == nil && fd > 2 && fd <= 1<<20 {
		closeOnExec(fd)
	}
}

// Take reads the key from the descriptor that text names, closes it, and protects
// this process. It must be called before any command is started.
func Take(text string) (*Key, error) {
	weakness := cmp.Or(protect(), starter())
	private, open, err := read(text)
	if err != nil {
		return nil, err
	}
	weakness = cmp.Or(weakness, open)
	s, err := receipts.NewSigner(private, weakness == "")
	if err != nil {
		return nil, fmt.Errorf("descriptor %s: %w", text, err)
	}
	return &Key{Signer: s, Weakness: weakness}, nil
}

// Read reads the text of a key as [Take] does. Open says why others could have read it from the descriptor, too; it is
// empty where they could not.
func Read(text string) (private, open string, err error) {
	_ = protect()
	return read(text)
}

func read(text string) (private, open string, err error) {
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 0 || fd > 1<<20 {
		return "", "", fmt.Errorf("%q is not the number of a file descriptor", text)
	}
	if fd <= 2 {
		return "", "", fmt.Errorf("descriptor %d is a standard stream: hand the key over by another one", fd)
	}
	f := os.NewFile(uintptr(fd), "key")
	if f == nil {
		return "", "", notOpen(fd)
	}
	defer f.Close()
	if _, err := f.Stat(); errors.Is(err, syscall.EBADF) {
		return "", "", notOpen(fd)
	}
	open = inspect(f)
	b, err := line(f)
	defer clear(b)
	switch {
	case errors.Is(err, errSilent):
		return "", "", fmt.Errorf("descriptor %d: no key came within %v: write it whole, and end the line or close the pipe", fd, patience)
	case err != nil:
		return "", "", fmt.Errorf("the key cannot be read from descriptor %d: %w", fd, regular.Reason(err))
	case len(b) == 0:
		return "", "", fmt.Errorf("descriptor %d holds no key: it is empty, or was read before", fd)
	case len(b) > maxKey:
		return "", "", fmt.Errorf("descriptor %d holds more than a key", fd)
	}
	return strings.TrimSpace(string(b)), open, nil
}

// patience bounds the wait for a key, before which somebody may have to type a passphrase. A pipe whose other end is held open has no end to wait for.
var patience = 2 * time.Minute

var errSilent = errors.New("silent")

// line reads up to the end of a line, as a key is one, or of the file.
func line(f *os.File) ([]byte, error) {
	type result struct {
		b   []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		b := make([]byte, 0, maxKey+1)
		for {
			n, err := f.Read(b[len(b):cap(b)])
			b = b[:len(b)+n]
			if errors.Is(err, io.EOF) || err == nil && (len(b) == cap(b) || bytes.IndexByte(b, '\n') >= 0) {
				err = nil
			} else if err == nil {
				continue
			}
			done <- result{b, err}
			return
		}
	}()
	select {
	case r := <-done:
		return r.b, r.err
	case <-time.After(patience): // the reader ends with the process
		return nil, errSilent
	}
}

func notOpen(fd int) error {
	return fmt.Errorf("descriptor %d is not open; bash opens it for one command: %[1]d< <(cat KEYFILE)", fd)
}

// inspect says why what is behind a descriptor is within reach of others.
func inspect(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return "cannot read what the descriptor is"
	}
	if info.Mode().IsRegular() && linked(info) {
		return "the key is in a file that commands may read: hand it over by a pipe"
	}
	if info.Mode()&fs.ModeNamedPipe != 0 && named(f) {
		return "the key comes through a pipe with a name, which commands may open too: hand it over by one without, as bash does by 3< <(cat KEYFILE)"
	}
	return ""
}
