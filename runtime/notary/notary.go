package notary

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// Config says what a notary serves, and how it records.
type Config struct {
	// Tree is the project's directory, absolute. Scripts of other trees are refused.
	Tree string
	// Folder is where the notary keeps the store, outputs and checkouts; absolute, empty or not there, below a
	// directory that only it can reach.
	Folder string

	// Identity vouches for the session; nil for nobody, and then it proves nothing to others.
	Identity *receipts.Signer
	// Facts are what the caller found before the agent started. Open fills in the rest.
	Facts Facts

	Base    string   // the revision that the rules come from; empty: HEAD as it is when Open is called
	InPlace bool     // commands run in the working tree, which the agent can change under them
	Share   []string // what the room shows beside what the matrix shares
	Environ []string // the environment that commands start from; nil for that of this process
	Jobs    int      // commands at the same time, at most; 0 for the number of CPUs

	// Room and Guard are the commands of this program that become a room and a guard: see process.Room and
	// process.Options.
	Room, Guard []string
	Version     string // of dialect

	// May says whether a peer may ask. nil: only processes of this user may.
	May func(Peer) error
}

// Facts are what a session rests on, as its caller found it.
type Facts struct {
	Mode      string   // ModeNamespaces, ModeLandlock, ModeService or ModeNone
	ABI       int      // of Landlock; 0 for none
	Listeners []string // what outside of the domain could run things for the agent
	Masks     []string // what the domain hides
}

// The modes of a session, as [receipts.Notary] has them.
const (
	ModeNamespaces = receipts.NotaryNamespaces // namespaces, masks and Landlock scopes
	ModeLandlock   = receipts.NotaryLandlock   // full Landlock, without user namespaces
	ModeService    = receipts.NotaryService    // another user
	ModeNone       = receipts.NotaryUnguarded  // nothing keeps the agent from the notary
)

// A Peer is the process at the other end of a connection, as the kernel says it.
type Peer struct{ PID, UID, GID int }

// A Notary is an open session.
type Notary struct { /* to come */
}

// Open makes the key of the session, opens its store, finds the baseline and records what the session rests on. It is
// called before the agent starts, by a process that is undumpable already.
func Open(ctx context.Context, c Config) (*Notary, error) { return nil, nil }

// Key returns the public key of the session.
func (n *Notary) Key() string { return "" }

// Serve answers the connections of l until ctx ends or [Notary.Close] is called. It closes l.
func (n *Notary) Serve(ctx context.Context, l net.Listener) error { return nil }

// Status says what the session has come to so far.
func (n *Notary) Status() Status { return Status{} }

// Close ends the runs that last, appends the closing record and forgets the key.
func (n *Notary) Close(ctx context.Context) (Status, error) { return Status{}, nil }

// Bundle writes the proof of the session: see [receipts.Bundle]. It is called after Close.
func (n *Notary) Bundle(w io.Writer) error { return nil }

// A Status says what a session has come to. It is also what a client gets that asks for it.
type Status struct {
	Key      string    `json:"key"`                // the public key of the session
	Identity string    `json:"identity,omitempty"` // the name of the key that vouches for it
	Mode     string    `json:"mode"`
	ABI      int       `json:"abi,omitempty"`
	Tree     string    `json:"tree"`
	Baseline string    `json:"baseline,omitempty"` // a commit
	InPlace  bool      `json:"in_place,omitempty"`
	Started  time.Time `json:"started"`
	Closed   bool      `json:"closed,omitempty"`
	Records  int64     `json:"records"`
	Running  int       `json:"running"`
	Runs     []Ran     `json:"runs"` // the last of them, in their order
}

// Ran is what became of one run, or of a question that was refused.
type Ran struct {
	Run     string    `json:"run,omitempty"`
	Script  string    `json:"script"`
	Started time.Time `json:"started"`
	Verdict string    `json:"verdict"` // passed, failed, fault, refused, interrupted, running
	Gate    string    `json:"gate,omitempty"`
	Why     string    `json:"why,omitempty"` // of what did not pass
}

// A Client asks a notary.
type Client struct { /* to come */
}

// Dial connects to the notary that listens on a socket.
func Dial(ctx context.Context, socket string) (*Client, error) { return nil, nil }

// Variable names the variable of the environment that says where the notary listens.
const Variable = "DIALECT_NOTARY"

// MaxFrame is the greatest length of a frame, in bytes.
const MaxFrame = 1 << 20
