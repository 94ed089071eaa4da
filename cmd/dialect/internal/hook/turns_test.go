package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/agents"
)

func ended(message string) string { return strings.Replace(stopEvent, "Done.", message, 1) }

// wants stops, and reports the rule where it is another one.
func wants(t *testing.T, event, want string) {
	t.Helper()
	if out, rule := ask(t, Options{}, strings.NewReader(event)); rule != want || held(out) != strings.HasPrefix(want, "refuse") || strings.HasPrefix(want, "tell") != strings.Contains(out, `"systemMessage"`) {
		t.Errorf("%q %q, want %q", out, rule, want)
	}
}

// TestAsked answers an agent that asked: what it changed before is not verified by that.
func TestAsked(t *testing.T) {
	newProject(t)
	prompted(t)
	wants(t, ended("What next?"), "allow unchanged")
	prompted(t)
	put(t, "new.txt", "x")
	wants(t, ended("Shall I go on?"), "tell question")
	put(t, "person.txt", "x")
	prompted(t)
	wants(t, stopEvent, "refuse not-checked")
	prompted(t) // before it went on
	wants(t, stopEvent, "tell held-on-this-tree")
	prompted(t) // who knows of it
	wants(t, stopEvent, "allow unchanged")
	for _, p := range recorded(t) {
		if p.Rule == "not-checked" && !strings.Contains(p.Text, "not written by this session, leave them as they are: person.txt") {
			t.Errorf("%q", p.Text)
		}
	}
}

// TestMeanwhile has a person write while the agent is at work: what it did before that counts.
func TestMeanwhile(t *testing.T) {
	newProject(t)
	prompted(t)
	put(t, "new.txt", "x")
	prompted(t)
	wants(t, stopEvent, "refuse not-checked")
	prompted(t)
	put(t, "more.txt", "x")
	prompted(t)
	if out, _ := ask(t, Options{}, strings.NewReader(stopEvent)); !held(out) || !strings.Contains(out, "more.txt") || strings.Contains(out, "not written by this session") {
		t.Errorf("%q", out)
	}
}

// TestQuotes begins anew where a person quotes us.
func TestQuotes(t *testing.T) {
	newProject(t)
	prompted(t)
	for _, text := range []string{"a", "ab"} {
		put(t, "new.txt", text)
		wants(t, stopEvent, "refuse not-checked")
	}
	ask(t, Options{}, strings.NewReader(`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"I saw: `+Held+` fix it"}`))
	put(t, "new.txt", "abc")
	wants(t, stopEvent, "refuse not-checked")
}

// TestServer leaves a task running for ever: it lets the agent stop until the next prompt.
func TestServer(t *testing.T) {
	newProject(t)
	waits := func(ids ...string) string {
		return strings.Replace(stopEvent, `"last`, `"background_tasks":[{"id":"`+strings.Join(ids, `"},{"id":"`)+`","status":"running"}],"last`, 1)
	}
	prompted(t)
	wants(t, waits("server"), "allow unchanged")
	put(t, "new.txt", "x")
	wants(t, waits("server"), "tell background")
	wants(t, waits("server"), "tell background")
	prompted(t)
	wants(t, waits("server", "build"), "tell background")
	wants(t, waits("server"), "refuse not-checked")
}

// TestNewRules has the rules change where HEAD follows, or is gone: the person learns it, once.
func TestNewRules(t *testing.T) {
	rules := "[hooks]\nignore = [\"*\"]\n" + matrix // where all files are ignored, an agent is let go as it is where they are verified
	weaker := func(t *testing.T) { put(t, "routing.toml", strings.Replace(rules, "sh check.sh", "true", 1)) }
	gone := func(t *testing.T) {
		if err := os.Remove("routing.toml"); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(t *testing.T) { gitIn(t, "commit", "-qam", "rules") }
	for name, change := range map[string][]func(*testing.T){
		"weaker, committed": {weaker, commit},
		"gone, committed":   {gone, commit},
		"gone, and git":     {gone, func(t *testing.T) { must(t, os.Rename(".git", "git")) }},
		"an unborn branch":  {func(t *testing.T) { gitIn(t, "checkout", "-q", "--orphan", "x") }, weaker},
	} {
		t.Run(name, func(t *testing.T) {
			newProject(t)
			put(t, "routing.toml", rules)
			commit(t)
			prompted(t)
			for _, f := range change {
				f(t)
			}
			wants(t, stopEvent, "tell rules-changed")
			ask(t, Options{}, strings.NewReader(`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"do it"}`))
			if out, rule := ask(t, Options{}, strings.NewReader(stopEvent)); out != "" || rule != "allow unchanged" && rule != "allow no-matrix" {
				t.Errorf("told again: %q %q", out, rule)
			}
		})
	}
}

// TestRulesOfNobody says nothing where the rules are gone that the user never trusted.
func TestRulesOfNobody(t *testing.T) {
	newProject(t)
	must(t, os.Remove("routing.toml"))
	if out, rule := ask(t, Options{User: true}, strings.NewReader(stopEvent)); out != "" || rule != "allow not-trusted" {
		t.Errorf("%q %q", out, rule)
	}
}

// TestWorksIn decides about the repository that the client's shell went to before, and notes what is written where the project is.
func TestWorksIn(t *testing.T) {
	project, elsewhere := newProject(t), t.TempDir()
	push := `{"session_id":"s","hook_event_name":"PreToolUse","cwd":"DIR","tool_name":"Bash","tool_input":{"command":"git push"}}`
	for _, c := range []struct {
		root, dir string
		refused   bool
	}{{project, elsewhere, false}, {elsewhere, project, true}, {project, "relative", true}, {project, filepath.Join(elsewhere, "gone"), true}} {
		t.Chdir(elsewhere)
		t.Setenv("CLAUDE_PROJECT_DIR", c.root)
		if out, _ := ask(t, Options{}, strings.NewReader(strings.Replace(push, "DIR", c.dir, 1))); strings.Contains(out, `"deny"`) != c.refused {
			t.Errorf("%+v: %q", c, out)
		}
	}
}

// TestLongEvent writes more than is read: a stop is judged by what comes first, and a command line that nobody saw counts as a push.
func TestLongEvent(t *testing.T) {
	dir := newProject(t)
	long := strings.Repeat("x", maxStdin)
	tool := func(name string) string {
		return `{"session_id":"s","hook_event_name":"PreToolUse","cwd":"` + dir + `","tool_name":"` + name + `","tool_input":{"description":"` + long + `","command":"git push"}}`
	}
	prompted(t)
	put(t, "new.txt", "x")
	wants(t, ended(long), "refuse not-checked")
	if out, rule := ask(t, Options{}, strings.NewReader(tool("Bash"))); !strings.Contains(out, "more than 1048576 bytes") || rule != "refuse push-unknown" {
		t.Errorf("%q %q", out, rule)
	}
	if out, rule := ask(t, Options{}, strings.NewReader(tool("Write"))); out != "" || rule != "" {
		t.Errorf("%q %q", out, rule)
	}
	if out, rule := ask(t, Options{Agent: agents.Find("claude")}, strings.NewReader(`{"x":"`+long)); strings.Contains(out, "block") || rule != "tell bad-event" {
		t.Errorf("%q %q", out, rule)
	}
	t.Chdir(t.TempDir()) // without rules
	if out, _ := ask(t, Options{}, strings.NewReader(strings.Replace(tool("Bash"), dir, ".", 1))); out != "" {
		t.Errorf("%q", out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
