package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/agents"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
)

const hookLong = `Answer a hook of a coding agent: whether it may end its turn, and whether it may run a command line.
The client writes the event to standard input; "dialect hook install" puts the line into its configuration.

An agent that wants to stop is held where the files changed since the last prompt and are not verified: where a
check fails that did not fail before, or nothing was checked since the last edit. It is held at most twice per
prompt, once on the same files, and then let go. Before a commit only a known new failure refuses, before a push or
a pull request whatever is unverified; --no-verify and its like are refused.

The hook runs nothing of the project, unless rules that you pinned with "dialect trust" have [hooks] run, and its
exit status is 0 whatever happens.

"dialect help hooks" says what it does not hold.`

func newHook(u *ui) *cobra.Command {
	var o hook.Options
	var answer string
	cmd := &cobra.Command{
		Use:   "hook AGENT [EVENT]",
		Short: "keep a coding agent from stopping on a new failure",
		Long:  hookLong,
		Example: `  dialect hook install
  dialect hook status
  dialect hook log
  dialect hook off --for 1h
  dialect hook generic stop --answer cursor     # in the configuration of another agent`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.Agent = agents.Find(args[0]); o.Agent == nil {
				return exit.Usagef("`dialect hook` has no command and no adapter %q", args[0]).Hint("%s", hook.Meant(args[0])).Hint("`dialect hook --help` lists its commands")
			}
			if len(args) > 1 {
				o.Event = args[1]
			}
			if answer != "" && !o.Agent.Speak(answer) {
				return exit.Usagef("--answer %q: want one of %s", answer, strings.Join(agents.FormNames(), ", "))
			}
			if u.Typed() {
				return exit.Usagef("stdin is a terminal: this command is started by an agent").Hint("dialect hook install")
			}
			defer inquiry.Contain(u.Warnf)()
			o.In, o.Out = u.In, u.Out
			hook.Answer(o)
			return exit.Status(0) // also where the answer could not be written: some clients take another status for a refusal
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&o.User, "user", false, "act only where you pinned the rules with \"dialect trust\": the line is in your own configuration")
	fl.StringVar(&answer, "answer", "", "answer in another `FORM`: "+strings.Join(agents.FormNames(), ", "))
	addStoreFlag(cmd, &o.Store)
	cmd.AddCommand(newHookInstall(u), newHookUninstall(u), newHookStatus(u), newHookLog(u), newHookOff(u), newHookGit(u))
	return cmd
}

const hookInstallLong = `Write dialect's hook into the configuration of the coding agents that this project, or you, have. Existing entries stay:
order, comments, other hooks. "dialect hook uninstall" gives back the same bytes.

Most clients run a new hook only once you trust it; the command prints what you have to do.

With --user the hook is in your own configuration, and acts in projects whose rules you pinned with "dialect trust".`

// hookInstall are the flags of install and uninstall.
type hookInstall struct {
	hook.Selection
	project, user, dryRun bool
}

func (f *hookInstall) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&f.project, "project", false, "the configuration in this project (default)")
	fl.BoolVar(&f.user, "user", false, "your own configuration")
	fl.StringArrayVar(&f.Agents, "agent", nil, "only the agent `NAME`: "+strings.Join(hook.Installable(), ", ")+"; may be repeated")
	fl.BoolVar(&f.Git, "git", false, "git's pre-push hook, by git itself, lefthook, husky or pre-commit")
	fl.BoolVar(&f.dryRun, "dry-run", false, "write nothing, and print what would change")
	cmd.MarkFlagsMutuallyExclusive("project", "user")
	cmd.MarkFlagsMutuallyExclusive("git", "user")
	_ = cmd.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(hook.Installable(), cobra.ShellCompDirectiveNoFileComp))
}

// change plans changes, and writes or prints them. The arguments name agents, as --agent does.
func (f *hookInstall) change(u *ui, agents []string, plan func(hook.Selection) (*hook.Changes, error)) error {
	f.User = f.user
	f.Agents = append(f.Agents, agents...)
	c, err := plan(f.Selection)
	if err != nil {
		return err
	}
	for _, ch := range c.List {
		if f.dryRun && !ch.Unchanged() {
			if err := u.Diff(ch.Path, ch.Old, ch.Path, ch.New); err != nil {
				return err
			}
		}
	}
	if !f.dryRun {
		if err := c.Apply(); err != nil {
			return err
		}
		for _, said := range c.Said() {
			u.Notef("%s", said)
		}
	}
	return nil
}

func newHookInstall(u *ui) *cobra.Command {
	return newHookChange(u, hook.Install, &cobra.Command{
		Use:   "install [AGENT...]",
		Short: "write the hook into the configuration of the agents that are found",
		Long:  hookInstallLong,
		Example: `  dialect hook install
  dialect hook install codex --dry-run`,
	})
}

func newHookUninstall(u *ui) *cobra.Command {
	return newHookChange(u, hook.Uninstall, &cobra.Command{
		Use:   "uninstall [AGENT...]",
		Short: "take the hook out of the configuration of agents",
	})
}

func newHookChange(u *ui, plan func(hook.Selection) (*hook.Changes, error), cmd *cobra.Command) *cobra.Command {
	var f hookInstall
	cmd.ValidArgs = hook.Installable()
	cmd.RunE = func(_ *cobra.Command, args []string) error { return f.change(u, args, plan) }
	f.add(cmd)
	return cmd
}

func newHookStatus(u *ui) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "say for each agent whether the hook is installed, trusted, and when it fired",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r, err := hook.Status(".")
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			return u.Print(asJSON, r)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func newHookGit(u *ui) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "git pre-push [REMOTE URL]",
		Short: "answer git's pre-push hook: refuse a push of a tip that is not verified",
		Long: `Answer git's pre-push hook, as "dialect hook install --git" writes it: refuse a push of a tip that is not verified.
DIALECT=0 lets it pass, and is recorded. A commit whose routing.toml is gone or does not load is refused where the
remote has one; what cannot be checked for another reason passes with a warning.

Exit status: 0 to push, else 1.`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] != "pre-push" {
				return exit.Usagef("there is no answer to the hook %q", args[0]).Hint("dialect hook git pre-push")
			}
			defer inquiry.Contain(u.Warnf)()
			remote := ""
			if len(args) > 1 {
				remote = args[1]
			}
			refused, warnings := hook.Push(store, remote, u.In)
			for _, w := range warnings {
				u.Warnf("%s", w)
			}
			for _, text := range refused {
				head, rest, _ := strings.Cut(text, "\n")
				u.Errorf("%s", head)
				if rest != "" {
					u.Say(rest)
				}
			}
			if len(refused) > 0 {
				return exit.Status(exit.Failed)
			}
			return nil
		},
	}
	addStoreFlag(cmd, &store)
	return cmd
}

func newHookLog(u *ui) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "log",
		Short: "say when an agent was held, why, and what it did then",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := hook.Log(".", all)
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			return u.Print(asJSON, l)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show plain passes, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func newHookOff(u *ui) *cobra.Command {
	var length string
	cmd := &cobra.Command{
		Use:   "off",
		Short: "let agents stop and push in this project for a while",
		Long: `Let agents stop and push in this project for a while. It is for a person to decide: the hooks
refuse it to an agent, as far as they see it.`,
		Example: "  dialect hook off --for 1h\n  dialect hook off --for 0    # on again",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			d, err := time.ParseDuration(length)
			if err != nil || d < 0 {
				return exit.Usagef("--for %q: want a time such as 30m or 2h; 0 switches the hooks on again", length)
			}
			until, err := hook.Off(".", d)
			if err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
			if d == 0 {
				u.Notef("the hooks of this project are on")
			} else {
				u.Notef("the hooks of this project are off until %s; `dialect hook off --for 0` switches them on", until.Format("2006-01-02 15:04"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&length, "for", "1h", "how long, `TIME`")
	return cmd
}
