package explain_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
)

var update = flag.Bool("update", false, "write testdata/explain.golden anew")

// TestExplain writes what `dialect explain WORD` says of every word of reports, verdicts and receipts, of every
// diagnostic and of every key of the matrix, as one text that is compared with a file.
func TestExplain(t *testing.T) {
	words := explain.Words()
	for _, set := range wordSets {
		words = append(words, constants(t, filepath.Join("../../../..", filepath.FromSlash(set.dir)), strings.Fields(set.types))...)
	}
	slices.Sort(words)
	var got bytes.Buffer
	said := make(map[string]bool)
	for _, word := range slices.Compact(words) {
		docs := explain.Word(word)
		if len(docs) == 0 {
			t.Errorf("dialect explain %q says nothing", word)
		}
		for _, d := range docs {
			var b bytes.Buffer
			if err := d.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			if text := b.String(); !said[text] { // several words of one meaning
				said[text] = true
				got.WriteString("$ dialect explain " + word + "\n" + text + "\n")
			}
		}
	}
	if n := len(said); n < 200 {
		t.Errorf("only %d explanations", n)
	}
	const name = "testdata/explain.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%s is another (make golden, if it reads well): %v\n%s", name, err, diff.Diff("want", want, "got", got.Bytes()))
	}
}
