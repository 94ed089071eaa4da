// Package lsp is the language server: it speaks the Language Server Protocol 3.17 over standard
// input and output, and says of open scripts and matrices what "dialect check" would.
//
// In come requests of an editor; out go findings, and answers made of package lang, routing and
// resolve. The server runs no tool and writes no file: what is to be changed is handed to the
// editor as an edit. It belongs to the leaves of the tree: nothing imports it but the command.
//
// It is one package of up to 2,500 lines because each request is answered from the same documents and
// matrices, under one lock; what travels has a package of its own, protocol.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang/plan"
)

// Options are what the command tells the server.
type Options struct {
	Version string
	Routing string            // the matrix for all scripts, absolute; empty for the nearest of each
	Vars    map[string]string // variables of scripts
	// Poll is how often files are looked at for changes that no editor told; zero is a second.
	Poll time.Duration
	// Receipt says in a line what the store knows of a step on the present files of the project
	// of matrix; empty for nothing. It may take its time. Nil says nothing.
	Receipt func(ctx context.Context, step *plan.Step, matrix *plan.Matrix) string
	// Log gets what goes wrong inside; nil is nowhere.
	Log io.Writer
}

// Serve answers the client at in and out until it says exit, or hangs up. It returns nil if the
// client had asked for the shutdown before, as the protocol wants it.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, o Options) error {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		o: o, routing: o.Routing, vars: o.Vars, log: log.New(o.Log, "dialect lsp: ", 0),
		docs: make(map[string]*document), projects: make(map[string]*project),
		running: make(map[string]context.CancelFunc), published: make(map[string]bool), methods: methods(),
	}
	stream := jsonrpc2.NewBufferedStream(duplex{in, out}, codec{})
	s.mu.Lock()
	s.conn = jsonrpc2.NewConn(ctx, stream, s, jsonrpc2.SetLogger(s.log))
	s.mu.Unlock()
	ticker := time.NewTicker(o.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.conn.DisconnectNotify():
			s.slow.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			switch {
			case s.state == stopped:
				return nil
			case ctx.Err() != nil: // the connection ends with the context, too
				return context.Cause(ctx)
			default:
				return errors.New("the client hung up without a shutdown")
			}
		case <-ticker.C:
			s.watch(ctx)
		}
	}
}

// duplex joins the two ends of the standard streams.
type duplex struct {
	io.ReadCloser
	io.WriteCloser
}

func (d duplex) Close() error { return errors.Join(d.ReadCloser.Close(), d.WriteCloser.Close()) }

type state uint8

const (
	fresh state = iota
	ready
	stopped // by the request shutdown
)

// A server holds the state of one connection. Requests are handled one by one, in order, but for
// those that look at the disk: these run beside the others, and take mu for what they look up.
type server struct {
	o       Options
	log     *log.Logger
	conn    *jsonrpc2.Conn
	methods map[string]method
	slow    sync.WaitGroup

	mu        sync.Mutex
	state     state
	roots     []string
	routing   string
	vars      map[string]string
	client    protocol.InitializeParams
	docs      map[string]*document // by URI
	projects  map[string]*project  // by path of the matrix
	loads     int                  // of matrices, so far
	running   map[string]context.CancelFunc
	published map[string]bool // URIs of files that are not open and have findings
}

// A method answers a request, or takes a notification. It is called with mu held unless slow.
type method struct {
	call func(s *server, ctx context.Context, params json.RawMessage) (any, error)
	slow bool
	note bool // a notification
}

func on[P, R any](f func(*server, context.Context, *P) (R, error)) method {
	return method{call: func(s *server, ctx context.Context, raw json.RawMessage) (any, error) {
		var p P
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
			}
		}
		return f(s, ctx, &p)
	}}
}

func note[P any](f func(*server, context.Context, *P)) method {
	m := on(func(s *server, ctx context.Context, p *P) (any, error) {
		f(s, ctx, p)
		return nil, nil
	})
	m.note = true
	return m
}

func slow(m method) method {
	m.slow = true
	return m
}

type none struct{}

func methods() map[string]method {
	return map[string]method{
		"initialize":  on((*server).initialize),
		"initialized": note((*server).initialized),
		"shutdown":    on((*server).shutdown),

		"textDocument/didOpen":            note((*server).didOpen),
		"textDocument/didChange":          note((*server).didChange),
		"textDocument/didClose":           note((*server).didClose),
		"textDocument/didSave":            note((*server).didSave),
		"workspace/didChangeWatchedFiles": note((*server).didSave),

		"textDocument/diagnostic":           on((*server).pull),
		"textDocument/completion":           on((*server).completion),
		"textDocument/hover":                slow(on((*server).hover)),
		"textDocument/definition":           on((*server).definition),
		"textDocument/references":           slow(on((*server).references)),
		"textDocument/prepareRename":        on((*server).prepareRename),
		"textDocument/rename":               slow(on((*server).rename)),
		"textDocument/codeAction":           on((*server).codeActions),
		"textDocument/documentSymbol":       on((*server).symbols),
		"textDocument/foldingRange":         on((*server).folding),
		"textDocument/semanticTokens/full":  on((*server).tokensFull),
		"textDocument/semanticTokens/range": on((*server).tokensRange),
		"textDocument/formatting":           on((*server).formatting),
	}
}

const (
	codeNotInitialized = -32002
	codeCancelled      = -32800
)

// Handle takes up one message.
func (s *server) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var raw json.RawMessage
	if req.Params != nil {
		raw = *req.Params
	}
	switch req.Method {
	case "exit":
		_ = conn.Close()
		return
	case "$/cancelRequest":
		var p protocol.CancelParams
		if json.Unmarshal(raw, &p) == nil {
			s.mu.Lock()
			if cancel := s.running[string(p.ID)]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
		}
		return
	}
	m, ok := s.methods[req.Method]
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	var err error
	switch {
	case !ok && (req.Notif || strings.HasPrefix(req.Method, "$/")):
		if req.Notif {
			return // those that a server does not know it ignores
		}
		err = &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	case !ok:
		err = &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "there is no method " + req.Method}
	case state == fresh && req.Method != "initialize":
		err = &jsonrpc2.Error{Code: codeNotInitialized, Message: "initialize comes first"}
	case state == stopped, state == ready && req.Method == "initialize":
		err = &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: req.Method + " after " + [...]string{"", "initialize", "shutdown"}[state]}
	case m.note != req.Notif:
		err = &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: req.Method + " is a request or a notification, and came as the other"}
	}
	if err != nil {
		s.reply(ctx, req, nil, err)
		return
	}
	if !m.slow {
		s.mu.Lock()
		defer s.mu.Unlock()
		result, err := s.guarded(ctx, m, req, raw)
		s.reply(ctx, req, result, err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	id, _ := json.Marshal(req.ID)
	s.mu.Lock()
	s.running[string(id)] = cancel
	s.mu.Unlock()
	s.slow.Go(func() {
		result, err := s.guarded(ctx, m, req, raw)
		if ctx.Err() != nil {
			err = &jsonrpc2.Error{Code: codeCancelled, Message: "cancelled"}
		}
		s.mu.Lock()
		delete(s.running, string(id))
		s.mu.Unlock()
		cancel()
		s.reply(context.WithoutCancel(ctx), req, result, err)
	})
}

// guarded calls m. A fault of the server costs one answer, not the session.
func (s *server) guarded(ctx context.Context, m method, req *jsonrpc2.Request, raw json.RawMessage) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Printf("%s: internal error: %v\n%s", req.Method, r, debug.Stack())
			err = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: fmt.Sprintf("internal error: %v", r)}
		}
	}()
	return m.call(s, ctx, raw)
}

func (s *server) reply(ctx context.Context, req *jsonrpc2.Request, result any, err error) {
	if req.Notif {
		if err != nil {
			s.log.Printf("%s: %v", req.Method, err)
		}
		return
	}
	if err == nil {
		_ = s.conn.Reply(ctx, req.ID, result) // a client that has hung up is noticed by the reader
		return
	}
	var e *jsonrpc2.Error
	if !errors.As(err, &e) {
		e = &jsonrpc2.Error{Code: codeRequestFailed, Message: err.Error()}
	}
	_ = s.conn.ReplyWithError(ctx, req.ID, e)
}

// codeRequestFailed is for requests that are right and cannot be done.
const codeRequestFailed = -32803

func (s *server) initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.state = ready
	s.client = *p
	for _, f := range p.WorkspaceFolders {
		s.roots = append(s.roots, filePath(f.URI))
	}
	if len(s.roots) == 0 {
		if s.roots = append(s.roots, filePath(p.RootURI)); s.roots[0] == "" {
			s.roots[0] = p.RootPath
		}
	}
	s.roots = slices.DeleteFunc(s.roots, func(root string) bool { return !filepath.IsAbs(root) })
	if o := p.InitializationOptions; o.Routing != "" || len(o.Vars) > 0 {
		if s.vars == nil {
			s.vars = o.Vars
		}
		if o.Routing != "" && s.routing == "" {
			s.routing = o.Routing
			if !filepath.IsAbs(s.routing) {
				s.routing = filepath.Join(s.root(), s.routing)
			}
		}
	}
	r := &protocol.InitializeResult{Capabilities: map[string]any{
		"textDocumentSync": map[string]any{"openClose": true, "change": 2, "save": map[string]any{}},
		"diagnosticProvider": map[string]any{
			"identifier": "dialect", "interFileDependencies": true, "workspaceDiagnostics": false,
		},
		"completionProvider":         map[string]any{"triggerCharacters": []string{" ", "{", "[", `"`}},
		"hoverProvider":              true,
		"definitionProvider":         true,
		"referencesProvider":         true,
		"renameProvider":             map[string]any{"prepareProvider": true},
		"codeActionProvider":         map[string]any{"codeActionKinds": []string{kindQuickFix, kindFixAll}},
		"documentSymbolProvider":     true,
		"foldingRangeProvider":       true,
		"documentFormattingProvider": true,
		"semanticTokensProvider": map[string]any{
			"legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": []string{}},
			"full":   true, "range": true,
		},
	}}
	r.ServerInfo.Name, r.ServerInfo.Version = "dialect", s.o.Version
	return r, nil
}

func (s *server) initialized(ctx context.Context, _ *none) {
	if !s.client.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration {
		return // the server looks for itself
	}
	// The answer comes to the goroutine that this one keeps from reading: it is not waited for.
	_, _ = s.conn.DispatchCall(ctx, "client/registerCapability", map[string]any{
		"registrations": []map[string]any{{
			"id": "dialect-files", "method": "workspace/didChangeWatchedFiles",
			"registerOptions": map[string]any{"watchers": []map[string]any{{"globPattern": "**/*.toml"}}},
		}},
	})
}

func (s *server) shutdown(context.Context, *none) (any, error) {
	s.state = stopped
	for _, cancel := range s.running {
		cancel()
	}
	return nil, nil
}

// watch takes up what was changed on disk.
func (s *server) watch(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ready && s.refresh() {
		s.publishAll(ctx)
	}
}
