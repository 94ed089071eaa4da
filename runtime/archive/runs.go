package archive

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/blob"
)

// NewRun returns a fresh id of a run: "r-" and 16 hex digits.
func NewRun() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "r-" + hex.EncodeToString(b[:])
}

// IsRun reports whether [NewRun] makes such an id.
func IsRun(run string) bool {
	digits, ok := strings.CutPrefix(run, "r-")
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 16 && digits == strings.ToLower(digits)
}

// RunsPath returns the folder of the documents of runs.
func (a Archive) RunsPath() string { return a.path("runs") }

// RunPath returns where the document of a run is kept.
func (a Archive) RunPath(run string) string { return a.path("runs", run) }

// KeepRun keeps the document of a run. Without it no more than that is lost.
func (a Archive) KeepRun(run string, text []byte) {
	if r, err := a.open(true); err == nil {
		defer r.Close()
		_ = blob.WriteIn(r, filepath.Join("runs", run), text, 0o600)
	}
}

// maxDocument bounds what is read of a document, in bytes.
const maxDocument = 256 << 20

// ReadRun returns the document of a run, as it was kept.
func (a Archive) ReadRun(run string) ([]byte, error) {
	return regular.ReadOwn(a.RunPath(run), maxDocument)
}

// Kept returns when the document of a run was written: when it had ended.
func (a Archive) Kept(run string) (t time.Time) {
	if info, err := os.Lstat(a.RunPath(run)); err == nil {
		t = info.ModTime()
	}
	return t
}

// Runs returns the ids of the runs with a document, the newest first.
func (a Archive) Runs() []string {
	entries, _ := os.ReadDir(a.RunsPath())
	type item struct {
		run string
		at  time.Time
	}
	var items []item
	for _, e := range entries {
		run := e.Name()
		info, err := e.Info()
		if !IsRun(run) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		items = append(items, item{run, info.ModTime()})
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.run, b.run)) })
	runs := make([]string, len(items))
	for i := range items {
		runs[i] = items[i].run
	}
	return runs
}

// A Mark says of a run that it lasts. Nobody holds the lock of the file of one whose process
// was killed. Marks have a folder of their own, so that a start does not read the names
// of all earlier runs.
type Mark struct {
	Run     string    `json:"run"`
	Script  string    `json:"script"`
	Started time.Time `json:"started"`
	PID     int       `json:"pid"`

	path string
	lock *flock.Flock
}

func (a Archive) live() string { return a.path("runs", "live") }

// Begin marks a run as lasting. It returns nil where that cannot be done: no more is lost
// than a word to the next run.
func (a Archive) Begin(run, script string) *Mark {
	if a.Check() != nil {
		return nil
	}
	m := &Mark{Run: run, Script: script, Started: time.Now().UTC(), PID: os.Getpid(), path: filepath.Join(a.live(), run)}
	text, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	f, err := blob.Temp(a.live())
	if err != nil {
		return nil
	}
	_, err = f.Write(text)
	temp := f.Name()
	f.Close()
	// It gets its name once its lock is held: else another run would take it for that of
	// a dead one.
	m.lock = flock.New(temp, flock.SetFlag(os.O_RDWR))
	if ok, lerr := m.lock.TryLock(); err != nil || !ok || lerr != nil || os.Rename(temp, m.path) != nil {
		m.lock.Close()
		os.Remove(temp)
		return nil
	}
	return m
}

// End takes the mark away; of nil it does nothing.
func (m *Mark) End() {
	if m != nil {
		os.Remove(m.path)
		m.lock.Close()
	}
}

// Lasts reports whether another process carries a run on.
func (a Archive) Lasts(run string) bool {
	if filepath.Base(run) != run || a.Check() != nil {
		return false
	}
	l := flock.New(filepath.Join(a.live(), run), flock.SetFlag(os.O_RDWR|regular.OwnFlags))
	defer l.Close()
	ok, err := l.TryLock()
	return !ok && err == nil
}

// Killed returns the marks of the runs that were killed since this was last asked.
func (a Archive) Killed() (list []Mark) {
	a.killed(func(m Mark) bool {
		list = append(list, m)
		return true
	})
	return list
}

// Dead returns the mark of the newest run that was killed and that [Archive.Killed] has not returned yet, of a script of that name in whatever
// folder, or of any if it is empty; nil if there is none.
func (a Archive) Dead(script string) (newest *Mark) {
	a.killed(func(m Mark) bool {
		other := script != "" && filepath.Base(m.Script) != filepath.Base(script)
		if !other && (newest == nil || m.Started.After(newest.Started)) {
			newest = &m
		}
		return false
	})
	return newest
}

// killed calls drop with each mark of a run that was killed, and removes those of which it says so, and what cannot be read as one.
func (a Archive) killed(drop func(m Mark) bool) {
	if a.Check() != nil {
		return
	}
	r, err := a.open(true)
	if err == nil {
		defer r.Close()
	}
	for _, name := range regular.In(a.live(), "r-*") {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue // none of ours
		}
		l := flock.New(name, flock.SetFlag(os.O_RDWR|regular.OwnFlags)) // who holds a lease of it keeps nobody waiting
		if ok, err := l.TryLock(); !ok || err != nil {
			l.Close()
			continue
		}
		var m Mark
		text, err := regular.ReadOwn(name, 1<<20)
		if (err != nil || json.Unmarshal(text, &m) != nil || m.Run == "" || drop(m)) && r != nil {
			_ = r.Remove(filepath.Join("runs", "live", filepath.Base(name)))
		}
		l.Close()
	}
}

// The key of a run that is carried out on other machines is the private half of what its answers are signed with. Without it no process
// takes the run up again; who has it answers for the run.

func keyName(run string) (string, error) {
	if filepath.Base(run) != run || !strings.HasPrefix(run, "r-") {
		return "", fmt.Errorf("%q is not the name of a run", run)
	}
	return filepath.Join("runs", "key", run), nil
}

// KeepKey keeps the key of a run, readable by its user alone.
func (a Archive) KeepKey(run string, key []byte) error {
	name, err := keyName(run)
	if err != nil {
		return err
	}
	r, err := a.open(true)
	if err != nil {
		return err
	}
	defer r.Close()
	return blob.WriteIn(r, name, key, 0o600)
}

// Key returns the key of a run; the error is [fs.ErrNotExist] where there is none, or none any more.
func (a Archive) Key(run string) ([]byte, error) {
	name, err := keyName(run)
	if err = cmp.Or(err, a.Check()); err != nil {
		return nil, err
	}
	return regular.ReadOwn(a.path(name), maxKey)
}

const maxKey = 256 // bytes

// DropKey removes the key of a run that is over.
func (a Archive) DropKey(run string) {
	name, err := keyName(run)
	if err != nil {
		return
	}
	if r, err := a.open(true); err == nil {
		defer r.Close()
		_ = r.Remove(name)
	}
}
