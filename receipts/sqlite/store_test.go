package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

var ctx = context.Background()

// TestMain makes a child of the test binary where DIALECT_STORE_CHILD says what it
// is to do with the store at DIALECT_STORE_PATH.
func TestMain(m *testing.M) {
	if what := os.Getenv("DIALECT_STORE_CHILD"); what != "" {
		if err := child(what, os.Getenv("DIALECT_STORE_PATH")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(what, path string) error {
	verb, arg, _ := strings.Cut(what, " ")
	o := Options{}
	if verb == "killed" {
		var step string
		arg, step, _ = strings.Cut(arg, " ")
		o.between = func(over string) {
			if over == step {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {}
			}
		}
	}
	s, err := Open(ctx, path, o)
	if err != nil {
		return err
	}
	switch verb {
	case "append": // print the number of each record that is durable, for ever
		for i := 0; ; i++ {
			r := makeReceipt(arg, i)
			if err := s.Append(ctx, r); err != nil {
				return err
			}
			fmt.Println(r.SHA())
		}
	case "write": // a hundred records
		for i := range 100 {
			s.Submit(makeReceipt(arg, i))
		}
		return s.Close()
	case "killed": // while it consumes
		l, err := OpenLedger(path + ".ledger")
		if err != nil {
			return err
		}
		d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{arg}, By: "boss", At: at(1), Ledger: l})
		if err != nil {
			return err
		}
		fmt.Println(d.Passed())
	case "consume":
		io.ReadAll(os.Stdin) // begin together
		d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{arg}, By: strconv.Itoa(os.Getpid()), At: at(1)})
		if err != nil {
			return err
		}
		fmt.Println(d.Passed())
	}
	return nil
}

func startChild(t testing.TB, what, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DIALECT_STORE_CHILD="+what, "DIALECT_STORE_PATH="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func at(second int64) receipts.Time { return receipts.Time{Time: time.Unix(1771345200+second, 0)} }

func makeReceipt(run string, n int) receipts.Record {
	return mustRecord(receiptOf(run, n, receipts.Succeeded))
}

// hereTree is the tree that the receipts of the tests are of.
var hereTree = receipts.Tree{Bytes: receipts.Hash{9}}

// here asks about it.
var here = verify.Query{Tree: &hereTree}

func receiptOf(run string, n int, status receipts.Status) *receipts.Receipt {
	argv := []string{"/bin/true", strconv.Itoa(n)}
	code := 0
	return &receipts.Receipt{
		Version: 1, Argv: []receipts.Datum{receipts.Text(argv[0]), receipts.Text(argv[1])}, Command: receipts.CommandHash(argv),
		Kind: "process", Attempt: 1, Timestamp: at(int64(n)), DurationNS: 1e6, Status: status, ExitCode: &code,
		Session: "session", Run: run, Step: strconv.Itoa(n + 1), Binding: "check_true",
		Line:       receipts.Line{File: receipts.Text("quality.dlct"), Number: n + 1, Text: receipts.Text("Check with true")},
		Executable: &receipts.File{Path: receipts.Text("/bin/true"), SHA256: receipts.Hash{1}},
		Workspace:  &receipts.Workspace{Before: hereTree, Still: true},
	}
}

func mustRecord(b interface {
	Record() (receipts.Record, error)
}) receipts.Record {
	r, err := b.Record()
	if err != nil {
		panic(err)
	}
	return r
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func tempStore(t testing.TB) *Store { return openAt(t, filepath.Join(t.TempDir(), "receipts.db")) }

func fill(t testing.TB, s *Store, run string, n int) []receipts.Hash {
	t.Helper()
	var hs []receipts.Hash
	var ticket int64
	for i := range n {
		r := makeReceipt(run, i)
		ticket = s.Submit(r)
		hs = append(hs, r.SHA())
	}
	if err := s.Durable(ctx, ticket); err != nil {
		t.Fatal(err)
	}
	return hs
}

func wantConsistent(t testing.TB, s *Store, records int64) {
	t.Helper()
	a, err := s.Audit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Consistent() || records >= 0 && a.Count != records {
		t.Errorf("%d records, want %d; findings %+v", a.Count, records, a.Findings)
	}
}

func request(run string, hs []receipts.Hash) receipts.GateRequest {
	g := receipts.GateRequest{Run: run, Session: "session", At: at(1000), Final: true, Tree: &hereTree}
	for i, h := range hs {
		g.Expect = append(g.Expect, receipts.Expectation{
			SHA: h, Step: strconv.Itoa(i + 1), Binding: "check_true", Argv: []string{"/bin/true", strconv.Itoa(i)}, Required: true,
		})
	}
	return g
}

func reasons(d receipts.Decision) string {
	var words []string
	for _, r := range d.Refusals {
		words = append(words, string(r.Reason))
	}
	return strings.Join(words, " ")
}

func TestAppend(t *testing.T) {
	s := tempStore(t)
	hs := fill(t, s, "r-1", 300)
	for i, h := range hs {
		e, err := s.Get(ctx, h.String())
		if err != nil || e.Seq != int64(i) || !e.InLog || e.SHA != h {
			t.Fatalf("record %d: %+v, %v", i, e, err)
		}
	}
	// Appended again, nothing is there twice.
	fill(t, s, "r-1", 300)
	wantConsistent(t, s, 300)
}

func TestGet(t *testing.T) {
	s := tempStore(t)
	hs := fill(t, s, "r-1", 3)
	run := mustRecord(&receipts.Run{Version: 1, Run: "r-1", Session: "session", Started: at(0), Planned: []receipts.Planned{}, Script: receipts.File{Path: receipts.Text("x")}})
	if err := s.Append(ctx, run); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{hs[1].String(), hs[1].Short(), hs[1].String()[:6], strings.ToUpper(hs[1].Short()), " " + hs[1].Short() + "\n"} {
		if e, err := s.Get(ctx, id); err != nil || e.SHA != hs[1] {
			t.Errorf("Get(%q) = %v, %v", id, e.SHA, err)
		}
	}
	if e, err := s.Get(ctx, "r-1"); err != nil || e.Kind != receipts.KindRun {
		t.Errorf("the run: %+v, %v", e, err)
	}
	var lookup *verify.LookupError
	for _, id := range []string{"", "abc", "xyzxyz", strings.Repeat("a", 65), "g-", "'; DROP TABLE record", "%"} {
		if _, err := s.Get(ctx, id); !errors.As(err, &lookup) || !lookup.Bad {
			t.Errorf("Get(%q): %v", id, err)
		}
	}
	for _, id := range []string{"000000000000", "g-" + hs[0].Short(), "r-2"} {
		if _, err := s.Get(ctx, id); !errors.As(err, &lookup) || lookup.Bad || len(lookup.Matches) > 0 {
			t.Errorf("Get(%q): %v", id, err)
		}
	}
}

func TestGate(t *testing.T) {
	s := tempStore(t)
	hs := fill(t, s, "r-1", 4)
	d, err := s.Gate(ctx, request("r-1", hs))
	if err != nil || !d.Passed() || d.Gate.IsZero() {
		t.Fatalf("%+v, %v", d, err)
	}
	e, err := s.Get(ctx, receipts.GateID(d.Gate))
	if err != nil || e.SHA != d.Gate {
		t.Fatalf("%+v, %v", e, err)
	}
	for _, h := range hs {
		if e, _ := s.Get(ctx, h.String()); e.Consumption == nil || e.Consumption.Who() != receipts.GateID(d.Gate) {
			t.Errorf("%s: %+v", h.Short(), e.Consumption)
		}
	}
	wantConsistent(t, s, 6)

	// A second time each is refused, and nothing is written.
	d, err = s.Gate(ctx, request("r-1", hs))
	if err != nil || reasons(d) != "consumed consumed consumed consumed" {
		t.Errorf("%s, %v", reasons(d), err)
	}
	wantConsistent(t, s, 6)
}

// One receipt that does not do refuses the whole gate.
func TestGateRefuses(t *testing.T) {
	fail := receiptOf("r-1", 0, receipts.StatusFailed)
	pending := receiptOf("r-1", 0, receipts.Pending)
	other := receiptOf("r-2", 0, receipts.Succeeded)
	session := receiptOf("r-1", 0, receipts.Succeeded)
	session.Session = "another"
	nonce := receiptOf("r-1", 0, receipts.Succeeded)
	nonce.Nonce = "stale"
	command := receiptOf("r-1", 7, receipts.Succeeded)
	for _, tt := range []struct {
		name   string
		make   func(s *Store) receipts.Hash
		reason receipts.Reason
	}{
		{"none was taken", func(*Store) receipts.Hash { return receipts.Hash{} }, receipts.Missing},
		{"invented", func(*Store) receipts.Hash { return receipts.Hash{9} }, receipts.Missing},
		{"failed", put(t, fail), receipts.NotSucceeded},
		{"pending", put(t, pending), receipts.NotTerminal},
		{"of another run", put(t, other), receipts.OtherRun},
		{"of another session", put(t, session), receipts.OtherRun},
		{"of another nonce", put(t, nonce), receipts.OtherNonce},
		{"of another command", put(t, command), receipts.CommandDiffers},
		{"a consumption", put(t, &receipts.Consumption{Version: 1, Consumed: []receipts.Hash{makeReceipt("r-1", 1).SHA()}, By: "x", Timestamp: at(1)}), receipts.NotReceipt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tempStore(t)
			hs := fill(t, s, "r-1", 3)
			hs[0] = tt.make(s)
			before, err := s.Audit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			d, err := s.Gate(ctx, request("r-1", hs))
			if err != nil || len(d.Refusals) == 0 || d.Refusals[0].Reason != tt.reason {
				t.Errorf("%s, %v; want %s", reasons(d), err, tt.reason)
			}
			wantConsistent(t, s, before.Count)
			if e, _ := s.Get(ctx, hs[2].String()); e.Consumption != nil {
				t.Error("a refused gate consumed")
			}
		})
	}
}

func put(t *testing.T, b interface {
	Record() (receipts.Record, error)
}) func(*Store) receipts.Hash {
	return func(s *Store) receipts.Hash {
		r := mustRecord(b)
		if err := s.Append(ctx, r); err != nil {
			t.Fatal(err)
		}
		return r.SHA()
	}
}

// A gate over more than one body holds has gates over parts as its members.
func TestLargeGate(t *testing.T) {
	s := tempStore(t)
	const n = 3*receipts.MaxMembers + 7
	hs := fill(t, s, "r-1", n)
	d, err := s.Gate(ctx, request("r-1", hs))
	if err != nil || !d.Passed() {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	unspent, err := s.List(ctx, Filter{Unspent: true})
	if err != nil || len(unspent) != 1 || unspent[0].SHA != d.Gate {
		t.Errorf("%d unconsumed, %v", len(unspent), err)
	}
	wantConsistent(t, s, n+4+1+5)
}

func TestConsume(t *testing.T) {
	s := tempStore(t)
	hs := fill(t, s, "r-1", 3)
	ids := []string{hs[0].String(), hs[1].Short()}
	// All or none: the third is not there.
	d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: append(ids, "ffffffffffff"), By: "boss", At: at(9)})
	if err != nil || reasons(d) != "missing" {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	wantConsistent(t, s, 3)
	if d, err = s.Consume(ctx, ConsumeRequest{Query: here, IDs: append(ids, hs[0].String()), By: "boss", At: at(9)}); err != nil || reasons(d) != "repeated" {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	if d, err = s.Consume(ctx, ConsumeRequest{Query: here, IDs: ids, By: "boss", At: at(9)}); err != nil || !d.Passed() {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	if d, err = s.Consume(ctx, ConsumeRequest{Query: here, IDs: ids, By: "boss", At: at(9)}); err != nil || reasons(d) != "consumed consumed" {
		t.Fatalf("%s, %v", reasons(d), err)
	}
	// What is consumed is still valid.
	for range 3 {
		if d, err := s.Validate(ctx, ids...); err != nil || !d.Passed() || len(d.Records) != 2 {
			t.Fatalf("%s, %v", reasons(d), err)
		}
	}
	wantConsistent(t, s, 4)
}

// Sixteen processes want one receipt; one gets it.
func TestOneWinner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	s := openAt(t, path)
	for round := range 3 {
		h := fill(t, s, fmt.Sprint("r-", round), 1)[0]
		var out bytes.Buffer
		var mu sync.Mutex
		var all sync.WaitGroup
		var gates []io.Closer
		for range 16 {
			cmd := startChild(t, "consume "+h.String(), path)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			gates = append(gates, in)
			all.Go(func() {
				b, err := cmd.Output()
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				out.Write(b)
				mu.Unlock()
			})
		}
		time.Sleep(50 * time.Millisecond)
		for _, g := range gates {
			g.Close()
		}
		all.Wait()
		if won := strings.Count(out.String(), "true"); won != 1 || strings.Count(out.String(), "false") != 15 {
			t.Errorf("%d winners: %q", won, out.String())
		}
	}
	wantConsistent(t, s, 6)
}

// Eight processes write at once, and make the store at once: nothing is lost.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if out, err := startChild(t, fmt.Sprint("write r-", i), path).Output(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	wantConsistent(t, openAt(t, path), 800)
}

// kill -9 at any moment: the store opens, and no acknowledged record is lost.
func TestKill(t *testing.T) {
	rounds := 30
	if os.Getenv("DIALECT_SOAK") != "" {
		rounds = 500
	}
	path := filepath.Join(t.TempDir(), "receipts.db")
	var acknowledged []string
	for i := range rounds {
		cmd := startChild(t, fmt.Sprint("append r-", i), path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(5+i%40)*time.Millisecond, func() { cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			acknowledged = append(acknowledged, lines.Text())
		}
		_ = cmd.Wait()
	}
	s := openAt(t, path)
	for _, id := range acknowledged {
		if len(id) != 64 {
			continue // killed while it printed
		}
		if _, err := s.Get(ctx, id); err != nil {
			t.Errorf("acknowledged and lost: %v", err)
		}
	}
	t.Logf("%d rounds, %d acknowledged", rounds, len(acknowledged))
	wantConsistent(t, s, -1)
}

// What is not a store is refused by a typed error, and is not changed.
func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE mine(x); INSERT INTO mine VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	newer := filepath.Join(dir, "newer.db")
	s := openAt(t, newer)
	if _, err := s.conn.ExecContext(ctx, "PRAGMA user_version=99"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	good := filepath.Join(dir, "good.db")
	g := openAt(t, good)
	fill(t, g, "r-1", 50)
	g.Close()
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"foreign": foreign, "newer": newer, "link": link, "directory": dir,
		"garbage": write("garbage.db", []byte("no database at all, and longer than a header is")),
		"short":   write("short.db", []byte("SQLite")),
		"header":  write("header.db", append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{7}, 5000)...)),
		"missing": filepath.Join(dir, "no", "such", "directory", "x.db"),
	} {
		before, _ := os.ReadFile(path)
		for _, o := range []Options{{}, {ReadOnly: true}} {
			s, err := Open(ctx, path, o)
			var unusable *UnusableError
			if !errors.As(err, &unusable) {
				t.Errorf("%s: %v", name, err)
			}
			if err == nil {
				s.Close()
			}
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", name)
		}
	}
	// A store that was cut short opens or does not; it never looks consistent.
	cut, err := Open(ctx, write("cut.db", whole[:len(whole)/2]), Options{})
	if err == nil {
		if a, err := cut.Audit(ctx); err == nil && a.Consistent() {
			t.Error("half a store is consistent")
		}
		cut.Close()
	}
	if _, err := Open(ctx, filepath.Join(dir, "absent.db"), Options{ReadOnly: true}); !errors.Is(err, ErrNoStore) {
		t.Errorf("absent: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "absent.db")); err == nil {
		t.Error("a read-only Open made a store")
	}
}

// Paths are names of files, whatever a URL would make of them.
func TestOddPaths(t *testing.T) {
	for _, name := range []string{"a b.db", "what?mode=memory", "100%.db", "#x", "ü😀.db", "%41", "a&b;c", "-x", "\xff\xfe.db"} {
		path := filepath.Join(t.TempDir(), name)
		s, err := Open(ctx, path, Options{})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		fill(t, s, "r-1", 1)
		if err := s.Close(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Errorf("%q: %v", name, err)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("%q: mode %v", name, info.Mode())
		}
	}
}

// Submit after a failure reports it to every waiter, and after Close too.
func TestStickyError(t *testing.T) {
	s := tempStore(t)
	fill(t, s, "r-1", 1)
	if _, err := s.conn.ExecContext(ctx, "DROP TABLE item"); err != nil {
		t.Fatal(err)
	}
	ticket := s.Submit(makeReceipt("r-1", 1))
	var unusable *UnusableError
	for range 3 {
		if err := s.Durable(ctx, ticket); !errors.As(err, &unusable) {
			t.Errorf("Durable: %v", err)
		}
	}
	if err := s.Append(ctx, makeReceipt("r-1", 2)); !errors.As(err, &unusable) {
		t.Errorf("Append: %v", err)
	}
	closed := tempStore(t)
	closed.Close()
	if err := closed.Append(ctx, makeReceipt("r-1", 2)); err == nil {
		t.Error("Append after Close")
	}
}

func TestVerifyNames(t *testing.T) {
	for _, tt := range []struct{ name, stmt, want string }{
		{"edited", "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'succeeded', 'failed') AS BLOB) WHERE seq = 2", "record 2 was edited"},
		{"kind changed", "UPDATE record SET kind = 'gate' WHERE seq = 2", "record 2 was edited"},
		{"hash changed", "UPDATE record SET sha = zeroblob(32) WHERE seq = 2", "record 2 was edited"},
		{"deleted", "DELETE FROM record WHERE seq = 2", "record 2 is missing"},
		{"tail deleted", "DELETE FROM record WHERE seq >= 4", "records 4 to 5 are missing"},
		{"swapped", "UPDATE record SET seq = -1 WHERE seq = 1; UPDATE record SET seq = 1 WHERE seq = 2; UPDATE record SET seq = 2 WHERE seq = -1", "record 1 is not what was logged"},
		{"set back", "UPDATE item SET consumed = 0, consumed_by = NULL, consumed_at = NULL, consumption = NULL WHERE seq = 0", "record 0 was set back"},
		{"flag set back", "UPDATE item SET consumed = 0 WHERE seq = 0", "record 0 was set back"},
		{"other consumer", "UPDATE item SET consumed_by = 'me' WHERE seq = 0", "record 0: the store's table has another consumer"},
		{"consumed by nobody", "UPDATE item SET consumed = 1 WHERE seq = 3", "record 3: the store's table has it consumed, but no record says so"},
		{"row deleted", "DELETE FROM item WHERE seq = 1", "record 1 has no row"},
		{"node edited", "UPDATE node SET hash = zeroblob(32) WHERE idx = 2", "the hash 2 of the log (level 1)"},
		{"leaf edited", "UPDATE node SET hash = zeroblob(32) WHERE idx = 1", "record 1 is not what was logged"},
		{"node deleted", "DELETE FROM node WHERE idx = 2", "the hashes 2 to 2 of the log are missing"},
		{"root edited", "UPDATE head SET root = zeroblob(32)", "the root over the 6 records"},
		{"count lowered", "UPDATE head SET count = 4", "record 4 is not in the log"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tempStore(t)
			hs := fill(t, s, "r-1", 4)
			// The receipts 0 to 3, a consumption of the first two, another receipt.
			if d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{hs[0].String(), hs[1].String()}, By: "boss", At: at(9)}); err != nil || !d.Passed() {
				t.Fatal(d, err)
			}
			if err := s.Append(ctx, makeReceipt("r-2", 0)); err != nil {
				t.Fatal(err)
			}
			wantConsistent(t, s, 6)
			if _, err := s.conn.ExecContext(ctx, tt.stmt); err != nil {
				t.Fatal(err)
			}
			a, err := s.Audit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, f := range a.Findings {
				all = append(all, f.Message)
			}
			if len(all) == 0 || !strings.Contains(strings.Join(all, "\n"), tt.want) {
				t.Errorf("findings:\n%s\nwant %q", strings.Join(all, "\n"), tt.want)
			}
		})
	}
}

// TestReadBack has what a transaction wrote be something else before it is committed.
func TestReadBack(t *testing.T) {
	a, b := makeReceipt("r-1", 0), makeReceipt("r-1", 1)
	ha, other := a.SHA(), makeReceipt("r-2", 0)
	leaf := func(r receipts.Record) string { return "x'" + receipts.Hash(r.Leaf()).String() + "'" }
	const swap = "UPDATE record SET seq = -1 WHERE seq = 0; UPDATE record SET seq = 0 WHERE seq = 1; UPDATE record SET seq = 1 WHERE seq = -1; "
	for _, tt := range []struct {
		name, stmt string
		args       []any
		lost       bool
	}{
		{"nothing", "SELECT 1", nil, false},
		{"the head", "UPDATE head SET count = 3", nil, true},
		{"the root", "UPDATE head SET root = zeroblob(32)", nil, true},
		{"the signed checkpoint", "UPDATE head SET note = x'00'", nil, true},
		{"a row gone", "DELETE FROM record WHERE seq = 1", nil, true},
		{"a hash", "UPDATE node SET hash = zeroblob(32) WHERE idx = 1", nil, true},
		{"a body", "UPDATE record SET body = ? WHERE seq = 1", []any{other.Body}, true},
		{"a body and its hash", "UPDATE node SET hash = " + leaf(other) + " WHERE idx = 1; UPDATE record SET body = ? WHERE seq = 1", []any{other.Body}, true},
		{"the places", swap + "UPDATE node SET hash = " + leaf(b) + " WHERE idx = 0; UPDATE node SET hash = " + leaf(a) + " WHERE idx = 1", nil, true},
	} {
		s := tempStore(t)
		err := s.immediate(ctx, func(context.Context) error {
			w, err := s.beginAppend(ctx)
			if err == nil {
				err = errors.Join(w.append(submission{Record: a}), w.append(submission{Record: b}), w.finish())
			}
			if err == nil {
				_, err = s.conn.ExecContext(ctx, tt.stmt, tt.args...)
			}
			return err
		})
		if (err != nil) != tt.lost || err != nil && !strings.Contains(err.Error(), "the file does not read back as it was written") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if n := audit(t, s).Count; (n == 0) != tt.lost {
			t.Errorf("%s: %d records are there", tt.name, n)
		}
	}
	// A record that exists already, and beyond the end of the log.
	s := tempStore(t)
	put(t, makeReceiptBody("r-3"))(s)
	node := fmt.Sprintf("INSERT INTO node VALUES (%d, %s); ", tlog.StoredHashIndex(0, 7), leaf(a))
	if _, err := s.conn.ExecContext(ctx, node+"INSERT INTO record(seq, sha, kind, body) VALUES (7, ?, 'receipt', ?)", ha[:], a.Body); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, a); err == nil {
		t.Errorf("%s is acknowledged, and not in the log", ha.Short())
	}
}

// A row that was slipped in does not pass as a receipt.
func TestForgedRow(t *testing.T) {
	s := tempStore(t)
	hs := fill(t, s, "r-1", 2)
	forged := makeReceipt("r-1", 2)
	h := forged.SHA()
	if _, err := s.conn.ExecContext(ctx, "INSERT INTO record(seq, sha, kind, body) VALUES (2, ?, 'receipt', ?); INSERT INTO item(seq, kind, run, session, binding, status, line, started) VALUES (2, 'receipt', 'r-1', 'session', '', 'succeeded', 3, '')", h[:], forged.Body); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Validate(ctx, h.String()); err != nil || reasons(d) != "tampered" {
		t.Errorf("validate: %s, %v", reasons(d), err)
	}
	if d, err := s.Gate(ctx, request("r-1", append(hs, h))); err != nil || reasons(d) != "tampered" {
		t.Errorf("gate: %s, %v", reasons(d), err)
	}
	if d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{h.String()}, By: "x", At: at(1)}); err != nil || reasons(d) != "tampered" {
		t.Errorf("consume: %s, %v", reasons(d), err)
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	w := openAt(t, path)
	hs := fill(t, w, "r-1", 2)
	// Beside a writer, and alone.
	for range 2 {
		s, err := Open(ctx, path, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Validate(ctx, hs[0].String()); err != nil || !d.Passed() {
			t.Errorf("%s, %v", reasons(d), err)
		}
		wantConsistent(t, s, 2)
		if err := s.Append(ctx, makeReceipt("r-1", 5)); err == nil {
			t.Error("a read-only store took a record")
		}
		s.Close()
		w.Close()
	}
}

// A receipt costs at most 3 kB on disk.
func TestSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	s := openAt(t, path)
	const n = 2000
	fill(t, s, "r-1", n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	per := info.Size() / n
	t.Logf("%d bytes a receipt", per)
	if per > 3000 {
		t.Errorf("%d bytes a receipt", per)
	}
}
