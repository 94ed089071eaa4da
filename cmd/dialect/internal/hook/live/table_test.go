//go:build unix

package live

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTable holds that the table of the documentation has a cell for each client and names the test of each row, and that no test with clients is
// missing from it.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("../../../../../stdlib/docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| what the agent does |")
	if !ok {
		t.Fatal("there is no table")
	}
	var named []string
	for line := range strings.Lines(table[strings.Index(table, "\n")+1:]) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if strings.HasPrefix(cells[0], "---") {
			continue
		}
		if len(cells) != 2+len(clients) {
			t.Errorf("%d cells: %s", len(cells), line)
			continue
		}
		for _, c := range cells[1 : 1+len(clients)] {
			if c = strings.TrimSpace(c); c != "yes" && c != "has none" {
				t.Errorf("a cell says %q: %s", c, line)
			}
		}
		for name := range strings.SplitSeq(cells[len(cells)-1], ",") {
			named = append(named, "Test"+strings.Trim(strings.TrimSpace(name), "`"))
		}
	}
	var tests []string
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\t(?:\w+ := .*\n\t|.*\n\t)*?each\(`).FindAllStringSubmatch(string(text), -1) {
			tests = append(tests, m[1])
		}
	}
	elsewhere := []string{"TestGuarded", "TestInTOML"} // the page on guard, and of one client's configuration
	for _, name := range tests {
		if !slices.Contains(named, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("no row names %s", name)
		}
	}
	for _, name := range named {
		if !slices.Contains(tests, name) {
			t.Errorf("there is no %s", name)
		}
	}
}
