package resolve_test

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/command-dialect/dialect/lang"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/resolve"
	"github.com/command-dialect/dialect/lang/routing"
)

// Resolve binds a script through a matrix. The plan says what would run, as plain data.
func ExampleResolve() {
	const matrix = `
[commands.test_unit]
verb = "test"
noun = "unit"
tool = "python3 -m unittest {args...}"
`
	m, found := routing.Load("/project/routing.toml", "routing.toml", routing.Options{
		ReadFile: func(path string) ([]byte, error) {
			if filepath.ToSlash(path) == "/project/routing.toml" {
				return []byte(matrix), nil
			}
			return nil, fs.ErrNotExist
		},
	})
	file, faults := lang.Parse(diag.NewSource("quality.dlct", []byte("Test with unit \"my tests\"\n")))
	p, unbound := resolve.Resolve(file, m, resolve.Options{})
	fmt.Println(len(found), len(faults), len(unbound))
	fmt.Printf("%q\n", p.Steps[0].Argv)
	// Output:
	// 0 0 0
	// ["python3" "-m" "unittest" "my tests"]
}
