package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestSignaturesPutBack cuts a signed failure out of a log, takes all signatures away while a
// memory is made of what is left, and puts them back.
func TestSignaturesPutBack(t *testing.T) {
	boss, keys := newSigner(t)
	m, f := newMaker(t), memoryFile(t)
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	recs := slices.Clone(m.log.recs)
	m.sign = nil
	bare := slices.Clone(recs)
	for i := range bare {
		bare[i].Signature = ""
	}
	m.again(bare)
	o := Options{Keys: keys, MemoryKept: true}
	m.remember(f, o)
	m.again(recs)
	o.Memory = recollect(t, f)
	if res := ask(t, m.open(o), asked(strict, signed)); res.Verdict != Tampered {
		t.Errorf("%s", told(res))
	}
}

// TestSettlementStripped takes the signature of a settlement away: in the store, or of one look
// at it. The failure that it says must not be left out for its level.
func TestSettlementStripped(t *testing.T) {
	boss, keys := newSigner(t)
	for _, first := range []bool{false, true} {
		for _, more := range []int{0, fewRecords} {
			m := newMaker(t)
			m.sign = boss
			settled := func() receipts.Hash {
				h := m.receipt(func(r *receipts.Receipt) { r.Status = receipts.Pending })
				return m.add(&receipts.Settlement{Version: 1, Receipt: h, Status: receipts.StatusFailed, By: "ci", Timestamp: m.now(), Signer: boss.ID()})
			}
			var x receipts.Hash
			if first {
				x = settled()
			}
			m.gate([]receipts.Hash{m.receipt()})
			if !first {
				x = settled()
			}
			m.sign = nil
			for range more {
				m.receipt(of("vet"))
			}
			m.signCheckpoint(boss)
			kept := m.head()
			o := Options{Keys: keys, Kept: &kept}
			if res := ask(t, m.open(o), asked(strict, signed)); res.Verdict != map[bool]Verdict{true: Flaky, false: Failed}[first] {
				t.Errorf("honest: %s", told(res))
			}
			bare := func(r Raw) (Raw, bool) {
				if (receipts.Record{Kind: r.Kind, Body: r.Body}).SHA() == x {
					r.Signature = ""
				}
				return r, true
			}
			if more > 0 { // it is read again
				m.log.reread = bare
			} else {
				for i, r := range m.log.recs {
					m.log.recs[i], _ = bare(r)
				}
			}
			if res := ask(t, m.open(o), asked(strict, signed)); res.Verdict != Tampered {
				t.Errorf("settled first %v, %d more: %s", first, more, told(res))
			}
		}
	}
}

// TestNamesItsSigner takes the signature of a record of each kind away, and looks at it.
func TestNamesItsSigner(t *testing.T) {
	boss, keys := newSigner(t)
	id := boss.ID()
	none := receipts.Hash{1}
	for kind, b := range map[receipts.Kind]recorder{
		receipts.KindRun:         &receipts.Run{Version: 1, Run: "r-2", Session: "s", Planned: []receipts.Planned{}, Signer: id},
		receipts.KindGate:        &receipts.Gate{Version: 1, Run: "r-2", Session: "s", Members: []receipts.Hash{}, Signer: id},
		receipts.KindConsumption: &receipts.Consumption{Version: 1, Consumed: []receipts.Hash{none}, By: "x", Signer: id},
		receipts.KindSettlement:  &receipts.Settlement{Version: 1, Receipt: none, Status: receipts.Succeeded, By: "x", Signer: id},
		receipts.KindTrust:       &receipts.Trust{Version: 1, What: receipts.TrustFlaky, Receipts: []receipts.Hash{none}, Reason: "x", By: "x", Signer: id},
	} {
		m := newMaker(t)
		sha := m.add(b)
		s := m.open(Options{Keys: keys})
		if _, err := s.Entry(sha.String()); err == nil || !strings.Contains(err.Error(), "it was taken away") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestTwoSigners has another key sign the checkpoint after the first one.
func TestTwoSigners(t *testing.T) {
	boss, keys := newSigner(t)
	other, _ := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	first := m.log.note
	m.sign = other
	m.receipt(of("vet"))
	m.signCheckpoint(other)
	var err error
	if m.log.note, err = other.PutNote(first, m.log.note); err != nil {
		t.Fatal(err)
	}
	if res := ask(t, m.open(Options{Keys: keys}), asked(strict, signed)); res.Verdict != Verified {
		t.Errorf("%s", told(res))
	}
	if n := len(receipts.SplitNotes(m.log.note)); n != 2 {
		t.Errorf("%d signed checkpoints", n)
	}
	// What the other one signs does not cover the first one's records.
	m.log.note = receipts.SplitNotes(m.log.note)[0]
	both, err := receipts.ParseKeys(boss.Public(), other.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []int{0, fewRecords} {
		for range more {
			m.receipt(of("vet"))
		}
		m.signCheckpoint(other)
		if res := ask(t, m.open(Options{Keys: both}), asked(strict, signed)); res.Verdict != Tampered {
			t.Errorf("covered by the other one alone, %d more: %s", more, told(res))
		}
	}
}
