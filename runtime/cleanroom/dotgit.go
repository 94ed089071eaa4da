package cleanroom

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
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

// maxBlob bounds the files whose blobs are made for the room: nobody asks git for what is larger.
const maxBlob = 8 << 20

// A view is what a .git is made of: files, and where they are.
type view struct {
	files  []workspace.File
	at     func(name string) string              // the path of the content of a file
	status func(b []byte, i int) ([]byte, error) // appends what an index says of the status of a file
	commit bool                                  // the commit that is checked out is one of these files
}

// begun is the view of the first snapshot.
func (r *Room) begun() view { return view{files: r.tree.files, at: r.tree.at, status: r.tree.stat} }

// present is the view of what the next command sees.
func (r *Room) present() view {
	v := view{files: r.now.files, at: r.shown}
	v.status = func(b []byte, i int) ([]byte, error) { return statusIn(b, v.at(v.files[i].Path), v.files[i].Kind) }
	return v
}

// dotGit makes a .git in a directory: what commands see over the checkout. In a room whose commands are kept from their asker it has nothing of the
// repository, which the asker can change: its one commit, without an author, is of the files alone.
func (r *Room) dotGit(dir string, v view) error {
	h := r.history
	dir = filepath.Join(dir, ".git")
	for _, name := range []string{"refs/heads", "refs/tags", "objects/info", "objects/pack", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	var config bytes.Buffer
	version := 0
	if h.Format != git.FormatSHA1 {
		version = 1
	}
	// Times and inodes of an overlay are not those that the index was made with. Lists that make git faster are not believed: see strays.
	fmt.Fprintf(&config, "[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = false\n\tcheckStat = minimal\n\ttrustctime = false\n\tcommitGraph = false\n\tmultiPackIndex = false\n", version)
	if version == 1 {
		fmt.Fprintf(&config, "[extensions]\n\tobjectformat = %s\n", h.Format)
	}
	index, err := r.index(h.Format, v)
	if err != nil {
		return err
	}
	commit, err := r.pack(filepath.Join(dir, "objects", "pack"), v)
	if err != nil {
		return err
	}
	refs, branch := maps.Clone(h.Tags), h.Branch
	if r.o.Apart {
		refs, branch = map[string]string{}, "refs/heads/main"
	}
	head := "ref: " + branch + "\n"
	switch {
	case branch == "":
		head = commit + "\n"
	case commit != "":
		refs[branch] = commit
	}
	packed := []byte("# pack-refs with: \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		packed = fmt.Appendf(packed, "%s %s\n", refs[name], name)
	}
	content := map[string][]byte{"config": config.Bytes(), "HEAD": []byte(head), "packed-refs": packed, "index": index}
	if !r.o.Apart {
		if content["objects/info/alternates"], err = r.alternates(dir); err != nil {
			return err
		}
		shallow, err := readShallow(filepath.Join(filepath.Dir(h.Objects), "shallow"), h.Format)
		if err != nil {
			return err
		}
		if shallow != nil {
			content["shallow"] = shallow
		}
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// alternates is what says where the objects of the repository are.
func (r *Room) alternates(dir string) ([]byte, error) {
	if r.open != "" {
		return []byte(r.history.Objects + "\n"), nil
	}
	return []byte(filepath.Join(r.snapshot.Root, ".git", objectsName) + "\n"), os.Mkdir(filepath.Join(dir, objectsName), 0o755)
}

// pack writes into a directory the objects of a view that the room has not, and returns the commit that is checked out, empty for none.
func (r *Room) pack(dir string, v view) (commit string, err error) {
	f := r.history.Format
	blobs := make(map[git.ObjectID]*workspace.File)
	for i := range v.files {
		// The blob of a file that a filter changes is not known.
		if b := &v.files[i]; b.ID != "" && b.Raw && (r.o.Apart || !b.Stored) && b.Kind != workspace.Repository && b.Size <= maxBlob {
			id, err := f.Parse(b.ID)
			if err != nil {
				return "", err
			}
			blobs[id] = b
		}
	}
	if r.o.Apart {
		has, err := r.packOfRuns(dir, v, blobs)
		if err != nil {
			return "", err
		}
		maps.DeleteFunc(blobs, func(id git.ObjectID, _ *workspace.File) bool { return has(id) })
	}
	var more []object
	if commit = r.history.Head; r.o.Apart || v.commit {
		commit, more, err = r.commitOf(v)
	}
	if err == nil && len(blobs)+len(more) > 0 {
		err = writePack(dir, f, v, blobs, more)
	}
	return commit, err
}

// An object is one of git other than a blob.
type object struct {
	kind    string
	content []byte
}

// made is when and by whom the commits of a room are made: what is in them is a function of the files.
const made = "dialect <dialect@localhost> 946684800 +0000"

// commitOf makes a commit of the files of a view, and returns its name, with the trees that it needs, each once.
func (r *Room) commitOf(v view) (commit string, objects []object, err error) {
	f := r.history.Format
	var leaves []git.Leaf
	for i := range v.files {
		if v.files[i].ID == "" {
			continue
		}
		id, err := f.Parse(v.files[i].ID)
		if err != nil {
			return "", nil, err
		}
		leaves = append(leaves, git.Leaf{Path: v.files[i].Path, Mode: fmt.Sprintf("%o", gitMode(v.files[i].Kind)), Id: id})
	}
	known := make(map[string]bool)
	tree := f.Trees(leaves, func(content []byte) {
		if text := string(content); !known[text] {
			known[text] = true
			objects = append(objects, object{"tree", []byte(text)})
		}
	})
	text := fmt.Sprintf("tree %s\n", f.Format(tree))
	if !r.o.Apart && r.history.Head != "" {
		text += fmt.Sprintf("parent %s\n", r.history.Head)
	}
	text += fmt.Sprintf("author %s\ncommitter %[1]s\n\nThe files of a clean checkout\n", made)
	return f.Format(f.Object("commit", []byte(text))), append(objects, object{"commit", []byte(text)}), nil
}

// packOfRuns puts into a directory the pack that is kept from run to run beside the checkout, and says what is in it. It is made anew where it has too little
// of what the view needs.
func (r *Room) packOfRuns(dir string, v view, blobs map[git.ObjectID]*workspace.File) (has func(git.ObjectID) bool, err error) {
	none := func(git.ObjectID) bool { return false }
	kept := filepath.Join(filepath.Dir(r.tree.dir), "objects")
	if r.unlock == nil || r.tree.dir == filepath.Join(r.dir, "tree") || os.MkdirAll(kept, 0o700) != nil {
		return none, nil // nothing is kept
	}
	f := r.history.Format
	index := func() string {
		return slices.Max(append(regular.In(kept, "pack-*.idx"), ""))
	}
	old := index()
	if has, err = f.Packed(old); err != nil {
		has = none
	}
	missing := 0
	for id := range blobs {
		if !has(id) {
			missing++
		}
	}
	const few = 64
	if missing > max(few, len(blobs)/8) {
		if err := writePack(kept, f, v, blobs, nil); err != nil {
			return nil, err
		}
		for _, suffix := range []string{".idx", ".pack"} { // runs that use it have names of their own for it
			if was, cut := strings.CutSuffix(old, ".idx"); cut {
				_ = os.Remove(was + suffix)
			}
		}
	}
	if old = index(); old == "" {
		return none, nil
	}
	if has, err = f.Packed(old); err != nil {
		return none, nil
	}
	for _, name := range []string{strings.TrimSuffix(old, ".idx") + ".pack", old} {
		if err := os.Link(name, filepath.Join(dir, filepath.Base(name))); err != nil {
			return none, nil // another run made it anew, or it is on another disk
		}
	}
	return has, nil
}

// writePack writes a pack of blobs and other objects into a directory.
func writePack(dir string, f git.ObjectFormat, v view, blobs map[git.ObjectID]*workspace.File, more []object) error {
	p, err := git.NewPack(dir, f, len(blobs)+len(more))
	if err != nil {
		return err
	}
	defer p.Discard()
	for _, o := range more {
		if _, err := p.Add(o.kind, o.content); err != nil {
			return err
		}
	}
	for id, b := range blobs {
		content := []byte(b.Target)
		if b.Kind != workspace.Link {
			if content, err = regular.ReadOwn(v.at(b.Path), maxBlob); err != nil {
				return err
			}
		}
		is, err := p.Add("blob", content)
		if err == nil && is != id {
			err = fmt.Errorf("%s changed since the snapshot was taken: run it again", b.Path)
		}
		if err != nil {
			return err
		}
	}
	_, err = p.Close()
	return err
}

// maxShallow bounds the list of commits whose parents a repository does not have, in bytes.
const maxShallow = 8 << 20

// readShallow returns that list; nil for none. The list goes into the room, so readShallow accepts nothing but such a list: the writer of
// the repository may not be allowed to read what this process can read.
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

// index returns an index of git, version 2, that holds the files of a view with their
// status: https://git-scm.com/docs/index-format.
func (r *Room) index(format git.ObjectFormat, v view) ([]byte, error) {
	files := v.files
	sum := format.New()
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
		if b, err = v.status(b, i); err != nil {
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
