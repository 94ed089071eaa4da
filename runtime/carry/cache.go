package carry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Cache keeps what was fetched of a depot, a repository for each commit, so that a commit is fetched once however many
// checkouts there are of it. Several processes may have the same folder.
type Cache struct {
	Depot
	Folder string

	mu sync.Mutex // one fetches
}

// How many commits a cache keeps, and for how long at least since they were used.
const (
	mostKept  = 8
	leastKept = time.Hour
)

// again is how long who waits for another's fetch does until it looks once more.
const again = 20 * time.Millisecond

// Checkout writes the files of a commit of [Depot.SendTree] below dir, which it makes, as the worktree of a
// repository of its own whose only commit it is. The caller compares the files with their digest.
func (c *Cache) Checkout(ctx context.Context, ref, commit, dir string) (err error) {
	if err := errors.Join(CheckRef(ref), CheckRemote(c.Remote)); err != nil {
		return err
	}
	if _, err := c.format().Parse(commit); err != nil {
		return err
	}
	from, err := c.fetched(ctx, ref, commit)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tempdir.RemoveAll(dir)
		}
	}()
	if err := write(ctx, from, dir); err != nil {
		return err
	}
	dot := filepath.Join(dir, ".git")
	if err := os.Mkdir(dot, 0o755); err != nil {
		return err
	}
	if err := layOut(dot, c.format(), false); err != nil {
		return err
	}
	return copyInto(dot, from)
}

// fetched returns the repository of a commit: its branch "run" is the commit, and its index has the files of it.
func (c *Cache) fetched(ctx context.Context, ref, commit string) (dir string, err error) {
	dir = filepath.Join(c.Folder, commit)
	for !c.mu.TryLock() { // the depot may hang, and who waits be cut short
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(again):
		}
	}
	defer c.mu.Unlock()
	if os.Chtimes(dir, time.Time{}, time.Now()) == nil {
		return dir, nil
	}
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return "", err
	}
	own, remove, err := tempdir.NewIn(c.Folder, tempdir.Tree)
	if err != nil {
		return "", err
	}
	defer remove()
	fresh := filepath.Join(own, "git")
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return "", err
	}
	if err := layOut(fresh, c.format(), true); err != nil {
		return "", err
	}
	if _, err := run(ctx, fresh, nil, "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=1", "--", c.Remote, "+"+ref+":refs/heads/run"); err != nil {
		return "", err
	}
	got, err := os.ReadFile(filepath.Join(fresh, "refs", "heads", "run"))
	if err != nil {
		return "", err
	}
	if got := strings.TrimSpace(string(got)); got != commit {
		return "", fmt.Errorf("%s is the commit %s, and not %s", ref, git.Clip(got), commit)
	}
	list, err := run(ctx, fresh, nil, "ls-tree", "-r", "-l", "-z", "--full-tree", commit) // a few trees can name more files than read-tree has room for
	if err != nil {
		return "", err
	}
	if _, err := parseList(list); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(fresh, listName), list, 0o600); err != nil {
		return "", err
	}
	if _, err := run(ctx, fresh, nil, "read-tree", commit); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		}
	}
	c.prune()
	return dir, nil
}

// prune removes the commits that were not used for the longest time.
func (c *Cache) prune() {
	list, err := os.ReadDir(c.Folder)
	if err != nil {
		return
	}
	type kept struct {
		name string
		used time.Time
	}
	var all []kept
	for _, e := range list {
		if info, err := e.Info(); err == nil && !strings.Contains(e.Name(), ".") {
			all = append(all, kept{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return b.used.Compare(a.used) })
	for i, k := range all {
		if i >= mostKept && time.Since(k.used) > leastKept {
			_ = tempdir.RemoveAll(filepath.Join(c.Folder, k.name))
		}
	}
}

// copyInto makes dot, which is laid out, hold what from has of objects, the branch and the index. Packs are never written
// again, and so may be the same files.
func copyInto(dot, from string) error {
	packs := regular.In(filepath.Join(from, "objects", "pack"), "pack-*")
	names := []string{"index", "refs/heads/run"}
	if _, err := os.Stat(filepath.Join(from, "shallow")); err == nil {
		names = append(names, "shallow")
	}
	for _, pack := range packs {
		name := "objects/pack/" + filepath.Base(pack)
		if os.Link(pack, filepath.Join(dot, filepath.FromSlash(name))) != nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if err := copyFile(filepath.Join(dot, filepath.FromSlash(name)), filepath.Join(from, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// An entry is a file of a commit.
type entry struct{ mode, object, name string }

// listName is the file of a kept commit that lists its files, as git ls-tree does.
const listName = "dialect-list"

// mostFiles bounds what the files of a commit take together, in bytes: a few objects can name more than there is room for. Each file and each folder takes
// leastRoom, whatever is in it.
const (
	mostFiles = 16 << 30
	leastRoom = 4 << 10
)

// longestName is how long the path of a file may be, as for the systems that it is written on.
const longestName = 4 << 10

// parseList reads what git ls-tree lists with sizes.
func parseList(list []byte) (entries []entry, err error) {
	sum, last := int64(0), ""
	for len(list) > 0 {
		row, rest, ended := bytes.Cut(list, []byte{0})
		list = rest
		head, name, ok := strings.Cut(string(row), "\t")
		words := strings.Fields(head)
		if !ended || !ok || len(words) != 4 || words[1] != "blob" || !git.ValidPath(name) {
			return nil, fmt.Errorf("the commit has %s, which is not written", git.Display(name))
		}
		if len(name) > longestName {
			return nil, fmt.Errorf("the commit has the path %s, which has more than %d bytes", git.Display(name), longestName)
		}
		size, err := strconv.ParseInt(words[3], 10, 64)
		if err != nil {
			return nil, err
		}
		shared := 0 // with the path before it: what comes after is in folders of its own
		for shared < min(len(name), len(last)) && name[shared] == last[shared] {
			shared++
		}
		sum += max(size, leastRoom) + leastRoom*int64(strings.Count(name[shared:], "/"))
		if last = name; size > mostFiles || sum > mostFiles {
			return nil, fmt.Errorf("the files of the commit take more than %d GiB", mostFiles>>30)
		}
		entries = append(entries, entry{words[0], words[2], name})
	}
	return entries, nil
}

// write writes the files of a commit that is kept in cache below dir. Nothing is written outside of it, whatever links the commit has.
func write(ctx context.Context, cache, dir string) error {
	list, err := os.ReadFile(filepath.Join(cache, listName))
	if err != nil {
		return err
	}
	entries, err := parseList(list)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var ask bytes.Buffer
	for _, e := range entries {
		ask.WriteString(e.object + "\n")
	}
	// Links come last: no file is written through one.
	var links []func() error
	err = batch(ctx, cache, &ask, func(in *bufio.Reader) error {
		for _, e := range entries {
			if err := writeOne(root, in, e.mode, e.name, &links); err != nil {
				return err
			}
		}
		return nil
	})
	for _, link := range links {
		if err == nil {
			err = link()
		}
	}
	return err
}

// batch has git write the objects that ask names, for read.
func batch(ctx context.Context, dir string, ask io.Reader, read func(*bufio.Reader) error) error {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	cmd, err := command(ctx, dir, "cat-file", "--batch")
	if err != nil {
		return err
	}
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	cmd.Stdin, cmd.Stdout = ask, pw
	go func() {
		done <- git.RunGroup(cmd)
		pw.Close()
	}()
	err = read(bufio.NewReaderSize(pr, 1<<16))
	pr.CloseWithError(io.ErrClosedPipe)
	if failed := <-done; err == nil {
		err = failed
	}
	return err
}

func writeOne(root *os.Root, in *bufio.Reader, mode, name string, links *[]func() error) error {
	head, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	words := strings.Fields(head)
	if len(words) != 3 || words[1] != "blob" {
		return fmt.Errorf("the object of %s is not there", git.Display(name))
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return err
	}
	file := filepath.FromSlash(name)
	if at := path.Dir(name); at != "." {
		if err := root.MkdirAll(filepath.FromSlash(at), 0o755); err != nil {
			return err
		}
	}
	switch mode {
	case git.ModeLink:
		if size > 1<<16 {
			return fmt.Errorf("the link %s is too long", git.Display(name))
		}
		target := make([]byte, size)
		if _, err := io.ReadFull(in, target); err != nil {
			return err
		}
		*links = append(*links, func() error { return root.Symlink(string(target), file) })
	case git.ModeFile, git.ModeExec:
		bits := os.FileMode(0o644)
		if mode == git.ModeExec {
			bits = 0o755
		}
		out, err := root.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, bits)
		if err != nil {
			return err
		}
		if _, err = io.CopyN(out, in, size); err == nil {
			err = out.Chmod(bits) // whatever the umask is
		}
		if closed := out.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s has the mode %s", git.Display(name), mode)
	}
	_, err = in.Discard(1)
	return err
}
