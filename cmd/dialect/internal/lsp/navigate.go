package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/edit"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/stdlib"
)

// definition leads from a line to its binding and to the skill that the binding names, and in
// a matrix from a member to its binding.
func (s *server) definition(_ context.Context, p *protocol.PositionParams) (any, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil || d.project == nil {
		return nil, nil
	}
	t := s.locate(d, p.Position)
	if t == nil || t.binding == nil {
		return nil, nil
	}
	b, origin := t.binding, d.spanRange(t.span)
	var links []protocol.LocationLink
	if t.skill == "" {
		if f := s.sourceOf(d, b.Source); f != nil {
			name := b.Span
			if at, ok := edit.Name(b); ok {
				name = at.Span
			}
			links = append(links, protocol.LocationLink{OriginSelectionRange: origin, TargetURI: f.uri, TargetRange: f.spanRange(edit.Table(b)), TargetSelectionRange: f.spanRange(name)})
		}
	}
	if path, ok := lint.SkillFile(d.project.m.Root, b.Skill); ok && (t.skill != "" || !d.matrix) {
		links = append(links, protocol.LocationLink{OriginSelectionRange: origin, TargetURI: s.pathURI(path)})
	}
	if s.client.Capabilities.TextDocument.Definition.LinkSupport {
		return links, nil
	}
	places := make([]protocol.Location, len(links))
	for i, l := range links {
		places[i] = protocol.Place(l.TargetURI, l.TargetSelectionRange)
	}
	return places, nil
}

// sourceOf returns a file of the matrix of d as a document. A pack is embedded in the program:
// it is laid down where caches are, for reading.
func (s *server) sourceOf(d *document, src *diag.Source) *document {
	if d.project.files[src.Name] != "" {
		return s.fileOf(d, src.Name)
	}
	name, ok := strings.CutPrefix(src.Name, "pack:")
	if !ok {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	dir := filepath.Join(cache, "dialect", "packs", s.o.Version)
	path := filepath.Join(dir, name+".toml")
	if text, err := regular.ReadOwn(path, 1<<20); err != nil || string(text) != string(src.Text) {
		if _, ok := stdlib.Pack(name); !ok || os.MkdirAll(dir, 0o700) != nil {
			return nil
		}
		_ = os.Remove(path)
		if os.WriteFile(path, src.Text, 0o400) != nil {
			return nil
		}
	}
	f := &document{uri: fileURI(path), path: path, name: src.Name, matrix: true, project: d.project}
	f.setText(src.Text)
	return f
}

// A use is a word of a document that means a binding.
type use struct {
	d    *document
	span diag.Span
}

// uses returns where a binding is named: the nouns, or the verbs, of the lines that are bound to it.
func (s *server) uses(p *project, in func(b *routing.Binding) bool, word func(c *lang.Command) lang.Word) (found []use) {
	s.scripts(p, func(d *document) {
		lang.Scan(d.src, 1, d.src.Lines(), func(c *lang.Command, _ diag.List) {
			if c == nil || c.Bad {
				return
			}
			if b := p.m.Lookup(c.Verb.Text, c.Noun.Text); b != nil && in(b) {
				found = append(found, use{d, word(c).Span})
			}
		})
	})
	return found
}

// references returns the lines of the project's scripts that a binding runs, and the composites
// that name it.
func (s *server) references(_ context.Context, p *protocol.ReferenceParams) ([]protocol.Location, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []protocol.Location{}
	d := s.docs[p.TextDocument.URI]
	if d == nil || d.project == nil {
		return out, nil
	}
	t := s.locate(d, p.Position)
	if t == nil || t.binding == nil {
		return out, nil
	}
	b := t.binding
	if p.Context.IncludeDeclaration {
		if f := s.sourceOf(d, b.Source); f != nil {
			out = append(out, protocol.Place(f.uri, f.spanRange(b.Span)))
		}
	}
	for _, u := range s.uses(d.project, func(o *routing.Binding) bool { return o == b }, func(c *lang.Command) lang.Word {
		return lang.Word{Span: diag.Span{Start: c.Verb.Span.Start, End: c.Noun.Span.End}}
	}) {
		out = append(out, protocol.Place(u.d.uri, u.d.spanRange(u.span)))
	}
	for _, o := range d.project.m.Bindings {
		for _, member := range edit.Members(o) {
			if d.project.m.ByName(member.Name) != b {
				continue
			}
			if f := s.sourceOf(d, o.Source); f != nil {
				out = append(out, protocol.Place(f.uri, f.spanRange(member.Span)))
			}
		}
	}
	return out, nil
}

// prepareRename says whether the word at a place can be renamed.
func (s *server) prepareRename(_ context.Context, p *protocol.PositionParams) (*protocol.PrepareRename, error) {
	d := s.docs[p.TextDocument.URI]
	if d == nil || d.project == nil {
		return nil, nil
	}
	t := s.locate(d, p.Position)
	if t == nil || t.binding == nil || t.role == other {
		return nil, nil
	}
	if t.binding.Pack {
		return nil, fmt.Errorf("\"%s %s\" is bound by %s, which cannot be changed; bind it in the project first", t.binding.Verb, t.binding.Noun, t.binding.Source.Name)
	}
	return &protocol.PrepareRename{Range: d.spanRange(t.span), Placeholder: string(d.src.Text[t.span.Start.Offset:t.span.End.Offset])}, nil
}

// rename gives a binding another name, noun or verb, in the matrix and in all scripts of the
// project. A verb is that of several bindings: all of them change.
func (s *server) rename(_ context.Context, p *protocol.RenameParams) (*protocol.WorkspaceEdit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.docs[p.TextDocument.URI]
	if d == nil || d.project == nil {
		return nil, errors.New("there is nothing to rename")
	}
	t := s.locate(d, p.Position)
	if t == nil || t.binding == nil || t.role == other {
		return nil, errors.New("there is nothing to rename")
	}
	if d.project.broken || diag.List(d.project.list).Err() != nil {
		return nil, fmt.Errorf("%s has errors; fix them first", d.project.m.Name)
	}
	r := &renaming{s: s, d: d, m: d.project.m, to: p.NewName, changes: make(map[string][]protocol.TextEdit)}
	var err error
	switch t.role {
	case nameRole:
		err = r.name(t.binding)
	case nounRole:
		err = r.noun(t)
	case verbRole:
		err = r.verb(t.binding.Verb)
	}
	if err != nil {
		return nil, err
	}
	return &protocol.WorkspaceEdit{Changes: r.changes}, nil
}

// A renaming gathers the edits of a rename.
type renaming struct {
	s       *server
	d       *document
	m       *routing.Matrix
	to      string
	changes map[string][]protocol.TextEdit
}

func (r *renaming) edit(d *document, span diag.Span, text string) {
	e := protocol.TextEdit{Range: d.spanRange(span), NewText: text}
	if !slices.Contains(r.changes[d.uri], e) {
		r.changes[d.uri] = append(r.changes[d.uri], e)
	}
}

// inMatrix edits a place of a file of the matrix.
func (r *renaming) inMatrix(b *routing.Binding, p edit.Place, ok bool) error {
	if !ok || b.Pack || r.d.project.files[b.Source.Name] == "" {
		return fmt.Errorf("how %s is written in %s is beyond a rename", b.Name, b.Source.Name)
	}
	r.edit(r.s.fileOf(r.d, b.Source.Name), p.Span, r.to)
	return nil
}

func (r *renaming) name(b *routing.Binding) error {
	if err := edit.CheckName(r.to); err != nil {
		return err
	}
	if other := r.m.ByName(r.to); other != nil && other != b {
		return fmt.Errorf("there is a binding %q already, in %s", r.to, other.Source.Name)
	}
	p, ok := edit.Name(b)
	if err := r.inMatrix(b, p, ok); err != nil {
		return err
	}
	for _, o := range r.m.Bindings {
		for _, member := range edit.Members(o) {
			if r.m.ByName(member.Name) == b {
				if err := r.inMatrix(o, member.Place, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *renaming) noun(t *thing) error {
	b := t.binding
	if err := routing.CheckNoun(r.to); err != nil {
		return err
	}
	if other := r.m.Lookup(b.Verb, r.to); other != nil && other != b {
		return fmt.Errorf("\"%s %s\" is bound already, by %s in %s", b.Verb, r.to, other.Name, other.Source.Name)
	}
	p, ok := edit.Value(b, "noun")
	if err := r.inMatrix(b, p, ok); err != nil {
		return err
	}
	for _, u := range r.s.uses(r.d.project, func(o *routing.Binding) bool { return o == b }, func(c *lang.Command) lang.Word {
		if c.Noun.Key() != b.Noun {
			return lang.Word{} // an alias, which stays one
		}
		return c.Noun
	}) {
		if u.span.IsValid() {
			r.edit(u.d, u.span, r.to)
		}
	}
	return nil
}

func (r *renaming) verb(verb string) error {
	if err := routing.CheckVerb(r.to); err != nil {
		return err
	}
	to := strings.ToLower(r.to)
	for _, b := range r.m.Bindings {
		if b.Verb != verb {
			continue
		}
		if other := r.m.Lookup(to, b.Noun); other != nil && other.Verb != verb {
			return fmt.Errorf("\"%s %s\" is bound already, by %s in %s", to, b.Noun, other.Name, other.Source.Name)
		}
		p, ok := edit.Value(b, "verb")
		if err := r.inMatrix(b, p, ok); err != nil {
			return err
		}
	}
	for _, u := range r.s.uses(r.d.project, func(o *routing.Binding) bool { return o.Verb == verb }, func(c *lang.Command) lang.Word {
		if c.Verb.Key() != verb {
			return lang.Word{}
		}
		return c.Verb
	}) {
		if !u.span.IsValid() {
			continue
		}
		text := r.to
		if first := u.d.src.Text[u.span.Start.Offset]; first >= 'A' && first <= 'Z' {
			text = capital(r.to)
		}
		r.edit(u.d, u.span, text)
	}
	return nil
}
