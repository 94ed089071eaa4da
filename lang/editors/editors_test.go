// Package editors_test drives the editors' halves with real editors: Neovim, and the libraries of
// VS Code under node. A tool that is missing skips its test, and fails it under CI.
package editors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang"
)

var program string // the built dialect

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dialect-editors-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "dialect")
	build := exec.Command("go", "build", "-o", program, "../../cmd/dialect")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		os.Stderr.WriteString("cannot build dialect: " + err.Error() + "\n")
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// need skips a test whose tool is missing; under CI that is a failure.
func need(t *testing.T, there bool, what string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("CI") != "":
		t.Fatalf("%s is missing", what)
	default:
		t.Skipf("%s is missing", what)
	}
}

// inPath reports whether a program is there and works.
func inPath(name string) bool { return exec.Command(name, "--version").Run() == nil }

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func abs(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const matrix = `[commands.test_go]
verb = "test"
noun = "go"
tool = "go vet ./..."
`

func TestNeovim(t *testing.T) {
	need(t, inPath("nvim"), "nvim")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "routing.toml"), matrix)
	write(t, filepath.Join(dir, "quality.dlct"), "Tets with go\n")
	env := []string{"DIALECT=" + program, "DIALECT_EDITORS=" + abs(t, "neovim"), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_STATE_HOME=" + dir, "XDG_CACHE_HOME=" + dir}
	got := run(t, dir, env, "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile "+abs(t, "neovim/test/session.lua"), "-c", "cquit 3")
	if !strings.HasSuffix(strings.TrimSpace(got), "done") {
		t.Fatal(got)
	}
	t.Log("\n" + got)
}

// What Vim makes of the lines of "dialect check", with the patterns that efm is given.
func TestErrorFormat(t *testing.T) {
	need(t, inPath("nvim"), "nvim")
	config, err := os.ReadFile("efm/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var formats []string
	for _, m := range regexp.MustCompile(`(?m)^      - '(%f.*)'$`).FindAllSubmatch(config, -1) {
		formats = append(formats, strings.ReplaceAll(string(m[1]), " ", `\ `))
	}
	if len(formats) != 2 {
		t.Fatalf("formats %q", formats)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "routing.toml"), matrix)
	write(t, filepath.Join(dir, "a.dlct"), "- Test with go\nTets with go\n")
	cmd := exec.Command(program, "check", "--stdin-filename", "a.dlct", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("- Test with go\nTets with go\n")
	out, _ := cmd.Output() // it has errors, and so the exit status 1
	write(t, filepath.Join(dir, "out"), string(out))
	write(t, filepath.Join(dir, "t.vim"), "set errorformat="+strings.Join(formats, ",")+",%-G%.%#\ncgetfile out\n"+
		`for d in getqflist() | call writefile([bufname(d.bufnr) . ':' . d.lnum . ':' . d.col . ':' . d.type], 'got', 'a') | endfor`+"\nqall!\n")
	run(t, dir, nil, "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", "t.vim", "-c", "cquit 3")
	got, err := os.ReadFile(filepath.Join(dir, "got"))
	if err != nil || string(got) != "a.dlct:1:1:w\na.dlct:2:1:e\n" {
		t.Errorf("quickfix list: %s %v, of\n%s", got, err, out)
	}
}

// The handler of the linter for ALE, given what "dialect check --lsp-lite" prints. ALE itself is
// not there: its two functions that the file calls are.
func TestALE(t *testing.T) {
	need(t, inPath("nvim"), "nvim")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "routing.toml"), matrix+"tol = 1\n")
	write(t, filepath.Join(dir, "a.dlct"), "")
	cmd := exec.Command(program, "check", "--lsp-lite", "--stdin-filename", filepath.Join(dir, "a.dlct"), "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("- Test with go\nTets with go\n")
	out, _ := cmd.Output()
	write(t, filepath.Join(dir, "out"), string(out))
	if err := os.MkdirAll(filepath.Join(dir, "rt/autoload/ale"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "rt/autoload/ale.vim"), "function! ale#Set(name, value) abort\nendfunction\n")
	write(t, filepath.Join(dir, "rt/autoload/ale/linter.vim"), "function! ale#linter#Define(type, linter) abort\nlet g:linter = a:linter\nendfunction\n")
	write(t, filepath.Join(dir, "t.vim"), "set runtimepath^="+filepath.Join(dir, "rt")+"\nfunction! T() abort\nedit a.dlct\nsource "+abs(t, "ale/ale_linters/dialect/dialect.vim")+`
let l:found = call(g:linter.callback, [bufnr(''), readfile('out')])
call writefile([json_encode(l:found)], 'got')
endfunction
call T()
qall!
`)
	run(t, dir, nil, "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", "t.vim", "-c", "cquit 3")
	text, err := os.ReadFile(filepath.Join(dir, "got"))
	if err != nil {
		t.Fatal(err)
	}
	var got []struct {
		Lnum, Col, EndCol int
		Type, Code        string
	}
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("end_col"), []byte("endcol")), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(got) != 2 || got[0].Code != "list-marker" || got[0].Type != "W" || got[1].Code != "unbound-verb" || got[1].Type != "E" ||
		got[1].Lnum != 2 || got[1].Col != 1 || got[1].EndCol != 4 {
		t.Errorf("ALE gets %s of\n%s", text, out)
	}
}

// The grammar and the server half of the extension, by the libraries of VS Code.
func TestVSCode(t *testing.T) {
	need(t, inPath("node"), "node")
	_, err := os.Stat("vscode/node_modules/vscode-textmate")
	need(t, err == nil, "`npm ci --ignore-scripts` in lang/editors/vscode: vscode-textmate")
	got := run(t, "vscode", []string{"DIALECT=" + program}, "node", "--test", "test/")
	if !strings.Contains(got, "# fail 0") || !strings.Contains(got, "# pass 5") {
		t.Fatal(got)
	}
}

// The extension packs, with its client and without its tests.
func TestExtensionPacks(t *testing.T) {
	need(t, inPath("node"), "node")
	_, err := os.Stat("vscode/node_modules/@vscode/vsce")
	need(t, err == nil, "`npm ci --ignore-scripts` in lang/editors/vscode: vsce")
	file := filepath.Join(t.TempDir(), "dialect.vsix")
	run(t, "vscode", nil, "node", "node_modules/@vscode/vsce/vsce", "package", "--no-git-tag-version", "--allow-missing-repository", "--no-update-package-json", "-o", file)
	list := run(t, ".", nil, "node", "-e", `
const zip = require("./vscode/node_modules/yauzl");
zip.open(process.argv[1], {lazyEntries: false}, (err, z) => {
	if (err) throw err;
	z.on("entry", (e) => console.log(e.fileName));
});`, file)
	names := strings.Fields(list)
	for _, want := range []string{"extension/extension.js", "extension/package.json", "extension/syntaxes/dialect.tmLanguage.json", "extension/node_modules/vscode-languageclient/node.js"} {
		if !slices.Contains(names, want) {
			t.Errorf("the extension has no %s", want)
		}
	}
	for _, name := range names {
		if strings.Contains(name, "/test/") || strings.Contains(name, "vscode-textmate") || strings.HasSuffix(name, ".map") {
			t.Errorf("the extension has %s", name)
		}
	}
}

// The editors' own lists of prepositions are those of the language. That of the TextMate grammar
// is held by its own test.
func TestPrepositions(t *testing.T) {
	text, err := os.ReadFile("neovim/syntax/dialect.vim")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`\\%\((across[^)]*?)\\\)`).FindSubmatch(text)
	if m == nil {
		t.Fatal("no list")
	}
	got := strings.Split(string(m[1]), `\|`)
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(lang.Prepositions[:])); !slices.Equal(got, want) {
		t.Errorf("Vim's prepositions are %q, the language's %q", got, want)
	}
}
