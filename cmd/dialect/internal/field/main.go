// Command field tries dialect on public repositories and writes the page that says what became of it. It is a module of its own.
//
//	field [-from URL] [-only REGEXP] FILE
//
// projects.txt lists the repositories, by commit. Each is cloned from URL, in which {owner} and {name} stand for its own; a path of a
// folder with clones does, too. Then, as its user would: what a person does first, `dialect init`, `dialect run` twice, `dialect verify`,
// an edit, `dialect verify` again, `dialect run`, a commit, and `dialect verify --tree HEAD`. What cannot be cloned or prepared is on
// the page with the reason. Nothing is written but the page and a temporary folder. It runs the projects' own tests.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// root is the folder of dialect's own module, seen from here.
const root = "../../../.."

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func run() error {
	from := flag.String("from", "https://github.com/{owner}/{name}", "where the repositories are cloned from")
	only := flag.String("only", "", "only the repositories that match")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil || flag.NArg() != 1 {
		return errors.New("usage: field [-from URL] [-only REGEXP] FILE")
	}
	list, err := projects()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "dialect-field-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	build := exec.Command("go", "build", "-trimpath", "-o", work+"/bin/", "./cmd/dialect", "./cmd/dialect/dialect-mcp")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	var results []result
	for _, p := range list {
		if !match.MatchString(p.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, p.name)
		results = append(results, p.try(work, *from))
	}
	return os.WriteFile(flag.Arg(0), page(results), 0o644)
}

// A project is a row of projects.txt.
type project struct{ name, commit, language, first string }

func projects() (list []project, err error) {
	f, err := os.Open("projects.txt")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		fields := strings.Split(s.Text(), "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("projects.txt: %q", s.Text())
		}
		list = append(list, project{fields[0], fields[1], fields[2], fields[3]})
	}
	return list, nil
}

// A result is what became of a project.
type result struct {
	project
	failed  string   // why it could not be tried
	init    string   // what passed, in words of init
	left    []string // what init left out, and why
	first   outcome
	second  outcome
	verify  string // the verdict after the run
	edited  string // after an edit
	tree    string // of --tree HEAD, after another run and a commit
	seconds float64
}

// An outcome is that of one run.
type outcome struct {
	line     string  // the last line of the report
	whole    float64 // seconds
	commands float64 // of these, within the commands
}

func (p project) try(work, from string) (r result) {
	r.project = p
	owner, name, _ := strings.Cut(p.name, "/")
	dir := filepath.Join(work, owner+"-"+name)
	dialect := filepath.Join(work, "bin", "dialect")
	do := func(words ...string) (string, string, error) {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CI=") || strings.HasPrefix(v, "DIALECT_") }),
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	for _, words := range [][]string{
		{"git", "clone", "--quiet", strings.NewReplacer("{owner}", owner, "{name}", name).Replace(from), dir},
		{"git", "checkout", "--quiet", "-b", "trial", p.commit},
		{"sh", "-c", p.first},
	} {
		at := dir
		if words[1] == "clone" {
			dir = work
		}
		_, stderr, err := do(words...)
		dir = at
		if err != nil {
			r.failed = fmt.Sprintf("%s: %v: %s", words[0]+" "+words[1], err, lastLine(stderr))
			return r
		}
	}
	begin := time.Now()
	_, said, err := do(dialect, "init")
	r.seconds = time.Since(begin).Seconds()
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "dialect: passes today: "); ok {
			r.init = text
		} else if strings.HasPrefix(line, "dialect: ") && !known.MatchString(line) {
			r.left = append(r.left, strings.TrimPrefix(line, "dialect: "))
		}
	}
	if err != nil {
		r.failed = "init: " + lastLine(said)
		return r
	}
	once := func() outcome {
		out, said, _ := do(dialect, "run", "--json", "quality.dlct")
		var d struct {
			Elapsed float64 `json:"elapsed_seconds"`
			Verdict string  `json:"verdict"`
			Lines   []struct {
				Kind    string  `json:"kind"`
				Text    string  `json:"text"`
				Verdict string  `json:"verdict"`
				Elapsed float64 `json:"elapsed_seconds"`
			} `json:"lines"`
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			return outcome{line: lastLine(said)}
		}
		o := outcome{line: d.Verdict, whole: d.Elapsed}
		for _, l := range d.Lines {
			if l.Kind == "process" {
				o.commands += l.Elapsed
				if l.Verdict != "passed" {
					o.line += ", " + l.Text + " " + l.Verdict
				}
			}
		}
		return o
	}
	verdict := func(flags ...string) string {
		out, said, _ := do(append([]string{dialect, "verify"}, flags...)...)
		line, _, _ := strings.Cut(out+said, "\n")
		word, _, _ := strings.Cut(line, ":")
		return word
	}
	r.first, r.second = once(), once()
	r.verify = verdict()
	files, _, err := do("git", "ls-files", "*.go", "*.js", "*.c", "*.rs")
	if err != nil || files == "" {
		r.failed = "there is no file to edit"
		return r
	}
	file, _, _ := strings.Cut(files, "\n")
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("\n/* An edit. */\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.failed = err.Error()
		return r
	}
	r.edited = verdict()
	once()
	for _, words := range [][]string{{"git", "add", "--all"}, {"git", "commit", "--quiet", "--no-verify", "--message=x"}} {
		if _, stderr, err := do(words...); err != nil {
			r.failed = lastLine(stderr)
			return r
		}
	}
	r.tree = verdict("--tree", "HEAD")
	return r
}

// known are lines of init that are the same for everyone.
var known = regexp.MustCompile(`^dialect: (trying|found|wrote|now|reading):? `)

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func page(results []result) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, `# Does it work on a project that nobody here wrote?

Made by `+"`make field`"+`, which clones each repository at the commit that is named, and does what its user would: `+"`dialect init`"+`, `+"`dialect run`"+`
twice, `+"`dialect verify`"+`, an edit, `+"`verify`"+` again, another run, a commit, and `+"`dialect verify --tree HEAD`"+`. Overhead is what a run took beyond
its commands, of the second run, on the machine that made the page; the seconds of `+"`init`"+` are mostly those of the commands that it tries.

| project | init | run | overhead | verify | after an edit | run, commit, --tree HEAD |
|---|---|---|---|---|---|---|
`)
	for _, r := range results {
		name := fmt.Sprintf("%s at %.10s (%s)", r.name, r.commit, r.language)
		if r.first.line == "" {
			fmt.Fprintf(&b, "| %s | %s | | | | | |\n", name, cell(r.failed))
			continue
		}
		fmt.Fprintf(&b, "| %s | %.0f s | %s | %.0f ms of %.1f s | %s | %s | %s |\n", name, r.seconds, cell(r.second.line),
			max(0, r.second.whole-r.second.commands)*1000, r.second.whole, r.verify, r.edited, r.tree)
	}
	b.WriteString(worse(results))
	b.WriteString("\n## What init said\n")
	for _, r := range results {
		if r.first.line == "" {
			continue
		}
		fmt.Fprintf(&b, "\n**%s**", r.name)
		if r.project.first != "" {
			fmt.Fprintf(&b, ", after `%s`", r.project.first)
		}
		b.WriteString("\n\n")
		if r.init != "" {
			fmt.Fprintf(&b, "- passes today: %s\n", r.init)
		}
		for _, line := range r.left {
			fmt.Fprintf(&b, "- %s\n", line)
		}
		if r.failed != "" {
			fmt.Fprintf(&b, "- not carried on: %s\n", r.failed)
		}
	}
	return b.Bytes()
}

// worse says where dialect did less, or took longer, than the tools alone.
func worse(results []result) string {
	var most result
	gone, red, less := 0, 0, 0
	for _, r := range results {
		switch {
		case r.first.line == "":
			gone++
			continue
		case r.second.line != "passed":
			red++
		}
		if slices.ContainsFunc(r.left, func(line string) bool {
			return strings.HasPrefix(line, "left out: ") || strings.HasPrefix(line, "not known: ")
		}) {
			less++
		}
		if r.second.whole-r.second.commands > most.second.whole-most.second.commands {
			most = r
		}
	}
	text := fmt.Sprintf("\nWhere it is worse: of %d projects %d could not be tried, and %d did not pass as `init` left them. For %d, `init` left out a tool, or what builds\n"+
		"the project, and a person has to bind it.", len(results), gone, red, less)
	if most.name != "" {
		text += fmt.Sprintf(" The most overhead was %.0f ms, of %s.", (most.second.whole-most.second.commands)*1000, most.name)
	}
	return text + "\n"
}

// cell returns text that is one cell of a table.
func cell(text string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text) }
