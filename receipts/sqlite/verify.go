package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// An Audit is the answer of [Store.Audit].
type Audit struct {
	receipts.Checkpoint // of the store as it is
	Findings            []Finding
	Signed              int64 // records that a checkpoint signed by one of the keys covers
	Unsigned            int64 // records that none of the keys signed, where keys are given
	Since               int64 // records that the kept checkpoints cover; -1 where none was given
}

// Consistent reports whether nothing was found. Without a kept checkpoint it does not say
// that the log is complete: that its last records are missing is seen only by
// anyone who kept one.
func (a *Audit) Consistent() bool { return len(a.Findings) == 0 }

// Tampered reports whether anything was found but records that nobody signed.
func (a *Audit) Tampered() bool {
	return slices.ContainsFunc(a.Findings, func(f Finding) bool { return !f.Unsigned })
}

// A Finding is one thing that is not as the log says.
type Finding struct {
	Seq     int64 // of the record; -1 if it is about the store as a whole
	SHA     receipts.Hash
	Message string
	// Unsigned says that nothing was changed, but that nobody vouches for the record:
	// a checkpoint signed by one of the keys covers it, and none of them signed it.
	Unsigned bool
}

// Audit reads the whole store and compares all of it with the log: each record with its
// hash, each hash of the log with the records, the checkpoint with the root over them, and the
// projection with what the log says. With kept checkpoints the log must begin with the
// records that each of them covers; with keys, given when the store was opened, the signed checkpoint
// and the signature of each record under it must be good. Verdicts do not need it: they
// rest on what [Store.Ask] reads, and never on the projection.
func (s *Store) Audit(ctx context.Context, kept ...receipts.Checkpoint) (*Audit, error) {
	var a *Audit
	err := s.snapshot(ctx, func() (err error) {
		if err = s.checkSchema(ctx); err == nil {
			a, err = s.audit(ctx, kept...)
		}
		return err
	})
	return a, err
}

// nodes is a log in memory, as a [tlog.HashReader].
type nodes []tlog.Hash

func (n nodes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, idx := range indexes {
		if idx >= int64(len(n)) {
			return nil, fmt.Errorf("no hash %d", idx)
		}
		out[i] = n[idx]
	}
	return out, nil
}

// An audited is what the log says of one record beyond the record itself.
type audited struct {
	sha                               receipts.Hash
	kind                              receipts.Kind
	signature                         receipts.Signature
	signer                            string // that the body names
	handed                            bool   // see [verify.Handed]
	consumption, settlement, accepted int64  // index of the record that says so; -1 for none
	by                                string

	row                                           bool // the projection has one
	rowFlag, rowConsumed, rowSettled, rowAccepted sql.NullInt64
	rowBy                                         sql.NullString
}

// An auditor gathers what is wrong with a store.
type auditor struct {
	*Audit
	head head
	made nodes // the log that the records make
	at   map[receipts.Hash]int64
	all  []audited
	next int64 // index of the record that should come next
}

func (a *auditor) find(seq int64, sha receipts.Hash, format string, args ...any) {
	a.Findings = append(a.Findings, Finding{Seq: seq, SHA: sha, Message: fmt.Sprintf(format, args...)})
}

func (s *Store) audit(ctx context.Context, kept ...receipts.Checkpoint) (*Audit, error) {
	h, err := s.readHead(ctx)
	if err != nil {
		return nil, err
	}
	a := &auditor{Audit: &Audit{Checkpoint: h.public(), Since: -1}, head: h, at: make(map[receipts.Hash]int64)}
	if err := s.auditRecords(ctx, a); err != nil {
		return nil, err
	}
	if int64(len(a.made)) == tlog.StoredHashIndex(0, h.count) {
		if root := rootOf(h.count, a.made); root != h.root {
			a.find(-1, receipts.Hash{}, "the root over the %d records is not that of the checkpoint", h.count)
		}
	}
	if err := s.auditNodes(ctx, a.made, a.find); err != nil {
		return nil, err
	}
	a.projection()
	for _, h := range kept {
		a.Since = max(a.Since, h.Count)
		a.beginsWith(h, "kept")
	}
	if s.keys != nil {
		a.signatures(s.keys)
	}
	return a.Audit, nil
}

// An auditRow is a record with its row of the projection, as they are stored.
type auditRow struct {
	audited
	seq                                                            int64
	body, command, tree                                            []byte
	rowKind, run, session, parent, binding, status, start, gittree sql.NullString
	line                                                           sql.NullInt64

	// What is computed of the record.
	hash receipts.Hash
	leaf tlog.Hash
	made any
	err  error
}

// compute hashes and parses the record: the costly part, and one that needs no order.
func (r *auditRow) compute() {
	rec := receipts.Record{Kind: r.kind, Body: r.body}
	r.hash, r.leaf = rec.SHA(), rec.Leaf()
	r.made, r.err = rec.Parse()
	r.signer, r.handed = receipts.SignerOf(r.made), verify.Handed(r.made)
}

// says reports whether the row of the projection says what the record says.
func (r *auditRow) says() bool {
	it := itemOf(r.made)
	return r.rowKind.String == string(r.kind) && r.run.String == it.run && r.session.String == it.session && r.parent.String == it.parent &&
		r.binding.String == it.binding && r.status.String == it.status && r.line.Int64 == int64(it.line) && r.start.String == it.started.String() &&
		bytes.Equal(r.command, it.command) && bytes.Equal(r.tree, it.tree) && r.gittree.String == it.gittree
}

// maxGap bounds the hole in the log that an audit looks beyond, in records.
const maxGap = 1 << 20

// auditBatch is how many records are computed at once.
const auditBatch = 512

// auditRecords reads the records with their rows of the projection.
func (s *Store) auditRecords(ctx context.Context, a *auditor) error {
	rows, err := s.conn.QueryContext(ctx, `SELECT r.seq, r.sha, r.kind, r.body, r.signature,
		i.seq, i.kind, i.run, i.session, i.parent, i.binding, i.status, i.line, i.started, i.command, i.tree, i.gittree,
		i.consumed, i.consumption, i.consumed_by, i.settlement, i.accepted
		FROM record r LEFT JOIN item i USING(seq) ORDER BY r.seq`)
	if err != nil {
		return err
	}
	defer rows.Close()
	batch := make([]auditRow, 0, auditBatch)
	var order ascending
	for rows.Next() {
		batch = append(batch, auditRow{})
		r := &batch[len(batch)-1]
		var sha []byte
		var kind string
		var signature sql.NullString
		var rowSeq sql.NullInt64
		if err := rows.Scan(&r.seq, &sha, &kind, &r.body, &signature,
			&rowSeq, &r.rowKind, &r.run, &r.session, &r.parent, &r.binding, &r.status, &r.line, &r.start, &r.command, &r.tree, &r.gittree,
			&r.rowFlag, &r.rowConsumed, &r.rowBy, &r.rowSettled, &r.rowAccepted); err != nil {
			return err
		}
		r.sha, r.kind, r.signature, r.row = hashOf(sha), receipts.Kind(kind), receipts.Signature(signature.String), rowSeq.Valid
		r.consumption, r.settlement, r.accepted = -1, -1, -1
		if !order.goesOn(r.seq) {
			a.find(-1, receipts.Hash{}, "the numbers of the records do not increase after %d: the file was changed", order.last)
			batch = batch[:len(batch)-1]
			break
		}
		if len(batch) == auditBatch {
			if err := a.take(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := a.take(batch); err != nil {
		return err
	}
	if a.next < a.head.count {
		a.find(a.next, receipts.Hash{}, "records %d to %d are missing: the checkpoint counts %d", a.next, a.head.count-1, a.head.count)
	}
	return nil
}

// An ascending says whether the keys of a table, in its order, go on: the pages of one can name each other, so that there is no end to it.
type ascending struct {
	begun bool
	last  int64
}

func (a *ascending) goesOn(key int64) bool {
	if a.begun && key <= a.last {
		return false
	}
	a.begun, a.last = true, key
	return true
}

// take compares records, in order, with their hashes and the log.
func (a *auditor) take(batch []auditRow) error {
	verify.Each(len(batch), func(i int) { batch[i].compute() })
	for i := range batch {
		r := &batch[i]
		if r.seq < 0 {
			a.find(r.seq, r.sha, "record %d is not in the log, which begins with 0: a row was inserted", r.seq)
			continue
		}
		if r.seq != a.next {
			a.find(a.next, receipts.Hash{}, "record %d is missing: the next one is %d", a.next, r.seq)
		}
		a.next = r.seq + 1
		if r.hash != r.sha {
			a.find(r.seq, r.sha, "record %d was edited: its bytes have the hash %s", r.seq, r.hash.Short())
		}
		if r.seq >= a.head.count {
			a.find(r.seq, r.sha, "record %d is not in the log, which has %d: a row was inserted", r.seq, a.head.count)
			continue
		}
		if r.seq-int64(len(a.all)) > maxGap {
			a.find(r.seq, r.sha, "record %d is too far from record %d, the last before it", r.seq, len(a.all)-1)
			continue
		}
		if first, ok := a.at[r.sha]; ok {
			a.find(r.seq, r.sha, "record %d is record %d once more", r.seq, first)
		}
		a.at[r.sha] = r.seq
		if r.err != nil {
			a.find(r.seq, r.sha, "record %d cannot be read: %v", r.seq, r.err)
		} else if r.row && !r.says() {
			a.find(r.seq, r.sha, "record %d: its row in the store's table differs from the record", r.seq)
		}
		for int64(len(a.all)) < r.seq { // of records that are missing
			a.all = append(a.all, audited{consumption: -1, settlement: -1, accepted: -1})
		}
		a.all = append(a.all, r.audited)
		a.follow(r.seq, r.made)
		if int64(len(a.made)) == tlog.StoredHashIndex(0, r.seq) {
			hs, err := tlog.StoredHashesForRecordHash(r.seq, r.leaf, a.made)
			if err != nil {
				return err
			}
			a.made = append(a.made, hs...)
		}
	}
	return nil
}

// follow notes what the record at seq says of earlier ones.
func (a *auditor) follow(seq int64, body any) {
	say := func(h receipts.Hash, does string, field func(*audited) *int64) *audited {
		at, there := a.at[h]
		if !there || at == seq {
			a.find(seq, a.all[seq].sha, "record %d %s %s, which no record before it is", seq, does, h.Short())
			return nil
		}
		d := &a.all[at]
		// A key may settle after somebody without one: who judges takes the stronger.
		if p := *field(d); p >= 0 && does == "consumes" {
			a.find(seq, a.all[seq].sha, "record %d %s %s, and record %d did before", seq, does, h.Short(), p)
		}
		if does != "settles" || *field(d) < 0 {
			*field(d) = seq
		}
		return d
	}
	switch b := body.(type) {
	case *receipts.Consumption:
		for _, m := range b.Consumed {
			if d := say(m, "consumes", func(d *audited) *int64 { return &d.consumption }); d != nil {
				d.by = b.By
			}
		}
	case *receipts.Settlement:
		say(b.Receipt, "settles", func(d *audited) *int64 { return &d.settlement })
	case *receipts.Trust:
		for _, m := range b.Receipts {
			say(m, "accepts", func(d *audited) *int64 { return &d.accepted })
		}
	}
}

// projection compares what the projection has of each record with what later
// records say.
func (a *auditor) projection() {
	index := func(n sql.NullInt64) int64 {
		if n.Valid {
			return n.Int64
		}
		return -1
	}
	for i := range a.all {
		d, seq := &a.all[i], int64(i)
		consumed := d.consumption >= 0
		switch {
		case d.sha.IsZero():
		case !d.row:
			a.find(seq, d.sha, "record %d has no row in the store's table", seq)
		case consumed && d.rowFlag.Int64 == 0:
			a.find(seq, d.sha, "record %d was set back: record %d consumed it, but the store's table says that it is unconsumed", seq, d.consumption)
		case consumed && (index(d.rowConsumed) != d.consumption || d.rowBy.String != d.by):
			a.find(seq, d.sha, "record %d: the store's table has another consumer than record %d", seq, d.consumption)
		case !consumed && (d.rowFlag.Int64 != 0 || d.rowConsumed.Valid):
			a.find(seq, d.sha, "record %d: the store's table has it consumed, but no record says so", seq)
		case index(d.rowSettled) != d.settlement || index(d.rowAccepted) != d.accepted:
			a.find(seq, d.sha, "record %d: the store's table has it settled or accepted differently from the log", seq)
		}
	}
}

// beginsWith checks the log against a checkpoint of it that is older.
func (a *auditor) beginsWith(h receipts.Checkpoint, what string) {
	switch {
	case h.Origin != a.Origin:
		a.find(-1, receipts.Hash{}, "the %s checkpoint is of the store %s, and this one is %s: the store was replaced", what, h.Origin, a.Origin)
	case h.Count > a.Count:
		a.find(a.Count, receipts.Hash{}, "records %d to %d are missing: the %s checkpoint counts %d, and the log has %d; it was cut or rolled back", a.Count, h.Count-1, what, h.Count, a.Count)
	case int64(len(a.made)) < tlog.StoredHashIndex(0, h.Count):
		// Named already: the records do not reach that far.
	default:
		if root := rootOf(h.Count, a.made); root != h.Root {
			a.find(-1, receipts.Hash{}, "the first %d records are not those of the %s checkpoint: the log was rewritten", h.Count, what)
		}
	}
}

// signatures checks the records and the signed checkpoint with keys.
func (a *auditor) signatures(keys note.Verifiers) {
	covers := make(verify.Coverage)
	for _, n := range receipts.SplitNotes(a.head.note) {
		h, key, err := receipts.ParseCheckpoint(n, keys)
		switch {
		case err != nil:
			a.find(-1, receipts.Hash{}, "the signed checkpoint cannot be trusted: %v", err)
		case key != "":
			a.Signed = max(a.Signed, h.Count)
			covers.Add(n, h)
			a.beginsWith(h, "signed")
		}
	}
	signed := make([]bool, len(a.all)) // verifying costs some 50 us a record
	faults := make([]string, len(a.all))
	verify.Each(len(a.all), func(i int) {
		d := &a.all[i]
		_, key := d.signature.Check(a.Origin, d.sha, keys)
		signed[i] = key != ""
		faults[i] = covers.Fault(keys, int64(i), d.signature, key, d.signer, d.handed)
	})
	for i := len(signed) - 1; i >= 0; i-- {
		if signed[i] && faults[i] != "" { // the last one says it of all before it
			a.find(int64(i), a.all[i].sha, "%s", faults[i])
			break
		}
	}
	for i, ok := range signed {
		d := &a.all[i]
		if ok || d.sha.IsZero() {
			continue
		}
		a.Unsigned++
		if faults[i] != "" {
			a.find(int64(i), d.sha, "%s", faults[i])
			continue
		}
		if int64(i) < a.Signed {
			a.Findings = append(a.Findings, Finding{Seq: int64(i), SHA: d.sha, Unsigned: true,
				Message: fmt.Sprintf("record %d (%s %s) is not signed, and the signed checkpoint covers it: somebody without the key wrote it, and it counts as recorded by itself", i, d.kind, d.sha.Short())})
		}
	}
}

// auditNodes compares the stored hashes with those that the records make.
func (s *Store) auditNodes(ctx context.Context, made nodes, find func(seq int64, sha receipts.Hash, format string, args ...any)) error {
	rows, err := s.conn.QueryContext(ctx, "SELECT idx, hash FROM node ORDER BY idx")
	if err != nil {
		return err
	}
	defer rows.Close()
	next := int64(0)
	var order ascending
	for rows.Next() {
		var idx int64
		var b []byte
		if err := rows.Scan(&idx, &b); err != nil {
			return err
		}
		if !order.goesOn(idx) {
			find(-1, receipts.Hash{}, "the numbers of the hashes do not increase after %d: the file was changed", order.last)
			return nil
		}
		if idx < 0 {
			find(-1, receipts.Hash{}, "the log has a hash %d: a row was inserted", idx)
			continue
		}
		if idx != next {
			find(-1, receipts.Hash{}, "the hashes %d to %d of the log are missing", next, idx-1)
		}
		next = idx + 1
		if idx < int64(len(made)) && (len(b) != tlog.HashSize || tlog.Hash(b) != made[idx]) {
			level, n := tlog.SplitStoredHashIndex(idx)
			if level == 0 {
				find(n, receipts.Hash{}, "record %d is not what was logged", n)
			} else {
				find(-1, receipts.Hash{}, "the hash %d of the log (level %d) is not that of the records", idx, level)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if next < int64(len(made)) {
		find(-1, receipts.Hash{}, "the hashes %d to %d of the log are missing", next, len(made)-1)
	} else if next > int64(len(made)) {
		find(-1, receipts.Hash{}, "the log has hashes %d to %d of no record", len(made), next-1)
	}
	return nil
}
