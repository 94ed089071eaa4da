// Package mcpserver offers dialect to agents as tools of the Model Context Protocol: check, run,
// verify, consume, explain, vocab and log.
//
// In come calls of tools; out goes the text that the command line prints for agents, and in
// structured form its exit status and, if there is one, the id of the gate. Each call is a
// process of dialect itself: two surfaces, one chain of proof. What is structured is read from
// the JSON of that process, never from text, which tools and scripts write, too, and which comes over a
// socket that no tool can open by a name. A tool of the same user that may trace processes, or that
// writes to the client itself, is not kept out: `dialect verify` in another place says what holds. What a call may
// name is bounded: scripts below the root that was fixed at the start, text of a script, and
// values of known shapes; never a command, a flag, a matrix, a store or a path elsewhere. The
// matrix is that of the root, also for a script below a nearer one.
package mcpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/tempdir"
)

// Options are what the command tells the server.
type Options struct {
	Self    string // path of dialect
	Root    string // absolute; calls work here and below
	Version string
}

// Bounds.
const (
	pageBytes  = 16 << 10 // of text in one answer; the rest comes by the tool log
	maxText    = 1 << 20  // bytes of a script that is given as text
	killDelay  = 15 * time.Second
	eventsPoll = 200 * time.Millisecond
)

// Serve answers a client over transport until it hangs up.
func Serve(ctx context.Context, o Options, transport mcp.Transport) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "dialect", Title: "Command dialect", Version: o.Version}, &mcp.ServerOptions{
		Instructions: "Runs scripts of \"Verb preposition noun\" lines that the project's routing matrix binds to real tools, and keeps receipts. " +
			"Ask vocab for the lines that are bound. Hand up the gate id (g-...), not a sentence; after any edit, run again. " +
			"exit_status: 0 success, 1 a line failed or an error was found, 2 line fault, 3 refused, 64 usage. next_offset: ask log again with this offset for more. " +
			"Advice names commands of a shell: `dialect run -e LINE` is the tool run with text, `dialect run FILE:N` with script FILE:N.",
	})
	t := &tools{o, make(map[string]string)}
	add(ctx, s, t, "check", true, "Report every fault of a script and of its matrix; runs nothing.", t.check)
	add(ctx, s, t, "run", false, "Run a script (none: the default) or text, keep receipts, and gate on them. Returns the report, and the gate id if the gate passed.", t.run)
	add(ctx, s, t, "verify", true, "Say whether the present files were tested: VERIFIED, else STALE, MISSING, FAILED and others. Runs and consumes nothing.", t.verify)
	add(ctx, s, t, "consume", false, "Consume a gate, once, if it holds for the present files, as verify judges; else it is refused, and left. With require, one over a part of a script is refused.", t.consume)
	add(ctx, s, t, "explain", true, "Say what a line is bound to and runs, or what a word of a report, a diagnostic's code or a key of the matrix means.", t.explain)
	add(ctx, s, t, "vocab", true, "List the lines that the project's matrix binds.", t.vocab)
	add(ctx, s, t, "log", true, "Read what a command wrote, page by page.", t.log)
	s.AddReceivingMiddleware(t.explainArguments)
	return s.Run(ctx, transport)
}

// add adds a tool. Its schema has plain arrays, where that of the SDK has arrays or null, which
// clients stumble over. There is no schema of the answer: it would be the same for each tool,
// and each session pays for it in tokens.
func add[In any](all context.Context, s *mcp.Server, of *tools, name string, readOnly bool, description string, f func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, answer, error)) {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[[]string](): {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		reflect.TypeFor[text]():     {Type: "string"},
	}})
	if err != nil {
		panic(err) // a fault of this file
	}
	for argument, least := range map[string]float64{"offset": 0, "tail": 1} {
		if p := schema.Properties[argument]; p != nil {
			p.Minimum = &least
		}
	}
	of.arguments[name] = argumentsOf(schema)
	t := &mcp.Tool{Name: name, Description: description, InputSchema: schema}
	if readOnly {
		t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	}
	mcp.AddTool(s, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(all, cancel)() // the SDK waits for calls at its end, and cancels none
		r, a, err := f(ctx, req, in)
		return r, a, err
	})
}

type tools struct {
	o         Options
	arguments map[string]string // by the name of a tool, for people
}

// An answer is the structured part of what every tool returns.
type answer struct {
	ExitStatus int    `json:"exit_status"`
	Gate       string `json:"gate,omitempty"`        // that passed, was verified or consumed
	NextOffset int    `json:"next_offset,omitempty"` // there is more
}

type scriptInput struct {
	Script string            `json:"script,omitempty" jsonschema:"a .dlct file below the root, or FILE:LINE"`
	Text   text              `json:"text,omitzero" jsonschema:"lines, instead of a file"`
	Set    map[string]string `json:"set,omitempty" jsonschema:"variables of the script"`
}

// A text knows whether it was given: one that came out empty is not one that was left out.
type text struct {
	string
	given bool
}

func (t *text) UnmarshalJSON(b []byte) error {
	t.given = true
	return json.Unmarshal(b, &t.string)
}

type checkInput struct {
	scriptInput
	Strict bool `json:"strict,omitempty" jsonschema:"take warnings for errors"`
}

type runInput struct {
	scriptInput
	Failed    bool   `json:"failed,omitempty" jsonschema:"only the lines that did not pass last time"`
	FailFast  bool   `json:"fail_fast,omitempty" jsonschema:"stop at the first failure"`
	DryRun    bool   `json:"dry_run,omitempty" jsonschema:"run nothing"`
	DeferGate bool   `json:"defer_gate,omitempty" jsonschema:"leave the receipts for a gate elsewhere"`
	Reuse     bool   `json:"reuse,omitempty" jsonschema:"reuse earlier passes on these files"`
	Session   string `json:"session,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
}

type verifyInput struct {
	Gate    string   `json:"gate,omitempty" jsonschema:"a gate id; without one, the newest that covers require"`
	Require []string `json:"require,omitempty" jsonschema:"bindings that must be covered"`
	Base    string   `json:"base,omitempty" jsonschema:"trust the matrix of this git revision"`
}

type consumeInput struct {
	Gate    string   `json:"gate" jsonschema:"a gate id, g-..."`
	Require []string `json:"require,omitempty" jsonschema:"bindings that must be covered"`
	Base    string   `json:"base,omitempty" jsonschema:"trust the matrix of this git revision"`
	As      string   `json:"as,omitempty" jsonschema:"who consumes"`
}

type explainInput struct {
	What string `json:"what" jsonschema:"a line of a script, or a word"`
}

type vocabInput struct {
	Verb string `json:"verb,omitempty" jsonschema:"only the lines of this verb"`
}

type logInput struct {
	ID     string `json:"id" jsonschema:"a receipt, or a line of the last run as its report names it: FILE:3, 3.2"`
	Offset int    `json:"offset,omitempty" jsonschema:"next_offset of the answer before"`
	Tail   int    `json:"tail,omitempty" jsonschema:"only the last lines"`
}

func (t *tools) check(ctx context.Context, _ *mcp.CallToolRequest, in checkInput) (*mcp.CallToolResult, answer, error) {
	c := t.command("check")
	if in.Strict {
		c.flag("--strict")
	}
	if err := c.script(in.scriptInput); err != nil {
		return refuse(err)
	}
	o, err := c.start(ctx)
	if err != nil {
		return refuse(err)
	}
	if o.status == 0 && len(o.stdout)+len(o.stderr) == 0 {
		o.stdout = []byte("no fault\n") // an empty answer reads like one that was lost
	}
	return o.answer("")
}

func (t *tools) run(ctx context.Context, req *mcp.CallToolRequest, in runInput) (*mcp.CallToolResult, answer, error) {
	c := t.command("run")
	for flag, on := range map[string]bool{"--failed": in.Failed, "--fail-fast": in.FailFast, "--dry-run": in.DryRun, "--json": !in.DryRun, "--defer-gate": in.DeferGate, "--reuse": in.Reuse} {
		if on {
			c.flag(flag)
		}
	}
	c.flag("--output=none")
	c.value("--session", in.Session)
	c.value("--nonce", in.Nonce)
	if err := c.script(in.scriptInput); err != nil {
		return refuse(err)
	}
	if in.DryRun {
		return c.run(ctx)
	}
	if stop, err := c.watch(ctx, req); err == nil {
		defer stop()
	}
	o, err := c.start(ctx)
	if err != nil {
		return refuse(err)
	}
	var doc report.Document
	gate := ""
	if decode(o.stdout, &doc, report.Schema) && doc.ExitStatus == o.status {
		var b bytes.Buffer
		if doc.Run != "" { // else nothing was run, and diagnostics say why
			rel := func(path string) string {
				if short, err := filepath.Rel(t.o.Root, path); err == nil && filepath.IsLocal(short) {
					return short
				}
				return path
			}
			_ = report.Text(&b, &doc, report.Options{Rel: rel, Store: doc.Store}) // to a buffer
		}
		if g := doc.Gate; g != nil && doc.ExitStatus == 0 && g.Verdict == string(attempt.GatePassed) {
			gate = g.ID
		}
		o.stdout = b.Bytes()
	}
	return o.answer(gate)
}

// A verdict is what is read of the JSON of verify and consume. Members that are not there are
// empty, and prove nothing.
type verdict struct {
	Verdict  string
	Verified bool
	Gate     string
	Records  []struct{ ID string }
	Refusals []struct{ Message string }
	Notes    []string
	Next     []string
}

func (t *tools) verify(ctx context.Context, _ *mcp.CallToolRequest, in verifyInput) (*mcp.CallToolResult, answer, error) {
	c := t.command("verify")
	if err := c.judge(in.Gate, in.Require, in.Base); err != nil {
		return refuse(err)
	}
	o, err := c.start(ctx)
	if err != nil {
		return refuse(err)
	}
	gate := ""
	if o.status == 0 {
		// Which gate it is, is asked again: files that change meanwhile are not verified.
		c.args = slices.Insert(c.args, 1, "--json")
		again, err := c.start(ctx)
		if err != nil {
			return refuse(err)
		}
		var v verdict
		if again.status != 0 {
			o = again
		} else if decode(again.stdout, &v, "dialect.verdict/1") && v.Verified && v.Verdict == "VERIFIED" {
			gate = v.Gate
		}
	}
	return o.answer(gate)
}

func (t *tools) consume(ctx context.Context, _ *mcp.CallToolRequest, in consumeInput) (*mcp.CallToolResult, answer, error) {
	c := t.command("consume")
	c.flag("--json")
	c.flag("--level=L0") // which asks for a judgement, of any level
	c.value("--as", in.As)
	if in.Gate == "" {
		return refuse(errors.New("gate is missing: its id, g-..., as run returns it"))
	}
	if err := c.judge(in.Gate, in.Require, in.Base); err != nil {
		return refuse(err)
	}
	o, err := c.start(ctx)
	if err != nil {
		return refuse(err)
	}
	var v verdict
	if !decode(o.stdout, &v, "dialect.decision/1") || v.Verdict == "" {
		return o.answer("")
	}
	if len(v.Records) == 1 {
		v.Gate = cmp.Or(v.Gate, v.Records[0].ID)
	}
	text := v.Verdict
	if o.status == 0 {
		text += " " + v.Gate
	} else {
		v.Gate = ""
	}
	for _, r := range v.Refusals {
		text += "\n  " + r.Message
	}
	for _, n := range v.Notes {
		text += "\n  note: " + n
	}
	for _, n := range v.Next {
		text += "\n  next: " + n
	}
	o.stdout = []byte(text + "\n")
	return o.answer(v.Gate)
}

func (t *tools) explain(ctx context.Context, _ *mcp.CallToolRequest, in explainInput) (*mcp.CallToolResult, answer, error) {
	c := t.command("explain")
	if strings.TrimSpace(in.What) == "" {
		return refuse(errors.New("what is missing: a line of a script, or the code of a diagnostic"))
	}
	if filepath.Ext(in.What) == ".dlct" {
		if err := c.script(scriptInput{Script: in.What}); err != nil {
			return refuse(err)
		}
		return c.run(ctx)
	}
	c.args = append(c.args, "--", in.What)
	return c.run(ctx)
}

func (t *tools) vocab(ctx context.Context, _ *mcp.CallToolRequest, in vocabInput) (*mcp.CallToolResult, answer, error) {
	c := t.command("vocab")
	c.args = append(c.args, "--")
	if in.Verb != "" {
		c.args = append(c.args, in.Verb)
	}
	return c.run(ctx)
}

func (t *tools) log(ctx context.Context, _ *mcp.CallToolRequest, in logInput) (*mcp.CallToolResult, answer, error) {
	c := t.command("log")
	if !isID(in.ID) && !isPlace(in.ID) {
		return refuse(fmt.Errorf("%q is neither the id of a receipt, at least 6 hex digits, nor a line as a report names it: FILE:3, 3.2", in.ID))
	}
	if in.Tail > 0 {
		c.value("--tail", strconv.Itoa(in.Tail))
	}
	c.args = append(c.args, "--", in.ID)
	o, err := c.start(ctx)
	if err != nil {
		return refuse(err)
	}
	return o.page(in.Offset)
}

// refuse answers a call that is not made.
func refuse(err error) (*mcp.CallToolResult, answer, error) {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "dialect: " + diag.HideKeys(err.Error())}}}, answer{ExitStatus: 64}, nil
}

// A call is one process of dialect.
type call struct {
	o     Options
	args  []string
	stdin []byte
}

func (t *tools) command(name string) *call { return &call{o: t.o, args: []string{name}} }

func (c *call) flag(name string) { c.args = append(c.args, name) }

// value adds a flag with its value in one word, so that no value is taken for a flag.
func (c *call) value(flag, value string) {
	if value != "" {
		c.args = append(c.args, flag+"="+value)
	}
}

// isID reports whether a text can be the id of a receipt or a gate.
func isID(text string) bool {
	text = strings.TrimPrefix(text, "g-")
	return len(text) >= 6 && len(text) <= 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// isLine reports whether a text can be LINE, or LINE.MEMBER and so on.
func isLine(text string) bool {
	return text != "" && len(text) <= 64 && strings.Trim(text, "0123456789.") == ""
}

// isPlace reports whether a text can name a line of a run that is kept: LINE, FILE:LINE or RUN/STEP.
func isPlace(text string) bool {
	if run, step, ok := strings.Cut(text, "/"); ok && strings.HasPrefix(run, "r-") && isID(run[2:]) {
		return isLine(step)
	}
	name, line := "x", text
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		name, line = text[:i], text[i+1:]
	}
	return isLine(line) && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsRune(name, 0)
}

func (c *call) judge(gate string, require []string, base string) error {
	for _, r := range require {
		if r == "" {
			return errors.New("require has an empty name")
		}
		c.value("--require", r)
	}
	c.value("--base", base)
	if gate != "" {
		if !isID(gate) {
			return fmt.Errorf("%q is not the id of a gate: want g-..., as run returns it", gate)
		}
		c.args = append(c.args, "--", gate)
	}
	return nil
}

// matrix returns the path of the nearest matrix for dir; empty for none. A stranger's is an error: dialect does not ask whose one is that is named.
func (c *call) matrix(dir string) (string, error) {
	path, _, err := project.FindMatrix(dir, "")
	if stranger := (*project.StrangerError)(nil); errors.Is(err, routing.ErrNotFound) && !errors.As(err, &stranger) {
		return "", nil
	}
	return path, err
}

// script adds the script of a call: a file below the root, or text.
func (c *call) script(in scriptInput) error {
	// The root's, also if it has none: then dialect says so.
	matrix, err := c.matrix(c.o.Root)
	if err != nil {
		return err
	}
	none := matrix == ""
	if none {
		matrix = filepath.Join(c.o.Root, routing.FileName)
	}
	if short, err := filepath.Rel(c.o.Root, matrix); err == nil {
		matrix = short // as messages call it
	}
	if none || filepath.Dir(filepath.FromSlash(in.Script)) != "." { // else dialect finds it, and "again:" is shorter
		c.value("--routing", matrix)
	}
	for name, value := range in.Set {
		if strings.Contains(name, "=") {
			return fmt.Errorf("%q cannot be the name of a variable", name)
		}
		c.args = append(c.args, "--set="+name+"="+value)
	}
	lines := in.Text.string
	switch {
	case in.Script != "" && lines != "":
		return errors.New("either script or text, not both")
	case in.Script == "" && lines == "" && in.Text.given:
		return errors.New("text is empty: nothing would be tested; leave it out for the default script")
	case in.Script == "" && lines == "":
		// The script that dialect runs where none is named.
		if m, _, err := project.LoadMatrix(c.o.Root, ""); err == nil {
			switch path, several := project.DefaultScript(c.o.Root, m); {
			case path != "" && c.leadsOut(path):
				return fmt.Errorf("%q leads out of the root", place.From(c.o.Root, path))
			case path == "" && len(several) == 0 && project.LostScript(context.Background(), c.o.Root, m) == "":
				return errors.New("the project has no script: give script or text; the tool vocab lists the lines that are bound")
			}
		}
		return nil
	case len(lines) > maxText:
		return fmt.Errorf("a text of %d bytes; at most %d are accepted", len(lines), maxText)
	case lines != "":
		c.stdin = []byte(lines)
		c.args = append(c.args, "-")
		return nil
	}
	path, at := filepath.FromSlash(in.Script), ""
	if i := strings.LastIndexByte(path, ':'); i > 0 && isLine(path[i+1:]) {
		path, at = path[:i], path[i:]
	} else if i > 0 && filepath.Ext(path[:i]) == ".dlct" {
		return fmt.Errorf("%s names no line of %s: want FILE:LINE", in.Script, in.Script[:i])
	}
	if !filepath.IsLocal(path) || filepath.Ext(path) != ".dlct" {
		return fmt.Errorf("%q is no .dlct file below the root; lines of a script go into text", in.Script)
	}
	if !place.Exists(filepath.Join(c.o.Root, path)) {
		return noScript(c.o.Root, filepath.ToSlash(path))
	}
	if c.leadsOut(filepath.Join(c.o.Root, path)) {
		return fmt.Errorf("%q leads out of the root", in.Script)
	}
	// Under the rules of the root it would be another script, and its verdict no word about that project.
	own, err := c.matrix(filepath.Join(c.o.Root, filepath.Dir(path)))
	if err != nil {
		return err
	}
	if own != "" && own != filepath.Join(c.o.Root, matrix) {
		dir := place.From(c.o.Root, filepath.Dir(own))
		return fmt.Errorf("%q belongs to the project in %s, which has a routing.toml of its own: its tools are those of `dialect mcp --root %s`", in.Script, dir, dir)
	}
	if at != "" {
		path += at
		if _, err := os.Lstat(filepath.Join(c.o.Root, path)); err == nil {
			return fmt.Errorf("there is a file %s: name a line of another script", path)
		}
	}
	c.args = append(c.args, "--", path)
	return nil
}

// leadsOut reports whether a path below the root leads out of it by a link, or nowhere.
func (c *call) leadsOut(path string) bool {
	if rel, err := filepath.Rel(c.o.Root, path); err != nil || !filepath.IsLocal(rel) {
		return false // above the root: the matrix that is there names it
	}
	real, err := filepath.EvalSymlinks(path)
	root, rerr := filepath.EvalSymlinks(c.o.Root)
	if err != nil || rerr != nil {
		return true
	}
	rel, err := filepath.Rel(root, real)
	return err != nil || !filepath.IsLocal(rel)
}

// noScript is the error about a script that is missing, with those that are in its folder.
func noScript(root, name string) error {
	text := "there is no script " + name
	found := regular.In(root, "*.dlct")
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	if len(found) > 0 {
		text += "\n  hint: here are: " + strings.Join(found[:min(len(found), 10)], ", ")
	}
	return errors.New(text)
}

// An output is what a process of dialect came to.
type output struct {
	stdout, stderr []byte
	status         int
}

// run carries a call out whose answer is text alone.
func (c *call) run(ctx context.Context) (*mcp.CallToolResult, answer, error) {
	o, err := c.start(ctx)
	if err != nil {
		return refuse(err)
	}
	return o.answer("")
}

// start runs dialect. A cancelled call ends as an interrupted run does: the tools are killed, and
// what is known is reported.
func (c *call) start(ctx context.Context) (*output, error) {
	cmd := exec.CommandContext(ctx, c.o.Self, c.args...)
	cmd.Dir = c.o.Root
	cmd.Env = append(os.Environ(), report.AgentVariable+"=1")
	s, err := connect(cmd, c.stdin)
	if err != nil {
		return nil, fmt.Errorf("dialect cannot be run: %w", err)
	}
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = killDelay
	cmd.SysProcAttr = orphaned()
	runtime.LockOSThread() // see orphaned
	defer runtime.UnlockOSThread()
	if err = cmd.Start(); err == nil {
		s.begin()
		err = cmd.Wait()
	}
	stdout, stderr := s.end()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil || cmd.ProcessState == nil {
		return nil, fmt.Errorf("dialect cannot be run: %w", err)
	}
	return &output{stdout, stderr, cmd.ProcessState.ExitCode()}, nil
}

// decode reads text, which must be one document of the schema, with nothing after it and no
// member twice, into v.
func decode(text []byte, v any, schema string) bool {
	var head struct{ Schema string }
	return once(text) && json.Unmarshal(text, &head) == nil && head.Schema == schema && json.Unmarshal(text, v) == nil
}

// once reports whether text is one object of JSON in which no member stands twice. Those of the object
// itself must differ by more than case, since the decoder takes either for the other.
func once(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	var open []map[string]bool // the members of each object that is open; nil for a list
	name := false              // the next token is a name, or the end of its object
	for first := true; ; first = false {
		t, err := d.Token()
		if err != nil {
			return errors.Is(err, io.EOF) && !first && len(open) == 0
		}
		if !first && len(open) == 0 {
			return false // a second value
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, make(map[string]bool))
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
		case string:
			if name {
				if len(open) == 1 {
					t = strings.ToLower(t)
				}
				members := open[len(open)-1]
				if members[t] {
					return false
				}
				members[t], name = true, false
				continue
			}
		}
		if first && t != json.Delim('{') {
			return false
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}

// answer makes an answer of what was written: diagnostics come first. The middle of a long text is
// left out, and a gate counts if all went well.
func (o *output) answer(gate string) (*mcp.CallToolResult, answer, error) {
	a := answer{ExitStatus: o.status}
	if o.status == 0 && strings.HasPrefix(gate, "g-") && isID(gate) {
		a.Gate = gate
	}
	text := o.text()
	if len(text) > pageBytes {
		head, tail := text[:pageBytes*3/4], text[len(text)-pageBytes/4:]
		head, tail = head[:strings.LastIndexByte(head, '\n')+1], tail[strings.IndexByte(tail, '\n')+1:]
		text = fmt.Sprintf("%s... %d bytes left out ...\n%s", strings.ToValidUTF8(head, ""), len(text)-len(head)-len(tail), strings.ToValidUTF8(tail, ""))
	}
	return &mcp.CallToolResult{IsError: o.status != 0, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, a, nil
}

// page makes an answer of the part of a text that begins at offset.
func (o *output) page(offset int) (*mcp.CallToolResult, answer, error) {
	a := answer{ExitStatus: o.status}
	text := o.text()
	text = text[min(offset, len(text)):]
	if len(text) > pageBytes {
		text = strings.ToValidUTF8(text[:pageBytes], "")
		if i := strings.LastIndexByte(text, '\n'); i > 0 {
			text = text[:i+1]
		}
		a.NextOffset = offset + len(text)
	}
	return &mcp.CallToolResult{IsError: o.status != 0, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, a, nil
}

func (o *output) text() string {
	return strings.ToValidUTF8(string(o.stderr)+string(o.stdout), "\ufffd")
}

// watch tells the client of each step that begins or ends, from the events of the run.
func (c *call) watch(ctx context.Context, req *mcp.CallToolRequest) (stop func(), err error) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil, errors.New("nobody asked")
	}
	dir, remove, err := tempdir.New(tempdir.MCP)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "events.jsonl")
	c.args = append([]string{c.args[0], "--events=" + path}, c.args[1:]...)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		follow(ctx, path, done, func(line []byte, n int) {
			if text := told(line); text != "" {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: text})
			}
		})
	}()
	return func() {
		close(done)
		<-gone
		remove()
	}, nil
}

// follow hands out the lines of a file that grows, until done.
func follow(ctx context.Context, path string, done <-chan struct{}, line func([]byte, int)) {
	var f *os.File
	var r *bufio.Reader
	var rest []byte
	n := 0
	defer func() {
		if f != nil {
			f.Close()
		}
	}()
	read := func() {
		if f == nil {
			var err error
			if f, err = regular.Open(path); err != nil {
				f = nil
				return
			}
			r = bufio.NewReader(f)
		}
		for {
			part, err := r.ReadBytes('\n')
			rest = append(rest, part...)
			if err != nil {
				return // the rest of the line is still to come
			}
			n++
			line(rest, n)
			rest = nil
		}
	}
	tick := time.NewTicker(eventsPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			read()
		case <-done:
			read()
			return
		case <-ctx.Done():
			return
		}
	}
}

// told is an event in words; empty for those that nobody waits for.
func told(line []byte) string {
	var e struct {
		Event, Step, Command string
		Result               struct{ Text, Verdict string }
	}
	if json.Unmarshal(line, &e) != nil {
		return ""
	}
	switch e.Event {
	case "step_started":
		return strings.TrimSpace(e.Step + " " + e.Command)
	case "step_finished":
		return strings.TrimSpace(e.Step + " " + e.Result.Text + ": " + e.Result.Verdict)
	}
	return ""
}
