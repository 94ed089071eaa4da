package workspace

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/command-dialect/dialect/runtime/workspace/git"
	"github.com/command-dialect/dialect/runtime/workspace/ignore"
)

// A snapshot is exact if a fresh clone of a commit of its Tree, submodules and LFS
// included, has the same Bytes. This file decides that from what the walk has read;
// it reads nothing again and asks git nothing.
//
// The clone is one on Unix, by a git without configuration of its own: only the
// attributes files of the tree convert there. So a file is exact if its blob is its
// content and no such attribute changes the blob on checkout, or if eol=crlf of
// those attributes turns the blob back into the content, or if the blob is the LFS
// pointer to the content. Where this is not certain the answer is no.

// A Difference is a path of which a clone of Tree would have something else, or
// nothing.
type Difference struct {
	Path string // from the root, with slashes
	Why  string // "a FIFO: no commit holds it"
}

func (d Difference) String() string { return git.Display(d.Path) + ": " + d.Why }

// Differences is a list of them, cut after the first hundred.
type Differences struct {
	List  []Difference // sorted by path
	Count int          // of all
}

// Why a clone lacks what neither Tree nor Bytes has.
const (
	unstored  = "no commit holds a file of that name"
	nestedWhy = "a nested repository"
	remedy    = " that stood there before the run: a clone lacks it; remove it, or ignore it in a tracked .gitignore"
	byMatrix  = ", or name it in `caches` of routing.toml"
)

// exact fills in Exact, Beyond and Stored of a snapshot that has a Tree.
func (w *walk) exact(s *Snapshot, v *converter, c *git.Config) error {
	var all []Difference
	say := func(path, why string) { all = append(all, Difference{path, why}) }

	for path, content := range w.rules {
		if len(content) >= ignore.MaxFile {
			say(path, "rules of that size are not read: make it smaller than 16 MiB")
		}
	}
	for path, content := range w.attributes {
		switch e := w.find(path); {
		case e == nil || !e.inTree:
			say(path, "attributes that no commit will hold: track the file")
		case oddAttributes(content) != "":
			say(path, "attributes with "+oddAttributes(content)+": a checkout may read them otherwise")
		}
	}
	config := w.find(".lfsconfig")
	fetches := config == nil || config.kind.regular() && config.id == config.raw && lfsFetches(w.rules[".lfsconfig"])
	if w.written.Load() {
		say(w.writing, "it is written while the run goes on: ignore it in a tracked .gitignore, or write it elsewhere")
	}
	for path, why := range w.stood {
		say(path, why)
	}
	for _, e := range w.entries {
		if err := w.ctx.Err(); err != nil {
			return err // where links lead takes long, if somebody wants it to
		}
		if hasName(e.path, unstorable) || e.kind == kindLink && hasName(e.path, unlinkable) {
			say(e.path, unstored)
			continue
		}
		isAttributes := path.Base(e.path) == ".gitattributes"
		switch {
		case e.kind == kindLink && isAttributes:
			say(e.path, "a checkout reads the target of this link as attributes")
		case e.kind.special():
			say(e.path, "a "+e.kind.String()+": no commit holds it")
		case e.kind == kindLink:
			if why := w.leads(e); why != "" {
				say(e.path, why)
			}
		case e.kind == kindRepository:
			why := w.submodule(e)
			if why != "" {
				say(e.path, why)
			}
			if strings.HasPrefix(why, nestedWhy) {
				s.Nested = append(s.Nested, Nested{e.path, e.tracked})
			}
		case e.inTree:
			why, stored := v.differs(w, c, e)
			switch {
			case stored && isAttributes:
				why = "attributes in LFS: a checkout reads the pointer"
			case stored && !fetches:
				why = "its content is in LFS, and .lfsconfig may say not to fetch it: have that say only where to fetch from"
			}
			if why != "" {
				say(e.path, why)
			}
			if stored {
				s.Stored.add(e.path)
			}
		}
	}
	for at, content := range w.rules {
		// Where there are submodules that it does not name, they were said.
		if _, asked := w.submodules[at]; asked || path.Base(at) != ".gitmodules" || len(content) >= ignore.MaxFile || modulePaths(content) != nil {
			continue
		}
		if e := w.find(at); e != nil && e.kind.regular() {
			say(at, "a .gitmodules that git would not write: a clone with submodules may fail; remove it, or have `git submodule` write it")
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Why, b.Why)) })
	s.Beyond.Count = len(all) + s.Absent.Count
	for _, p := range s.Absent.Paths {
		all = append(all, Difference{p, leftOut})
	}
	s.Beyond.List = slices.Clip(all[:min(len(all), 100)])
	s.Exact = s.Beyond.Count == 0
	return nil
}

// understood returns an error if a file that steers git was another one when it was read for its meaning than when it was read for its digest:
// what an ignore file hid for a moment is in neither digest, whether there is a tree or not.
func (w *walk) understood() error {
	for file, content := range w.rules {
		e := w.find(file)
		switch {
		case e == nil && path.Base(file) != ".gitignore": // it does not count; an ignore file was read since it does
		case e == nil, !e.kind.regular(), len(content) < ignore.MaxFile && sha256.Sum256(content) != e.sum:
			return &Error{Path: file, Err: errChanged}
		}
	}
	return nil
}

// hasName reports whether a component of a path is such a name.
func hasName(path string, such func(string) bool) bool {
	for name := range strings.SplitSeq(path, "/") {
		if such(name) {
			return true
		}
	}
	return false
}

// unstorable reports whether git refuses to add, or to check out, a path with a component
// of this name: ".git", whatever its case, and what a file system of macOS or Windows takes
// for that (core.protectHFS, core.protectNTFS of git, both taken as set).
func unstorable(name string) bool {
	if !strings.ContainsAny(name, "gG") {
		return false
	}
	if strings.EqualFold(visible(name), ".git") {
		return true
	}
	for part := range strings.SplitSeq(name, `\`) {
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRight(part, ". ")
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}

// unlinkable reports whether git refuses to check out a link with a component of this name in its path: ".gitmodules",
// and what a file system of macOS or Windows takes for that, as [unstorable] has it for ".git". Windows has short names:
// the first six letters, or six of a hash of the name, and a number.
func unlinkable(name string) bool {
	const long, hash = ".gitmodules", "gi7eba"
	if strings.EqualFold(visible(name), long) {
		return true
	}
	for part := range strings.SplitSeq(name, `\`) {
		part, _, _ = strings.Cut(part, ":")
		part = strings.ToLower(strings.TrimRight(part, ". "))
		if part == long {
			return true
		}
		stem, number, ok := strings.Cut(part, "~")
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" || number[0] == '0' {
			continue
		}
		if stem == long[1:7] && len(number) == 1 && number <= "4" || strings.HasPrefix(hash, stem) && len(part) == 8 {
			return true
		}
	}
	return false
}

// visible returns name without the characters that HFS+ ignores.
func visible(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
}

// oddAttributes says what makes git read an attributes file otherwise from the index, as at a checkout, than from the
// working tree, in any version; empty for none.
func oddAttributes(content []byte) string {
	if bytes.HasPrefix(content, []byte("\xef\xbb\xbf")) {
		return "a byte order mark"
	}
	for line := range bytes.Lines(content) {
		switch {
		case bytes.IndexByte(line, 0) >= 0:
			return "a NUL"
		case len(line) > 2000: // git's limit is 2048
			return "a line of more than 2000 bytes"
		}
	}
	return ""
}

// lfsFetches reports whether git-lfs fetches all content under the configuration that is in .lfsconfig. It knows the
// settings of where to fetch from, and says no to anything else, in any form that git itself would not write.
func lfsFetches(content []byte) bool {
	inSection := false
	for line := range strings.Lines(string(content)) {
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if strings.ContainsFunc(line, unicode.IsControl) || strings.Contains(line, `\`) {
			return false
		}
		line = strings.ToLower(line)
		if line[0] == '[' {
			name, _ := strings.CutSuffix(line, `"]`)
			name, quoted := strings.CutPrefix(name, `[lfs "`)
			if !quoted {
				name, quoted = strings.CutPrefix(name, `[remote "`)
			}
			if inSection = true; line != "[lfs]" && (!quoted || !strings.HasSuffix(line, `"]`) || strings.ContainsAny(name, `"=[]`)) {
				return false
			}
			continue
		}
		key, _, ok := strings.Cut(line, "=")
		if !ok || !inSection || !slices.Contains([]string{"url", "pushurl", "lfsurl", "lfspushurl", "locksverify", "gitprotocol", "access"}, strings.TrimRight(key, " \t")) {
			return false
		}
	}
	return true
}

func (w *walk) find(path string) *entry { return w.entries.find(path) }

// differs says why a clone would have another content of a regular file; it is empty
// if it would have the same. stored: the content is not in the tree but in LFS, and
// its blob names it by its SHA-256.
func (v *converter) differs(w *walk, c *git.Config, e *entry) (why string, stored bool) {
	a, ok := v.attrs[e.path]
	if !ok {
		a = unspecified()
	}
	if why := v.doubted[e.path]; why != "" {
		return why, false
	}
	if !plain(a[attrEncoding]) {
		return "working-tree-encoding=" + git.Clip(a[attrEncoding]) + ": its blob has another encoding", false
	}
	if !plain(a[attrIdent]) && e.traits&hasDollar != 0 {
		return "ident: a checkout writes its $Id$ anew", false
	}
	ends := a.lineEnds()
	if e.id == e.raw {
		switch {
		case a[attrFilter] == "lfs" && e.traits&isPointer != 0:
			return pointerAlone, false
		case e.traits&hasLoneLF == 0 || ends == endsAsStored:
		case ends == endsCRLF, e.traits&(hasCR|hasNUL) == 0:
			return checkoutEnds + "a checkout ends its lines with CR LF", false
		}
		return "", false
	}
	switch {
	case a[attrFilter] == "lfs" && ends == endsAsStored && w.format.Object("blob", pointer(e)) == e.id:
		return "", true
	case !plain(a[attrFilter]) && c.Filters[a[attrFilter]]:
		return "filter=" + git.Clip(a[attrFilter]) + ": its blob is not what was read", false
	case ends != endsAsStored && e.traits&(hasLoneLF|hasLoneCR) == 0:
		return "", false
	case ends != endsAsStored:
		return checkoutEnds + "a checkout ends each of its lines with CR LF", false
	}
	return otherEnds + "have tracked attributes say eol=crlf", false
}

// pointer returns the LFS pointer to the content of e.
func pointer(e *entry) []byte {
	b := append([]byte(nil), "version https://git-lfs.github.com/spec/v1\noid sha256:"...)
	b = hex.AppendEncode(b, e.sum[:])
	b = append(b, "\nsize "...)
	b = strconv.AppendInt(b, e.size, 10)
	return append(b, '\n')
}

// lineEnds say what a checkout does to the line ends of a blob.
type lineEnds uint8

const (
	endsAsStored lineEnds = iota
	endsCRLF              // LF becomes CR LF
	endsAutoCRLF          // the same, in a text without any CR
)

// lineEnds follows convert_attrs of git's convert.c.
func (a *attributes) lineEnds() lineEnds {
	text := a[attrText]
	if text != "set" && text != "unset" && text != "input" && text != "auto" {
		text = a[attrCRLF]
	}
	switch {
	case text == "unset" || a[attrEOL] != "crlf":
		return endsAsStored
	case text == "auto":
		return endsAutoCRLF
	}
	return endsCRLF
}

// leads says why a link leads elsewhere than in a clone; empty if it does not. Where nothing is, and where a file, or one in a
// folder, would count, a clone has nothing either.
func (w *walk) leads(e *entry) string {
	if strings.HasPrefix(e.target, "/") {
		return leadsOutside
	}
	at := path.Dir(e.path)
	if at == "." {
		at = ""
	}
	last, _, _, why := w.entries.follow(at, e.target)
	if strings.HasPrefix(why, leadsNowhere) && w.hides(last) == "" && w.hides(last+"/file") == "" && w.missing(last) {
		return ""
	}
	return why
}

// missing reports whether nothing is at a path, not even an empty directory.
func (w *walk) missing(path string) bool {
	d, err := openRoot(w.root)
	if err != nil {
		return false
	}
	defer d.release()
	_, err = d.lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// A checkedOut is what the HEAD of a nested repository says.
type checkedOut struct {
	tree git.ObjectID // of the commit, whose name was recomputed; zero if that failed
}

// submodule says why a clone would not have the files of a submodule or nested
// repository; empty if it would.
func (w *walk) submodule(e *entry) string {
	outer := ""
	for dir := path.Dir(e.path); dir != "."; dir = path.Dir(dir) {
		if f := w.find(dir); f != nil && f.kind == kindRepository {
			outer = dir
			break
		}
	}
	modules, name := path.Join(outer, ".gitmodules"), strings.TrimPrefix(e.path[len(outer):], "/")
	content, ok := w.rules[modules]
	f := w.find(modules)
	switch {
	case !ok || f == nil || !f.kind.regular():
		return nestedWhy + ": there is no .gitmodules beside it, and a clone has nothing here"
	case !w.modules(modules, content)[name]:
		return nestedWhy + " that .gitmodules does not name: a clone has nothing here"
	}
	head, ok := w.heads[e.path]
	if !ok {
		return notCheckedOut
	}
	inside := w.entries.below(e.path)
	var leaves []git.Leaf
	var seen traits
	skip := ""
	for _, f := range inside {
		if skip != "" && strings.HasPrefix(f.path, skip) {
			continue
		}
		seen |= f.traits
		switch {
		case f.kind.special():
			continue // said for itself
		case f.kind == kindRepository:
			skip = f.path + "/"
		}
		id := f.raw
		if f.kind == kindRepository {
			id = f.id
		}
		leaves = append(leaves, git.Leaf{Path: f.path[len(e.path)+1:], Mode: f.kind.treeMode(), Id: id})
	}
	if head.tree == (git.ObjectID{}) || w.format.Tree(leaves) != head.tree {
		return "a submodule whose files are not just those of its commit"
	}
	// What attributes convert is followed in the outer tree alone.
	for _, f := range inside {
		if path.Base(f.path) != ".gitattributes" {
			continue
		}
		text := w.rules[f.path]
		for _, word := range []struct {
			name string
			need traits // zero: any file will do
		}{{"eol=crlf", hasLoneLF}, {"ident", hasDollar}, {"lfs", isPointer}, {"working-tree-encoding", 0}} {
			if bytes.Contains(text, []byte(word.name)) && (word.need == 0 || seen&word.need != 0) || len(text) >= ignore.MaxFile {
				return fmt.Sprintf("a submodule whose attributes convert files (%s)", word.name)
			}
		}
	}
	return ""
}

// modules returns what modulePaths says of the .gitmodules at path, which each of its submodules asks.
func (w *walk) modules(path string, content []byte) map[string]bool {
	if known, ok := w.submodules[path]; ok {
		return known
	}
	if w.submodules == nil {
		w.submodules = make(map[string]map[string]bool)
	}
	list := modulePaths(content)
	set := make(map[string]bool, len(list))
	for _, name := range list {
		set[name] = true
	}
	w.submodules[path] = set
	return set
}

// maxModule bounds the name of a submodule, which is a path in the .git of a clone, in bytes.
const maxModule = 1000

// modulePaths returns the paths of the submodules that a clone checks out, as a
// .gitmodules says. It reads the form that git itself writes, and of a file with
// anything else in it returns nil: what git makes of that is not guessed. Of one that names none
// the list is empty.
func modulePaths(content []byte) []string {
	paths := []string{}
	var at, url string
	inSection := false
	names, taken := make(map[string]bool), make(map[string]bool)
	end := func() bool {
		if !inSection {
			return true
		}
		ok := at != "" && url != "" && !taken[at]
		paths, taken[at] = append(paths, at), true
		at, url = "", ""
		return ok
	}
	const spaces = " \t\r\n" // of git: no others
	for line := range strings.Lines(string(content)) {
		line = strings.Trim(line, spaces)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if head, value, _ := strings.Cut(line, "="); strings.ContainsFunc(strings.TrimRight(head, " \t")+strings.TrimLeft(value, " \t"), unicode.IsControl) {
			return nil
		}
		if name, ok := strings.CutPrefix(line, `[submodule "`); ok {
			name, ok = strings.CutSuffix(name, `"]`)
			if !ok || name == "" || name == "." || name[0] == '/' || path.Clean(name) != name || strings.ContainsAny(name, "\"\\[]") || slices.Contains(strings.Split(name, "/"), "..") || names[strings.ToLower(name)] || !end() ||
				len(name) > maxModule || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > 255 }) {
				return nil
			}
			names[strings.ToLower(name)], inSection = true, true
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.Trim(key, spaces)), strings.Trim(value, spaces)
		if !ok || !inSection || value == "" || value[0] == '-' || strings.ContainsAny(value, "\"\\#;\x00") {
			return nil
		}
		switch key {
		case "path":
			if at != "" || !git.ValidPath(value) {
				return nil
			}
			at = value
		case "url":
			scheme, _, _ := strings.Cut(value, "://")
			if url != "" || strings.Contains(strings.ToLower(value), "%0a") || strings.Contains(scheme, "::") || // a helper, which git starts for nobody by itself
				scheme != value && !slices.Contains([]string{"https", "http", "ssh", "git", "file", "git+ssh", "ssh+git", "ftp", "ftps"}, scheme) {
				return nil
			}
			url = value
		case "branch", "ignore": // git warns of a value that it does not know
		case "shallow", "fetchrecursesubmodules": // and ends here
			known := []string{"true", "yes", "on", "1", "false", "no", "off", "0"}
			if !slices.Contains(known, strings.ToLower(value)) && (key == "shallow" || value != "on-demand") {
				return nil
			}
		case "update":
			if value != "checkout" {
				return nil
			}
		default:
			return nil
		}
	}
	if !end() {
		return nil
	}
	// git refuses to make one git directory inside of another. In this order what is inside of one comes right behind it.
	order := func(name string) string { return strings.ReplaceAll(name, "/", "\x00") }
	sorted := slices.Sorted(func(yield func(string) bool) {
		for name := range names {
			if !yield(order(name)) {
				return
			}
		}
	})
	for i := 1; i < len(sorted); i++ {
		if strings.HasPrefix(sorted[i], sorted[i-1]+"\x00") {
			return nil
		}
	}
	return paths
}
