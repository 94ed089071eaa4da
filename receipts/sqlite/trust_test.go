package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// newKey returns a signer, the public key, and what opens a store with both.
func newKey(t testing.TB, name string) (*receipts.Signer, Options) {
	t.Helper()
	private, _, err := receipts.GenerateKey(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := receipts.NewSigner(private, true)
	if err != nil {
		t.Fatal(err)
	}
	return s, Options{Signer: s, Keys: s.Keys()}
}

func openWith(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func audit(t testing.TB, s *Store, kept ...receipts.Checkpoint) *Audit {
	t.Helper()
	a, err := s.Audit(ctx, kept...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func messages(a *Audit) string {
	var b strings.Builder
	for _, f := range a.Findings {
		b.WriteString(f.Message + "\n")
	}
	return b.String()
}

func keep(t testing.TB, s *Store) receipts.Checkpoint {
	t.Helper()
	h, text, err := s.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := receipts.ParseCheckpoint(text, nil)
	if err != nil || again != h {
		t.Fatalf("the text of the checkpoint reads as %v, %v; want %v", again, err, h)
	}
	return h
}

// A record that a key signed has its level under that key, and under no other.
func TestLevels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	_, o := newKey(t, "boss")
	s := openWith(t, path, o)
	hs := fill(t, s, "r-1", 3)
	d, err := s.Gate(ctx, request("r-1", hs))
	if err != nil || !d.Passed() || d.Level != receipts.LevelKey {
		t.Fatalf("%s, L%d, %v", reasons(d), d.Level, err)
	}
	s.Close()

	_, other := newKey(t, "boss")
	for _, tt := range []struct {
		name  string
		keys  Options
		level int
	}{{"the key", Options{Keys: o.Keys}, 1}, {"no key", Options{}, 0}, {"another key of that name", Options{Keys: other.Keys}, 0}} {
		r := openWith(t, path, Options{Keys: tt.keys.Keys, ReadOnly: true})
		if e, err := r.Get(ctx, d.Gate.String()); err != nil || e.Level != tt.level {
			t.Errorf("%s: L%d, %v; want L%d", tt.name, e.Level, err, tt.level)
		}
	}
	if a := audit(t, openWith(t, path, Options{Keys: o.Keys, ReadOnly: true})); !a.Consistent() || a.Signed != a.Count || a.Unsigned != 0 {
		t.Errorf("signed %d of %d, unsigned %d: %s", a.Signed, a.Count, a.Unsigned, messages(a))
	}
}

// Rows that somebody without the key appends are named once a keyed checkpoint covers
// them, and never get its level.
func TestLaundering(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	_, o := newKey(t, "boss")
	s := openWith(t, path, o)
	fill(t, s, "r-1", 2)
	s.Close()
	s = openAt(t, path)
	slipped := fill(t, s, "r-2", 2)
	s.Close()
	if a := audit(t, openWith(t, path, Options{Keys: o.Keys, ReadOnly: true})); !a.Consistent() || a.Signed != 2 || a.Unsigned != 2 {
		t.Errorf("before: signed %d, unsigned %d: %s", a.Signed, a.Unsigned, messages(a))
	}
	s = openWith(t, path, o)
	fill(t, s, "r-3", 1)
	e, err := s.Get(ctx, slipped[0].String())
	if err != nil || e.Level != 0 {
		t.Errorf("L%d, %v", e.Level, err)
	}
	d, err := s.Gate(ctx, request("r-2", slipped))
	if err != nil || !d.Passed() || d.Level != 0 {
		t.Errorf("a gate over them: %s, L%d, %v", reasons(d), d.Level, err)
	}
	a := audit(t, s)
	if len(a.Findings) != 2 || !a.Findings[0].Unsigned || a.Findings[0].SHA != slipped[0] || a.Findings[1].SHA != slipped[1] {
		t.Errorf("%s", messages(a))
	}
}

// A signature is of no use for another record, or in another store.
func TestSignatureIsBound(t *testing.T) {
	_, o := newKey(t, "boss")
	a := openWith(t, filepath.Join(t.TempDir(), "a.db"), o)
	hs := fill(t, a, "r-1", 2)
	b := openWith(t, filepath.Join(t.TempDir(), "b.db"), o)
	fill(t, b, "r-1", 2)
	var sig string
	if err := a.conn.QueryRowContext(ctx, "SELECT signature FROM record WHERE seq = 0").Scan(&sig); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Store{"another record": a, "another store": b} {
		seq := map[string]int{"another record": 1, "another store": 0}[name]
		if _, err := s.conn.ExecContext(ctx, "UPDATE record SET signature = ? WHERE seq = ?", sig, seq); err != nil {
			t.Fatal(err)
		}
		s.mine = map[receipts.Hash]bool{}
		if e, err := s.Get(ctx, hs[seq].String()); err != nil || e.Level != 0 || e.Key != "" {
			t.Errorf("%s: L%d by %q, %v", name, e.Level, e.Key, err)
		}
	}
	// A claim cannot be raised either.
	if g := receipts.Signature("1" + strings.TrimPrefix(sig, "1")); g != receipts.Signature(sig) {
		t.Fatal("the claim is not where the test thinks")
	}
}

// Anyone who kept a checkpoint sees what happened to the log.
func TestKeptCheckpoint(t *testing.T) {
	for _, tt := range []struct {
		name, do, want string
		findings       bool
	}{
		{"nothing", "", "", false},
		{"more", "more", "", false},
		{"tail cut", "DELETE FROM record WHERE seq >= 3; DELETE FROM item WHERE seq >= 3; DELETE FROM node WHERE idx >= 4; ", "records 3 to 4 are missing: the kept checkpoint counts 5", true},
		{"replaced", "replace", "the store was replaced", true},
		{"rewritten", "rewrite", "the first 5 records are not those of the kept checkpoint", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "s.db")
			s := openAt(t, path)
			fill(t, s, "r-1", 5)
			kept := keep(t, s)
			switch tt.do {
			case "":
			case "more":
				fill(t, s, "r-2", 9)
			case "replace", "rewrite":
				s.Close()
				os.Remove(path)
				s = openAt(t, path)
				if tt.do == "rewrite" { // the origin is not a secret
					if _, err := s.conn.ExecContext(ctx, "UPDATE head SET origin = ?", kept.Origin); err != nil {
						t.Fatal(err)
					}
				}
				fill(t, s, "r-9", 6)
			default:
				// A forger rewrites the checkpoint, so that the log alone looks whole.
				forged := openAt(t, filepath.Join(dir, "f.db"))
				fill(t, forged, "r-1", 3)
				h := keep(t, forged)
				if _, err := s.conn.ExecContext(ctx, tt.do+"UPDATE head SET count = 3, root = x'"+receipts.Hash(h.Root).String()+"'"); err != nil {
					t.Fatal(err)
				}
				if a := audit(t, s); !a.Consistent() {
					t.Fatalf("the forger left traces: %s", messages(a))
				}
			}
			a := audit(t, s, kept)
			if a.Consistent() == tt.findings || !strings.Contains(messages(a), tt.want) {
				t.Errorf("%q, want %q", messages(a), tt.want)
			}
		})
	}
}

// A key does not sign a log that has lost what it signed.
func TestKeyRefusesRewrittenLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	_, o := newKey(t, "boss")
	s := openWith(t, path, o)
	fill(t, s, "r-1", 5)
	s.Close()
	s = openAt(t, path)
	if _, err := s.conn.ExecContext(ctx, "DELETE FROM record WHERE seq >= 3; DELETE FROM item WHERE seq >= 3; DELETE FROM node WHERE idx >= 4; UPDATE head SET count = 3"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = openWith(t, path, o)
	if err := s.Append(ctx, makeReceipt("r-2", 0)); !errors.Is(err, ErrRewritten) {
		t.Errorf("append: %v", err)
	}
}

// onTree is a receipt of a command that ran on a tree.
func onTree(run string, n int, status receipts.Status, tree byte) *receipts.Receipt {
	r := receiptOf(run, n, status)
	r.Workspace = &receipts.Workspace{Before: receipts.Tree{Bytes: receipts.Hash{tree}}}
	argv := []string{"/bin/check"}
	r.Argv, r.Command = []receipts.Datum{receipts.Text(argv[0])}, receipts.CommandHash(argv)
	return r
}

// early sets the clock of a receipt back.
func early(r *receipts.Receipt) *receipts.Receipt {
	r.Timestamp = at(-1e6)
	return r
}

func requestOf(run string, rs ...*receipts.Receipt) receipts.GateRequest {
	g := receipts.GateRequest{Run: run, Session: "session", At: at(100), Final: true, Strict: true}
	for _, r := range rs {
		g.Expect = append(g.Expect, receipts.Expectation{SHA: mustRecord(r).SHA(), Step: r.Step, Required: true})
	}
	return g
}

// The last word counts, across the whole store.
func TestLastWord(t *testing.T) {
	fault := onTree("r-0", 0, receipts.StatusFailed, 1)
	fault.StopReason = "timeout"
	otherEnv := onTree("r-0", 0, receipts.StatusFailed, 1)
	otherEnv.Environment = receipts.Hash{7}
	for _, tt := range []struct {
		name          string
		before, after *receipts.Receipt
		edit          func(*receipts.GateRequest)
		want          string
	}{
		{"nothing else", nil, nil, nil, ""},
		{"failed before", onTree("r-0", 0, receipts.StatusFailed, 1), nil, nil, "flaky"},
		{"failed before on another tree", onTree("r-0", 0, receipts.StatusFailed, 2), nil, nil, ""},
		{"failed before in another environment", otherEnv, nil, nil, "flaky"},
		{"not asked strictly", onTree("r-0", 0, receipts.StatusFailed, 1), nil, func(g *receipts.GateRequest) { g.Strict = false }, ""},
		{"a fault is not a failure", fault, nil, nil, ""},
		{"failed after, by a clock that was set back", nil, early(onTree("r-2", 0, receipts.StatusFailed, 1)), nil, "superseded"},
		{"failed after", nil, onTree("r-2", 0, receipts.StatusFailed, 1), nil, "superseded"},
		{"retries allow it", onTree("r-0", 0, receipts.StatusFailed, 1), nil, func(g *receipts.GateRequest) { g.Retries = map[string]bool{"check_true": true} }, ""},
		{"accepted", onTree("r-0", 0, receipts.StatusFailed, 1), nil, func(g *receipts.GateRequest) { g.AcceptFlaky = "the network was down" }, ""},
		{"a later failure cannot be accepted", nil, onTree("r-2", 0, receipts.StatusFailed, 1), func(g *receipts.GateRequest) { g.AcceptFlaky = "please" }, "superseded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tempStore(t)
			pass := onTree("r-1", 0, receipts.Succeeded, 1)
			for _, r := range []*receipts.Receipt{tt.before, pass, tt.after} {
				if r != nil {
					put(t, r)(s)
				}
			}
			g := requestOf("r-1", pass)
			if tt.edit != nil {
				tt.edit(&g)
			}
			d, err := s.Gate(ctx, g)
			if err != nil || reasons(d) != tt.want {
				t.Errorf("%q, %v; want %q", reasons(d), err, tt.want)
			}
			if a := audit(t, s); !a.Consistent() {
				t.Error(messages(a))
			}
			if tt.name == "accepted" { // once accepted, the failure no longer counts
				again := onTree("r-3", 1, receipts.Succeeded, 1)
				put(t, again)(s)
				if d, err := s.Gate(ctx, requestOf("r-3", again)); err != nil || !d.Passed() {
					t.Errorf("again: %s, %v", reasons(d), err)
				}
			}
		})
	}
}

// Hiding a failure in the projection is found.
func TestProjectionIsHeld(t *testing.T) {
	for _, stmt := range []string{
		"UPDATE item SET status = 'succeeded' WHERE seq = 0", "UPDATE item SET tree = x'00' WHERE seq = 0", "UPDATE item SET command = NULL WHERE seq = 0",
		"UPDATE item SET accepted = 1 WHERE seq = 0", "UPDATE item SET settlement = 1 WHERE seq = 0", "UPDATE item SET parent = 'r-1/1' WHERE seq = 0",
		"UPDATE item SET started = '' WHERE seq = 0", "UPDATE item SET binding = 'x' WHERE seq = 0", "DELETE FROM item WHERE seq = 0",
	} {
		s := tempStore(t)
		put(t, onTree("r-0", 0, receipts.StatusFailed, 1))(s)
		put(t, onTree("r-1", 0, receipts.Succeeded, 1))(s)
		if _, err := s.conn.ExecContext(ctx, stmt); err != nil {
			t.Fatal(err)
		}
		if a := audit(t, s); a.Consistent() || a.Findings[0].Seq != 0 {
			t.Errorf("%s: %q", stmt, messages(a))
		}
	}
}

// Rows at impossible places are named, and nothing worse happens.
func TestImpossibleRows(t *testing.T) {
	for _, seq := range []string{"-5", "2", "9000000000", "9223372036854775807"} {
		s := tempStore(t)
		fill(t, s, "r-1", 2)
		c := mustRecord(&receipts.Consumption{Version: 1, Consumed: []receipts.Hash{{1}}, By: "x", Timestamp: at(1)})
		if _, err := s.conn.ExecContext(ctx, "INSERT INTO record(seq, sha, kind, body) VALUES ("+seq+", x'"+c.SHA().String()+"', 'consumption', ?)", c.Body); err != nil {
			t.Fatal(err)
		}
		if a := audit(t, s); a.Consistent() || !strings.Contains(messages(a), "a row was inserted") {
			t.Errorf("%s: %q", seq, messages(a))
		}
		if _, err := s.Ask(ctx, verify.Query{}, ""); err != nil {
			t.Errorf("%s: %v", seq, err)
		}
	}
	// A checkpoint that counts more than there is, or than there can be.
	for _, count := range []string{"3", "1099511627777", "4611686018427387906", "9223372036854775807", "-1"} {
		s := tempStore(t)
		fill(t, s, "r-1", 2)
		if _, err := s.conn.ExecContext(ctx, "UPDATE head SET count = "+count); err != nil {
			t.Fatal(err)
		}
		if a, err := s.Audit(ctx); err == nil && a.Consistent() {
			t.Errorf("a checkpoint of %s is consistent", count)
		}
		if r, err := s.Ask(ctx, here, ""); err == nil && r.Verdict != verify.Tampered {
			t.Errorf("a checkpoint of %s: %s", count, r.Verdict)
		}
	}
}

// What is pending is settled once, and passes a gate only if it succeeded.
func TestSettle(t *testing.T) {
	s := tempStore(t)
	r := receiptOf("r-1", 0, receipts.Pending)
	put(t, r)(s)
	id := mustRecord(r).SHA().Short()
	if d, err := s.Gate(ctx, requestOf("r-1", r)); err != nil || reasons(d) != "not_terminal" {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	settle := receipts.Settlement{Status: receipts.Succeeded, By: "worker", Timestamp: at(5), Handle: &receipts.Handle{ExternalID: receipts.Text("page-1")}}
	if d, err := s.Settle(ctx, id, settle); err != nil || !d.Passed() {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	settle.Status = receipts.StatusFailed
	if d, err := s.Settle(ctx, id, settle); err != nil || reasons(d) != "repeated" {
		t.Fatalf("twice: %s, %v", reasons(d), err)
	}
	if d, err := s.Gate(ctx, requestOf("r-1", r)); err != nil || !d.Passed() {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	if a := audit(t, s); !a.Consistent() {
		t.Error(messages(a))
	}
	if d, err := s.Settle(ctx, mustRecord(makeReceiptBody("r-9")).SHA().String(), settle); err != nil || reasons(d) != "missing" {
		t.Errorf("%s, %v", reasons(d), err)
	}
}

func makeReceiptBody(run string) *receipts.Receipt { return receiptOf(run, 0, receipts.Succeeded) }

// Copies of a store share no memory; they share the ledger of the asker.
func TestLedger(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "s.db"))
	hs := fill(t, s, "r-1", 3)
	s.Close()
	whole, err := os.ReadFile(filepath.Join(dir, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "copy.db"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	ledger, err := OpenLedger(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	for i, name := range []string{"s.db", "copy.db"} {
		s := openAt(t, filepath.Join(dir, name))
		// Each copy gets a gate receipt of its own, over the same receipts.
		g := request("r-1", hs)
		g.At = at(int64(50 + i))
		d, err := s.Gate(ctx, g)
		if err != nil || !d.Passed() {
			t.Fatalf("%s: %s, %v", name, reasons(d), err)
		}
		d, err = s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{d.Gate.String()}, By: "boss", Purpose: "release", At: at(60), Ledger: ledger})
		want := []string{"", "spent"}[i]
		if err != nil || reasons(d) != want {
			t.Errorf("%s: %q, %v; want %q", name, reasons(d), err, want)
		}
		if a := audit(t, s); !a.Consistent() {
			t.Error(messages(a))
		}
	}
	if _, err := OpenLedger(filepath.Join(dir, "s.db")); err == nil {
		t.Error("a store was taken for a ledger")
	}
}

// A gate takes in the gates of runs that its commands started.
func TestNested(t *testing.T) {
	s := tempStore(t)
	child := fill(t, s, "r-child", 1)
	g := request("r-child", child)
	g.Parent = "r-1/2"
	inner, err := s.Gate(ctx, g)
	if err != nil || !inner.Passed() {
		t.Fatal(reasons(inner), err)
	}
	g = request("r-other", fill(t, s, "r-other", 1))
	g.Parent = "r-11/2"
	other, err := s.Gate(ctx, g)
	if err != nil || !other.Passed() {
		t.Fatal(reasons(other), err)
	}
	outer, err := s.Gate(ctx, request("r-1", fill(t, s, "r-1", 2)))
	if err != nil || !outer.Passed() {
		t.Fatal(reasons(outer), err)
	}
	e, err := s.Get(ctx, inner.Gate.String())
	if err != nil || e.Consumption == nil || e.Consumption.Who() != receipts.GateID(outer.Gate) {
		t.Errorf("the child's gate is consumed by %v, %v", e.Consumption, err)
	}
	if e, _ := s.Get(ctx, other.Gate.String()); e.Consumption != nil {
		t.Error("the gate of another run was consumed")
	}
}

// Without a key nobody can accept a failure that a key signed, nor end with a
// success what a key signed as pending, without the level saying so.
func TestUnsignedDecisions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	_, o := newKey(t, "boss")
	fail, pass := onTree("r-0", 0, receipts.StatusFailed, 1), onTree("r-1", 0, receipts.Succeeded, 1)
	pending := receiptOf("r-1", 1, receipts.Pending)
	s := openWith(t, path, o)
	for _, r := range []*receipts.Receipt{fail, pass, pending} {
		put(t, r)(s)
	}
	s.Close()

	s = openAt(t, path) // the agent
	own := onTree("r-9", 0, receipts.Succeeded, 1)
	put(t, own)(s)
	g := requestOf("r-9", own)
	g.AcceptFlaky = "it is fine"
	if d, err := s.Gate(ctx, g); err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	if d, err := s.Settle(ctx, mustRecord(pending).SHA().String(), receipts.Settlement{Status: receipts.Succeeded, By: "agent", Timestamp: at(9)}); err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	s.Close()

	s = openWith(t, path, o)
	if d, err := s.Gate(ctx, requestOf("r-1", pass)); err != nil || reasons(d) != "flaky" {
		t.Errorf("%q, %v: the acceptance of somebody without a key counts", reasons(d), err)
	}
	d, err := s.Gate(ctx, requestOf("r-1", pending))
	if err != nil || !d.Passed() || d.Level != receipts.LevelHash {
		t.Errorf("%q, L%d, %v", reasons(d), d.Level, err)
	}
}

// Of those that race for one hash in one ledger, one wins.
// TestLedgerAppears holds that a ledger is made by what is spent, and that what is not a ledger is
// not touched.
func TestLedgerAppears(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger")
	l, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("nothing is spent, and there is %v", list)
	}
	for i, want := range []bool{true, false} {
		if l, err = OpenLedger(path); err != nil {
			t.Fatal(err)
		}
		refusal, err := spend(l, "x", receipts.Hash{1})
		if err != nil || (refusal == nil) != want {
			t.Errorf("%d: %v, %v", i, refusal, err)
		}
		l.Close()
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("beside the ledger: %v", list)
	}
	store := filepath.Join(dir, "store.db")
	s := openAt(t, store) // open, so that it has a WAL
	fill(t, s, "r-1", 2)
	empty, link := filepath.Join(dir, "empty"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{store, empty, link, dir, filepath.Join(dir, "no", "ledger")} {
		before, _ := os.ReadFile(name)
		wal, _ := os.ReadFile(name + "-wal")
		var unusable *LedgerError
		if _, err := OpenLedger(name); !errors.As(err, &unusable) {
			t.Errorf("%s: %v", name, err)
		}
		after, _ := os.ReadFile(name)
		if now, _ := os.ReadFile(name + "-wal"); !bytes.Equal(before, after) || !bytes.Equal(wal, now) {
			t.Errorf("%s was changed", name)
		}
	}
	// Something else that comes in between is not taken for one.
	late := filepath.Join(dir, "late")
	if l, err = OpenLedger(late); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(late, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spend(l, "x", receipts.Hash{1}); err == nil {
		t.Error("spent in an empty file")
	}
	if info, err := os.Stat(late); err != nil || info.Size() > 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestLedgerRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	const racers = 16
	won := make(chan bool, racers)
	ledgers := make([]*Ledger, racers)
	for i := range racers { // before any has a lock: a process that closes a file gives up its locks of it
		l, err := OpenLedger(path)
		if err == nil {
			err = l.open(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ledgers[i] = l
	}
	for i, l := range ledgers {
		go func() {
			refusal, err := spend(l, "x", receipts.Hash{byte(i + 2)}, receipts.Hash{1})
			if err != nil {
				t.Error(err)
			}
			won <- err == nil && refusal == nil
		}()
	}
	n := 0
	for range racers {
		if <-won {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d winners", n)
	}
	var spent int
	if err := ledgers[0].db.QueryRowContext(ctx, "SELECT count(*) FROM spent WHERE sha NOT IN (SELECT sha FROM unfinished)").Scan(&spent); err != nil || spent != 2 {
		t.Errorf("%d hashes are spent, %v: the losers spent something", spent, err)
	}
}

// spend begins and finishes.
func spend(l *Ledger, by string, hashes ...receipts.Hash) (*receipts.Refusal, error) {
	p, refusal, err := l.Begin(ctx, verify.Covered{Taken: hashes}, by, "", at(1))
	if p != nil {
		err = p.Finish()
	}
	return refusal, err
}

// TestConsumeKilled kills who consumes, at each point between the ledger and the store: what was not said to be consumed can be consumed
// by the same consumer, once, and by nobody else; what the store has recorded is not consumed there again.
func TestConsumeKilled(t *testing.T) {
	for _, c := range []struct {
		step      string // after which it is killed
		again     string // the reasons why the same store refuses the same consumer
		elsewhere string // and why a copy of it of before then does
	}{
		{"authenticated", "", "spent"},
		{"spent", "", "spent"},
		{"committed", "consumed", ""},
		{"finished", "consumed", "spent"},
	} {
		t.Run(c.step, func(t *testing.T) {
			dir := t.TempDir()
			path, other, led := filepath.Join(dir, "s.db"), filepath.Join(dir, "copy.db"), filepath.Join(dir, "s.db.ledger")
			s := openAt(t, path)
			d, err := s.Gate(ctx, request("r-1", fill(t, s, "r-1", 3)))
			if err != nil || !d.Passed() {
				t.Fatalf("%s, %v", reasons(d), err)
			}
			s.Close()
			whole, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(other, whole, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := startChild(t, "killed "+d.Gate.String()+" "+c.step, path)
			if out, err := cmd.Output(); err == nil || strings.Contains(string(out), "true") {
				t.Fatalf("%v: %s", err, out)
			}
			consume := func(path, by string) string {
				s := openAt(t, path)
				defer s.Close()
				l, err := OpenLedger(led)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{d.Gate.String()}, By: by, At: at(60), Ledger: l})
				if err != nil {
					t.Error(err)
				}
				if a := audit(t, s); !a.Consistent() {
					t.Error(messages(a))
				}
				return reasons(d)
			}
			if c.step != "authenticated" { // which is before anything was entered
				for _, path := range []string{path, other} {
					if why := consume(path, "another"); why == "" {
						t.Errorf("another consumed it in %s", filepath.Base(path))
					}
				}
			}
			for _, x := range []struct{ path, want string }{{path, c.again}, {other, c.elsewhere}, {other, "spent"}} {
				if x.path == other && c.elsewhere == "" && x.want == "spent" {
					x.want = "consumed" // there, by now
				}
				if why := consume(x.path, "boss"); why != x.want {
					t.Errorf("in %s: %q, want %q", filepath.Base(x.path), why, x.want)
				}
			}
		})
	}
}

// TestConsumeUnwritten holds that a store that cannot be written leaves what it could not record to the same consumer.
func TestConsumeUnwritten(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "s.db"))
	d, err := s.Gate(ctx, request("r-1", fill(t, s, "r-1", 3)))
	if err != nil || !d.Passed() {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	l, err := OpenLedger(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := ConsumeRequest{Query: here, IDs: []string{d.Gate.String()}, By: "boss", At: at(60), Ledger: l}
	readOnly := func(on bool) {
		if _, err := s.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA query_only=%t", on)); err != nil {
			t.Error(err)
		}
	}
	s.between = func(step string) { readOnly(step == "spent") }
	for range 2 {
		if d, err := s.Consume(ctx, c); err == nil {
			t.Fatalf("consumed without a record: %s", reasons(d))
		}
		readOnly(false)
	}
	s.between = nil
	for _, x := range []struct{ by, want string }{{"another", "spent"}, {"boss", ""}, {"boss", "consumed"}} {
		c.By = x.by
		if d, err := s.Consume(ctx, c); err != nil || reasons(d) != x.want {
			t.Errorf("by %s: %q, %v; want %q", x.by, reasons(d), err, x.want)
		}
	}
}

// TestLedgerOld holds that what a ledger without a table of what is unfinished has is spent.
func TestLedgerOld(t *testing.T) {
	l, err := OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	if err == nil {
		err = l.open(ctx)
	}
	if err == nil {
		_, err = l.db.ExecContext(ctx, "INSERT INTO spent VALUES (?, 'x', '', '')", blob(receipts.Hash{1}))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if refusal, err := spend(l, "x", receipts.Hash{1}); err != nil || refusal == nil {
		t.Errorf("%v, %v", refusal, err)
	}
}

// TestAuditPerKey has two keys write one store, and takes the signed checkpoint of the first away:
// that of the second covers no record of the first.
func TestAuditPerKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	var public [2]string
	var last *receipts.Signer
	for i, name := range []string{"alice", "bob"} {
		private, p, err := receipts.GenerateKey(name)
		if err != nil {
			t.Fatal(err)
		}
		if last, err = receipts.NewSigner(private, true); err != nil {
			t.Fatal(err)
		}
		public[i] = p
		s := openWith(t, path, Options{Signer: last})
		fill(t, s, "r-"+name, 2)
		s.Close()
	}
	keys, err := receipts.ParseKeys(public[:]...)
	if err != nil {
		t.Fatal(err)
	}
	s := openWith(t, path, Options{Keys: keys, ReadOnly: true})
	if a := audit(t, s); !a.Consistent() || a.Signed != 4 || a.Unsigned != 0 {
		t.Errorf("signed %d, unsigned %d: %s", a.Signed, a.Unsigned, messages(a))
	}
	s.Close()
	s = openAt(t, path)
	var note []byte
	if err := s.conn.QueryRowContext(ctx, "SELECT note FROM head").Scan(&note); err != nil {
		t.Fatal(err)
	}
	for _, n := range receipts.SplitNotes(note) {
		if receipts.NoteSigner(n) == last.ID() {
			note = n
		}
	}
	if _, err := s.conn.ExecContext(ctx, "UPDATE head SET note = ?", note); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if a := audit(t, openWith(t, path, Options{Keys: keys, ReadOnly: true})); !strings.Contains(messages(a), "record 1 is signed, and no signed checkpoint covers it") {
		t.Errorf("%q", messages(a))
	}
}
