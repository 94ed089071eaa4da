package receipts

import (
	"strings"
	"testing"
)

// A receipt of a control stands for no command but its own, and succeeds only if the check noticed.
func TestControl(t *testing.T) {
	command := CommandHash([]string{"pytest", "-q"})
	good := func() *Receipt {
		r := &Receipt{
			Version: 1, Kind: "process", Attempt: 1, Status: Succeeded, Session: "s", Run: "r", Step: "1", Line: Line{Number: 1},
			Command: CommandHash(ControlArgv(command)), Control: &Control{Binding: "test_pytest", Command: command, Path: Text("a.py"), Line: 3, Nonce: "n", Outcome: Noticed},
		}
		for _, a := range ControlArgv(command) {
			r.Argv = append(r.Argv, Text(a))
		}
		return r
	}
	rec, err := good().Record()
	if err != nil {
		t.Fatal(err)
	}
	v, err := Record{Kind: rec.Kind, Body: rec.Body}.Parse()
	if err != nil || v.(*Receipt).Control.Command != command {
		t.Fatalf("%v, %v", v, err)
	}
	for name, change := range map[string]func(r *Receipt){
		"a binding":         func(r *Receipt) { r.Binding = "test_pytest" },
		"the command":       func(r *Receipt) { r.Command, r.Argv = command, []Datum{Text("pytest"), Text("-q")} },
		"of another":        func(r *Receipt) { r.Control.Command = Hash{1} },
		"failed, noticed":   func(r *Receipt) { r.Status = StatusFailed },
		"succeeded, blind":  func(r *Receipt) { r.Control.Outcome = "blind" },
		"no line":           func(r *Receipt) { r.Control.Line = 0 },
		"less than nothing": func(r *Receipt) { r.Control.Places = -1 },
	} {
		r := good()
		if change(r); r.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	r := good()
	r.Control.Nonce, r.Control.Outcome, r.Status = strings.Repeat("n", 1000), "blind", StatusFailed
	if _, err := r.Record(); err != nil {
		t.Errorf("long names: %v", err)
	}
}
