package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// TestBundleTakes exports single records: with them go the starts of their runs, and what says
// that they are consumed, settled or accepted.
func TestBundleTakes(t *testing.T) {
	s := tempStore(t)
	begin := func(run string) receipts.Hash {
		return put(t, &receipts.Run{Version: 1, Run: run, Session: "session", Started: at(0), Planned: []receipts.Planned{}, Script: receipts.File{Path: receipts.Text("x")}})(s)
	}
	pending, pass, fail := receiptOf("r-1", 0, receipts.Pending), receiptOf("r-1", 1, receipts.Succeeded), receiptOf("r-1", 2, receipts.StatusFailed)
	start, other, p, h, f := begin("r-1"), begin("r-2"), put(t, pending)(s), put(t, pass)(s), put(t, fail)(s)
	settled := put(t, &receipts.Settlement{Version: 1, Receipt: p, Status: receipts.Succeeded, By: "x", Timestamp: at(5)})(s)
	accepted := put(t, &receipts.Trust{Version: 1, What: receipts.TrustFlaky, Receipts: []receipts.Hash{f}, Reason: "x", By: "x", Timestamp: at(6)})(s)
	first := receiptOf("r-0", 3, receipts.Succeeded)
	first.Workspace.Before = receipts.Tree{Bytes: receipts.Hash{0xf}}
	repeated := put(t, first)(s)
	again := receiptOf("r-1", 3, receipts.Succeeded)
	again.Reused = repeated
	repetition := put(t, again)(s)
	g := requestOf("r-2", pass)
	g.AnyRun, g.Tree = true, &hereTree
	d, err := s.Gate(ctx, g)
	if err != nil || !d.Passed() {
		t.Fatal(reasons(d), err)
	}
	for name, tt := range map[string]struct {
		of   receipts.Hash
		want []receipts.Hash
	}{
		"a receipt that was consumed": {h, []receipts.Hash{start, h}},
		"one that was settled":        {p, []receipts.Hash{start, p, settled}},
		"one that was accepted":       {f, []receipts.Hash{start, f, accepted}},
		"one that repeats a result":   {repetition, []receipts.Hash{start, repetition, repeated}},
		"a gate of another run":       {d.Gate, []receipts.Hash{start, other, h, d.Gate}},
	} {
		b, err := s.Bundle(ctx, nil, tt.of.String())
		if err != nil {
			t.Fatal(err)
		}
		var has []receipts.Hash
		consumed := false
		for _, r := range b.Records {
			has = append(has, receipts.Record{Kind: r.Kind, Body: []byte(r.Body)}.SHA())
			consumed = consumed || r.Kind == receipts.KindConsumption
		}
		for i, w := range tt.want {
			if !slices.Contains(has, w) {
				t.Errorf("%s: record %d of %d that belong to it is not there", name, i+1, len(tt.want))
			}
		}
		if tt.of == h && !consumed {
			t.Errorf("%s: nothing says so", name)
		}
	}
}

// TestBundleKeepsAttempts takes what failed, or was ended early, before its gate out of a bundle: each record has a proof of its own, but the gate
// names it.
func TestBundleKeepsAttempts(t *testing.T) {
	for _, c := range []struct {
		reason receipts.StopReason
		whole  verify.Verdict
	}{{"", verify.Flaky}, {receipts.StopTimeout, verify.Verified}} {
		s := tempStore(t)
		before, pass := receiptOf("r-0", 0, receipts.StatusFailed), receiptOf("r-1", 0, receipts.Succeeded)
		if code := 1; c.reason == "" {
			before.ExitCode = &code
		} else {
			before.ExitCode, before.StopReason = nil, c.reason
		}
		f, _ := put(t, before)(s), put(t, pass)(s)
		g := requestOf("r-1", pass)
		g.Strict, g.Tree = false, &hereTree
		d, err := s.Gate(ctx, g)
		if err != nil || !d.Passed() || !slices.Equal(append(d.Failed, d.Ended...), []receipts.Hash{f}) {
			t.Fatal(reasons(d), d.Failed, d.Ended, err)
		}
		b, err := s.Bundle(ctx, nil, d.Gate.String())
		if err != nil {
			t.Fatal(err)
		}
		ask := func() verify.Verdict {
			t.Helper()
			v, err := verify.OfBundle(b, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := v.One(verify.Query{Tree: &hereTree, Strict: true}, d.Gate.String())
			if err != nil {
				t.Fatal(err)
			}
			return res.Verdict
		}
		if got := ask(); got != c.whole {
			t.Errorf("whole: %s", got)
		}
		b.Records = slices.DeleteFunc(b.Records, func(r receipts.BundleRecord) bool {
			return receipts.Record{Kind: r.Kind, Body: []byte(r.Body)}.SHA() == f
		})
		if got := ask(); got != verify.Missing {
			t.Errorf("without what it names: %s", got)
		}
	}
}

// TestBundleCounts: what came after a gate takes the place of none of the attempts that it counts, and does not name.
func TestBundleCounts(t *testing.T) {
	for _, early := range []bool{false, true} {
		s := tempStore(t)
		attempt := func(run string) receipts.Hash {
			r := receiptOf(run, 0, receipts.StatusFailed)
			if code := 1; early {
				r.ExitCode, r.StopReason = nil, receipts.StopTimeout
			} else {
				r.ExitCode = &code
			}
			return put(t, r)(s)
		}
		first := attempt("r-0")
		for i := range receipts.MaxFailed {
			attempt(fmt.Sprintf("r-%d", i+100))
		}
		pass := receiptOf("r-1", 0, receipts.Succeeded)
		put(t, pass)(s)
		g := requestOf("r-1", pass)
		g.Strict, g.Tree = false, &hereTree
		d, err := s.Gate(ctx, g)
		if err != nil || !d.Passed() {
			t.Fatal(reasons(d), err)
		}
		attempt("r-2")
		again := receiptOf("r-2", 0, receipts.Succeeded)
		again.Attempt = 2
		put(t, again)(s)
		b, err := s.Bundle(ctx, nil, d.Gate.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, whole := range []bool{true, false} {
			if !whole {
				b.Records = slices.DeleteFunc(b.Records, func(r receipts.BundleRecord) bool {
					return receipts.Record{Kind: r.Kind, Body: []byte(r.Body)}.SHA() == first
				})
			}
			v, err := verify.OfBundle(b, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := v.One(verify.Query{Tree: &hereTree}, d.Gate.String())
			if err != nil || whole != (res.Verdict == verify.Verified) {
				t.Errorf("early %t, whole %t: %s %v, %v", early, whole, res.Verdict, res.Refusals[:min(2, len(res.Refusals))], err)
			}
		}
	}
}

// TestBundleNamesAll: a gate names failures that were accepted, and those that another key signed. A bundle without them is refused, and one with them says
// what the store says.
func TestBundleNamesAll(t *testing.T) {
	boss, _ := newKey(t, "boss")
	ci, _ := newKey(t, "ci")
	keys, err := receipts.ParseKeys(boss.Public(), ci.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		by       *receipts.Signer
		accepted bool
	}{{"accepted by its run", boss, true}, {"of another key", ci, false}} {
		dir := filepath.Join(t.TempDir(), "r.db")
		with := func(by *receipts.Signer, f func(s *Store)) {
			s, err := Open(ctx, dir, Options{Signer: by})
			if err != nil {
				t.Fatal(err)
			}
			f(s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var failure receipts.Hash
		with(c.by, func(s *Store) {
			r, code := receiptOf("r-0", 0, receipts.StatusFailed), 1
			r.ExitCode, r.Signer = &code, c.by.ID()
			failure = put(t, r)(s)
		})
		var b *receipts.Bundle
		with(boss, func(s *Store) {
			pass := receiptOf("r-1", 0, receipts.Succeeded)
			put(t, pass)(s)
			g := requestOf("r-1", pass)
			g.Strict, g.Tree = false, &hereTree
			if c.accepted {
				g.AcceptFlaky = "the network"
			}
			d, err := s.Gate(ctx, g)
			if err != nil || !d.Passed() {
				t.Fatal(c.name, reasons(d), err)
			}
			if b, err = s.Bundle(ctx, nil, d.Gate.String()); err != nil {
				t.Fatal(err)
			}
		})
		ask := func() verify.Verdict {
			v, err := verify.OfBundle(b, keys, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := v.Verify(verify.Query{Tree: &hereTree, Level: receipts.LevelKey})
			if err != nil {
				t.Fatal(err)
			}
			return res.Verdict
		}
		if got := ask(); got != verify.Verified {
			t.Errorf("%s: %s", c.name, got)
		}
		b.Records = slices.DeleteFunc(b.Records, func(r receipts.BundleRecord) bool {
			return r.Kind == receipts.KindTrust || receipts.Record{Kind: r.Kind, Body: []byte(r.Body)}.SHA() == failure
		})
		if got := ask(); got != verify.Missing {
			t.Errorf("%s, cut out: %s", c.name, got)
		}
	}
}
