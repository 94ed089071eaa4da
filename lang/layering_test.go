package lang_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tree is the architecture: this file keeps its arrows. It reads the files
// with go/parser instead of asking `go list`, whose answer depends on the
// platform and would let a file behind a build constraint go by.

const module = "github.com/command-dialect/dialect"

// A layer says what the packages below Dir may import. The layer with the
// longest Dir that holds a package is the one that counts.
type layer struct {
	Dir     string   // relative to the root of the module
	Ours    []string // packages of this module; "x/..." takes in all below x
	Theirs  []string // prefixes of import paths of other modules
	Because string
}

var layers = []layer{
	{"lang/diag", nil, nil,
		"a finding is plain data that every stage makes: it can know none of them"},
	{"lang/diag/output", []string{"lang/diag"}, nil,
		"what others read is made of findings alone"},
	{"lang/regular", nil, nil,
		"what opens the files of others is small enough to be read whole"},
	{"lang", []string{"lang/diag"}, []string{"github.com/alecthomas/participle/v2"},
		"the parser knows text and positions; it cannot know what a word is bound to"},
	{"lang/suggest", nil, nil,
		"a suggestion is a function of words: every stage makes some"},
	{"lang/tomltree", []string{"lang/diag"}, []string{"github.com/pelletier/go-toml/v2"},
		"a tree of TOML knows places and types; it cannot know what a key means"},
	// Of lang/plan a template uses Expect: whether a tool can fail depends on what is expected of it.
	{"lang/template", []string{"lang/diag", "lang/plan", "lang/tomltree"}, nil,
		"no text becomes shell code: what splits a command line is small enough to be read whole, and starts nothing"},
	{"lang/plan", []string{"lang/diag"}, nil,
		"the plan is plain data between the language and the runtime: it points back at a line, and knows neither side"},
	// Of lang/plan a binding uses the types that it hands on as they are: Kind,
	// Effect, Budget, Expect.
	{"lang/handoff", []string{"lang/plan"}, nil,
		"what an agent is told is made of a step alone"},
	{"lang/routing", []string{"lang", "lang/regular", "lang/diag", "lang/plan", "lang/suggest", "lang/template", "lang/tomltree", "stdlib"}, nil,
		"a matrix is read without any script, and without running anything"},
	{"lang/routing/lint", []string{"lang/diag", "lang/plan", "lang/routing", "lang/template", "lang/tomltree", "stdlib"}, nil,
		"what is suspicious in a matrix is found by looking at it and at the disk: routing itself reads no file but those that a matrix names"},
	{"lang/routing/edit", []string{"lang/diag", "lang/routing", "lang/tomltree"}, nil,
		"an edit of a matrix is data: what makes it writes no file"},
	{"lang/routing/reference", []string{"lang/diag", "lang/routing"}, nil,
		"what is written of the keys is made of the table of keys alone: nothing can be said of a key in a second place"},
	{"lang/resolve", []string{"lang", "lang/diag", "lang/handoff", "lang/routing", "lang/routing/edit", "lang/plan", "lang/suggest", "lang/tomltree"}, nil,
		"binding is a function of a script and a matrix: nothing is run to do it"},
	{"stdlib", nil, nil,
		"the stdlib is embedded data and nothing else"},
	{"runtime", []string{"lang/plan", "lang/diag", "lang/regular", "lang/suggest", "runtime/...", "receipts/...", "stdlib"}, []string{"golang.org/x/"},
		"a plan is complete: the runtime needs neither the script nor the matrix"},
	{"runtime/blob", []string{"lang/regular"}, nil,
		"a blob is bytes and a digest"},
	{"runtime/glob", []string{"runtime/place"}, nil,
		"a pattern is expanded over names: nothing is known of what is in the files"},
	{"runtime/archive", []string{"lang/regular", "runtime/blob"}, []string{"github.com/gofrs/flock"},
		"the layout of a folder knows nothing of what is kept in it"},
	{"runtime/project", []string{"lang", "lang/...", "runtime/place", "runtime/policy", "runtime/redact", "runtime/workspace", "runtime/workspace/git"}, nil,
		"a project is a script, its matrix and the rules that are trusted: nothing is run to know them but git, by the runner that is passed"},
	{"runtime/records", []string{"lang/diag", "receipts", "receipts/sqlite", "receipts/verify"}, nil,
		"a record is shown by what it says itself"},
	{"runtime/history", []string{"lang/diag", "lang/regular", "runtime/archive", "runtime/blob", "runtime/place", "runtime/project", "runtime/records", "runtime/report", "receipts/..."}, []string{"golang.org/x/mod/sumdb/note"},
		"what earlier runs came to is read from what they left"},
	{"runtime/report", []string{"lang/plan", "lang/diag", "lang/diag/output", "runtime/...", "receipts/..."}, []string{"golang.org/x/"},
		"a report is made of what a run came to"},
	{"runtime/scope", []string{"receipts", "runtime/workspace"}, nil,
		"which files a verdict is about follows from a snapshot and patterns"},
	{"runtime/redact", []string{"lang/diag"}, nil,
		"what takes secrets out is small enough to be read whole"},
	{"runtime/tempdir", []string{"lang/regular"}, []string{"golang.org/x/sys/unix"},
		"a temporary directory is a name and a lock, and is removed by descriptors, whatever is in it"},
	{"runtime/control", []string{"lang/diag", "lang/plan", "runtime/diagnose", "runtime/scope"}, nil,
		"what is broken, and whether a check noticed, follows from bytes: nothing is run or written to know it"},
	{"runtime/overlay", []string{"lang/regular"}, []string{"golang.org/x/sys"},
		"what layers show is read by paths alone: nothing is known of who asks"},
	{"runtime/absent", []string{"runtime/glob", "runtime/overlay"}, nil,
		"what a command may have missed is found by names alone: it knows neither rooms nor receipts"},
	{"runtime/cleanroom", []string{"runtime/place", "runtime/namespace", "lang/regular", "runtime/overlay", "runtime/process", "runtime/tempdir", "runtime/workspace", "runtime/workspace/git"}, []string{"golang.org/x/sync", "golang.org/x/sys"},
		"a room is a checkout and mounts: what runs in it, and what that proves, is said elsewhere"},
	{"runtime/diagnose", []string{"lang/diag", "runtime/redact"}, []string{"golang.org/x/text/encoding/charmap"},
		"what an output says is read from its bytes alone"},
	{"runtime/view", []string{"lang/plan", "runtime/..."}, []string{"golang.org/x/"},
		"what is shown while it happens is made of events alone"},
	{"runtime/workspace/git", []string{"lang/regular"}, nil,
		"what git is asked, and believed, is one small room that takes no snapshot"},
	{"runtime/workspace/ignore", nil, nil,
		"what an ignore file hides is read from its bytes alone"},
	{"runtime/domain/listening", []string{"lang/regular"}, []string{"golang.org/x/sys"},
		"what listens is read from the kernel's tables alone"},
	{"runtime/domain", []string{"lang/regular", "runtime/domain/listening", "runtime/namespace", "runtime/process"}, []string{"golang.org/x/sys", "golang.org/x/term"},
		"a domain is namespaces, mounts and a Landlock domain: what it is for is known elsewhere"},
	{"runtime/namespace", []string{"lang/regular"}, []string{"golang.org/x/sys"},
		"what a process does to itself is small enough to be read whole"},
	{"runtime/process", []string{"runtime/namespace", "runtime/redact", "runtime/blob", "lang/regular"}, []string{"golang.org/x/sys"},
		"a process is an argv, an environment and budgets: it can be tested and trusted without the rest"},
	{"runtime/schedule", []string{"receipts"}, nil,
		"order is pure: it needs no plan, no clock and no process, so that any engine can keep it"},
	{"runtime/attempt", []string{"lang/diag", "lang/handoff", "lang/plan", "lang/regular", "receipts", "receipts/doctrine", "runtime/..."}, []string{"golang.org/x/mod/sumdb/note"},
		"a plan is complete: the runtime needs neither the script nor the matrix"},
	{"runtime/engine", []string{"lang/plan", "lang/regular", "receipts", "runtime/attempt", "runtime/process", "runtime/schedule"}, []string{"golang.org/x/sync", "github.com/gofrs/flock"},
		"a driver has others say what comes next and do it"},
	{"runtime/recording", []string{"lang/plan", "receipts", "receipts/sqlite", "runtime/..."}, []string{"golang.org/x/mod/sumdb/note"},
		"what a run is recorded in is opened the same way for a command line and for a notary"},
	{"runtime/notary", []string{"lang/diag", "lang/plan", "lang/regular", "lang/resolve", "receipts", "receipts/sqlite", "runtime/..."}, []string{"github.com/gofrs/flock", "golang.org/x/sys/unix"},
		"a notary loads rules and runs scripts as a command line does, and is asked over a socket alone"},
	{"runtime/mcpclient", []string{"lang/plan"}, []string{"github.com/sourcegraph/jsonrpc2"},
		"what a run links of MCP is pipes: its SDK would cost every start"},
	{"runtime/mcpclient/bounds", nil, []string{"github.com/google/jsonschema-go"},
		"what a schema costs is known from the schema and the arguments alone"},
	{"runtime/mcpclient/broker", []string{"lang/plan", "runtime/mcpclient", "runtime/mcpclient/bounds"}, []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go", "github.com/sourcegraph/jsonrpc2"},
		"what drives MCP servers is a program of its own, and knows no run"},
	{"runtime/carry", []string{"lang/regular", "runtime/tempdir", "runtime/workspace", "runtime/workspace/git"}, nil,
		"what carries files between machines knows bytes and digests, and no run"},
	{"runtime/remote", []string{"receipts", "runtime/attempt", "runtime/carry", "runtime/engine", "runtime/mcpclient", "runtime/schedule", "runtime/tempdir", "runtime/workspace", "runtime/workspace/git"}, []string{"golang.org/x/mod/sumdb/note"},
		"who hands a run out judges nothing of what comes back; who takes it on knows by a key whose it is"},
	{"receipts", []string{"receipts/vectors"}, []string{"golang.org/x/mod"},
		"who verifies a receipt links this package alone: it must stay small, and be given expectations, never a plan"},
	{"receipts/verify", []string{"receipts"}, []string{"golang.org/x/mod/sumdb/"},
		"the verifier judges bytes and plain questions: it knows no store, no plan and no disk"},
	{"receipts/sqlite", []string{"receipts", "receipts/verify"}, []string{"modernc.org/", "golang.org/x/mod/sumdb/", "golang.org/x/sys/unix"},
		"the store keeps records and the hashes of their log; package verify decides, in its transactions"},
	{"receipts/doctrine", []string{"receipts"}, nil,
		"the eight rules judge a receipt as it is written down"},
	{"receipts/intoto", []string{"receipts"}, []string{"golang.org/x/mod", "github.com/secure-systems-lab/go-securesystemslib", "github.com/in-toto/attestation", "google.golang.org/protobuf"},
		"the export is a leaf: it reads receipts, and nothing reads it"},
	{"receipts/vectors", nil, nil,
		"conformance vectors are data that other implementations read too"},
	{"cmd/dialect", []string{"cmd/dialect/internal/..."}, nil,
		"main is os.Exit(cli.Main()) and no more"},
	{"cmd/dialect/dialect-mcp", []string{"cmd/dialect/internal/mcpmain"}, nil,
		"main is os.Exit(mcpmain.Main()) and no more"},
	{"cmd/dialect/internal", []string{"lang/...", "runtime/...", "receipts/...", "stdlib", "cmd/dialect/internal/..."}, []string{""},
		"the commands wire the stages together; nothing imports the commands"},
	{"cmd/dialect/internal/hook/decide", []string{"receipts/verify"}, nil,
		"whether an agent is held follows from facts alone: the rules look at nothing"},
	{"cmd/dialect/internal/hook/agents", nil, nil,
		"a protocol is bytes: what a client says and reads is known without a project"},
	{"cmd/dialect/internal/hook/shell", nil, []string{"mvdan.cc/sh/v3/syntax"},
		"a command line of an agent is parsed, and nothing of it is run"},
	{"cmd/dialect/internal/hook/live", nil, nil,
		"real clients are held through the program, as a user has it"},
	{"cmd/dialect/internal/hook/journal", []string{"lang/regular", "receipts", "runtime/blob"}, []string{"github.com/gofrs/flock"},
		"what hooks remember knows no agent and no rule"},
	{"cmd/dialect/internal/hook/install/jsonc", nil, []string{"github.com/tailscale/hujson"},
		"how JSON that people write is edited is known without a client"},
	{"cmd/dialect/internal/hook/install", []string{"cmd/dialect/internal/exit", "cmd/dialect/internal/hook/install/jsonc", "cmd/dialect/internal/hook/journal", "cmd/dialect/internal/outfile", "lang/diag", "lang/regular", "lang/tomltree", "runtime/blob", "runtime/place", "runtime/records", "runtime/workspace/git"}, []string{"github.com/tailscale/hujson"},
		"what is written into the configuration of a client is known without a project's rules"},
	{"cmd/dialect/internal/lsp/protocol", []string{"lang/diag/output"}, nil,
		"what travels between an editor and the server is data"},
	{"cmd/dialect/internal/scaffold", []string{"runtime/place", "lang", "lang/diag", "lang/regular", "lang/routing"}, nil,
		"what init writes is data before it is a file"},
	{"cmd/dialect/internal/scaffold/survey", []string{"cmd/dialect/internal/scaffold", "cmd/dialect/internal/scaffold/...", "runtime/archive", "runtime/glob", "runtime/place", "lang/diag", "lang/regular", "lang/routing", "lang/tomltree", "stdlib"}, nil,
		"what init proposes follows from a folder and PATH: it knows no flag and no run"},
	{"cmd/dialect/internal/scaffold/lockfiles", []string{"cmd/dialect/internal/scaffold", "cmd/dialect/internal/scaffold/settings", "lang/regular", "runtime/place"}, nil,
		"what a clean checkout needs follows from lock files: no tool is asked"},
	{"cmd/dialect/internal/scaffold/settings", []string{"lang/diag", "lang/tomltree"}, nil,
		"a configuration file is read from its bytes alone, and no tool is known"},
	{"cmd/dialect/internal/scaffold/habit", []string{"cmd/dialect/internal/scaffold/settings", "lang/regular"}, nil,
		"what a project runs by itself is read from its files, and nothing is run"},
	{"examples", nil, nil,
		"the examples are run as a user runs them, through the binary"},
}

// confined names imports that only some packages may use, whatever their layer
// says. The path of an import of this module is relative to its root.
var confined = []struct {
	Import  string // a prefix
	To      []string
	Because string
}{
	{"go.temporal.io/", nil,
		"Go runs the init of every linked package, and start-up is a feature of dialect: what speaks to Temporal is cmd/dialect/dialect-temporal, a module of its own"},
	{"github.com/tiktoken-go/", nil,
		"the tokenizer is 16 MB of tables: it lives in a module of its own"},
	{"github.com/sourcegraph/jsonrpc2", []string{"cmd/dialect/internal/lsp", "runtime/mcpclient", "runtime/mcpclient/broker"},
		"an editor and the helper of MCP servers are spoken to with it, and nobody else"},
	{"github.com/modelcontextprotocol/", []string{"runtime/mcpclient/broker", "cmd/dialect/internal/mcpserver", "cmd/dialect/internal/mcpmain"},
		"MCP is a way in and a way out; the stages between know nothing of it"},
	{"mvdan.cc/sh/", []string{"cmd/dialect/internal/hook/shell"},
		"only what an agent is about to run is a shell's text; nothing else of dialect knows a shell"},
	{"github.com/spf13/", []string{"cmd/dialect/internal/cli"},
		"flags are the business of the command line alone"},
	{"github.com/pelletier/go-toml/v2", []string{"lang/tomltree"},
		"its parser with positions is declared unstable: one package changes when it does"},
	{"modernc.org/", []string{"receipts/sqlite"},
		"the store sits behind the interface of package receipts"},
}

// forbidden names imports, those of the standard library among them, that a package may not use.
var forbidden = []struct {
	Dir     string
	Imports []string // prefixes, as in confined
	Because string
}{
	{"cmd/dialect/internal/cli", []string{"receipts/sqlite", "runtime/workspace", "crypto/", "os/exec"},
		"the command line is flags, wiring and exit statuses: it opens no store, reads no tree, hashes nothing and starts nothing"},
}

// topLevel is every directory that may stand at the root of the module, those
// that begin with a dot and the ignored bin apart.
var topLevel = []string{"cmd", "lang", "runtime", "receipts", "stdlib", "examples"}

// A name that says nothing collects everything.
var emptyNames = []string{"util", "utils", "common", "types", "errors", "models", "helpers", "misc"}

// Bounds, in lines; those of packages without tests.
const (
	maxLines   = 800  // of a file
	maxPackage = 1500 // of a package whose doc does not say why it has more
	maxWiring  = 4200 // of the command line: flags, help and a call of a room, for each of some 45 subcommands
	maxSlack   = 500  // by which a doc may name more lines than the package has
)

// largePattern matches the sentence of a package doc that says why the package has more than maxPackage lines, and how many it
// may have at most: the test fails when it grows beyond that number.
var largePattern = regexp.MustCompile(`up to ([1-9][0-9]?),([0-9]{3}) lines because`)

// mayHave returns how many lines the doc of a Go file says that its package may have; 0 if it does not say it.
func mayHave(src []byte) int {
	doc, _, _ := bytes.Cut(src, []byte("\npackage "))
	m := largePattern.FindSubmatch(bytes.ReplaceAll(doc, []byte("\n//"), nil))
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]) + string(m[2]))
	return n
}

func TestMayHave(t *testing.T) {
	for doc, want := range map[string]int{
		"// It is one package of up to\n// 2,100 lines because it is.\npackage a": 2100,
		"// It has up to 12,300 lines because it is.\npackage a":                  12300,
		"// It has up to 2,100 lines.\npackage a":                                 0,
		"// It is.\npackage a\n// up to 2,100 lines because it is":                0,
	} {
		if got := mayHave([]byte(doc)); got != want {
			t.Errorf("%q: %d lines, want %d", doc, got, want)
		}
	}
}

// TestModule keeps what has a module of its own out of that of dialect, also as what another module needs.
func TestModule(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{"go.temporal.io/", "github.com/tiktoken-go/"} {
			if bytes.Contains(text, []byte(out)) {
				t.Errorf("%s has %s, which is of a module of its own", name, out)
			}
		}
	}
}

func TestLayering(t *testing.T) {
	root := filepath.Clean("..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the root of the module is not where this test looks for it: %v", err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir() && !strings.HasPrefix(name, ".") && name != "bin" && !slices.Contains(topLevel, name):
			t.Errorf("%s: a directory at the top level: the top level is fixed, so that a reader knows where to look", name)
		case strings.HasSuffix(name, ".go"):
			t.Errorf("%s: a Go file at the top level: every package belongs to a layer", name)
		}
	}

	files := 0
	lines, may := make(map[string]int), make(map[string]int) // of packages
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == "." {
				return nil
			}
			base := d.Name()
			if strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || rel == "bin" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		files++
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, fault := range faults(rel, src) {
			t.Error(fault)
		}
		if dir := path.Dir(rel); !strings.HasSuffix(rel, "_test.go") {
			lines[dir] += bytes.Count(src, []byte{'\n'})
			may[dir] = max(may[dir], mayHave(src))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range lines {
		switch {
		case dir == "cmd/dialect/internal/cli":
			if n > maxWiring {
				t.Errorf("%s: %d lines, more than %d: it is wiring, and the logic of a subcommand has a room of its own", dir, n, maxWiring)
			}
		case n <= maxPackage && may[dir] > 0:
			t.Errorf("%s: its doc says why it has more than %d lines, and it has %d: delete that sentence", dir, maxPackage, n)
		case n > maxPackage && may[dir] == 0:
			t.Errorf("%s: %d lines, more than %d: split it by noun, or say in its doc \"It is one package of up to N lines because ...\", with the next hundred for N", dir, n, maxPackage)
		case n > max(maxPackage, may[dir]):
			t.Errorf("%s: %d lines, more than the %d that its doc names: split it by noun, or raise the number there if the reason still holds", dir, n, may[dir])
		case may[dir] > n+maxSlack:
			t.Errorf("%s: its doc names %d lines, and it has %d: lower the number to the next hundred", dir, may[dir], n)
		}
	}
	if files < 5 {
		t.Fatalf("only %d Go files were found: the walk is broken", files)
	}
}

// faults returns what is wrong with the Go file at rel, a slash-separated path
// from the root of the module.
func faults(rel string, src []byte) []string {
	var out []string
	bad := func(format string, args ...any) {
		out = append(out, rel+": "+fmt.Sprintf(format, args...))
	}
	test := strings.HasSuffix(rel, "_test.go")
	if n := bytes.Count(src, []byte{'\n'}); n > maxLines {
		bad("%d lines, more than %d: a file is read in one sitting; split it by noun", n, maxLines)
	}

	mode := parser.SkipObjectResolution
	if test {
		mode = parser.ImportsOnly
	}
	f, err := parser.ParseFile(token.NewFileSet(), rel, src, mode)
	if err != nil {
		bad("%v", err)
		return out
	}
	for _, call := range atInit(f) {
		bad("%s at package init: every start of dialect pays for it; put it into a sync.OnceValue", call)
	}
	dir := path.Dir(rel)
	for _, name := range []string{f.Name.Name, path.Base(dir)} {
		if slices.Contains(emptyNames, name) {
			bad("package %s: a name that says nothing collects everything; name it for what it holds", name)
			break
		}
	}

	l := layerOf(dir)
	if l == nil {
		bad("the package is in no layer: give it one in lang/layering_test.go")
		return out
	}
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			bad("import %s: %v", spec.Path.Value, err)
			continue
		}
		inner, ours := strings.CutPrefix(imp, module+"/")
		for _, no := range forbidden {
			if dir == no.Dir && !test && slices.ContainsFunc(no.Imports, func(p string) bool { return strings.HasPrefix(inner, p) }) {
				bad("imports %s: %s", inner, no.Because)
			}
		}
		if !ours && !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
			continue // the standard library
		}
		if test {
			// A test may look to its sides, say at a second implementation, but
			// the language can never be tested through what is built on it.
			if ours && strings.HasPrefix(dir+"/", "lang/") && !strings.HasPrefix(inner, "lang") && inner != "stdlib" {
				bad("a test below lang imports %s: the language stands without a runtime", inner)
			}
			continue
		}
		for _, c := range confined {
			if strings.HasPrefix(inner, c.Import) && !slices.ContainsFunc(c.To, func(to string) bool { return within(dir, to) }) {
				bad("imports %s: %s", inner, c.Because)
			}
		}
		allowed := false
		if ours {
			allowed = inner == dir || slices.ContainsFunc(l.Ours, func(p string) bool {
				if tree, ok := strings.CutSuffix(p, "/..."); ok {
					return within(inner, tree)
				}
				return inner == p
			})
		} else {
			allowed = slices.ContainsFunc(l.Theirs, func(p string) bool { return strings.HasPrefix(imp, p) })
		}
		if !allowed {
			bad("imports %s, and %s may not: %s", inner, l.Dir, l.Because)
		}
	}
	return out
}

// atInit returns the calls in f that compile or parse something when the package is initialised: those in
// the values of its variables and in its init functions, not in a function that is called later.
func atInit(f *ast.File) (calls []string) {
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if lit, ok := n.Fun.(*ast.FuncLit); ok { // called at once
				ast.Inspect(lit.Body, look)
			}
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && (pkg.Name == "regexp" && strings.Contains(sel.Sel.Name, "Compile") || pkg.Name == "template" && sel.Sel.Name == "Must") {
					calls = append(calls, pkg.Name+"."+sel.Sel.Name)
				}
			}
		}
		return true
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			ast.Inspect(d, look)
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				ast.Inspect(d, look)
			}
		}
	}
	return calls
}

// layerOf returns the layer of the package in dir, or nil.
func layerOf(dir string) *layer {
	var found []*layer
	for i := range layers {
		if within(dir, layers[i].Dir) {
			found = append(found, &layers[i])
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MaxFunc(found, func(a, b *layer) int { return cmp.Compare(len(a.Dir), len(b.Dir)) })
}

// within reports whether dir is tree or below it.
func within(dir, tree string) bool { return dir == tree || strings.HasPrefix(dir, tree+"/") }

// TestLayeringFaults shows that the rules can fail.
func TestLayeringFaults(t *testing.T) {
	file := func(pkg string, imports ...string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "package %s\n", pkg)
		for _, i := range imports {
			fmt.Fprintf(&b, "import _ %q\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		path string
		src  string
		want string // part of the only fault; empty for none
	}{
		{"lang/parse.go", file("lang", "strings", module+"/lang/diag", "github.com/alecthomas/participle/v2/lexer"), ""},
		{"lang/parse.go", file("lang", module+"/lang/plan"), "imports lang/plan, and lang may not"},
		{"lang/parse.go", file("lang", module+"/runtime/engine"), "imports runtime/engine, and lang may not"},
		{"lang/diag/text.go", file("diag", module+"/lang"), "lang/diag may not"},
		{"lang/plan/plan.go", file("plan", module+"/lang/routing"), "lang/plan may not"},
		{"lang/routing/load.go", file("routing", module+"/lang/resolve"), "lang/routing may not"},
		{"lang/tomltree/tomltree.go", file("tomltree", module+"/lang/diag", "github.com/pelletier/go-toml/v2/unstable"), ""},
		{"lang/tomltree/tomltree.go", file("tomltree", module+"/lang/routing"), "lang/tomltree may not"},
		{"lang/routing/load.go", file("routing", module+"/lang/routing/lint"), "lang/routing may not"},
		{"lang/routing/edit/edit.go", file("edit", module+"/lang/routing/lint"), "lang/routing/edit may not"},
		{"lang/resolve/words.go", file("resolve", module+"/lang/routing/lint"), "lang/resolve may not"},
		{"lang/template/template.go", file("template", module+"/lang/routing"), "lang/template may not"},
		{"cmd/dialect/internal/cli/init.go", file("cli", "github.com/pelletier/go-toml/v2"), "declared unstable"},
		{"lang/resolve/resolve.go", file("resolve", module+"/receipts"), "lang/resolve may not"},
		{"lang/resolve/resolve_test.go", file("resolve_test", module+"/runtime/engine"), "the language stands without a runtime"},
		{"lang/resolve/resolve_test.go", file("resolve_test", module+"/lang/diag", "golang.org/x/tools/txtar"), ""},
		{"receipts/log.go", file("receipts", "crypto/sha256", "golang.org/x/mod/sumdb/tlog"), ""},
		{"receipts/log.go", file("receipts", module+"/lang/plan"), "receipts may not"},
		{"receipts/log.go", file("receipts", "golang.org/x/sys/unix"), "receipts may not"},
		{"receipts/sqlite/store.go", file("sqlite", module+"/receipts", "modernc.org/sqlite"), ""},
		{"receipts/later/later.go", file("later", module+"/lang"), "receipts may not"},
		{"runtime/process/process.go", file("process", "golang.org/x/sys/unix"), ""},
		{"runtime/process/process.go", file("process", module+"/lang/plan"), "runtime/process may not"},
		{"runtime/engine/run.go", file("engine", module+"/lang/routing"), "others say what comes next"},
		{"runtime/engine/run.go", file("engine", module+"/cmd/dialect/internal/cli"), "runtime/engine may not"},
		{"stdlib/stdlib.go", file("stdlib", "embed"), ""},
		{"stdlib/stdlib.go", file("stdlib", module+"/lang/diag"), "embedded data and nothing else"},
		{"cmd/dialect/main.go", file("main", "os", module+"/cmd/dialect/internal/cli"), ""},
		{"cmd/dialect/main.go", file("main", module+"/runtime/engine"), "cmd/dialect may not"},
		{"cmd/dialect/internal/cli/run.go", file("cli", "github.com/spf13/cobra", module+"/lang/resolve"), ""},
		{"cmd/dialect/internal/cli/run.go", file("cli", module+"/receipts/sqlite"), "opens no store"},
		{"cmd/dialect/internal/cli/run.go", file("cli", module+"/runtime/workspace"), "reads no tree"},
		{"cmd/dialect/internal/cli/run.go", file("cli", "crypto/rand"), "hashes nothing"},
		{"cmd/dialect/internal/cli/run.go", file("cli", "os/exec"), "starts nothing"},
		{"cmd/dialect/internal/cli/run_test.go", file("cli", "os/exec"), ""},
		{"runtime/recording/recording.go", file("recording", module+"/receipts/sqlite"), ""},
		{"cmd/dialect/internal/lsp/lsp.go", file("lsp", "github.com/spf13/cobra"), "the command line alone"},
		{"cmd/dialect/internal/scaffold/scaffold.go", file("scaffold", module+"/lang/regular", module+"/lang/routing"), ""},
		{"cmd/dialect/internal/scaffold/scaffold.go", file("scaffold", module+"/runtime/engine"), "cmd/dialect/internal/scaffold may not"},
		{"cmd/dialect/internal/cli/run.go", file("cli", "go.temporal.io/sdk/client"), "start-up is a feature"},
		{"runtime/report/text.go", file("errors"), "package errors"},
		{"runtime/util/x.go", file("x"), "package util"},
		{"tools/x.go", file("tools"), "in no layer"},
		{"lang/long.go", file("lang") + strings.Repeat("\n", maxLines), "more than 800"},
		{"lang/long_test.go", file("lang") + strings.Repeat("\n", maxLines), "more than 800"},
		{"lang/broken.go", "package", "expected"},
		{"lang/x.go", file("lang", "regexp") + "var x = regexp.MustCompile(`a`)\n", "regexp.MustCompile at package init"},
		{"lang/x.go", file("lang", "regexp") + "var x = func() *regexp.Regexp { return regexp.MustCompile(`a`) }()\n", "regexp.MustCompile at package init"},
		{"lang/x.go", file("lang", "regexp") + "func init() { x, _ = regexp.Compile(`a`) }\n", "regexp.Compile at package init"},
		{"lang/x.go", file("lang", "regexp") + "var x = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`a`) })\nfunc f() { regexp.MustCompile(`a`) }\n", ""},
		{"lang/x_test.go", file("lang", "regexp") + "var x = regexp.MustCompile(`a`)\n", ""},
	} {
		got := faults(c.path, []byte(c.src))
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s:\n%s\nunexpected: %q", c.path, c.src, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s:\n%s\ngot %q, want one fault with %q", c.path, c.src, got, c.want)
		}
	}
}

// TestArchitectureIsNamed holds ARCHITECTURE.md to the tree: each package has a row, and each row and each file
// that it names is there.
func TestArchitectureIsNamed(t *testing.T) {
	const root = ".."
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	packages := make(map[string]bool)
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || name != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !d.IsDir():
			rel, _ := filepath.Rel(root, name)
			rel = filepath.ToSlash(rel)
			files = append(files, rel)
			if strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") && !strings.HasPrefix(rel, "examples/") && !strings.HasPrefix(rel, "bin/") {
				packages[path.Dir(rel)] = true
			}
		}
		return nil
	})
	if err != nil || len(packages) < 40 {
		t.Fatalf("%v, %d packages", err, len(packages))
	}
	delete(packages, "cmd/dialect")             // one line, which calls cli
	delete(packages, "cmd/dialect/dialect-mcp") // likewise, mcpmain
	rows := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if dir, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") {
			rows[dir] = true
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir))); err != nil {
				t.Errorf("a row is of %s, which is not there", dir)
			}
		}
	}
	for dir := range packages {
		if !rows[dir] {
			t.Errorf("%s has no row", dir)
		}
	}
	for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \n`,;:()|", r) }) {
		if word = strings.TrimSuffix(word, "."); strings.HasSuffix(word, ".go") &&
			!slices.ContainsFunc(files, func(f string) bool { return f == word || strings.HasSuffix(f, "/"+word) }) {
			t.Errorf("it names %s, which does not exist", word)
		}
	}
}
