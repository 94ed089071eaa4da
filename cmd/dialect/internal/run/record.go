package run

import (
	"os"
	"syscall"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/recording"
)

// Recorded says where what runs leaves its receipts, and as whose.
type Recorded struct {
	recording.Options
	KeyFD string // the number of the descriptor that holds the signing key; empty for none
	By    string // who runs it

	Guard   []string // argv of this program as the guard of a run: see [process.Guard]
	Version string   // of this program
}

// Open opens the store for a run in the project at root. Without a key that was asked for the run must not begin.
func (r *Recorded) Open(v *voice.Voice, root string, caches []string) (*recording.Recording, error) {
	for flag, name := range map[string]string{"--session": r.Session, "--nonce": r.Nonce} {
		if receipts.Name(name) != name {
			return nil, exit.Usagef("%s: want UTF-8 of at most %d bytes", flag, receipts.MaxName)
		}
	}
	if err := r.Check(root); err != nil {
		return nil, exit.Usagef("%v", err)
	}
	if r.Clean {
		info, err := os.Stat(os.TempDir())
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil { // else each line would say so, by a receipt
			return nil, exit.Usagef("there is no folder for a clean checkout: TMPDIR=%s: %v", os.TempDir(), regular.Reason(err))
		}
	}
	if err := r.Take(v); err != nil {
		return nil, err
	}
	r.Slow = func() {
		v.Notef("%s; --no-tree leaves that out, and proves less", inquiry.Reading(root))
	}
	r.Waits = v.Note
	return recording.Open(root, caches, r.Options), nil
}

// Take takes the key, once. It comes before anything is started.
func (r *Recorded) Take(v *voice.Voice) (err error) {
	if r.Signer == nil {
		r.Signer, err = TakeKey(v, r.KeyFD)
	}
	return err
}

// Engine returns the options of a run of p that is recorded in rec.
func (r *Recorded) Engine(rec *recording.Recording, p *plan.Plan) engine.Options {
	o := rec.Options(p)
	o.Guard, o.Version, o.By = r.Guard, r.Version, r.By
	return o
}

// TakeKey takes a signing key from the descriptor that --key-fd names, and warns where that is weak; nil
// for none.
func TakeKey(v *voice.Voice, keyFD string) (*receipts.Signer, error) {
	if keyFD == "" {
		return nil, nil
	}
	key, err := keyfd.Take(keyFD)
	if err != nil {
		return nil, exit.Usagef("--key-fd: %v", err)
	}
	if key.Weakness != "" {
		v.Warnf("signed, but still recorded by itself: %s", key.Weakness)
	}
	return key.Signer, nil
}
