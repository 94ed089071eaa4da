package notary

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/runtime/cleanroom"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// runGit returns what runs git apart from this process: it sees the machine without what commands are kept away from, but
// for the temporary repository that it is to work in, in the directory temp. What it says is not believed: objects are hashed here, and the files
// that count are those of the room.
func runGit(helper []string, away *cleanroom.Away, temp string) (git.Runner, error) {
	l, err := process.New(process.Options{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c git.Call) (int, error) {
		room, err := cleanroom.Masked(helper, away, temporary(temp, c)...)
		if err != nil {
			return 0, err
		}
		res := l.Run(ctx, &process.Command{
			Argv: c.Argv, Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Room: room, TailBytes: -1,
			Output: func(s process.Stream, p []byte) {
				w := c.Stdout
				if s == process.Stderr {
					w = c.Stderr
				}
				_, _ = w.Write(p) // the writer keeps in mind that it was too much
			},
		})
		switch {
		case res.Err != nil:
			return 0, res.Err
		case res.Stop != "":
			return 0, fmt.Errorf("it was ended: %s", res.Stop)
		case res.Signal != "":
			return 0, fmt.Errorf("it was ended by %s", res.Signal)
		}
		return res.ExitCode, nil
	}, nil
}

// temporary returns the temporary repositories that a call of git names.
func temporary(temp string, c git.Call) (dirs []string) {
	add := func(path string) {
		if dir, ok := tempdir.Within(temp, path, tempdir.Tree); ok && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(c.Dir)
	for _, kv := range c.Env {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			add(value)
		}
	}
	return dirs
}
