package remote

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// An Answer is what the orchestrator says of an action that it carried out itself, such as a gate. Who may write to the history of a run
// could say the same: an answer counts if it is signed with the key whose public half the run began with.
//
//	Sig = Ed25519ctx(key, "dialect answer/1", message)
//	message = for each of run, seq, op, id, verdict, reason, by, text, last, why: its length as eight bytes, the most significant first, and its bytes
//
// seq is decimal, last is "true" or "false".
type Answer struct {
	schedule.Event
	Sig []byte `json:"sig,omitempty"`
}

const answerContext = "dialect answer/1"

func (s *Spec) message(e schedule.Event) []byte {
	var m []byte
	for _, field := range []string{
		s.Run, strconv.Itoa(e.Seq), string(e.Op), e.ID, string(e.Brief.Verdict), string(e.Brief.Reason), e.Brief.By, e.Brief.Text, strconv.FormatBool(e.Last), e.Why,
	} {
		m = append(binary.BigEndian.AppendUint64(m, uint64(len(field))), field...)
	}
	return m
}

// Sign makes an answer of an event, whose texts it cuts. In a run without a key it has no signature.
func (s *Spec) Sign(e schedule.Event, key ed25519.PrivateKey) Answer {
	e.Brief, e.Why = Fit(e.Brief), clip(e.Why, maxText)
	a := Answer{Event: e}
	if len(s.Key) > 0 && len(key) == ed25519.PrivateKeySize {
		a.Sig, _ = key.Sign(nil, s.message(e), &ed25519.Options{Context: answerContext}) // the context is short enough
	}
	return a
}

// Signed reports whether an answer is one of the orchestrator. In a run of version 1 every answer counts.
func (s *Spec) Signed(a Answer) bool {
	if s.Version == 1 {
		return true
	}
	return len(s.Key) == ed25519.PublicKeySize && len(a.Sig) == ed25519.SignatureSize &&
		ed25519.VerifyWithOptions(s.Key, s.message(a.Event), a.Sig, &ed25519.Options{Context: answerContext}) == nil
}

// sum is what the signature of a run is of:
//
//	SHA-256("dialect run/1\n" + JSON of the spec without Begun)
func (s *Spec) sum() receipts.Hash {
	bare := *s
	bare.Begun = ""
	text, _ := json.Marshal(bare) // plain data
	return sha256.Sum256(append([]byte("dialect run/1\n"), text...))
}

// Begin signs a run, and with it the key that signs its answers, as one that the holder of a key began.
func (s *Spec) Begin(key *receipts.Signer) (err error) {
	s.Begun, err = key.Sign(s.Origin, s.sum())
	return err
}

// BegunBy returns the name of the key, of those that are given, whose holder began the run; empty if none did.
func (s *Spec) BegunBy(keys note.Verifiers) string {
	_, name := s.Begun.Check(s.Origin, s.sum(), keys)
	return name
}

// Allows reports whether an answer says that a lock is free on the orchestrator's machine: the step has it once it is free at the server, too.
func (s *Spec) Allows(e schedule.Event) bool {
	return s.Version >= 3 && e.Op == schedule.Acquire && e.Why == ""
}

// Check returns an error where a run is of a version that this program does not know, or has no key of its version.
func (s *Spec) Check() error {
	want := ed25519.PublicKeySize
	if s.Version == 1 {
		want = 0
	}
	switch {
	case s.Version < 1 || s.Version > Version:
		return fmt.Errorf("the run is of version %d, and this program knows versions 1 to %d", s.Version, Version)
	case len(s.Key) != want:
		return errors.New("the run does not say with which key its answers are signed")
	}
	return nil
}

// What a brief has at most of a text, and of the name of a step, in bytes of JSON.
const (
	maxText = 500
	maxBy   = 60
)

// Fit cuts the texts of a brief so that an [Attempted] has at most a kilobyte as JSON.
func Fit(b schedule.Brief) schedule.Brief {
	b.By, b.Text = clip(b.By, maxBy), clip(b.Text, maxText)
	return b
}

// Fits reports whether a brief from outside is one that [Fit] has cut, for a reason that a receipt can have.
func Fits(b schedule.Brief) bool {
	return b.Reason.Known() && len(b.Verdict) <= len(schedule.Cancelled) && Fit(b) == b
}

func clip(text string, room int) string {
	text = strings.ToValidUTF8(text, "?")
	for i, r := range text {
		if room -= jsonBytes(r); room < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// jsonBytes is how many bytes a letter has in JSON, at most.
func jsonBytes(r rune) int {
	if r < ' ' || strings.ContainsRune("\"\\<>&\u2028\u2029", r) {
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}
