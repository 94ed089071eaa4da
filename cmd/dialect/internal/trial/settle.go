package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold"
)

// Settle returns p with the lines that are written, and what else is left out, and the facts about the
// lines, for people. atHead is what [AtHead] says.
func Settle(p scaffold.Plan, results []Result, atHead string) (settled scaffold.Plan, facts []string) {
	settled = p
	settled.Lines = nil
	settled.LeftOut = append([]string(nil), p.LeftOut...)
	settled.Installs = slices.Clone(p.Installs)
	var runs, red, slow, untried, beyond, installed, reasons []string
	why := ""                            // nothing was tried
	without := make(map[string][]string) // the lines that are left out, by their reason
	for _, r := range results {
		text := r.Line.Text
		if r.Outcome.Written() {
			settled.Lines = append(settled.Lines, r.counted())
		}
		beyond, installed = append(beyond, r.Beyond...), append(installed, r.Installed...)
		settled.Caches = append(slices.Clip(settled.Caches), r.Caches...)
		in := r.Line.Install
		if r.Unbuilt && r.Line.Build != "" {
			in = r.Line.Build
		}
		if (r.Outcome == Needs || r.Lacks) && in != "" && !slices.Contains(settled.Installs, in) {
			settled.Installs = append(settled.Installs, in)
		}
		switch {
		case r.Outcome == Runs && r.Why != "":
			runs = append(runs, text+" ("+r.Why+")")
		case r.Outcome == Runs:
			runs = append(runs, text)
		case r.Outcome == Red:
			red = append(red, text+": "+r.Why)
		case r.Outcome == Unfinished:
			slow = append(slow, text+": "+r.Why)
		case r.Outcome == Untried:
			if len(untried) == 0 {
				why = r.Why
			}
			untried = append(untried, text)
		case !slices.Contains(reasons, r.Why):
			reasons = append(reasons, r.Why)
			fallthrough
		default:
			without[r.Why] = append(without[r.Why], text)
		}
	}
	for _, why := range reasons { // each reason once
		settled.LeftOut = append(settled.LeftOut, strings.Join(without[why], ", ")+" ("+why+")")
	}
	if len(runs) > 0 {
		facts = append(facts, "passes today: "+strings.Join(runs, ", "))
	}
	if isTest := func(l scaffold.Line) bool { return strings.HasPrefix(l.Text, "Test ") }; len(settled.Lines) > 0 && !slices.ContainsFunc(settled.Lines, isTest) {
		facts = append(facts, "no test is run: none of these lines runs one")
	}
	for _, text := range red {
		facts = append(facts, "does not pass today: "+text)
	}
	if len(red) > 0 {
		if atHead != "" {
			facts = append(facts, atHead)
		}
		if len(p.Sets) > 0 {
			facts = append(facts, "its CI sets "+strings.Join(p.Sets, ", ")+"; `env` of a binding sets it here")
		}
		facts = append(facts, fmt.Sprintf("to leave a line out, delete it in %s, and its name in gate_quality of routing.toml", scaffold.ScriptName))
	}
	for _, text := range slow {
		facts = append(facts, "not known: "+text)
	}
	if len(untried) > 0 {
		facts = append(facts, "not tried: "+strings.Join(untried, ", ")+": "+why)
	}
	facts = append(facts, remains(results)...)
	if len(beyond) > 0 {
		facts = append(facts, "trying the lines left "+some(beyond)+": list that in a tracked .gitignore, else `dialect verify --tree HEAD` says STALE, since a clone lacks it")
	}
	for _, dir := range installed {
		facts = append(facts, "no tracked .gitignore names "+dir+": list it there before you commit, else it is a part of what is tested")
	}
	return settled, facts
}

// Interrupted returns, for people, what the lines changed of the files of the project when something else ended the trial.
func Interrupted(results []Result) (facts []string) {
	for _, r := range results {
		if r.Outcome == Writes {
			facts = append(facts, r.Line.Text+": "+r.Why)
		}
	}
	return append(facts, remains(results)...)
}

// remains returns what is there now that was not before the lines were tried.
func remains(results []Result) (facts []string) {
	var left, tracked []string
	over := ""
	for _, r := range results {
		left, tracked = append(left, r.Left...), append(tracked, r.Tracked...)
		if len(r.Held) > 0 {
			text := "changed while " + r.Line.Text + " ran, and left as it is, since a process has it open for writing: " + strings.Join(r.Held, ", ")
			if r.HeldOld != "" {
				text += "; what was there before is in " + r.HeldOld
			}
			facts = append(facts, text)
		}
		over = cmp.Or(over, r.Over)
	}
	if len(left) > 0 {
		facts = append(facts, "trying the lines left new files: "+some(left)+"; list them in .gitignore, or commit them")
	}
	if len(tracked) > 0 {
		facts = append(facts, "trying the lines brought files that git tracks: "+some(tracked))
	}
	if over != "" {
		facts = append(facts, "the content of the files before they were put back is in "+over+", in case you saved one while a line ran; else remove it")
	}
	return facts
}

// counted returns the line of r. Where it runs tests and the trial counted them, its table asks for one from now on: a later run of which the
// output has no count, since its files are gone or a test ended the process, would pass otherwise, like that of a tool that counts none.
// The table of a pack is shared, and stays.
func (r Result) counted() scaffold.Line {
	const required = "\nreceipt_required = true\n"
	l := r.Line
	if r.Counted && strings.HasPrefix(l.Text, "Test ") && !strings.Contains(l.Table, "\nexpect = ") {
		l.Table = strings.Replace(l.Table, required, "\nexpect = { min_tests = 1 }"+required, 1)
	}
	return l
}
