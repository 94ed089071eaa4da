package run

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/runtime/process"
)

// One command passes its output and its exit status through, and leaves a receipt; it prints the hash and writes it to a file.
func TestCommand(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      func(c *Command)
		args     []string
		status   int
		out, err string // what is printed, in part
		receipt  bool
	}{
		{"passes", func(*Command) {}, []string{"echo", "hello"}, 0, "hello\n", "dialect: receipt ", true},
		{"fails", func(*Command) {}, []string{"sh", "-c", "echo no >&2; exit 7"}, 7, "", "no\n", true},
		{"quiet", func(c *Command) { c.Quiet = true }, []string{"echo", "hello"}, 0, "hello\n", "", true},
		{"nothing", func(*Command) {}, nil, process.StatusNotBegun, "", "", false},
		{"negative", func(c *Command) { c.Timeout = -1 }, []string{"true"}, process.StatusNotBegun, "", "", false},
		{"missing", func(*Command) {}, []string{"no-such-command-here"}, process.StatusNotFound, "", "env_missing", true},
		{"too long", func(c *Command) { c.Timeout = 50 * time.Millisecond }, []string{"sleep", "600"}, process.StatusTimedOut, "", "timeout", true},
		{"a binding that passes", func(c *Command) { c.As = "test_yes" }, []string{"true"}, 0, "", "dialect: receipt ", true},
		{"a binding that fails", func(c *Command) { c.As = "test_no" }, []string{"false"}, exit.Failed, "", "dialect: error: ", true},
		{"another command than the binding's", func(c *Command) { c.As = "test_yes" }, []string{"false"}, process.StatusNotBegun, "", "", false},
		{"no store", func(c *Command) { c.Store = "none" }, []string{"echo", "hello"}, 0, "hello\n", "DEGRADED", false},
		{"no store, and a binding", func(c *Command) { c.Store, c.As = "none", "test_yes" }, []string{"true"}, 0, "", "DEGRADED", false},
		{"no store, and a receipt is required", func(c *Command) { c.Store, c.As = "none", "test_kept" }, []string{"true"}, process.StatusNotBegun, "", "dialect: error: DEGRADED", false},
		{"no receipt can be kept", func(c *Command) { c.Store = "routing.toml/x.db" }, []string{"echo", "hello"}, process.StatusNotBegun, "hello\n", "dialect: error: DEGRADED: no receipt was kept: ", false},
		{"no receipt can be kept, and a binding", func(c *Command) { c.Store, c.As = "routing.toml/x.db", "test_yes" }, []string{"true"}, process.StatusNotBegun, "", "dialect: error: DEGRADED", false},
		{"no receipt can be kept of what fails", func(c *Command) { c.Store = "routing.toml/x.db" }, []string{"sh", "-c", "exit 7"}, 7, "", "dialect: warning: DEGRADED", false},
		{"a rule is its file", func(c *Command) { c.File = "routing.toml" }, []string{"true"}, process.StatusNotBegun, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inProject(t, files{"receipt": strings.Repeat("0", 64) + "\n"})
			s, cmd := new(said), &Command{File: "receipt"}
			c.set(cmd)
			err := cmd.Run(s.voice(t), c.args)
			if status(err) != c.status || s.out.String() != c.out || !strings.Contains(s.err.String(), c.err) {
				t.Errorf("%v, want %d\n%s%s", err, c.status, s.out.String(), s.err.String())
			}
			text, _ := os.ReadFile("receipt")
			sha := strings.TrimSpace(string(text))
			old := sha == strings.Repeat("0", 64) // it says nothing of a command that did not begin
			if begun := s.err.Len() > 0; (len(sha) == 64 && !old) != c.receipt || old && begun {
				t.Errorf("the receipt %q, want one: %t", text, c.receipt)
			}
			if told := strings.Contains(s.err.String(), "dialect: receipt "+sha); c.receipt && told == cmd.Quiet {
				t.Errorf("the receipt was told: %t\n%s", told, s.err.String())
			}
			if text, _ := os.ReadFile("routing.toml"); string(text) != matrix {
				t.Errorf("the matrix was overwritten: %q", text)
			}
		})
	}
}

// A session or nonce that no receipt can hold is refused before the command runs.
func TestNames(t *testing.T) {
	for _, set := range []func(c *Command){func(c *Command) { c.Session = "\xff" }, func(c *Command) { c.Nonce = strings.Repeat("n", 1<<16) }, func(c *Command) { c.KeyFD = "77" }} {
		inProject(t, nil)
		c := new(Command)
		set(c)
		if err := c.Run(new(said).voice(t), []string{"touch", "mark"}); status(err) != exit.Usage || exists("mark") {
			t.Errorf("%+v: %v; it ran: %t", c.Recorded, err, exists("mark"))
		}
	}
}
