package workspace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// runHere is a [git.Runner] that starts git as this process does.
func runHere(ctx context.Context, c git.Call) (int, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdout, c.Stderr
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// TestTemporaryChanged has a process of the same user write into the temporary repository that git is asked in: no tree is exact by what git reads there,
// and no blob has another content than its file.
func TestTemporaryChanged(t *testing.T) {
	for name, c := range map[string]struct {
		attributes, content string
		at                  string // the command of git before which it writes
		write               func(gitDir string, env []string) error
	}{
		"the attributes": {"state text eol=crlf\n", "good\n", "check-attr", func(dir string, _ []string) error {
			err := os.MkdirAll(filepath.Join(dir, "info"), 0o700)
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "info", "attributes"), []byte("state !text !eol\n"), 0o600))
		}},
		"attributes that are not there": {"other text\n", "good\r\n", "check-attr", func(dir string, _ []string) error {
			err := os.MkdirAll(filepath.Join(dir, "info"), 0o700)
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "info", "attributes"), []byte("state text eol=crlf\n"), 0o600))
		}},
		"the index": {"state text eol=crlf\n", "good\r\n", "ls-files", func(_ string, env []string) error {
			cmd := exec.Command("git", "update-index", "--add", "--cacheinfo", "100644,0123456789012345678901234567890123456789,state")
			cmd.Env = env
			return cmd.Run()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.write(".gitattributes", c.attributes)
			r.write("state", c.content)
			r.commit()
			written := false
			run := func(ctx context.Context, call git.Call) (int, error) {
				if slices.Contains(call.Argv, c.at) {
					i := slices.IndexFunc(call.Env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_DIR=") })
					if i >= 0 && strings.Contains(call.Env[i], "dialect-tree-") {
						written = true
						if err := c.write(strings.TrimPrefix(call.Env[i], "GIT_DIR="), call.Env); err != nil {
							t.Error(err)
						}
					}
				}
				return runHere(ctx, call)
			}
			s, err := Take(t.Context(), r.dir, Options{Git: run})
			if !written {
				t.Fatal("git was not asked")
			}
			if err == nil && s.Exact {
				t.Errorf("exact, with the tree %s; HEAD has %s", s.Tree, r.git("rev-parse", "HEAD^{tree}"))
			}
		})
	}
}

// TestEnds has texts come in any pieces.
func TestEnds(t *testing.T) {
	for text, want := range map[string]string{"": "", "a\r\nb": "a\nb", "\r\n": "\n", "\r": "\r", "a\r\r\n": "a\r\n", "\n\r": "\n\r", "\r\rb\r\n\r": "\r\rb\n\r"} {
		for size := 1; size <= max(1, len(text)); size++ {
			var b bytes.Buffer
			x := ends{to: &b}
			for piece := range slices.Chunk([]byte(text), size) {
				x.Write(piece)
			}
			if err := x.end(); err != nil || b.String() != want || x.n != int64(len(want)) {
				t.Errorf("%q in pieces of %d: %q, %d, %v; want %q", text, size, &b, x.n, err, want)
			}
		}
	}
}
