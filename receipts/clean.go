package receipts

import (
	"errors"
	"fmt"
)

// A Clean says that a command ran in a checkout of exactly the tree before it, apart from the working
// tree: no ignored file, no edit and no configuration around the project had a say.
type Clean struct {
	// Unconfined says that the checkout was a folder of its own, from which absolute paths lead to the machine.
	Unconfined bool `json:"unconfined,omitempty"`
	// Lowered is what the command saw of the machine all the same that its user can write: installed
	// packages, tools. With any of it the claim is no more than that of a command in the working tree itself.
	Lowered     []Datum `json:"lowered,omitempty"` // at most MaxLowered of them
	LoweredMore int     `json:"lowered_more,omitempty"`
	// Setup is what was installed in the checkout beforehand; nil for nothing.
	Setup *Setup `json:"setup,omitempty"`
}

// A Setup says what commands of the matrix installed in a clean checkout before its command ran. In a confined checkout they saw the files in
// Locks, no other file of the tree, and the network. The result matches the lock files only as far as the commands verify it against them. A
// result that was Kept comes from an earlier run, and a digest that lies beside it says that it is unchanged; that digest is signed if the
// store's records are.
type Setup struct {
	Commands  []Datum `json:"commands"` // as the matrix has them, at most MaxLowered of them
	Locks     []Datum `json:"locks"`    // files of the project, at most MaxLowered of them
	LocksMore int     `json:"locks_more,omitempty"`
	Key       Hash    `json:"key"`             // of what decided: see package cleanroom
	Result    Hash    `json:"result,omitzero"` // of what was installed; zero in a checkout that is not confined
	Kept      bool    `json:"kept,omitempty"`
}

// String says in words what was installed, and what that rests on.
func (s *Setup) String() string {
	text := "set up by " + ListPaths(dataTexts(s.Commands)) + " over the network, "
	if s.Result.IsZero() {
		return text + "which saw all files and this machine"
	}
	text += "installed from " + ListPaths(dataTexts(s.Locks))
	if s.Kept {
		text += ", kept since an earlier run"
	}
	return text
}

func dataTexts(list []Datum) (texts []string) {
	for _, d := range list {
		texts = append(texts, d.Text)
	}
	return texts
}

// MaxLowered is the greatest number of names in [Clean.Lowered].
const MaxLowered = 20

func (c *Clean) check() error {
	if c != nil && (len(c.Lowered) > MaxLowered || c.LoweredMore < 0 || c.LoweredMore > 0 && len(c.Lowered) == 0) {
		return errors.New("a list of what lowers a clean checkout that cannot be")
	}
	if c == nil || c.Setup == nil {
		return nil
	}
	if s := c.Setup; len(s.Commands) == 0 || len(s.Commands) > MaxLowered || len(s.Locks) == 0 || len(s.Locks) > MaxLowered || s.LocksMore < 0 || s.Key.IsZero() {
		return errors.New("a setup of a clean checkout that cannot be")
	}
	return nil
}

// copy returns a copy whose texts can be replaced, with the names that find room.
func (c *Clean) copy() *Clean {
	if c == nil {
		return nil
	}
	d := *c
	n := min(len(c.Lowered), MaxLowered)
	d.Lowered, d.LoweredMore = append([]Datum(nil), c.Lowered[:n]...), max(c.LoweredMore, 0)+len(c.Lowered)-n
	if n == 0 {
		d.LoweredMore = 0
	}
	if c.Setup != nil {
		s := *c.Setup
		n := min(len(s.Locks), MaxLowered)
		s.Commands = append([]Datum(nil), s.Commands[:min(len(s.Commands), MaxLowered)]...)
		s.Locks, s.LocksMore = append([]Datum(nil), s.Locks[:n]...), max(s.LocksMore, 0)+len(c.Setup.Locks)-n
		d.Setup = &s
	}
	return &d
}

// A Ground says where commands ran, from the least claim to the greatest.
type Ground int

// The grounds.
const (
	InPlace    Ground = iota // in the working tree itself
	Unconfined               // in a checkout in a folder of its own
	InClean                  // in a clean checkout, confined to it
)

// groundNames are the names of grounds in records and documents.
var groundNames = [...]string{"", "unconfined", "clean"}

// Name is the name of g in records and documents; empty for InPlace.
func (g Ground) Name() string { return groundNames[g] }

// String says where, in words; empty for InPlace.
func (g Ground) String() string {
	switch g {
	case InClean:
		return "in a clean checkout"
	case Unconfined:
		return "clean (unconfined)"
	}
	return ""
}

// ParseGround is the opposite of [Ground.Name].
func ParseGround(name string) (Ground, error) {
	for g, n := range groundNames {
		if n == name {
			return Ground(g), nil
		}
	}
	return InPlace, fmt.Errorf("%q does not say where commands ran", name)
}

// Ground returns where the command of r ran. ok is false for what looks at no file, and so says nothing.
func (r *Receipt) Ground() (g Ground, ok bool) {
	switch c := r.Clean; {
	case r.Kind == "builtin":
		return InClean, false
	case c == nil, len(c.Lowered) > 0:
		return InPlace, true
	case c.Unconfined:
		return Unconfined, true
	}
	return InClean, true
}

// GroundOf returns the least of where the commands of some entries ran. Of a gate among them its own word
// counts. Where no entry says anything it is InPlace.
func GroundOf(entries []Entry) Ground {
	least, said := InClean, false
	for i := range entries {
		v, _ := entries[i].Parse()
		g, ok := InPlace, true
		switch b := v.(type) {
		case *Receipt:
			g, ok = b.Ground()
		case *Gate:
			g, _ = ParseGround(b.Clean)
		}
		if ok {
			least, said = min(least, g), true
		}
	}
	if !said {
		return InPlace
	}
	return least
}
