package slug

import "testing"

func TestMake(t *testing.T) {
	for title, want := range map[string]string{
		"":                        "",
		"Trigger, execute, prove": "trigger-execute-prove",
		"  12 Verbs & 12 Nouns! ": "12-verbs-12-nouns",
		"Écrit en français":       "écrit-en-français",
	} {
		if got := Make(title); got != want {
			t.Errorf("Make(%q) = %q, want %q", title, got, want)
		}
	}
}
