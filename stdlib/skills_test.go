package stdlib

import (
	"bytes"
	"strings"
	"testing"
)

// TestSkillSaysIt: without these an agent guesses, or believes rules that it wrote itself.
func TestSkillSaysIt(t *testing.T) {
	text, _ := Skill("dialect")
	for _, what := range []string{"dialect init", "composite", "--base", "dialect log", "worktree", "dialect verify", "dialect consume", "dialect explain"} {
		if !bytes.Contains(text, []byte(what)) {
			t.Errorf("the skill has no %s", what)
		}
	}
}

// Skills have the form of agentskills: a front matter with name, equal to the folder, and a
// description of at most 1,024 bytes.
func TestSkills(t *testing.T) {
	want := []string{"agent-receipts", "dialect", "quality-gates"}
	if got := strings.Join(Skills(), " "); got != strings.Join(want, " ") {
		t.Errorf("skills: %s", got)
	}
	for _, name := range Skills() {
		text, ok := Skill(name)
		if !ok {
			t.Fatalf("%s cannot be read", name)
		}
		head, body, ok := bytes.Cut(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---\n"))
		lines := strings.Split(string(head), "\n")
		if !ok || len(lines) != 2 || lines[0] != "name: "+name || !strings.HasPrefix(lines[1], "description: ") || len(lines[1]) > 1024 {
			t.Errorf("%s: front matter %q", name, head)
		}
		// Each session of an agent pays for it: 360 tokens of o200k are about 1,360 bytes here, front matter included.
		if n := len(text); n < 600 || n > 1360 || len(body) < 300 {
			t.Errorf("%s has %d bytes", name, n)
		}
		// To accept a flaky pass is for a person to decide.
		if bytes.Contains(bytes.ToLower(text), []byte("flak")) {
			t.Errorf("%s tells an agent about flaky passes", name)
		}
	}
	if _, ok := Skill("../packs/core.toml"); ok {
		t.Error("a path was taken for a name")
	}
}
