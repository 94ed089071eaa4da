package cleanroom

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// objectsName is the directory of .git in which the objects of the repository are seen.
const objectsName = "shared-objects"

// maxLoose bounds the files whose blobs are made for the room: what a repository does not have
// yet is small, or nobody asks git for it.
const maxLoose = 8 << 20

// dotGit makes the .git of the room: the layer of its own that commands see over the checkout.
func (r *Room) dotGit(h *workspace.History, files []workspace.File) error {
	dir := filepath.Join(r.dir, "git", ".git")
	for _, name := range []string{"refs/heads", "refs/tags", "objects/info", "objects/pack", objectsName, "info"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	objects := filepath.Join(r.snapshot.Root, ".git", objectsName)
	if r.open != "" {
		objects = h.Objects
	}
	var config bytes.Buffer
	version := 0
	if h.Format != git.FormatSHA1 {
		version = 1
	}
	// Times and inodes of an overlay are not those that the index was made with.
	fmt.Fprintf(&config, "[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = false\n\tcheckStat = minimal\n\ttrustctime = false\n", version)
	if version == 1 {
		fmt.Fprintf(&config, "[extensions]\n\tobjectformat = %s\n", h.Format)
	}
	head := "ref: " + h.Branch + "\n"
	if h.Branch == "" {
		head = h.Head + "\n"
	}
	refs := maps.Clone(h.Tags)
	if h.Branch != "" && h.Head != "" {
		refs[h.Branch] = h.Head
	}
	packed := []byte("# pack-refs with: \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		packed = fmt.Appendf(packed, "%s %s\n", refs[name], name)
	}
	index, err := r.index(h.Format, files)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"config": config.Bytes(), "HEAD": []byte(head), "packed-refs": packed, "index": index, "objects/info/alternates": []byte(objects + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	shallow, err := readShallow(filepath.Join(filepath.Dir(h.Objects), "shallow"), h.Format)
	if err == nil && shallow != nil {
		err = os.WriteFile(filepath.Join(dir, "shallow"), shallow, 0o644)
	}
	if err != nil {
		return err
	}
	for i := range files {
		f := &files[i]
		if f.ID != "" && f.Raw && !f.Stored && f.Kind != workspace.Repository && f.Size <= maxLoose {
			if err := r.loose(filepath.Join(dir, "objects"), f); err != nil {
				return err
			}
		}
	}
	if r.open == "" {
		return nil
	}
	return os.Rename(dir, filepath.Join(r.tree.dir, ".git"))
}

// maxShallow bounds the list of commits whose parents a repository does not have, in bytes.
const maxShallow = 8 << 20

// readShallow returns that list; nil for none. It goes into the room, so that nothing but such a list does: who writes the
// repository may not be able to read what this process reads.
func readShallow(file string, format git.ObjectFormat) ([]byte, error) {
	text, err := regular.ReadOwn(file, maxShallow)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the repository's list of shallow commits cannot be read: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := format.Parse(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("%s is not a list of commits", file)
		}
	}
	return text, nil
}

// loose writes the blob of a file that the repository does not have yet.
func (r *Room) loose(objects string, f *workspace.File) error {
	content := []byte(f.Target)
	if f.Kind != workspace.Link {
		var err error
		if content, err = os.ReadFile(r.tree.at(f.Path)); err != nil {
			return err
		}
	}
	name := filepath.Join(objects, f.ID[:2], f.ID[2:])
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(name); err == nil {
		return nil // of another file with the same content
	}
	return os.WriteFile(name, git.Loose("blob", content), 0o444)
}

// index returns an index of git, version 2, that holds the files with the status that they have in the
// checkout: https://git-scm.com/docs/index-format.
func (r *Room) index(format git.ObjectFormat, files []workspace.File) ([]byte, error) {
	var sum hash.Hash = sha1.New()
	if format != git.FormatSHA1 {
		sum = sha256.New()
	}
	b := append(make([]byte, 0, 12+96*len(files)), "DIRC\x00\x00\x00\x02\x00\x00\x00\x00"...)
	count := uint32(0)
	for i := range files {
		f := &files[i]
		if f.ID == "" {
			continue
		}
		count++
		start := len(b)
		var err error
		if b, err = r.tree.stat(b, i); err != nil {
			return nil, err
		}
		id, err := hex.DecodeString(f.ID)
		if err != nil {
			return nil, err
		}
		b = append(b, id...)
		b = binary.BigEndian.AppendUint16(b, uint16(min(len(f.Path), 0xfff)))
		b = append(b, f.Path...)
		b = append(b, make([]byte, 8-(len(b)-start)%8)...) // 1 to 8 bytes
	}
	binary.BigEndian.PutUint32(b[8:], count)
	sum.Write(b)
	return sum.Sum(b), nil
}

// gitMode is the mode of a file in an index.
func gitMode(k workspace.FileKind) uint32 {
	switch k {
	case workspace.Executable:
		return 0o100755
	case workspace.Link:
		return 0o120000
	case workspace.Repository:
		return 0o160000
	}
	return 0o100644
}
