//go:build !linux || portable

package process

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// Where there is no pidfd, two goroutines read the pipes and a third waits for the
// process. The build tag "portable" compiles this on Linux as well, so that it can
// be tested there.

// A platform is what a launcher needs here.
type platform struct {
	closing, killing chan struct{}
	once             sync.Once
}

func (p *platform) open(Options, string) error {
	p.closing, p.killing = make(chan struct{}), make(chan struct{})
	return nil
}
func (p *platform) interrupt() { close(p.closing) }
func (p *platform) kill()      { p.once.Do(func() { close(p.killing) }) }
func (p *platform) close() error {
	return nil
}

func (p *platform) nameOthers() ([]Left, string) { return nil, "" }

func (p *platform) endLeft(*Launcher, bool) error { return nil }

// readers are the goroutines that read the two pipes of a command.
type readers struct {
	run   *run
	ends  [2]*os.File
	done  chan struct{} // closed when both are at their end
	over  chan struct{} // closed when there was too much, or the listener panicked
	loose chan struct{} // closed when no hold counts any more

	mu       sync.Mutex // for all below, and run.admit
	lastByte time.Time
	holds    int            // readers that wait for the listener
	panicked any            // by the listener
	stopped  bool           // nothing is recorded any more
	writes   sync.WaitGroup // under way
}

func (rs *readers) start() {
	var wg sync.WaitGroup
	for s := Stdout; s <= Stderr; s++ {
		wg.Go(func() { rs.read(s) })
	}
	go func() {
		wg.Wait()
		close(rs.done)
	}()
}

func (rs *readers) read(s Stream) {
	buf := readBuffer()
	defer releaseBuffer(buf)
	for {
		n, err := rs.ends[s].Read(buf[:])
		if n > 0 && !rs.record(s, buf[:n]) || err != nil {
			return
		}
		rs.await(rs.run.full())
	}
}

// await waits until ch is closed, or no hold counts any more.
func (rs *readers) await(ch <-chan struct{}) {
	if ch == nil {
		return
	}
	count := func(n int) {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		rs.holds += n
		rs.lastByte = time.Now()
	}
	count(1)
	defer count(-1)
	select {
	case <-ch:
	case <-rs.loose:
	}
}

func (rs *readers) record(s Stream, p []byte) (more bool) {
	rs.mu.Lock()
	if rs.stopped {
		rs.mu.Unlock()
		return false
	}
	rs.writes.Add(1)
	defer rs.writes.Done()
	func() {
		defer rs.mu.Unlock()
		defer func() {
			if e := recover(); e != nil {
				rs.panicked, rs.stopped = e, true
				if !rs.run.over() {
					close(rs.over)
				}
			}
		}()
		was := rs.run.over()
		p = rs.run.admit(s, p)
		rs.lastByte = time.Now()
		if !was && rs.run.over() {
			close(rs.over)
		}
	}()
	// Without the lock, so that both streams are hashed at the same time.
	rs.run.streams[s].write(p)
	return true
}

// stop returns when nothing is recorded any more.
func (rs *readers) stop() {
	rs.mu.Lock()
	rs.stopped = true
	rs.mu.Unlock()
	for _, f := range rs.ends {
		if abandonReaders {
			go f.Close() // which may wait for the read
		} else {
			f.Close()
		}
	}
	rs.writes.Wait()
	if !abandonReaders {
		<-rs.done
	}
}

func (rs *readers) shift(d time.Duration) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.lastByte = rs.lastByte.Add(d)
}

func (rs *readers) quietSince() time.Time {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.holds > 0 {
		return time.Now()
	}
	return rs.lastByte
}

// execute starts the command and fills in the result all but what was recorded.
func (r *run) execute() {
	rs := &readers{run: r, done: make(chan struct{}), over: make(chan struct{}), loose: make(chan struct{})}
	proc, err := r.start(rs)
	if err != nil {
		r.result.Stop, r.result.Err = r.explain(err)
		return
	}
	started := time.Now()
	rs.lastByte = started
	rs.start()
	exited := make(chan error, 1)
	var state *os.ProcessState
	go func() {
		var err error
		state, err = proc.Wait()
		exited <- err
	}()
	r.pid.Store(int64(proc.Pid))
	r.launcher.join(r)
	r.watch(proc, rs, exited, started)
	r.pin.Lock()
	r.pid.Store(0)
	r.pin.Unlock()
	rs.stop()
	if state != nil {
		describe(r.result, state)
	}
	if rs.panicked != nil {
		panic(rs.panicked)
	}
}

func (r *run) start(rs *readers) (*os.Process, error) {
	var ends [2]*os.File
	for i := range ends {
		var err error
		if rs.ends[i], ends[i], err = os.Pipe(); err != nil {
			for j := range i {
				rs.ends[j].Close()
				ends[j].Close()
			}
			return nil, fmt.Errorf("pipe: %w", err)
		}
	}
	defer ends[0].Close()
	defer ends[1].Close()
	in, done, err := r.launcher.input(r.command.Stdin)
	if err != nil {
		rs.ends[0].Close()
		rs.ends[1].Close()
		return nil, err
	}
	defer done()
	var proc *os.Process
	err = r.launch(func() (err error) {
		proc, err = os.StartProcess(r.result.Path, r.argv, &os.ProcAttr{
			Dir: r.command.Dir, Env: r.env, Sys: ownSession(),
			Files: []*os.File{in, ends[0], ends[1]},
		})
		return err
	})
	if err != nil {
		rs.ends[0].Close()
		rs.ends[1].Close()
	}
	return proc, err
}

// watch returns when the command is done with.
func (r *run) watch(proc *os.Process, rs *readers, exited <-chan error, started time.Time) {
	c := r.command
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var (
		gone, aborted, killed, eof bool
		until                      time.Time // of the grace time, or of the wait for a pipe
		done, over                 = rs.done, rs.over
		cancelled, closing         = r.ctx.Done(), r.launcher.platform.closing
		killing                    = r.launcher.platform.killing
		slept                      = r.launcher.slept.Load()
	)
	loosen := sync.OnceFunc(func() { close(rs.loose) })
	defer loosen()
	abort := func(why Stop) {
		loosen()
		over, cancelled, closing = nil, nil, nil
		if aborted {
			return
		}
		if !gone {
			r.result.Stop = why
		}
		aborted = true
		askToEnd(proc)
		until = time.Now().Add(c.grace())
	}
	for {
		if gone && eof {
			if aborted {
				forceEnd(proc) // of the group, what ignores SIGTERM
				awaitEnd(proc)
			}
			return
		}
		if now := r.launcher.slept.Load(); now != slept {
			d := time.Duration(now - slept)
			slept = now
			started = started.Add(d)
			rs.shift(d)
			if !until.IsZero() {
				until = until.Add(d)
			}
		}
		next := until
		if r.launcher.stopped.Load() {
			next = time.Now().Add(100 * time.Millisecond)
		} else if next.IsZero() {
			if c.Timeout > 0 {
				next = started.Add(c.Timeout)
			}
			if t := rs.quietSince().Add(c.Stall); c.Stall > 0 && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case err := <-exited:
			if err != nil {
				r.note("the status of the command is not known: %v", err)
			}
			gone, exited = true, nil
			loosen()
			if !aborted {
				until = time.Now().Add(c.pipeWait())
			}
		case <-done:
			eof, done = true, nil
		case <-over:
			abort(OutputLimit)
		case <-cancelled:
			abort(Interrupted)
		case <-closing:
			abort(Interrupted)
		case <-killing:
			abort(Interrupted)
			killing, until = nil, time.Now()
		case now := <-timer.C:
			switch {
			case next.IsZero() || now.Before(next) || r.launcher.stopped.Load() || r.launcher.slept.Load() != slept:
			case killed:
				r.note("the command was killed, and something that it started still holds its output open")
				if gone {
					return
				}
				until = now.Add(time.Second) // a process stuck in the kernel
			case aborted:
				killed = true
				forceEnd(proc)
				until = now.Add(c.pipeWait())
			case gone:
				r.note("the command ended, and something that it started still held its output open %v later; what that writes is not recorded", c.pipeWait())
				return
			case c.Timeout > 0 && !now.Before(started.Add(c.Timeout)):
				abort(Timeout)
			case c.Stall > 0 && !now.Before(rs.quietSince().Add(c.Stall)):
				abort(Stall)
			}
		}
	}
}
