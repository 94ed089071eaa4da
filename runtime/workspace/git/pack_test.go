package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is written into a pack git reads, and so do we.
func TestPack(t *testing.T) {
	for _, f := range []ObjectFormat{FormatSHA1, FormatSHA256} {
		t.Run(string(f), func(t *testing.T) {
			root := t.TempDir()
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			run("init", "-q", "--object-format="+string(f))
			dir := filepath.Join(root, ".git", "objects", "pack")
			contents := []string{"", "a\n", strings.Repeat("long ", 100_000)}
			p, err := NewPack(dir, f, len(contents)+2)
			if err != nil {
				t.Fatal(err)
			}
			var leaves []Leaf
			for i, text := range contents {
				id, err := p.Add("blob", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				leaves = append(leaves, Leaf{fmt.Sprintf("d/%d", i), ModeFile, id})
			}
			tree := f.Trees(leaves, func(content []byte) { _, err = p.Add("tree", content) })
			if err != nil || tree != f.Tree(leaves) {
				t.Fatal(err)
			}
			if _, err := p.Close(); err != nil {
				t.Fatal(err)
			}
			run("fsck", "--full", "--strict")
			for i, text := range contents {
				if out := run("cat-file", "-p", f.Format(tree)+fmt.Sprintf(":d/%d", i)); out != strings.TrimSpace(text) {
					t.Errorf("git reads %.20q", out)
				}
			}
			list, err := os.ReadDir(dir)
			if err != nil || len(list) != 2 {
				t.Fatalf("%v, %v", list, err)
			}
			index, _ := filepath.Glob(filepath.Join(dir, "*.idx"))
			has, err := f.Packed(index[0])
			if err != nil || !has(leaves[2].Id) || !has(tree) || has(f.Object("blob", []byte("b\n"))) {
				t.Errorf("the names in the index: %v", err)
			}
			if p, err = NewPack(dir, f, 1); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Close(); err == nil {
				t.Error("a pack of nothing is one of an object")
			}
			if again, err := os.ReadDir(dir); err != nil || len(again) != 2 {
				t.Errorf("%v, %v", again, err)
			}
		})
	}
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte("\xfftOc\x00\x00\x00\x02"))
	f.Add(append([]byte("\xfftOc\x00\x00\x00\x02"), make([]byte, 4*256+40)...))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range []ObjectFormat{FormatSHA1, FormatSHA256} {
			if has, err := format.packedIn(text); err == nil {
				has(ObjectID{1})
			}
		}
	})
}
