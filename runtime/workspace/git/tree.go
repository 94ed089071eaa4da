package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"strconv"
	"strings"
)

// An ObjectFormat is the hash function of a repository, "sha1" or "sha256".
type ObjectFormat string

const (
	FormatSHA1   ObjectFormat = "sha1"
	FormatSHA256 ObjectFormat = "sha256"
)

// FormatOf returns the format that a name in hexadecimal is of.
func FormatOf(name string) ObjectFormat {
	if len(name) == 2*sha256.Size {
		return FormatSHA256
	}
	return FormatSHA1
}

// New returns the hash function.
func (f ObjectFormat) New() hash.Hash {
	if f == FormatSHA256 {
		return sha256.New()
	}
	return sha1.New()
}

// Size is the length of a name, in bytes.
func (f ObjectFormat) Size() int {
	if f == FormatSHA256 {
		return sha256.Size
	}
	return sha1.Size
}

// An ObjectID names a git object; of SHA-1 only the first 20 bytes count. The zero
// ObjectID names none.
type ObjectID [32]byte

// Parse reads a name in hexadecimal: of its full length, and in small letters.
func (f ObjectFormat) Parse(s string) (ObjectID, error) {
	var id ObjectID
	if len(s) != 2*f.Size() {
		return id, fmt.Errorf("object name %q is not of %d digits", s, 2*f.Size())
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil || s != strings.ToLower(s) {
		return ObjectID{}, fmt.Errorf("object name %q is not hexadecimal", s)
	}
	return id, nil
}

// Format returns a name in hexadecimal.
func (f ObjectFormat) Format(id ObjectID) string { return hex.EncodeToString(id[:f.Size()]) }

// ObjectHeader is what git hashes in front of the content of an object.
func ObjectHeader(kind string, size int64) []byte {
	b := append(make([]byte, 0, 32), kind...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	return append(b, 0)
}

// Object returns the name of an object:
//
//	H(kind + " " + decimal(len(content)) + NUL + content)
func (f ObjectFormat) Object(kind string, content []byte) ObjectID {
	h := f.New()
	h.Write(ObjectHeader(kind, int64(len(content))))
	h.Write(content)
	var id ObjectID
	h.Sum(id[:0])
	return id
}

// The modes of tree entries, as git writes them.
const (
	ModeFile   = "100644"
	ModeExec   = "100755"
	ModeLink   = "120000"
	ModeCommit = "160000"
	ModeTree   = "40000"
)

// A Leaf is an entry of a tree that is not itself a tree.
type Leaf struct {
	Path string
	Mode string
	Id   ObjectID
}

// Tree returns the name of the tree that holds the leaves, which are sorted by
// path, bytewise, and free of conflicts (no path is a directory of another).
//
// A tree object is, for each entry in order, mode + " " + name + NUL + id, and its
// name is H("tree " + length + NUL + content). Git orders the entries of a tree as
// if the names of trees ended in a slash, which is the order of the paths.
func (f ObjectFormat) Tree(leaves []Leaf) ObjectID { return f.Trees(leaves, func([]byte) {}) }

// Trees is Tree, and calls each with the content of each tree, those inside of another first. each must not keep it.
func (f ObjectFormat) Trees(leaves []Leaf, each func(content []byte)) ObjectID {
	var b []byte
	return f.subtree(leaves, 0, &b, each)
}

// subtree is tree for leaves that share a directory of at bytes. What it writes of the content is after that of the trees around it in all.
func (f ObjectFormat) subtree(leaves []Leaf, at int, all *[]byte, each func(content []byte)) ObjectID {
	b, start := *all, len(*all)
	for i := 0; i < len(leaves); {
		name, _, deeper := strings.Cut(leaves[i].Path[at:], "/")
		mode, id, next := leaves[i].Mode, leaves[i].Id, i+1
		if deeper {
			dir := leaves[i].Path[:at+len(name)+1]
			for next < len(leaves) && strings.HasPrefix(leaves[next].Path, dir) {
				next++
			}
			*all = b
			mode, id = ModeTree, f.subtree(leaves[i:next], len(dir), all, each)
			b = *all
		}
		b = append(b, mode...)
		b = append(b, ' ')
		b = append(b, name...)
		b = append(b, 0)
		b = append(b, id[:f.Size()]...)
		i = next
	}
	*all = b[:start]
	each(b[start:])
	return f.Object("tree", b[start:])
}

// An Item is a name in a tree object.
type Item struct {
	Mode, Name string
	ID         ObjectID
}

// Items returns what the content of a tree object names, in its order. It ends in an error where the content is not that of a tree.
func (f ObjectFormat) Items(tree []byte) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for len(tree) > 0 {
			head, rest, ok := bytes.Cut(tree, []byte{0})
			mode, name, space := bytes.Cut(head, []byte{' '})
			if !ok || !space || len(rest) < f.Size() {
				yield(Item{}, errors.New("git: a tree cannot be read"))
				return
			}
			item := Item{Mode: string(mode), Name: string(name)}
			copy(item.ID[:], rest[:f.Size()])
			if !yield(item, nil) {
				return
			}
			tree = rest[f.Size():]
		}
	}
}

// A Tree is the content of a tree object, in which names are looked for.
type Tree struct {
	format  ObjectFormat
	content []byte
	asked   int
	names   map[string]Item
}

// Names returns a tree object of which names are asked.
func (f ObjectFormat) Names(content []byte) *Tree { return &Tree{format: f, content: content} }

// few is for how many names a tree is searched before all that it names are put into a map: a matrix may name very many files of a wide folder.
const few = 16

// Lookup finds a name; the error is [fs.ErrNotExist] where there is none.
func (t *Tree) Lookup(name string) (mode string, id ObjectID, err error) {
	if t.asked++; t.asked <= few {
		found := false
		for item, err := range t.format.Items(t.content) {
			switch {
			case err != nil:
				return "", ObjectID{}, err
			case !found && item.Name == name:
				found, mode, id = true, item.Mode, item.ID
			}
		}
		if !found {
			err = fs.ErrNotExist
		}
		return mode, id, err
	}
	if t.names == nil {
		names := make(map[string]Item)
		for item, err := range t.format.Items(t.content) {
			if err != nil {
				return "", id, err
			}
			if _, twice := names[item.Name]; !twice {
				names[item.Name] = item
			}
		}
		t.names = names
	}
	item, ok := t.names[name]
	if !ok {
		return "", id, fs.ErrNotExist
	}
	return item.Mode, item.ID, nil
}
