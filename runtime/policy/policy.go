// Package policy says what the verifying side trusts: the routing matrix, with all
// that it extends and the files that its bindings pin, as they are in a commit or as
// somebody has pinned them. In come the paths of those files; out comes what differs.
// The package runs nothing and judges no receipt.
//
// # The yardstick
//
// In this order: the revision that is asked for; the pin that this user has made for
// the project ([Pin]); the commit HEAD, which is weak, since who can edit a file can
// commit it too; nothing, where there is no repository.
//
// A pin is a file in the configuration of whoever verifies, beside the project and
// not in it: <config>/dialect/trust/<project>.json. It holds the content of the files,
// so that what changed can be shown. Whoever can write there can pin; it is worth
// what the separation of the two users is worth.
package policy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// maxFile bounds a file of a policy, in bytes.
const maxFile = 16 << 20

// A State is how the present policy stands to the yardstick.
type State struct {
	// Against names the yardstick for people: "main", "HEAD", "the pin of 2026-11-20";
	// empty if there is none.
	Against string
	// Pinned says that whoever verifies chose the yardstick.
	Pinned  bool
	Changes []Change
	Unknown string // why what is there could not be held against it; empty if it was
}

// A Change is a file that is not as the yardstick has it.
type Change struct {
	Path     string // as it is named in messages, relative to the root of the matrix
	Old, New []byte // nil if it is not there
}

// Name is the policy in the words of a gate receipt.
func (s State) Name() string {
	switch {
	case len(s.Changes) > 0, s.Unknown != "":
		return receipts.PolicyChanged
	case s.Pinned:
		return receipts.PolicyPinned
	}
	return receipts.PolicyUnpinned
}

// Complaint says what is not as the yardstick has it; empty if all is.
func (s State) Complaint() string {
	if s.Unknown != "" {
		return fmt.Sprintf("the matrix cannot be held against %s: %s", s.Against, s.Unknown)
	}
	if len(s.Changes) == 0 {
		return ""
	}
	var what []string
	for _, c := range s.Changes {
		switch {
		case c.Old == nil:
			what = append(what, c.Path+" is not in it")
		case c.New == nil:
			what = append(what, c.Path+" is gone")
		default:
			what = append(what, c.Path+" differs")
		}
	}
	return fmt.Sprintf("the matrix is not that of %s: %s", s.Against, strings.Join(what, ", "))
}

// Files returns the files that make up the policy of a matrix, by absolute path.
func Files(m plan.Matrix) []string {
	files := slices.Concat(m.Files, m.Pins)
	slices.Sort(files)
	return slices.Compact(files)
}

// Check holds the policy of a matrix against its yardstick: the commit base, or, if
// that is empty, the pin of the user, or HEAD. Only a base that cannot be read is an
// error.
func Check(ctx context.Context, m plan.Matrix, base string) (State, error) {
	files := Files(m)
	if base == "" {
		pin, err := Load(m.Root)
		if err != nil {
			return State{}, err
		}
		if pin != nil {
			s := State{Against: "the pin of " + pin.At.Format(time.DateOnly), Pinned: true}
			old := make(map[string][]byte)
			for _, f := range pin.Files {
				old[filepath.Join(m.Root, filepath.FromSlash(f.Path))] = f.Content
				files = append(files, filepath.Join(m.Root, filepath.FromSlash(f.Path)))
			}
			slices.Sort(files)
			s.Changes = compare(m.Root, slices.Compact(files), old)
			return s, nil
		}
	}
	s := State{Against: base, Pinned: base != ""}
	if base == "" {
		s.Against = "HEAD"
	}
	old, err := workspace.CommitFiles(ctx, m.Root, s.Against, files, workspace.Options{})
	if err != nil {
		switch {
		case base != "":
			return State{}, err
		case errors.Is(err, workspace.ErrNoRepository), errors.Is(err, workspace.ErrNoCommit):
			return State{}, nil // there is no yardstick
		}
		s.Unknown = err.Error() // who breaks git must not get off the yardstick
		return s, nil
	}
	s.Changes = compare(m.Root, files, old)
	return s, nil
}

// compare holds files against what they were.
func compare(root string, files []string, old map[string][]byte) []Change {
	var list []Change
	for _, f := range files {
		was, had := old[f]
		now, err := read(f)
		switch {
		case err == nil && had && bytes.Equal(was, now):
			continue
		case err != nil:
			now = nil
			if !had {
				continue // a pin of a file that is nowhere
			}
		case now == nil:
			now = []byte{}
		}
		if had && was == nil {
			was = []byte{}
		}
		list = append(list, Change{Path: name(root, f), Old: was, New: now})
	}
	return list
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no file of at most %d MiB", path, maxFile>>20)
	}
	return os.ReadFile(path)
}

// name is the name of a file in messages and pins.
func name(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// A Pin is a policy that a user trusts.
type Pin struct {
	Root   string        `json:"root"`
	At     time.Time     `json:"at"`
	Matrix receipts.Hash `json:"matrix"`
	Files  []File        `json:"files"`
}

// A File is a file of a pin.
type File struct {
	Path    string `json:"path"` // relative to Root, with slashes
	Content []byte `json:"content"`
}

// SHA256 is the digest of the content.
func (f File) SHA256() receipts.Hash { return sha256.Sum256(f.Content) }

// New makes the pin of a matrix as it is now.
func New(m plan.Matrix, at time.Time) (*Pin, error) {
	p := &Pin{Root: m.Root, At: at.UTC().Truncate(time.Second)}
	var err error
	if p.Matrix, err = receipts.ParseHash(m.SHA256); err != nil {
		return nil, err
	}
	for _, f := range Files(m) {
		text, err := read(f)
		if errors.Is(err, fs.ErrNotExist) && slices.Contains(m.Pins, f) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, File{name(m.Root, f), text})
	}
	return p, nil
}

// path is where the pin of the project at root is kept.
func path(root string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no directory for pins: %w", err)
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, "dialect", "trust", hex.EncodeToString(sum[:8])+".json"), nil
}

// Load returns the pin of the project at root; nil if there is none.
func Load(root string) (*Pin, error) {
	file, err := path(root)
	if err != nil {
		return nil, nil // without a home nobody has pinned anything
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := new(Pin)
	if err := json.Unmarshal(b, p); err != nil || p.Root != root {
		return nil, fmt.Errorf("the pin %s is damaged; `dialect trust` makes it anew", file)
	}
	return p, nil
}

// Save keeps p and returns the file that it is in.
func (p *Pin) Save() (string, error) {
	file, err := path(p.Root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".pin-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(append(b, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	return file, err
}

// Remove removes the pin of the project at root, and reports whether there was one.
func Remove(root string) (bool, error) {
	file, err := path(root)
	if err != nil {
		return false, err
	}
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
