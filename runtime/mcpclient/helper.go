package mcpclient

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Program speaks the protocol, for runs and for agents: its SDK would cost every start of
// dialect.
const Program = "dialect-mcp"

// Missing says that the program is not there, and how to get it: `go install` of dialect brings dialect alone.
const Missing = "the program dialect-mcp, which speaks to MCP servers and agents, is neither beside dialect nor in PATH"

// Install is the command that brings the program, for those who have Go; an archive of a release has it, too.
const Install = "go install github.com/command-dialect/dialect/cmd/dialect/dialect-mcp@latest"

// Helper returns the command that drives MCP servers; see [Beside].
func Helper() []string { return Beside(Program) }

// Beside returns the command that starts a helper as the client of its kind: the program beside dialect, else the
// one in PATH; nil if there is none.
func Beside(program string) []string {
	self, err := os.Executable()
	if err == nil {
		path := filepath.Join(filepath.Dir(self), program+filepath.Ext(self))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{path, "client"}
		}
	}
	if path, err := exec.LookPath(program); err == nil && filepath.IsAbs(path) {
		return []string{path, "client"}
	}
	return nil
}

// Become runs a command in the place of this process, so that there is nothing that could outlive it, or
// be killed in its stead. On Windows it is a child, whose exit status is returned.
func Become(argv []string) (status int, err error) {
	if runtime.GOOS != "windows" {
		return 0, syscall.Exec(argv[0], argv, os.Environ())
	}
	child := exec.Command(argv[0], argv[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	var ended *exec.ExitError
	if err = child.Run(); errors.As(err, &ended) && ended.ExitCode() > 0 {
		return ended.ExitCode(), nil
	}
	return 0, err
}
