package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tailscale/hujson"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/records"
)

// A Report is what is installed where, and whether it works: the document of `dialect hook status --json`.
type Report struct {
	Schema string     `json:"schema"` // dialect.hook-status/1
	Agents []State    `json:"agents"`
	Off    *time.Time `json:"off_until,omitempty"` // a person switched the hooks of this project off
	Note   string     `json:"note,omitempty"`      // why an installed hook holds nobody here
}

// A State is that of one file of one client, or of git's own hook.
type State struct {
	Agent     string     `json:"agent"`
	Title     string     `json:"title"`
	Level     Level      `json:"level"`
	Path      string     `json:"path"`
	Installed bool       `json:"installed"`
	Program   string     `json:"program,omitempty"` // "missing" where git's hook names one that is not there
	Trusted   string     `json:"trusted"`           // "yes", "no", "not needed" or "not known", as the client keeps it
	Last      *time.Time `json:"last_fired,omitempty"`
	Decision  string     `json:"last_decision,omitempty"`
	Fault     string     `json:"fault,omitempty"` // why it does not work, as far as is known
	Advice    string     `json:"advice,omitempty"`
}

// Status looks at each client, at both levels, and lists those that the project or the user has, or that are installed. j is the journal
// of the project; nil for none. Git's own hook comes last, where it is installed.
func (in Installer) Status(j *journal.Journal) *Report {
	r := &Report{Schema: "dialect.hook-status/1", Agents: []State{}}
	var entries []journal.Entry
	if j != nil {
		entries = j.Entries()
	}
	for _, c := range Clients() {
		for _, l := range []Level{Project, User} {
			path, err := c.Path(l, in.Root)
			if err != nil {
				continue
			}
			text, err := current(path)
			s := State{Agent: c.Name, Title: c.Title, Level: l, Path: path, Trusted: "not known"}
			if err != nil {
				s.Fault = err.Error()
			}
			if c.isPlugin() {
				s.Installed = bytes.HasPrefix(text, []byte(marker))
			} else {
				s.Installed = c.has(text)
			}
			if isTOML(path) {
				s.Installed = c.hasTOML(text)
			}
			if !s.Installed && (l == User || !c.Used(l, in.Root)) {
				continue
			}
			if s.Installed {
				in.examine(&s, c, text, entries)
			} else {
				s.Advice = fmt.Sprintf("dialect hook install --agent %s", c.Name)
			}
			r.Agents = append(r.Agents, s)
		}
	}
	if s, ok := in.gitState(entries); ok {
		r.Agents = append(r.Agents, s)
	}
	return r
}

// has reports whether a configuration has our line at the event of a stop.
func (c Client) has(text []byte) bool {
	v, err := hujson.Parse(text)
	if err != nil {
		return false
	}
	list := v.Find("/hooks/" + c.stop())
	if list == nil {
		return false
	}
	for x := range list.All() {
		if isOurs(*x) {
			return true
		}
	}
	return false
}

// examine says whether an installed hook works.
func (in Installer) examine(s *State, c Client, text []byte, entries []journal.Entry) {
	names := func(word string) bool { return bytes.Contains(text, compact(word)[1:len(compact(word))-1]) }
	if !names(in.Program) && !names(quoted(in.Program)) {
		s.Advice = "it names another dialect than this one; `dialect hook install` names this one"
	}
	for _, e := range entries {
		if e.Agent != c.Name {
			continue
		}
		at := e.Time
		s.Last = &at
		if e.Event == "stop" {
			s.Decision = e.Action + ": " + e.Rule
		}
	}
	s.Trusted = in.trusted(c, s.Path)
	installed := time.Time{}
	if info, err := os.Stat(s.Path); err == nil {
		installed = info.ModTime()
	}
	base, _ := c.base()
	for _, f := range []string{s.Path, filepath.Join(filepath.Dir(s.Path), "settings.local.json"), filepath.Join(base, "settings.json")} {
		if (c.Name == "claude" || c.Name == "qwen") && jsonFlag(f, "/disableAllHooks") == "true" {
			s.Fault = "the client runs no hook: disableAllHooks is true in " + place.Short(f)
		}
	}
	switch {
	case s.Fault != "":
	case s.Trusted == "no" && (s.Last == nil || s.Last.Before(installed)): // else it was started without that
		s.Fault, s.Advice = "the client does not run it: it is not trusted", c.trust
	case s.Last == nil && c.sessionSince(installed):
		s.Fault, s.Advice = "it never fired, though there were sessions since it was installed", c.trust
	case s.Last == nil && c.trust != "":
		s.Advice = c.trust
	}
}

// trusted reads what the client keeps.
func (in Installer) trusted(c Client, path string) string {
	base, err := c.base()
	if err != nil {
		return "not known"
	}
	switch c.Name {
	case "codex":
		text, err := regular.Read(filepath.Join(base, "config.toml"), maxConfig)
		if err != nil {
			return "no"
		}
		root, _ := tomltree.Parse(diag.NewSource("config.toml", text), false) // as far as it can be read
		state := table(root, "hooks", "state")
		if state == nil {
			return "no"
		}
		for _, e := range state.Entries {
			if off := e.Value.Get("enabled"); strings.HasPrefix(e.Key, path+":stop:") && e.Value.Get("trusted_hash") != nil && (off == nil || off.Text != "false") {
				if later(path, filepath.Join(base, "config.toml")) {
					return "not known" // the hash is of what was there before
				}
				return "yes"
			}
		}
		return "no"
	case "gemini":
		if jsonFlag(filepath.Join(base, "settings.json"), "/security/folderTrust/enabled") == "false" {
			return "yes"
		}
		var folders map[string]string
		text, err := regular.Read(filepath.Join(base, "trustedFolders.json"), maxConfig)
		if err != nil || json.Unmarshal(text, &folders) != nil {
			return "not known"
		}
		for dir := range regular.Above(in.Root) {
			switch folders[dir] {
			case "TRUST_FOLDER":
				return "yes"
			case "DO_NOT_TRUST":
				return "no"
			}
		}
	case "qwen":
		if jsonFlag(filepath.Join(base, "settings.json"), "/security/folderTrust/enabled") == "true" {
			return "not known"
		}
		return "not needed"
	case "opencode", "kilo":
		return "not needed"
	}
	return "not known"
}

// later reports whether a file was written after another one.
func later(path, other string) bool {
	a, err := os.Stat(path)
	b, err2 := os.Stat(other)
	return err == nil && err2 == nil && a.ModTime().After(b.ModTime())
}

// table returns the table at a path of keys; nil if there is none.
func table(v *tomltree.Value, keys ...string) *tomltree.Value {
	for _, k := range keys {
		if v == nil || v.Kind != tomltree.Table {
			return nil
		}
		v = v.Get(k)
	}
	if v == nil || v.Kind != tomltree.Table {
		return nil
	}
	return v
}

// jsonFlag returns the literal at a JSON pointer of a file; empty if there is none.
func jsonFlag(path, pointer string) string {
	text, err := regular.Read(path, maxConfig)
	if err != nil {
		return ""
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return ""
	}
	if at := v.Find(pointer); at != nil {
		if l, ok := at.Value.(hujson.Literal); ok {
			return string(l)
		}
	}
	return ""
}

// maxSessions bounds how many files are looked at for a session.
const maxSessions = 20_000

// sessionSince reports whether the client kept a session later than a time.
func (c Client) sessionSince(at time.Time) (found bool) {
	base, err := c.base()
	if err != nil || c.sessions == "" || at.IsZero() {
		return false
	}
	n := 0
	_ = filepath.WalkDir(filepath.Join(base, c.sessions), func(_ string, d fs.DirEntry, err error) error {
		if n++; n > maxSessions || found {
			return filepath.SkipAll
		}
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(d.Name(), ".jsonl") {
			info, err := d.Info()
			found = err == nil && info.ModTime().After(at)
		}
		return nil
	})
	return found
}

// decisions gives a decision the word that the log has for it.
var decisions = strings.NewReplacer("refuse: ", "held: ", "tell: ", "let pass: ", "allow: ", "passed: ")

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	if r.Off != nil {
		fmt.Fprintf(out, "the hooks are off until %s; `dialect hook off --for 0` switches them on\n", records.Stamp(*r.Off))
	}
	if r.Note != "" {
		fmt.Fprintln(out, diag.Printable(r.Note))
	}
	if len(r.Agents) == 0 {
		_, err := fmt.Fprintln(out, "no coding agent was found; `dialect hook install --agent NAME` writes the configuration of one")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range r.Agents {
		state := "not installed"
		if s.Installed {
			state = "installed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Title, s.Level, state, diag.Printable(place.Short(s.Path)))
		if s.Installed {
			last := "never fired"
			if s.Last != nil {
				last = "last fired " + records.Stamp(*s.Last)
			}
			if s.Decision != "" {
				last += ", last stop " + decisions.Replace(s.Decision)
			}
			fmt.Fprintf(w, "\t\ttrusted: %s; %s\n", s.Trusted, diag.Printable(last))
		}
		if s.Fault != "" {
			fmt.Fprintf(w, "\t\twarning: %s\n", diag.Printable(s.Fault))
		}
		if s.Advice != "" {
			fmt.Fprintf(w, "\t\t-> %s\n", diag.Printable(s.Advice))
		}
	}
	return w.Flush()
}
