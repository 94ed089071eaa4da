package intoto

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/command-dialect/dialect/receipts"
)

func records(t testing.TB) []receipts.Record {
	t.Helper()
	when := receipts.Time{Time: time.Date(2026, 2, 17, 16, 20, 0, 1, time.UTC)}
	argv := []string{"python3", "-m", "pytest", "\xff", "<&>"}
	code := 0
	r := &receipts.Receipt{
		Version: 1, Command: receipts.CommandHash(argv), Kind: "process", Attempt: 1, Timestamp: when, DurationNS: 5, Status: receipts.Succeeded, ExitCode: &code,
		Session: "s", Run: "r-1", Step: "3", Binding: "test_pytest", Line: receipts.Line{File: receipts.Text("q.dlct"), Number: 3, Text: receipts.Text("Test with pytest")},
		Executable: &receipts.File{Path: receipts.Text("/usr/bin/python3"), SHA256: receipts.Hash{1}}, Environment: receipts.Hash{2}, Matrix: receipts.Hash{3}, Script: receipts.Hash{4},
		Workspace: &receipts.Workspace{Before: receipts.Tree{Tree: strings.Repeat("a", 40), Bytes: receipts.Hash{5}}}, Tests: &receipts.Tests{Passed: 3},
	}
	for _, a := range argv {
		r.Argv = append(r.Argv, receipts.Text(a))
	}
	bare := *r
	bare.Workspace, bare.ExitCode, bare.Signal, bare.Status, bare.Binding = nil, nil, "SIGKILL", receipts.StatusFailed, ""
	g := &receipts.Gate{
		Version: 1, Run: "r-1", Session: "s", Timestamp: when, Final: true, Members: []receipts.Hash{{7}, {8}}, Policy: "unpinned",
		Tree: &receipts.Tree{Tree: strings.Repeat("a", 40), Bytes: receipts.Hash{5}},
	}
	var list []receipts.Record
	for _, b := range []interface {
		Record() (receipts.Record, error)
	}{r, &bare, g} {
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rec)
	}
	return list
}

func TestExport(t *testing.T) {
	for _, rec := range records(t) {
		text, err := Export(rec)
		if err != nil {
			t.Fatal(err)
		}
		var s Statement
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil || d.More() || s.Type != StatementType || s.PredicateType != LinkType || len(s.Subject) == 0 {
			t.Fatalf("%v: %s", err, text)
		}
		for _, x := range slices.Concat(s.Subject, s.Predicate.Materials) {
			if len(x.Digest) != 1 {
				t.Errorf("%+v has no digest", x)
			}
		}
		if !strings.Contains(string(text), rec.SHA().String()) {
			t.Errorf("%s does not name its record", text)
		}
	}
	s, err := Export(records(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	var link struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			Name       string
			Command    []string
			Byproducts map[string]any
		}
	}
	if err := json.Unmarshal(s, &link); err != nil {
		t.Fatal(err)
	}
	if link.Subject[0].Digest["gitTree"] != strings.Repeat("a", 40) || link.Predicate.Name != "test_pytest" || link.Predicate.Byproducts["return-value"] != 0.0 ||
		!slices.Equal(link.Predicate.Command, []string{"python3", "-m", "pytest", `{"base64":"/w=="}`, "<&>"}) {
		t.Errorf("%s", s)
	}
	run, err := (&receipts.Run{Version: 1, Run: "r", Session: "s", Planned: []receipts.Planned{}}).Record()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Export(run); err == nil {
		t.Error("the start of a run was exported")
	}
}

// A verifierOf is a public key as securesystemslib takes it.
type verifierOf struct {
	id  string
	key ed25519.PublicKey
}

func (v verifierOf) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(v.key, data, sig) {
		return errors.New("the signature does not hold")
	}
	return nil
}
func (v verifierOf) KeyID() (string, error)   { return v.id, nil }
func (v verifierOf) Public() crypto.PublicKey { return v.key }

// verifier makes one of a public key, "NAME+HASH+KEY".
func verifier(t *testing.T, public string) verifierOf {
	t.Helper()
	fields := strings.SplitN(public, "+", 3)
	data, err := base64.StdEncoding.DecodeString(fields[2])
	if err != nil || len(data) != 1+ed25519.PublicKeySize {
		t.Fatalf("%q: %v", public, err)
	}
	return verifierOf{fields[0] + "+" + fields[1], data[1:]}
}

// open opens an envelope with the implementation of securesystemslib.
func open(t testing.TB, key verifierOf, envelope []byte) ([]byte, error) {
	t.Helper()
	v, err := dsse.NewEnvelopeVerifier(key)
	if err != nil {
		t.Fatal(err)
	}
	var e dsse.Envelope
	if err := json.Unmarshal(envelope, &e); err != nil {
		return nil, err
	}
	if _, err := v.Verify(t.Context(), &e); err != nil {
		return nil, err
	}
	if e.PayloadType != PayloadType {
		return nil, errors.New("another type")
	}
	return e.DecodeB64Payload()
}

// The envelope verifies with another implementation, and no byte of it can be flipped.
func TestEnvelope(t *testing.T) {
	private, public, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	key, err := SigningKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pub := verifier(t, public)
	if pub.id != key.ID {
		t.Fatalf("%s is not %s", pub.id, key.ID)
	}
	statement, err := Export(records(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := key.Sign(statement)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, pub, envelope); err != nil || string(got) != string(statement) {
		t.Errorf("%q, %v", got, err)
	}
	var e Envelope
	if err := json.Unmarshal(envelope, &e); err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		bad, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, pub, bad); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	for what, p := range map[string][]byte{"payload": e.Payload, "signature": e.Signatures[0].Sig} {
		for i := range p {
			p[i] ^= 1
			refused(fmt.Sprintf("a flipped byte %d of the %s", i, what))
			p[i] ^= 1
		}
	}
	e.PayloadType = "application/vnd.in-toto+jsom"
	refused("another type")
	_, foreign, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, verifier(t, foreign), envelope); err == nil {
		t.Error("another key of that name opens it")
	}
	for _, bad := range []string{"", public, strings.Replace(private, "+boss+", "+other+", 1), private + "x"} {
		if _, err := SigningKey(bad); err == nil {
			t.Errorf("%.40q is a signing key", bad)
		}
	}
}
