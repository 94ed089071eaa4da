package receipts

import (
	"runtime"
	"strings"
	"testing"
)

// TestParseBundleBounded: what a bundle becomes is a small multiple of its text, whatever it says.
func TestParseBundleBounded(t *testing.T) {
	head := `{"schema":"dialect.bundle/1","checkpoint":"x","records":[`
	for name, c := range map[string]struct{ text, want string }{
		"empty records": {head + strings.Repeat("{},", 1<<20) + "{}]}", "has no kind, no body"},
		"a long proof":  {head + `{"seq":1,"kind":"run","body":"{}","proof":[` + strings.Repeat("null,", 1<<20) + `null]}]}`, "a proof of more than"},
		"out of order":  {head + `{"seq":1,"kind":"run","body":"{}","proof":[]},{"seq":1,"kind":"run","body":"{}","proof":[]}]}`, "a place that is not behind"},
		"notes":         {`{"signed":[` + strings.Repeat("{},", 64) + `{}]}`, "more than 64 signed checkpoints"},
		"a long since":  {`{"since":{"checkpoint":"","proof":[` + strings.Repeat("null,", 1<<20) + `null]}}`, "a proof of more than"},
		"twice":         {`{"schema":"","schema":"dialect.bundle/1"}`, `"schema" is there twice`},
		"unknown":       {`{"shema":""}`, `unknown field "shema"`},
		"no object":     {`[]`, "where a { belongs"},
		"no array":      {`{"records":{}}`, "where a [ belongs"},
		"cut off":       {head, "EOF"},
		"more":          {`{"schema":"dialect.bundle/1"}{}`, "something follows it"},
	} {
		before := allocated()
		b, err := ParseBundle([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %s", name, b, err, c.want)
		}
		if got, most := allocated()-before, uint64(8*len(c.text)+1<<20); got > most {
			t.Errorf("%s: %d bytes for a text of %d", name, got, len(c.text))
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
