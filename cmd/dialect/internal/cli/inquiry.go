package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
)

// inquiryFlags are the flags of the commands that ask whether a tree was tested.
type inquiryFlags struct {
	keyFlags
	store   string
	require []string
	base    string
	routing string
	top     string // the root of the repository
	session string
	nonce   string
	state   string
	level   string
	maxAge  string
	fresh   bool
	json    bool
}

func (f *inquiryFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.require, "require", nil, "insist on the binding `NAME` (or its noun, \"verb noun\", or the whole line): each of its commands, without extra values; may be repeated (default of verify: what [verify] of the matrix says)")
	fl.StringVar(&f.base, "base", "", "trust the matrix and the pinned files of the commit `REV` (default: your pin, else HEAD)")
	fl.StringVar(&f.level, "level", "", "insist on who recorded: `self` (L0), or key (L1): signed by a --key (default: key where there is a --key)")
	fl.StringVar(&f.maxAge, "max-age", "", "insist on a gate that is at most `AGE` old: 90m, 12h, 2d")
	fl.BoolVar(&f.fresh, "fresh", false, "refuse results that --reuse repeated")
	fl.StringVar(&f.session, "session", "", "insist on the session `SESSION`")
	fl.StringVar(&f.nonce, "nonce", "", "insist on the nonce `NONCE`")
	f.keyFlags.add(cmd)
	fl.StringVar(&f.state, "state", "", "remember in `DIR`, a folder of another user than the store's and for this store alone, how far it has been audited")
	fl.StringVar(&f.top, "root", "", "insist that the root of the repository is `DIR`")
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.store)
	_ = cmd.RegisterFlagCompletionFunc("require", completeBindings)
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions([]string{"self", "key"}, cobra.ShellCompDirectiveNoFileComp))
}

// options are the flags as package inquiry takes them.
func (f *inquiryFlags) options() (inquiry.Options, error) {
	o := inquiry.Options{
		KeyFiles: f.keys, Since: f.since, State: f.state, Store: f.store, Routing: f.routing, Root: f.top, Base: f.base,
		Require: f.require, Level: f.level, Fresh: f.fresh, Session: f.session, Nonce: f.nonce,
	}
	var err error
	if o.Keys, o.Kept, err = f.anchors(); err != nil {
		return o, err
	}
	if o.MaxAge, err = age(f.maxAge); err != nil {
		return o, exit.Usagef("--max-age: %v", err)
	}
	return o, nil
}

// question asks about the present files.
func (f *inquiryFlags) question(ctx context.Context) (*inquiry.Question, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	return inquiry.New(ctx, o, "")
}

// undecided makes a refusal of an error that kept a gate or a consumption from being decided: the
// rules, the files or the store cannot be read. Other errors stay as they are.
func (f *inquiryFlags) undecided(u *ui, err error) error {
	var failure *exit.Failure
	switch {
	case !errors.As(err, &failure):
		return err
	case errors.Is(err, errNoStore):
		return f.refuse(u, receipts.Missing, failure)
	case failure.Status == exit.Refused:
		return f.refuse(u, receipts.Degraded, failure)
	}
	return err
}

// refuse ends a gate or a consumption that nothing was decided about: with --json by a document
// like that of any other refusal.
func (f *inquiryFlags) refuse(u *ui, reason receipts.Reason, failure *exit.Failure) error {
	if f.json {
		d := receipts.Decision{Refusals: []receipts.Refusal{{Reason: reason, Message: failure.Error()}}}
		next := slices.Clone(failure.Hints)
		for i, h := range next {
			if !strings.HasPrefix(h, "dialect ") && !strings.HasPrefix(h, "# ") {
				next[i] = "# " + h
			}
		}
		return tellDecision(u, d, true, "", next...)
	}
	refused := exit.Failf(exit.Refused, "%w", failure.Err)
	for _, h := range failure.Hints {
		refused.Hint("%s", strings.TrimPrefix(h, "# "))
	}
	return refused
}

// age parses a duration that may be in days.
func age(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	var days float64
	var rest string
	if n, _ := fmt.Sscanf(text, "%fd%s", &days, &rest); n == 1 && strings.HasSuffix(text, "d") && days > 0 && days < 1e5 {
		return time.Duration(days * float64(24*time.Hour)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no age: want 90m, 12h, 2d", text)
	}
	return d, nil
}

// completeBindings completes the names of the bindings of the nearest matrix.
func completeBindings(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	dir, err := os.Getwd()
	if err != nil {
		return nil, none
	}
	path, err := routing.Find(dir)
	if err != nil {
		return nil, none
	}
	m, _ := routing.Load(path, path, routing.Options{})
	var names []string
	for _, b := range m.Bindings {
		names = append(names, b.Name+"\t"+b.Verb+" "+b.Noun)
	}
	return names, none
}
