package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"time"

	"github.com/command-dialect/dialect/runtime/diagnose"
)

//go:embed page.css
var pageCSS string

// A Proof is what a store of receipts says of one line, or of the gate.
type Proof struct {
	OK   bool
	Text string // one sentence
}

// HTMLOptions say what a page has beside its document.
type HTMLOptions struct {
	Version string
	Now     time.Time
	// Output returns what is kept of a stream ("stdout", "stderr") of a line, and a note
	// where that is not all; nil leaves the output out.
	Output func(l *DocResult, stream string) (text, note string)
	// Against is what a store has and the document lacks, or contradicts, a sentence each.
	Against []string
	// Proof and GateProof compare the document with a store; nil says nothing.
	Proof     func(l *DocResult) *Proof
	GateProof func(g *DocGate) *Proof
}

// Bounds of a page, in bytes of output: of one stream, and of all.
const (
	maxPageStream = 32 << 10
	maxPageOutput = 8 << 20
)

// maxAgainst bounds how many contradictions stand at the headline.
const maxAgainst = 20

type pageFact struct{ Name, Value string }

type pageOutput struct{ Name, Note, Text string }

type pageProof struct{ Class, Text string }

type pageLine struct {
	ID, Title, Verdict, Brief, Time, Error, Command string
	Open, Bar                                       bool
	Left, Width                                     float64
	Facts                                           []pageFact
	Proof                                           *pageProof
	Outputs                                         []pageOutput
	Refusals                                        []string
	Members                                         []pageLine
}

type page struct {
	Version, Generated, Verdict, Word, Script, Counts, Elapsed, Half, Gate, GateClass, Trust string
	Proved                                                                                   bool
	Against, Warnings, Refusals                                                              []string
	Facts                                                                                    []pageFact
	GateProof                                                                                *pageProof
	Lines                                                                                    []pageLine
}

// HTML writes a document as one page that needs nothing else: no network, no script.
func HTML(w io.Writer, d *Document, o HTMLOptions) error {
	b := pageBuilder{d: d, o: o, left: maxPageOutput}
	var page pageWriter
	page.page(b.page())
	_, err := io.WriteString(w, page.String())
	return err
}

// A pageWriter makes the text of a page, without html/template: a program that has text/template keeps each exported method of each type,
// as a template could call it, which made dialect a tenth larger.
type pageWriter struct{ strings.Builder }

// put writes markup, in which %s stands for a value. Each value is escaped, for text and for attributes in quotation marks; the markup
// has them nowhere else, and numbers alone in `style`.
func (w *pageWriter) put(markup string, values ...string) {
	for i, v := range values {
		values[i] = html.EscapeString(strings.ReplaceAll(v, "\x00", "\uFFFD"))
	}
	for _, v := range values {
		before, after, _ := strings.Cut(markup, "%s")
		w.WriteString(before)
		w.WriteString(v)
		markup = after
	}
	w.WriteString(markup)
}

// each puts markup once for each value.
func (w *pageWriter) each(markup string, values []string) {
	for _, v := range values {
		w.put(markup, v)
	}
}

func (w *pageWriter) facts(list []pageFact) {
	w.put("<dl>\n")
	for _, f := range list {
		w.put("<dt>%s</dt><dd><code>%s</code></dd>\n", f.Name, f.Value)
	}
	w.put("</dl>\n")
}

func (w *pageWriter) proof(p *pageProof) {
	if p != nil {
		w.put("<p class=\"%s\">%s</p>\n", p.Class, p.Text)
	}
}

func (w *pageWriter) page(p *page) {
	w.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="dialect %s">
<title>%s: %s</title>
<style>
`, p.Version, p.Verdict, p.Script)
	w.WriteString(pageCSS)
	w.put(`</style>
</head>
<body>
<a class="skip" href="#lines">To the lines</a>
<header>
<h1><span class="%s">%s</span> %s</h1>
<p>%s in %s</p>
`, p.Verdict, p.Word, p.Script, p.Counts, p.Elapsed)
	w.each("<p class=\"failed\">%s</p>\n", p.Against)
	w.each("<p class=\"skipped\">%s</p>\n", p.Warnings)
	w.put(`</header>
<main>
<h2>Gate</h2>
<p><span class="%s">%s</span></p>
`, p.GateClass, p.Gate)
	w.each("<p class=\"failed\">%s</p>\n", p.Refusals)
	w.proof(p.GateProof)
	w.facts(p.Facts)
	w.put(`<p class="soft">%s</p>
<h2 id="lines">Lines</h2>
<div class="axis" aria-hidden="true"><span>0 s</span><span>%s</span><span>%s</span></div>
`, p.Trust, p.Half, p.Elapsed)
	w.lines(p.Lines)
	proved := ""
	if p.Proved {
		proved = " and its store of receipts"
	}
	w.put(`
</main>
<footer><p class="soft">Written by dialect %s on %s, from the run's own record%s.</p></footer>
</body>
</html>
`, p.Version, p.Generated, proved)
}

func (w *pageWriter) lines(list []pageLine) {
	w.put("<ol class=\"lines\">\n")
	for _, l := range list {
		w.line(l)
	}
	w.put("</ol>\n")
}

func (w *pageWriter) line(l pageLine) {
	open := ""
	if l.Open {
		open = " open"
	}
	w.put("<li>\n<details"+open+">\n<summary><span class=\"word %s\">%s</span><span class=\"what\"><span class=\"soft\">%s</span> %s", l.Verdict, l.Verdict, l.ID, l.Title)
	if l.Brief != "" {
		w.put(` <span class="soft">%s</span>`, l.Brief)
	}
	w.put("</span><span class=\"num soft\">%s</span>\n", l.Time)
	if l.Bar {
		w.put(`<span class="track" aria-hidden="true"><span class="bar %s" style="left:%s%;width:%s%"></span></span>`, l.Verdict, fmt.Sprint(l.Left), fmt.Sprint(l.Width))
	}
	w.put("</summary>\n<div class=\"body\">\n")
	if l.Error != "" {
		w.put("<p class=\"failed\">%s</p>\n", l.Error)
	}
	if l.Command != "" {
		w.put("<pre class=\"wrap\" tabindex=\"0\" aria-label=\"command\">$ %s</pre>\n", l.Command)
	}
	w.facts(l.Facts)
	w.proof(l.Proof)
	for _, o := range l.Outputs {
		name := o.Name
		if o.Note != "" {
			name += ": " + o.Note
		}
		w.put("<p class=\"soft\">%s</p>\n", name)
		if o.Text != "" {
			w.put("<pre tabindex=\"0\" aria-label=\"%s\">%s</pre>\n", o.Name, o.Text)
		}
	}
	w.each("<p class=\"failed\">%s</p>\n", l.Refusals)
	if len(l.Members) > 0 {
		w.lines(l.Members)
	}
	w.put("</div>\n</details>\n</li>\n")
}

type pageBuilder struct {
	d       *Document
	o       HTMLOptions
	started time.Time
	left    int // bytes of output that still find room
}

func (b *pageBuilder) page() *page {
	d := b.d
	b.started, _ = time.Parse(time.RFC3339Nano, d.Started)
	p := &page{
		Version: b.o.Version, Generated: b.o.Now.UTC().Format("2006-01-02 15:04:05 UTC"),
		Verdict: d.Verdict, Word: capital(d.Verdict), Script: clean(d.Script.Name),
		Counts: d.counts(), Elapsed: seconds(d.Elapsed), Half: seconds(d.Elapsed / 2),
		Gate: clean(d.gateText()), GateClass: "skipped", Proved: b.o.Proof != nil,
	}
	if n := len(b.o.Against); n > 0 {
		// A reader who sees the headline alone must not believe the document.
		p.Verdict, p.Word, p.Counts = "failed", "Contradicted", "The document says "+clean(d.Verdict)+", and the store of receipts contradicts it. It says: "+p.Counts
		for _, text := range b.o.Against[:min(n, maxAgainst)] {
			p.Against = append(p.Against, clean(text))
		}
		if n > maxAgainst {
			p.Against = append(p.Against, fmt.Sprintf("And %d more.", n-maxAgainst))
		}
	}
	if t := d.Tests; t != nil {
		p.Counts += fmt.Sprintf("; tests: %d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
	}
	if d.Signal != "" {
		p.Warnings = append(p.Warnings, "Ended by "+d.Signal)
	}
	if d.Limit != "" {
		p.Warnings = append(p.Warnings, clean(d.Limit))
	}
	if d.Degraded != "" {
		p.Warnings = append(p.Warnings, "DEGRADED: receipts were not kept: "+clean(d.Degraded))
	}
	if d.Script.Part {
		p.Warnings = append(p.Warnings, "Only a part of the script was run.")
	}
	d.leaves(func(l *DocResult) {
		if l.fewer() {
			p.Warnings = append(p.Warnings, "Fewer tests: "+clean(l.Title())+": "+l.missing())
		}
	})
	fact := func(name, value string) {
		if value != "" {
			p.Facts = append(p.Facts, pageFact{name, clean(value)})
		}
	}
	fact("run", d.Run)
	fact("started", d.Started)
	fact("session", d.Session)
	fact("nonce", d.Nonce)
	fact("script", d.Script.SHA256)
	if d.Matrix != nil {
		fact("matrix", d.Matrix.Name+" "+d.Matrix.SHA256)
	}
	p.Trust = "Without a gate receipt nothing is proved: this page is only what the run says of itself."
	if g := d.Gate; g != nil {
		fact("gate receipt", g.SHA256)
		if g.Tree != nil {
			fact("tree", g.Tree.Tree)
			fact("files", g.Tree.Bytes)
		}
		switch g.Verdict {
		case "passed":
			p.GateClass = "passed"
			p.Trust = map[string]string{
				"L0": "Recorded by itself: the receipts are in an append-only log that nobody has signed. Anyone who can write the store could have written all of it.",
				"L1": "Recorded under a key: the receipts are signed with a key that the commands did not get. Anyone who holds the key could have written them.",
				"L2": "Recorded by a notary: another process, which those who asked for the run could not reach, ran the commands and signed the receipts.",
			}[g.Level]
		case "refused":
			p.GateClass = "failed"
		}
		for _, r := range g.Refusals {
			p.Refusals = append(p.Refusals, clean(r.Message))
		}
		if b.o.GateProof != nil {
			p.GateProof = b.proof(b.o.GateProof(g))
		}
	}
	p.Lines = b.lines(d.Lines)
	return p
}

func (b *pageBuilder) proof(p *Proof) *pageProof {
	switch {
	case p == nil:
		return nil
	case p.OK:
		return &pageProof{"passed", clean(p.Text)}
	}
	return &pageProof{"failed", clean(p.Text)}
}

func (b *pageBuilder) lines(lines []*DocResult) (out []pageLine) {
	for _, l := range lines {
		out = append(out, b.line(l))
	}
	return out
}

func (b *pageBuilder) line(l *DocResult) pageLine {
	p := pageLine{ID: clean(l.ID), Title: clean(l.Title()), Verdict: l.Verdict, Open: l.Bad(), Time: "not started"}
	at, err := time.Parse(time.RFC3339Nano, l.Started)
	if err == nil && !b.started.IsZero() {
		begin := at.Sub(b.started).Seconds()
		p.Time = fmt.Sprintf("%s, from %s", seconds(l.Elapsed), seconds(begin))
		if b.d.Elapsed > 0 {
			p.Bar = true
			p.Left = percent(begin / b.d.Elapsed)
			p.Width = math.Min(percent(l.Elapsed/b.d.Elapsed), 100-p.Left)
		}
	}
	if l.Verdict != "passed" {
		p.Brief = strings.TrimLeft(strings.TrimPrefix(l.How(), l.Verdict), ", ")
	}
	if t := l.Tests; t != nil {
		p.Brief = strings.TrimPrefix(p.Brief+fmt.Sprintf(", %d tests", t.Passed+t.Failed), ", ")
	}
	if l.Error != nil {
		p.Error = clean(l.Error.String())
		if l.Count > 1 {
			p.Error += fmt.Sprintf(", and %d more", l.Count-1)
		}
	}
	fact := func(name, value string) {
		if value != "" {
			p.Facts = append(p.Facts, pageFact{name, clean(value)})
		}
	}
	if len(l.Members) > 0 {
		fact("binding", l.Binding)
		p.Members = b.lines(l.Members)
		return p
	}
	if len(l.Argv) > 0 {
		p.Command = Command(l.Argv)
	}
	fact("line", fmt.Sprintf("%s:%d: %s", l.File, l.Line, l.Text))
	fact("binding", l.Binding+", "+l.Effect+"s")
	if l.ExitCode != nil {
		fact("exit code", fmt.Sprint(*l.ExitCode))
	}
	fact("signal", l.Signal)
	if l.Attempts > 1 {
		fact("attempts", fmt.Sprint(l.Attempts))
	}
	if l.Waited > 0 {
		fact("waited", seconds(l.Waited))
	}
	if t := l.Tests; t != nil {
		fact("tests", fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped))
	}
	fact("receipt", l.Receipt)
	for _, n := range l.Notes {
		fact("note", n)
	}
	if f := l.Fault; f != nil && len(f.ReproHints) > 0 {
		fact("again", f.ReproHints[0])
		for _, h := range f.ReproHints[1:] {
			fact("hint", h)
		}
	}
	if l.Gate != nil {
		for _, r := range l.Gate.Refusals {
			p.Refusals = append(p.Refusals, clean(r.Message))
		}
	}
	if b.o.Proof != nil {
		p.Proof = b.proof(b.o.Proof(l))
	}
	for _, s := range []struct {
		name string
		out  *DocOutput
	}{{"stdout", l.Stdout}, {"stderr", l.Stderr}} {
		if s.out == nil || s.out.Bytes == 0 || b.o.Output == nil {
			continue
		}
		text, note := b.o.Output(l, s.name)
		text = strings.TrimRight(strip(string(diagnose.Readable([]byte(text)))), "\n")
		if most := min(maxPageStream, b.left); len(text) > most {
			cutAt := strings.IndexByte(text[len(text)-most:], '\n')
			text = text[len(text)-most+cutAt+1:]
			note = strings.TrimPrefix(note+fmt.Sprintf(", the last %d of %d bytes", len(text), s.out.Bytes), ", ")
		}
		b.left -= len(text)
		p.Outputs = append(p.Outputs, pageOutput{s.name, note, text})
	}
	return p
}

func percent(f float64) float64 {
	return math.Round(math.Max(0, math.Min(1, f))*10000) / 100
}
