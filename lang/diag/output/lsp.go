package output

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/command-dialect/dialect/lang/diag"
)

// The types of the Language Server Protocol 3.17 that diagnostics need. Positions are
// 0-based, characters count UTF-16 code units.
type (
	// PublishParams are the parameters of textDocument/publishDiagnostics.
	PublishParams struct {
		URI         string       `json:"uri"`
		Diagnostics []Diagnostic `json:"diagnostics"`
	}
	// A Diagnostic is one finding.
	Diagnostic struct {
		Range    Range     `json:"range"`
		Severity int       `json:"severity"` // 1 error, 2 warning, 3 information
		Code     string    `json:"code"`
		Source   string    `json:"source"` // "dialect"
		Message  string    `json:"message"`
		Tags     []int     `json:"tags,omitempty"` // 1 unnecessary, 2 deprecated
		Related  []Related `json:"relatedInformation,omitempty"`
	}
	// A Range is half open.
	Range struct {
		Start Position `json:"start"`
		End   Position `json:"end"`
	}
	// A Position is a place between two characters.
	Position struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	// A Related is another place that explains a finding.
	Related struct {
		Location Location `json:"location"`
		Message  string   `json:"message"`
	}
	// A Location is a place in a file.
	Location struct {
		URI   string `json:"uri"`
		Range Range  `json:"range"`
	}
)

// LSP writes one [PublishParams] a file, each on a line of its own: the files of o.Names
// first, with an empty list where nothing was found, then the others that l names.
func LSP(w io.Writer, l diag.List, o Options) error {
	names := slices.Clone(o.Names)
	for _, d := range l {
		if !slices.Contains(names, d.File) {
			names = append(names, d.File)
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, name := range names {
		p := PublishParams{URI: uri(name), Diagnostics: []Diagnostic{}}
		for _, d := range l {
			if d.File == name {
				p.Diagnostics = append(p.Diagnostics, o.Diagnostic(d))
			}
		}
		if err := enc.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

// Diagnostic is d as an editor gets it.
func (o Options) Diagnostic(d diag.Diagnostic) Diagnostic {
	d = d.HideKeys()
	out := NewDiagnostic(d, o.rangeOf(d.File, d.Span))
	for _, r := range d.Related {
		out.Related = append(out.Related, Related{Location{uri(r.File), o.rangeOf(r.File, r.Span)}, r.Message})
	}
	return out
}

// NewDiagnostic is d, which is about r, without what is related to it.
func NewDiagnostic(d diag.Diagnostic, r Range) Diagnostic {
	out := Diagnostic{Range: r, Severity: int(d.Severity) + 1, Code: string(d.Code), Source: "dialect", Message: text(d)}
	switch d.Code {
	case diag.DeprecatedLine:
		out.Tags = []int{2}
	case diag.UnusedBinding:
		out.Tags = []int{1}
	}
	return out
}

// rangeOf is a span as an editor counts. Without the text its columns are code points.
func (o Options) rangeOf(file string, s diag.Span) Range {
	if !s.IsValid() {
		return Range{}
	}
	src := o.source(file)
	at := func(p diag.Pos) Position {
		if src != nil {
			return Position{p.Line - 1, src.UTF16Column(p)}
		}
		return Position{p.Line - 1, p.Column - 1}
	}
	r := Range{Start: at(s.Start), End: at(s.Start)}
	if s.End.IsValid() {
		r.End = at(s.End)
	}
	return r
}
