package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Of the text that [Tracker.Remembered] returns:
//
//	magic, SHA-256 of what follows, object format (8), length of the root (4), root, and for each file in the order of paths
//	length of the path (4), path, length of the target (4), target,
//	kind, traits (1 each), mode (4), dev, ino, size of the status, mtime, ctime, size (8 each), SHA-256 (32), blob (32)
//
// Numbers are little-endian.
const recallMagic = "dialect.files/1\n"

// recallFixed is the length of what an entry has beside its path and target.
const recallFixed = 1 + 1 + 4 + 6*8 + 2*32

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
	b := make([]byte, 0, len(m.entries)*(recallFixed+64))
	b = append(b, recallMagic...)
	b = append(b, make([]byte, sha256.Size)...)
	var format [8]byte
	copy(format[:], m.format)
	b = append(b, format[:]...)
	n := binary.LittleEndian
	b = append(n.AppendUint32(b, uint32(len(s.Root))), s.Root...)
	for i := range m.entries {
		e := &m.entries[i]
		if !e.settled {
			continue
		}
		b = append(n.AppendUint32(b, uint32(len(e.path))), e.path...)
		b = append(n.AppendUint32(b, uint32(len(e.target))), e.target...)
		b = append(b, byte(e.kind), byte(e.traits))
		b = n.AppendUint32(b, e.status.mode)
		for _, v := range [...]uint64{e.status.dev, e.status.ino, uint64(e.status.size), uint64(e.status.mtime), uint64(e.status.ctime), uint64(e.size)} {
			b = n.AppendUint64(b, v)
		}
		b = append(append(b, e.sum[:]...), e.raw[:]...)
	}
	sum := sha256.Sum256(b[len(recallMagic)+sha256.Size:])
	copy(b[len(recallMagic):], sum[:])
	return b
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
	m.text = text
	t.memory[root] = m
	return nil
}

var errRecall = errors.New("what an earlier snapshot kept is damaged")

func parseRecall(text []byte) (root string, m *memory, err error) {
	rest, ok := bytes.CutPrefix(text, []byte(recallMagic))
	if !ok || len(rest) < sha256.Size+8 {
		return "", nil, errRecall
	}
	if sum := sha256.Sum256(rest[sha256.Size:]); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return "", nil, errRecall
	}
	rest = rest[sha256.Size:]
	m = &memory{format: git.ObjectFormat(bytes.TrimRight(rest[:8], "\x00")), entries: make([]entry, 0, len(rest)/(recallFixed+40))}
	if m.format != git.FormatSHA1 && m.format != git.FormatSHA256 {
		return "", nil, errRecall
	}
	rest = rest[8:]
	n := binary.LittleEndian
	field := func() (string, bool) {
		if len(rest) < 4 || uint64(len(rest)-4) < uint64(n.Uint32(rest)) {
			return "", false
		}
		size := n.Uint32(rest)
		s := string(rest[4 : 4+size])
		rest = rest[4+size:]
		return s, true
	}
	if root, ok = field(); !ok {
		return "", nil, errRecall
	}
	for len(rest) > 0 {
		var e entry
		var ok1, ok2 bool
		e.path, ok1 = field()
		if e.target, ok2 = field(); !ok1 || !ok2 || len(rest) < recallFixed {
			return "", nil, errRecall
		}
		e.kind, e.traits, e.settled = kind(rest[0]), traits(rest[1]), true
		e.status.kind, e.status.mode = e.kind, n.Uint32(rest[2:])
		var v [6]uint64
		for i := range v {
			v[i] = n.Uint64(rest[6+8*i:])
		}
		e.status.dev, e.status.ino, e.status.size, e.status.mtime, e.status.ctime, e.size = v[0], v[1], int64(v[2]), int64(v[3]), int64(v[4]), int64(v[5])
		copy(e.sum[:], rest[54:])
		copy(e.raw[:], rest[86:])
		rest = rest[recallFixed:]
		m.entries = append(m.entries, e)
	}
	return root, m, nil
}
