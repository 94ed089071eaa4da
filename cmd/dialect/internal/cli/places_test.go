//go:build linux

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A session of an editor that opens a script and asks about its words.
func editor(dir string) string {
	var b strings.Builder
	send := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(text), text)
	}
	uri := "file://" + dir
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":%q,"capabilities":{}}}`, uri)
	send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	send(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":%q,"languageId":"dialect","version":1,"text":"Check with a\n"}}}`, uri+"/t.dlct")
	send(`{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{"textDocument":{"uri":%q},"position":{"line":0,"character":1}}}`, uri+"/t.dlct")
	send(`{"jsonrpc":"2.0","id":3,"method":"textDocument/references","params":{"textDocument":{"uri":%q},"position":{"line":0,"character":1},"context":{"includeDeclaration":true}}}`, uri+"/t.dlct")
	send(`{"jsonrpc":"2.0","id":4,"method":"shutdown"}`)
	send(`{"jsonrpc":"2.0","method":"exit"}`)
	return b.String()
}

const placesMatrix = `[commands.check_a]
verb = "check"
noun = "a"
skill = "known"
tool = "true"
effect = "read"
exclusive = "thing"
[commands.ask_server]
verb = "ask"
noun = "server"
tool = "mcp:nobody:ask"
`

// TestPlaces puts something else in the place of each file that dialect reads or writes on
// its own account: every command ends soon, and nothing outside of the project changes.
func TestPlaces(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	// dialect runs a command in dir; late says that it had to be killed.
	dialect := func(dir, stdin string, args ...string) (out string, late bool) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, exe, args...)
		cmd.Args[0] = "dialect"
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
		cmd.WaitDelay = time.Second
		text, _ := cmd.CombinedOutput()
		return string(text), ctx.Err() != nil
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := t.TempDir()
	for name, text := range map[string]string{
		"routing.toml": placesMatrix, "s.dlct": "Check with a\n", ".mcp.json": "{}", "x.mcp": "",
		".claude/skills/known/SKILL.md": "---\nname: known\ndescription: d\n---\nbody\n", ".gitignore": ".dialect\n",
	} {
		do(os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700))
		do(os.WriteFile(filepath.Join(base, name), []byte(text), 0o600))
	}
	git := exec.Command("sh", "-c", "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")
	git.Dir, git.Env = base, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, late := dialect(base, "", "run", "s.dlct"); late || !strings.Contains(out, "passed") {
		t.Fatal(out)
	}
	places := []string{
		"routing.toml", "s.dlct", ".mcp.json", ".claude/skills/known/SKILL.md", ".git/index", ".git/config", ".git/HEAD",
		".dialect", ".dialect/store/receipts.db", ".dialect/store/receipts.db-wal", ".dialect/store/receipts.db-shm",
		".dialect/lock", ".dialect/lock/thing",
	}
	// What the run has left: its document, key, blobs and list, and their directories.
	do(filepath.WalkDir(filepath.Join(base, ".dialect/log"), func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(base, path)
		places = append(places, rel)
		return err
	}))
	if len(places) < 20 {
		t.Fatalf("the run has left only %q", places)
	}
	kinds := map[string]func(path, outside string) error{
		"fifo":      func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"zero":      func(path, _ string) error { return os.Symlink("/dev/zero", path) },
		"link to a file": func(path, outside string) error {
			return os.Symlink(filepath.Join(outside, "file"), path)
		},
		"link to nothing": func(path, outside string) error { return os.Symlink(filepath.Join(outside, "new"), path) },
		"link to a directory": func(path, outside string) error {
			return os.Symlink(outside, path)
		},
	}
	blob := "sha256/ab/" + strings.Repeat("cd", 31)
	for _, place := range places {
		for kind, plant := range kinds {
			if info, err := os.Lstat(filepath.Join(base, place)); err == nil && info.IsDir() && kind == "directory" {
				continue
			}
			t.Run(strings.ReplaceAll(place, "/", "|")+"/"+kind, func(t *testing.T) {
				t.Parallel()
				dir, outside := filepath.Join(t.TempDir(), "p"), t.TempDir()
				if out, err := exec.Command("cp", "-a", base, dir).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for name, text := range map[string]string{"file": "mine", blob: "looks like a blob", "runs/r-0123456789abcdef": "{}"} {
					path := filepath.Join(outside, name)
					if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, []byte(text), 0o600) != nil {
						t.Fatal("cannot make what is outside")
					}
				}
				before := tree(t, outside)
				path := filepath.Join(dir, place)
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				if err := plant(path, outside); err != nil {
					t.Fatal(err)
				}
				for _, args := range [][]string{
					{"check", "s.dlct"}, {"run", "s.dlct"}, {"verify"}, {"runs"}, {"receipts", "gc", "--older-than", "1s", "--max-size", "0"}, {"lsp"},
				} {
					stdin := ""
					if args[0] == "lsp" {
						stdin = editor(dir)
					}
					out, late := dialect(dir, stdin, args...)
					if late || strings.Contains(out, "panic") || strings.Contains(out, "internal error") {
						t.Errorf("%q: killed %v\n%s", args, late, out)
					}
				}
				if after := tree(t, outside); !bytes.Equal(before, after) {
					t.Errorf("outside was\n%s\nand is\n%s", before, after)
				}
			})
		}
	}
}

// tree lists the files below a directory with their content.
func tree(t *testing.T, root string) []byte {
	var b bytes.Buffer
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		fmt.Fprintf(&b, "%s %v", strings.TrimPrefix(path, root), d.Type())
		if err == nil && d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, " %q", text)
			if err != nil {
				return err
			}
		}
		b.WriteByte('\n')
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return b.Bytes()
}
