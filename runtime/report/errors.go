package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/diagnose"
)

// errors writes the first few errors of l whole, in about size bytes, and names the others. What another line has said
// in this report, or named, is not said once more.
func (p *printer) errors(l *DocResult, size int) {
	whole, names := 3, 12
	if p.opt.Form != Agent {
		whole, names = 10, 30
	}
	if p.said == nil {
		p.said = make(map[diagnose.Finding]*DocResult)
	}
	from := p.buf.Len()
	var rest, known []*DocError
	shown := 0
	for _, e := range l.Errors {
		e = p.seen(l, e)
		if by, said := p.said[e.key()]; said && by != l {
			known = append(known, e)
			continue
		}
		most := whole
		if e.Test == "" {
			most += 2 // one line each
		}
		p.said[e.key()] = l
		if shown >= most || shown > 0 && p.buf.Len()-from > size/2 {
			rest = append(rest, e)
			continue
		}
		shown++
		room := max(size-(p.buf.Len()-from), 120)
		p.f("  %s\n", diag.ClipBytes(e.String(), min(max(room-40, 100), 320)))
		for i, d := range e.Detail {
			if p.opt.Form == Agent && (i >= 8 || p.buf.Len()-from > size-60) {
				break
			}
			p.f("  | %s\n", diag.ClipBytes(d, 200))
		}
	}
	p.shown = shown + len(known)
	if len(known) > 0 {
		p.f("  %s\n", p.asIn(known))
	}
	if n := l.Count - shown - len(known); n > 0 {
		room := max(size-(p.buf.Len()-from)-20, 60)
		if p.opt.Form == Agent {
			room = min(room, 400)
		}
		p.f("  also: %s\n", list(rest, names, room, n))
	}
}

// known says where all that l reports was said before; empty if it has anything of its own.
func (p *printer) known(l *DocResult) string {
	if len(l.Errors) < l.Count || len(l.Notes) > 0 || l.Gate != nil || l.Fault != nil && len(l.Fault.ReproHints) > 1 {
		return ""
	}
	var errors []*DocError
	for _, e := range l.Errors {
		e = p.seen(l, e)
		if by, said := p.said[e.key()]; !said || by == l {
			return ""
		}
		errors = append(errors, e)
	}
	if len(errors) == 0 {
		return ""
	}
	return p.asIn(errors)
}

// asIn names errors that another line has said, and that line.
func (p *printer) asIn(errors []*DocError) string {
	return fmt.Sprintf("as in %s: %s", p.said[errors[0].key()].place(), list(errors, 3, 120, len(errors)))
}

// seen returns e, an error of l, with its file as it is seen from here where l ran in a folder below: there the tool named it
// from that folder.
func (p *printer) seen(l *DocResult, e *DocError) *DocError {
	if e == nil || e.File == "" || filepath.IsAbs(e.File) || p.opt.Rel == nil || l.Dir == "" {
		return e
	}
	if below := p.rel(l.Dir); below == "." || !filepath.IsLocal(below) {
		return e
	}
	from := *e
	from.File = filepath.ToSlash(p.rel(filepath.Join(l.Dir, filepath.FromSlash(e.File))))
	return &from
}

// key is what two reports of one error have in common.
func (e *DocError) key() diagnose.Finding {
	return diagnose.Finding{File: filepath.ToSlash(filepath.Clean(e.File)), Line: e.Line, Column: e.Column, Message: e.Message}
}

// list names the first few errors, in about room bytes, of which there are n.
func list(errors []*DocError, most, room, n int) string {
	var names []string
	seen := make(map[string]bool)
	shown := 0
	for _, e := range errors {
		name := e.name()
		if !seen[name] {
			if len(names) == most || len(names) > 0 && room < len(name) {
				break
			}
			seen[name] = true
			names = append(names, name)
			room -= len(name) + 2
		} else if e.Test != "" {
			continue // another test, whose name is cut to the same
		}
		shown++
	}
	text := strings.Join(names, ", ")
	switch {
	case len(names) == 0:
		return fmt.Sprintf("%d more", n)
	case n > shown:
		text += fmt.Sprintf(", and %d more", n-shown)
	}
	return text
}
