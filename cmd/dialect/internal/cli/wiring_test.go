package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWiring holds that a file with a subcommand stands alone: nothing that it declares is used by another
// file, but for what makes the subcommand.
func TestWiring(t *testing.T) {
	for _, fault := range wiringFaults(t, sourcesOf(t)) {
		t.Error(fault)
	}
	// What it can find: an identifier of one subcommand that another uses.
	faults := wiringFaults(t, map[string]string{
		"a.go":      "package cli\nfunc newA(u *ui) *cobra.Command { return helper() }\n",
		"b.go":      "package cli\nfunc newB(u *ui) *cobra.Command { return nil }\nfunc helper() *cobra.Command { return newA(nil) }\n",
		"shared.go": "package cli\nfunc arg() {}\n",
	})
	if len(faults) != 1 || faults[0] != "a.go uses helper of b.go, which has a subcommand" {
		t.Errorf("%q", faults)
	}
}

func sourcesOf(t *testing.T) map[string]string {
	sources := make(map[string]string)
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 20 {
		t.Fatalf("%v, %q", err, names)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			sources[name] = string(text)
		}
	}
	return sources
}

// wiringFaults looks at the files of a package, by name.
func wiringFaults(t *testing.T, sources map[string]string) (faults []string) {
	owner := make(map[string]string) // file by identifier, of those with a subcommand
	files := make(map[string]*ast.File)
	for name, text := range sources {
		f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
		commands, names := 0, []string{}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				switch {
				case makesCommand(d):
					commands++
				case d.Recv == nil:
					names = append(names, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names = append(names, s.Name.Name)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names = append(names, n.Name)
						}
					}
				}
			}
		}
		if commands > 0 && name != "main.go" { // which makes the root of them all
			for _, n := range names {
				owner[n] = name
			}
		}
	}
	for name, f := range files {
		for _, id := range f.Unresolved { // in this file
			if of := owner[id.Name]; of != "" && of != name {
				faults = append(faults, name+" uses "+id.Name+" of "+of+", which has a subcommand")
			}
		}
	}
	return faults
}

// makesCommand reports whether f is a constructor of a subcommand.
func makesCommand(f *ast.FuncDecl) bool {
	if f.Recv != nil || !strings.HasPrefix(f.Name.Name, "new") || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	star, ok := f.Type.Results.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Command"
}
