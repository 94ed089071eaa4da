package remote_test

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/remote"
	"github.com/command-dialect/dialect/runtime/schedule"
)

func keyed(t testing.TB) (*remote.Spec, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &remote.Spec{Version: remote.Version, Run: "r-0123456789abcdef", Key: public}, private
}

// An answer counts as its signer made it, for the run, and with the key of the run.
func TestSigned(t *testing.T) {
	spec, key := keyed(t)
	e := schedule.Event{Seq: 3, Op: schedule.Gate, ID: "2", Brief: schedule.Brief{Verdict: schedule.Fault, Reason: receipts.StopGateRefused, By: "1", Text: "no"}, Why: "why"}
	honest := spec.Sign(e, key)
	if !spec.Signed(honest) {
		t.Fatal("an honest answer does not count")
	}
	for name, change := range map[string]func(a *remote.Answer){
		"seq":       func(a *remote.Answer) { a.Seq = 4 },
		"op":        func(a *remote.Answer) { a.Op = schedule.Sync },
		"no op":     func(a *remote.Answer) { a.Op = "" },
		"step":      func(a *remote.Answer) { a.ID = "3" },
		"verdict":   func(a *remote.Answer) { a.Brief.Verdict = schedule.Passed },
		"reason":    func(a *remote.Answer) { a.Brief.Reason = "" },
		"by":        func(a *remote.Answer) { a.Brief.By = "" },
		"text":      func(a *remote.Answer) { a.Brief.Text = "yes" },
		"last":      func(a *remote.Answer) { a.Last = true },
		"why":       func(a *remote.Answer) { a.Why = "" },
		"moved":     func(a *remote.Answer) { a.Brief.By, a.Brief.Text = "1n", "o" },
		"signature": func(a *remote.Answer) { a.Sig = append([]byte(nil), a.Sig...); a.Sig[3] ^= 1 },
		"short":     func(a *remote.Answer) { a.Sig = a.Sig[:63] },
		"none":      func(a *remote.Answer) { a.Sig = nil },
		"no context": func(a *remote.Answer) { // the same key, for something else
			a.Sig = ed25519.Sign(key, []byte("x"))
		},
	} {
		a := honest
		change(&a)
		if spec.Signed(a) {
			t.Errorf("%s: it counts", name)
		}
	}
	other := *spec
	other.Run = "r-1"
	if other.Signed(honest) {
		t.Error("it counts for another run")
	}
	other = *spec
	_, foreign := keyed(t)
	if spec.Signed(spec.Sign(e, foreign)) {
		t.Error("an answer with a foreign key counts")
	}
	for _, key := range [][]byte{nil, {}, {1}, make([]byte, 31), make([]byte, 33)} {
		if other.Key = key; other.Signed(honest) || other.Check() == nil {
			t.Errorf("a key of %d bytes", len(key))
		}
	}
	old := remote.Spec{Version: 1}
	if !old.Signed(remote.Answer{Event: e}) || old.Check() != nil {
		t.Error("an answer of a run of version 1 does not count")
	}
	if old.Key = spec.Key; old.Check() == nil {
		t.Error("a run of version 1 has a key")
	}
}

// FuzzSigned: what this program has signed counts once it has travelled, whatever its texts are, and is not longer than a history may have.
func FuzzSigned(f *testing.F) {
	f.Add(1, "1", "passed", "", "text", "", false)
	f.Add(-7, "2.1", "fault", "locked", "\xff\xfe\u2028<&>\x00", strings.Repeat("ü", 400)+"\xff", true)
	spec, key := keyed(f)
	f.Fuzz(func(t *testing.T, seq int, id, verdict, by, text, why string, last bool) {
		a := spec.Sign(schedule.Event{
			Seq: seq, Op: schedule.Gate, ID: strings.ToValidUTF8(id, ""), Last: last, Why: why,
			Brief: schedule.Brief{Verdict: schedule.Verdict(strings.ToValidUTF8(verdict, "")), By: by, Text: text},
		}, key)
		out, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back remote.Answer
		if err := json.Unmarshal(out, &back); err != nil || !spec.Signed(back) {
			t.Errorf("%v: %s does not count", err, out)
		}
		if back.Brief.Verdict = ""; !remote.Fits(back.Brief) {
			t.Errorf("%q is not cut", back.Brief)
		}
	})
}
