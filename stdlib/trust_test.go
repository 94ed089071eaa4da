package stdlib

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAssumptions holds that the threat model has the assumptions of the verifier under the verifier's numbers, and that each names
// conditions which there are.
func TestAssumptions(t *testing.T) {
	doc, err := os.ReadFile("../receipts/verify/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	conditions, assumptions, ok := strings.Cut(string(doc), "// # What it assumes\n")
	page, found := TopicPage("trust")
	if !ok || !found {
		t.Fatal("there are no assumptions, or no page")
	}
	numbers := func(text, pattern string) (list []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}
	want, have := numbers(assumptions, `(?m)^// +(\d+)\. `), numbers(string(page), `(?m)^(\d+)\. `)
	if len(want) < 9 || !slices.Equal(have, want) {
		t.Errorf("the page has the assumptions %v, the verifier %v", have, want)
	}
	known := numbers(conditions, `(?m)^// +(\d+)\. `)
	for _, list := range numbers(string(page), `(?s)\n\d+\. [^()]*(?:\([^\d][^()]*\)[^()]*)*\((\d[\d, to]*)\)\n`) {
		for _, n := range numbers(list, `(\d+)`) {
			if !slices.Contains(known, n) {
				t.Errorf("an assumption is of condition %s, which there is not: %v", n, known)
			}
		}
	}
}
