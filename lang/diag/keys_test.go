package diag

import (
	"fmt"
	"strings"
	"testing"
)

const signingKey = "PRIVATE+KEY+ci@example.com/dialect-1_2+9e38bc93+AUPdCAfj6so5RG6lhhSbidreiZv0jJlVPI5otE42qqZ9"

// TestHideKeys has no part of a signing key stand in a message.
func TestHideKeys(t *testing.T) {
	for _, text := range []string{"%s", "open %s: no such file", `"%s" is not a number`, "--key=%s, and %[1]s", "a %s", "PRIVATE+KEY+ %s", "%s\n%[1]s\n"} {
		want := fmt.Sprintf(text, "PRIVATE+KEY+...")
		got := HideKeys(fmt.Sprintf(text, signingKey))
		if got != want || HideKeys(got) != got || PrintableLines(fmt.Sprintf(text, signingKey)) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, want := HideKeys(strings.ToLower(signingKey)), "private+key+..."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{strings.TrimPrefix(signingKey, KeyPrefix), "PRIVATE+KEY+", "PRIVATE+KEY+...", "PRIVATE+KE", "private key", ""} {
		if got := Printable(text); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

// TestKeyInExcerpt shows stars in the place of a key, wherever the span of the finding and the window end.
func TestKeyInExcerpt(t *testing.T) {
	for _, before := range []string{"", "Check with ", strings.Repeat("a b ", 300)} {
		for _, after := range []string{"", " x=1", strings.Repeat(" b", 900)} {
			line := before + signingKey + after
			src := NewSource("f", []byte(line))
			for from := 0; from <= len(line); from += 31 {
				for _, to := range []int{from, from + 1, from + 30, len(line)} {
					d := Errorf(UnboundVerb, "f", src.Span(from, max(from, min(to, len(line)))), "no %q", line).WithHint("not %s\n%s", signingKey, line)
					d.Related = []Related{{File: "f", Message: "no " + signingKey}}
					got := text(t, List{d}, src, TextOptions{})
					secret := signingKey[len(KeyPrefix):]
					for i := 0; i+6 <= len(secret); i++ {
						if strings.Contains(got, secret[i:i+6]) {
							t.Fatalf("%q stays: %s", secret[i:i+6], got)
						}
					}
				}
			}
		}
	}
	src := NewSource("f", []byte("Test "+signingKey+" now"))
	want := "  1 | Test PRIVATE+KEY+" + strings.Repeat("*", len(signingKey)-len(KeyPrefix)) + " no...\n    | ^^^^\n"
	if got := text(t, List{Errorf(UnboundVerb, "f", src.Span(0, 4), "wrong")}, src, TextOptions{}); !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
}

// TestHideKeysOfDiagnostic hides keys in all that a finding says, and offers no fix that repeats one.
func TestHideKeysOfDiagnostic(t *testing.T) {
	d := Errorf(UnboundVerb, "f", Span{}, "no %s", signingKey).WithHint("not %s", signingKey)
	d.Related = []Related{{Message: signingKey}}
	d.Fixes = []Fix{{Message: "write x", Edits: []Edit{{New: "x"}}}, {Message: "write y", Edits: []Edit{{New: signingKey}}}, {Message: signingKey}}
	got := d.HideKeys()
	if got.Message != "no PRIVATE+KEY+..." || got.Hint != "not PRIVATE+KEY+..." || got.Related[0].Message != "PRIVATE+KEY+..." || len(got.Fixes) != 1 || got.Fixes[0].Message != "write x" {
		t.Errorf("got %+v", got)
	}
	if d.Related[0].Message != signingKey || len(d.Fixes) != 3 {
		t.Error("the original was changed")
	}
}
