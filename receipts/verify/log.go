package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// A Log hands out the bytes of a log. Nothing that it returns is trusted: records are
// authenticated by the root over them, the root by a checkpoint or by reading the log.
type Log interface {
	// State returns the checkpoint as the log's owner wrote it.
	State(ctx context.Context) (State, error)
	// Records calls f for the records with an index of at least from, in ascending
	// order, until f returns false.
	Records(ctx context.Context, from int64, f func(Raw) bool) error
	// Record returns the record at an index; ok is false where there is none.
	Record(ctx context.Context, seq int64) (r Raw, ok bool, err error)
	// Hashes returns stored hashes of the log, numbered as by [tlog.StoredHashIndex]. They
	// serve as proofs, which are checked.
	Hashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error)
}

// A State is a log's own account: its size, root and checkpoints, before they are checked.
type State struct {
	receipts.Checkpoint
	Note []byte // the last signed checkpoint of each key, see [receipts.SplitNotes]; nil if none was
}

// A Raw is a record as a log hands it out.
type Raw struct {
	Seq       int64
	Kind      receipts.Kind
	Body      []byte
	Signature receipts.Signature
	// Known is a record that this process has made, which spares parsing it anew. It counts only where its kind and
	// its bytes are those of the log.
	Known receipts.Record
}

// record returns the record of r, parsed where it is known.
func (r *Raw) record() receipts.Record {
	if r.Known.Kind == r.Kind && len(r.Body) > 0 && bytes.Equal(r.Known.Body, r.Body) {
		return r.Known
	}
	return receipts.Record{Kind: r.Kind, Body: r.Body}
}

// Options say what the verifier trusts and keeps.
type Options struct {
	// Keys are those whose signatures count; nil: none.
	Keys note.Verifiers
	// Kept is a checkpoint that the verifier kept; the log must begin with what it covers.
	Kept *receipts.Checkpoint
	// Memory is what an earlier audit left; nil: the whole log is read. The caller
	// answers for the place that it was kept in.
	Memory *Memory
	// Before is a session of this process over the same log; it stands for what it has
	// read. It is nil for the first one.
	Before *Session
	// MemoryKept says that the log's writers cannot write the memory: it is as good as
	// a checkpoint that was kept, and another store at its name is a problem.
	MemoryKept bool
}

// A Problem is one thing that is not as the log must be.
type Problem struct {
	Seq     int64 // of the record; -1 if it is about the log as a whole
	SHA     receipts.Hash
	Message string
}

// A Session is a log that was read once and authenticated. All of its answers come from
// those bytes: a record that is read again must have the hash that it had, so that
// anyone who changes the log in between is found, and never believed.
type Session struct {
	log  Log
	keys note.Verifiers
	kept *receipts.Checkpoint

	head          receipts.Checkpoint // of the records that were read
	note          []byte              // of the state that head was compared with
	index         *index
	edge          Edge
	entries       map[int64]*receipts.Entry
	problems      []Problem
	signed        Coverage
	start         int64 // records that the memory answered for
	origin        string
	partial       bool             // of a bundle: absence is not known
	bundled       map[int64]Raw    // its records, by their place in the bundle
	checkpointKey string           // that signed its checkpoint
	notary        *receipts.Notary // of a bundle: what the session rests on; nil where nobody vouches for one
	voucher       string           // the name of the key that does
	answered      int64            // records that a memory answers for that the log's writers cannot write
	notes         []string
	byRun         map[uint64][]int64         // see [Session.ofRun]
	beginnings    map[string]*receipts.Entry // see [Session.begun]
	withKey       map[string]bool            // see [Session.speaks]
	followed      map[int64]bool             // what [Session.follow] has said all of
	strange       map[uint64]bool            // see [Session.weaker]
	settled       map[int64]settled          // of receipts that were pending
	resumed       receipts.Hash              // the gate that the request under decision has led to before: what it consumed counts as free
	weighed       int                        // failures, each for every leaf of the gates that were judged
	err           error                      // the log's, while an answer is made
	ctx           context.Context
}

// fewRecords is how many new records are kept in memory as they are read; what is
// needed of more is read, and authenticated, again.
const fewRecords = 4096

// Open reads what is new in a log and authenticates it. The error says that the log
// cannot be read; that it is not what it should be is among [Session.Problems].
// It costs the reading of all records that the memory does not answer for.
func Open(ctx context.Context, log Log, o Options) (*Session, error) {
	st, err := log.State(ctx)
	if err != nil {
		return nil, err
	}
	s := &Session{
		log: log, ctx: ctx, keys: o.Keys, kept: o.Kept, index: new(index), origin: st.Origin, signed: make(Coverage),
		edge: make(Edge), entries: make(map[int64]*receipts.Entry), followed: make(map[int64]bool), settled: make(map[int64]settled), beginnings: make(map[string]*receipts.Entry), withKey: make(map[string]bool), strange: make(map[uint64]bool),
		note: st.Note,
	}
	if err := receipts.CheckOrigin(st.Origin); err != nil {
		s.problem(-1, receipts.Hash{}, "%v", err)
	}
	var remembered *receipts.Checkpoint
	switch m, before := o.Memory, o.Before; {
	case before != nil && before.origin != st.Origin:
		s.problem(-1, receipts.Hash{}, "the store was replaced while it was read: its origin was %s, and is %s", before.origin, st.Origin)
	case before != nil && len(before.problems) == 0:
		s.goOn(before, st)
	case m != nil:
		head := s.recall(m, st)
		if o.MemoryKept {
			s.answered, remembered = s.start, head
			if len(s.notes) > 0 {
				s.problem(-1, receipts.Hash{}, "%s", s.notes[0])
			}
		}
	}
	// Roots that are needed of the log as it was: at the kept checkpoint, at the signed one.
	want := map[int64]tlog.Hash{}
	if o.Kept != nil {
		want[o.Kept.Count] = tlog.Hash{}
	}
	if remembered != nil {
		want[remembered.Count] = tlog.Hash{}
	}
	var signed []receipts.Checkpoint
	if o.Keys != nil {
		for _, n := range receipts.SplitNotes(st.Note) {
			h, key, err := receipts.ParseCheckpoint(n, o.Keys)
			switch {
			case err != nil:
				s.problem(-1, receipts.Hash{}, "the signed checkpoint cannot be trusted: %v", err)
			case key != "":
				signed = append(signed, h)
				s.signed.Add(n, h)
				want[h.Count] = tlog.Hash{}
			}
		}
	}
	from := s.head.Count
	if err := s.read(ctx, st, want); err != nil {
		return nil, err
	}
	s.twice(from)
	if len(s.problems) == 0 {
		root, err := tlog.TreeHash(s.head.Count, s.edge)
		if err != nil || root != st.Root {
			s.problem(-1, receipts.Hash{}, "the root over the %d records is not that of the checkpoint", st.Count)
		}
		s.head = st.Checkpoint
	}
	if o.Kept != nil && len(s.problems) == 0 {
		s.beginsWith(*o.Kept, "kept", want)
	}
	if remembered != nil && len(s.problems) == 0 {
		s.answered = remembered.Count
		s.beginsWith(*remembered, "remembered", want)
	}
	for _, h := range signed {
		if len(s.problems) == 0 {
			s.beginsWith(h, "signed", want)
		}
	}
	s.lastSigned()
	return s, s.err
}

// goOn takes what an earlier session has read. One that read records in a transaction that
// did not commit must not be handed on.
func (s *Session) goOn(before *Session, st State) {
	if before.head.Count > st.Count {
		s.problem(st.Count, receipts.Hash{}, "records %d to %d are missing: they were there a moment ago, and the log has %d; it was cut or rolled back", st.Count, before.head.Count-1, st.Count)
		return
	}
	x := *before.index
	s.index, s.edge, s.head = &x, maps.Clone(before.edge), before.head
	s.start, s.answered, s.notes = before.head.Count, before.answered, before.notes
}

func (s *Session) problem(seq int64, sha receipts.Hash, format string, args ...any) {
	s.problems = append(s.problems, Problem{Seq: seq, SHA: sha, Message: fmt.Sprintf(format, args...)})
}

// Problems returns the faults of the log. If there are any, no query is answered.
func (s *Session) Problems() []Problem { return s.problems }

// Last returns the checkpoint of the records that were read.
func (s *Session) Last() receipts.Checkpoint { return s.head }

// Checkpoint returns [Session.Last] as text to keep: the signed note of exactly that checkpoint if there
// is one, else its three lines. The error is a [*ProblemError].
func (s *Session) Checkpoint() (receipts.Checkpoint, []byte, error) {
	if err := s.fault(); err != nil {
		return receipts.Checkpoint{}, nil, err
	}
	for _, n := range receipts.SplitNotes(s.note) {
		if h, _, err := receipts.ParseCheckpoint(n, nil); err == nil && h == s.head {
			return h, n, nil
		}
	}
	return s.head, []byte(s.head.Text()), nil
}

// A row is a record with what is computed of it.
type row struct {
	Raw
	sha  receipts.Hash
	leaf tlog.Hash
	mark mark
	refs []uint64

	signed, signer string // ids of the keys that the signature and the body name
}

// batchRows is how many records are computed at once.
const batchRows = 512

// read reads the records that are new, and fills want with the roots at its keys.
func (s *Session) read(ctx context.Context, st State, want map[int64]tlog.Hash) error {
	next := s.head.Count
	keep := st.Count-next <= fewRecords
	var failed error
	batch := make([]row, 0, max(0, min(batchRows, st.Count-next)))
	flush := func() {
		rows := batch
		batch = batch[:0]
		Each(len(rows), func(i int) { rows[i].compute() })
		for i := range rows {
			r := &rows[i]
			if failed = s.edge.Add(r.Seq, r.leaf); failed != nil {
				return
			}
			s.index.add(r.mark, r.refs)
			if _, ok := want[r.Seq+1]; ok {
				if want[r.Seq+1], failed = tlog.TreeHash(r.Seq+1, s.edge); failed != nil {
					return
				}
			}
			// Verifying a signature costs some 50 us: only those are that can be at fault.
			if receipts.KnowsKey(s.keys, r.signed) && r.Seq >= s.signed[r.signed] || r.signed != r.signer && receipts.KnowsKey(s.keys, r.signer) {
				e := r.entry()
				if s.judgeLevel(&e); len(s.problems) > 0 {
					return
				}
			}
			if keep {
				e := r.entry()
				s.entries[r.Seq] = &e
			}
		}
	}
	err := s.log.Records(ctx, next, func(r Raw) bool {
		if r.Seq >= st.Count {
			s.problem(r.Seq, receipts.Record{Kind: r.Kind, Body: r.Body}.SHA(), "record %d is not in the log, which has %d: a row was inserted", r.Seq, st.Count)
			return false
		}
		if r.Seq != next {
			s.problem(next, receipts.Hash{}, "record %d is missing: the next one is %d", next, r.Seq)
			return false
		}
		next++
		batch = append(batch, row{Raw: r})
		if len(batch) == batchRows {
			flush()
		}
		return failed == nil && len(s.problems) == 0
	})
	if err != nil {
		return err
	}
	flush()
	if failed != nil {
		return failed
	}
	s.head.Count = next
	if next < st.Count && len(s.problems) == 0 {
		s.problem(next, receipts.Hash{}, "records %d to %d are missing: the checkpoint counts %d", next, st.Count-1, st.Count)
	}
	return nil
}

func (r *row) compute() {
	rec := receipts.Record{Kind: r.Kind, Body: r.Body}
	r.sha, r.leaf = rec.SHA(), rec.Leaf()
	r.mark, r.refs, r.signer = glance(r.Kind, r.Body)
	r.mark.sha, r.signed = r.sha, r.Signature.ID()
}

func (r *row) entry() receipts.Entry {
	return receipts.Entry{Record: r.record(), Seq: r.Seq, SHA: r.sha, Signature: r.Signature, InLog: true, Level: unjudged}
}

// unjudged stands for the level of an entry whose signature was not looked at yet.
const unjudged = -1

// Each calls f for 0 to n-1, on all processors.
func Each(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 || n < 16 {
		for i := range n {
			f(i)
		}
		return
	}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wait.Wait()
}

// beginsWith checks that the log begins with the records of an older checkpoint.
func (s *Session) beginsWith(h receipts.Checkpoint, what string, want map[int64]tlog.Hash) {
	none := receipts.Hash{}
	switch {
	case h.Origin != s.head.Origin:
		s.problem(-1, none, "the %s checkpoint is of the store %s, and this one is %s: the store was replaced", what, h.Origin, s.head.Origin)
		return
	case h.Count > s.head.Count:
		s.problem(s.head.Count, none, "records %d to %d are missing: the %s checkpoint counts %d, and the log has %d; it was cut or rolled back", s.head.Count, h.Count-1, what, h.Count, s.head.Count)
		return
	case h == s.head, h.Count == 0:
		return
	case h.Count > s.start:
		if want[h.Count] == h.Root {
			return
		}
	default:
		// What the memory answers for is not read again; a proof says the same.
		proof, err := tlog.ProveTree(s.head.Count, h.Count, hashReader{s})
		if err == nil && tlog.CheckTree(proof, s.head.Count, s.head.Root, h.Count, h.Root) == nil {
			return
		}
	}
	s.problem(-1, none, "the first %d records are not those of the %s checkpoint: the log was rewritten", h.Count, what)
}

type hashReader struct{ s *Session }

func (r hashReader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	return r.s.log.Hashes(r.s.ctx, indexes)
}

// A Coverage says how many records the signed checkpoint of each key covers, by the id of the key. Each
// key covers its own records: another one did not see what this one has signed before. A worker, which signs receipts of
// attempts that were handed to it, appends nothing, and signs no checkpoint: that of any key covers them.
type Coverage map[string]int64

// of returns how many records a checkpoint covers that counts for the signature g of a body.
func (c Coverage) of(g receipts.Signature, handed bool) int64 {
	n := c[g.ID()]
	for _, m := range c {
		if handed {
			n = max(n, m)
		}
	}
	return n
}

// Handed reports whether a body is the receipt of an attempt that was handed to a worker.
func Handed(body any) bool {
	r, ok := body.(*receipts.Receipt)
	return ok && r.Dispatch > 0
}

// Add enters a checkpoint that a note is of, and whose signature holds.
func (c Coverage) Add(note []byte, h receipts.Checkpoint) {
	key := receipts.NoteSigner(note)
	c[key] = max(c[key], h.Count)
}

// Fault returns what the signature g of the record at seq says of the log, for verdicts and audits
// alike: that records may have been cut out before it, since the signed checkpoint of its key does
// not cover it, or that the signature was taken away. It is empty if nothing is wrong. key
// is the name of the one of keys that g holds under, signer the id of the one that the body names, handed what [Handed] says of it.
func (c Coverage) Fault(keys note.Verifiers, seq int64, g receipts.Signature, key, signer string, handed bool) string {
	switch n := c.of(g, handed); {
	case key != "" && seq < n:
	case key != "" && n == 0 && handed: // nobody signs this log, see judgeLevel
	case key != "" && n == 0:
		return fmt.Sprintf("record %d is signed, and no signed checkpoint covers it: records may have been cut out before it", seq)
	case key != "":
		return fmt.Sprintf("record %d is signed, and the signed checkpoint covers %d records alone: records may have been cut out before it", seq, n)
	case receipts.KnowsKey(keys, signer):
		return fmt.Sprintf("record %d says that %s signed it, and has no signature of that key: it was taken away", seq, signer)
	}
	return ""
}

// lastSigned judges, of the records that a memory answers for, the last one that each of the keys
// has signed: its checkpoint can have been dropped since they were read.
func (s *Session) lastSigned() {
	seen := make(map[uint64]bool)
	for seq := s.start - 1; seq >= 0 && s.keys != nil && len(s.problems) == 0; seq-- {
		signer := s.index.at(seq).signer
		if signer == 0 || seen[signer] {
			continue
		}
		e := s.entry(seq)
		if e == nil {
			return
		}
		// What is not of the strict form names no signer, and hides none before it.
		seen[signer] = shortText(receipts.SignerOf(body(e))) == signer
	}
}

// stopped reports whether the session cannot go on: its context has ended, or the log has
// failed.
func (s *Session) stopped() bool {
	if s.err == nil && s.ctx.Err() != nil {
		s.err = s.ctx.Err()
	}
	return s.err != nil
}

// errChanged says that a record changed after the log was read.
var errChanged = errors.New("the log was changed while it was read")

// entry returns the record at seq, authenticated; nil after an error, which is kept.
func (s *Session) entry(seq int64) *receipts.Entry {
	if e := s.entries[seq]; e != nil {
		s.judgeLevel(e)
		return e
	}
	m := s.index.at(seq)
	var raw Raw
	var ok bool
	var err error
	if s.partial {
		raw, ok = s.bundled[seq]
	} else {
		raw, ok, err = s.log.Record(s.ctx, seq)
	}
	if err != nil {
		s.err = err
		return nil
	}
	rec := raw.record()
	if !ok || rec.SHA() != m.sha {
		s.problem(seq, m.sha, "record %d (%s) is not what was logged", seq, m.sha.Short())
		s.err = errChanged
		return nil
	}
	e := &receipts.Entry{Record: rec, Seq: seq, SHA: m.sha, Signature: raw.Signature, InLog: true, Level: unjudged}
	s.entries[seq] = e
	s.judgeLevel(e)
	return e
}

// judgeLevel checks the signature of e, once: also of a record that was read before, as no hash
// covers a signature, so that the one that gives the level need not be the one that was read.
func (s *Session) judgeLevel(e *receipts.Entry) {
	if e.Level != unjudged {
		return
	}
	e.Level = receipts.LevelHash
	if s.keys == nil {
		return
	}
	if e.Signature != "" {
		e.Level, e.Key = e.Signature.Check(s.origin, e.SHA, s.keys)
		e.Level = held(e.Level, body(e))
	}
	handed, seq := Handed(body(e)), e.Seq
	if s.partial {
		seq = s.bundled[e.Seq].Seq
	}
	if e.Key != "" && handed && s.signed.of(e.Signature, handed) == 0 {
		// The worker has a key, and the run that it worked for has not: nothing was taken away, and nothing vouches for the rest.
		e.Level, e.Key = receipts.LevelHash, ""
		return
	}
	if text := s.signed.Fault(s.keys, seq, e.Signature, e.Key, receipts.SignerOf(body(e)), handed); text != "" && (e.Key == "" || len(s.problems) == 0) {
		s.problem(e.Seq, e.SHA, "%s", text)
	}
}
