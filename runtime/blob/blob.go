// Package blob keeps bytes in files that are named after their SHA-256, below a folder. A
// file gets its name once it is whole: what a killed process leaves is a temporary file,
// which belongs to nobody after a day.
package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
)

// ErrChanged says that a file does not hold the bytes that it is named after.
var ErrChanged = errors.New("it does not have the bytes that its name says")

const tempPrefix = ".log-"

// Path returns where the folder dir keeps the bytes with a digest.
func Path(dir string, sum [sha256.Size]byte) string {
	name := hex.EncodeToString(sum[:])
	return filepath.Join(dir, "sha256", name[:2], name[2:])
}

// Is reports whether name, a path relative to the folder, with slashes, can be one of [Path].
func Is(name string) bool {
	dir, rest := path.Split(name)
	first, ok := strings.CutPrefix(dir, "sha256/")
	if !ok || len(first) != 3 || len(rest) != 62 {
		return false
	}
	_, err := hex.DecodeString(first[:2] + rest)
	return err == nil
}

// IsTemp reports whether name, without a folder, is of a temporary file.
func IsTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// Temp makes a temporary file in a folder, and the folder if need be, for the user alone.
func Temp(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			f, err = os.CreateTemp(dir, tempPrefix+"*")
		}
	}
	return f, err
}

// Place closes f, a file of [Temp], and gives it the name path; the folder of path is made
// if need be. After an error f is gone.
func Place(f *os.File, path string) error {
	err := f.Close()
	if err == nil {
		if err = os.Rename(f.Name(), path); errors.Is(err, fs.ErrNotExist) {
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				err = os.Rename(f.Name(), path)
			}
		}
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Write puts text at path, whole or not at all, in the place of what was there. An error names path,
// and not the temporary file, which nobody has asked for and which is gone.
func Write(path string, text []byte, mode fs.FileMode) error {
	err := write(path, text, mode)
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		err = file.Err
	case errors.As(err, &link):
		err = link.Err
	default:
		return err
	}
	return &fs.PathError{Op: "write", Path: path, Err: err}
}

// WriteIn is [Write] of a file in a folder that is open: nothing is written elsewhere, whatever comes to stand at its path.
func WriteIn(r *os.Root, name string, text []byte, mode fs.FileMode) error {
	temp, err := TempIn(r, text, mode)
	if err != nil {
		return err
	}
	if err = r.Rename(temp, name); errors.Is(err, fs.ErrNotExist) {
		if err = r.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			err = r.Rename(temp, name)
		}
	}
	if err != nil {
		_ = r.Remove(temp)
	}
	return err
}

// TempIn writes a temporary file into a folder that is open, and returns its name.
func TempIn(r *os.Root, text []byte, mode fs.FileMode) (name string, err error) {
	name = tempPrefix + rand.Text()
	f, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = r.Remove(name)
		return "", err
	}
	return name, nil
}

func write(path string, text []byte, mode fs.FileMode) error {
	f, err := Temp(filepath.Dir(path))
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Chmod(mode)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return err
	}
	return Place(f, path)
}

// Open opens the bytes with a digest, from their beginning, and returns how many there are. All of them are read first, at most as many as most:
// the error is [ErrChanged] where there are more, or they have another digest. It is that of ctx where that is over before.
func Open(ctx context.Context, dir string, sum [sha256.Size]byte, most int64) (f *os.File, size int64, err error) {
	if f, err = regular.OpenOwn(Path(dir, sum)); err != nil {
		return nil, 0, err
	}
	h := sha256.New()
	for err == nil && size <= most {
		var n int64
		n, err = io.CopyN(h, f, 1<<20)
		size += n
		err = cmp.Or(ctx.Err(), err)
	}
	if err == io.EOF {
		err = nil
	}
	if size > most {
		err = cmp.Or(err, ErrChanged)
	}
	if err == nil && [sha256.Size]byte(h.Sum(nil)) != sum {
		err = ErrChanged
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, size, nil
}

// MostOf returns how many bytes what is kept of an output of n bytes can have: a mark is longer than the secret that it takes the place of.
func MostOf(n int64) int64 { return 32*min(max(n, 0), 1<<32) + 1<<20 }

// SeekTail moves f to the begin of its last n lines.
func SeekTail(f *os.File, n int) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	seen := 0
	for at := end; at > 0; {
		k := min(int64(len(buf)), at)
		at -= k
		if _, err := f.ReadAt(buf[:k], at); err != nil {
			return err
		}
		for i := k - 1; i >= 0; i-- {
			if buf[i] != '\n' || at+i == end-1 {
				continue
			}
			if seen++; seen == n {
				_, err := f.Seek(at+i+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}
