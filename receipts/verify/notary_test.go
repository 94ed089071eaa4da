package verify

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
)

// statement adds what a session rests on, for which identity vouches.
type statement struct {
	*receipts.Notary
	identity *receipts.Signer
}

func (s statement) Record() (receipts.Record, error) { return s.Notary.Record(s.identity) }

// aSession is the log of a session of a notary: a pass in a clean checkout under a gate, and the closing record. change has a
// say in the statement, and the pass in what runs.
func aSession(t *testing.T, identity *receipts.Signer, change func(*receipts.Notary), pass func(*receipts.Receipt)) (*maker, *receipts.Signer) {
	t.Helper()
	private, _, err := receipts.GenerateKey("session")
	if err != nil {
		t.Fatal(err)
	}
	key, err := receipts.NewNotarySigner(private)
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(t)
	m.sign = key
	n := &receipts.Notary{Version: 1, Origin: origin, Session: "n", Started: m.now(), Key: key.Public(), Mode: receipts.NotaryNamespaces, ABI: 6, Dialect: "d", System: "s", Signer: key.ID()}
	if change != nil {
		change(n)
	}
	m.add(statement{n, identity})
	m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} }, pass)}, func(g *receipts.Gate) { g.Level = receipts.LevelNotary })
	return m, key
}

func (m *maker) closing(key *receipts.Signer, count int64) {
	m.add(&receipts.Closing{Version: 1, Session: "n", Count: count, Timestamp: m.now(), Signer: key.ID()})
}

// TestNotary: a bundle of a session is verified at the level of a notary only by keys that the verifier names as those of
// notaries, if one of them vouches for it, and if all of it is there.
func TestNotary(t *testing.T) {
	boss, keys := newSigner(t)
	other, _ := newSigner(t)
	nothing := func(*receipts.Receipt) {}
	asks := func(q *Query) { q.Level = receipts.LevelNotary }
	judge := func(m *maker, keys note.Verifiers) (*Result, error) {
		s, err := OfBundle(m.bundle(string(m.log.note), 0), keys, nil)
		if err != nil {
			return nil, err
		}
		return ask(t, s, asked(strict, asks)), nil
	}
	notaries := receipts.OfNotaries(keys)

	m, key := aSession(t, boss, nil, nothing)
	m.closing(key, int64(len(m.log.recs)))
	m.signCheckpoint(key)
	if res, err := judge(m, notaries); err != nil || res.Verdict != Verified || res.Level != receipts.LevelNotary {
		t.Fatalf("%v, %v", err, told(res))
	}
	if s, err := OfBundle(m.bundle(string(m.log.note), 0), notaries, nil); err != nil {
		t.Error(err)
	} else if n, by := s.Notary(); n == nil || by != boss.Name() {
		t.Errorf("%v, vouched for by %q", n, by)
	}
	// 17: by which keys.
	for name, k := range map[string]note.Verifiers{"not named as a notary's": keys, "another key": receipts.OfNotaries(other.Keys()), "no key": nil} {
		if res, err := judge(m, k); err != nil || res.Verdict == Verified {
			t.Errorf("%s: %v, %v", name, told(res), err)
		}
	}
	for name, c := range map[string]struct {
		identity *receipts.Signer
		change   func(*receipts.Notary)
	}{
		"nobody vouches":           {nil, nil},
		"another key vouches":      {other, nil},
		"of another store":         {boss, func(n *receipts.Notary) { n.Origin = "dialect/other" }},
		"unguarded":                {boss, func(n *receipts.Notary) { n.Mode = receipts.NotaryUnguarded }},
		"without scopes":           {boss, func(n *receipts.Notary) { n.Mode, n.ABI = receipts.NotaryLandlock, 5 }},
		"of another session's key": {boss, func(n *receipts.Notary) { n.Key = other.Public() }},
	} {
		m, key := aSession(t, c.identity, c.change, nothing)
		m.closing(key, int64(len(m.log.recs)))
		m.signCheckpoint(key)
		if res, err := judge(m, notaries); err == nil && res.Verdict == Verified {
			t.Errorf("%s: %s", name, told(res))
		}
	}
	// What a bundle without a statement has is not a notary's, whatever its key claims: nobody says what held the asker.
	direct := newMaker(t)
	direct.sign = key
	direct.gate([]receipts.Hash{direct.receipt(func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} })}, func(g *receipts.Gate) { g.Level = receipts.LevelNotary })
	direct.signCheckpoint(key)
	if res, err := judge(direct, key.Keys()); err != nil || res.Verdict == Verified {
		t.Errorf("without a statement: %v, %v", told(res), err)
	}
	plain, err := receipts.ParseKeys(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if res, err := judge(direct, plain); err != nil || res.Verdict == Verified {
		t.Errorf("by a key that is not named as a notary's: %v, %v", told(res), err)
	}

	// 18: all of it.
	whole := func() *receipts.Bundle { return m.bundle(string(m.log.note), 0) }
	last := len(m.log.recs) - 1
	for name, spoil := range map[string]func(*receipts.Bundle){
		"without its closing record": func(b *receipts.Bundle) { b.Records = b.Records[:last] },
		"with a record left out":     func(b *receipts.Bundle) { b.Records = append(b.Records[:1:1], b.Records[2:]...) },
		"without a signed checkpoint": func(b *receipts.Bundle) {
			text, _, _ := strings.Cut(b.Checkpoint, "\n\n")
			b.Checkpoint = text + "\n"
		},
		"with an unsigned closing record": func(b *receipts.Bundle) { b.Records[last].Signature = "" },
	} {
		b := whole()
		spoil(b)
		var cut *CutError
		if _, err := OfBundle(b, notaries, nil); !errors.As(err, &cut) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, end := range map[string]func(m *maker, key *receipts.Signer){
		"never closed":             func(*maker, *receipts.Signer) {},
		"a closing that miscounts": func(m *maker, key *receipts.Signer) { m.closing(key, 2) },
		"records after it": func(m *maker, key *receipts.Signer) {
			m.closing(key, int64(len(m.log.recs)))
			m.receipt(of("vet"))
		},
		"another's closing": func(m *maker, key *receipts.Signer) {
			m.sign = other
			m.closing(other, int64(len(m.log.recs)))
			m.sign = key
		},
	} {
		m, key := aSession(t, boss, nil, nothing)
		end(m, key)
		m.signCheckpoint(key)
		var cut *CutError
		if res, err := judge(m, notaries); !errors.As(err, &cut) {
			t.Errorf("%s: %v, %v", name, told(res), err)
		}
	}

	m, key = aSession(t, boss, nil, nothing)
	m.add(&receipts.Closing{Version: 1, Session: "of others", Count: int64(len(m.log.recs)), Timestamp: m.now(), Signer: key.ID()})
	m.signCheckpoint(key)
	var cut *CutError
	if res, err := judge(m, notaries); !errors.As(err, &cut) {
		t.Errorf("a closing of another session: %v, %v", told(res), err)
	}
	// 17: nothing comes before what a session rests on.
	m, key = aSession(t, boss, nil, nothing)
	m.again(append([]Raw{m.log.recs[1], m.log.recs[0]}, m.log.recs[2:]...))
	m.closing(key, int64(len(m.log.recs)))
	m.signCheckpoint(key)
	if res, err := judge(m, notaries); err != nil || res.Verdict == Verified {
		t.Errorf("a pass before the statement: %v, %v", told(res), err)
	}

	// 19: out of reach of who asked.
	for name, c := range map[string]struct {
		pass func(*receipts.Receipt)
		want Verdict
	}{
		"in the working tree": {func(r *receipts.Receipt) { r.Clean = nil }, Missing},
		"unconfined":          {func(r *receipts.Receipt) { r.Clean = &receipts.Clean{Unconfined: true} }, Missing},
		"with a shared tree": {func(r *receipts.Receipt) {
			r.Clean = &receipts.Clean{Lowered: []receipts.Datum{receipts.Text(".venv")}}
		}, Missing},
	} {
		m, key := aSession(t, boss, nil, c.pass)
		m.closing(key, int64(len(m.log.recs)))
		m.signCheckpoint(key)
		if res, err := judge(m, notaries); err != nil || res.Verdict != c.want {
			t.Errorf("%s: %v, %v", name, told(res), err)
		}
	}
	// Which executable ran in the working tree says nothing of the one in a clean checkout.
	file := func(n byte) func(*receipts.Receipt) {
		return func(r *receipts.Receipt) {
			r.Executable = &receipts.File{Path: receipts.Text("/bin/lint"), SHA256: receipts.Hash{n}}
		}
	}
	m, key = aSession(t, boss, nil, file(1))
	m.receipt(file(2))
	m.gate([]receipts.Hash{m.receipt(file(1), func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} })}, func(g *receipts.Gate) { g.Level = receipts.LevelNotary })
	m.closing(key, int64(len(m.log.recs)))
	m.signCheckpoint(key)
	if res, err := judge(m, notaries); err != nil || res.Verdict != Verified || strings.Contains(strings.Join(res.Notes, "\n"), "the executable of") {
		t.Errorf("another executable in the working tree: %v, %v, %q", told(res), err, res.Notes)
	}
	// A failure counts wherever it happened.
	m, key = aSession(t, boss, nil, nothing)
	m.receipt(failing, func(r *receipts.Receipt) {
		r.Clean = &receipts.Clean{Lowered: []receipts.Datum{receipts.Text(".venv")}}
	})
	m.closing(key, int64(len(m.log.recs)))
	m.signCheckpoint(key)
	if res, err := judge(m, notaries); err != nil || res.Verdict != Failed {
		t.Errorf("failed afterwards with a shared tree: %v, %v", told(res), err)
	}
}

// TestHeld: what ran in the working tree has no level of a notary, whether it passed or may be settled as a pass; a failure has.
func TestHeld(t *testing.T) {
	for status, want := range map[receipts.Status]int{receipts.Succeeded: receipts.LevelKey, receipts.Pending: receipts.LevelKey, receipts.StatusFailed: receipts.LevelNotary} {
		if got := held(receipts.LevelNotary, &receipts.Receipt{Kind: "process", Status: status}); got != want {
			t.Errorf("%s: L%d, want L%d", status, got, want)
		}
	}
}
