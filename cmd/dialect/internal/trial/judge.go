package trial

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/survey"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/schedule"
)

var patterns = sync.OnceValue(func() (p struct{ absent, toolchain, place, failed, made *regexp.Regexp }) {
	// What tools print where something is not installed. The first group that matches is its name.
	p.absent = regexp.MustCompile(strings.Join([]string{
		`No module named '?([A-Za-z0-9_.]+)`,
		`Cannot find (?:module|package) '([^'\s]+)'`,
		`Failed to resolve entry for package "([^"]+)"`,
		`Cannot find type definition file for '([^'\s]+)'`,
		`(?:Cannot find implementation or library stub for module named|Library stubs not installed for) "([^"]+)"`,
		`sh: (?:line )?(?:\d+: )?([^:\s]+): (?:command )?not found`,
		`make(?:\[\d+\])?: ([^:\s]+): (?:No such file or directory|Command not found)`,
		`error: unrecognized arguments: (--[a-z-]+)`,
		`cannot load such file -- ([A-Za-z][A-Za-z0-9_/-]*)`,
		`(?:Could not find gem '|Could not find )([a-z][A-Za-z0-9_-]*)(?:' in|-[0-9][0-9.]* in)`,
		`bundler: command not found: (\S+)`,
		`Missing required plugins: (\S+)`,
		`PackageNotFoundError: No package metadata was found for (\S+)`,
		`no required module provides package ([^\s;]+)`,
		`error: no matching package named .([^\s` + "`'" + `]+)`,
		`(?:utilities|programs?|commands?|tools?|dependencies|packages|modules) not found: (\S+)`,
		`(node_modules) (?:missing|state file not found)`,
		`pattern ([^\s:]+): no matching files found`, // of go:embed: a build makes them
	}, "|"))
	p.toolchain = regexp.MustCompile("requires rustc ([0-9.]+)|feature `(edition[0-9]+)` is required|lock file version `?([0-9]+)|requires go >= ([0-9.]+)|Unsupported engine|SyntaxError: Unexpected token 'with'")
	p.place = regexp.MustCompile(`(?m)^\s*(?:\S+ )?[^\s:()]+(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):? `)
	p.made = regexp.MustCompile(`^g?make(?:\[\d+\])?: `)
	p.failed = regexp.MustCompile(`(?m)^--- FAIL: `) // go test, which counts none
	return p
})

// judge says what became of a line, of which text is the output.
func (r *Result) judge(res *engine.Result, text []byte) {
	text = diagnose.Readable(text)
	some := res.Tests != nil && res.Tests.Passed > 0
	r.Counted = res.Tests != nil && res.Tests.Ran() > 0
	absent := patterns().absent.FindSubmatch(text)
	toolchain := patterns().toolchain.FindSubmatch(text)
	unfetched, _ := diagnose.Unfetched(text)
	unfound := res.Process != nil && res.Process.ExitCode == process.StatusNotFound
	switch {
	case res.Verdict == schedule.Passed:
		r.Outcome = Runs
		if t := res.Tests; t != nil {
			r.Why = diag.Number(t.Passed+t.Failed, "test")
		}
	case res.Reason == receipts.StopTimeout:
		r.Outcome, r.Why = Unfinished, fmt.Sprintf("not done after %v (--timeout)", r.Duration.Round(time.Second))
	case res.Reason == receipts.StopEnvMissing:
		r.Outcome, r.Why = Needs, res.Detail
		r.unhelped(res.Step.Dir)
	case !some && bytes.Contains(text, []byte("go: updates to go.mod needed")):
		r.Outcome, r.Why, r.Line.Install = Needs, "its go.mod is not up to date", "go mod tidy"
	case !some && bytes.Contains(text, []byte("missing go.sum entry for ")):
		r.Outcome, r.Why, r.Line.Install = Needs, "its go.sum lacks a module", "go mod tidy"
	case !some && unfetched != "": // of cargo it says that the package is missing, too
		r.Outcome, r.Why = Needs, "a package cannot be fetched: "+unfetched
	case absent != nil && (!some || unfound):
		name := first(absent[1:])
		r.Outcome, r.Why, r.Unbuilt = Needs, name+" is missing", unbuilt(res.Step.Dir, name)
		if r.unhelped(res.Step.Dir) && !r.Unbuilt {
			r.Why += ", and no package of package.json has it"
		}
	case toolchain != nil && !some:
		r.Outcome, r.Why = Needs, "needs a newer toolchain: "+line(text, patterns().toolchain)
	case unfound:
		r.Outcome, r.Why = Needs, "a program is missing"
	case res.Reason == receipts.StopVacuous, bytes.Contains(text, []byte("matched no packages")):
		r.Outcome, r.Why = Vacuous, "it tested nothing"
	case r.Line.Outside && !some:
		r.Outcome, r.Why = Needs, "red with the tool of this machine: "+failure(res, text)
	case r.Line.Source == "":
		r.Outcome, r.Why = Stranger, "no file of the project runs it, and it says no: "+failure(res, text)
	default:
		r.Outcome, r.Why = Red, failure(res, text)
		if f := res.Failures.First(); f != nil && patterns().absent.MatchString(f.Message) {
			name := first(patterns().absent.FindSubmatch([]byte(f.Message))[1:])
			if r.Unbuilt = unbuilt(res.Step.Dir, name); r.Unbuilt {
				r.Why += "; " + name + " is missing"
			} else {
				r.Why += "; " + name + " is not installed"
			}
			r.Lacks = true
			r.unhelped(res.Step.Dir)
		}
	}
}

// unhelped reports whether what the line needs is not to be had by the installation of Node that it names, which has been: that is then no
// advice.
func (r *Result) unhelped(dir string) bool {
	_, command, sub := strings.Cut(r.Line.Install, " && ") // cd BELOW
	if !sub {
		command = r.Line.Install
	}
	program, _, _ := strings.Cut(command, " ")
	if !slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, program) || !survey.Installed(dir) {
		return false
	}
	r.Line.Install = ""
	return true
}

// unbuilt reports whether what a command in dir misses is not to be installed: it is a path, or a package that is installed and
// has not the file that it names.
func unbuilt(dir, name string) bool {
	return strings.HasPrefix(name, ".") || filepath.IsAbs(name) || place.Exists(filepath.Join(dir, "node_modules", filepath.FromSlash(name)))
}

// failure says how much of a line is red, and the first of it.
func failure(res *engine.Result, text []byte) string {
	count := ""
	isTest := strings.HasPrefix(res.Step.Line.Text, "Test ")
	if t := res.Tests; t != nil && t.Failed > 0 {
		count = fmt.Sprintf("%d of %s", t.Failed, diag.Number(t.Passed+t.Failed, "test"))
	} else if n := len(patterns().failed.FindAllIndex(text, -1)); n > 0 && isTest {
		count = diag.Number(n, "test")
	} else if n := len(patterns().place.FindAllIndex(text, 1000)); n > 1 && !isTest {
		count = fmt.Sprintf("%d places", n)
	} else if n := len(strings.Split(strings.TrimSpace(string(text)), "\n")); res.Process != nil && res.Process.ExitCode == 0 && n > 0 {
		count = diag.Number(n, "file") // a tool that lists them
	}
	why := res.Detail
	if first := res.Failures.First(); first != nil && !patterns().made.MatchString(first.Message) {
		why = res.Failures.List[0].String() // with the name of the test
	} else if last := lastLine(text); last != "" {
		why = last
	}
	if count != "" && why != "" {
		return count + ", first: " + why
	}
	return count + why
}

func first(groups [][]byte) string {
	for _, g := range groups {
		if len(g) > 0 {
			return string(g)
		}
	}
	return "something"
}

// lastLine returns the last line of text that has a letter, and is not make's own, cut short: there tools sum up.
func lastLine(text []byte) (last string) {
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); strings.ContainsFunc(l, unicode.IsLetter) && !patterns().made.MatchString(l) {
			last = l
		}
	}
	return strings.ToValidUTF8(last[:min(len(last), 200)], "")
}

// line returns the line of text in which a pattern matches.
func line(text []byte, p *regexp.Regexp) string {
	for l := range strings.Lines(string(text)) {
		if p.MatchString(l) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

func some(names []string) string { return diag.Some(names, len(names), 3) }
