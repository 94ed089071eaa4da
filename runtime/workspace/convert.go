package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/runtime/tempdir"
	"github.com/command-dialect/dialect/runtime/workspace/git"
	"github.com/command-dialect/dialect/runtime/workspace/ignore"
)

// Between a file and the blob that git makes of it stand conversions: line ends,
// $Id$, encodings, and filters such as LFS. Which of them apply, attributes and
// configuration say. Nearly always none changes anything, and that is decided
// here, from what the walk saw in the content; for the files that remain git
// itself is asked, in a temporary repository beside the real one. It borrows the
// objects of the real one and has an index of its own, without stat data, so that
// git reads every file. There is nothing in it but the configuration that a
// conversion needs: no info/attributes, no hooks.

// attributeNames are those that decide a conversion, in the order of attributes.
var attributeNames = []string{"text", "crlf", "eol", "filter", "ident", "working-tree-encoding"}

// attributes are the values of attributeNames for a path: "unspecified", "set",
// "unset" or a word.
type attributes [6]string

const (
	attrText = iota
	attrCRLF
	attrEOL
	attrFilter
	attrIdent
	attrEncoding
)

// converts reports whether git's conversion of a file of these attributes and
// traits could be anything but the file itself.
func converts(c *git.Config, a *attributes, t traits) bool {
	switch {
	case !plain(a[attrFilter]) && c.Filters[a[attrFilter]], !plain(a[attrEncoding]):
		return true
	case !plain(a[attrIdent]) && t&hasDollar != 0:
		return true
	case t&hasCR == 0 || a[attrText] == "unset":
		return false
	case a[attrText] == "auto":
		return t&hasNUL == 0 // a NUL makes it binary
	case a[attrText] == "unspecified" && plain(a[attrCRLF]) && plain(a[attrEOL]):
		return c.Convert && a[attrCRLF] != "unset" && t&hasNUL == 0
	}
	return true
}

// plain reports whether an attribute of that value asks for nothing.
func plain(v string) bool { return v == "unspecified" || v == "unset" }

// unspecified are the attributes of a file that no line of attributes is about.
func unspecified() (a attributes) {
	for i := range a {
		a[i] = "unspecified"
	}
	return a
}

// A conversion is what the blob of one file depends on.
type conversion struct {
	path    string
	kind    kind
	sum     [sha256.Size]byte
	indexed git.ObjectID // text=auto looks whether the blob in the index has a CR
	attrs   attributes
}

// A converter knows what git made of files. What it remembers it may use as long
// as the settings are the same.
type converter struct {
	settings [sha256.Size]byte // of the attributes files and the configuration
	attrs    map[string]attributes
	blobs    map[conversion]git.ObjectID
	doubted  map[string]string // why what git said of the attributes of a file is not believed
}

// convert gives the entries the names of the blobs that git would make of them. What
// git said before an error is forgotten.
func (v *converter) convert(ctx context.Context, r *git.Repository, c *git.Config, idx *git.Index, w *walk) error {
	err := v.ask(ctx, r, c, idx, w)
	if err != nil {
		*v = converter{}
	}
	return err
}

func (v *converter) ask(ctx context.Context, r *git.Repository, c *git.Config, idx *git.Index, w *walk) error {
	// An attributes file that a sparse checkout left out counts as in the index.
	var mentions [len(attributes{})]bool
	absent := w.absentAttributes(idx, c)
	for i, name := range attributeNames {
		mentions[i] = len(absent) > 0
		for _, content := range w.attributes {
			mentions[i] = mentions[i] || bytes.Contains(content, []byte(name))
		}
	}
	// A driver that is not configured converts nothing.
	if mentions[attrFilter] && c.Refused != "" {
		return fmt.Errorf("the repository belongs to another user, or is not trusted here, and filter.%s is not run", git.Display(c.Refused))
	}
	pointers := mentions[attrFilter]
	mentions[attrFilter] = mentions[attrFilter] && len(c.Filters) > 0
	crlf := false // a checkout may end lines otherwise than the tree does
	for _, content := range w.attributes {
		crlf = crlf || bytes.Contains(content, []byte("eol=crlf"))
	}
	v.reset(w, c, absent)
	attributed := len(absent) > 0 || len(w.attributes) > 0
	if !attributed && !c.Convert {
		return nil
	}
	var files []*entry
	for _, e := range w.entries {
		if !e.inTree || !e.kind.regular() {
			continue
		}
		if e.traits&hasCR != 0 || mentions[attrFilter] || mentions[attrEncoding] || mentions[attrIdent] && e.traits&hasDollar != 0 ||
			crlf && e.traits&hasLoneLF != 0 || pointers && e.traits&isPointer != 0 {
			files = append(files, e)
		}
	}
	if len(files) == 0 {
		return nil
	}
	t := temporary{repo: r, walk: w}
	defer t.remove()
	if attributed {
		if err := v.lookUp(ctx, &t, c, idx, absent, files); err != nil {
			return err
		}
	}
	asked := t.dir != "" // git has read the attributes files after us
	var ask []*entry
	for _, e := range files {
		k := v.key(e, idx)
		if !converts(c, &k.attrs, e.traits) {
			continue
		}
		if id, ok := v.blobs[k]; ok {
			e.id = id
			continue
		}
		ask = append(ask, e)
	}
	if len(ask) == 0 && !asked {
		return nil
	}
	if len(ask) > 0 {
		if err := t.add(ctx, c, idx, absent, ask); err != nil {
			return err
		}
	}
	d, err := openRoot(r.Root)
	if err != nil {
		return err
	}
	defer d.release()
	for _, e := range ask {
		if err := v.own(ctx, d, w.format, c, v.key(e, idx).attrs, e); err != nil {
			return err
		}
	}
	for path := range w.attributes {
		e := w.find(path)
		if e == nil {
			continue // no commit holds it, and nothing is exact
		}
		if st, err := d.lstat(path); err != nil || st != e.status {
			return &Error{Path: path, Err: errChanged}
		}
	}
	for _, e := range ask {
		// Git read the file after us: it must still be the one that we read.
		if st, err := d.lstat(e.path); err != nil || st != e.status {
			return &Error{Path: e.path, Err: errChanged}
		}
		v.blobs[v.key(e, idx)] = e.id
	}
	return nil
}

func (v *converter) key(e *entry, idx *git.Index) conversion {
	a, ok := v.attrs[e.path]
	if !ok {
		a = unspecified()
	}
	c := conversion{path: e.path, kind: e.kind, sum: e.sum, attrs: a}
	if held := idx.Find(e.path, nil); held != nil {
		c.indexed = held.Id
	}
	return c
}

// reset forgets what was learnt under other settings.
func (v *converter) reset(w *walk, c *git.Config, absent map[string]git.ObjectID) {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, path := range slices.Sorted(maps.Keys(w.attributes)) {
		put(path)
		put(string(w.attributes[path]))
	}
	for _, path := range slices.Sorted(maps.Keys(absent)) {
		id := absent[path]
		put(path)
		put(string(id[:]))
	}
	for _, s := range c.Text {
		put(s.Key)
		put(s.Value)
	}
	var sum [sha256.Size]byte
	if h.Sum(sum[:0]); sum != v.settings || v.attrs == nil {
		*v = converter{settings: sum, attrs: make(map[string]attributes), blobs: make(map[conversion]git.ObjectID), doubted: make(map[string]string)}
	}
}

// absentAttributes are the attributes files that a sparse checkout left out.
func (w *walk) absentAttributes(idx *git.Index, c *git.Config) map[string]git.ObjectID {
	absent := make(map[string]git.ObjectID)
	if !c.Sparse {
		return absent
	}
	for _, e := range idx.All() {
		path := e.Path
		if e.SkipWorktree && e.Stage == 0 && (path == ".gitattributes" || strings.HasSuffix(path, "/.gitattributes")) {
			if _, present := w.attributes[path]; !present {
				absent[path] = e.Id
			}
		}
	}
	return absent
}

// lookUp asks git for the attributes of the files that it was not asked for yet.
func (v *converter) lookUp(ctx context.Context, t *temporary, c *git.Config, idx *git.Index, absent map[string]git.ObjectID, files []*entry) error {
	files = slices.DeleteFunc(slices.Clone(files), func(e *entry) bool { _, ok := v.attrs[e.path]; return ok })
	if len(files) == 0 {
		return nil
	}
	var in []byte
	for _, e := range files {
		in = append(append(in, e.path...), 0)
	}
	if len(absent) > 0 {
		if err := t.readIndex(ctx, c, idx, absent); err != nil {
			return err
		}
	}
	out, err := t.git(ctx, c, in, append([]string{"check-attr", "-z", "--stdin"}, attributeNames...)...)
	if err != nil {
		return err
	}
	if err := parseAttributes(out, v.attrs); err != nil {
		return err
	}
	if len(absent) > 0 {
		return nil // of these git has read more than the walk, and no tree is exact
	}
	return v.doubt(t.walk, files)
}

// doubt compares what git said of attributes with the attributes files that were read: who runs as this user can write into the repository in which
// git was asked.
func (v *converter) doubt(w *walk, files []*entry) error {
	own := ignore.ParseAttributes(w.attributes)
	for _, e := range files {
		values, err := own.Of(w.matches, e.path)
		if err != nil {
			return err
		}
		want := unspecified()
		for i, name := range attributeNames {
			if value, ok := values[name]; ok {
				want[i] = value
			}
		}
		switch {
		case slices.ContainsFunc(want[:], func(value string) bool { return strings.HasPrefix(value, "=") }):
			v.doubted[e.path] = "an attribute has the value set, unset or unspecified, which git prints like a state: use another word"
		case want != v.attrs[e.path]:
			v.doubted[e.path] = "git's answer about its attributes differs from the .gitattributes files that were read"
		}
	}
	return nil
}

// own makes sure that a blob without a filter, another encoding or $Id$ is of the content of e that was read, as it is or with each CR LF as LF: git has
// named it in a repository into which who runs as this user can write.
func (v *converter) own(ctx context.Context, root *folder, f git.ObjectFormat, c *git.Config, a attributes, e *entry) error {
	if e.id == e.raw || !plain(a[attrFilter]) && c.Filters[a[attrFilter]] || !plain(a[attrEncoding]) || !plain(a[attrIdent]) && e.traits&hasDollar != 0 {
		return nil
	}
	count := ends{to: io.Discard}
	if err := cmp.Or(e.copy(ctx, root, &count), count.end()); err != nil {
		return err
	}
	h := f.New()
	fmt.Fprintf(h, "blob %d\x00", count.n)
	blob := ends{to: h}
	if err := cmp.Or(e.copy(ctx, root, &blob), blob.end()); err != nil {
		return err
	}
	var id git.ObjectID
	if h.Sum(id[:0]); e.id != id {
		return &Error{Path: e.path, Err: errChanged}
	}
	return nil
}

// An ends hands on what is written to it, with each CR LF as LF, and counts that.
type ends struct {
	to io.Writer
	n  int64
	cr bool // the last byte was a CR, which is not handed on yet
}

func (x *ends) end() error {
	if !x.cr {
		return nil
	}
	x.cr, x.n = false, x.n+1
	_, err := x.to.Write([]byte{'\r'})
	return err
}

func (x *ends) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+1)
	for _, b := range p {
		if x.cr && b != '\n' {
			out = append(out, '\r')
		}
		if x.cr = b == '\r'; !x.cr {
			out = append(out, b)
		}
	}
	x.n += int64(len(out))
	_, err := x.to.Write(out)
	return len(p), err
}

// parseAttributes reads the output of git check-attr -z for attributeNames: path,
// attribute and value, each ended by NUL.
func parseAttributes(out []byte, into map[string]attributes) error {
	fields := strings.Split(string(out), "\x00")
	if len(fields)%3 != 1 || fields[len(fields)-1] != "" {
		return errors.New("git check-attr: its answer is cut short")
	}
	for ; len(fields) > 1; fields = fields[3*len(attributeNames):] {
		if len(fields) < 3*len(attributeNames) {
			return errors.New("git check-attr: its answer is cut short")
		}
		var a attributes
		for i, name := range attributeNames {
			if f := fields[3*i:]; f[0] != fields[0] || f[1] != name {
				return fmt.Errorf("git check-attr: answered %q where %q of %s was asked for", git.Clip(f[1]), name, git.Display(fields[0]))
			}
			a[i] = fields[3*i+2]
		}
		into[fields[0]] = a
	}
	return nil
}

// A temporary repository, made when first needed.
type temporary struct {
	repo    *git.Repository
	walk    *walk
	dir     string
	drop    func() // removes dir; nil without one
	indexed bool
	// work is a working tree of its own, with what the walk has read; empty for the real one. A process that has git run apart has to
	// do with somebody who can exchange directories of the real one while git reads, and back.
	work string
}

func (t *temporary) remove() {
	if t.drop != nil {
		t.drop()
	}
}

func (t *temporary) make(c *git.Config) error {
	if t.dir != "" {
		return nil
	}
	dir, drop, err := tempdir.New(tempdir.Tree)
	if err != nil {
		return err
	}
	t.dir, t.drop = dir, drop
	var b bytes.Buffer
	b.WriteString("[core]\n\tbare = false\n\trepositoryformatversion = 1\n[extensions]\n")
	if t.repo.Format == git.FormatSHA256 {
		b.WriteString("\tobjectformat = sha256\n")
	}
	c.Write(&b)
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(t.repo.Objects)
	for _, sub := range []string{"objects/info", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o700); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{
		"HEAD":                    "ref: refs/heads/none\n",
		"config":                  b.String(),
		"objects/info/alternates": `"` + quoted + `"` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if !t.repo.Git.Apart() {
		return nil
	}
	t.work = filepath.Join(dir, "work")
	if err := os.Mkdir(t.work, 0o700); err != nil {
		return err
	}
	for path, content := range t.walk.attributes {
		to, err := t.place(path)
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place returns where a file is in the working tree of its own, in a directory that is there.
func (t *temporary) place(path string) (string, error) {
	to := filepath.Join(t.work, filepath.FromSlash(path))
	return to, os.MkdirAll(filepath.Dir(to), 0o700)
}

// copy writes files into the working tree of its own, with the content that the walk has read.
func (t *temporary) copy(ctx context.Context, files []*entry) error {
	root, err := openRoot(t.repo.Root)
	if err != nil {
		return err
	}
	defer root.release()
	for _, e := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		to, err := t.place(e.path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err == nil {
			err = errors.Join(e.copy(ctx, root, f), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copy writes the content of a file below an open directory. The error is of the entry where that is not what was read.
func (e *entry) copy(ctx context.Context, root *folder, to io.Writer) error {
	changed := &Error{Path: e.path, Err: errChanged}
	d := root
	d.retain()
	defer func() { d.release() }()
	names := strings.Split(e.path, "/")
	for _, name := range names[:len(names)-1] {
		sub, err := d.sub(name)
		if err != nil {
			return changed
		}
		d.release()
		d = sub
	}
	h, err := d.open(names[len(names)-1])
	if err != nil {
		return changed
	}
	defer h.close()
	sum, buf := sha256.New(), make([]byte, 64<<10)
	for at := int64(0); at <= e.size; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := h.read(buf)
		if err != nil {
			return changed
		}
		if n == 0 {
			break
		}
		at += int64(n)
		sum.Write(buf[:n])
		if _, err := to.Write(buf[:n]); err != nil {
			return err
		}
	}
	if [sha256.Size]byte(sum.Sum(nil)) != e.sum {
		return changed
	}
	return nil
}

func (t *temporary) git(ctx context.Context, c *git.Config, stdin []byte, args ...string) ([]byte, error) {
	if err := t.make(c); err != nil {
		return nil, err
	}
	tree := cmp.Or(t.work, t.repo.Root)
	return t.repo.Git.Run(ctx, tree, []string{"GIT_DIR=" + t.dir, "GIT_WORK_TREE=" + tree}, stdin, args...)
}

// readIndex fills the index with what the real one has, except attributes files
// that are gone: git would take those from the index otherwise.
func (t *temporary) readIndex(ctx context.Context, c *git.Config, idx *git.Index, absent map[string]git.ObjectID) error {
	if t.indexed {
		return nil
	}
	var in bytes.Buffer
	for _, e := range idx.All() {
		path := e.Path
		if e.Stage != 0 {
			continue
		}
		if path == ".gitattributes" || strings.HasSuffix(path, "/.gitattributes") {
			if _, ok := absent[path]; !ok {
				continue
			}
		}
		fmt.Fprintf(&in, "%s %s 0\t%s\x00", e.Mode, t.repo.Format.Format(e.Id), path)
	}
	t.indexed = true
	if in.Len() == 0 {
		return nil
	}
	_, err := t.git(ctx, c, in.Bytes(), "update-index", "-z", "--index-info")
	return err
}

// add has git make blobs of the files, and notes their names.
func (t *temporary) add(ctx context.Context, c *git.Config, idx *git.Index, absent map[string]git.ObjectID, files []*entry) error {
	if err := t.make(c); err != nil {
		return err
	}
	if err := t.readIndex(ctx, c, idx, absent); err != nil {
		return err
	}
	var in []byte
	for _, e := range files {
		in = append(append(in, e.path...), 0)
	}
	if t.work != "" {
		if err := t.copy(ctx, files); err != nil {
			return err
		}
	}
	if _, err := t.git(ctx, c, in, "update-index", "--add", "--replace", "-z", "--stdin"); err != nil {
		return err
	}
	out, err := t.git(ctx, c, nil, "ls-files", "--stage", "-v", "-z")
	if err != nil {
		return err
	}
	made, err := git.ParseIndex(out, t.repo.Format)
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b *entry) int { return cmp.Compare(a.path, b.path) })
	for _, e := range files {
		m := made.Find(e.path, nil)
		if m == nil {
			return &Error{Path: e.path, Err: errChanged}
		}
		e.id = m.Id
	}
	return nil
}
