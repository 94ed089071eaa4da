package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/policy"
)

const verifyLong = `Say whether the present files were tested: whether a final gate is about exactly
this tree, under the trusted matrix, and nothing has spoken against it since. Nothing
is run, and nothing is consumed.

  VERIFIED                a gate speaks for this tree
  STALE                   it passed on another tree; says which line and paths changed
  MISSING                 no gate covers what is asked for
  FAILED                  the last word about this tree is a failure
  FLAKY                   it passed on this tree only after it had failed on it
  RAN OUTSIDE THE MATRIX  the command ran here, but not as a line of a script
  POLICY CHANGED          the matrix, or a file that it pins, is not the trusted one
  TAMPERED                the store is not what was logged
  DEGRADED                the store cannot be read

The verdict names its trust level and what the matrix was held against: --base, the
pin of "dialect trust", else HEAD, which an agent can commit to ("policy unpinned").

Exit status: 0 for VERIFIED alone, else 3; 64 for a usage error.`

func newVerify(u *ui) *cobra.Command {
	var f struct {
		inquiryFlags
		tree   string
		bundle string
	}
	cmd := &cobra.Command{
		Use:   "verify [GATE]",
		Short: "say whether the present files were tested",
		Long:  verifyLong,
		Example: `  dialect verify --require quality
  dialect verify --tree HEAD --base origin/main --key boss.pub --since head.txt
  dialect verify g-8fc71b27dd92`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return verify(u, &f.inquiryFlags, f.tree, f.bundle, id)
		},
	}
	cmd.Flags().StringVar(&f.tree, "tree", "", "ask about the files of the commit `REV` instead of those that are here")
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "ask the bundle in `FILE` (- for standard input) instead of a store; see receipts export --bundle")
	f.inquiryFlags.add(cmd)
	return cmd
}

func verify(u *ui, f *inquiryFlags, rev, bundle, id string) error {
	ctx, stop := signals()
	defer stop()
	keys, head, err := f.anchors()
	if err != nil {
		return err
	}
	q, err := f.inquest(ctx, rev)
	if err != nil {
		return err
	}
	var a *receipts.Answer
	var covered bool
	if bundle != "" {
		a, covered, err = q.answerFromBundle(u, bundle, keys, head, id)
	} else {
		a, covered, err = q.answer(ctx, sqlite.Options{ReadOnly: true, Keys: keys}, head, id)
	}
	if err != nil {
		return err
	}
	if err := tellAnswer(ctx, u, q, a, covered, rev, f.json); err != nil {
		return err
	}
	if a.Verdict != receipts.Verified {
		return exitStatus(exitRefused)
	}
	return nil
}

// answer asks the store. covered says that a kept head covers the gate.
func (q *inquest) answer(ctx context.Context, o sqlite.Options, head *receipts.Head, id string) (a *receipts.Answer, covered bool, err error) {
	broken := func(v receipts.Verdict, reason receipts.Reason, text string) *receipts.Answer {
		return &receipts.Answer{Verdict: v, Refusals: []receipts.Refusal{{Reason: reason, Message: text}}}
	}
	s, err := sqlite.Open(ctx, q.path, o)
	var unusable *sqlite.UnusableError
	switch {
	case errors.Is(err, sqlite.ErrNoStore) && head == nil:
		return broken(receipts.VerdictMissing, receipts.Missing, "there is no store of receipts "+shortPath(q.path)), false, nil
	case errors.Is(err, sqlite.ErrNoStore):
		return broken(receipts.VerdictTampered, receipts.Missing, "a head was kept of it, and the store "+shortPath(q.path)+" is gone"), false, nil
	case errors.As(err, &unusable):
		return broken(receipts.VerdictDegraded, receipts.Degraded, err.Error()), false, nil
	case err != nil:
		return nil, false, err
	}
	defer s.Close()
	audit, err := s.Verify(ctx, head)
	if err != nil {
		return broken(receipts.VerdictDegraded, receipts.Degraded, err.Error()), false, nil
	}
	tampered := &receipts.Answer{Verdict: receipts.VerdictTampered}
	for _, x := range audit.Findings {
		if !x.Unsigned {
			tampered.Refusals = append(tampered.Refusals, receipts.Refusal{Reason: receipts.Tampered, SHA: x.SHA, Message: x.Message})
		}
	}
	if len(tampered.Refusals) > 0 {
		return tampered, false, nil
	}
	if id != "" {
		e, err := s.Get(ctx, id)
		if err != nil {
			var bad *sqlite.IDError
			if errors.As(err, &bad) {
				return nil, false, usagef("%v", err)
			}
			return broken(receipts.VerdictMissing, receipts.Missing, err.Error()), false, nil
		}
		q.Gate = e.SHA
	}
	a, err = s.Ask(ctx, q.Inquiry)
	if err != nil {
		return broken(receipts.VerdictDegraded, receipts.Degraded, err.Error()), false, nil
	}
	unfinished, err := s.Unfinished(ctx, q.Tree)
	if err != nil {
		return nil, false, err
	}
	if a.Verdict == receipts.Verified {
		for _, run := range unfinished {
			if run.Seq > a.Gate.Seq {
				a.Notes = append(a.Notes, fmt.Sprintf("the later run %s of %s on this tree did not reach its gate: it was stopped or killed, or is still running", run.Run, run.Script))
			}
		}
	}
	return a, head != nil && a.Gate != nil && a.Gate.Seq < head.Count, nil
}

// trustText is the trust level of a verdict for people.
func trustText(level int, covered bool) string {
	switch {
	case covered && level >= receipts.LevelKey:
		return "trust L3"
	case covered:
		return fmt.Sprintf("trust L%d, under a kept head", level)
	}
	return fmt.Sprintf("trust L%d", level)
}

func policyText(s policy.State) string {
	switch {
	case s.Complaint() != "":
		return "policy CHANGED"
	case s.Pinned:
		return "policy as in " + s.Against
	case s.Against != "":
		return "policy unpinned, as in " + s.Against
	}
	return "policy unpinned"
}

func tellAnswer(ctx context.Context, u *ui, q *inquest, a *receipts.Answer, covered bool, rev string, asJSON bool) error {
	var changed []string
	if a.Verdict == receipts.VerdictStale {
		changed = q.changedSince(ctx, a.Body)
		if text := q.beyond(ctx, a.Body, rev); text != "" {
			a.Notes = append(a.Notes, text)
		}
	}
	if asJSON {
		return answerJSON(u, q, a, covered, changed)
	}
	w := u.out
	subject := "this tree"
	if rev != "" {
		subject = rev
	}
	about := ""
	if a.Body != nil {
		about = fmt.Sprintf("; gate %s of %s", receipts.GateID(a.Gate.SHA), stamp(a.Body.Timestamp))
	}
	trust := fmt.Sprintf(" (%s, %s)", trustText(a.Level, covered), policyText(q.state))
	if a.Verdict == receipts.Verified {
		what := count(len(a.Members), "command") + scriptOf(a)
		if len(q.Require) > 0 {
			var names []string
			for _, r := range q.Require {
				if !slices.Contains(names, r.Name) {
					names = append(names, r.Name)
				}
			}
			what = strings.Join(names, ", ")
		}
		reused := ""
		if a.Body.Reused > 0 {
			reused = fmt.Sprintf(", %d reused", a.Body.Reused)
		}
		fmt.Fprintf(w, "VERIFIED: %s passed on %s%s%s%s\n", what, subject, reused, about, trust)
	} else {
		fmt.Fprintf(w, "%s: %s is not verified%s%s\n", a.Verdict, subject, about, trust)
		for i, r := range a.Refusals {
			if i == 10 {
				fmt.Fprintf(w, "  and %d more\n", len(a.Refusals)-i)
				break
			}
			fmt.Fprintf(w, "  %s\n", printable(r.Message))
		}
	}
	if len(changed) > 0 {
		fmt.Fprintf(w, "  changed since: %s\n", printable(strings.Join(changed[:min(len(changed), 10)], ", ")))
		if n := len(changed) - 10; n > 0 {
			fmt.Fprintf(w, "  and %s more\n", count(n, "path"))
		}
	}
	if a.Verdict == receipts.VerdictPolicy {
		if err := printDiff(u, q.state.Changes); err != nil {
			return err
		}
	}
	for _, n := range a.Notes {
		fmt.Fprintf(w, "  note: %s\n", printable(n))
	}
	if s := q.snapshot; s != nil && s.Absent.Count > 0 {
		fmt.Fprintf(w, "  note: a sparse checkout left out %s: nothing that ran has seen them\n", count(s.Absent.Count, "file"))
	}
	return nil
}

// scriptOf names the script that the members of an answer are lines of, if it is one.
func scriptOf(a *receipts.Answer) string {
	name := ""
	for _, m := range a.Members {
		v, _ := m.Parse()
		r, ok := v.(*receipts.Receipt)
		if !ok || r.Binding == "" || name != "" && r.Line.File.Text != name {
			return ""
		}
		name = r.Line.File.Text
	}
	if name == "" || name == "-" || name == "-e" {
		return ""
	}
	return " of " + printable(name)
}

// printDiff shows what changed in a policy.
func printDiff(u *ui, changes []policy.Change) error {
	for _, c := range changes {
		if _, err := u.out.Write(diff.Diff("trusted/"+c.Path, c.Old, "present/"+c.Path, c.New)); err != nil {
			return err
		}
	}
	return nil
}

func answerJSON(u *ui, q *inquest, a *receipts.Answer, covered bool, changed []string) error {
	type refusal struct {
		Reason  string `json:"reason"`
		SHA256  string `json:"sha256,omitempty"`
		Message string `json:"message"`
	}
	type tree struct {
		Tree  string `json:"tree,omitempty"`
		Bytes string `json:"bytes,omitempty"`
	}
	doc := struct {
		Schema   string    `json:"schema"`
		Verdict  string    `json:"verdict"`
		Verified bool      `json:"verified"`
		Trust    string    `json:"trust"`
		HeadKept bool      `json:"head_kept"`
		Policy   string    `json:"policy"`
		Against  string    `json:"policy_against,omitempty"`
		Tree     *tree     `json:"tree,omitempty"`
		Gate     string    `json:"gate,omitempty"`
		GateSHA  string    `json:"gate_sha256,omitempty"`
		At       string    `json:"gate_timestamp,omitempty"`
		Run      string    `json:"run,omitempty"`
		Session  string    `json:"session,omitempty"`
		Reused   int       `json:"reused,omitempty"`
		Members  []string  `json:"members,omitempty"`
		Require  []string  `json:"require,omitempty"`
		Changed  []string  `json:"changed,omitempty"`
		Refusals []refusal `json:"refusals,omitempty"`
		Notes    []string  `json:"notes,omitempty"`
	}{
		Schema: "dialect.verdict/1", Verdict: string(a.Verdict), Verified: a.Verdict == receipts.Verified,
		Trust: fmt.Sprintf("L%d", a.Level), HeadKept: covered, Policy: q.state.Name(), Against: q.state.Against, Changed: changed, Notes: a.Notes,
	}
	if covered && a.Level >= receipts.LevelKey {
		doc.Trust = "L3"
	}
	if q.Tree != nil {
		doc.Tree = &tree{Tree: q.Tree.Tree}
		if !q.Tree.Bytes.IsZero() {
			doc.Tree.Bytes = q.Tree.Bytes.String()
		}
	}
	if a.Body != nil {
		doc.Gate, doc.GateSHA, doc.Run, doc.Session, doc.Reused = receipts.GateID(a.Gate.SHA), a.Gate.SHA.String(), a.Body.Run, a.Body.Session, a.Body.Reused
		doc.At = a.Body.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	for _, m := range a.Members {
		doc.Members = append(doc.Members, m.SHA.String())
	}
	for _, r := range q.Require {
		doc.Require = append(doc.Require, r.Binding)
	}
	for _, r := range a.Refusals {
		x := refusal{Reason: string(r.Reason), Message: printable(r.Message)}
		if !r.SHA.IsZero() {
			x.SHA256 = r.SHA.String()
		}
		doc.Refusals = append(doc.Refusals, x)
	}
	return writeJSON(u, doc)
}

// count renders a number of things.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
