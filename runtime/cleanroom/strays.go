package cleanroom

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// maxStrays bounds how much is hidden among the objects of a repository.
const maxStrays = 10_000

// strays returns what a directory has beside the objects of a repository, from there and with slashes: commands do not see it. Objects are the files
// of the names that git gives to one object, and packs with their indexes. Git reads each of them for itself, and so without all else that
// it finds there: lists that only make it faster, the word of one of which on the parents of commits it takes, and what it left when it was killed.
// A directory that may come to have objects is never one, even if there are none in it: git may pack all objects while a command runs.
func strays(dir string, f git.ObjectFormat) (names []string, err error) {
	// in adds what is in a directory, but for files of names that are wanted.
	in := func(at string, wanted func(string) bool) error {
		list, err := os.ReadDir(filepath.Join(dir, at))
		if err != nil {
			return err
		}
		for _, d := range list {
			if !d.Type().IsRegular() || !wanted(d.Name()) {
				names = append(names, path.Join(at, d.Name()))
			}
		}
		return nil
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	digits := 2 * f.Size()
	for _, d := range list {
		name := d.Name()
		switch {
		case d.IsDir() && name == "pack":
			err = in(name, func(file string) bool {
				hash, suffix, _ := strings.Cut(strings.TrimPrefix(file, "pack-"), ".")
				return strings.HasPrefix(file, "pack-") && isDigits(hash, digits) && (suffix == "pack" || suffix == "idx")
			})
		case d.IsDir() && name == "info":
			err = in(name, func(file string) bool { return file == "alternates" && isAlternates(filepath.Join(dir, name, file)) })
		case d.IsDir() && isDigits(name, 2):
			err = in(name, func(file string) bool { return isDigits(file, digits-2) })
		default:
			names = append(names, name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // git packs what is in it
			err = nil
		case err != nil:
			return nil, err
		}
		if len(names) > maxStrays {
			return nil, fmt.Errorf("%s has more than %d files that are not objects, %s among them: remove them", dir, maxStrays, git.Display(names[0]))
		}
	}
	return names, nil
}

// isDigits reports whether a text is of so many hexadecimal digits, as git writes them.
func isDigits(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == ""
}

// isAlternates reports whether a file, of the directory of objects, says nothing but which other directories have some, in comments and by their paths: one
// beside the project no command sees.
func isAlternates(file string) bool {
	const most = 64 << 10
	text, err := regular.ReadOwn(file, most)
	for line := range strings.Lines(string(text)) {
		at := strings.TrimSuffix(line, "\n")
		if at == "" || at[0] == '#' {
			continue
		}
		if !filepath.IsAbs(at) { // git in the room says that it does not find it
			at = filepath.Join(filepath.Dir(filepath.Dir(file)), at)
		}
		if info, e := os.Stat(at); e != nil || !info.IsDir() {
			return false
		}
	}
	return err == nil
}
