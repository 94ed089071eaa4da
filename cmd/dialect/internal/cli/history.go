package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/runtime/report"
)

// A history is the directory, beside the logs, where runs keep their documents: RUN.json
// once a run has ended, live/RUN while it lasts. A file there that nobody holds the lock of
// is of a run that was killed; they have a directory of their own, so that a start does not
// read the names of all earlier runs. Nothing in it is evidence: that is in the store.
type history struct{ dir string }

func (h history) live() string { return filepath.Join(h.dir, "live") }

func historyOf(logs string) history { return history{filepath.Join(logs, "runs")} }

// A mark says of a run that it lasts.
type mark struct {
	Run     string    `json:"run"`
	Script  string    `json:"script"`
	Started time.Time `json:"started"`
	PID     int       `json:"pid"`

	path string
	lock *flock.Flock
}

// begin marks a run as lasting. It gets its name once its lock is held: else another run
// would take it for that of a dead one.
func (h history) begin(run, script string) *mark {
	m := &mark{Run: run, Script: script, Started: time.Now().UTC(), PID: os.Getpid(), path: filepath.Join(h.live(), run)}
	text, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	f, err := tempIn(h.live())
	if err != nil {
		return nil // without it no more is lost than a word to the next run
	}
	_, err = f.Write(text)
	temp := f.Name()
	f.Close()
	m.lock = flock.New(temp, flock.SetFlag(os.O_RDWR))
	if ok, lerr := m.lock.TryLock(); err != nil || !ok || lerr != nil || os.Rename(temp, m.path) != nil {
		m.lock.Close()
		os.Remove(temp)
		return nil
	}
	return m
}

// end takes the mark away.
func (m *mark) end() {
	if m != nil {
		os.Remove(m.path)
		m.lock.Close()
	}
}

// killed returns the runs that were killed since this was last asked.
func (h history) killed() (list []mark) {
	names, _ := filepath.Glob(filepath.Join(h.live(), "r-*"))
	for _, name := range names {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue // none of ours
		}
		l := flock.New(name, flock.SetFlag(os.O_RDWR))
		if ok, err := l.TryLock(); !ok || err != nil {
			l.Close()
			continue
		}
		var m mark
		text, err := regular.ReadOwn(name, 1<<20)
		if err == nil && json.Unmarshal(text, &m) == nil && m.Run != "" {
			list = append(list, m)
		}
		os.Remove(name)
		l.Close()
	}
	return list
}

// keep keeps the document of a run. Without it no more than that is lost.
func (h history) keep(run string, text []byte) {
	_ = place(h.dir, run+".json", text)
}

// names returns the ids of the runs with a document, the newest first.
func (h history) names() []string {
	entries, _ := os.ReadDir(h.dir)
	type item struct {
		run string
		at  time.Time
	}
	var items []item
	for _, e := range entries {
		run, ok := strings.CutSuffix(e.Name(), ".json")
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
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

// maxDocument bounds what is read of a document, in bytes.
const maxDocument = 256 << 20

func (h history) read(run string) (*report.Document, error) {
	path := filepath.Join(h.dir, run+".json")
	text, err := regular.ReadOwn(path, maxDocument)
	if errors.Is(err, regular.ErrKind) {
		return nil, fmt.Errorf("%s is no document of a run", path)
	}
	if err != nil {
		return nil, err
	}
	d, err := report.Read(bytes.NewReader(text))
	if err == nil && d.Run != run {
		err = errors.New("it is of another run")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return d, nil
}

// find returns the document of a run: by its id, a prefix of it, or, for "", the newest.
func (h history) find(id string) (*report.Document, error) {
	names := h.names()
	if len(names) == 0 {
		return nil, failf(exitFailed, "no run is kept in %s", shortPath(h.dir)).hint("`dialect run FILE` keeps one, unless it has no store")
	}
	if id == "" {
		return h.load(names[0])
	}
	var found []string
	for _, n := range names {
		if n == id {
			return h.load(n)
		}
		if strings.HasPrefix(n, id) && len(id) >= 4 {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return h.load(found[0])
	case 0:
		return nil, failf(exitFailed, "no run %s is kept", id).hint("`dialect runs` shows what there is")
	}
	return nil, failf(exitFailed, "%s is not unique: %s", id, strings.Join(found[:min(len(found), 5)], ", "))
}

func (h history) load(run string) (*report.Document, error) {
	d, err := h.read(run)
	if err != nil {
		return nil, failf(exitFailed, "%v", err)
	}
	return d, nil
}

// last returns the newest document of a script, of those of the newest thousand runs; nil
// if there is none.
func (h history) last(s *script) *report.Document {
	for i, run := range h.names() {
		if i == 1000 {
			break
		}
		d, err := h.read(run)
		if err == nil && sameScript(d, s) {
			return d
		}
	}
	return nil
}

func sameScript(d *report.Document, s *script) bool {
	if s.path != "" {
		return d.Script.Path == s.path
	}
	return d.Script.Path == "" && d.Script.SHA256 == s.sha256()
}

// findHistory returns the history of the store that --store names, or of the nearest
// project's.
func findHistory(store string) (history, string, error) {
	path, err := findStore(store)
	if err != nil {
		return history{}, "", err
	}
	return historyOf(logsOf(path)), path, nil
}

// tellKilled says of runs that were killed how far they came.
func (h history) tellKilled(u *ui, s *sqlite.Store) {
	for _, m := range h.killed() {
		text := fmt.Sprintf("the run %s of %s, begun %s, was killed", m.Run, printable(m.Script), m.Started.Local().Format("2006-01-02 15:04:05"))
		if s != nil {
			if far := howFar(s, m.Run); far != "" {
				text += ": " + far
			}
		}
		u.notef("%s", text)
	}
}

// completeRuns completes the runs that are kept.
func completeRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	store, _ := cmd.Flags().GetString("store") // it has the flag
	h, _, err := findHistory(store)
	if err != nil || len(args) > 0 {
		return nil, none
	}
	names := h.names()
	return names[:min(len(names), 50)], none | cobra.ShellCompDirectiveKeepOrder
}
