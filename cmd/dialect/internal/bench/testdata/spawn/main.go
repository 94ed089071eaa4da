// Command spawn runs a program with its three streams at /dev/null, and prints
// the nanoseconds that it took, the peak resident set of its largest process in
// KiB, and its exit status (-1 if a signal ended it).
//
// It exists because Linux counts the resident set of the process that forks into
// that of its child: a benchmark that forked by itself would report its own. This
// program is small, and its size is the least that it can report.
//
// The file that SPAWN_FD3 names is the program's descriptor 3.
//
//	spawn DIR PROGRAM [ARGUMENT]...
package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		fail(err)
	}
	attr := &syscall.ProcAttr{
		Dir:   os.Args[1],
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd()},
	}
	if name := os.Getenv("SPAWN_FD3"); name != "" {
		f, err := os.Open(name)
		if err != nil {
			fail(err)
		}
		attr.Files = append(attr.Files, f.Fd())
	}
	began := time.Now()
	pid, err := syscall.ForkExec(os.Args[2], os.Args[2:], attr)
	if err != nil {
		fail(err)
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		_, err = syscall.Wait4(pid, &status, 0, &usage)
		if err != syscall.EINTR {
			break
		}
	}
	took := time.Since(began)
	if err != nil {
		fail(err)
	}
	code := -1
	if status.Exited() {
		code = status.ExitStatus()
	}
	os.Stdout.WriteString(strconv.FormatInt(took.Nanoseconds(), 10) + " " +
		strconv.FormatInt(int64(usage.Maxrss), 10) + " " + strconv.Itoa(code) + "\n")
}

func fail(err error) {
	os.Stderr.WriteString("spawn: " + err.Error() + "\n")
	os.Exit(1)
}
