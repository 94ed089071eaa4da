package workspace

import "crypto/sha256"

// Entries calls f for each path of Bytes, in the bytewise order of paths, with a digest of what is there: SHA-256 of
// its entry in Bytes, and of a link, after that, the entries of the file or of the files below the directory
// that it leads to. unknown says that a link leads to what is not in Bytes, by its text: nobody here knows what is
// there, not even whether it leads back in.
func (s *Snapshot) Entries(f func(path string, digest [sha256.Size]byte, unknown bool)) {
	all := entryList(s.entries)
	h := sha256.New()
	for i := range all {
		e := &all[i]
		if e.kind == kindRepository {
			continue
		}
		h.Reset()
		writeManifest(h, all[i:i+1])
		unknown := false
		if e.kind == kindLink {
			at, to, _, why := all.follow("", e.path)
			switch {
			case why != "":
				unknown = true
			case to != nil:
				writeManifest(h, []entry{*to})
			default:
				writeManifest(h, all.below(at))
			}
		}
		f(e.path, [sha256.Size]byte(h.Sum(nil)), unknown)
	}
}
