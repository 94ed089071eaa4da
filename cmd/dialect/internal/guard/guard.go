// Package guard runs a coding agent in a domain, and a notary outside of it. In comes the command line of the agent; out
// come how it ended, what the notary recorded meanwhile, and the bundle of that. It judges nothing.
//
// This process is the notary: it makes its folder in /var/tmp, which no user can rename directories in, has the helper
// of the domain furnish the namespaces, seals itself, and only then takes or makes a key. The agent starts last.
package guard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/domain"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// socketName is the name of the notary's socket in the folder of a session.
const socketName = "socket"

// Options describe a session.
type Options struct {
	Argv      []string
	Root      string // of the project
	Identity  string // the number of the descriptor that holds the identity key; empty for none
	Base      string
	InPlace   bool
	Unguarded bool // run the agent without a domain where this machine gives none
	SSHAgent  bool // leave the socket of ssh-agent to the agent
	Kept      bool // the bundle of the session is written to a file
	Version   string

	// Helper, Room and Guard are argv of this program: see [domain.Options] and [notary.Config].
	Helper, Room, Guard []string

	Note func(format string, args ...any) // tells the user, before the agent starts
	Warn func(format string, args ...any)
}

// A Report is what became of a session: the document of `dialect guard --json`.
type Report struct {
	Schema string        `json:"schema"` // dialect.guard/1
	Agent  []string      `json:"agent"`
	Exit   int           `json:"exit"`
	Ms     int64         `json:"ms"`
	Domain domain.Facts  `json:"domain"`
	Notary notary.Status `json:"notary"`

	// Fault says why the agent was not started; empty if it was.
	Fault string `json:"fault,omitempty"`
	// Bundle is the proof of the session.
	Bundle []byte `json:"-"`
}

// Run runs the agent, and returns once all that was recorded is in the report. An error says that the agent was not
// started, or, with a report, that what it did cannot be proven.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	defer func() {
		var f *exit.Failure
		if err != nil && !errors.As(err, &f) {
			err = exit.Failf(process.StatusNotBegun, "%w", err)
		}
	}()
	if socket := os.Getenv(notary.Variable); socket != "" {
		return nil, exit.Failf(process.StatusNotBegun, "this is the inside of a guard already (%s)", socket).
			Hint("`dialect guard status` says what it has recorded; run the agent as it is")
	}
	// A reader of the summary that goes away does not end the notary: caught, the signal becomes an error of the write, and the agent has its own.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	weakness := keyfd.Weakness() // as this process started
	modes, err := modesFor(o)
	if err != nil {
		return nil, err
	}
	if err := closeInherited(); err != nil {
		return nil, err
	}
	folder, err := privateFolder(folderParent)
	if err != nil {
		return nil, err
	}
	session, remove, err := tempdir.NewIn(folder, tempdir.Guard)
	if err != nil {
		return nil, err
	}
	defer remove()
	socket := filepath.Join(session, socketName)
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	env := make([]string, 0, len(os.Environ())+1)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != keyfd.Variable && name != notary.Variable {
			env = append(env, v)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	leave, err := o.leave()
	if err != nil {
		return nil, err
	}
	d, err := domain.Start(domain.Options{
		Argv: o.Argv, Dir: dir, Tree: o.Root, Leave: leave, Env: append(env, notary.Variable+"="+socket), Modes: modes,
		Helper: o.Helper, Folder: folder, Sockets: []string{socket}, Suspend: interrupt.Suspend,
	})
	if refusal := new(domain.Refusal); errors.As(err, &refusal) {
		return nil, exit.Failf(process.StatusNotBegun, "%w", err).Hint("%s", "`dialect doctor` says what this machine gives").
			Hint("--allow-unguarded runs the agent as it is, and records at level L0")
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := keyfd.Seal(); err != nil && d.Facts().Mode != domain.None {
		return nil, err
	}
	c := notary.Config{
		Tree: o.Root, Folder: filepath.Join(session, "notary"), Facts: factsOf(d.Facts()), Base: o.Base, InPlace: o.InPlace,
		Environ: env, Room: o.Room, Guard: o.Guard, Version: o.Version,
	}
	if o.Identity != "" {
		private, open, err := keyfd.Read(o.Identity)
		if err != nil {
			return nil, exit.Usagef("--identity: %v", err)
		}
		weakness := cmp.Or(weakness, open)
		if c.Identity, err = receipts.NewSigner(private, weakness == ""); err != nil {
			return nil, exit.Usagef("--identity: %v", err)
		}
		if weakness != "" && d.Facts().Mode != domain.None {
			return nil, exit.Failf(process.StatusNotBegun, "--identity: the key could be in other hands, so it vouches for nothing: %s", weakness).
				Hint("without --identity the session is recorded, and nobody vouches for it")
		}
	}
	n, err := notary.Open(ctx, c)
	switch {
	case errors.Is(err, workspace.ErrNoCommit):
		f := inquiry.NoCommit(ctx, "--base", o.Root, o.Base, err)
		f.Status = process.StatusNotBegun
		return nil, f
	case err != nil:
		return nil, err
	}
	served, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- n.Serve(served, l) }()
	o.tell(d.Facts(), c.Identity != nil)

	r = &Report{Schema: "dialect.guard/1", Agent: o.Argv, Domain: d.Facts()}
	began := time.Now()
	status, runErr := d.Run()
	d.Close() // nothing of the agent is left to ask
	r.Ms, r.Exit, r.Fault = time.Since(began).Milliseconds(), status.ExitStatus(), status.Text
	r.Notary, err = n.Close(ctx)
	stop()
	serveErr := <-done
	// Without a closing record as well: it has the red runs, and a verifier says that the session was cut.
	var b bytes.Buffer
	if e := n.Bundle(ctx, &b); e == nil {
		r.Bundle = b.Bytes()
	} else {
		err = cmp.Or(err, e)
	}
	return r, errors.Join(runErr, err, serveErr)
}

// leave returns the sockets of the user that the agent is to have.
func (o Options) leave() ([]string, error) {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if !o.SSHAgent || socket == "" {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(socket)
	if err != nil {
		return nil, fmt.Errorf("--ssh-agent: %w", err)
	}
	if strings.HasPrefix(filepath.Base(real), "S.gpg-agent") {
		return nil, exit.Failf(process.StatusNotBegun, "--ssh-agent: %s is of gpg-agent, which runs the program that a file in your home names", real).
			Hint("use keys of ssh-agent, or push once the session has ended")
	}
	return []string{real}, nil
}

// modesFor returns the modes of the domain that are tried.
func modesFor(o Options) ([]domain.Mode, error) {
	if os.Geteuid() == 0 || os.Getuid() == 0 {
		if !o.Unguarded {
			return nil, exit.Failf(process.StatusNotBegun, "root can read and change everything: no domain holds it").
				Hint("run it as an ordinary user").Hint("--allow-unguarded runs the agent as it is, and records at level L0")
		}
		return []domain.Mode{domain.None}, nil
	}
	modes := []domain.Mode{domain.Namespaces, domain.Landlock}
	if o.Unguarded {
		modes = append(modes, domain.None)
	}
	return modes, nil
}

// factsOf returns what the notary records of a domain.
func factsOf(f domain.Facts) notary.Facts {
	mode := notary.ModeNone
	switch f.Mode {
	case domain.Namespaces:
		mode = notary.ModeNamespaces
	case domain.Landlock:
		mode = notary.ModeLandlock
	}
	reach := slices.Clone(f.Reach)
	for _, path := range f.Later {
		reach = append(reach, "if it is started later: "+path)
	}
	return notary.Facts{Mode: mode, ABI: f.ABI, Listeners: reach, Masks: f.Masked}
}

// tell says what the agent starts in.
func (o Options) tell(f domain.Facts, identity bool) {
	switch f.Mode {
	case domain.None:
		o.Warn("UNGUARDED: nothing keeps the agent from the notary; records have level L0")
	case domain.Landlock:
		o.Warn("guarded by Landlock alone (ABI %d), so that the notary refuses runs: %s", f.ABI, f.Why)
	default:
		o.Note("guarded: namespaces and Landlock (ABI %d)", f.ABI)
	}
	for _, gap := range f.Gaps {
		o.Warn("%s", gap)
	}
	if n := len(f.Reach); n > 0 && f.Mode != domain.None {
		o.Note("%s of this user can be reached by the agent; what runs commands for it there is not guarded: `dialect guard status`", diag.Number(n, "listener"))
	}
	if n := len(f.Later); n > 0 && f.Mode == domain.Namespaces {
		o.Note("servers that you start from now on can be reached by the agent at %s: `dialect guard status`", diag.Number(n, "place"))
	}
	if !identity {
		o.Note("nobody vouches for this session: --identity N hands over a key that the verifier knows")
	}
	if !o.Kept {
		o.Note("the records of this session end with it: --bundle FILE writes their proof to a file")
	}
}

// WriteText writes for people what the session came to.
func (r *Report) WriteText(w io.Writer) error {
	if r.Fault != "" {
		_, err := fmt.Fprintf(w, "guard: %s was not started: %s\n", diag.Printable(r.Agent[0]), diag.Printable(r.Fault))
		return err
	}
	if _, err := fmt.Fprintf(w, "guard: %s ended with exit status %d after %v\n", diag.Printable(filepath.Base(r.Agent[0])), r.Exit, (time.Duration(r.Ms) * time.Millisecond).Round(100*time.Millisecond)); err != nil {
		return err
	}
	return r.Notary.WriteRuns(w)
}
