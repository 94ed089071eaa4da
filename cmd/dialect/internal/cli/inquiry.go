package cli

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/runtime/records"
)

// inquiryFlags are the flags of the commands that ask whether a tree was tested.
type inquiryFlags struct {
	inquiry.Options
	maxAge string
	json   bool
}

func (f *inquiryFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.Require, "require", nil, "insist on the binding `NAME` (or its noun, its verb, or the whole line): each of its commands, without extra values; may be repeated (default of verify: [verify] of the matrix)")
	fl.StringVar(&f.Base, "base", "", "trust the matrix and the pinned files of the commit `REV` (default: your pin, else HEAD)")
	fl.StringVar(&f.Level, "level", "", "insist on the `LEVEL` self (L0: recorded by itself), key (L1: signed by a --key) or notary (L2: recorded by a notary that a --key vouches for) (default: key if there is a --key)")
	fl.BoolVar(&f.Clean, "clean", false, "insist that all ran in a clean checkout: dialect run --clean")
	fl.StringVar(&f.maxAge, "max-age", "", "insist on a gate, and on runs of its commands, that are at most `AGE` old: 90m, 12h, 2d")
	fl.BoolVar(&f.Fresh, "fresh", false, "refuse results that --reuse repeated")
	fl.StringVar(&f.Session, "session", "", "insist on the session `SESSION`")
	fl.StringVar(&f.Nonce, "nonce", "", "insist on the nonce `NONCE`")
	addKeyFlag(cmd, &f.KeyFiles)
	fl.StringVar(&f.Since, "since", "", sinceUsage)
	fl.StringVar(&f.State, "state", "", "remember in `DIR` how far this store was audited; DIR is for this store alone, and belongs to another user")
	fl.StringVar(&f.Root, "root", "", "insist that the root of the repository is `DIR`")
	fl.StringVar(&f.Routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.json, "json", false, "print one JSON document on standard output")
	addStoreFlag(cmd, &f.Store)
	_ = cmd.RegisterFlagCompletionFunc("require", completeBindings)
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions([]string{"self", "key", "notary"}, cobra.ShellCompDirectiveNoFileComp))
}

// read reads what the flags name.
func (f *inquiryFlags) read() (err error) {
	if f.Keys, err = store.ReadKeys(f.KeyFiles); err != nil {
		return err
	}
	if f.Kept, err = store.ReadCheckpoint(f.Since, f.Keys); err != nil {
		return err
	}
	if f.MaxAge, err = store.Age(f.maxAge); err != nil {
		return exit.Usagef("--max-age: %v", err)
	}
	return nil
}

// tell prints what a slow snapshot waits for, once.
func (f *inquiryFlags) tell(u *ui) {
	var once sync.Once
	f.Slow = func(waiting string) { once.Do(func() { u.Notef("%s", waiting) }) }
}

// decide asks about the present files, has do gate or consume the records that ids name, and prints what
// became of them, or why nothing was decided.
func (f *inquiryFlags) decide(u *ui, ids []string, do func(ctx context.Context, q *inquiry.Question) (records.Decision, error)) error {
	ctx, stop := interrupt.Context()
	defer stop()
	defer inquiry.Contain(u.Warnf)()
	if err := cmp.Or(inquiry.CheckIDs(ids...), f.read()); err != nil {
		return err
	}
	var d records.Decision
	f.tell(u)
	q, err := inquiry.New(ctx, f.Options, "")
	if err = inquiry.Decides(err); err == nil {
		d, err = do(ctx, q)
	}
	var e *inquiry.Undecided
	switch {
	case errors.As(err, &e) && f.json:
		d = e.Decision()
	case e != nil:
		return cmp.Or(u.Changes(e.Changes), err)
	case err != nil:
		return err
	}
	return tellDecision(u, d, f.json)
}
