//go:build !unix

package mcpserver

import "os"

// interrupt kills: there are no signals to send.
func interrupt(p *os.Process) error { return p.Kill() }
