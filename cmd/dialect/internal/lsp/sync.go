package lsp

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
)

// Document lifecycle, and publishing of diagnostics.

func (s *server) didOpen(ctx context.Context, p *protocol.DidOpenParams) {
	t := p.TextDocument
	d := &document{uri: t.URI, path: filePath(t.URI), version: t.Version}
	d.name = d.uri
	if d.path != "" {
		d.name = s.shown(d.path)
	}
	d.matrix = t.LanguageID == "toml" || filepath.Ext(d.path) == ".toml"
	d.setText([]byte(t.Text))
	s.docs[t.URI] = d
	if d.matrix && !s.isMatrix(d.path) {
		delete(s.docs, t.URI) // some other TOML file
		return
	}
	s.touched(ctx, d)
	s.bind(d)
	d.checkAll()
	s.publish(ctx, d)
	s.publishMatrices(ctx)
}

// isMatrix reports whether a TOML file is a matrix, or one that a matrix extends.
func (s *server) isMatrix(path string) bool {
	if path == "" {
		return false
	}
	if filepath.Base(path) == "routing.toml" || path == s.routing || s.matrixOf(path) != path {
		return true
	}
	// One that the nearest matrix extends, which no script may have asked for yet.
	at := s.find(filepath.Dir(path))
	return at != "" && slices.Contains(slices.Collect(maps.Values(s.load(at).files)), path)
}

func (s *server) didChange(ctx context.Context, p *protocol.DidChangeParams) {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return
	}
	for _, c := range p.ContentChanges {
		d.change(c)
	}
	d.version = p.TextDocument.Version
	s.touched(ctx, d)
	s.publish(ctx, d)
}

func (s *server) didClose(ctx context.Context, p *protocol.DocumentParams) {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return
	}
	delete(s.docs, d.uri)
	s.touched(ctx, d) // what is on disk counts again
	if s.pushes() {
		s.send(ctx, protocol.PublishParams{URI: d.uri, Diagnostics: []protocol.Diagnostic{}})
	}
	s.refresh()
	s.publishMatrices(ctx)
}

func (s *server) didSave(ctx context.Context, _ *none) {
	if s.refresh() {
		s.publishAll(ctx)
	}
}

// touched takes up that the text of a matrix has another one.
func (s *server) touched(ctx context.Context, d *document) {
	if !d.matrix {
		return
	}
	for path, p := range s.projects {
		if _, uses := p.stamps[d.path]; uses {
			s.reload(path)
		}
	}
	s.refresh()
	s.publishAll(ctx)
}

// pushes reports whether findings are sent without being asked for: to a client that does not
// ask. One that does would show all of them twice.
func (s *server) pushes() bool { return s.client.Capabilities.TextDocument.Diagnostic == nil }

func (s *server) publishAll(ctx context.Context) {
	if !s.pushes() {
		if s.client.Capabilities.Workspace.Diagnostics.RefreshSupport {
			_, _ = s.conn.DispatchCall(ctx, "workspace/diagnostic/refresh", nil)
		}
		return
	}
	for _, uri := range slices.Sorted(maps.Keys(s.docs)) {
		s.publish(ctx, s.docs[uri])
	}
	s.publishMatrices(ctx)
}

func (s *server) publish(ctx context.Context, d *document) {
	if !s.pushes() {
		return
	}
	version := d.version
	s.send(ctx, protocol.PublishParams{URI: d.uri, Version: &version, Diagnostics: s.diagnostics(d)})
}

// publishMatrices tells what is wrong with the files of matrices that are not open: else a
// script would be faulty, and nobody could see why.
func (s *server) publishMatrices(ctx context.Context) {
	if !s.pushes() {
		return
	}
	found := make(map[string][]protocol.Diagnostic)
	for _, path := range slices.Sorted(maps.Keys(s.projects)) {
		p := s.projects[path]
		for name, file := range p.files {
			if s.open(file) != nil {
				continue
			}
			src := p.m.Source(name)
			if src == nil {
				continue
			}
			d := &document{uri: fileURI(file), path: file, name: name, matrix: true, project: p}
			d.setText(src.Text)
			if list := s.diagnostics(d); len(list) > 0 {
				found[d.uri] = list
			}
		}
	}
	for uri := range s.published {
		if _, still := found[uri]; !still {
			delete(s.published, uri)
			if s.docs[uri] == nil {
				s.send(ctx, protocol.PublishParams{URI: uri, Diagnostics: []protocol.Diagnostic{}})
			}
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(found)) {
		s.published[uri] = true
		s.send(ctx, protocol.PublishParams{URI: uri, Diagnostics: found[uri]})
	}
}

func (s *server) send(ctx context.Context, p protocol.PublishParams) {
	_ = s.conn.Notify(ctx, "textDocument/publishDiagnostics", p)
}

// pull answers a client that asks for the findings of a document.
func (s *server) pull(_ context.Context, p *protocol.DiagnosticParams) (*protocol.DiagnosticReport, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return &protocol.DiagnosticReport{Kind: "full", Items: &[]protocol.Diagnostic{}}, nil
	}
	id := strconv.Itoa(d.revision)
	if d.project != nil {
		id += "." + strconv.Itoa(d.project.serial)
	}
	if id == p.PreviousResultID {
		return &protocol.DiagnosticReport{Kind: "unchanged", ResultID: id}, nil
	}
	items := s.diagnostics(d)
	return &protocol.DiagnosticReport{Kind: "full", ResultID: id, Items: &items}, nil
}

// found returns the findings of a document.
func (s *server) found(d *document) diag.List {
	if !d.matrix {
		return d.findings()
	}
	if d.project == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.project.list), func(f diag.Diagnostic) bool {
		return d.project.files[f.File] != d.path
	})
}

func (s *server) diagnostics(d *document) []protocol.Diagnostic {
	list := s.found(d)
	out := make([]protocol.Diagnostic, 0, len(list))
	for _, f := range list {
		out = append(out, s.diagnostic(d, f))
	}
	return out
}

// diagnostic is a finding as the client gets it.
func (s *server) diagnostic(d *document, f diag.Diagnostic) protocol.Diagnostic {
	f = f.HideKeys()
	out := output.NewDiagnostic(f, d.spanRange(f.Span))
	for _, r := range f.Related {
		uri := s.uriOf(d, r.File)
		if uri == "" {
			continue
		}
		at := d
		if r.File != d.name {
			at = s.fileOf(d, r.File)
		}
		out.Related = append(out.Related, protocol.RelatedMessage{Location: protocol.Location{URI: uri, Range: at.spanRange(r.Span)}, Message: r.Message})
	}
	return out
}

// fileOf returns a file of the project of d as a document, by the name that findings give it.
func (s *server) fileOf(d *document, name string) *document {
	if name == d.name {
		return d
	}
	f := &document{name: name, path: d.project.files[name], matrix: true, project: d.project}
	f.uri = s.pathURI(f.path)
	var text []byte
	if src := d.project.m.Source(name); src != nil {
		text = src.Text
	}
	f.setText(text)
	return f
}
