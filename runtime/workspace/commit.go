package workspace

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// CommitFiles returns what a commit holds of files, which are given by absolute path
// and need not exist. What is not in the commit, or outside of the worktree that
// holds dir, is not in the map. rev is a commit as git names one.
func CommitFiles(ctx context.Context, dir, rev string, paths []string, o Options) (map[string][]byte, error) {
	dir, err := physical(dir)
	if err != nil {
		return nil, err
	}
	r, err := discover(ctx, o.Git, dir)
	if err != nil {
		return nil, fmt.Errorf("files of %s: %w", display(rev), err)
	}
	if strings.ContainsAny(rev, "\n\x00") {
		return nil, fmt.Errorf("%s: %w", display(rev), ErrNoCommit)
	}
	var asked []string
	var stdin bytes.Buffer
	fmt.Fprintf(&stdin, "%s^{commit}\n", rev)
	for _, p := range paths {
		// The directory is resolved, the file is not: a link is not what git holds.
		parent, err := filepath.EvalSymlinks(filepath.Dir(p))
		if err != nil {
			parent = filepath.Dir(p)
		}
		rel, ok := within(r.root, filepath.Join(parent, filepath.Base(p)))
		if !ok || strings.ContainsAny(rel, "\n\x00") {
			continue
		}
		asked = append(asked, p)
		fmt.Fprintf(&stdin, "%s:%s\n", rev, rel)
	}
	out, err := r.git.run(ctx, r.root, here(r.root), stdin.Bytes(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	answer := func(what string) (kind string, content []byte, err error) {
		line, rest, ok := bytes.Cut(out, []byte("\n"))
		if !ok {
			return "", nil, fmt.Errorf("git cat-file: the answer about %s is missing", display(what))
		}
		out = rest
		words := strings.Fields(string(line))
		if len(words) != 3 {
			return "", nil, nil // "NAME missing"
		}
		id, err := r.format.parse(words[0])
		if err != nil {
			return "", nil, nil // a name with spaces that is missing, or ambiguous
		}
		n, err := strconv.Atoi(words[2])
		if err != nil || n < 0 || n >= len(out) {
			return "", nil, fmt.Errorf("git cat-file: %q is no answer about %s", line, display(what))
		}
		content, out = out[:n], out[n+1:]
		if r.format.object(words[1], content) != id {
			return "", nil, fmt.Errorf("%s of %s does not have the content that its name says: run git fsck", display(what), display(rev))
		}
		return words[1], content, nil
	}
	switch kind, _, err := answer(rev); {
	case err != nil:
		return nil, err
	case kind != "commit":
		return nil, fmt.Errorf("%s of the repository at %s: %w", display(rev), display(r.root), ErrNoCommit)
	}
	files := make(map[string][]byte, len(asked))
	for _, p := range asked {
		kind, content, err := answer(p)
		if err != nil {
			return nil, err
		}
		if kind == "blob" {
			files[p] = content
		}
	}
	return files, nil
}
