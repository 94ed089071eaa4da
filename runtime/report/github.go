package report

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/diag/output"
)

// Annotations writes the failures of a document as commands of GitHub's runner, which
// shows them beside the code. root is the directory that GitHub's paths begin at; a file
// that is not below it is named in the message.
func Annotations(w io.Writer, d *Document, root string) error {
	var b bytes.Buffer
	n := 0
	annotate := func(l *DocResult, e *DocError) {
		if n++; n > 10 { // GitHub shows ten a step
			return
		}
		title, message := fmt.Sprintf("%s: %s", clean(l.Title()), l.Verdict), l.How()
		file, line, column := l.File, l.Line, 0
		if e != nil {
			message = e.Message
			if e.Test != "" {
				message = e.Test + ": " + message
			}
			if e.File != "" && e.Line > 0 {
				file, line, column = e.File, e.Line, e.Column
				if !filepath.IsAbs(file) && l.Dir != "" {
					file = filepath.Join(l.Dir, filepath.FromSlash(file))
				}
			}
		}
		if rel, ok := output.Relative(root, file); ok && file != "" && file != "-" && file != "-e" {
			fmt.Fprintf(&b, "::error file=%s,line=%d", output.EscapeProperty(rel), max(line, 1))
			if column > 0 {
				fmt.Fprintf(&b, ",col=%d", column)
			}
			fmt.Fprintf(&b, ",title=%s::%s\n", output.EscapeProperty(title), output.EscapeData(message))
		} else {
			fmt.Fprintf(&b, "::error title=%s::%s\n", output.EscapeProperty(title), output.EscapeData(fmt.Sprintf("%s:%d: %s", file, max(line, 1), message)))
		}
	}
	// Each line has its first error; what room there is left is for further ones.
	d.leaves(func(l *DocResult) {
		if l.Bad() {
			annotate(l, l.Error)
		}
	})
	d.leaves(func(l *DocResult) {
		if l.Bad() && len(l.Errors) > 1 {
			for _, e := range l.Errors[1:] {
				annotate(l, e)
			}
		}
	})
	d.leaves(func(l *DocResult) {
		if l.fewer() {
			fmt.Fprintf(&b, "::warning title=%s::%s\n", output.EscapeProperty("fewer tests"), output.EscapeData(clean(l.Title())+": "+l.missing()))
		}
	})
	if g := d.Gate; g != nil && g.Verdict == "refused" {
		fmt.Fprintf(&b, "::error title=gate refused::%s\n", output.EscapeData(clean(g.Detail)))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// maxSummary bounds a step summary: GitHub drops one that is larger than 1 MiB.
const maxSummary = 512 << 10

// Markdown writes a document as a summary for GitHub and its like: a table of the lines,
// and the failures with their output.
func Markdown(w io.Writer, d *Document) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s: %s\n\n", inline(d.Script.Name), capital(d.Verdict))
	fmt.Fprintf(&b, "%s in %.2f s; %s\n\n", d.counts(), d.Elapsed, inline(d.gateText()))
	fmt.Fprintf(&b, "| | line | verdict | time | tests |\n|---|---|---|---:|---:|\n")
	d.leaves(func(l *DocResult) {
		tests := ""
		if t := l.Tests; t != nil {
			tests = t.count()
		}
		if b.Len() < maxSummary/2 {
			fmt.Fprintf(&b, "| %s | %s | %s | %.2f s | %s |\n", l.ID, inline(l.Title()), inline(l.How()), l.Elapsed, tests)
		}
	})
	d.leaves(func(l *DocResult) {
		f := l.Fault
		if f == nil || b.Len() > maxSummary*3/4 {
			return
		}
		fmt.Fprintf(&b, "\n<details open><summary>%s:%d: %s</summary>\n\n", inline(l.File), l.Line, inline(l.Title()))
		if l.Error != nil {
			for _, e := range l.Errors[:min(len(l.Errors), 10)] {
				fmt.Fprintf(&b, "- %s\n", inline(e.String()))
			}
			if n := l.Count - min(len(l.Errors), 10); n > 0 {
				fmt.Fprintf(&b, "- and %d more\n", n)
			}
			b.WriteString("\n")
		}
		text := strings.Join(f.LastOutput, "\n")
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "%s\n$ %s\n%s\n%s\n\n</details>\n", fence, f.Invocation, diag.ClipBytes(text, 32<<10), fence)
	})
	d.leaves(func(l *DocResult) {
		if l.fewer() {
			fmt.Fprintf(&b, "\n**Warning**: %s\n", inline(l.Title())+": "+l.missing())
		}
	})
	_, err := w.Write(b.Bytes())
	return err
}

// capital writes the first letter of an English word large.
func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// inline makes text of others plain text of Markdown: nothing in it is markup.
func inline(s string) string {
	var b strings.Builder
	for _, r := range clean(s) {
		switch r {
		case '\\', '`', '*', '_', '{', '}', '[', ']', '<', '>', '(', ')', '#', '!', '|', '~', '@':
			fmt.Fprintf(&b, "&#%d;", r)
		case '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// counts says how many lines there are, and how they ended.
func (d *Document) counts() string {
	return strings.Join(append([]string{diag.Number(d.Counts.Lines, "line")}, d.Counts.list()...), ", ")
}

func (d *Document) gateText() string {
	g := d.Gate
	switch {
	case g == nil:
		return "no gate"
	case g.Verdict == "passed":
		return "gate " + g.ID
	case g.Detail != "":
		return fmt.Sprintf("gate %s: %s", strings.ReplaceAll(g.Verdict, "_", " "), g.Detail)
	}
	return "gate " + strings.ReplaceAll(g.Verdict, "_", " ")
}
