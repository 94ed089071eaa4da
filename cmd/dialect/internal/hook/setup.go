package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/agents"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/install"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/suggest"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Selection says whose configuration is meant.
type Selection struct {
	Agents []string // by name; empty for all that are found
	User   bool     // the user's configuration, not the project's
	Git    bool     // git's pre-push hook, and no agent unless one is named
}

// Installable returns the names of the agents whose configuration can be written.
func Installable() (names []string) {
	for _, c := range install.Clients() {
		names = append(names, c.Name)
	}
	return names
}

// Meant returns the hint for a word after `dialect hook` that means nothing there.
func Meant(word string) string {
	if near := suggest.Near(word, append(agents.Names(), "install", "uninstall", "status", "log", "off", "git")); near != "" {
		return "did you mean `dialect hook " + near + "`?"
	}
	return "adapters: " + strings.Join(agents.Names(), ", ")
}

// Changes are what becomes of configurations.
type Changes struct {
	List      []install.Change
	installer install.Installer
	install   bool
}

// installer returns that of the project that dir is in.
func installer(dir string) (in install.Installer, err error) {
	if in.State, err = journal.Home(); err != nil {
		return in, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return in, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return in, err
	}
	in.Root = place.Repository(dir) // where clients look, wherever in it they are started
	if in.Root == "" || !place.Exists(filepath.Join(in.Root, ".git")) {
		in.Root = rootOf(dir)
	}
	in.Program, err = self()
	return in, err
}

// self returns the absolute path of this program, by the name that it was called by: a link that an update moves stays one.
func self() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path, err := filepath.Abs(os.Args[0]); err == nil && strings.ContainsRune(os.Args[0], filepath.Separator) && filepath.Base(path) == "dialect" {
		return path, nil
	}
	if path, err := lookPath("dialect"); err == nil && place.Same(path, program) {
		return path, nil
	}
	return program, nil
}

// lookPath returns the absolute path of the program that a shell would start.
func lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(path) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", os.ErrNotExist
}

func (s Selection) level() install.Level {
	if s.User {
		return install.User
	}
	return install.Project
}

// Install plans to write the hook into the configuration of the agents that are named, or found.
func Install(s Selection) (*Changes, error) { return s.plan(true) }

// Uninstall plans to take the hook out of the configuration of the agents that are named, or of all.
func Uninstall(s Selection) (*Changes, error) { return s.plan(false) }

func (s Selection) plan(adds bool) (*Changes, error) {
	in, err := installer(".")
	if err != nil {
		return nil, exit.Failf(exit.Failed, "%v", err)
	}
	for _, name := range s.Agents {
		if _, ok := install.Find(name); !ok {
			return nil, exit.Usagef("there is no agent %q: want one of %s", name, strings.Join(Installable(), ", "))
		}
	}
	c := &Changes{installer: in, install: adds}
	if s.Git {
		ch, err := in.Git(adds)
		if err != nil {
			return nil, err
		}
		if c.List = append(c.List, ch); len(s.Agents) == 0 {
			return c, nil
		}
	}
	for _, client := range install.Clients() {
		switch {
		case len(s.Agents) > 0 && !slices.Contains(s.Agents, client.Name), adds && len(s.Agents) == 0 && !client.Used(s.level(), in.Root):
			continue
		}
		plan := in.Uninstall
		if adds {
			plan = in.Install
		}
		ch, err := plan(client, s.level())
		if err != nil {
			return nil, s.without(err, client.Name, in.Root, adds)
		}
		c.List = append(c.List, ch)
	}
	if len(c.List) == 0 {
		return nil, exit.Failf(exit.Failed, "no coding agent was found, in this project or of yours").Hint("name one: --agent %s", strings.Join(Installable(), ", "))
	}
	return c, nil
}

// without adds to the error about one of the agents that were found how to go on with the others: nothing is written where one cannot be.
func (s Selection) without(err error, name, root string, adds bool) error {
	var f *exit.Failure
	if len(s.Agents) > 0 || !errors.As(err, &f) {
		return err
	}
	var others []string
	for _, c := range install.Clients() {
		if c.Name != name && c.Used(s.level(), root) {
			others = append(others, c.Name)
		}
	}
	if len(others) == 0 {
		return err
	}
	command := "uninstall"
	if adds {
		command = "install"
	}
	return f.Hint("nothing was written; without it: dialect hook %s %s", command, strings.Join(others, " "))
}

// Apply writes the changes, once all of them may be written.
func (c *Changes) Apply() error { return c.installer.Apply(c.List) }

// Said returns what was done, a line each, and what is left to the person.
func (c *Changes) Said() (lines []string) {
	for _, ch := range c.List {
		path := place.Short(ch.Path)
		switch {
		case !c.install && ch.Old == nil:
		case !c.install && ch.Unchanged():
		case !c.install:
			lines = append(lines, fmt.Sprintf("%s: the hook is gone from %s", ch.Client.Title, path))
		case ch.Unchanged():
			lines = append(lines, fmt.Sprintf("%s: the hook is in %s already", ch.Client.Title, path))
		default:
			lines = append(lines, fmt.Sprintf("%s: the hook is in %s", ch.Client.Title, path))
		}
		if trust := ch.Client.Trust(); c.install && trust != "" {
			lines = append(lines, "  once: "+trust)
		}
	}
	if len(lines) == 0 {
		lines = []string{"there was no hook to take out"}
		if others := c.others(); len(others) > 0 {
			lines = append([]string{"nothing was taken out; what is installed:"}, others...)
		}
	}
	if note := c.husky(); note != "" {
		lines = append(lines, "  "+note)
	}
	if note := unruled(c.installer.Root); c.install && note != "" {
		lines = append(lines, note)
	}
	return lines
}

// others returns, a line each, the hooks that are installed, and the command that takes each out.
func (c *Changes) others() (lines []string) {
	for _, s := range c.installer.Status(nil).Agents {
		what := s.Agent
		switch {
		case !s.Installed:
			continue
		case s.Agent == "git":
			what = "--git"
		case s.Level == install.User:
			what = "--user " + s.Agent
		}
		lines = append(lines, fmt.Sprintf("  %s, %s: dialect hook uninstall %s", s.Title, place.Short(s.Path), what))
	}
	return lines
}

// husky says what keeps the files that husky generates from counting as untracked changes, which no commit has: an ignore file of theirs, which is not
// tracked, hides them from git alone.
func (c *Changes) husky() string {
	const folder = ".husky/_"
	root := c.installer.Root
	if !c.install || !slices.ContainsFunc(c.List, func(ch install.Change) bool { return ch.Client.Title == "husky" }) ||
		len(workspace.IgnoredIn(context.Background(), root, folder+"/pre-push")) > 0 {
		return ""
	}
	return "once: name /" + folder + "/ in .gitignore, and commit that: else its files count as untracked changes, and each push is refused"
}

// unruled says what the hook does where the root of the repository has no matrix; empty where it has one.
func unruled(root string) string {
	if _, _, err := project.FindMatrix(root, ""); !errors.Is(err, routing.ErrNotFound) {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookWait)
	defer cancel()
	f, err := foldersOf(ctx, root, git.Here(root), "HEAD")
	if err != nil || len(f.ruled) == 0 {
		return "there is no routing.toml here: the hook holds nobody before `dialect init`"
	}
	return "the root of the repository has no routing.toml: agents are held that are started in " + diag.Some(f.ruled, len(f.ruled), 3) + "; a push is checked in each of them that it changes"
}

// Status says what is installed for the project that dir is in.
func Status(dir string) (*install.Report, error) {
	in, err := installer(dir)
	if err != nil {
		return nil, err
	}
	j, err := of(dir)
	if err != nil {
		j = nil // nothing was recorded then
	}
	r := in.Status(j)
	if j != nil {
		if until := j.OffUntil(time.Now()); !until.IsZero() {
			r.Off = &until
		}
	}
	if slices.ContainsFunc(r.Agents, func(s install.State) bool { return s.Installed }) {
		r.Note = unruled(in.Root)
	}
	return r, nil
}
