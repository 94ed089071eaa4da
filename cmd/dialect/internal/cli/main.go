// Package cli is the command line: one file a subcommand, each with its flags,
// its wiring and its exit status, and no logic of its own.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/domain"
	"github.com/command-dialect/dialect/runtime/environ"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/process"
)

// The guard of a run is this program under another name: see [process.Guard].
const (
	guardName     = "dialect: guard"
	guardArgument = "of-a-run"
)

// roomName is the name of this program as the helper of a clean room: see [process.Room].
const roomName = "dialect: room"

// domainName is the name of this program as the first process of a domain: see [domain.Become].
const domainName = "dialect: domain"

// Main runs the command line of this process and returns its exit status.
func Main() (status int) {
	if len(os.Args) == 2 && os.Args[0] == guardName && os.Args[1] == guardArgument {
		process.Guard()
		return 0
	}
	if os.Args[0] == domainName {
		return domain.Become(os.Args[1:])
	}
	if os.Args[0] == roomName {
		return process.Become(os.Args[1:], cleanroom.Furnish)
	}
	environ.Absolute()
	keyfd.Withhold(os.Getenv(keyfd.Variable))
	u := voice.New()
	defer store.Forget()
	defer func() {
		if r := recover(); r != nil {
			u.Errorf("internal error: %v", r)
			u.Hintf("this is a bug in dialect; please report it with what follows")
			fmt.Fprintf(u.Err, "%s", debug.Stack())
			status = exit.Internal
		}
	}()
	root := newRoot(u, os.Args[1:])
	if filepath.Base(os.Args[0]) == receiptsName {
		root = newAR(u)
	}
	root.SetArgs(os.Args[1:])
	cmd, err := root.ExecuteC()
	var st exit.Status
	var f *exit.Failure
	var path *fs.PathError
	lost := u.Lost()
	if err == nil {
		err = lost
	}
	switch {
	case err == nil:
		return 0
	case errors.As(err, &st):
		if !errors.Is(lost, syscall.EPIPE) {
			u.TellLost()
		}
		return int(st)
	case !errors.Is(err, syscall.EPIPE) && isNowhere(): // whatever comes of it
		u.Errorf("there is no working directory: it was removed")
		u.Hintf("cd to a folder that exists")
		if errors.As(err, &f) {
			return f.Status
		}
		return exit.Failed
	case errors.As(err, &f):
		u.Errorf("%v", f.Err)
		for _, h := range f.Hints {
			u.Hintf("%s", h)
		}
		return f.Status
	case errors.Is(err, syscall.EPIPE): // who reads has seen enough
		return exit.Pipe
	case errors.As(err, &path): // what was to be printed could not be
		if errors.Is(err, lost) {
			u.TellLost()
		} else {
			u.Errorf("%v", err)
		}
		return exit.Internal
	default: // cobra's own: unknown command, unknown flag, wrong number of arguments
		u.Errorf("%v", misused(cmd, err))
		u.Hintf("`%s --help` lists its arguments and flags", cmd.CommandPath())
		return exit.Usage
	}
}

// isNowhere reports whether the working directory is gone, such as that of a worktree. The system says no more of
// it than that some file does not exist.
func isNowhere() bool {
	_, err := os.Getwd()
	return errors.Is(err, fs.ErrNotExist)
}

const rootLong = `dialect runs scripts of the command dialect: one "Verb preposition noun" a line,
bound by a routing matrix (routing.toml) to real tools. It keeps a receipt of
each command, and gates on the receipts at the end.

    Format with gofmt
    Test with go
    Gate against results`

// newRoot makes the command that is called with args. If they name one of its commands,
// that is made alone: to make them all takes longer than many a command.
func newRoot(u *ui, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "dialect",
		Short: "run command-dialect scripts, keep receipts, gate on them",
		Long:  rootLong,
		Args:  unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return exit.Status(exit.Usage)
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	outermost(u, root)
	root.SetHelpCommand(newHelp(u))
	// No template: a program that has text/template keeps each exported method of each type.
	usage := (&cobra.Command{}).UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		err := usage(c)
		if err == nil && c == root {
			_, err = fmt.Fprintf(c.OutOrStderr(), "\n%s\n%s", explain.TopicList(), exit.Help())
		}
		return err
	})
	commands := []struct {
		name string
		make func(*ui) *cobra.Command
	}{
		{"run", newRun}, {"prove", newProve}, {"check", newCheck}, {"fmt", newFmt}, {"explain", newExplain}, {"vocab", newVocab}, {"lsp", newLSP}, {"mcp", newMCP}, {"skill", newSkill}, {"packs", newPacks}, {"doctor", newDoctor},
		{"runs", newRuns}, {"rerun", newRerun}, {"report", newReport}, {"fault", newFault},
		{"verify", newVerify}, {"log", newLog}, {"consume", newConsume}, {"gate", newGate}, {"trust", newTrust}, {"receipts", newReceipts},
		{"hook", newHook}, {"exec", newExec}, {"guard", newGuard}, {"notary", newNotary}, {"init", newInit}, {"version", newVersion},
	}
	one := len(args) == 1 && args[0] == "--version"
	for _, c := range commands {
		if len(args) > 0 && c.name == args[0] {
			one = true
			root.AddCommand(c.make(u))
		}
	}
	root.CompletionOptions.DisableDefaultCmd = one
	if !one {
		for _, c := range commands {
			root.AddCommand(c.make(u))
		}
	}
	return root
}

// outermost sets what a command has that is called by the user's shell.
func outermost(u *ui, cmd *cobra.Command) {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true // Main prints what there is to say
	// cobra's own --version has a template, or words of its own.
	one := cmd.Flags().BoolP("version", "v", false, "version for "+cmd.Name())
	run := cmd.RunE
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if *one {
			_, err := fmt.Fprintln(u.Out, versionString())
			return err
		}
		return run(c, args)
	}
	cmd.SetFlagErrorFunc(unknownFlag)
	cmd.PersistentPreRunE = begin
	cmd.SetOut(u.Out)
	cmd.SetErr(u.Err)
}

// begin comes before any command: keys are withheld from what it starts, and what is empty is refused, other than in a completion.
func begin(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"key-fd", "identity"} {
		if f := cmd.Flags().Lookup(name); f != nil {
			keyfd.Withhold(f.Value.String())
		}
	}
	if cmd.Name() == cobra.ShellCompRequestCmd {
		cmd.Root().SetOut(voice.Completions(cmd.OutOrStdout()))
		return nil
	}
	return notEmpty(cmd, args)
}

// notEmpty refuses arguments and flags that are empty: verify "$GATE" without a GATE would ask for any gate. The
// arguments of exec and guard are another program's, and those of a hook git's.
func notEmpty(cmd *cobra.Command, args []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, several := f.Value.(pflag.SliceValue)
		if f.Name == "line" { // the text of a script, which says itself that it has no command
			return
		}
		if f.Value.Type() == "string" && f.Value.String() == "" || several && slices.Contains(list.GetSlice(), "") {
			err = exit.Usagef("--%s is empty", f.Name).Hint("a variable that is not set, perhaps")
		}
	})
	others := cmd.Name() == "exec" || cmd.Name() == "guard" || cmd.HasParent() && cmd.Parent().Name() == "hook"
	if err == nil && !others && slices.Contains(args, "") {
		err = exit.Usagef("an argument is empty").Hint("a variable that is not set, perhaps")
	}
	return err
}

// unknownCommand refuses the arguments of a command that only has commands below it, and
// names the one that was meant, at any depth.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	f := exit.Usagef("%s has no command %q", cmd.CommandPath(), args[0])
	paths, meant := make(map[string]string), make(map[string]string) // by the last word, by what others call it
	var names []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				if _, known := paths[sub.Name()]; !known || c == cmd {
					paths[sub.Name()] = sub.CommandPath()
					names = append(names, sub.Name())
				}
				for _, word := range sub.SuggestFor {
					meant[word] = sub.CommandPath()
				}
				walk(sub)
			}
		}
	}
	walk(cmd.Root())
	if path := cmp.Or(meant[args[0]], paths[args[0]]); path != "" {
		f.Hint("did you mean `%s`?", path)
	} else if near := suggest.Near(args[0], names); near != "" && len(args[0]) > 2 { // a slip in two letters says too little
		f.Hint("did you mean `%s`?", paths[near])
	}
	return f.Hint("`%s --help` lists its commands", cmd.CommandPath())
}

// misused says which arguments a command wants, where those that it got are what it was refused for.
func misused(cmd *cobra.Command, err error) error {
	if _, flags, ok := strings.Cut(err.Error(), "set none of the others can be; ["); ok { // of MarkFlagsMutuallyExclusive
		if flags, _, ok = strings.Cut(flags, "]"); ok {
			return fmt.Errorf("--%s exclude each other", strings.Join(strings.Fields(flags), " and --"))
		}
	}
	args := cmd.Flags().Args()
	if !cmd.Runnable() || cmd.ValidateArgs(args) == nil {
		return err
	}
	_, wants, _ := strings.Cut(strings.TrimSuffix(cmd.Use, " [flags]"), " ")
	got := "nothing"
	if len(args) > 0 {
		got = strings.Trim(fmt.Sprintf("%q", args), "[]")
	}
	return fmt.Errorf("`%s` takes %s, and got %s", cmd.CommandPath(), cmp.Or(wants, "no arguments"), got)
}

// unknownFlag is the usage error about a flag, with the one that was meant.
func unknownFlag(cmd *cobra.Command, err error) error {
	f := exit.Usagef("%v", err)
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		add := func(x *pflag.Flag) { names = append(names, x.Name) }
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		if near := suggest.Near(unknown.GetSpecifiedName(), names); near != "" {
			f.Hint("did you mean --%s?", near)
		}
	}
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) && bad.GetFlag().Value.Type() == "duration" {
		f = exit.Usagef("--%s %s: want a duration with its unit: 90s, 5m, 1h30m", bad.GetFlag().Name, bad.GetValue())
		if _, err := strconv.ParseFloat(bad.GetValue(), 64); err == nil {
			f.Hint("did you mean --%s %ss?", bad.GetFlag().Name, bad.GetValue())
		}
	}
	if bad != nil && bad.GetFlag().Value.Type() == "int" {
		f = exit.Usagef("--%s %s: want a whole number", bad.GetFlag().Name, bad.GetValue())
	}
	return f.Hint("`%s --help` lists its arguments and flags", cmd.CommandPath())
}

// receiptsName is the name of the tool that receipts come from: called by it,
// through a link, the binary is `dialect receipts`.
const receiptsName = "ar"

// newAR returns the root command of the binary under its other name.
func newAR(u *ui) *cobra.Command {
	cmd := newReceipts(u)
	cmd.Use, cmd.Aliases = receiptsName, nil
	outermost(u, cmd)
	return cmd
}

// ui is the voice of the commands to the user.
type ui = voice.Voice

// stamped is set by the linker (see Makefile); empty in a plain go build.
var stamped string

// version is the version of this binary: what the linker stamped, else the
// module's version, else "devel".
var version = sync.OnceValue(func() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
})

func versionString() string {
	return fmt.Sprintf("dialect %s %s/%s %s", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
