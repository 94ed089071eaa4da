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

import _ "embed"

// File is vectors.json: "records", each with its name, expect, kind, body in base64, sha256 and leaf, and "roots", over
// the first 0, 1, 2, ... valid records.
//
//go:embed vectors.json
var File []byte
