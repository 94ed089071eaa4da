package control

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/diagnose"
)

// An Outcome says what became of a control.
type Outcome string

// The outcomes.
const (
	Noticed    Outcome = "noticed"    // it refused, and named what was broken
	Blind      Outcome = "blind"      // it passed, whatever was broken
	Lenient    Outcome = "lenient"    // it named what was broken, and passed
	Unlike     Outcome = "unlike"     // it refused for a reason of another kind
	Unnamed    Outcome = "unnamed"    // it refused, and did not name what was broken
	Unfinished Outcome = "unfinished" // it did not come to an end
	None       Outcome = "none"       // nothing says how to break what it checks
)

// An Ending is how a line ended with something broken.
type Ending struct {
	Passed, Refused bool   // neither: it did not come to an end
	Why             string // for people, of a line that did not pass
	Output          []byte // of both streams
}

// A Judgement says whether a line noticed.
type Judgement struct {
	Outcome Outcome
	Place   Place  // that the refusal names, or that was broken
	Named   string // the line of output that names it; empty if none does
	Text    string // one line for people
}

// Judge judges the run that [Trial.Next] asked for.
func (t *Trial) Judge(e Ending) Judgement {
	j := Judgement{Place: t.now[0]}
	text := clean(e.Output)
	var fresh []string // lines that the passing run did not print
	for line := range strings.Lines(text) {
		if !t.passed[normal(line)] {
			fresh = append(fresh, strings.TrimSpace(line))
		}
	}
	for _, p := range t.now {
		if named := t.names(&p, fresh); named != "" {
			j.Place, j.Named = p, named
			break
		}
	}
	switch where := j.Place.String(); {
	case !e.Passed && !e.Refused:
		j.Outcome, j.Text = Unfinished, fmt.Sprintf("with %s broken it did not come to an end: %s", where, e.Why)
	case e.Passed && j.Named != "":
		j.Outcome, j.Text = Lenient, fmt.Sprintf("it names %s, which is broken, and passes all the same", where)
	case e.Passed && t.all:
		j.Outcome, j.Text = Blind, fmt.Sprintf("it passes with %s broken at once, among them %s", diag.Number(len(t.now), "place"), where)
	case e.Passed:
		j.Outcome, j.Text = Blind, fmt.Sprintf("it passes with %s broken", where)
		t.skipped = append(t.skipped, where)
	case t.unlike != nil && t.unlike.MatchString(strings.Join(fresh, "\n")):
		j.Outcome, j.Text = Unlike, fmt.Sprintf("with %s broken it refused for a reason of another kind: %s", where, first(fresh, t.unlike))
	case j.Named == "":
		j.Outcome, j.Text = Unnamed, fmt.Sprintf("with %s broken it refused, and did not name it (%s)", where, e.Why)
	default:
		j.Outcome, j.Text = Noticed, fmt.Sprintf("it refused %s, which was broken", where)
		if len(t.skipped) > 0 {
			j.Text += fmt.Sprintf("; it passes with %s broken, which it may not look at", strings.Join(t.skipped, ", "))
		}
	}
	t.last = j
	return j
}

// String names a place for people: "calc_test.go:12 (test_add)".
func (p Place) String() string {
	text := fmt.Sprintf("%s:%d", diag.Printable(p.Path), p.Line)
	if p.Test != "" {
		text += " (" + diag.Printable(p.Test) + ")"
	}
	return text
}

// names returns the line that names a place: by the name of its test, by its nonce, or, where it has no test, by the path
// of its file. It is the first of those that speak of a failure, else the first.
func (t *Trial) names(p *Place, lines []string) string {
	words := []string{p.Test}
	if p.Test == "" {
		words = t.paths(p.Path)
	}
	for _, named := range []func(line string) bool{
		func(line string) bool { return hasWord(line, p.Test) },
		func(line string) bool { return strings.Contains(line, p.nonce) },
		func(line string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return hasWord(line, w) })
		},
	} {
		i := slices.IndexFunc(lines, func(line string) bool { return named(line) && strings.Contains(strings.ToLower(line), "fail") })
		if i < 0 { // of pytest the first is a heading, or the source
			i = slices.IndexFunc(lines, named)
		}
		if i >= 0 {
			return lines[i]
		}
	}
	return ""
}

// paths are the names that a command may give to a file.
func (t *Trial) paths(name string) (list []string) {
	list = []string{name, t.relative(name)}
	for _, root := range t.files.Roots {
		full := filepath.Join(root, filepath.FromSlash(name))
		list = append(list, full)
		if rel, err := filepath.Rel(t.step.Dir, full); err == nil {
			list = append(list, filepath.ToSlash(rel))
		}
	}
	for _, p := range list {
		list = append(list, "./"+p)
	}
	return list
}

// hasWord reports whether a line has a name, and not as a part of a longer one.
func hasWord(line, name string) bool {
	for from := 0; name != ""; {
		i := strings.Index(line[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		before := i == 0 || !wordByte(line[i-1]) && line[i-1] != '/' && line[i-1] != '.'
		if before && (end == len(line) || !wordByte(line[end]) && line[end] != '/') {
			return true
		}
		from = i + 1
	}
	return false
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}

// clean returns output as people see it.
func clean(output []byte) string { return string(diagnose.Readable(output)) }

// digits are what differs from run to run, such as times.
var digits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+([.,][0-9]+)*`) })

// normal is a line without digits.
func normal(line string) string { return digits().ReplaceAllString(strings.TrimSpace(line), "0") }

// first returns the first of some lines that a pattern matches.
func first(lines []string, pattern *regexp.Regexp) string {
	for _, line := range lines {
		if pattern.MatchString(line) {
			return line
		}
	}
	return strings.Join(lines[:min(1, len(lines))], "")
}
