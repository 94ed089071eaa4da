// Package examples_test runs the examples as a user does: the commands of
// README.md, from the root of a project, through the binary.
package examples_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
)

var update = flag.Bool("update", false, "write the golden files anew")

// dialect is the binary under test: $DIALECT, or built by TestMain.
var dialect string

// closed is dialect as `make install` puts it: owned by root, mode 0711. A signing key counts
// from no other. notClosed says why there is none.
var (
	closed    string
	notClosed error
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dialect-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if dialect = os.Getenv("DIALECT"); dialect != "" {
		if dialect, err = filepath.Abs(dialect); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	} else {
		dialect = filepath.Join(dir, "dialect")
		if out, err := exec.Command("go", "build", "-o", dir+"/", "../cmd/dialect", "../cmd/dialect/dialect-mcp").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "the binary does not build: %v\n%s", err, out)
			return 1
		}
	}
	closed, notClosed = filepath.Join(dir, "closed"), nil
	install := []string{"install", "-m", "0711", "-o", "0", "-g", "0", dialect, closed}
	if os.Geteuid() != 0 {
		install = append([]string{"sudo", "-n"}, install...)
	}
	if out, err := exec.Command(install[0], install[1:]...).CombinedOutput(); err != nil {
		notClosed = fmt.Errorf("no binary of root can be installed: %w %s", err, out)
	}
	return m.Run()
}

// An example is a project in a temporary directory and the commands of README.md
// that are run in it, one after the other.
type example struct {
	name     string
	needs    []string                               // executables, beside git
	files    []string                               // copied from the root of the repository; a directory with all that is in it
	prepare  func(t *testing.T, work string)        // nil: nothing to do
	commands []string                               // as in README.md
	after    func(t *testing.T, work string) string // what else the golden file holds
}

var examples = []example{
	{
		name:  "quality",
		needs: []string{"go", "gofmt"},
		files: []string{"routing.toml", "go.mod", "go.sum", "examples/quality.dlct"},
		// The gate on a repository of this shape, not on this one: its tests
		// would run this test again.
		prepare: func(t *testing.T, work string) {
			for _, dir := range []string{"cmd", "lang", "runtime", "receipts", "stdlib", "examples"} {
				write(t, filepath.Join(work, dir, "name.go"),
					fmt.Sprintf("// Package %s has a name.\npackage %s\n\n// Name is the name.\nconst Name = %q\n", dir, dir, dir))
				write(t, filepath.Join(work, dir, "name_test.go"),
					fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc TestName(t *testing.T) {\n\tif Name == \"\" {\n\t\tt.Error(\"no name\")\n\t}\n}\n", dir))
			}
		},
		commands: []string{"dialect run examples/quality.dlct"},
	},
	{
		name:  "python",
		needs: []string{"pytest", "mypy", "black", "flake8"},
		files: []string{"examples/python"},
		// A remote to be in step with.
		prepare: func(t *testing.T, work string) {
			remote := t.TempDir()
			git(t, remote, "init", "--quiet", "--bare")
			git(t, work, "init", "--quiet", "--initial-branch=main")
			git(t, work, "commit", "--quiet", "--allow-empty", "--message=begin")
			git(t, work, "remote", "add", "origin", remote)
			git(t, work, "push", "--quiet", "--set-upstream", "origin", "main")
		},
		commands: []string{"dialect run examples/python/quality.dlct"},
	},
	{
		name:     "go",
		needs:    []string{"go", "gofmt"},
		files:    []string{"examples/go"},
		commands: []string{"dialect run examples/go/quality.dlct"},
	},
	{
		name:  "arguments",
		needs: []string{"sh"},
		files: []string{"examples/arguments"},
		commands: []string{
			"dialect run --dry-run --set sprint=14 examples/arguments/triage.dlct",
			"dialect run --set sprint=14 examples/arguments/triage.dlct",
		},
		after: func(t *testing.T, work string) string {
			found, err := filepath.Glob(filepath.Join(work, "examples", "arguments", "*pwned*"))
			if err != nil || len(found) > 0 {
				t.Errorf("a value was run as code: %v, %v", found, err)
			}
			log, err := os.ReadFile(filepath.Join(work, "examples", "arguments", "tracker.log"))
			if err != nil {
				t.Error(err)
			}
			return "-- tracker.log --\n" + string(log)
		},
	},
	{
		name:  "agents",
		needs: []string{"python3"},
		files: []string{"examples/agents"},
		commands: []string{
			"dialect explain examples/agents/agents.dlct",
			"dialect run --set ticket=BD-12 examples/agents/agents.dlct",
			"dialect run examples/agents/gate-check.dlct",
		},
	},
	{
		name:  "kilo",
		needs: []string{"sh", "python3"},
		files: []string{"examples/kilo"},
		commands: []string{
			"dialect check examples/kilo/routing.toml",
			"dialect explain --routing examples/kilo/routing.toml --skill beads-local-db-ops",
			"dialect run --dry-run examples/kilo/kilo.dlct",
			"dialect run examples/kilo/kilo.dlct",
			"dialect run examples/kilo/gate-check.dlct",
		},
		after: kiloSkills,
	},
	{
		name:  "failing",
		needs: []string{"go", "gofmt"},
		files: []string{"examples/failing"},
		commands: []string{
			"dialect run examples/failing/release.dlct",
			"dialect run examples/failing/release.dlct:6",
		},
		after: func(t *testing.T, work string) string {
			if _, err := os.Stat(filepath.Join(work, "examples", "failing", "release.txt")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a line that changes state ran after a failure: release.txt: %v", err)
			}
			return ""
		},
	},
	{
		name:  "faulty",
		needs: []string{"sh", "python3"},
		files: []string{"examples/faulty"},
		commands: []string{
			"dialect check examples/faulty/faulty.dlct",
			"dialect run examples/faulty/faulty.dlct",
		},
		after: func(t *testing.T, work string) string {
			if _, err := os.Stat(filepath.Join(work, "examples", "faulty", ".dialect")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a script with faults left something behind: .dialect: %v", err)
			}
			return ""
		},
	},
}

// kiloSkills checks that each skill of the example kilo is named by its pack, and has a front matter
// with the name of its folder. That each skill named is there, the command check says.
func kiloSkills(t *testing.T, work string) string {
	dir := filepath.Join(work, "examples", "kilo")
	pack, err := os.ReadFile(filepath.Join(dir, "kilo.toml"))
	if err != nil {
		t.Fatal(err)
	}
	skills, err := os.ReadDir(filepath.Join(dir, ".kilocode", "skills"))
	if err != nil || len(skills) == 0 {
		t.Fatalf("no skills: %v", err)
	}
	for _, s := range skills {
		text, err := os.ReadFile(filepath.Join(dir, ".kilocode", "skills", s.Name(), "SKILL.md"))
		if err != nil || !strings.HasPrefix(string(text), "---\nname: "+s.Name()+"\ndescription: ") {
			t.Errorf("the skill %s: %v %.80q", s.Name(), err, text)
		}
		if !strings.Contains(string(pack), fmt.Sprintf("skill = %q\n", s.Name())) {
			t.Errorf("kilo.toml does not name the skill %s", s.Name())
		}
	}
	return ""
}

func TestExamples(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			require(t, append(e.needs, "git")...)
			work := t.TempDir()
			for _, f := range e.files {
				copyTree(t, filepath.Join("..", filepath.FromSlash(f)), filepath.Join(work, filepath.FromSlash(f)))
			}
			if e.prepare != nil {
				e.prepare(t, work)
			}
			if _, err := os.Stat(filepath.Join(work, ".git")); err != nil {
				git(t, work, "init", "--quiet", "--initial-branch=main")
			}
			git(t, work, "add", "--all")
			git(t, work, "commit", "--quiet", "--message=the example")

			var got bytes.Buffer
			for _, command := range e.commands {
				r := runDialect(t, work, command)
				fmt.Fprintf(&got, "$ %s\n%s", command, r)
			}
			text := normal(work, got.String())
			if e.after != nil {
				text += normal(work, e.after(t, work))
			}
			golden(t, e.name, text)
		})
	}
}

// TestReadme holds README.md against the examples that are run, in both
// directions, and against the scripts that there are.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown, run []string
	for line := range strings.Lines(string(readme)) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			shown = append(shown, strings.TrimSpace(command))
		}
	}
	for _, e := range examples {
		run = append(run, e.commands...)
	}
	for _, command := range shown {
		if !slices.Contains(run, command) {
			t.Errorf("README.md shows a command that no test runs: %s", command)
		}
	}
	for _, command := range run {
		if !slices.Contains(shown, command) {
			t.Errorf("a test runs a command that README.md does not show: %s", command)
		}
	}
	for _, script := range scripts(t) {
		if !slices.ContainsFunc(shown, func(c string) bool { return strings.HasSuffix(c, "examples/"+script) }) {
			t.Errorf("README.md does not show the script %s", script)
		}
	}
}

// TestCheck checks every script where it stands. Only the faulty one has faults.
func TestCheck(t *testing.T) {
	for _, script := range scripts(t) {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			r := runDialect(t, "..", "dialect check --set sprint=14 --set ticket=BD-1 examples/"+script)
			want := 0
			if strings.HasPrefix(script, "faulty/") {
				want = 1
			}
			if r.status != want {
				t.Errorf("exit status %d, want %d\n%s", r.status, want, r)
			}
		})
	}
}

// diagnostic is the first line of what check prints of a finding.
var diagnostic = regexp.MustCompile(`(?m)^(\S+):(\d+):(\d+): (error|warning): .* \[([a-z-]+)\]$`)

// TestFaulty compares each comment of faulty.dlct with what check says of the line
// below it, and the codes that it has against those that there are.
func TestFaulty(t *testing.T) {
	require(t, "sh", "python3") // else check warns of them too
	const name = "examples/faulty/faulty.dlct"
	f, err := os.Open(filepath.FromSlash("faulty/faulty.dlct"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[int]string{} // by line
	claim := regexp.MustCompile(`^# ([a-z]+-[a-z-]+|ambiguous|deprecated|backtick|prose)(:|$)`)
	code, line := "", 0
	for s := bufio.NewScanner(f); s.Scan(); {
		line++
		switch m := claim.FindStringSubmatch(s.Text()); {
		case m != nil:
			code = m[1]
		case code != "" && s.Text() != "":
			want[line], code = code, ""
		}
	}
	if len(want) < 20 {
		t.Fatalf("only %d lines of faulty.dlct have a comment that names their fault", len(want))
	}

	r := runDialect(t, "..", "dialect check "+name)
	got := map[int][]string{}
	for _, m := range diagnostic.FindAllStringSubmatch(r.stdout, -1) {
		if m[1] != name {
			t.Errorf("a finding outside of the script: %s", m[0])
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		got[n] = append(got[n], m[5])
	}
	seen := map[string]bool{}
	for line, code := range want {
		seen[code] = true
		if !slices.Equal(got[line], []string{code}) {
			t.Errorf("%s:%d: the comment above says %s, check says %v", name, line, code, got[line])
		}
	}
	for line, codes := range got {
		if want[line] == "" {
			t.Errorf("%s:%d: %v, and no comment above says so", name, line, codes)
		}
	}

	// What no line of a text file can show, or none without dialect in PATH.
	elsewhere := []string{"not-utf8", "line-too-long", "file-too-large", "crlf", "byte-order-mark", "empty-script", "no-such-line", "mcp-call", "runs-itself"}
	for _, code := range diag.Codes("lang", "lang/resolve") {
		if !seen[string(code)] && !slices.Contains(elsewhere, string(code)) {
			t.Errorf("faulty.dlct has no line for %s", code)
		}
	}
}

// scripts returns the scripts of this directory, slash-separated.
func scripts(t *testing.T) []string {
	var found []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".dlct") {
			found = append(found, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 6 {
		t.Fatalf("only %d scripts were found: %q", len(found), found)
	}
	return found
}

// A result is what a command left.
type result struct {
	stdout, stderr string
	status         int
}

func (r result) String() string {
	var b strings.Builder
	for _, part := range []struct{ name, text string }{{"stdout", r.stdout}, {"stderr", r.stderr}} {
		if part.text == "" {
			continue
		}
		fmt.Fprintf(&b, "-- %s --\n%s", part.name, part.text)
		if !strings.HasSuffix(part.text, "\n") {
			b.WriteString("\n(no newline at the end)\n")
		}
	}
	fmt.Fprintf(&b, "-- exit status %d --\n\n", r.status)
	return b.String()
}

// heartbeats are what a run off a terminal says every 30 s: whether there are any
// depends on the machine.
var heartbeats = regexp.MustCompile(`(?m)^dialect: running for .*\n`)

// runDialect runs a command line that begins with "dialect" in dir, off a
// terminal and outside of CI. Its words hold no spaces.
func runDialect(t *testing.T, dir, command string) result {
	t.Helper()
	cmd := exec.Command(dialect, strings.Fields(command)[1:]...)
	cmd.Dir = dir
	cmd.Env = environ()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", command, err)
	}
	return result{stdout.String(), heartbeats.ReplaceAllString(stderr.String(), ""), cmd.ProcessState.ExitCode()}
}

// environ is a small environment: what the tools need to be found and to find
// their caches, and nothing that would change a report or what a tool does.
func environ() []string {
	var env []string
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "PATH", "HOME", "USER", "TMPDIR", "XDG_CACHE_HOME", "GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN":
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C.UTF-8", "TZ=UTC")
}

// What differs from one run to the next.
var (
	logs      = regexp.MustCompile(`\bsha256/[0-9a-f]{2}/[0-9a-f]{62}\b`)
	logIDs    = regexp.MustCompile(`\b(dialect log (?:--store \S+ )?)[0-9a-f]{12}\b`)
	shas      = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	gates     = regexp.MustCompile(`\bg-[0-9a-f]{12}\b`)
	runs      = regexp.MustCompile(`\br-[0-9a-f]{16}\b`)
	durations = regexp.MustCompile(`\b\d+(\.\d+)?( ?)(ms|µs|s)\b`)
	minutes   = regexp.MustCompile(`\b(\d+h)?\d+m\d+s\b`) // what takes so long has no space before the unit
)

func normal(work, text string) string {
	for _, dir := range []string{work, resolved(work)} {
		text = strings.ReplaceAll(text, dir, "$WORK")
	}
	text = logs.ReplaceAllString(text, "sha256/LOG")
	text = logIDs.ReplaceAllString(text, "${1}ID")
	text = shas.ReplaceAllString(text, "SHA256")
	text = gates.ReplaceAllString(text, "g-ID")
	text = runs.ReplaceAllString(text, "r-ID")
	return durations.ReplaceAllString(minutes.ReplaceAllString(text, "N s"), "N${2}s")
}

func resolved(dir string) string {
	if r, err := filepath.EvalSymlinks(dir); err == nil {
		return r
	}
	return dir
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n(go test ./examples -update writes it)", err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(string(want), "\n")
	n := 0
	for n < min(len(g), len(w)) && g[n] == w[n] {
		n++
	}
	g, w = append(g, "(the end)"), append(w, "(the end)")
	t.Errorf("%s:%d: the output is another (go test ./examples -update, if it is right)\ngot  %s\nwant %s\n--- all that was got\n%s", path, n+1, g[n], w[n], got)
}

// require skips the test if a tool is missing on a developer's machine. Under CI
// a missing tool fails: a gate that skips proves nothing.
func require(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		_, err := exec.LookPath(tool)
		switch tool {
		case "go", "gofmt", "sh":
		default: // one that is there and does not work is missing
			if err == nil {
				err = exec.Command(tool, "--version").Run()
			}
		}
		switch {
		case err == nil:
		case os.Getenv("CI") != "":
			t.Fatalf("%s is missing; .ci/run installs it", tool)
		default:
			t.Skipf("NOT TESTED: %s is missing; .ci/run says where it comes from", tool)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the tools of the examples are those of Unix")
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// copyTree copies a file, or a directory without what runs leave behind in it.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".dialect", "__pycache__", ".mypy_cache", ".pytest_cache"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || d.Name() == "tracker.log" || d.Name() == "release.txt" {
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
