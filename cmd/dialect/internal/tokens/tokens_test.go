package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// TestPage holds that the committed page names each recording and each document of today. Its figures are those of the last `make tokens`.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(root + "/stdlib/docs/tokens.md")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(root + "/runtime/report/testdata/recorded/*.facts")
	if err != nil || len(names) < 25 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		if row := "` (" + strings.TrimSuffix(filepath.Base(name), ".facts") + ") |"; !strings.Contains(string(page), row) {
			t.Errorf("there is no row %q: run `make tokens`", row)
		}
	}
	documents, err := sections()
	if err != nil || len(documents) < 5 {
		t.Fatal(documents, err)
	}
	for _, d := range documents {
		if !strings.Contains(string(page), "| "+d.repository+", ") {
			t.Errorf("%s is not in the page: run `make tokens`", d.repository)
		}
	}
}

// TestCount holds the counter to counts of o200k that its publisher gives.
func TestCount(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"": 0, "hello world": 2, "tiktoken is great!": 6, "antidisestablishmentarianism": 6} {
		if n, err := (counter{codec}).text(text); err != nil || n != want {
			t.Errorf("%q: %d, %v, want %d", text, n, err, want)
		}
	}
}

func TestMedian(t *testing.T) {
	if n := median([]int{9, 1, 5}); n != 5 {
		t.Error(n)
	}
}

// TestSteady holds that what two runs print of the same counts the same.
func TestSteady(t *testing.T) {
	one := steady("ok \texample.com/slug\t(cached)\npassed: 4 lines, 1 test, 12.75 s; gate g-ffe1d0680be1 of 2027-01-02 03:04:05\n")
	if two := steady("ok \texample.com/slug\t0.013s\npassed: 4 lines, 1 test, 0.02 s; gate g-0000b1be159b of 2026-11-22 09:36:06\n"); one != two || !strings.Contains(one, "passed: 4 lines, 1 test,") {
		t.Errorf("%s%s", one, two)
	}
}
