package receipts_test

import (
	"fmt"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A record is its canonical bytes, and its identity is their hash: anything that hashes the same text gets the same name.
func ExampleConsumption_Record() {
	spent, err := receipts.ParseHash("5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9")
	if err != nil {
		fmt.Println(err)
		return
	}
	c := &receipts.Consumption{
		Version: 1, Consumed: []receipts.Hash{spent}, By: "boss",
		Timestamp: receipts.Time{Time: time.Date(2026, 2, 17, 16, 20, 0, 0, time.UTC)},
	}
	r, err := c.Record()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(r.Body))
	fmt.Println(r.SHA())
	// Output:
	// {"by":"boss","consumed":["5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"],"timestamp":"2026-02-17T16:20:00.000000000Z","version":1}
	// ec42001940889ba091a9ef2fbd909bd8098a61efb805f5bc418b775f154c2a8a
}

// Canonical accepts a JSON text and returns its only form.
func ExampleCanonical() {
	text, err := receipts.Canonical([]byte(`{ "b": 1, "a": "A" }`))
	fmt.Println(string(text), err)
	_, err = receipts.Canonical([]byte(`{"a": 1.5}`))
	fmt.Println(err)
	// Output:
	// {"a":"A","b":1} <nil>
	// byte 6: "1.5" is not an integer of at most 53 bits
}
