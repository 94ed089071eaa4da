package history

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
)

// LeftOver returns the numbers of the lines of p that did not pass when its script was last run: where that has changed since, found by
// their text, as lines move. There are none if all passed, if there is no such run, or if one of them is not found, which may have been fixed or hold
// a secret; then the whole script is to be run, and why says so. given is of that run.
func (d Documents) LeftOver(p *project.Program) (lines []int, given Given, why string) {
	doc := d.Last(p.Script.Path, p.Script.SHA256())
	if doc == nil {
		return nil, given, fmt.Sprintf("no earlier run of %s is kept: running all of it", p.Script.Name)
	}
	if m := d.Dead(p.Script.Name); m != nil && d.Kept(doc.Run).Before(m.Started) {
		return nil, GivenTo(doc), fmt.Sprintf("the run %s of %s was killed, and what it left is not known: running all of it", m.Run, p.Script.Name)
	}
	same := doc.Script.SHA256 == p.Script.SHA256()
	numbers, texts := make(map[int]bool), make(map[string]bool) // the latter: whether it was found
	for _, l := range doc.Lines {
		if l == nil || l.Gate != nil || l.Verdict == "passed" || l.Verdict == "flaky" || l.Reason == "no_failure" || l.Reason == "not_needed" {
			continue
		}
		numbers[l.Line], texts[l.Text] = true, same
	}
	for _, c := range p.File.Commands {
		n := c.Span.Start.Line
		_, left := texts[c.Text]
		if left && !same {
			texts[c.Text] = true
		}
		if left = left && !same || same && numbers[n]; left && (len(lines) == 0 || lines[len(lines)-1] != n) {
			lines = append(lines, n)
		}
	}
	for _, found := range texts {
		if !found {
			return nil, GivenTo(doc), fmt.Sprintf("%s has changed since %s, and a line that did not pass there is not found: running all of it", p.Script.Name, doc.Run)
		}
	}
	if len(lines) == 0 {
		return nil, GivenTo(doc), fmt.Sprintf("nothing of %s is left over from %s: running all of it", p.Script.Name, doc.Run)
	}
	return lines, GivenTo(doc), ""
}

// A Given is what the command line of a run said of what its lines are.
type Given struct {
	Run     string
	Set     []string // of --set: NAME=VALUE
	Routing string   // of --routing, from the folder that the run was started in; empty for the nearest matrix
	Engine  string   // of --engine
}

// GivenTo returns what the run of a document was given.
func GivenTo(doc *report.Document) Given {
	g := Given{Run: doc.Run}
	for i, word := range doc.Script.Flags {
		switch {
		case i+1 == len(doc.Script.Flags):
		case word == "--set":
			g.Set = append(g.Set, doc.Script.Flags[i+1])
		case word == "--routing":
			g.Routing = doc.Script.Flags[i+1]
		case word == "--engine":
			g.Engine = doc.Script.Flags[i+1]
		}
	}
	return g
}

// For returns what of g a line of that text needs by itself: a variable that only another line takes would be refused.
func (g Given) For(text string) Given {
	g.Set = slices.DeleteFunc(slices.Clone(g.Set), func(set string) bool { return !report.Takes(text, set) })
	return g
}

// An Again is what has to be run to run something again.
type Again struct {
	Script string   // FILE, FILE:LINE or FILE:LINE.MEMBER; empty where the lines were no file's
	Lines  []string // their text, where Script is empty
	Note   string   // that the script has changed since; empty if it has not
	Given
}

// Again says how the run of a document is run again, or the line l of it if that is not nil, in the
// project of the store at a path. The error is a [*LookupError].
func (d Documents) Again(store string, doc *report.Document, l *report.DocResult) (again Again, err error) {
	again.Given = GivenTo(doc)
	if doc.Script.Path == "" {
		for _, line := range doc.Lines {
			if line != nil && (l == nil || l.Line == line.Line) {
				again.Lines = append(again.Lines, line.Text)
			}
		}
		again.Given = again.Given.For(strings.Join(again.Lines, "\n"))
		return again, nil
	}
	// Anyone who can write the store can write the document.
	if root := archive.Project(store); root != "" {
		if rel, err := filepath.Rel(root, doc.Script.Path); err != nil || !filepath.IsLocal(rel) {
			return again, &LookupError{Text: fmt.Sprintf("%s is outside of the project of that run, %s", doc.Script.Path, root), Hint: "run it by its name, if that is what you want"}
		}
	}
	text, err := regular.Read(doc.Script.Path, project.MaxScript)
	if err != nil {
		return again, &LookupError{Text: fmt.Sprintf("the script of %s is gone: %v", doc.Run, err)}
	}
	s := project.Script{Text: text}
	again.Script = place.Short(doc.Script.Path)
	if s.SHA256() != doc.Script.SHA256 {
		again.Note = fmt.Sprintf("%s has changed since %s", again.Script, doc.Run)
		if l != nil {
			return again, &LookupError{
				Text: fmt.Sprintf("%s: line %d may be another", again.Note, l.Line),
				Hint: "run what is meant: dialect run -e " + report.Command([]string{l.Text}),
			}
		}
	}
	if l == nil && doc.Script.Part && len(doc.Lines) == 1 {
		for l = doc.Lines[0]; l != nil && len(l.Members) == 1; { // one member was asked for, or there is one
			l = l.Members[0]
		}
	}
	if l != nil {
		again.Script += ":" + l.At()
	}
	return again, nil
}
