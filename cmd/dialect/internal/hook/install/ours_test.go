package install

import "testing"

// A line is ours if it is what we write, whole: what a user put beside it is not taken away.
func TestOurs(t *testing.T) {
	for line, want := range map[string]bool{
		Client{Name: "claude"}.Command("/usr/bin/dialect", Project, "Stop"): true,
		Client{Name: "codex"}.Command("/a b/it's/dialect", User, "Stop"):    true,
		"/usr/bin/dialect hook claude Stop":                                 true,
		"my-notify.sh; dialect hook claude stop":                            false,
		"dialect hook claude Stop; my-notify.sh":                            false,
		"dialect hook claude Stop && x 2>/dev/null || exit 0":               false,
		"/usr/bin/mydialect/run hook claude Stop":                           false,
		"echo dialect hook claude Stop":                                     false,
	} {
		if got := ours().MatchString(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
