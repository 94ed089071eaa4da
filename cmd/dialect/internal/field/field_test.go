package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestPage holds that the committed page has a row for each project of today, at its commit.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(root + "/stdlib/docs/field.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := projects()
	if err != nil || len(list) < 12 {
		t.Fatal(len(list), err)
	}
	for _, p := range list {
		if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(p.commit) {
			t.Errorf("%s: %q is not a commit", p.name, p.commit)
		}
		if row := "| " + p.name + " at " + p.commit[:10]; !strings.Contains(string(text), row) {
			t.Errorf("there is no row %q: run `make field`", row)
		}
	}
}

// TestTry tries a small repository of our own, and one that cannot be cloned.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds dialect")
	}
	dir := t.TempDir()
	script := `mkdir -p owner+name && cd owner+name && git init -q && printf 'module example.com/m\n\ngo 1.21\n' >go.mod && printf 'package m\n' >m.go &&
printf 'package m\n\nimport "testing"\n\nfunc TestM(t *testing.T) {}\n' >m_test.go && git add . && git -c user.name=a -c user.email=a@example.com commit -q -m m && git rev-parse HEAD`
	commit := shell(t, dir, script)
	shell(t, root, "go build -o "+dir+"/bin/ ./cmd/dialect")
	r := project{"owner/name", strings.TrimSpace(commit), "Go", ""}.try(dir, dir+"/{owner}+{name}")
	if r.failed != "" || r.second.line != "passed" || r.verify != "VERIFIED" || r.edited != "STALE" || r.tree != "VERIFIED" {
		t.Errorf("%+v", r)
	}
	gone := project{"owner/other", "HEAD", "Go", ""}.try(dir, dir+"/{owner}+{name}")
	if !strings.HasPrefix(gone.failed, "git clone: ") {
		t.Errorf("%+v", gone)
	}
	text := string(page([]result{r, gone}))
	for _, want := range []string{"| owner/name at ", "| VERIFIED | STALE | VERIFIED |", "- passes today: ", "| owner/other at HEAD (Go) | git clone: ", "of 2 projects 1 could not be tried, and 0 did not pass"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out)
}
