package prove

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/control"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/report"
)

// A Document says which checks of a script were tested.
type Document struct {
	Schema string `json:"schema"` // "dialect.prove/1"
	Script string `json:"script"`
	Nonce  string `json:"nonce"` // that chose what was broken
	// Tree is that of the snapshot that the lines ran on before anything was broken.
	Tree     *report.DocTree `json:"tree,omitempty"`
	Place    string          `json:"place,omitempty"` // "clean", "unconfined"
	Tested   int             `json:"tested"`
	Of       int             `json:"of"`
	Lines    []*Line         `json:"lines"`
	Cut      string          `json:"cut,omitempty"`      // why it ended before its end
	Signal   string          `json:"signal,omitempty"`   // that ended it
	Degraded string          `json:"degraded,omitempty"` // why there are no receipts of it
}

// A Line is one line of the script, or one member of a composite.
type Line struct {
	Line     int            `json:"line"`
	Step     string         `json:"step"`
	Text     string         `json:"text"`
	Binding  string         `json:"binding"`
	Command  []string       `json:"command"`
	Required bool           `json:"required,omitempty"`
	Outcome  string         `json:"outcome"`           // "noticed" is the one that counts; else "blind", "lenient", "unlike", "unnamed", "unfinished", "not_passed", "none"
	Detail   string         `json:"detail,omitempty"`  // one line: what was broken, and what became of it
	Control  string         `json:"control,omitempty"` // where it is written how the line is broken: "pack:go:17"
	Broke    *Broke         `json:"broke,omitempty"`
	Named    string         `json:"named,omitempty"` // the line of the output that names what was broken
	Tries    int            `json:"tries,omitempty"` // runs with something broken
	Receipt  *receipts.Hash `json:"receipt,omitempty"`
}

// A Broke says what was broken.
type Broke struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Test string `json:"test,omitempty"`
}

// NotPassed is the outcome of a line that did not pass before anything was broken.
const NotPassed = "not_passed"

func (d *Document) cut() bool { return d.Cut != "" }

// words are what the outcomes are called.
var words = map[string]string{
	string(control.Noticed): "tested", string(control.None): "no control", NotPassed: "FAILED", string(control.Unfinished): "NOT DONE",
	string(control.Blind): "BLIND", string(control.Lenient): "LENIENT", string(control.Unlike): "NOT TESTED", string(control.Unnamed): "NOT TESTED",
}

// WriteText writes the document for people.
func (d *Document) WriteText(w io.Writer) error {
	var b bytes.Buffer
	for _, l := range d.Lines {
		fmt.Fprintf(&b, "%-10s %s (%s:%d)\n", words[l.Outcome], diag.Printable(l.Text), diag.Name(d.Script), l.Line)
		if len(d.Lines) > 1 || l.Outcome != string(control.Noticed) {
			fmt.Fprintf(&b, "             %s\n", diag.Printable(strings.Join(l.Command, " ")))
		}
		if l.Detail != "" {
			fmt.Fprintf(&b, "             %s\n", diag.Printable(l.Detail))
		}
		if l.Named != "" {
			fmt.Fprintf(&b, "             it says: %s\n", diag.Printable(diag.Clip(l.Named, 160)))
		}
	}
	fmt.Fprintf(&b, "checks tested: %d of %d%s\n", d.Tested, d.Of, d.where())
	if d.Cut != "" {
		fmt.Fprintf(&b, "not all was done: %s\n", diag.Printable(d.Cut))
	}
	if d.Degraded != "" {
		fmt.Fprintf(&b, "DEGRADED: there are no receipts of it: %s\n", diag.Printable(d.Degraded))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// where says on which tree, and in what place.
func (d *Document) where() (text string) {
	if d.Tree != nil {
		name := d.Tree.Tree
		if name == "" {
			name = d.Tree.Bytes
		}
		text = ", as of tree " + name[:min(len(name), 12)]
	}
	if d.Place == receipts.Unconfined.Name() {
		text += ", " + receipts.Unconfined.String()
	}
	return text
}

// Status is the exit status: 0 if all that has a control was tested, and something was; 1 if a line did not notice or does not pass
// as it is, 2 if nothing was tested or not all was done, 3 if there are no receipts of it.
func (d *Document) Status() int {
	failed, done := false, d.Cut == ""
	for _, l := range d.Lines {
		switch l.Outcome {
		case string(control.Blind), string(control.Lenient), string(control.Unlike), string(control.Unnamed), NotPassed:
			failed = true
		case string(control.Unfinished):
			done = false
		}
	}
	switch {
	case d.Signal != "":
		return process.SignalStatus(d.Signal)
	case failed:
		return 1
	case !done || d.Tested == 0:
		return 2
	case d.Degraded != "":
		return 3
	}
	return 0
}
