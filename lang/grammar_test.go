package lang

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
)

// FuzzGrammar holds what is faster than participle, or says more, to participle's grammar, which defines the
// language: a line is a command only if one of its two rules takes the tokens; a line that both refuse has a fault
// that says why; and a command from the memo of lines is the one that the grammar would give.
func FuzzGrammar(f *testing.F) {
	seeds(f)
	for _, line := range []string{
		"Test with go", "Close issue a b=c \"d\" e=\"f\"", "Test \"a b\" with go x", "Test a b with go", "Test with with go", "Test x=1 with go",
		"Test with \"go\"", "Test with x=1", "land plane BD-1", "Close", "Test with", "Close issue x=1 with", "Test with go {x} }", "with go", "Test in-progress with go.",
	} {
		f.Add(line)
	}
	ofGrammar := []diag.Code{diag.ManyObjects, diag.Misplaced, diag.ExtraPreposition}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		src := diag.NewSource("x", []byte(text+"\n"+text)) // the second time lines come from the memo
		remembers := newParser(src)
		for n := 1; n <= src.Lines(); n++ {
			c := remembers.parseLine(n)
			fresh := newParser(src)
			fresh.crlf = true // which is reported once a file
			want := fresh.parseLine(n)
			if !reflect.DeepEqual(c, want) {
				t.Fatalf("line %d, %q:\n%s\nwithout the memo\n%s", n, src.Line(n), dump(c), dump(want))
			}
			if want == nil || len(fresh.tokens) == 0 {
				continue
			}
			_, notPhrase := parsePhrase(fresh)
			_, notBare := parseBare(fresh)
			inGrammar := notPhrase == nil || notBare == nil
			faults := slices.DeleteFunc(slices.Clone(fresh.list), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
			why := func(d diag.Diagnostic) bool { return slices.Contains(ofGrammar, d.Code) }
			switch {
			case !inGrammar && !want.Bad:
				t.Fatalf("line %d, %q, is a command, and the grammar refuses it: %v", n, src.Line(n), notPhrase)
			case !inGrammar && slices.ContainsFunc(faults, func(d diag.Diagnostic) bool { return strings.Contains(d.Message, "this is not a command") }):
				t.Fatalf("line %d, %q: the grammar refuses it, and nothing says why", n, src.Line(n))
			case inGrammar && slices.ContainsFunc(faults, why):
				t.Fatalf("line %d, %q, is in the grammar, and has %v", n, src.Line(n), faults)
			}
		}
	})
}
