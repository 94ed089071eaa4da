package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTrusted reads what each client keeps of the folders that the user trusts: a folder stands for those in it, the nearest
// first, and what cannot be read is not known.
func TestTrusted(t *testing.T) {
	for _, c := range []struct {
		client string
		files  map[string]string // in the home
		root   string            // of the project, in the home; trusted.json names folders by HOME
		want   string
	}{
		{"gemini", nil, "p", "not known"},
		{"gemini", map[string]string{".gemini/trustedFolders.json": `{"HOME/p": "TRUST_FOLDER"}`}, "p", "yes"},
		{"gemini", map[string]string{".gemini/trustedFolders.json": `{"HOME/p": "TRUST_FOLDER"}`}, "p/a/b", "yes"},
		{"gemini", map[string]string{".gemini/trustedFolders.json": `{"HOME/p": "TRUST_FOLDER", "HOME/p/a": "DO_NOT_TRUST"}`}, "p/a/b", "no"},
		{"gemini", map[string]string{".gemini/trustedFolders.json": `{"HOME/p": "TRUST_FOLDER"}`}, "pp", "not known"},
		{"gemini", map[string]string{".gemini/trustedFolders.json": `{"HOME/p": `}, "p", "not known"},
		{"gemini", map[string]string{".gemini/settings.json": `{"security": {"folderTrust": {"enabled": false}}}`}, "p", "yes"},
		{"gemini", map[string]string{".gemini/settings.json": `{"security": {"folderTrust": {"enabled": true}}}`}, "p", "not known"},
		{"qwen", nil, "p", "not needed"},
		{"qwen", map[string]string{".qwen/settings.json": "// mine\n{\"security\": {\"folderTrust\": {\"enabled\": true}}}"}, "p", "not known"},
		{"qwen", map[string]string{".qwen/settings.json": `{"security": {"folderTrust": {"enabled": false}}}`}, "p", "not needed"},
		{"codex", nil, "p", "no"},
		{"codex", map[string]string{".codex/config.toml": "[hooks.state.\"FILE:stop:0:0\"]\ntrusted_hash = \"x\"\n"}, "p", "yes"},
		{"codex", map[string]string{".codex/config.toml": "[hooks.state.\"FILE:stop:0:0\"]\nenabled = true\n"}, "p", "no"},
		{"codex", map[string]string{".codex/config.toml": "[hooks.state.\"FILE:start:0:0\"]\ntrusted_hash = \"x\"\n"}, "p", "no"},
		{"codex", map[string]string{".codex/config.toml": "[hooks.state.\"/other:stop:0:0\"]\ntrusted_hash = \"x\"\n"}, "p", "no"},
		{"codex", map[string]string{".codex/config.toml": "hooks = 1\n"}, "p", "no"},
		{"codex", map[string]string{".codex/config.toml": "[hooks.state.\"FILE:stop:0:0\"]\ntrusted_hash = \"x\"\nenabled = false\n"}, "p", "no"},
		{"codex", map[string]string{".codex/config.toml": "[hooks.state.\"FILE:stop:0:0\"]\ntrusted_hash = \"x\"\nenabled = true\n"}, "p", "yes"},
		{"opencode", nil, "p", "not needed"}, {"kilo", nil, "p", "not needed"}, {"claude", nil, "p", "not known"},
	} {
		home := t.TempDir()
		for name, value := range map[string]string{"HOME": home, "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": "", "XDG_CONFIG_HOME": ""} {
			t.Setenv(name, value)
		}
		in := Installer{Root: filepath.Join(home, c.root), Program: program}
		cl := client(t, c.client)
		path, err := cl.Path(Project, in.Root)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range c.files {
			put(t, filepath.Join(home, name), strings.NewReplacer("HOME", home, "FILE", path).Replace(text), 0o600)
		}
		if got := in.trusted(cl, path); got != c.want {
			t.Errorf("%s, %v, in %s: %s, want %s", c.client, c.files, c.root, got, c.want)
		}
	}
}

// TestTrustedBefore has the hook written anew after the user trusted it: what the client keeps is about another line.
func TestTrustedBefore(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CODEX_HOME", "")
	in := Installer{Root: t.TempDir(), Program: program}
	cl := client(t, "codex")
	path, err := cl.Path(Project, in.Root)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "{}", 0o600)
	config, at := filepath.Join(home, ".codex/config.toml"), time.Unix(1_800_000_000, 0)
	put(t, config, "[hooks.state.\""+path+":stop:0:0\"]\ntrusted_hash = \"x\"\n", 0o600)
	for age, want := range map[time.Duration]string{time.Hour: "yes", -time.Hour: "not known"} {
		for name, at := range map[string]time.Time{path: at, config: at.Add(age)} {
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if got := in.trusted(cl, path); got != want {
			t.Errorf("%s after it: %s, want %s", age, got, want)
		}
	}
}

// TestDisabled tells of a client whose hooks are switched off, wherever a file says so.
func TestDisabled(t *testing.T) {
	for _, name := range []string{"claude", "qwen"} {
		for _, file := range []string{"PROJECT/settings.json", "PROJECT/settings.local.json", "HOME/settings.json"} {
			home, root := t.TempDir(), t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("CLAUDE_CONFIG_DIR", "")
			in, cl := Installer{Root: root, Program: program, State: t.TempDir()}, client(t, name)
			off := strings.NewReplacer("PROJECT", filepath.Join(root, "."+name), "HOME", filepath.Join(home, "."+name)).Replace(file)
			put(t, off, `{"disableAllHooks": true}`, 0o600)
			ch, err := in.Install(cl, Project)
			if err == nil {
				err = in.Apply([]Change{ch})
			}
			if err != nil {
				t.Fatal(err)
			}
			if list := in.Status(nil).Agents; len(list) == 0 || !strings.Contains(list[0].Fault, "disableAllHooks is true in ") {
				t.Errorf("%s: %+v", off, list)
			}
		}
	}
}

// TestSessionSince finds a session later than a time, whichever folder keeps it, and takes no other file for one.
func TestSessionSince(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	c, at := client(t, "claude"), time.Unix(1_800_000_000, 0)
	write := func(name string, age time.Duration) {
		path := filepath.Join(home, ".claude/projects", name)
		put(t, path, "{}", 0o600)
		if err := os.Chtimes(path, at, at.Add(age)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name string, found bool) {
		t.Helper()
		if c.sessionSince(at) != found {
			t.Errorf("%s: want %t", name, found)
		}
	}
	want("no folder", false)
	write("a/old.jsonl", -time.Hour)
	want("an earlier one", false)
	write("a/same.jsonl", 0)
	want("one of the same time", false)
	write("a/notes.txt", time.Hour)
	want("another file", false)
	write("b/c/new.jsonl", time.Hour)
	want("a later one", true)
	if c.sessionSince(time.Time{}) {
		t.Error("since no time")
	}
	if o := client(t, "opencode"); o.sessionSince(at) {
		t.Error("of a client that keeps none that we know")
	}
}

// TestStatusText says for each agent what a person has to know, and what to do.
func TestStatusText(t *testing.T) {
	print := func(r *Report) string {
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := print(&Report{}); !strings.Contains(got, "no coding agent was found") {
		t.Error(got)
	}
	at := time.Unix(1_800_000_000, 0)
	got := print(&Report{Agents: []State{
		{Title: "One", Level: Project, Path: "/p/\x1b[31m", Advice: "do this"},
		{Title: "Two", Level: User, Installed: true, Trusted: "no", Fault: "broken\nso"},
		{Title: "Three", Level: User, Installed: true, Trusted: "yes", Last: &at, Decision: "pass: verified"},
	}})
	for _, want := range []string{"not installed", "-> do this\n", "trusted: no; never fired\n", "warning: broken so\n", "trusted: yes; last fired ", "last stop pass: verified\n"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no %q, or more than one, in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") || strings.Count(got, "trusted:") != 2 {
		t.Errorf("%q", got)
	}
}

// TestUsed finds a client by its files in the project, by those in the home, or by its program, and not by a folder of that name.
func TestUsed(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(root, home, path string)
		l    Level
		want bool
	}{
		{"nothing", func(_, _, _ string) {}, Project, false},
		{"a file of the project", func(root, _, _ string) { put(t, filepath.Join(root, "CLAUDE.md"), "", 0o600) }, Project, true},
		{"a file of the project is not the user's", func(root, _, _ string) { put(t, filepath.Join(root, "CLAUDE.md"), "", 0o600) }, User, false},
		{"a folder in the home", func(_, home, _ string) { put(t, filepath.Join(home, ".claude/x"), "", 0o600) }, User, true},
		{"a program", func(_, _, path string) { put(t, filepath.Join(path, "claude"), "", 0o755) }, User, true},
		{"a file that cannot be run", func(_, _, path string) { put(t, filepath.Join(path, "claude"), "", 0o644) }, User, false},
		{"a folder on PATH", func(_, _, path string) { put(t, filepath.Join(path, "claude/x"), "", 0o755) }, User, false},
	} {
		root, home, path := t.TempDir(), t.TempDir(), t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("CLAUDE_CONFIG_DIR", "")
		t.Setenv("PATH", path)
		c.make(root, home, path)
		if got := client(t, "claude").Used(c.l, root); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestHas takes a client for one that has the hook where that is asked at the end of a turn, whatever else it has of ours.
func TestHas(t *testing.T) {
	for name, stop := range map[string]string{"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent", "qwen": "Stop"} {
		c := client(t, name)
		text, err := c.add(nil, program, Project)
		if err != nil {
			t.Fatal(err)
		}
		without := bytes.Replace(text, []byte(`"`+stop+`":`), []byte(`"Else":`), 1)
		if bytes.Equal(text, without) || !c.has(text) || c.has(without) {
			t.Errorf("%s: %t with %s, %t without", name, c.has(text), stop, c.has(without))
		}
	}
}
