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
	tree, err := r.commitTree(ctx, rev)
	if err != nil {
		return nil, err
	}
	var asked []string
	var stdin bytes.Buffer
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
		fmt.Fprintf(&stdin, "%s:%s\n", tree, filepath.ToSlash(rel))
	}
	files := make(map[string][]byte, len(asked))
	if len(asked) == 0 {
		return files, nil
	}
	out, err := r.git.run(ctx, r.root, here(r.root), stdin.Bytes(), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	for _, p := range asked {
		line, rest, ok := bytes.Cut(out, []byte("\n"))
		if !ok {
			return nil, fmt.Errorf("git cat-file: the answer about %s is missing", display(p))
		}
		out = rest
		words := strings.Fields(string(line))
		if len(words) != 3 {
			continue // "NAME missing"
		}
		id, err := r.format.parse(words[0])
		n, nerr := strconv.Atoi(words[2])
		if err != nil || nerr != nil || n < 0 || n >= len(out) {
			return nil, fmt.Errorf("git cat-file: %q is no answer about %s", line, display(p))
		}
		content := out[:n]
		out = out[n+1:]
		if words[1] != "blob" {
			continue
		}
		if r.format.object("blob", content) != id {
			return nil, fmt.Errorf("%s of %s does not have the content that its name says: run git fsck", display(p), display(rev))
		}
		files[p] = content
	}
	return files, nil
}
