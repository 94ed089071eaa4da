package builtin

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
)

// Validate says yes only where each receipt that is named is there, intact and of a success.
func TestValidate(t *testing.T) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "receipts.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(n int, status receipts.Status, code int) string {
		r := &receipts.Receipt{
			Version: 1, Run: "r-1", Session: "s", Step: "1", Kind: "process", Attempt: 1, DurationNS: 1, Status: status, ExitCode: &code,
			Timestamp: receipts.Time{Time: time.Unix(1_800_000_000+int64(n), 0)}, Argv: []receipts.Datum{receipts.Text("x")}, Command: receipts.CommandHash([]string{"x"}),
			Line: receipts.Line{File: receipts.Text("q.dlct"), Number: 1, Text: receipts.Text("Test with x")},
		}
		rec, err := r.Record()
		if err == nil {
			err = s.Append(ctx, rec)
		}
		if err != nil {
			t.Fatal(err)
		}
		return rec.SHA().String()
	}
	one, two, failed := add(1, receipts.Succeeded, 0), add(2, receipts.Succeeded, 0), add(3, receipts.StatusFailed, 1)
	missing := receipts.Hash{1}.String()
	for _, c := range []struct {
		name string
		v    Validator
		ids  []string
		ok   bool
		text string // words of it
	}{
		{"one", s, []string{one}, true, "1 valid"},
		{"a prefix", s, []string{one[:12]}, true, "1 valid"},
		{"two", s, []string{one, two}, true, "2 valid"},
		{"a failure", s, []string{failed}, false, ""},
		{"a failure among successes", s, []string{one, failed, two}, false, ""},
		{"one that is not there", s, []string{one, missing}, false, ""},
		{"what is not an id", s, []string{"../x"}, false, ""},
		{"nothing", s, nil, false, "no receipt was named"},
		{"nothing, and no store", nil, nil, false, "no receipt was named"},
		{"no store", nil, []string{one}, false, "no store"},
		{"a store that cannot be read", broken{}, []string{one}, false, "disk on fire"},
	} {
		ok, text := Validate(ctx, c.v, c.ids)
		if ok != c.ok || text == "" || !strings.Contains(text, c.text) || ok != strings.HasSuffix(text, " valid") {
			t.Errorf("%s: %t, %q", c.name, ok, text)
		}
	}
	// Each refusal is named.
	if _, text := Validate(ctx, s, []string{failed, missing}); !strings.Contains(text, failed[:12]) || !strings.Contains(text, missing) {
		t.Errorf("two refusals: %q", text)
	}
}

type broken struct{}

func (broken) Validate(context.Context, ...string) (receipts.Decision, error) {
	return receipts.Decision{}, errors.New("disk on fire")
}
