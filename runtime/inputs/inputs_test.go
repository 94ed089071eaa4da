package inputs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
)

// tree makes files of dir; a text that begins with "->" makes a link to the rest.
func tree(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			if to, ok := strings.CutPrefix(files[i+1], "->"); ok {
				err = os.Symlink(to, name)
			} else {
				err = os.WriteFile(name, []byte(files[i+1]), 0o666)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func digest(t testing.TB, dir string, patterns ...string) receipts.Hash {
	t.Helper()
	h, err := Digest(context.Background(), dir, patterns)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func file(name, text string) string {
	return fmt.Sprintf("file %d:%s %d %x\n", len(name), name, len(text), sha256.Sum256([]byte(text)))
}

// Each case has the text that is hashed, written down from the package documentation.
func TestDigest(t *testing.T) {
	outside := t.TempDir()
	tree(t, outside, "secret", "s", "folder/RECORD", "out")
	for _, tt := range []struct {
		name     string
		files    []string
		patterns string
		want     string
	}{
		{"the worked example", []string{"a.txt", "hi\n"}, "a *.txt", "absent 1:a \nfile 5:a.txt 3 98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4\n"},
		{"a file in a folder", []string{"a/b", "1"}, "a/b", file("a/b", "1")},
		{"no folder", nil, "a/b", "absent 3:a/b \n"},
		{"a file for a folder", []string{"a", "1"}, "a/b", "absent 3:a/b \n"},
		{"a folder is not a file", []string{"a/b", "1"}, "a", "absent 1:a \n"},
		{"sorted, and each once", []string{"b", "2", "a", "1"}, "b a * b", file("a", "1") + file("b", "2")},
		{"a second pattern for the same file is not absent", []string{"a", "1"}, "a ?", file("a", "1")},
		{"a pattern within a name", []string{"p3.9/x-1.dist-info/RECORD", "1", "p3.9/x/RECORD", "2"}, "p*/*.dist-info/RECORD", file("p3.9/x-1.dist-info/RECORD", "1")},
		{"hidden names match, too", []string{".v/R", "1"}, "*/R", file(".v/R", "1")},
		{"any depth", []string{"R", "0", "a/R", "1", "a/b/c/R", "2", "a/b/c/S", "3"}, "**/R", file("R", "0") + file("a/R", "1") + file("a/b/c/R", "2")},
		{"any depth between", []string{"a/R", "1", "a/b/c/R", "2", "b/R", "3"}, "a/**/**/R", file("a/R", "1") + file("a/b/c/R", "2")},
		{"all below", []string{"a/R", "1", "a/b/S", "2", "c", "3"}, "a/**", file("a/R", "1") + file("a/b/S", "2")},
		{"two of any depth", []string{"a/x/b/y/R", "1", "a/b/R", "2", "a/R", "3"}, "**/a/**/b/**/R", file("a/b/R", "2") + file("a/x/b/y/R", "1")},
		{"stores at any depth", []string{"a/.git/R", "1", ".dialect/R", "2", "a/R", "3"}, "**/R", file("a/R", "3")},
		{"all below but stores", []string{"a/.git/R", "1", ".dialect/R", "2", "a/R", "3"}, "**", file("a/R", "3")},
		{"a store, named", []string{".git/hooks/R", "1"}, ".git/**", file(".git/hooks/R", "1")},
		{"a link to a file", []string{"b", "1", "a", "->b"}, "a", file("a", "1")},
		{"a link to a folder, named", []string{"lib/R", "1", "lib64", "->lib"}, "lib64/R", file("lib64/R", "1")},
		{"a link to a folder, at any depth", []string{"v/lib/R", "1", "v/lib64", "->lib"}, "v/**/R", file("v/lib/R", "1") + "link 7:v/lib64 3:lib\n"},
		{"a link in a circle", []string{"v/R", "1", "v/up", "->.."}, "v/**", file("v/R", "1") + "link 4:v/up 2:..\n"},
		{"a link to itself", []string{"a", "->a"}, "a", "link 1:a 1:a\n"},
		{"a link to nowhere", []string{"a", "->none"}, "a", "link 1:a 4:none\n"},
		{"a link out", []string{"a", "->" + outside + "/secret"}, "a", fmt.Sprintf("link 1:a %d:%s\n", len(outside)+7, outside+"/secret")},
		{"a folder that is a link out", []string{"a", "->" + outside + "/folder"}, "a/RECORD", fmt.Sprintf("link 1:a %d:%s\n", len(outside)+7, outside+"/folder")},
		{"a folder that is a link out, at any depth", []string{"a", "->" + outside + "/folder"}, "**/RECORD", fmt.Sprintf("link 1:a %d:%s\n", len(outside)+7, outside+"/folder")},
		{"names that could confuse", []string{"a\nfile 1:b", "1"}, "a*", file("a\nfile 1:b", "1")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tree(t, dir, tt.files...)
			want := receipts.Hash(sha256.Sum256([]byte("dialect.inputs/1\n" + tt.want)))
			if got := digest(t, dir, strings.Fields(tt.patterns)...); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestNoPatterns(t *testing.T) {
	if h := digest(t, filepath.Join(t.TempDir(), "none")); !h.IsZero() {
		t.Errorf("the digest of no patterns is %s", h)
	}
}

// What is matched and is not a file is never opened: nobody writes to the FIFO, and the
// test would wait for ever.
func TestSpecial(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mkfifo", filepath.Join(dir, "a")).Run(); err != nil {
		t.Skip("no FIFO here: ", err)
	}
	want := receipts.Hash(sha256.Sum256([]byte("dialect.inputs/1\nspecial 1:a \n")))
	done := make(chan receipts.Hash, 3)
	go func() {
		done <- digest(t, dir, "a")
		done <- digest(t, dir, "a/b")
		done <- digest(t, dir, "**")
	}()
	for i, want := range []receipts.Hash{want, sha256.Sum256([]byte("dialect.inputs/1\nabsent 3:a/b \n")), want} {
		select {
		case got := <-done:
			if got != want {
				t.Errorf("%d: got %s, want %s", i, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatal("it waits for a writer")
		}
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(MaxBytes); err != nil {
		t.Fatal(err)
	}
	digest(t, dir, "big")
	tree(t, dir, "small", "1")
	if _, err := Digest(context.Background(), dir, []string{"*"}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d bytes: %v, want ErrTooLarge", MaxBytes+1, err)
	}
	if err := f.Truncate(4 << 40); err != nil {
		t.Fatal(err)
	}
	if _, err := Digest(context.Background(), dir, []string{"big"}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("4 TiB: %v, want ErrTooLarge", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Digest(ctx, dir, []string{"small"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancellation: %v", err)
	}
	for _, p := range []string{"../x", "/x", "", "a/../../x", "[a"} {
		if _, err := Digest(context.Background(), dir, []string{p}); err == nil {
			t.Errorf("the pattern %q is accepted", p)
		}
	}
	if _, err := Digest(context.Background(), filepath.Join(dir, "none"), []string{"a"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a root: %v", err)
	}
}

// A pattern that a backtracking matcher takes years for.
func TestManyStars(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("a/", 60)
	tree(t, dir, name+"R", "1")
	pattern := strings.Repeat("**/a/", 28) + "**/none"
	start := time.Now()
	digest(t, dir, pattern)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := t.TempDir()
	tree(t, dir, "a", "1", "b/R", "2")
	if os.Chmod(filepath.Join(dir, "a"), 0) != nil || os.Chmod(filepath.Join(dir, "b"), 0) != nil {
		t.Skip("no modes here")
	}
	defer os.Chmod(filepath.Join(dir, "b"), 0o700)
	for _, p := range []string{"a", "b/R", "**/R"} {
		if h, err := Digest(context.Background(), dir, []string{p}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %s, %v", p, h, err)
		}
	}
}

func TestDigests(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "a", "1", "b", "2")
	m := plan.Matrix{Inputs: map[string][]string{"one": {"a"}, "other": {"b"}, "same": {"a"}, "bad": {"../x"}}}
	got, err := Digests(context.Background(), m, dir)
	if err == nil || !strings.Contains(err.Error(), "the inputs of bad:") {
		t.Errorf("error %v", err)
	}
	if len(got) != 3 || got["one"] != digest(t, dir, "a") || got["other"] != digest(t, dir, "b") || got["same"] != got["one"] {
		t.Errorf("got %v", got)
	}
}

// FuzzPattern holds what a pattern matches against a matcher that is obviously right,
// and slow.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"a", "**", "**/b", "a/**", "a/**/b", "*/b", "[ab]/**/b", "**/a/**/b", "?", "a/*", "**/**", `\a`} {
		f.Add(p)
	}
	dir := f.TempDir()
	names := []string{"a/a", "a/b", "b/a/b", "b/b/b/a", "c", "a/c/b", "b/c/a/b"}
	for _, n := range names {
		tree(f, dir, n, n)
	}
	slices.Sort(names)
	f.Fuzz(func(t *testing.T, p string) {
		if plan.CheckInput(p) != nil || len(p) > 40 {
			return
		}
		var want string
		for _, n := range names {
			if slow(strings.Split(filepath.ToSlash(filepath.Clean(p)), "/"), strings.Split(n, "/")) {
				want += file(n, n)
			}
		}
		if want == "" {
			want = fmt.Sprintf("absent %d:%s \n", len(p), p)
		}
		if got := digest(t, dir, p); got != sha256.Sum256([]byte("dialect.inputs/1\n"+want)) {
			t.Errorf("%q: want\n%s", p, want)
		}
	})
}

func slow(pattern, name []string) bool {
	switch {
	case len(pattern) == 0 || len(name) == 0:
		return len(pattern) == 0 && len(name) == 0
	case pattern[0] == "**":
		return len(pattern) == 1 || slow(pattern[1:], name) || slow(pattern, name[1:])
	}
	ok, _ := filepath.Match(pattern[0], name[0])
	return ok && slow(pattern[1:], name[1:])
}
