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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Depot is a repository that several machines reach.
type Depot struct {
	Remote string // its URL, or the path of a bare repository
	Format string // of objects: "sha1", "sha256"; empty for git's own
}

// patience bounds one call of git.
const patience = 5 * time.Minute

// mostSaid bounds what git says in one call, in bytes: a list of a million files, above all.
const mostSaid = 256 << 20

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

// reaching are the beginnings of those variables of git that say how a remote is reached.
var reaching = []string{"GIT_SSH", "GIT_ASKPASS=", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_", "GIT_ALLOW_PROTOCOL=", "GIT_PROTOCOL"}

// command is a call of git in a directory. Of the user's configuration and environment it takes how the remote is reached: other variables
// of git, such as those of a hook that dialect runs in, would lead it into another repository.
func command(ctx context.Context, dir string, args ...string) (*exec.Cmd, error) {
	g, err := git.FindGit(dir)
	if err != nil {
		return nil, err
	}
	all := append([]string{"--no-pager", "-c", "core.hooksPath=" + os.DevNull, "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsmonitor=false",
		"-c", "protocol.ext.allow=never", "-c", "core.fsync=none", "-c", "fetch.unpackLimit=1", "-c", "transfer.fsckObjects=false", "-c", "safe.directory=*"}, args...)
	cmd := exec.CommandContext(ctx, g.Program, all...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") && !slices.ContainsFunc(reaching, func(name string) bool { return strings.HasPrefix(kv, name) })
	})
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_NO_REPLACE_OBJECTS=1")
	return cmd, nil
}

// run runs git in a directory.
func run(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	cmd, err := command(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	out, complaint := git.Output{Most: mostSaid}, bytes.Buffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &complaint
	err = git.RunGroup(cmd)
	if out.Cut {
		return nil, fmt.Errorf("git %s: it says more than %d MiB", args[0], mostSaid>>20)
	}
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, git.Clip(line))
	}
	return out.Kept.Bytes(), nil
}

// temporary makes a repository that is gone after remove.
func (d Depot) temporary() (dir string, remove func(), err error) {
	dir, remove, err = tempdir.New(tempdir.Tree)
	if err != nil {
		return "", nil, err
	}
	if err = layOut(dir, d.format(), true); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
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
	dir, remove, err := d.temporary()
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
	text, err := os.ReadFile(filepath.Join(dir, "refs", "heads", "sent"))
	if err != nil {
		return "", err
	}
	commit = strings.TrimSpace(string(text))
	return commit, d.push(ctx, dir, "+"+commit+":"+ref)
}

func (d Depot) push(ctx context.Context, dir string, refs ...string) error {
	_, err := run(ctx, dir, nil, append([]string{"push", "-q", "--no-verify", "--no-signed", "--", d.Remote}, refs...)...)
	return err
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
	root, err := s.Open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	f := git.FormatOf(s.Tree)
	d.Format = string(f)
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
		if sum, err = w.file(git.ModeLink, file.Path, int64(len(target)), strings.NewReader(target)); err != nil {
			return err
		}
	case workspace.Regular, workspace.Executable:
		in, err := root.OpenFile(name, os.O_RDONLY|regular.OwnFlags, 0) // somebody may have put a FIFO there
		if err != nil {
			return err
		}
		defer in.Close()
		if info, err := in.Stat(); err != nil || info.Size() != file.Size || !info.Mode().IsRegular() {
			return changed
		}
		mode := git.ModeFile
		if file.Kind == workspace.Executable {
			mode = git.ModeExec
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

// Collect takes away the refs of a run, and those of all runs that began before a time. It does not matter whether some are gone already.
func (d Depot) Collect(ctx context.Context, run_ string, before time.Time) error {
	if err := CheckRemote(d.Remote); err != nil {
		return err
	}
	dir, remove, err := d.temporary()
	if err != nil {
		return err
	}
	defer remove()
	out, err := run(ctx, dir, nil, "ls-remote", "-q", "--refs", "--", d.Remote, "refs/dialect/*")
	if err != nil {
		return err
	}
	day := before.UTC().Format("20060102")
	var gone []string
	for line := range strings.Lines(string(out)) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		parts := strings.Split(ref, "/")
		if CheckRef(ref) == nil && (parts[3] == run_ || parts[2] < day) {
			gone = append(gone, ":"+ref)
		}
	}
	for some := range slices.Chunk(gone, 200) {
		if err := d.push(ctx, dir, some...); err != nil {
			return err
		}
	}
	return nil
}
