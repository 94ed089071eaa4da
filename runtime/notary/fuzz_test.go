package notary

import (
	"bytes"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/report"
)

// FuzzRequest reads frames of requests: what is accepted is at most as long as a frame, and is written as it is read.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{`{"hello":1}`, `{"start":{"script":"eA==","name":"x","folder":"/x","vars":{"a":"b"},"jobs":3}}`, `{"cut":{"run":"r-0"}}`, `{"document":{}}`, `{`, ``} {
		f.Add(framed(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var req, again request
		if readFrame(bytes.NewReader(text), &req) != nil {
			return
		}
		out, err := frame(req)
		if err != nil {
			return // base64 and escapes can make it longer than it was
		}
		if err := readFrame(bytes.NewReader(out), &again); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
}

// FuzzAnswer has a client read what a hostile notary sends, and report it.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		`{"event":{"kind":"begun","run":"r-1","at":"2026-01-02T03:04:05Z"}}`,
		`{"event":{"kind":"finished","step":"1","result":{"step":"1","verdict":"failed","process":{"ExitCode":1,"Tail":"eA=="},"gate":{"Ground":77}}}}`,
		`{"event":{"kind":"outcome","outcome":{"run":"r","session":"s","started":"2026-01-02T03:04:05Z","duration":1,"gate":{"Verdict":"passed","Level":99,"Ground":1}}}}`,
		`{"event":{"kind":"output","step":"1","stream":200,"data":"eA=="}}`, `{"refused":{"text":"no"}}`, `{"done":true}`,
	} {
		f.Add(framed(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &plan.Plan{Steps: []*plan.Step{{ID: "1", Kind: plan.Process, Argv: []string{"true"}}}}
		x := newReader(p)
		in := bytes.NewReader(text)
		for {
			var a answer
			if readFrame(in, &a) != nil {
				return
			}
			if a.Event == nil {
				continue
			}
			var out bytes.Buffer
			switch e := x.event(a.Event).(type) {
			case engine.RunFinished:
				if err := report.Text(&out, report.NewDocument(e.Outcome, nil, ""), report.Options{}); err != nil {
					t.Fatal(err)
				}
			case nil:
			default:
				report.NewEvents(&out, nil, nil).Listen(engine.RunStarted{Plan: p})
			}
		}
	})
}
