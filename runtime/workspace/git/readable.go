package git

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
)

// Readable returns an error if git would wait for a file of its own, which is a FIFO, or read
// one for ever, which is a device. dotGit is the .git of a worktree, or the file in its place
// that names a directory elsewhere. The objects themselves, which may be many, are left to
// [QuestionTime].
func Readable(dotGit string) error {
	dir := dotGit
	info, err := os.Lstat(dotGit)
	switch {
	case err != nil:
		return nil // git says what is wrong
	case info.Mode().IsRegular():
		if dir = named(dotGit, "gitdir: "); dir == "" {
			return nil
		}
	case blocks(info.Mode()):
		return fmt.Errorf("%s is not a regular file", Display(dotGit))
	}
	if err := readableIn(dir, dotGit); err != nil {
		return err
	}
	if common := named(filepath.Join(dir, "commondir"), ""); common != "" {
		return readableIn(common, dotGit)
	}
	return nil
}

// foreign reports whether a part of a repository that says which programs git runs there may be another user's: the folder of dotGit, whose owner can put
// any file of root's there, the directory that it is, or names, the one that its worktrees share, the configuration in them. Of the owner of the .git alone git would not take it either: a copy of
// another user's worktree has a .git file that belongs to who copied it. Root may own a part of any repository.
func foreign(dotGit string) bool {
	theirs := func(path string) bool {
		for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // of a link, and of what it leads to
			info, err := stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				return false
			}
			if err != nil || regular.Owner(info) != 0 && regular.Owner(info) != os.Geteuid() {
				return true
			}
			if info.IsDir() && info.Mode()&fs.ModeSticky != 0 && info.Mode().Perm()&0o002 != 0 { // anybody can put things there, as into /tmp
				return true
			}
		}
		return false
	}
	dir := dotGit
	if info, err := os.Stat(dotGit); err == nil && !info.IsDir() {
		dir = named(dotGit, "gitdir: ")
	}
	common := cmp.Or(named(filepath.Join(dir, "commondir"), ""), dir)
	return dir == "" || slices.ContainsFunc([]string{
		filepath.Dir(dotGit), dotGit, dir, filepath.Join(dir, "commondir"), filepath.Join(dir, "config.worktree"), common, filepath.Join(common, "config"),
	}, theirs)
}

// named returns the directory that a small file of git names; empty if it names none.
func named(file, prefix string) string {
	content, err := regular.Read(file, LongestPath)
	if err != nil {
		return ""
	}
	dir, ok := strings.CutPrefix(string(bytes.TrimRight(content, "\r\n")), prefix)
	if !ok || dir == "" {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	return dir
}

// mostRefs bounds how many loose refs are looked at.
const mostRefs = 100_000

// readableIn looks at the files of a git directory, and at those of refs, info, and the
// lists of the object store.
func readableIn(dir, dotGit string) error {
	seen := 0
	look := func(sub string, deep bool) error {
		root := filepath.Join(dir, sub) + string(filepath.Separator) // also where it is a link
		var found error
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			mode := fs.FileMode(0)
			if d != nil {
				mode = d.Type()
			}
			if mode&fs.ModeSymlink != 0 {
				if info, err := os.Stat(path); err == nil {
					mode = info.Mode()
				}
			}
			if blocks(mode) {
				if rel, err := filepath.Rel(filepath.Dir(dotGit), path); err == nil && dir == dotGit {
					path = rel
				}
				found = fmt.Errorf("%s is not a regular file", Display(filepath.ToSlash(path)))
				return fs.SkipAll
			}
			if seen++; err != nil || seen > mostRefs {
				return fs.SkipDir
			}
			if d.IsDir() && path != root && !deep {
				return fs.SkipDir
			}
			return nil
		})
		return found
	}
	for _, sub := range []struct {
		name string
		deep bool
	}{{".", false}, {"info", false}, {"objects/info", true}, {"objects/pack", false}, {"refs", true}} {
		if err := look(sub.name, sub.deep); err != nil {
			return err
		}
	}
	return nil
}

// blocks reports whether reading a file of this kind may never end.
func blocks(m fs.FileMode) bool { return m&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeCharDevice) != 0 }
