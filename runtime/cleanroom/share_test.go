//go:build linux

package cleanroom

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A room shows what is named in [clean] share, and the executable of the command with its toolchain, and the stay names it. What a
// command writes into a shared directory is gone with it.
func TestShared(t *testing.T) {
	dir := home(t)
	root := project(t, filepath.Join(dir, "home"))
	program := func(name, text string) {
		t.Helper()
		put(t, dir, name, "#!/bin/sh\n"+text+"\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, root, ".gitignore", "ignored*\n.venv\n.env\n")
	put(t, root, ".venv/lib/x.py", "installed\n")
	put(t, root, ".env", "KEY=1\n")
	put(t, dir, "home/.cache/models/m", "model\n")
	put(t, dir, "home/.cache/secret", "secret\n")
	program("home/.tools/versions/1/bin/tool", `cat "$(dirname "$(readlink -f "$0")")/../lib/part"`)
	put(t, dir, "home/.tools/versions/1/lib/part", "part\n")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "home/.local/bin"), 0o755), os.Symlink("../../.tools/versions/1/bin/tool", filepath.Join(dir, "home/.local/bin/tool"))); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "home/.local/lib/python/sitecustomize.py", "planted\n")
	program("home/.cargo/bin/cargo", `cat ~/.rustup/toolchain; ls ~/.cargo`)
	put(t, dir, "home/.cargo/config.toml", "planted\n")
	put(t, dir, "home/.rustup/toolchain", "stable\n")
	t.Setenv("PATH", dir+"/home/.cargo/bin:"+dir+"/home/.local/bin:"+os.Getenv("PATH"))
	confined(t, root).Close()
	run := func(share []string, argv ...string) (out string, sees []string, err error) {
		t.Helper()
		r := enter(t, root, Options{Helper: []string{helperName}, Share: share})
		defer r.Close()
		s, res, err := in(t, r, argv)
		if err != nil {
			return "", nil, err
		}
		changed, err := s.End(t.Context())
		if err != nil || len(changed) > 0 {
			t.Errorf("changed: %q, %v", changed, err)
		}
		return string(res.Stdout.Head) + string(res.Stderr.Head), s.Shared(), nil
	}
	for name, test := range map[string]struct {
		share []string
		argv  []string
		out   string
		sees  []string
	}{
		"in the tree": {[]string{".venv", ".env"}, []string{"sh", "-c", "cat .venv/lib/x.py .env; echo 1 > .venv/y; rm -r .venv/lib; ls -A .venv; echo 1 2>/dev/null > .env || echo read-only; git status --short --ignored | grep -c venv"},
			"installed\nKEY=1\ny\nread-only\n1\n", []string{".venv", ".env"}},
		"in the home directory": {[]string{"~/.cache/models"}, []string{"sh", "-c", "cat ~/.cache/models/m; ls ~/.cache"}, "model\nmodels\n", []string{"~/.cache/models"}},
		"by its path":           {[]string{dir + "/home/.cache/models/m"}, []string{"sh", "-c", "cat ~/.cache/models/*"}, "model\n", []string{dir + "/home/.cache/models/m"}},
		"a tool":                {nil, []string{"tool"}, "part\n", []string{"tools in ~/.local/bin", "tools in ~/.tools/versions/1"}},
		"rustup's":              {nil, []string{"cargo"}, "stable\nbin\n", []string{"tools in ~/.cargo/bin", "tools in ~/.rustup"}},
		"by its own path":       {nil, []string{dir + "/home/.tools/versions/1/bin/tool"}, "part\n", []string{"tools in ~/.tools/versions/1"}},
		"nothing":               {nil, []string{"sh", "-c", "ls -A ~ | grep -v project; command -v tool"}, "", nil},
	} {
		out, sees, err := run(test.share, test.argv...)
		if err != nil || out != test.out || !slices.Equal(sees, test.sees) {
			t.Errorf("%s: %v\n%s\nsees %q", name, err, out, sees)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, ".venv/lib/x.py")); err != nil || string(text) != "installed\n" {
		t.Errorf("a shared directory was changed: %q, %v", text, err)
	}
	if list, _ := os.ReadDir(filepath.Join(root, ".venv")); len(list) != 1 {
		t.Errorf("a shared directory was changed: %v", list)
	}
	for share, text := range map[string]string{
		"dir": "it has files of the project", "a.txt": "it has files of the project", ".": "the working tree is in it",
		"none": "install it first", "~/none": "install it first", dir: "the working tree is in it", "/": "the working tree is in it",
	} {
		if _, _, err := run([]string{share}, "true"); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", share, err)
		}
	}
	open := enter(t, root, Options{Share: []string{".venv"}})
	if _, _, err := in(t, open, []string{"true"}); err == nil || !strings.Contains(err.Error(), "without namespaces") {
		t.Errorf("an unconfined room shares: %v", err)
	}
}

// What a line that is meant to write leaves in a shared directory is there for the lines after it, and does not come back to the
// machine; what any other leaves there is not.
func TestSharedLayers(t *testing.T) {
	dir := home(t)
	root := project(t, dir)
	put(t, root, ".gitignore", "ignored*\nnode_modules\n")
	put(t, root, "node_modules/a/index.js", "a\n")
	put(t, root, "node_modules/b/index.js", "b\n")
	confined(t, root).Close()
	r := enter(t, root, Options{Helper: []string{helperName}, Share: []string{"node_modules"}})
	sh(t, r, "echo gone > node_modules/gone")
	s, res, err := in(t, r, []string{"sh", "-c", "rm -r node_modules/b; echo new > node_modules/a/index.js; mkdir node_modules/c"})
	if err != nil || res.ExitCode != 0 {
		t.Fatal(err, res)
	}
	if err := s.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, _ := sh(t, r, "echo x > node_modules/x; ls node_modules; cat node_modules/a/index.js")
	want(t, "the line after it", out, "a", "c", "x", "new")
	out, _ = sh(t, r, "ls node_modules")
	want(t, "the next line", out, "a", "c")
	if text, _ := os.ReadFile(filepath.Join(root, "node_modules/a/index.js")); string(text) != "a\n" {
		t.Errorf("the machine has %q", text)
	}
}

// A tool that its user can change is named, where the room does not hide it too. The tools of the system are not.
func TestChangeable(t *testing.T) {
	if os.Geteuid() == 0 {
		if changeable("/tmp") {
			t.Error("root changes what it likes")
		}
		t.Skip("for an ordinary user")
	}
	file := filepath.Join(t.TempDir(), "tool")
	put(t, filepath.Dir(file), "tool", "x")
	if !changeable(file) || changeable("/usr/bin/env") {
		t.Errorf("%s: %v, /usr/bin/env: %v", file, changeable(file), changeable("/usr/bin/env"))
	}
}
