package verify

import (
	"fmt"
	"path"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// Named is the file of a line, which its record names from the root of the project, as it is named where the reader
// stands.
func (q Query) Named(file string) string {
	switch {
	case !IsScript(file) || strings.HasPrefix(file, "/"):
		return file
	case q.Root != "":
		return path.Join(q.Root, file)
	case q.From == "":
		return file
	}
	up, down := strings.Split(q.From, "/"), strings.Split(file, "/")
	for len(up) > 0 && len(down) > 1 && up[0] == down[0] {
		up, down = up[1:], down[1:]
	}
	return strings.Repeat("../", len(up)) + strings.Join(down, "/")
}

// fromRoot is the file of the line of r from the root of the project that is asked about: r may be of another one.
func (q Query) fromRoot(r *receipts.Receipt) string {
	file := r.Line.File.Text
	if r.Place == q.Place || !IsScript(file) || path.IsAbs(file) {
		return file
	}
	file = path.Join(r.Place.Text, file) // from the root of the working tree
	if !q.Place.IsZero() {
		file = Query{From: q.Place.Text}.Named(file)
	}
	return file
}

// IsScript reports whether the file of a line is a script, and not standard input, -e or `dialect exec`.
func IsScript(file string) bool {
	return file != "" && file != "-" && file != "-e" && file != loneCommand
}

const loneCommand = "exec"

// describe names the line of r for messages.
func (q Query) describe(r *receipts.Receipt) string {
	if r.Binding == "" {
		return r.String()
	}
	file, text := q.Named(q.fromRoot(r)), r.Line.Text.Text
	if r.IsMember() {
		text += ": " + r.Binding
	}
	if file == "" || file == "-" || file == "-e" {
		return fmt.Sprintf("line %d (%s)", r.Line.Number, text)
	}
	return fmt.Sprintf("%s:%s (%s)", file, r.At(), text)
}
