package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// disputed fills a signed store: a gate over a pass of /bin/true 0 that failed
// afterwards, and a gate over /bin/true 1 that was consumed.
func disputed(t testing.TB, s *Store) (failed, consumed receipts.Hash) {
	t.Helper()
	gate := func(n int) receipts.Hash {
		r := receiptOf("r-1", n, receipts.Succeeded)
		r.Tests = &receipts.Tests{Passed: 3}
		put(t.(*testing.T), r)(s)
		d, err := s.Gate(ctx, requestOn("r-1", r))
		if err != nil || !d.Passed() {
			t.Fatal(reasons(d), err)
		}
		return d.Gate
	}
	failed, consumed = gate(0), gate(1)
	d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{consumed.String()}, By: "first", At: at(2)})
	if err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	put(t.(*testing.T), receiptOf("r-2", 0, receipts.StatusFailed))(s)
	return failed, consumed
}

func requestOn(run string, r *receipts.Receipt) receipts.GateRequest {
	g := requestOf(run, r)
	g.Tree = &hereTree
	return g
}

// required asks for /bin/true 0, which failed last.
func required() verify.Query { return requiring("0") }

// requiring asks for /bin/true n.
func requiring(n string) verify.Query {
	q := here
	q.Strict = true
	q.Require = []verify.Requirement{{Name: "true", Binding: "check_true", Command: receipts.CommandHash([]string{"/bin/true", n}), Words: "/bin/true " + n}}
	return q
}

// answers is all that a store says.
func answers(t *testing.T, path string, o Options, failed, consumed receipts.Hash) string {
	t.Helper()
	s := openWith(t, path, o)
	defer s.Close()
	var b strings.Builder
	say := func(what string, d receipts.Decision, err error) {
		fmt.Fprintf(&b, "%s: %v, L%d, %v\n", what, d.Refusals, d.Level, err)
	}
	for _, q := range []verify.Query{here, required(), requiring("1")} {
		for _, id := range []string{"", failed.String(), consumed.String()} {
			r, err := s.Ask(ctx, q, id)
			if err != nil {
				fmt.Fprintf(&b, "ask: %v\n", err)
				continue
			}
			fmt.Fprintf(&b, "ask: %s, %v, L%d, %d, %q\n", r.Verdict, r.Refusals, r.Level, r.Failures, r.Notes)
		}
	}
	d, err := s.Validate(ctx, failed.String(), consumed.String())
	say("validate", d, err)
	for n := range 2 {
		e, ok, err := s.Passed(ctx, receipts.CommandHash([]string{"/bin/true", fmt.Sprint(n)}), receipts.Datum{}, receipts.Datum{}, hereTree)
		fmt.Fprintf(&b, "passed: %d, %v, %v\n", e.Seq, ok, err)
		of := receipts.Counting{Binding: "check_true", Command: receipts.CommandHash([]string{"/bin/true", fmt.Sprint(n)})}
		found, err := s.Counted(ctx, []receipts.Counting{of}, "r-9")
		fmt.Fprintf(&b, "counted: %d, %d, %v\n", found[of].Seq, len(found), err)
	}
	for _, h := range []receipts.Hash{failed, consumed} {
		d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{h.String()}, By: "x", At: at(3)})
		say("consume", d, err)
	}
	for n := range 2 { // both receipts are in a gate already
		d, err := s.Gate(ctx, requestOn("r-1", func() *receipts.Receipt {
			r := receiptOf("r-1", n, receipts.Succeeded)
			r.Tests = &receipts.Tests{Passed: 3}
			return r
		}()))
		say("gate", d, err)
	}
	return b.String()
}

func copyStore(t *testing.T, from string) string {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "receipts.db")
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func execAt(t *testing.T, path string, script ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, stmt := range append(script, "PRAGMA wal_checkpoint(TRUNCATE)") {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
}

// Nothing that is answered comes from the projection: each column of it is set to
// nonsense.
func TestProjectionIsNotAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	s := openAt(t, path)
	failed, consumed := disputed(t, s)
	s.Close()
	execAt(t, path)
	want := answers(t, copyStore(t, path), Options{}, failed, consumed)
	for _, part := range []string{"ask: FAILED", "ask: VERIFIED", "was consumed by first", "passed: 0, false", "passed: 3, true", "counted: 3, 1"} {
		if !strings.Contains(want, part) {
			t.Errorf("the answers lack %q:\n%s", part, want)
		}
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query("SELECT name, type, \"notnull\" FROM pragma_table_info('item') WHERE name <> 'seq'")
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	for rows.Next() {
		var name, kind string
		var notNull bool
		if err := rows.Scan(&name, &kind, &notNull); err != nil {
			t.Fatal(err)
		}
		nonsense := map[string][]string{"TEXT": {"''", "'succeeded'", "'gate'", "'x'"}, "INTEGER": {"0", "1", "-1", "seq", "9000000000"}, "BLOB": {"x''", "zeroblob(32)"}}[kind]
		if !notNull {
			nonsense = append(nonsense, "NULL")
		}
		for _, v := range nonsense {
			tests = append(tests, "UPDATE item SET "+name+" = "+v)
		}
	}
	rows.Close()
	db.Close()
	if len(tests) < 40 {
		t.Fatalf("%d columns and values", len(tests))
	}
	tests = append(tests, "DELETE FROM item", "UPDATE item SET seq = seq + 1000")
	for _, stmt := range tests {
		other := copyStore(t, path)
		execAt(t, other, stmt)
		if got := answers(t, other, Options{}, failed, consumed); got != want {
			t.Errorf("%s: the answers are\n%s\nwant\n%s", stmt, got, want)
		}
	}
}

// The projection changes 10,000 times while the store is asked, by another connection,
// and below SQLite by writes to the file: a signed failure is never forgotten, and a
// gate is consumed once.
func TestToggledProjection(t *testing.T) {
	const (
		dirty = "UPDATE item SET status = 'succeeded', consumed = 0, consumed_by = NULL, consumed_at = NULL, consumption = NULL"
		clean = "UPDATE item SET status = CASE seq WHEN 7 THEN 'failed' ELSE status END, consumed = 1, consumed_by = 'x', consumed_at = '', consumption = 6"
	)
	toggles := int64(10_000)
	if testing.Short() {
		toggles = 500
	}
	for _, how := range []string{"SQL", "pwrite"} {
		t.Run(how, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "receipts.db")
			_, o := newKey(t, "boss")
			s := openWith(t, path, o)
			failed, consumed := disputed(t, s)
			s.Close()
			execAt(t, path)
			var step func(i int) error
			switch how {
			case "SQL":
				db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(OFF)")
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				step = func(i int) error {
					_, err := db.Exec([]string{dirty, clean}[i%2])
					return err
				}
			case "pwrite":
				before, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				other := copyStore(t, path)
				execAt(t, other, dirty)
				after, err := os.ReadFile(other)
				if err != nil {
					t.Fatal(err)
				}
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				const page = 4096
				var pages []int
				for at := page; at+page <= min(len(before), len(after)); at += page {
					if !bytes.Equal(before[at:at+page], after[at:at+page]) {
						pages = append(pages, at)
					}
				}
				if len(pages) == 0 {
					t.Fatal("no page differs")
				}
				step = func(i int) error {
					image := [][]byte{after, before}[i%2]
					for _, at := range pages {
						if _, err := f.WriteAt(image[at:at+page], int64(at)); err != nil {
							return err
						}
					}
					return nil
				}
			}
			var toggled atomic.Int64
			var stop atomic.Bool
			ended := make(chan error, 1)
			go func() {
				for i := 0; !stop.Load(); i++ {
					if err := step(i); err != nil {
						ended <- err
						return
					}
					toggled.Add(1)
				}
				ended <- nil
			}()
			defer func() {
				stop.Store(true)
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			asked, refused := 0, 0
			q := required()
			q.Level = receipts.LevelKey
			for deadline := time.Now().Add(time.Minute); (toggled.Load() < toggles || asked < 200) && time.Now().Before(deadline); {
				s, err := Open(ctx, path, Options{Keys: o.Keys})
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{"", failed.String()} {
					switch r, err := s.Ask(ctx, q, id); {
					case err != nil:
						t.Errorf("ask: %v", err)
					case r.Verdict != verify.Failed:
						t.Fatalf("a signed failure: %s, %v", r.Verdict, r.Refusals)
					}
					asked++
				}
				d, err := s.Consume(ctx, ConsumeRequest{Query: here, IDs: []string{consumed.String()}, By: "again", At: at(3)})
				switch {
				case err != nil:
					t.Errorf("consume: %v", err)
				case d.Passed():
					t.Fatal("a gate is consumed twice")
				case reasons(d) != string(receipts.Consumed):
					t.Errorf("refused for %s", reasons(d))
				default:
					refused++
				}
				s.Close()
				if t.Failed() {
					break
				}
			}
			t.Logf("%d questions and %d consumptions refused, while the projection changed %d times", asked, refused, toggled.Load())
		})
	}
}
