//go:build unix

// Package live runs real coding agents, without a network, against a scripted model, with dialect's hook installed as a user installs
// it. It holds nothing but tests.
//
// `make test-agents` installs the clients below bin/agents and names that folder in DIALECT_AGENTS; without it the tests are skipped.
package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A client is a real coding agent.
type client struct {
	name    string
	program string // below DIALECT_AGENTS
	node    bool   // the program is a script of node
	tool    string // its shell tool
	args    func(command string) any
	folder  string // the argument of the tool that names the folder to start in
	setup   func(t *testing.T, p *project, url string)
	command func(prompt string) []string
	env     func(url string) []string
}

func commandArgument(name string) func(string) any {
	return func(c string) any { return map[string]any{name: c, "description": "a command"} }
}

var clients = []client{
	{
		name: "codex", program: "codex/node_modules/.bin/codex", node: true, tool: "exec_command", folder: "workdir",
		args: func(c string) any { return map[string]any{"cmd": c} },
		setup: func(t *testing.T, p *project, url string) {
			p.put(t, "home/.codex/config.toml", `model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "`+url+`/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[projects."`+p.dir+`"]
trust_level = "trusted"
`)
		},
		command: func(prompt string) []string {
			return []string{"exec", "--dangerously-bypass-hook-trust", "--json", prompt}
		},
		env: func(string) []string { return []string{"SCRIPTED_KEY=dummy"} },
	},
	{
		name: "gemini", program: "gemini/node_modules/.bin/gemini", node: true, tool: "run_shell_command", args: commandArgument("command"), folder: "dir_path",
		setup: func(t *testing.T, p *project, _ string) {
			p.put(t, "home/.gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"enableAutoUpdate":false,"disableAutoUpdate":true},`+
				`"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"model":{"name":"gemini-2.5-flash"}}`)
		},
		command: func(prompt string) []string { return []string{"-y", "-p", prompt} },
		env: func(url string) []string {
			return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
	},
	{
		name: "qwen", program: "qwen/node_modules/.bin/qwen", node: true, tool: "run_shell_command", folder: "directory",
		args: func(c string) any {
			c, found := strings.CutSuffix(c, background) // it takes no & of the shell's
			return map[string]any{"command": c, "description": "a command", "is_background": found}
		},
		setup: func(t *testing.T, p *project, _ string) {
			p.put(t, "home/.qwen/settings.json", `{"security":{"auth":{"selectedType":"openai"}},"general":{"enableAutoUpdate":false,"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`)
		},
		command: func(prompt string) []string { return []string{"-y", "-p", prompt} },
		env: func(url string) []string {
			return []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=scripted"}
		},
	},
	{
		name: "opencode", program: "opencode/node_modules/opencode-linux-x64/bin/opencode", tool: "bash", args: commandArgument("command"), folder: "workdir",
		setup:   func(t *testing.T, p *project, url string) { plugged(t, p, url, "opencode.json") },
		command: func(prompt string) []string { return []string{"run", "--format", "json", prompt} },
		env: func(string) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
		},
	},
	{
		name: "kilo", program: "kilo/node_modules/@kilocode/cli-linux-x64/bin/kilo", tool: "bash", args: commandArgument("command"), folder: "workdir",
		setup:   func(t *testing.T, p *project, url string) { plugged(t, p, url, "kilo.json") },
		command: func(prompt string) []string { return []string{"run", "--auto", "--format", "json", prompt} },
		env: func(string) []string {
			return []string{"KILO_DISABLE_AUTOUPDATE=1", "KILO_DISABLE_MODELS_FETCH=1", "KILO_DISABLE_DEFAULT_PLUGINS=1", "KILO_DISABLE_LSP_DOWNLOAD=1",
				"KILO_TELEMETRY_LEVEL=off", "KILO_DISABLE_SESSION_INGEST=1", "KILO_DISABLE_PRESENCE=1", "KILO_DISABLE_CODEBASE_INDEXING=1"}
		},
	},
}

// plugged configures opencode or Kilo, whose start waits for a registry that answers.
func plugged(t *testing.T, p *project, url, name string) {
	p.put(t, "project/"+name, `{"model":"scripted/scripted","small_model":"scripted/scripted","permission":{"bash":"allow","edit":"allow"},"autoupdate":false,"share":"disabled",`+
		`"provider":{"scripted":{"npm":"@ai-sdk/openai-compatible","name":"scripted","options":{"baseURL":"`+url+`/v1","apiKey":"dummy"},"models":{"scripted":{"name":"scripted","tool_call":true,"limit":{"context":100000,"output":4096}}}}}}`)
	p.put(t, "home/.npmrc", "registry="+url+"/\nfetch-retries=0\n")
}

// A project is a repository whose test fails while a file called broken is there.
type project struct {
	root, dir string // dir is the repository, in root
	dialect   string
	path      string // a folder of PATH before the others; empty for none
	client    client
	model     *model
	printed   string // by the client, in its last session, after a line feed
}

const matrix = `[commands.test_it]
verb = "test"
noun = "it"
tool = "sh check.sh"
effect = "read"
receipt_required = true

[hooks]
ignore = ["*.md"]
`

const check = `status=0
for f in broken worse; do
	if [ -f $f ]; then echo "--- FAIL: Test_$f (0.00s)"; status=1; fi
done
exit $status
`

func (p *project) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// environ is all that a client and dialect get of the environment.
func (p *project) environ() []string {
	path := filepath.Dir(p.dialect) + ":/usr/local/bin:/usr/bin:/bin"
	if node, err := exec.LookPath("node"); err == nil {
		path = filepath.Dir(p.dialect) + ":" + filepath.Dir(node) + ":/usr/local/bin:/usr/bin:/bin"
	}
	if p.path != "" {
		path = p.path + ":" + path
	}
	return []string{"HOME=" + filepath.Join(p.root, "home"), "PATH=" + path, "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1", "npm_config_offline=true"}
}

// run runs a program in the repository, and returns what it wrote to both streams.
func (p *project) run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = p.dir, p.environ()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *project) must(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := p.run(t, program, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return out
}

// start makes a project where the client is configured, the hook is installed and the tests passed once.
func start(t *testing.T, c client, dialect string, steps ...step) *project {
	t.Helper()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{root: real, dir: filepath.Join(real, "project"), dialect: dialect, client: c, model: newModel(t, c.tool, c.args, steps)}
	p.put(t, "project/routing.toml", matrix)
	p.put(t, "project/quality.dlct", "Test with it\n")
	p.put(t, "project/check.sh", check)
	p.put(t, "project/.gitignore", "/.opencode/node_modules/\n/.kilo/node_modules/\n/.opencode/package*\n/.opencode/bun.lock\n/.kilo/package*\n")
	p.put(t, "home/.bash_profile", "export "+p.environ()[1]+"\n") // the tools of some clients are of a login shell
	c.setup(t, p, p.model.server.URL)
	p.must(t, "git", "init", "-q", "-b", "main")
	p.must(t, "git", "config", "user.name", "a")
	p.must(t, "git", "config", "user.email", "a@b")
	p.must(t, "git", "init", "-q", "--bare", "../remote.git")
	p.must(t, "git", "remote", "add", "origin", "../remote.git")
	p.must(t, dialect, "hook", "install", "--agent", c.name)
	p.must(t, "git", "add", "-A")
	p.must(t, "git", "commit", "-qm", "one")
	p.must(t, dialect, "run", "quality.dlct")
	return p
}

// patience bounds a client that does not end.
const patience = 6 * time.Minute

// The prompts of a test. The model tells sessions apart by them.
const (
	firstPrompt  = "make the change"
	secondPrompt = "make the other change"
)

// prompt runs the client with a prompt, to its end.
func (p *project) prompt(t *testing.T) {
	t.Helper()
	p.session(t, firstPrompt)
}

// session runs the client with the prompt of a session.
func (p *project) session(t *testing.T, prompt string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	program := filepath.Join(os.Getenv("DIALECT_AGENTS"), p.client.program)
	cmd := exec.CommandContext(ctx, program, p.client.command(prompt)...)
	cmd.Dir = p.dir
	cmd.Env = append(p.environ(), p.client.env(p.model.server.URL)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err := cmd.Run()
	p.printed = "\n" + out.String()
	t.Logf("%s ended after %.1f s: %v", p.client.name, time.Since(begin).Seconds(), err)
	if ctx.Err() != nil {
		t.Fatalf("the client did not end\n%s", tail(out.String()))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if t.Failed() || os.Getenv("DIALECT_AGENTS_OUTPUT") != "" || err != nil {
		t.Logf("%s", tail(out.String()))
	}
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

// An entry is a line of `dialect hook log --json`.
type entry struct {
	Agent, Event, Action, Rule, Text string
}

// rules returns what the hook decided: "EVENT RULE", in order, without prompts.
func (p *project) rules(t *testing.T) (list []string) {
	t.Helper()
	var doc struct{ Entries []entry }
	if err := json.Unmarshal([]byte(p.must(t, p.dialect, "hook", "log", "--all", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range doc.Entries {
		if e.Event != "prompt" {
			list = append(list, e.Event+" "+e.Rule)
		}
	}
	return list
}

const held = "dialect held this stop (not a hook error):"

// told returns the number of the first request that has a text, as JSON has it; -1 for none.
func (p *project) told(text string) int {
	quoted, _ := json.Marshal(text)
	for i, r := range p.model.asked() {
		if strings.Contains(r, strings.Trim(string(quoted), `"`)) {
			return i
		}
	}
	return -1
}

func want(t *testing.T, p *project, rules ...string) {
	t.Helper()
	if got := p.rules(t); strings.Join(got, "; ") != strings.Join(rules, "; ") {
		t.Errorf("the hook decided %q, want %q", got, rules)
	}
}

// each runs a test with each client that is there.
func each(t *testing.T, f func(t *testing.T, c client, dialect string)) {
	folder := os.Getenv("DIALECT_AGENTS")
	if folder == "" {
		t.Skip("DIALECT_AGENTS names no folder with clients: `make test-agents` runs this with real ones")
	}
	dialect := build(t)
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(folder, c.program)); err != nil {
				t.Skipf("NOT RUN: %s is not installed: %v", c.name, err)
			}
			f(t, c, dialect)
		})
	}
}

// built is the program that is tested, made once, in a folder that TestMain removes.
var (
	folder string
	built  = sync.OnceValues(func() (string, error) {
		var err error
		if folder, err = os.MkdirTemp("", "dialect-live-*"); err != nil {
			return "", err
		}
		path := filepath.Join(folder, "bin", "dialect")
		cmd := exec.Command("go", "build", "-o", path, "github.com/command-dialect/dialect/cmd/dialect")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
		return path, nil
	})
)

func TestMain(m *testing.M) {
	status := m.Run()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(status)
}

func build(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHeld breaks a test and says that all is done; the agent is held until it is so.
func TestHeld(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect,
			do("touch broken"), say("All done."),
			do("dialect run quality.dlct"), do("rm broken; echo x > fixed.txt"), do("dialect run quality.dlct"), say("Mended, and it passes."))
		p.prompt(t)
		want(t, p, "stop not-checked", "stop verified")
		if at := p.told(held + " not checked since the last edit."); at != 2 {
			t.Errorf("request %d has the reason, want 2", at)
		}
		if n := len(p.model.asked()); n != 6 {
			t.Errorf("%d requests, want 6", n)
		}
	})
}

// TestReport breaks a test and runs it: the reason has the report.
func TestReport(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("touch broken; dialect run quality.dlct"), say("All done."), do("rm broken"), say("Mended."))
		p.prompt(t)
		want(t, p, "stop failed", "stop unchanged")
		if p.told("Test_broken: failed") < 0 || p.told("fix what fails, then run: dialect run quality.dlct") < 0 {
			t.Error("the agent did not get the report")
		}
	})
}

// TestNever changes files and never fixes: it is let go after two refusals.
func TestNever(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("echo 1 > broken"), say("Done."), do("echo 2 > broken"), say("Done."), do("echo 3 > broken"), say("Done."))
		p.prompt(t)
		want(t, p, "stop not-checked", "stop not-checked", "stop held-enough")
		if n := len(p.model.asked()); n != 6 {
			t.Errorf("%d requests, want 6", n)
		}
	})
}

// TestIdle is held and does nothing: it is held once.
func TestIdle(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("touch broken"), say("Done."))
		p.prompt(t)
		want(t, p, "stop not-checked", "stop held-on-this-tree")
	})
}

// TestLetGo has what holds nobody.
func TestLetGo(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		for name, row := range map[string]struct {
			steps []step
			rule  string
		}{
			"a question":    {[]step{do("touch broken"), say("Shall I mend it?")}, "stop question"},
			"documents":     {[]step{do("echo x > README.md"), say("Done.")}, "stop ignored-files"},
			"nothing":       {[]step{do("ls"), say("Done.")}, "stop unchanged"},
			"verified":      {[]step{do("echo x > new.txt"), do("dialect run quality.dlct"), say("Done.")}, "stop verified"},
			"changed rules": {[]step{do("sed -i 's/sh check.sh/echo fine/' routing.toml; touch broken"), do("dialect run quality.dlct"), say("Done.")}, "stop rules-changed"},
		} {
			t.Run(name, func(t *testing.T) {
				p := start(t, c, dialect, row.steps...)
				p.prompt(t)
				want(t, p, row.rule)
				if at := p.told(held); at >= 0 {
					t.Errorf("it was held in request %d", at)
				}
				if tells := name == "changed rules" || name == "a question"; (c.name == "kilo" || c.name == "opencode") && tells != strings.Contains(p.printed, "\ndialect: dialect let this pass: ") {
					t.Errorf("what the client prints of the hook: %v", !tells)
				}
			})
		}
	})
}

// TestRedBefore lets an agent go that leaves the failure that it found.
func TestRedBefore(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("echo x > new.txt"), do("dialect run quality.dlct"), say("Done."))
		p.put(t, "project/broken", "")
		p.must(t, "git", "add", "-A")
		p.must(t, "git", "commit", "-qm", "red")
		if out, err := p.run(t, dialect, "run", "quality.dlct"); err == nil {
			t.Fatal(out)
		}
		p.prompt(t)
		want(t, p, "stop old-failure")
	})
}

// TestPush refuses a push on red, and what goes around git's hooks.
func TestPush(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect,
			do("touch broken; git add -A"), do("git commit --no-verify -qm two"), do("dialect run quality.dlct"), do("git commit -qm two"),
			do("git push -q origin HEAD:refs/heads/green"), // of what is verified
			do("g=git; $g commit -qm two"),
			do(`awk 'BEGIN { system("git commit -qm two") }'`), // what the hook does not see
			do("git -C . push -q origin main"), say("Shall I go on?"))
		p.prompt(t)
		want(t, p, "tool bypass", "tool commit-failed", "tool commit-failed", "tool push-unverified", "stop question")
		if out := p.must(t, "git", "log", "--oneline"); strings.Count(out, "\n") != 2 {
			t.Errorf("the hidden commit was not made, or one that was refused was:\n%s", out)
		}
		if out := p.must(t, "git", "ls-remote", "origin"); !strings.HasSuffix(out, "\trefs/heads/green\n") || strings.Count(out, "\n") != 1 {
			t.Errorf("pushed:\n%s", out)
		}
	})
}

// TestPushFrom refuses a push of another repository, whose folder is an argument of the client's tool.
func TestPushFrom(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect)
		for _, name := range []string{"routing.toml", "quality.dlct", "check.sh"} {
			text, err := os.ReadFile(filepath.Join(p.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			p.put(t, "project/nested/"+name, string(text))
		}
		p.must(t, "sh", "-ec", "echo /nested/ >>.gitignore; git commit -qam two; cd nested; git init -q -b main; git add -A; git -c user.name=a -c user.email=a@b commit -qm one; git remote add origin ../../remote.git")
		p.must(t, dialect, "run", "quality.dlct") // what the client works in is verified
		args := c.args("git push -q origin main").(map[string]any)
		args[c.folder] = filepath.Join(p.dir, "nested")
		p.model.steps = []step{{tool: c.tool, args: args}, say("Shall I go on?")}
		p.prompt(t)
		if out := p.must(t, "git", "ls-remote", "origin"); out != "" || p.told("dialect refused this push: MISSING: HEAD is not verified") < 0 {
			t.Errorf("pushed %q, told %d", out, p.told("dialect refused"))
		}
	})
}

// TestAccidents has hooks that end in ways that clients could read as a refusal: the agent is let go, and the client ends.
func TestAccidents(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		for name, script := range map[string]string{
			"panic":  "#!/bin/sh\necho 'panic: a fault' >&2\nexit 2\n",
			"killed": "#!/bin/sh\nkill -9 $$\n",
			"gone":   "",
			"noise":  "#!/bin/sh\ncat >/dev/null\necho 'no JSON'\n",
		} {
			t.Run(name, func(t *testing.T) {
				copied := filepath.Join(t.TempDir(), "dialect")
				text, err := os.ReadFile(dialect)
				if err == nil {
					err = os.WriteFile(copied, text, 0o700)
				}
				if err != nil {
					t.Fatal(err)
				}
				p := start(t, c, copied, do("echo x > new.txt"), say("Done."))
				if err := os.Remove(copied); err != nil {
					t.Fatal(err)
				}
				if script != "" {
					if err := os.WriteFile(copied, []byte(script), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				p.prompt(t)
				if n := len(p.model.asked()); n != 2 {
					t.Errorf("%d requests, want 2", n)
				}
				if _, err := os.Stat(filepath.Join(p.dir, "new.txt")); err != nil {
					t.Error("the tool was blocked")
				}
			})
		}
		t.Run("broken store", func(t *testing.T) {
			p := start(t, c, dialect, do("echo x > new.txt; for f in .dialect/store/receipts.db*; do echo garbage > $f; done"), say("Done."))
			p.prompt(t)
			want(t, p, "stop broken-store")
		})
	})
}

// TestUninstalled leaves nothing of the hook.
func TestUninstalled(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("touch broken"), say("Done."))
		p.must(t, dialect, "hook", "uninstall")
		if out := p.must(t, "git", "grep", "-c", "dialect hook", "HEAD"); out == "" {
			t.Fatal("it was not installed")
		}
		if out, err := p.run(t, "grep", "-rl", "dialect hook", ".", "--exclude-dir=.git"); err == nil {
			t.Errorf("left: %s", out)
		}
		p.prompt(t)
		if p.told(held) >= 0 || len(p.rules(t)) != 0 {
			t.Errorf("it is held without a hook: %q", p.rules(t))
		}
	})
}
