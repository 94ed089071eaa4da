package tomltree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// fill returns unit again and again, numbered, up to a megabyte.
func fill(unit string) string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		fmt.Fprintf(&b, unit, i)
	}
	return b.String()
}

// TestTooMany gives Parse files of a megabyte on which the decoder would work for minutes.
func TestTooMany(t *testing.T) {
	for name, text := range map[string]string{
		"tables":                            fill("[a%d]\n"),
		"tables of tables":                  fill("[a.b%d]\n"),
		"keys":                              fill("a%d=1\n"),
		"quoted keys":                       fill("\"%d\"=1\n"),
		"dotted keys":                       fill("a.b%d=1\n"),
		"dotted keys of a table":            "[t]\n" + fill("a.b.c%d=1\n"),
		"an inline table":                   "a={" + fill("b%d=1,") + "z=1}",
		"an inline table in arrays":         "a=[[{" + fill("b%d=1,") + "z=1}]]",
		"an inline table of dotted keys":    "a={" + fill("b.c%d=1,") + "z=1}",
		"arrays of tables":                  fill("[[a%d]]\n"),
		"keys of an array of tables":        "[[a]]\n" + fill("[a.b%d]\n"),
		"tables after nested arrays":        "a=[" + fill("[%d],") + "]\n" + fill("[a%d]\n"),
		"one array of tables, again":        fill("[b%d]\nx=1\n[[a]]\n"),
		"keys of a table that opens again":  "[a.b]\n" + fill("[c.d%[1]d]\n[c%[1]d.d]\ne=1\n[c%[1]d]\nf=1\n"),
		"after what looks like no table":    "a='''\n[x]\n'''\n# [y]\n" + fill("[a%d]\n"),
		"before what is not TOML":           fill("[a%d]\n") + "=\n",
		"tables that are there, twice each": fill("[a%d]\n") + fill("[a%d]\n"),
	} {
		t.Run(name, func(t *testing.T) {
			src := diag.NewSource("routing.toml", []byte(text))
			root, list := tomltree.Parse(src, false)
			if len(list) != 1 || !strings.HasPrefix(list[0].Message, "too many tables and keys in one file: ") {
				t.Fatalf("%v", list)
			}
			var names int
			if _, err := fmt.Sscanf(list[0].Message, "too many tables and keys in one file: %d up to here", &names); err != nil {
				t.Fatal(err)
			}
			// Inline tables are one expression, which is read to its end.
			if names > 100_000 && !strings.Contains(name, "inline") && !strings.Contains(name, "nested arrays") {
				t.Errorf("only after %d names", names)
			}
			if !list[0].Span.IsValid() || root == nil {
				t.Errorf("no place, or no tree: %+v", list[0])
			}
			if _, list := tomltree.Parse(src, true); len(list) > 0 {
				t.Errorf("what is embedded: %v", list)
			}
		})
	}
}

// TestLongKey gives Parse keys of more names than it reads.
func TestLongKey(t *testing.T) {
	long := strings.Repeat("a.", 1<<19) + "z"
	for name, text := range map[string]string{
		"a key":         long + "=1\n",
		"a table":       "[" + long + "]\n",
		"an array":      "[[" + long + "]]\n",
		"an inline key": "a={" + long + "=1, b=1}\n",
		"one too many":  strings.Repeat("a.", 1000) + "z=1\n",
	} {
		src := diag.NewSource("routing.toml", []byte(text))
		root, list := tomltree.Parse(src, false)
		n := strings.Count(text, "a.") + 1
		if want := fmt.Sprintf("a key has %d names, and can have at most 1000", n); len(list) != 1 || list[0].Message != want || root == nil {
			t.Fatalf("%s: %v", name, list)
		}
		if s := list[0].Span; text[s.Start.Offset:s.End.Offset] != "z" {
			t.Errorf("%s: at %+v", name, s)
		}
		if _, list := tomltree.Parse(src, true); len(list) > 0 {
			t.Errorf("%s, embedded: %v", name, list)
		}
	}
}

// TestMany gives Parse large files that are honest, and such as only look as if they had many tables.
func TestMany(t *testing.T) {
	var bindings strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&bindings, "[commands.c%d]\n", i)
		for j := range 14 {
			fmt.Fprintf(&bindings, "key%d = \"[x]\" # [y]\n", j)
		}
	}
	for name, text := range map[string]string{
		"as many bindings as a file may have": bindings.String(),
		"a string of headers":                 "a = '''\n" + fill("[a%d]\n") + "'''\n",
		"a string of keys":                    "a = \"\"\"\n" + fill("a%d = 1\n") + "\"\"\"\n",
		"a long line":                         "a = '" + fill("[[a%d]].x = {") + "'\n",
		"comments":                            fill("# [a%d]\n#a=1\n"),
		"an array of numbers":                 "a = [" + fill("%d,") + "]\n",
		"an array of strings":                 "a = [" + fill("'[b%d]\"',") + "]\n",
		"an array of arrays":                  "a = [" + fill("[[%d]],") + "]\n",
		"a deep key":                          strings.Repeat("a.", 999) + "a = 1\n",
		"a deep header":                       "[" + strings.Repeat("a.", 999) + "a]\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, list := tomltree.Parse(diag.NewSource("routing.toml", []byte(text)), false); len(list) > 0 {
				t.Errorf("%.200s", list[0].Message)
			}
		})
	}
}

// TestTooManyAt holds that the error is at the name that is one too many, and that the tree ends there.
func TestTooManyAt(t *testing.T) {
	src := diag.NewSource("routing.toml", []byte(strings.Repeat("# a\n", 7)+fill("a%d = 1\n")))
	root, list := tomltree.Parse(src, false)
	if len(list) != 1 {
		t.Fatal(list)
	}
	names := len(root.Entries)
	if line := list[0].Span.Start.Line; names < 20_000 || names > 30_000 || line != names+7 {
		t.Errorf("line %d, after %d names", line, names)
	}
}
