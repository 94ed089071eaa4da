package verify

import (
	"fmt"
	"maps"

	"golang.org/x/mod/sumdb/tlog"
)

// An Edge holds the stored hashes of a log, by index, that later ones and the root are made of. It is a
// [tlog.HashReader] of those.
type Edge map[int64]tlog.Hash

// ReadHashes implements [tlog.HashReader].
func (e Edge) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, idx := range indexes {
		h, ok := e[idx]
		if !ok {
			return nil, fmt.Errorf("no hash %d", idx)
		}
		out[i] = h
	}
	return out, nil
}

// Add enters the stored hashes that the record at seq, the next one, completes, and now and then drops
// those that no later one is made of.
func (e Edge) Add(seq int64, leaf tlog.Hash) error {
	hs, err := tlog.StoredHashesForRecordHash(seq, leaf, e)
	if err != nil {
		return err
	}
	at := tlog.StoredHashIndex(0, seq)
	for i, h := range hs {
		e[at+int64(i)] = h
	}
	if len(e) < 256 {
		return nil
	}
	needed := make(map[int64]bool)
	for _, idx := range EdgeOf(seq + 1) {
		needed[idx] = true
	}
	maps.DeleteFunc(e, func(idx int64, _ tlog.Hash) bool { return !needed[idx] })
	return nil
}

// EdgeOf returns the indexes of the roots of the complete subtrees of a log of n records, from the
// largest on.
func EdgeOf(n int64) (list []int64) {
	for level := 62; level >= 0; level-- {
		if size := int64(1) << level; n&size != 0 {
			list = append(list, tlog.StoredHashIndex(level, (n>>level)-1))
		}
	}
	return list
}
