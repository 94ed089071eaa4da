//go:build unix

package git

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoProtocol has a repository whose remote is a program of its own, and lacks an object: no git runs that, whether it knows all of its environment
// or not.
func TestNoProtocol(t *testing.T) {
	hermetic(t)
	dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	do := func(args ...string) {
		t.Helper()
		cmd := exec.Command("/usr/bin/git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
	}
	do("init", "-q")
	for _, kv := range []string{"core.repositoryformatversion 1", "extensions.partialClone origin", "remote.origin.promisor true"} {
		k, v, _ := strings.Cut(kv, " ")
		do("config", k, v)
	}
	for _, name := range []string{"none", "never", "file", "x"} {
		do("config", "remote.origin.url", name+"::x")
		do("config", "alias.remote-"+name, "!: >"+mark+"; false")
		env := slices.DeleteFunc((git{Program: "/usr/bin/git"}).environment(nil), func(kv string) bool { return strings.HasPrefix(kv, "GIT_NO_LAZY_FETCH=") })
		cmd := exec.Command("/usr/bin/git", append(safe(), "cat-file", "--batch")...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, bytes.NewReader([]byte("0123456789012345678901234567890123456789\n"))
		out, _ := cmd.CombinedOutput()
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s: the program of the repository ran: %s", name, out)
			os.Remove(mark)
		}
	}
}
