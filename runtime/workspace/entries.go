package workspace

import (
	"crypto/sha256"
	"iter"
)

// maxLed bounds how many entries are looked at behind links, and on the ways there (see maxWay), of all links together.
const maxLed = 4 << 20

// An Entry is a path of Bytes with what is there.
type Entry struct {
	Path string
	// Digest is SHA-256 of the entry in Bytes, and of a link, after that, of all that can be read through it: the entries of
	// the file or of the files below the directory that it leads to, and of what links among them lead to.
	Digest [sha256.Size]byte
	// Below is of a link which leads to a directory, else nil: the paths below that, relative to it. The second value
	// says that such a path is itself a link to a directory, of whose files Below has none.
	Below iter.Seq2[string, bool]
	// At is the path of that directory.
	At string
	// Unknown says that it is a link which leads to what is not in Bytes, by its text: nobody here knows what is there, not even
	// whether it leads back in. Also, that links lead to more than anybody looks at.
	Unknown bool
}

// Has reports whether a path from the root, with slashes, is one of the snapshot.
func (s *Snapshot) Has(rel string) bool { return s.entries.find(rel) != nil }

// Tracks reports whether it does, and the index held it.
func (s *Snapshot) Tracks(rel string) bool {
	e := s.entries.find(rel)
	return e != nil && e.tracked
}

// Entries calls f for each path of Bytes, in the bytewise order of paths.
func (s *Snapshot) Entries(f func(Entry)) {
	all := s.entries
	behind := make(map[string][sha256.Size]byte) // by where a link leads
	left := maxLed
	h := sha256.New()
	for i, e := range all {
		if e.kind == kindRepository {
			continue
		}
		h.Reset()
		writeManifest(h, all[i:i+1])
		x := Entry{Path: e.path}
		if e.kind == kindLink {
			at, to, why := all.lead(e, &left)
			if why == "" && to == nil {
				x.Below, x.At = all.inside(at), at
			}
			if x.Unknown = why != "" || left < 0; !x.Unknown {
				sum, known := behind[at]
				if !known {
					sum = all.behind(at, &left)
					behind[at] = sum
				}
				h.Write(sum[:])
				x.Unknown = left < 0
			}
		}
		h.Sum(x.Digest[:0])
		f(x)
	}
}

// inside goes through the paths below a directory, relative to it. The second value says that one is a link to a directory, or could be.
func (l entryList) inside(dir string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		list := l.below(dir)
		skip := len(dir) + 1
		if dir == "" {
			skip = 0
		}
		for i := range list {
			e := list[i]
			folder := false
			if e.kind == kindLink {
				left := maxWay
				_, to, why := l.lead(e, &left)
				folder = why == "" && to == nil || why == leadsFar
			}
			if e.kind != kindRepository && !yield(e.path[skip:], folder) {
				return
			}
		}
	}
}

// behind returns the digest of what can be read at a path, not that of a link: of the file, or of the files below the directory, and of
// what the links among them lead to. It takes what it looks at off left, and ends where nothing is left.
func (l entryList) behind(at string, left *int) (sum [sha256.Size]byte) {
	h := sha256.New()
	seen := map[string]bool{at: true}
	for queue := []string{at}; len(queue) > 0 && *left >= 0; queue = queue[1:] {
		list := l.below(queue[0])
		if e := l.find(queue[0]); e != nil && e.kind != kindRepository {
			list = entryList{e}
		}
		*left -= len(list) + 1
		writeManifest(h, list)
		for i := range list {
			if list[i].kind != kindLink {
				continue
			}
			if to, _, why := l.lead(list[i], left); why == "" && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	h.Sum(sum[:0])
	return sum
}
