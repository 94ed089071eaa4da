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

// A Key is an Ed25519 key with its name and hash in the form of
// golang.org/x/mod/sumdb/note: "NAME+HASH" is its id.
type Key struct {
	ID     string
	sign   func([]byte) []byte
	public ed25519.PublicKey
}

// algEd25519 is the first byte of a key's data in note.
const algEd25519 = 1

// SigningKey reads a private key, "PRIVATE+KEY+NAME+HASH+KEY".
func SigningKey(private string) (*Key, error) {
	public, err := receipts.PublicKey(private)
	if err != nil {
		return nil, err
	}
	k, err := PublicKey(public)
	if err != nil {
		return nil, err
	}
	fields := bytes.SplitN([]byte(private), []byte("+"), 5)
	seed, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(fields[len(fields)-1])))
	if err != nil || len(seed) != 1+ed25519.SeedSize || seed[0] != algEd25519 {
		return nil, errors.New("it is no Ed25519 key")
	}
	key := ed25519.NewKeyFromSeed(seed[1:])
	k.sign = func(msg []byte) []byte { return ed25519.Sign(key, msg) }
	return k, nil
}

// PublicKey reads a public key, "NAME+HASH+KEY".
func PublicKey(public string) (*Key, error) {
	public = string(bytes.TrimSpace([]byte(public)))
	v, err := note.NewVerifier(public)
	if err != nil {
		return nil, fmt.Errorf("it is not a public key of the form NAME+HASH+KEY: %w", err)
	}
	fields := bytes.SplitN([]byte(public), []byte("+"), 3)
	data, err := base64.StdEncoding.DecodeString(string(fields[2]))
	if err != nil || len(data) != 1+ed25519.PublicKeySize || data[0] != algEd25519 {
		return nil, errors.New("it is no Ed25519 key")
	}
	return &Key{ID: fmt.Sprintf("%s+%08x", v.Name(), v.KeyHash()), public: data[1:]}, nil
}

// Public returns the raw public key.
func (k *Key) Public() ed25519.PublicKey { return k.public }

// Sign returns the envelope of a statement as JSON.
func (k *Key) Sign(statement []byte) ([]byte, error) {
	if k.sign == nil {
		return nil, errors.New("it is a public key: only a private one signs")
	}
	return json.Marshal(Envelope{
		PayloadType: PayloadType, Payload: statement,
		Signatures: []Signature{{k.ID, k.sign(preAuth(PayloadType, statement))}},
	})
}

// Open returns the statement in an envelope that one of keys has signed.
func Open(envelope []byte, keys ...*Key) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(envelope))
	d.DisallowUnknownFields()
	var e Envelope
	if err := d.Decode(&e); err != nil {
		return nil, fmt.Errorf("it is no envelope: %w", err)
	}
	if d.More() {
		return nil, errors.New("something follows the envelope")
	}
	if e.PayloadType != PayloadType {
		return nil, fmt.Errorf("its payload is a %q, not a %q", e.PayloadType, PayloadType)
	}
	msg := preAuth(e.PayloadType, e.Payload)
	for _, s := range e.Signatures {
		for _, k := range keys {
			if ed25519.Verify(k.public, msg, s.Sig) {
				return e.Payload, nil
			}
		}
	}
	return nil, errors.New("none of the keys has signed it")
}
