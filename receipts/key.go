package receipts

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// GenerateKey makes a signing key and its public key for name; [CheckKeyName] says which can be one.
func GenerateKey(name string) (private, public string, err error) {
	if err := CheckKeyName(name); err != nil {
		return "", "", err
	}
	return note.GenerateKey(rand.Reader, name)
}

// privatePrefix begins the text of a signing key.
const privatePrefix = "PRIVATE+KEY+"

// publicOf returns the public key of a signing key.
func publicOf(private string) (string, error) {
	rest, ok := strings.CutPrefix(private, privatePrefix)
	parts := strings.SplitN(rest, "+", 3)
	if !ok || len(parts) != 3 {
		return "", errors.New("it is not a signing key")
	}
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return "", errors.New("it is not a signing key")
	}
	public := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	return note.NewEd25519VerifierKey(parts[0], public)
}
