package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestPayloads reads what the real clients wrote to their hooks. The names are CLIENT-EVENT-NN.json.
func TestPayloads(t *testing.T) {
	const dir = "/home/dev/project"
	codex, gemini, qwen := "01a1ff8a-5255-7223-9528-700ae459d8c7", "b96a7d6b-a766-4624-a05a-ad2e0c169d4b", "bd17c316-abac-4658-9ed0-2e8840d46301"
	refused := "DIALECT-REASON: tree not verified; run dialect run"
	sub := "general-purpose-call_0_1795360740810302372" // and the id of the call that started it
	done, more := "FAKE: done, all finished.", "FAKE: ok I ran the checks now."
	want := map[string]Event{
		"codex-SessionStart-00":     {Kind: Start, Session: codex, Dir: dir},
		"codex-UserPromptSubmit-00": {Kind: Prompt, Session: codex, Dir: dir, Prompt: "create a.txt"},
		"codex-PreToolUse-00":       {Kind: BeforeTool, Session: codex, Dir: dir, Command: "echo hello > a.txt"},
		"codex-PostToolUse-00":      {Session: codex, Dir: dir},
		"codex-Stop-00":             {Kind: Stop, Session: codex, Dir: dir, Message: done},
		"codex-Stop-01":             {Kind: Stop, Session: codex, Dir: dir, Message: more},
		"codex-SessionEnd-00":       {Session: codex, Dir: dir},

		"gemini-SessionStart-00": {Kind: Start, Session: gemini, Dir: dir},
		"gemini-BeforeAgent-00":  {Kind: Prompt, Session: gemini, Dir: dir, Prompt: "create a.txt"},
		"gemini-BeforeAgent-01":  {Kind: Prompt, Session: gemini, Dir: dir, Prompt: refused},
		"gemini-BeforeTool-00":   {Kind: BeforeTool, Session: gemini, Dir: dir, File: "a.txt"},
		"gemini-AfterTool-00":    {Session: gemini, Dir: dir},
		"gemini-AfterAgent-00":   {Kind: Stop, Session: gemini, Dir: dir, Prompt: "create a.txt", Message: done},
		"gemini-AfterAgent-01":   {Kind: Stop, Session: gemini, Dir: dir, Prompt: "create a.txt", Message: done + "\n" + more},
		"gemini-PreCompress-00":  {Session: gemini, Dir: dir},
		"gemini-SessionEnd-00":   {Session: gemini, Dir: dir},

		"qwen-UserPromptSubmit-00": {Kind: Prompt, Session: qwen, Dir: dir, Prompt: "create a.txt"},
		"qwen-UserPromptSubmit-01": {Kind: Prompt, Session: qwen, Dir: dir},
		"qwen-UserPromptSubmit-02": {Kind: Prompt, Session: qwen, Dir: dir, Prompt: refused},
		"qwen-PreToolUse-00":       {Kind: BeforeTool, Session: qwen, Dir: dir, File: dir + "/a.txt"},
		"qwen-PreToolUse-01":       {Kind: BeforeTool, Session: qwen, Dir: dir, Call: "call_0_1795360740810302372", Tree: "../linked"},
		"qwen-PreToolUse-02":       {Kind: BeforeTool, Session: qwen, Dir: dir, Agent: sub, Command: "touch broken; pwd; git rev-parse --show-toplevel"},
		"qwen-SubagentStop-00":     {Kind: SubStop, Session: qwen, Dir: dir, Agent: sub, Message: "Sub done."},
		"qwen-PostToolUse-00":      {Session: qwen, Dir: dir},
		"qwen-Stop-00":             {Kind: Stop, Session: qwen, Dir: dir, Message: done},
		"qwen-Stop-01":             {Kind: Stop, Session: qwen, Dir: dir, Message: more},
		"qwen-Notification-00":     {Session: qwen, Dir: dir},
	}
	names, err := filepath.Glob("testdata/*-[0-9][0-9].json")
	if err != nil || len(names) != len(want) {
		t.Fatalf("%d payloads, want %d: %v", len(names), len(want), err)
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Read(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		base := strings.TrimSuffix(filepath.Base(name), ".json")
		client, rest, _ := strings.Cut(base, "-")
		event, _, _ := strings.Cut(rest, "-")
		if got := Find(client).Parse(event, m); !reflect.DeepEqual(got, want[base]) {
			t.Errorf("%s:\n got %+v\nwant %+v", base, got, want[base])
		}
		if got := Find(client).Parse("Stop", m); got.Kind != want[base].Kind {
			t.Errorf("%s: the name on the command line went before the client's own", base)
		}
	}
}

// TestOthers reads events as documents describe them, of clients that are not run here, and of our own plugin.
func TestOthers(t *testing.T) {
	for _, c := range []struct {
		client, event, payload string
		want                   Event
	}{
		{"claude", "Stop", `{"session_id":"s","cwd":"/p","hook_event_name":"Stop","stop_hook_active":true,"background_tasks":[{"id":"1"}]}`, Event{Kind: Stop, Session: "s", Dir: "/p", Background: []string{"1"}}},
		{"claude", "Stop", `{"session_id":"s","cwd":"/p","hook_event_name":"Stop","permission_mode":"plan","background_tasks":[]}`, Event{Kind: Stop, Session: "s", Dir: "/p", Plan: true}},
		{"claude", "SubagentStop", `{"session_id":"s","hook_event_name":"SubagentStop"}`, Event{Kind: SubStop, Session: "s"}},
		{"claude", "PreToolUse", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push"}}`, Event{Kind: BeforeTool, Session: "s", Command: "git push"}},
		{"claude", "PreToolUse", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/a"}}`, Event{Kind: BeforeTool, Session: "s"}},
		{"claude", "Unheard", `{"session_id":"s","hook_event_name":"Unheard","x":[1,{"y":null}]}`, Event{Session: "s"}},
		{"opencode", "tool.execute.before", `{"session_id":"s","cwd":"/p","tool_name":"bash","tool_input":{"command":"git push"}}`, Event{Kind: BeforeTool, Session: "s", Dir: "/p", Command: "git push"}},
		{"opencode", "tool.execute.before", `{"session_id":"s","tool_name":"bash","tool_input":{"command":"git push","workdir":"a"}}`, Event{Kind: BeforeTool, Session: "s", Command: "git push", In: "a"}},
		{"kilo", "tool.execute.before", `{"session_id":"s","tool_name":"background_process","tool_input":{"action":"start","command":"git push","workdir":"/a"}}`, Event{Kind: BeforeTool, Session: "s", Command: "git push", In: "/a"}},
		{"gemini", "BeforeTool", `{"session_id":"s","tool_name":"run_shell_command","tool_input":{"command":"git push","dir_path":"a"}}`, Event{Kind: BeforeTool, Session: "s", Command: "git push", In: "a"}},
		{"qwen", "PreToolUse", `{"session_id":"s","tool_name":"run_shell_command","tool_input":{"command":"git push","directory":"/a"}}`, Event{Kind: BeforeTool, Session: "s", Command: "git push", In: "/a"}},
		{"qwen", "PreToolUse", `{"session_id":"s","tool_name":"monitor","tool_input":{"command":"git push"}}`, Event{Kind: BeforeTool, Session: "s", Command: "git push"}},
		{"kilo", "experimental.text.complete", `{"session_id":"s","last_assistant_message":"Done."}`, Event{Kind: Stop, Session: "s", Message: "Done."}},
		{"generic", "stop", "\ufeff" + `{"conversation_id":"c","generation_id":"g","status":"completed","loop_count":0,"hook_event_name":"stop"}`, Event{Kind: Stop, Session: "c"}},
		{"generic", "tool", `{"sessionId":"c","cwd":"/p","toolName":"bash","toolArgs":"{\"command\":\"git push\"}"}`, Event{Kind: BeforeTool, Session: "c", Dir: "/p", Command: "git push"}},
		{"generic", "tool", `{"conversation_id":"c","command":"git push","cwd":""}`, Event{Kind: BeforeTool, Session: "c", Command: "git push"}},
		{"generic", "tool", `{"session_id":"c","working_dir":"/p","tool_name":"terminal","tool_input":{"command":["git","push","it's"]}}`, Event{Kind: BeforeTool, Session: "c", Dir: "/p", Command: `'git' 'push' 'it'\''s'`}},
		{"generic", "stop", `{"session_id":7,"cwd":[],"prompt":{}}`, Event{Kind: Stop}},
	} {
		m, err := Read(strings.NewReader(c.payload + "trailing"))
		if err != nil {
			t.Fatalf("%s: %v", c.payload, err)
		}
		if got := Find(c.client).Parse(c.event, m); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s %s:\n got %+v\nwant %+v", c.client, c.event, c.payload, got, c.want)
		}
	}
	for _, bad := range []string{"", "x", "null", "[]", "{", `"s"`} {
		if m, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read: %v", bad, m)
		}
	}
}

// TestPlugin holds that the plugin API of opencode and Kilo has the fields that the plugin reads.
func TestPlugin(t *testing.T) {
	for _, client := range []string{"opencode", "kilo"} {
		for event, fields := range map[string][]string{
			"tool.execute.before":        {"input.tool", "input.sessionID", "output.args"},
			"experimental.text.complete": {"input.sessionID", "output.text"},
		} {
			text, err := os.ReadFile("testdata/" + client + "-" + event + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var m map[string]map[string]any
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			for _, f := range fields {
				at, name, _ := strings.Cut(f, ".")
				if m[at][name] == nil {
					t.Errorf("%s %s has no %s", client, event, f)
				}
			}
		}
	}
}

// TestReply holds the bytes of each answer. Codex drops an answer with a key that it does not know, so that there is none.
func TestReply(t *testing.T) {
	const reason = `say "no" <b> & go`
	quoted := `"say \"no\" <b> & go"`
	stop := `{"decision":"block","reason":` + quoted + `}`
	nested := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":` + quoted + `}}`
	tell := `{"systemMessage":` + quoted + `}`
	deny := `{"decision":"deny","reason":` + quoted + `}`
	for _, c := range []struct{ client, answer, stop, tool, tell string }{
		{"claude", "", stop, nested, tell},
		{"codex", "", stop, nested, tell},
		{"gemini", "", stop, deny, tell},
		{"qwen", "", stop, nested, tell},
		{"opencode", "", stop, stop, tell},
		{"kilo", "", stop, stop, tell},
		{"generic", "", stop, stop, ""},
		{"generic", "block", stop, stop, ""},
		{"generic", "deny", deny, deny, ""},
		{"generic", "claude", stop, nested, ""},
		{"generic", "copilot", stop, `{"permissionDecision":"deny","permissionDecisionReason":` + quoted + `}`, ""},
		{"generic", "cursor", `{"followup_message":` + quoted + `}`, `{"permission":"deny","user_message":` + quoted + `,"agent_message":` + quoted + `}`, ""},
	} {
		a := Find(c.client)
		if c.answer != "" && !a.Speak(c.answer) {
			t.Fatal(c.answer)
		}
		for _, r := range []struct {
			kind Kind
			ans  Answer
			want string
		}{
			{Stop, Answer{true, reason}, c.stop}, {BeforeTool, Answer{true, reason}, c.tool}, {Stop, Answer{false, reason}, c.tell}, {Stop, Answer{}, ""}, {Stop, Answer{Refuse: true}, ""},
		} {
			if got := string(a.Reply(r.kind, r.ans)); got != r.want {
				t.Errorf("%s %s %s %+v:\n got %s\nwant %s", c.client, c.answer, r.kind, r.ans, got, r.want)
			}
		}
	}
	for _, name := range FormNames() {
		if !Find(Generic).Speak(name) {
			t.Errorf("--answer %s", name)
		}
	}
	if Find("none") != nil || Find(Generic).Speak("none") {
		t.Error("an unknown name has an adapter")
	}
}

// TestBackground holds that only tasks that go on count: a client lists those of the whole session.
func TestBackground(t *testing.T) {
	for list, want := range map[string]bool{
		`[]`: false, `null`: false, `{}`: false,
		`[{"id":"1","status":"running"}]`:                                true,
		`[{"id":"1","status":"completed"},{"id":"2","status":"failed"}]`: false,
		`[{"id":"1","status":"cancelled"},{"id":"2","status":"paused"}]`: true,
		`[{"id":"1"}]`: true,
		`["1"]`:        true,
	} {
		m, err := Read(strings.NewReader(`{"hook_event_name":"Stop","background_tasks":` + list + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := Find("qwen").Parse("", m).Background; len(got) > 0 != want {
			t.Errorf("%s: %v", list, got)
		}
	}
}

// FuzzRead reads what no client writes: what is whole of it is an event of each client.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"hook_event_name":"Stop","background_tasks":[{"id":1},[]]}`, `{"tool_name":"Bash","tool_input":{"command":["git",1]}}`, `{"a":1,"b":`, "\ufeff{}", "[", "null"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Read(strings.NewReader(text))
		if err == nil && m == nil {
			t.Error("neither an event nor an error")
		}
		for _, name := range Names() {
			for event := range Find(name).Events {
				Find(name).Parse(event, m)
			}
		}
	})
}
