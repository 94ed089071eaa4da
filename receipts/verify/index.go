package verify

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/command-dialect/dialect/receipts"
)

// An index says where in a log to look. It is made of authenticated bytes, once, and
// holds 112 bytes a record: questions are answered by going through all of it, which
// for 100,000 records takes less than a millisecond. Texts are shortened to 64 bits:
// what is found is read, and compared whole, so that a collision costs a read and
// decides nothing, except that the last word about a command under a binding is found by
// marks: by 64 bits of SHA-256 each.
type index struct {
	marks []mark
	refs  []ref

	// Questions about hashes that follow from one another, gate by gate, would go through
	// all of it each time: after fewPasses of them these tables are made.
	passes   int
	runs     map[uint64]int64   // by run: the index of its first beginning; nil until it is asked for
	rivals   map[uint64][]int64 // by run: those of its further ones
	bySHA    []int64            // indexes of records, in the order of their hashes
	byTarget []ref              // refs, in the order of their targets
}

const fewPasses = 16

// sorted reports whether the tables stand; it makes them when it is asked too often.
func (x *index) sorted() bool {
	if x.passes++; x.passes <= fewPasses {
		return false
	}
	if len(x.bySHA) != len(x.marks) {
		x.bySHA = make([]int64, len(x.marks))
		for i := range x.bySHA {
			x.bySHA[i] = int64(i)
		}
		slices.SortStableFunc(x.bySHA, func(a, b int64) int { return cmp.Compare(short(x.marks[a].sha), short(x.marks[b].sha)) })
		x.byTarget = slices.Clone(x.refs)
		slices.SortStableFunc(x.byTarget, func(a, b ref) int { return cmp.Compare(a.target, b.target) })
	}
	return true
}

// begins returns the indexes of the records that say that a run began, in the order of the log.
func (x *index) begins(run uint64) (list []int64) {
	if x.runs == nil {
		x.runs, x.rivals = make(map[uint64]int64), make(map[uint64][]int64)
		for seq := range x.marks {
			m := &x.marks[seq]
			if m.kind != kindRun {
				continue
			}
			if _, ok := x.runs[m.run]; ok {
				x.rivals[m.run] = append(x.rivals[m.run], int64(seq))
			} else {
				x.runs[m.run] = int64(seq)
			}
		}
	}
	if seq, ok := x.runs[run]; ok {
		list = append([]int64{seq}, x.rivals[run]...)
	}
	return list
}

// named calls f for the records whose hash may be among want, in the order of the log
// for each of them.
func (x *index) named(want map[uint64]bool, f func(seq int64)) {
	if !x.sorted() {
		for seq := range x.marks {
			if want[short(x.marks[seq].sha)] {
				f(int64(seq))
			}
		}
		return
	}
	for h := range want {
		i, _ := slices.BinarySearchFunc(x.bySHA, h, func(seq int64, h uint64) int { return cmp.Compare(short(x.marks[seq].sha), h) })
		for ; i < len(x.bySHA) && short(x.marks[x.bySHA[i]].sha) == h; i++ {
			f(x.bySHA[i])
		}
	}
}

// twice looks for a record, at index from or later, that is in the log a second time. A store never appends a record twice: a copy of an old pass
// would count as a new one.
func (s *Session) twice(from int64) {
	marks := s.index.marks
	if from >= int64(len(marks)) {
		return
	}
	var may [1 << 10]uint64 // a bit for each value of the last 16 bits of a hash that is new
	added := make(map[receipts.Hash]int64, int64(len(marks))-from)
	find := func(seq int64) bool {
		h := marks[seq].sha
		bit := binary.LittleEndian.Uint16(h[30:])
		if may[bit>>6]&(1<<(bit&63)) != 0 {
			if first, ok := added[h]; ok {
				s.problem(max(first, seq), h, "record %d is record %d once more: the log was changed", max(first, seq), min(first, seq))
				return true
			}
		}
		if seq >= from {
			may[bit>>6] |= 1 << (bit & 63)
			added[h] = seq
		}
		return false
	}
	for seq := from; seq < int64(len(marks)); seq++ {
		if find(seq) {
			return
		}
	}
	for seq := range from {
		if find(seq) {
			return
		}
	}
}

// A mark is what the index holds of one record.
type mark struct {
	sha                  receipts.Hash
	kind                 uint8
	flags                uint8
	bytes, git           uint64 // of the tree: the digest of the bytes, the git tree
	command              uint64 // see commandKey; of a receipt
	run, parent, binding uint64
	signer               uint64 // the id of the key that the body names
	leftBytes, leftGit   uint64 // of the tree that the command left; of a receipt
}

// A ref says that a record speaks of an earlier one.
type ref struct {
	target uint64 // the first eight bytes of its hash
	seq    int64  // of the record that speaks
}

const (
	flagFinal   = 1 << iota // a final gate
	flagPassed              // a receipt of a success
	flagPending             // a receipt that is to be settled
	flagFailed              // a receipt of a failure
	flagEarly               // a receipt of a command that was ended early
	_                       // unused: the file of a Memory has the others at their places
	flagControl             // a receipt of a control, which is neither a pass nor a failure of its line
	flagTests               // a receipt that counted tests
)

const (
	kindOther = iota
	kindRun
	kindReceipt
	kindGate
	kindConsumption
	kindSettlement
	kindTrust
	kindNotary
	kindClosing
)

// kinds are the kinds of records in the order of their marks.
var kinds = [...]receipts.Kind{receipts.KindRun, receipts.KindReceipt, receipts.KindGate, receipts.KindConsumption, receipts.KindSettlement, receipts.KindTrust, receipts.KindNotary, receipts.KindClosing}

func (x *index) len() int64         { return int64(len(x.marks)) }
func (x *index) at(seq int64) *mark { return &x.marks[seq] }

func (x *index) add(m mark, refs []uint64) {
	seq := x.len()
	x.marks, x.runs = append(x.marks, m), nil
	for _, t := range refs {
		x.refs = append(x.refs, ref{t, seq})
	}
}

// speaking returns the records that speak of those with the hashes in targets, by the
// short form of the target, in the order of the log.
func (x *index) speaking(targets map[uint64]bool) map[uint64][]int64 {
	found := make(map[uint64][]int64)
	if x.sorted() {
		for t := range targets {
			i, _ := slices.BinarySearchFunc(x.byTarget, t, func(r ref, t uint64) int { return cmp.Compare(r.target, t) })
			for ; i < len(x.byTarget) && x.byTarget[i].target == t; i++ {
				found[t] = append(found[t], x.byTarget[i].seq)
			}
		}
		return found
	}
	for _, r := range x.refs {
		if targets[r.target] {
			found[r.target] = append(found[r.target], r.seq)
		}
	}
	return found
}

// short is the short form of a hash.
func short(h receipts.Hash) uint64 { return binary.BigEndian.Uint64(h[:8]) }

// shortText is the short form of a text; 0 stands for the empty one.
func shortText(text string) uint64 {
	if text == "" {
		return 0
	}
	h := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(h[:8]) | 1
}

// commandKey names a command in a directory of a place: what the last word is about.
func commandKey(command receipts.Hash, dir, place receipts.Datum) uint64 {
	h := sha256.New()
	h.Write(command[:])
	for _, d := range []receipts.Datum{dir, place} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(d.Text)))
		h.Write(n[:])
		h.Write([]byte(d.Text))
		h.Write(d.SHA256[:])
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// A glimpse is what the index takes from a body. It is read leniently: what is not of
// the strict form is found out when it is needed, and then counts for nothing.
type glimpse struct {
	Run        string              `json:"run"`
	Parent     string              `json:"parent"`
	Binding    string              `json:"binding"`
	Command    receipts.Hash       `json:"command"`
	Dir        receipts.Datum      `json:"dir"`
	Place      receipts.Datum      `json:"place"`
	Status     receipts.Status     `json:"status"`
	StopReason receipts.StopReason `json:"stop_reason"`
	Final      bool                `json:"final"`
	Tree       *receipts.Tree      `json:"tree"`
	Workspace  *struct {
		Before receipts.Tree  `json:"before"`
		After  *receipts.Tree `json:"after"`
	} `json:"workspace"`
	Consumed []receipts.Hash `json:"consumed"`
	Receipt  receipts.Hash   `json:"receipt"`
	Receipts []receipts.Hash `json:"receipts"`
	Signer   string          `json:"signer"`
	Control  *struct{}       `json:"control"`
	Tests    *struct{}       `json:"tests"`
}

// glance returns the mark of a record, without its hash, what it speaks of, and the id of
// the key that it names.
func glance(kind receipts.Kind, body []byte) (mark, []uint64, string) {
	m := mark{kind: uint8(slices.Index(kinds[:], kind) + 1)}
	if m.kind == kindOther {
		return m, nil, ""
	}
	var g glimpse
	if len(body) > receipts.MaxBody || json.Unmarshal(body, &g) != nil ||
		len(g.Consumed) > receipts.MaxMembers || len(g.Receipts) > receipts.MaxMembers {
		return mark{kind: kindOther}, nil, "" // it cannot be of the strict form
	}
	m.signer = shortText(g.Signer)
	var said []receipts.Hash
	tree := g.Tree
	switch m.kind {
	case kindReceipt:
		m.command = commandKey(g.Command, g.Dir, g.Place)
		m.binding = shortText(g.Binding)
		if g.Tests != nil {
			m.flags |= flagTests
		}
		r := receipts.Receipt{Status: g.Status, StopReason: g.StopReason}
		switch {
		case g.Control != nil:
			m.flags |= flagControl
		case g.Status == receipts.Succeeded:
			m.flags |= flagPassed
		case g.Status == receipts.Pending:
			m.flags |= flagPending
		case r.Failed():
			m.flags |= flagFailed
		case r.EndedEarly():
			m.flags |= flagEarly
		}
		tree = nil
		if g.Workspace != nil {
			tree = &g.Workspace.Before
			if left, ok := (&receipts.Workspace{Before: *tree, After: g.Workspace.After}).Left(); ok {
				m.leftBytes, m.leftGit = treeMark(left)
			}
		}
	case kindGate:
		if g.Final {
			m.flags |= flagFinal
		}
	case kindConsumption:
		said = g.Consumed
	case kindSettlement:
		said = []receipts.Hash{g.Receipt}
	case kindTrust:
		said = g.Receipts
	}
	var refs []uint64
	for _, h := range said {
		refs = append(refs, short(h))
	}
	if m.kind <= kindGate {
		m.run = shortText(g.Run)
		m.parent = shortText(runOf(g.Parent))
		if tree != nil {
			m.bytes, m.git = treeMark(*tree)
		}
	}
	return m, refs, g.Signer
}

// runOf returns the run of a step that is named "RUN/STEP".
func runOf(parent string) string {
	run, _ := receipts.SplitStep(parent)
	return run
}

// treeKeys are trees in the short form of marks.
type treeKeys struct {
	bytes map[uint64]bool
	git   map[uint64]bool // of all trees
	bare  map[uint64]bool // of those that have no digest of the bytes
}

func (k *treeKeys) add(t receipts.Tree) {
	if k.bytes == nil {
		k.bytes, k.git, k.bare = make(map[uint64]bool), make(map[uint64]bool), make(map[uint64]bool)
	}
	bytes, git := treeMark(t)
	if bytes != 0 {
		k.bytes[bytes] = true
	}
	if git != 0 {
		k.git[git] = true
		if bytes == 0 {
			k.bare[git] = true
		}
	}
}

// mayHold reports whether a tree in the short form may be one of the trees, as
// [receipts.Tree.SameFiles] has it.
func (k *treeKeys) mayHold(bytes, git uint64) bool {
	if bytes != 0 {
		return k.bytes[bytes] || git != 0 && k.bare[git]
	}
	return git != 0 && k.git[git]
}

// treeMark returns the digests of a tree in the short form of marks; 0 stands for none.
func treeMark(t receipts.Tree) (bytes, git uint64) {
	if !t.Bytes.IsZero() {
		bytes = short(t.Bytes) | 1
	}
	return bytes, shortText(t.Tree)
}
