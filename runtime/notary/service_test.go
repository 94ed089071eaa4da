package notary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/attempt"
)

// serveName is the name of this program as a service: see serveTest.
const serveName = "notary.test: serve"

// serveTest serves the trees of args until SIGTERM.
func serveTest(args []string) int {
	state, key, socket := args[0], args[1], args[2]
	err := func() error {
		signer, err := ReadKey(key)
		if err != nil {
			return err
		}
		var grants []Grant
		for _, tree := range args[3:] {
			g, err := ParseGrant(tree)
			if err != nil {
				return err
			}
			grants = append(grants, g)
		}
		s, err := NewService(state, grants, Config{Key: signer, Room: []string{roomName}, Hide: []string{filepath.Dir(key)}})
		if err != nil {
			return err
		}
		l, err := Listen(socket)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		return errors.Join(s.Serve(ctx, l), s.Close(context.Background()))
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A service is one in a process of its own.
type service struct {
	t                  *testing.T
	state, key, socket string
	public             string
	trees              []string
	cmd                *exec.Cmd
	out                bytes.Buffer
}

func newService(t *testing.T, trees ...string) *service {
	t.Helper()
	dir := t.TempDir()
	private, public, err := receipts.GenerateKey("notary")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, state: filepath.Join(dir, "state"), key: filepath.Join(dir, "keys", "key"), socket: filepath.Join(dir, "s"), public: public, trees: trees}
	if err := errors.Join(os.Mkdir(filepath.Dir(s.key), 0o700), os.WriteFile(s.key, []byte(private+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}

func (s *service) start() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(self)
	s.cmd.Args = append([]string{serveName, s.state, s.key, s.socket}, s.trees...)
	s.cmd.Stderr = &s.out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.cmd
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("unix", s.socket); err == nil {
			c.Close()
			return
		}
		if time.Now().After(until) {
			s.t.Fatalf("the service does not listen: %s", s.out.String())
		}
	}
}

func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// client asks from a folder.
func (s *service) client(dir string) *Client {
	s.t.Helper()
	s.t.Chdir(dir)
	c, err := Dial(s.t.Context(), s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// TestServiceKilled kills a service in the middle of a run: what it has acknowledged is there, the run that was cut is named,
// and the next one goes on with the same log.
func TestServiceKilled(t *testing.T) {
	tree := work(t, nil)
	s := newService(t, tree)
	c := s.client(tree)
	if c.Key() != s.public {
		t.Errorf("the key is %s", c.Key())
	}
	p, spec := bound(t, tree, "Check with file\nTest with slow\nGate against results\n")
	r, err := c.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	var acknowledged receipts.Hash
	var lost error
	for e, err := range r.Events(t.Context(), p) {
		if err != nil {
			lost = err
			break
		}
		if d, ok := e.(attempt.Durable); ok && d.Step.ID == "1" {
			acknowledged = d.Receipt
			s.kill()
		}
	}
	if !errors.Is(lost, ErrLost) || acknowledged.IsZero() {
		t.Fatalf("%v, %s", lost, acknowledged.Short())
	}
	s.start()
	c = s.client(tree)
	p, spec = bound(t, tree, checkFile)
	if r, err = c.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range told(t, r, p) {
	}
	if o := r.Outcome(); o.ExitStatus() != 0 || o.Gate.Level != receipts.LevelNotary {
		t.Errorf("%d, %+v", o.ExitStatus(), o.Gate)
	}
	if text := strings.Join(r.Notes, "\n"); !strings.Contains(text, "was killed") {
		t.Errorf("nothing names the run that was cut: %q", text)
	}
	var text bytes.Buffer
	if err := c.Bundle(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	b, err := receipts.ParseBundle(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, x := range b.Records {
		found = found || (receipts.Record{Kind: x.Kind, Body: []byte(x.Body)}).SHA() == acknowledged
	}
	if !found {
		t.Error("the receipt that was acknowledged is lost")
	}
}

// TestServiceEnded ends a service in the middle of a run: the run ends, who asked for it hears that, and the log says it.
func TestServiceEnded(t *testing.T) {
	tree := work(t, nil)
	s := newService(t, tree)
	c := s.client(tree)
	p, spec := bound(t, tree, "Test with slow\n")
	r, err := c.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e := range told(t, r, p) {
		if _, begun := e.(attempt.Started); begun {
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if o := r.Outcome(); o == nil || o.Verdict() == "passed" || len(o.Results) != 1 || o.Results[0].Receipt.IsZero() {
		t.Errorf("%+v", o)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.out.String())
	}
}

// TestServiceCloses: a run that is stuck takes its time from the log of no other tree.
func TestServiceCloses(t *testing.T) {
	stuck, other := begin(t, work(t, nil), nil), begin(t, work(t, nil), nil)
	stuck.last.Go(func() {
		for closed := false; !closed; time.Sleep(time.Millisecond) {
			other.mu.Lock()
			closed = other.store == nil
			other.mu.Unlock()
		}
	})
	s := &Service{open: map[string]*opened{"one": new(opened), "two": new(opened)}}
	s.open["one"].n.Store(stuck.Notary)
	s.open["two"].n.Store(other.Notary)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServiceTrees: who asks gets an answer about the trees that were granted, each with a log of its own, and about no
// other.
func TestServiceTrees(t *testing.T) {
	one, two, other := work(t, nil), work(t, nil), work(t, nil)
	s := newService(t, one, two, "4242:"+other)
	for _, tree := range []string{one, two} {
		c := s.client(tree)
		p, spec := bound(t, tree, checkFile)
		r, err := c.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		for range told(t, r, p) {
		}
		r.Close()
		if st, err := c.Status(t.Context()); err != nil || len(st.Runs) != 1 || st.Tree != tree || st.Mode != ModeService {
			t.Errorf("%+v, %v", st, err)
		}
	}
	c := s.client(other)
	var refused *Refused
	_, spec := bound(t, other, checkFile)
	if _, err := c.Start(t.Context(), spec); !errors.As(err, &refused) {
		t.Errorf("a tree of another user: %v", err)
	}
	if _, err := c.Status(t.Context()); !errors.As(err, &refused) {
		t.Errorf("its status: %v", err)
	}
	if err := c.Bundle(t.Context(), new(bytes.Buffer)); !errors.As(err, &refused) {
		t.Errorf("its log: %v", err)
	}
}

// TestServiceOpens: a tree that takes long to open, as its owner can see to, holds up nobody who asks about another.
func TestServiceOpens(t *testing.T) {
	t.Setenv("TMPDIR", os.TempDir()) // which a notary changes
	private, _, err := receipts.GenerateKey("notary")
	if err != nil {
		t.Fatal(err)
	}
	key, err := receipts.NewNotarySigner(private)
	if err != nil {
		t.Fatal(err)
	}
	slow, other := work(t, nil), work(t, nil)
	s, err := NewService(filepath.Join(t.TempDir(), "state"), []Grant{{slow, 4242}, {other, 4242}}, Config{Key: key, Room: []string{roomName}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(tree string) error {
		n, refused := s.route(t.Context(), Peer{UID: 4242}, &request{Folder: tree})
		if refused != nil {
			return refused
		}
		if st := n.Status(t.Context()); st.Tree != tree {
			return fmt.Errorf("%s: the notary of %s", tree, st.Tree)
		}
		return nil
	}
	s.open[slow].mu.Lock()
	heard := make(chan error, 1)
	go func() { heard <- ask(slow) }()
	if err := ask(other); err != nil {
		t.Error(err)
	}
	s.open[slow].mu.Unlock()
	if err := <-heard; err != nil {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServiceRoute: a user without a grant has no answer at all.
func TestServiceRoute(t *testing.T) {
	private, _, err := receipts.GenerateKey("notary")
	if err != nil {
		t.Fatal(err)
	}
	key, err := receipts.NewNotarySigner(private)
	if err != nil {
		t.Fatal(err)
	}
	tree := work(t, nil)
	s, err := NewService(filepath.Join(t.TempDir(), "state"), []Grant{{tree, 4242}}, Config{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewService(filepath.Join(t.TempDir(), "state"), []Grant{{tree, 4242}}, Config{Key: key, Hide: []string{filepath.Dir(tree)}}); err == nil {
		t.Error("a tree that commands would not see")
	}
	if _, refused := s.route(t.Context(), Peer{UID: os.Geteuid()}, nil); refused == nil {
		t.Error("another user")
	}
	if _, refused := s.route(t.Context(), Peer{UID: 4242}, &request{Folder: filepath.Dir(tree)}); refused == nil {
		t.Error("a folder above")
	}
	// A service sees more than who asks.
	hidden := t.TempDir()
	write(t, filepath.Join(hidden, "key"), "")
	said := make(map[string]bool)
	for _, name := range []string{"key", "none", "key/below"} {
		path := filepath.Join(hidden, name)
		_, refused := s.route(t.Context(), Peer{UID: 4242}, &request{Folder: path})
		if refused == nil {
			t.Fatal(path)
		}
		said[strings.ReplaceAll(refused.Text, path, "it")] = true
	}
	if len(said) != 1 {
		t.Errorf("%v", said)
	}
}

// TestReadKey: a key that others can read is not taken.
func TestReadKey(t *testing.T) {
	dir := t.TempDir()
	private, _, err := receipts.GenerateKey("notary")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte(private), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link, dir, filepath.Join(dir, "none")} {
		if _, err := ReadKey(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadKey(path); err != nil || s.Level() != receipts.LevelNotary {
		t.Error(err)
	}
}

// TestServiceProof: a service's log goes on, but its bundle has each record below its checkpoint: a red run is not left out.
func TestServiceProof(t *testing.T) {
	s := begin(t, work(t, nil), func(c *Config) { c.Facts = Facts{Mode: ModeService} })
	o, err := s.run(t, checkFile)
	if err != nil {
		t.Fatal(err)
	}
	proof := func() *receipts.Bundle {
		var text strings.Builder
		if err := s.Client.Bundle(t.Context(), &text); err != nil {
			t.Fatal(err)
		}
		b, err := receipts.ParseBundle([]byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if res, err := judge(t, proof(), o, s.identity); err != nil || res.Verdict != verify.Verified {
		t.Fatalf("%v, %v", res, err)
	}
	green := len(proof().Records)
	write(t, filepath.Join(s.tree, "state"), "bad\n")
	if red, err := s.run(t, checkFile); err != nil || red.ExitStatus() != 1 {
		t.Fatal(err)
	}
	b := proof()
	b.Records = b.Records[:green]
	var cut *verify.CutError
	if res, err := judge(t, b, o, s.identity); !errors.As(err, &cut) {
		t.Errorf("the red run left out: %v, %v", res, err)
	}
}

// TestServiceHides: what commands are not to see is a directory of the machine, not one that depends on where the service
// was started, or on a link.
func TestServiceHides(t *testing.T) {
	dir := t.TempDir()
	private, _, err := receipts.GenerateKey("notary")
	if err != nil {
		t.Fatal(err)
	}
	key, err := receipts.NewNotarySigner(private)
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "keys")
	if err := errors.Join(os.Mkdir(keys, 0o700), os.Symlink(keys, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	for _, hide := range []string{".", "keys", ""} {
		if _, err := NewService(state, nil, Config{Key: key, Hide: []string{hide}}); err == nil {
			t.Errorf("a service hides %q", hide)
		}
	}
	s, err := NewService(state, nil, Config{Key: key, Hide: []string{filepath.Join(dir, "link")}})
	if err != nil {
		t.Fatal(err)
	}
	if real, _ := filepath.EvalSymlinks(keys); len(s.c.Hide) != 1 || s.c.Hide[0] != real {
		t.Errorf("it hides %q, not %s", s.c.Hide, real)
	}
	inside := filepath.Join(keys, "tree")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := NewService(state, []Grant{{Tree: inside}}, Config{Key: key, Hide: []string{filepath.Join(dir, "link")}}); err == nil {
		t.Error("a tree in what is hidden is served")
	}
}
