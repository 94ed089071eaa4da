package hook

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/agents"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
)

const matrix = "[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\ntool = \"sh check.sh\"\neffect = \"read\"\nreceipt_required = true\n"

// project makes a project that nothing ran in, and goes there.
func newProject(t *testing.T) (dir string) {
	dir = t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("CLAUDE_PROJECT_DIR", "")
	t.Chdir(dir)
	put(t, "routing.toml", matrix)
	put(t, "quality.dlct", "Test with it\n")
	put(t, "check.sh", "exit 0\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ask answers an event, and returns what was written and the rule that was recorded last, if it is new.
func ask(t *testing.T, o Options, stdin io.Reader) (out, rule string) {
	t.Helper()
	if o.Agent == nil {
		o.Agent = agents.Find("claude")
	}
	before := recorded(t)
	var b bytes.Buffer
	o.In, o.Out = stdin, &b
	Answer(o)
	after := recorded(t)
	if len(after) > len(before) {
		rule = after[len(after)-1].Action + " " + after[len(after)-1].Rule
	}
	return b.String(), rule
}

func recorded(t *testing.T) []journal.Entry {
	t.Helper()
	j, err := of(".")
	if err != nil {
		return nil
	}
	return j.Entries()
}

const stopEvent = `{"session_id":"s","hook_event_name":"Stop","last_assistant_message":"Done."}`

func prompted(t *testing.T) {
	t.Helper()
	if out, rule := ask(t, Options{}, strings.NewReader(`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"do it"}`)); out != "" || rule != "allow prompt" {
		t.Fatalf("%q %q", out, rule)
	}
}

func held(out string) bool {
	return strings.HasPrefix(out, `{"decision":"block","reason":"`+Held)
}

// TestAccidents has whatever can go wrong in a project where the stop would be refused: the answer allows, and the log has why.
func TestAccidents(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, o *Options) io.Reader
		rule string
	}{
		"panic": {func(_ *testing.T, o *Options) io.Reader {
			o.look = func(*run, string) error { panic("a fault") }
			return strings.NewReader(stopEvent)
		}, "tell panic"},
		"error": {func(_ *testing.T, o *Options) io.Reader {
			o.look = func(*run, string) error { return errors.New("a fault") }
			return strings.NewReader(stopEvent)
		}, "tell no-look"},
		"a look that does not end": {func(t *testing.T, o *Options) io.Reader {
			wait := make(chan bool)
			t.Cleanup(func() { close(wait) })
			o.look = func(r *run, _ string) error {
				r.more(-time.Hour) // its time is over
				<-wait
				panic("done")
			}
			return strings.NewReader(stopEvent)
		}, "tell deadline"},
		"a look that ends late": {func(_ *testing.T, o *Options) io.Reader {
			o.look = func(r *run, _ string) error {
				r.cancel() // as at the end of its time
				return errors.New("exit status 130")
			}
			return strings.NewReader(stopEvent)
		}, "tell no-look: reading the files took too long"},
		"garbage": {func(*testing.T, *Options) io.Reader { return strings.NewReader("not JSON") }, "tell bad-event"},
		"nothing": {func(*testing.T, *Options) io.Reader { return strings.NewReader("") }, "tell bad-event"},
		"deep nests": {func(*testing.T, *Options) io.Reader {
			return strings.NewReader(`{"a":` + strings.Repeat("[", maxStdin))
		}, "tell bad-event"},
		"an endless string": {func(*testing.T, *Options) io.Reader {
			return io.MultiReader(strings.NewReader(`{"a":"`), endless{})
		}, "tell bad-event"},
		"slow stdin": {func(t *testing.T, o *Options) io.Reader {
			r, w := io.Pipe()
			t.Cleanup(func() { w.Close() })
			return r
		}, "tell bad-event"},
		"a broken store": {func(t *testing.T, _ *Options) io.Reader {
			if err := os.MkdirAll(".dialect/store", 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, ".dialect/store/receipts.db", "this is no store")
			return strings.NewReader(stopEvent)
		}, "tell broken-store"},
		"a matrix that does not load": {func(t *testing.T, _ *Options) io.Reader {
			put(t, "routing.toml", "[commands")
			return strings.NewReader(stopEvent)
		}, "tell broken-store"},
		"a matrix that is gone": {func(t *testing.T, _ *Options) io.Reader {
			if err := os.Remove("routing.toml"); err != nil {
				t.Fatal(err)
			}
			return strings.NewReader(stopEvent)
		}, "tell rules-changed"},
		"a damaged session": {func(t *testing.T, _ *Options) io.Reader {
			home, _ := journal.Home()
			names, _ := filepath.Glob(filepath.Join(home, "*", "s-*.json"))
			if len(names) == 0 {
				t.Fatal("no session is kept")
			}
			for _, name := range names {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(name, 0o700); err != nil { // neither read nor replaced
					t.Fatal(err)
				}
			}
			return strings.NewReader(stopEvent)
		}, "tell not-counted"},
		"no session": {func(*testing.T, *Options) io.Reader { return strings.NewReader(`{"hook_event_name":"Stop"}`) }, "allow no-session"},
	} {
		t.Run(name, func(t *testing.T) {
			newProject(t)
			prompted(t)
			put(t, "new.txt", "x")
			if out, rule := ask(t, Options{}, strings.NewReader(strings.Replace(stopEvent, `"s"`, `"other"`, 1))); !held(out) || rule != "refuse not-checked" {
				t.Fatalf("without an accident: %q %q", out, rule)
			}
			o := Options{}
			in := c.make(t, &o)
			out, rule := ask(t, o, in)
			if all := recorded(t); strings.HasPrefix(c.rule, rule+": ") {
				rule += ": " + all[len(all)-1].Text
			}
			if held(out) {
				t.Errorf("it refused: %q", out)
			}
			if c.rule != "" && rule != c.rule {
				t.Errorf("recorded %q, want %q", rule, c.rule)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// TestSlowStdin says how long it waited for the event.
func TestSlowStdin(t *testing.T) {
	newProject(t)
	r, w := io.Pipe()
	defer w.Close()
	for _, wait := range []time.Duration{10 * time.Millisecond, 40 * time.Millisecond} {
		ask(t, Options{stdin: wait}, r)
		if list, want := recorded(t), "the event was not whole after "+wait.String(); list[len(list)-1].Text != want {
			t.Errorf("%q, want %q", list[len(list)-1].Text, want)
		}
	}
}

// TestOpenStdin answers as soon as the event is whole: some clients do not close the pipe.
func TestOpenStdin(t *testing.T) {
	newProject(t)
	prompted(t)
	put(t, "new.txt", "x")
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, stopEvent) }()
	if out, _ := ask(t, Options{}, r); !held(out) {
		t.Errorf("%q", out)
	}
}

// TestBound stops again and again, whatever the client says of its own counting.
func TestBound(t *testing.T) {
	newProject(t)
	prompted(t)
	refused := 0
	for i := range 10 {
		put(t, "new.txt", strings.Repeat("x", i+1))
		if out, _ := ask(t, Options{}, strings.NewReader(strings.Replace(stopEvent, `"Stop"`, `"Stop","stop_hook_active":true`, 1))); held(out) {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("refused %d times", refused)
	}
	// The reason of a refusal, and an empty prompt, are not prompts of a person.
	for _, p := range []string{"", Held + " not checked", `<context>\n` + Held + " not checked"} {
		ask(t, Options{}, strings.NewReader(`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"`+p+`"}`))
		put(t, "new.txt", "y"+p)
		if out, rule := ask(t, Options{}, strings.NewReader(stopEvent)); held(out) || rule != "tell held-enough" {
			t.Errorf("after %q: %q %q", p, out, rule)
		}
	}
	prompted(t)
	if out, rule := ask(t, Options{}, strings.NewReader(stopEvent)); out != "" || rule != "allow unchanged" {
		t.Errorf("%q %q", out, rule)
	}
	put(t, "new.txt", "z")
	for _, want := range []bool{true, false} { // once on the same files
		if out, _ := ask(t, Options{}, strings.NewReader(stopEvent)); held(out) != want {
			t.Errorf("%q", out)
		}
	}
}

// TestKeys holds that what the hook starts, such as git and its filters, has none of the client's keys.
func TestKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-1")
	t.Setenv("GITHUB_TOKEN", "g")
	t.Setenv("MONKEY", "m")
	newProject(t)
	prompted(t)
	if os.Getenv("OPENAI_API_KEY")+os.Getenv("GITHUB_TOKEN") != "" || os.Getenv("MONKEY") != "m" {
		t.Errorf("%q", os.Environ())
	}
}

// TestUser holds that a hook of the user's own configuration acts only where the user trusts the rules.
func TestUser(t *testing.T) {
	newProject(t)
	prompted(t)
	put(t, "new.txt", "x")
	if out, rule := ask(t, Options{User: true}, strings.NewReader(stopEvent)); out != "" || rule != "allow not-trusted" {
		t.Errorf("%q %q", out, rule)
	}
	t.Chdir(t.TempDir())
	if out, rule := ask(t, Options{}, strings.NewReader(stopEvent)); out != "" || rule != "allow no-matrix" {
		t.Errorf("%q %q", out, rule)
	}
}

// TestPeople marks files that somebody else changed while the agent waited, or that another session wrote.
func TestPeople(t *testing.T) {
	dir := newProject(t)
	write := func(session, file string) {
		ask(t, Options{}, strings.NewReader(`{"session_id":"`+session+`","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"`+filepath.Join(dir, file)+`"}}`))
		put(t, file, session)
	}
	prompted(t)
	write("s", "mine.txt")
	ask(t, Options{}, strings.NewReader(stopEvent))
	put(t, "person.txt", "p")
	prompted(t)
	write("s", "mine.txt")
	write("other", "theirs.txt")
	put(t, "mine.txt", "again")
	j, err := of(".")
	if err != nil {
		t.Fatal(err)
	}
	s, err := j.Session(t.Context(), "claude", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(real, name) }
	if got := s.Foreign([]string{at("mine.txt"), at("person.txt"), at("theirs.txt"), at("new.txt")}); strings.Join(got, " ") != at("person.txt")+" "+at("theirs.txt") {
		t.Errorf("%q", got)
	}
}

// TestFilter holds that a hook starts no program that the repository's own configuration names: an agent in a sandbox can write that, and the hook
// stands outside.
func TestFilter(t *testing.T) {
	t.Run("of the repository", func(t *testing.T) { noFilter(t, "--local") })
	t.Run("of the user", func(t *testing.T) { noFilter(t, "--global") })
}

// noFilter configures a filter, which would run in the directory of the project, and looks whether a hook starts it.
func noFilter(t *testing.T, where string) {
	dir := newProject(t)
	marker := filepath.Join(t.TempDir(), "ran")
	for _, args := range [][]string{{"config", where, "filter.x.clean", "touch " + marker + "; cat"}, {"config", where, "filter.x.required", "true"}, {"config", "core.fsmonitor", "touch " + marker}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	put(t, filepath.Join(dir, ".gitattributes"), "* filter=x\n")
	prompted(t)
	put(t, "new.txt", "x")
	if out, rule := ask(t, Options{}, strings.NewReader(stopEvent)); !held(out) {
		t.Errorf("%q %q", out, rule)
	}
	for _, command := range []string{"git commit -m x", "git push"} {
		ask(t, Options{}, strings.NewReader(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"`+command+`"}}`))
	}
	Push("", "", strings.NewReader("refs/heads/main HEAD refs/heads/main 0\n"))
	if _, err := os.Stat(marker); err == nil {
		t.Error("a filter ran")
	}
	if out, err := exec.Command("git", "add", "new.txt").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Error("the filter does not run in git, either")
	}
}

// TestPushed holds that no line of git's hides a tip: a ref is named as the user wrote it, also "HEAD^{/a b}".
func TestPushed(t *testing.T) {
	newProject(t)
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	head, none := strings.TrimSpace(string(out)), strings.Repeat("0", 40)
	unverified := head + " refs/heads/main " + none + "\n"
	for name, c := range map[string]struct {
		in   string
		want string // of the refusal; empty for none
	}{
		"a branch":                         {"refs/heads/main " + unverified, "MISSING: main is not verified"},
		"a name with blanks":               {"HEAD^{/the first commit} " + unverified, "MISSING: HEAD^{/the first commit} is not verified"},
		"one that begins as that of a tag": {"refs/tags/v1^{/a b} " + unverified, "MISSING: v1^{/a b} is not verified"},
		"no end of the line":               {"refs/heads/main " + strings.TrimSpace(unverified), "MISSING: main is not verified"},
		"a deleted branch":                 {"(delete) " + none + " refs/heads/main " + head + "\n", ""},
		"blank lines":                      {"\n\n", ""},
		"a line of fewer words":            {head + "\n", "cannot be read"},
		"a line that is too long":          {strings.Repeat("x", maxStdin) + " " + unverified, "cannot be read"},
		"a tip behind many others":         {strings.Repeat("(delete) "+none+" refs/heads/main "+head+"\n", maxStdin/100) + "refs/heads/main " + unverified, "cannot be read"},
	} {
		refused, warnings := Push("", "", strings.NewReader(c.in))
		if text := strings.Join(refused, "\n"); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: refused %q, warned %q; want %q", name, refused, warnings, c.want)
		}
	}
}

// TestPushedFromElsewhere holds that the repository which git pushes is asked about, wherever its user is.
func TestPushedFromElsewhere(t *testing.T) {
	newProject(t)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	worktree := filepath.Join(t.TempDir(), "w")
	if out, err := exec.Command("git", "worktree", "add", "-q", worktree).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line := "refs/heads/main " + strings.TrimSpace(string(out)) + " refs/heads/main " + strings.Repeat("0", 40) + "\n"
	for _, gitDir := range []string{filepath.Join(dir, ".git"), filepath.Join(dir, ".git", "worktrees", "w")} {
		t.Chdir(t.TempDir())
		t.Setenv("GIT_DIR", gitDir)
		if refused, warnings := Push("", "", strings.NewReader(line)); !strings.Contains(strings.Join(refused, "\n"), "MISSING: main is not verified") {
			t.Errorf("%s: refused %q, warned %q", gitDir, refused, warnings)
		}
	}
}

// TestPushedUnseen holds that what cannot be looked up as a commit is not let through where there are rules: the repository by another name or
// of another folder, and tags of trees and files.
func TestPushedUnseen(t *testing.T) {
	newProject(t)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		out, err := exec.Command("git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit, tree := git("rev-parse", "HEAD"), git("rev-parse", "HEAD^{tree}")
	git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "x", "annotated", tree)
	link, apart := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "apart")
	if err := os.Symlink(filepath.Join(dir, ".git"), link); err != nil {
		t.Skip(err)
	}
	git("clone", "-q", "--separate-git-dir", apart, dir, filepath.Join(t.TempDir(), "clone"))
	empty := t.TempDir()
	for _, c := range []struct{ name, dir, gitDir, rev string }{
		{"a link", empty, link, commit},
		{"with a dot", empty, filepath.Join(dir, ".git") + "/.", commit},
		{"apart, from another project", dir, apart, "1" + commit[1:]},
		{"a tag of a tree", dir, ".git", tree},
		{"a tag of a file", dir, ".git", git("rev-parse", "HEAD:routing.toml")},
		{"an annotated tag of a tree", dir, ".git", git("rev-parse", "annotated")},
	} {
		t.Chdir(c.dir)
		t.Setenv("GIT_DIR", c.gitDir)
		refused, warnings := Push("", "", strings.NewReader("refs/x "+c.rev+" refs/x "+strings.Repeat("0", 40)+"\n"))
		if !strings.Contains(strings.Join(refused, "\n"), "refs/x is not verified") {
			t.Errorf("%s: refused %q, warned %q", c.name, refused, warnings)
		}
	}
	t.Chdir(empty) // no rules are about this
	git("init", "-q")
	t.Setenv("GIT_DIR", ".git")
	if refused, warnings := Push("", "", strings.NewReader("refs/x "+tree+" refs/x "+strings.Repeat("0", 40)+"\n")); len(refused) > 0 || len(warnings) != 1 {
		t.Errorf("without rules: refused %q, warned %q", refused, warnings)
	}
}

// TestTwo holds two sessions apart, on one tree and in a worktree of its own.
func TestTwo(t *testing.T) {
	newProject(t)
	stop := func(session string) bool {
		out, _ := ask(t, Options{}, strings.NewReader(strings.Replace(stopEvent, `"s"`, `"`+session+`"`, 1)))
		return held(out)
	}
	prompt := func(session string) {
		ask(t, Options{}, strings.NewReader(`{"session_id":"`+session+`","hook_event_name":"UserPromptSubmit","prompt":"do it"}`))
	}
	prompt("a")
	put(t, "new.txt", "x")
	prompt("b")
	if stop("b") || !stop("a") || stop("a") {
		t.Error("who changed nothing is held, or who did is not, or is twice")
	}
	worktree := filepath.Join(t.TempDir(), "w")
	if out, err := exec.Command("git", "worktree", "add", "-q", worktree).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(worktree)
	prompt("a")
	if stop("a") {
		t.Error("held for files of another worktree")
	}
	put(t, "other.txt", "x")
	if !stop("a") {
		t.Error("not held in a worktree")
	}
}

// TestSubAgent holds a sub-agent in a working tree of its own, by the tree that the call that starts it names, or by the folder that its event
// names; one in the tree of who started it, and one that changed nothing, are let go.
func TestSubAgent(t *testing.T) {
	main := newProject(t)
	t.Setenv("QWEN_PROJECT_DIR", main)
	worktree := filepath.Join(t.TempDir(), "w")
	gitIn(t, "worktree", "add", "-q", worktree)
	event := func(name, dir, more string) (out, rule string) {
		t.Helper()
		if out, rule = ask(t, Options{Agent: agents.Find("qwen")}, strings.NewReader(`{"session_id":"s","hook_event_name":"`+name+`","cwd":"`+dir+`"`+more+`}`)); rule == "" {
			t.Chdir(worktree)
			if all := recorded(t); len(all) > 0 {
				rule = all[len(all)-1].Action + " " + all[len(all)-1].Rule
			}
		}
		t.Chdir(main)
		return out, rule
	}
	sub := func(name, agent, dir string) (string, string) {
		t.Helper()
		return event(name, dir, `,"agent_id":"`+agent+`","background_tasks":[{"id":"`+agent+`","status":"running"}]`)
	}
	event("UserPromptSubmit", main, `,"prompt":"do it"`)
	event("PreToolUse", main, `,"tool_name":"agent","tool_call_id":"call_1","tool_input":{"prompt":"x","working_dir":"`+worktree+`"}`)
	put(t, filepath.Join(main, "parent.txt"), "x") // is nothing to a sub-agent elsewhere
	for _, c := range []struct{ agent, dir string }{{"general-call_1", main}, {"other", worktree}} {
		file := filepath.Join(worktree, c.agent+".txt")
		sub("SubagentStart", c.agent, c.dir)
		if out, rule := sub("SubagentStop", c.agent, c.dir); out != "" || rule != "allow unchanged" {
			t.Errorf("%s: nothing changed: %q, %s", c.agent, out, rule)
		}
		put(t, file, "x")
		if out, rule := sub("SubagentStop", c.agent, c.dir); !held(out) || rule != "refuse not-checked" || !strings.Contains(out, "changed since the last prompt: ") || !strings.Contains(out, c.agent+".txt") {
			t.Errorf("%s: %q, %s", c.agent, out, rule)
		}
		if out, rule := sub("SubagentStop", c.agent, c.dir); held(out) || rule != "tell held-on-this-tree" {
			t.Errorf("%s: held again: %q, %s", c.agent, out, rule)
		}
	}
	for _, agent := range []string{"call_11", "general-call_11", "", "x"} {
		if out, rule := sub("SubagentStop", agent, main); out != "" || rule != "allow sub-agent" {
			t.Errorf("%q in the tree of its parent: %q, %s", agent, out, rule)
		}
	}
	if out, _ := event("Stop", main, `,"last_assistant_message":"Done."`); !held(out) || !strings.Contains(out, "changed since the last prompt: parent.txt") {
		t.Errorf("who started them: %q", out)
	}
}

// git runs git in the working directory.
func gitIn(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestTarget decides about the repository that a command line acts on, wherever the agent was started, and refuses a push where that is not known.
func TestTarget(t *testing.T) {
	project := newProject(t)
	if err := os.MkdirAll("deep/nested", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir("deep/nested")
	gitIn(t, "init", "-q")
	gitIn(t, "commit", "-q", "--allow-empty", "-m", "other")
	bare := filepath.Join(t.TempDir(), "bare")
	gitIn(t, "clone", "-q", "--bare", project, bare)
	worktree := filepath.Join(t.TempDir(), "worktree")
	gitIn(t, "-C", project, "worktree", "add", "-q", worktree)
	elsewhere := t.TempDir()
	for _, c := range []struct {
		in, command string
		rule        string // empty: allowed
	}{
		{project, "git push", "push-unverified"},
		{project, "(cd /tmp); git push", "push-unverified"},
		{project, "cd " + elsewhere + " && git push", ""},
		{project, "cd " + elsewhere + " && GIT_DIR=" + project + "/.git git push", "push-unverified"},
		{project, "cd deep/nested && git push", ""},
		{project, "cd deep && git push", "push-unverified"},
		{elsewhere, "git push", ""},
		{elsewhere, "cd " + project + " && git push", "push-unverified"},
		{elsewhere, "git -C " + project + "/deep push", "push-unverified"},
		{elsewhere, "git --git-dir " + project + "/.git push", "push-unverified"},
		{elsewhere, "git --git-dir " + project + "/.git/worktrees/worktree push", "push-unverified"},
		{elsewhere, "export GIT_DIR=" + project + "/.git; git push", "push-unverified"},
		{elsewhere, "GIT_WORK_TREE=" + elsewhere + " git -C " + worktree + " push", "push-unverified"},
		{elsewhere, "cd $X; git push", ""}, // no project of ours is in sight
		{project, "cd $X; git push", "push-unknown"},
		{project, "cd not-there && git push", "push-unknown"},
		{project, "GIT_DIR=" + bare + " git push", "push-unknown"},
		{project, "cd $X; git commit -m x", ""},
		{project, "DIALECT=0 git -C " + elsewhere + " push", "bypass"},
	} {
		t.Chdir(c.in)
		out, _ := ask(t, Options{}, strings.NewReader(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"`+c.command+`"}}`))
		if refused := strings.Contains(out, `"deny"`); refused != (c.rule != "") {
			t.Errorf("in %s: %s: %q, want %q", c.in, c.command, out, c.rule)
			continue
		}
		t.Chdir(project)
		if list := recorded(t); c.rule != "" && c.in == project && list[len(list)-1].Rule != c.rule {
			t.Errorf("in %s: %s: recorded %q, want %q", c.in, c.command, list[len(list)-1].Rule, c.rule)
		}
	}
}

// TestStartedIn decides about the repository of the folder that the client's tool starts the command in.
func TestStartedIn(t *testing.T) {
	project := newProject(t)
	t.Chdir(t.TempDir())
	for _, c := range []struct{ agent, tool, field string }{{"gemini", "run_shell_command", "dir_path"}, {"qwen", "run_shell_command", "directory"}, {"qwen", "monitor", "directory"},
		{"opencode", "bash", "workdir"}, {"kilo", "bash", "workdir"}, {"kilo", "background_process", "workdir"}} {
		for dir, refused := range map[string]bool{project: true, ".": false} {
			out, _ := ask(t, Options{Agent: agents.Find(c.agent), Event: "tool.execute.before"}, strings.NewReader(`{"session_id":"s","hook_event_name":"`+
				map[string]string{"gemini": "BeforeTool", "qwen": "PreToolUse"}[c.agent]+`","tool_name":"`+c.tool+`","tool_input":{"command":"git push","`+c.field+`":"`+dir+`"}}`))
			if strings.Contains(out, "dialect refused this push: MISSING") != refused {
				t.Errorf("%s %s in %s: %q", c.agent, c.tool, dir, out)
			}
		}
	}
}

// TestRulesGone refuses an agent the push of a commit without rules that can be read, where the remote has some.
func TestRulesGone(t *testing.T) {
	newProject(t)
	push := func() string {
		t.Helper()
		out, _ := ask(t, Options{}, strings.NewReader(`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push"}}`))
		return out
	}
	for what, change := range map[string]func(){
		"has no routing.toml": func() { gitIn(t, "rm", "-q", "routing.toml") },
		"does not load":       func() { put(t, "routing.toml", "[commands") },
	} {
		gitIn(t, "checkout", "-q", "-b", strings.ReplaceAll(what, " ", "-"))
		change()
		gitIn(t, "commit", "-qam", what)
		if out := push(); strings.Contains(out, `"deny"`) {
			t.Errorf("%s, without a remote: %q", what, out)
		}
		gitIn(t, "update-ref", "refs/remotes/origin/main", "HEAD~1")
		if out := push(); !strings.Contains(out, what+", and origin/main has ") && !strings.Contains(out, what+": ") {
			t.Errorf("%s: %q", what, out)
		}
		gitIn(t, "update-ref", "-d", "refs/remotes/origin/main")
		gitIn(t, "checkout", "-q", "-")
	}
}
