package intoto

import (
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/mod/sumdb/note"

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
		s, err := parseStatement(text)
		if err != nil {
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

// parseStatement parses a statement of a link. It must have the types that this
// package writes, and a subject with a digest.
func parseStatement(text []byte) (*Statement, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	s := new(Statement)
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("it is not a statement of a link: %w", err)
	}
	if d.More() {
		return nil, errors.New("something follows the statement")
	}
	if s.Type != StatementType || s.PredicateType != LinkType {
		return nil, fmt.Errorf("it is a %q with a %q", s.Type, s.PredicateType)
	}
	if len(s.Subject) == 0 {
		return nil, errors.New("it has no subject")
	}
	for _, x := range s.Subject {
		if len(x.Digest) == 0 {
			return nil, fmt.Errorf("the subject %q has no digest", x.Name)
		}
	}
	return s, nil
}

// A verifierOf is a key as securesystemslib takes it.
type verifierOf struct{ note.Verifier }

func (v verifierOf) Verify(_ context.Context, data, sig []byte) error {
	if !v.Verifier.Verify(data, sig) {
		return errors.New("the signature does not hold")
	}
	return nil
}
func (v verifierOf) KeyID() (string, error) {
	return fmt.Sprintf("%s+%08x", v.Name(), v.KeyHash()), nil
}
func (v verifierOf) Public() crypto.PublicKey { return nil }

// open opens an envelope with the implementation of securesystemslib.
func open(t testing.TB, public string, envelope []byte) ([]byte, error) {
	t.Helper()
	key, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	v, err := dsse.NewEnvelopeVerifier(verifierOf{key})
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
	statement, err := Export(records(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := key.Sign(statement)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, public, envelope); err != nil || string(got) != string(statement) {
		t.Errorf("%q, %v", got, err)
	}
	var e Envelope
	if err := json.Unmarshal(envelope, &e); err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		bad, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, public, bad); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	flip := func(what string, p []byte) {
		for i := range p {
			p[i] ^= 1
			refused(fmt.Sprintf("a flipped byte %d of the %s", i, what))
			p[i] ^= 1
		}
	}
	flip("payload", e.Payload)
	flip("signature", e.Signatures[0].Sig)
	e.PayloadType = "application/vnd.in-toto+jsom"
	refused("another type")
	_, foreign, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, foreign, envelope); err == nil {
		t.Error("another key of that name opens it")
	}
	if _, err := SigningKey(public); err == nil {
		t.Error("a public key signs")
	}
}
