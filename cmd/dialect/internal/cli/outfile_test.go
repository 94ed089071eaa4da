package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
	"github.com/command-dialect/dialect/runtime/process"
)

// namesFile are the flags whose value is a file, a folder or a path, by command. A flag
// that is in no list fails the test: say here whether it writes, and it is tried below.
var namesFile = map[string][]string{
	"reads": {
		"check --routing", "check --stdin-filename", "consume --key", "consume --routing", "consume --since", "doctor --routing", "explain --routing",
		"gate --key", "gate --routing", "gate --since", "lsp --routing", "mcp --root", "receipts export --since", "receipts consume --key", "receipts consume --routing", "receipts consume --since", "receipts lint --registry", "receipts list --key", "receipts show --key", "receipts validate --key",
		"consume --root", "gate --root", "receipts consume --root", "verify --root",
		"receipts audit --bundle", "receipts audit --key", "receipts audit --since", "report --key", "rerun --routing", "run --routing",
		"prove --routing", "prove --notary", "run --notary", "rerun --notary", "runs attach --notary", "runs attach --routing", "notary status --notary",
		"notary serve --key", "notary serve --tree",
		"trust --routing", "verify --bundle", "verify --key", "verify --routing", "verify --since", "vocab --routing",
	},
	"writes": slices.Concat(slices.Sorted(maps.Keys(writers))),
	// receipts/sqlite opens these, as it does --store, and leaves what is not its own untouched.
	"database": {"consume --ledger", "receipts consume --ledger"},
	// A socket is made where nothing is, or nobody listens (runtime/notary); guard's bundle is tried in examples; a run that is attached
	// to writes as `run` does, by the same code.
	"elsewhere": {"notary serve --socket", "guard --bundle", "runs attach --events", "runs attach --junit", "runs attach --html"},
	// The verifier keeps its own files in these folders.
	"folder": {"notary serve --state", "consume --state", "gate --state", "receipts consume --state", "verify --state"},
}

// writers are the flags that name a file to write: a command line for each, PLACE being
// the file.
var writers = map[string][]string{
	"run --junit":                  {"run", "quality.dlct", "--junit", "PLACE"},
	"run --html":                   {"run", "quality.dlct", "--html", "PLACE"},
	"run --events":                 {"run", "quality.dlct", "--events", "PLACE"},
	"rerun --junit":                {"rerun", "--junit", "PLACE"},
	"rerun --html":                 {"rerun", "--html", "PLACE"},
	"rerun --events":               {"rerun", "--events", "PLACE"},
	"report --html":                {"report", "--html", "PLACE"},
	"report --junit":               {"report", "--junit", "PLACE"},
	"report --markdown":            {"report", "--markdown", "PLACE"},
	"exec --receipt-file":          {"exec", "--receipt-file", "PLACE", "--", "touch", "ran"},
	"receipts exec --receipt-file": {"receipts", "exec", "--receipt-file", "PLACE", "--", "touch", "ran"},
	"receipts keygen":              {"receipts", "keygen", "boss", "PLACE"},
	"skill --install":              {"skill", "--install", "PLACE"},
	"init":                         {"init", "PLACE"},
}

// Every flag that names a file is known as one that writes or reads.
func TestFlagsThatNameFiles(t *testing.T) {
	known := make(map[string]bool)
	for _, list := range namesFile {
		for _, name := range list {
			known[name] = true
		}
	}
	found := make(map[string]bool)
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, c := range cmd.Commands() {
			name := strings.TrimSpace(path + " " + c.Name())
			c.Flags().VisitAll(func(f *pflag.Flag) {
				value, _ := pflag.UnquoteUsage(f)
				if f.Name == "store" || !slices.Contains([]string{"FILE", "DIR", "PATH", "PUB"}, value) {
					return
				}
				flag := name + " --" + f.Name
				found[flag] = true
				if !known[flag] {
					t.Errorf("%s: does it write? Add it to namesFile or writers", flag)
				}
			})
			walk(c, name)
		}
	}
	walk(newRoot(voice.New(), nil), "")
	for name := range known {
		if strings.Contains(name, "--") && !found[name] {
			t.Errorf("%s is not a flag that names a file", name)
		}
	}
}

const outfileMatrix = `[commands.check_ran]
verb = "check"
noun = "ran"
tool = "touch ran"
pins = ["pinned"]
`

// outfileProject makes a project with a store of one run in a new folder.
func outfileProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"routing.toml": outfileMatrix, "quality.dlct": "Check with ran\n", "pinned": "pinned\n", "go.mod": "module m\n", ".gitignore": "ran\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", dir, "init", "--quiet").CombinedOutput(); err != nil {
		t.Skipf("git: %v %s", err, out)
	}
	if out, status := dialectIn(dir, "run", "quality.dlct"); status != 0 {
		t.Fatalf("exit %d: %s", status, out)
	}
	if err := os.Remove(filepath.Join(dir, "ran")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func dialectIn(dir string, args ...string) (string, int) {
	cmd := exec.Command("dialect", args...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DIALECT_") && !strings.HasPrefix(kv, "GITHUB_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err.Error(), -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// filesBelow returns what is below dir: modes, contents and link targets by path.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			text += " " + to
		}
		found[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A command that cannot write its file says so before it runs or removes anything: not a byte
// of the project or the store is another one.
func TestOutfileRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and pipes are those of Unix")
	}
	dir := outfileProject(t)
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(".dialect/store/receipts.db", "link-to-store")
	link("nowhere/at-all", "link-to-nothing")
	link(".dialect", "link-to-folder")
	if err := os.Link(filepath.Join(dir, "quality.dlct"), filepath.Join(dir, "other-name")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "closed"), 0o555); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", filepath.Join(dir, "pipe")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, name := range []string{".mcp.json", "other.dlct"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	everywhere := []string{
		".dialect/store/receipts.db", ".dialect/store/receipts.db-wal", ".dialect/store/receipts.db-shm", ".dialect/log/new", ".dialect/lock/new", ".dialect/new",
		"link-to-store", "link-to-folder/new", "link-to-nothing", ".git/config", ".git/new", "pipe", "missing/folder/file", "quality.dlct/file",
	}
	reports := []string{"quality.dlct", "routing.toml", "pinned", "other-name", ".mcp.json", "other.dlct", "closed/../folder/Routing.toml", ".", "/dev/null", "folder/"}
	if os.Geteuid() != 0 {
		everywhere = append(everywhere, "closed/file") // root writes everywhere
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, dir)
	for _, name := range slices.Sorted(maps.Keys(writers)) {
		places := everywhere
		switch name {
		case "skill --install":
			places = slices.DeleteFunc(slices.Clone(places), func(p string) bool { return p == "missing/folder/file" }) // it makes folders
		case "init", "receipts keygen":
		default:
			places = slices.Concat(places, reports)
		}
		for _, place := range places {
			args := slices.Clone(writers[name])
			args[slices.Index(args, "PLACE")] = place
			want := exit.Usage
			if strings.Contains(name, "exec") {
				want = process.StatusNotBegun
			}
			out, status := dialectIn(dir, args...)
			if status != want {
				t.Errorf("%s %s: exit %d, want %d: %s", name, place, status, want, out)
			}
			after := filesBelow(t, dir)
			if !maps.Equal(before, after) {
				for p, text := range before {
					if after[p] != text {
						t.Errorf("%s %s: %s was changed or removed", name, place, p)
					}
				}
				for p := range after {
					if _, ok := before[p]; !ok {
						t.Errorf("%s %s: %s was made", name, place, p)
						_ = os.RemoveAll(p)
					}
				}
				before = filesBelow(t, dir)
			}
		}
	}
}

// A store with another name is kept, too, and so is a file with two reports.
func TestOutfileTwice(t *testing.T) {
	dir := outfileProject(t)
	if out, status := dialectIn(dir, "run", "--store", "s.db", "quality.dlct"); status != 0 {
		t.Fatal(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "old.xml"), []byte("the user's\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(dir, "ran"))
	before := filesBelow(t, dir)
	for _, args := range [][]string{
		{"run", "--store", "s.db", "--junit", "s.db", "quality.dlct"},
		{"run", "--store", "s.db", "--events", "s.db", "quality.dlct"},
		{"run", "--store", "s.db", "--junit", "s.db.log/x", "quality.dlct"},
		{"run", "--store", "s.db", "--junit", "s.db-audit", "quality.dlct"},
		{"run", "--store", "s.db", "--events", "s.db-wal", "quality.dlct"},
		{"report", "--store", "s.db", "--html", "s.db"},
		{"report", "--store", "s.db", "--html", "s.db-audit"},
		{"run", "--junit", "old.xml", "--html", "./old.xml", "quality.dlct"},
		{"run", "--junit", "new.xml", "--events", "../" + filepath.Base(dir) + "/new.xml", "quality.dlct"},
		{"run", "--junit", "-", "--html", "-", "quality.dlct"},
		{"run", "--events", "-", "quality.dlct"},
		{"run", "--junit", "old.xml", "--events", "e.jsonl", "--key-fd", "99", "quality.dlct"},
		{"run", "--junit", "old.xml", "--base", "no-such-revision", "--events", "old.jsonl", "quality.dlct"},
		{"run", "--junit", "old.xml", "--max-output", "much", "quality.dlct"},
		{"report", "--junit", "old.xml", "--markdown", "old.xml"},
		{"report", "--junit", "new.xml", "--markdown", "missing/old.xml"},
		{"trust", "--show", "--remove"},
	} {
		out, status := dialectIn(dir, args...)
		if status != exit.Usage {
			t.Errorf("%q: exit %d: %s", args, status, out)
		}
		after := filesBelow(t, dir)
		for p := range maps.All(after) {
			if strings.Contains(p, string(filepath.Separator)+".dialect") || strings.Contains(p, "s.db") {
				continue // a run that got as far as its store leaves files of SQLite
			}
			if before[p] != after[p] {
				t.Errorf("%q: %s was made or changed", args, p)
			}
		}
		for p := range before {
			if _, ok := after[p]; !ok && !strings.Contains(p, ".db-") {
				t.Errorf("%q: %s was removed", args, p)
			}
		}
	}
}

// A report replaces an earlier one at the end of a run, as a whole, and keeps its mode.
func TestOutfileReplaced(t *testing.T) {
	dir := outfileProject(t)
	path := filepath.Join(dir, "r.xml")
	if err := os.WriteFile(path, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	matrix := strings.ReplaceAll(outfileMatrix, `"touch ran"`, `"grep -q old r.xml"`)
	if err := os.WriteFile(filepath.Join(dir, "routing.toml"), []byte(matrix), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, status := dialectIn(dir, "run", "--junit", "r.xml", "quality.dlct"); status != 0 {
		t.Fatalf("the old report was gone while the run went on: exit %d: %s", status, out)
	}
	text, err := os.ReadFile(path)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || !bytes.Contains(text, []byte("<testsuites")) || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v %s %s", err, serr, info.Mode(), text)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".r.xml*"))
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A command that puts a link in the place of a report's folder leads the report nowhere else.
func TestOutfileSwapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and shells are those of Unix")
	}
	for _, test := range []struct {
		name, tool, place string
		args              []string
		want              int
	}{
		{"junit into the store", "rm -rf out; ln -s .dialect/store out", "out/receipts.db", []string{"run", "--junit", "PLACE", "quality.dlct"}, exit.Internal},
		{"html into the store", "mv out away; ln -s .dialect/store out", "out/receipts.db", []string{"run", "--html", "PLACE", "quality.dlct"}, exit.Internal},
		{"html into .git", "rm -rf out; ln -s .git out", "out/config", []string{"run", "--html", "PLACE", "quality.dlct"}, exit.Internal},
		{"a folder above", "rm -rf out; mkdir out; ln -s ../.git out/in", "out/in/config", []string{"run", "--junit", "PLACE", "quality.dlct"}, exit.Internal},
		{"the file itself", "ln -s ../.git/config out/r", "out/r", []string{"run", "--junit", "PLACE", "quality.dlct"}, 0},
		{"receipt file", "rm -rf out; ln -s .git out", "out/config", []string{"exec", "--receipt-file", "PLACE", "--", "sh", "-c", "rm -rf out; ln -s .git out"}, process.StatusNotBegun},
		{"a folder that is made again", "rm -rf out; mkdir -p out/in", "out/r.xml", []string{"run", "--junit", "PLACE", "quality.dlct"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := outfileProject(t)
			matrix := strings.ReplaceAll(outfileMatrix, `"touch ran"`, fmt.Sprintf(`"sh -c '%s'"`, test.tool))
			for name, text := range map[string]string{"routing.toml": matrix, ".gitignore": "out\naway\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Join(dir, "out/in"), 0o755); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(dir, ".git/config"))
			if err != nil {
				t.Fatal(err)
			}
			args := slices.Clone(test.args)
			args[slices.Index(args, "PLACE")] = test.place
			out, status := dialectIn(dir, args...)
			if status != test.want {
				t.Errorf("exit %d, want %d: %s", status, test.want, out)
			}
			after, err := os.ReadFile(filepath.Join(dir, ".git/config"))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("git's configuration is %v %.100q", err, after)
			}
			if out, status := dialectIn(dir, "receipts", "audit"); status != 0 {
				t.Errorf("the store: exit %d: %s", status, out)
			}
			if test.want == 0 {
				info, err := os.Lstat(filepath.Join(dir, test.place))
				if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
					t.Errorf("no report: %v %v", info, err)
				}
			}
		})
	}
}

// The place of a report hides nothing: what a command writes there while it only reads is
// a change of the tree.
func TestOutfileHidesNothing(t *testing.T) {
	dir := outfileProject(t)
	matrix := strings.ReplaceAll(outfileMatrix, `"touch ran"`, `"sh -c 'echo evil >conftest.py'"`)
	for name, text := range map[string]string{"routing.toml": matrix, "conftest.py": "honest\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, status := dialectIn(dir, "run", "--junit", "conftest.py", "quality.dlct")
	if status != exit.Refused || !strings.Contains(out, "conftest.py") {
		t.Errorf("exit %d: %s", status, out)
	}
}

// fmt and check --fix write nothing where one of their files cannot be read or written.
func TestEditsAllOrNothing(t *testing.T) {
	dir := outfileProject(t)
	for name, text := range map[string]string{"a.dlct": "- check   with ran\r\n", "bad.dlct": "- check   with ran\r\n\"Check\" with ran\r\n", "notes.md": "# Notes\r\n\r\n\"This\" is prose, and is not a script.\r\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := filesBelow(t, dir)
	for _, test := range []struct {
		status int
		args   []string
	}{
		{exit.Failed, []string{"fmt", "bad.dlct"}},
		{exit.Failed, []string{"fmt", "notes.md"}},
		{exit.Usage, []string{"fmt", "a.dlct", "missing.dlct"}},
		{exit.Usage, []string{"fmt", "a.dlct", "a.dlct:1"}},
		{exit.Usage, []string{"check", "--fix", "a.dlct", "missing.dlct"}},
		{exit.Usage, []string{"check", "--fix", "--set", "nonsense", "a.dlct"}},
	} {
		if out, status := dialectIn(dir, test.args...); status != test.status {
			t.Errorf("%q: exit %d, want %d: %s", test.args, status, test.status, out)
		}
		if after := filesBelow(t, dir); !maps.Equal(before, after) {
			t.Fatalf("%q changed a file", test.args)
		}
	}
	if out, status := dialectIn(dir, "fmt", "bad.dlct", "a.dlct"); status != exit.Failed {
		t.Errorf("exit %d: %s", status, out)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "a.dlct")); string(text) != "Check with ran\n" {
		t.Errorf("a file beside one that is rejected is %q", text)
	}
}

// TestLinksLeadNowhere: what a link of a repository, or of a plain folder, leads to outside of it is not rewritten,
// and nothing is made there, whether the folder is walked, a shell lists its files, or a part of the path is the link.
func TestLinksLeadNowhere(t *testing.T) {
	for _, repository := range []bool{true, false} {
		dir, outside := outfileProject(t), t.TempDir()
		if !repository {
			if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
		}
		write := func(path string) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("- check   with ran\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(outside, "todo.txt"))
		write(filepath.Join(outside, "b.dlct"))
		write(filepath.Join(dir, "lib", "inner.dlct"))
		for name, to := range map[string]string{
			"a.dlct": filepath.Join(outside, "todo.txt"), "chain.dlct": "a.dlct", "sub": outside, ".claude": outside, "inside.dlct": "lib/inner.dlct",
		} {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
		}
		before := filesBelow(t, outside)
		for _, c := range []struct {
			status int
			args   []string
		}{
			{0, []string{"fmt", "."}}, {0, []string{"check", "--fix", "."}},
			{exit.Usage, []string{"fmt", "a.dlct"}}, {exit.Usage, []string{"check", "--fix", "a.dlct"}}, {exit.Usage, []string{"fmt", "chain.dlct"}},
			{exit.Usage, []string{"fmt", filepath.Join(dir, "a.dlct")}},
		} {
			if out, status := dialectIn(dir, c.args...); status != c.status || status != 0 && !strings.Contains(out, "leads out of") {
				t.Errorf("repository %t: %q: exit %d, want %d: %s", repository, c.args, status, c.status, out)
			}
		}
		if repository {
			for _, args := range [][]string{{"fmt", "sub/b.dlct"}, {"skill", "--install", ".claude/skills"}, {"skill", "--install", "sub"}} {
				if out, status := dialectIn(dir, args...); status != exit.Usage || !strings.Contains(out, "leads out of") {
					t.Errorf("%q: exit %d: %s", args, status, out)
				}
			}
		}
		if after := filesBelow(t, outside); !maps.Equal(before, after) {
			t.Errorf("repository %t: outside was %q, is %q", repository, before, after)
		}
		// A link that stays inside is followed, and stays a link.
		write(filepath.Join(dir, "lib", "inner.dlct"))
		if out, status := dialectIn(dir, "fmt", "inside.dlct"); status != 0 {
			t.Errorf("exit %d: %s", status, out)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "lib", "inner.dlct")); string(text) != "Check with ran\n" {
			t.Errorf("the file of a link is %q", text)
		}
	}
}

// The folder of a store is made, private.
func TestStoreFolder(t *testing.T) {
	dir := outfileProject(t)
	out, status := dialectIn(dir, "run", "--store", "a/b/s.db", "quality.dlct")
	if status != 0 || strings.Contains(out, "DEGRADED") {
		t.Errorf("exit %d: %s", status, out)
	}
	for _, name := range []string{"a", "a/b"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}
