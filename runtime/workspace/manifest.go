package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// manifestLine is the first line of what [Snapshot.Bytes] is the digest of.
const manifestLine = "dialect.workspace/1\n"

// Manifest returns the text that [Snapshot.Bytes] is the digest of: kept under that
// digest, it tells later what changed since.
func (s *Snapshot) Manifest() []byte {
	size := len(manifestLine)
	for _, e := range s.entries {
		size += 1 + 8 + len(e.path) + 8 + sha256.Size
	}
	var b bytes.Buffer
	b.Grow(size)
	writeManifest(&b, s.entries)
	return b.Bytes()
}

// ParseManifest returns a snapshot that holds what a manifest says: it has Bytes
// and Files, and no Tree.
func ParseManifest(text []byte) (*Snapshot, error) {
	s := &Snapshot{Bytes: sha256.Sum256(text)}
	rest, ok := bytes.CutPrefix(text, []byte(manifestLine))
	if !ok {
		return nil, errors.New("it is not a manifest of a workspace")
	}
	last := ""
	list := make([]entry, 0, len(text)/64)
	for len(rest) > 0 {
		e := entry{kind: kind(rest[0]), tracked: true}
		if !strings.ContainsRune("fxlpsd", rune(e.kind)) || len(rest) < 9 {
			return nil, errDamaged(len(text) - len(rest))
		}
		n := binary.BigEndian.Uint64(rest[1:])
		rest = rest[9:]
		if n == 0 || n > uint64(len(rest)) {
			return nil, errDamaged(len(text) - len(rest))
		}
		e.path, rest = string(rest[:n]), rest[n:]
		if e.path <= last {
			return nil, errDamaged(len(text) - len(rest))
		}
		last = e.path
		if !e.kind.special() {
			if len(rest) < 8+sha256.Size {
				return nil, errDamaged(len(text) - len(rest))
			}
			e.size = int64(binary.BigEndian.Uint64(rest))
			copy(e.sum[:], rest[8:])
			rest = rest[8+sha256.Size:]
		}
		list = append(list, e)
		s.Files++
	}
	for i := range list {
		s.entries = append(s.entries, &list[i])
	}
	return s, nil
}

func errDamaged(at int) error { return fmt.Errorf("the manifest is damaged at byte %d", at) }
