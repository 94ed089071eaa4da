//go:build !unix

package process

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// abandonReaders is true: a read from a pipe cannot be called off here, so that
// its goroutine stays until the holder of the pipe is gone.
const abandonReaders = true

func ownSession() *syscall.SysProcAttr { return nil }

func askToEnd(p *os.Process) { p.Kill() }
func forceEnd(p *os.Process) { p.Kill() }
func awaitEnd(*os.Process)   {}

func describe(res *Result, state *os.ProcessState) {
	res.ExitCode = state.ExitCode()
}

// candidates returns the names under which file may be found in a directory.
func candidates(file string, env []string) []string {
	if filepath.Ext(file) != "" {
		return []string{file}
	}
	list := getenv(env, "PATHEXT")
	if list == "" {
		list = ".com;.exe;.bat;.cmd"
	}
	var names []string
	for _, ext := range strings.Split(list, ";") {
		if ext != "" {
			names = append(names, file+strings.ToLower(ext))
		}
	}
	return names
}

func sameName(a, b string) bool { return strings.EqualFold(a, b) }

func permitted(string, os.FileInfo) bool { return true }

// identify says that content is known only by reading it.
func identify(path string) (id fileID, ok bool, err error) {
	_, err = os.Stat(path)
	return id, false, err
}

// hold does nothing: a process cannot be stopped here.
func (r *run) hold(bool) {}
