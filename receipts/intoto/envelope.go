package intoto

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// An Envelope is a DSSE envelope, version 1 of its protocol.
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"` // base64
	Signatures  []Signature `json:"signatures"`
}

// A Signature is one of an envelope.
type Signature struct {
	KeyID string `json:"keyid,omitempty"` // a hint, and no more
	Sig   []byte `json:"sig"`
}

// A Key is an Ed25519 key with its name and hash in the form of
// golang.org/x/mod/sumdb/note: "NAME+HASH" is its id.
type Key struct{ signer note.Signer }

// SigningKey reads a private key, "PRIVATE+KEY+NAME+HASH+KEY".
func SigningKey(private string) (*Key, error) {
	s, err := note.NewSigner(strings.TrimSpace(private))
	if err != nil {
		return nil, errors.New("it is not a signing key of the form PRIVATE+KEY+NAME+HASH+KEY")
	}
	return &Key{s}, nil
}

// Sign returns the envelope of a statement as JSON. What DSSE signs is the type and the payload with
// their lengths.
func (k *Key) Sign(statement []byte) ([]byte, error) {
	sig, err := k.signer.Sign(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(PayloadType), PayloadType, len(statement), statement))
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%s+%08x", k.signer.Name(), k.signer.KeyHash())
	return json.Marshal(Envelope{PayloadType: PayloadType, Payload: statement, Signatures: []Signature{{id, sig}}})
}
