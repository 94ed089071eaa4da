// Package tempdir makes temporary directories that do not outlive a crash for long: one that
// a killed process left behind is removed by a later process of the same user.
//
// A directory is $TMPDIR/dialect-KIND-NUMBER.tmp, mode 0700. Its maker holds an advisory
// lock (flock) on the directory itself until it removes it or dies. Another may be removed
// if its name has that form and one of the kinds below, the user owns it and nobody else
// may enter it, it is older than minAge, and its lock is free. The set of kinds is closed:
// a user's own folder of a name like dialect-notes-2026 must not match. Where there is no
// such lock nothing is swept.
package tempdir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// minAge is how long a directory stays in any case: it is made before it is locked.
const minAge = time.Minute

var sweeping sync.Map // directories that were swept -> true

// A Kind says what a directory is for.
type Kind string

// The kinds.
const (
	Result Kind = "result" // what commands say of themselves; see package attempt
	Tree   Kind = "tree"   // a temporary repository; see package workspace
	MCP    Kind = "mcp"    // reports of the runs of package mcpserver
	Copy   Kind = "copy"   // the store of a notary, for questions
	Room   Kind = "room"   // what commands write in a clean room; see package cleanroom
	Guard  Kind = "guard"  // what a notary keeps of a session
)

var kinds = [...]Kind{Result, Tree, MCP, Copy, Room, Guard}

// kindOf returns the kind of a directory of this name, if it has the form.
func kindOf(name string) (Kind, bool) {
	name, dialect := strings.CutPrefix(name, "dialect-")
	name, temporary := strings.CutSuffix(name, ".tmp")
	kind, number, _ := strings.Cut(name, "-")
	ours := dialect && temporary && number != "" && strings.Trim(number, "0123456789") == "" && slices.Contains(kinds[:], Kind(kind))
	return Kind(kind), ours
}

// New makes a directory of a kind. remove removes it with all that is in it. The first call also starts to sweep, in the background.
func New(kind Kind) (dir string, remove func(), err error) { return NewIn(os.TempDir(), kind) }

// NewIn makes a directory of a kind in another place than $TMPDIR.
func NewIn(parent string, kind Kind) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp(parent, "dialect-"+string(kind)+"-*.tmp"); err != nil {
		return "", nil, err
	}
	release := hold(dir)
	if _, swept := sweeping.LoadOrStore(parent, true); !swept {
		go Sweep(parent)
	}
	return dir, func() {
		_ = RemoveAll(dir) // it is temporary
		release()
	}, nil
}

// Within returns the directory of a kind below parent that path is in, or is.
func Within(parent, path string, kind Kind) (dir string, ok bool) {
	rest, ok := strings.CutPrefix(path, parent+string(filepath.Separator))
	name, _, _ := strings.Cut(rest, string(filepath.Separator))
	is, ours := kindOf(name)
	return filepath.Join(parent, name), ok && ours && is == kind
}

// Sweep removes the directories below temp that killed processes left behind.
func Sweep(temp string) {
	d, err := os.Open(temp)
	if err != nil {
		return
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			if _, ours := kindOf(name); ours {
				sweepOne(temp + string(os.PathSeparator) + name)
			}
		}
		if err != nil {
			return
		}
	}
}
