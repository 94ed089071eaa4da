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

// TestForgedNodes overwrites the stored hash of the first four records, from which the next root
// is made, and makes the checkpoint agree with it: the key does not sign that.
func TestForgedNodes(t *testing.T) {
	for _, after := range []int{0, 1} { // records that nobody signed
		for _, head := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "s.db")
			_, o := newKey(t, "boss")
			s := openWith(t, path, o)
			for i := range 5 {
				if err := s.Append(ctx, makeReceipt("r-1", i)); err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
			s = openAt(t, path)
			for i := range after {
				if err := s.Append(ctx, makeReceipt("r-2", i)); err != nil {
					t.Fatal(err)
				}
			}
			forged := tlog.Hash{1}
			if _, err := s.conn.ExecContext(ctx, "UPDATE node SET hash = ? WHERE idx = ?", forged[:], tlog.StoredHashIndex(2, 0)); err != nil {
				t.Fatal(err)
			}
			if head {
				w := &appender{s: s, ctx: ctx, nodes: make(map[int64]tlog.Hash)}
				root, err := tlog.TreeHash(int64(5+after), w)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.conn.ExecContext(ctx, "UPDATE head SET root = ?", root[:]); err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
			s = openWith(t, path, o)
			if err := s.Append(ctx, makeReceipt("r-3", 0)); !errors.Is(err, ErrRewritten) {
				t.Errorf("%d after, the checkpoint too %v: %v", after, head, err)
			}
			s.Close()
		}
	}
}

// TestStrangeNode has a hash below the first one.
func TestStrangeNode(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "s.db"))
	fill(t, s, "r-1", 3)
	if _, err := s.conn.ExecContext(ctx, "UPDATE node SET idx = -1 WHERE idx = 0"); err != nil {
		t.Fatal(err)
	}
	if a := audit(t, s); a.Consistent() || !strings.Contains(messages(a), "the log has a hash -1") {
		t.Error(messages(a))
	}
}

// TestCheckpointExchanged has the checkpoint be exchanged by an older one, as pwrite can under SQLite's
// locks, once the log was authenticated.
func TestCheckpointExchanged(t *testing.T) {
	_, o := newKey(t, "boss")
	s := openWith(t, filepath.Join(t.TempDir(), "s.db"), o)
	fill(t, s, "r-1", 1)
	older, err := s.readHead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, "r-2", 2)
	want := keep(t, s)
	s.between = func(step string) {
		if step != "authenticated" {
			return
		}
		if _, err := s.conn.ExecContext(ctx, "UPDATE head SET count = ?, root = ?, note = ?", older.count, older.root[:], older.note); err != nil {
			t.Error(err)
		}
	}
	h, text, err := s.Checkpoint(ctx)
	if err != nil || h != want {
		t.Errorf("%v, %v; want %v", h, err, want)
	}
	if _, key, err := receipts.ParseCheckpoint(text, o.Signer.Keys()); err != nil || key != "boss" {
		t.Errorf("it is signed by %q, %v", key, err)
	}
}

// TestKeyWithoutCheckpoint cuts a failure that ann signed out of the log and drops her checkpoint;
// then bob signs over what is left. Verdicts and the audit know both keys, and must agree.
func TestKeyWithoutCheckpoint(t *testing.T) {
	for _, how := range []string{"nothing is changed", "her checkpoint is dropped", "and her signatures", "of a remembered log", "and her signatures, of a remembered log"} {
		t.Run(how, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			ann, a := newKey(t, "ann")
			_, b := newKey(t, "bob")
			both := Options{ReadOnly: true}
			var err error
			if both.Keys, err = receipts.ParseKeys(a.Signer.Public(), b.Signer.Public()); err != nil {
				t.Fatal(err)
			}
			s := openWith(t, path, a)
			for i, status := range []receipts.Status{receipts.Succeeded, receipts.StatusFailed, receipts.Succeeded} {
				r := onTree("r-1", i, status, 1)
				r.Signer = ann.ID()
				put(t, r)(s)
			}
			s.Close()
			f, err := os.Create(filepath.Join(t.TempDir(), "memory"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if how != "nothing is changed" {
				cutOut(t, path, 1, nil)
				s = openAt(t, path)
				if strings.HasPrefix(how, "and her signatures") {
					if _, err := s.conn.ExecContext(ctx, "UPDATE record SET signature = NULL"); err != nil {
						t.Fatal(err)
					}
				}
				if strings.HasSuffix(how, "of a remembered log") {
					// As if the verifier had read just this before ann signed what was cut.
					remember(t, s, f)
				}
				s.Close()
			}
			s = openWith(t, path, b)
			put(t, onTree("r-2", 0, receipts.Succeeded, 2))(s)
			s.Close()

			s = openWith(t, path, both)
			defer s.Close()
			want := how != "nothing is changed"
			if got := audit(t, s).Tampered(); got != want {
				t.Errorf("audit: tampered %v, want %v", got, want)
			}
			if strings.HasSuffix(how, "of a remembered log") {
				m, err := verify.Recollect(f, "")
				if err != nil {
					t.Fatal(err)
				}
				s.remembering, s.memory = true, &memory{Memory: m, file: f, kept: true}
			}
			res, err := s.Ask(ctx, verify.Query{Outside: true, Now: at(100).Time}, "")
			if err != nil || (res.Verdict == verify.Tampered) != want {
				t.Errorf("verify: %s %v, %v; want tampered %v", res.Verdict, res.Refusals, err, want)
			}
		})
	}
}

// TestCheckpointOf keeps no checkpoint of a log that is not what it says.
func TestCheckpointOf(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "s.db"))
	fill(t, s, "r-1", 3)
	root := rootOf(0, nil)
	if _, err := s.conn.ExecContext(ctx, "UPDATE head SET count = 0, root = ?", root[:]); err != nil {
		t.Fatal(err)
	}
	if h, _, err := s.Checkpoint(ctx); err == nil || !strings.Contains(err.Error(), "a row was inserted") {
		t.Errorf("%v, %v", h, err)
	}
}
