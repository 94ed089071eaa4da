package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
)

// Commits, trees and small files are read here where they lie, so that a run asks git for none. What is read is hashed, and given out
// only under the name that its content has: a file that is damaged, half-written or not understood makes git be asked, and changes
// nothing else. The formats: gitformat-pack(5), gitrepository-layout(5).

// What is larger or more is left to git.
const (
	largestObject = 64 << 20 // bytes of content
	mostPacks     = 64
	mostDeltas    = 512       // that an object is made of, one on another; git itself stops at 4,095
	mostMade      = 256 << 20 // bytes that the deltas of one object make
	largestRefs   = 64 << 20  // bytes of packed-refs
)

// Head returns the commit that HEAD names, read from the files of the repository. ok is false where git has to be asked.
func (r *Repository) Head() (id ObjectID, ok bool) {
	if r.direct == nil {
		return id, false
	}
	head, err := regular.ReadOwn(filepath.Join(r.direct.dir, "HEAD"), LongestPath)
	if err != nil || !isHead(head) {
		return id, false
	}
	text := strings.TrimSuffix(string(head), "\n")
	if ref, named := strings.CutPrefix(text, "ref: "); named {
		if text, ok = r.direct.ref(ref); !ok {
			return id, false
		}
	}
	id, err = r.Format.Parse(text)
	return id, err == nil
}

// ref returns the hash of a branch: that of its file, else that of packed-refs, into which git writes before it removes a file. ok is
// false where git reads it otherwise, or reads it in more than one way: see [plainRef] and [packedRef]. Git takes a link in place of the file for
// the name of another ref, or follows it, and lists refs in a third way.
func (d *direct) ref(name string) (hash string, ok bool) {
	if !plainRef(name) {
		return "", false
	}
	path := d.common
	for part := range strings.SplitSeq(name, "/") {
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return "", false
		}
	}
	path = filepath.Join(d.common, filepath.FromSlash(name))
	content, err := regular.ReadOwn(path, LongestPath)
	if err == nil {
		return strings.CutSuffix(string(content), "\n")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	packed, err := regular.ReadOwn(filepath.Join(d.common, "packed-refs"), largestRefs)
	if err != nil {
		return "", false
	}
	return packedRef(packed, name)
}

// plainRef reports whether git accepts a name as that of a ref: git-check-ref-format(1).
func plainRef(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.HasSuffix(name, ".") && !strings.Contains(name, "..") && !strings.Contains(name, "@{") && !strings.ContainsAny(name, " ~^:?*[\\\x7f") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}

// packedRef returns the hash that packed-refs has for a ref. Git searches a file whose first line says that it is sorted by halves, and sorts
// another one; in the order of the names, each of them once, both find the same. ok is false of any other file, and where the ref is not in it.
func packedRef(packed []byte, name string) (hash string, ok bool) {
	last := []byte(nil)
	for line := range bytes.Lines(packed) {
		first := last == nil && &line[0] == &packed[0]
		line, ended := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case !ended:
			return "", false
		case first && bytes.HasPrefix(line, []byte("# pack-refs with: ")):
			continue
		case len(line) > 0 && line[0] == '^' && last != nil: // what the tag before it leads to
			continue
		}
		id, ref, found := bytes.Cut(line, []byte(" "))
		if !found || len(id) != 2*FormatSHA1.Size() && len(id) != 2*FormatSHA256.Size() || bytes.Compare(ref, last) <= 0 {
			return "", false
		}
		if last = ref; string(ref) == name {
			hash, ok = string(id), true
		}
	}
	return hash, ok
}

// Object returns the object that id names, read from the files of the repository. ok is false where git has to be asked: the object
// may be missing, damaged, large, or in another repository.
func (r *Repository) Object(id ObjectID) (kind string, content []byte, ok bool) {
	if r.direct == nil {
		return "", nil, false
	}
	if _, err := os.Lstat(filepath.Join(r.Objects, "info", "alternates")); !errors.Is(err, fs.ErrNotExist) {
		return "", nil, false
	}
	kind, content, err := r.loose(id)
	if errors.Is(err, fs.ErrNotExist) {
		kind, content, err = r.packed(id)
	}
	if err != nil || r.Format.Object(kind, content) != id {
		return "", nil, false
	}
	return kind, content, true
}

// loose reads an object that has a file of its own.
func (r *Repository) loose(id ObjectID) (kind string, content []byte, err error) {
	name := r.Format.Format(id)
	f, err := regular.Open(filepath.Join(r.Objects, name[:2], name[2:]))
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	return ReadLoose(f, largestObject)
}

// ReadLoose reads the file of an object of at most so many bytes. The caller compares its name with that of what it gets.
func ReadLoose(file io.Reader, most int64) (kind string, content []byte, err error) {
	z, err := zlib.NewReader(bufio.NewReader(file))
	if err != nil {
		return "", nil, errUnsure
	}
	defer z.Close()
	in := bufio.NewReader(io.LimitReader(z, most+64))
	header, err := in.ReadSlice(0)
	if err != nil {
		return "", nil, errUnsure
	}
	kind, length, _ := strings.Cut(string(header[:len(header)-1]), " ")
	size, err := strconv.ParseUint(length, 10, 63)
	if err != nil || size > uint64(most) {
		return "", nil, errUnsure
	}
	content, err = exactly(in, size)
	return kind, content, err
}

// Loose returns the file of an object.
func Loose(kind string, content []byte) []byte {
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed) // the level is one
	_, _ = z.Write(ObjectHeader(kind, int64(len(content))))
	_, _ = z.Write(content)
	_ = z.Close() // a buffer takes everything
	return b.Bytes()
}

// exactly reads size bytes, after which in has to end. Memory grows with what comes, not with what size says.
func exactly(in io.Reader, size uint64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(in, int64(size)+1))
	if err != nil || uint64(n) != size {
		return nil, errUnsure
	}
	return b.Bytes(), nil
}

// packed looks for an object in the packs.
func (r *Repository) packed(id ObjectID) (kind string, content []byte, err error) {
	names := regular.In(filepath.Join(r.Objects, "pack"), "pack-*.idx")
	if len(names) > mostPacks {
		return "", nil, errUnsure
	}
	for _, name := range names {
		at, err := r.Format.find(name, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		return r.unpack(name, at)
	}
	return "", nil, fs.ErrNotExist
}

// find returns the offset of an object in the pack that the index at name is of. An error that wraps fs.ErrNotExist says that it is
// not there.
//
// An index of version 2: 8 bytes of header; 256 counts of the names up to each first byte; the names, sorted; a checksum of 4 bytes of
// each; an offset of 4 bytes of each, or, with the highest bit, the place among the offsets of 8 bytes that follow.
func (f ObjectFormat) find(name string, id ObjectID) (offset int64, err error) {
	file, err := regular.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var head [8 + 4*256]byte
	if _, err := file.ReadAt(head[:], 0); err != nil || string(head[:8]) != "\xfftOc\x00\x00\x00\x02" {
		return 0, errUnsure
	}
	upTo := func(i int) int64 { return int64(binary.BigEndian.Uint32(head[8+4*i:])) }
	size, total := int64(f.Size()), upTo(255)
	low, high := int64(0), upTo(int(id[0]))
	if id[0] > 0 {
		low = upTo(int(id[0]) - 1)
	}
	if low > high || high > total {
		return 0, errUnsure
	}
	var key [32]byte
	for low < high {
		middle := low + (high-low)/2
		if _, err := file.ReadAt(key[:size], int64(len(head))+middle*size); err != nil {
			return 0, errUnsure
		}
		switch bytes.Compare(key[:size], id[:size]) {
		case 0:
			return f.offset(file, int64(len(head)), total, middle)
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return 0, fs.ErrNotExist
}

// offset reads the offset of the object at place i of an index of total objects, whose names begin at start.
func (f ObjectFormat) offset(file io.ReaderAt, start, total, i int64) (int64, error) {
	offsets := start + total*(int64(f.Size())+4)
	var b [8]byte
	if _, err := file.ReadAt(b[:4], offsets+4*i); err != nil {
		return 0, errUnsure
	}
	small := binary.BigEndian.Uint32(b[:])
	if small&(1<<31) == 0 {
		return int64(small), nil
	}
	if _, err := file.ReadAt(b[:], offsets+4*total+8*int64(small&^(1<<31))); err != nil {
		return 0, errUnsure
	}
	large := binary.BigEndian.Uint64(b[:])
	if large>>63 != 0 {
		return 0, errUnsure
	}
	return int64(large), nil
}

// The kinds of a pack's entries.
const (
	offsetDelta = 6
	nameDelta   = 7
)

var kinds = [...]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}

// unpack reads the object at an offset of the pack beside the index at name, with those that it is a delta of: first down to the one
// that stands for itself, then up again.
func (r *Repository) unpack(name string, at int64) (kind string, content []byte, err error) {
	file, err := regular.Open(strings.TrimSuffix(name, ".idx") + ".pack")
	if err != nil {
		return "", nil, errUnsure
	}
	defer file.Close()
	var deltas [][]byte
	held := 0 // bytes of deltas
	for {
		e, err := r.Format.entry(file, at)
		if err != nil {
			return "", nil, err
		}
		if e.kind < len(kinds) && kinds[max(e.kind, 0)] != "" {
			kind, content = kinds[e.kind], e.data
			break
		}
		if held += len(e.data); len(deltas) == mostDeltas || held > largestObject {
			return "", nil, errUnsure
		}
		deltas = append(deltas, e.data)
		switch e.kind {
		case offsetDelta:
			at -= e.back
		case nameDelta: // in a pack that is not on its way its base is in it, too
			if at, err = r.Format.find(name, e.base); err != nil {
				return "", nil, errUnsure
			}
		default:
			return "", nil, errUnsure
		}
	}
	made := 0
	for _, delta := range slices.Backward(deltas) {
		if content, err = applied(content, delta); err != nil {
			return "", nil, err
		}
		if made += len(content); made > mostMade {
			return "", nil, errUnsure
		}
	}
	return kind, content, nil
}

// An entry is what stands at one place of a pack.
type entry struct {
	kind int
	data []byte
	back int64    // of an offsetDelta: how far before it its base begins, at least 1
	base ObjectID // of a nameDelta
}

// entry reads the entry at an offset: its kind and size, three and then seven bits a byte, the lowest first; what it is a delta of; its
// content, compressed.
func (f ObjectFormat) entry(file io.ReaderAt, at int64) (e entry, err error) {
	if at < 12 { // the header of a pack
		return e, errUnsure
	}
	in := bufio.NewReader(io.NewSectionReader(file, at, 1<<62-at))
	b, err := in.ReadByte()
	if err != nil {
		return e, errUnsure
	}
	e.kind = int(b >> 4 & 7)
	size := uint64(b & 15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = in.ReadByte(); err != nil || shift > 32 {
			return e, errUnsure
		}
		size |= uint64(b&0x7f) << shift
	}
	if size > largestObject {
		return e, errUnsure
	}
	switch e.kind {
	case offsetDelta:
		start, _ := in.Peek(8)
		n, used := offset(start)
		if used == 0 || n == 0 || n > uint64(at) {
			return e, errUnsure
		}
		e.back = int64(n)
		_, err = in.Discard(used)
	case nameDelta:
		_, err = io.ReadFull(in, e.base[:f.Size()])
	}
	if err != nil {
		return e, errUnsure
	}
	z, err := zlib.NewReader(in)
	if err != nil {
		return e, errUnsure
	}
	defer z.Close()
	e.data, err = exactly(z, size)
	return e, err
}

// applied returns what a delta makes of base. A delta is the sizes of both, seven bits a byte, the lowest first, and then commands: a
// byte with the highest bit copies from base, its other bits say which bytes of an offset of four and a length of three follow (a length
// of 0 is 65,536); another byte is the number of bytes that follow and are new.
func applied(base, delta []byte) ([]byte, error) {
	from, rest, ok := length(delta)
	if !ok || from != uint64(len(base)) {
		return nil, errUnsure
	}
	to, rest, ok := length(rest)
	if !ok || to > largestObject {
		return nil, errUnsure
	}
	var out []byte
	for len(rest) > 0 {
		command := rest[0]
		rest = rest[1:]
		if command&0x80 == 0 {
			n := int(command)
			if n == 0 || n > len(rest) {
				return nil, errUnsure
			}
			out, rest = append(out, rest[:n]...), rest[n:]
		} else {
			var numbers [2]int
			for i := range 7 {
				if command>>i&1 == 0 {
					continue
				}
				if len(rest) == 0 {
					return nil, errUnsure
				}
				numbers[i/4] |= int(rest[0]) << (8 * (i % 4))
				rest = rest[1:]
			}
			at, n := numbers[0], numbers[1]
			if n == 0 {
				n = 1 << 16
			}
			if at > len(base) || n > len(base)-at {
				return nil, errUnsure
			}
			out = append(out, base[at:at+n]...)
		}
		if uint64(len(out)) > to {
			return nil, errUnsure
		}
	}
	if uint64(len(out)) != to {
		return nil, errUnsure
	}
	return out, nil
}

// length reads a size of a delta.
func length(b []byte) (n uint64, rest []byte, ok bool) {
	for i, c := range b[:min(len(b), 9)] {
		n |= uint64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
