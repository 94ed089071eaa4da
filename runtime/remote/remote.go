// Package remote is the side of a run that another engine carries out: a [Conductor] hands a run out through a helper,
// which speaks to the engine, and brings back what the history of the run says. What comes in is a script with its
// digests, what goes out are arrivals for package engine. It makes no plan and judges nothing: who carries the run out resolves the script
// itself, and package attempt decides what is accepted of a receipt.
//
// The helper is spoken to over pipes, a JSON document a line: [Request] there, [Reply] back. What the history names by
// its digest is fetched from the depot of the run (package carry).
package remote

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/schedule"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// Version is that of what travels; a worker that does not know it refuses a run. A run of version 1 has no key, and one of a version before
// 3 has locks of its own machine alone; one of a version before 4 does not keep steps apart whose test results may be the same files.
const Version = 4

// A Spec is what a worker gets to know of a run. It is in the history of the run: no secret is in it.
type Spec struct {
	Version int       `json:"version"`
	Run     string    `json:"run"`
	Session string    `json:"session"`
	Nonce   string    `json:"nonce,omitempty"`
	Parent  string    `json:"parent,omitempty"`
	Origin  string    `json:"origin"`        // of the store that the receipts are for
	Key     []byte    `json:"key,omitempty"` // public, of who answers for the run; see [Answer]
	Started time.Time `json:"started"`

	Name   string            `json:"name"`   // of the script, as the user named it
	Script string            `json:"script"` // path from the root of the tree
	Line   int               `json:"line,omitempty"`
	Member []int             `json:"member,omitempty"`
	Part   bool              `json:"part,omitempty"`
	Lines  []int             `json:"lines,omitempty"` // that are run; nil for all
	Vars   map[string]string `json:"vars,omitempty"`
	Matrix string            `json:"matrix"` // path from the root of the tree

	ScriptSHA receipts.Hash `json:"script_sha"`
	MatrixSHA receipts.Hash `json:"matrix_sha"`
	Tree      receipts.Tree `json:"tree"`
	Place     string        `json:"place,omitempty"` // of the project in the tree
	Format    string        `json:"format,omitempty"`
	Commit    string        `json:"commit"`

	Rules schedule.Rules `json:"rules"`

	// Begun is the signature of who began the run, with the key that their store signs with; empty where they have none. See [Spec.Begin].
	Begun receipts.Signature `json:"begun,omitempty"`

	// DeferGate says that the receipts are for a gate elsewhere: a worker looks at the files again when a line has ended.
	DeferGate bool `json:"defer_gate,omitempty"`
}

// Ref names a ref of the run in its depot.
func (s *Spec) Ref(name string) string { return carry.Ref(s.Started, s.Run, name) }

// An Attempted is what the history keeps of an attempt: the rest is in the depot, under Ref, and has the digest Body.
type Attempted struct {
	Brief schedule.Brief `json:"brief"`
	Ref   string         `json:"ref"`
	Body  receipts.Hash  `json:"body"`
}

// A Resolved is what the worker that resolved the script says of it.
type Resolved struct {
	Shape  []byte `json:"shape"` // a [schedule.Shape] as JSON, compressed
	Worker string `json:"worker"`
}

// Pack compresses v as JSON.
func Pack(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err = w.Write(text)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// maxPacked bounds what is unpacked, in bytes.
const maxPacked = 64 << 20

// Unpack reads what [Pack] wrote.
func Unpack(packed []byte, v any) error { return UnpackWithin(maxPacked, packed, v) }

// UnpackWithin reads what [Pack] wrote of at most so many bytes: the code of a workflow has a second for all that it does.
func UnpackWithin(most int64, packed []byte, v any) error {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return err
	case int64(len(text)) > most:
		return errors.New("it is too large")
	}
	return json.Unmarshal(text, v)
}

// ShapeSum is the digest of a shape.
func ShapeSum(s schedule.Shape) receipts.Hash {
	text, _ := json.Marshal(s) // plain data
	return sha256.Sum256(text)
}

// A Server says where the engine is. What is empty is what the engine's own program would take (TEMPORAL_ADDRESS and its like).
type Server struct {
	Address   string `json:"address,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Queue     string `json:"queue"`
}

// A Request is a message to the helper. The first one starts or attaches.
type Request struct {
	Server *Server  `json:"server,omitempty"`
	Start  *Spec    `json:"start,omitempty"`
	Queues []string `json:"queues,omitempty"` // of Start: further ones that its lines name
	Attach string   `json:"attach,omitempty"` // the run
	Answer *Answer  `json:"answer,omitempty"`
	Cut    *Cut     `json:"cut,omitempty"`
	List   bool     `json:"list,omitempty"`
}

// A Cut ends a run.
type Cut struct {
	Why  schedule.Brief `json:"why"`
	Kill bool           `json:"kill,omitempty"` // also what comes in any case
}

// A Reply is a message of the helper.
type Reply struct {
	Started *Spec         `json:"started,omitempty"` // the run is under way
	Shape   receipts.Hash `json:"shape,omitzero"`    // that its worker resolved
	Arrived []Arrived     `json:"arrived,omitempty"`
	Over    bool          `json:"over,omitempty"`  // the history has ended
	Error   string        `json:"error,omitempty"` // with Over: the history has ended before the run was over
	Runs    []Listed      `json:"runs,omitempty"`
	More    bool          `json:"more,omitempty"` // there are more runs
}

// An Arrived is an arrival of the history, with what it names.
type Arrived struct {
	schedule.Arrival
	Attempted *Attempted `json:"attempted,omitempty"`
}

// A Listed is a run that the engine knows.
type Listed struct {
	Run     string    `json:"run"`
	Status  string    `json:"status"` // "running", "completed", "failed", "terminated", "canceled", "timed out"
	Started time.Time `json:"started"`
	Queue   string    `json:"queue,omitempty"`
}

// Options say how a run is handed out.
type Options struct {
	Helper    []string // the program that speaks to the engine, and its arguments
	Server    Server
	Depot     carry.Depot
	Untracked bool // files that git does not track are sent, too
	Spec      Spec // without what a snapshot says; Script and Matrix are absolute paths before that
	Snapshot  func(context.Context) (*workspace.Snapshot, error)
	Attach    bool               // Spec.Run is under way already
	Key       ed25519.PrivateKey // of Spec.Key
	Signer    *receipts.Signer   // of who begins the run; nil for none
	Ended     func(over bool)    // is called once this process has ended the run for itself; over: its history has ended, too. nil for none
	Complain  io.Writer
}

// A Conductor hands out one run. It is an [engine.Remote].
type Conductor struct {
	ctx   context.Context
	lasts context.Context // until Close: what was made is fetched although the run may have been cut short meanwhile
	end   context.CancelFunc
	o     Options
	child *mcpclient.Child // nil before the run has begun
	in    *bufio.Reader
	out   chan []engine.Arrived
	over  bool // the history has ended

	mu  sync.Mutex
	err error
}

// New returns a conductor; ctx bounds how long it sends the files.
func New(ctx context.Context, o Options) *Conductor {
	c := &Conductor{ctx: ctx, o: o, out: make(chan []engine.Arrived)}
	c.lasts, c.end = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// open starts a helper and says the first thing to it.
func open(helper []string, first Request, complain io.Writer) (*mcpclient.Child, *bufio.Reader, error) {
	if len(helper) == 0 {
		return nil, nil, errors.New("the helper dialect-temporal is neither beside dialect nor in PATH")
	}
	c, err := mcpclient.StartChild(helper[0], helper, "", os.Environ(), complain, syscall.SIGKILL)
	if err != nil {
		return nil, nil, err
	}
	if err := (mcpclient.Lines{}).WriteObject(c.Stdin, first); err != nil {
		c.Stop()
		return nil, nil, err
	}
	return c, bufio.NewReaderSize(c.Stdout, 1<<16), nil
}

// Ask starts a helper for one question.
func Ask(helper []string, q Request, complain io.Writer) (Reply, error) {
	c, in, err := open(helper, q, complain)
	if err != nil {
		return Reply{}, err
	}
	defer c.Stop()
	var r Reply
	if err := (mcpclient.Lines{}).ReadObject(in, &r); err != nil {
		return r, fmt.Errorf("the helper does not answer: %w", err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// Begin sends the files and starts the run.
func (c *Conductor) Begin(shape schedule.Shape, rules schedule.Rules) error {
	s := &c.o.Spec
	first := Request{Server: &c.o.Server, Attach: s.Run}
	if !c.o.Attach {
		if err := c.send(rules); err != nil {
			return err
		}
		first = Request{Server: &c.o.Server, Start: s, Queues: queues(shape.Nodes)}
	}
	child, in, err := open(c.o.Helper, first, c.o.Complain)
	if err != nil {
		return err
	}
	defer context.AfterFunc(c.ctx, func() { child.Stdin.Close() })()
	var r Reply
	switch err = (mcpclient.Lines{}).ReadObject(in, &r); {
	case err != nil:
		err = fmt.Errorf("the engine was not reached: %w", err)
	case r.Error != "":
		err = errors.New(r.Error)
	case r.Started == nil || !bytes.Equal(r.Started.Key, s.Key):
		err = errors.New("the helper answered something else than that the run has begun")
	}
	if err != nil {
		child.Stop()
		return err
	}
	c.child, c.in = child, in
	go c.read(ShapeSum(shape))
	return nil
}

// queues lists the queues that steps name, each once.
func queues(nodes []schedule.Node) (names []string) {
	for _, n := range nodes {
		if n.Queue != "" {
			names = append(names, n.Queue)
		}
		names = append(names, queues(n.Members)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *Conductor) send(rules schedule.Rules) error {
	s := &c.o.Spec
	snap, err := c.o.Snapshot(c.ctx)
	if err != nil {
		return err
	}
	s.Tree, s.Place = receipts.Tree{Tree: snap.Tree, Bytes: snap.Bytes, Exact: snap.Exact}, snap.Place
	for _, path := range []*string{&s.Script, &s.Matrix} {
		if *path, err = within(snap.Root, *path); err != nil {
			return err
		}
	}
	if f := git.FormatOf(snap.Tree); f != git.FormatSHA1 {
		s.Format = string(f)
	}
	s.Version, s.Rules = Version, rules
	if s.Commit, err = c.o.Depot.SendTree(c.ctx, snap, c.o.Untracked, s.Ref("tree")); err != nil {
		return fmt.Errorf("the files were not sent: %w", err)
	}
	if c.o.Signer != nil {
		return s.Begin(c.o.Signer)
	}
	return nil
}

// within returns a path from a root, with slashes.
func within(root, path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	in, ok := git.Within(root, real)
	if !ok || in == "" {
		return "", fmt.Errorf("%s is outside of %s, whose files are sent", path, root)
	}
	return in, nil
}

// read takes what the helper says until it ends. What arrives while deliveries are fetched is fetched together.
func (c *Conductor) read(shape receipts.Hash) {
	defer close(c.out)
	said, ended := make(chan Reply, maxTogether), make(chan struct{})
	defer close(ended)
	go func() {
		defer close(said)
		for {
			var r Reply
			if err := (mcpclient.Lines{}).ReadObject(c.in, &r); err != nil {
				r = Reply{Error: fmt.Errorf("the helper has gone: %w", err).Error()}
			}
			select {
			case said <- r:
			case <-ended:
				return
			}
			if r.Error != "" || r.Over {
				return
			}
		}
	}()
	known := false
	for r := range said {
		batch := r.Arrived
		for more := true; more && len(batch) > 0 && r.Error == "" && !r.Over && len(batch) < maxTogether; {
			select {
			case r = <-said:
				batch = append(batch, r.Arrived...)
				more = len(r.Arrived) > 0
			default:
				more = false
			}
		}
		if len(batch) > 0 {
			if !known {
				c.fail(errors.New("an attempt was made before the script was resolved"))
				return
			}
			c.out <- c.fetch(batch)
		}
		if r.Over {
			c.mu.Lock()
			c.over = true
			c.mu.Unlock()
		}
		switch {
		case r.Error != "":
			c.fail(errors.New(r.Error))
			return
		case !r.Shape.IsZero():
			if r.Shape != shape {
				c.fail(errors.New("the worker made another plan of the script than this machine: their routing.toml, packs or versions differ"))
				return
			}
			known = true
		}
		if r.Over {
			return
		}
	}
}

// maxTogether is how many replies, and arrivals, are taken at once.
const maxTogether = 64

// fetchGrace is how long what was made is still fetched once the run is cut short; what comes after one that took longer is not.
const fetchGrace = 3 * time.Second

// fetch brings what a batch of arrivals names.
func (c *Conductor) fetch(batch []Arrived) []engine.Arrived {
	list := make([]engine.Arrived, len(batch))
	var refs []string
	var of []int
	for i, a := range batch {
		list[i].Arrival = a.Arrival
		switch {
		case a.Attempted == nil:
		case !Fits(a.Brief):
			list[i].Problem = "its verdict is not one that a worker gives"
		case carry.CheckRef(a.Attempted.Ref) != nil || a.Attempted.Ref != c.o.Spec.Ref(DeliveryName(a.Seq, a.Dispatch)):
			list[i].Problem = "it lies under the ref of another attempt"
		default:
			refs, of = append(refs, a.Attempted.Ref), append(of, i)
		}
	}
	if len(refs) == 0 {
		return list
	}
	fetched := make(chan struct{})
	defer close(fetched)
	defer context.AfterFunc(c.ctx, func() {
		select {
		case <-c.lasts.Done():
		case <-fetched:
		case <-time.After(fetchGrace):
			c.end()
		}
	})()
	texts, err := c.o.Depot.Fetch(c.lasts, attempt.MaxDelivery, refs...)
	if err != nil && len(refs) > 1 && c.lasts.Err() == nil && !errors.Is(err, context.DeadlineExceeded) { // one that is bad does not take the others with it
		texts = make([][]byte, len(refs))
		for k, ref := range refs {
			if one, failed := c.o.Depot.Fetch(c.lasts, attempt.MaxDelivery, ref); failed == nil {
				texts[k] = one[0]
			}
		}
	}
	for k, i := range of {
		if texts == nil || texts[k] == nil {
			list[i].Problem = "its delivery cannot be fetched"
			if err != nil {
				list[i].Problem += ": " + err.Error()
			}
			continue
		}
		var d attempt.Delivery
		switch {
		case sha256.Sum256(texts[k]) != batch[i].Attempted.Body:
			list[i].Problem = "what it delivered is not what its history names"
		case Unpack(texts[k], &d) != nil:
			list[i].Problem = "its delivery cannot be read"
		case d.Brief != batch[i].Brief:
			list[i].Problem = "what it delivered ended otherwise than its history says"
		default:
			list[i].Delivery = &d
		}
	}
	return list
}

// DeliveryName is the name of the ref of what an attempt delivered.
func DeliveryName(seq, dispatch int) string { return fmt.Sprintf("a-%d-%d", seq, dispatch) }

// FilesName is the name of the ref of the files that an attempt left.
func FilesName(seq, dispatch int) string { return fmt.Sprintf("f-%d-%d", seq, dispatch) }

// Files writes below dir, which it makes, the files that an attempt left.
func (c *Conductor) Files(seq, dispatch int, commit, dir string) error {
	folder, remove, err := tempdir.New(tempdir.Tree)
	if err != nil {
		return err
	}
	defer remove()
	cache := carry.Cache{Depot: c.o.Depot, Folder: folder}
	cache.Format = c.o.Spec.Format
	return cache.Checkout(c.ctx, c.o.Spec.Ref(FilesName(seq, dispatch)), commit, dir)
}

// Place is that of the project in the files of the run.
func (c *Conductor) Place() string { return c.o.Spec.Place }

func (c *Conductor) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// Answer sends what became of an action of this process.
func (c *Conductor) Answer(e schedule.Event) error {
	a := c.o.Spec.Sign(e, c.o.Key)
	return (mcpclient.Lines{}).WriteObject(c.child.Stdin, Request{Answer: &a})
}

// Cut ends the run.
func (c *Conductor) Cut(why schedule.Brief, kill bool) error {
	return (mcpclient.Lines{}).WriteObject(c.child.Stdin, Request{Cut: &Cut{Fit(why), kill}})
}

// Arrivals are what the history says.
func (c *Conductor) Arrivals() <-chan []engine.Arrived { return c.out }

// Err says why no more arrives.
func (c *Conductor) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// kept is how long what was sent for a run stays where its orchestrator never came back.
const kept = 7 * 24 * time.Hour

// endGrace is how long the end of the history is waited for once the run is over here.
const endGrace = time.Second

// Close ends the helper. Where the history has ended, what was sent for the run, and what others left for longer than a
// week, is taken away.
func (c *Conductor) Close() error {
	defer c.end()
	if c.child == nil {
		if !c.o.Attach && c.o.Ended != nil {
			c.o.Ended(true)
		}
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range c.out { // what is not read any more
		}
	}()
	select {
	case <-ended:
	case <-time.After(endGrace):
	}
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	c.child.Stop()
	silent := c.lasts.Err() != nil // the depot did not answer
	c.end()
	<-ended
	if c.o.Ended != nil {
		c.o.Ended(over)
	}
	if !over || silent {
		return nil
	}
	most := 10 * time.Second
	if c.ctx.Err() != nil {
		most = fetchGrace
	}
	ctx, done := context.WithTimeout(context.Background(), most)
	defer done()
	return c.o.Depot.Collect(ctx, c.o.Spec.Run, time.Now().Add(-kept))
}
