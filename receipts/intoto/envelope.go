package intoto

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/receipts"
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

// preAuth is what DSSE signs: the type and the payload with their lengths.
func preAuth(payloadType string, payload []byte) []byte {
	b := append([]byte("DSSEv1 "), strconv.Itoa(len(payloadType))...)
	b = append(b, ' ')
	b = append(b, payloadType...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	b = append(b, ' ')
	return append(b, payload...)
}

// A Key is a private Ed25519 key with its name and hash in the form of
// golang.org/x/mod/sumdb/note: "NAME+HASH" is its id.
type Key struct {
	ID  string
	key ed25519.PrivateKey
}

// algEd25519 is the first byte of a key's data in note.
const algEd25519 = 1

// SigningKey reads a private key, "PRIVATE+KEY+NAME+HASH+KEY".
func SigningKey(private string) (*Key, error) {
	public, err := receipts.PublicKey(private)
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		return nil, fmt.Errorf("it is no key: %w", err)
	}
	fields := bytes.SplitN([]byte(private), []byte("+"), 5)
	seed, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(fields[len(fields)-1])))
	if err != nil || len(seed) != 1+ed25519.SeedSize || seed[0] != algEd25519 {
		return nil, errors.New("it is no Ed25519 key")
	}
	return &Key{ID: fmt.Sprintf("%s+%08x", v.Name(), v.KeyHash()), key: ed25519.NewKeyFromSeed(seed[1:])}, nil
}

// Sign returns the envelope of a statement as JSON.
func (k *Key) Sign(statement []byte) ([]byte, error) {
	return json.Marshal(Envelope{
		PayloadType: PayloadType, Payload: statement,
		Signatures: []Signature{{k.ID, ed25519.Sign(k.key, preAuth(PayloadType, statement))}},
	})
}
