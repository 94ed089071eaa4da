package store

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/notary"
	"github.com/command-dialect/dialect/runtime/tempdir"
)

// copied is the copy of the store of the one notary that this process asks, as it was when it asked first.
var copied copyOfStore

type copyOfStore struct {
	sync.Mutex
	asked  bool
	client *notary.Client
	path   string
	remove func()
	err    error
}

// mostDocuments bounds how many documents of runs come with a copy: the newest.
const mostDocuments = 100

// Copied returns the path of a copy of the store of the notary that listens on socket, or where that is empty of the one that
// DIALECT_NOTARY names; empty for none. Nothing that is written to it counts.
func Copied(socket string) (string, error) {
	if socket = cmp.Or(socket, os.Getenv(notary.Variable)); socket == "" {
		return "", nil
	}
	c := &copied
	c.Lock()
	defer c.Unlock()
	if !c.asked {
		c.asked = true
		if c.err = c.fetch(socket); c.err != nil {
			c.err = exit.Failf(exit.Refused, "%v", c.err).Hint("--store PATH asks another store; without %s the project's own is asked", notary.Variable)
		}
	}
	return c.path, c.err
}

func fetch(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func (c *copyOfStore) fetch(socket string) error {
	ctx := context.Background()
	client, err := notary.Dial(ctx, socket)
	if err != nil {
		return err
	}
	dir, remove, err := tempdir.New(tempdir.Copy)
	if err != nil {
		return err
	}
	c.remove = remove
	path := filepath.Join(dir, archive.StoreFile)
	if err := fetch(path, func(w io.Writer) error { return client.Store(ctx, w) }); err != nil {
		return err
	}
	runs, err := client.Documents(ctx)
	if err != nil {
		return err
	}
	for _, id := range runs[:min(len(runs), mostDocuments)] {
		if err := fetch(archive.Of(path).RunPath(id), func(w io.Writer) error { return client.Document(ctx, id, w) }); err != nil {
			return err
		}
	}
	c.client, c.path = client, path
	return nil
}

// SessionKey returns the key of the notary that a copy is of, as it says it itself; nil where path is not that of the copy.
func SessionKey(path string) note.Verifiers {
	c := &copied
	c.Lock()
	defer c.Unlock()
	if c.client == nil || path != c.path {
		return nil
	}
	keys, err := receipts.ParseKeys(c.client.Key())
	if err != nil {
		return nil
	}
	return receipts.OfNotaries(keys)
}

// wholeBundle has the notary of p write the bundle of its whole log.
func (p Place) wholeBundle(w io.Writer) error {
	socket := cmp.Or(p.Notary, os.Getenv(notary.Variable))
	if p.Name != "" || socket == "" {
		return exit.Usagef("--bundle needs the IDs of gates or receipts").Hint("`dialect receipts list` shows them; a notary alone proves its whole log")
	}
	ctx, stop := interrupt.Context()
	defer stop()
	return interrupt.Await(ctx, func() error {
		client, err := notary.Dial(ctx, socket)
		if err != nil {
			return err
		}
		return client.Bundle(ctx, w)
	})
}

// isCopy reports whether a store is that copy.
func isCopy(path string) bool {
	c := &copied
	c.Lock()
	defer c.Unlock()
	return path != "" && path == c.path
}

// outputs brings the recorded output of a command beside the copy.
func outputs(path string, r *receipts.Receipt) {
	c := &copied
	c.Lock()
	defer c.Unlock()
	if c.client == nil || path != c.path {
		return
	}
	for _, s := range []receipts.Stream{r.Stdout, r.Stderr} {
		sum := s.SHA256
		if !s.Log.IsZero() {
			sum = s.Log
		}
		if s.Bytes > 0 { // the reader says of what does not come that it is gone
			_ = fetch(blob.Path(string(archive.Of(path)), sum), func(w io.Writer) error { return c.client.Output(context.Background(), sum, w) })
		}
	}
}

// Forget removes the copy.
func Forget() {
	c := &copied
	c.Lock()
	defer c.Unlock()
	if c.remove != nil {
		c.remove()
		c.remove = nil
	}
}
