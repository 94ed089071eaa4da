package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
)

// inquiryFlags are the flags of the commands that ask whether a tree was tested.
type inquiryFlags struct {
	storeFlags
	since   string
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
	f.addKey(cmd)
	addSince(cmd, &f.since)
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
	p, err := f.place()
	if err != nil {
		return o, err
	}
	o.Keys = p.Keys
	if o.Kept, err = store.ReadCheckpoint(f.since, p.Keys); err != nil {
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

// tellDecided prints what became of the records that were gated or consumed, or why nothing was decided.
func (f *inquiryFlags) tellDecided(u *ui, d decision, err error) error {
	var e *inquiry.Undecided
	switch {
	case errors.As(err, &e) && f.json:
		d = e.Decision()
	case e != nil:
		return cmp.Or(u.changes(e.Changes), err)
	case err != nil:
		return err
	}
	return tellDecision(u, d, f.json)
}
