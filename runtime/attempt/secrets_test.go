package attempt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/schedule"
)

// token returns a secret of n bytes, of which no part is repeated.
func token(n int) string {
	const set = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

// shows reports whether text has a part of the secret.
func shows(text, secret string) bool {
	const part = 12
	for i := 0; i+part <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+part]) {
			return true
		}
	}
	return false
}

// TestFailuresHide: the reader of failures takes secrets out of what a command printed before it cuts a line, gives up the middle of an output,
// mixes two streams, or leaves out what a terminal does not show.
func TestFailuresHide(t *testing.T) {
	const bad = "x.go:3: error: bad key "
	noise := strings.Repeat("nothing of a test runner, only some more words\n", 1<<20/47) // a little less than is read
	short, long, large := token(32), token(9000), token(1100)
	lines := token(20) + "\n" + token(60)[20:40] + "\n" + token(90)[40:90]
	first, rest, _ := strings.Cut(lines, "\n")
	for name, c := range map[string]struct {
		secret string
		say    []string // in turn to standard output and standard error
		want   string   // of the failures
	}{
		"a long one":              {long, []string{bad + long + " end\n"}, bad[15:]},
		"the same again":          {large, []string{bad + strings.Repeat(large, 8) + "\n"}, bad[15:]},
		"behind escape sequences": {short, []string{bad + strings.Repeat("\x1b[1G\x1b[0K", (8192-len(bad)-31)/8) + strings.Repeat(" ", (8192-len(bad)-31)%8) + short + " end\n"}, bad[15:]},
		"in a line without end":   {short, []string{bad + strings.Repeat("x", 300<<10), "", strings.Repeat("\x1b[0K", 50) + short}, bad[15:]},
		"where reading ends":      {short, []string{noise + bad + short[:20], "", short[20:] + " end\nx.go:4: error: one more\n"}, "one more"},
		"and so of several lines": {lines, []string{noise + bad + first + "\n", "", rest + "\nx.go:4: error: one more\n"}, "one more"},
		"where the end begins":    {large, []string{noise + noise[:100], "", strings.Repeat("x", 64<<10) + large + ": error: one more" + strings.Repeat("y", 64<<10-600)}, ""},
		"two streams":             {lines, []string{bad + first + "\n", "x.go:4: error: one more\n", rest + "\n"}, "one more"},
		"two streams, in a line":  {short, []string{noise, "", bad + short[:20], "x.go:4: error: one more\n", short[20:] + "\n"}, "one more"},
	} {
		t.Run(name, func(t *testing.T) {
			o := observe(&plan.Step{}, redact.New(redact.Options{Declared: []string{c.secret}}))
			for i, text := range c.say {
				for part := []byte(text); len(part) > 0; {
					n := min(len(part), 60000)
					o.errors.Write(i%2, part[:n])
					part = part[n:]
				}
			}
			f, _ := o.errors.Failures()
			got := fmt.Sprint(f)
			if shows(got, c.secret) {
				t.Errorf("it shows a part of the secret: %.600q", got)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%.600q lacks %q", got, c.want)
			}
		})
	}
}

// TestProgressHides: a secret with blanks is taken out of the progress of a server before that becomes one line, and of no length is one shown in part.
func TestProgressHides(t *testing.T) {
	for _, secret := range []string{"user=deploy-bot\npassword=" + token(20) + "\n", token(16) + "  " + token(30)[16:], token(8000)} {
		x := &Executor{opt: Options{Redact: redact.New(redact.Options{Declared: []string{secret}})}}
		for _, text := range []string{"1/3 using " + secret + " now", "1\tusing " + strings.Repeat("z", 4096-10-15) + secret} {
			got := string(x.progress(text, false))
			if shows(got, strings.Join(strings.Fields(secret), " ")) || !strings.Contains(got, " using ") || strings.Count(got, "\n") != 1 || len(got) > 4200 {
				t.Errorf("%q", got)
			}
		}
	}
}

// TestAnswerHides: the message of a call that got no answer loses its secrets before it is shortened, and keeps its beginning and its end.
func TestAnswerHides(t *testing.T) {
	secret := token(3000)
	x := &Executor{opt: Options{Redact: redact.New(redact.Options{Declared: []string{secret}})}}
	for n := range 60 {
		e := mcpclient.Errorf(mcpclient.BadArguments, "it begins %s %s %s it ends", strings.Repeat("x", 60*n), secret, strings.Repeat("y", 60*n))
		cut := *e
		cut.Message, cut.Cut = e.Message+strings.Repeat("x", 200<<10)+secret[:2000], true
		for _, e := range []*mcpclient.Error{e, &cut} {
			res := &Report{Step: &plan.Step{}, Process: &process.Result{}}
			x.answered(res, nil, e)
			if shows(res.Detail, secret) || !strings.HasPrefix(res.Detail, "it begins") || !e.Cut && !strings.HasSuffix(res.Detail, "it ends") || len(res.Detail) > 4200 {
				t.Fatalf("%d: %q", n, res.Detail)
			}
		}
	}
}

// TestClaimHides: what a tool says of itself loses its secrets before a message, or the preview of its receipt, is shortened.
func TestClaimHides(t *testing.T) {
	secret := token(40)
	x := &Executor{ledger: new(ledger), opt: Options{Redact: redact.New(redact.Options{Declared: []string{secret}})}}
	for n := 70; n < 220; n += 3 {
		said := strings.Repeat("x", n) + secret + strings.Repeat("y", 20<<10)
		for _, text := range []string{
			`{"status":"` + said + `"}`,
			`{"` + said + `":1,"` + said + `":2}`,
			`{"status":"failed","route":"a","error":"` + said + `"}`,
			`{"status":"succeeded","route":"a","preview":"` + said + `"}`,
		} {
			path := filepath.Join(t.TempDir(), "claim")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			res, rec := &Report{Step: &plan.Step{}}, new(receipts.Receipt)
			res.Verdict = schedule.Passed
			judgeClaim(res, path)
			x.recordClaim(rec, res.Claim)
			x.record(res, nil)
			got := res.Detail
			if rec.Handle != nil {
				got += rec.Handle.Preview.Text
			}
			if got == "" || shows(got, secret) || len(got) > 9000 {
				t.Fatalf("%d, %.30s: a part of the secret %v, %d bytes: %.400q", n, text, shows(got, secret), len(got), got)
			}
		}
	}
}
