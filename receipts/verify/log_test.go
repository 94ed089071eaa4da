package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

const origin = "dialect/test"

// A slice is a log in memory.
type slice struct {
	origin string
	recs   []Raw
	hashes hashes
	note   []byte
	// reread, if set, answers for a record that is read again.
	reread func(Raw) (Raw, bool)
	reads  int // of single records
}

func (l *slice) State(context.Context) (State, error) {
	st := State{Checkpoint: receipts.Checkpoint{Origin: l.origin, Count: int64(len(l.recs))}, Note: l.note}
	var err error
	st.Root, err = tlog.TreeHash(st.Count, l.hashes)
	return st, err
}

func (l *slice) Records(_ context.Context, from int64, f func(Raw) bool) error {
	for _, r := range l.recs[min(from, int64(len(l.recs))):] {
		if !f(r) {
			break
		}
	}
	return nil
}

func (l *slice) Record(_ context.Context, seq int64) (Raw, bool, error) {
	l.reads++
	if seq >= int64(len(l.recs)) {
		return Raw{}, false, nil
	}
	if l.reread != nil {
		r, ok := l.reread(l.recs[seq])
		return r, ok, nil
	}
	return l.recs[seq], true, nil
}

func (l *slice) Hashes(_ context.Context, indexes []int64) ([]tlog.Hash, error) {
	return l.hashes.ReadHashes(indexes)
}

// A maker makes a log.
type maker struct {
	t    testing.TB
	log  *slice
	sign *receipts.Signer // of what is added; nil for nobody
	n    int
}

func newMaker(t testing.TB) *maker { return &maker{t: t, log: &slice{origin: origin}} }

func newSigner(t testing.TB) (*receipts.Signer, note.Verifiers) {
	t.Helper()
	private, _, err := receipts.GenerateKey("boss")
	if err != nil {
		t.Fatal(err)
	}
	s, err := receipts.NewSigner(private, true)
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Keys()
}

type recorder interface {
	Record() (receipts.Record, error)
}

// add appends a record and returns its hash.
func (m *maker) add(b recorder) receipts.Hash {
	m.t.Helper()
	if g, ok := b.(*receipts.Gate); ok && m.sign != nil && g.Signer == "" {
		g.Signer = m.sign.ID() // as each store does
	}
	rec, err := b.Record()
	if err != nil {
		m.t.Fatal(err)
	}
	raw := Raw{Seq: int64(len(m.log.recs)), Kind: rec.Kind, Body: rec.Body}
	if m.sign != nil {
		if raw.Signature, err = m.sign.Sign(origin, rec.SHA()); err != nil {
			m.t.Fatal(err)
		}
	}
	m.put(raw)
	return rec.SHA()
}

func (m *maker) put(raw Raw) {
	m.t.Helper()
	hs, err := tlog.StoredHashesForRecordHash(raw.Seq, receipts.Record{Kind: raw.Kind, Body: raw.Body}.Leaf(), m.log.hashes)
	if err != nil {
		m.t.Fatal(err)
	}
	m.log.recs, m.log.hashes = append(m.log.recs, raw), append(m.log.hashes, hs...)
}

// again makes the hashes of the log anew, over other records.
func (m *maker) again(recs []Raw) {
	m.log.recs, m.log.hashes = nil, nil
	for i, r := range recs {
		r.Seq = int64(i)
		m.put(r)
	}
}

// audited returns how many records were read, and not remembered.
func (s *Session) audited() int64 { return s.head.Count - s.start }

func (m *maker) head() receipts.Checkpoint {
	m.t.Helper()
	st, err := m.log.State(context.Background())
	if err != nil {
		m.t.Fatal(err)
	}
	return st.Checkpoint
}

// signCheckpoint signs the checkpoint as it is.
func (m *maker) signCheckpoint(s *receipts.Signer) {
	m.t.Helper()
	var err error
	if m.log.note, err = s.SignCheckpoint(m.head()); err != nil {
		m.t.Fatal(err)
	}
}

func (m *maker) open(o Options) *Session {
	m.t.Helper()
	s, err := Open(context.Background(), m.log, o)
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

var (
	treeA  = receipts.Tree{Tree: strings.Repeat("a", 40), Bytes: receipts.Hash{0xa}, Exact: true}
	treeB  = receipts.Tree{Tree: strings.Repeat("b", 40), Bytes: receipts.Hash{0xb}, Exact: true}
	treeC  = receipts.Tree{Tree: strings.Repeat("c", 40), Bytes: receipts.Hash{0xc}, Exact: true}
	matrix = receipts.Hash{7}
	noon   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	lint   = receipts.CommandHash([]string{"lint"})
)

func (m *maker) now() receipts.Time {
	m.n++
	return receipts.Time{Time: noon.Add(time.Duration(m.n) * time.Second)}
}

// receipt is of a success of the command lint on tree A; change changes it.
func (m *maker) receipt(change ...func(*receipts.Receipt)) receipts.Hash {
	m.t.Helper()
	code := 0
	r := &receipts.Receipt{
		Version: 1, Argv: []receipts.Datum{receipts.Text("lint")}, Command: lint, Kind: "process", Attempt: 1, Timestamp: m.now(), DurationNS: 1,
		Status: receipts.Succeeded, ExitCode: &code, Session: "s", Run: "r-1", Step: "1", Binding: "check_lint", Matrix: matrix,
		Line:      receipts.Line{File: receipts.Text("q.dlct"), Number: 1, Text: receipts.Text("Check with lint")},
		Workspace: &receipts.Workspace{Before: treeA, Still: true},
	}
	if m.sign != nil {
		r.Signer = m.sign.ID()
	}
	for _, f := range change {
		f(r)
	}
	return m.add(r)
}

func failing(r *receipts.Receipt) {
	code := 1
	r.Status, r.ExitCode = receipts.StatusFailed, &code
}

func killed(r *receipts.Receipt) {
	r.Status, r.StopReason, r.ExitCode, r.Signal = receipts.StatusFailed, receipts.StopKilled, nil, "SIGKILL"
}

func unbound(r *receipts.Receipt) { r.Binding, r.Matrix = "", receipts.Hash{} }

func of(argv string) func(*receipts.Receipt) {
	return func(r *receipts.Receipt) {
		r.Argv, r.Command, r.Binding = []receipts.Datum{receipts.Text(argv)}, receipts.CommandHash([]string{argv}), "check_"+argv
	}
}

// gate is a final gate over members, of tree A.
func (m *maker) gate(members []receipts.Hash, change ...func(*receipts.Gate)) receipts.Hash {
	m.t.Helper()
	g := &receipts.Gate{
		Version: 1, Run: "r-1", Session: "s", Timestamp: m.now(), Final: true, Matrix: matrix, Members: members, Policy: receipts.PolicyPinned,
		Tree: &treeA, Covers: receipts.Covers{FirstLine: 1, LastLine: 1, Commands: len(members)},
	}
	if m.sign != nil {
		g.Level = receipts.LevelKey
	}
	for _, f := range change {
		f(g)
	}
	return m.add(g)
}

func (m *maker) run(name string, change ...func(*receipts.Run)) receipts.Hash {
	m.t.Helper()
	r := &receipts.Run{
		Version: 1, Run: name, Session: "s", Started: m.now(), Tree: &treeA, Script: receipts.File{Path: receipts.Text("q.dlct")},
		Planned: []receipts.Planned{{Step: "1", Line: 1, Command: lint}, {Step: "2", Line: 2}}, // the second is the gate
	}
	for _, f := range change {
		f(r)
	}
	return m.add(r)
}

func (m *maker) accept(failures ...receipts.Hash) {
	m.t.Helper()
	m.add(&receipts.Trust{Version: 1, What: receipts.TrustFlaky, Receipts: failures, Reason: "the network", By: "ann", Timestamp: m.now()})
}

func (m *maker) consume(hs ...receipts.Hash) {
	m.t.Helper()
	m.add(&receipts.Consumption{Version: 1, Consumed: hs, By: "ann", Timestamp: m.now()})
}

// asked is the question that the tests vary: were the files of tree A tested by lint?
func asked(change ...func(*Query)) Query {
	q := Query{
		Tree: &treeA, Matrix: matrix, Now: noon.Add(time.Hour),
		Require: []Requirement{{Name: "lint", Binding: "check_lint", Command: lint, Words: "lint"}},
	}
	for _, f := range change {
		f(&q)
	}
	return q
}

// changes has a receipt be of a command that changed the files.
func changes(before, after receipts.Tree) func(*receipts.Receipt) {
	return func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: before, After: &after} }
}

func strict(q *Query)  { q.Strict = true }
func nothing(q *Query) { q.Require = nil }
func signed(q *Query)  { q.Level = receipts.LevelKey }

func told(r *Result) string {
	if r == nil {
		return "no result"
	}
	text := string(r.Verdict)
	for _, x := range r.Refusals {
		text += "\n  " + string(x.Reason) + ": " + x.Message
	}
	return text
}

func ask(t testing.TB, s *Session, q Query) *Result {
	t.Helper()
	r, err := s.Verify(q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A log in memory of records that stand alone, for what is not about verdicts.
func (m *maker) fill(n int) {
	for i := range n {
		m.receipt(of(fmt.Sprint("x", i)), func(r *receipts.Receipt) { r.Workspace = &receipts.Workspace{Before: treeB} })
	}
}

func memoryFile(t testing.TB) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "memory"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func recollect(t testing.TB, f *os.File) *Memory {
	t.Helper()
	m, err := Recollect(f, "store")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// remember opens the log with the memory in f, and saves it.
func (m *maker) remember(f *os.File, o Options) *Session {
	m.t.Helper()
	o.Memory = recollect(m.t, f)
	s := m.open(o)
	if err := s.Save(o.Memory); err != nil {
		m.t.Fatal(err)
	}
	return s
}

func reason(r *Result, want receipts.Reason) bool {
	return slices.ContainsFunc(r.Refusals, func(x receipts.Refusal) bool { return x.Reason == want })
}
