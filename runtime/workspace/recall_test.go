package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRecall holds that a tracker that recalls what another one knew takes the same snapshot as one that reads every file, whatever was
// changed between, and that it reads what changed.
func TestRecall(t *testing.T) {
	r := newRepo(t)
	for i := range 50 {
		r.write(fmt.Sprintf("d%d/f%d", i%5, i), strings.Repeat("line\r\n", i))
	}
	r.write(".gitattributes", "*.txt eol=crlf\n")
	r.write("a.txt", "one\r\n")
	if err := os.Symlink("a.txt", r.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	r.git("add", "-A")
	time.Sleep(settling + 100*time.Millisecond)
	ctx := context.Background()
	take := func(tr *Tracker) *Snapshot {
		t.Helper()
		s, err := tr.Take(ctx)
		if err != nil || s.Reason != "" {
			t.Fatal(err, s)
		}
		return s
	}
	first := NewTracker(r.dir, Options{})
	s := take(first)
	text := first.Remembered(s)
	same := func() *Tracker {
		t.Helper()
		second := NewTracker(r.dir, Options{})
		if err := second.Recall(text); err != nil {
			t.Fatal(err)
		}
		got, want := take(second), take(NewTracker(r.dir, Options{}))
		if got.Bytes != want.Bytes || got.Tree != want.Tree || got.Exact != want.Exact || fmt.Sprint(got.Beyond) != fmt.Sprint(want.Beyond) {
			t.Errorf("recalled %+v, read %+v", got, want)
		}
		return second
	}
	if again := same().Remembered(s); &again[0] != &text[0] {
		t.Error("what is remembered was made again where nothing changed")
	}
	// It is the memory that answers, and not the files: one that says something else is trusted.
	root, m, err := parseRecall(text)
	if err != nil || root != s.Root || m.len() != 53 {
		t.Fatal(err, m)
	}
	m.kept.files = bytes.Clone(m.kept.files)
	for i := range m.len() {
		if p := m.kept.path(i); p != ".gitattributes" && p != "a.txt" { // which are read in any case, the second for its line ends
			m.kept.file(i)[62] ^= 1 // of its SHA-256
		}
	}
	lying := NewTracker(r.dir, Options{})
	lying.memory = map[string]*memory{s.Root: m}
	if take(lying).Bytes == s.Bytes {
		t.Error("the files were read")
	}
	// What changes is read, with its time stamp put back, too.
	info, err := os.Stat(r.dir + "/d1/f1")
	if err != nil {
		t.Fatal(err)
	}
	r.write("d1/f1", strings.Repeat("LINE\r\n", 1))
	if err := os.Chtimes(r.dir+"/d1/f1", info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	r.write("new", "x")
	if err := os.Remove(r.dir + "/d2/f2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.dir+"/d3/f3", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(r.dir + "/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("new", r.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settling + 100*time.Millisecond) // so that the new ones are remembered, too
	again := same().Remembered(s)
	if _, m, err := parseRecall(again); err != nil || m.len() != 53 || bytes.Equal(again, text) {
		t.Errorf("after changes: %v, %v", err, m)
	}
	if err := os.Remove(r.dir + "/d1/f1"); err != nil {
		t.Fatal(err)
	}
	text = again
	if gone := same().Remembered(s); bytes.Equal(gone, again) {
		t.Error("a file that is gone is remembered")
	}

	for _, bad := range [][]byte{nil, []byte(recallMagic), text[:len(text)-1], append([]byte(nil), text[1:]...), append(append([]byte(nil), text...), 0)} {
		if err := NewTracker(r.dir, Options{}).Recall(bad); err == nil {
			t.Errorf("%d bytes are no memory", len(bad))
		}
	}
}

func FuzzRecall(f *testing.F) {
	f.Add([]byte(recallMagic))
	r := newRepo(f)
	r.write("a", "a")
	if err := os.Symlink("a", r.dir+"/link"); err != nil {
		f.Fatal(err)
	}
	time.Sleep(settling + 100*time.Millisecond)
	tracker := NewTracker(r.dir, Options{})
	s, err := tracker.Take(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tracker.Remembered(s))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) >= recallHeader { // else the checksum is all that is tried
			text = bytes.Clone(text)
			binary.LittleEndian.PutUint32(text[len(recallMagic):], recallSum(text))
		}
		_, m, err := parseRecall(text)
		if err != nil {
			return
		}
		near := 0
		for i := range m.len() {
			e := entry{path: m.kept.path(i)}
			m.recall(&e, &near)
			m.kept.read(i, &e)
		}
	})
}
