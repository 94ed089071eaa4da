// Command tokens measures what a model reads with dialect and without, in tokens of o200k, and writes the page that says so. It is a
// module of its own: the tokenizer enters no build of dialect.
//
//	tokens FILE             writes the page
//	tokens count [FILE...]  prints the tokens of each file: of the sections in documents.txt, say
//
// Everything on the page is measured by the run that writes it, but for the sections of other projects' documents, whose text is not
// ours to keep: documents.txt has the counts, and where the text stands.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

// root is the folder of dialect's own module, seen from here.
const root = "../../../.."

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	c := counter{codec}
	switch {
	case len(args) > 1 && args[0] == "count":
		for _, name := range args[1:] {
			n, err := c.file(name)
			if err != nil {
				return err
			}
			fmt.Println(n, name)
		}
		return nil
	case len(args) == 1:
		page, err := c.page()
		if err != nil {
			return err
		}
		return os.WriteFile(args[0], page, 0o644)
	}
	return fmt.Errorf("usage: tokens FILE, or tokens count FILE...")
}

type counter struct{ codec tokenizer.Codec }

func (c counter) text(s string) (int, error) {
	ids, _, err := c.codec.Encode(s)
	return len(ids), err
}

func (c counter) file(name string) (int, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	return c.text(string(content))
}

// A recording is a real output of a tool: what it printed, its last 40 lines, and dialect's report of it.
type recording struct {
	name, kind, command string
	bare, tail, report  int
}

// recordings measures the recorded outputs of runtime/report, with the reports that its test makes of them.
func (c counter) recordings() ([]recording, error) {
	dir, err := os.MkdirTemp("", "dialect-tokens-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	test := exec.Command("go", "test", "-count=1", "-run", "TestRecorded", "./runtime/report", "-reports", dir)
	test.Dir = root
	if out, err := test.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test ./runtime/report: %w: %s", err, out)
	}
	facts, err := filepath.Glob(root + "/runtime/report/testdata/recorded/*.facts")
	if err != nil {
		return nil, err
	}
	var list []recording
	for _, name := range facts {
		r := recording{name: strings.TrimSuffix(filepath.Base(name), ".facts")}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
			case "kind":
				r.kind = value
			case "command":
				r.command = value
			}
		}
		for suffix, n := range map[string]*int{".bare": &r.bare, ".tail": &r.tail, ".report": &r.report} {
			if *n, err = c.file(filepath.Join(dir, r.name+suffix)); err != nil {
				return nil, err
			}
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there are no recordings")
	}
	return list, nil
}

// A section is what a project's document tells agents to run before they are done.
type section struct {
	repository, commit, path, heading string
	tokens                            int
}

func sections() (list []section, err error) {
	f, err := os.Open("documents.txt")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") || s.Text() == "" {
			continue
		}
		fields := strings.SplitN(s.Text(), "\t", 5)
		if len(fields) != 5 {
			return nil, fmt.Errorf("documents.txt: %q", s.Text())
		}
		n, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, err
		}
		list = append(list, section{fields[1], fields[2], fields[3], fields[4], n})
	}
	return list, nil
}

// fixed are the tokens of what is read once, or each time, whatever a run comes to.
type fixed struct{ skill, script, command, tools, verify, quiet, quietReport int }

// A session of an agent in one project, as the page counts it: its six runs are three that pass, two with a failing test, and
// one with a lint or type error.
const greens, tests, lints = 3, 2, 1

// page measures and writes.
func (c counter) page() ([]byte, error) {
	list, err := c.recordings()
	if err != nil {
		return nil, err
	}
	documents, err := sections()
	if err != nil {
		return nil, err
	}
	f, err := c.fixed()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprint(&b, intro)
	kinds := []struct{ kind, title string }{
		{"green", "All passed"}, {"test", "One test failed"}, {"lint", "One lint, type or compile error"}, {"many", "A hundred tests failed"},
	}
	medians := map[string][3]int{}
	for _, k := range kinds {
		fmt.Fprintf(&b, "\n### %s\n\n| output of | bare | last 40 lines | dialect |\n|---|---|---|---|\n", k.title)
		var bare, tail, report []int
		for _, r := range list {
			if r.kind != k.kind {
				continue
			}
			worse := ""
			if r.report > min(r.bare, r.tail) {
				worse = ", **more**"
			}
			fmt.Fprintf(&b, "| `%s` (%s) | %d | %d | %d%s |\n", r.command, r.name, r.bare, r.tail, r.report, worse)
			bare, tail, report = append(bare, r.bare), append(tail, r.tail), append(report, r.report)
		}
		medians[k.kind] = [3]int{median(bare), median(tail), median(report)}
		m := medians[k.kind]
		fmt.Fprintf(&b, "| median | %d | %d | %d |\n", m[0], m[1], m[2])
	}

	fmt.Fprint(&b, "\n## What does an agent read before it can run anything?\n\nThe section of a project's document that says what to run:\n\n| project | section | tokens |\n|---|---|---|\n")
	var counts []int
	for _, d := range documents {
		fmt.Fprintf(&b, "| %s, `%s` at %.12s | %s | %d |\n", d.repository, d.path, d.commit, d.heading, d.tokens)
		counts = append(counts, d.tokens)
	}
	docs := median(counts)
	fmt.Fprintf(&b, "| median | | %d |\n", docs)
	fmt.Fprintf(&b, "\n| with dialect | tokens |\n|---|---|\n| `dialect skill`, once a session | %d |\n| `quality.dlct` of this project's Go example, if it is read at all | %d |\n| `dialect run quality.dlct`, each time | %d |\n| tools/list of `dialect mcp`, once a session, in place of the skill | %d |\n", f.skill, f.script, f.command, f.tools)
	fmt.Fprintf(&b, "\nThe skill alone is %s than the median section. It pays for itself by the reports, or not at all.\n", comparison(f.skill, docs))

	cost := func(column int) int {
		return greens*medians["green"][column] + tests*medians["test"][column] + lints*medians["lint"][column]
	}
	with := f.skill + (greens+tests+lints)*f.command + cost(2)
	fmt.Fprintf(&b, `
## A session

Six runs in one project: %d that pass, %d with a failing test, %d with a lint or type error, each at the medians above. What the agent
itself writes is left out but for the command, and so are second looks at output that %s cut off.

| | instructions | commands | output | together |
|---|---|---|---|---|
| bare | %d | %d | %d | %d |
| last 40 lines | %d | %d | %d | %d |
| dialect | %d | %d | %d | %d |
`, greens, tests, lints, "`tail`",
		docs, 6*f.command, cost(0), docs+6*f.command+cost(0),
		docs, 6*f.command, cost(1), docs+6*f.command+cost(1),
		f.skill, 6*f.command, cost(2), with)
	extra := f.skill - docs
	perRun := func(column int) int { return (cost(column) - cost(2)) / (greens + tests + lints) }
	for column, name := range []string{"bare output", "`tail -40`"} {
		switch saved := perRun(column); {
		case saved > 0 && extra <= saved:
			fmt.Fprintf(&b, "\nAgainst %s dialect costs less from the first run.\n", name)
		case saved <= 0:
			fmt.Fprintf(&b, "\nAgainst %s dialect never pays for itself in such a session.\n", name)
		default:
			fmt.Fprintf(&b, "\nAgainst %s it saves %d tokens a run, so that the skill is paid for after %d runs.\n", name, saved, (max(extra, 0)+saved-1)/saved)
		}
	}
	fmt.Fprintf(&b, `
That is a noisy project. A quiet one is worse off: the three commands of this project's Go example print %d tokens together when all
passes, and dialect %d. There it costs %d tokens of instructions more, saves nothing, and what it buys is the receipt.
`, f.quiet, f.quietReport, extra)
	fmt.Fprintf(&b, `
## Believing a sub-agent

An orchestrator that doubts "all tests pass" runs the tests again, and reads their output: %d tokens at the median where they pass,
%d where one fails, and the time of the whole suite. `+"`dialect verify`"+` reads the receipts instead: %d tokens, and no test is run.
`, medians["green"][0], medians["test"][0], f.verify)
	return b.Bytes(), nil
}

func comparison(a, b int) string {
	if a > b {
		return fmt.Sprintf("%d tokens longer", a-b)
	}
	return fmt.Sprintf("%d tokens shorter", b-a)
}

func median(list []int) int {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// fixed measures the programs of this checkout, in the project of examples/go.
func (c counter) fixed() (f fixed, err error) {
	dir, err := os.MkdirTemp("", "dialect-tokens-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	do := func(in string, words ...string) (string, error) {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = in
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CI=") || strings.HasPrefix(v, "DIALECT_") }),
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, stderr.Bytes())
		}
		return string(out), err
	}
	if _, err = do(root, "go", "build", "-o", dir+"/bin/", "./cmd/dialect", "./cmd/dialect/dialect-mcp"); err != nil {
		return f, err
	}
	project, dialect := filepath.Join(dir, "shop"), filepath.Join(dir, "bin", "dialect")
	if err = os.CopyFS(project, os.DirFS(root+"/examples/go")); err != nil {
		return f, err
	}
	quiet, report := "", ""
	for _, words := range [][]string{{"gofmt", "-l", "."}, {"go", "vet", "./..."}, {"go", "test", "./..."}} {
		out, err := do(project, words...)
		if err != nil {
			return f, err
		}
		quiet += out
	}
	for _, words := range [][]string{{"git", "init", "-q"}, {"git", "add", "."}, {"git", "commit", "-q", "-m", "x"}, {dialect, "run", "quality.dlct"}} {
		if report, err = do(project, words...); err != nil {
			return f, err
		}
	}
	script, err := os.ReadFile(project + "/quality.dlct")
	if err != nil {
		return f, err
	}
	skill, err := do(project, dialect, "skill")
	if err != nil {
		return f, err
	}
	verdict, err := do(project, dialect, "verify")
	if err != nil {
		return f, err
	}
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tokens","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`
	tools, err := answer(project, dialect, begin)
	if err != nil {
		return f, err
	}
	for _, m := range []struct {
		n    *int
		text string
	}{{&f.skill, skill}, {&f.script, string(script)}, {&f.command, "dialect run quality.dlct"}, {&f.tools, tools}, {&f.verify, verdict + "dialect verify"}, {&f.quiet, quiet}, {&f.quietReport, report}} {
		if *m.n, err = c.text(steady(m.text)); err != nil {
			return f, err
		}
	}
	return f, nil
}

// steady returns text with the ids, dates and times of one run for those of every run, so that the page is the same each time it is made.
func steady(text string) string {
	for pattern, fixed := range map[string]string{
		`g-[0-9a-f]{12}`:                 "g-0d68b1be159b",
		`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`: "2026-11-22 09:36:06",
		`\d+\.\d\d s\b`:                  "2.55 s",
		`\b\d+\.\d{3}s\b|\(cached\)`:     "0.002s",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, fixed)
	}
	return text
}

// answer returns what `dialect mcp` answers to the request with id 2. Its input stays open until then: the end of it ends the server.
func answer(dir, dialect, requests string) (string, error) {
	cmd := exec.Command(dialect, "mcp")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	if _, err := io.WriteString(in, requests); err != nil {
		return "", err
	}
	for s := bufio.NewReader(out); ; {
		line, err := s.ReadString('\n')
		if strings.Contains(line, `"id":2`) {
			return line, nil
		}
		if err != nil {
			return "", fmt.Errorf("dialect mcp: no answer to tools/list: %w", err)
		}
	}
}

const intro = `# What does it cost in tokens?

Measured by ` + "`make tokens`" + ` in tokens of o200k; models with another vocabulary count differently. **More** marks where
dialect's report is longer than the shorter of the other two.

## What does an agent read of one run?

The outputs are real ones, kept in ` + "`runtime/report/testdata/recorded`" + `. Most were recorded to be hard: a failure between thousands of
lines that other tests print. The medians are medians of these, and not of what projects print. The reports are what ` + "`dialect run`" + ` prints of them. A test holds that each has the failing test, the place, and the values; the last 40 lines often do not.
`
