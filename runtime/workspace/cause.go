package workspace

import (
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Cause is a kind of [Difference] that has a remedy of its own.
type Cause uint8

// The causes. Removing or committing what differs helps against [Unlike] alone.
const (
	Unlike        Cause = iota // any other
	NotCheckedOut              // the folder of a submodule is empty
	LeftOut                    // a sparse checkout has not the file
	LineEnds                   // git would write the file with other line ends
	Converted                  // an attribute converts the file each time
	Pointer                    // git-lfs has not fetched the content
	LeftCache                  // a cache stood there before the run
)

// The reasons that have a cause, or how they begin.
const (
	notCheckedOut = "a submodule that is not checked out"
	leftOut       = "a sparse checkout left it out: nothing has seen it"
	pointerAlone  = "an LFS pointer whose content is not checked out"
	checkoutEnds  = "eol=crlf: "
	otherEnds     = "its blob has other line ends than were read: "
	aCache        = "a cache" + remedy
)

// Cause returns the cause of d, which follows from Why.
func (d Difference) Cause() Cause {
	for _, c := range []struct {
		begin string
		cause Cause
	}{
		{notCheckedOut, NotCheckedOut}, {leftOut, LeftOut}, {pointerAlone, Pointer}, {checkoutEnds, LineEnds}, {otherEnds, LineEnds}, {aCache, LeftCache},
		{"working-tree-encoding=", Converted}, {"ident: ", Converted}, {"filter=", Converted},
	} {
		if strings.HasPrefix(d.Why, c.begin) {
			return c.cause
		}
	}
	return Unlike
}

// ParseDifference parses what [Difference.String] returned, as a gate has recorded it. A path that has a colon and a space, and no cause,
// may be cut short.
func ParseDifference(text string) Difference {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		if path, err := strconv.Unquote(quoted); err == nil && git.Display(path) == quoted {
			return Difference{path, strings.TrimPrefix(text[len(quoted):], ": ")}
		}
	}
	for i := range text {
		if !strings.HasPrefix(text[i:], ": ") {
			continue
		}
		if d := (Difference{text[:i], text[i+len(": "):]}); d.Cause() != Unlike {
			return d
		}
	}
	path, why, _ := strings.Cut(text, ": ")
	return Difference{path, why}
}
