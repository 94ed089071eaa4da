package examples_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A doc is a page whose commands are run. A block of it that opens with
//
//	```console NAME
//
// is a session in the project testdata/docs/NAME.txtar: lines that begin with "$ " are run by bash in the root of the
// project, one after the other ("> " continues a command), and what follows is their output, standard error included.
// All blocks of a page with the same NAME continue one session.
//
// The comment of the archive is a script of bash that prepares the project once its files are there. Its first line may
// say "# needs: TOOL..."; $EXAMPLES is this folder.
//
// What differs from run to run (ids, digests, dates, durations) is compared by its form, so that -update changes a page
// only where something else differs.
type doc struct {
	path  string // from the root of the repository
	lines []string
}

// docs returns README.md, what .github has, and the topics that are written by hand.
func docs(t *testing.T) (list []doc) {
	t.Helper()
	names := []string{"README.md"}
	for _, pattern := range []string{".github/*.md", "stdlib/docs/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(name, ".."+string(filepath.Separator))))
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, doc{name, strings.Split(string(text), "\n")})
	}
	if len(list) < 15 {
		t.Errorf("only %d pages were found", len(list))
	}
	return list
}

// A block is what stands between two fences.
type block struct {
	info     string // what follows the opening fence: "console median"
	from, to int    // its lines, 0-based; to is the closing fence
}

// blocks returns the fenced blocks of a page.
func (d doc) blocks(t *testing.T) (list []block) {
	t.Helper()
	open := -1
	for i, line := range d.lines {
		switch info, fence := strings.CutPrefix(line, "```"); {
		case fence && open < 0:
			open = i
			list = append(list, block{info: info, from: i + 1})
		case fence:
			if info != "" {
				t.Fatalf("%s:%d: a block opens within the one of line %d", d.path, i+1, open+1)
			}
			open, list[len(list)-1].to = -1, i
		case open < 0 && strings.HasPrefix(line, "    $ "):
			t.Errorf("%s:%d: a command outside of a fenced block is run by no test", d.path, i+1)
		}
	}
	if open >= 0 {
		t.Fatalf("%s:%d: the block is not closed", d.path, open+1)
	}
	return list
}

const released = "it needs a release: TestInstall checks the sums of archives, and that two builds are one; TestDocDownload plays one"

// notRun are the commands of `sh` blocks, which show no output, and why no test here runs them.
var notRun = map[string]string{
	"dialect receipts keygen boss boss.key >boss.pub":                                                                                                                     keyed,
	"runuser -u agent -- dialect run --json --key-fd 3 quality.dlct 3< <(cat boss.key) >run.json":                                                                         keyed,
	"test ! -e new.txt && jq -ej .checkpoint run.json >new.txt && { test -e checkpoint.txt || cp new.txt checkpoint.txt; } &&":                                            keyed,
	"dialect receipts audit --since checkpoint.txt --since new.txt && mv new.txt checkpoint.txt &&":                                                                       keyed,
	"dialect verify --require quality --base 3d5c0b64dec3d72ae4ee8c01eb38a2fbc27a6a5e --key boss.pub --level L1 --since checkpoint.txt &&":                                keyed,
	"dialect consume g-8fc71b27dd92 --require quality --base 3d5c0b64dec3d72ae4ee8c01eb38a2fbc27a6a5e --key boss.pub --level L1 --since checkpoint.txt --ledger spent.db": keyed,
	"dialect receipts export --bundle g-8fc71b27dd92 >proof.json":                                                                                                         keyed,
	"go install github.com/command-dialect/dialect/cmd/dialect@latest github.com/command-dialect/dialect/cmd/dialect/dialect-mcp@latest":                                  "it needs the network: TestInstall installs the same from a proxy of its own",
	"sudo make install": "it writes outside of this tree: TestInstall has a place of its own",
	"make build && ./bin/dialect run examples/go/quality.dlct":                                                                "it writes into this tree: TestInstall runs it in a copy",
	"grep ' dialect_TAG_linux_amd64.tar.gz$' SHA256SUMS | sha256sum --check":                                                  released,
	"gh attestation verify dialect_TAG_linux_amd64.tar.gz --repo command-dialect/dialect":                                     released,
	"git clone --branch TAG https://github.com/command-dialect/dialect source && cd source":                                   released,
	"dialect verify --tree HEAD --require quality --bundle ../release.bundle.json --key ../dialect-release.pub --base COMMIT": released,
	"make release && cmp bin/dist/dialect_TAG_linux_amd64.tar.gz ../dialect_TAG_linux_amd64.tar.gz":                           released,
	"npm install --global ./dialect-VERSION.tgz ./command-dialect-linux-x64-VERSION.tgz":                                      released,
	"dialect guard -- codex":                                inGuard,
	"dialect guard -- claude":                               inGuard,
	"dialect guard -- bash":                                 inGuard,
	"dialect receipts keygen boss ../boss.key >../boss.pub": ordinary,
	"dialect guard --bundle ../proof.json --identity 3 -- sh attempt.sh 3< <(cat ../boss.key)":      ordinary,
	"dialect verify --bundle ../proof.json --key ../boss.pub --level notary --require gate_quality": ordinary,
	"make test": "it is what runs this test",
	"CGO_ENABLED=0 go install github.com/temporalio/cli/cmd/temporal@v1.5.1":                                                  "it needs the network",
	"temporal server start-dev --headless --ip 127.0.0.1":                                                                     "the test of the worker has a server of its own",
	"dialect receipts keygen worker worker.key >worker.pub":                                                                   worked,
	"git init --quiet --bare depot.git":                                                                                       worked,
	`dialect-temporal worker --task-queue quality --remote "$PWD/depot.git" --key-fd 3 3< <(cat worker.key)`:                  worked,
	`dialect run --engine temporal --task-queue quality --remote "$PWD/../depot.git" --worker-key ../worker.pub quality.dlct`: worked,
	"dialect verify": worked,
}

const worked = "it needs dialect-temporal, a module of its own: TestPage there follows the page"

const keyed = "a key counts only from a binary that its user cannot read: TestAdversary follows this protocol with one"

const (
	inGuard  = "it waits for a person; TestGuarded of hook/live runs Codex so, and TestTerminal of runtime/domain a shell"
	ordinary = "it takes an ordinary user: TestGuardPage runs these commands as one"
)

// infos are the kinds of blocks that hold no command.
var infos = []string{"text", "toml", "json", "dlct", "yaml", "go", "lua", "bnf"}

// TestDocs runs the commands of README.md and of the topics, and compares what they print.
func TestDocs(t *testing.T) {
	ran := 0
	for _, d := range docs(t) {
		blocks := d.blocks(t)
		for _, b := range blocks {
			kind, name, _ := strings.Cut(b.info, " ")
			switch {
			case kind == "console" && name != "":
				ran++
			case kind == "sh":
				for i, line := range d.lines[b.from:b.to] {
					if line = command(line); line != "" && notRun[line] == "" {
						t.Errorf("%s:%d: a block of sh is not run, and notRun has no reason for %q: make it `console`", d.path, b.from+i+1, line)
					}
				}
			case !slices.Contains(infos, b.info):
				t.Errorf("%s:%d: a block of the kind %q: commands are `console NAME`", d.path, b.from, b.info)
			}
		}
		if slices.ContainsFunc(blocks, func(b block) bool { return strings.HasPrefix(b.info, "console ") }) {
			t.Run(strings.TrimSuffix(filepath.Base(d.path), ".md"), func(t *testing.T) {
				t.Parallel()
				runDoc(t, d, blocks)
			})
		}
	}
	if ran < 10 {
		t.Errorf("only %d blocks are run", ran)
	}
}

// TestDocExamples checks each matrix and each script that the pages show. A part of a matrix may name members that stand
// elsewhere.
func TestDocExamples(t *testing.T) {
	checked := 0
	for _, d := range docs(t) {
		if strings.HasSuffix(d.path, "/routing.md") {
			continue // TestExamples of lang/routing/reference loads each of its examples
		}
		for _, b := range d.blocks(t) {
			text := strings.Join(d.lines[b.from:b.to], "\n") + "\n"
			dir := t.TempDir()
			switch b.info {
			case "toml":
				checked++
				for _, pinned := range []string{"conftest.py", "Makefile", "a/routing.toml", "a/quality.dlct"} {
					write(t, filepath.Join(dir, pinned), "")
				}
				write(t, filepath.Join(dir, "routing.toml"), text)
				for _, m := range diagnostic.FindAllStringSubmatch(runDialect(t, dir, "dialect check routing.toml").stdout, -1) {
					if code := m[5]; m[4] == "error" && code != "unknown-member" || code == "unknown-key" || code == "bad-value" {
						t.Errorf("%s:%d: %s", d.path, b.from+1, m[0])
					}
				}
			case "dlct":
				checked++
				write(t, filepath.Join(dir, "script.dlct"), text)
				if r := runDialect(t, dir, "dialect fmt --check script.dlct"); r.status != 0 {
					t.Errorf("%s:%d: it is not in the canonical form\n%s", d.path, b.from+1, r)
				}
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d examples were found", checked)
	}
}

// command returns a line of a shell without its comment.
func command(line string) string {
	line, _, _ = strings.Cut(line, "  #")
	return strings.TrimSpace(line)
}

// runDoc runs the sessions of a page.
func runDoc(t *testing.T, d doc, blocks []block) {
	sessions := make(map[string]*session)
	var out []string
	end := 0
	for _, b := range blocks {
		name, ok := strings.CutPrefix(b.info, "console ")
		if !ok {
			continue
		}
		s := sessions[name]
		if s == nil {
			s = begin(t, name)
			sessions[name] = s
		}
		var got []string
		want := d.lines[b.from:b.to]
		for i, line := range want {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			got = append(got, line)
			for _, more := range want[i+1:] {
				rest, ok := strings.CutPrefix(more, "> ")
				if !ok {
					break
				}
				got, command = append(got, more), command+"\n"+rest
			}
			got = append(got, s.run(t, command)...)
		}
		if slices.Equal(form(got), form(want)) {
			got = want
		} else if !*update {
			i := 0
			for i < min(len(got), len(want)) && form(got)[i] == form(want)[i] {
				i++
			}
			t.Errorf("%s:%d: the output is another (make golden, if it is right)\ngot\n%s\nwant\n%s", d.path, b.from+i+1, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		out = append(append(out, d.lines[end:b.from]...), got...)
		end = b.to
	}
	out = append(out, d.lines[end:]...)
	if *update && !slices.Equal(out, d.lines) {
		write(t, filepath.Join("..", filepath.FromSlash(d.path)), strings.Join(out, "\n"))
	}
}

var (
	dates   = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?\b`)
	prefix  = regexp.MustCompile(`\b[0-9a-f]{12,40}\b`)
	spaces  = regexp.MustCompile(`  +`)
	factors = regexp.MustCompile(`\bN[mµ]?s\b`)
)

// form returns lines without what differs from run to run: the columns of a table depend on the widths of durations.
func form(lines []string) (out []string) {
	for _, line := range lines {
		line = normal("/nowhere", line)
		line = dates.ReplaceAllString(line, "DATE")
		line = prefix.ReplaceAllString(line, "HASH")
		line = factors.ReplaceAllString(line, "Ns")
		out = append(out, spaces.ReplaceAllString(line, "  "))
	}
	return out
}

// A session is a project at work.
type session struct {
	home, work string
	env        []string
	status     int // of the last command
}

// begin makes the project of a session.
func begin(t *testing.T, name string) *session {
	t.Helper()
	name, _, _ = strings.Cut(name, "/")
	archive, err := txtar.ParseFile(filepath.Join("testdata", "docs", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	script := string(archive.Comment)
	tools := []string{"git", "bash"}
	if needs, ok := strings.CutPrefix(script, "# needs: "); ok {
		line, _, _ := strings.Cut(needs, "\n")
		tools = append(tools, strings.Fields(line)...)
	}
	require(t, tools...)
	examples, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{home: resolved(t.TempDir())}
	s.work = filepath.Join(s.home, name)
	for _, f := range archive.Files {
		write(t, filepath.Join(s.work, filepath.FromSlash(f.Name)), string(f.Data))
	}
	// PATH holds what the page needs: what else is installed changes no result of `dialect init`.
	bin := filepath.Join(s.home, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range append(tools, base...) {
		program, err := exec.LookPath(tool)
		if err == nil && tool == "python3" { // it may be a script that picks one by what else is in PATH
			var out []byte
			out, err = exec.Command(program, "-c", "import sys; print(sys.executable)").Output()
			program = strings.TrimSpace(string(out))
		}
		if err != nil {
			t.Fatal(err)
		}
		link(t, program, filepath.Join(bin, tool))
	}
	link(t, dialect, filepath.Join(bin, "dialect"))
	link(t, dialect, filepath.Join(bin, "ar"))
	link(t, filepath.Join(filepath.Dir(dialect), "dialect-mcp"), filepath.Join(bin, "dialect-mcp"))
	for _, kv := range environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "HOME", "TMPDIR":
		case "PATH":
			s.env = append(s.env, "PATH="+bin)
		default:
			s.env = append(s.env, kv)
		}
	}
	s.env = append(s.env, "HOME="+s.home, "CHECK="+filepath.Join(filepath.Dir(examples), "receipts", "vectors", "check.py"),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=2026-11-22T08:00:00Z",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=2026-11-22T08:00:00Z")
	if slices.Contains(tools, "go") { // the caches of this machine, not of the new HOME
		for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
			value, err := exec.Command("go", "env", name).Output()
			if err != nil {
				t.Fatal(err)
			}
			s.env = append(s.env, name+"="+strings.TrimSpace(string(value)))
		}
	}
	write(t, filepath.Join(s.home, ".gitconfig"), "[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n[advice]\n\tdetachedHead = false\n")
	if out := s.run(t, "set -e\nEXAMPLES='"+examples+"'\n"+script); s.status != 0 {
		t.Fatalf("the project %s cannot be prepared: exit status %d\n%s", name, s.status, strings.Join(out, "\n"))
	}
	s.status = 0
	return s
}

// base are the programs that every session has.
var base = strings.Fields("sh cat chmod cp cut date dirname echo env false grep head ls mkdir mktemp mv rm sed sleep sort tail tee test touch tr true uname wc")

func link(t *testing.T, program, name string) {
	t.Helper()
	if err := os.Symlink(program, name); err != nil {
		t.Fatal(err)
	}
}

// run runs a command and returns the lines that it printed.
func (s *session) run(t *testing.T, command string) []string {
	t.Helper()
	cmd := exec.Command("bash", "-c", fmt.Sprintf("(exit %d)\n%s", s.status, command)) // for $?
	cmd.Dir, cmd.Env = s.work, s.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("%s: %v", command, err)
	}
	s.status = cmd.ProcessState.ExitCode()
	text := heartbeats.ReplaceAllString(out.String(), "")
	text = strings.ReplaceAll(text, s.work, "~/"+filepath.Base(s.work))
	text = strings.ReplaceAll(text, s.home, "~")
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines { // as editors and reviewers want it
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// TestDocLinks follows the relative links of the pages, those to a heading included.
func TestDocLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, d := range docs(t) {
		for i, line := range d.lines {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				target, heading, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, ":") {
					continue
				}
				page := filepath.Join("..", filepath.FromSlash(d.path))
				if target != "" {
					page = filepath.Join(filepath.Dir(page), filepath.FromSlash(target))
				}
				text, err := os.ReadFile(page)
				if info, dir := os.Stat(page); err != nil && (dir != nil || !info.IsDir()) {
					t.Errorf("%s:%d: the link to %s leads nowhere", d.path, i+1, m[1])
				} else if heading != "" && !slices.Contains(anchors(string(text)), heading) {
					t.Errorf("%s:%d: %s has no heading #%s", d.path, i+1, cmp.Or(target, d.path), heading)
				}
			}
		}
	}
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) (list []string) {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			list = append(list, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-"))
		}
	}
	return list
}

// TestReadmeLength holds README.md to what is read in one sitting.
func TestReadmeLength(t *testing.T) {
	for _, d := range docs(t) {
		if d.path == "README.md" && len(d.lines) > 150 {
			t.Errorf("README.md has %d lines, more than 150: what is looked up belongs into a topic of stdlib/docs", len(d.lines))
		}
	}
}
