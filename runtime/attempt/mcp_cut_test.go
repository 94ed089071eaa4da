package attempt

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
)

// TestCutSecrets: what a cut left of a secret in the stderr or the progress of an MCP server is not shown.
func TestCutSecrets(t *testing.T) {
	const secret = "Zq8vT3kLm9XwPr5nB7cD2fGhJ4sA6yUe"
	x := &Executor{opt: Options{Redact: redact.New(redact.Options{Environ: []string{"MY_TOKEN=" + secret}})}}
	for _, e := range []*mcpclient.Error{
		{Stderr: secret[1:] + " and so on\nlast line\n"},
		{Stderr: secret[1:] + " and so on\nlast line\nerror: " + secret[:30]},
		{Stderr: "last line\nerror: " + secret[:30], Begun: true},
		{Stderr: "last line: " + secret, Begun: true, Whole: true},
	} {
		e.Reason = mcpclient.Died
		res := &Report{Step: &plan.Step{}, Process: &process.Result{}}
		x.answered(res, nil, e)
		for _, got := range []string{string(res.Process.Tail), string(res.Process.Stderr.Head)} {
			if strings.Contains(got, secret[10:20]) || !strings.Contains(got, "last line") {
				t.Errorf("%q is shown as %q", e.Stderr, got)
			}
		}
	}
	if got := string(x.progress(strings.Repeat("x", 4000)+" "+secret[:31], true)); strings.Contains(got, secret[:10]) || !strings.HasSuffix(got, "\n") {
		t.Errorf("progress %q", got)
	}
	if got := string(x.progress("1 x", false)); got != "1 x\n" {
		t.Errorf("progress %q", got)
	}
}
