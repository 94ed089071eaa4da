package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// lockOut holds the write lock of a store as another process would, until it is called.
func lockOut(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
}

// A ticket is acknowledged when its own record is durable, whatever is waited for
// beside it, and a wait that is given up takes nothing back.
func TestDurableWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	s := openAt(t, path)
	if err := s.Durable(ctx, 0); err != nil {
		t.Fatalf("nothing was submitted: %v", err)
	}
	release := lockOut(t, path)
	first := makeReceipt("r-1", 0)
	a := s.Submit(first)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := s.Durable(short, a); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("acknowledged while it could not be written: %v", err)
	}
	// The transaction of a is under way; what comes now is not in it.
	second := makeReceipt("r-1", 1)
	b := s.Submit(second)
	if b <= a {
		t.Fatalf("tickets %d and %d", a, b)
	}
	release()
	if err := s.Durable(ctx, b); err != nil {
		t.Fatal(err)
	}
	other := openAt(t, path)
	for _, r := range []receipts.Record{first, second} {
		if _, err := other.Get(ctx, r.SHA().String()); err != nil {
			t.Errorf("acknowledged, and %v", err)
		}
	}
	wantConsistent(t, other, 2)
}

// smallDisk returns a directory with room for about a megabyte, or skips.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=768k", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// However the disk runs full: what was acknowledged is there, and stays acknowledged;
// what is not there was never acknowledged; and Close says so.
func TestDiskFull(t *testing.T) {
	for _, tt := range []struct {
		name string
		open func(t *testing.T) (path string, s *Store)
	}{
		{"disk", func(t *testing.T) (string, *Store) {
			path := filepath.Join(smallDisk(t), "receipts.db")
			s, err := Open(ctx, path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return path, s
		}},
		{"pages", func(t *testing.T) (string, *Store) {
			path := filepath.Join(t.TempDir(), "receipts.db")
			s, err := Open(ctx, path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.conn.ExecContext(ctx, "PRAGMA max_page_count=120"); err != nil {
				t.Fatal(err)
			}
			return path, s
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, s := tt.open(t)
			defer s.Close()
			const writers, each = 4, 400
			type submitted struct {
				sha    receipts.Hash
				ticket int64
				err    error
			}
			all := make([][]submitted, writers)
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for i := range each {
						r := makeReceipt(fmt.Sprint("r-", w), i)
						x := submitted{sha: r.SHA(), ticket: s.Submit(r)}
						if i%7 == 0 {
							x.err = s.Durable(ctx, x.ticket)
						}
						all[w] = append(all[w], x)
					}
				})
			}
			wg.Wait()
			full := 0
			for w := range all {
				for i := range all[w] {
					x := &all[w][i]
					before := x.err
					if x.err = s.Durable(ctx, x.ticket); x.err != nil {
						full++
					}
					if before != nil && x.err == nil || i%7 == 0 && before == nil && x.err != nil {
						t.Errorf("ticket %d: first %v, then %v", x.ticket, before, x.err)
					}
				}
			}
			if full == 0 || full == writers*each {
				t.Fatalf("%d of %d records were refused: the disk did not run full on the way", full, writers*each)
			}
			var unusable *UnusableError
			if err := s.Close(); !errors.As(err, &unusable) {
				t.Errorf("Close: %v", err)
			}
			// In what is on the disk:
			again, err := Open(ctx, path, Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			for _, x := range append(append(append(all[0], all[1]...), all[2]...), all[3]...) {
				_, err := again.Get(ctx, x.sha.String())
				if there := err == nil; there != (x.err == nil) {
					t.Errorf("ticket %d: acknowledged with %v, found with %v", x.ticket, x.err, err)
				}
			}
			wantConsistent(t, again, int64(writers*each-full))
		})
	}
}

// A gate that could not be decided takes nothing with it that was submitted before.
func TestGateKeepsSubmitted(t *testing.T) {
	s := tempStore(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for i := range 20 {
		r := makeReceipt("r-1", i)
		ticket := s.Submit(r)
		if d, err := s.Gate(gone, receipts.GateRequest{Run: "r-1", Session: "s", At: at(1)}); err == nil {
			t.Fatalf("a gate of a call that was given up: %+v", d)
		}
		if err := s.Durable(ctx, ticket); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, r.SHA().String()); err != nil {
			t.Error(err)
		}
	}
	wantConsistent(t, s, 20)
}

// What a gate had taken and could not write waits before what was submitted meanwhile.
func TestSettleOrder(t *testing.T) {
	var q queue
	q.init()
	first, second := makeReceipt("r-1", 0), makeReceipt("r-1", 1)
	q.waiting = []submission{{Record: first}}
	batch, err := q.take()
	if err != nil {
		t.Fatal(err)
	}
	q.waiting = append(q.waiting, submission{Record: second})
	q.settle(len(batch), errors.New("no gate"))
	if batch, err = q.take(); err != nil || len(batch) != 2 || batch[0].SHA() != first.SHA() || batch[1].SHA() != second.SHA() {
		t.Errorf("%d wait, %v", len(batch), err)
	}
}

// Close writes what waits, and what comes after it is refused without harm to that.
func TestCloseWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var tickets []int64
	for i := range 100 {
		tickets = append(tickets, s.Submit(makeReceipt("r-1", i)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, ticket := range tickets {
		if err := s.Durable(ctx, ticket); err != nil {
			t.Fatalf("ticket %d: %v", ticket, err)
		}
	}
	if err := s.Durable(ctx, s.Submit(makeReceipt("r-1", 100))); err == nil {
		t.Error("a record was acknowledged by a closed store")
	}
	wantConsistent(t, openAt(t, path), 100)
}
