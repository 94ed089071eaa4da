package install

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

const program = "/usr/local/bin/dialect"

func client(t testing.TB, name string) Client {
	c, ok := Find(name)
	if !ok {
		t.Fatal(name)
	}
	return c
}

// configurations are those that users could have. None has a line of ours.
var configurations = []string{
	"{}", "{}\n", "{\n}\n", "{ }", "{\"a\":1}", "{\"a\": 1, \"b\": [1, 2]}\n",
	"{\n  \"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"b\": {\"c\": []}\n}\n", "{\r\n    \"a\": 1\r\n}\r\n",
	"// mine\n{\n  // first\n  \"a\": 1, // one\n  /* two */ \"b\": 2 // last\n}\n// end\n",
	"{\n  \"a\": 1,\n}\n",
	"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]} // bell\n    ]\n  },\n  \"z\": \"<&>\"\n}\n",
	"{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}],\"Other\":[]},\"z\":1}",
	"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"matcher\": \"*\", \"hooks\": []},\n    ],\n  },\n}\n",
	"{\"hooks\":{\"Stop\":[ /* mine */ ]}}", "{\n  \"hooks\": {\n    // none yet\n  }\n}\n", "{\n  // of ours\n  \"hooks\": {}\n}\n", "{\"hooks\":{\n// at the end\n\"Stop\":[]}}",
	"{\n  \"hooks\": {\n    \"Notification\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"dialectal hookah\" } ] } ]\n  }\n}",
}

func TestConfigurations(t *testing.T) {
	for _, name := range []string{"claude", "codex", "gemini", "qwen"} {
		for _, before := range configurations {
			check(t, client(t, name), []byte(before))
		}
	}
}

// check holds what is promised of any configuration: our lines are added once, what was there is there in order and byte for byte but
// for white space, standard JSON stays standard, and without our lines it is what it was.
func check(t *testing.T, c Client, before []byte) {
	t.Helper()
	after, err := c.add(before, program, Project)
	if err != nil {
		return
	}
	if !c.has(after) || bytes.Count(after, []byte(" hook "+c.Name+" ")) != len(c.events)+bytes.Count(before, []byte(" hook "+c.Name+" ")) {
		t.Errorf("our lines are not in it once:\n%s\n%s", before, after)
	}
	v, err := hujson.Parse(after)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, before, after)
	}
	old, err := hujson.Parse(before)
	if err != nil {
		t.Fatal(err)
	}
	if old.IsStandard() && !json.Valid(after) {
		t.Errorf("it is no JSON any more:\n%s\n%s", before, after)
	}
	if again, err := c.add(after, program, Project); err != nil || !bytes.Equal(again, after) {
		t.Errorf("a second time changes it: %v\n%s\n%s", err, after, again)
	}
	other, err := c.add(after, "/opt/new/dialect", Project)
	if err != nil || c.has(other) != true || bytes.Contains(other, []byte(program)) {
		t.Errorf("another program does not take the place of the first: %v\n%s", err, other)
	}
	back, err := c.remove(after)
	if err != nil {
		t.Fatal(err)
	}
	was, _ := c.remove(before)
	if squeeze(back) != squeeze(was) && squeeze(back) != strings.Replace(squeeze(was), `"hooks":{}`, "", 1) && !strings.Contains(squeeze(was), "[]") {
		t.Errorf("without our lines it is not what it was:\n%s\n%s", before, back)
	}
	// Comments and values stay in order.
	rest := string(after)
	for _, part := range strings.FieldsFunc(string(was), func(r rune) bool { return strings.ContainsRune("{}[],: \t\r\n", r) }) {
		_, tail, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("%q is gone, or is in another place:\n%s\n%s", part, before, after)
			break
		}
		rest = tail
	}
	_ = v
}

func squeeze(text []byte) string { return string(bytes.Join(bytes.Fields(text), nil)) }

func TestRefused(t *testing.T) {
	c := client(t, "claude")
	for _, text := range []string{"[]", "x", "{", `"s"`, `{"hooks":[]}`, `{"hooks":{"Stop":{}}}`, `{"hooks":{"Stop":1}}`,
		"\xef\xbb\xbf{}", `{"hooks":{},"a":1,"hooks":{}}`, `{"hooks":{"Stop":[],"Stop":[]}}`} {
		if after, err := c.add([]byte(text), program, Project); err == nil {
			t.Errorf("%s became %s", text, after)
		}
	}
}

func FuzzConfiguration(f *testing.F) {
	for _, c := range configurations {
		f.Add([]byte(c))
	}
	c := client(f, "claude")
	f.Fuzz(func(t *testing.T, text []byte) {
		after, err := c.add(text, program, Project)
		if err != nil {
			return
		}
		if !c.has(after) {
			t.Errorf("%q became %q", text, after)
		}
		again, err := c.add(after, program, Project)
		if err != nil || !c.has(again) {
			t.Errorf("%q became %q: %v", after, again, err)
		}
	})
}

func TestCommand(t *testing.T) {
	c := client(t, "codex")
	for _, row := range []struct {
		program string
		level   Level
		want    string
	}{
		{"/usr/bin/dialect", Project, "/usr/bin/dialect hook codex Stop 2>/dev/null || exit 0"},
		{"/usr/bin/dialect", User, "/usr/bin/dialect hook codex Stop --user 2>/dev/null || exit 0"},
		{"/home/a b/it's/dialect", Project, `'/home/a b/it'\''s/dialect' hook codex Stop 2>/dev/null || exit 0`},
		{"/opt/dialect-v2", Project, "/opt/dialect-v2 hook codex Stop 2>/dev/null || exit 0"},
	} {
		got := c.Command(row.program, row.level, "Stop")
		if got != row.want || !ours().MatchString(got) {
			t.Errorf("got %s, want %s; ours: %v", got, row.want, ours().MatchString(got))
		}
	}
	for _, other := range []string{"dialectal hookah x", "hk hook codex Stop", "/x/dialect-dir/tool hook codex Stop", "dialect run x", "mydialect hook codex Stop"} {
		if ours().MatchString(other) {
			t.Errorf("%s is taken for ours", other)
		}
	}
}

// TestUninstall gives back the bytes, or the absence, of each file, with the folders that were made, at both levels.
func TestUninstall(t *testing.T) {
	for _, name := range []string{"claude", "codex", "gemini", "qwen", "opencode", "kilo"} {
		for _, level := range []Level{Project, User} {
			for i, before := range append([]string{""}, configurations...) {
				c := client(t, name)
				if i > 0 && (c.isPlugin() || strings.Contains(before, "dialect")) {
					continue
				}
				home, root := t.TempDir(), t.TempDir()
				t.Setenv("HOME", home)
				t.Setenv("XDG_CONFIG_HOME", "")
				t.Setenv("CODEX_HOME", "")
				t.Setenv("CLAUDE_CONFIG_DIR", "")
				in := Installer{Root: root, Program: program, State: t.TempDir()}
				path, err := c.Path(level, root)
				if err != nil {
					t.Fatal(err)
				}
				if i > 0 {
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
						t.Fatal(err)
					}
				}
				was := listing(t, home) + listing(t, root)
				for range 2 { // twice is once
					apply(t, in, in.Install, c, level)
				}
				in.Program = "/opt/dialect" // an update that moved
				apply(t, in, in.Install, c, level)
				if text, err := os.ReadFile(path); err != nil || !bytes.Contains(text, []byte("/opt/dialect")) {
					t.Fatalf("%v\n%s", err, text)
				}
				apply(t, in, in.Uninstall, c, level)
				if now := listing(t, home) + listing(t, root); now != was {
					t.Errorf("%s %s: before\n%s\nafter\n%s", name, level, was, now)
				}
				apply(t, in, in.Uninstall, c, level)
			}
		}
	}
}

func apply(t *testing.T, in Installer, plan func(Client, Level) (Change, error), c Client, l Level) {
	t.Helper()
	ch, err := plan(c, l)
	if err == nil {
		err = in.Apply([]Change{ch})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// listing is all files below a folder, with mode and content.
func listing(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b.WriteString(rel + " " + info.Mode().String())
		if !d.IsDir() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(text))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEdited takes our lines out of a file that somebody changed since, and leaves a plugin of others.
func TestEdited(t *testing.T) {
	root := t.TempDir()
	in := Installer{Root: root, Program: program, State: t.TempDir()}
	c := client(t, "codex")
	apply(t, in, in.Install, c, Project)
	path := filepath.Join(root, ".codex/hooks.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.Replace(text, []byte("{"), []byte("{\n  // mine"), 1)
	if err := os.WriteFile(path, edited, 0o600); err != nil {
		t.Fatal(err)
	}
	apply(t, in, in.Uninstall, c, Project)
	if text, err = os.ReadFile(path); err != nil || squeeze(text) != "{//mine}" {
		t.Errorf("%v: %s", err, text)
	}

	o := client(t, "opencode")
	plugin := filepath.Join(root, ".opencode/plugin/dialect.js")
	if err := os.MkdirAll(filepath.Dir(plugin), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plugin, []byte("export const X = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Install(o, Project); err == nil {
		t.Error("a plugin of others would be replaced")
	}
	apply(t, in, in.Uninstall, o, Project)
	if _, err := os.Stat(plugin); err != nil {
		t.Error(err)
	}
}

// TestLink refuses a configuration in the project that a link leads out of it.
func TestLink(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, ".codex")); err != nil {
		t.Fatal(err)
	}
	in := Installer{Root: root, Program: program, State: t.TempDir()}
	ch, err := in.Install(client(t, "codex"), Project)
	if err == nil {
		err = in.Apply([]Change{ch})
	}
	if err == nil || listing(t, outside) != listing(t, t.TempDir()) {
		t.Errorf("%v\n%s", err, listing(t, outside))
	}
}

// TestStatus says what a client keeps of trust, and that a hook never fired though there were sessions.
func TestStatus(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CODEX_HOME", "")
	t.Setenv("PATH", "")
	in := Installer{Root: root, Program: program, State: t.TempDir()}
	state := func() State {
		r := in.Status(nil)
		if len(r.Agents) != 1 {
			t.Fatalf("%+v", r)
		}
		return r.Agents[0]
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := in.Status(nil); len(r.Agents) != 0 {
		t.Errorf("%+v", r)
	}
	write(".codex/config.toml", "model = \"x\"\n")
	if s := state(); s.Installed || s.Advice != "dialect hook install --agent codex" {
		t.Errorf("%+v", s)
	}
	apply(t, in, in.Install, client(t, "codex"), Project)
	if s := state(); !s.Installed || s.Trusted != "no" || !strings.Contains(s.Advice, "/hooks") {
		t.Errorf("%+v", s)
	}
	write(".codex/config.toml", "[hooks.state.\""+root+"/.codex/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n")
	if s := state(); s.Trusted != "yes" || s.Fault != "" {
		t.Errorf("%+v", s)
	}
	old := filepath.Join(root, ".codex/hooks.json")
	info, err := os.Stat(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, info.ModTime().Add(-1e12), info.ModTime().Add(-1e12)); err != nil {
		t.Fatal(err)
	}
	write(".codex/sessions/2026/11/22/rollout.jsonl", "{}\n")
	if s := state(); !strings.Contains(s.Fault, "never fired") {
		t.Errorf("%+v", s)
	}
}

// TestMade has a record name a folder that the file is not in: it stays.
func TestMade(t *testing.T) {
	home, root, other := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	in := Installer{Root: root, Program: program, State: t.TempDir()}
	c := client(t, "claude")
	apply(t, in, in.Install, c, Project)
	path, err := c.Path(Project, root)
	if err != nil {
		t.Fatal(err)
	}
	r := in.record(path)
	r.Made = append([]string{other}, r.Made...)
	if err := in.keep(r); err != nil {
		t.Fatal(err)
	}
	apply(t, in, in.Uninstall, c, Project)
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// TestQuotedProgram has a program whose path a shell needs quotes for: it is this one.
func TestQuotedProgram(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	in := Installer{Root: root, Program: "/it's here/dialect", State: t.TempDir()}
	apply(t, in, in.Install, client(t, "claude"), Project)
	for _, s := range in.Status(nil).Agents {
		if s.Agent == "claude" && strings.Contains(s.Advice, "another dialect") {
			t.Errorf("%+v", s)
		}
	}
}
