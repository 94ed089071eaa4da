package carry

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// # Without git
//
// Git takes longer to start than the few small files of a delivery take to be written. So a repository for one use is
// laid out here, and a depot that is a plain bare repository on a disk of this machine is written and read here, as
// gitrepository-layout(5) says. A depot with anything else, such as a hook or a configuration of its own, is left to git.

// format is that of objects, where git is not asked.
func (d Depot) format() git.ObjectFormat {
	return cmp.Or(git.ObjectFormat(d.Format), git.FormatSHA1)
}

// layOut makes an empty directory a repository, whose branch is "run".
func layOut(dir string, f git.ObjectFormat, bare bool) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
	if f != git.FormatSHA1 {
		config = "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n[extensions]\n\tobjectformat = " + string(f) + "\n[core]\n"
	}
	config += fmt.Sprintf("\tbare = %t\n", bare)
	for _, name := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o644),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/run\n"), 0o644))
}

// A disk is a repository whose files are written and read here.
type disk struct {
	dir    string
	format git.ObjectFormat
}

// Bounds of what is read of a repository on a disk, in bytes.
const (
	mostConfig = 64 << 10
	mostRef    = 200
)

// onDisk returns the depot as a disk; ok is false where it is left to git.
func (d Depot) onDisk() (k disk, ok bool) {
	if d.format() != git.FormatSHA1 || !filepath.IsAbs(d.Remote) {
		return disk{}, false
	}
	config, err := regular.Read(filepath.Join(d.Remote, "config"), mostConfig)
	if err != nil || !plain(config) {
		return disk{}, false
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(d.Remote, name)); err != nil || !info.IsDir() {
			return disk{}, false
		}
	}
	hooks, err := os.ReadDir(filepath.Join(d.Remote, "hooks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return disk{}, false
	}
	for _, h := range hooks {
		if !strings.HasSuffix(h.Name(), ".sample") {
			return disk{}, false
		}
	}
	return disk{d.Remote, git.FormatSHA1}, true
}

// plain reports whether a configuration says no more than that of a bare repository that git has just made.
func plain(config []byte) bool {
	for line := range bytes.Lines(config) {
		key, value, _ := strings.Cut(strings.TrimSpace(strings.ToLower(string(line))), "=")
		switch strings.TrimSpace(key) {
		case "", "[core]", "filemode", "bare", "ignorecase", "precomposeunicode", "symlinks":
		case "repositoryformatversion":
			if strings.TrimSpace(value) != "0" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// put writes an object, unless it is there, and returns its name.
func (k disk) put(kind string, content []byte) (id git.ObjectID, err error) {
	id = k.format.Object(kind, content)
	hex := k.format.Format(id)
	return id, k.place("objects/"+hex[:2]+"/"+hex[2:], git.Loose(kind, content), false, 0o444)
}

// place puts a file into the repository, whole. Nothing is written outside of it, whatever links it has.
func (k disk) place(name string, text []byte, replace bool, mode os.FileMode) error {
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Lstat(name); err == nil && !replace {
		return nil
	}
	at := filepath.Dir(name)
	temp := fmt.Sprintf("%s/tmp_obj_%016x", at, rand.Uint64())
	var f *os.File
	for range 10 { // git removes empty folders
		if err = root.MkdirAll(at, 0o755); err == nil {
			if f, err = root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}

// setRef has a ref name an object.
func (k disk) setRef(ref string, id git.ObjectID) error {
	return k.place(ref, []byte(k.format.Format(id)+"\n"), true, 0o644)
}

var errElsewhere = errors.New("it is not in a file of its own")

// get reads an object that has a file of its own.
func (k disk) get(id, kind string, most int64) ([]byte, error) {
	name, err := k.format.Parse(id)
	if err != nil {
		return nil, err
	}
	f, err := regular.Open(filepath.Join(k.dir, "objects", id[:2], id[2:]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	got, content, err := git.ReadLoose(f, most)
	if err == nil && (got != kind || k.format.Object(got, content) != name) {
		err = errElsewhere
	}
	return content, err
}

// body reads the parcel that a ref names.
func (k disk) body(ref string, most int64) ([]byte, error) {
	id, err := regular.ReadOwn(filepath.Join(k.dir, filepath.FromSlash(ref)), mostRef)
	if err != nil {
		return nil, err
	}
	commit, err := k.get(strings.TrimSpace(string(id)), "commit", mostRef)
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(commit, []byte("\n"))
	tree, err := k.get(strings.TrimPrefix(string(line), "tree "), "tree", mostRef)
	if err != nil {
		return nil, err
	}
	blob, ok := bytes.CutPrefix(tree, []byte(git.ModeFile+" "+bodyName+"\x00"))
	if !ok || len(blob) != k.format.Size() {
		return nil, errElsewhere
	}
	return k.get(fmt.Sprintf("%x", blob), "blob", most)
}
