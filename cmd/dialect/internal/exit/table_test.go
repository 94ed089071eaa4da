package exit_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/stdlib"
)

var update = flag.Bool("update", false, "write the topic exit anew")

// TestPage holds the topic `exit` to the table.
func TestPage(t *testing.T) {
	if *update {
		if err := os.WriteFile(filepath.Join("..", "..", "..", "..", "stdlib", "docs", "exit.md"), exit.Page(), 0o666); err != nil {
			t.Fatal(err)
		}
		return // what is embedded is the page of before
	}
	if got, _ := stdlib.TopicPage("exit"); string(got) != string(exit.Page()) {
		t.Error("stdlib/docs/exit.md is not what the table says: `make golden` writes it")
	}
	for _, g := range exit.Table() {
		for _, r := range g.Rows {
			if !strings.Contains(exit.Help(), r.Meaning) {
				t.Errorf("the help does not say %q", r.Meaning)
			}
		}
	}
}
