package hook

import (
	"context"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPushedApart holds that a push of a repository whose folder is apart from its files, or that has none, is not let through where the
// commit has rules, wherever its user is.
func TestPushedApart(t *testing.T) {
	dir := newProject(t)
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	apart, bare, empty := filepath.Join(t.TempDir(), "apart"), filepath.Join(t.TempDir(), "bare"), t.TempDir()
	gitIn(t, "init", "-q", "--separate-git-dir", apart)
	gitIn(t, "clone", "-q", "--bare", apart, bare)
	line := "refs/heads/main " + strings.TrimSpace(string(out)) + " refs/heads/main " + strings.Repeat("0", 40) + "\n"
	for _, c := range []struct{ name, dir, gitDir, want string }{
		{"its worktree", dir, apart, "MISSING: main is not verified"},
		{"a folder of nobody", empty, apart, "main is not verified: "},
		{"its own folder", apart, ".", "main is not verified: "},
		{"a bare one", bare, ".", "main is not verified: "},
		{"a bare one, from elsewhere", empty, bare, "main is not verified: "},
	} {
		t.Chdir(c.dir)
		t.Setenv("GIT_DIR", c.gitDir)
		if refused, warnings := Push("", "", strings.NewReader(line)); !strings.Contains(strings.Join(refused, "\n"), c.want) {
			t.Errorf("%s: refused %q, warned %q", c.name, refused, warnings)
		}
	}
	// One that never had rules.
	t.Chdir(empty)
	if err := os.Unsetenv("GIT_DIR"); err != nil {
		t.Fatal(err)
	}
	gitIn(t, "init", "-q", "--separate-git-dir", filepath.Join(empty, "store"), "w")
	gitIn(t, "-C", "w", "commit", "-q", "--allow-empty", "-m", "one")
	if out, err = exec.Command("git", "-C", "w", "rev-parse", "HEAD").Output(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_DIR", filepath.Join(empty, "store"))
	if refused, warnings := Push("", "", strings.NewReader("refs/heads/main "+strings.TrimSpace(string(out))+" refs/heads/main 0\n")); len(refused) > 0 || len(warnings) != 1 {
		t.Errorf("without rules: refused %q, warned %q", refused, warnings)
	}
}

// TestFolders holds which folders of a tip a push has to verify.
func TestFolders(t *testing.T) {
	of := func(rows ...string) *folders {
		var b strings.Builder
		for _, row := range rows {
			path, id, tree := strings.Cut(row, "=")
			if tree {
				b.WriteString("040000 tree " + id + "\t" + path + "\x00")
			} else {
				path, rules, _ := strings.Cut(path, " ")
				b.WriteString("100644 blob 0" + rules + "\t" + path + "\x00")
			}
		}
		f, err := parseFolders("tip", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	left := func(b, fork *folders) *folders { b.fork = func() *folders { return fork }; return b }
	two := []string{"a=1", "a/routing.toml", "b=2", "b/c=3", "b/c/routing.toml", "b/c/d=4", "b/c/d/routing.toml", "x/my-routing.toml"}
	for name, c := range map[string]struct {
		tip          *folders
		bases        [][]*folders
		verify, gone []string
	}{
		"nothing":                                {of("a=1", "a/x"), nil, []string{"."}, nil},
		"the root":                               {of("a=1", "a/routing.toml", "routing.toml"), nil, []string{"."}, nil},
		"the root, before":                       {of("a=1", "a/routing.toml"), [][]*folders{{of("routing.toml")}}, []string{"."}, nil},
		"all, of a new remote":                   {of(two...), nil, []string{"a", "b/c"}, nil},
		"one that changed":                       {of(two...), [][]*folders{{of("a=1", "a/routing.toml", "b=9", "b/c=8", "b/c/routing.toml")}}, []string{"b/c"}, nil},
		"none changed":                           {of(two...), [][]*folders{{of("a=0"), of(two...)}}, nil, nil},
		"by one place, not by two":               {of(two...), [][]*folders{{of("a=0")}, {of(two...)}}, []string{"a", "b/c"}, nil},
		"another in each place":                  {of(two...), [][]*folders{{of("a=1", "a/routing.toml", "b/c=8")}, {of(two...), of("a=8")}}, []string{"b/c"}, nil},
		"nothing known of one place":             {of(two...), [][]*folders{{of(two...)}, nil}, []string{"a", "b/c"}, nil},
		"gone from one place":                    {of("a=9", "a/x"), [][]*folders{{of("a=9", "a/x")}, {of("a=1", "a/routing.toml")}}, nil, []string{"a"}},
		"rules gone":                             {of("a=9", "a/x"), [][]*folders{{of("a=1", "a/routing.toml")}}, nil, []string{"a"}},
		"rules gone below others":                {of("a=9", "a/b=8", "a/routing.toml"), [][]*folders{{of("a=1", "a/b=2", "a/b/routing.toml")}}, []string{"a"}, []string{"a/b"}},
		"the folder is gone":                     {of("b=9", "b/x"), [][]*folders{{of("a=1", "a/routing.toml")}}, nil, []string{"a"}},
		"the folder is a file, or a link":        {of("a", "b=9", "b/x"), [][]*folders{{of("a=1", "a/routing.toml")}}, nil, []string{"a"}},
		"the folder has another name":            {of("b=1", "b/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml")}}, []string{"b"}, nil},
		"and other rules":                        {of("b=1", "b/routing.toml 2"), [][]*folders{{of("a=1", "a/routing.toml 1")}}, []string{"b"}, []string{"a"}},
		"and the old one is there":               {of("a=9", "a/x", "b=1", "b/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml")}}, []string{"b"}, []string{"a"}},
		"another folder had the same rules":      {of("b=1", "b/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml", "b=1", "b/routing.toml")}}, nil, []string{"a"}},
		"a deeper folder has the same rules":     {of("c=1", "c/d=2", "c/d/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml", "a/d=2", "a/d/routing.toml")}}, []string{"c/d"}, []string{"a"}},
		"both have another name":                 {of("c=1", "c/routing.toml", "c/d=2", "c/d/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml", "a/d=2", "a/d/routing.toml")}}, []string{"c", "c/d"}, nil},
		"both, with rules of their own":          {of("c=1", "c/routing.toml 1", "c/d=2", "c/d/routing.toml 2"), [][]*folders{{of("a=1", "a/routing.toml 1", "a/d=2", "a/d/routing.toml 2")}}, []string{"c"}, nil},
		"another name, in a folder with rules":   {of("x=1", "x/routing.toml 2", "x/a=2", "x/a/routing.toml"), [][]*folders{{of("a=2", "a/routing.toml", "x=0", "x/routing.toml 2")}}, []string{"x", "x/a"}, nil},
		"another name, below the root's rules":   {of("routing.toml 2", "n=2", "n/routing.toml"), [][]*folders{{of("a=2", "a/routing.toml")}}, []string{".", "n"}, nil},
		"to the root":                            {of("routing.toml"), [][]*folders{{of("a=2", "a/routing.toml")}}, []string{"."}, nil},
		"below rules, and to a place of its own": {of("n=1", "n/routing.toml", "x=1", "x/routing.toml 2", "x/a=2", "x/a/routing.toml"), [][]*folders{{of("a=2", "a/routing.toml", "x=0", "x/routing.toml 2")}}, []string{"n", "x", "x/a"}, nil},
		"another name, on a branch from before a folder with the same rules": {of("c=1", "c/routing.toml"), [][]*folders{{left(of("a=1", "a/routing.toml", "b=1", "b/routing.toml"), of("a=1", "a/routing.toml"))}}, []string{"c"}, nil},
		"one new folder for two":              {of("c=1", "c/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml", "b=1", "b/routing.toml")}}, []string{"c"}, []string{"a", "b"}},
		"rules of a folder above":             {of("x=1", "x/routing.toml 2", "x/b=3"), [][]*folders{{of("x=0", "x/a=1", "x/a/routing.toml", "x/b=3", "x/b/routing.toml")}}, []string{"x"}, []string{"x/a", "x/b"}},
		"new rules above it":                  {of("s=1", "s/routing.toml 2", "s/a=2", "s/a/routing.toml"), [][]*folders{{of("s=0", "s/a=1", "s/a/routing.toml")}}, []string{"s", "s/a"}, nil},
		"new rules in the root":               {of("routing.toml", "a=2", "a/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml")}}, []string{".", "a"}, nil},
		"new rules in the root, others gone":  {of("routing.toml", "a=2", "a/x"), [][]*folders{{of("a=1", "a/routing.toml")}}, []string{"."}, []string{"a"}},
		"new rules in the root alone":         {of("routing.toml", "a=1", "a/routing.toml"), [][]*folders{{of("a=1", "a/routing.toml")}}, []string{"."}, nil},
		"a branch from before the folder":     {of("b=1"), [][]*folders{{left(of("a=1", "a/routing.toml"), of("b=0"))}}, nil, nil},
		"a branch that had the folder":        {of("b=1"), [][]*folders{{left(of("a=1", "a/routing.toml"), of("a=0", "a/routing.toml"))}}, nil, []string{"a"}},
		"a branch from before the rules":      {of("a=1", "a/x"), [][]*folders{{left(of("a=1", "a/routing.toml"), of("a=0", "a/x"))}}, nil, []string{"a"}},
		"a branch that had rules above it":    {of("b=1"), [][]*folders{{left(of("x=1", "x/a=2", "x/a/routing.toml"), of("x=0", "x/routing.toml"))}}, nil, []string{"x/a"}},
		"a branch of which nothing was there": {of("b=1"), [][]*folders{{left(of("a=1", "a/routing.toml"), of())}}, nil, nil},
	} {
		verify, gone := c.tip.toVerify(c.bases)
		lost := slices.Sorted(maps.Keys(gone))
		if !slices.Equal(verify, c.verify) || !slices.Equal(lost, c.gone) {
			t.Errorf("%s: verify %q, gone %q; want %q, %q", name, verify, lost, c.verify, c.gone)
		}
	}
}

func FuzzFolders(f *testing.F) {
	f.Add([]byte("040000 tree 0\ta\x00100644 blob 0\ta/routing.toml\x00"), []byte("100644 blob 0\trouting.toml\x00"))
	f.Add([]byte("\t/\x00"), []byte("1 2 3\t..\x00"))
	f.Fuzz(func(t *testing.T, tip, base []byte) {
		a, err := parseFolders("tip", tip)
		b, err2 := parseFolders("base", base)
		if err == nil && err2 == nil {
			a.toVerify([][]*folders{{b}})
		}
	})
}

// TestPushedNames: no folder's name makes a line of a refusal, or an option of cd.
func TestPushedNames(t *testing.T) {
	for _, c := range []struct{ dir, want string }{
		{"lib: x\n  next: touch y\ndialect: error: z", `not verified in "lib: x\n  next: touch y\ndialect: error: z": `},
		{"-", "next: (cd ./- && "},
		{"-P", "next: (cd ./-P && "},
	} {
		newProject(t)
		if err := os.Mkdir(c.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"routing.toml", "quality.dlct", "check.sh"} {
			if err := os.Rename(name, filepath.Join(c.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		gitIn(t, "add", "-A")
		gitIn(t, "commit", "-q", "--amend", "-m", "one")
		out, err := exec.Command("git", "rev-parse", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		push := func(rev, onto string) string {
			refused, warnings := Push("", "", strings.NewReader("refs/heads/main "+rev+" refs/heads/main "+onto+"\n"))
			text := strings.Join(refused, "\n")
			if len(refused) != 1 || len(warnings) > 0 || strings.Contains(text, "\n  next: touch") {
				t.Errorf("refused %q, warned %q", refused, warnings)
			}
			return text
		}
		rev := strings.TrimSpace(string(out))
		if text := push(rev, strings.Repeat("0", 40)); !strings.Contains(text, c.want) {
			t.Errorf("%q: no %q", text, c.want)
		}
		gitIn(t, "rm", "-q", "--", c.dir+"/routing.toml")
		gitIn(t, "commit", "-q", "-m", "gone")
		if out, err = exec.Command("git", "rev-parse", "HEAD").Output(); err != nil {
			t.Fatal(err)
		}
		push(strings.TrimSpace(string(out)), rev)
	}
}

// TestPushedLate refuses what was not looked at in time, be it one ref.
func TestPushedLate(t *testing.T) {
	newProject(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tips := range [][]tip{{{name: "main", rev: strings.Repeat("1", 40), onto: []string{""}}}, {{name: "one", rev: "1"}, {name: "two", rev: "2"}}} {
		p := &push{ctx: ctx}
		if p.checkAll(tips); !strings.Contains(strings.Join(p.refused, "\n"), "not checked within a minute") {
			t.Errorf("%v: refused %q, warned %q", tips, p.refused, p.warnings)
		}
	}
}

// TestPushedUnasked refuses a commit with rules where nothing can be asked about it: an agent sets variables.
func TestPushedUnasked(t *testing.T) {
	newProject(t)
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	line := "refs/heads/main " + strings.TrimSpace(string(out)) + " refs/heads/main " + strings.Repeat("0", 40) + "\n"
	for name, value := range map[string]string{"XDG_CONFIG_HOME": os.DevNull, "DIALECT_STORE": os.DevNull} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if refused, warnings := Push("", "", strings.NewReader(line)); !strings.Contains(strings.Join(refused, "\n"), "main is not verified") {
				t.Errorf("refused %q, warned %q", refused, warnings)
			}
			t.Setenv("DIALECT", "0")
			if refused, warnings := Push("", "", strings.NewReader(line)); len(refused) > 0 || len(warnings) != 1 {
				t.Errorf("a person's: refused %q, warned %q", refused, warnings)
			}
		})
	}
}

// TestPushedSlowly refuses a push that git does not describe in time.
func TestPushedSlowly(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if tips, _, err := pushed(ctx, r); err == nil {
		t.Errorf("%+v", tips)
	}
}

// TestPushedUnlisted: a commit whose folders cannot be listed is not let through, whether its rules are in one of them or not.
func TestPushedUnlisted(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	t.Chdir(t.TempDir())
	gitIn(t, "init", "-q", "-b", "main")
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	none := git("", "hash-object", "-t", "tree", "-w", "--stdin")
	id, err := hex.DecodeString(none)
	if err != nil {
		t.Fatal(err)
	}
	rules := git("", "hash-object", "-w", "--stdin")
	sub := git("100644 blob "+rules+"\trouting.toml\n", "mktree")
	subID, err := hex.DecodeString(sub)
	if err != nil {
		t.Fatal(err)
	}
	tree := git("40000 .git\x00"+string(id)+"40000 sub\x00"+string(subID), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	commit := git("", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit-tree", "-m", "one", tree)
	if refused, warnings := Push("", "", strings.NewReader("refs/heads/main "+commit+" refs/heads/main 0\n")); len(refused) != 1 || !strings.Contains(refused[0], "cannot be listed") {
		t.Errorf("refused %q, warned %q", refused, warnings)
	}
}
