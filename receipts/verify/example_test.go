package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
)

// A bundle travels to a machine without the store. OfBundle authenticates it against its checkpoint; a changed byte is found.
func ExampleOfBundle() {
	text, id := exported()
	b, err := receipts.ParseBundle(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := verify.OfBundle(b, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := s.Entry(id)
	fmt.Println(e.Kind, err)

	b.Records[0].Body += " "
	_, err = verify.OfBundle(b, nil, nil)
	fmt.Println(err != nil)
	// Output:
	// trust <nil>
	// true
}

// exported returns a bundle with one record, and the id of the record.
func exported() (text []byte, id string) {
	dir, err := os.MkdirTemp("", "dialect-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "receipts.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	r, err := (&receipts.Trust{
		Version: 1, What: receipts.TrustMatrix, Matrix: receipts.Hash{1}, By: "ada",
		Timestamp: receipts.Time{Time: time.Date(2026, 2, 17, 16, 20, 0, 0, time.UTC)},
	}).Record()
	if err == nil {
		err = s.Append(ctx, r)
	}
	if err != nil {
		panic(err)
	}
	id = r.SHA().String()
	b, err := s.Bundle(ctx, nil, id)
	if err == nil {
		text, err = json.Marshal(b)
	}
	if err != nil {
		panic(err)
	}
	return text, id
}
