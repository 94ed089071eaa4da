package workspace

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// An objectFormat is the hash function of a repository, "sha1" or "sha256".
type objectFormat string

const (
	formatSHA1   objectFormat = "sha1"
	formatSHA256 objectFormat = "sha256"
)

func (f objectFormat) new() hash.Hash {
	if f == formatSHA256 {
		return sha256.New()
	}
	return sha1.New()
}

func (f objectFormat) size() int {
	if f == formatSHA256 {
		return sha256.Size
	}
	return sha1.Size
}

// An objectID names a git object; of SHA-1 only the first 20 bytes count. The zero
// objectID names none.
type objectID [32]byte

func (f objectFormat) parse(s string) (objectID, error) {
	var id objectID
	if len(s) != 2*f.size() {
		return id, fmt.Errorf("object name %q is not of %d digits", s, 2*f.size())
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil || s != strings.ToLower(s) {
		return objectID{}, fmt.Errorf("object name %q is not hexadecimal", s)
	}
	return id, nil
}

func (f objectFormat) format(id objectID) string { return hex.EncodeToString(id[:f.size()]) }

// objectHeader is what git hashes in front of the content of an object.
func objectHeader(kind string, size int64) []byte {
	b := append(make([]byte, 0, 32), kind...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	return append(b, 0)
}

// object returns the name of an object:
//
//	H(kind + " " + decimal(len(content)) + NUL + content)
func (f objectFormat) object(kind string, content []byte) objectID {
	h := f.new()
	h.Write(objectHeader(kind, int64(len(content))))
	h.Write(content)
	var id objectID
	h.Sum(id[:0])
	return id
}

// The modes of tree entries, as git writes them.
const (
	modeFile   = "100644"
	modeExec   = "100755"
	modeLink   = "120000"
	modeCommit = "160000"
	modeTree   = "40000"
)

func (k kind) treeMode() string {
	switch k {
	case kindExec:
		return modeExec
	case kindLink:
		return modeLink
	case kindRepository:
		return modeCommit
	default:
		return modeFile
	}
}

// A leaf is an entry of a tree that is not itself a tree.
type leaf struct {
	path string
	mode string
	id   objectID
}

// tree returns the name of the tree that holds the leaves, which are sorted by
// path, bytewise, and free of conflicts (no path is a directory of another).
//
// A tree object is, for each entry in order, mode + " " + name + NUL + id, and its
// name is H("tree " + length + NUL + content). Git orders the entries of a tree as
// if the names of trees ended in a slash, which is the order of the paths.
func (f objectFormat) tree(leaves []leaf) objectID { return f.subtree(leaves, 0) }

// subtree is tree for leaves that share a directory of at bytes.
func (f objectFormat) subtree(leaves []leaf, at int) objectID {
	var b []byte
	for i := 0; i < len(leaves); {
		name, _, deeper := strings.Cut(leaves[i].path[at:], "/")
		mode, id, next := leaves[i].mode, leaves[i].id, i+1
		if deeper {
			dir := leaves[i].path[:at+len(name)+1]
			for next < len(leaves) && strings.HasPrefix(leaves[next].path, dir) {
				next++
			}
			mode, id = modeTree, f.subtree(leaves[i:next], len(dir))
		}
		b = append(b, mode...)
		b = append(b, ' ')
		b = append(b, name...)
		b = append(b, 0)
		b = append(b, id[:f.size()]...)
		i = next
	}
	return f.object("tree", b)
}
