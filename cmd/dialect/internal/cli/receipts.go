package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/workspace"
)

func newReceipts(u *ui) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "receipts",
		Aliases: []string{"receipt"},
		Short:   "list, show, validate, consume and verify receipts",
		Args:    unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return exit.Status(exit.Usage)
		},
	}
	cmd.AddCommand(
		newReceiptsList(u), newReceiptsShow(u), newReceiptsValidate(u),
		newConsume(u), newReceiptsVerify(u), newReceiptsCheckpoint(u), newReceiptsExport(u), newReceiptsSettle(u), newReceiptsLint(u), newReceiptsGC(u), newReceiptsKeygen(u), newExec(u, "exec"),
	)
	return cmd
}

// withStore opens the store for a command that is about it.
func withStore(name string, readOnly bool, f func(ctx context.Context, s *sqlite.Store) error) error {
	return withStoreOf(name, sqlite.Options{ReadOnly: readOnly}, f)
}

func withStoreOf(name string, o sqlite.Options, f func(ctx context.Context, s *sqlite.Store) error) error {
	path, err := findStore(name)
	if err != nil {
		return err
	}
	// These commands ask a store; a run makes one.
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return exit.Failf(exit.Failed, "there is no store %s", path).Hint("a run makes one: dialect run FILE; --store PATH names another")
	}
	ctx, stop := interrupt.Context()
	defer stop()
	err = await(ctx, path, func() error {
		s, err := sqlite.Open(ctx, path, o)
		if err == nil {
			err = f(ctx, s)
			if cerr := s.Close(); err == nil && cerr != nil {
				err = cerr
			}
		}
		return err
	})
	var unusable *sqlite.UnusableError
	switch {
	case errors.Is(err, sqlite.ErrNoStore):
		return exit.Failf(exit.Failed, "there is no store %s", path)
	case errors.Is(err, sqlite.ErrBusy):
		return exit.Failf(exit.Refused, "%v", err).Hint("another process is writing to it: try again")
	case errors.As(err, &unusable):
		return exit.Failf(exit.Refused, "%v", err).Hint("it was left as it is; move it away to begin a new one")
	}
	return err
}

// await returns what f returns, which works on the store at path. After an interruption it
// waits no longer than a grace: SQLite waits for other writers whatever the context says.
func await(ctx context.Context, path string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(storeGrace):
		return exit.Failf(exit.Refused, "interrupted while the store %s was busy", path)
	}
}

// storeGrace is how long a command that was interrupted waits for the store.
const storeGrace = 2 * time.Second

// docEntry is a record as JSON: its body as it is hashed, and what the store
// knows beside it.
type docEntry struct {
	SHA256   string          `json:"sha256"`
	ID       string          `json:"id,omitempty"` // of a gate
	Kind     string          `json:"kind"`
	Seq      int64           `json:"seq"`
	Trust    string          `json:"trust"`
	Consumed bool            `json:"consumed"`
	By       string          `json:"consumed_by,omitempty"`
	At       string          `json:"consumed_at,omitempty"`
	Body     json.RawMessage `json:"body"`
}

func newDocEntry(e receipts.Entry) docEntry {
	d := docEntry{
		SHA256: e.SHA.String(), Kind: string(e.Kind), Seq: e.Seq, Trust: fmt.Sprintf("L%d", e.Level), Body: json.RawMessage(e.Body),
	}
	if e.Kind == receipts.KindGate {
		d.ID = receipts.GateID(e.SHA)
	}
	if c := e.Consumption; c != nil {
		d.Consumed, d.By, d.At = true, c.By, c.At.UTC().Format(time.RFC3339Nano)
	}
	if !json.Valid(e.Body) {
		d.Body, _ = json.Marshal(string(e.Body)) // damaged: as a text
	}
	return d
}

func newReceiptsList(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store       string
		filter      sqlite.Filter
		status      string
		since, tree string
		json        bool
	}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list receipts and gates, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f.filter.Status = receipts.Status(f.status)
			if f.status == "success" {
				f.filter.Status = receipts.Succeeded
			}
			old, err := age(f.since)
			if err != nil {
				return exit.Usagef("--max-age: %v", err)
			}
			if old > 0 {
				f.filter.Since = time.Now().Add(-old)
			}
			if f.filter.Tree, err = namedTree(f.tree, f.store); err != nil {
				return err
			}
			keys, err := f.verifiers()
			if err != nil {
				return err
			}
			return withStoreOf(f.store, sqlite.Options{ReadOnly: true, Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
				es, err := s.List(ctx, f.filter)
				if err != nil {
					return err
				}
				if f.json {
					docs := make([]docEntry, 0, len(es))
					for _, e := range es {
						docs = append(docs, newDocEntry(e))
					}
					return writeJSON(u, struct {
						Schema  string     `json:"schema"`
						Records []docEntry `json:"records"`
					}{"dialect.receipts/1", docs})
				}
				return printEntries(u, es)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.filter.Session, "session", "", "only those of `SESSION`")
	fl.StringVar(&f.filter.Run, "run", "", "only those of `RUN`")
	fl.StringVar(&f.filter.Binding, "binding", "", "only those of `BINDING`")
	fl.StringVar(&f.status, "status", "", "only those that are `STATUS`: succeeded, failed, not_configured, pending")
	fl.StringVar(&f.since, "max-age", "", "only those that are at most `AGE` old: 90m, 12h, 2d")
	fl.StringVar(&f.tree, "tree", "", "only those of `TREE`: \".\" for the present files, a revision, or a digest as show prints it")
	fl.BoolVar(&f.filter.Unspent, "unconsumed", false, "only those that are not consumed")
	fl.IntVarP(&f.filter.Limit, "limit", "n", 0, "only the newest `N`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	f.addKey(cmd)
	addStoreFlag(cmd, &f.store)
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(
		[]string{"succeeded", "failed", "not_configured", "pending"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// namedTree returns the tree that a user names; nil for none.
func namedTree(name, store string) (*receipts.Tree, error) {
	if name == "" {
		return nil, nil
	}
	if h, err := receipts.ParseHash(name); err == nil {
		return &receipts.Tree{Bytes: h}, nil
	}
	if name != "." {
		c, err := workspace.Resolve(context.Background(), ".", name, workspace.Options{})
		switch {
		case err == nil:
			return &receipts.Tree{Tree: c.Tree}, nil
		case len(name) == 40 && strings.Trim(name, "0123456789abcdef") == "":
			return &receipts.Tree{Tree: name}, nil // a tree, not a commit
		}
		return nil, exit.Usagef("--tree: %v", err)
	}
	f := inquiryFlags{store: store}
	q, err := f.inquest(context.Background(), "")
	switch {
	case err != nil:
		return nil, err
	case q.Tree == nil:
		return nil, exit.Failf(exit.Failed, "cannot take a snapshot of the working tree: %s", q.NoTree)
	}
	return q.Tree, nil
}

func printEntries(u *ui, es []receipts.Entry) error {
	if len(es) == 0 {
		u.notef("no receipts")
		return nil
	}
	w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tWHEN\tSTATUS\tCONSUMED\tRUN\tWHAT")
	for _, e := range es {
		id, when, status, run, what := e.SHA.Short(), "", "", "", ""
		v, err := e.Parse()
		switch b := v.(type) {
		case *receipts.Receipt:
			when, status, run, what = stamp(b.Timestamp.Time), string(b.Status), b.Run, b.Line.Text.Text
			if strings.Contains(b.Step, ".") {
				what += " (" + b.Binding + ")"
			}
		case *receipts.Gate:
			id, when, status, run = receipts.GateID(e.SHA), stamp(b.Timestamp.Time), "passed", b.Run
			what = fmt.Sprintf("gate over %d", len(b.Members))
			if b.Final {
				what += ", final"
			}
		default:
			status, what = "UNREADABLE", fmt.Sprint(err)
		}
		if reason, _ := receipts.Intact(e); reason != "" {
			status = "TAMPERED"
		}
		consumed := "-"
		if c := e.Consumption; c != nil {
			consumed = c.Who()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", id, when, status, printable(consumed), printable(run), printable(what))
	}
	return w.Flush()
}

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func newReceiptsShow(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store string
		json  bool
	}
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "show one record: a hash or its prefix, g-... of a gate, r-... of a run",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := f.verifiers()
			if err != nil {
				return err
			}
			return withStoreOf(f.store, sqlite.Options{ReadOnly: true, Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
				e, err := s.Get(ctx, args[0])
				if err != nil {
					return notFound(err)
				}
				if f.json {
					return writeJSON(u, newDocEntry(e))
				}
				return showEntry(u, e)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.json, "json", false, "print the record as one JSON document")
	f.addKey(cmd)
	addStoreFlag(cmd, &f.store)
	return cmd
}

// notFound gives errors about an id their exit status.
func notFound(err error) error {
	var unusable *sqlite.UnusableError
	var problem *verify.ProblemError
	switch {
	case errors.As(err, &unusable):
		return err
	case errors.As(err, &problem):
		return exit.Failf(exit.Refused, "TAMPERED: %v", err).Hint("`dialect receipts verify` says what was changed")
	}
	return exit.Failf(exit.Failed, "%v", err).Hint("`dialect receipts list` shows what there is")
}

func showEntry(u *ui, e receipts.Entry) error {
	w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	row("sha256", "%s", e.SHA)
	row("kind", "%s, record %d of the log", e.Kind, e.Seq)
	if reason, text := receipts.Intact(e); reason != "" {
		row("INVALID", "%s", text)
	}
	v, err := e.Parse()
	switch b := v.(type) {
	case *receipts.Receipt:
		row("line", "%s:%d: %s", b.Line.File.Text, b.Line.Number, b.Line.Text.Text)
		if b.Binding != "" {
			row("binding", "%s", b.Binding)
		}
		row("command", "%s", b)
		row("status", "%s", b.Status)
		if b.StopReason != "" {
			row("stop reason", "%s", b.StopReason)
		}
		if b.ExitCode != nil {
			row("exit code", "%d", *b.ExitCode)
		}
		if b.Signal != "" {
			row("signal", "%s", b.Signal)
		}
		row("started", "%s", b.Timestamp.UTC().Format(time.RFC3339Nano))
		row("took", "%v", b.Duration())
		row("stdout", "%d bytes, sha256 %s", b.Stdout.Bytes, b.Stdout.SHA256)
		row("stderr", "%d bytes, sha256 %s", b.Stderr.Bytes, b.Stderr.SHA256)
		if !b.Dir.IsZero() {
			row("in", "%s", b.Dir.Text)
		}
		if !b.Place.IsZero() {
			row("project", "%s of the worktree", b.Place.Text)
		}
		if !b.Inputs.IsZero() {
			row("inputs", "sha256 %s", b.Inputs)
		}
		if x := b.Executable; x != nil {
			row("executable", "%s, sha256 %s", x.Path.Text, x.SHA256)
		}
		if w := b.Workspace; w != nil {
			row("ran on", "%s", treeText(w.Before))
			if w.After != nil && *w.After != w.Before {
				row("left", "%s", treeText(*w.After))
			}
			for _, p := range w.Changed {
				row("", "%s", p.Text)
			}
		}
		if !b.Reused.IsZero() {
			row("reused", "%s: nothing was executed", b.Reused)
		}
		if h := b.Handle; h != nil {
			row("handle", "%s", strings.Join(strings.Fields(fmt.Sprint(h.Route, " ", h.Type, " ", h.Operation, " ", h.ExternalID, " ", h.VerifiableURL)), " "))
		}
		if t := e.Settlement; t != nil {
			row("settled", "%s by %s at %s", t.Status, t.By, t.Timestamp.UTC().Format(time.RFC3339Nano))
		}
		row("run", "%s, session %s", b.Run, b.Session)
	case *receipts.Gate:
		row("id", "%s", receipts.GateID(e.SHA))
		row("final", "%v", b.Final)
		row("covers", "lines %d to %d, %s", b.Covers.FirstLine, b.Covers.LastLine, count(b.Covers.Commands, "command"))
		row("members", "%d, of which %d required", len(b.Members), b.Required)
		for _, m := range b.Members {
			row("", "%s", m)
		}
		if b.Reused > 0 {
			row("reused", "%d", b.Reused)
		}
		for _, n := range b.Nested {
			row("nested", "%s", receipts.GateID(n))
		}
		if !b.Place.IsZero() {
			row("project", "%s of the worktree", b.Place.Text)
		}
		row("rules", "%s", rulesWords(b.Policy))
		if b.Tree != nil {
			row("tree", "%s", treeText(*b.Tree))
		}
		row("run", "%s, session %s", b.Run, b.Session)
		row("at", "%s", b.Timestamp.UTC().Format(time.RFC3339Nano))
	case *receipts.Run:
		row("run", "%s, session %s", b.Run, b.Session)
		row("script", "%s, sha256 %s", b.Script.Path.Text, b.Script.SHA256)
		row("started", "%s", b.Started.UTC().Format(time.RFC3339Nano))
		row("planned", "%s", count(len(b.Planned)+b.More, "command"))
		if b.Parent != "" {
			row("started by", "%s", b.Parent)
		}
	case *receipts.Settlement:
		row("settles", "%s as %s, by %s", b.Receipt, b.Status, b.By)
	case *receipts.Trust:
		row("trusts", "%s, says %s", b.What, b.By)
		for _, f := range b.Files {
			row("", "%s, sha256 %s", f.Path.Text, f.SHA256)
		}
		for _, h := range b.Receipts {
			row("", "%s", h)
		}
		if b.Reason != "" {
			row("reason", "%s", b.Reason)
		}
	case *receipts.Consumption:
		row("by", "%s", b.By)
		row("consumed", "%s", count(len(b.Consumed), "record"))
	default:
		row("unreadable", "%v", err)
	}
	if c := e.Consumption; c != nil {
		row("consumed", "by %s at %s", c.Who(), c.At.UTC().Format(time.RFC3339Nano))
	} else if e.Kind == receipts.KindReceipt || e.Kind == receipts.KindGate {
		row("consumed", "no")
	}
	switch {
	case e.Key != "" && e.Level < receipts.LevelKey:
		row("recorded", "by itself: signed by %s, but the key could have been read", e.Key)
	case e.Key != "":
		row("recorded", "under the key %s", e.Key)
	case e.Signature != "":
		row("recorded", "by itself: signed, by none of the keys that were given with --key")
	default:
		row("recorded", "by itself: not signed")
	}
	return w.Flush()
}

// rulesWords says what a gate was made under.
func rulesWords(name string) string {
	switch name {
	case receipts.PolicyPinned:
		return "as in the baseline that was named, or pinned"
	case receipts.PolicyNew:
		return "new: HEAD had no matrix"
	case receipts.PolicyChanged:
		return "CHANGED: not those of the baseline"
	case receipts.PolicyUnpinned:
		return "compared with HEAD only, or with nothing"
	}
	return name
}

// treeText names a tree for people.
func treeText(t receipts.Tree) string {
	if t.Tree == "" {
		return "bytes " + t.Bytes.String()
	}
	return "tree " + t.Tree + ", bytes " + t.Bytes.Short()
}

func newReceiptsValidate(u *ui) *cobra.Command {
	var f struct {
		keyFlags
		store string
		json  bool
	}
	cmd := &cobra.Command{
		Use:               "validate ID...",
		Short:             "say whether receipts are there, intact and of a success; consumes nothing",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := f.verifiers()
			if err != nil {
				return err
			}
			return withStoreOf(f.store, sqlite.Options{ReadOnly: true, Keys: keys}, func(ctx context.Context, s *sqlite.Store) error {
				d, err := s.Validate(ctx, args...)
				if err != nil {
					return err
				}
				return tellDecision(u, d, f.json, "valid")
			})
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	f.addKey(cmd)
	addStoreFlag(cmd, &f.store)
	return cmd
}

// tellDecision prints a decision; done is the word for what passed, next what to do where
// it did not.
func tellDecision(u *ui, d receipts.Decision, asJSON bool, done string, next ...string) error {
	if asJSON {
		doc := struct {
			Schema   string     `json:"schema"`
			Verdict  string     `json:"verdict"`
			Level    string     `json:"level"`
			Records  []docEntry `json:"records"`
			Refusals []Refusal  `json:"refusals,omitempty"`
			Next     []string   `json:"next,omitempty"`
		}{Schema: "dialect.decision/1", Verdict: done, Level: fmt.Sprintf("L%d", d.Level), Records: []docEntry{}, Refusals: refusalsOf(d.Refusals), Next: next}
		for _, e := range d.Records {
			doc.Records = append(doc.Records, newDocEntry(e))
		}
		if !d.Passed() {
			doc.Verdict = "refused"
		}
		if err := writeJSON(u, doc); err != nil {
			return err
		}
	} else if d.Passed() {
		for _, e := range d.Records {
			state := ""
			if e.Consumption != nil {
				state = ", consumed by " + printable(e.Consumption.Who())
			}
			v, _ := e.Parse()
			if g, ok := v.(*receipts.Gate); ok && !g.Final {
				state += fmt.Sprintf("; of lines %d to %d alone", g.Covers.FirstLine, g.Covers.LastLine)
			}
			fmt.Fprintf(u.out, "%s %s (%s%s)\n", e.SHA, done, recordedBy(e.Level, e.Key), state)
		}
	} else {
		for _, r := range d.Refusals {
			fmt.Fprintf(u.out, "refused: %s: %s\n", r.Reason, printable(r.Message))
		}
		for _, n := range next {
			fmt.Fprintf(u.out, "  next: %s\n", printable(n))
		}
	}
	if !d.Passed() {
		return exit.Status(exit.Refused)
	}
	return nil
}
