package lang_test

import (
	"fmt"
	"os"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
)

// Parse reads a script: the commands in source order, and what is wrong with the text.
func ExampleParse() {
	src := diag.NewSource("quality.dlct", []byte("Test with pytest\nClose issue id=BD-12\nCheck with\n"))
	file, found := lang.Parse(src)
	for _, c := range file.Commands {
		if !c.Bad {
			fmt.Printf("%s %s, %d arguments\n", c.Verb.Key(), c.Noun.Key(), len(c.Arguments))
		}
	}
	_ = diag.WriteText(os.Stdout, found, diag.TextOptions{Sources: func(string) *diag.Source { return src }})
	// Output:
	// test pytest, 0 arguments
	// close issue, 1 arguments
	// quality.dlct:3:7: error: a noun is missing after "with" [missing-noun]
	//   3 | Check with
	//     |       ^^^^
	//   hint: a line is a verb, a preposition and a noun: Test with pytest
}

// Format returns the canonical form. What models add to plain lines is left out, with a warning for each.
func ExampleFormat() {
	text, found := lang.Format(diag.NewSource("reply.dlct", []byte("- test  with pytest.\n")))
	fmt.Print(string(text))
	fmt.Println(found.Count(diag.Error), "errors")
	// Output:
	// Test with pytest
	// 0 errors
}
