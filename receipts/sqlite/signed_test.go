package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// cutOut takes a record out of a store and builds the log anew, under what note says.
func cutOut(t *testing.T, path string, cut int64, note []byte) {
	t.Helper()
	s := openAt(t, path)
	defer s.Close()
	type row struct {
		sha, body []byte
		kind      string
		signature any
	}
	var kept []row
	rows, err := s.conn.QueryContext(ctx, "SELECT seq, sha, kind, body, signature FROM record ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var r row
		var seq int64
		if err := rows.Scan(&seq, &r.sha, &r.kind, &r.body, &r.signature); err != nil {
			t.Fatal(err)
		}
		if seq != cut {
			kept = append(kept, r)
		}
	}
	rows.Close()
	do := func(q string, args ...any) {
		t.Helper()
		if _, err := s.conn.ExecContext(ctx, q, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"record", "node"} {
		do("DELETE FROM " + table)
	}
	do("DELETE FROM item WHERE seq = ?", cut)
	do("UPDATE item SET seq = -seq WHERE seq > ?", cut)
	do("UPDATE item SET seq = -seq-1 WHERE seq < 0")
	do("UPDATE item SET consumption = consumption-1 WHERE consumption > ?", cut)
	var made nodes
	for i, r := range kept {
		do("INSERT INTO record VALUES (?, ?, ?, ?, ?)", i, r.sha, r.kind, r.body, r.signature)
		hs, err := tlog.StoredHashesForRecordHash(int64(i), receipts.Record{Kind: receipts.Kind(r.kind), Body: r.body}.Leaf(), made)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, hs...)
	}
	for i, h := range made {
		do("INSERT INTO node VALUES (?, ?)", i, h[:])
	}
	root := rootOf(int64(len(kept)), made)
	do("UPDATE head SET count = ?, root = ?, note = ?", len(kept), root[:], note)
}

// TestLaunder cuts a signed failure out of a log and builds it anew; the key does not sign what
// is left, whatever signed checkpoint was put beside it.
func TestLaunder(t *testing.T) {
	stranger, _ := newKey(t, "stranger")
	for _, how := range []string{"no signed checkpoint", "an older one", "a stranger's", "its own, and as many records"} {
		path := filepath.Join(t.TempDir(), "s.db")
		boss, o := newKey(t, "boss")
		s := openWith(t, path, o)
		signed := func(n int, status receipts.Status) *receipts.Receipt {
			r := onTree("r-1", n, status, 1)
			r.Signer = boss.ID()
			return r
		}
		put(t, signed(9, receipts.Succeeded))(s)
		var note []byte
		if how == "an older one" {
			if err := s.conn.QueryRowContext(ctx, "SELECT note FROM head").Scan(&note); err != nil {
				t.Fatal(err)
			}
		}
		put(t, signed(0, receipts.StatusFailed))(s)
		put(t, signed(1, receipts.Succeeded))(s)
		if how == "its own, and as many records" {
			if err := s.conn.QueryRowContext(ctx, "SELECT note FROM head").Scan(&note); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		if how == "a stranger's" {
			head := receipts.Checkpoint{Origin: s.origin(t), Count: 0}
			root, err := tlog.TreeHash(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			head.Root = root
			if note, err = stranger.SignCheckpoint(head); err != nil {
				t.Fatal(err)
			}
		}
		cutOut(t, path, 1, note)
		if how == "its own, and as many records" {
			s = openAt(t, path)
			put(t, makeReceiptBody("r-6"))(s)
			s.Close()
		}
		s = openWith(t, path, o)
		if err := s.Append(ctx, makeReceipt("r-7", 0)); !errors.Is(err, ErrRewritten) {
			t.Errorf("%s: %v", how, err)
		}
		s.Close()
		if how == "other kinds" {
			continue
		}
		s = openAt(t, path) // nobody who has no key is held up
		if err := s.Append(ctx, makeReceipt("r-8", 0)); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		s.Close()
	}
}

// TestOtherOrigin gives a signed log the origin of another store: the key does not sign it.
func TestOtherOrigin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	_, o := newKey(t, "boss")
	s := openWith(t, path, o)
	fill(t, s, "r-1", 2)
	if _, err := s.conn.ExecContext(ctx, "UPDATE head SET origin = 'dialect/other'"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = openWith(t, path, o)
	if err := s.Append(ctx, makeReceipt("r-2", 0)); !errors.Is(err, ErrRewritten) {
		t.Errorf("%v", err)
	}
}

// origin returns the origin of a store that may be closed.
func (s *Store) origin(t *testing.T) string {
	t.Helper()
	again := openAt(t, s.path)
	defer again.Close()
	h, err := again.readHead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return h.origin
}

// tampered returns the findings of an audit that are not about records made without a key.
func tampered(a *Audit) (text string) {
	for _, f := range a.Findings {
		if !f.Unsigned {
			text += f.Message + "\n"
		}
	}
	return text
}

// TestTwoKeys has two keys, and nobody, append to one store: each key's gate stands.
func TestTwoKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	boss, o := newKey(t, "boss")
	_, o2 := newKey(t, "other")
	s := openWith(t, path, o)
	pass := onTree("r-1", 1, receipts.Succeeded, 1)
	pass.Signer = boss.ID()
	put(t, pass)(s)
	tree := pass.Workspace.Before
	g := requestOf("r-1", pass)
	g.Tree = &tree
	d, err := s.Gate(ctx, g)
	if err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	s.Close()
	for i, next := range []Options{{}, o2, o, o2, {}} {
		s := openWith(t, path, next)
		if err := s.Append(ctx, makeReceipt("r-8", i)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		r := openWith(t, path, Options{Keys: o.Keys, ReadOnly: true})
		res, err := r.Ask(ctx, verify.Query{Tree: &tree, Strict: true, Level: receipts.LevelKey, Now: at(2000).Time,
			Require: []verify.Requirement{{Name: "c", Binding: pass.Binding, Command: pass.Command, Words: "check"}}}, "")
		if err != nil || res.Verdict != verify.Verified {
			t.Errorf("after append %d: %v, %v", i, res, err)
		}
		if text := tampered(audit(t, r)); text != "" {
			t.Errorf("after append %d: %s", i, text)
		}
		r.Close()
	}
}

// pendingSigned opens a store with a signed pending receipt that somebody without a key has
// settled as succeeded.
func pendingSigned(t *testing.T) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	boss, o := newKey(t, "boss")
	s := openWith(t, path, o)
	p := receiptOf("r-1", 1, receipts.Pending)
	p.Signer = boss.ID()
	put(t, p)(s)
	s.Close()
	id := mustRecord(p).SHA().String()
	s = openAt(t, path)
	if d, err := s.Settle(ctx, id, receipts.Settlement{Status: receipts.Succeeded, By: "agent", Timestamp: at(9)}); err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	s.Close()
	return openWith(t, path, o), id
}

// TestSettledWeakly asks for the level of a key where nobody settled a signed receipt.
func TestSettledWeakly(t *testing.T) {
	s, id := pendingSigned(t)
	q := verify.Query{Tree: &hereTree, Level: receipts.LevelKey, Now: at(100).Time}
	g := receipts.GateRequest{Run: "r-2", Session: "r-2", At: at(50), AnyRun: true, AnySession: true, Tree: &hereTree, Strict: true}
	if d, err := s.GateOf(ctx, g, q, id); err != nil || d.Passed() || !strings.Contains(reasons(d), string(receipts.LevelTooLow)) {
		t.Errorf("gate: %s, %v", reasons(d), err)
	}
	if d, err := s.Consume(ctx, ConsumeRequest{IDs: []string{id}, Query: q, By: "x", At: at(50)}); err != nil || d.Passed() || !strings.Contains(reasons(d), string(receipts.LevelTooLow)) {
		t.Errorf("consume: %s, %v", reasons(d), err)
	}
}

// TestSettleAgain has the key say what nobody has settled before it, once.
func TestSettleAgain(t *testing.T) {
	s, id := pendingSigned(t)
	failed := receipts.Settlement{Status: receipts.StatusFailed, By: "boss", Timestamp: at(10)}
	if d, err := s.Settle(ctx, id, failed); err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	e, _, err := s.Authentic(ctx, id)
	if err != nil || e.Settlement == nil || e.Settlement.By != "boss" || e.Level != receipts.LevelKey {
		t.Errorf("%+v, L%d, %v", e.Settlement, e.Level, err)
	}
	if d, err := s.Settle(ctx, id, failed); err != nil || !strings.Contains(reasons(d), string(receipts.Repeated)) {
		t.Errorf("a second time: %s, %v", reasons(d), err)
	}
	if text := tampered(audit(t, s)); text != "" {
		t.Error(text)
	}
	s.Close()
	s = openAt(t, s.path)
	if d, err := s.Settle(ctx, id, failed); err != nil || !strings.Contains(reasons(d), string(receipts.Repeated)) {
		t.Errorf("without a key: %s, %v", reasons(d), err)
	}
}

// TestSettleProjection edits the projection before a receipt is settled: the log decides.
func TestSettleProjection(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "s.db"))
	p := receiptOf("r-1", 1, receipts.Pending)
	put(t, p)(s)
	id := mustRecord(p).SHA().String()
	settle := func() receipts.Decision {
		t.Helper()
		d, err := s.Settle(ctx, id, receipts.Settlement{Status: receipts.StatusFailed, By: "x", Timestamp: at(10)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if _, err := s.conn.ExecContext(ctx, "UPDATE item SET settlement = 0, status = 'x'"); err != nil {
		t.Fatal(err)
	}
	if d := settle(); !d.Passed() {
		t.Errorf("%s", reasons(d))
	}
	if _, err := s.conn.ExecContext(ctx, "UPDATE item SET settlement = NULL, status = 'pending'"); err != nil {
		t.Fatal(err)
	}
	if d := settle(); !strings.Contains(reasons(d), string(receipts.Repeated)) {
		t.Errorf("a second time: %s", reasons(d))
	}
}

// TestAuditStripped takes the signature of a failure away: that is not a record that had none.
func TestAuditStripped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	boss, o := newKey(t, "boss")
	s := openWith(t, path, o)
	r := onTree("r-1", 0, receipts.StatusFailed, 1)
	r.Signer = boss.ID()
	put(t, r)(s)
	if _, err := s.conn.ExecContext(ctx, "UPDATE record SET signature = NULL"); err != nil {
		t.Fatal(err)
	}
	if a := audit(t, s); a.Consistent() || !strings.Contains(messages(a), "it was taken away") || a.Findings[0].Unsigned {
		t.Errorf("%s", messages(a))
	}
}

// TestAuditSignedCheckpoint has the log of a key not begin with its signed checkpoint, and the checkpoint not
// cover what the key signed.
func TestAuditSignedCheckpoint(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spoil      func(t *testing.T, path string, first, last []byte)
	}{
		{"as it should be", "", func(*testing.T, string, []byte, []byte) {}},
		{"a record cut out", "records 2 to 2 are missing: the signed checkpoint counts 3", func(t *testing.T, path string, _, last []byte) { cutOut(t, path, 1, last) }},
		{"and another in its place", "the first 3 records are not those of the signed checkpoint", func(t *testing.T, path string, _, last []byte) {
			cutOut(t, path, 1, last)
			put(t, makeReceiptBody("r-6"))(openAt(t, path))
		}},
		{"the checkpoint of one record less", "record 2 is signed, and the signed checkpoint covers 2 records alone", func(t *testing.T, path string, first, _ []byte) {
			if _, err := openAt(t, path).conn.ExecContext(ctx, "UPDATE head SET note = ?", first); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		path := filepath.Join(t.TempDir(), "s.db")
		_, o := newKey(t, "boss")
		s := openWith(t, path, o)
		note := func(n int, run string) (text []byte) {
			fill(t, s, run, n)
			if err := s.conn.QueryRowContext(ctx, "SELECT note FROM head").Scan(&text); err != nil {
				t.Fatal(err)
			}
			return text
		}
		first, last := note(2, "r-1"), note(1, "r-2")
		s.Close()
		tt.spoil(t, path, first, last)
		if text := tampered(audit(t, openWith(t, path, Options{Keys: o.Keys}))); tt.want == "" && text != "" || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
}

// TestGateLevel has somebody without a key record a failure after a signed pass: it does
// not stand against a gate of the key, and does against one of nobody.
func TestGateLevel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	_, o := newKey(t, "boss")
	pass := onTree("r-1", 0, receipts.Succeeded, 1)
	s := openWith(t, path, o)
	put(t, pass)(s)
	s.Close()
	s = openAt(t, path)
	put(t, onTree("r-2", 0, receipts.StatusFailed, 1))(s)
	if d, err := s.Gate(ctx, requestOf("r-1", pass)); err != nil || reasons(d) != "superseded" {
		t.Errorf("without a key: %q, %v", reasons(d), err)
	}
	s.Close()
	s = openWith(t, path, o)
	if d, err := s.Gate(ctx, requestOf("r-1", pass)); err != nil || !d.Passed() {
		t.Errorf("with the key: %q, %v", reasons(d), err)
	}
}

// TestBundleOfSigned exports a signed gate after somebody without a key has appended.
func TestBundleOfSigned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	boss, o := newKey(t, "boss")
	s := openWith(t, path, o)
	pass := onTree("r-1", 1, receipts.Succeeded, 1)
	pass.Signer = boss.ID()
	put(t, pass)(s)
	g := requestOf("r-1", pass)
	d, err := s.Gate(ctx, g)
	if err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	signed := keep(t, s)
	s.Close()
	s = openAt(t, path)
	for i := range 3 {
		if err := s.Append(ctx, makeReceipt("r-8", i)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.Bundle(ctx, nil, d.Gate.String())
	if err != nil {
		t.Fatal(err)
	}
	later := keep(t, s)
	v, err := verify.OfBundle(b, o.Keys, nil)
	if err != nil || v.CheckpointKey() != "boss" || v.Last() != later || len(b.Signed) != 1 {
		t.Fatalf("%v", err)
	}
	if e, err := v.Entry(d.Gate.String()); err != nil || e.Level != receipts.LevelKey {
		t.Errorf("L%d, %v", e.Level, err)
	}
	for _, since := range []receipts.Checkpoint{signed, later} {
		if b, err := s.Bundle(ctx, &since, d.Gate.String()); err != nil {
			t.Error(err)
		} else if _, err := verify.OfBundle(b, o.Keys, &since); err != nil {
			t.Errorf("since %d: %v", since.Count, err)
		}
	}
	unsigned, err := s.Bundle(ctx, nil, makeReceipt("r-8", 1).SHA().String())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := verify.OfBundle(unsigned, nil, nil); err != nil || v.Last() != later {
		t.Errorf("of what nobody signed: %v", err)
	}
}

// stateFor makes a folder of a verifier for the store at path, which is somebody else's.
func stateFor(t *testing.T, path string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can make a store of somebody else")
	}
	for _, name := range []string{filepath.Dir(path), path} {
		if err := os.Chown(name, 65534, -1); err != nil {
			t.Fatal(err)
		}
	}
	state := t.TempDir()
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
	return state
}

// rootText returns the root over the first n records of s, in hex.
func rootText(t *testing.T, s *Store, n int64) string {
	t.Helper()
	return receipts.Hash(rootOf(n, &appender{s: s, ctx: ctx, nodes: make(map[int64]tlog.Hash)})).String()
}

// TestOrigin has origins that no memory has room for, and that say more than a name in what is signed.
func TestOrigin(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "s.db"))
	fill(t, s, "r-1", 1)
	for _, origin := range []string{strings.Repeat("x", 129), "dialect/a\n1\nb\n\nx", "dialect/a b", "", "dialect/\u00e9"} {
		if _, err := s.conn.ExecContext(ctx, "UPDATE head SET origin = ?", origin); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ask(ctx, verify.Query{Outside: true, Now: at(100).Time}, ""); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

// TestPrivateDir refuses folders in which others could put a memory.
func TestPrivateDir(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(open, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(t.TempDir(), "private")
	for dir, want := range map[string]string{
		private: "", open: "can be written by others", below: "can be written by others", file: "is not a folder", filepath.Join(file, "x"): "not a directory",
	} {
		err := privateDir(dir)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
	if info, err := os.Lstat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if os.Getuid() != 0 {
		return
	}
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := errors.Join(os.MkdirAll(filepath.Join(theirs, "mine"), 0o700), os.Chown(theirs, 65534, -1)); err != nil {
		t.Fatal(err)
	}
	if err := privateDir(filepath.Join(theirs, "mine")); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("below a folder of another user: %v", err)
	}
}

// remember keeps in f how far s was read, without keys.
func remember(t *testing.T, s *Store, f *os.File) {
	t.Helper()
	m, err := verify.Recollect(f, "")
	if err != nil {
		t.Fatal(err)
	}
	err = s.snapshot(ctx, func() error {
		v, err := verify.Open(ctx, sqlLog{s}, verify.Options{Memory: m})
		if err == nil {
			err = v.Save(m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
