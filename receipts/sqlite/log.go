package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// A head is the row of the table of that name: the log's checkpoint, and the notes that sign it.
type head struct {
	origin string
	count  int64
	root   tlog.Hash
	note   []byte // the last signed checkpoint of each key; nil if none was
}

func (h head) public() receipts.Checkpoint {
	return receipts.Checkpoint{Origin: h.origin, Count: h.count, Root: h.root}
}

// An appender appends to the log within a transaction.
type appender struct {
	s    *Store
	ctx  context.Context
	head head
	// nodes holds the stored hashes that were read or made in this transaction.
	nodes map[int64]tlog.Hash
	// wrote are the records that this transaction promises, by hash; -1 stands for one
	// that the store held before.
	wrote map[receipts.Hash]int64
}

// signerID is the id of the key that the store signs with; empty without one.
func (s *Store) signerID() string {
	if s.signer == nil {
		return ""
	}
	return s.signer.ID()
}

func (s *Store) beginAppend(ctx context.Context) (*appender, error) {
	h, err := s.readHead(ctx)
	if err != nil {
		return nil, err
	}
	w := &appender{s: s, ctx: ctx, head: h, nodes: make(map[int64]tlog.Hash), wrote: make(map[receipts.Hash]int64)}
	if s.signer != nil {
		if err := w.checkSigned(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// ErrRewritten says that a log does not contain what its key has signed before. It
// is not signed, and not appended to, again.
var ErrRewritten = errors.New("its log was rewritten since this key signed it last")

// checkSigned checks the log against the checkpoints that the signer knows: the last one that this
// process has signed, and its own in the store. What others appended since is not signed by
// appending after it, as each record has its own signature; but nothing that the key itself
// has signed can be there, since its checkpoint covers it: records before that were cut out then.
func (w *appender) checkSigned() error {
	var known []receipts.Checkpoint
	if w.s.last.Origin != "" {
		known = append(known, w.s.last)
	}
	for _, n := range receipts.SplitNotes(w.head.note) {
		h, ours, err := w.s.signer.Signed(n)
		if err != nil {
			return fmt.Errorf("%w: %v", ErrRewritten, err)
		}
		if ours {
			known = append(known, h)
		}
	}
	// The root that is signed next is made of these stored hashes, which anybody can write.
	root, err := tlog.TreeHash(w.head.count, w)
	if err != nil {
		return err
	}
	if root != w.head.root {
		return fmt.Errorf("%w: its stored hashes do not lead to its root", ErrRewritten)
	}
	covered := int64(0)
	for _, h := range known {
		covered = max(covered, h.Count)
		if h.Origin != w.head.origin || h.Count > w.head.count {
			return fmt.Errorf("%w: it signed %d records, and there are %d", ErrRewritten, h.Count, w.head.count)
		}
		if h == w.head.public() || h.Count == 0 {
			continue
		}
		proof, err := tlog.ProveTree(w.head.count, h.Count, w)
		if err != nil {
			return err
		}
		if tlog.CheckTree(proof, w.head.count, w.head.root, h.Count, h.Root) != nil {
			return fmt.Errorf("%w: the first %d records are others", ErrRewritten, h.Count)
		}
	}
	if covered == w.head.count {
		return nil
	}
	return w.checkUncovered(covered)
}

// checkUncovered reads the records from covered on, which no checkpoint of the key covers: they
// must be those of the root, and none may be the key's. A record names its signer: the column of
// its signature can be emptied while the key signs, and filled again.
func (w *appender) checkUncovered(covered int64) error {
	edge := make(verify.Edge)
	if covered > 0 {
		indexes := verify.EdgeOf(covered)
		hashes, err := w.ReadHashes(indexes)
		if err != nil {
			return err
		}
		for i, idx := range indexes {
			edge[idx] = hashes[i]
		}
	}
	next, mine := covered, int64(-1)
	name := []byte(`"signer":"` + w.s.signer.ID() + `"`)
	var failed error
	err := sqlLog{w.s}.Records(w.ctx, covered, func(r verify.Raw) bool {
		if r.Seq != next {
			return false
		}
		next++
		rec := receipts.Record{Kind: r.Kind, Body: r.Body}
		if _, key := r.Signature.Check(w.head.origin, rec.SHA(), w.s.signer.Keys()); key != "" || bytes.Contains(r.Body, name) {
			mine = r.Seq
			return false
		}
		failed = edge.Add(r.Seq, rec.Leaf())
		return failed == nil
	})
	switch {
	case err != nil || failed != nil:
		return errors.Join(err, failed)
	case mine >= 0:
		return fmt.Errorf("%w: record %d is its own, and no checkpoint of it covers that", ErrRewritten, mine)
	case next != w.head.count:
		return fmt.Errorf("%w: record %d is missing", ErrRewritten, next)
	}
	if root, err := tlog.TreeHash(w.head.count, edge); err != nil || root != w.head.root {
		return fmt.Errorf("%w: the records from %d on are not those of its root", ErrRewritten, covered)
	}
	return nil
}

func (s *Store) readHead(ctx context.Context) (head, error) {
	var h head
	var root []byte
	st, err := s.stmt(ctx, "SELECT origin, count, root, note FROM head WHERE id = 1")
	if err != nil {
		return h, err
	}
	if err := st.QueryRowContext(ctx).Scan(&h.origin, &h.count, &root, &h.note); err != nil {
		return h, fmt.Errorf("its checkpoint cannot be read: %w", err)
	}
	if receipts.CheckOrigin(h.origin) != nil || len(root) != tlog.HashSize || h.count < 0 || h.count > receipts.MaxRecords {
		return h, errors.New("its checkpoint is damaged")
	}
	copy(h.root[:], root)
	return h, nil
}

// ReadHashes implements [tlog.HashReader].
func (w *appender) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, idx := range indexes {
		h, ok := w.nodes[idx]
		if !ok {
			var err error
			if h, err = w.s.node(w.ctx, idx); err != nil {
				return nil, err
			}
			w.nodes[idx] = h
		}
		out[i] = h
	}
	return out, nil
}

// node reads one stored hash of the log.
func (s *Store) node(ctx context.Context, idx int64) (h tlog.Hash, err error) {
	st, err := s.stmt(ctx, "SELECT hash FROM node WHERE idx = ?")
	if err != nil {
		return h, err
	}
	var b []byte
	switch err := st.QueryRowContext(ctx, idx).Scan(&b); {
	case errors.Is(err, sql.ErrNoRows), err == nil && len(b) != tlog.HashSize:
		return h, fmt.Errorf("its log is damaged: the hash %d is missing", idx)
	case err != nil:
		return h, err
	}
	copy(h[:], b)
	return h, nil
}

// maxFresh bounds how many records a store remembers in their parsed form.
const maxFresh = 2048

// append appends one record, unless the store holds it.
func (w *appender) append(r submission) error {
	sha := r.SHA()
	if r.signature != "" {
		if err := w.checkFirst(r); err != nil {
			return err
		}
	}
	st, err := w.s.stmt(w.ctx, "INSERT INTO record(seq, sha, kind, body, signature) VALUES (?, ?, ?, ?, ?) ON CONFLICT(sha) DO NOTHING")
	if err != nil {
		return err
	}
	var signature any
	keys := r.workers
	if r.signature != "" {
		signature = string(r.signature)
	} else if w.s.signer != nil {
		g, err := w.s.signer.Sign(w.head.origin, sha)
		if err != nil {
			return err
		}
		signature, keys = string(g), w.s.signer.Keys()
		w.s.mine[sha] = true
	}
	seq := w.head.count
	res, err := st.ExecContext(w.ctx, seq, blob(sha), string(r.Kind), r.Body, signature)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		if _, ok := w.wrote[sha]; !ok {
			w.wrote[sha] = -1
		}
		if err == nil && signature != nil {
			err = w.signAgain(sha, signature, keys)
		}
		return err
	}
	w.wrote[sha] = seq
	hashes, err := tlog.StoredHashesForRecordHash(seq, r.Leaf(), w)
	if err != nil {
		return err
	}
	if st, err = w.s.stmt(w.ctx, "INSERT INTO node(idx, hash) VALUES (?, ?)"); err != nil {
		return err
	}
	at := tlog.StoredHashIndex(0, seq)
	for i, h := range hashes {
		idx := at + int64(i)
		if _, err := st.ExecContext(w.ctx, idx, h[:]); err != nil {
			return err
		}
		w.nodes[idx] = h
	}
	w.head.count++
	if len(w.s.fresh) >= maxFresh {
		clear(w.s.fresh)
	}
	w.s.fresh[seq] = r.Record
	return w.project(seq, r.Record)
}

// signAgain gives a record that the log has already this signature, by one of keys, if it has none of theirs: somebody who can write the store may have been
// first with its bytes.
func (w *appender) signAgain(sha receipts.Hash, signature any, keys note.Verifiers) error {
	st, err := w.s.stmt(w.ctx, "SELECT coalesce(signature, '') FROM record WHERE sha = ?")
	if err != nil {
		return err
	}
	var old string
	if err := st.QueryRowContext(w.ctx, blob(sha)).Scan(&old); err != nil {
		return err
	}
	if _, by := receipts.Signature(old).Check(w.head.origin, sha, keys); by != "" {
		return nil
	}
	if st, err = w.s.stmt(w.ctx, "UPDATE record SET signature = ? WHERE sha = ?"); err == nil {
		_, err = st.ExecContext(w.ctx, signature, blob(sha))
	}
	return err
}

// project adds what the log says in a record to the projection.
func (w *appender) project(seq int64, r receipts.Record) error {
	v, err := r.Parse()
	if err != nil {
		return err
	}
	switch b := v.(type) {
	case *receipts.Consumption:
		for _, h := range b.Consumed {
			if err == nil {
				err = w.mark("UPDATE item SET consumption = ?, consumed = 1, consumed_by = ?, consumed_at = ? WHERE consumed = 0 AND seq = (SELECT seq FROM record WHERE sha = ?)", h, seq, b.By, b.Timestamp.String())
			}
		}
	case *receipts.Settlement:
		err = w.mark("UPDATE item SET settlement = ? WHERE settlement IS NULL AND status = 'pending' AND seq = (SELECT seq FROM record WHERE sha = ?)", b.Receipt, seq)
	case *receipts.Trust:
		for _, h := range b.Receipts {
			if err == nil {
				err = w.mark("UPDATE item SET accepted = ? WHERE seq = (SELECT seq FROM record WHERE sha = ?)", h, seq)
			}
		}
	}
	if err != nil {
		return err
	}
	it := itemOf(v)
	st, err := w.s.stmt(w.ctx, "INSERT INTO item(seq, kind, run, session, parent, binding, status, line, started, command, tree, gittree) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	_, err = st.ExecContext(w.ctx, seq, string(r.Kind), it.run, it.session, orNull(it.parent), it.binding, it.status, it.line, it.started.String(), orNull(it.command), orNull(it.tree), orNull(it.gittree))
	return err
}

// orNull is b, or NULL if it is empty: it is in no partial index then.
func orNull[T string | []byte](b T) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// An item is what a row of the projection says of its own record.
type item struct {
	run, session, parent, binding, status string
	line                                  int
	started                               receipts.Time
	command, tree                         []byte
	gittree                               string
}

// itemOf returns the item of the body of a record.
func itemOf(body any) item {
	var it item
	var tree *receipts.Tree
	switch b := body.(type) {
	case *receipts.Run:
		it = item{run: b.Run, session: b.Session, parent: b.Parent, started: b.Started}
		tree = b.Tree
	case *receipts.Receipt:
		it = item{run: b.Run, session: b.Session, binding: b.Binding, status: string(b.Status), line: b.Line.Number, started: b.Timestamp, command: blob(b.Command)}
		if b.Workspace != nil {
			tree = &b.Workspace.Before
		}
	case *receipts.Gate:
		it = item{run: b.Run, session: b.Session, parent: b.Parent, status: string(receipts.Succeeded), line: b.Covers.LastLine, started: b.Timestamp}
		tree = b.Tree
	case *receipts.Consumption:
		it = item{started: b.Timestamp}
	case *receipts.Settlement:
		it = item{started: b.Timestamp, status: string(b.Status)}
	case *receipts.Trust:
		it = item{started: b.Timestamp}
	case *receipts.Notary:
		it = item{session: b.Session, started: b.Started}
	case *receipts.Closing:
		it = item{session: b.Session, started: b.Timestamp}
	}
	if tree != nil {
		it.tree, it.gittree = blob(tree.Bytes), tree.Tree
	}
	return it
}

// mark notes in the projection what a record says of the one with the hash sha. The projection
// follows the log, and has no say: what it cannot follow is for an audit.
func (w *appender) mark(update string, sha receipts.Hash, args ...any) error {
	st, err := w.s.stmt(w.ctx, update)
	if err == nil {
		_, err = st.ExecContext(w.ctx, append(args, blob(sha))...)
	}
	return err
}

// readBack reads what the transaction wrote, before it is committed and acknowledged: the
// statements say that they succeeded, and the file decides what that means.
func (w *appender) readBack() error {
	lost := errors.New("the file does not read back as it was written: its schema or its bytes were changed meanwhile")
	h, err := w.s.readHead(w.ctx)
	if err != nil {
		return err
	}
	if h.public() != w.head.public() || !bytes.Equal(h.note, w.head.note) {
		return lost
	}
	st, err := w.s.stmt(w.ctx, "SELECT seq, kind, body FROM record WHERE sha = ?")
	if err != nil {
		return err
	}
	for sha, seq := range w.wrote {
		var at int64
		var rec receipts.Record
		if err := st.QueryRowContext(w.ctx, blob(sha)).Scan(&at, &rec.Kind, &rec.Body); err != nil {
			if errors.Is(err, sql.ErrNoRows) {
				return lost
			}
			return err
		}
		if rec.SHA() != sha || at >= h.count || seq >= 0 && at != seq {
			return lost
		}
		if leaf, err := w.s.node(w.ctx, tlog.StoredHashIndex(0, at)); err != nil || leaf != rec.Leaf() {
			return lost
		}
	}
	return nil
}

// add appends records and writes the new checkpoint.
func (s *Store) add(ctx context.Context, rs ...submission) (*appender, error) {
	w, err := s.beginAppend(ctx)
	for i := 0; i < len(rs) && err == nil; i++ {
		rs[i].taken = nil // in an earlier try another one may have been there
		if err = w.append(rs[i]); errors.As(err, &rs[i].taken) {
			err = nil
		}
	}
	if err == nil {
		err = w.finish()
	}
	return w, err
}

// appendBody makes the record of a body, and appends it.
func (w *appender) appendBody(b interface {
	Record() (receipts.Record, error)
}) (receipts.Hash, error) {
	rec, err := b.Record()
	if err != nil {
		return receipts.Hash{}, err
	}
	return rec.SHA(), w.append(submission{Record: rec})
}

// finish writes the new checkpoint.
func (w *appender) finish() error {
	root, err := tlog.TreeHash(w.head.count, w)
	if err != nil {
		return err
	}
	w.head.root = root
	if w.s.signer != nil {
		// The note says: this is the log that the key saw. Only the record's own signature says who made it.
		note, err := w.s.signer.SignCheckpoint(w.head.public())
		if err == nil {
			w.head.note, err = w.s.signer.PutNote(w.head.note, note)
		}
		if err != nil {
			return err
		}
		w.s.next = w.head.public()
	}
	st, err := w.s.stmt(w.ctx, "UPDATE head SET count = ?, root = ?, note = ? WHERE id = 1")
	if err != nil {
		return err
	}
	_, err = st.ExecContext(w.ctx, w.head.count, root[:], w.head.note)
	w.s.written = w
	return err
}
