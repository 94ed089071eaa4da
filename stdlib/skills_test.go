package stdlib

import (
	"bytes"
	"strings"
	"testing"
)

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
		// The shortest and the longest that are of use; a token is four to five bytes here.
		if n := len(body); n < 300 || n > 1600 {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
	if _, ok := Skill("../packs/core.toml"); ok {
		t.Error("a path was taken for a name")
	}
}
