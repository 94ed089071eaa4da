package stdlib

import (
	"slices"
	"strings"
	"testing"
)

// TestTopics holds that each page has a title and a place in the order, and that no name reaches another file.
func TestTopics(t *testing.T) {
	list := Topics()
	if len(list) < 15 {
		t.Fatalf("only %d topics", len(list))
	}
	reference := false
	for _, topic := range list {
		text, ok := TopicPage(topic.Name)
		if !ok || len(text) == 0 || topic.Title == "" || strings.Contains(topic.Title, "`") {
			t.Errorf("%s: %v, %d bytes, title %q", topic.Name, ok, len(text), topic.Title)
		}
		if !slices.Contains(topics, topic.Name) {
			t.Errorf("docs/%s.md has no place in the order of stdlib/topics.go", topic.Name)
		}
		if reference && !topic.Reference {
			t.Errorf("the task %s comes after the reference", topic.Name)
		}
		reference = topic.Reference
	}
	if list[0].Name != "first-steps" || list[0].Reference || !reference {
		t.Errorf("the order is %v", list)
	}
	for _, name := range []string{"", ".", "..", "none", "../vocabulary", "/etc/passwd", "first-steps.md", "docs/agents", "Agents"} {
		if text, ok := TopicPage(name); ok || text != nil {
			t.Errorf("TopicPage(%q) returns %d bytes", name, len(text))
		}
	}
}
