package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A memory is what a tracker knows of the files below a root: the entries that it made itself, or what [Tracker.Recall] was given, of which
// nothing is decoded before a file is found in it.
type memory struct {
	format    git.ObjectFormat
	entries   entryList
	kept      *kept
	text      []byte // what Recall was given, while it says the same; else nil
	converter converter
}

func (m *memory) len() int {
	if m.kept != nil {
		return len(m.kept.at) - 1
	}
	return len(m.entries)
}

// recall fills in what the content of a file says, if its status is still the one that m has. near is where the last search ended.
func (m *memory) recall(e *entry, near *int) bool {
	if k := m.kept; k != nil {
		*near = git.Seek(m.len(), *near, func(i int) bool { return k.path(i) < e.path })
		return *near < m.len() && k.path(*near) == e.path && k.read(*near, e)
	}
	*near = git.Seek(len(m.entries), *near, func(i int) bool { return m.entries[i].path < e.path })
	if *near == len(m.entries) {
		return false
	}
	old := m.entries[*near]
	if old.path != e.path || !old.settled || old.status != e.status {
		return false
	}
	e.size, e.sum, e.raw, e.id, e.target, e.traits, e.settled = old.size, old.sum, old.raw, old.raw, old.target, old.traits, true
	return true
}

// Of the text that [Tracker.Remembered] returns:
//
//	magic, CRC-32 of IEEE 802.3 of what follows (4), object format (8), lengths of the root and of the names, number of files (4 each),
//	root, names: the path and the target of each file, one after the other,
//	and for each file in the order of paths
//	lengths of its path and target (4 each), kind, traits (1 each), mode (4),
//	dev, ino, size of the status, mtime, ctime, size (8 each), SHA-256 (32), blob (20 or 32)
//
// Numbers are little-endian.
const recallMagic = "dialect.files/3\n"

const (
	recallHeader = len(recallMagic) + 4 + 8 + 3*4
	recallFixed  = 2*4 + 1 + 1 + 4 + 6*8 + sha256.Size // of a file, without its blob
)

// kept is such a text, taken apart.
type kept struct {
	names string
	at    []uint32 // where the path of a file begins in names; the last is the end of them
	files []byte
	size  int // of a file in files
}

func (k *kept) file(i int) []byte { return k.files[i*k.size : (i+1)*k.size] }

func (k *kept) path(i int) string {
	return k.names[k.at[i]:][:binary.LittleEndian.Uint32(k.file(i))]
}

// read fills in what is kept of a file, if that has the status of e.
func (k *kept) read(i int, e *entry) bool {
	f, n := k.file(i), binary.LittleEndian
	st := status{kind: kind(f[8]), mode: n.Uint32(f[10:]), dev: n.Uint64(f[14:]), ino: n.Uint64(f[22:]),
		size: int64(n.Uint64(f[30:])), mtime: int64(n.Uint64(f[38:])), ctime: int64(n.Uint64(f[46:]))}
	if st != e.status {
		return false
	}
	e.size, e.traits, e.settled = int64(n.Uint64(f[54:])), traits(f[9]), true
	copy(e.sum[:], f[62:])
	copy(e.raw[:], f[recallFixed:])
	e.id, e.target = e.raw, k.names[k.at[i]:k.at[i+1]][n.Uint32(f):]
	return true
}

// Remembered returns what the tracker knows of the files below the root of s, which it took last: those whose status alone tells
// whether their content is still the same. [Tracker.Recall] hands it to a tracker of another process.
func (t *Tracker) Remembered(s *Snapshot) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.memory[s.Root]
	if m == nil {
		return nil
	}
	if m.text != nil {
		return m.text
	}
	var names []byte
	n, size := binary.LittleEndian, recallFixed+m.format.Size()
	files := make([]byte, 0, len(m.entries)*size)
	for _, e := range m.entries {
		if !e.settled {
			continue
		}
		names = append(append(names, e.path...), e.target...)
		files = n.AppendUint32(n.AppendUint32(files, uint32(len(e.path))), uint32(len(e.target)))
		files = append(files, byte(e.kind), byte(e.traits))
		files = n.AppendUint32(files, e.status.mode)
		for _, v := range [...]uint64{e.status.dev, e.status.ino, uint64(e.status.size), uint64(e.status.mtime), uint64(e.status.ctime), uint64(e.size)} {
			files = n.AppendUint64(files, v)
		}
		files = append(append(files, e.sum[:]...), e.raw[:m.format.Size()]...)
	}
	b := make([]byte, recallHeader, recallHeader+len(s.Root)+len(names)+len(files))
	copy(b, recallMagic)
	copy(b[len(recallMagic)+4:], m.format)
	for i, v := range []int{len(s.Root), len(names), len(files) / size} {
		n.PutUint32(b[recallHeader-12+4*i:], uint32(v))
	}
	b = append(append(append(b, s.Root...), names...), files...)
	n.PutUint32(b[len(recallMagic):], recallSum(b))
	return b
}

// recallSum is the checksum of a text: against a torn write, not against who can write.
func recallSum(text []byte) uint32 {
	return crc32.ChecksumIEEE(text[len(recallMagic)+4:])
}

// Recall gives the tracker, before its first snapshot, what an earlier one remembered. It returns an error if text is
// not whole, and then the tracker knows nothing.
//
// What text says of a file whose status is still the same is trusted: a snapshot that rests on it is worth what the place is worth that it
// was kept in. It is for questions whose answer nobody else relies on.
func (t *Tracker) Recall(text []byte) error {
	root, m, err := parseRecall(text)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.memory == nil {
		t.memory = make(map[string]*memory)
	}
	t.memory[root] = m
	return nil
}

var errRecall = errors.New("the memory of an earlier snapshot is damaged")

func parseRecall(text []byte) (root string, m *memory, err error) {
	n := binary.LittleEndian
	if len(text) < recallHeader || string(text[:len(recallMagic)]) != recallMagic || recallSum(text) != n.Uint32(text[len(recallMagic):]) {
		return "", nil, errRecall
	}
	head, rest := text[len(recallMagic)+4:recallHeader], text[recallHeader:]
	m = &memory{format: git.ObjectFormat(bytes.TrimRight(head[:8], "\x00")), kept: new(kept), text: text}
	if m.format != git.FormatSHA1 && m.format != git.FormatSHA256 {
		return "", nil, errRecall
	}
	size := recallFixed + m.format.Size()
	roots, names, files := uint64(n.Uint32(head[8:])), uint64(n.Uint32(head[12:])), uint64(n.Uint32(head[16:]))
	if uint64(len(rest)) != roots+names+files*uint64(size) {
		return "", nil, errRecall
	}
	*m.kept = kept{names: string(rest[roots : roots+names]), at: make([]uint32, files+1), files: rest[roots+names:], size: size}
	end := uint64(0)
	for i := range files {
		f := m.kept.file(int(i))
		m.kept.at[i] = uint32(end)
		if end += uint64(n.Uint32(f)) + uint64(n.Uint32(f[4:])); end > names {
			return "", nil, errRecall
		}
	}
	m.kept.at[files] = uint32(end)
	return string(rest[:roots]), m, nil
}
