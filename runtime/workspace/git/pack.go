package git

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/command-dialect/dialect/lang/regular"
)

// A Pack is written object by object, each as it stands: nothing is compressed, and no object is a delta of another. The format is that of
// gitformat-pack(5).
type Pack struct {
	format  ObjectFormat
	dir     string
	file    *os.File
	out     *bufio.Writer
	sum     hash.Hash
	at      int64
	left    int
	entries []packEntry

	entry bytes.Buffer // of Add
	zlib  *zlib.Writer // into it; a new one takes a megabyte
}

type packEntry struct {
	id  ObjectID
	crc uint32
	at  int64
}

// NewPack begins a pack of so many objects in a directory that is there.
func NewPack(dir string, f ObjectFormat, objects int) (*Pack, error) {
	file, err := os.CreateTemp(dir, "tmp_pack_")
	if err != nil {
		return nil, err
	}
	p := &Pack{format: f, dir: dir, file: file, sum: f.New(), left: objects}
	p.zlib, _ = zlib.NewWriterLevel(&p.entry, zlib.NoCompression) // the level is one
	p.out = bufio.NewWriterSize(io.MultiWriter(file, p.sum), 256<<10)
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(objects))
	_, err = p.out.Write(head)
	p.at = int64(len(head))
	return p, err
}

// Add writes an object, and returns its name.
func (p *Pack) Add(kind string, content []byte) (ObjectID, error) {
	id := p.format.Object(kind, content)
	b := &p.entry
	b.Reset()
	size := uint64(len(content))
	c := byte(slices.Index(kinds[:], kind))<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		b.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	b.WriteByte(c)
	p.zlib.Reset(b)
	_, _ = p.zlib.Write(content)
	_ = p.zlib.Close() // a buffer takes everything
	p.entries = append(p.entries, packEntry{id, crc32.ChecksumIEEE(b.Bytes()), p.at})
	p.at += int64(b.Len())
	p.left--
	_, err := p.out.Write(b.Bytes())
	return id, err
}

// Close ends the pack, and returns its path without the suffix of the pack and of its index.
func (p *Pack) Close() (name string, err error) {
	defer p.Discard()
	if p.left != 0 {
		return "", errors.New("git: a pack has other objects than it began with")
	}
	if err := p.out.Flush(); err != nil {
		return "", err
	}
	sum := p.sum.Sum(nil)
	if _, err := p.file.Write(sum); err != nil {
		return "", err
	}
	name = filepath.Join(p.dir, "pack-"+hex.EncodeToString(sum))
	index := p.file.Name() + "_idx"
	defer os.Remove(index)
	if err = cmp.Or(p.file.Chmod(0o444), p.file.Close(), os.WriteFile(index, p.index(sum), 0o444), os.Rename(p.file.Name(), name+".pack")); err == nil {
		err = os.Rename(index, name+".idx") // the pack is there before it
	}
	return name, err
}

// Discard takes away what was not closed.
func (p *Pack) Discard() {
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}

// index returns the index of the pack, version 2: see [ObjectFormat.find].
func (p *Pack) index(sum []byte) []byte {
	slices.SortFunc(p.entries, func(a, b packEntry) int { return bytes.Compare(a.id[:], b.id[:]) })
	b := []byte("\xfftOc\x00\x00\x00\x02")
	n := 0
	for first := range 256 {
		for n < len(p.entries) && int(p.entries[n].id[0]) <= first {
			n++
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, e := range p.entries {
		b = append(b, e.id[:p.format.Size()]...)
	}
	for _, e := range p.entries {
		b = binary.BigEndian.AppendUint32(b, e.crc)
	}
	var far []byte
	for _, e := range p.entries {
		if e.at < 1<<31 {
			b = binary.BigEndian.AppendUint32(b, uint32(e.at))
			continue
		}
		b = binary.BigEndian.AppendUint32(b, 1<<31|uint32(len(far)/8))
		far = binary.BigEndian.AppendUint64(far, uint64(e.at))
	}
	b = append(append(b, far...), sum...)
	h := p.format.New()
	h.Write(b)
	return h.Sum(b)
}

// largestPackIndex bounds the index of a pack that is read as a whole, in bytes.
const largestPackIndex = 256 << 20

// Packed reads the names of the objects in the pack that an index is of.
func (f ObjectFormat) Packed(index string) (has func(ObjectID) bool, err error) {
	text, err := regular.ReadOwn(index, largestPackIndex)
	if err != nil {
		return nil, err
	}
	return f.packedIn(text)
}

func (f ObjectFormat) packedIn(text []byte) (has func(ObjectID) bool, err error) {
	const head = 8 + 4*256
	if len(text) < head || string(text[:8]) != "\xfftOc\x00\x00\x00\x02" {
		return nil, errUnsure
	}
	size, n := f.Size(), int(binary.BigEndian.Uint32(text[head-4:]))
	if names := text[head:]; n > len(names)/size {
		return nil, errUnsure
	}
	names := text[head : head+n*size]
	return func(id ObjectID) bool {
		low, high := 0, n
		for low < high {
			middle := low + (high-low)/2
			switch bytes.Compare(names[middle*size:(middle+1)*size], id[:size]) {
			case 0:
				return true
			case -1:
				low = middle + 1
			default:
				high = middle
			}
		}
		return false
	}, nil
}
