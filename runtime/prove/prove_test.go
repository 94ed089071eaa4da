package prove

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
)

// TestOutputHides: what a line printed has no part of a secret once it is lines, of one stream or of both, or was cut.
func TestOutputHides(t *testing.T) {
	const secret = "first-part-of-it\nsecond-part-of-it"
	hidden := redact.New(redact.Options{Declared: []string{secret}})
	step := new(plan.Step)
	say := func(stream process.Stream, text string) attempt.Output {
		return attempt.Output{Step: step, Stream: stream, Data: []byte(text)}
	}
	for name, list := range map[string][]attempt.Output{
		"in one piece": {say(process.Stdout, "named a.go: "+secret+"\n")},
		"in pieces":    {say(process.Stdout, "named a.go: "+secret[:5]), say(process.Stderr, "x\n"), say(process.Stdout, secret[5:])},
		"cut":          {say(process.Stdout, "named a.go\nfirst-part-of-it\nsecond-"), {Step: step, Stream: process.Stdout, Cut: true}},
		"large":        {say(process.Stdout, "named a.go\n"+strings.Repeat("x", maxOutput-30)+secret+strings.Repeat("y", 2*maxOutput))},
		"nothing":      {},
	} {
		o := newOutput(hidden)
		for _, e := range list {
			o.add(e)
		}
		if text := string(o.bytes()); strings.Contains(text, "part-of") || len(list) > 0 && !strings.Contains(text, "named a.go") {
			t.Errorf("%s: %.300q", name, text)
		}
	}
}
