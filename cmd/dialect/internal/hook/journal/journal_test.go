package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T) *Journal {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	j, err := Of("/some/project")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestOff(t *testing.T) {
	j, now := open(t), time.Now()
	if !j.OffUntil(now).IsZero() {
		t.Error("off from the start")
	}
	if err := j.SwitchOff(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if j.OffUntil(now).IsZero() || !j.OffUntil(now.Add(2*time.Hour)).IsZero() {
		t.Error("it does not end")
	}
	for range 2 {
		if err := j.SwitchOff(time.Time{}); err != nil || !j.OffUntil(now).IsZero() {
			t.Error(err)
		}
	}
	if err := os.WriteFile(filepath.Join(j.dir, "off.json"), []byte("{"), 0o600); err != nil || !j.OffUntil(now).IsZero() {
		t.Errorf("a damaged switch is off: %v", err)
	}
}

// TestLog holds that the log is bounded, and that a line that is torn hides no other.
func TestLog(t *testing.T) {
	j := open(t)
	const n = 1000
	for i := range n {
		j.Log(Entry{Agent: "codex", Rule: fmt.Sprint(i), Text: strings.Repeat("x", 5000)})
	}
	total := int64(0)
	names, _ := filepath.Glob(filepath.Join(j.dir, "log*"))
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 2*maxLog+10_000 {
		t.Errorf("%d bytes", total)
	}
	f, err := os.OpenFile(filepath.Join(j.dir, "log.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"rule":"to` + "\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	j.Log(Entry{Rule: "last"})
	list := j.Entries()
	if len(list) < 300 || list[len(list)-1].Rule != "last" || list[len(list)-2].Rule != fmt.Sprint(n-1) {
		t.Errorf("%d entries", len(list))
	}
}

// TestFirstEntry reads a log that was never cut.
func TestFirstEntry(t *testing.T) {
	j := open(t)
	j.Log(Entry{Rule: "first", Text: strings.Repeat("é", 1500)})
	list := j.Entries()
	if len(list) != 1 || list[0].Rule != "first" || list[0].Text != strings.Repeat("é", 1000)+"..." {
		t.Errorf("%+v", list)
	}
}

// TestForeign tells what a session wrote from what others did.
func TestForeign(t *testing.T) {
	j := open(t)
	for _, w := range []struct{ agent, id, path string }{
		{"codex", "s", "/p/mine"}, {"codex", "s", "/p/both"}, {"codex", "s", "/p/" + strings.Repeat("x", 1<<17)}, {"codex", "s", "/p/late"},
		{"codex", "t", "/p/theirs"}, {"codex", "t", "/p/both"}, {"gemini", "s", "/p/other"}, {"codex", "t", "/p/late"},
		{"codex", "", "/p/nobody"}, {"codex", "t", "/p/two\n/p/lines"},
	} {
		j.Wrote(w.agent, w.id, w.path)
	}
	s, err := j.Session(t.Context(), "codex", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Others = []string{"/p/meanwhile", "/p/mine"}
	got := s.Foreign([]string{"/p/mine", "/p/both", "/p/late", "/p/theirs", "/p/other", "/p/nobody", "/p/lines", "/p/meanwhile", "/p/new"})
	if want := []string{"/p/theirs", "/p/other", "/p/meanwhile"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPlace keeps everything below the state folder, or, where that is not an absolute path, below the home directory.
func TestPlace(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	for state, want := range map[string]string{"/state": "/state/dialect/hooks", "state": "/home/someone/.local/state/dialect/hooks", "": "/home/someone/.local/state/dialect/hooks"} {
		t.Setenv("XDG_STATE_HOME", state)
		if got, err := Home(); err != nil || filepath.ToSlash(got) != want {
			t.Errorf("%q: %s, %v", state, got, err)
		}
	}
}

// TestTogether counts in one session from several hooks at the same time.
func TestTogether(t *testing.T) {
	j := open(t)
	const n = 20
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				s, err := j.Session(t.Context(), "codex", "s")
				if err != nil { // the lock took too long
					continue
				}
				s.Held++
				if err := s.Save(); err != nil {
					t.Error(err)
				}
				s.Close()
				return
			}
		})
	}
	wg.Wait()
	s, err := j.Session(t.Context(), "codex", "s")
	if err != nil || s.Held != n {
		t.Fatalf("%v: %d of %d", err, s.Held, n)
	}
	s.Close()
	for _, other := range []struct{ agent, id string }{{"codex", "t"}, {"gemini", "s"}} {
		s, err := j.Session(t.Context(), other.agent, other.id)
		if err != nil || s.Held != 0 {
			t.Errorf("%v: %+v", err, s)
		}
		s.Close()
	}
	if _, err := j.Session(t.Context(), "codex", ""); err == nil {
		t.Error("a session without a name")
	}
}

// TestUnwritable refuses a session that cannot be kept: its refusals would have no bound.
func TestUnwritable(t *testing.T) {
	j := open(t)
	if err := os.RemoveAll(j.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(j.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Session(t.Context(), "codex", "s"); err == nil {
		t.Error("there is a session")
	}
	j.Log(Entry{Rule: "x"})
	if len(j.Entries()) != 0 {
		t.Error("there is a log")
	}
}

// TestLists holds that what sessions keep of the files is bounded: a list of a large project has a megabyte, and a week has hundreds of sessions.
func TestLists(t *testing.T) {
	j := open(t)
	for i := range 3 * maxLists {
		s, err := j.Session(t.Context(), "codex", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		s.Keep(AtPrompt, []byte("x"))
		s.Keep(AtStop, []byte("x"))
		if s.Kept(AtPrompt) == nil || s.Kept(AtStop) == nil {
			t.Errorf("session %d does not keep its own", i)
		}
		s.Close()
	}
	lists, _ := filepath.Glob(filepath.Join(j.dir, "s-*.[ps]*"))
	if len(lists) > maxLists+2 {
		t.Errorf("%d lists are kept", len(lists))
	}
	if sessions, _ := filepath.Glob(filepath.Join(j.dir, "s-*.json")); len(sessions) != 3*maxLists {
		t.Errorf("%d sessions are left", len(sessions))
	}
}
