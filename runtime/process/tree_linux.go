//go:build linux && !portable

package process

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// treePause is how long to wait between looks at a tree that was asked to end.
	treePause = 20 * time.Millisecond
	// killPatience is how long processes may take to die of SIGKILL, counted in the pauses between looks at them: a clock goes on
	// while a machine that stalls lets nobody die.
	killPatience = 5 * time.Second
	// killLongest bounds the looks themselves, which take long at processes that multiply.
	killLongest = time.Minute
)

// A tree is what belongs to one command, as far as /proc tells. Who was a member
// once stays one, whatever happens to its parent.
//
// The command itself is a zombie until the tree is done with, so that its pid, which is
// also its group and its session, means nobody else. What outlived that is ended later by
// a tree whose leader is reaped: there only processes count that were members before, and
// what descends from them.
type tree struct {
	run    *run
	leader int
	start  uint64 // of the leader, in ticks since boot; no member is older
	pinned bool   // the leader is still to be waited for
	reaped bool   // the leader was waited for: its pid may be another's

	members   map[int]uint64   // pid to start time, of all that were ever seen
	sessions  map[int]bool     // opened by members
	strangers map[int]stranger // looked at, and without our mark
	own       int              // the session of this process

	table []proc // of the last scan, reused
}

// A proc is a line of the process table.
type proc struct {
	pid, ppid, group, session int
	state                     byte
	threads                   int
	start                     uint64
	member                    bool
}

// A stranger is a process that does not carry the mark. While it shows no
// environment at all it is only about to be one: it may be between two programs, or
// about to exit with a child that is not in the table yet.
type stranger struct {
	start uint64
	sure  time.Time
}

// undecided is how long a process that shows no environment is looked at again.
const undecided = 100 * time.Millisecond

// dead reports whether nothing of p runs any more. A process whose first thread
// ended shows as a zombie, and may be busy in another.
func (p *proc) dead() bool { return (p.state == 'Z' || p.state == 'X') && p.threads <= 1 }

func newTree(r *run, leader int) *tree {
	return &tree{
		run:       r,
		leader:    leader,
		members:   make(map[int]uint64),
		sessions:  map[int]bool{leader: true},
		strangers: make(map[int]stranger),
	}
}

// group sends sig to the group of the leader, if that is still known to be ours.
func (t *tree) group(sig unix.Signal) {
	if !t.reaped {
		unix.Kill(-t.leader, sig)
	}
}

// terminate asks all members to end, the stopped ones too.
func (t *tree) terminate() {
	_, err := t.scan()
	t.group(unix.SIGTERM)
	if err != nil {
		t.group(unix.SIGCONT)
		return
	}
	for p := range t.living() {
		if p.group != t.leader {
			t.signal(p, unix.SIGTERM)
		}
		if p.state == 'T' {
			t.signal(p, unix.SIGCONT)
		}
	}
}

// each sends sig to all members.
func (t *tree) each(sig unix.Signal) {
	_, err := t.scan()
	t.group(sig)
	if err != nil {
		return
	}
	for p := range t.living() {
		if p.group != t.leader {
			t.signal(p, sig)
		}
	}
}

// living goes through the members that are alive in the table.
func (t *tree) living() iter.Seq[*proc] {
	return func(yield func(*proc) bool) {
		for i := range t.table {
			if p := &t.table[i]; p.member && !p.dead() && !yield(p) {
				return
			}
		}
	}
}

// kill ends all members and takes their status where they became our children. It
// returns how many are still alive after patience.
func (t *tree) kill(patience time.Duration) int {
	began := time.Now()
	for pause, waited := time.Duration(0), time.Duration(0); ; pause = min(pause+time.Millisecond, 10*time.Millisecond) {
		// A group is killed as one: none of its members can fork its way out.
		t.group(unix.SIGKILL)
		taken := orphansTaken.Load()
		live, err := t.scan()
		if err != nil {
			return t.killGroup(patience - waited)
		}
		last := t.leader
		for p := range t.living() {
			if !t.reaped && p.group != last && t.sessions[p.session] {
				last = p.group
				unix.Kill(-p.group, unix.SIGKILL)
			}
			t.signal(p, unix.SIGKILL)
		}
		// What forks and leaves faster than /proc is read is seen by its zombies:
		// if there was one, its child may be alive and not in the table.
		reapOrphans(processes())
		if reaped := t.reap(); live == 0 && reaped == 0 && orphansTaken.Load() == taken {
			return 0
		}
		if waited >= patience || time.Since(began) >= killLongest {
			return live
		}
		// The first rounds follow at once: what forks in a loop gets no time to.
		if pause > 4*time.Millisecond {
			time.Sleep(pause)
			waited += pause
		}
	}
}

// killGroup is kill where /proc cannot be read.
func (t *tree) killGroup(patience time.Duration) int {
	const pause = time.Millisecond
	for waited := time.Duration(0); !t.reaped; waited += pause {
		t.group(unix.SIGKILL)
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, t.leader, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err == unix.ECHILD || err == nil && info.Signo != 0 {
			return 0
		}
		if waited >= patience {
			return 1
		}
		time.Sleep(pause)
	}
	return 0 // nothing says who it would be
}

// reap takes the status of the dead members that are our children, the leader
// apart, and returns how many there were.
func (t *tree) reap() (n int) {
	for i := range t.table {
		p := &t.table[i]
		if p.member && p.dead() && p.pid != t.leader && p.ppid == os.Getpid() {
			if _, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err == nil {
				n++
			}
		}
	}
	return n
}

// signal sends sig to p, if that is still the process that was seen.
func (t *tree) signal(p *proc, sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == unix.ENOSYS || err == unix.EPERM { // old kernel, strict sandbox
		if now, ok := readProc(p.pid); ok && now.start == p.start {
			unix.Kill(p.pid, sig)
		}
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	// The descriptor now holds on to one process; is it the one?
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		if unix.PidfdSendSignal(fd, sig, nil, 0) == unix.ENOSYS {
			unix.Kill(p.pid, sig)
		}
	}
}

var errNoProc = errors.New("/proc does not show the processes")

// scan reads the process table, marks the members in it and returns how many of
// them are alive, together with those that are still undecided.
func (t *tree) scan() (live int, err error) {
	self := os.Getpid()
	if t.start == 0 {
		if t.reaped {
			return 0, errNoProc
		}
		if t.own, err = unix.Getsid(0); err != nil {
			return 0, err
		}
		p, ok := readProc(t.leader)
		if !ok {
			return 0, errNoProc
		}
		t.start = p.start
		// A /proc of another PID namespace would show somebody else.
		if p.ppid != self {
			t.start = 0
			return 0, errNoProc
		}
	}
	pids := processes()
	if len(pids) == 0 {
		return 0, errNoProc
	}
	t.table = t.table[:0]
	for _, pid := range pids {
		if pid == self {
			continue
		}
		// Who is older than the leader, or in our own session, cannot descend from
		// it; threads of the kernel have no session.
		if p, ok := readProc(pid); ok && p.start >= t.start && p.session != t.own && p.session != 0 {
			t.table = append(t.table, p)
		}
	}
	if t.reaped {
		clear(t.sessions) // their leaders may be gone, too
		for _, p := range t.table {
			if start, ok := t.members[p.pid]; ok && start == p.start {
				t.sessions[p.session] = true
			}
		}
	}
	for again := true; again; {
		again = false
		for i := range t.table {
			if p := &t.table[i]; !p.member && t.claims(p) {
				t.join(p)
				again = true
			}
		}
	}
	t.claimLoose(self)
	now := time.Now()
	for i := range t.table {
		p := &t.table[i]
		if s, ok := t.strangers[p.pid]; !p.dead() && (p.member || ok && s.start == p.start && now.Before(s.sure)) {
			live++
		}
	}
	return live, nil
}

// claims reports whether p belongs to the tree by descent, session or mark.
func (t *tree) claims(p *proc) bool {
	if start, ok := t.members[p.pid]; ok && start == p.start {
		return true
	}
	if p.pid == t.leader && !t.reaped || t.sessions[p.session] {
		return true
	}
	if start, ok := t.members[p.ppid]; ok && p.start >= start && t.alive(p.ppid, start) {
		return true
	}
	now := time.Now()
	was, seen := t.strangers[p.pid]
	seen = seen && was.start == p.start
	if seen && now.After(was.sure) {
		return false
	}
	mark, blank := readMark(p.pid)
	if mark == t.run.mark || strings.HasPrefix(mark, t.run.mark+"/") {
		return true
	}
	if !blank {
		t.strangers[p.pid] = stranger{p.start, now}
	} else if !seen {
		t.strangers[p.pid] = stranger{p.start, now.Add(undecided)}
	}
	return false
}

// alive reports whether the table has the process pid with that start time.
func (t *tree) alive(pid int, start uint64) bool {
	return slices.ContainsFunc(t.table, func(p proc) bool { return p.pid == pid && p.start == start })
}

// claimLoose claims orphans that cleared their environment. A child of ours in another session than ours, which
// nothing of this process started there, was orphaned. If it came up while this command was the only one, it belongs to it,
// unless it has a mark, or its session a leader, of another, or an earlier command left it.
func (t *tree) claimLoose(self int) {
	if t.run.shared.Load() {
		return
	}
	sessions.Lock() // what was starting while the table was read is among the leaders now
	defer sessions.Unlock()
	for i := range t.table {
		p := &t.table[i]
		if p.member || p.ppid != self || p.dead() || t.run.launcher.platform.wasNamed(p) {
			continue
		}
		if p.session == p.pid {
			if _, ours := sessions.leaders.Load(p.pid); ours {
				continue
			}
		} else if _, ok := readProc(p.session); ok {
			continue
		}
		if mark, _ := readMark(p.pid); mark != "" {
			continue
		}
		t.join(p)
	}
}

func (t *tree) join(p *proc) {
	p.member = true
	t.members[p.pid] = p.start
	t.sessions[p.session] = true
}

// readProc reads /proc/PID/stat.
func readProc(pid int) (p proc, ok bool) {
	var buf [1024]byte
	n := readSmall("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	return parseProc(pid, buf[:max(n, 0)])
}

// parseProc reads "pid (comm) state ppid pgrp session ...", as proc(5) has it; comm
// may hold anything, ")" too.
func parseProc(pid int, line []byte) (p proc, ok bool) {
	i := bytes.LastIndexByte(line, ')')
	if i < 0 || i+2 > len(line) {
		return p, false
	}
	p.pid = pid
	field := 2
	for word := range bytes.FieldsSeq(line[i+1:]) {
		field++ // 1-based, as proc(5) counts
		switch field {
		case 3:
			p.state = word[0]
		case 4:
			p.ppid = number(word)
		case 5:
			p.group = number(word)
		case 6:
			p.session = number(word)
		case 20:
			p.threads = number(word)
		case 22:
			p.start = uint64(number(word))
			return p, true
		}
	}
	return p, false
}

func number(word []byte) (n int) {
	for _, c := range word {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// readMark returns the mark that the process pid was started with, empty if it has
// none or does not show it. It is blank if it has no environment at all.
func readMark(pid int) (mark string, blank bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err == unix.ESRCH // it exits, and gave its memory back
	}
	defer unix.Close(fd)
	buf := readBuffer()
	defer releaseBuffer(buf)
	const key = MarkVariable + "="
	// An environment can be larger than the buffer: what was not yet searched
	// moves to its beginning.
	keep, total := 0, 0
	for {
		n, err := unix.Read(fd, buf[keep:])
		if err == unix.EINTR {
			continue
		}
		end := err != nil || n <= 0
		total += max(n, 0)
		text := buf[:keep+max(n, 0)]
		for len(text) > 0 {
			i := bytes.IndexByte(text, 0)
			if i < 0 && !end && len(text) < len(buf) {
				break // the rest of this variable is still to come
			}
			v := text
			if i >= 0 {
				v, text = text[:i], text[i+1:]
			} else {
				text = nil // longer than the buffer, or the last
			}
			if bytes.HasPrefix(v, []byte(key)) {
				return string(v[len(key):]), false
			}
		}
		if end {
			return "", total == 0
		}
		keep = copy(buf[:], text)
	}
}

func readSmall(path string, buf []byte) int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return n
		}
	}
}

// sessions holds the leaders, not yet waited for, of the commands of this process.
// A fork holds the lock for reading until its child is in it.
var sessions struct {
	sync.RWMutex
	leaders sync.Map // of pid
}

// processes returns the pids that /proc shows, nil if it cannot be read.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
