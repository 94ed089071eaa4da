package explain_test

import (
	"strings"
	"testing"

	"github.com/command-dialect/dialect/cmd/dialect/internal/explain"
)

// TestTopicText shows a page as a terminal gets it.
func TestTopicText(t *testing.T) {
	const wide = "many words that fill the line of a terminal up to its end and go on for a while, which takes two lines of text"
	page := "<!-- made by hand -->\n\n# A page\n\n![a picture](x.svg)\n\n**Bold**, `a_*b*` and a\\_b, see [agents](agents.md), [it refused](refused.md#flaky), [below](#below)\n" +
		"and [set-ups](../../lang/editors/README.md).\n\n## Tables\n\n| a | b |\n|---|---|\n| `x` | 1 \\| 2 |\n| longer | |\n\n" +
		"| | |\n|---|---|\n| narrow | " + wide + " |\n\n| attack | L0 | L1 |\n|---|---|---|\n| " + wide + " | caught | **not caught** |\n\n" +
		"```console x\n$ echo '[a](b) | **c**'\n\n[a](b) | **c**\n```\n\n" + "### Third\n\n" + wide + " " + wide + "\n" +
		"after it `a\nb`, and [ag\nents](agents.md)\n\n- one\n- " + wide + "\n  and on\n    - below\n\n24. " + wide + "\n    and on\n25. [x](ci.md)\nlazy\n\n    indented as code\n    so\n"
	const want = `A page
======

Bold, ` + "`a_*b*`" + ` and a_b, see ` + "`dialect help agents`" + `, it refused (` + "`dialect help refused`" + `), below and
set-ups (lang/editors/README.md).

Tables
------

  a       b
  ` + "`x`" + `     1 | 2
  longer

  narrow  many words that fill the line of a terminal up to its end and go on for a while, which
          takes two lines of text

  many words that fill the line of a terminal up to its end and go on for a while, which takes two
  lines of text
      L0: caught; L1: not caught

    $ echo '[a](b) | **c**'

    [a](b) | **c**

Third

many words that fill the line of a terminal up to its end and go on for a while, which takes two
lines of text many words that fill the line of a terminal up to its end and go on for a while, which
takes two lines of text after it ` + "`a b`" + `, and ag ents (` + "`dialect help agents`" + `)

- one
- many words that fill the line of a terminal up to its end and go on for a while, which takes two
  lines of text and on
    - below

24. many words that fill the line of a terminal up to its end and go on for a while, which takes two
    lines of text and on
25. x (` + "`dialect help ci`" + `) lazy

    indented as code
    so
`
	var b strings.Builder
	if err := explain.Topic(page).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
