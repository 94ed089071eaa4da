// Package agents knows the hook protocols of coding agents: their names of events and fields, and the answers that they
// understand. The bytes that a client writes to its hook come in as an [Event], an [Answer] goes out as the bytes that the
// client reads. It decides nothing, and looks at no file.
//
// The protocols differ in names far more than in shape, so that an agent is a row of a table. Each row is held by payloads
// of the real client where it could be run (testdata), else by its documentation.
package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Kind is what an event means.
type Kind string

// The kinds of events.
const (
	Other      Kind = ""         // allowed, in silence
	Start      Kind = "start"    // of a session
	Prompt     Kind = "prompt"   // of a person
	BeforeTool Kind = "tool"     // the agent is about to use a tool
	Stop       Kind = "stop"     // the agent wants to end its turn
	SubStart   Kind = "substart" // a sub-agent begins
	SubStop    Kind = "substop"  // a sub-agent wants to end its turn
)

// An Event is what a client told its hook.
type Event struct {
	Kind       Kind
	Session    string
	Dir        string // that the client works in; empty where it does not say
	Prompt     string
	Message    string   // the agent's last
	Plan       bool     // the agent only plans
	Background []string // ids of what goes on in the background
	Agent      string   // the sub-agent that the event is of; empty for none

	Command string // of a shell tool
	In      string // the folder that the command is started in, from that of the client; empty for that itself
	File    string // that a tool is about to write
	Call    string // the id of the call that is about to start a sub-agent, which is the end of that one's id
	Tree    string // the folder that the sub-agent is to work in; empty where the client does not say
}

// An Answer is what a client gets.
type Answer struct {
	Refuse bool
	Text   string // the reason of a refusal, else one line for the person; empty for none
}

// A Form is how a refusal or a word to the person is written.
type Form uint8

const (
	none       Form = iota
	block           // {"decision":"block","reason":R}
	deny            // {"decision":"deny","reason":R}
	permission      // {"hookSpecificOutput":{...,"permissionDecision":"deny","permissionDecisionReason":R}}
	flat            // {"permissionDecision":"deny","permissionDecisionReason":R}
	followup        // {"followup_message":R}
	cursor          // {"permission":"deny","user_message":R,"agent_message":R}
	message         // {"systemMessage":R}
)

// An Adapter is one client.
type Adapter struct {
	Name string // on the command line
	// Events gives the client's names of events.
	Events map[string]Kind
	// Shell names the tools that run a command line, Write those that write a file, Spawn those that start a sub-agent.
	Shell, Write, Spawn []string
	// Root is the variable of the environment that has the folder of the project; empty for none.
	Root string

	stop, tool, tell Form
}

// claudeEvents are those of Claude Code, which Codex and Qwen took over.
var claudeEvents = map[string]Kind{
	"SessionStart": Start, "UserPromptSubmit": Prompt, "PreToolUse": BeforeTool, "Stop": Stop, "SubagentStart": SubStart, "SubagentStop": SubStop,
}

var pluginEvents = map[string]Kind{
	"session.created": Start, "chat.message": Prompt, "tool.execute.before": BeforeTool, "experimental.text.complete": Stop,
}

// table has the clients by their documents and by what they were seen to do. Generic is the last one.
var table = []Adapter{
	{Name: "claude", Events: claudeEvents, Shell: []string{"Bash"}, Write: []string{"Write", "Edit", "MultiEdit", "NotebookEdit"},
		Root: "CLAUDE_PROJECT_DIR", stop: block, tool: permission, tell: message},
	{Name: "codex", Events: claudeEvents, Shell: []string{"Bash"},
		stop: block, tool: permission, tell: message},
	{Name: "gemini", Events: map[string]Kind{"SessionStart": Start, "BeforeAgent": Prompt, "BeforeTool": BeforeTool, "AfterAgent": Stop},
		Shell: []string{"run_shell_command"}, Write: []string{"write_file", "replace"}, Root: "GEMINI_PROJECT_DIR", stop: block, tool: deny, tell: message},
	{Name: "qwen", Events: claudeEvents, Shell: []string{"run_shell_command", "monitor"}, Write: []string{"write_file", "edit", "replace", "notebook_edit"}, Spawn: []string{"agent"},
		Root: "QWEN_PROJECT_DIR", stop: block, tool: permission, tell: message},
	{Name: "opencode", Events: pluginEvents, Shell: []string{"bash"}, Write: []string{"write", "edit"}, stop: block, tool: block, tell: message},
	{Name: "kilo", Events: pluginEvents, Shell: []string{"bash", "background_process"}, Write: []string{"write", "edit"}, stop: block, tool: block, tell: message},
	{Name: Generic, Events: map[string]Kind{"start": Start, "prompt": Prompt, "tool": BeforeTool, "stop": Stop}, stop: block, tool: block},
}

// Generic is the name of the adapter of clients that have no row: its events are named on the command line, and so is the
// form of its answers.
const Generic = "generic"

// Find returns the adapter of a name; nil if there is none.
func Find(name string) *Adapter {
	for i := range table {
		if table[i].Name == name {
			a := table[i]
			return &a
		}
	}
	return nil
}

// Names returns the names of all adapters.
func Names() (list []string) {
	for _, a := range table {
		list = append(list, a.Name)
	}
	return list
}

// The forms that --answer names, each for the stop and for the tool.
var forms = map[string][2]Form{
	"block": {block, block}, "deny": {deny, deny}, "claude": {block, permission}, "copilot": {block, flat}, "cursor": {followup, cursor},
}

// FormNames are the values of --answer.
func FormNames() []string { return []string{"block", "deny", "claude", "copilot", "cursor"} }

// Speak makes the adapter answer in a named form, and reports whether there is one of that name.
func (a *Adapter) Speak(name string) bool {
	f, ok := forms[name]
	if ok {
		a.stop, a.tool = f[0], f[1]
	}
	return ok
}

// The names that clients give to what an event holds.
var (
	sessionKeys    = []string{"session_id", "sessionId", "sessionID", "conversation_id"}
	dirKeys        = []string{"cwd", "working_dir", "workspace_root"}
	messageKeys    = []string{"last_assistant_message", "prompt_response", "last_message"}
	toolKeys       = []string{"tool_name", "toolName", "tool"}
	inputKeys      = []string{"tool_input", "toolArgs", "tool_args", "args"}
	commandKeys    = []string{"command", "cmd"}
	startKeys      = []string{"workdir", "dir_path", "directory"}
	fileKeys       = []string{"file_path", "filePath", "path", "notebook_path"}
	backgroundKeys = []string{"background_tasks", "backgroundTasks"}
	agentKeys      = []string{"agent_id"}
	callKeys       = []string{"tool_call_id"}
	treeKeys       = []string{"working_dir"}
)

// text returns the first of keys that holds a text that is not empty.
func text(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// Read reads the one JSON object that a client writes to its hook, without waiting for the end of the file: some
// clients leave it open. A byte order mark is skipped. With an error it returns the members that are whole.
func Read(r io.Reader) (map[string]any, error) {
	var first [3]byte
	n, err := io.ReadFull(r, first[:])
	if n == 0 {
		return nil, errors.New("nothing was written to stdin")
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	head := bytes.TrimPrefix(first[:n], []byte("\xef\xbb\xbf"))
	dec := json.NewDecoder(io.MultiReader(bytes.NewReader(head), r))
	m := make(map[string]any)
	switch start, err := dec.Token(); {
	case err != nil:
		return m, fmt.Errorf("stdin is not JSON: %w", err)
	case start != json.Delim('{'):
		return m, errors.New("stdin is not a JSON object")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return m, err
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return m, err
		}
		m[key.(string)] = value
	}
	_, err = dec.Token()
	return m, err
}

// Parse makes an event of what a client wrote; name is that of the command line, which the client's own goes before.
func (a *Adapter) Parse(name string, m map[string]any) Event {
	if own := text(m, "hook_event_name"); own != "" && a.Name != Generic {
		name = own
	}
	e := Event{
		Kind: a.Events[name], Session: text(m, sessionKeys...), Dir: text(m, dirKeys...), Prompt: text(m, "prompt"),
		Message: text(m, messageKeys...), Agent: text(m, agentKeys...), Plan: text(m, "permission_mode", "approval_mode") == "plan",
	}
	for _, k := range backgroundKeys {
		list, _ := m[k].([]any)
		for _, task := range list {
			if goesOn(task, e.Agent) {
				fields, _ := task.(map[string]any)
				e.Background = append(e.Background, text(fields, "id"))
			}
		}
	}
	if e.Kind != BeforeTool {
		return e
	}
	tool := text(m, toolKeys...)
	input := m
	for _, k := range inputKeys {
		switch in := m[k].(type) {
		case map[string]any:
			input = in
		case string: // JSON in a string, as Copilot has it
			var inner map[string]any
			if json.Unmarshal([]byte(in), &inner) == nil {
				input = inner
			}
		}
	}
	if a.Name == Generic || slices.Contains(a.Shell, tool) {
		e.Command, e.In = command(input), text(input, startKeys...)
	}
	if a.Name == Generic || slices.Contains(a.Write, tool) {
		e.File = text(input, fileKeys...)
	}
	if slices.Contains(a.Spawn, tool) {
		e.Call, e.Tree = text(m, callKeys...), text(input, treeKeys...)
	}
	return e
}

// goesOn reports whether a task of a client's list is not at its end, and is not the sub-agent own that asks. Qwen Code lists those of the
// whole session.
func goesOn(task any, own string) bool {
	m, _ := task.(map[string]any)
	if own != "" && text(m, "id") == own {
		return false
	}
	switch strings.ToLower(text(m, "status", "state")) {
	case "completed", "complete", "done", "finished", "succeeded", "success", "failed", "error", "cancelled", "canceled", "aborted", "killed", "stopped", "terminated":
		return false
	}
	return true
}

// command returns the command line of a shell tool, which some clients write as an argv.
func command(input map[string]any) string {
	if s := text(input, commandKeys...); s != "" {
		return s
	}
	for _, k := range commandKeys {
		if list, ok := input[k].([]any); ok {
			var words []string
			for _, w := range list {
				s, _ := w.(string)
				words = append(words, "'"+strings.ReplaceAll(s, "'", `'\''`)+"'")
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// Reply returns the bytes of an answer to an event of a kind: all that may stand on stdout. The exit status is always 0, since
// clients read a failing hook each in its own way.
func (a *Adapter) Reply(k Kind, ans Answer) []byte {
	form := a.tell
	if ans.Refuse {
		form = a.stop
		if k == BeforeTool {
			form = a.tool
		}
	}
	if ans.Text == "" || form == none {
		return nil
	}
	var v any
	switch t := ans.Text; form {
	case block, deny:
		word := "block"
		if form == deny {
			word = "deny"
		}
		v = struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		}{word, t}
	case permission:
		type output struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		}
		v = struct {
			Output output `json:"hookSpecificOutput"`
		}{output{"PreToolUse", "deny", t}}
	case flat:
		v = struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		}{"deny", t}
	case followup:
		v = struct {
			Message string `json:"followup_message"`
		}{t}
	case cursor:
		v = struct {
			Permission string `json:"permission"`
			User       string `json:"user_message"`
			Agent      string `json:"agent_message"`
		}{"deny", t, t}
	case message:
		v = struct {
			Message string `json:"systemMessage"`
		}{t}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
