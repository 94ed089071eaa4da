package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/keyfd"
	"github.com/command-dialect/dialect/runtime/mcpclient"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
)

// A symptom is one thing that doctor looked at.
type symptom struct {
	Name   string `json:"name"`
	State  string `json:"state"` // "ok", "warning" or "broken"
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

func newDoctor(u *ui) *cobra.Command {
	var f struct {
		routing string
		store   string
		json    bool
		online  bool
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "say what is wrong with a set-up: matrix, tools, store, trust, servers",
		Long: `Look at all that a run needs, and say what is broken and what to do: the matrix and its tools,
the store of receipts, whether a key would be believed, git, what the matrix is compared with, and with --online the MCP servers,
which are started for it.

The exit status is 1 if something is broken.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list := examine(f.routing, f.store, f.online)
			broken := slices.ContainsFunc(list, func(s symptom) bool { return s.State == "broken" })
			if f.json {
				if err := writeJSON(u, struct {
					Schema string    `json:"schema"`
					Checks []symptom `json:"checks"`
				}{"dialect.doctor/1", list}); err != nil {
					return err
				}
			} else {
				w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
				for _, s := range list {
					fmt.Fprintf(w, "%s\t%s\t%s\n", s.State, s.Name, diag.Printable(s.Detail))
					if s.Advice != "" {
						fmt.Fprintf(w, "\t\t-> %s\n", diag.Printable(s.Advice))
					}
				}
				if err := w.Flush(); err != nil {
					return err
				}
			}
			if broken {
				return exit.Status(exit.Failed)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.routing, "routing", "", "use the matrix `FILE` instead of the nearest routing.toml")
	fl.BoolVar(&f.online, "online", false, "start the MCP servers of the matrix, and ask each for its tools")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	addStoreFlag(cmd, &f.store)
	return cmd
}

// examine looks at everything, in the order in which a run would need it.
func examine(routingFile, store string, online bool) (list []symptom) {
	say := func(state, name, advice, format string, args ...any) {
		list = append(list, symptom{name, state, fmt.Sprintf(format, args...), advice})
	}
	dir, err := os.Getwd()
	if err != nil {
		say("broken", "folder", "", "%v", err)
		return list
	}
	m, found, err := loadMatrix(dir, routingFile)
	if err != nil {
		say("broken", "matrix", "`dialect init` makes one", "%v", err)
		return list
	}
	switch errs := found.Count(diag.Error); {
	case errs > 0:
		say("broken", "matrix", "`dialect check "+m.Name+"` shows them", "%s has %s", m.Name, found.Summary())
	default:
		say("ok", "matrix", "", "%s: %s, sha256 %.12s", m.Name, diag.Number(len(m.Bindings), "binding"), m.SHA256)
	}
	warnings := lint.Check(m, lint.Options{})
	tools := 0
	for _, d := range warnings {
		switch d.Code {
		case diag.MissingTool:
			tools++
			say("broken", "tool", strings.ReplaceAll(d.Hint, "\n", "; "), "%s: %s", d.Place(), d.Message)
		case diag.MissingServer, diag.MissingSkill, diag.CannotFail:
			say("warning", string(d.Code), strings.ReplaceAll(d.Hint, "\n", "; "), "%s: %s", d.Place(), d.Message)
		}
	}
	if tools == 0 {
		say("ok", "tools", "", "every program that the project binds is there")
	}
	doctorStore(say, m, store)
	doctorKey(say)
	if _, err := exec.LookPath("git"); err != nil {
		say("warning", "git", "install git: without it receipts name the files by their bytes alone", "git is not in PATH")
	} else if top := place.Repository(m.Root); !place.Exists(filepath.Join(top, ".git")) {
		say("warning", "git", "`git init`: without a repository a receipt cannot be held against a commit", "%s is in no repository", m.Root)
	} else {
		say("ok", "git", "", "repository at %s", top)
	}
	if _, _, state, err := project.Trusted(context.Background(), m, "", ""); err != nil {
		say("warning", "trust", "", "%v", err)
	} else if c := state.Complaint(); c != "" {
		say("warning", "trust", "review the change and commit it, or `dialect trust` it", "%s", c)
	} else if state.New {
		say("ok", "trust", "commit it, or `dialect trust` it: a new matrix is compared with nothing", "the matrix is new: HEAD does not have it")
	} else if state.Kind == policy.None {
		say("warning", "trust", "`git init` and commit the matrix, or `dialect trust` it", "there is no commit and no pin: the matrix is compared with nothing")
	} else {
		say("ok", "trust", "", "the matrix is that of %s", state.Against)
	}
	if online {
		doctorServers(say, m)
	}
	return list
}

type sayer func(state, name, advice, format string, args ...any)

// doctorStore looks at the store without making one.
func doctorStore(say sayer, m *routing.Matrix, store string) {
	path := store
	if path == "" {
		path = archive.Store(m.Root)
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		dir := filepath.Dir(path)
		for !place.Exists(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		probe, err := os.CreateTemp(dir, ".dialect-doctor-")
		if err != nil {
			say("broken", "store", "make the folder writable, or name another store: --store PATH, DIALECT_STORE", "no store can be made below %s: %v", dir, err)
			return
		}
		probe.Close()
		_ = os.Remove(probe.Name())
		say("ok", "store", "", "none yet; the first run makes %s", place.Short(path))
		return
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	switch {
	case errors.Is(err, fs.ErrPermission):
		say("broken", "store", "it belongs to another user: run as that user, have it given to you (chown), or name a store of your own: --store PATH", "%s cannot be read: %v", place.Short(path), err)
		return
	case err != nil:
		say("broken", "store", "a run without it is DEGRADED; move the file away, and a run makes a new one", "%s cannot be read: %v", place.Short(path), err)
		return
	}
	defer s.Close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		say("broken", "store", "make it writable for you", "%s cannot be written: %v", place.Short(path), err)
		return
	}
	f.Close()
	say("ok", "store", "`dialect receipts audit` holds all of it against its log", "%s", place.Short(path))
}

// doctorKey says whether a key that is handed to this binary, by this user, would be believed.
// Without one that is no fault: a record is then self-recorded, as most are.
func doctorKey(say sayer) {
	why := keyfd.Weakness()
	if why == "" {
		say("ok", "key", "", "a key that is handed over by --key-fd gives level L1")
		return
	}
	state := "ok"
	if os.Getenv(keyfd.Variable) != "" {
		state = "warning"
	}
	why, advice, _ := strings.Cut(why, ": ")
	if strings.Contains(advice, "start dialect as") || strings.Contains(advice, "install") {
		advice = "start dialect as an ordinary user without capabilities, from a binary that this user can neither read nor replace (`sudo make install`: owner root, mode 0711), and hand the key over by a pipe: dialect run --key-fd 3 SCRIPT 3< <(cat boss.key)"
	}
	say(state, "key", advice, "records are self-recorded (L0), with a key by --key-fd, too: %s", why)
}

// doctorServers asks each server for its tools.
func doctorServers(say sayer, m *routing.Matrix) {
	pool := mcpclient.New(mcpclient.Options{Servers: m.Servers, Dir: m.Root, Environ: os.Environ(), Version: version(), Helper: mcpHelper()})
	defer pool.Close()
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		if m.Servers[name].Disabled {
			say("warning", "server", "enable it in "+m.Servers[name].Origin, "%s is disabled", name)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		tools, err := pool.Tools(ctx, name)
		cancel()
		if err != nil {
			advice := ""
			var e *mcpclient.Error
			if errors.As(err, &e) && e.Stderr != "" {
				lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
				advice = "it said: " + lines[len(lines)-1]
			}
			say("broken", "server", advice, "%v", err)
			continue
		}
		say("ok", "server", "", "%s: %s", name, diag.Number(len(tools), "tool"))
	}
}
