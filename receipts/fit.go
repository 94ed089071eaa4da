package receipts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds on the texts of a record that are no [Datum], in bytes.
const (
	MaxName = 256  // of a name: of a session, run, step, binding, key, consumer, ...
	MaxText = 4096 // of a text for people: a purpose, a reason
)

// Name returns s as records carry a name: as it stands, or, where it is longer than
// [MaxName] or not UTF-8, by digest:
//
//	"sha256:" || hex of SHA-256(s) || ":" || length of s in bytes, decimal
//
// Names are compared in this form. The same name has the same form in each record,
// whatever else that carries.
func Name(s string) string { return short(s, MaxName) }

func short(s string, limit int) string {
	if len(s) <= limit && utf8.ValidString(s) {
		return s
	}
	return fmt.Sprintf("sha256:%x:%d", sha256.Sum256([]byte(s)), len(s))
}

// names brings names into the form of [Name].
func names(ss ...*string) {
	for _, s := range ss {
		*s = Name(*s)
	}
}

// name returns a copy of t whose git tree is a name, as that of others is a hash.
func (t *Tree) name() *Tree {
	if t == nil {
		return nil
	}
	c := *t
	names(&c.Tree)
	return &c
}

// digestSize is the greatest size of a [Datum] that is carried by digest, as JSON: what
// is not larger is left as it is.
const digestSize = len(`{"bytes":9223372036854775807,"sha256":""}`) + 2*sha256.Size

// fit returns the record of v. Where its body would be larger than [MaxBody], texts are
// carried by digest, the longest first, and no more of them than it takes. If that is
// not enough the steps in last are taken, in order, until it is; each returns false when
// there is nothing more that it can do.
//
// The texts that others are compared by do not belong into texts: they are the same in
// two records, and so must be their form.
func fit(kind Kind, v body, texts []*Datum, last ...func() bool) (Record, error) {
	rec, size, err := recordOf(kind, v)
	if err != nil || size <= MaxBody {
		return rec, err
	}
	type text struct {
		datum *Datum
		size  int
	}
	var long []text
	for _, d := range texts {
		if n := d.size(); n > digestSize && d.SHA256.IsZero() {
			long = append(long, text{d, n})
		}
	}
	slices.SortStableFunc(long, func(a, b text) int { return b.size - a.size })
	for _, t := range long {
		*t.datum = t.datum.Digest()
		if size -= t.size - digestSize; size <= MaxBody {
			break
		}
	}
	for {
		if rec, size, err = recordOf(kind, v); err != nil || size <= MaxBody {
			return rec, err
		}
		for len(last) > 0 && !last[0]() {
			last = last[1:]
		}
		if len(last) == 0 {
			return Record{}, fmt.Errorf("%s: a body of %d bytes; at most %d", kind, size, MaxBody)
		}
	}
}

// once makes a step of [fit] that can be taken once.
func once(f func()) func() bool {
	done := false
	return func() bool {
		if done {
			return false
		}
		done = true
		f()
		return true
	}
}

// wholeArgv is the command of r as one Datum: by the digest that it has as [Receipt].Command,
// and the length of all its arguments together.
func (r *Receipt) wholeArgv() []Datum {
	var n int64
	for _, d := range r.Argv {
		n += max(d.Bytes, int64(len(d.Text)))
	}
	return []Datum{{SHA256: r.Command, Bytes: n}}
}

// wholeValues are the values of r as one without a name: their canonical JSON by digest.
func (r *Receipt) wholeValues() []Value {
	if len(r.Values) == 0 {
		return nil
	}
	text, _ := json.Marshal(r.Values)
	text, _ = Canonical(text) // it was encoded before
	return []Value{{Text: Text(string(text)).Digest()}}
}

// texts are those that r can be read without.
func (r *Receipt) texts() []*Datum {
	list := []*Datum{&r.Line.Text, &r.Line.File, &r.Result, &r.Effects}
	for i := range r.Argv {
		list = append(list, &r.Argv[i])
	}
	for i := range r.Values {
		list = append(list, &r.Values[i].Text)
	}
	if r.Executable != nil {
		list = append(list, &r.Executable.Path)
	}
	if r.Workspace != nil {
		for i := range r.Workspace.Changed {
			list = append(list, &r.Workspace.Changed[i])
		}
	}
	if r.Clean != nil {
		for i := range r.Clean.Lowered {
			list = append(list, &r.Clean.Lowered[i])
		}
		if s := r.Clean.Setup; s != nil {
			for i := range s.Commands {
				list = append(list, &s.Commands[i])
			}
			for i := range s.Locks {
				list = append(list, &s.Locks[i])
			}
		}
	}
	if r.Control != nil {
		list = append(list, &r.Control.Path, &r.Control.Test)
	}
	return append(list, r.Handle.texts()...)
}

// copy returns a copy of r whose texts can be replaced, with its names in their form.
func (r *Receipt) copy() *Receipt {
	c := *r
	names(&c.Kind, &c.Signal, &c.Signer, &c.Session, &c.Run, &c.Step, &c.Binding, &c.Nonce)
	c.Argv, c.Values = slices.Clone(r.Argv), slices.Clone(r.Values)
	for i := range c.Values {
		names(&c.Values[i].Name)
	}
	if r.Executable != nil {
		x := *r.Executable
		c.Executable = &x
	}
	if r.Workspace != nil {
		w := *r.Workspace
		w.Before, w.After, w.Changed = *w.Before.name(), w.After.name(), slices.Clone(w.Changed)
		c.Workspace = &w
	}
	c.Handle, c.Clean = r.Handle.copy(), r.Clean.copy()
	if r.Control != nil {
		x := *r.Control
		names(&x.Binding, &x.Nonce, &x.Outcome)
		c.Control = &x
	}
	return &c
}

func (h *Handle) copy() *Handle {
	if h == nil {
		return nil
	}
	c := *h
	return &c
}

func (h *Handle) texts() []*Datum {
	if h == nil {
		return nil
	}
	return []*Datum{&h.Route, &h.Type, &h.Operation, &h.Status, &h.ExternalID, &h.VerifiableURL, &h.Preview, &h.Error}
}

// checkNames checks the texts that are no [Datum].
func checkNames(names ...string) error { return checkTexts(MaxName, names...) }

func checkTexts(limit int, texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%.80q is not UTF-8", s)
		}
		if len(s) > limit {
			return fmt.Errorf("a text of %d bytes, %.40q...; at most %d", len(s), strings.ToValidUTF8(s, ""), limit)
		}
	}
	return nil
}
