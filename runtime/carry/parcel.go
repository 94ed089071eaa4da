package carry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Parcel is bytes under a ref.
type Parcel struct {
	Ref  string
	Text []byte
}

// bodyName is the name of the only file of the commit of a parcel.
const bodyName = "body"

// put makes the commit of a parcel.
func (p Parcel) put(k disk) (commit git.ObjectID, err error) {
	blob, err := k.put("blob", p.Text)
	if err != nil {
		return commit, err
	}
	tree, err := k.put("tree", append([]byte(git.ModeFile+" "+bodyName+"\x00"), blob[:k.format.Size()]...))
	if err != nil {
		return commit, err
	}
	const who = " dialect <dialect@localhost> 0 +0000\n"
	return k.put("commit", []byte("tree "+k.format.Format(tree)+"\nauthor"+who+"committer"+who+"\n"))
}

// Send sends parcels.
func (d Depot) Send(ctx context.Context, parcels ...Parcel) error {
	if err := CheckRemote(d.Remote); err != nil {
		return err
	}
	for _, p := range parcels {
		if err := CheckRef(p.Ref); err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	k, here := d.onDisk()
	if !here {
		dir, remove, err := d.temporary()
		if err != nil {
			return err
		}
		defer remove()
		k = disk{dir, d.format()}
	}
	refs := make([]string, len(parcels))
	for i, p := range parcels {
		id, err := p.put(k)
		if err == nil && here {
			err = k.setRef(p.Ref, id)
		}
		if err != nil {
			return err
		}
		refs[i] = "+" + k.format.Format(id) + ":" + p.Ref
	}
	if here {
		return nil
	}
	return d.push(ctx, k.dir, refs...)
}

// An Outbox sends parcels of several goroutines: those that come while it sends go together, since reaching a depot takes
// longer than it takes to send one more.
type Outbox struct {
	Depot
	Ending context.Context // ends what is being sent

	mu      sync.Mutex
	waiting []*posted
	busy    bool
}

type posted struct {
	Parcel
	done chan error
}

// mostTogether is how many parcels go together.
const mostTogether = 100

// Post sends a parcel.
func (o *Outbox) Post(ctx context.Context, p Parcel) error {
	own := &posted{p, make(chan error, 1)}
	o.mu.Lock()
	o.waiting = append(o.waiting, own)
	lead := !o.busy
	o.busy = true
	o.mu.Unlock()
	if lead {
		go o.send()
	}
	select {
	case err := <-own.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send sends what waits until nothing does.
func (o *Outbox) send() {
	for {
		o.mu.Lock()
		batch := o.waiting[:min(len(o.waiting), mostTogether)]
		if o.waiting = o.waiting[len(batch):]; len(batch) == 0 {
			o.busy = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		parcels := make([]Parcel, len(batch))
		for i, p := range batch {
			parcels[i] = p.Parcel
		}
		err := o.Send(o.Ending, parcels...) // its patience bounds it
		for _, p := range batch {
			if err != nil && len(batch) > 1 && !errors.Is(err, context.DeadlineExceeded) { // one that is refused does not take the others with it
				p.done <- o.Send(o.Ending, p.Parcel)
			} else {
				p.done <- err
			}
		}
	}
}

// Fetch returns what was sent under refs, each of at most so many bytes, in their order.
func (d Depot) Fetch(ctx context.Context, most int64, refs ...string) ([][]byte, error) {
	for _, ref := range refs {
		if err := CheckRef(ref); err != nil {
			return nil, err
		}
	}
	if err := CheckRemote(d.Remote); err != nil {
		return nil, err
	}
	if k, here := d.onDisk(); here {
		texts := make([][]byte, len(refs))
		all := true
		for i, ref := range refs {
			var err error
			texts[i], err = k.body(ref, most)
			all = all && err == nil
		}
		if all {
			return texts, nil
		}
	}
	dir, remove, err := d.temporary()
	if err != nil {
		return nil, err
	}
	defer remove()
	args := []string{"fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=1", "--", d.Remote}
	var ask bytes.Buffer
	for _, ref := range refs {
		args = append(args, "+"+ref+":"+ref)
		ask.WriteString(ref + ":" + bodyName + "\n")
	}
	if _, err := run(ctx, dir, nil, args...); err != nil {
		return nil, err
	}
	var texts [][]byte
	err = batch(ctx, dir, &ask, func(in *bufio.Reader) error {
		for _, ref := range refs {
			head, err := in.ReadString('\n')
			if err != nil {
				return err
			}
			words := strings.Fields(head)
			if len(words) != 3 || words[1] != "blob" {
				return fmt.Errorf("%s is not what was sent", ref)
			}
			size, err := strconv.ParseInt(words[2], 10, 64)
			if err != nil || size > most {
				return fmt.Errorf("the content of %s is larger than %d bytes", ref, most)
			}
			text := make([]byte, size)
			if _, err := io.ReadFull(in, text); err != nil {
				return err
			}
			if _, err := in.Discard(1); err != nil {
				return err
			}
			texts = append(texts, text)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}
