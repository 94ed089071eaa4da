package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
)

// directory says why dir cannot be the working directory of a command.
func directory(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("commands cannot run in the directory %s: %w", dir, regular.Reason(err))
	case !info.IsDir():
		return fmt.Errorf("commands cannot run in %s: it is not a directory", dir)
	}
	return nil
}

// length returns how many bytes of the system's limit argv and env take, the
// pointers to them apart.
func length(lists ...[]string) (n int) {
	for _, list := range lists {
		for _, s := range list {
			n += len(s) + 1
		}
	}
	return n
}

// launch calls start until it succeeds or fails for good.
//
// An executable that was just written can be busy for a moment: a descriptor open
// for writing lives on in a process that another thread forked, until that executes
// its own program. And what was remembered of PATH may be out of date.
func (r *run) launch(start func() error) error {
	looked := false
	for wait := time.Millisecond; ; {
		err := start()
		switch {
		case errors.Is(err, syscall.ETXTBSY) && wait < 300*time.Millisecond:
			time.Sleep(wait)
			wait *= 2
			continue
		case errors.Is(err, fs.ErrNotExist) && !looked && !hasSlash(r.command.Argv[0]):
			looked = true
			was := r.result.Path
			r.launcher.forget(r.command.Argv[0], r.command.Env)
			if e := r.resolve(""); e != nil {
				r.result.Path = was
				return err
			}
			if r.result.Path == was {
				return err
			}
			continue
		}
		return err
	}
}

// A roomError says why a command was not started in its [Room].
type roomError struct {
	stop Stop
	error
}

// explain says why the command could not be started, from the error that the system
// gave: one number for what the executable, its interpreter, the directory and the
// arguments can all cause.
func (r *run) explain(err error) (Stop, error) {
	path, c := r.result.Path, r.command
	var room *roomError
	switch {
	case errors.As(err, &room):
		return room.stop, room.error
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if e := cmp.Or(executable(path, c.Env), directory(c.Dir)); e != nil {
			return EnvMissing, e
		}
		return EnvMissing, fmt.Errorf("%s was built for another system: the loader that it names does not exist", path)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		if e := cmp.Or(executable(path, c.Env), directory(c.Dir)); e != nil {
			return EnvMissing, e
		}
		return EnvMissing, fmt.Errorf("%s may not be run here: %w; look at the rights of it, of its interpreter and of the directory %s, and whether their file systems are mounted noexec", path, err, c.Dir)
	case errors.Is(err, syscall.ENOEXEC):
		return EnvMissing, fmt.Errorf("%s is not a program for this machine, nor a script with a \"#!\" line: name its interpreter (`sh %s`), or install the right build", path, path)
	case errors.Is(err, syscall.E2BIG):
		n := length(c.Argv, c.Env)
		return StartFailed, fmt.Errorf("%s was not started: arguments and environment are %d bytes, or one of them is longer, than the system takes: pass fewer files, or a file that lists them", path, n)
	case errors.Is(err, syscall.ETXTBSY):
		return StartFailed, fmt.Errorf("%s was not started: another process has it open for writing: let that finish, and run again", path)
	case errors.Is(err, syscall.EINVAL):
		for _, s := range slices.Concat([]string{c.Dir}, c.Argv, c.Env) {
			if strings.ContainsRune(s, 0) {
				return StartFailed, fmt.Errorf("%s was not started: an argument or variable holds a NUL byte, which no command can be given", path)
			}
		}
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return StartFailed, fmt.Errorf("%s was not started: the system has no room for another process (%w): close some, or use fewer --jobs", path, err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return StartFailed, fmt.Errorf("%s was not started: too many open files (%w): raise `ulimit -n`, or use fewer --jobs", path, err)
	}
	return StartFailed, fmt.Errorf("%s was not started: %w", path, err)
}
