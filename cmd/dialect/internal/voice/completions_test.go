package voice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/voice"
)

func TestCompletions(t *testing.T) {
	var b strings.Builder
	w := voice.Completions(&b)
	for _, line := range []string{"a_b\tcheck $(x)", "--store", "g-0a/1.2:x@y+é", "a_b\t$(x)", ":4\ta", ":4", "", ""} {
		fmt.Fprintln(w, line)
	}
	for _, r := range " \n\x1b\u202e\"'`$;&|<>(){}[]*?!#~=%^,\\" {
		if n, err := fmt.Fprintln(w, "x"+string(r)+"y"); n == 0 || err != nil {
			t.Errorf("%q: %d, %v", r, n, err)
		}
	}
	if want := "a_b\tcheck $(x)\n--store\ng-0a/1.2:x@y+é\n:4\ta\n:4\n\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
