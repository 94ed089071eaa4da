package routing_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/routing/lint"
)

// FuzzLongMatrix holds that a matrix whose tool is 512 KiB of whatever it repeats is loaded and checked in
// bounded time: it may be that of a project that nobody has read yet.
func FuzzLongMatrix(f *testing.F) {
	const (
		size   = 512 << 10
		budget = 20 * time.Second // on a quiet machine a hundredth of it is enough; what is quadratic takes minutes
	)
	for i, unit := range []string{
		"a", "a ", "{", "{a", "{a} ", "{a%d}", "{{", "}", "{id}", "{args...} ", "{é", "'", `"`, `'a' `, `"a" `, `\`, `\ `, "\n", " \n", "a\n", ";", "; ", "&", "& ", "&&", "|", "| ",
		"$", "$(", "$1", "${1}", "${", "$a ", "`", "(", ")", "#", " #", "#\n", "~", "*", "\r", "=", "x%d ", "|| true ", "set -e\n", "'{", `"{`,
	} {
		f.Add("x "+unit, unit, []string{"", "x"}[i%2])
	}
	f.Add("x ", "\n", "x") // what follows all of them decides what each means
	f.Fuzz(func(t *testing.T, head, unit, tail string) {
		if len(head)+len(unit)+len(tail) > size || unit == "" {
			return
		}
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.Replace(unit, "%d", strconv.Itoa(i), 1))
		}
		text := strings.ToValidUTF8(b.String()+tail, "")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(text)
		start := time.Now()
		for _, shell := range []string{"", "shell = true\n"} {
			matrix := "[commands.a]\nverb = \"test\"\nnoun = \"a\"\n" + shell + "tool = \"" + quoted + "\"\n"
			m, _ := routing.Load("/project/routing.toml", routing.FileName, routing.Options{ReadFile: func(path string) ([]byte, error) {
				if path == "/project/routing.toml" {
					return []byte(matrix), nil
				}
				return nil, os.ErrNotExist
			}})
			lint.Check(m, lint.Options{LookPath: programs, Unused: true})
		}
		if d := time.Since(start); d > budget {
			t.Errorf("%q, %q again and again, %q: %s", head, unit, tail, d)
		}
	})
}

// A list is read in a time that grows with its length, whatever is wrong with it: ten times as long a list takes some ten times as
// long, not a hundred times.
func TestLongLists(t *testing.T) {
	for _, key := range []string{"inputs", "files", "aliases", "secrets"} {
		took := func(n int) time.Duration {
			var list strings.Builder
			for i := range n {
				list.WriteString("\"x" + strconv.Itoa(i) + "\", ")
			}
			matrix := "[commands.a]\nverb = \"test\"\nnoun = \"a\"\ntool = \"a\"\neffect = \"read\"\n" + key + " = [" + list.String() + "]\n"
			start := time.Now()
			routing.Load("/project/routing.toml", routing.FileName, routing.Options{ReadFile: func(path string) ([]byte, error) {
				if path == "/project/routing.toml" {
					return []byte(matrix), nil
				}
				return nil, os.ErrNotExist
			}})
			return time.Since(start)
		}
		short, long := took(20_000), took(200_000)
		for range 4 { // a busy machine counts once, another order each time
			if long <= 50*short {
				break
			}
			short, long = max(short, took(20_000)), min(long, took(200_000))
		}
		if long > 50*short {
			t.Errorf("%s: 20,000 take %v, 200,000 take %v", key, short, long)
		}
	}
}
