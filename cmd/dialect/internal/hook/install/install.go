package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/outfile"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/place"
)

// maxConfig bounds a configuration, in bytes.
const maxConfig = 8 << 20

// A Change is what becomes of one file.
type Change struct {
	Client   Client
	Level    Level
	Path     string
	Old, New []byte // nil where there is no file
	record   *record
	direct   bool // it is a hook of git, where outfile does not write
}

// Unchanged reports whether there is nothing to write.
func (c Change) Unchanged() bool {
	return (c.Old == nil) == (c.New == nil) && bytes.Equal(c.Old, c.New)
}

// A record is what is known of an installed file: what was there before, to be given back.
type record struct {
	Client string    `json:"client"`
	Level  Level     `json:"level"`
	Path   string    `json:"path"`
	At     time.Time `json:"at"`
	Before []byte    `json:"before"` // null where there was no file
	After  string    `json:"after"`  // SHA-256 of what was written
	Made   []string  `json:"made"`   // folders, the innermost first
}

// An Installer reads and writes configurations.
type Installer struct {
	Root    string // of the project
	Program string // absolute path of dialect
	State   string // folder of the user's state
}

func (in Installer) recordPath(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(in.State, "installed", hex.EncodeToString(sum[:8])+".json")
}

// record returns what is known of a file; nil for nothing.
func (in Installer) record(path string) *record {
	text, err := regular.Read(in.recordPath(path), 2*maxConfig)
	var r record
	if err != nil || json.Unmarshal(text, &r) != nil || r.Path != path {
		return nil
	}
	return &r
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// current returns the text of a file; nil where there is none.
func current(path string) ([]byte, error) {
	text, err := regular.Read(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// look finds the file of a change, and reads it. That of a project is not read through a link that leads out of it: what is there is not for a
// difference to show.
func (in Installer) look(ch *Change) (err error) {
	if ch.Path, err = ch.Client.Path(ch.Level, in.Root); err != nil {
		return err
	}
	if ch.Level == Project {
		if err := outfile.Inside(ch.Path); err != nil {
			return exit.Usagef("%s: %v", ch.Path, err)
		}
	}
	if ch.Old, err = current(ch.Path); err != nil {
		return exit.Failf(exit.Failed, "cannot read %s: %v", ch.Path, err)
	}
	return nil
}

// Install says what the configuration of a client becomes.
func (in Installer) Install(c Client, l Level) (ch Change, err error) {
	ch = Change{Client: c, Level: l}
	if err = in.look(&ch); err != nil {
		return ch, err
	}
	before := ch.Old
	if c.isPlugin() {
		if ch.Old != nil && !bytes.HasPrefix(ch.Old, []byte(marker)) {
			return ch, exit.Failf(exit.Failed, "%s is not dialect's, and was left as it is", ch.Path)
		}
		before, ch.New = nil, c.plugin(in.Program, l)
	} else {
		add, remove := c.add, c.remove
		if isTOML(ch.Path) {
			add, remove = c.addTOML, func(text []byte) ([]byte, error) { return removeTOML(text), nil }
		}
		if ch.New, err = add(ch.Old, in.Program, l); err != nil {
			return ch, left(ch.Path, err)
		}
		if old := in.record(ch.Path); old != nil && digest(ch.Old) == old.After {
			before = old.Before
		} else if ch.Old != nil && len(bytes.TrimSpace(ch.Old)) > 0 {
			if before, err = remove(ch.Old); err != nil { // without a line that somebody committed
				return ch, err
			}
		}
	}
	ch.record = &record{Client: c.Name, Level: l, Path: ch.Path, At: now(), Before: before, After: digest(ch.New)}
	if old := in.record(ch.Path); old != nil {
		ch.record.Made = old.Made
		if ch.Unchanged() {
			ch.record = old
		}
	}
	return ch, nil
}

// left says that a file was left as it is, and what the user can do.
func left(path string, err error) error {
	f := exit.Failf(exit.Failed, "%s was left as it is: %v", place.Short(path), err)
	var m *manual
	if errors.As(err, &m) {
		f.Hint("%s", m.add)
	}
	return f
}

// Uninstall says what the configuration of a client becomes without us: what it was, if nobody changed it since.
func (in Installer) Uninstall(c Client, l Level) (ch Change, err error) {
	ch = Change{Client: c, Level: l}
	if err = in.look(&ch); err != nil {
		return ch, err
	}
	ch.New = ch.Old
	r := in.record(ch.Path)
	switch {
	case ch.Old == nil:
	case r != nil && digest(ch.Old) == r.After:
		ch.New = r.Before
	case c.isPlugin():
		if bytes.HasPrefix(ch.Old, []byte(marker)) {
			ch.New = nil
		}
	case isTOML(ch.Path):
		ch.New = removeTOML(ch.Old)
	default:
		if ch.New, err = c.remove(ch.Old); err != nil {
			if !bytes.Contains(ch.Old, []byte(" hook "+c.Name+" ")) { // what cannot be read has no line of ours
				ch.New = ch.Old
				return ch, nil
			}
			return ch, left(ch.Path, err)
		}
		if rest := bytes.Join(bytes.Fields(ch.New), nil); r != nil && r.Before == nil && string(rest) == "{}" {
			ch.New = nil
		}
	}
	return ch, nil
}

// Apply writes changes, once all of them may be written.
func (in Installer) Apply(changes []Change) error {
	files := make([]*outfile.File, len(changes))
	for i, ch := range changes {
		if ch.Unchanged() {
			continue
		}
		if ch.Level == Project && !ch.direct {
			if err := outfile.Inside(ch.Path); err != nil {
				return exit.Usagef("%s: %v", ch.Path, err)
			}
		}
		if ch.New != nil && ch.record != nil && len(ch.record.Made) == 0 {
			ch.record.Made = missing(filepath.Dir(ch.Path))
		}
		if ch.direct {
			continue
		}
		if ch.New != nil {
			if err := outfile.MakeFolder(ch.Path, 0o777); err != nil {
				return exit.Failf(exit.Failed, "%v", err)
			}
		}
		files[i] = &outfile.File{Name: ch.Path, Edits: true, Inside: ch.Level == Project, Was: append([]byte{}, ch.Old...)}
		if err := outfile.Settle(outfile.InUse{}, files[i]); err != nil {
			return exit.Failf(exit.Failed, "cannot write %s: %s", place.Short(ch.Path), strings.TrimPrefix(err.Error(), ch.Path+": "))
		}
	}
	for i, ch := range changes {
		if err := in.write(ch, files[i]); err != nil {
			return exit.Failf(exit.Failed, "%v", err)
		}
	}
	return nil
}

// write writes one change. What was there before is kept first.
func (in Installer) write(ch Change, file *outfile.File) error {
	if ch.record != nil { // of an install
		if err := in.keep(ch.record); err != nil {
			return fmt.Errorf("%s was left as it is: its present content cannot be kept: %w", ch.Path, err)
		}
	}
	switch {
	case ch.Unchanged():
	case ch.New == nil:
		remove := func() error { return os.Remove(ch.Path) }
		if !ch.direct {
			remove = file.Remove
		}
		if err := remove(); err != nil {
			return err
		}
		if r := in.record(ch.Path); r != nil {
			for _, dir := range r.Made {
				if rel, err := filepath.Rel(dir, ch.Path); err != nil || !filepath.IsLocal(rel) || os.Remove(dir) != nil { // somebody put something there, or wrote that record
					break
				}
			}
		}
	case ch.direct:
		if err := writeDirect(ch.Path, ch.New); err != nil {
			return err
		}
	default:
		if err := file.Replace(ch.New, 0o666); err != nil {
			return err
		}
	}
	if ch.record == nil {
		_ = os.Remove(in.recordPath(ch.Path))
	}
	return nil
}

func (in Installer) keep(r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := in.recordPath(r.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return blob.Write(path, text, 0o600)
}

// missing returns the folders of dir that are not there, the innermost first.
func missing(dir string) (list []string) {
	for at := range regular.Above(dir) {
		if _, err := os.Lstat(at); err == nil {
			break
		}
		list = append(list, at)
	}
	return list
}
