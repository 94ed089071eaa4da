package policy

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
)

// Variable names the variable of the environment in which a run tells the commands that it starts what its rules are: a
// digest of each file, by its name and content, and the folder that the names are relative to. A run that a command starts
// refuses to begin where a file that decides what passes in it is not among them ([Foreign]): nobody who judges the outer run
// would see that file change.
//
// Nothing is read from a tool's words, so it does not matter how a command comes to start a run. A run that is started
// without the variable is not checked; a binding whose inner runs decide nothing sets it to the empty string.
const Variable = "DIALECT_RULES"

// maxOuter bounds how many files are handed on: an environment has room for so many.
const maxOuter = 1024

// cut stands in the value for the files that found no room.
const cut = "+"

// Outer returns the value of [Variable] for the commands of a run under m, which see the folder of m as root.
func Outer(m plan.Matrix, root string) string {
	var sums []string
	for i := range m.Files {
		f := &m.Files[i]
		if f.Absent || f.Problem != "" {
			continue
		}
		if len(sums) == maxOuter {
			sums = append(sums, cut)
			break
		}
		name, err := filepath.Rel(m.Root, f.Path)
		if err != nil {
			name = f.Path
		}
		sums = append(sums, sumOf(name, f.SHA256))
	}
	return strings.Join(sums, ",") + ":" + root
}

// sumOf is SHA-256 of the name with slashes, a zero byte and the digest of the content.
func sumOf(name string, content [32]byte) string {
	sum := sha256.Sum256(append([]byte(filepath.ToSlash(name)+"\x00"), content[:]...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Foreign returns which files that decide what a run of s under m comes to are not among the rules of the run around it, as
// value of [Variable] hands them on. They are named relative to root, the folder of the outer matrix. An empty value is
// that of no run. The error is that the value cannot be read, or that the script has no name that could be among them.
func Foreign(value string, m plan.Matrix, s plan.Script) (names []string, root string, err error) {
	if value == "" {
		return nil, "", nil
	}
	list, root, ok := strings.Cut(value, ":")
	if !ok || !filepath.IsAbs(root) {
		return nil, "", fmt.Errorf("%s has no form that a run gives it", Variable)
	}
	sums := strings.Split(list, ",")
	check := func(path string, content [32]byte) {
		outer := relatives(root, path)
		if slices.ContainsFunc(outer, func(name string) bool { return slices.Contains(sums, sumOf(name, content)) }) {
			return
		}
		if name := filepath.ToSlash(outer[0]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range m.Files {
		if f := &m.Files[i]; !f.Absent {
			check(f.Path, f.SHA256)
		}
	}
	switch {
	case s.Path != "":
		var content [32]byte
		if n, err := hex.Decode(content[:], []byte(s.SHA256)); err != nil || n != len(content) {
			return nil, root, fmt.Errorf("the digest %q of the script cannot be read", s.SHA256)
		}
		check(s.Path, content)
	case s.Name == "-":
		return nil, root, fmt.Errorf("the script comes from standard input, and the rules of the run around this one, of %s, can name a file alone", root)
	}
	if len(names) > 0 && sums[len(sums)-1] == cut {
		return nil, root, fmt.Errorf("the rules of the run around this one, of %s, are more than %d files: whether %s is among them is not known", root, maxOuter, names[0])
	}
	return names, root, nil
}

// relatives returns how a path is named from a folder: as the two are written and, where links lead there, as they are.
func relatives(root, path string) (names []string) {
	if name, err := filepath.Rel(root, path); err == nil {
		names = append(names, name)
	}
	real, err := filepath.EvalSymlinks(root)
	dir, derr := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil && derr == nil {
		if name, err := filepath.Rel(real, filepath.Join(dir, filepath.Base(path))); err == nil && !slices.Contains(names, name) {
			names = append([]string{name}, names...)
		}
	}
	if len(names) == 0 {
		names = []string{path}
	}
	return names
}
