package history

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/report"
)

// HTML writes the page of a run, checked against the store at a path under the keys; version is that
// of dialect.
func HTML(ctx context.Context, w io.Writer, d *report.Document, path string, keys note.Verifiers, version string) error {
	o := report.HTMLOptions{Version: version, Now: time.Now(), Output: func(l *report.DocResult, stream string) (string, string) {
		return keptOutput(ctx, archive.Of(path), l, stream)
	}}
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true, Keys: keys})
	if err == nil {
		defer s.Close()
		proofs := make(map[*report.DocResult]*report.Proof)
		leaves(d.Lines, func(l *report.DocResult) { proofs[l] = proof(ctx, s, d, l) })
		o.Proof = func(l *report.DocResult) *report.Proof { return proofs[l] }
		o.GateProof = func(g *report.DocGate) *report.Proof { return gateProof(ctx, s, d, g, keys != nil) }
		o.Against = against(ctx, s, d, proofs, o.GateProof)
	} else if !errors.Is(err, sqlite.ErrNoStore) {
		o.GateProof = func(*report.DocGate) *report.Proof {
			return &report.Proof{Text: "the store cannot be read: " + err.Error()}
		}
	}
	return report.HTML(w, d, o)
}

// keptOutput returns the end of what is kept of a stream.
func keptOutput(ctx context.Context, logs archive.Archive, l *report.DocResult, stream string) (text, note string) {
	f, size, note := openOutput(ctx, logs, l, stream)
	if f == nil {
		return "", note
	}
	defer f.Close()
	const most = 64 << 10
	_, _ = f.Seek(max(0, size-most), io.SeekStart)
	b, err := io.ReadAll(f)
	if err != nil {
		return "", "cannot be read"
	}
	return string(b), note
}

// Outputs returns what opens the kept output of the lines of a document, for [report.JUnitOptions].
func Outputs(logs archive.Archive) func(l *report.DocResult, stream string) io.ReadCloser {
	return func(l *report.DocResult, stream string) io.ReadCloser {
		if f, _, _ := openOutput(context.Background(), logs, l, stream); f != nil {
			return f
		}
		return nil
	}
}

// openOutput opens what is kept of a stream. note says why that is nothing, or not all.
func openOutput(ctx context.Context, logs archive.Archive, l *report.DocResult, stream string) (f *os.File, size int64, note string) {
	out := l.Stdout
	if stream == "stderr" {
		out = l.Stderr
	}
	if out == nil || out.Log == "" {
		return nil, 0, "not kept"
	}
	// The path is of the document, and anybody's: its last two elements are the digest.
	name := filepath.Base(filepath.Dir(out.Log)) + filepath.Base(out.Log)
	digest, err := receipts.ParseHash(name)
	if err != nil {
		return nil, 0, "not kept"
	}
	f, size, err = blob.Open(ctx, string(logs), digest, blob.MostOf(out.Bytes))
	switch {
	case errors.Is(err, blob.ErrChanged):
		return nil, 0, "the kept text differs from the written one"
	case err != nil:
		return nil, 0, "dropped since"
	}
	if name != out.SHA256 {
		note = "without its secrets, or cut"
	}
	return f, size, note
}

// gatePassed is the verdict of the gates that have a receipt.
const gatePassed = "passed"

// proof compares a line of a document with the receipt that it names. All that the page says of the line and
// that a receipt has is compared: anyone who can write the store can write the document.
func proof(ctx context.Context, s *sqlite.Store, d *report.Document, l *report.DocResult) *report.Proof {
	bad := func(format string, args ...any) *report.Proof {
		return &report.Proof{Text: fmt.Sprintf(format, args...)}
	}
	switch gate := l.IsGate(); {
	case gate && l.Receipt == l.Gate.SHA256 && (l.Receipt == "" || l.Gate.Verdict == gatePassed):
		if l.Verdict == "passed" && l.Gate.Verdict != gatePassed && l.Gate.Verdict != "deferred" {
			return bad("The gate of a line that passed did not pass.")
		}
		return gateProof(ctx, s, d, l.Gate, false)
	case l.Degraded:
		return bad("No store acknowledged this receipt.")
	case l.Receipt == "" && (gate || l.Verdict != "passed" && l.Verdict != "flaky" || l.Kind == "composite"):
		return nil
	case l.Receipt == "":
		return bad("It has no receipt.")
	}
	e, _, err := s.Authentic(ctx, l.Receipt)
	if err != nil {
		return bad("Its receipt does not verify: %v.", err)
	}
	v, _ := e.Parse()
	r, ok := v.(*receipts.Receipt)
	switch passed := l.Verdict == "passed" || l.Verdict == "flaky"; {
	case !ok || r.Step != l.ID || r.Run != d.Run || r.Script.String() != d.Script.SHA256 || r.Binding != l.Binding || r.Kind != l.Kind:
		return bad("The receipt that it names is of something else.")
	case r.Line.Number != l.Line || !says(r.Line.Text, l.Text) || !says(r.Line.File, l.File) && !sameScript(r.Line.File, l.File):
		return bad("The receipt is of another line: %s.", diag.Printable(r.Line.Text.String()))
	case (len(l.Argv) > 0 || l.Kind == "process") && !slices.EqualFunc(r.Argv, l.Argv, says): // a document has the command of a process alone
		return bad("The receipt is of another command.")
	case testsOf(l.Tests) != testsOf(r.Tests):
		return bad("The receipt counts other tests.")
	case passed != (r.Status == receipts.Succeeded || r.Status == receipts.Pending):
		return bad("The receipt says another thing: %s.", r.Status)
	case l.Verdict == "passed" && r.Attempt > 1:
		return bad("The receipt is of attempt %d: the line is flaky.", r.Attempt)
	case l.ExitCode != nil && r.ExitCode != nil && *l.ExitCode != *r.ExitCode:
		return bad("The receipt says another exit code: %d.", *r.ExitCode)
	case l.Stdout != nil && l.Stdout.SHA256 != r.Stdout.SHA256.String(), l.Stderr != nil && l.Stderr.SHA256 != r.Stderr.SHA256.String():
		return bad("The receipt is of other output.")
	}
	text := fmt.Sprintf("Record %d of the log, intact", e.Seq)
	if e.Key != "" {
		text += fmt.Sprintf(", signed by %s (L%d)", e.Key, e.Level)
	}
	if !r.Reused.IsZero() {
		text += ", repeats the result of " + r.Reused.Short() + ": nothing was executed"
	}
	if c := e.Consumption; c != nil {
		text += ", consumed by " + c.Who()
	}
	return &report.Proof{OK: true, Text: text + "."}
}

// says reports whether a text of a receipt is that of a document.
func says(d receipts.Datum, text string) bool {
	switch {
	case !d.SHA256.IsZero():
		return int64(len(text)) == d.Bytes && sha256.Sum256([]byte(text)) == d.SHA256
	case d.Redacted:
		if cut, ok := strings.CutSuffix(d.Text, "..."); ok && strings.HasPrefix(text, cut) {
			return true // it was too long to be carried, see [receipts.Datum.Digest]
		}
	}
	return strings.ToValidUTF8(d.Text, "\ufffd") == strings.ToValidUTF8(text, "\ufffd")
}

// testsOf returns a count in one form; zero for none.
func testsOf[T receipts.Tests | report.DocTests](t *T) (n receipts.Tests) {
	if t != nil {
		n = receipts.Tests(*t)
	}
	return n
}

// gateProof compares the gate of a document with the gate receipt that it names: all that the page says of it and that the receipt has.
// signed says that keys were asked for, under which a level that the receipt claims has to be its own.
func gateProof(ctx context.Context, s *sqlite.Store, d *report.Document, g *report.DocGate, signed bool) *report.Proof {
	bad := func(format string, args ...any) *report.Proof {
		return &report.Proof{Text: fmt.Sprintf(format, args...)}
	}
	if g.Verdict != gatePassed {
		return nil
	}
	e, head, err := s.Authentic(ctx, g.SHA256)
	if err != nil {
		return bad("The gate receipt does not verify: %v.", err)
	}
	v, _ := e.Parse()
	r, ok := v.(*receipts.Gate)
	switch {
	case !ok || r.Run != d.Run || r.Script.String() != d.Script.SHA256 || r.Final != g.Final:
		return bad("The gate receipt is of another run.")
	case g.ID != receipts.GateID(e.SHA):
		return bad("The gate receipt has another id: %s.", receipts.GateID(e.SHA))
	case g.Level != fmt.Sprintf("L%d", r.Level):
		return bad("The gate receipt says another trust level: L%d.", r.Level)
	case signed && r.Level > receipts.LevelHash && e.Level == receipts.LevelHash:
		return bad("The gate receipt says L%d, and none of the keys signed it.", r.Level)
	case g.Clean != r.Clean || g.Rules != r.Policy || g.Reused != r.Reused:
		return bad("The gate receipt says another thing of where the lines ran, of the rules, or of how many results are repeated.")
	case (g.Tree == nil) != (r.Tree == nil) || g.Tree != nil && (g.Tree.Tree != r.Tree.Tree || g.Tree.Bytes != r.Tree.Bytes.String() || g.Tree.Exact != r.Tree.Exact):
		return bad("The gate receipt is about other files.")
	}
	return &report.Proof{OK: true, Text: fmt.Sprintf("The gate receipt is record %d of a log of %d that verifies; it consumed %s. Ask again: dialect verify", e.Seq, head.Count, diag.Number(len(r.Members), "receipt"))}
}

// sameScript reports whether a receipt, which names a script from the root of its project, can mean the script that a
// document names as its caller did: "../q.dlct" for "sub/q.dlct". The digest of the script is compared beside it.
func sameScript(recorded receipts.Datum, name string) bool {
	if recorded.Redacted || !recorded.SHA256.IsZero() || recorded.Text == "" {
		return false
	}
	below := func(path string) string {
		path = filepath.ToSlash(path)
		for strings.HasPrefix(path, "../") || strings.HasPrefix(path, "./") {
			_, path, _ = strings.Cut(path, "/")
		}
		return path
	}
	a, b := below(recorded.Text), below(name)
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}
