package receipts

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Trust levels of a record.
const (
	// LevelHash: the hash and the log hold, and anybody could have written it.
	LevelHash = 0
	// LevelKey: signed with a key that the commands it is about could not reach.
	LevelKey = 1
	// LevelNotary: signed by a notary, which those who asked for the run could not reach.
	LevelNotary = 2
)

// A Signer signs records and checkpoints of logs with the key of their producer. Keys
// and signatures have the forms of golang.org/x/mod/sumdb/note.
type Signer struct {
	signer note.Signer
	keys   note.Verifiers
	public string
	claim  int
}

// NewSigner makes a signer from the text of a key, "PRIVATE+KEY+...". out says that
// the key is out of reach of the commands that run: without it, what it signs has
// no higher level than what nobody signs.
func NewSigner(key string, out bool) (*Signer, error) {
	s, err := note.NewSigner(strings.TrimSpace(key))
	if err != nil {
		return nil, errors.New("it is not a signing key of the form PRIVATE+KEY+NAME+HASH+KEY")
	}
	if err := CheckKeyName(s.Name()); err != nil {
		return nil, err
	}
	public, err := publicOf(strings.TrimSpace(key))
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		return nil, err
	}
	claim := LevelHash
	if out {
		claim = LevelKey
	}
	return &Signer{s, note.VerifierList(v), public, claim}, nil
}

// NewNotarySigner makes the signer of a notary: what it signs claims [LevelNotary], which counts for a verifier that
// names the key as a notary's, or a key that vouches for it.
func NewNotarySigner(key string) (*Signer, error) {
	s, err := NewSigner(key, true)
	if err != nil {
		return nil, err
	}
	s.claim, s.keys = LevelNotary, OfNotaries(s.keys)
	return s, nil
}

// Keys returns the verifiers of the signer's own key.
func (s *Signer) Keys() note.Verifiers { return s.keys }

// Public returns the text of the public key, "NAME+HASH+KEY".
func (s *Signer) Public() string { return s.public }

// Level is that of what s signs.
func (s *Signer) Level() int { return s.claim }

// Name is the name of the key.
func (s *Signer) Name() string { return s.signer.Name() }

const keyNameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@/-"

// CheckKeyName returns an error if text can be the name of no key: names stand in bodies, messages
// and signed texts, where they must read the same.
func CheckKeyName(text string) error {
	if len(text) > 64 || text == "" || strings.Trim(text, keyNameLetters) != "" {
		return fmt.Errorf("the name of a key is at most 64 letters, digits and . _ @ / -, not %q", text)
	}
	return nil
}

// ParseKeys parses public keys, "NAME+HASH+KEY", for verification. One that repeats counts once. A
// store has signed checkpoints of at most 64 keys, and more keys are an error.
func ParseKeys(keys ...string) (note.Verifiers, error) {
	var list []note.Verifier
	known := make(map[string]bool)
	for i, k := range keys {
		k = strings.TrimSpace(k)
		if known[k] {
			continue
		}
		known[k] = true
		v, err := note.NewVerifier(k)
		switch {
		case strings.HasPrefix(k, privatePrefix):
			return nil, fmt.Errorf("key %d of %d is a private key: give the public one, NAME+HASH+KEY", i+1, len(keys))
		case err != nil: // the text is not shown: it can be a part of a private key
			return nil, fmt.Errorf("key %d of %d is not a public key of the form NAME+HASH+KEY", i+1, len(keys))
		}
		if err := CheckKeyName(v.Name()); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if len(list) > maxNotes {
		return nil, fmt.Errorf("%d public keys, and at most %d can be trusted at once", len(list), maxNotes)
	}
	return note.VerifierList(list...), nil
}

// ID is the name of the key and its hash, as [Receipt.Signer] has it.
func (s *Signer) ID() string { return fmt.Sprintf("%s+%08x", s.signer.Name(), s.signer.KeyHash()) }

// KnowsKey reports whether one of keys has the id that [Signer.ID] returns.
func KnowsKey(keys note.Verifiers, id string) bool {
	name, hash, ok := strings.Cut(id, "+")
	n, err := strconv.ParseUint(hash, 16, 32)
	if !ok || err != nil || keys == nil {
		return false
	}
	_, err = keys.Verifier(name, uint32(n))
	return err == nil
}

// A Signature is the signature of a record: the level that its producer claims,
// and a signature line of sumdb/note over
//
//	dialect.signature/1
//	ORIGIN
//	LEVEL
//	SHA
//
// in which ORIGIN is that of the store, so that a record is of no use in another
// one; LEVEL is one digit, 0 to 2, and SHA the hash of the record. The text form is the
// level, a space and that line without its line end.
type Signature string

func signatureText(origin string, level int, sha Hash) string {
	return "dialect.signature/1\n" + origin + "\n" + strconv.Itoa(level) + "\n" + sha.String() + "\n"
}

// Sign signs the record with hash sha for the store of that origin.
func (s *Signer) Sign(origin string, sha Hash) (Signature, error) {
	if err := CheckOrigin(origin); err != nil {
		return "", err
	}
	line, err := s.line(signatureText(origin, s.claim, sha))
	if err != nil {
		return "", err
	}
	return Signature(strconv.Itoa(s.claim) + " " + line), nil
}

// line returns the signature line of a text.
func (s *Signer) line(text string) (string, error) {
	msg, err := note.Sign(&note.Note{Text: text}, s.signer)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(msg[len(text)+1:]), "\n"), nil
}

// Check returns the level of a record under keys, and the name of the key that
// signed it; level 0 and no name if none of them did. What claims [LevelNotary] has it only where
// keys are [OfNotaries].
func (g Signature) Check(origin string, sha Hash, keys note.Verifiers) (level int, key string) {
	// One line: else it could bring a text of its own, which its signature is of.
	if keys == nil || len(g) < 3 || g[1] != ' ' || g[0] < '0' || g[0] > '0'+LevelNotary || strings.ContainsAny(string(g), "\n\r") || CheckOrigin(origin) != nil {
		return LevelHash, ""
	}
	level = int(g[0] - '0')
	n, err := note.Open([]byte(signatureText(origin, level, sha)+"\n"+string(g[2:])+"\n"), keys)
	if err != nil {
		return LevelHash, ""
	}
	if level > LevelKey && !AreNotaries(keys) {
		level = LevelKey
	}
	return level, n.Sigs[0].Name
}

// ID returns the id of the key that the signature names, as [Signer.ID] has it, without looking
// whether it holds; empty if it is not a file.
func (g Signature) ID() string {
	words := strings.Fields(string(g))
	if len(words) != 4 {
		return ""
	}
	b, err := base64.StdEncoding.DecodeString(words[3])
	if err != nil || len(b) < 4 {
		return ""
	}
	return fmt.Sprintf("%s+%08x", words[2], binary.BigEndian.Uint32(b))
}

// MaxRecords is the greatest number of records of a log that is accepted as one: what
// counts more is damaged, and package tlog does not end on numbers near 2^63.
const MaxRecords = 1 << 40

// maxOrigin is the greatest length of an origin, in bytes.
const maxOrigin = 128

// CheckOrigin returns an error if text can be the origin of no log that dialect made: it stands in
// texts that are signed, and must not say more there than its name.
func CheckOrigin(text string) error {
	if len(text) > maxOrigin {
		return fmt.Errorf("the origin has %d bytes: dialect makes none of more than %d", len(text), maxOrigin)
	}
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789/-") != "" || text == "" {
		return fmt.Errorf("the origin %q was not made by dialect", text)
	}
	return nil
}

// A Checkpoint is the state of a log: anyone who keeps one can tell later whether records
// were taken away or changed. Its text has the form of a checkpoint of a
// transparency log: the origin, the count and the root in base64, a line each;
// with a key it is a signed note.
type Checkpoint struct {
	Origin string // of the store
	Count  int64  // records
	Root   tlog.Hash
}

// Text returns the three lines.
func (h Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", h.Origin, h.Count, base64.StdEncoding.EncodeToString(h.Root[:]))
}

// SignCheckpoint returns the checkpoint as a signed note.
func (s *Signer) SignCheckpoint(h Checkpoint) ([]byte, error) {
	if err := CheckOrigin(h.Origin); err != nil {
		return nil, err
	}
	return note.Sign(&note.Note{Text: h.Text()}, s.signer)
}

// Signed returns the checkpoint that msg is the signed note of, and whether s signed it. That
// is found by signing again: Ed25519 has one signature for one text, and to make it costs
// a tenth of verifying one in a process that has verified none.
func (s *Signer) Signed(msg []byte) (h Checkpoint, ours bool, err error) {
	if h, _, err = ParseCheckpoint(msg, nil); err != nil {
		return Checkpoint{}, false, err
	}
	if again, err := s.SignCheckpoint(h); err == nil && bytes.Equal(again, msg) {
		return h, true, nil
	}
	// One of several signatures, or a damaged one.
	h, key, err := ParseCheckpoint(msg, s.keys)
	return h, key != "", err
}

// maxNotes bounds how many keys have a signed checkpoint in one store.
const maxNotes = 64

// SplitNotes returns the signed checkpoints in what a store keeps of them: one of each key that
// has signed in it, with an empty line between. What is not a note is returned as it is, for
// [ParseCheckpoint] to refuse.
func SplitNotes(text []byte) (notes [][]byte) {
	for len(text) > 0 && len(notes) < maxNotes {
		end := len(text)
		if body := bytes.Index(text, []byte("\n\n")); body >= 0 {
			if next := bytes.Index(text[body+2:], []byte("\n\n")); next >= 0 {
				end = body + 2 + next + 1
			}
		}
		notes = append(notes, text[:end])
		text = bytes.TrimPrefix(text[end:], []byte("\n"))
	}
	return notes
}

// PutNote returns the signed checkpoints of a store with the new one of s in the place of its
// last one.
func (s *Signer) PutNote(text, note []byte) ([]byte, error) {
	out := bytes.Clone(note)
	others := 0
	for _, n := range SplitNotes(text) {
		if NoteSigner(n) == s.ID() {
			continue
		}
		if others++; others == maxNotes {
			return nil, fmt.Errorf("%d other keys have signed checkpoints of this store, and there is no room for one more", others)
		}
		out = append(append(out, '\n'), n...)
	}
	return out, nil
}

// NoteSigner returns the id of the key that a signed checkpoint names, as [Signer.ID] has it, without
// looking whether the signature holds; empty if it names none, or several.
func NoteSigner(msg []byte) string {
	var unknown *note.UnverifiedNoteError
	if _, err := note.Open(msg, note.VerifierList()); !errors.As(err, &unknown) || len(unknown.Note.UnverifiedSigs) != 1 {
		return ""
	}
	sig := unknown.Note.UnverifiedSigs[0]
	return fmt.Sprintf("%s+%08x", sig.Name, sig.Hash)
}

// ParseCheckpoint parses the text of a checkpoint, signed or not. key names the key of keys
// that signed it; it is empty if none did, and a signature that is there but does
// not hold is an error.
func ParseCheckpoint(msg []byte, keys note.Verifiers) (h Checkpoint, key string, err error) {
	text, _, signed := bytes.Cut(msg, []byte("\n\n"))
	if signed {
		text = msg[:len(text)+1]
		if keys != nil {
			n, err := note.Open(msg, keys)
			var unknown *note.UnverifiedNoteError
			switch {
			case err == nil:
				key = n.Sigs[0].Name
			case !errors.As(err, &unknown):
				return Checkpoint{}, "", fmt.Errorf("the checkpoint's signature does not hold: %v", err)
			}
		}
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 3 || len(lines) > 4 || len(lines) == 4 && lines[3] != "" || lines[0] == "" || len(text) > 1000 {
		return Checkpoint{}, "", errors.New("a checkpoint is three lines: origin, count and root")
	}
	if err := CheckOrigin(lines[0]); err != nil {
		return Checkpoint{}, "", err
	}
	h.Origin = lines[0]
	h.Count, err = strconv.ParseInt(lines[1], 10, 64)
	if err != nil || h.Count < 0 || h.Count > MaxRecords || strconv.FormatInt(h.Count, 10) != lines[1] {
		return Checkpoint{}, "", fmt.Errorf("the checkpoint's count %q is not a number", lines[1])
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Checkpoint{}, "", fmt.Errorf("the checkpoint's root %q is not a hash in base64", lines[2])
	}
	return Checkpoint{h.Origin, h.Count, tlog.Hash(root)}, key, nil
}
