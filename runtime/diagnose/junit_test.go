package diagnose

import (
	"strings"
	"testing"
)

// TestJUnitErrorQuotesNothing: what the decoder quotes of a file ends where its syntax does, and so in the middle of a secret.
func TestJUnitErrorQuotesNothing(t *testing.T) {
	for _, text := range []string{
		`<testsuite><testcase name="Tr0&4dorZebra"/></testsuite>`, `<testsuite><a><ZebraTr0></a></testsuite>`, `<testsuite><a></ZebraTr0></testsuite>`, `<?xml version="Zebra"?><testsuite/>`,
		`<?xml version="1.0" encoding="Zebra"?><testsuite/>`, `<testsuite><a b="<Zebra"/></testsuite>`, `<testsuite><a Zebra/></testsuite>`, `<testsuite><a:b:Zebra/></testsuite>`, `<testsuite><1Zebra/></testsuite>`, `<testsuite>&Zebra</testsuite>`,
	} {
		_, _, err := JUnit(strings.NewReader(text), func(s string) string { return s }, func(Case) {})
		if err == nil || strings.Contains(err.Error(), "Zebra") || !strings.HasPrefix(err.Error(), "it is not JUnit XML") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
