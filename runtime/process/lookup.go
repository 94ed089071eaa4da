package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
)

// A lookupKey is what the place of an executable depends on, the file system apart.
type lookupKey struct{ file, path string }

// LookPath returns the absolute path of the executable that file names. A file
// with a slash is relative to dir; any other is looked for in the PATH of env,
// where relative and empty elements, which would mean the current directory, do not
// count. The error says why the file cannot be run: it is not there, it is a
// directory, it is not executable, or the interpreter of its "#!" line is missing.
//
// What is found in PATH is remembered; what is not found is looked for again.
func (l *Launcher) LookPath(file, dir string, env []string) (string, error) {
	path, err := l.lookPath(file, dir, env)
	if err == nil && hasSlash(file) {
		err = executable(path, env)
	}
	if err != nil {
		return "", err
	}
	return path, nil
}

// lookPath is LookPath without a look at a file that is named by its path: the
// start itself finds out whether it can be run.
func (l *Launcher) lookPath(file, dir string, env []string) (string, error) {
	if hasSlash(file) {
		path := file
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, file)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("%s cannot be found from here: %w", file, err)
		}
		return path, nil
	}
	key := lookupKey{file, getenv(env, "PATH")}
	if path, ok := l.lookups.Load(key); ok {
		return path.(string), nil
	}
	path, err := searchPath(key, env)
	if err == nil {
		l.lookups.Store(key, path)
	}
	return path, err
}

// forget drops what is remembered about file, since it proved wrong, and reports
// whether there was anything.
func (l *Launcher) forget(file string, env []string) bool {
	_, ok := l.lookups.LoadAndDelete(lookupKey{file, getenv(env, "PATH")})
	return ok
}

func searchPath(key lookupKey, env []string) (string, error) {
	if key.path == "" {
		return "", fmt.Errorf("%s was not found: PATH is not set", key.file)
	}
	var found error // why the first file of that name does not count
	skipped := 0
	for _, dir := range filepath.SplitList(key.path) {
		if !filepath.IsAbs(dir) {
			skipped++
			continue
		}
		for _, name := range candidates(key.file, env) {
			path := filepath.Join(dir, name)
			err := executable(path, env)
			if err == nil {
				return path, nil
			}
			if found == nil && !errors.Is(err, fs.ErrNotExist) {
				found = err
			}
		}
	}
	if found != nil {
		return "", found
	}
	if skipped > 0 {
		return "", fmt.Errorf("%s was not found in PATH, whose relative elements do not count: install it, or give its path", key.file)
	}
	return "", fmt.Errorf("%s was not found in PATH: install it, or give its path", key.file)
}

// executable says why path cannot be executed, or returns nil. The error is
// [fs.ErrNotExist] if no such file can be seen.
func executable(path string, env []string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is a link to a file that does not exist", path)
		}
		if how := Remedy(path); how != "" {
			return &missingError{path, fmt.Errorf("does not exist: %s", how)}
		}
		return &missingError{path, errors.New("does not exist")}
	case err != nil:
		return &missingError{path, fmt.Errorf("cannot be run: %w", regular.Reason(err))}
	case info.IsDir():
		return fmt.Errorf("%s is a directory, not an executable", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file, so that it cannot be run", path)
	case !permitted(path, info):
		return fmt.Errorf("%s is not executable: `chmod +x` it, or name its interpreter", path)
	}
	return interpreter(path, env)
}

// Remedy says how to make the virtual environment that the program at path, which does not exist, belongs to; empty
// if path is in none.
func Remedy(path string) string {
	venv := filepath.Dir(filepath.Dir(path))
	if base := filepath.Base(venv); base != ".venv" && base != "venv" {
		return ""
	}
	return fmt.Sprintf("make the virtual environment with `python3 -m venv %s`, and install what the project needs into it", venv)
}

// A missingError says that there is no file, or that this cannot be known: a
// directory of PATH that may not be entered does not hold the tool.
type missingError struct {
	path string
	why  error
}

func (e *missingError) Error() string        { return e.path + " " + e.why.Error() }
func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }

// interpreter says whether the interpreter that the first line of the script at
// path names is missing. What is not a script has none.
func interpreter(path string, env []string) error {
	f, err := regular.Open(path)
	if err != nil {
		return nil // to execute is not to read
	}
	defer f.Close()
	var buf [256]byte // as much as Linux looks at
	n, _ := io.ReadFull(f, buf[:])
	line, ok := bytes.CutPrefix(buf[:n], []byte("#!"))
	if !ok {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if bytes.HasSuffix(line, []byte("\r")) {
		return fmt.Errorf("the first line of %s ends in CR LF, so that its interpreter cannot be found: save it with LF line ends", path)
	}
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return nil
	}
	if info, err := os.Stat(words[0]); err != nil || info.IsDir() {
		return fmt.Errorf("%s needs the interpreter %s, which does not exist", path, words[0])
	}
	if filepath.Base(words[0]) != "env" {
		return nil
	}
	words = words[1:]
	if len(words) > 0 && words[0] == "-S" {
		words = words[1:]
	}
	if len(words) == 0 || words[0][0] == '-' || strings.ContainsAny(words[0], "=/") {
		return nil // options, assignments: env itself will say what is wrong
	}
	for _, dir := range filepath.SplitList(getenv(env, "PATH")) {
		// env itself takes relative elements of PATH.
		if info, err := os.Stat(filepath.Join(dir, words[0])); err == nil && !info.IsDir() {
			return nil
		}
	}
	return fmt.Errorf("%s needs the interpreter %s, which was not found in PATH", path, words[0])
}

func hasSlash(file string) bool { return strings.ContainsFunc(file, isSeparator) }

func isSeparator(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }

// getenv returns the value of name in env, the last one if there are several.
func getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && sameName(k, name) {
			return v
		}
	}
	return ""
}

// A digestCache remembers the digests of files by what changes when they do.
type digestCache struct {
	mu      sync.Mutex
	entries map[fileID]*digestEntry
}

// A fileID is a file and the state of its content.
type fileID struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds
}

type digestEntry struct {
	done chan struct{} // several commands of one group need the same file at once
	sum  [32]byte
	err  error
}

// maxProgram is the size, in bytes, beyond which a program has no digest, as one that may be
// executed and not read: a file can be larger than what anybody wrote (truncate), and its
// command would not start for hours.
const maxProgram = 2 << 30

// racy is how old a file must be for its times to tell its states apart. Clocks
// of file systems tick in milliseconds to seconds.
const racy = 2 * time.Second

// sum returns the SHA-256 of the file at path. It fails beyond maxProgram, and when ctx ends.
func (d *digestCache) sum(ctx context.Context, path string) ([32]byte, error) {
	id, ok, err := identify(path)
	if err != nil {
		return [32]byte{}, err
	}
	if !ok || time.Since(time.Unix(0, max(id.ctime, id.mtime))) < racy {
		return sumFile(ctx, path)
	}
	d.mu.Lock()
	e := d.entries[id]
	if e != nil {
		d.mu.Unlock()
		select {
		case <-e.done:
		case <-ctx.Done():
			return [32]byte{}, ctx.Err()
		}
		if e.err != nil {
			return sumFile(ctx, path) // what ended the other command need not end this one
		}
		return e.sum, nil
	}
	e = &digestEntry{done: make(chan struct{})}
	if d.entries == nil {
		d.entries = make(map[fileID]*digestEntry)
	}
	d.entries[id] = e
	d.mu.Unlock()
	defer close(e.done)
	if e.sum, e.err = sumFile(ctx, path); e.err == nil {
		if now, _, err := identify(path); err != nil {
			e.err = err
		} else if now != id {
			e.err = fmt.Errorf("%s changed while it was read", path)
		}
	}
	if e.err != nil {
		d.mu.Lock()
		delete(d.entries, id)
		d.mu.Unlock()
	}
	return e.sum, e.err
}

func sumFile(ctx context.Context, path string) (sum [32]byte, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > maxProgram {
		err = fmt.Errorf("%s has more than %d GiB", path, maxProgram>>30)
	}
	if err != nil {
		return sum, err
	}
	return sumOf(io.LimitReader(until{ctx, f}, maxProgram)) // it may grow
}

// An until reads until ctx ends.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// sumOf is the digest of what r has left.
func sumOf(r io.Reader) (sum [32]byte, err error) {
	h := sha256.New()
	buf := readBuffer()
	defer releaseBuffer(buf)
	// Not the file itself: it would bring a buffer of its own.
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{r}, buf[:]); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

func readBuffer() *[readSize]byte     { return buffers.Get().(*[readSize]byte) }
func releaseBuffer(b *[readSize]byte) { buffers.Put(b) }
