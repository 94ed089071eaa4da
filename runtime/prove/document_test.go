package prove

import (
	"bytes"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/control"
	"github.com/command-dialect/dialect/runtime/report"
)

// of is a document of lines with these outcomes.
func of(outcomes ...string) *Document {
	d := &Document{Script: "q.dlct", Of: len(outcomes)}
	for i, o := range outcomes {
		d.Lines = append(d.Lines, &Line{Line: i + 1, Text: "Test with go", Command: []string{"go", "test"}, Outcome: o})
		if o == string(control.Noticed) {
			d.Tested++
		}
	}
	return d
}

// The exit status is 0 only where each line with a control was tested and one was; what was not done, or is not recorded,
// never passes.
func TestStatus(t *testing.T) {
	noticed, none, unfinished := string(control.Noticed), string(control.None), string(control.Unfinished)
	for _, c := range []struct {
		name string
		d    *Document
		set  func(d *Document)
		want int
	}{
		{"tested", of(noticed), nil, 0},
		{"tested, and a line without a control", of(noticed, none), nil, 0},
		{"no line", of(), nil, 2},
		{"no control", of(none, none), nil, 2},
		{"blind", of(noticed, string(control.Blind)), nil, 1},
		{"lenient", of(noticed, string(control.Lenient)), nil, 1},
		{"unlike", of(noticed, string(control.Unlike)), nil, 1},
		{"unnamed", of(noticed, string(control.Unnamed)), nil, 1},
		{"not passed", of(noticed, NotPassed), nil, 1},
		{"not done", of(noticed, unfinished), nil, 2},
		{"not done, and one was blind", of(unfinished, string(control.Blind)), nil, 1},
		{"cut", of(noticed), func(d *Document) { d.Cut = "the time is over" }, 2},
		{"without receipts", of(noticed), func(d *Document) { d.Degraded = "the disk is full" }, 3},
		{"without receipts, and blind", of(string(control.Blind)), func(d *Document) { d.Degraded = "the disk is full" }, 1},
		{"a signal", of(noticed), func(d *Document) { d.Signal, d.Cut = "SIGINT", "SIGINT" }, 130},
	} {
		if c.set != nil {
			c.set(c.d)
		}
		if got := c.d.Status(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// The text says of each line what became of it, where it stands, and what was not done; nothing in it acts on a terminal.
func TestWriteText(t *testing.T) {
	write := func(d *Document) string {
		var b bytes.Buffer
		if err := d.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	one := of(string(control.Noticed))
	if got := write(one); strings.Contains(got, "go test") || !strings.Contains(got, "tested     Test with go (q.dlct:1)\n") || !strings.HasSuffix(got, "checks tested: 1 of 1\n") {
		t.Errorf("%q", got)
	}
	d := of(string(control.Noticed), string(control.Blind), NotPassed, string(control.None), string(control.Unfinished), string(control.Lenient), string(control.Unlike), string(control.Unnamed))
	d.Lines[0].Named = "--- FAIL: \x1b[31m" + strings.Repeat("é", 200)
	d.Lines[1].Detail = "broke a.go\nnext: curl evil"
	d.Tree, d.Place = &report.DocTree{Bytes: "0123456789abcdef"}, receipts.Unconfined.Name()
	d.Cut, d.Degraded = "the time is over", "no store"
	got := write(d)
	for _, want := range []string{
		"\nBLIND      ", "\nFAILED     ", "\nno control ", "\nNOT DONE   ", "\nLENIENT    ", "  it says: --- FAIL: ", strings.Repeat("é", 100), "é...\n",
		"checks tested: 1 of 8, as of tree 0123456789ab, " + receipts.Unconfined.String() + "\n", "not all was done: the time is over\n", "no receipts of it: no store\n",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no %q, or more than one, in\n%s", want, got)
		}
	}
	if strings.Count(got, "\nNOT TESTED ") != 2 || strings.Count(got, "  go test\n") != 8 || strings.Contains(got, "\x1b") || strings.Contains(got, "\nnext: curl") || strings.Contains(got, strings.Repeat("é", 161)) {
		t.Errorf("%s", got)
	}
	d.Tree.Tree = "fedcba9876543210"
	if got := write(d); !strings.Contains(got, "as of tree fedcba987654,") {
		t.Errorf("%s", got)
	}
}

// Of a long output its begin and its end are looked at, whatever the pieces in which it comes, and never more than that.
func TestOutput(t *testing.T) {
	for _, piece := range []int{1 << 10, 1<<20 + 7, 9 << 20} {
		var whole []byte
		for i := range 9 << 20 {
			whole = append(whole, byte('a'+i%23))
		}
		o := newOutput(nil)
		for at := 0; at < len(whole); at += piece {
			o.add(attempt.Output{Data: whole[at:min(at+piece, len(whole))]})
		}
		got := o.bytes()
		if len(got) != 2*maxOutput || !bytes.Equal(got[:maxOutput], whole[:maxOutput]) || !bytes.Equal(got[maxOutput:], whole[len(whole)-maxOutput:]) {
			t.Errorf("pieces of %d: %d bytes, not the begin and the end", piece, len(got))
		}
		if cap(o.tail) > 16*maxOutput {
			t.Errorf("pieces of %d: %d bytes are kept", piece, cap(o.tail))
		}
	}
	o := newOutput(nil)
	o.add(attempt.Output{Data: []byte("short")})
	if o.add(attempt.Output{Data: []byte("er")}); string(o.bytes()) != "shorter" {
		t.Errorf("%q", o.bytes())
	}
}
