package receipts

import (
	"strings"
	"testing"
)

// The words of a setup claim no more than it proves, and a receipt holds it whatever its size.
func TestSetupOfClean(t *testing.T) {
	s := &Setup{Commands: []Datum{Text("npm ci")}, Locks: []Datum{Text("package.json"), Text("package-lock.json")}, Key: Hash{1}, Result: Hash{2}}
	if text := s.String(); text != "set up by npm ci over the network, installed from package.json, package-lock.json" {
		t.Error(text)
	}
	s.Kept = true
	if text := s.String(); !strings.HasSuffix(text, ", kept since an earlier run") {
		t.Error(text)
	}
	open := *s
	open.Result, open.Kept = Hash{}, false
	if text := open.String(); text != "set up by npm ci over the network, which saw all files and this machine" {
		t.Error(text)
	}
	c := &Clean{Setup: s}
	for range 30 {
		s.Locks = append(s.Locks, Text(strings.Repeat("long", 20)))
	}
	d := c.copy()
	if err := d.check(); err != nil || len(d.Setup.Locks) != MaxLowered || d.Setup.LocksMore != 32-MaxLowered || len(s.Locks) != 32 {
		t.Errorf("%v, %d lock files and %d more", err, len(d.Setup.Locks), d.Setup.LocksMore)
	}
	if g, ok := (&Receipt{Clean: d}).Ground(); g != InClean || !ok {
		t.Errorf("it ran %s", g)
	}
	for name, bad := range map[string]Setup{
		"no command": {Locks: s.Locks[:1], Key: Hash{1}}, "no lock file": {Commands: s.Commands, Key: Hash{1}},
		"no key": {Commands: s.Commands, Locks: s.Locks[:1]}, "fewer than none": {Commands: s.Commands, Locks: s.Locks[:1], Key: Hash{1}, LocksMore: -1},
		"too many": {Commands: s.Commands, Locks: s.Locks, Key: Hash{1}},
	} {
		if (&Clean{Setup: &bad}).check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
