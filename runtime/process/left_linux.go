//go:build linux && !portable

package process

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// looks is how often what outlives a command is looked at before it counts as left, and pause is between two of them. They are
	// counted, as a clock goes on while a busy machine runs none of the processes.
	looks, pause = 10, 5 * time.Millisecond
	// longest bounds the looks at what forks its way on: each process of such a chain lives only to start the next.
	longest = 400
	// mostLeft bounds how many are named.
	mostLeft = 20
)

// nameLeft notes what the command left running, also what opened a session of its own and
// cleared its environment: as this process is a subreaper, all of it, or the ancestor of it,
// became a child of this process. It costs a few system calls unless there is something.
//
// What carries no mark of a command, and is in the session of none, may have been left by
// any that ran: it is named by the last of those that ran at the same time.
func (w *watcher) nameLeft() {
	list, going := settled(w.leftNow, forks())
	left, text := w.launcher.platform.name(list)
	switch {
	case going:
		text = cmp.Or(text, LeftRunning+"something") + ", which goes on starting others"
	case len(left) == 0:
		return
	}
	w.result.Left = append(w.result.Left, left...)
	if w.shared.Load() {
		text += " (by this command, or one that ran at the same time)"
	}
	w.result.Notes = append(w.result.Notes, text)
}

// name returns those of list that were not named before, and a note of them.
func (p *platform) name(list []proc) (left []Left, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, q := range list {
		if p.named[q.pid] == q.start {
			continue
		}
		if p.named == nil {
			p.named = make(map[int]uint64)
		}
		p.named[q.pid] = q.start
		if len(names) < mostLeft {
			name := programName(q.pid)
			left = append(left, Left{q.pid, name})
			names = append(names, strconv.Itoa(q.pid)+" "+name)
		}
	}
	if len(names) == 0 {
		return nil, ""
	}
	text = LeftRunning + strings.Join(names, ", ")
	if n := len(list) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return left, text
}

// wasNamed reports whether q was named as what a command left.
func (p *platform) wasNamed(q *proc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.named[q.pid] == q.start
}

// nameOthers names what is left by children of this process that are not commands.
func (p *platform) nameOthers() (left []Left, text string) {
	list, _ := settled(p.ownOrphans, forks())
	return p.name(list)
}

// ownOrphans returns the orphans that another launcher of this process has no part in.
func (p *platform) ownOrphans() []proc {
	return slices.DeleteFunc(orphans(), func(q proc) bool {
		mark, _ := readMark(q.pid)
		return p.foreign(&q, mark)
	})
}

// settled returns what list does once nothing is left of it, or at the last look. Where something ended since the look before, as forked says, what it
// started may not be in the list yet: one that is empty proves nothing. forks reports whether that went on until the end.
func settled(list func() []proc, forked func() bool) (left []proc, forks bool) {
	left, forks = list(), forked()
	for i, n := 0, 0; n < longest && (forks || i < looks && len(left) > 0); n++ {
		was := left
		time.Sleep(pause)
		left, forks = list(), forked()
		if i++; forks || !slices.EqualFunc(was, left, func(a, b proc) bool { return a.pid == b.pid && a.start == b.start }) {
			i = 0 // others than before
		}
	}
	return left, forks
}

// forks returns what takes the status of what ended among the orphans, and reports whether there was any since the call before, the first of
// which is of forks.
func forks() func() bool {
	seen := orphansTaken.Load()
	return func() bool {
		if _, zombie := haveChildren(); zombie {
			reapOrphans(adopted())
		}
		was := seen
		seen = orphansTaken.Load()
		return seen != was
	}
}

// leftNow returns what is left of the command, and not named yet.
func (w *watcher) leftNow() (list []proc) {
	l := w.launcher
	for _, q := range orphans() {
		if !l.platform.wasNamed(&q) && w.left(&q) {
			list = append(list, q)
		}
	}
	return list
}

// left reports whether the command left q, as far as is known.
func (w *watcher) left(q *proc) bool {
	if q.session == w.pid {
		return true
	}
	if _, other := sessions.leaders.Load(q.session); other {
		return false
	}
	mark, _ := readMark(q.pid)
	if mark == w.mark || strings.HasPrefix(mark, w.mark+"/") {
		return true
	}
	l := w.launcher
	if l.platform.foreign(q, mark) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.running {
		if r.pid.Load() != 0 {
			return false // one that ends later names it
		}
	}
	return true
}

// foreign reports whether q was left by something else than a command of this launcher: it is older, or has the mark of another
// launcher that is open. A mark of which nothing is known proves nothing: anyone can set one.
func (p *platform) foreign(q *proc, mark string) bool {
	if q.start+1 < p.opened {
		return true
	}
	launchers.Lock()
	defer launchers.Unlock()
	return slices.ContainsFunc(launchers.marks, func(m string) bool { return m != p.guard.mark && strings.HasPrefix(mark, m) })
}

// programName is the name of a program, without what could act on a terminal.
func programName(pid int) string {
	var buf [64]byte
	n := readSmall("/proc/"+strconv.Itoa(pid)+"/comm", buf[:])
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, strings.TrimSuffix(string(buf[:max(n, 0)]), "\n"))
}

// orphans returns the living children of this process that came to it as a subreaper: they
// are in other sessions than its own, and are not commands.
func orphans() (list []proc) {
	self := os.Getpid()
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	for _, pid := range adopted() {
		if p, ok := readProc(pid); ok && p.ppid == self && p.session != own && !p.dead() {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	sessions.Lock() // a command that was starting while this looked is among the leaders now
	defer sessions.Unlock()
	return slices.DeleteFunc(list, func(p proc) bool {
		_, command := sessions.leaders.Load(p.pid)
		return command
	})
}

// endLeft ends what commands left running, at once if now is set.
func (p *platform) endLeft(l *Launcher, now bool) error {
	// A tree without a leader: it has what is left now, and what descends from that.
	t := newTree(&run{launcher: l, mark: l.mark + "none"}, 0)
	t.reaped, t.start = true, 1
	var err error
	if t.own, err = unix.Getsid(0); err != nil {
		return err
	}
	for _, q := range p.ownOrphans() {
		t.members[q.pid] = q.start
	}
	p.mu.Lock()
	for pid, start := range p.named {
		t.members[pid] = start
	}
	p.mu.Unlock()
	if len(t.members) == 0 {
		return nil
	}
	if !now {
		t.terminate()
		for waited := time.Duration(0); waited < DefaultGrace; waited += treePause { // see killPatience
			if live, err := t.scan(); err != nil || live == 0 {
				break
			}
			time.Sleep(treePause)
		}
	}
	if n := t.kill(killPatience); n > 0 {
		return fmt.Errorf("%d processes could not be ended: they are stuck in the kernel or belong to another user", n)
	}
	return nil
}
