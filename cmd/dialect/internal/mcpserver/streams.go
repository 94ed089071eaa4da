package mcpserver

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// streams are standard input, output and error of a process: our ends, and its own.
type streams struct {
	ours, theirs [3]*os.File
	stdin        []byte
	read         [3][]byte
	readers      sync.WaitGroup
}

// connect gives cmd streams, of which the first has stdin.
func connect(cmd *exec.Cmd, stdin []byte) (s *streams, err error) {
	s = &streams{stdin: stdin}
	for i := range s.ours {
		open := channel
		if i == 0 {
			open = input
		}
		if s.ours[i], s.theirs[i], err = open(); err != nil {
			s.end()
			return nil, err
		}
	}
	cmd.Stdout, cmd.Stderr = s.theirs[1], s.theirs[2]
	if stdin != nil { // else there is none: an empty one would be a script
		cmd.Stdin = s.theirs[0]
	}
	return s, nil
}

// begin moves bytes. The process has its ends now.
func (s *streams) begin() {
	s.closeTheirs()
	in := s.ours[0]
	go func() {
		_, _ = in.Write(s.stdin) // a process need not read it
		in.Close()
	}()
	for i := 1; i < len(s.ours); i++ {
		s.readers.Go(func() { s.read[i], _ = io.ReadAll(s.ours[i]) }) // to its end, or the deadline
	}
}

// end waits for what the process wrote and closes the streams. A child of it that still has them
// gets a little more time.
func (s *streams) end() (stdout, stderr []byte) {
	s.closeTheirs()
	for _, f := range s.ours {
		if f != nil {
			_ = f.SetReadDeadline(time.Now().Add(killDelay)) // pipes of Windows have none: they end with the process
		}
	}
	s.readers.Wait()
	for _, f := range s.ours {
		f.Close() // nil is refused
	}
	return s.read[1], s.read[2]
}

func (s *streams) closeTheirs() {
	for i, f := range s.theirs {
		if f != nil {
			f.Close()
			s.theirs[i] = nil
		}
	}
}
