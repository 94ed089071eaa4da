package install

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tomls are configurations of Codex with hooks in them. None has a line of ours.
var tomls = []string{
	"# mine\nmodel = \"x\"\n\n[[hooks.Stop]] # a bell\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n\n# the last one\n[z]\na = 1\n",
	"[[hooks.PreToolUse]]\nmatcher = \"Bash\"\nhooks = [{ type = \"command\", command = \"dialectal hookah\", timeout = 60 }]\n",
	"[[hooks.Stop]]\r\nhooks = [{ type = \"command\", command = \"x\" }] # ours\r\n",
	"[[hooks.Other]]\nhooks = []",
}

// TestTOML writes into config.toml where hooks stand in it: comments and order stay, twice is once, and without our lines the bytes are what they were,
// with what this machine remembers and without.
func TestTOML(t *testing.T) {
	for _, level := range []Level{Project, User} {
		for _, before := range tomls {
			home, root := t.TempDir(), t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("CODEX_HOME", "")
			t.Setenv("PATH", "")
			dir := filepath.Join(root, ".codex")
			if level == User {
				dir = filepath.Join(home, ".codex")
			}
			path := filepath.Join(dir, "config.toml")
			write := func(text string) {
				t.Helper()
				if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			write(before)
			was := listing(t, dir)
			in, c := Installer{Root: root, Program: program, State: t.TempDir()}, client(t, "codex")
			if got, err := c.Path(level, root); err != nil || got != path {
				t.Fatalf("%s, %v", got, err)
			}
			if s := in.Status(nil); len(s.Agents) > 0 && s.Agents[0].Installed {
				t.Errorf("%+v", s)
			}
			for _, p := range []string{program, program, "/opt/it's here/dialect"} {
				in.Program = p
				apply(t, in, in.Install, c, level)
				text, err := os.ReadFile(path)
				if err != nil || !bytes.HasPrefix(text, []byte(strings.TrimSuffix(before, "\n"))) || bytes.Count(text, []byte("hook codex ")) != len(c.events) || parseTOML(text) != nil {
					t.Fatalf("%v, %v\n%s", err, parseTOML(text), text)
				}
			}
			if s := in.Status(nil); len(s.Agents) == 0 || !s.Agents[len(s.Agents)-1].Installed || s.Agents[len(s.Agents)-1].Path != path {
				t.Errorf("%+v", s)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			apply(t, in, in.Uninstall, c, level)
			if now := listing(t, dir); now != was {
				t.Errorf("before\n%s\nafter\n%s", was, now)
			}
			// The client adds what the user trusts, and another machine has no record.
			trust := "\n[hooks.state.\"x\"]\ntrusted_hash = \"y\"\n"
			write(string(text) + trust)
			in.State = t.TempDir()
			apply(t, in, in.Uninstall, c, level)
			want := before
			if !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != want+trust {
				t.Errorf("%v\n%s\nwant\n%s", err, now, want+trust)
			}
		}
	}
}

// TestTOMLRefused leaves what it cannot add to, and says so; hooks.json is written where the TOML has no hooks but what the user trusts.
func TestTOMLRefused(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	path := filepath.Join(root, ".codex", "config.toml")
	in, c := Installer{Root: root, Program: program, State: t.TempDir()}, client(t, "codex")
	for text, want := range map[string]string{
		"hooks = 1\n":                    "takes no further ones",
		"hooks = { Stop = [] }\n":        "takes no further ones",
		"[hooks]\nStop = [{hooks=[]}]\n": "takes no further ones",
		"[hooks.Stop]\n":                 "takes no further ones",
		"[hooks]\nx = 1\n[hooks]\n":      "not TOML",
		"[hooks]\nStop = \n":             "not TOML",
		"[hooks.state.x]\na = 1\n":       "",
		"model = \"x\"\n":                "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		ch, err := in.Install(c, Project)
		switch {
		case want == "" && (err != nil || filepath.Base(ch.Path) != "hooks.json"):
			t.Errorf("%q: %s, %v", text, ch.Path, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v\n%s", text, err, ch.New)
		}
	}
}

func FuzzTOML(f *testing.F) {
	for _, text := range tomls {
		f.Add([]byte(text))
	}
	c := client(f, "codex")
	f.Fuzz(func(t *testing.T, text []byte) {
		after, err := c.addTOML(text, program, Project)
		if err != nil {
			return
		}
		if again, err := c.addTOML(after, program, Project); err != nil || !bytes.Equal(again, after) || !c.hasTOML(after) {
			t.Errorf("%q became %q, then %q: %v", text, after, again, err)
		}
		if back := removeTOML(after); !bytes.Equal(bytes.TrimSuffix(back, []byte("\n")), bytes.TrimSuffix(removeTOML(text), []byte("\n"))) {
			t.Errorf("%q became %q", text, back)
		}
	})
}
