package cleanroom

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	files "github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Cache is where the user's checkouts are kept, without links, which many a HOME has on its way; empty where the user has no such place. Commands
// do not see it, so that its last two names are not to be links: one that leads elsewhere would hide that.
func Cache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	const own = "dialect/clean"
	if dir, err = files.Real(filepath.Join(dir, own)); err != nil || !strings.HasSuffix(filepath.ToSlash(dir), "/"+own) {
		return ""
	}
	return dir
}

// kept returns the directory where checkouts are kept; empty to keep none: where it is part of the working tree, or has it, what hides the
// one would hide the other, and where it is not this user's, or another can write in it, what it has is not known.
func (r *Room) kept() string {
	cache, root := r.o.Cache, r.snapshot.Root
	if cache == "" || os.MkdirAll(cache, 0o700) != nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(cache)
	if _, in := git.Within(root, cache); err != nil || real != cache || in {
		return ""
	}
	info, err := os.Lstat(cache)
	if _, has := git.Within(cache, root); err != nil || has || info.Mode().Perm()&0o022 != 0 || regular.Owner(info) != os.Geteuid() {
		return ""
	}
	return cache
}
