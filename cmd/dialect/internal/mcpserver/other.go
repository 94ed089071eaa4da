//go:build !unix

package mcpserver

import "os"

// interrupt kills: there are no signals to send.
func interrupt(p *os.Process) error { return p.Kill() }

// channel returns the two ends of a stream to a process: ours, which is read, and that of the
// process.
func channel() (ours, theirs *os.File, err error) { return os.Pipe() }

// input is channel for what we write.
func input() (ours, theirs *os.File, err error) {
	theirs, ours, err = os.Pipe()
	return ours, theirs, err
}
