package receipts

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func testKey(t testing.TB, out bool) (*Signer, note.Verifiers) {
	t.Helper()
	private, public, err := GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSigner(private, out)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := PublicKey(private); err != nil || p != public {
		t.Fatalf("the public key is %s, %v; want %s", p, err, public)
	}
	keys, err := ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	return s, keys
}

func TestSignature(t *testing.T) {
	for _, out := range []bool{true, false} {
		s, keys := testKey(t, out)
		sha := Hash{1}
		g, err := s.Sign("dialect/x", sha)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{true: LevelKey}[out]
		if level, key := g.Check("dialect/x", sha, keys); level != want || key != "boss" {
			t.Errorf("L%d by %q; want L%d", level, key, want)
		}
		_, others := testKey(t, true)
		flipped := "1" + string(g[1:])
		if out {
			flipped = "0" + string(g[1:])
		}
		for name, level := range map[string]func() (int, string){
			"another record": func() (int, string) { return g.Check("dialect/x", Hash{2}, keys) },
			"another store":  func() (int, string) { return g.Check("dialect/y", sha, keys) },
			"another key":    func() (int, string) { return g.Check("dialect/x", sha, others) },
			"no keys":        func() (int, string) { return g.Check("dialect/x", sha, nil) },
			"another claim":  func() (int, string) { return Signature(flipped).Check("dialect/x", sha, keys) },
			"no signature":   func() (int, string) { return Signature("").Check("dialect/x", sha, keys) },
			"a level beyond": func() (int, string) { return Signature("9"+g[1:]).Check("dialect/x", sha, keys) },
		} {
			if l, key := level(); l != LevelHash || key != "" {
				t.Errorf("%s: L%d by %q", name, l, key)
			}
		}
	}
	for _, bad := range []string{"", "x", "PRIVATE+KEY+a+b+c", "boss+00000000+AAAA"} {
		if _, err := NewSigner(bad, true); err == nil {
			t.Errorf("%q is a signer", bad)
		}
		if _, err := ParseKeys(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
	for _, bad := range []string{"", "a b", "a+b", "a\n"} {
		if _, _, err := GenerateKey(bad); err == nil {
			t.Errorf("%q names a key", bad)
		}
	}
}

func TestHead(t *testing.T) {
	s, keys := testKey(t, true)
	_, others := testKey(t, true)
	h := Head{"dialect/x", 12, tlog.Hash{3}}
	signed, err := s.SignHead(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text string
		keys note.Verifiers
		key  string
		ok   bool
	}{
		{h.Text(), nil, "", true}, {strings.TrimSuffix(h.Text(), "\n"), keys, "", true},
		{string(signed), nil, "", true}, {string(signed), keys, "boss", true}, {string(signed), others, "", true},
		{strings.Replace(string(signed), "\n12\n", "\n13\n", 1), keys, "", false},
		{"", nil, "", false}, {"a\nb\nc\n", nil, "", false}, {"a\n-1\n" + strings.Repeat("A", 43) + "=\n", nil, "", false},
		{"a\n01\n" + strings.Repeat("A", 43) + "=\n", nil, "", false}, {h.Text() + "more\n", nil, "", false}, {"\n1\n" + strings.Repeat("A", 43) + "=\n", nil, "", false},
	} {
		got, key, err := ParseHead([]byte(tt.text), tt.keys)
		if (err == nil) != tt.ok || err == nil && (got != h || key != tt.key) {
			t.Errorf("%q: %v by %q, %v", tt.text, got, key, err)
		}
	}
}

func FuzzParseHead(f *testing.F) {
	s, keys := testKey(f, true)
	h := Head{"dialect/x", 12, tlog.Hash{3}}
	signed, err := s.SignHead(h)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(h.Text()))
	f.Add(signed)
	f.Fuzz(func(t *testing.T, text []byte) {
		h, key, err := ParseHead(text, keys)
		if err != nil {
			return
		}
		if key != "" && string(text) != string(signed) {
			t.Errorf("%q is signed by %s", text, key)
		}
		if again, _, err := ParseHead([]byte(h.Text()), nil); err != nil || again != h {
			t.Errorf("%q reads as %v, and that as %v, %v", text, h, again, err)
		}
	})
}

// bundleOf makes a bundle of records with the log that they make.
func bundleOf(t testing.TB, recs []Record, pick []int) (*Bundle, Head, hashes) {
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
	h := Head{"dialect/x", n, root}
	b := &Bundle{Schema: BundleSchema, Head: h.Text()}
	for _, i := range pick {
		p, err := tlog.ProveRecord(n, int64(i), log)
		if err != nil {
			t.Fatal(err)
		}
		b.Records = append(b.Records, BundleRecord{Seq: int64(i), Kind: recs[i].Kind, Body: string(recs[i].Body), Proof: p})
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

func someRecords(t testing.TB, n int) []Record {
	t.Helper()
	var list []Record
	for i := range n {
		rec, err := (&Consumption{Version: 1, Consumed: []Hash{sha256.Sum256([]byte{byte(i)})}, By: "x", Timestamp: Time{}}).Record()
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
	parse := func() *Bundle {
		b, err := ParseBundle(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	book, err := parse().Verify(nil, nil)
	if err != nil || len(book.Entries) != 3 || book.Head != head {
		t.Fatal(err)
	}
	if _, ok, _ := book.Record(recs[4].SHA()); !ok {
		t.Error("a record is not found")
	}
	for name, spoil := range map[string]func(*Bundle){
		"another body":    func(b *Bundle) { b.Records[1].Body = string(recs[5].Body) },
		"another place":   func(b *Bundle) { b.Records[1].Seq = 5 },
		"out of order":    func(b *Bundle) { b.Records[0], b.Records[1] = b.Records[1], b.Records[0] },
		"a flipped proof": func(b *Bundle) { b.Records[2].Proof[0][7] ^= 1 },
		"a short proof":   func(b *Bundle) { b.Records[2].Proof = b.Records[2].Proof[1:] },
		"a longer log":    func(b *Bundle) { b.Head = strings.Replace(b.Head, "\n11\n", "\n12\n", 1) },
		"not canonical":   func(b *Bundle) { b.Records[0].Body = " " + b.Records[0].Body },
		"another kind":    func(b *Bundle) { b.Records[0].Kind = KindGate },
		"no records":      func(b *Bundle) { b.Records = nil },
		"beyond the head": func(b *Bundle) { b.Records[2].Seq = 11 },
	} {
		b := parse()
		spoil(b)
		if _, err := b.Verify(nil, nil); err == nil {
			t.Errorf("%s: it verifies", name)
		}
	}
	// An older head that was kept, with and without its proof.
	root, err := tlog.TreeHash(6, log)
	if err != nil {
		t.Fatal(err)
	}
	kept := Head{"dialect/x", 6, root}
	proof, err := tlog.ProveTree(11, 6, log)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		since *Consistency
		kept  Head
		ok    bool
	}{
		"shown":                {&Consistency{kept.Text(), proof}, kept, true},
		"the head itself":      {nil, head, true},
		"not shown":            {nil, kept, false},
		"of another root":      {&Consistency{kept.Text(), proof}, Head{"dialect/x", 6, tlog.Hash{9}}, false},
		"of another store":     {&Consistency{kept.Text(), proof}, Head{"dialect/y", 6, root}, false},
		"later than the log":   {&Consistency{kept.Text(), proof}, Head{"dialect/x", 12, root}, false},
		"with another's proof": {&Consistency{kept.Text(), proof[1:]}, kept, false},
	} {
		b := parse()
		b.Since = tt.since
		if _, err := b.Verify(nil, &tt.kept); (err == nil) != tt.ok {
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
	f.Add([]byte(`{"schema":"dialect.bundle/1","head":"a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n","records":[{"seq":0,"kind":"gate","body":"{}","proof":[]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseBundle(text)
		if err != nil {
			return
		}
		if book, err := b.Verify(nil, nil); err == nil {
			_, _ = Ask(Inquiry{}, book)
		}
	})
}
