package lang

import (
	"bytes"
	"fmt"
	"go/ast"
	goparser "go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/diag"
)

func parse(text string) (*File, diag.List) {
	return Parse(diag.NewSource("test.dlct", []byte(text)))
}

// told renders a finding as the test data does: severity, code, text of the span.
func told(src *diag.Source, d diag.Diagnostic) string {
	return fmt.Sprintf("%s %s |%s|", d.Severity, d.Code, src.Text[d.Span.Start.Offset:d.Span.End.Offset])
}

// TestFaults compares what Parse says with the lines of testdata that say it.
func TestFaults(t *testing.T) {
	text, err := os.ReadFile("testdata/faults.dlct")
	if err != nil {
		t.Fatal(err)
	}
	src := diag.NewSource("faults.dlct", text)
	_, list := Parse(src)
	got := make(map[int][]string)
	for _, d := range list {
		got[d.Span.Start.Line] = append(got[d.Span.Start.Line], told(src, d))
		if d.Hint == "" || strings.HasSuffix(d.Message, ".") || d.Message != strings.ToLower(d.Message[:1])+d.Message[1:] && d.Message[0] != 'U' {
			t.Errorf("line %d: message %q, hint %q", d.Span.Start.Line, d.Message, d.Hint)
		}
	}
	line, want := 0, []string(nil)
	check := func() {
		if line > 0 && strings.Join(got[line], "\n") != strings.Join(want, "\n") {
			t.Errorf("line %d: %s\ngot\n%s\nwant\n%s", line, src.Line(line), strings.Join(got[line], "\n"), strings.Join(want, "\n"))
		}
	}
	for n := 1; n <= src.Lines(); n++ {
		if expected, ok := strings.CutPrefix(string(src.Line(n)), "#! "); ok {
			want = append(want, expected)
			continue
		}
		check()
		line, want = n, nil
	}
	check()
}

// What cannot stand in a file of test data: control characters, other encodings,
// marks that a reader would not see.
func TestCharacters(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Test with py\x00test", "error forbidden-character |\x00|"},
		{"Test with py\x1b[31mtest", "error forbidden-character |\x1b|"},
		{"Test with py\u200btest", "error forbidden-character |\u200b|"},
		{"Test\u00a0with pytest", "error forbidden-character |\u00a0|"},
		{"# a comment \u202e", "error forbidden-character |\u202e|"},
		{"Test with pytest\u2028", "error forbidden-character |\u2028|"},
		{"Test with \ufeffpytest", "error forbidden-character |\ufeff|"},
		{"Test with p\xffytest \xfe", "error not-utf8 |\xff|"},
		{"Test with p\xffytest\u200b", "error not-utf8 |\xff|\nerror forbidden-character |\u200b|"},
		{"\ufeffTest with pytest", "warning byte-order-mark |\ufeff|"},
		{"Test with pytest\r\nTest with pytest\r\n", "warning crlf |\r|"},
		{"Test with pytest\rx", "error forbidden-character |\r|"},
		{strings.Repeat("x", maxLine+1), "error line-too-long |x|"},
		{"Test with go" + strings.Repeat(" a", maxWords), "error line-too-long | |"},
		{"Test\twith\tpytest\t", ""},
		{"Test with naïve ☃ 😀", ""},
	} {
		src := diag.NewSource("test.dlct", []byte(tt.text))
		_, list := Parse(src)
		var got []string
		for _, d := range list {
			got = append(got, told(src, d))
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("%.60q: got %q, want %q", tt.text, strings.Join(got, "\n"), tt.want)
		}
	}
	huge := diag.NewSource("huge.dlct", bytes.Repeat([]byte("x\n"), maxFile/2+1))
	if f, list := Parse(huge); len(list) != 1 || list[0].Code != diag.FileTooLarge || len(f.Commands) != 0 {
		t.Errorf("a file over the limit: %v", list)
	}
}

// Every code that this package can report is reported in a test: the constants that its
// files name are looked up in the test data and in this file.
func TestCodesAreTested(t *testing.T) {
	data, err := os.ReadFile("testdata/faults.dlct")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("parse_test.go")
	if err != nil {
		t.Fatal(err)
	}
	values := codeConstants(t)
	files, _ := filepath.Glob("*.go")
	named := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := goparser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			code, isCode := values[sel.Sel.Name]
			if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "diag" || !isCode {
				return true
			}
			named++
			if !bytes.Contains(data, []byte(" "+code+" |")) && !bytes.Contains(self, []byte(" "+code+" |")) && !bytes.Contains(self, []byte("diag."+sel.Sel.Name)) {
				t.Errorf("no test has the code %s", code)
			}
			return true
		})
	}
	if named < 20 {
		t.Errorf("only %d codes found: this test looks in the wrong place", named)
	}
}

// codeConstants reads the codes from the source of package diag.
func codeConstants(t *testing.T) map[string]string {
	f, err := goparser.ParseFile(gotoken.NewFileSet(), "diag/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]string)
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				values[v.Names[0].Name], _ = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
	return values
}

// dump renders a command with all that it holds.
func dump(c *Command) string {
	if c.Bad {
		return fmt.Sprintf("bad %s/%s/%s", c.Verb.Text, c.Prep.Text, c.Noun.Text)
	}
	s := c.Verb.Text
	if c.Object != nil {
		s += fmt.Sprintf(" object %q", c.Object.Text)
	}
	if c.Prep.Text != "" {
		s += " prep " + c.Prep.Text
	}
	s += " noun " + c.Noun.Text
	for _, a := range c.Arguments {
		s += fmt.Sprintf(" %s=%q", a.Name.Text, a.Value.Text)
	}
	return s
}

func TestCommands(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Test with pytest", `Test prep with noun pytest`},
		{"  Test   with\tpytest  # why", `Test prep with noun pytest`},
		{"land plane BD-1", `land noun plane ="BD-1"`},
		{"Spawn gate-check as subtask", `Spawn object "gate-check" prep as noun subtask`},
		{`Spawn "gate check" as subtask now`, `Spawn object "gate check" prep as noun subtask ="now"`},
		{`Close issue id=BD-12 reason="all done" last`, `Close noun issue id="BD-12" reason="all done" ="last"`},
		{`Close issue x=a=b url:x=y -k=v =v`, `Close noun issue x="a=b" ="url:x=y" ="-k=v" ="=v"`},
		{`Close issue id=""`, `Close noun issue id=""`},
		{`Close issue "" "a\tb\n\"\\"`, `Close noun issue ="" ="a\tb\n\"\\"`},
		{`Close issue "in" as done`, `bad Close/as/done`},
		{`Close "in" as done`, `Close object "in" prep as noun done`},
		{"Close issue #12 # comment", `Close noun issue ="#12"`},
		{"Close issue a#b #", `Close noun issue ="a#b"`},
		{"Retrieve codebase in-progress within-reach", `Retrieve noun codebase ="in-progress" ="within-reach"`},
		{"- Test with pytest.", `Test prep with noun pytest`},
		{"1. `Test with pytest`", `Test prep with noun pytest`},
		{"Close issue {id}", `Close noun issue ="{id}"`},
		{"Test with pyt\x00", `bad //`},
		{"Test with", `bad Test/with/`},
		{"Format with ruff in src", `bad Format/with/ruff`},
		{"with pytest", `bad //`},
		{"Test naïve", `Test noun naïve`},
	} {
		f, _ := parse(tt.text)
		if len(f.Commands) != 1 || dump(f.Commands[0]) != tt.want {
			t.Errorf("%q: got %v, want %s", tt.text, dumps(f), tt.want)
		}
	}
	if f, _ := parse("# a\n\n   # b\n```\n\t\n"); len(f.Commands) != 0 {
		t.Errorf("commands where there are none: %v", dumps(f))
	}
}

func dumps(f *File) []string {
	var all []string
	for _, c := range f.Commands {
		all = append(all, dump(c))
	}
	return all
}

// Positions are those of the source, in lines that the memo knows too, and behind
// wide characters.
func TestPositions(t *testing.T) {
	text := "Close issue \"é😀\" id=x\n# é\n  Close issue \"é😀\" id=x\nClose issue \"é😀\" id=x\nTest with go\nTest with go\n"
	f, list := parse(text)
	if len(list) > 0 || len(f.Commands) != 5 {
		t.Fatal(list)
	}
	for i, want := range []struct{ line, column int }{{1, 18}, {3, 20}, {4, 18}} {
		name := f.Commands[i].Arguments[1].Name
		if got := name.Span.Start; got.Line != want.line || got.Column != want.column || text[got.Offset:name.Span.End.Offset] != "id=" {
			t.Errorf("command %d: id= at %+v, want %+v", i, got, want)
		}
	}
	if got := f.Source.UTF16Column(f.Commands[0].Arguments[1].Name.Span.Start); got != 18 {
		t.Errorf("UTF-16 column %d, want 18", got)
	}
	if c := f.Commands[4]; c.Noun.Span.Start.Line != 6 || text[c.Noun.Span.Start.Offset:c.Noun.Span.End.Offset] != "go" {
		t.Errorf("%+v", c.Noun)
	}
}

func TestQuote(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{"BD-12", "BD-12"}, {"", `""`}, {"a b", `"a b"`}, {"in", `"in"`}, {"IN", `"IN"`}, {"in-progress", "in-progress"}, {"id=5", `"id=5"`},
		{"#12", "#12"}, {"#", `"#"`}, {`a"b`, `"a\"b"`}, {`a\b`, `a\b`}, {"a\nb", `"a\nb"`}, {"{id}", "{{id}}"}, {"end.", `"end."`}, {"./...", "./..."}, {"`x`", "\"`x`\""}, {"“x”", `"“x”"`},
	} {
		if got := Quote(tt.value); got != tt.want {
			t.Errorf("Quote(%q) = %s, want %s", tt.value, got, tt.want)
		}
	}
}

func TestExpand(t *testing.T) {
	vars := map[string]string{"id": "BD-1", "brace": "{id}", "env.HOME": "/home/u"}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	for _, tt := range []struct{ in, want, unknown string }{
		{"plain", "plain", ""}, {"{id}", "BD-1", ""}, {"a{id}b{id}", "aBD-1bBD-1", ""}, {"{{id}}", "{id}", ""}, {"{{{id}}}", "{BD-1}", ""},
		{"{brace}", "{id}", ""}, {"{env.HOME}/x", "/home/u/x", ""}, {"{no} {id} {such}", "{no} BD-1 {such}", "no such"}, {"}", "}", ""}, {"}}", "}", ""}, {"{", "{", ""}, {"{1}", "{1}", ""},
	} {
		got, unknown := Expand(tt.in, lookup)
		if got != tt.want || strings.Join(unknown, " ") != tt.unknown {
			t.Errorf("Expand(%q) = %q, %q; want %q, %q", tt.in, got, unknown, tt.want, tt.unknown)
		}
	}
}

func seeds(f *testing.F) {
	data, err := os.ReadFile("testdata/faults.dlct")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	for _, line := range strings.Split(string(data), "\n") {
		f.Add(line)
	}
	scripts, _ := filepath.Glob("../examples/*/*.dlct")
	if len(scripts) == 0 {
		f.Fatal("no examples")
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, s := range []string{"\xff", "\x00", "\ufeff\r\n", "a\r\nb c\r\n", "Close issue \"\xe2\x80\"", strings.Repeat("`", 300), strings.Repeat(`a="`, 100), strings.Repeat("{", 100)} {
		f.Add(s)
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		file, list := parse(text)
		said := make(map[int]bool)
		errors := make(map[int]bool)
		for _, d := range list {
			s := d.Span
			if s.Start.Offset < 0 || s.End.Offset < s.Start.Offset || s.End.Offset > len(text) || s.Start != file.Source.Pos(s.Start.Offset) {
				t.Fatalf("%q: span %+v of %v, source says %+v", text, s, d, file.Source.Pos(s.Start.Offset))
			}
			said[s.Start.Line] = true
			errors[s.Start.Line] = errors[s.Start.Line] || d.Severity == diag.Error
		}
		at := make(map[int]bool)
		for _, c := range file.Commands {
			line := c.Span.Start.Line
			at[line] = true
			if c.Bad != errors[line] {
				t.Fatalf("%q: line %d bad %v, and has an error %v", text, line, c.Bad, errors[line])
			}
			if got := text[c.Span.Start.Offset:c.Span.End.Offset]; got != c.Text && len(got) <= maxLine {
				t.Fatalf("%q: text %q, span says %q", text, c.Text, got)
			}
			for _, w := range []Word{c.Verb, c.Prep, c.Noun} {
				if w.Text != "" && text[w.Span.Start.Offset:w.Span.End.Offset] != w.Text {
					t.Fatalf("%q: word %q, span says %q", text, w.Text, text[w.Span.Start.Offset:w.Span.End.Offset])
				}
			}
			if c.Bad {
				continue
			}
			again, l := parse(c.String())
			l = slices.DeleteFunc(l, func(d diag.Diagnostic) bool { return d.Code == diag.LookAlike })
			if len(l) > 0 || len(again.Commands) != 1 || !strings.EqualFold(dump(again.Commands[0]), dump(c)) {
				t.Fatalf("%q: %s\nis written %q, which is %v\n%v", text, dump(c), c.String(), dumps(again), l)
			}
		}
		for n := 1; n <= file.Source.Lines(); n++ {
			line := bytes.TrimLeft(bytes.TrimPrefix(file.Source.Line(n), []byte("\ufeff")), " \t")
			if len(line) > 0 && line[0] != '#' && !at[n] && !said[n] && len(text) <= maxFile {
				t.Fatalf("%q: line %d is not a command, and nothing was said", text, n)
			}
		}
	})
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a b", "in", "{x}", `\"`, "a\n\tb", "“", "#", "x.", "id=1", "`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !utf8.ValidString(value) || len(value) > 10000 {
			return
		}
		for _, r := range value {
			if r != '\n' && forbiddenName(r) != "" {
				return
			}
		}
		for _, line := range []string{"Close issue " + Quote(value), "Close issue id=" + Quote(value), "Close " + Quote(value) + " as issue", "Close issue " + Quote(value) + " x"} {
			file, list := parse(line) // a letter that looks like another one is a warning
			if list.Err() != nil || len(file.Commands) != 1 {
				t.Fatalf("%q: %v", line, list)
			}
			c := file.Commands[0]
			v := c.Object
			if v == nil {
				v = &c.Arguments[0].Value
			}
			if got, unknown := Expand(v.Text, func(string) (string, bool) { return "", false }); got != value || unknown != nil {
				t.Fatalf("%q: %q came back as %q", line, value, got)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		var same, distinct strings.Builder
		for i := range n {
			same.WriteString("Test with pytest\n")
			fmt.Fprintf(&distinct, "Close issue BD-%d reason=done\n", i)
		}
		for _, s := range []struct{ name, text string }{{"repeated", same.String()}, {"distinct", distinct.String()}} {
			b.Run(fmt.Sprint(s.name, "/", n), func(b *testing.B) {
				b.SetBytes(int64(len(s.text)))
				for b.Loop() {
					if f, list := parse(s.text); len(f.Commands) != n || len(list) > 0 {
						b.Fatal(list)
					}
				}
			})
		}
	}
}
