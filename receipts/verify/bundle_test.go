package verify

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// bundleOf makes a bundle of records with the log that they make.
func bundleOf(t testing.TB, recs []receipts.Record, pick []int) (*receipts.Bundle, receipts.Checkpoint, hashes) {
	t.Helper()
	var log hashes
	for i, r := range recs {
		hs, err := tlog.StoredHashesForRecordHash(int64(i), r.Leaf(), log)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, hs...)
	}
	n := int64(len(recs))
	root, err := tlog.TreeHash(n, log)
	if err != nil {
		t.Fatal(err)
	}
	h := receipts.Checkpoint{Origin: "dialect/x", Count: n, Root: root}
	b := &receipts.Bundle{Schema: receipts.BundleSchema, Checkpoint: h.Text()}
	for _, i := range pick {
		p, err := tlog.ProveRecord(n, int64(i), log)
		if err != nil {
			t.Fatal(err)
		}
		b.Records = append(b.Records, receipts.BundleRecord{Seq: int64(i), Kind: recs[i].Kind, Body: string(recs[i].Body), Proof: p})
	}
	return b, h, log
}

type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, i := range indexes {
		out = append(out, h[i])
	}
	return out, nil
}

func someRecords(t testing.TB, n int) []receipts.Record {
	t.Helper()
	var list []receipts.Record
	for i := range n {
		rec, err := (&receipts.Consumption{Version: 1, Consumed: []receipts.Hash{sha256.Sum256([]byte{byte(i)})}, By: "x", Timestamp: receipts.Time{}}).Record()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rec)
	}
	return list
}

func TestBundle(t *testing.T) {
	recs := someRecords(t, 11)
	good, head, log := bundleOf(t, recs, []int{1, 4, 10})
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	parse := func() *receipts.Bundle {
		b, err := receipts.ParseBundle(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	book, err := OfBundle(parse(), nil, nil)
	if err != nil || len(book.Entries()) != 3 || book.Last() != head {
		t.Fatal(err)
	}
	if book.bySHA(recs[4].SHA())[recs[4].SHA()] == nil {
		t.Error("a record is not found")
	}
	for name, spoil := range map[string]func(*receipts.Bundle){
		"another body":    func(b *receipts.Bundle) { b.Records[1].Body = string(recs[5].Body) },
		"another place":   func(b *receipts.Bundle) { b.Records[1].Seq = 5 },
		"out of order":    func(b *receipts.Bundle) { b.Records[0], b.Records[1] = b.Records[1], b.Records[0] },
		"a record twice":  func(b *receipts.Bundle) { b.Records = slices.Insert(b.Records, 1, b.Records[0]) },
		"a flipped proof": func(b *receipts.Bundle) { b.Records[2].Proof[0][7] ^= 1 },
		"a short proof":   func(b *receipts.Bundle) { b.Records[2].Proof = b.Records[2].Proof[1:] },
		"an endless log": func(b *receipts.Bundle) {
			b.Checkpoint = strings.Replace(b.Checkpoint, "\n11\n", "\n4611686018427387906\n", 1)
		},
		"a longer log":          func(b *receipts.Bundle) { b.Checkpoint = strings.Replace(b.Checkpoint, "\n11\n", "\n12\n", 1) },
		"not canonical":         func(b *receipts.Bundle) { b.Records[0].Body = " " + b.Records[0].Body },
		"another kind":          func(b *receipts.Bundle) { b.Records[0].Kind = receipts.KindGate },
		"no records":            func(b *receipts.Bundle) { b.Records = nil },
		"beyond the checkpoint": func(b *receipts.Bundle) { b.Records[2].Seq = 11 },
	} {
		b := parse()
		spoil(b)
		if _, err := OfBundle(b, nil, nil); err == nil {
			t.Errorf("%s: it verifies", name)
		}
	}
	// An older checkpoint that was kept, with and without its proof.
	root, err := tlog.TreeHash(6, log)
	if err != nil {
		t.Fatal(err)
	}
	kept := receipts.Checkpoint{Origin: "dialect/x", Count: 6, Root: root}
	proof, err := tlog.ProveTree(11, 6, log)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		since *receipts.Consistency
		kept  receipts.Checkpoint
		ok    bool
	}{
		"shown":                 {&receipts.Consistency{Checkpoint: kept.Text(), Proof: proof}, kept, true},
		"the checkpoint itself": {nil, head, true},
		"not shown":             {nil, kept, false},
		"of another root":       {&receipts.Consistency{Checkpoint: kept.Text(), Proof: proof}, receipts.Checkpoint{Origin: "dialect/x", Count: 6, Root: tlog.Hash{9}}, false},
		"of another store":      {&receipts.Consistency{Checkpoint: kept.Text(), Proof: proof}, receipts.Checkpoint{Origin: "dialect/y", Count: 6, Root: root}, false},
		"later than the log":    {&receipts.Consistency{Checkpoint: kept.Text(), Proof: proof}, receipts.Checkpoint{Origin: "dialect/x", Count: 12, Root: root}, false},
		"with another's proof":  {&receipts.Consistency{Checkpoint: kept.Text(), Proof: proof[1:]}, kept, false},
	} {
		b := parse()
		b.Since = tt.since
		if _, err := OfBundle(b, nil, &tt.kept); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseBundle(f *testing.F) {
	recs := someRecords(f, 5)
	b, _, _ := bundleOf(f, recs, []int{0, 3})
	text, err := json.Marshal(b)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema":"dialect.bundle/1","checkpoint":"a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n","records":[{"seq":0,"kind":"gate","body":"{}","proof":[]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := receipts.ParseBundle(text)
		if err != nil {
			return
		}
		if book, err := OfBundle(b, nil, nil); err == nil {
			_, _ = book.Verify(Query{})
		}
	})
}
