package workspace

import (
	"context"
	"sync"
)

// A crew works off tasks, which may add further ones. The newest comes first, so
// that a walk goes into the depth and holds few directories open.
type crew struct {
	ctx context.Context

	mu     sync.Mutex
	wake   sync.Cond
	tasks  []task
	active int
	err    error
}

func newCrew(ctx context.Context) *crew {
	c := &crew{ctx: ctx}
	c.wake.L = &c.mu
	return c
}

// A task is work on a directory, which stays open until then.
type task struct {
	in *folder
	do func(*scratch) error
}

// add adds a task. After an error it is dropped instead of done.
func (c *crew) add(in *folder, do func(*scratch) error) {
	in.retain()
	c.mu.Lock()
	c.tasks = append(c.tasks, task{in, do})
	c.mu.Unlock()
	c.wake.Signal()
}

// run works until there is nothing to do, and returns the first error. done is
// called with the scratch of each worker, one at a time.
func (c *crew) run(workers int, begin func() *scratch, done func(*scratch)) error {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			s := begin()
			c.work(s)
			c.mu.Lock()
			defer c.mu.Unlock()
			done(s)
		})
	}
	wg.Wait()
	return c.err
}

func (c *crew) work(s *scratch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.tasks) == 0 {
			if c.active == 0 {
				c.wake.Broadcast()
				return
			}
			c.wake.Wait()
		}
		t := c.tasks[len(c.tasks)-1]
		c.tasks[len(c.tasks)-1] = task{}
		c.tasks = c.tasks[:len(c.tasks)-1]
		if c.err == nil {
			c.err = c.ctx.Err()
		}
		stopped := c.err != nil
		c.active++
		c.mu.Unlock()
		var err error
		if !stopped {
			err = t.do(s)
		}
		t.in.release()
		c.mu.Lock()
		c.active--
		if err != nil && c.err == nil {
			c.err = err
		}
	}
}
