package regular

import (
	"iter"
	"path/filepath"
	"strings"
)

// maxLinks is how many links a path may lead over, as for the kernel.
const maxLinks = 40

// A Way is the part of a path that is still to be walked, for callers that follow its links themselves: in a commit, a
// snapshot or an overlay, whose files the kernel does not know, and on the machine, where each directory is judged.
type Way struct {
	left  []string
	links int
}

// NewWay returns the way of a path with slashes.
func NewWay(path string) *Way { return &Way{left: strings.Split(path, "/")} }

// Next takes off the next name, which may be "..", and skips "" and ".". At the end it returns "".
func (w *Way) Next() string {
	for len(w.left) > 0 {
		name := w.left[0]
		w.left = w.left[1:]
		if name != "" && name != "." {
			return name
		}
	}
	return ""
}

// More reports whether the path goes on, be it with a slash alone.
func (w *Way) More() bool { return len(w.left) > 0 }

// Rest returns what is left of the path.
func (w *Way) Rest() string { return strings.Join(w.left, "/") }

// Follow puts the target of a link in the place of the name that [Way.Next] returned. It reports whether the path has not led
// over too many links.
func (w *Way) Follow(target string) bool {
	w.left = append(strings.Split(target, "/"), w.left...)
	w.links++
	return w.links <= maxLinks
}

// Above returns dir and the folders that it is in, the nearest first.
func Above(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			up := filepath.Dir(dir)
			if !yield(dir) || up == dir {
				return
			}
			dir = up
		}
	}
}
