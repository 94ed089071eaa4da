package mcpclient

import (
	"os/exec"
	"sync"
	"time"
)

// family is what this process started, and what came loose from that.
//
// A child may start processes in groups and sessions of their own, which its group does not show. Once [Adopt] was called the kernel makes each of
// them a child of this process when its own parent has ended. So whatever is a child and was not started here came loose. Which child it came from is
// not known: it is killed when no child is alive that it could belong to.
var family = struct {
	sync.Mutex // of a start, too: its process is a child before it is in pids
	adopts     bool
	living     int          // children that have not ended
	pids       map[int]bool // of children that were not waited for: no other process has them
}{pids: make(map[int]bool)}

// Adopt has the end of the last living child end what came loose, also from others, and stayed in this session; see [EndLoose]. For that, this process
// must start children by [StartChild] alone. Where the system has no such thing, only process groups end.
func Adopt() {
	family.Lock()
	defer family.Unlock()
	family.adopts = adopt()
}

// fork starts a child.
func fork(cmd *exec.Cmd) error {
	family.Lock()
	defer family.Unlock()
	err := cmd.Start()
	if err == nil {
		family.living++
		family.pids[cmd.Process.Pid] = true
	}
	return err
}

// ended notes that a child has ended, which is not waited for yet.
func ended() {
	family.Lock()
	family.living--
	family.Unlock()
	EndLoose(false)
}

// forget is called for a child that was waited for: its pid may be another's.
func forget(pid int) {
	family.Lock()
	defer family.Unlock()
	delete(family.pids, pid)
}

// loosePatience bounds how long EndLoose waits for what it has killed, which may be stuck in the kernel or belong to another user.
const loosePatience = 2 * time.Second

// EndLoose kills what came loose from children, until nothing is left or a child is alive. What a killed process had started comes up as the next.
// Processes in sessions of their own are spared unless all is set: a daemon that a child meant to leave is left to the parent of this process.
func EndLoose(all bool) {
	for began, pause := time.Now(), time.Duration(0); time.Since(began) < loosePatience; pause = min(pause+time.Millisecond, 20*time.Millisecond) {
		family.Lock()
		left := family.adopts && family.living == 0 && killLoose(family.pids, all)
		family.Unlock()
		if !left {
			return
		}
		time.Sleep(pause)
	}
}
