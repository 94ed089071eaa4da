package plan

// A Control says how to break a file of the project so that a check that works refuses it, and names what
// was broken. The zero Control breaks nothing.
type Control struct {
	// Files are patterns, as of [CheckInput], of the files one of which is broken. A name without pattern
	// characters of which there is no file is made.
	Files []string
	Text  string // what is put into the file; {nonce} in it stands for the nonce
	// After is a regular expression: the text is put after one of its matches, whose groups the text can use as
	// $1 or ${name}. The group name is that of the test that is broken. Empty: the text is put at the end.
	After  string
	Unlike string   // a regular expression that a refusal of another kind matches, such as of a syntax error
	Tools  []string // words that a command line of the tool has one after the other, such as "go vet"
	Origin Origin   // where it is written
}

// IsZero reports whether c breaks nothing.
func (c *Control) IsZero() bool { return len(c.Files) == 0 }
