// Package journal keeps what the hooks have to remember between events: the sessions of agents, what was decided, and
// whether a person switched the hooks off. It decides nothing.
//
// All of it is in the user's state folder, $XDG_STATE_HOME/dialect/hooks (default: ~/.local/state), outside of the project: it is there where the
// store is broken, it is in no tree, and an agent that a sandbox keeps in the project cannot write it.
//
//	KEY/                 one project; KEY is 16 hex digits of the SHA-256 of its root
//	    root             the path of the root
//	    log.jsonl        decisions, one a line; beyond 1 MiB it becomes log.old.jsonl
//	    off.json         until when the hooks are off
//	    files            which files the last look read, as [workspace.Tracker.Remembered] writes it
//	    s-ID.json        a session; ID is 16 hex digits of the SHA-256 of the client and its id
//	    s-ID.prompt      the files at the last prompt, as [workspace.Snapshot.Manifest] writes them
//	    s-ID.stop        likewise at its last stop
//	    s-ID.writes      paths that its tools were about to write, one a line
//	    s-ID.trees       trees that its sub-agents were about to be started in: CALL, a tab and a path, one a line
package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/blob"
)

// Bounds of what is kept and read.
const (
	maxLog      = 1 << 20
	maxSession  = 1 << 20
	maxManifest = 64 << 20
	maxTrees    = 64
	maxWrites   = 1 << 20
	maxLists    = 40                  // of files, of all sessions
	forget      = 30 * 24 * time.Hour // sessions without an event
)

// Home returns the folder that everything is below.
func Home() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "dialect", "hooks"), nil
}

// A Journal is that of one project.
type Journal struct{ dir string }

// Of returns the journal of the project at root, and makes its folder.
func Of(root string) (*Journal, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	j := &Journal{filepath.Join(home, short(root))}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, err
	}
	if name := filepath.Join(j.dir, "root"); !exists(name) {
		_ = os.WriteFile(name, []byte(root+"\n"), 0o600) // for people alone
	}
	return j, nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Files returns what was kept of the last look; nil for nothing.
func (j *Journal) Files() []byte {
	text, err := regular.ReadOwn(filepath.Join(j.dir, "files"), maxManifest)
	if err != nil {
		return nil
	}
	return text
}

// KeepFiles keeps what the next look needs not read.
func (j *Journal) KeepFiles(text []byte) {
	if len(text) <= maxManifest {
		_ = blob.Write(filepath.Join(j.dir, "files"), text, 0o600) // else the next look reads more
	}
}

// An Entry is one decision.
type Entry struct {
	Time    time.Time `json:"time"`
	Agent   string    `json:"agent"`
	Event   string    `json:"event"`
	Session string    `json:"session,omitempty"`
	Action  string    `json:"action"`
	Rule    string    `json:"rule"`
	Tree    string    `json:"tree,omitempty"`
	Text    string    `json:"text,omitempty"`
}

// Log adds an entry. What cannot be written is lost: a hook never fails for it.
func (j *Journal) Log(e Entry) {
	e.Text = clip(e.Text, 2000)
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	name := filepath.Join(j.dir, "log.jsonl")
	if info, err := os.Lstat(name); err == nil && info.Size() > maxLog {
		_ = os.Rename(name, filepath.Join(j.dir, "log.old.jsonl"))
	}
	_ = regular.Append(name, append(line, '\n'))
}

func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}

// Entries returns the decisions, the oldest first. A line that cannot be read is left out.
func (j *Journal) Entries() (list []Entry) {
	for _, name := range []string{"log.old.jsonl", "log.jsonl"} {
		text, err := regular.Read(filepath.Join(j.dir, name), 4*maxLog)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			var e Entry
			if json.Unmarshal(line, &e) == nil {
				list = append(list, e)
			}
		}
	}
	return list
}

type off struct {
	Until time.Time `json:"until"`
}

// SwitchOff switches the hooks of the project off until a time; the zero time switches them on.
func (j *Journal) SwitchOff(until time.Time) error {
	name := filepath.Join(j.dir, "off.json")
	if until.IsZero() {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(off{until})
	if err != nil {
		return err
	}
	return blob.Write(name, text, 0o600)
}

// OffUntil returns until when the hooks are off; the zero time if they are on.
func (j *Journal) OffUntil(now time.Time) time.Time {
	text, err := regular.Read(filepath.Join(j.dir, "off.json"), maxSession)
	var o off
	if err != nil || json.Unmarshal(text, &o) != nil || !now.Before(o.Until) {
		return time.Time{}
	}
	return o.Until
}

// A Session is what is kept of one session of an agent.
type Session struct {
	Agent  string        `json:"agent"`
	ID     string        `json:"id"`
	Start  receipts.Tree `json:"start"`           // of the first event that looked at the files
	Head   string        `json:"head,omitempty"`  // the commit HEAD at the first event; empty where there was none
	Begun  bool          `json:"begun,omitempty"` // Head is known
	Prompt receipts.Tree `json:"prompt"`          // at the last prompt of a person that began anew
	Rules  string        `json:"rules,omitempty"` // digest of the rules then
	// Open says that nobody judged what changed since Prompt: a turn that goes on, or ended in a question. Stopped says that the agent stopped since then.
	Open    bool `json:"open,omitempty"`
	Stopped bool `json:"stopped,omitempty"`
	// Waited are the tasks in the background that let a stop pass since the last prompt, Ignored those before it.
	Waited  []string `json:"waited,omitempty"`
	Ignored []string `json:"ignored,omitempty"`
	Held    int      `json:"held"`             // refused stops since then
	Trees   []string `json:"trees,omitempty"`  // that stops were refused on, by their bytes
	Others  []string `json:"others,omitempty"` // paths that changed between a stop and the next prompt

	j    *Journal
	name string
	lock *flock.Flock
}

// Session opens the session of a client, and locks it against the other hooks of the same client until [Session.Close]. The error
// is that it cannot be kept: then nothing may be refused in it, as the refusals could not be counted.
func (j *Journal) Session(ctx context.Context, agent, id string) (*Session, error) {
	if id == "" {
		return nil, errors.New("the client names no session")
	}
	s := &Session{name: j.session(agent, id), j: j}
	s.lock = flock.New(s.name+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR|regular.OwnFlags), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if ok, err := s.lock.TryLockContext(ctx, 5*time.Millisecond); err != nil || !ok {
		return nil, errors.Join(errors.New("another hook of this session holds its lock"), err)
	}
	text, err := regular.Read(s.name+".json", maxSession)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	s.Agent, s.ID = agent, id
	if errors.Is(err, fs.ErrNotExist) {
		j.collect()
		err = nil
	}
	if err != nil { // damaged: begun anew, and it must be writable
		*s = Session{Agent: agent, ID: id, name: s.name, j: j, lock: s.lock}
	}
	if err := s.Save(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Save keeps the session.
func (s *Session) Save() error {
	s.Trees = s.Trees[max(0, len(s.Trees)-maxTrees):]
	s.Others = s.Others[max(0, len(s.Others)-4*maxTrees):]
	s.Waited, s.Ignored = s.Waited[max(0, len(s.Waited)-maxTrees):], s.Ignored[max(0, len(s.Ignored)-maxTrees):]
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return blob.Write(s.name+".json", text, 0o600)
}

// Close lets go of the session.
func (s *Session) Close() { _ = s.lock.Unlock() }

// The moments whose files are kept.
const (
	AtPrompt = ".prompt"
	AtStop   = ".stop"
)

// Keep keeps the manifest of the files at a moment.
func (s *Session) Keep(moment string, manifest []byte) {
	if len(manifest) <= maxManifest {
		_ = blob.Write(s.name+moment, manifest, 0o600)
	}
}

// Kept returns the manifest of a moment; nil if there is none.
func (s *Session) Kept(moment string) []byte {
	text, err := regular.Read(s.name+moment, maxManifest)
	if err != nil {
		return nil
	}
	return text
}

// Wrote notes that a session is about to write a file. It needs no lock.
func (j *Journal) Wrote(agent, id, path string) {
	if id != "" {
		note(j.session(agent, id)+".writes", path)
	}
}

// Above returns the nearest of dir and the folders above it that has a session, as the root of a project; empty for none.
func Above(dir, agent, id string) string {
	home, err := Home()
	if err != nil || id == "" {
		return ""
	}
	for at := range regular.Above(dir) {
		if exists((&Journal{filepath.Join(home, short(at))}).session(agent, id) + ".json") {
			return at
		}
	}
	return ""
}

// session is the path of the files of a session, without their ends.
func (j *Journal) session(agent, id string) string {
	return filepath.Join(j.dir, "s-"+short(agent+"\x00"+id))
}

// Placed notes that a call of a session is about to start a sub-agent in a tree.
func (j *Journal) Placed(agent, id, call, tree string) {
	if id != "" && !strings.Contains(call, "\t") {
		note(j.session(agent, id)+".trees", call+"\t"+tree)
	}
}

// PlaceOf returns the tree that a sub-agent of a session was started in, by the call that its id ends in; empty where that is not known.
func (j *Journal) PlaceOf(agent, id, sub string) string {
	for line := range lines(j.session(agent, id) + ".trees") {
		if call, tree, ok := strings.Cut(line, "\t"); ok && call != "" && strings.HasSuffix("-"+sub, "-"+call) {
			return tree
		}
	}
	return ""
}

// note adds a line to a file that is bounded.
func note(name, line string) {
	if strings.Contains(line, "\n") {
		return
	}
	if info, err := os.Lstat(name); err == nil && info.Size() > maxWrites {
		return
	}
	_ = regular.Append(name, []byte(line+"\n"))
}

// Foreign returns those of paths, absolute ones, that this session did not write as far as is known: tools of another
// session were about to write them, or they changed while this one waited for its next prompt; and its own tools did not
// touch them.
func (s *Session) Foreign(paths []string) (list []string) {
	own := lines(s.name + ".writes")
	others := make(map[string]bool)
	for _, p := range s.Others {
		others[p] = true
	}
	for _, name := range regular.In(s.j.dir, "s-*.writes") {
		if name != s.name+".writes" {
			for p := range lines(name) {
				others[p] = true
			}
		}
	}
	for _, p := range paths {
		if others[p] && !own[p] {
			list = append(list, p)
		}
	}
	return list
}

func lines(name string) map[string]bool {
	found := make(map[string]bool)
	text, err := regular.Read(name, 2*maxWrites)
	if err != nil {
		return found
	}
	for line := range strings.Lines(string(text)) {
		found[strings.TrimSuffix(line, "\n")] = true
	}
	return found
}

// HeldOn reports whether a stop was refused on a tree.
func (s *Session) HeldOn(tree string) bool { return slices.Contains(s.Trees, tree) }

// collect removes what is left of sessions that had no event for long, and the lists of files of all but the last ones: in a large project
// such a list is as long as a thousand sessions.
func (j *Journal) collect() {
	type list struct {
		name string
		at   time.Time
	}
	var lists []list
	for _, name := range regular.In(j.dir, "s-*") {
		info, err := os.Lstat(name)
		switch {
		case err != nil:
		case time.Since(info.ModTime()) > forget:
			_ = os.Remove(name)
		case filepath.Ext(name) == AtPrompt || filepath.Ext(name) == AtStop:
			lists = append(lists, list{name, info.ModTime()})
		}
	}
	slices.SortFunc(lists, func(a, b list) int { return b.at.Compare(a.at) })
	for _, l := range lists[min(len(lists), maxLists):] {
		_ = os.Remove(l.name)
	}
}
