package glob

import "testing"

func TestMeet(t *testing.T) {
	for _, c := range []struct {
		a, pattern, b, other string
		want                 bool
	}{
		{"/p", "build/*.xml", "/p", "build/*.xml", true},
		{"/p", "*/build/*.xml", "/p", "*/build/*.xml", true},
		{"/p", "a/build/*.xml", "/p", "*/build/*.xml", true},
		{"/p", "a/build/*.xml", "/p", "b/build/*.xml", false},
		{"/p/a", "build/*.xml", "/p/b", "build/*.xml", false},
		{"/p/a", "build/*.xml", "/p", "a/build/r.xml", true},
		{"/p/a", "../r.xml", "/p", "r.xml", true},
		{"/p", "r.xml", "/p", "./r.xml", true},
		{"/p", "r.xml", "/p", "R.xml", true}, // where case does not count
		{"/p", "é.xml", "/p", "e.xml", true}, // where it may be written in two ways
		{"/p", "a.xml", "/p", "b.xml", false},
		{"/p", "TEST-a-*.xml", "/p", "TEST-b-*.xml", false},
		{"/p", "TEST-*.xml", "/p", "TEST-b-*.xml", true},
		{"/p", "TEST-*.xml", "/p", "TEST.xml", false},
		{"/p", "[ab].xml", "/p", "c.xml", true}, // cautious
		{"/p", "build/*.xml", "/p", "build/x/*.xml", false},
		{"/p", "build/**", "/p", "build/x/y.xml", true},
		{"/p", "a/**/r.xml", "/p", "b/**/r.xml", false},
		{"/", "p/r.xml", "/p", "r.xml", true},
		{"/p", "/t/r.xml", "/p", "/t/*.xml", true},
		{"/p", "/t/r.xml", "/p", "/u/r.xml", false},
		{"/p", "/t/r.xml", "/p", "r.xml", true}, // the root of one machine may be /t
		{"/p*", "r.xml", "/pq", "r.xml", false}, // a directory has no meta characters
	} {
		if got := Meet(c.a, c.pattern, c.b, c.other); got != c.want {
			t.Errorf("%s %s, %s %s: %v", c.a, c.pattern, c.b, c.other, got)
		}
		if got := Meet(c.b, c.other, c.a, c.pattern); got != c.want {
			t.Errorf("%s %s, %s %s: %v", c.b, c.other, c.a, c.pattern, got)
		}
	}
}
