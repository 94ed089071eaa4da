// Package carry moves bytes between machines through a git repository that all of them can reach: the files of a
// snapshot, as a commit without a parent, and files of a few kilobytes. What comes in is a snapshot or bytes; what
// goes out is the same, each verified by its digest.
//
// It knows git as a transport alone: no filter, hook or attribute has a say, the user's repository is not written,
// and no object of it is named. A commit is made in a temporary repository by `git fast-import` from the raw bytes, so that nothing of
// the history that was not pushed leaves the machine.
//
// A ref is called refs/dialect/DAY/RUN/NAME, so that refs can be collected by age from their names alone.
package carry

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Depot is a repository that several machines reach.
type Depot struct {
	Remote string // its URL, or the path of a bare repository
	// Folder is a directory of the caller's own, in which what was fetched is kept; empty for a temporary one for each call.
	Folder string
	Format string // of objects: "sha1", "sha256"; empty for git's own
}

// patience bounds one call of git.
const patience = 5 * time.Minute

// Ref names a ref of a run that began at a time.
func Ref(began time.Time, run, name string) string {
	return "refs/dialect/" + began.UTC().Format("20060102") + "/" + run + "/" + name
}

var goodRef = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^refs/dialect/[0-9]{8}/[A-Za-z0-9_-]{1,64}/[a-z0-9-]{1,64}$`)
})

// CheckRef returns an error if name is not what [Ref] makes.
func CheckRef(name string) error {
	if !goodRef().MatchString(name) {
		return fmt.Errorf("%q is not the name of a ref of a run", name)
	}
	return nil
}

// CheckRemote returns an error if text cannot be the name of a depot: git takes some texts for commands.
func CheckRemote(text string) error {
	switch {
	case text == "":
		return errors.New("no repository is named that carries the files")
	case strings.HasPrefix(text, "-"), strings.Contains(text, "::"), strings.ContainsAny(text, "\n\r\x00"):
		return fmt.Errorf("%q is not the URL or the path of a repository", text)
	}
	return nil
}

// run runs git in a directory.
func run(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	g, err := git.FindGit("", dir)
	if err != nil {
		return nil, err
	}
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	all := append([]string{"--no-pager", "-c", "core.hooksPath=" + os.DevNull, "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsmonitor=false",
		"-c", "protocol.ext.allow=never", "-c", "core.fsync=none", "-c", "fetch.unpackLimit=1", "-c", "transfer.fsckObjects=false", "-c", "safe.directory=*"}, args...)
	cmd := exec.CommandContext(ctx, g.Program, all...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, stdin, time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_DIR=") || strings.HasPrefix(kv, "GIT_WORK_TREE=") || strings.HasPrefix(kv, "GIT_INDEX") || strings.HasPrefix(kv, "GIT_OBJECT") ||
			strings.HasPrefix(kv, "GIT_ALTERNATE") || strings.HasPrefix(kv, "GIT_CONFIG") || strings.HasPrefix(kv, "GIT_TRACE") || strings.HasPrefix(kv, "GIT_NAMESPACE") || strings.HasPrefix(kv, "GIT_EXEC")
	})
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_NO_REPLACE_OBJECTS=1")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, git.Clip(line))
	}
	return out.Bytes(), nil
}

// temporary makes a bare repository that is gone after remove.
func (d Depot) temporary(ctx context.Context) (dir string, remove func(), err error) {
	dir, remove, err = tempdir.New(tempdir.Tree)
	if err != nil {
		return "", nil, err
	}
	if err = d.initialize(ctx, dir); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

func (d Depot) initialize(ctx context.Context, dir string) error {
	args := []string{"init", "-q", "--bare", "--template="}
	if d.Format != "" {
		args = append(args, "--object-format="+d.Format)
	}
	_, err := run(ctx, dir, nil, append(args, dir)...)
	return err
}

// fetched returns the repository that fetched objects are in.
func (d Depot) fetched(ctx context.Context) (dir string, remove func(), err error) {
	if d.Folder == "" {
		return d.temporary(ctx)
	}
	if _, err = os.Stat(filepath.Join(d.Folder, "HEAD")); err == nil {
		return d.Folder, func() {}, nil
	}
	if err = os.MkdirAll(d.Folder, 0o700); err == nil {
		err = d.initialize(ctx, d.Folder)
	}
	return d.Folder, func() {}, err
}

// A stream is what git fast-import reads.
type stream struct{ w *bufio.Writer }

func (s *stream) begin() {
	_, _ = s.w.WriteString("commit refs/heads/sent\ncommitter dialect <dialect@localhost> 0 +0000\ndata 0\n\n") // Flush says
}

// file adds a file whose content is read from r, and returns its digest.
func (s *stream) file(mode, name string, size int64, r io.Reader) (sum [32]byte, err error) {
	if strings.HasPrefix(name, `"`) || strings.ContainsAny(name, "\n\\") {
		name = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
	}
	fmt.Fprintf(s.w, "M %s inline %s\ndata %d\n", mode, name, size)
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(s.w, h), io.LimitReader(r, size))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	_ = s.w.WriteByte('\n')
	return [32]byte(h.Sum(nil)), err
}

// send makes a commit of what write writes, and pushes it.
func (d Depot) send(ctx context.Context, ref string, write func(*stream) error) (commit string, err error) {
	if err := errors.Join(CheckRef(ref), CheckRemote(d.Remote)); err != nil {
		return "", err
	}
	dir, remove, err := d.temporary(ctx)
	if err != nil {
		return "", err
	}
	defer remove()
	pr, pw := io.Pipe()
	wrote := make(chan error, 1)
	go func() {
		s := &stream{w: bufio.NewWriterSize(pw, 1<<16)}
		s.begin()
		err := write(s)
		if err == nil {
			_, _ = s.w.WriteString("done\n")
			err = s.w.Flush()
		}
		pw.CloseWithError(err)
		wrote <- err
	}()
	_, err = run(ctx, dir, pr, "fast-import", "--quiet", "--done", "--date-format=raw")
	pr.CloseWithError(io.ErrClosedPipe)
	if failed := <-wrote; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = failed // which git only knows as the end of its input
	}
	if err != nil {
		return "", err
	}
	out, err := run(ctx, dir, nil, "rev-parse", "refs/heads/sent")
	if err != nil {
		return "", err
	}
	_, err = run(ctx, dir, nil, "push", "-q", "--no-verify", "--no-signed", "--", d.Remote, "+refs/heads/sent:"+ref)
	return strings.TrimSpace(string(out)), err
}

// A SendError says why files are not sent.
type SendError struct{ Text string }

func (e *SendError) Error() string { return e.Text }

// SendTree sends the files of a snapshot, and returns the name of their commit. Files that git does not track are sent
// with consent alone.
func (d Depot) SendTree(ctx context.Context, s *workspace.Snapshot, untracked bool, ref string) (commit string, err error) {
	if n := s.Untracked.Count; n > 0 && !untracked {
		return "", &SendError{fmt.Sprintf("%d files are not tracked by git, %s the first: they are sent with your consent alone", n, git.Display(s.Untracked.Paths[0]))}
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f := git.FormatSHA1
	if len(s.Tree) == 64 {
		f, d.Format = git.FormatSHA256, "sha256"
	}
	return d.send(ctx, ref, func(w *stream) error {
		for file := range s.Checkout(f) {
			if err := sendFile(w, root, file); err != nil {
				return err
			}
		}
		return nil
	})
}

func sendFile(w *stream, root *os.Root, file workspace.File) error {
	changed := &SendError{git.Display(file.Path) + " changed while it was sent"}
	name := filepath.FromSlash(file.Path)
	var sum [32]byte
	switch file.Kind {
	case workspace.Link:
		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		if sum, err = w.file("120000", file.Path, int64(len(target)), strings.NewReader(target)); err != nil {
			return err
		}
	case workspace.Regular, workspace.Executable:
		in, err := root.Open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		if info, err := in.Stat(); err != nil || info.Size() != file.Size || !info.Mode().IsRegular() {
			return changed
		}
		mode := "100644"
		if file.Kind == workspace.Executable {
			mode = "100755"
		}
		if sum, err = w.file(mode, file.Path, file.Size, in); err != nil {
			return err
		}
	case workspace.Repository:
		return &SendError{git.Display(file.Path) + " is a repository of its own: submodules and nested repositories are not sent"}
	default:
		return &SendError{git.Display(file.Path) + " is neither a file nor a link, and cannot be sent"}
	}
	if sum != file.SHA256 {
		return changed
	}
	return nil
}

// bodyName is the name of the only file of what [Depot.Send] sends.
const bodyName = "body"

// Send sends bytes under a ref.
func (d Depot) Send(ctx context.Context, ref string, text []byte) error {
	_, err := d.send(ctx, ref, func(w *stream) error {
		_, err := w.file("100644", bodyName, int64(len(text)), bytes.NewReader(text))
		return err
	})
	return err
}

// Fetch returns what was sent under refs, each of at most max bytes, in their order.
func (d Depot) Fetch(ctx context.Context, most int64, refs ...string) (texts [][]byte, err error) {
	args := []string{"fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=1", "--", d.Remote}
	for _, ref := range refs {
		if err := CheckRef(ref); err != nil {
			return nil, err
		}
		args = append(args, "+"+ref+":"+ref)
	}
	if err := CheckRemote(d.Remote); err != nil {
		return nil, err
	}
	dir, remove, err := d.temporary(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	if _, err := run(ctx, dir, nil, args...); err != nil {
		return nil, err
	}
	for _, ref := range refs {
		size, err := run(ctx, dir, nil, "cat-file", "-s", ref+":"+bodyName)
		if err != nil {
			return nil, err
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(size)), 10, 64); err != nil || n > most {
			return nil, fmt.Errorf("what %s has is larger than %d bytes", ref, most)
		}
		text, err := run(ctx, dir, nil, "cat-file", "blob", ref+":"+bodyName)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// Collect takes away the refs of a run, and those of all runs that began before a time. It does not matter whether some are gone already.
func (d Depot) Collect(ctx context.Context, run_ string, before time.Time) error {
	if err := CheckRemote(d.Remote); err != nil {
		return err
	}
	dir, remove, err := d.temporary(ctx)
	if err != nil {
		return err
	}
	defer remove()
	out, err := run(ctx, dir, nil, "ls-remote", "-q", "--refs", "--", d.Remote, "refs/dialect/*")
	if err != nil {
		return err
	}
	day := before.UTC().Format("20060102")
	args := []string{"push", "-q", "--no-verify", "--", d.Remote}
	first := len(args)
	for line := range strings.Lines(string(out)) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		parts := strings.Split(ref, "/")
		if CheckRef(ref) == nil && (parts[3] == run_ || parts[2] < day) {
			args = append(args, ":"+ref)
		}
	}
	for some := range slices.Chunk(args[first:], 200) {
		if _, err := run(ctx, dir, nil, append(args[:first:first], some...)...); err != nil {
			return err
		}
	}
	return nil
}

// Checkout fetches a commit of [Depot.SendTree] and writes its files below dir, which it makes, as the worktree of a
// repository of its own whose only commit it is. Who asks compares the files with their digest.
func (d Depot) Checkout(ctx context.Context, ref, commit, dir string) (err error) {
	if err := errors.Join(CheckRef(ref), CheckRemote(d.Remote)); err != nil {
		return err
	}
	cache, remove, err := d.fetched(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if _, err := run(ctx, cache, nil, "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=1", "--", d.Remote, "+"+ref+":"+ref); err != nil {
		return err
	}
	out, err := run(ctx, cache, nil, "rev-parse", "--verify", ref+"^{commit}")
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(string(out)); got != commit {
		return fmt.Errorf("%s is the commit %s, and not %s", ref, got, git.Clip(commit))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tempdir.RemoveAll(dir)
		}
	}()
	if err := d.write(ctx, cache, commit, dir); err != nil {
		return err
	}
	args := []string{"init", "-q", "--template="}
	if d.Format != "" {
		args = append(args, "--object-format="+d.Format)
	}
	for _, step := range [][]string{
		append(args, dir), {"-C", dir, "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--depth=1", "--", cache, "+" + ref + ":refs/heads/run"},
		{"-C", dir, "symbolic-ref", "HEAD", "refs/heads/run"}, {"-C", dir, "read-tree", "HEAD"},
	} {
		if _, err := run(ctx, dir, nil, step...); err != nil {
			return err
		}
	}
	return nil
}

// write writes the files of a commit below dir. Nothing is written outside of it, whatever links the commit has.
func (d Depot) write(ctx context.Context, cache, commit, dir string) error {
	list, err := run(ctx, cache, nil, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	type entry struct{ mode, name string }
	var entries []entry
	var ask bytes.Buffer
	for row := range bytes.SplitSeq(bytes.TrimSuffix(list, []byte{0}), []byte{0}) {
		head, name, ok := strings.Cut(string(row), "\t")
		words := strings.Fields(head)
		if !ok || len(words) != 3 || words[1] != "blob" || !git.ValidPath(name) {
			return fmt.Errorf("the commit has %s, which is not written", git.Display(name))
		}
		entries = append(entries, entry{words[0], name})
		ask.WriteString(words[2] + "\n")
	}
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- batch(ctx, cache, &ask, pw)
		pw.Close()
	}()
	in := bufio.NewReaderSize(pr, 1<<16)
	// Links come last: no file is written through one.
	var links []func() error
	for _, e := range entries {
		if err = writeOne(root, in, e.mode, e.name, &links); err != nil {
			break
		}
	}
	pr.CloseWithError(io.ErrClosedPipe)
	if failed := <-done; err == nil {
		err = failed
	}
	for _, link := range links {
		if err == nil {
			err = link()
		}
	}
	return err
}

// batch writes the objects that ask names to w.
func batch(ctx context.Context, dir string, ask io.Reader, w io.Writer) error {
	g, err := git.FindGit("", dir)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, g.Program, "--no-pager", "cat-file", "--batch")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.WaitDelay = dir, ask, w, time.Second
	return cmd.Run()
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
	case "120000":
		if size > 1<<16 {
			return fmt.Errorf("the link %s is too long", git.Display(name))
		}
		target := make([]byte, size)
		if _, err := io.ReadFull(in, target); err != nil {
			return err
		}
		*links = append(*links, func() error { return root.Symlink(string(target), file) })
	case "100644", "100755":
		bits := os.FileMode(0o644)
		if mode == "100755" {
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
