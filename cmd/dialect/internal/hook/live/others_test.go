//go:build unix

package live

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// background ends a command line that goes on when its tool has answered.
const background = " >/dev/null 2>&1 &"

// TestBackground leaves a command of the shell running, of which no client says anything at the stop: the agent is held like any other, once, and
// let go. (Qwen Code says which sub-agents are at work: package agents has that.)
func TestBackground(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("touch broken"), do("sleep 20"+background), say("It runs; I wait for it."))
		p.prompt(t)
		want(t, p, "stop not-checked", "stop held-on-this-tree")
	})
}

// TestTogether has two sessions and a person on one tree, at the same time: each session is held for itself, once on the same files, and the one
// that runs the checks is let go.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		var p *project
		others := func() {
			p.session(t, secondPrompt)
			p.put(t, "project/person.txt", "x")
		}
		p = start(t, c, dialect, do("echo x > mine.txt"), step{say: "Done.", first: others}, do("dialect run quality.dlct"), say("Done."))
		p.model.second = &model{steps: []step{do("echo x > theirs.txt"), say("Done.")}}
		p.prompt(t)
		want(t, p, "stop not-checked", "stop held-on-this-tree", "stop not-checked", "stop verified")
		for _, name := range []string{"mine.txt", "person.txt", "theirs.txt"} {
			if p.told(name) < 0 {
				t.Errorf("the reason does not name %s", name)
			}
		}
	})
}

// TestWorktree works in a linked worktree, as a sub-agent may: what was checked in the main one does not count there, which the agent learns, and
// what it checks itself does.
func TestWorktree(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("echo x > new.txt"), say("Done."), do("dialect run quality.dlct"), say("Done."))
		p.must(t, "git", "worktree", "add", "-q", "../linked")
		main := p.dir
		p.dir = filepath.Join(p.root, "linked")
		c.setup(t, p, p.model.server.URL) // what the user trusts
		p.prompt(t)
		want(t, p, "stop not-checked", "stop verified")
		if p.told("what was checked in another one does not count here") < 0 {
			t.Error("the agent does not learn that the store is of another worktree")
		}
		p.dir = main
		if got := p.rules(t); len(got) > 0 {
			t.Errorf("in the main worktree: %q", got)
		}
	})
}

// TestSubAgent has a sub-agent work in a worktree that the call that starts it names: it is held there until the checks pass, and who started it,
// and changed nothing, is let go. Of the clients that are run here Qwen Code alone has such a call.
func TestSubAgent(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		if c.name != "qwen" {
			p := start(t, c, dialect, say("Done."))
			p.prompt(t)
			var request any
			if err := json.Unmarshal([]byte(p.model.asked()[0]), &request); err != nil {
				t.Fatal(err)
			}
			spawns := 0
			tools(request, func(name string, takes map[string]any) {
				if !strings.Contains(name, "agent") && !strings.Contains(name, "task") {
					return
				}
				spawns++
				for key := range takes {
					if strings.Contains(key, "dir") || strings.Contains(key, "path") || strings.Contains(key, "cwd") || strings.Contains(key, "tree") || key == "isolation" {
						t.Errorf("%s takes %s: it could be held in a worktree of its own", name, key)
					}
				}
			})
			if spawns == 0 {
				t.Error("it offers no tool for sub-agents")
			}
			return
		}
		spawn := step{tool: "agent", args: map[string]any{"description": "a task", "prompt": "do the task", "subagent_type": "general-purpose", "working_dir": "../linked", "run_in_background": false}}
		p := start(t, c, dialect, spawn,
			do("touch broken"), say("Done with the task."), do("rm broken; echo x > fixed.txt; dialect run quality.dlct"), say("It passes."), // the sub-agent
			say("All done."))
		p.must(t, "git", "worktree", "add", "-q", "../linked")
		p.prompt(t)
		want(t, p, "stop unchanged")
		p.dir = filepath.Join(p.root, "linked")
		want(t, p, "substop not-checked", "substop verified")
	})
}

// tools calls f for each tool that a request offers, with its parameters.
func tools(v any, f func(name string, parameters map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			tools(e, f)
		}
	case map[string]any:
		for _, key := range []string{"parameters", "parametersJsonSchema"} {
			if schema, ok := v[key].(map[string]any); ok {
				name, _ := v["name"].(string)
				properties, _ := schema["properties"].(map[string]any)
				f(name, properties)
			}
		}
		for _, e := range v {
			tools(e, f)
		}
	}
}

// TestSubAgentHere has a sub-agent break a test in the tree of who started it: the sub-agent is let go, and who started it is held.
func TestSubAgentHere(t *testing.T) {
	task := map[string]any{"description": "a task", "prompt": secondPrompt, "subagent_type": "general"}
	over := say("Done with the task.")
	ways := map[string]struct{ spawn, end step }{
		"codex":    {step{tool: "multi_agent_v1.spawn_agent", args: map[string]any{"message": secondPrompt}}, over},
		"gemini":   {step{tool: "invoke_agent", args: map[string]any{"agent_name": "generalist", "prompt": secondPrompt}}, step{tool: "complete_task", args: map[string]any{"result": map[string]any{"response": over.say}}}},
		"qwen":     {step{tool: "agent", args: map[string]any{"description": "a task", "prompt": secondPrompt, "subagent_type": "general-purpose", "run_in_background": false}}, over},
		"opencode": {step{tool: "task", args: task}, over},
		"kilo":     {step{tool: "task", args: task}, over},
	}
	each(t, func(t *testing.T, c client, dialect string) {
		way := ways[c.name]
		// Codex does not wait for its sub-agent.
		p := start(t, c, dialect, way.spawn, do("until test -e broken; do sleep 0.1; done"), say("All done."), do("rm broken; echo x > fixed.txt; dialect run quality.dlct"), say("It passes."))
		p.model.second = &model{steps: []step{do("touch broken"), way.end}}
		p.prompt(t)
		rules := slices.DeleteFunc(p.rules(t), func(r string) bool { return r == "substop sub-agent" }) // where a client has that event
		if want := []string{"stop not-checked", "stop verified"}; !slices.Equal(rules, want) {
			t.Errorf("the hook decided %q, want %q", rules, want)
		}
	})
}

// TestDeleted deletes the test that would fail: what is left passes, so the agent is let go, and the verdict says how many tests are fewer.
func TestDeleted(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := start(t, c, dialect, do("sed -i '/ok 2/d; s/1[.][.]2/1..1/' check.sh; touch broken; dialect run quality.dlct"), say("All pass."))
		p.put(t, "project/check.sh", "echo TAP version 13\necho ok 1 - a\nif [ -f broken ]; then echo not ok 2 - b; exit 1; fi; echo ok 2 - b\necho 1..2\n")
		p.must(t, "git", "commit", "-qam", "two")
		p.must(t, dialect, "run", "quality.dlct")
		p.prompt(t)
		want(t, p, "stop verified")
		if p.told("1 fewer test than") < 0 {
			t.Error("the run does not say that a test is gone")
		}
		if out := p.must(t, dialect, "verify"); !strings.Contains(out, "1 test, 1 fewer than") {
			t.Errorf("the verdict does not say that a test is gone:\n%s", out)
		}
	})
}

// TestInTOML holds Codex where its hooks stand in config.toml: one of a person's and ours.
func TestInTOML(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		if c.name != "codex" {
			t.Skip("its configuration is not TOML")
		}
		p := start(t, c, dialect, do("touch broken"), say("Done."), do("rm broken"), say("Done."))
		p.must(t, dialect, "hook", "uninstall")
		p.put(t, "project/.codex/config.toml", "# mine\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"touch ../theirs\"\n")
		p.must(t, dialect, "hook", "install", "--agent", c.name)
		if text, err := os.ReadFile(filepath.Join(p.dir, ".codex/config.toml")); err != nil || !strings.Contains(string(text), "hook codex Stop") {
			t.Fatalf("%v: %s", err, text)
		}
		p.must(t, "git", "add", "-A")
		p.must(t, "git", "commit", "-qm", "two")
		p.prompt(t)
		want(t, p, "stop not-checked", "stop unchanged")
		if _, err := os.Stat(filepath.Join(p.root, "theirs")); err != nil {
			t.Errorf("the person's hook did not run: %v", err)
		}
	})
}

// TestChurn looks at what a client itself writes into the project. Qwen Code before 0.20 rewrites its settings when it starts.
func TestChurn(t *testing.T) {
	qwen := clients[slices.IndexFunc(clients, func(c client) bool { return c.name == "qwen" })]
	old := qwen
	old.program = strings.Replace(qwen.program, "qwen/", "qwen-0.15/", 1)
	folder := os.Getenv("DIALECT_AGENTS")
	if folder == "" {
		t.Skip("DIALECT_AGENTS names no folder with clients")
	}
	dialect := build(t)
	for name, c := range map[string]client{"qwen": qwen, "qwen-0.15": old} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(folder, c.program)); err != nil {
				t.Skipf("NOT RUN: %v", err)
			}
			p := start(t, c, dialect, do("ls"), say("Done."))
			p.prompt(t)
			t.Logf("changed: %q", p.must(t, "git", "status", "--porcelain"))
			want(t, p, "stop unchanged")
		})
	}
}
