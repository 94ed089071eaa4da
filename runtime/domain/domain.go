// Package domain runs a command where it cannot reach the process that started it: it cannot name it, read it, trace
// it or signal it, nor reach the folder in which that keeps what counts. In comes a command and the folder that is hidden
// from it; out come the command in its domain, how it ended, and facts about the domain. The package
// knows no notary, no receipt and no plan, and keeps nothing but the empty folders of tmux and zellij in /tmp: it makes them, so that it can mask
// the servers that are started later.
//
// # Modes
//
// Namespaces is a user, a mount and a pid namespace. File systems in memory are mounted over the folder and over the places
// where other processes of the user listen (tmux, the session bus, systemd --user, X11, docker). /proc and /dev/pts
// are those of the domain alone. Then all capabilities are dropped, so that no mount can be undone, and a Landlock domain
// with scopes alone keeps signals and abstract sockets in. What the command leaves running ends with it.
//
// Landlock is for systems that forbid user namespaces to their users: a Landlock domain that grants everything but the
// folder, with both scopes. Landlock forbids mounts, and does not know limits, priorities, modes and times: [Facts.Gaps] says what that
// leaves open.
//
// Both need Landlock ABI 6 (Linux 6.12). Where that is not there the package refuses: it never enforces less than the
// mode that it names.
//
// # The first process of a domain
//
// The helper (see [Become]) is this program under another name. It furnishes the namespaces, says what it found, waits until
// it may go on, starts the command, and reports how that ended. It is process 1 of its pid namespace. Its other threads
// keep the capabilities of the namespace and are in no Landlock domain, so it is undumpable before the command
// exists: the command may not trace it, nor open what it has open.
//
// # Terminals
//
// Where a standard stream is a terminal the command gets a pseudo terminal of its own, which the domain's /dev/pts shows alone:
// TIOCSTI into the terminal of the user, and writing onto others of theirs, is not possible. The bytes are passed
// through as they are, the size follows, and a command that stops stops the caller. The helper leads the session, and
// the command is its foreground job. Other streams are handed over.
//
// It is one package of up to 1,600 lines because what is looked for outside, what is mounted inside and what the facts say are about the same
// masks: a rule of one that another does not know is a way out.
package domain

import (
	"errors"
	"fmt"
	"os"
)

// A Mode is the way in which a domain holds.
type Mode string

// The modes.
const (
	Namespaces Mode = "namespaces"
	Landlock   Mode = "landlock"
	None       Mode = "none" // no domain: only the terminal is the command's own
)

// Options describe a command and its domain.
type Options struct {
	Argv []string
	Dir  string
	Env  []string

	// Helper is the argv of this program by which it calls [Become].
	Helper []string
	// Folder is hidden from the command: absolute, without links, in a directory that the user cannot rename it in.
	Folder string
	// Sockets below Folder stay seen.
	Sockets []string
	// Tree is the project that Dir is in; empty for Dir.
	Tree string
	// Leave are sockets of the user that stay seen, though their servers may run what a client names.
	Leave []string
	// Modes are tried in their order; nil for Namespaces, then Landlock.
	Modes []Mode

	Streams [3]*os.File `json:"-"` // stdin, stdout, stderr; nil for those of this process

	// Suspend stops this process, since the command has stopped, and returns when it goes on. It calls before first, and what that
	// returns last. nil: the command goes on at once.
	Suspend func(before func() (after func())) `json:"-"`
}

// Facts say what a domain holds, and what it does not.
type Facts struct {
	Mode   Mode     `json:"mode"`
	ABI    int      `json:"abi"`              // of Landlock; 0 for none
	Why    string   `json:"why,omitempty"`    // why it is not Namespaces
	Masked []string `json:"masked,omitempty"` // paths that the command sees empty
	Gaps   []string `json:"gaps,omitempty"`   // what the mode does not hold
	Reach  []string `json:"reach,omitempty"`  // listeners of the user that the command can reach
	Closed []string `json:"closed,omitempty"` // those that it cannot
	Later  []string `json:"later,omitempty"`  // places where it would reach one that is started from now on
}

// A Refusal says why there is no domain here.
type Refusal struct{ Why, Hint string }

func (r *Refusal) Error() string { return "this machine gives no domain: " + r.Why }

// A Status is how a command ended.
type Status struct {
	Code   int    // -1 if a signal ended it
	Signal int    // 0 if none did
	Text   string // why it was not started; empty if it was
}

// ExitStatus is the status as a shell has it.
func (s Status) ExitStatus() int {
	if s.Signal != 0 {
		return 128 + s.Signal
	}
	return s.Code
}

// gaps are what a mode does not hold.
func gaps(m Mode) []string {
	if m != Landlock {
		return nil
	}
	return []string{
		"the agent can change limits and the priority of the notary, and the mode of its folder, and list the names in it: that can end recording, and forges nothing",
		"the agent can freeze and end the notary and its commands by control groups, where those are its user's",
		"the agent can connect to sockets of other processes of this user, and of services that take its groups, such as docker",
		"the agent can write onto other terminals of this user",
		"programs that the agent leaves running are not ended with it",
		"sandboxes that mount (bubblewrap, as Codex uses it) do not start inside",
	}
}

// check refuses options that make no domain.
func (o *Options) check() error {
	if len(o.Argv) == 0 || o.Argv[0] == "" {
		return errors.New("no command")
	}
	for i, f := range o.Streams {
		info, err := f.Stat()
		if err == nil && info.IsDir() { // a way out of the mounts
			return fmt.Errorf("descriptor %d is a directory", i)
		}
	}
	return nil
}
