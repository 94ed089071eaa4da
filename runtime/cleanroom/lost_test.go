//go:build linux

package cleanroom

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeepLost has lines take files away that no commit has: to where nothing comes back from, they are not removed from the working tree, and nothing
// else comes back either. What is left somewhere may go, and so may what the run made.
func TestKeepLost(t *testing.T) {
	const lost = "whose content no commit has: commit it first, or run the line without --clean"
	for name, c := range map[string]struct {
		lines []string
		want  string // of the error of the last line
	}{
		"to an ignored folder":         {[]string{"mkdir ignored; mv dir/untracked.txt ignored/"}, "it removes dir/untracked.txt, " + lost},
		"to an ignored name":           {[]string{"mv dir/untracked.txt ignored-u"}, lost},
		"to a cache":                   {[]string{"mkdir __pycache__; mv dir/untracked.txt __pycache__/"}, lost},
		"to the home directory":        {[]string{"mv dir/untracked.txt $HOME/"}, lost},
		"to .git":                      {[]string{"mv dir/untracked.txt .git/"}, lost},
		"an edit":                      {[]string{"mv a.txt ignored-a; echo more >more.txt"}, "it removes a.txt, " + lost},
		"several":                      {[]string{"rm -r a.txt dir"}, "it removes a.txt, dir/untracked.txt, " + lost},
		"its folder, and another":      {[]string{"mv dir ignored-d; mkdir dir; echo x >dir/x"}, "it removes dir/untracked.txt, " + lost},
		"a link":                       {[]string{"rm new-link"}, "it removes new-link, " + lost},
		"a link in its place":          {[]string{"mv dir/untracked.txt ignored-u; ln -s ../a.txt dir/untracked.txt"}, lost},
		"a folder in its place":        {[]string{"mv dir/untracked.txt ignored-u; mkdir dir/untracked.txt; echo x >dir/untracked.txt/x"}, lost},
		"nothing in its place":         {[]string{"mv dir/untracked.txt ignored-u; : >dir/untracked.txt"}, lost},
		"staged":                       {[]string{"rm staged.txt"}, "it removes staged.txt, " + lost},
		"after a rename":               {[]string{"mv dir/untracked.txt u.txt", "mv u.txt ignored-u"}, "it removes u.txt, " + lost},
		"after a copy":                 {[]string{"cp dir/untracked.txt u.txt", "rm dir/untracked.txt", "rm u.txt"}, "it removes u.txt, " + lost},
		"after an edit":                {[]string{"echo more >>dir/untracked.txt", "rm dir/untracked.txt"}, lost},
		"made anew":                    {[]string{"echo x >x", "mv dir/untracked.txt x", "rm x"}, "it removes x, " + lost},
		"in a repository below":        {[]string{"rm sub/new"}, "it removes sub/new, " + lost},
		"its commit has it":            {[]string{"rm sub/s"}, ""},
		"committed":                    {[]string{"mv dir/sub ignored-sub; rm run.sh link; mkdir run.sh; echo x >run.sh/x"}, ""},
		"empty":                        {[]string{"rm empty.txt"}, ""},
		"another version":              {[]string{"echo other >new; mv new dir/untracked.txt; sed -i.ignored s/changed/is/ a.txt"}, ""},
		"cut short":                    {[]string{": >dir/untracked.txt"}, ""},
		"a new name":                   {[]string{"mv dir/untracked.txt u.txt; mv a.txt dir/sub/"}, ""},
		"a new name for a link":        {[]string{"mv new-link other-link"}, ""},
		"a copy of it":                 {[]string{"cp a.txt b.txt; chmod +x b.txt", "rm a.txt"}, ""},
		"over what a commit has":       {[]string{"mv dir/untracked.txt run.sh", "echo more >>run.sh", "rm run.sh"}, "it removes run.sh, " + lost},
		"made of what a commit has":    {[]string{"echo more >>run.sh", "rm run.sh"}, ""},
		"made in the place of another": {[]string{"mv dir/untracked.txt u.txt", "echo x >dir/untracked.txt", "rm dir/untracked.txt"}, ""},
		"made by an earlier line":      {[]string{"mkdir -p made/d; echo x >made/d/x; echo y >y", "echo z >>y; mv made ignored-made", "rm y"}, ""},
		"made, and made anew":          {[]string{"echo x >x", "rm x", "echo x >x; echo x >y", "rm x y"}, ""},
		"made, with what another has ": {[]string{"cp dir/untracked.txt u.txt", "rm u.txt"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, home(t))
			put(t, root, "empty.txt", "")
			put(t, root, "staged.txt", "staged\n")
			gitIn(t, root, "add", "staged.txt")
			put(t, root, "sub/s", "s\n")
			gitIn(t, root, "init", "-q", "sub")
			gitIn(t, root, "-C", "sub", "add", "s")
			gitIn(t, root, "-C", "sub", "commit", "-qm", "s")
			put(t, root, "sub/new", "new\n")
			if err := os.Symlink("run.sh", filepath.Join(root, "new-link")); err != nil {
				t.Fatal(err)
			}
			r := confined(t, root)
			last := len(c.lines) - 1
			for _, text := range c.lines[:last] {
				wrote(t, r, text)
			}
			const look = "find . -name .git -prune -o -type f -print -exec cat {} \\; | sort; find . -type l | sort"
			before := shell(t, root, look)
			s, res, err := in(t, r, []string{"sh", "-ec", c.lines[last]})
			if err != nil || res.ExitCode != 0 {
				t.Fatalf("%v %+v", err, res)
			}
			err = s.Keep(t.Context())
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				if shell(t, root, look) == before {
					t.Error("nothing was brought back")
				}
				return
			}
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if after := shell(t, root, look); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// Before the first commit, and without a repository, nobody has any file but the working tree.
func TestKeepLostUncommitted(t *testing.T) {
	for name, c := range map[string]struct {
		git  bool
		want string
	}{
		"no commit":     {true, "it removes a.txt, whose content no commit has: commit it first, or run the line without --clean"},
		"no repository": {false, "it removes a.txt, whose content no commit has, since there is no repository: run the line without --clean"},
	} {
		root := project(t, home(t))
		err := os.RemoveAll(filepath.Join(root, ".git"))
		if c.git {
			gitIn(t, root, "init", "-q")
		}
		r := confined(t, root)
		wrote(t, r, "echo x >x; mv a.txt b.txt; mv b.txt a.txt")
		wrote(t, r, "mv x ignored-x")
		s, res, e := in(t, r, []string{"rm", "a.txt"})
		if err = errors.Join(err, e); err != nil || res.ExitCode != 0 {
			t.Fatalf("%v %+v", err, res)
		}
		if err := s.Keep(t.Context()); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeepCommitBelow has lines write to repositories below the project: a clean checkout has nothing of a .git there, and takes none back.
func TestKeepCommitBelow(t *testing.T) {
	for text, want := range map[string]string{
		"git init -q sub":                        "it changed sub/.git/HEAD, and a commit in a clean checkout is gone with the run: run it without --clean",
		"git init -q dir/deep/new":               "it changed dir/deep/new/.git/HEAD, ",
		"rm -r dir; git init -q dir":             "it changed dir/.git/HEAD, ",
		"echo gitdir: ../x >dir/.git":            "it changed dir/.git, ",
		"git worktree add -q --detach ignored-w": "it changed .git/worktrees, ",
		"git init -q ignored/new; git init -q $HOME/new; mkdir __pycache__; git init -q __pycache__/new": "",
		"git init -q sub; rm -r sub/.git": "",
	} {
		root := project(t, home(t))
		put(t, root, "sub/s", "s\n")
		gitIn(t, root, "init", "-q", "sub")
		r := confined(t, root)
		s, res, err := in(t, r, []string{"sh", "-ec", text})
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("%s: %v %s", text, err, res.Stderr.Head)
		}
		if err := s.Keep(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
