// Package output writes diagnostics in the formats that other programs read: SARIF 2.1.0,
// annotations of GitHub, code quality of GitLab, Checkstyle XML, and the parameters of the
// language server's publishDiagnostics. What comes in is a [diag.List]; nothing here finds
// or judges anything. The format for people is [diag.WriteText].
package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
)

// Options say what the formats need beside the diagnostics.
type Options struct {
	// Sources returns the text of a file by the name that diagnostics give it; nil, or a
	// nil source, where there is none. Columns in UTF-16 need it.
	Sources func(name string) *diag.Source
	// Root is the absolute directory that paths of code hosts begin at: the top of the
	// repository. A file that is not below it keeps its name.
	Root string
	// Version of dialect.
	Version string
	// Names are files to write although nothing was found in them (LSP, Checkstyle).
	Names []string
}

func (o Options) source(name string) *diag.Source {
	if o.Sources == nil {
		return nil
	}
	return o.Sources(name)
}

// path is the name of a file as code hosts want it: relative to Root, with slashes.
func (o Options) path(name string) string {
	if name == "-" || name == "-e" || o.Root == "" || strings.HasPrefix(name, "pack:") {
		return name
	}
	if rel, ok := Relative(o.Root, name); ok {
		return rel
	}
	return filepath.ToSlash(name)
}

// Relative returns the path of a file relative to the directory root, with slashes, and whether the file
// is below it.
func Relative(root, file string) (rel string, ok bool) {
	abs, err := filepath.Abs(file)
	if err == nil {
		rel, err = filepath.Rel(root, abs)
	}
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// WriteJSON writes v as a JSON document, indented, with <, > and & as they are, and without signing keys.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(diag.HideKeys(b.Bytes()))
	return err
}

// fingerprint tells a finding from others, also when lines move: it is made of the code, the
// file and the text of the line.
func (o Options) fingerprint(d diag.Diagnostic, seen map[string]int) string {
	h := sha256.New()
	line := []byte(nil)
	if src := o.source(d.File); src != nil && d.Span.IsValid() {
		line = bytes.TrimSpace(src.Line(d.Span.Start.Line))
	}
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s", d.Code, o.path(d.File), line, d.Message)
	sum := hex.EncodeToString(h.Sum(nil)[:16])
	seen[sum]++ // the same again on another line
	if n := seen[sum]; n > 1 {
		sum = fmt.Sprintf("%s:%d", sum, n)
	}
	return sum
}

// text is the message with the hint.
func text(d diag.Diagnostic) string {
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + "\nhint: " + d.Hint
}

// GitHub writes l as commands of GitHub's runner.
func GitHub(w io.Writer, l diag.List, o Options) error {
	var b bytes.Buffer
	for _, d := range l {
		d = d.HideKeys()
		level := map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Note: "notice"}[d.Severity]
		fmt.Fprintf(&b, "::%s file=%s", level, EscapeProperty(o.path(d.File)))
		if s := d.Span; s.IsValid() {
			fmt.Fprintf(&b, ",line=%d,endLine=%d,col=%d", s.Start.Line, max(s.End.Line, s.Start.Line), s.Start.Column)
			if s.End.Line == s.Start.Line {
				fmt.Fprintf(&b, ",endColumn=%d", s.End.Column)
			}
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", EscapeProperty(string(d.Code)), EscapeData(text(d)))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// EscapeData and EscapeProperty escape text in a command of GitHub's runner: what follows
// "::", and the value of a property before it. The commands are also read in terminals, which nothing
// in them can drive.
func EscapeData(s string) string {
	return diag.PrintableLines(strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s))
}

// EscapeProperty: see [EscapeData].
func EscapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(EscapeData(s))
}

// GitLab writes l as a code quality report.
func GitLab(w io.Writer, l diag.List, o Options) error {
	type lines struct {
		Begin int `json:"begin"`
	}
	type location struct {
		Path  string `json:"path"`
		Lines lines  `json:"lines"`
	}
	type issue struct {
		Description string   `json:"description"`
		CheckName   string   `json:"check_name"`
		Fingerprint string   `json:"fingerprint"`
		Severity    string   `json:"severity"`
		Location    location `json:"location"`
	}
	out := make([]issue, 0, len(l))
	seen := make(map[string]int)
	for _, d := range l {
		d = d.HideKeys()
		severity := map[diag.Severity]string{diag.Error: "major", diag.Warning: "minor", diag.Note: "info"}[d.Severity]
		out = append(out, issue{text(d), string(d.Code), o.fingerprint(d, seen), severity, location{o.path(d.File), lines{max(d.Span.Start.Line, 1)}}})
	}
	return WriteJSON(w, out)
}

// Checkstyle writes l as Checkstyle XML.
func Checkstyle(w io.Writer, l diag.List, o Options) error {
	type fault struct {
		Line     int    `xml:"line,attr,omitempty"`
		Column   int    `xml:"column,attr,omitempty"`
		Severity string `xml:"severity,attr"`
		Message  string `xml:"message,attr"`
		Source   string `xml:"source,attr"`
	}
	type file struct {
		Name   string  `xml:"name,attr"`
		Faults []fault `xml:"error"`
	}
	doc := struct {
		XMLName xml.Name `xml:"checkstyle"`
		Version string   `xml:"version,attr"`
		Files   []*file  `xml:"file"`
	}{Version: "4.3"}
	files := make(map[string]*file)
	get := func(name string) *file {
		f := files[name]
		if f == nil {
			f = &file{Name: clean(o.path(name))}
			files[name] = f
			doc.Files = append(doc.Files, f)
		}
		return f
	}
	for _, name := range o.Names {
		get(name)
	}
	for _, d := range l {
		d = d.HideKeys()
		severity := map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Note: "info"}[d.Severity]
		f := get(d.File)
		f.Faults = append(f.Faults, fault{d.Span.Start.Line, d.Span.Start.Column, severity, clean(text(d)), "dialect." + string(d.Code)})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// clean leaves out what XML 1.0 cannot hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= ' ' && r != 0xfffe && r != 0xffff && r != 0xfffd {
			return r
		}
		return '?'
	}, s)
}

// uri is the file URI of a file; of what is not a file a name that is one.
func uri(name string) string {
	if name == "-" || name == "-e" || strings.HasPrefix(name, "pack:") {
		return (&url.URL{Scheme: "dialect", Opaque: url.PathEscape(strings.TrimPrefix(name, "-") + "stdin")}).String()
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		abs = name
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs
	}
	return (&url.URL{Scheme: "file", Path: abs}).String()
}

// reference is the relative URI of a file.
func (o Options) reference(name string) string {
	path := o.path(name)
	if strings.HasPrefix(path, "/") || filepath.IsAbs(name) {
		return uri(name)
	}
	return (&url.URL{Path: path}).EscapedPath()
}
