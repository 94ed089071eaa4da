package resolve

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

// lineBudget is how long any one line may take in the fuzz target. On a quiet machine it takes at
// most a hundredth of that; what it finds is a line whose cost grows faster than its length.
const lineBudget = 5 * time.Second

// packs is a matrix with nearly all that there is to bind.
func packs(t testing.TB) *routing.Matrix {
	t.Helper()
	return matrix(t, []byte(`extends = ["go", "python", "git"]

[vars]
id = "BD-1"

[commands.close_issue]
verb = "close"
noun = "issue"
tool = "bd close {id} --reason {reason}"
`))
}

// TestSearchIsPolynomial counts the trials that the search for commands in a line makes: for lines that hold
// many, of which the last is not one, a search that tries each way to cut them has twice the work with each.
func TestSearchIsPolynomial(t *testing.T) {
	m := packs(t)
	const bound = maxVerbs * (maxVerbs + 1) / 2
	for _, unit := range []string{"Test with go ", "test go ", "and **test** with go, ", "close issue ", "format go with check with test "} {
		for _, tail := range []string{"zzz", "** zzz", "", "with", "test", `"`} {
			for _, n := range []int{1, 8, 16, 32, 64} {
				text := strings.Repeat(unit, n) + tail
				src := diag.NewSource("script.dlct", []byte(text+"\n"))
				r := newResolver(src, m, Options{})
				r.scan(1, 1)
				if r.trials > 2*bound {
					t.Errorf("%q x %d + %q: %d trials, want at most %d", unit, n, tail, r.trials, 2*bound)
				}
				if !strings.Contains(text, "**") && !strings.Contains(text, "__") && r.trials > bound {
					t.Errorf("%q x %d + %q: %d trials, want at most %d: the text without marks is the same", unit, n, tail, r.trials, bound)
				}
			}
		}
	}
}

// TestPlanIsBounded binds lines that a small script and a small matrix multiply to gigabytes: each has one error, at the line with which it is too
// much, and soon.
func TestPlanIsBounded(t *testing.T) {
	command := func(verb, noun, rest string) string {
		return fmt.Sprintf("[commands.%s]\nverb = %q\nnoun = %q\n%s\n", noun, verb, noun, rest)
	}
	tool := func(text string) string { return command("test", "x", fmt.Sprintf("tool = %q", text)) }
	all := func(leaf string) string { // of 10,000 steps, as many as a line may become
		var text, leaves, groups strings.Builder
		for i := range 100 {
			text.WriteString(command("check", fmt.Sprint("x", i), leaf))
			fmt.Fprintf(&leaves, `"x%d",`, i)
			if i < 99 {
				fmt.Fprintf(&groups, `"m%d",`, i)
			}
		}
		for i := range 99 {
			text.WriteString(command("check", fmt.Sprint("m", i), "composite = ["+leaves.String()+"]"))
		}
		return text.String() + command("run", "all", "composite = ["+groups.String()+"]")
	}
	chain := func(n, secrets int) string { // of composites, over a leaf that names many secrets
		var text, names strings.Builder
		for i := range secrets {
			fmt.Fprintf(&names, `"s%d",`, i)
		}
		text.WriteString(command("check", "leaf", "tool = \"echo {a}\"\nsecrets = ["+names.String()+"]\n") + command("check", "m0", `composite = ["leaf"]`))
		for i := range n - 1 {
			text.WriteString(command("check", fmt.Sprint("m", i+1), fmt.Sprintf(`composite = ["m%d"]`, i)))
		}
		return text.String()
	}
	value := " " + strings.Repeat("v", 60_000)
	for name, c := range map[string]struct {
		matrix, line string
		lines, at    int // of which that is the first with an error
	}{
		"arguments":    {tool("echo" + strings.Repeat(" x", 100_000)), "Test x", 1000, 316},
		"placeholders": {tool("echo " + strings.Repeat("{a}", 100_000)), "Test x" + value, 3, 1},
		"table": {command("test", "x", "tool = \"mcp:s:t\"\narguments = { q = \""+strings.Repeat("{a}", 100_000)+"\" }") +
			"[servers.s]\nurl = \"http://127.0.0.1\"\n", "Test x" + value, 3, 1},
		"members":   {all(`tool = "echo"`), "Run all", 1000, 190},
		"secrets":   {all("tool = \"echo {a}\"\nsecrets = [\"a\"]"), "Run all" + value, 10, 1},
		"variables": {tool("echo {a}") + "[vars]\nv = \"" + strings.Repeat("v", 1<<20) + "\"\n", "Test x " + strings.Repeat("{v}", 20_000), 3, 1},
		"plain":     {tool("echo"), "Test x", 1_000_000, 0},
		"a chain":   {chain(4000, 20_000), "Check m3999 v", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := matrix(t, []byte(c.matrix))
			script := strings.Repeat(c.line+"\n", c.lines)
			before := allocated()
			list, _ := Check(diag.NewSource("script.dlct", []byte(script)), m, Options{})
			if got := allocated() - before; name == "a chain" && got > 256<<20 {
				t.Errorf("%d MiB for one line", got>>20)
			}
			at := 0
			for _, d := range list {
				if d.Code != diag.FileTooLarge || at != 0 {
					t.Fatalf("%s", d.Message)
				}
				at = d.Span.Start.Line
			}
			if at != c.at {
				t.Errorf("the plan is too large at line %d, want %d", at, c.at)
			}
			if c.at != 1 {
				return // what fits into the plan is large enough
			}
			_, p, list := resolveText(m, script, Options{})
			if len(p.Steps) != c.at-1 || len(list) != 1 || list[0].Code != diag.FileTooLarge {
				t.Errorf("%d steps, want %d; %v", len(p.Steps), c.at-1, list)
			}
		})
	}
}

// TestSlipsAreBounded checks more misspelled lines than suggestions can be looked for: the first ones have
// theirs, all have their error, and the matrix is not searched for each line.
func TestSlipsAreBounded(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("%s%04d", strings.Repeat("n", 60), i) }
	var text, script strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "[commands.c%d]\nverb = \"test\"\nnoun = %q\ntool = \"true\"\n", i, name(i))
		fmt.Fprintf(&script, "Tset with %s-\n", name(i)[1:])
	}
	r := newResolver(diag.NewSource("script.dlct", []byte(script.String())), matrix(t, []byte(text.String())), Options{})
	r.scan(1, 2000)
	suggested, faults := 0, 0
	for _, d := range r.all.List() {
		if d.Code == diag.UnboundNoun {
			faults++
			if strings.Contains(d.Hint, "did you mean") {
				suggested++
			}
		}
	}
	if suggested == 0 || suggested == faults || faults < diag.MaxFindings/2 {
		t.Errorf("%d of %d findings have a suggestion", suggested, faults)
	}
	if r.slips.Spend(1) {
		t.Error("the search is not bounded")
	}
}

// TestSearchFindsAll holds what the search finds, beyond what it was able to before it had a table.
func TestSearchFindsAll(t *testing.T) {
	m := packs(t)
	for text, want := range map[string][]string{
		"Test with go and format with gofmt":                  {"Test with go", "format with gofmt"},
		"please Test with go, then **Format** with **gofmt**": {"Test with go", "Format with gofmt"},
		"Test with go as zzz of format with gofmt":            {"format with gofmt"},
		strings.Repeat("Test with go ", 20):                   strings.Split(strings.Repeat("Test with go,", 20), ",")[:20],
		"Test with go zzz":                                    nil,
		"nothing at all":                                      nil,
	} {
		r := newResolver(diag.NewSource("script.dlct", nil), m, Options{})
		if got := r.commands(text); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q holds %q, want %q", text, got, want)
		}
	}
}

// slowUnits are texts that make a line expensive where something is done again for each of them; %d is
// their number.
var slowUnits = []string{
	"Test with go ", "test ", "a ", "é ", "x=1 ", "é=é ", "{", "{a", "{a} ", "{{", "}", "é{a} ", "`", "`.", "é`.", "` ", "é` ", `"`, `\`, `"\q" `, `"a" `, `"a"b `,
	`é"é" `, "“a” ", "а ", "аb ", "é", "\x80", "\u200b", "with ", "| ", "> ", "&& ", "# ", " ", ". ", ".", "a.", "*", "**", "__", "- ", "1. ", "=", "a=", "a= ", "é{ ", "{é", "—",
	"{a%d}", "é{a%d}", "{a%d} ", `"{env.A%d}" `, "a%d=b ", "a%d=b", "é%d=b ", "{{a%d}", "v%d ", "test%d ", "go%d ",
}

// FuzzLine holds that any one line, with whatever is repeated in it to the length that a line may have, is
// checked, resolved and formatted in bounded time.
func FuzzLine(f *testing.F) {
	m := packs(f)
	for _, unit := range slowUnits {
		f.Add("", unit, "zzz")
		f.Add("Test with go a", unit, "")
		f.Add("é with go ", unit, "zzz")
	}
	f.Fuzz(func(t *testing.T, head, unit, tail string) {
		const most = 64 << 10
		if len(head)+len(unit)+len(tail) > most {
			return
		}
		b := strings.Builder{}
		b.WriteString(head)
		for i := 0; unit != ""; i++ {
			next := strings.Replace(unit, "%d", strconv.Itoa(i), 1)
			if b.Len()+len(next)+len(tail) > most {
				break
			}
			b.WriteString(next)
		}
		line := strings.NewReplacer("\n", " ", "\r", " ").Replace(b.String() + tail)
		src := diag.NewSource("script.dlct", []byte(line))
		took := func() (check, all time.Duration) {
			start := time.Now()
			list, _ := Check(src, m, Options{})
			check = time.Since(start)
			resolveText(m, line, Options{})
			lang.Format(src)
			lang.Fix(src)
			b.Reset()
			if err := diag.WriteText(&b, list, diag.TextOptions{Max: 10, Sources: func(string) *diag.Source { return src }}); err != nil {
				t.Fatal(err)
			}
			return check, time.Since(start)
		}
		check, d := took()
		if d > lineBudget { // a machine that stalls does so once
			check, d = took()
		}
		if d > lineBudget {
			t.Errorf("%q, %q again and again, %q: %s, of which check took %s", head, unit, tail, d, check)
		}
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
