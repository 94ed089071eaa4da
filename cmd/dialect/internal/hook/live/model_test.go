//go:build unix

package live

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A step is what the model answers to one request: it says something, or runs a command line with the client's shell tool. first is called before.
type step struct {
	say, do string
	first   func()

	tool string // another tool than the shell's, with args; "SPACE.NAME" for one in a name space
	args any
}

func say(text string) step   { return step{say: text} }
func do(command string) step { return step{do: command} }

// A model is a server that speaks the protocols of the clients (Responses, Chat Completions, Gemini) and answers by a script: one step for each
// request that offers tools. After the last step the last one that says something is repeated. Requests without tools, such as for a title,
// are answered with "ok".
type model struct {
	server *httptest.Server
	tool   string           // name of the client's shell tool
	args   func(string) any // its arguments

	second *model // that answers the session that [secondPrompt] alone began; nil for none

	mu       sync.Mutex
	steps    []step
	at       int
	requests []string // bodies of those that offer tools
}

// maxRequests ends a client that asks for ever.
const maxRequests = 60

func newModel(t *testing.T, tool string, args func(string) any, steps []step) *model {
	m := &model{tool: tool, args: args, steps: steps}
	m.server = httptest.NewServer(m)
	t.Cleanup(m.server.Close)
	return m
}

// asked returns the bodies of the requests that offered tools.
func (m *model) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.requests...)
}

// next returns the step for a request, and its number.
func (m *model) next(body string, tools bool) (step, int) {
	if !tools {
		return say("ok"), -1
	}
	if m.second != nil && strings.Contains(body, secondPrompt) && !strings.Contains(body, firstPrompt) {
		return m.second.next(body, tools)
	}
	s, i := m.take(body)
	if s.first != nil {
		s.first()
	}
	return s, i
}

// take returns the next step, and its number.
func (m *model) take(body string) (step, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, body)
	i := m.at
	m.at++
	if i < len(m.steps) {
		return m.steps[i], i
	}
	for k := len(m.steps) - 1; k >= 0; k-- {
		if m.steps[k].say != "" {
			return m.steps[k], i
		}
	}
	return say("Done."), i
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		in = z
	}
	text, err := io.ReadAll(io.LimitReader(in, 32<<20))
	if err != nil {
		return
	}
	if len(m.asked()) > maxRequests {
		http.Error(w, "asked too often", http.StatusTooManyRequests)
		return
	}
	var body struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Tools  json.RawMessage `json:"tools"`
		Config struct {
			Type string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	_ = json.Unmarshal(text, &body) // what is not JSON asks for nothing
	tools := len(body.Tools) > 4
	switch path := r.URL.Path; {
	case strings.Contains(path, "countTokens"):
		answer(w, map[string]any{"totalTokens": 10})
	case strings.Contains(path, "enerateContent"):
		s, _ := m.next(string(text), tools)
		if !tools && body.Config.Type == "application/json" {
			s = say(`{"complexity_score":1,"complexity_reasoning":"x","reasoning":"x","model_choice":"flash","next_speaker":"user"}`)
		}
		m.gemini(w, s, strings.Contains(path, "stream"))
	case strings.HasSuffix(path, "/responses"):
		s, n := m.next(string(text), tools)
		m.responses(w, s, n, body.Model)
	case strings.Contains(path, "/chat/completions"):
		s, n := m.next(string(text), tools)
		m.chat(w, s, n, body.Model, body.Stream)
	case strings.HasSuffix(path, "/models"):
		answer(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "scripted", "object": "model"}}})
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// events writes server-sent events.
func events(w http.ResponseWriter, list []map[string]any, named, done bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range list {
		if named {
			e["sequence_number"] = i
			fmt.Fprintf(w, "event: %s\n", e["type"])
		}
		text, _ := json.Marshal(e)
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	if done {
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

func (m *model) gemini(w http.ResponseWriter, s step, stream bool) {
	part := map[string]any{"text": s.say}
	if name, args := m.call(s); name != "" {
		part = map[string]any{"functionCall": map[string]any{"name": name, "args": args}}
	}
	v := map[string]any{
		"candidates":    []any{map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "scripted",
	}
	if stream {
		events(w, []map[string]any{v}, false, false)
	} else {
		answer(w, v)
	}
}

// call returns the tool that a step calls, and its arguments; an empty name for none.
func (m *model) call(s step) (name string, args any) {
	if s.do != "" {
		return m.tool, m.args(s.do)
	}
	return s.tool, s.args
}

// encoded is the arguments of a call as text.
func encoded(args any) string {
	text, _ := json.Marshal(args)
	return string(text)
}

func (m *model) responses(w http.ResponseWriter, s step, n int, name string) {
	id := fmt.Sprintf("resp_%d_%d", n, time.Now().UnixNano())
	base := func(status string, output []any) map[string]any {
		v := map[string]any{"id": id, "object": "response", "created_at": time.Now().Unix(), "model": name, "status": status, "output": output}
		if status == "completed" {
			v["usage"] = map[string]any{"input_tokens": 10, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 5,
				"output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 15}
		}
		return v
	}
	list := []map[string]any{{"type": "response.created", "response": base("in_progress", []any{})}}
	var item map[string]any
	if tool, args := m.call(s); tool != "" {
		item = map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": tool, "arguments": encoded(args), "status": "completed"}
		if space, name, ok := strings.Cut(tool, "."); ok {
			item["namespace"], item["name"] = space, name
		}
	} else {
		item = map[string]any{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": s.say, "annotations": []any{}}}}
		list = append(list,
			map[string]any{"type": "response.output_item.added", "output_index": 0, "item": map[string]any{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "in_progress", "content": []any{}}},
			map[string]any{"type": "response.output_text.delta", "item_id": "msg_" + id, "output_index": 0, "content_index": 0, "delta": s.say})
	}
	list = append(list, map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item},
		map[string]any{"type": "response.completed", "response": base("completed", []any{item})})
	events(w, list, true, false)
}

func (m *model) chat(w http.ResponseWriter, s step, n int, name string, stream bool) {
	message, finish := map[string]any{"role": "assistant", "content": s.say}, "stop"
	if tool, args := m.call(s); tool != "" {
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
			"index": 0, "id": fmt.Sprintf("call_%d_%d", n, time.Now().UnixNano()), "type": "function",
			"function": map[string]any{"name": tool, "arguments": encoded(args)}}}}
		finish = "tool_calls"
	}
	usage := map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	id := fmt.Sprintf("chatcmpl-%d", time.Now().UnixNano())
	if !stream {
		answer(w, map[string]any{"id": id, "object": "chat.completion", "created": time.Now().Unix(), "model": name, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	chunk := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{"id": id, "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": name,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	last := chunk(map[string]any{}, finish)
	last["usage"] = usage
	events(w, []map[string]any{chunk(message, nil), last}, false, true)
}
