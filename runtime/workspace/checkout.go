package workspace

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A FileKind says what a checkout has at a path.
type FileKind uint8

// The kinds of file.
const (
	Regular FileKind = iota
	Executable
	Link
	Repository // a submodule or nested repository: a directory, whose files follow
	Special    // a FIFO, socket or device
)

// A File is one path of a snapshot, as a checkout of it has to have it.
type File struct {
	Path   string // from the root, with slashes
	Kind   FileKind
	Size   int64
	SHA256 [32]byte // of the content; of a link, of its target
	Target string   // of a link
	// LeavesTree says of a link why it leads out of the tree; empty if it does not.
	LeavesTree string

	// What git records for the path, in hexadecimal: ID is empty for what belongs to no tree of the
	// root's own repository. Raw says that it is of the content as it stands, and Stored that the
	// repository has it already.
	ID          string
	Raw, Stored bool
}

// Checkout yields the files of the snapshot, sorted by path.
func (s *Snapshot) Checkout(f git.ObjectFormat) iter.Seq[File] {
	return func(yield func(File) bool) {
		for _, e := range s.entries {
			file := File{Path: e.path, Size: e.size, SHA256: e.sum, Target: e.target}
			switch {
			case e.kind == kindExec:
				file.Kind = Executable
			case e.kind == kindLink:
				file.Kind = Link
				at := e.path[:max(strings.LastIndexByte(e.path, '/'), 0)]
				if _, _, _, why := s.entries.follow(at, e.target); why == leadsOutside || why == leadsFar || strings.HasPrefix(e.target, "/") {
					file.LeavesTree = leadsOutside
				}
			case e.kind == kindRepository:
				file.Kind = Repository
			case e.kind.special():
				file.Kind = Special
			}
			if e.inTree && !e.kind.special() {
				file.ID, file.Raw, file.Stored = f.Format(e.id), e.id == e.raw, e.id == e.held
			}
			if !yield(file) {
				return
			}
		}
	}
}

// A History is what a repository says of its past, for a checkout that has none of its own.
type History struct {
	Format  git.ObjectFormat
	Objects string            // the directory of the objects
	Head    string            // the commit that is checked out; empty before the first
	Branch  string            // "refs/heads/main"; empty if none is checked out
	Tags    map[string]string // full names of tags -> what they name
}

// ReadHistory asks the repository that holds dir. The error wraps [ErrNoRepository] where there is none.
func ReadHistory(ctx context.Context, dir string, o Options) (*History, error) {
	dir, err := physical(dir)
	if err != nil {
		return nil, err
	}
	r, err := git.Discover(ctx, o.Git, dir)
	if err != nil {
		return nil, err
	}
	h := &History{Format: r.Format, Objects: r.Objects, Tags: make(map[string]string)}
	type answer struct {
		out []byte
		err error
	}
	branch := make(chan answer, 1)
	go func() {
		out, err := r.Git.Run(ctx, r.Root, git.Here(r.Root), nil, "symbolic-ref", "-q", "HEAD")
		branch <- answer{out, err}
	}()
	out, err := r.Git.Run(ctx, r.Root, git.Here(r.Root), nil, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
	if err != nil {
		<-branch
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if _, err := r.Format.Parse(id); err == nil && strings.HasPrefix(name, "refs/tags/") {
			h.Tags[name] = id
		}
	}
	b := <-branch
	var failed *git.Error
	switch {
	case b.err == nil:
		if name := strings.TrimSuffix(string(b.out), "\n"); strings.HasPrefix(name, "refs/heads/") {
			h.Branch = name
		}
	case !errors.As(b.err, &failed):
		return nil, b.err
	}
	c, err := Resolve(ctx, dir, "HEAD", o)
	switch {
	case err == nil:
		h.Head = c.ID
	case !errors.Is(err, ErrNoCommit):
		return nil, err
	}
	return h, nil
}
