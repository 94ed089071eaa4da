package receipts

import (
	"bytes"
	"crypto/rand"
	"strconv"
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
	if s.Public() != public {
		t.Fatalf("the public key is %s; want %s", s.Public(), public)
	}
	keys, err := ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	return s, keys
}

// TestKeyIsHidden has no part of a signing key stand in an error.
func TestKeyIsHidden(t *testing.T) {
	private, public, err := GenerateKey("ci@example.com/dialect-1_2")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(private, "+")
	for _, given := range [][]string{{private}, {" " + private + "\n"}, {public, private}, {strings.Join(words[3:], "+")}, {"x+" + private}} {
		if _, err := ParseKeys(given...); err == nil || strings.Contains(err.Error(), words[3]) {
			t.Errorf("%v", err)
		}
	}
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
	for _, bad := range []string{"", "a b", "a+b", "a\n", `a"b`, "a\x1b", "é", strings.Repeat("x", 65)} {
		if _, _, err := GenerateKey(bad); err == nil {
			t.Errorf("%q names a key", bad)
		}
		private, public, err := note.GenerateKey(rand.Reader, bad)
		if err != nil {
			continue
		}
		if _, err := NewSigner(private, true); err == nil {
			t.Errorf("%q signs", bad)
		}
		if _, err := ParseKeys(public); err == nil {
			t.Errorf("%q is the name of a key", bad)
		}
	}
	for _, good := range []string{"boss", "ci@example.com/dialect-1_2", strings.Repeat("x", 64)} {
		if _, _, err := GenerateKey(good); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckpoint(t *testing.T) {
	s, keys := testKey(t, true)
	_, others := testKey(t, true)
	h := Checkpoint{"dialect/x", 12, tlog.Hash{3}}
	signed, err := s.SignCheckpoint(h)
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
		got, key, err := ParseCheckpoint([]byte(tt.text), tt.keys)
		if (err == nil) != tt.ok || err == nil && (got != h || key != tt.key) {
			t.Errorf("%q: %v by %q, %v", tt.text, got, key, err)
		}
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	s, keys := testKey(f, true)
	h := Checkpoint{"dialect/x", 12, tlog.Hash{3}}
	signed, err := s.SignCheckpoint(h)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(h.Text()))
	f.Add(signed)
	f.Fuzz(func(t *testing.T, text []byte) {
		h, key, err := ParseCheckpoint(text, keys)
		if err != nil {
			return
		}
		if key != "" && string(text) != string(signed) {
			t.Errorf("%q is signed by %s", text, key)
		}
		if again, _, err := ParseCheckpoint([]byte(h.Text()), nil); err != nil || again != h {
			t.Errorf("%q reads as %v, and that as %v, %v", text, h, again, err)
		}
	})
}

// TestSignatureText has the signature of a text in which somebody else's words stand be pasted
// behind another one: it holds for neither.
func TestSignatureText(t *testing.T) {
	private, public, err := GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSigner(private, true)
	if err != nil {
		t.Fatal(err)
	}
	forged, real := Hash{1}, Hash{2}
	decoy := "dialect/a\n1\n" + forged.String() + "\n\nx"
	if g, err := s.Sign(decoy, real); err == nil {
		t.Errorf("%q is signed for", g)
	}
	if _, err := s.SignCheckpoint(Checkpoint{Origin: decoy}); err == nil {
		t.Error("the checkpoint of such a log is signed")
	}
	n, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	text := signatureText(decoy, 1, real)
	msg, err := note.Sign(&note.Note{Text: text}, n)
	if err != nil {
		t.Fatal(err)
	}
	pasted := Signature("1 x\n1\n" + real.String() + "\n\n" + strings.TrimSuffix(string(msg[len(text)+1:]), "\n"))
	if level, key := pasted.Check("dialect/a", forged, keys); key != "" {
		t.Errorf("L%d, %s", level, key)
	}
}

// FuzzNotes splits what a store says its signed checkpoints are, and puts another one in: nothing
// is lost of the others, and the key's own is there once.
func FuzzNotes(f *testing.F) {
	private, _, err := GenerateKey("boss")
	if err != nil {
		f.Fatal(err)
	}
	s, err := NewSigner(private, true)
	if err != nil {
		f.Fatal(err)
	}
	own, err := s.SignCheckpoint(Checkpoint{Origin: "dialect/a", Count: 1})
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "a", "\n\n", "\n\n\n\n", "a\n\nb", "a\n\nb\n\nc\n\nd\n", string(own), string(own) + "\n" + string(own)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		notes := SplitNotes(text)
		if joined := bytes.Join(notes, []byte("\n")); len(notes) < maxNotes && len(joined) > len(text) {
			t.Errorf("%q is split into %q", text, notes)
		}
		var others [][]byte
		for _, n := range notes {
			_ = NoteSigner(n)
			if NoteSigner(n) != s.ID() {
				others = append(others, n)
			}
		}
		put, err := s.PutNote(text, own)
		if err != nil {
			if len(others) < maxNotes {
				t.Error(err)
			}
			return
		}
		again := SplitNotes(put)
		if len(again) == 0 || !bytes.Equal(again[0], own) {
			t.Errorf("%q does not begin with the new one", put)
		}
	})
}

// A key that is given twice is one key, and more keys than a store has room for are refused, not
// left out.
func TestParseKeys(t *testing.T) {
	var keys []string
	for i := range maxNotes + 1 {
		_, public, err := GenerateKey("k" + strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, public)
	}
	list, err := ParseKeys(append(keys[:maxNotes:maxNotes], keys[0], keys[1]+"\n")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys[:maxNotes] {
		if parts := strings.SplitN(k, "+", 3); !KnowsKey(list, parts[0]+"+"+parts[1]) {
			t.Errorf("%s is not known", k)
		}
	}
	if _, err := ParseKeys(keys...); err == nil || err.Error() != "65 public keys, and at most 64 can be trusted at once" {
		t.Errorf("65 keys: %v", err)
	}
}
