// Dialect-temporal is what of dialect speaks to Temporal: the helper of `dialect run --engine temporal`, and the worker that
// carries out what it hands out. It is a module of its own, since Temporal's SDK would cost every start of dialect.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/client"
	"github.com/command-dialect/dialect/cmd/dialect/dialect-temporal/worker"
	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/remote"
)

// The guard of an attempt is this program under another name: see [process.Guard].
const (
	guardName     = "dialect-temporal: guard"
	guardArgument = "of-a-worker"
)

const usage = `usage: dialect-temporal worker --task-queue QUEUE --remote REPOSITORY --key-fd N [flags]
           carry out the lines of runs that "dialect run --engine temporal" hands out
       dialect-temporal client
           is started by dialect

See "dialect help temporal".

`

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	if len(args) == 2 && args[0] == guardName && args[1] == guardArgument {
		process.Guard()
		return 0
	}
	environ.Absolute()
	var err error
	switch {
	case len(args) == 2 && args[1] == "client":
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // dialect says when it is over
		err = client.Serve(context.Background(), os.Stdin, os.Stdout, os.Stderr)
	case len(args) >= 2 && args[1] == "worker":
		return work(args[2:])
	default:
		fmt.Fprint(os.Stderr, usage)
		return exit.Usage
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "dialect-temporal: %v\n", err)
		return exit.Failed
	}
	return 0
}

func work(args []string) int {
	fs := flag.NewFlagSet("worker", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		fs.PrintDefaults()
	}
	var o worker.Options
	var s remote.Server
	var key string
	fs.StringVar(&s.Queue, "task-queue", "", "ask for the work of the task queue `QUEUE`")
	fs.StringVar(&s.Address, "address", "", "of the Temporal server, `HOST:PORT` (TEMPORAL_ADDRESS; default 127.0.0.1:7233)")
	fs.StringVar(&s.Namespace, "namespace", "", "`NAMESPACE` of the Temporal server (TEMPORAL_NAMESPACE)")
	fs.StringVar(&o.Depot, "remote", "", "the git `REPOSITORY` that carries the files of runs")
	fs.StringVar(&key, "key-fd", os.Getenv(keyfd.Variable), "sign receipts with the key that the file descriptor `N` holds (DIALECT_KEY_FD)")
	var runs []string
	fs.Func("run-key", "carry out only runs begun with the public `KEY`, NAME+HASH+KEY or a file of such, and lines behind a gate only where it let them start; repeatable", func(v string) error {
		runs = append(runs, v)
		return nil
	})
	fs.IntVar(&o.Slots, "slots", runtime.NumCPU(), "carry out at most `N` lines at the same time")
	fs.StringVar(&o.Folder, "folder", "", "keep checkouts and logs in `DIR` (default: in the user's cache)")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exit.Usage
	}
	bad := func(status int, format string, args ...any) int {
		fmt.Fprintf(os.Stderr, "dialect-temporal: "+format+"\n", args...)
		return status
	}
	switch {
	case fs.NArg() > 0:
		return bad(exit.Usage, "%q is too much", fs.Arg(0))
	case s.Queue == "":
		return bad(exit.Usage, "--task-queue is missing")
	case o.Depot == "":
		return bad(exit.Usage, "--remote is missing: the git repository that carries the files of runs")
	case key == "":
		return bad(exit.Usage, "--key-fd is missing: a run accepts only receipts that a key has signed")
	case o.Slots < 1:
		return bad(exit.Usage, "--slots %d: want a positive number", o.Slots)
	}
	var err error
	if o.Runs, err = readKeys(runs); err != nil {
		return bad(exit.Usage, "--run-key: %v", err)
	}
	k, err := keyfd.Take(key)
	if err != nil {
		return bad(exit.Usage, "--key-fd: %v", err)
	}
	os.Unsetenv(keyfd.Variable) // commands do not learn of it
	if k.Weakness != "" {
		fmt.Fprintf(os.Stderr, "dialect-temporal: the receipts have level L0: %s\n", k.Weakness)
	}
	o.Signer, o.Queue = k.Signer, s.Queue
	o.Guard = []string{guardName, guardArgument}
	if o.Folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return bad(74, "%v", err)
		}
		o.Folder = filepath.Join(cache, "dialect", "temporal")
	}
	if abs, err := filepath.Abs(o.Folder); err == nil {
		o.Folder = abs
	}
	host, _ := os.Hostname()
	o.Name = fmt.Sprintf("%s@%s-%d", o.Signer.Name(), host, os.Getpid())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.Client, err = client.Dial(ctx, s); err != nil {
		return bad(69, "%v", err)
	}
	defer o.Client.Close()
	for _, kv := range os.Environ() { // commands do not learn of what the server lets this worker in by
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "TEMPORAL_") {
			os.Unsetenv(name)
		}
	}
	w, err := worker.New(o)
	if err != nil {
		return bad(exit.Usage, "%v", err)
	}
	end, err := w.Start()
	if err != nil {
		return bad(69, "%v", err)
	}
	fmt.Fprintf(os.Stderr, "dialect-temporal: %s asks for the work of %q\n", o.Name, s.Queue)
	<-ctx.Done()
	end()
	return 0
}

// maxKeys bounds a file of public keys, in bytes.
const maxKeys = 64 << 10

// readKeys reads public keys, or files of them; nil for none.
func readKeys(names []string) (note.Verifiers, error) {
	var keys []string
	for _, name := range names {
		if strings.Count(name, "+") >= 2 {
			keys = append(keys, name)
			continue
		}
		text, err := regular.Read(name, maxKeys)
		if err != nil {
			return nil, err
		}
		found := strings.Fields(string(text))
		if len(found) == 0 {
			return nil, fmt.Errorf("there is no key in %s", name)
		}
		keys = append(keys, found...)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return receipts.ParseKeys(keys...)
}
