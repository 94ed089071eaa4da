package carry_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/carry"
	"github.com/command-dialect/dialect/runtime/workspace"
)

var began = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// depot makes a project and a depot, and takes a snapshot of the project.
func depot(t *testing.T, script string) (carry.Depot, string, *workspace.Snapshot) {
	t.Helper()
	dir, bare := t.TempDir(), filepath.Join(t.TempDir(), "depot.git")
	sh(t, dir, "git init -q . && "+script+" && git add -A && git commit -qm secret-history --allow-empty && git init -q --bare "+bare)
	s, err := workspace.Take(t.Context(), dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return carry.Depot{Remote: bare}, dir, s
}

// Files travel by their raw bytes, whatever git would make of them, and come to the same digests.
func TestTree(t *testing.T) {
	for name, script := range map[string]string{
		"plain":      "echo one >a.txt && mkdir -p sub/dir && echo two >sub/dir/b.txt && chmod +x sub/dir/b.txt",
		"links":      "echo one >a.txt && ln -s a.txt link && mkdir d && ln -s ../a.txt d/up",
		"names":      "echo one >'a b.txt' && echo two >'\"q\"' && echo three >'back\\slash' && echo four >\"$(printf 'new\\nline')\" && echo five >ümlaut",
		"conversion": "printf 'a\\r\\nb\\r\\n' >crlf.txt && echo '*.txt text eol=crlf' >.gitattributes && echo '$Id$' >id && echo 'id ident' >>.gitattributes",
		"empty":      ": >empty",
		"no files":   ":",
		"binary":     "head -c 300000 /dev/urandom >blob",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, s := depot(t, script)
			ref := carry.Ref(began, "r-1", "tree")
			commit, err := d.SendTree(t.Context(), s, false, ref)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := d.SendTree(t.Context(), s, false, ref); err != nil || again != commit {
				t.Errorf("the same files are %s and %s, %v", commit, again, err)
			}
			if log := sh(t, d.Remote, "git log --format=%s%P "+ref); strings.TrimSpace(log) != "" {
				t.Errorf("the commit says more than its files: %q", log)
			}
			to := filepath.Join(t.TempDir(), "checkout")
			c := &carry.Cache{Depot: d, Folder: filepath.Join(t.TempDir(), "cache")}
			for _, to := range []string{to, to + "2"} { // the second one is fetched from nowhere
				if err := c.Checkout(t.Context(), ref, commit, to); err != nil {
					t.Fatal(err)
				}
				sh(t, ".", "rm -rf "+d.Remote)
				got, err := workspace.Take(t.Context(), to, workspace.Options{})
				if err != nil || got.Bytes != s.Bytes || got.Tree != s.Tree || got.Untracked.Count != 0 {
					t.Errorf("%x %s, and not %x %s: %v", got.Bytes, got.Tree, s.Bytes, s.Tree, err)
				}
				if said := sh(t, to, "git status --porcelain && git log --format=%T HEAD && git fsck 2>&1"); strings.TrimSpace(said) != s.Tree && name != "conversion" {
					t.Errorf("git says %q of the checkout, and not %s", said, s.Tree)
				}
			}
		})
	}
}

// What is not to be sent is not sent, and says which file it is.
func TestNotSent(t *testing.T) {
	for name, tt := range map[string]struct{ script, later, want string }{
		"untracked":  {"echo one >a.txt", "echo two >new.txt", "new.txt"},
		"changed":    {"echo one >a.txt", "", "changed"},
		"repository": {"echo one >a.txt && git init -q sub && echo x >sub/f && git -C sub add f && git -C sub commit -qm x", "", "sub"},
		"fifo":       {"echo one >a.txt", "mkfifo pipe", "pipe"},
		"a fifo now": {"echo one >a.txt", "", "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, dir, s := depot(t, tt.script)
			if tt.later != "" {
				sh(t, dir, tt.later)
				var err error
				if s, err = workspace.Take(t.Context(), dir, workspace.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			switch name {
			case "changed":
				sh(t, dir, "echo two >a.txt")
			case "a fifo now": // nobody writes to it
				sh(t, dir, "rm a.txt && mkfifo a.txt")
			}
			ref := carry.Ref(began, "r-1", "tree")
			_, err := d.SendTree(t.Context(), s, name != "untracked", ref)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			if refs := sh(t, d.Remote, "git for-each-ref"); refs != "" {
				t.Errorf("sent: %s", refs)
			}
		})
	}
}

// What steers git in the environment of dialect, such as that of a hook, leads it into no other repository.
func TestEnvironment(t *testing.T) {
	d, dir, s := depot(t, "echo one >a.txt")
	before := sh(t, dir, "git for-each-ref && git count-objects")
	t.Setenv("GIT_COMMON_DIR", filepath.Join(dir, ".git"))
	t.Setenv("GIT_QUARANTINE_PATH", t.TempDir())
	ref := carry.Ref(began, "r-1", "tree")
	if _, err := d.SendTree(t.Context(), s, false, ref); err != nil {
		t.Error(err)
	}
	os.Unsetenv("GIT_COMMON_DIR")
	os.Unsetenv("GIT_QUARANTINE_PATH")
	if after := sh(t, dir, "git for-each-ref && git count-objects"); after != before {
		t.Errorf("the user's repository was written:\n%s", after)
	}
	sh(t, d.Remote, "git rev-parse --verify -q "+ref)
}

// A commit of someone else's making leads nowhere but into the checkout.
func TestHostileTree(t *testing.T) {
	for name, script := range map[string]string{
		"another commit": "true",
		"dot git":        `h=$(echo evil | git hash-object -w --stdin); t=$(printf '100644 blob %s\tconfig\n' $h | git mktree); t=$(printf '040000 tree %s\t.git\n' $t | git mktree 2>/dev/null || echo none); c=$(git commit-tree $t -m x); git update-ref REF $c`,
		"up":             `h=$(echo evil | git hash-object -w --stdin); printf '100644 blob '$h'\t..\n' | git mktree --missing >t; c=$(git commit-tree $(cat t) -m x); git update-ref REF $c`,
		"through a link": `h=$(printf /tmp | git hash-object -w --stdin); g=$(echo evil | git hash-object -w --stdin); s=$(printf "100644 blob $g\tf\n" | git mktree); printf "120000 blob $h\tlink\n040000 tree $s\tlink\n" | git mktree >t; c=$(git commit-tree $(cat t) -m x); git update-ref REF $c`,
		"a submodule":    `c=$(git commit-tree $(printf '160000 commit 1111111111111111111111111111111111111111\tsub\n' | git mktree --missing) -m x); git update-ref REF $c`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, s := depot(t, "echo one >a.txt")
			ref := carry.Ref(began, "r-1", "tree")
			commit, err := d.SendTree(t.Context(), s, false, ref)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(script, "REF", ref))
			cmd.Dir = d.Remote
			cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
			_ = cmd.Run() // git itself may refuse to make it
			if now := strings.TrimSpace(sh(t, d.Remote, "git rev-parse "+ref)); now != commit {
				commit = now
			} else {
				commit = strings.Repeat("1", 40)
			}
			to := filepath.Join(t.TempDir(), "checkout")
			if err := (&carry.Cache{Depot: d, Folder: t.TempDir()}).Checkout(t.Context(), ref, commit, to); err == nil {
				t.Errorf("it was checked out")
			}
			if _, err := os.Lstat(to); err == nil {
				t.Errorf("a part of it is left")
			}
		})
	}
}

// TestHugeTree: a few objects name more files, or larger ones, than there is room for. Nothing of them is written.
func TestHugeTree(t *testing.T) {
	for name, script := range map[string]string{
		"files": `name=$(printf %0200d 0)
			tree=$(printf '100644 blob %s\ta\n' $blob | git mktree)
			for level in 1 2 3 4 5 6 7 8 9; do
				tree=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\t%s\n' $tree $name$i; done | git mktree)
			done`,
		"bytes": `blob=$(head -c 10000000 /dev/zero | git hash-object -w --stdin)
			tree=$(for i in $(seq 50); do printf '100644 blob %s\t%s\n' $blob $i; done | git mktree)
			tree=$(for i in $(seq 50); do printf '040000 tree %s\t%s\n' $tree $i; done | git mktree)`,
		"folders": `path=$(printf 'a/%.0s' $(seq 500))a
			printf 'commit refs/heads/deep\ncommitter a <a@b> 0 +0000\ndata 0\n\nM 100644 %s %s\n' $blob $path | git fast-import --quiet
			tree=$(git rev-parse 'deep^{tree}')
			tree=$(for i in $(seq 9000); do printf '040000 tree %s\t%s\n' $tree $i; done | git mktree)`,
		"long paths": `path=$(printf '%0100d/' $(seq 50))a
			printf 'commit refs/heads/deep\ncommitter a <a@b> 0 +0000\ndata 0\n\nM 100644 %s %s\n' $blob $path | git fast-import --quiet
			tree=$(git rev-parse 'deep^{tree}')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare, ref := filepath.Join(t.TempDir(), "depot.git"), carry.Ref(began, "r-1", "f-1-1")
			commit := strings.TrimSpace(sh(t, t.TempDir(), "git init -q --bare "+bare+"; cd "+bare+"; blob=$(echo a | git hash-object -w --stdin)\n"+script+"\nid=$(git commit-tree -m x $tree); git update-ref "+ref+" $id; echo $id"))
			cache := carry.Cache{Depot: carry.Depot{Remote: bare}, Folder: t.TempDir()}
			to := filepath.Join(t.TempDir(), "checkout")
			if err := cache.Checkout(t.Context(), ref, commit, to); err == nil || !strings.Contains(err.Error(), "more than") {
				t.Errorf("%v", err)
			}
			if _, err := os.Lstat(to); err == nil {
				t.Error("something was written")
			}
		})
	}
}

// Bytes travel whole, several at a time, and never more than is asked for, whether git carries them or not.
func TestBytes(t *testing.T) {
	for name, prepare := range map[string]string{
		"on disk":    "true",
		"git's":      "git config receive.denyDeletes false",
		"with hooks": "mkdir -p hooks && printf '#!/bin/sh\\n' >hooks/pre-receive && chmod +x hooks/pre-receive",
		"packed":     "git config gc.pruneExpire never",
		"sha256":     "rm -rf * && git init -q --bare --object-format=sha256 .",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, _ := depot(t, "echo one >a.txt")
			sh(t, d.Remote, prepare)
			if name == "sha256" {
				d.Format = name
			}
			one, two := carry.Ref(began, "r-1", "a-1-1"), carry.Ref(began, "r-1", "a-2-1")
			big := bytes.Repeat([]byte("x\x00\n"), 10000)
			if err := d.Send(t.Context(), carry.Parcel{Ref: one, Text: big}); err != nil {
				t.Fatal(err)
			}
			out := carry.Outbox{Depot: d, Ending: t.Context()}
			if err := out.Post(t.Context(), carry.Parcel{Ref: two}); err != nil {
				t.Fatal(err)
			}
			sh(t, d.Remote, "git fsck --strict")
			if name == "packed" {
				sh(t, d.Remote, "git gc -q")
			}
			got, err := d.Fetch(t.Context(), 1<<20, one, two)
			if err != nil || len(got) != 2 || !bytes.Equal(got[0], big) || len(got[1]) != 0 {
				t.Errorf("%d, %v", len(got), err)
			}
			if _, err := d.Fetch(t.Context(), 100, one); err == nil {
				t.Error("more than is asked for was fetched")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := d.Send(ctx, carry.Parcel{Ref: one, Text: big}); err == nil {
				t.Error("it was sent although nobody waits")
			}
		})
	}
}

// A hook of the depot decides, as it does where git carries; one parcel that it refuses does not take others with it.
func TestHook(t *testing.T) {
	d, _, _ := depot(t, "echo one >a.txt")
	sh(t, d.Remote, "mkdir -p hooks && printf '#!/bin/sh\\ncase $1 in */a-3-1) exit 1; esac\\n' >hooks/update && chmod +x hooks/update")
	o := &carry.Outbox{Depot: d, Ending: t.Context()}
	var sent [6]error
	var all sync.WaitGroup
	for i := range sent {
		all.Go(func() {
			sent[i] = o.Post(t.Context(), carry.Parcel{Ref: carry.Ref(began, "r-1", fmt.Sprintf("a-%d-1", i)), Text: []byte{byte(i)}})
		})
	}
	all.Wait()
	for i, err := range sent {
		if (err == nil) != (i != 3) {
			t.Errorf("parcel %d: %v", i, err)
		}
	}
	if refs := strings.Count(sh(t, d.Remote, "git for-each-ref"), "\n"); refs != 5 {
		t.Errorf("%d refs", refs)
	}
}

// The refs of a run are taken away with it, and those of others once they are old.
func TestCollect(t *testing.T) {
	d, _, _ := depot(t, "echo one >a.txt")
	old := began.Add(-30 * 24 * time.Hour)
	for _, ref := range []string{carry.Ref(began, "r-1", "a-1-1"), carry.Ref(began, "r-1", "a-2-1"), carry.Ref(began, "r-2", "a-1-1"), carry.Ref(old, "r-3", "tree")} {
		if err := d.Send(t.Context(), carry.Parcel{Ref: ref, Text: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, d.Remote, "git update-ref refs/heads/main "+carry.Ref(began, "r-1", "a-1-1"))
	if err := d.Collect(t.Context(), "r-1", began.Add(-7*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, d.Remote, "git for-each-ref --format='%(refname)'"); got != carry.Ref(began, "r-2", "a-1-1")+"\nrefs/heads/main\n" {
		t.Errorf("%s", got)
	}
}

// A name never becomes an option or a command of git.
func TestNames(t *testing.T) {
	for _, remote := range []string{"", "-u", "--upload-pack=x", "ext::sh -c id", "a\nb"} {
		if carry.CheckRemote(remote) == nil {
			t.Errorf("%q", remote)
		}
	}
	for _, ref := range []string{"", "refs/heads/main", "refs/dialect/20261122/../x/tree", "refs/dialect/20261122/r-1/tree x", "refs/dialect/20261122/r-1/tree:refs/heads/main", "-refs/dialect/20261122/r-1/tree"} {
		if carry.CheckRef(ref) == nil {
			t.Errorf("%q", ref)
		}
	}
}
