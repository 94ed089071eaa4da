package policy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/policy"
)

// rulesOf is a matrix in root that is made of files: "name=content".
func rulesOf(root string, files ...string) plan.Matrix {
	m := plan.Matrix{Root: root, Path: filepath.Join(root, "routing.toml")}
	for _, f := range files {
		name, content, there := strings.Cut(f, "=")
		m.Files = append(m.Files, plan.File{Path: filepath.Join(root, filepath.FromSlash(name)), Name: name, Absent: !there, SHA256: sha256.Sum256([]byte(content))})
	}
	return m
}

func scriptOf(path, content string) plan.Script {
	sum := sha256.Sum256([]byte(content))
	return plan.Script{Name: path, Path: path, SHA256: hex.EncodeToString(sum[:])}
}

// A file that neither run can read is not of the outer rules: it has no digest that could be compared.
func TestForeignUnread(t *testing.T) {
	root := t.TempDir()
	m := rulesOf(root, "routing.toml=x", "pinned=")
	m.Files[1].SHA256, m.Files[1].Problem = [32]byte{}, "permission denied"
	names, _, err := policy.Foreign(policy.Outer(m, root), m, plan.Script{Name: "-e"})
	if err != nil || !slices.Equal(names, []string{"pinned"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// A run that a line started is of the outer rules only if each file that decides it is there, under its name and with its content.
func TestForeign(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, link, moved := filepath.Join(dir, "p"), filepath.Join(dir, "link"), filepath.Join(dir, "checkout")
	for _, d := range []string{filepath.Join(root, "a"), filepath.Join(moved, "a")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	linked := os.Symlink(root, link) == nil
	outer := rulesOf(root, "routing.toml=outer", "a/routing.toml=inner", "a/quality.dlct=script", "shared.toml=shared", "a/none.toml", "b/routing.toml=weak")
	value := policy.Outer(outer, root)
	in := func(at string) string { return filepath.Join(at, "a") }
	script := scriptOf(filepath.Join(root, "a", "quality.dlct"), "script")
	for name, c := range map[string]struct {
		value  string
		m      plan.Matrix
		s      plan.Script
		want   string
		failed bool
	}{
		"the same":                      {value, rulesOf(in(root), "routing.toml=inner", "../shared.toml=shared", "nearer.toml"), script, "", false},
		"no run is around it":           {"", rulesOf(in(root), "routing.toml=x"), script, "", false},
		"lines of the command":          {value, rulesOf(in(root), "routing.toml=inner"), plan.Script{Name: "-e"}, "", false},
		"another matrix":                {value, rulesOf(in(root), "routing.toml=x"), script, "a/routing.toml", false},
		"the content of another matrix": {value, rulesOf(in(root), "routing.toml=weak"), script, "a/routing.toml", false},
		"another script":                {value, rulesOf(in(root), "routing.toml=inner"), scriptOf(script.Path, "x"), "a/quality.dlct", false},
		"extended, pinned":              {value, rulesOf(in(root), "routing.toml=inner", "more.toml=x", "t.sh=x"), script, "a/more.toml a/t.sh", false},
		"one by two ways":               {value, rulesOf(in(root), "more.toml=x", "./more.toml=y"), script, "a/more.toml", false},
		"one that was not there":        {value, rulesOf(in(root), "routing.toml=inner", "none.toml="), script, "a/none.toml", false},
		"outside":                       {value, rulesOf(filepath.Join(dir, "other"), "routing.toml=inner"), script, "../other/routing.toml", false},
		"by a link":                     {value, rulesOf(in(link), "routing.toml=inner"), scriptOf(filepath.Join(link, "a", "quality.dlct"), "script"), "", false},
		"in a checkout":                 {policy.Outer(outer, moved), rulesOf(in(moved), "routing.toml=inner"), scriptOf(filepath.Join(moved, "a", "quality.dlct"), "script"), "", false},
		"in another checkout":           {policy.Outer(outer, moved), rulesOf(in(root), "routing.toml=inner"), plan.Script{Name: "-e"}, "../p/a/routing.toml", false},
		"standard input":                {value, rulesOf(in(root), "routing.toml=inner"), plan.Script{Name: "-"}, "", true},
		"no digest":                     {value, rulesOf(in(root), "routing.toml=inner"), plan.Script{Path: script.Path, SHA256: "x"}, "", true},
		"a short digest":                {value, rulesOf(in(root), "routing.toml=inner"), plan.Script{Path: script.Path, SHA256: "00"}, "", true},
		"not of a run":                  {"yes", rulesOf(in(root), "routing.toml=inner"), script, "", true},
		"no folder":                     {":", rulesOf(in(root), "routing.toml=inner"), script, "", true},
		"no rules":                      {":" + root, rulesOf(in(root), "routing.toml=inner"), script, "a/routing.toml a/quality.dlct", false},
	} {
		if name == "by a link" && !linked {
			continue
		}
		got, _, err := policy.Foreign(c.value, c.m, c.s)
		if strings.Join(got, " ") != c.want || (err != nil) != c.failed {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// An environment has room for what is handed on, however many files there are, and what found no room is not taken for known.
func TestOuterBound(t *testing.T) {
	var files []string
	for i := range 5000 {
		files = append(files, fmt.Sprintf("f%04d=x", i))
	}
	root := t.TempDir()
	value := policy.Outer(rulesOf(root, files...), root)
	if len(value) > 64<<10 {
		t.Errorf("%d bytes", len(value))
	}
	if names, _, err := policy.Foreign(value, rulesOf(root, files[:1024]...), plan.Script{Name: "-e"}); len(names) > 0 || err != nil {
		t.Errorf("the first are not known: %q, %v", names, err)
	}
	if names, _, err := policy.Foreign(value, rulesOf(root, files[1024]), plan.Script{Name: "-e"}); err == nil {
		t.Errorf("the last are said to be known or not: %q", names)
	}
}

// Whatever stands in the variable, a file is known only by its digest.
func FuzzForeign(f *testing.F) {
	root := f.TempDir()
	m, s := rulesOf(root, "routing.toml=inner"), scriptOf(filepath.Join(root, "q.dlct"), "script")
	own := policy.Outer(m, root)
	for _, v := range []string{"", ":", own, "+:" + root, own[:10] + ":" + root, strings.Repeat(",", 99) + ":/", ":/\x01", "a:b:c"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		names, _, err := policy.Foreign(value, m, s)
		if value != "" && err == nil && !slices.Contains(names, "q.dlct") && !strings.Contains(strings.Join(names, " "), "q.dlct") {
			t.Errorf("%q: the script is said to be known: %q", value, names)
		}
	})
}
