// Package process runs one operating system command and says what happened.
//
// In comes a [Command]: argv, directory, environment and budgets. Out comes a
// [Result]: how the command ended, the SHA-256 and length of each of its two
// streams, their first and last bytes, where their whole text is kept, and what
// the command used. The package knows no plans, no receipts and no verdicts: an
// exit code is reported, never judged. It runs no shell, gives no terminal and no
// input, and does not confine what a command may do.
//
// A command gets a session of its own, so that it has no controlling terminal to
// stop at, and reads from /dev/null. What it writes is hashed as it arrives; the
// memory for that is bounded, whatever the amount. When [Launcher.Run] returns,
// no goroutine, file descriptor or temporary file of it is left.
//
// # Ending a command
//
// A budget that runs out, a cancelled context or a closed launcher aborts a
// command: its whole tree gets SIGTERM, then, after a grace time, SIGKILL, until
// nothing of it is alive. The tree is what descends from the command: its
// session, the sessions that its descendants opened, their children, and
// processes that carry its mark in their environment (see [MarkVariable]) however
// they came loose. Nobody is told apart by pid alone: a pid counts together with
// the start time of its process, and signals go through a pidfd. A command that
// ended by itself before the first signal was sent keeps its own status.
//
// On Linux a launcher makes this process the reaper of orphans, so that what came
// loose becomes its child. It takes the status of its dead children that are in
// another session than its own: anyone who starts commands here by other means must
// leave them in this session (Setpgid, not Setsid).
//
// A second signal to a program that uses a launcher may not want to wait for the grace:
// [Launcher.Kill]. One that stops the program stops its commands with [Launcher.Pause].
//
// If this process is killed itself, the kernel kills the commands that it started, and the
// guard (see [Options]) what belongs to them. The guard comes once a command has run for
// [GuardDelay]; what comes loose from a command within that time survives. Anyone who kills
// the guard first, and then this process, leaves orphans behind.
//
// After an ordinary end nothing is killed: a daemon that a tool meant to leave
// behind stays, and a note names it. [Launcher.EndLeft] ends those, too. If it holds a pipe open, [Command.PipeWait] bounds how long that is
// waited for, and a note says so.
//
// # Platforms
//
// The above is Linux with /proc. Without /proc only the command's own process
// group is killed. On other Unix systems a command that is aborted takes its
// process group along; a descendant that opened a session of its own escapes, and
// standard output and standard error are read by two goroutines, so that their
// merged order is looser; nothing ends the commands of a process that is killed. On Windows the process alone is killed, at once; there
// are not sessions, and what it started lives on.
//
// What is nowhere seen: a process that left the session, cleared its environment
// and was started by something outside the tree (a service manager, a container
// engine) belongs to that something.
//
// It is one package of up to 4,300 lines because a command has one owner from its start to its last
// descendant: what watches it, what reads it and what ends its tree share its state, once for Linux and once
// for other systems.
package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/command-dialect/dialect/runtime/redact"
)

// MarkVariable names the environment variable by which a launcher knows its own.
// It is set for each command to a value never used before. A command that runs
// under another launcher has the outer mark as a prefix of its own, up to a "/".
const MarkVariable = "DIALECT_STEP_MARK"

// Defaults of a [Command], for fields that are zero.
const (
	DefaultGrace     = 2 * time.Second
	DefaultPipeWait  = 2 * time.Second
	GuardDelay       = 150 * time.Millisecond // until the guard comes; see [Options]
	DefaultMaxLog    = 64 << 20               // bytes
	DefaultTailBytes = 64 << 10
	HeadBytes        = 8 << 10 // of each stream, in Output.Head
)

// A Stream is one of the two outputs of a command.
type Stream uint8

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

// String returns "stdout" or "stderr".
func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// A Stop says what kept a command from running to its end.
type Stop string

// The reasons to stop. The empty Stop means that it ran to its end, by an exit
// code or by a signal of its own.
const (
	EnvMissing  Stop = "env_missing"  // the executable, its interpreter or the directory cannot be used
	StartFailed Stop = "start_failed" // the system refused, although all is there
	Timeout     Stop = "timeout"
	Stall       Stop = "stall"
	OutputLimit Stop = "output_limit"
	Interrupted Stop = "interrupted" // the context was cancelled, or the launcher closed
)

// A Command is what to run. It is not changed by [Launcher.Run].
type Command struct {
	// Argv is the name of the executable and its arguments. A name with a slash is
	// relative to LookupDir; one without is looked up in the PATH of Env. The
	// command sees Argv[0] as it stands here, unless that is relative and Dir is
	// another directory than LookupDir: then it sees the absolute path.
	Argv      []string
	Dir       string   // working directory; empty for this process's own
	LookupDir string   // empty for Dir
	Env       []string // the complete environment, "K=V", each name once; see package environ

	// Stdin is what the command reads; nil for nothing. It is held in a file without a
	// name, so that a command that does not read it waits for nobody.
	Stdin []byte

	// Budgets; zero for none.
	Timeout   time.Duration // since the start
	Stall     time.Duration // without a byte on either stream
	MaxOutput int64         // bytes, both streams together; what goes beyond is not recorded

	Grace    time.Duration // from SIGTERM to SIGKILL; zero for DefaultGrace, below zero for none
	PipeWait time.Duration // how long a pipe may stay open after the exit; zero for DefaultPipeWait

	LogDir    string // where the streams are kept by their digest; empty to keep none
	MaxLog    int64  // bytes on disk of each stream; zero for DefaultMaxLog
	TailBytes int    // zero for DefaultTailBytes, below zero for no tail

	// Output sees the streams as they arrive, one call at a time. It must not keep
	// p. It must not wait for anything: no budget runs while it does.
	Output func(s Stream, p []byte)
	// Cut is called once where more of a stream than MaxOutput allows is thrown away, and of each where the command was ended while it ran, after what is
	// kept went to Output, and in its place: what came last may be the beginning of something.
	Cut func(s Stream)
	// Hold, if set, is asked after each call of Output. While the channel that it returns
	// is open nothing more is read, so that the command may block on a full pipe; its
	// timeout and interruptions still end it, and no stall is counted. nil goes on. What a
	// command that has ended left in its pipes is read in any case.
	Hold func() <-chan struct{}

	// Redact takes secrets out of what is kept: the logs, Head and Tail. The digests
	// and lengths stay those of what was written, and Output sees that too. nil takes
	// out nothing.
	Redact *redact.Redactor

	Digest bool // fill Result.Executable

	// Room, if set, is where the command starts instead of among the files as this process
	// sees them. LookupDir, Dir and what PATH names are then those of the room.
	Room *Room
}

// A Room is a mount namespace, and an ipc namespace, that are made for one command; only Linux has them. A helper
// furnishes it, finds the executable in it, and becomes the command: see [Become].
type Room struct {
	Helper []string // argv of this program, by which it calls Become
	Spec   []byte   // what Become hands to the function that furnishes the room
	// User makes a user namespace as well, in which the helper may mount and the command
	// has no privilege. Only who may mount already can do without.
	User bool
	// Apart makes a pid namespace as well, terminals of its own, and where the kernel has them the scopes of a Landlock domain: the command, and what it
	// starts, can name no process outside of it, and connect to no abstract socket of one. The
	// helper stays as the first process of it, and what the command leaves running ends with it.
	Apart bool
}

// A Result is what became of a command.
type Result struct {
	Path       string   // of the executable, absolute; empty if it was not found
	Executable [32]byte // SHA-256 of the file at Path, taken just before the start; zero if not asked for

	Started  time.Time
	Duration time.Duration // until the command, and what held its pipes, was done with

	ExitCode int    // -1 if it did not exit
	Signal   string // that ended it, such as "SIGKILL"; empty if none
	Stop     Stop
	Err      error // for EnvMissing, StartFailed and Interrupted before the start: why, and what to do

	Stdout, Stderr Output
	Tail           []byte   // last bytes of both streams, in order of arrival
	Notes          []string // what the reader of a report should know, one sentence each

	// Left is what the command left running, as far as it did not belong to something
	// outside of its tree; only Linux can tell. A note names it as well.
	Left []Left
}

// LeftRunning begins the note of [Result.Left].
const LeftRunning = "left running: "

// A Left is a process that outlives the command that started it, or an ancestor of it.
type Left struct {
	PID  int
	Name string
}

// An Output is one stream of a finished command.
type Output struct {
	SHA256 [32]byte // of all of its bytes
	Bytes  int64
	Head   []byte // the first HeadBytes

	// Log is the path of the file that holds the stream, below LogDir in
	// sha256/<2 hex digits>/<62 hex digits>. It is empty if the stream is, if no log
	// was wanted, or if it could not be written, which a note says.
	Log string
	// Cut says that the stream was longer than MaxLog: the file holds its
	// beginning, one line that says how much is left out, and its end, and is named
	// by the digest of that, LogSHA256. Redacted says that secrets were taken out of
	// it, and it is named by the digest of what is left. Otherwise LogSHA256 equals
	// SHA256.
	Cut       bool
	Redacted  bool
	LogSHA256 [32]byte
}

// Options configure a [Launcher].
type Options struct {
	// Guard is a command that calls [Guard]: usually this program with an argument of
	// its own. It is started once a command has run for a while, and ends what is running
	// if this process is killed. nil starts none; only Linux has it.
	Guard []string
}

// A Launcher runs commands and holds what they share: the null device, the
// results of looking executables up and of hashing them. It is safe for
// concurrent use. Each running command occupies an operating system thread.
type Launcher struct {
	null *os.File
	mark string // the part that all marks of this launcher begin with
	next atomic.Uint64

	mu      sync.Mutex
	closed  bool
	running map[*run]struct{}
	idle    sync.Cond // running became empty; on mu

	killed atomic.Bool
	// While stopped is true no budget runs; slept is for how long that was, in all.
	stopped atomic.Bool
	slept   atomic.Int64

	lookups sync.Map // lookupKey -> string
	digests digestCache

	platform platform
}

// New returns a launcher. Close must be called when it is no longer needed.
func New(o Options) (*Launcher, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("commands cannot be run without %s: %w", os.DevNull, err)
	}
	var id [8]byte
	rand.Read(id[:]) // never fails
	l := &Launcher{
		null:    null,
		mark:    hex.EncodeToString(id[:]) + ".",
		running: make(map[*run]struct{}),
	}
	l.idle.L = &l.mu
	// An absurdly long outer mark is not a mark of ours.
	if outer := os.Getenv(MarkVariable); outer != "" && len(outer) < 1024 {
		l.mark = outer + "/" + l.mark
	}
	if err := l.platform.open(o, l.mark); err != nil {
		null.Close()
		return nil, err
	}
	return l, nil
}

// Kill ends at once whatever runs, without asking it to end first, and lets nothing
// start any more. It does not wait: each Run returns soon after.
func (l *Launcher) Kill() {
	l.killed.Store(true)
	l.platform.kill()
}

// Slept is for how long the launcher was paused, in all.
func (l *Launcher) Slept() time.Duration { return time.Duration(l.slept.Load()) }

// Pause stops what runs, what is being started, and the clocks of all budgets, until resume is called.
func (l *Launcher) Pause() (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped.CompareAndSwap(false, true) {
		return func() {}
	}
	since := time.Now()
	for r := range l.running {
		r.hold(true)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.slept.Add(int64(time.Since(since)))
		l.stopped.Store(false)
		for r := range l.running {
			r.hold(false)
		}
	}
}

// join stops a command that was being started while Pause stopped the others: its process has only now become known.
func (l *Launcher) join(r *run) {
	if !l.stopped.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped.Load() {
		r.hold(true)
	}
}

// NameLeft returns what is left running by programs that this process started beside its
// commands, such as servers that have ended, and a note of it; nil if nothing is, or it was
// named already. No command may be running.
func (l *Launcher) NameLeft() (left []Left, note string) { return l.platform.nameOthers() }

// EndLeft ends what commands left running when they ended by themselves: by SIGTERM and,
// after a grace time or at once if now is set, SIGKILL. No command may be running.
func (l *Launcher) EndLeft(now bool) error { return l.platform.endLeft(l, now) }

// Close aborts the commands that still run, waits for their Run to return, and
// makes a last attempt at what earlier aborts could not end. Daemons that a
// command left behind when it ended by itself are not touched.
func (l *Launcher) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.platform.interrupt()
	for len(l.running) > 0 {
		l.idle.Wait()
	}
	l.mu.Unlock()
	return errors.Join(l.platform.close(), l.null.Close())
}

// A run is one command on its way through Run.
type run struct {
	launcher *Launcher
	command  *Command
	result   *Result
	mark     string
	argv     []string
	env      []string
	ctx      context.Context
	pid      atomic.Int64 // of the command while it runs and is not waited for; 0 before and after
	pin      sync.Mutex   // held while pid is signalled, and while it becomes 0
	// shared is true once another command of the launcher ran at the same time.
	shared atomic.Bool
	recorder
}

func (l *Launcher) enter(r *run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.killed.Load() {
		return false
	}
	for other := range l.running {
		other.shared.Store(true)
		r.shared.Store(true)
	}
	l.running[r] = struct{}{}
	return true
}

func (l *Launcher) leave(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, r)
	if len(l.running) == 0 {
		l.idle.Broadcast()
	}
}

// Run runs c to its end and returns what became of it. It never fails: what went
// wrong is in the result.
func (l *Launcher) Run(ctx context.Context, c *Command) Result {
	res := Result{Started: time.Now(), ExitCode: -1}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return res.refuse(StartFailed, errors.New("there is no command to run: argv is empty"))
	}
	if ctx.Err() != nil {
		return res.refuse(Interrupted, fmt.Errorf("%s was not started: %w", c.Argv[0], context.Cause(ctx)))
	}
	r := &run{launcher: l, command: c, result: &res, ctx: ctx}
	if !l.enter(r) {
		return res.refuse(Interrupted, fmt.Errorf("%s was not started: the run is over", c.Argv[0]))
	}
	defer l.leave(r)

	dir := c.LookupDir
	if dir == "" {
		dir = c.Dir
	}
	switch {
	case c.Room == nil:
		if stop, err := r.find(ctx, dir); err != nil {
			return res.refuse(stop, err)
		}
	case Namespaces:
		r.argv = c.Argv // the helper looks it up
	default:
		return res.refuse(StartFailed, fmt.Errorf("%s was not started: this system has no mount namespaces to make its room in", c.Argv[0]))
	}
	r.mark = l.mark + strconv.FormatUint(l.next.Add(1), 16)
	r.env = marked(c.Env, r.mark)
	r.recorder.init(c)
	defer r.recorder.discard()

	res.Started = time.Now()
	r.execute()
	res.Duration = time.Since(res.Started)
	if r.recorder.over() && res.Stop == "" && res.ExitCode == 0 {
		res.Stop = OutputLimit // it ended before it could be killed: not that decides
	}
	r.recorder.finish(&res)
	return res
}

// find finds the executable, and how the command sees its own name.
func (r *run) find(ctx context.Context, dir string) (Stop, error) {
	c := r.command
	switch err := r.resolve(dir); {
	case ctx.Err() != nil:
		return Interrupted, fmt.Errorf("%s was not started: %w", c.Argv[0], context.Cause(ctx))
	case err != nil:
		return EnvMissing, err
	}
	r.argv = seenArgv(c.Argv, r.result.Path, dir, c.Dir)
	return "", nil
}

// seenArgv is argv as a command sees it: see [Command.Argv].
func seenArgv(argv []string, path, lookup, dir string) []string {
	if strings.ContainsRune(argv[0], '/') && path != argv[0] && lookup != dir {
		return append([]string{path}, argv[1:]...)
	}
	return argv
}

// resolve finds the executable and, if asked to, hashes it, for as long as the command itself may take.
func (r *run) resolve(dir string) (err error) {
	l, c := r.launcher, r.command
	if r.result.Path, err = l.lookPath(c.Argv[0], dir, c.Env); err != nil || !c.Digest {
		return err
	}
	ctx, cancel := r.ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	r.result.Executable, err = l.digests.sum(ctx, r.result.Path)
	if errors.Is(err, fs.ErrNotExist) && !hasSlash(c.Argv[0]) && l.forget(c.Argv[0], c.Env) {
		return r.resolve(dir) // what was remembered of PATH is out of date
	}
	if err != nil {
		if err := executable(r.result.Path, c.Env); err != nil {
			return err
		}
		r.note("the executable was not hashed: %v", err)
	}
	return nil
}

func (r Result) refuse(stop Stop, err error) Result {
	r.Stop, r.Err = stop, err
	return r
}

func (r *run) note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

func (c *Command) grace() time.Duration    { return max(cmp.Or(c.Grace, DefaultGrace), 0) }
func (c *Command) pipeWait() time.Duration { return max(cmp.Or(c.PipeWait, DefaultPipeWait), 0) }

// marked returns env with mark as the only mark in it.
func marked(env []string, mark string) []string {
	out := slices.DeleteFunc(append(make([]string, 0, len(env)+1), env...), func(kv string) bool { return strings.HasPrefix(kv, MarkVariable+"=") })
	return append(out, MarkVariable+"="+mark)
}

// input returns what a command reads its standard input from, and how to be done with it.
func (l *Launcher) input(text []byte) (f *os.File, done func(), err error) {
	if text == nil {
		return l.null, func() {}, nil
	}
	if f, err = os.CreateTemp("", "dialect-stdin-"); err != nil {
		return nil, nil, err
	}
	_ = os.Remove(f.Name()) // where a file in use cannot be removed, it is when it is closed
	name := f.Name()
	done = func() {
		f.Close()
		_ = os.Remove(name)
	}
	if _, err = f.Write(text); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return f, done, nil
}
