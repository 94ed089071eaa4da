package project

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
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
	if got := Lost(t.Context(), sub, err); got != path {
		t.Errorf("%q", got)
	}
	if got := Lost(t.Context(), sub, os.ErrPermission); got != "" {
		t.Errorf("of another error: %q", got)
	}
	if got := Lost(t.Context(), t.TempDir(), err); got != "" {
		t.Errorf("without a repository: %q", got)
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
		"repo/.git/HEAD": "", "repo/tools/x.toml": "", "repo/deep/a": "", "none/a": "", "shared.toml": "",
	} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
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
