package verify

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// A log of a failure between two passes.
func disputed(m *maker) (failure receipts.Hash) {
	m.gate([]receipts.Hash{m.receipt()})
	failure = m.receipt(failing)
	m.gate([]receipts.Hash{m.receipt()})
	return failure
}

func wantProblem(t *testing.T, name string, s *Session, want string) {
	t.Helper()
	res := ask(t, s, asked())
	if res.Verdict != Tampered || !strings.Contains(told(res), want) {
		t.Errorf("%s: %s\nwant TAMPERED: ... %s", name, told(res), want)
	}
	d, all, err := s.Consume(asked(), s.index.at(0).sha.String())
	if err != nil || d.Passed() || all.Taken != nil || all.Apart != nil {
		t.Errorf("%s: it is consumed: %v, %v", name, d.Refusals, err)
	}
	if d, err := s.Validate(receipts.LevelHash, s.index.at(0).sha.String()); err != nil || d.Passed() {
		t.Errorf("%s: it is valid: %v, %v", name, d.Refusals, err)
	}
}

// TestWhole has the records of a log be others than its root is of.
func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spoil      func(l *slice)
	}{
		{"edited", "the root over", func(l *slice) {
			l.recs[2].Body = bytes.Replace(l.recs[2].Body, []byte(`"failed"`), []byte(`"succeeded"`), 1)
		}},
		{"swapped", "the root over", func(l *slice) {
			l.recs[1].Body, l.recs[4].Body = l.recs[4].Body, l.recs[1].Body
			l.recs[1].Kind, l.recs[4].Kind = l.recs[4].Kind, l.recs[1].Kind
		}},
		{"removed", "record 2 is missing", func(l *slice) { l.recs = slices.Delete(l.recs, 2, 3) }},
		{"another kind", "the root over", func(l *slice) { l.recs[2].Kind = receipts.KindTrust }},
	} {
		m := newMaker(t)
		disputed(m)
		st, _ := m.log.State(context.Background())
		tt.spoil(m.log)
		s, err := Open(context.Background(), frozen{m.log, st}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, tt.name, s, tt.want)
	}
	m := newMaker(t)
	disputed(m)
	st, _ := m.log.State(context.Background())
	for name, change := range map[string]struct {
		by   int64
		want string
	}{"added": {-1, "a row was inserted"}, "taken from the end": {1, "are missing"}} {
		other := st
		other.Count += change.by
		s, err := Open(context.Background(), frozen{m.log, other}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, name, s, change.want)
	}
}

// TestTwice has the log hold an old pass once more, behind a failure: neither a session that reads all of it, nor one that goes on from another or from a
// memory, nor a bundle takes it.
func TestTwice(t *testing.T) {
	m := newMaker(t)
	pass := m.receipt()
	m.receipt(failing)
	f := memoryFile(t)
	before := m.open(Options{})
	m.remember(f, Options{})
	again := m.log.recs[0]
	again.Seq = int64(len(m.log.recs))
	m.put(again)
	m.gate([]receipts.Hash{m.receipt(of("vet"))})
	for name, o := range map[string]Options{"all": {}, "what is new": {Before: before}, "what no memory has": {Memory: recollect(t, f)}} {
		wantProblem(t, name, m.open(o), "record 2 is record 0 once more")
	}
	if _, err := OfBundle(m.bundle(m.head().Text(), 0), nil, nil); err == nil || !strings.Contains(err.Error(), "once more") {
		t.Errorf("a bundle with %s twice: %v", pass.Short(), err)
	}
}

// A frozen log says what it said once.
type frozen struct {
	Log
	st State
}

func (l frozen) State(context.Context) (State, error) { return l.st, nil }

// TestBefore has a session go on from one of the process that read the same log.
func TestBefore(t *testing.T) {
	m := newMaker(t)
	disputed(m)
	before := m.open(Options{})
	if s := m.open(Options{Before: before}); s.audited() != 0 {
		t.Errorf("%d records were read again", s.audited())
	}
	recs := m.log.recs
	m.log.recs = slices.Clone(recs)
	m.log.recs[2].Body = bytes.Replace(recs[2].Body, []byte(`"failed"`), []byte(`"succeeded"`), 1)
	spoiled := m.open(Options{})
	wantProblem(t, "edited", spoiled, "the root over")
	m.log.recs = recs
	if res := ask(t, m.open(Options{Before: spoiled}), asked()); res.Verdict != Verified {
		t.Errorf("after a session with problems: %s", told(res))
	}
	m.again(recs[:2])
	wantProblem(t, "cut", m.open(Options{Before: before}), "they were there a moment ago")
}

// TestChanged has a record be another one when it is read again: with more new records
// than a session keeps, and with those that a memory answers for.
func TestChanged(t *testing.T) {
	for _, how := range []string{"edited", "gone", "without its signature"} {
		for _, memory := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, memory %v", how, memory), func(t *testing.T) {
				boss, keys := newSigner(t)
				m := newMaker(t)
				m.sign = boss
				failure := disputed(m)
				m.sign = nil
				o := Options{}
				if how == "without its signature" {
					o.Keys = keys
				}
				if memory {
					f := memoryFile(t)
					m.signCheckpoint(boss)
					m.remember(f, o)
					o.Memory = recollect(t, f)
				} else {
					m.fill(fewRecords)
					m.signCheckpoint(boss)
				}
				s := m.open(o)
				if memory && s.audited() != 0 {
					t.Fatalf("%d records were read", s.audited())
				}
				m.log.reread = func(r Raw) (Raw, bool) {
					if (receipts.Record{Kind: r.Kind, Body: r.Body}).SHA() != failure {
						return r, true
					}
					switch how {
					case "edited":
						r.Body = bytes.Replace(r.Body, []byte(`"failed"`), []byte(`"succeeded"`), 1)
					case "gone":
						return Raw{}, false
					default:
						r.Signature = ""
					}
					return r, true
				}
				q := asked(strict)
				res := ask(t, s, q)
				if res.Verdict != Tampered {
					t.Error(told(res))
				}
				if m.log.reads == 0 {
					t.Error("nothing was read again")
				}
			})
		}
	}
}

// TestKeptCheckpoint has a log not begin with the checkpoint that was kept, read whole, and by the
// proof of a memory.
func TestKeptCheckpoint(t *testing.T) {
	for _, memory := range []bool{false, true} {
		t.Run(fmt.Sprintf("memory %v", memory), func(t *testing.T) {
			m := newMaker(t)
			m.fill(5)
			h := m.receipt()
			kept := m.head() // over all but the gate
			m.gate([]receipts.Hash{h})
			o := Options{Kept: &kept}
			if memory {
				f := memoryFile(t)
				m.remember(f, Options{})
				o.Memory = recollect(t, f)
			}
			if res := ask(t, m.open(o), asked()); res.Verdict != Verified || res.Kept {
				t.Errorf("%s, kept %v; the checkpoint was kept before the gate", told(res), res.Kept)
			}
			keptIn := func(q *Query) { q.Kept = true }
			if res := ask(t, m.open(o), asked(keptIn)); res.Verdict != Missing || res.Refusals[0].Reason != receipts.NotKept {
				t.Errorf("%s; a gate after the kept checkpoint is none of the log that was kept", told(res))
			}
			all := m.head()
			o.Kept = &all
			if res := ask(t, m.open(o), asked()); res.Verdict != Verified || !res.Kept {
				t.Errorf("%s, kept %v", told(res), res.Kept)
			}
			m.gate([]receipts.Hash{m.receipt()}) // a later one hides no gate that is covered
			if res := ask(t, m.open(o), asked(keptIn)); res.Verdict != Verified || !res.Kept {
				t.Errorf("%s, kept %v", told(res), res.Kept)
			}
			all = m.head()
			for name, tt := range map[string]struct {
				change func(h *receipts.Checkpoint)
				want   string
			}{
				"of another store": {func(h *receipts.Checkpoint) { h.Origin = "dialect/other" }, "the store was replaced"},
				"of another root":  {func(h *receipts.Checkpoint) { h.Root[3] ^= 1 }, "the log was rewritten"},
				"of another count": {func(h *receipts.Checkpoint) { h.Count-- }, "the log was rewritten"},
				"of a longer log":  {func(h *receipts.Checkpoint) { h.Count += 9 }, "cut or rolled back"},
			} {
				h := kept
				tt.change(&h)
				o.Kept = &h
				wantProblem(t, name, m.open(o), tt.want)
			}
			// A proof of wrong hashes proves nothing.
			if memory {
				o.Kept = &kept
				m.log.hashes = slices.Clone(m.log.hashes)
				for i := range m.log.hashes {
					m.log.hashes[i][0] ^= 1
				}
				s, err := Open(context.Background(), frozen{m.log, State{Checkpoint: all}}, o)
				if err != nil {
					t.Fatal(err)
				}
				wantProblem(t, "wrong nodes", s, "the log was rewritten")
			}
		})
	}
}

// TestSignedCheckpoint has records be cut out of a signed log, whose hashes are made anew.
func TestSignedCheckpoint(t *testing.T) {
	boss, keys := newSigner(t)
	for _, tt := range []struct {
		name, want string
		spoil      func(m *maker)
	}{
		{"as it should be", "", func(m *maker) {}},
		{"no signed checkpoint", "no signed checkpoint covers it", func(m *maker) { m.log.note = nil }},
		{"an older signed checkpoint", "the signed checkpoint covers 1 records alone", func(m *maker) {
			recs := m.log.recs
			m.again(recs[:1])
			m.signCheckpoint(boss)
			m.again(recs)
		}},
		{"a failure cut out", "the log was rewritten", func(m *maker) { m.again(slices.Delete(slices.Clone(m.log.recs), 2, 3)); m.receipt() }},
		{"the end cut off", "cut or rolled back", func(m *maker) { m.again(m.log.recs[:2]) }},
		{"a failure cut out, and no checkpoint", "no signed checkpoint covers it", func(m *maker) {
			m.again(slices.Delete(slices.Clone(m.log.recs), 2, 3))
			m.log.note = nil
		}},
		{"a checkpoint with a broken signature", "cannot be trusted", func(m *maker) {
			m.log.note = bytes.Replace(m.log.note, []byte("\n5\n"), []byte("\n4\n"), 1)
		}},
		{"unsigned records after it", "", func(m *maker) { m.sign = nil; m.fill(3) }},
		{"the signature of a failure taken away", "it was taken away", func(m *maker) { m.log.recs[2].Signature = "" }},
		{"and another's in its place", "it was taken away", func(m *maker) {
			other, _ := newSigner(t)
			rec := receipts.Record{Kind: m.log.recs[2].Kind, Body: m.log.recs[2].Body}
			m.log.recs[2].Signature, _ = other.Sign(origin, rec.SHA())
		}},
		{"a signature of another store", "it was taken away", func(m *maker) {
			rec := receipts.Record{Kind: m.log.recs[2].Kind, Body: m.log.recs[2].Body}
			m.log.recs[2].Signature, _ = boss.Sign("dialect/other", rec.SHA())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaker(t)
			m.sign = boss
			disputed(m)
			m.signCheckpoint(boss)
			tt.spoil(m)
			res := ask(t, m.open(Options{Keys: keys}), asked())
			if tt.want == "" && res.Verdict != Verified || tt.want != "" && (res.Verdict != Tampered || !strings.Contains(told(res), tt.want)) {
				t.Errorf("%s\nwant %q", told(res), tt.want)
			}
		})
	}
}

// bundle makes a bundle of the records from an index on.
func (m *maker) bundle(head string, from int) *receipts.Bundle {
	m.t.Helper()
	b := &receipts.Bundle{Schema: receipts.BundleSchema, Checkpoint: head}
	for _, r := range m.log.recs[from:] {
		p, err := tlog.ProveRecord(int64(len(m.log.recs)), r.Seq, m.log.hashes)
		if err != nil {
			m.t.Fatal(err)
		}
		b.Records = append(b.Records, receipts.BundleRecord{Seq: r.Seq, Kind: r.Kind, Body: string(r.Body), Signature: r.Signature, Proof: p})
	}
	return b
}

// TestBundleCheckpoint has a bundle of signed records come with a checkpoint that nobody signed.
func TestBundleCheckpoint(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	b := m.bundle(string(m.log.note), 0)
	s, err := OfBundle(b, keys, nil)
	if err != nil || s.CheckpointKey() != "boss" {
		t.Fatal(err)
	}
	if res := ask(t, s, asked(signed)); res.Verdict != Verified || res.Level != receipts.LevelKey || res.Kept {
		t.Errorf("%s, L%d, kept %v", told(res), res.Level, res.Kept)
	}
	h := m.head()
	if s, err = OfBundle(b, keys, &h); err != nil {
		t.Fatal(err)
	} else if res := ask(t, s, asked(signed)); !res.Kept {
		t.Error("the kept checkpoint covers the gate, and the result does not say so")
	}
	b.Checkpoint = h.Text()
	if s, err := OfBundle(b, keys, nil); err != nil {
		t.Error(err)
	} else if res := ask(t, s, asked(signed)); res.Verdict != Tampered {
		t.Errorf("a checkpoint without its signature: %s", told(res))
	}
	if s, err := OfBundle(b, nil, nil); err != nil {
		t.Error(err)
	} else if res := ask(t, s, asked()); res.Verdict != Verified || res.Level != receipts.LevelHash {
		t.Errorf("a checkpoint without its signature, and no key: %s, L%d", told(res), res.Level)
	}
	// The signed one is older: what is below it counts, and what came later is not left out.
	at, note := m.head(), string(m.log.note)
	m.sign = nil
	m.receipt(of("vet"))
	now := m.head()
	proof, err := tlog.ProveTree(now.Count, at.Count, m.log.hashes)
	if err != nil {
		t.Fatal(err)
	}
	older := m.bundle(now.Text(), 0)
	older.Signed = []receipts.Consistency{{Checkpoint: note, Proof: proof}}
	if s, err := OfBundle(older, keys, nil); err != nil || s.CheckpointKey() != "boss" {
		t.Error(err)
	} else if res := ask(t, s, asked(signed)); res.Verdict != Verified {
		t.Errorf("under an older signed one: %s", told(res))
	}
	older.Signed[0].Proof = older.Signed[0].Proof[:0]
	if _, err := OfBundle(older, keys, nil); err == nil || !strings.Contains(err.Error(), "does not begin with the checkpoint") {
		t.Errorf("without its proof: %v", err)
	}
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	now = m.head()
	if proof, err = tlog.ProveTree(now.Count, at.Count, m.log.hashes); err != nil {
		t.Fatal(err)
	}
	past := m.bundle(now.Text(), int(at.Count))
	past.Signed = []receipts.Consistency{{Checkpoint: note, Proof: proof}}
	if s, err := OfBundle(past, keys, nil); err != nil {
		t.Error(err)
	} else if res := ask(t, s, asked(signed)); res.Verdict != Tampered {
		t.Errorf("a signed gate that no signed one covers: %s", told(res))
	}
	m.again(m.log.recs[:at.Count])
	b = m.bundle(note, 0)
	b.Checkpoint = h.Text()
	if _, err := OfBundle(b, nil, nil); err != nil {
		t.Errorf("without keys: %v", err)
	}
	b.Checkpoint = string(m.log.note)
	b.Records[0].Signature = ""
	if _, err := OfBundle(b, keys, nil); err == nil {
		if s, _ := OfBundle(b, keys, nil); ask(t, s, asked(signed)).Verdict == Verified {
			t.Error("a member without its signature is verified at L1")
		}
	}
}

// TestBundleKept has a kept checkpoint not cover a gate, whose place in the bundle is below its count, and a bundle leave out records that it covers: a
// failure of another line, before the gate, that the gate need not name.
func TestBundleKept(t *testing.T) {
	m := newMaker(t)
	m.fill(3)
	kept := m.head()
	m.gate([]receipts.Hash{m.receipt()})
	head := m.head()
	m.receipt()
	proof, err := tlog.ProveTree(m.head().Count, kept.Count, m.log.hashes)
	if err != nil {
		t.Fatal(err)
	}
	inHead, err := tlog.ProveTree(m.head().Count, head.Count, m.log.hashes)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kept *receipts.Checkpoint
		of   receipts.Consistency
		lack int // the record that the bundle leaves out; -1 for none
		want bool
	}{
		"of before the gate":           {&kept, receipts.Consistency{Checkpoint: kept.Text(), Proof: proof}, -1, false},
		"of all":                       {&head, receipts.Consistency{Checkpoint: head.Text(), Proof: inHead}, -1, true},
		"without the first":            {&head, receipts.Consistency{Checkpoint: head.Text(), Proof: inHead}, 0, false},
		"without another":              {&head, receipts.Consistency{Checkpoint: head.Text(), Proof: inHead}, 2, false},
		"without what it does not see": {&head, receipts.Consistency{Checkpoint: head.Text(), Proof: inHead}, int(head.Count), true},
	} {
		b := m.bundle(m.head().Text(), 0)
		b.Since = &c.of
		if c.lack >= 0 {
			b.Records = slices.Delete(b.Records, c.lack, c.lack+1)
		}
		s, err := OfBundle(b, nil, c.kept)
		if err != nil {
			t.Fatal(name, err)
		}
		if res := ask(t, s, asked()); res.Verdict != Verified || res.Kept != c.want {
			t.Errorf("%s: %s, kept %v", name, told(res), res.Kept)
		}
		if res := ask(t, s, asked(func(q *Query) { q.Kept = true })); (res.Verdict == Verified) != c.want {
			t.Errorf("%s: a checkpoint that has to cover the gate: %s", name, told(res))
		}
	}
}

// TestManyConsumed has a consumption name more records than one can, as many as make the
// count of a frame zero: what followed it in the memory was taken for records.
func TestManyConsumed(t *testing.T) {
	m, f := newMaker(t), memoryFile(t)
	m.gate([]receipts.Hash{m.receipt()})
	m.remember(f, Options{})
	var body bytes.Buffer
	body.WriteString(`{"by":"x","consumed":[`)
	for i := range 1 << 16 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `"%064x"`, i)
	}
	body.WriteString(`],"timestamp":"2026-11-21T00:00:00.000000000Z","version":1}`)
	m.put(Raw{Seq: int64(len(m.log.recs)), Kind: receipts.KindConsumption, Body: body.Bytes()})
	m.remember(f, Options{})
	m.receipt(failing)
	want := told(ask(t, m.open(Options{}), asked(strict)))
	if got := told(ask(t, m.open(Options{Memory: recollect(t, f)}), asked(strict))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestGlance compares what the index takes of a body leniently with its strict form.
func TestGlance(t *testing.T) {
	m := newMaker(t)
	r := m.receipt(func(r *receipts.Receipt) {
		r.Dir, r.Place, r.Values = receipts.Text("d"), receipts.Text("p"), []receipts.Value{{Name: "x", Text: receipts.Text("y")}}
		r.Handle, r.Tests, r.Result = &receipts.Handle{Route: receipts.Text("z")}, &receipts.Tests{Passed: 1}, receipts.Text("{}")
	})
	m.receipt(failing)
	m.receipt(killed)
	m.gate([]receipts.Hash{r}, func(g *receipts.Gate) { g.Place, g.Parent = receipts.Text("p"), "r-7/3" })
	m.run("r-5", func(r *receipts.Run) { r.Parent = "r-7/3" })
	m.accept(r)
	m.consume(r)
	m.add(&receipts.Settlement{Version: 1, Receipt: r, Status: receipts.Succeeded, By: "x", Timestamp: m.now()})
	for _, raw := range m.log.recs {
		mk, refs, _ := glance(raw.Kind, raw.Body)
		v, err := receipts.Record{Kind: raw.Kind, Body: raw.Body}.Parse()
		if err != nil {
			t.Fatal(err)
		}
		switch b := v.(type) {
		case *receipts.Receipt:
			git := shortText(b.Workspace.Before.Tree)
			if mk.kind != kindReceipt || mk.command != commandKey(b.Command, b.Dir, b.Place) || mk.git != git || mk.binding != shortText(b.Binding) ||
				(mk.flags&flagFailed != 0) != b.Failed() || (mk.flags&flagEarly != 0) != b.EndedEarly() {
				t.Errorf("%+v of %s", mk, raw.Body)
			}
		case *receipts.Gate:
			if mk.kind != kindGate || mk.flags&flagFinal == 0 || mk.parent != shortText("r-7") || mk.git == 0 {
				t.Errorf("%+v of %s", mk, raw.Body)
			}
		case *receipts.Run:
			if mk.kind != kindRun || mk.parent != shortText("r-7") || mk.run != shortText("r-5") {
				t.Errorf("%+v of %s", mk, raw.Body)
			}
		default:
			if len(refs) != 1 || refs[0] != short(r) {
				t.Errorf("%+v, %x of %s", mk, refs, raw.Body)
			}
		}
	}
}

// TestBundleUncovered has a bundle show a failure that a key signed, and leave out the checkpoint of that key that covers it: the failure is not
// as good as unsigned then.
func TestBundleUncovered(t *testing.T) {
	ann, annKeys := newSigner(t)
	bob, bobKeys := newSigner(t)
	both := several{annKeys, bobKeys}
	for _, after := range []bool{false, true} {
		for _, covered := range []bool{true, false} {
			m := newMaker(t)
			failure := func() {
				m.sign = ann
				m.receipt(failing, func(r *receipts.Receipt) { r.Run = "r-0" })
			}
			if !after {
				failure()
			}
			m.sign = bob
			m.gate([]receipts.Hash{m.receipt()})
			if after {
				failure()
			}
			m.signCheckpoint(bob)
			b := m.bundle(string(m.log.note), 0)
			if m.signCheckpoint(ann); covered {
				b.Signed = []receipts.Consistency{{Checkpoint: string(m.log.note)}}
			}
			s, err := OfBundle(b, both, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := Tampered
			switch {
			case covered && after:
				want = Failed
			case covered:
				want = Flaky
			}
			if res := ask(t, s, asked(signed, strict)); res.Verdict != want {
				t.Errorf("after the gate %v, covered %v: %s", after, covered, told(res))
			}
		}
	}
}

// TestBundleOfAnotherStore: a checkpoint that a key signed of another store, with the same records, is not of the log of the bundle.
func TestBundleOfAnotherStore(t *testing.T) {
	boss, keys := newSigner(t)
	for origin, ok := range map[string]bool{origin: true, "dialect/other": false} {
		m := newMaker(t)
		m.gate([]receipts.Hash{m.receipt()})
		h := m.head()
		b := m.bundle(h.Text(), 0)
		h.Origin = origin
		note, err := boss.SignCheckpoint(h)
		if err != nil {
			t.Fatal(err)
		}
		b.Signed = []receipts.Consistency{{Checkpoint: string(note)}}
		if _, err := OfBundle(b, keys, nil); (err == nil) != ok {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

// TestBundleNamesOthers has so many failures name keys that a gate cannot name them all: a bundle that may lack one answers no.
func TestBundleNamesOthers(t *testing.T) {
	ann, annKeys := newSigner(t)
	bob, bobKeys := newSigner(t)
	both := several{annKeys, bobKeys}
	m := newMaker(t)
	m.sign = ann
	m.receipt(failing, func(r *receipts.Receipt) { r.Run = "r-0" })
	m.sign = nil
	for i := range receipts.MaxFailed {
		m.receipt(failing, func(r *receipts.Receipt) { r.Run, r.Signer = fmt.Sprint("r-1", i), "zed+12345678" })
	}
	m.sign = bob
	pass := m.receipt()
	m.signCheckpoint(bob)
	g := requestFor(pass)
	g.Level, g.Final = receipts.LevelKey, true
	d, members, err := m.open(Options{Keys: bobKeys}).Decide(g)
	if err != nil || !d.Passed() {
		t.Fatal(err, d.Refusals)
	}
	body := g.Body(members, &d)
	body.Timestamp, body.Covers = m.now(), receipts.Covers{FirstLine: 1, LastLine: 1, Commands: 1}
	m.add(body)
	m.signCheckpoint(bob)
	note := string(m.log.note)
	m.signCheckpoint(ann)
	for from, want := range []Verdict{Flaky, Missing} {
		b := m.bundle(note, from)
		b.Signed = []receipts.Consistency{{Checkpoint: string(m.log.note)}}
		s, err := OfBundle(b, both, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res := ask(t, s, asked(signed, strict)); res.Verdict != want {
			t.Errorf("from record %d on: %s", from, told(res))
		}
	}
}

// TestBundleSettled leaves the signed settlement of a failure out of a bundle: one without the key does not take its place.
func TestBundleSettled(t *testing.T) {
	boss, keys := newSigner(t)
	for _, forged := range []bool{false, true} {
		m := newMaker(t)
		m.sign = boss
		h := m.receipt(func(r *receipts.Receipt) { r.Run, r.Status = "r-0", receipts.Pending })
		m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.StatusFailed, By: "ci", Timestamp: m.now(), Signer: boss.ID()})
		pass := m.receipt()
		m.signCheckpoint(boss)
		g := requestFor(pass)
		g.Level, g.Strict = receipts.LevelKey, false
		d := m.decide(Options{Keys: keys}, g)
		body := g.Body([]receipts.Hash{pass}, &d)
		body.Timestamp, body.Final, body.Covers = m.now(), true, receipts.Covers{FirstLine: 1, LastLine: 1, Commands: 1}
		m.add(body)
		m.sign = nil
		if forged {
			m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.StatusFailed, By: "nobody", Timestamp: m.now()})
		}
		m.signCheckpoint(boss)
		b := m.bundle(string(m.log.note), 0)
		for cut, want := range []Verdict{Flaky, Missing} {
			b.Records = slices.Delete(b.Records, 1, 1+cut)
			s, err := OfBundle(b, keys, nil)
			if err != nil {
				t.Fatal(err)
			}
			if res := ask(t, s, asked(signed, strict)); res.Verdict != want {
				t.Errorf("forged %v, cut %d: %s", forged, cut, told(res))
			}
		}
	}
}

// TestBundleOtherSettled leaves out of a bundle that another key settled an attempt as failed before the gate: who trusts both keys is not answered by what is left.
func TestBundleOtherSettled(t *testing.T) {
	boss, bossKeys := newSigner(t)
	other, otherKeys := newSigner(t)
	both := several{bossKeys, otherKeys}
	m := newMaker(t)
	m.sign = boss
	h := m.receipt(func(r *receipts.Receipt) { r.Run, r.Status = "r-0", receipts.Pending })
	m.sign = other
	m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.StatusFailed, By: "ci", Timestamp: m.now(), Signer: other.ID()})
	m.sign = boss
	pass := m.receipt()
	m.signCheckpoint(boss)
	g := requestFor(pass)
	g.Level, g.Strict = receipts.LevelKey, false
	d := m.decide(Options{Keys: bossKeys}, g)
	body := g.Body([]receipts.Hash{pass}, &d)
	body.Timestamp, body.Final, body.Covers = m.now(), true, receipts.Covers{FirstLine: 1, LastLine: 1, Commands: 1}
	m.add(body)
	m.signCheckpoint(boss)
	b := m.bundle(string(m.log.note), 0)
	m.signCheckpoint(other)
	b.Signed = []receipts.Consistency{{Checkpoint: string(m.log.note)}}
	for cut, want := range []Verdict{Flaky, Missing} {
		b.Records = slices.Delete(b.Records, 1, 1+cut)
		s, err := OfBundle(b, both, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res := ask(t, s, asked(signed, strict)); res.Verdict != want {
			t.Errorf("cut %d: %s", cut, told(res))
		}
	}
}
