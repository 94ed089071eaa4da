package workspace

import (
	"crypto/sha256"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A kind is the byte by which [Snapshot.Bytes] tells what a path is.
type kind byte

const (
	kindFile   kind = 'f'
	kindExec   kind = 'x' // a file that its owner may execute
	kindLink   kind = 'l'
	kindFIFO   kind = 'p'
	kindSocket kind = 's'
	kindDevice kind = 'd'

	// These two are never in Bytes.
	kindFolder     kind = '/'
	kindRepository kind = 'r' // a submodule or a nested repository, by its commit
)

func (k kind) regular() bool { return k == kindFile || k == kindExec }

// special reports whether k has no content that could be read.
func (k kind) special() bool { return k == kindFIFO || k == kindSocket || k == kindDevice }

func (k kind) String() string {
	switch k {
	case kindFile, kindExec:
		return "file"
	case kindLink:
		return "symlink"
	case kindFIFO:
		return "FIFO"
	case kindSocket:
		return "socket"
	case kindDevice:
		return "device"
	case kindFolder:
		return "directory"
	default:
		return "repository"
	}
}

// A status is what the file system says about a file; two that are equal and
// settled (see [entry]) mean the same content.
type status struct {
	kind         kind
	mode         uint32
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
}

// An entry is one path of a snapshot.
type entry struct {
	path string // from the root, with slashes
	kind kind
	size int64             // bytes; of a link, its target
	sum  [sha256.Size]byte // SHA-256 of the raw content, or of the target of a link
	id   git.ObjectID      // of the blob (or commit) that git would record
	raw  git.ObjectID      // of the blob without git's conversions
	held git.ObjectID      // of the blob that the index names; zero if it does not hold the path

	target string // of a link

	tracked bool // in the index of the repository that it belongs to
	inTree  bool // belongs to the root's own repository, and is nothing special

	traits  traits
	status  status
	settled bool // status alone tells whether the content is still the same
}

// traits say which of git's conversions could change a file. They may claim too
// much and never too little.
type traits uint8

const (
	hasCR     traits = 1 << iota
	hasNUL           // known only where there is a CR
	hasDollar        // there may be an $Id$
	hasLoneLF        // not after a CR; this and the next are exact
	hasLoneCR        // not before an LF
	isPointer        // it may be an LFS pointer
)

func (k kind) treeMode() string {
	switch k {
	case kindExec:
		return git.ModeExec
	case kindLink:
		return git.ModeLink
	case kindRepository:
		return git.ModeCommit
	default:
		return git.ModeFile
	}
}
