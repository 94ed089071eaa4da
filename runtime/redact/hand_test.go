package redact

import (
	"slices"
	"strings"
	"testing"
)

// TestHandOn: a command gets its own secrets, those that its run got, and those that its words hold.
func TestHandOn(t *testing.T) {
	r := New(Options{
		Declared: []string{"declared", "abc", "elsewhere"},
		Environ:  []string{Variable + "=3:x:y,5:\xff,\n,9,", "MY_TOKEN=Qx7-EFGH9912zzW", "OTHER_TOKEN=Qx8-EFGH9912zzW"},
	})
	own, words := []string{"a", "", "declared", "a"}, []string{"abc declared", "--token=Qx7-EFGH9912zzW"}
	const want = "1:a,8:declared,3:x:y,5:\xff,\n,9,15:Qx7-EFGH9912zzW,"
	got := r.HandOn(own, words)
	if got != want {
		t.Errorf("%q", got)
	}
	for _, value := range []string{"x:y", "\xff,\n,9", "Qx7-EFGH9912zzW"} {
		if text := New(Options{Environ: []string{Variable + "=" + got}}).Text("it says " + value + "."); strings.Contains(text, value) {
			t.Errorf("%q", text)
		}
	}
	if got := New(Options{Declared: []string{"declared"}}).HandOn(nil, []string{"go", "test"}); got != "" {
		t.Errorf("%q for a command that has no secret", got)
	}
	if got := (*Redactor)(nil).HandOn(own, words); got != "" {
		t.Errorf("%q without a redactor", got)
	}
	large := strings.Repeat("x", maxHanded-2)
	if got := parseHanded(r.HandOn([]string{large, "larger", "a"}, nil)); !slices.Equal(got, []string{large, "a"}) {
		t.Errorf("%d values", len(got))
	}
}

func TestParseHanded(t *testing.T) {
	for _, value := range []string{"a", "1", "1:", "1:a", "1:ab", "2:a,", "0:,", "-1:a,", ":a,", "1:a,1", `["a"]`, "9223372036854775808:a,", "65537:" + strings.Repeat("x", maxHanded+1) + ","} {
		if got := parseHanded(value); got != nil {
			t.Errorf("%.20q: %.20q", value, got)
		}
	}
}
