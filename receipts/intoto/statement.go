// Package intoto exports receipts as in-toto attestations: a Statement v1 with a link
// v0.3 predicate, which is of the predicates that have a specification the one nearest
// to "a command ran"; signed, it is a DSSE envelope. In comes a record, out come bytes.
// The package is a leaf: nothing of dialect reads what it makes.
//
//	receipt                       statement
//	workspace (after, or before)  subject: "tree" {gitTree}, "workspace" {sha256}
//	stdout, stderr                subject, where there is no workspace; byproducts
//	binding, or step              predicate.name
//	argv                          predicate.command
//	workspace before, executable,
//	matrix, script                predicate.materials
//	exit code, status, duration,
//	run, session, line, nonce     predicate.byproducts
//	environment                   predicate.environment
//
// A gate has its tree as subject, its members as materials and no command.
//
// What a statement does not say: that its receipt is in a log, that it was not
// consumed, or that nothing contradicted it later. A signature is that of the
// exporter, not of the one who ran the command.
package intoto

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/command-dialect/dialect/receipts"
)

// Types of what is exported.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	LinkType      = "https://in-toto.io/attestation/link/v0.3"
	PayloadType   = "application/vnd.in-toto+json"
)

// A Descriptor is an in-toto ResourceDescriptor: of a subject or a material.
type Descriptor struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

// A Statement is an in-toto Statement v1 with a link.
type Statement struct {
	Type          string       `json:"_type"`
	Subject       []Descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     Link         `json:"predicate"`
}

// A Link is the predicate link v0.3.
type Link struct {
	Name        string         `json:"name"`
	Command     []string       `json:"command"`
	Materials   []Descriptor   `json:"materials"`
	Byproducts  map[string]any `json:"byproducts"`
	Environment map[string]any `json:"environment"`
}

// Export returns the statement of a record, which must be a receipt or a gate, as
// JSON.
func Export(rec receipts.Record) ([]byte, error) {
	v, err := rec.Parse()
	if err != nil {
		return nil, err
	}
	var s *Statement
	switch b := v.(type) {
	case *receipts.Receipt:
		s = receipt(b, rec.SHA())
	case *receipts.Gate:
		s = gate(b, rec.SHA())
	default:
		return nil, fmt.Errorf("a record of kind %s is not an attestation: only receipts and gates are", rec.Kind)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func sha256Of(name string, h receipts.Hash) Descriptor {
	return Descriptor{Name: name, Digest: map[string]string{"sha256": h.String()}}
}

// tree describes a state of the files.
func tree(t receipts.Tree) []Descriptor {
	var list []Descriptor
	if t.Tree != "" {
		list = append(list, Descriptor{Name: "tree", Digest: map[string]string{"gitTree": t.Tree}})
	}
	if !t.Bytes.IsZero() {
		list = append(list, sha256Of("workspace", t.Bytes))
	}
	return list
}

// text is a datum as a string: itself, or the JSON of its digest or base64.
func text(d receipts.Datum) string {
	b, err := json.Marshal(d)
	var s string
	if err == nil && json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(b)
}

func receipt(r *receipts.Receipt, sha receipts.Hash) *Statement {
	s := &Statement{Type: StatementType, PredicateType: LinkType}
	l := &s.Predicate
	if l.Name = r.Binding; l.Name == "" {
		l.Name = r.Step
	}
	for _, a := range r.Argv {
		l.Command = append(l.Command, text(a))
	}
	l.Materials = []Descriptor{}
	if w := r.Workspace; w != nil {
		s.Subject = tree(w.Held())
		l.Materials = append(l.Materials, tree(w.Before)...)
	} else {
		s.Subject = []Descriptor{sha256Of("stdout", r.Stdout.SHA256), sha256Of("stderr", r.Stderr.SHA256)}
	}
	if x := r.Executable; x != nil && !x.SHA256.IsZero() {
		l.Materials = append(l.Materials, Descriptor{Name: text(x.Path), Digest: map[string]string{"sha256": x.SHA256.String()}})
	}
	for _, m := range []struct {
		name string
		hash receipts.Hash
	}{{"matrix", r.Matrix}, {"script", r.Script}} {
		if !m.hash.IsZero() {
			l.Materials = append(l.Materials, sha256Of(m.name, m.hash))
		}
	}
	stream := func(o receipts.Stream) map[string]any {
		return map[string]any{"sha256": o.SHA256.String(), "bytes": o.Bytes}
	}
	l.Byproducts = map[string]any{
		"receipt": sha.String(), "status": string(r.Status), "started": r.Timestamp.String(), "duration-ns": r.DurationNS,
		"stdout": stream(r.Stdout), "stderr": stream(r.Stderr),
		"session": r.Session, "run": r.Run, "step": r.Step,
		"line": map[string]any{"file": text(r.Line.File), "number": r.Line.Number, "text": text(r.Line.Text)},
	}
	if r.ExitCode != nil {
		l.Byproducts["return-value"] = *r.ExitCode
	}
	for name, value := range map[string]string{"stop-reason": string(r.StopReason), "signal": r.Signal, "nonce": r.Nonce} {
		if value != "" {
			l.Byproducts[name] = value
		}
	}
	if t := r.Tests; t != nil {
		l.Byproducts["tests"] = t
	}
	if !r.Reused.IsZero() {
		l.Byproducts["reused"] = r.Reused.String()
	}
	if !r.HandedBack.IsZero() {
		l.Byproducts["handed-back"] = r.HandedBack.String()
	}
	l.Environment = map[string]any{}
	if !r.Environment.IsZero() {
		l.Environment["sha256"] = r.Environment.String()
	}
	return s
}

func gate(g *receipts.Gate, sha receipts.Hash) *Statement {
	s := &Statement{Type: StatementType, PredicateType: LinkType}
	l := &s.Predicate
	l.Name, l.Command, l.Environment = "gate", []string{}, map[string]any{}
	if g.Tree != nil {
		s.Subject = tree(*g.Tree)
	} else {
		s.Subject = []Descriptor{sha256Of("gate", sha)}
	}
	l.Materials = []Descriptor{}
	for _, m := range g.Members {
		l.Materials = append(l.Materials, sha256Of("receipt", m))
	}
	if !g.Matrix.IsZero() {
		l.Materials = append(l.Materials, sha256Of("matrix", g.Matrix))
	}
	if !g.Script.IsZero() {
		l.Materials = append(l.Materials, sha256Of("script", g.Script))
	}
	l.Byproducts = map[string]any{
		"gate": sha.String(), "id": receipts.GateID(sha), "final": g.Final, "timestamp": g.Timestamp.String(),
		"session": g.Session, "run": g.Run, "policy": g.Policy, "level": g.Level, "required": g.Required,
	}
	if g.Nonce != "" {
		l.Byproducts["nonce"] = g.Nonce
	}
	return s
}
