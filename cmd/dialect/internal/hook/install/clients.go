// Package install writes the line of dialect's hook into the configuration of coding agents, takes it out again, and says what a
// client makes of it. What a user wrote there stays: order, comments, the hooks of others. What was there before is kept in the
// user's state folder, so that an uninstall gives back the same bytes.
//
// It never writes that a client trusts a hook: that is the one step of the person.
package install

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/runtime/place"
)

// A Level is whose configuration it is.
type Level string

// The levels.
const (
	Project Level = "project"
	User    Level = "user"
)

// An event of a client that the hook is asked at.
type event struct {
	name    string
	matcher string // of tools; empty for none
}

// A Client is an agent whose configuration can be written.
type Client struct {
	Name, Title string

	files    map[Level]string // relative to the project, or to home
	home     string           // variable that names the folder of the user's configuration; empty for none
	homeBase string           // that folder, relative to the user's home
	found    []string         // folders and files of a project that uses the client
	program  string
	sessions string // folder, below the user's configuration, where the client keeps its sessions

	events  []event
	timeout int    // in the unit of the client; 0 where the file is a plugin
	trust   string // what the person does once; empty for nothing
}

const (
	seconds      = 60
	milliseconds = 60_000
)

// claude's events, which Codex and Qwen took over.
func like(matcher string) []event {
	return []event{{"UserPromptSubmit", ""}, {"PreToolUse", matcher}, {"Stop", ""}}
}

// stop is the event at the end of a turn; those after it are of sub-agents.
func (c Client) stop() string { return c.events[2].name }

// Clients returns the agents that are known, in the order in which they are listed.
func Clients() []Client {
	return []Client{
		{Name: "claude", Title: "Claude Code", files: map[Level]string{Project: ".claude/settings.json", User: "settings.json"},
			home: "CLAUDE_CONFIG_DIR", homeBase: ".claude", found: []string{".claude", "CLAUDE.md"}, program: "claude", sessions: "projects",
			events: like("Bash|Write|Edit|MultiEdit|NotebookEdit"), timeout: seconds, trust: "Claude Code asks whether you trust this folder"},
		{Name: "codex", Title: "Codex", files: map[Level]string{Project: ".codex/hooks.json", User: "hooks.json"},
			home: "CODEX_HOME", homeBase: ".codex", found: []string{".codex"}, program: "codex", sessions: "sessions",
			events: like("Bash"), timeout: seconds, trust: "open Codex here and trust the hooks once: /hooks"},
		{Name: "gemini", Title: "Gemini CLI", files: map[Level]string{Project: ".gemini/settings.json", User: "settings.json"},
			homeBase: ".gemini", found: []string{".gemini", "GEMINI.md"}, program: "gemini", sessions: "tmp",
			events: []event{{"BeforeAgent", ""}, {"BeforeTool", "run_shell_command|write_file|replace"}, {"AfterAgent", ""}}, timeout: milliseconds,
			trust: "Gemini runs them in folders that you trust: /permissions"},
		// Versions before 0.20 read milliseconds, later ones either.
		{Name: "qwen", Title: "Qwen Code", files: map[Level]string{Project: ".qwen/settings.json", User: "settings.json"},
			homeBase: ".qwen", found: []string{".qwen", "QWEN.md"}, program: "qwen", sessions: "projects",
			events: append(like("run_shell_command|monitor|write_file|edit|replace|notebook_edit|agent"), event{"SubagentStart", ""}, event{"SubagentStop", ""}), timeout: milliseconds},
		{Name: "opencode", Title: "opencode", files: map[Level]string{Project: ".opencode/plugin/dialect.js", User: "plugin/dialect.js"},
			homeBase: ".config/opencode", found: []string{".opencode", "opencode.json", "opencode.jsonc"}, program: "opencode"},
		{Name: "kilo", Title: "Kilo", files: map[Level]string{Project: ".kilo/plugin/dialect.js", User: "plugin/dialect.js"},
			homeBase: ".config/kilo", found: []string{".kilo", "kilo.json", "kilo.jsonc"}, program: "kilo"},
	}
}

// Find returns the client of a name.
func Find(name string) (Client, bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// base returns the folder of the user's configuration.
func (c Client) base() (string, error) {
	if dir := os.Getenv(c.home); c.home != "" && filepath.IsAbs(dir) {
		return dir, nil
	}
	if rest, ok := strings.CutPrefix(c.homeBase, ".config/"); ok {
		if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, rest), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, filepath.FromSlash(c.homeBase)), nil
}

// Path returns the file that is written, for the project at root.
func (c Client) Path(l Level, root string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(c.files[l]))
	if l == User {
		base, err := c.base()
		if err != nil {
			return "", err
		}
		path = filepath.Join(base, filepath.FromSlash(c.files[l]))
	}
	if filepath.Base(path) == "hooks.json" {
		if beside := tomlBeside(path); beside != "" {
			return beside, nil
		}
	}
	return path, nil
}

// isPlugin reports whether the file is one of our own, and not a configuration with our line.
func (c Client) isPlugin() bool { return c.timeout == 0 }

// Used reports whether the project at root, or the user, has the client.
func (c Client) Used(l Level, root string) bool {
	if l == Project {
		for _, name := range c.found {
			if place.Exists(filepath.Join(root, name)) {
				return true
			}
		}
	}
	if base, err := c.base(); err == nil && place.Exists(base) {
		return true
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, c.program)); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return true
		}
	}
	return false
}

// plainPath finds a path that a shell needs no quotes for.
var plainPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./+@:,=-]+$`) })

// quoted is a path as a word of a shell.
func quoted(path string) string {
	if plainPath().MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// Command is the line of an event. It is the same whatever the project, so that a client that hashes it asks once. The shell turns
// a missing program, and one that fails in any way, into an answer that allows: some clients read such an end as a refusal.
func (c Client) Command(program string, l Level, event string) string {
	line := fmt.Sprintf("%s hook %s %s", quoted(program), c.Name, event)
	if l == User {
		line += " --user"
	}
	if runtime.GOOS != "windows" {
		line += " 2>/dev/null || exit 0"
	}
	return line
}

// ours matches a line of [Client.Command], of any version, and nothing beside it: what else a line does is the user's.
var ours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^('(([^']|'\\'')*[/\\])?dialect[^/'" ]*'|"([^"]*[/\\])?dialect[^/"]*"|([^ '"]*[/\\])?dialect[^/'" ]*) hook [a-z]+ [A-Za-z_-]+( --user)?( 2>/dev/null \|\| exit 0)?$`)
})

// Trust is what the person does once so that the client runs the hook; empty for nothing.
func (c Client) Trust() string { return c.trust }
