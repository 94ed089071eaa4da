// Package vectors holds the conformance vectors of the receipt format: what an
// implementation of package receipts' format, in whatever language, must make of
// given bytes. check.py is one, in Python's standard library.
//
// Each record of vectors.json has a class, its "expect":
//
//	valid          the text is a record, with the given sha256 and leaf
//	not-canonical  the body is not canonical JSON as the format restricts it
//	not-a-record   the body is canonical JSON, and no record of its kind
//
// A reader that meets another class must fail: it is older than the vectors. The
// log is that of the valid records in order, with the root at each size.
package vectors

import (
	_ "embed"
	"encoding/json"
)

// File is vectors.json.
//
//go:embed vectors.json
var File []byte

// Vectors is the content of the file.
type Vectors struct {
	Records []Vector `json:"records"`
	Roots   []string `json:"roots"` // over the first 0, 1, 2, ... valid records, hex
}

// A Vector is one text and what is to be made of it.
type Vector struct {
	Name   string `json:"name"`
	Expect string `json:"expect"`
	Kind   string `json:"kind"`
	Body   []byte `json:"body"` // base64 in the file: a body need not be UTF-8
	SHA256 string `json:"sha256,omitempty"`
	Leaf   string `json:"leaf,omitempty"`
}

// Load parses the file.
func Load() (*Vectors, error) {
	v := new(Vectors)
	return v, json.Unmarshal(File, v)
}
