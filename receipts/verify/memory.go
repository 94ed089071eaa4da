package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// A Memory is how far a verifier has read a log, kept in a file, so that the next
// verification reads what is new. It is bound to the log's origin and to a name,
// which is the path of the store. A memory is as trustworthy as the folder that it is kept
// in. Beside the store, whose writers can write it too, it serves verdicts that rest on
// nothing better anyway; for more, keep it where the store's writers cannot write, or
// verify without one.
//
// # The file
//
// Two header blocks of 4096 bytes, of which the one with the higher generation and a
// right digest counts, and then frames, one a record, which are only ever added. Numbers
// are little-endian.
//
//	header  magic (16), generation (8), records (8), length of the frames (8), their
//	        CRC-32 of IEEE 802.3 (4), number of hashes (4), root (32), SHA-256 of the name (32),
//	        origin (128, padded with zeros), the hashes of the right edge (32 each),
//	        SHA-256 of all before it (32)
//	frame   kind (1), flags (1), number of references (2), zero (4), hash of the record
//	        (32), bytes, git, command, run, parent, binding, signer, left bytes, left git (8
//	        each), references (8 each)
//
// What is torn by a crash has a wrong digest, and is made again: a header by the next save, which leaves the other one alone, and
// frames by reading the log anew, which has to begin with what the header says.
type Memory struct {
	file  *os.File
	name  string
	valid bool
	slot  int // of the header that counts

	unread bool // something stands in the file, and no header of it could be read

	generation uint64
	head       receipts.Checkpoint
	edge       []tlog.Hash
	crc        uint32
	length     int64 // of the frames
}

const (
	memoryMagic = "dialect.memory/3"
	headerSize  = 4096
	frameSize   = 112
	edgeOffset  = 16 + 8 + 8 + 8 + 4 + 4 + 32 + 32 + 128
	maxMemory   = 4 << 30 // bytes
)

// Recollect reads the memory in f, which is kept open for [Session.Save]. A file that
// is empty, damaged or of another name is as good as none; see [Memory.Unread]. The error is that of the file.
func Recollect(f *os.File, name string) (*Memory, error) {
	m := &Memory{file: f, name: name, slot: 1}
	var headers [2 * headerSize]byte
	n, err := f.ReadAt(headers[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for slot := range 2 {
		if n >= (slot+1)*headerSize {
			m.parse(headers[slot*headerSize:(slot+1)*headerSize], slot)
		}
	}
	if info, err := f.Stat(); err == nil && !m.valid && info.Size() > 0 {
		m.unread = true
	}
	return m, nil
}

// Unread reports whether something stood in the file that could not be read: it is damaged, of something else, or of another version
// of dialect. Where it is to show that a log was cut, that is not as good as an empty file.
func (m *Memory) Unread() bool { return m.unread }

// forget makes m as good as none: the next Save begins anew, and leaves the header that counted alone.
func (m *Memory) forget() {
	*m = Memory{file: m.file, name: m.name, slot: m.slot, generation: m.generation}
}

// readPart is how many bytes of frames are read at a time: pages that a process touches first cost more than what is done with them here, and
// 100,000 records have 13 MB.
const readPart = 128 << 10

// load makes an index of the frames, of which there are no more than st allows. It returns nil if they are damaged.
func (m *Memory) load(st State) *index {
	most := m.head.Count * (frameSize + 8*receipts.MaxMembers)
	info, err := m.file.Stat()
	if err != nil || m.head.Count > st.Count || m.length > most || info.Size() < 2*headerSize+m.length {
		return nil
	}
	x := &index{marks: make([]mark, 0, m.head.Count+256), refs: make([]ref, 0, (m.length-m.head.Count*frameSize)/8)}
	spread(x.marks)
	le := binary.LittleEndian
	buf := make([]byte, min(readPart, m.length))
	crc, kept := uint32(0), 0 // kept bytes at the start of buf are of a frame whose rest is not read yet
	for at := int64(0); at < m.length; {
		if kept == len(buf) {
			buf = append(buf, make([]byte, kept)...)
		}
		next := buf[kept:min(int64(len(buf)), int64(kept)+m.length-at)]
		if _, err := m.file.ReadAt(next, 2*headerSize+at); err != nil {
			return nil
		}
		crc = crc32.Update(crc, crc32.IEEETable, next)
		at += int64(len(next))
		b := buf[:kept+len(next)]
		for len(b) >= frameSize {
			n := int(le.Uint16(b[2:])) // at most MaxMembers, see glance
			if len(b) < frameSize+8*n {
				break
			}
			seq := x.len()
			if seq == m.head.Count {
				return nil
			}
			x.marks = x.marks[:seq+1] // filled in where it stands
			k := &x.marks[seq]
			k.kind, k.flags = b[0], b[1]
			copy(k.sha[:], b[8:40])
			k.bytes, k.git, k.command = le.Uint64(b[40:]), le.Uint64(b[48:]), le.Uint64(b[56:])
			k.run, k.parent, k.binding, k.signer = le.Uint64(b[64:]), le.Uint64(b[72:]), le.Uint64(b[80:]), le.Uint64(b[88:])
			k.leftBytes, k.leftGit = le.Uint64(b[96:]), le.Uint64(b[104:])
			for i := range n {
				x.refs = append(x.refs, ref{le.Uint64(b[frameSize+8*i:]), seq})
			}
			b = b[frameSize+8*n:]
		}
		kept = copy(buf, b)
	}
	if crc != m.crc || kept > 0 || x.len() != m.head.Count {
		return nil
	}
	return x
}

func (m *Memory) parse(b []byte, slot int) {
	le := binary.LittleEndian
	edge := int(le.Uint32(b[44:]))
	if string(b[:16]) != memoryMagic || edge > 64 {
		return
	}
	end := edgeOffset + edge*tlog.HashSize
	sum := sha256.Sum256(b[:end])
	generation := le.Uint64(b[16:])
	name := sha256.Sum256([]byte(m.name))
	if !bytes.Equal(sum[:], b[end:end+32]) || generation == math.MaxUint64 || m.valid && generation <= m.generation || !bytes.Equal(name[:], b[80:112]) {
		return
	}
	records, length := le.Uint64(b[24:]), le.Uint64(b[32:])
	if records > maxMemory/frameSize || length > maxMemory || length < records*frameSize {
		return
	}
	m.valid, m.slot, m.generation = true, slot, generation
	m.head = receipts.Checkpoint{Origin: string(bytes.TrimRight(b[112:240], "\x00")), Count: int64(records), Root: tlog.Hash(b[48:80])}
	m.length, m.crc = int64(length), le.Uint32(b[40:])
	m.edge = m.edge[:0]
	for i := range edge {
		m.edge = append(m.edge, tlog.Hash(b[edgeOffset+i*tlog.HashSize:edgeOffset+(i+1)*tlog.HashSize]))
	}
}

// recall takes what a memory knows of the log into the session. Where only its header can be used it returns the checkpoint of that.
func (s *Session) recall(m *Memory, st State) *receipts.Checkpoint {
	if !m.valid {
		return nil
	}
	if m.head.Origin != st.Origin {
		s.notes = append(s.notes, fmt.Sprintf("another store stood here when it was verified last: its origin was %s, and is %s", m.head.Origin, st.Origin))
		return nil
	}
	if m.head.Count > st.Count {
		s.problem(st.Count, receipts.Hash{}, "records %d to %d are missing: %d were there when the store was verified last, and the log has %d; it was cut or rolled back", st.Count, m.head.Count-1, m.head.Count, st.Count)
		return nil
	}
	edge := EdgeOf(m.head.Count)
	var x *index
	if len(edge) == len(m.edge) {
		x = m.load(st)
	}
	if x == nil {
		head := m.head
		m.forget()
		return &head
	}
	s.index, s.start, s.head = x, m.head.Count, m.head
	for i, idx := range edge {
		s.edge[idx] = m.edge[i]
	}
	return nil
}

// Save adds what the session has read to the memory that it was opened with. It keeps
// nothing of a log with problems. After a failure the next verification reads more.
func (s *Session) Save(m *Memory) error {
	if len(s.problems) > 0 || m.valid && m.head == s.head {
		return nil
	}
	le := binary.LittleEndian
	from, length, crc := int64(0), int64(0), uint32(0)
	if m.valid && s.start == m.head.Count && m.head.Origin == s.head.Origin && s.start > 0 {
		from, length, crc = s.start, m.length, m.crc
	}
	refs := s.index.refs
	i := 0
	for i < len(refs) && refs[i].seq < from {
		i++
	}
	var out []byte
	for seq := from; seq < s.head.Count; seq++ {
		k := s.index.at(seq)
		j := i
		for j < len(refs) && refs[j].seq == seq {
			j++
		}
		out = append(out, k.kind, k.flags)
		if j-i > receipts.MaxMembers {
			return fmt.Errorf("record %d names %d other records", seq, j-i)
		}
		out = le.AppendUint16(out, uint16(j-i))
		out = append(out, 0, 0, 0, 0)
		out = append(out, k.sha[:]...)
		for _, v := range []uint64{k.bytes, k.git, k.command, k.run, k.parent, k.binding, k.signer, k.leftBytes, k.leftGit} {
			out = le.AppendUint64(out, v)
		}
		for ; i < j; i++ {
			out = le.AppendUint64(out, refs[i].target)
		}
	}
	if from == 0 {
		// No frame that stands there is used again. Of the same log a header stays: if this is cut short, what that says of it counts.
		keep := int64(2 * headerSize)
		if m.valid && m.head.Origin != s.head.Origin {
			keep = 0
		}
		if err := m.file.Truncate(keep); err != nil {
			return err
		}
	}
	if _, err := m.file.WriteAt(out, 2*headerSize+length); err != nil {
		return err
	}
	crc = crc32.Update(crc, crc32.IEEETable, out)
	length += int64(len(out))

	h := make([]byte, edgeOffset, headerSize)
	copy(h, memoryMagic)
	le.PutUint64(h[16:], m.generation+1)
	le.PutUint64(h[24:], uint64(s.head.Count))
	le.PutUint64(h[32:], uint64(length))
	le.PutUint32(h[40:], crc)
	edge := EdgeOf(s.head.Count)
	le.PutUint32(h[44:], uint32(len(edge)))
	copy(h[48:80], s.head.Root[:])
	name := sha256.Sum256([]byte(m.name))
	copy(h[80:112], name[:])
	copy(h[112:240], s.head.Origin)
	hashes, err := s.edge.ReadHashes(edge)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		h = append(h, hash[:]...)
	}
	sum := sha256.Sum256(h)
	h = append(h, sum[:]...)
	if _, err := m.file.WriteAt(h[:headerSize], int64(1-m.slot)*headerSize); err != nil {
		return err
	}
	m.valid, m.slot, m.generation, m.head, m.length, m.crc = true, 1-m.slot, m.generation+1, s.head, length, crc
	return nil
}
