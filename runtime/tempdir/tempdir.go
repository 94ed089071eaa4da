// Package tempdir makes temporary directories that do not outlive a crash for long: one that
// a killed process left behind is removed by a later process of the same user.
//
// A directory is $TMPDIR/dialect-KIND-NUMBER, mode 0700. Its maker holds an advisory lock
// (flock) on the directory itself until it removes it or dies. Another may be removed if
// its name has that form, the user owns it and nobody else may enter it, it is older than
// minAge, and its lock is free. Where there is no such lock nothing is swept.
package tempdir

import (
	"os"
	"regexp"
	"sync"
	"time"
)

// minAge is how long a directory stays in any case: it is made before it is locked. A test
// makes it shorter.
var minAge = time.Minute

var sweeping sync.Once

// New makes a directory of a kind, which is a word of lower-case letters. remove removes it
// with all that is in it. The first call also starts to sweep, in the background.
func New(kind string) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", "dialect-"+kind+"-"); err != nil {
		return "", nil, err
	}
	release := hold(dir)
	sweeping.Do(func() { go sweep(os.TempDir()) })
	return dir, func() {
		_ = os.RemoveAll(dir) // it is temporary
		release()
	}, nil
}

// sweep removes the directories below temp that killed processes left behind.
func sweep(temp string) {
	d, err := os.Open(temp)
	if err != nil {
		return
	}
	defer d.Close()
	form := regexp.MustCompile(`^dialect-[a-z]+-[0-9]+$`)
	for {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			if len(name) > 8 && name[:8] == "dialect-" && form.MatchString(name) {
				sweepOne(temp + string(os.PathSeparator) + name)
			}
		}
		if err != nil {
			return
		}
	}
}
