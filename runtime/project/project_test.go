package project

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/workspace"
)

const matrix = `[commands.test_go]
verb = "test"
noun = "go"
tool = "go test {package}"
secrets = ["token"]
[commands.check_go]
verb = "check"
noun = "go"
tool = "go vet"
`

// folder makes files in a folder without links in its path, with a configuration of its own for the user.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// commit makes dir a repository with a commit of all that is there.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
}

func TestScripts(t *testing.T) {
	dir := folder(t, map[string]string{
		"b.dlct": "", "a/c.dlct": "", "a/x.txt": "", ".hidden/d.dlct": "", "node_modules/e.dlct": "", "none/x.txt": "",
		".own/f.dlct": "",
	})
	t.Chdir(dir)
	for name, to := range map[string]string{"linked.dlct": "b.dlct", "out.dlct": "/", "linked": "a"} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		names, want []string
		err         string
	}{
		{[]string{"."}, []string{"a/c.dlct", "b.dlct"}, ""},
		{[]string{"-", "b.dlct", "missing.dlct"}, []string{"-", "b.dlct", "missing.dlct"}, ""},
		{[]string{"b.dlct", "a"}, []string{"b.dlct", "a/c.dlct"}, ""},
		{[]string{"linked.dlct"}, []string{"linked.dlct"}, ""}, // it was named
		{[]string{".own"}, []string{".own/f.dlct"}, ""},        // it was named
		{[]string{"a", "none"}, nil, "there is no script below none"},
	} {
		got, err := Scripts(c.names)
		for i := range got {
			got[i] = filepath.ToSlash(got[i])
		}
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %q, %v", c.names, got, err)
		}
	}
}

// TestLoad binds a script, some of its lines, and one whose matrix cannot be read.
func TestLoad(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "broken/routing.toml": "[", "sub/x": ""})
	text := "Test with go ./x\nCheck with go\n"
	script := func(at string) *Script {
		return &Script{Name: "a.dlct", Path: filepath.Join(dir, at, "a.dlct"), Text: []byte(text)}
	}
	for _, c := range []struct {
		lines []int
		only  int
		want  int
	}{{nil, 0, 2}, {[]int{2}, 0, 1}, {nil, 1, 1}} {
		s := script("sub")
		s.Line = c.only
		p, err := Load(s, "")
		if err != nil {
			t.Fatal(err)
		}
		if p.Plan != nil {
			t.Error("it is resolved before its time")
		}
		p.Resolve(nil, c.lines)
		if p.Findings.Count(diag.Error) > 0 || len(p.Plan.Steps) != c.want || p.Plan.Matrix.Root != dir || p.Plan.Script.SHA256 != s.SHA256() {
			t.Errorf("%+v: %v, %+v", c, p.Findings, p.Plan)
		}
	}
	p, err := Load(script("broken"), "")
	if err != nil {
		t.Fatal(err)
	}
	p.Resolve(nil, nil)
	if p.Plan != nil || p.Findings.Count(diag.Error) != 1 {
		t.Errorf("%+v, %v", p.Plan, p.Findings)
	}
	if p, err = Load(script("broken"), filepath.Join(dir, "routing.toml")); err != nil || p.Matrix.Root != dir {
		t.Errorf("with a matrix that is named: %v", err)
	}
	alone := t.TempDir()
	if _, err := routing.Find(alone); err != nil {
		if _, err := Load(&Script{Path: filepath.Join(alone, "a.dlct")}, ""); !errors.Is(err, routing.ErrNotFound) {
			t.Errorf("without a matrix: %v", err)
		}
	}
}

// TestResolveAgain binds a program twice: the second time as if it were the first.
func TestResolveAgain(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix})
	text := "Test go package={package} token=hidden-0123456789\nCheck go\nCheck what\n"
	load := func() *Program {
		p, err := Load(&Script{Name: "a.dlct", Path: filepath.Join(dir, "a.dlct"), Text: []byte(text)}, "")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	again := load()
	again.Resolve(nil, nil)
	if again.Findings.Count(diag.Error) < 2 {
		t.Fatalf("%v", again.Findings)
	}
	for _, lines := range [][]int{{2}, nil, {1, 2}} {
		vars := map[string]string{"package": "./..."}
		once := load()
		once.Resolve(vars, lines)
		again.Resolve(vars, lines)
		if !reflect.DeepEqual(once.Findings, again.Findings) || !reflect.DeepEqual(once.Plan, again.Plan) || string(once.Sources["a.dlct"].Text) != string(again.Sources["a.dlct"].Text) {
			t.Errorf("lines %v:\n%v\n%v", lines, once.Findings, again.Findings)
		}
	}
}

// TestHideSecrets: values that are declared as secret are in no finding and in no text that findings are
// shown in, whose offsets stay.
func TestHideSecrets(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix})
	for _, line := range []string{
		"Test with go open-sesame\n", "Test with go ./x token=open-sesame\n", "Test with go token=\"open-sesame\"\n", "Tets with go token=open-sesame\n",
		"Test with go token: open-sesame x\n", "Test open-sesame with go in open-sesame\n",
	} {
		p, err := Load(&Script{Name: "a.dlct", Path: filepath.Join(dir, "a.dlct"), Text: []byte(line)}, "")
		if err != nil {
			t.Fatal(err)
		}
		p.Resolve(nil, nil)
		var b strings.Builder
		if err := diag.WriteText(&b, p.Findings, diag.TextOptions{Sources: func(name string) *diag.Source { return p.Sources[name] }}); err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Findings {
			for _, x := range f.Fixes {
				b.WriteString(x.Message)
				for _, e := range x.Edits {
					b.WriteString(e.New)
				}
			}
		}
		if strings.Contains(b.String(), "sesame") || strings.Contains(string(p.Sources["a.dlct"].Text), "sesame") || len(p.Sources["a.dlct"].Text) != len(line) {
			t.Errorf("%q:\n%s%s", line, b.String(), p.Sources["a.dlct"].Text)
		}
	}
	src := diag.NewSource("a.dlct", []byte("Check with go\n"))
	if _, got := HideSecrets(nil, src, nil); got != src {
		t.Error("without a matrix the script is another")
	}
}

// TestHideNamed: values beside names as secrets have are in nothing that is shown of a matrix with a fault.
func TestHideNamed(t *testing.T) {
	const secret = "Qx7-EFGH9912zzW"
	for text, seen := range map[string]string{
		`env = { API_TOKEN = "` + secret + `", N = 3 }`:           "N = 3",
		`env = { API_TOKEN = "` + secret + `"`:                    "",
		`env = { API_TOKEN = "` + secret:                          "",
		`env = { API_TOKEN = ` + secret + ` }`:                    "",
		`headers = { Authorization = "Bearer ` + secret + `" } x`: "",
		`headers = { X-Api-Key = '` + secret + `' } x`:            "",
		`{"env":{"API_TOKEN":"` + secret + `"},,}`:                "",
		"env = { API_TOKEN = \"\"\"\n" + secret + "\n\"\"\" } x":  "",
		"scan_secrets.tool = \"pytest -x --co\"\nx":               "pytest -x --co",
		`tool = "pytest --token=` + secret + ` --co --q" x`:       "--co --q",
		"# password = '''\ntool = \"pytest --co\"\nk = 1 x":       "",
		`secrets = ["alphabetical"] x`:                            "alphabetical",
		`max_tokens = 123456789`:                                  "123456789",
		`env = { API_TOKEN = Bearer ` + secret + ` }`:             "",
		`env = { API_TOKEN = ["` + secret + `"] }`:                "",
		`env = { API_TOKEN = { a = "` + secret + `" } }`:          "",
		`env = { API_TOKEN = "ab"` + secret + `" }`:               "",
		`env = { API_TOKEN = "ab",` + secret + `" }`:              "",
		`env = { API_TOKEN = 'ab'` + secret + `' }`:               "",
		`env = { API_TOKEN = ab,` + secret + ` }`:                 "",
		`env = { API_TOKEN == "` + secret + `" }`:                 "",
		`env = { API_TOKEN ` + secret + ` }`:                      "",
		`env = { "API_TOK\u0045N" = "` + secret + `", Y = }`:      "",
		`env.API_TOKEN = ` + secret:                               "",
		"env = { API_TOKEN = [\n\"a]\",\n\"" + secret + "\"] }":   "",
		`env = { API_TOKEN = """abc""" + "` + secret + `" }`:      "",
		`env = { API_TOKEN = true ` + secret + ` }`:               "",
		"env = { API_TOKEN = \"ab\",\n\"" + secret + "\" }":       "",
		"env = { API_TOKEN = \"ab\",\nX = 1\n} x":                 "X = 1",
		`env = { API_TOKEN = ""` + secret + `"", X = }`:           "",
	} {
		text = "[commands.x]\n" + text
		dir := folder(t, map[string]string{"routing.toml": text})
		p, err := Load(&Script{Name: "a.dlct", Path: filepath.Join(dir, "a.dlct"), Text: []byte("Test with x\n")}, "")
		if err != nil {
			t.Fatal(err)
		}
		p.Resolve(nil, nil)
		var b strings.Builder
		var shown string
		for name, src := range p.Sources {
			if filepath.Base(name) == "routing.toml" {
				shown = string(src.Text)
			}
		}
		if err := diag.WriteText(&b, p.Findings, diag.TextOptions{Sources: func(name string) *diag.Source { return p.Sources[name] }}); err != nil {
			t.Fatal(err)
		}
		if len(p.Findings) == 0 || strings.Contains(b.String()+shown, secret) || !strings.Contains(shown, seen) || len(shown) != len(text) {
			t.Errorf("%s:\n%s%s", text, b.String(), shown)
		}
	}
}

// TestNamedIsLinear: what stands beside a name may be followed by any number of empty lines.
func TestNamedIsLinear(t *testing.T) {
	for _, text := range []string{
		"token = abc" + strings.Repeat("\n", 1<<18) + "'y'", strings.Repeat("token = abc\n", 1<<16), "token = [" + strings.Repeat("\n", 1<<18), strings.Repeat("token = \"a\",\n\n", 1<<15),
		strings.Repeat("x --token=\"\"\"", 1<<15), strings.Repeat("token = \"\"\"", 1<<15), "token" + strings.Repeat(" ", 1<<18), strings.Repeat("token = 'a'\n'b'\n", 1<<14),
	} {
		named([]byte(text)) // a minute each where it is quadratic
	}
}

// TestReviewed: who reviews a difference sees all of it but the values of variables and headers that are secrets, whatever looks like one.
func TestReviewed(t *testing.T) {
	const secret = "Qx7-EFGH9912zzW"
	for _, c := range []struct {
		name, old, text string
		hidden          bool
	}{
		{"routing.toml", "a = 1\nenv = { API_TOKEN = \"" + secret + "\" }\nb = 1\n", "a = 1\nenv = { API_TOKEN = \"" + secret + "\" }\nb = 2\n", true},
		{"routing.toml", "[x.headers]\nAuthorization = 'Bearer " + secret + "'\n", "[x.headers]\nAuthorization = 'Bearer x" + secret + "'\n", true},
		{"routing.toml", "", "[x]\nenv.API_TOKEN = \"" + secret + "\"", true},
		{".mcp.json", `{"mcpServers":{"t":{"args":["a"],"env":{"N":1,"API_TOKEN":"` + secret + `"}}}}`, `{"mcpServers":{"t":{"args":["b"],"env":{"N":1,"API_TOKEN":"` + secret + `"}}}}`, true},
		{".mcp.json", "", "{\n\"a\":[{\"env\":{\n\"API_TOKEN\": \"" + secret + "\"}}]}\n", true},
		{"routing.toml", "", "# API_TOKEN = \"" + secret + "\"\n", false},
		{"routing.toml", "", "[vars]\napi_token = \"" + secret + "\"\n", false},
		{"routing.toml", "", "env = { A = \"token='\", PATH = \"" + secret + "\", B = \"'\" }\n# API_TOKEN = '" + secret + "'\n", false},
		{"routing.toml", "", "env = { API_TOKEN = \"" + secret + "\"\n", true},
		{"routing.toml", "env = { API_TOKEN = " + secret + " }\n", "env = { API_TOKEN = \"" + secret + "\" }\n", true},
		{"routing.toml", "", "env = { API_TOKEN = [\"" + secret + "\"] }\n", true},
		{".mcp.json", "", `{"mcpServers":{"t":{"Env":{"API_TOKEN":"` + secret + `"}}}}`, true},
		{".mcp.json", "", `{"mcpServers":{"t":{"HEADERS":{"API_TOKEN":["` + secret + `"]}}}}`, true},
		{".mcp.json", "", `{"mcpServers":{"t":{"env":{"API_TOKEN":{"a":["` + secret + `"]}}}}}`, true},
		{".mcp.json", "", `{"mcpServers":{"t":{"headers":{"Authorization": Bearer ` + secret + `}}}}`, true},
		{".mcp.json", "", `{"mcpServers":{"t":{"env":{"API_TOKEN":"ab"` + secret + `"}}}}`, true},
		{".mcp.json", "", "{\"mcpServers\":{\"t\":{\"env\":{\"API_TOKEN\":\n\"" + secret + "\" x}}}}", true},
		{".mcp.json", "", `{"a":{"args":["API_TOKEN","` + secret + `"],"token":"` + secret + `"}}`, false},
	} {
		before := diff.Diff("a", []byte(c.old), "b", []byte(c.text))
		got := string(Reviewed("present/"+c.name, []byte(c.old), []byte(c.text), before))
		if strings.Contains(got, secret) == c.hidden || len(got) != len(before) || strings.Contains(got, "***") != c.hidden {
			t.Errorf("%s", got)
		}
	}
}

// TestLoadMatrixOf reads the matrix that a commit has, whatever is here.
func TestLoadMatrixOf(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "sub/x": ""})
	commit(t, dir)
	sub := filepath.Join(dir, "sub")
	write(t, filepath.Join(dir, "routing.toml"), "[")
	write(t, filepath.Join(sub, "routing.toml"), matrix)
	c, m, findings, err := LoadMatrixOf(t.Context(), "HEAD", sub, "")
	if err != nil || c == nil || findings.Count(diag.Error) > 0 || m.Root != dir || IsAbsent(m) {
		t.Errorf("%v, %v", err, findings)
	}
	if _, m, _, err = LoadMatrixOf(t.Context(), "HEAD", dir, filepath.Join(sub, "routing.toml")); err != nil || !IsAbsent(m) {
		t.Errorf("one that the commit has not: %v", err)
	}
	if c, _, _, err = LoadMatrixOf(t.Context(), "nowhere", dir, ""); err == nil || c != nil {
		t.Errorf("of no commit: %v", err)
	}
}

// TestUnknownIn: a commit that cannot be read where a matrix could be may have one: what is above is not the nearest then, and none is not absent.
func TestUnknownIn(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "sub/x": ""})
	commit(t, dir)
	sub := filepath.Join(dir, "sub")
	if path, err := MatrixIn(t.Context(), "HEAD", sub); path != filepath.Join(dir, "routing.toml") || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	if path, err := MatrixIn(t.Context(), "nowhere", sub); path != "" || !errors.Is(err, workspace.ErrNoCommit) {
		t.Errorf("of no commit: %q, %v", path, err)
	}
	lose := func(rev string) {
		t.Helper()
		out, err := exec.Command("git", "-C", dir, "rev-parse", rev).Output()
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSpace(string(out))
		if err := os.Remove(filepath.Join(dir, ".git", "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	for _, rev := range []string{"HEAD:sub", "HEAD^{tree}", "HEAD"} {
		lose(rev)
		path, err := MatrixIn(t.Context(), "HEAD", sub)
		lost, unknown := Lost(t.Context(), sub, routing.ErrNotFound)
		_, m, _, of := LoadMatrixOf(t.Context(), "HEAD", sub, "")
		if path != "" || err == nil || lost != "" || unknown == nil || of == nil {
			t.Errorf("without %s: %q, %v; lost %q, %v; loaded %+v", rev, path, err, lost, unknown, m)
		}
	}
}

// TestLoadMatrixAbove: no commit has a matrix above its repository, unless somebody names it.
func TestLoadMatrixAbove(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "sub/x": ""})
	sub := filepath.Join(dir, "sub")
	commit(t, sub)
	if c, m, _, err := LoadMatrixOf(t.Context(), "HEAD", sub, ""); c == nil || m != nil || !errors.Is(err, routing.ErrNotFound) {
		t.Errorf("found: %v, %+v, %v", c, m, err)
	}
	if _, m, findings, err := LoadMatrixOf(t.Context(), "HEAD", sub, filepath.Join(dir, "routing.toml")); err != nil || findings.Count(diag.Error) > 0 || m.Path != filepath.Join(dir, "routing.toml") {
		t.Errorf("named: %v, %v", err, findings)
	}
}

// TestNearer: what looks like a repository between a folder and its matrix, and is part of the one around it, has no matrix that is gone.
func TestNearer(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "a/x": "", "b/x": ""})
	commit(t, dir)
	commit(t, filepath.Join(dir, "b"))
	if err := os.Mkdir(filepath.Join(dir, "a", ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"", "a", "b"} {
		at = filepath.Join(dir, at)
		m, _, err := LoadMatrix(at, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, state, err := Trusted(t.Context(), nil, m, "", at); err != nil || state.Complaint() != "" {
			t.Errorf("%s: %v, %q", at, err, state.Complaint())
		}
	}
	write(t, filepath.Join(dir, "b", "routing.toml"), matrix)
	commit(t, filepath.Join(dir, "b"))
	if err := os.Remove(filepath.Join(dir, "b", "routing.toml")); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "b")
	m, _, err := LoadMatrix(at, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, state, err := Trusted(t.Context(), nil, m, "", at); err != nil || !strings.Contains(state.Elsewhere, "is gone: HEAD has it") {
		t.Errorf("%v, %q", err, state.Elsewhere)
	}
}

// TestLost: HEAD has a matrix that is gone here.
func TestLost(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "sub/x": ""})
	commit(t, dir)
	path := filepath.Join(dir, "routing.toml")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	_, _, err := FindMatrix(sub, "")
	if err == nil {
		t.Skip("there is a matrix above the temporary files")
	}
	if got, unknown := Lost(t.Context(), sub, err); got != path || unknown != nil {
		t.Errorf("%q, %v", got, unknown)
	}
	if _, _, err := LoadMatrix(sub, ""); !errors.Is(err, routing.ErrNotFound) || !strings.HasSuffix(err.Error(), "routing.toml is gone: HEAD has it") {
		t.Errorf("loaded: %v", err)
	}
	if got, unknown := Lost(t.Context(), sub, os.ErrPermission); got != "" || unknown != nil {
		t.Errorf("of another error: %q, %v", got, unknown)
	}
	if got, commit := Former(t.Context(), sub); got != "" || commit != "" {
		t.Errorf("before the first commit: %q of %q", got, commit)
	}
	if got, unknown := Lost(t.Context(), t.TempDir(), err); got != "" || unknown != nil {
		t.Errorf("without a repository: %q, %v", got, unknown)
	}
}

// TestTrusted compares a matrix with HEAD, as it was and changed, and where a nearer one is gone.
func TestTrusted(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "sub/routing.toml": matrix})
	load := func(at string) *routing.Matrix {
		m, _, err := LoadMatrix(filepath.Join(dir, at), "")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if _, b, state, err := Trusted(t.Context(), nil, load(""), "", dir); err != nil || b.Kind != policy.None || state.Complaint() != "" {
		t.Errorf("without a baseline: %v, %+v", err, state)
	}
	commit(t, dir)
	m := load("")
	if of, _, state, err := Trusted(t.Context(), nil, m, "", dir); err != nil || of != m || state.Complaint() != "" || state.Kind != policy.Head {
		t.Errorf("as it was: %v, %+v", err, state)
	}
	write(t, filepath.Join(dir, "routing.toml"), strings.Replace(matrix, "go vet", "true", 1))
	of, _, state, err := Trusted(t.Context(), nil, load(""), "", dir)
	if err != nil || len(state.Changes) != 1 || state.Complaint() == "" || of.ByName("check_go").Tool() != "go vet" {
		t.Errorf("changed: %v, %+v", err, state)
	}
	if err := os.Remove(filepath.Join(dir, "sub", "routing.toml")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "routing.toml"), matrix)
	if _, _, state, err := Trusted(t.Context(), nil, load(""), "", filepath.Join(dir, "sub")); err != nil || !strings.Contains(state.Elsewhere, "is gone") {
		t.Errorf("a nearer one is gone: %v, %+v", err, state)
	}
}

// TestTrustedNearer puts a new matrix below the one that HEAD has for the folder.
func TestTrustedNearer(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix, "sub/x": "", "sub/deep/x": ""})
	sub := filepath.Join(dir, "sub")
	commit(t, dir)
	write(t, filepath.Join(sub, "routing.toml"), strings.Replace(matrix, "go vet", "true", 1))
	for _, at := range []string{sub, filepath.Join(sub, "deep")} {
		m, _, err := LoadMatrix(at, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, state, err := Trusted(t.Context(), nil, m, "", at); err != nil || !state.New || state.Name() != receipts.PolicyChanged || !strings.Contains(state.Complaint(), "is new") {
			t.Errorf("%s: %v, %q, %+v", at, err, state.Complaint(), state)
		}
		if _, _, state, err := Trusted(t.Context(), nil, m, "", ""); err != nil || state.Complaint() != "" {
			t.Errorf("%s, named: %v, %q", at, err, state.Complaint())
		}
	}
	commit(t, dir)
	m, _, err := LoadMatrix(sub, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, state, err := Trusted(t.Context(), nil, m, "", sub); err != nil || state.Complaint() != "" {
		t.Errorf("committed: %v, %q", err, state.Complaint())
	}
	if err := os.Remove(filepath.Join(dir, "routing.toml")); err != nil {
		t.Fatal(err)
	}
	sh := filepath.Join(dir, "sub", "deep")
	write(t, filepath.Join(sh, "routing.toml"), matrix)
	if m, _, err = LoadMatrix(sh, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, state, err := Trusted(t.Context(), nil, m, "", sh); err != nil || !strings.Contains(state.Complaint(), "is new") {
		t.Errorf("two of HEAD's: %v, %q", err, state.Complaint())
	}
}

func TestRulesAround(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": matrix + "pins = [\"Makefile\"]\n", "Makefile": "", "q.dlct": "", "sub/r.dlct": "", "sub/x": ""})
	got := RulesAround(filepath.Join(dir, "sub"))
	for _, name := range []string{"routing.toml", "Makefile", "q.dlct", "sub/r.dlct"} {
		if !slices.ContainsFunc(got, func(path string) bool { return place.Same(path, filepath.Join(dir, filepath.FromSlash(name))) }) {
			t.Errorf("%s is missing in %q", name, got)
		}
	}
	if slices.Contains(got, filepath.Join(dir, "sub", "x")) {
		t.Errorf("%q", got)
	}
}

func TestIsProject(t *testing.T) {
	dir := folder(t, map[string]string{"sub/x": ""})
	sub := filepath.Join(dir, "sub")
	if IsProject(sub) {
		t.Skip("there is a project above the temporary files")
	}
	write(t, filepath.Join(dir, "routing.toml"), matrix)
	if !IsProject(sub) {
		t.Error("below a matrix")
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "routing.toml")), os.Mkdir(filepath.Join(dir, ".git"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if !IsProject(sub) {
		t.Error("in a repository")
	}
}

// TestRoot: a matrix of another name than routing.toml does not make its folder the root of the project.
func TestRoot(t *testing.T) {
	base := t.TempDir()
	for name, text := range map[string]string{
		"p/routing.toml": "", "p/ci/strict.toml": "", "p/sub/a": "", "p/sub/routing.toml.d/x": "", "q/routing.toml": "",
		"repo/tools/x.toml": "", "repo/deep/a": "", "repo/deep/.git/none": "", "none/a": "", "shared.toml": "",
	} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "--quiet", filepath.Join(base, "repo")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct{ dir, matrix, want string }{
		{"p/sub", "", "p"},
		{"p/sub", "p/ci/strict.toml", "p"},
		{"p/ci", "p/ci/strict.toml", "p"},
		{"p", "shared.toml", "p"},
		{"p", "q/routing.toml", "q"}, // which makes q a project
		{"repo/deep", "repo/tools/x.toml", "repo"},
		{"repo/deep", "shared.toml", "repo"},
		{"none", "shared.toml", ""},
	} {
		name := c.matrix
		if name != "" {
			name = filepath.Join(base, filepath.FromSlash(name))
		}
		m, _, err := LoadMatrix(filepath.Join(base, filepath.FromSlash(c.dir)), name)
		if err != nil || m.Root != filepath.Join(base, filepath.FromSlash(c.want)) {
			t.Errorf("from %s with %s: %v, %v, want %s", c.dir, c.matrix, m.Root, err, c.want)
		}
	}
}

// A directory that goes between being listed and being read has no scripts. The others are found.
func TestScriptsWhileADirectoryGoes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.dlct"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for comes := filepath.Join(dir, "comes"); ; {
			select {
			case <-stop:
				return
			default:
				_ = os.Mkdir(comes, 0o700)
				_ = os.Remove(comes)
			}
		}
	}()
	for range 1000 {
		if list, err := Scripts([]string{dir}); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
			break
		}
	}
	close(stop)
	<-done
}

// TestForeign: of a file that is not one of the repository neither a difference nor a diagnostic shows anything.
func TestForeign(t *testing.T) {
	const secret = "visible-4711"
	out := folder(t, map[string]string{"x": secret + "\n", "x.toml": "[commands.x]\n" + secret + "\n"})
	for name, c := range map[string]struct {
		pin, script string
		shown       bool
	}{
		"a file of it":              {"x", "echo " + secret + " >x", true},
		"a file of a folder of it":  {"d/x", "mkdir d && echo " + secret + " >d/x", true},
		"a link within it":          {"l", "echo " + secret + " >x && ln -s x l", true},
		"outside":                   {out + "/x", "true", false},
		"outside, from here":        {"../" + filepath.Base(out) + "b/x", "mkdir -p ../" + filepath.Base(out) + "b && cp " + out + "/x ../" + filepath.Base(out) + "b", false},
		"a link out of it":          {"l", "ln -s " + out + "/x l", false},
		"a folder that is a link":   {"l/x", "ln -s " + out + " l", false},
		"ignored":                   {"x", "echo x >.gitignore && git add .gitignore && echo " + secret + " >x", false},
		"a link to what is ignored": {"l", "echo x >.gitignore && git add .gitignore && echo " + secret + " >x && ln -s x l", false},
		"ignored, and tracked":      {"x", "echo x >.gitignore && echo " + secret + " >x && git add -f x", true},
		"git's own":                 {".git/x", "echo " + secret + " >.git/x", false},
		"a link to git's own":       {"l", "echo " + secret + " >.git/x && ln -s .git/x l", false},
		"the environment":           {"/proc/self/environ", "true", false},
		"a link to the environment": {"l", "ln -s /proc/self/environ l", false},
	} {
		t.Setenv("ANY_NAME", secret)
		if runtime.GOOS != "linux" && strings.Contains(c.script+c.pin, "/proc") {
			continue
		}
		dir := folder(t, map[string]string{"routing.toml": "[commands.x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"test\"\n"})
		run := func(script string) {
			cmd := exec.Command("sh", "-ec", script)
			cmd.Dir = dir
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", name, err, text)
			}
		}
		run("git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm x")
		run(c.script)
		run(`echo 'pins = ["` + c.pin + `"]' >>routing.toml`)
		m, _, err := LoadMatrix(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		_, _, state, err := Trusted(t.Context(), nil, m, "", "")
		if err != nil || len(state.Changes) != 2 {
			t.Fatalf("%s: %+v, %v", name, state, err)
		}
		for _, c2 := range state.Changes {
			if c2.Path == "routing.toml" && c2.Foreign || c2.Path != "routing.toml" && c2.Foreign == c.shown {
				t.Errorf("%s: %s: foreign %v", name, c2.Path, c2.Foreign)
			}
		}
	}
	for _, extends := range []string{out + "/x.toml", "l.toml"} {
		dir := folder(t, map[string]string{"routing.toml": "extends = [\"" + extends + "\"]\n"})
		if err := os.Symlink(out+"/x.toml", filepath.Join(dir, "l.toml")); err != nil {
			t.Fatal(err)
		}
		p, err := Load(&Script{Name: "a.dlct", Path: filepath.Join(dir, "a.dlct"), Text: []byte("Test with x\n")}, "")
		if err != nil || p.Findings.Count(diag.Error) == 0 {
			t.Fatal(p, err)
		}
		p.Resolve(nil, nil)
		said := fmt.Sprint(p.Findings)
		for _, src := range p.Sources {
			said += string(src.Text)
		}
		if strings.Contains(said, secret) {
			t.Errorf("%s: %s", extends, said)
		}
	}
}

// TestForeignFilters: to know whether a file that changed is one of the repository no filter of the project is started.
func TestForeignFilters(t *testing.T) {
	dir := folder(t, map[string]string{"routing.toml": "[commands.x]\nverb = \"test\"\nnoun = \"x\"\ntool = \"test\"\npins = [\"x\"]\n"})
	mark := filepath.Join(t.TempDir(), "mark")
	cmd := exec.Command("sh", "-ec", "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm x && echo '* filter=f' >.gitattributes && git config filter.f.clean 'touch "+mark+"; cat' && echo x >x")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	m, _, err := LoadMatrix(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, state, err := Trusted(t.Context(), nil, m, "", ""); err != nil || len(state.Changes) != 1 || state.Changes[0].Foreign {
		t.Fatalf("%+v, %v", state, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a filter of the project ran")
	}
}

// TestStranger: a matrix above that belongs to another user is named, and not used.
func TestStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file away")
	}
	shared := t.TempDir()
	dir, matrix := filepath.Join(shared, "own"), filepath.Join(shared, routing.FileName)
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(matrix, nil, 0o644), os.Chown(matrix, 12345, -1)); err != nil {
		t.Fatal(err)
	}
	if path, _, err := FindMatrix(dir, ""); !errors.Is(err, routing.ErrNotFound) || !strings.Contains(err.Error(), "belongs to the user 12345") {
		t.Errorf("%s, %v", path, err)
	}
	if path, _, err := FindMatrix(dir, matrix); path != matrix || err != nil {
		t.Errorf("named: %s, %v", path, err)
	}
	if _, err := read(dir, matrix, "m")(matrix); err == nil || !strings.Contains(err.Error(), "belongs to the user 12345") { // as where it came after the look
		t.Errorf("what is loaded: %v", err)
	}
	own, link := filepath.Join(t.TempDir(), "own.toml"), filepath.Join(shared, "kept")
	for _, change := range []func() error{
		func() error { return os.Rename(matrix, link) },
		func() error { return os.WriteFile(own, nil, 0o644) },
		func() error { return os.Symlink(own, matrix) },
		func() error { return os.Lchown(matrix, 12345, -1) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	if path, _, err := FindMatrix(dir, ""); err == nil {
		t.Errorf("by a link of the stranger's: %s", path)
	}
	if err := errors.Join(os.Lchown(matrix, 0, -1), os.Chown(shared, 12345, -1)); err != nil {
		t.Fatal(err)
	}
	if path, _, err := FindMatrix(dir, ""); err == nil {
		t.Errorf("in a folder of the stranger's: %s", path)
	}
	if err := os.Rename(link, matrix); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 12345, -1); err != nil { // as where root looks at the folder of an agent
		t.Fatal(err)
	}
	if path, _, err := FindMatrix(dir, ""); path != matrix || err != nil {
		t.Errorf("of the folder's own user: %s, %v", path, err)
	}
}
