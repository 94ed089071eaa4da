package notary

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Service is a notary of several working trees, for their users. It has a store for each of them.
type Service struct {
	c     Config
	state string
	trees []served

	open map[string]*opened // by the tree; the map is made with the service
}

// opened is the notary of a tree, from the first question on.
type opened struct {
	mu sync.Mutex // held while it is opened and closed: that takes as long as the files of the tree have it, and holds up no other tree
	n  atomic.Pointer[Notary]
}

// A Grant says who may ask for which working tree.
type Grant struct {
	Tree string
	UID  int
}

// served is a grant whose tree has no links in its path.
type served struct {
	Grant
	real string
	is   fs.FileInfo // what real was when the service began
}

// ParseGrant parses "DIR", which is for the owner of DIR, or "USER:DIR", where USER is a name or a number.
func ParseGrant(text string) (g Grant, err error) {
	name, dir, named := strings.Cut(text, ":")
	if !named || strings.Contains(name, "/") {
		name, dir, named = "", text, false
	}
	if !filepath.IsAbs(dir) {
		return g, fmt.Errorf("%q: want an absolute directory, or USER:DIRECTORY", text)
	}
	g.Tree = filepath.Clean(dir)
	if !named {
		info, err := os.Stat(dir)
		if err != nil {
			return g, err
		}
		g.UID = regular.Owner(info)
		return g, nil
	}
	if g.UID, err = strconv.Atoi(name); err == nil && g.UID >= 0 {
		return g, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return g, err
	}
	g.UID, err = strconv.Atoi(u.Uid)
	return g, err
}

// maxKey bounds the file of a key, in bytes.
const maxKey = 4096

// ReadKey reads the key of a service from a file that nobody but this user can read.
func ReadKey(file string) (*receipts.Signer, error) {
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the key %s is not a regular file", file)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("the key %s can be read by others (mode %o): chmod 600 it", file, info.Mode().Perm())
	case regular.Owner(info) != os.Geteuid() && regular.Owner(info) != 0: // systemd hands over credentials of root
		return nil, fmt.Errorf("the key %s belongs to another user", file)
	}
	text, err := regular.Read(file, maxKey)
	if err != nil {
		return nil, err
	}
	return receipts.NewNotarySigner(strings.TrimSpace(string(text)))
}

// NewService makes the notary of some trees, below a directory that only this user can reach. c has what all of them
// have in common, with the key of the service. This process is undumpable already.
func NewService(state string, grants []Grant, c Config) (s *Service, err error) {
	if c.Key == nil {
		return nil, errors.New("a service needs a key of its own")
	}
	s = &Service{c: c, state: state, open: make(map[string]*opened)}
	if !filepath.IsAbs(state) {
		return nil, fmt.Errorf("the folder %q is not an absolute path", state)
	}
	for _, dir := range []string{state, filepath.Join(state, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if err := private(dir); err != nil {
			return nil, err
		}
	}
	// A path that is not absolute, or leads over a link, would hide another directory than the one that is meant.
	s.c.Hide = nil
	for _, dir := range c.Hide {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("%q, which commands are not to see, is not an absolute path", dir)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, err
		}
		s.c.Hide = append(s.c.Hide, real)
	}
	if c.Socket != "" { // which need not be there yet
		dir, err := filepath.Abs(filepath.Dir(c.Socket))
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return nil, err
		}
		s.c.Socket = filepath.Join(dir, filepath.Base(c.Socket))
	}
	if s.state, err = filepath.EvalSymlinks(state); err != nil {
		return nil, err
	}
	for _, g := range grants {
		real, err := filepath.EvalSymlinks(g.Tree)
		if err != nil {
			return nil, err
		}
		for _, dir := range append([]string{s.state}, s.c.Hide...) {
			if within(dir, real) {
				return nil, fmt.Errorf("the working tree %s is in %s, which commands do not see: keep keys and state elsewhere", g.Tree, dir)
			}
		}
		is, err := os.Lstat(real)
		if err != nil {
			return nil, err
		}
		s.trees = append(s.trees, served{g, real, is})
		s.open[real] = new(opened)
	}
	return s, nil
}

// Serve answers the connections of l until ctx ends, and then ends the runs that last: who waits for one hears that. It closes l.
func (s *Service) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() {
		for _, o := range s.open {
			if n := o.n.Load(); n != nil {
				n.stop(errClosed)
			}
		}
	})()
	server := &server{key: s.c.Key.Public, grace: cmp.Or(s.c.grace, closing), route: func(p Peer, req *request) (*Notary, *Refused) { return s.route(ctx, p, req) }}
	return server.serve(ctx, l)
}

// Close ends all runs, and says in each log that the service ended in order. All of them at once: a run that is stuck takes its time from no other tree.
func (s *Service) Close(ctx context.Context) error {
	var wait sync.WaitGroup
	all := make([]error, len(s.open))
	for i, o := range slices.Collect(maps.Values(s.open)) {
		wait.Go(func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if n := o.n.Swap(nil); n != nil {
				_, all[i] = n.Close(ctx)
			}
		})
	}
	wait.Wait()
	return errors.Join(all...)
}

// route returns the notary of the tree that a peer asks about.
func (s *Service) route(ctx context.Context, p Peer, req *request) (*Notary, *Refused) {
	var its []served
	for _, t := range s.trees {
		if t.UID == p.UID {
			its = append(its, t)
		}
	}
	if len(its) == 0 {
		return nil, refuse("this notary has no working tree that uid %d may ask about", p.UID)
	}
	if req == nil {
		return nil, nil
	}
	folder := req.Folder
	if req.Start != nil {
		folder = req.Start.Folder
	}
	// What is there, where the peer may not look, is not said: one text for whatever is in no tree.
	real, err := filepath.EvalSymlinks(folder)
	if err != nil || !filepath.IsAbs(folder) {
		real = ""
	}
	var best served
	for _, t := range its {
		if _, in := git.Within(t.real, real); in && len(t.real) > len(best.real) {
			best = t
		}
	}
	if best.real == "" {
		return nil, refuse("%s is in no working tree that uid %d may ask this notary about", folder, p.UID)
	}
	return s.notary(ctx, best)
}

// notary returns the notary of a tree, which is opened when the first one asks.
func (s *Service) notary(ctx context.Context, of served) (*Notary, *Refused) {
	tree := of.real
	o := s.open[tree]
	if n := o.n.Load(); n != nil {
		return n, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.n.Load(); n != nil {
		return n, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, refuse("the notary is being ended")
	}
	sum := sha256.Sum256([]byte(tree))
	c := s.c
	c.Tree, c.Folder, c.Identity = tree, filepath.Join(s.state, hex.EncodeToString(sum[:8])), s.c.Key
	c.Hide, c.Temp = append(slices.Clone(s.c.Hide), s.state), filepath.Join(s.state, "tmp")
	c.Facts.Mode, c.is = ModeService, of.is
	c.May = func(Peer) error { return nil } // the route decides
	n, err := Open(ctx, c)
	if err != nil {
		return nil, refuse("the notary cannot serve %s: %v", tree, err)
	}
	if o.n.Store(n); ctx.Err() != nil { // and nobody may have seen it who stops the others
		n.stop(errClosed)
	}
	return n, nil
}

// Listen returns the socket that systemd handed over, or makes one at a path, which every user may connect to: who may ask
// is decided for each connection.
func Listen(socket string) (net.Listener, error) {
	if pid, _ := strconv.Atoi(os.Getenv("LISTEN_PID")); pid == os.Getpid() && os.Getenv("LISTEN_FDS") == "1" {
		f := os.NewFile(3, "socket")
		defer f.Close()
		_ = os.Unsetenv("LISTEN_FDS")
		return net.FileListener(f)
	}
	if socket == "" {
		return nil, errors.New("no socket is named, and systemd has handed over none")
	}
	// One that a killed notary left behind answers nobody.
	if info, err := os.Lstat(socket); err == nil && info.Mode().Type() == os.ModeSocket && regular.Owner(info) == os.Geteuid() {
		c, err := net.DialTimeout("unix", socket, dialTime)
		if err == nil {
			c.Close()
		}
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) { // one whose queue is full is there as well
			return nil, fmt.Errorf("another notary listens on %s", socket)
		}
		if err := os.Remove(socket); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
