package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
)

// A process of git costs more than all else of a small run, and what is asked of it is in three or four
// small files. They are read here where that is simple. Wherever a file has anything that is not read
// here, the answer is "unsure", and git is asked.
// The formats: gitformat-index(5), git-config(1), gitrepository-layout(5).

// errUnsure says that git has to be asked.
var errUnsure = errors.New("git has to be asked")

// Files of git that are larger, in bytes, are left to git.
const (
	largestIndex  = 256 << 20
	largestConfig = 1 << 20
)

// A direct is a repository as its files describe it.
type direct struct {
	dir    string // of the worktree's own files: index, HEAD
	common string // of those that all worktrees share: config, objects
	config []byte // as git config -z prints it; see configPattern
	format ObjectFormat
}

// readDirect reads the .git of a worktree, which belongs to the user, for a git at program.
func readDirect(dotGit, program string) (*direct, error) {
	info, err := os.Lstat(dotGit)
	if err != nil {
		return nil, errUnsure
	}
	d := &direct{dir: dotGit}
	switch {
	case info.Mode().IsRegular():
		if d.dir = named(dotGit, "gitdir: "); d.dir == "" {
			return nil, errUnsure
		}
	case !info.IsDir():
		return nil, errUnsure
	}
	d.common = d.dir
	if _, err := os.Lstat(filepath.Join(d.dir, "commondir")); err == nil {
		d.common = named(filepath.Join(d.dir, "commondir"), "")
	}
	for _, dir := range []string{filepath.Join(d.common, "objects"), filepath.Join(d.common, "refs")} {
		if info, err := os.Stat(dir); d.common == "" || err != nil || !info.IsDir() {
			return nil, errUnsure
		}
	}
	if head, err := regular.ReadOwn(filepath.Join(d.dir, "HEAD"), LongestPath); err != nil || !isHead(head) {
		return nil, errUnsure
	}
	if err := d.readConfig(program); err != nil {
		return nil, err
	}
	return d, nil
}

// isHead reports whether a HEAD is one beyond doubt: that of a branch, or a hash.
func isHead(content []byte) bool {
	text, ended := strings.CutSuffix(string(content), "\n")
	if ref, ok := strings.CutPrefix(text, "ref: refs/heads/"); ok {
		return ended && ref != "" && ref != ".invalid" && !strings.ContainsAny(ref, " \t\r\n\x00")
	}
	_, sha1 := FormatSHA1.Parse(text)
	_, sha256 := FormatSHA256.Parse(text)
	return ended && (sha1 == nil || sha256 == nil)
}

// readConfig reads the configuration of the system, the user and the repository, in git's order.
func (d *direct) readConfig(program string) error {
	// Where the system's is depends on how git was built; of the one in /usr it is known.
	if runtime.GOOS != "linux" || program != "/usr/bin/git" && program != "/bin/git" {
		return errUnsure
	}
	files := []string{"/etc/gitconfig"}
	home := os.Getenv("HOME")
	if xdg := os.Getenv("XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, filepath.Join(xdg, "git/config"))
	} else if home != "" {
		files = append(files, filepath.Join(home, ".config/git/config"))
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	own := filepath.Join(d.common, "config")
	version, extensions := "0", false
	d.format = FormatSHA1
	for _, file := range append(files, own) {
		if !filepath.IsAbs(file) {
			return errUnsure
		}
		content, err := regular.Read(file, largestConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return errUnsure
		}
		settings, err := parseFile(content)
		if err != nil {
			return err
		}
		for _, s := range settings {
			switch {
			case s.Key == "core.repositoryformatversion":
				if file == own {
					version = s.Value
				}
			case strings.HasPrefix(s.Key, "extensions."):
				if file != own {
					continue
				}
				extensions = true
				switch s.Key {
				case "extensions.objectformat":
					d.format = ObjectFormat(s.Value)
				case "extensions.noop", "extensions.preciousobjects", "extensions.partialclone", "extensions.relativeworktrees":
				default:
					return errUnsure
				}
			default:
				d.config = append(d.config, s.Key...)
				if s.hasValue {
					d.config = append(append(d.config, '\n'), s.Value...)
				}
				d.config = append(d.config, 0)
			}
		}
	}
	if version != "1" && (version != "0" || extensions) || d.format != FormatSHA1 && d.format != FormatSHA256 {
		return errUnsure
	}
	return nil
}

// parseFile returns what a file of configuration says of [configPattern], of the format of the repository
// and of its extensions.
func parseFile(content []byte) ([]setting, error) {
	if bytes.IndexByte(content, 0) >= 0 || bytes.IndexByte(content, '\r') >= 0 || bytes.HasPrefix(content, []byte("\xef\xbb\xbf")) {
		return nil, errUnsure
	}
	var list []setting
	section, wanted := "", false
	for line := range strings.Lines(string(content)) {
		line = strings.Trim(line, " \t\n")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			var ok bool
			if section, ok = parseSection(line); !ok || strings.HasPrefix(section, "include") {
				return nil, errUnsure
			}
			wanted = section == "core" || section == "extensions" || section == "filter" || strings.HasPrefix(section, "filter.")
			continue
		case section == "" || strings.HasSuffix(line, `\`):
			return nil, errUnsure
		case !wanted:
			continue
		}
		var s setting
		var key string
		key, s.Value, s.hasValue = strings.Cut(line, "=")
		key, s.Value = strings.TrimRight(key, " \t"), strings.Trim(s.Value, " \t")
		if !isKey(key) {
			return nil, errUnsure
		}
		s.Key = section + "." + strings.ToLower(key)
		switch s.Key {
		case "core.autocrlf", "core.eol", "core.checkroundtripencoding", "core.sparsecheckout", "core.repositoryformatversion":
		default:
			if strings.HasPrefix(section, "core") {
				continue
			}
		}
		if strings.ContainsAny(s.Value, "\"\\#;\t") || strings.Contains(s.Value, "  ") {
			return nil, errUnsure
		}
		list = append(list, s)
	}
	return list, nil
}

// parseSection returns the beginning of the keys of a section, of a line that has nothing else.
func parseSection(line string) (string, bool) {
	name, ok := strings.CutSuffix(line[1:], "]")
	if !ok {
		return "", false
	}
	name, sub, has := strings.Cut(name, " ")
	if !isKey(name) {
		return "", false
	}
	name = strings.ToLower(name)
	if !has {
		return name, true
	}
	sub = strings.TrimLeft(sub, " \t")
	if len(sub) < 2 || sub[0] != '"' || sub[len(sub)-1] != '"' || strings.ContainsAny(sub[1:len(sub)-1], "\"\\") {
		return "", false
	}
	return name + "." + sub[1:len(sub)-1], true
}

// isKey reports whether a word is a name of a key or section beyond doubt.
func isKey(word string) bool {
	if word == "" {
		return false
	}
	for i, c := range []byte(word) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// readIndex reads the index, if there is one. sparse says that core.sparseCheckout is on.
func (d *direct) readIndex(sparse bool) (Index, error) {
	content, err := regular.Read(filepath.Join(d.dir, "index"), largestIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return Index{list: []IndexEntry{}}, nil
	}
	if err != nil {
		return Index{}, errUnsure
	}
	idx, err := parseIndexFile(content, d.format, largestIndex)
	if sparse && err == nil {
		for _, e := range idx.list {
			if e.SkipWorktree {
				return Index{}, errUnsure // git takes the mark away from files that are there
			}
		}
	}
	return idx, err
}

// parseIndexFile reads an index of version 2 to 4 without extensions that a reader must know. Like git it
// does not look at the checksum. Its paths may take as many bytes as most: version 4 repeats a long one in a few.
func parseIndexFile(content []byte, f ObjectFormat, most int) (Index, error) {
	const stat = 40 // bytes of an entry before the object's name; the mode is at 24
	size := f.Size()
	if len(content) < 12+size || string(content[:4]) != "DIRC" {
		return Index{}, errUnsure
	}
	version, count := binary.BigEndian.Uint32(content[4:]), binary.BigEndian.Uint32(content[8:])
	rest := content[12 : len(content)-size]
	if version < 2 || version > 4 || uint64(count) > uint64(len(rest)/(stat+size)) {
		return Index{}, errUnsure
	}
	idx := Index{list: make([]IndexEntry, 0, count)}
	var names strings.Builder // of all paths: one text
	names.Grow(max(0, len(rest)-int(count)*(stat+size+3)))
	last, lastStage := "", -1
	for range count {
		if len(rest) < stat+size+2 {
			return Index{}, errUnsure
		}
		e := IndexEntry{}
		switch binary.BigEndian.Uint32(rest[24:]) {
		case 0o100644:
			e.Mode = ModeFile
		case 0o100755:
			e.Mode = ModeExec
		case 0o120000:
			e.Mode = ModeLink
		case 0o160000:
			e.Mode = ModeCommit
		default:
			return Index{}, errUnsure
		}
		copy(e.Id[:], rest[stat:stat+size])
		flags := binary.BigEndian.Uint16(rest[stat+size:])
		e.Stage = uint8(flags >> 12 & 3)
		at := stat + size + 2
		if flags&0x4000 != 0 { // more flags follow
			if version == 2 || len(rest) < at+2 {
				return Index{}, errUnsure
			}
			e.SkipWorktree = binary.BigEndian.Uint16(rest[at:])&0x4000 != 0
			at += 2
		}
		prefix := ""
		if version == 4 { // how much of the last path is not repeated
			n, used := offset(rest[at:])
			if used == 0 || n > uint64(len(last)) {
				return Index{}, errUnsure
			}
			prefix = last[:len(last)-int(n)]
			at += used
		}
		end := bytes.IndexByte(rest[at:], 0)
		if end < 0 {
			return Index{}, errUnsure
		}
		if names.Len()+len(prefix)+end > most {
			return Index{}, fmt.Errorf("the paths of the index take more than %d MiB", most>>20)
		}
		begin := names.Len()
		names.WriteString(prefix)
		names.Write(rest[at : at+end])
		path := names.String()[begin:]
		at += end + 1
		if version < 4 {
			at = (at + 7) &^ 7 // an entry is a multiple of 8 bytes
		}
		if n := int(flags & 0xfff); n < 0xfff && n != len(path) || at > len(rest) || len(path) > LongestPath || !ValidPath(path) {
			return Index{}, errUnsure
		}
		if path < last || path == last && int(e.Stage) <= lastStage {
			return Index{}, errUnsure // in no order
		}
		e.Path = path
		idx.add(e)
		last, lastStage, rest = path, int(e.Stage), rest[at:]
	}
	for len(rest) > 0 {
		if len(rest) < 8 {
			return Index{}, errUnsure
		}
		n := binary.BigEndian.Uint32(rest[4:])
		if rest[0] < 'A' || rest[0] > 'Z' || uint64(n) > uint64(len(rest)-8) {
			return Index{}, errUnsure // an extension that a reader must know: a split or sparse index
		}
		rest = rest[8+n:]
	}
	return idx, nil
}

// offset reads a number of an index of version 4: seven bits a byte, the highest first, and each byte but
// the last adds one. used is 0 where there is none.
func offset(b []byte) (n uint64, used int) {
	for i, c := range b[:min(len(b), 8)] {
		n = n<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
		n++
	}
	return 0, 0
}

// add adds an entry after all others.
func (x *Index) add(e IndexEntry) {
	if e.Stage > 0 && x.Conflict == "" {
		x.Conflict = e.Path
	}
	if n := len(x.list); n > 0 && x.list[n-1].Path == e.Path {
		x.list[n-1] = e
		return
	}
	x.list = append(x.list, e)
}
