package workspace

import "cmp"

// A ChangeKind says what became of a path.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed" // content, mode, kind, or what git makes of it
)

// A Change is a path that is not the same in two snapshots.
type Change struct {
	Path string // from the root, with slashes; a submodule or nested repository ends in one
	Kind ChangeKind
	// Untracked: neither index holds it. What is Added and Untracked is a file that a
	// tool may have left behind; all else is a change of what was there.
	Untracked bool
}

// Diff lists the paths that differ from a to b, sorted. It is empty if both
// snapshots have the same Tree and the same Bytes, and not empty if either differs
// while both have it.
func Diff(a, b *Snapshot) []Change {
	var list []Change
	add := func(e *entry, k ChangeKind, tracked bool) {
		path := e.path
		if e.kind == kindRepository {
			path += "/"
		}
		list = append(list, Change{Path: path, Kind: k, Untracked: !tracked})
	}
	trees := a.Tree != "" && b.Tree != ""
	x, y := a.entries, b.entries
	for len(x) > 0 && len(y) > 0 {
		switch c := cmp.Compare(x[0].path, y[0].path); {
		case c < 0:
			add(x[0], Removed, x[0].tracked)
			x = x[1:]
		case c > 0:
			add(y[0], Added, y[0].tracked)
			y = y[1:]
		default:
			if !same(x[0], y[0], trees) {
				add(y[0], Changed, x[0].tracked || y[0].tracked)
			}
			x, y = x[1:], y[1:]
		}
	}
	for i := range x {
		add(x[i], Removed, x[i].tracked)
	}
	for i := range y {
		add(y[i], Added, y[i].tracked)
	}
	return list
}

// same compares what goes into Bytes and, if both snapshots have one, Tree.
func same(a, b *entry, trees bool) bool {
	if a.kind != b.kind || a.size != b.size || a.sum != b.sum {
		return false
	}
	if a.kind == kindRepository {
		return a.id == b.id
	}
	return !trees || a.inTree == b.inTree && (!a.inTree || a.id == b.id)
}
