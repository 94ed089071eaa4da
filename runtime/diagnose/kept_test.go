package diagnose

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// What a file of results says is kept within a bound, however long it is there, and however often it counts.
func TestJUnitKept(t *testing.T) {
	long := strings.Repeat("n", 300_000)
	text := fmt.Sprintf(`<testsuites name="%[1]s"><testsuite name="%[1]s">%[2]s<testsuite name="%[1]s" failures="1"/>`+
		`<testcase name="%[1]s" classname="%[1]s" file="%[1]s" line="3" status="%[1]s"/>`+
		`<testcase name="%[1]s"><failure message="%[1]s">%[1]s</failure></testcase></testsuite></testsuites>`, long, strings.Repeat("<failure/>", 100))
	clean := func(s string) string { return strings.ReplaceAll(s, "\n", " ") }
	var cases []Case
	_, f, err := JUnit(strings.NewReader(text), clean, func(c Case) { cases = append(cases, c) })
	if err != nil || len(cases) != 103 || f.Total != 103 {
		t.Fatal(err, len(cases), f.Total)
	}
	const most = 7 * maxMessage
	for i, c := range cases {
		if said := fmt.Sprint(c, *c.Failure); len(said) > most {
			t.Fatalf("case %d is kept in %d bytes", i, len(said))
		}
	}
	for i, x := range f.List {
		if said := fmt.Sprint(x); len(said) > most {
			t.Fatalf("failure %d is kept in %d bytes", i, len(said))
		}
	}
	for _, bad := range []string{
		`<testsuite errors="` + long + `"/>`,
		`<testsuite></` + long + `>`,
		`<?xml version="1.0" encoding="` + long + `"?><testsuite/>`,
	} {
		if _, _, err := JUnit(strings.NewReader(bad), clean, func(Case) {}); err == nil || len(err.Error()) > most {
			t.Errorf("%.40s...: an error of %d bytes", bad, len(fmt.Sprint(err)))
		}
	}
}

// A short piece that is kept does not hold on to the text that it was cut from, and to cut one out takes no list of all lines.
func TestJUnitMemory(t *testing.T) {
	const size = 1 << 20
	text := "<testsuite>" + strings.Repeat("<testcase name='a'><failure>bad\ngot 1"+strings.Repeat("\n", size)+"end</failure></testcase>", 4) +
		"<testcase name='" + strings.Repeat(" ", size) + "b'/></testsuite>"
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var cases []Case
	_, f, err := JUnit(strings.NewReader(text), func(s string) string { return s }, func(c Case) { cases = append(cases, c) })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || len(cases) != 5 || cases[4].Name != "b" || f.List[0].Message != "bad" || f.List[0].Detail[0] != "got 1" {
		t.Fatal(err, cases, f)
	}
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > size/2 {
		t.Errorf("%d bytes are kept of %d", kept, len(text))
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 12*uint64(len(text)) {
		t.Errorf("%d bytes were allocated for %d", took, len(text))
	}
	runtime.KeepAlive(cases)
	runtime.KeepAlive(text)
}
