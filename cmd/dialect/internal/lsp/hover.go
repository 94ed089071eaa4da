package lsp

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/lsp/protocol"
	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/edit"
	"github.com/command-dialect/dialect/lang/routing/lint"
	"github.com/command-dialect/dialect/lang/routing/reference"
	"github.com/command-dialect/dialect/runtime/redact"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/stdlib"
)

// maxSkill is how many bytes of a SKILL.md a hover shows.
const maxSkill = 2000

// hover says what the word at a place means: what a line runs, within what bounds, and what the
// store knows of it on the present files.
func (s *server) hover(ctx context.Context, p *protocol.PositionParams) (*protocol.Hover, error) {
	h, pl := s.hovered(p)
	if h == nil || pl == nil || s.o.Receipt == nil {
		return h, nil
	}
	// The files of a project are looked at, which may take a while: without mu.
	if text := s.o.Receipt(ctx, pl.Steps[0], &pl.Matrix); text != "" {
		h.Contents.Value += "\n\nreceipts: " + text
	}
	return h, nil
}

// hovered is the hover without what takes time, and the line that it is about, if that is right.
func (s *server) hovered(p *protocol.PositionParams) (*protocol.Hover, *plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.docs[p.TextDocument.URI]
	if d == nil {
		return nil, nil
	}
	if d.matrix {
		if k, start, end, ok := edit.KeyAt(d.src.Text, d.offset(p.Position)); ok {
			return &protocol.Hover{Contents: protocol.Markup{Kind: "markdown", Value: reference.Markdown(k)}, Range: d.rangeOf(start, end)}, nil
		}
	}
	if d.project == nil {
		return nil, nil
	}
	at := s.locate(d, p.Position)
	switch {
	case at == nil:
		return nil, nil
	case at.code != "":
		page, _ := diag.PageOf(at.code)
		return &protocol.Hover{Contents: protocol.Markup{Kind: "markdown", Value: fmt.Sprintf("**%s**\n\n%s", page.Code, page.Text)}, Range: d.spanRange(at.span)}, nil
	case at.prep != "":
		text := "**" + at.prep + "**"
		for _, v := range routing.StandardVocabulary().Prepositions {
			if v.Name == at.prep {
				text += ": " + v.Meaning
			}
		}
		return &protocol.Hover{Contents: protocol.Markup{Kind: "markdown", Value: text}, Range: d.spanRange(at.span)}, nil
	case at.binding == nil:
		return nil, nil
	}
	m := d.project.m
	var text strings.Builder
	fmt.Fprintf(&text, "**%s %s**\n\n", at.binding.Verb, at.binding.Noun)
	var bound *plan.Plan // the line, if it is right
	if at.command != nil {
		pl, list := resolve.Resolve(&lang.File{Source: d.src, Commands: []*lang.Command{at.command}}, m, resolve.Options{Vars: d.project.vars, Env: os.LookupEnv})
		if list.Err() == nil && len(pl.Steps) == 1 {
			bound = pl
		}
	}
	if bound != nil {
		step := bound.Steps[0]
		secret := redact.New(redact.Options{Environ: slices.Concat(os.Environ(), bound.Environ()), Declared: bound.Secrets()})
		for _, r := range report.Explain(step) {
			r.Text = secret.Text(r.Text)
			switch {
			case r.Name == "runs" && step.Kind == plan.Process:
				text.WriteString(codeBlock("sh", r.Text) + "\n")
			case r.Name == "": // the elements of argv are for anyone who doubts: see dialect explain
				if step.Kind == plan.Composite {
					fmt.Fprintf(&text, "  - %s\n", escapeMarkdown(r.Text))
				}
			default:
				fmt.Fprintf(&text, "- %s: %s\n", r.Name, escapeMarkdown(r.Text))
			}
		}
		for _, v := range step.Values {
			if v.Name != "" && !v.Secret {
				fmt.Fprintf(&text, "- {%s}: %s\n", v.Name, escapeMarkdown(secret.Text(v.Text)))
			}
		}
	} else {
		text.WriteString(describe(at.binding))
	}
	if notes := strings.TrimSpace(at.binding.Notes); notes != "" {
		text.WriteString("\n" + escapeMarkdown(notes) + "\n")
	}
	if path, ok := lint.SkillFile(m.Root, at.binding.Skill); ok {
		if skill, err := regular.Read(path, 1<<20); err == nil {
			text.WriteString("\n---\n\n" + skillText(skill) + "\n")
		}
	} else if skill, ok := stdlib.Skill(at.binding.Skill); ok {
		text.WriteString("\n---\n\n" + skillText(skill) + "\n")
	}
	return &protocol.Hover{Contents: protocol.Markup{Kind: "markdown", Value: text.String()}, Range: d.spanRange(at.span)}, bound
}

// skillText is the body of a SKILL.md, without its front matter, cut to what a hover can show.
func skillText(text []byte) string {
	if rest, ok := bytes.CutPrefix(text, []byte("---\n")); ok {
		if _, body, ok := bytes.Cut(rest, []byte("\n---\n")); ok {
			text = body
		}
	}
	text = bytes.TrimSpace(text)
	if len(text) <= maxSkill {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	text = text[:maxSkill]
	if i := bytes.LastIndexByte(text, '\n'); i > 0 {
		text = text[:i]
	}
	return strings.ToValidUTF8(string(text), "\ufffd") + "\n\n..."
}

// escapeMarkdown keeps text of a matrix from being markup: a link, say, or an image.
func escapeMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "!", `\!`, "#", `\#`, "|", `\|`).Replace(text)
}

// A thing is what stands at a place of a document.
type thing struct {
	span    diag.Span
	command *lang.Command    // of a script
	binding *routing.Binding // that the word or line is about
	role    role
	prep    string    // a preposition, in lower case
	code    diag.Code // in a comment that silences it
	skill   string    // the name of a skill, in a matrix
}

// A role is what a word is in the binding that it is about.
type role uint8

const (
	other    role = iota // a value of the line, or something in the table of the binding
	verbRole             // the verb
	nounRole             // the noun, or an alias
	nameRole             // NAME of [commands.NAME], or a member of a composite
)

// locate returns what stands at a position, or nil.
func (s *server) locate(d *document, p protocol.Position) *thing {
	offset := d.offset(p)
	inside := func(sp diag.Span) bool {
		return sp.IsValid() && sp.Start.Offset <= offset && offset <= sp.End.Offset
	}
	m := d.project.m
	if d.matrix {
		return s.locateInMatrix(d, offset, inside)
	}
	n := d.src.Pos(offset).Line
	c := commandAt(d.src, n)
	if start, end, ok := lang.Comment(d.src, n, c); ok && start <= offset {
		comment := string(d.src.Text[start:end])
		if i := strings.Index(comment, "dialect: ignore "); i >= 0 {
			for _, code := range diag.Codes() {
				if j := strings.Index(comment, string(code)); j > i && inside(d.src.Span(start+j, start+j+len(code))) {
					return &thing{span: d.src.Span(start+j, start+j+len(code)), code: code}
				}
			}
		}
		return nil
	}
	if c == nil || !inside(c.Span) {
		return nil
	}
	t := &thing{command: c, span: c.Span, binding: m.Lookup(c.Verb.Text, c.Noun.Text)}
	switch {
	case inside(c.Verb.Span):
		t.span, t.role = c.Verb.Span, verbRole
	case inside(c.Noun.Span):
		t.span, t.role = c.Noun.Span, nounRole
	case inside(c.Prep.Span):
		return &thing{span: c.Prep.Span, prep: c.Prep.Key()}
	case c.Object != nil && inside(c.Object.Span):
		t.span = c.Object.Span
	}
	if c.Bad {
		t.command = nil
	}
	return t
}

func (s *server) locateInMatrix(d *document, offset int, inside func(diag.Span) bool) *thing {
	m := d.project.m
	var src *diag.Source
	for name, path := range d.project.files {
		if path == d.path {
			src = m.Source(name)
		}
	}
	if src == nil {
		return nil
	}
	b := edit.BindingAt(m, src, offset)
	if b == nil {
		return nil
	}
	t := &thing{binding: b, span: src.Span(offset, offset)}
	if p, ok := edit.Name(b); ok && inside(p.Span) {
		t.span, t.role = p.Span, nameRole
		return t
	}
	for key, role := range map[string]role{"verb": verbRole, "noun": nounRole, "skill": other} {
		if p, ok := edit.Value(b, key); ok && inside(p.Span) {
			t.span, t.role = p.Span, role
			if key == "skill" {
				t.skill = b.Skill
			}
			return t
		}
	}
	for _, member := range edit.Members(b) {
		if inside(member.Span) {
			if of := m.ByName(member.Name); of != nil {
				return &thing{binding: of, span: member.Span, role: nameRole}
			}
		}
	}
	return t
}
