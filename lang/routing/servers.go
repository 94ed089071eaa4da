package routing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// serverFiles are where agents and editors keep MCP servers, below the root of a project, with
// the key that they are below. The first that has a name says what it is.
var serverFiles = []struct{ path, key string }{
	{".mcp.json", "mcpServers"},
	{".kilocode/mcp.json", "mcpServers"},
	{".cursor/mcp.json", "mcpServers"},
	{".vscode/mcp.json", "servers"},
}

// servers looks for the MCP servers that bindings name and no matrix declares. A file that is
// read for them decides what is run: it counts among the files of the matrix, for its digest
// and for anyone who asks whether it is the trusted one.
func (l *loader) servers() {
	missing := false
	for _, b := range l.m.Bindings {
		missing = missing || b.Kind == plan.MCP && l.m.Server(b.Target) == ""
	}
	if !missing || l.m.Root == "" {
		return
	}
	for _, f := range serverFiles {
		path := filepath.Join(l.m.Root, filepath.FromSlash(f.path))
		text, err := l.read(path, false, maxFileSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		name := filepath.ToSlash(filepath.Join(filepath.Dir(l.m.Name), f.path))
		src := diag.NewSource(name, text)
		if err != nil {
			l.list = append(l.list, diag.Warnf(diag.MatrixMissing, name, diag.Span{}, "cannot read %s, which may have MCP servers: %v", name, err))
			continue
		}
		l.m.Files = append(l.m.Files, src)
		l.m.paths[src] = path
		l.record(f.path, text)
		l.jsonServers(src, f.key)
	}
}

// jsonServers adds the servers of one file.
func (l *loader) jsonServers(src *diag.Source, key string) {
	var file map[string]json.RawMessage
	var servers map[string]json.RawMessage
	err := json.Unmarshal(src.Text, &file)
	if err == nil && file[key] != nil {
		err = json.Unmarshal(file[key], &servers)
	}
	if err != nil {
		var at diag.Span
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = src.Span(int(syntax.Offset)-1, int(syntax.Offset))
		}
		l.list = append(l.list, diag.Errorf(diag.BadValue, src.Name, at, "no configuration of MCP servers: %v", err))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if _, taken := l.m.Servers[name]; taken {
			continue
		}
		var s struct {
			Type, Command, URL, ServerURL string
			Args                          []string
			Env, Headers                  map[string]string
			Disabled                      bool
			Enabled                       *bool
		}
		at := nameIn(src, name)
		if err := json.Unmarshal(servers[name], &s); err != nil {
			l.list = append(l.list, diag.Warnf(diag.BadValue, src.Name, at, "the MCP server %q cannot be read: %v", name, err))
			continue
		}
		server := plan.Server{Env: s.Env, URL: s.URL, Headers: s.Headers, Disabled: s.Disabled || s.Enabled != nil && !*s.Enabled, Origin: src.Name}
		if server.URL == "" {
			server.URL = s.ServerURL
		}
		switch {
		case s.Command != "":
			server.Argv, server.URL = append([]string{s.Command}, s.Args...), ""
		case server.URL == "":
			l.list = append(l.list, diag.Warnf(diag.BadValue, src.Name, at, "the MCP server %q has neither a command nor a url", name))
			continue
		}
		l.m.Servers[name] = server
	}
}

// nameIn is the place of a key in JSON, as well as a search can tell.
func nameIn(src *diag.Source, name string) diag.Span {
	quoted, _ := json.Marshal(name)
	i := bytes.Index(src.Text, quoted)
	if i < 0 {
		return diag.Span{}
	}
	return src.Span(i, i+len(quoted))
}

// Server returns the name of the declared server that a target means: "-" and "_" are the same
// in it. It is empty if there is none.
func (m *Matrix) Server(target string) string {
	name, _, _ := strings.Cut(target, ":")
	if _, ok := m.Servers[name]; ok {
		return name
	}
	same := func(s string) string { return strings.ReplaceAll(s, "-", "_") }
	for _, key := range slices.Sorted(maps.Keys(m.Servers)) {
		if same(key) == same(name) {
			return key
		}
	}
	return ""
}

// A draft is a server while its table is read.
type draft struct {
	plan.Server
	args []string
}

// server reads [servers.NAME].
func (r *reader) server(e *tomltree.Entry) namedServer {
	where := "servers." + e.Key
	s := &draft{Server: plan.Server{Origin: r.Source.Name}}
	r.table(InServer, e.Value, where, &target{server: s, env: &s.Env})
	if s.Argv != nil {
		s.Argv = append(s.Argv, s.args...)
	}
	if e.Value.Kind == tomltree.Table && e.Value.Get("command") == nil && e.Value.Get("url") == nil {
		r.missing(r.KeySpan(e), "", "%s has neither command nor url", where)
	}
	return namedServer{e.Key, s.Server}
}

// agent reads [agents.NAME]; nil if it has no command.
func (r *reader) agent(e *tomltree.Entry) *Agent {
	where := "agents." + e.Key
	a := &Agent{}
	r.table(InAgent, e.Value, where, &target{agent: a})
	if e.Value.Kind == tomltree.Table && e.Value.Get("command") == nil {
		r.missing(r.KeySpan(e), "", "%s has no command", where)
	}
	if a.Command == nil {
		return nil
	}
	if len(a.Require) == 0 {
		r.Warnf(diag.BadValue, r.KeySpan(e), "%s has no require: its answer is accepted without a gate", where).
			Hint = "say require = \"NAME\": the binding that the gate which it hands back must cover"
	}
	return a
}
