package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// TestLineEnds: a file that is new or gone does not differ in its line ends, and nor does one that could not be compared or is of another project.
func TestLineEnds(t *testing.T) {
	ends := []Change{{Path: "a", Old: []byte("a\n"), New: []byte("a\r\n")}}
	for name, c := range map[string]struct {
		s    State
		want bool
	}{
		"line ends":                {State{Changes: ends}, true},
		"nothing":                  {State{}, false},
		"new":                      {State{Changes: []Change{{Path: "a", New: []byte{}}}}, false},
		"gone":                     {State{Changes: []Change{{Path: "a", Old: []byte{}}}}, false},
		"not compared":             {State{Unknown: "x", Changes: ends}, false},
		"of another matrix":        {State{Elsewhere: "x", Changes: ends}, false},
		"of another working tree":  {State{apart: "x", Changes: ends}, false},
		"and another file differs": {State{Changes: append(ends, Change{Path: "b", Old: []byte("x"), New: []byte("y")})}, false},
	} {
		if got := c.s.LineEnds(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestOnly has a state be of one complaint alone.
func TestOnly(t *testing.T) {
	if (State{}).OnlyPins() {
		t.Error("nothing differs, and only pins are said to")
	}
	if s := (State{apart: "x"}); !s.Apart() {
		t.Error("another working tree is the only complaint, and is not said to be")
	}
	if s := (State{Elsewhere: "x", apart: "y"}); s.Apart() {
		t.Error("another matrix is meant, and another working tree is said to be the only complaint")
	}
}

// TestHasUnknown: a baseline that cannot look may have the file.
func TestHasUnknown(t *testing.T) {
	b := &Baseline{look: func(string) (workspace.Found, error) { return workspace.Found{}, errors.New("x") }}
	if !b.Has("/a") {
		t.Error("it is said to have no such file")
	}
}

// TestMoved gives the project of a matrix with another name a root that it has, has not or may not have in the baseline.
func TestMoved(t *testing.T) {
	m := plan.Matrix{Root: "/r", Folder: "/r/a", Path: "/r/other.toml"}
	for name, c := range map[string]struct {
		root, has, unread string
		want              string
	}{
		"no routing.toml in the baseline":                       {want: "is new: it makes /r the root"},
		"none, at the root of its working tree":                 {root: "/r"},
		"the same root":                                         {has: "/r/routing.toml"},
		"one in the folder":                                     {has: "/r/a/routing.toml", want: "/r/a/routing.toml is gone"},
		"one in the folder, which nobody can look into":         {unread: "/r/a/routing.toml", want: "it is not known whether"},
		"one in the folder, and the root is its working tree's": {root: "/r", has: "/r/a/routing.toml", want: "is gone"},
	} {
		b := &Baseline{Kind: Base, Name: "base", root: c.root, look: func(path string) (workspace.Found, error) {
			if path == c.unread {
				return workspace.Found{}, errors.New("unread")
			}
			return workspace.Found{File: path == c.has}, nil
		}}
		if got := b.moved(m); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
