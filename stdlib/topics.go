package stdlib

import (
	"path"
	"slices"
	"strings"
)

// topics are the pages of docs in the order of `dialect help`: tasks in the order in which a user meets them,
// then the reference. A page that is not here comes last; a test asks for its place.
var topics = []string{
	"first-steps", "agents", "hooks", "guard", "notary", "clean", "controls", "slow-suites", "monorepos", "ci", "refused", "mcp-tools", "editors", "temporal",
	"language", "matrix", "routing", "reports", "evidence", "trust", "platforms", "dependencies", "tokens", "field", "benchmarks", "exit", "json", "glossary",
}

// firstReference is the first of topics that is looked up, not read.
const firstReference = "language"

// A Topic is a page of documentation.
type Topic struct {
	Name      string // of `dialect help NAME`, and of the file docs/NAME.md
	Title     string
	Reference bool // is looked up; the others answer a task
}

// Topics returns the pages in the order in which they are listed.
func Topics() (list []Topic) {
	entries, _ := files.ReadDir("docs") // embedded
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".md"); ok {
			names = append(names, name)
		}
	}
	at := func(name string) int {
		if i := slices.Index(topics, name); i >= 0 {
			return i
		}
		return len(topics)
	}
	slices.SortStableFunc(names, func(a, b string) int { return at(a) - at(b) })
	for _, name := range names {
		text, _ := TopicPage(name)
		list = append(list, Topic{name, title(string(text)), at(name) >= slices.Index(topics, firstReference)})
	}
	return list
}

// title returns the first heading of a page.
func title(text string) string {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(title)
		}
	}
	return ""
}

// TopicPage returns the page called name, as Markdown.
func TopicPage(name string) ([]byte, bool) {
	if name != path.Base(name) {
		return nil, false
	}
	b, err := files.ReadFile("docs/" + name + ".md")
	return b, err == nil
}
