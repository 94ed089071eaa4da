package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestSignedAgain has somebody write the bytes of a record, with no signature or one that does not hold, before the one who signs it: it is signed in the end.
func TestSignedAgain(t *testing.T) {
	private, public, err := receipts.GenerateKey("worker")
	worker, serr := receipts.NewSigner(private, true)
	keys, kerr := receipts.ParseKeys(public)
	if err := errors.Join(err, serr, kerr); err != nil {
		t.Fatal(err)
	}
	for _, own := range []bool{false, true} {
		for _, planted := range []string{"", "1 x", "1 worker 00000000 AAAA"} {
			path := filepath.Join(t.TempDir(), "receipts.db")
			s := openAt(t, path)
			r := receiptOf("r-1", 0, receipts.StatusFailed)
			r.Dispatch, r.Signer = 1, worker.ID()
			if own {
				r.Dispatch, r.Signer = 0, ""
			}
			rec, err := r.Record()
			if err := errors.Join(err, s.Append(ctx, rec)); err != nil {
				t.Fatal(err)
			}
			if planted != "" {
				execAt(t, path, "UPDATE record SET signature = '"+planted+"'")
			}
			origin, err := s.Origin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if own {
				s.Close()
				if s, err = Open(ctx, path, Options{Signer: worker}); err == nil {
					err = s.Append(ctx, rec)
				}
			} else {
				g, serr := worker.Sign(origin, rec.SHA())
				err = errors.Join(serr, s.Durable(ctx, s.SubmitSigned(rec, g, keys)))
			}
			if err != nil {
				t.Fatal(err)
			}
			e, err := s.Get(ctx, rec.SHA().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, by := e.Signature.Check(origin, rec.SHA(), keys); by != "worker" || e.Seq != 0 {
				t.Errorf("own %v, after %q: record %d is signed by %q, want worker", own, planted, e.Seq, by)
			}
			if a := audit(t, s); !a.Consistent() {
				t.Error(messages(a))
			}
		}
	}
}

// TestAttemptTaken submits two successes of workers for one attempt: the second is refused, whatever the projection says, and nothing else is, a failure of it included.
func TestAttemptTaken(t *testing.T) {
	private, public, err := receipts.GenerateKey("worker")
	if err != nil {
		t.Fatal(err)
	}
	worker, err := receipts.NewSigner(private, true)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := receipts.ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]string{"": "", "without its rows": "DELETE FROM item", "as of another run": "UPDATE item SET run = 'r-2'"} {
		path := filepath.Join(t.TempDir(), "receipts.db")
		s := openAt(t, path)
		wall := int64(0)
		submit := func(status receipts.Status) (receipts.Record, int64) {
			t.Helper()
			r := receiptOf("r-1", 0, status)
			r.Dispatch, r.Signer, r.DurationNS = 1, worker.ID(), wall
			rec, err := r.Record()
			origin, oerr := s.Origin(ctx)
			g, serr := worker.Sign(origin, rec.SHA())
			if err := errors.Join(err, oerr, serr); err != nil {
				t.Fatal(err)
			}
			return rec, s.SubmitSigned(rec, g, keys)
		}
		// What says that it is the receipt of a worker, and is signed by none for this log, stands in nobody's place.
		for i, signer := range []string{"", worker.ID()} {
			r := receiptOf("r-1", 0, receipts.Succeeded)
			r.Dispatch, r.Signer, r.DurationNS = 1, signer, int64(7+i)
			rec, err := r.Record()
			g, serr := worker.Sign("dialect/of-another-log", rec.SHA())
			db, oerr := sql.Open("sqlite", path)
			if err := errors.Join(err, serr, oerr, s.Append(ctx, rec)); err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec("UPDATE record SET signature = ? WHERE seq = ?", string(g), i)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
		first, ticket := submit(receipts.Succeeded)
		if err := s.Durable(ctx, ticket); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if change != "" {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec(change)
			}
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
		s = openAt(t, path)
		_, again := submit(receipts.Succeeded) // the same one, which the log holds
		no, failed := submit(receipts.StatusFailed)
		wall = 1
		second, ticket := submit(receipts.Succeeded)
		later := s.Submit(makeReceipt("r-1", 2))
		var taken *AttemptTakenError
		if err := s.Durable(ctx, ticket); !errors.As(err, &taken) || taken.SHA != first.SHA() || errors.As(err, new(*UnusableError)) {
			t.Errorf("%s: the second one: %v", name, err)
		}
		if _, err := s.Get(ctx, second.SHA().String()); err == nil {
			t.Errorf("%s: the second one is in the log", name)
		}
		if _, err := s.Get(ctx, no.SHA().String()); err != nil {
			t.Errorf("%s: the failure: %v", name, err)
		}
		if err := errors.Join(s.Durable(ctx, again), s.Durable(ctx, failed), s.Durable(ctx, later), s.Append(ctx, makeReceipt("r-1", 3)), s.Close()); err != nil {
			t.Errorf("%s: what came with it, and after it: %v", name, err)
		}
	}
}
