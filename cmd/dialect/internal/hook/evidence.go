package hook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/cmd/dialect/internal/store"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/ignore"
)

// A look is what was asked about the files, and the answer.
type look struct {
	q        *inquiry.Question
	res      *verify.Result // nil where nothing had to be asked
	evidence decide.Evidence
	doc      inquiry.Document
	noRules  string // why there are no rules to ask by; empty where there are
}

// ask asks about the present files, or about the commit rev. before is called between the snapshot and the question, and says
// that the question need not be asked.
func (r *run) ask(rev string, before func(*inquiry.Question) bool) (_ *look, err error) {
	defer func() {
		if err != nil && r.ctx.Err() != nil { // which ends what looks, however that says so
			err = errors.New("reading the files took too long")
		}
	}()
	if r.look != nil {
		if err := r.look(r, rev); err != nil {
			return nil, err
		}
	}
	if r.kept = nil; rev == "" && r.journal != nil {
		r.kept = r.reads()
	}
	o := inquiry.Options{Own: true, Store: r.storeHere(), Take: r.take, Then: r.then}
	l := &look{}
	q, err := inquiry.New(r.ctx, o, rev)
	var rules *inquiry.Unloadable
	switch {
	case errors.As(err, &rules):
		l.q, l.res = inquiry.Broken(o, rules.Failure)
		l.noRules = rules.Error()
	case err != nil:
		return nil, err
	default:
		l.q = q
		if q.Tree != nil {
			r.tree = short(*q.Tree)
		}
		if l.evidence.NoTree = q.NoTree; q.NoTree != "" && rev == "" || before != nil && before(q) {
			return l, nil
		}
		if l.res, err = q.AskWhole(r.ctx, rev, cmp.Or(rev, r.head, "HEAD")); err != nil {
			return nil, err
		}
	}
	if l.noRules == "" && l.q.Trusted() == nil {
		l.noRules = "it has no routing.toml"
	}
	l.doc = l.q.Document(l.res)
	l.evidence.Verdict = l.res.Verdict
	if len(l.res.Refusals) > 0 {
		l.evidence.Why = l.res.Refusals[0].Message
		if l.res.Verdict == verify.Missing && !place.Exists(l.q.Store()) {
			l.evidence.Why = "no script has run here yet"
		}
	}
	return l, nil
}

// take takes a snapshot that reads the files whose status changed since the last look, of any session. The result depends on the user's state
// folder: anyone who can write there can make the hook let an agent go. `dialect verify` reads every file.
func (r *run) take(ctx context.Context, dir string, o workspace.Options) (*workspace.Snapshot, error) {
	o.Distrust = true // the hook stands outside of the agent's sandbox
	if r.journal == nil {
		return workspace.Take(ctx, dir, o)
	}
	t := workspace.NewTracker(dir, o)
	reading := r.kept
	if r.kept = nil; reading == nil {
		reading = r.reads()
	}
	kept := <-reading
	_ = t.Recall(kept) // else every file is read
	s, err := t.Take(ctx)
	if err == nil {
		if now := t.Remembered(s); !bytes.Equal(now, kept) {
			r.journal.KeepFiles(now)
		}
	}
	return s, err
}

// reads begins to read what the last look kept: git's files, which are asked before the present ones are looked at, are read meanwhile.
func (r *run) reads() <-chan []byte {
	kept, j := make(chan []byte, 1), r.journal
	go func() { kept <- j.Files() }()
	return kept
}

func short(t receipts.Tree) string {
	if t.Bytes.IsZero() {
		return t.Tree
	}
	return t.Bytes.Short()
}

// present returns the state of the present files; zero where it is not known.
func present(q *inquiry.Question) receipts.Tree {
	if q.Tree == nil {
		return receipts.Tree{}
	}
	return *q.Tree
}

// since returns the paths, relative to the worktree, that differ between a kept manifest and the snapshot; ok is false where
// nothing was kept.
func since(manifest []byte, now *workspace.Snapshot) (paths []string, ok bool) {
	if manifest == nil || now == nil {
		return nil, false
	}
	old, err := workspace.ParseManifest(manifest)
	if err != nil {
		return nil, false
	}
	for _, c := range workspace.Diff(old, now) {
		paths = append(paths, c.Path)
	}
	return paths, true
}

// ignored reports whether [hooks] ignore of the trusted matrix has all of paths, of which there are some.
func ignored(ctx context.Context, q *inquiry.Question, paths []string) bool {
	m := q.Trusted()
	if m == nil || len(m.HooksIgnore) == 0 || len(paths) == 0 || q.Snapshot() == nil {
		return false
	}
	rules := (*ignore.File)(nil).Under("", []byte(strings.Join(m.HooksIgnore, "\n")))
	budget := ignore.NewBudget(ctx)
	hides := func(p string) bool {
		if in := q.Snapshot().Place; in != "" {
			rel, ok := strings.CutPrefix(p, in+"/")
			if !ok {
				return false
			}
			p = rel
		}
		parts := strings.Split(p, "/")
		for i := range parts {
			hidden, err := rules.Hides(budget, path.Join(parts[:i+1]...), parts[i], i < len(parts)-1)
			if err != nil {
				return false
			}
			if hidden {
				return true
			}
		}
		return false
	}
	return !slices.ContainsFunc(paths, func(p string) bool { return !hides(p) })
}

// maxOutput bounds the output that is read for one verdict to find the names of tests, in bytes: an agent waits meanwhile.
const maxOutput = 8 << 20

// failures returns what failed, and how often: "BINDING\x00COMMAND\x00" with the way that the command ended, with the name of each failing
// test and, where its output names none, with each line of that, without numbers. ok is false where a failure is of something that
// cannot be looked up, of a command that did not come to its end, or has more output than is left of maxOutput.
func failures(q *inquiry.Question, res *verify.Result) (set map[string]int, ok bool) {
	set, ok = make(map[string]int), true
	left := maxOutput
	for _, refusal := range res.Refusals {
		if refusal.Reason != receipts.NotSucceeded && refusal.Reason != receipts.Superseded {
			continue
		}
		r, a, err := (store.Place{Name: q.Store()}).Receipt(refusal.SHA.String())
		if err != nil || r.StopReason.EndedEarly() {
			ok = false
			continue
		}
		text, whole := output(a, r, left)
		if left -= len(text); !whole {
			ok = false
			continue
		}
		names := diagnose.FailedTests(text)
		if len(names) >= diagnose.MaxFailed {
			ok = false
			continue
		}
		code := "none"
		if r.ExitCode != nil {
			code = strconv.Itoa(*r.ExitCode)
		}
		key := r.Binding + "\x00" + r.Command.String() + "\x00"
		set[key+"ended "+string(r.StopReason)+" "+code+" "+r.Signal] = 1
		for _, n := range names {
			set[key+"test "+n]++
		}
		if len(names) > 0 {
			continue
		}
		for line := range bytes.Lines(diagnose.Readable(text)) {
			set[key+"line "+string(number().ReplaceAll(bytes.TrimSpace(line), []byte("0")))]++ // one more of the same is another failure
		}
	}
	return set, ok && len(set) > 0
}

// number finds what differs between two outputs of the same failure: times, lines, addresses.
var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+(?:[.:,][0-9]+)*`) })

// output returns what is kept of the output of a command. ok is false if some of it cannot be read, if it is not what was recorded, or if it is
// longer than most, in bytes.
func output(a archive.Archive, r *receipts.Receipt, most int) (text []byte, ok bool) {
	for _, s := range []receipts.Stream{r.Stdout, r.Stderr} {
		if s.Bytes == 0 {
			continue
		}
		sum := s.SHA256
		if !s.Log.IsZero() {
			sum = s.Log
		}
		b, err := regular.ReadOwn(blob.Path(string(a), sum), int64(most-len(text)))
		if err != nil || sha256.Sum256(b) != sum {
			return nil, false
		}
		text = append(append(text, b...), '\n')
	}
	return text, true
}

// begin notes what HEAD is at the first event of a session: an agent moves HEAD.
func (r *run) begin(s *journal.Session) {
	defer func() { r.head = s.Head }()
	if s.Begun {
		return
	}
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	c, err := workspace.Resolve(r.ctx, dir, "HEAD", workspace.Options{})
	switch {
	case err == nil:
		s.Head = c.ID
	case r.ctx.Err() != nil:
		return
	}
	s.Begun = true
	_ = s.Save() // what cannot be kept is asked for again
}

// old reports whether all that failed on the present files also failed in a receipt on the tree of the session's start, or of HEAD as it was then.
func (r *run) old(l *look, s *journal.Session) bool {
	now, ok := failures(l.q, l.res)
	if !ok {
		return false
	}
	before := make(map[string]int)
	add := func(q *inquiry.Question, res *verify.Result, err error) {
		if err == nil && res.Verdict == verify.Failed {
			set, _ := failures(q, res)
			for k, n := range set {
				before[k] = max(before[k], n)
			}
		}
	}
	if s != nil && !s.Start.Bytes.IsZero() {
		q := l.q.At(s.Start)
		res, err := q.Ask(r.ctx, nil, "", "", "")
		add(q, res, err)
	}
	head := "HEAD" // where the client names no session, nothing can be remembered
	if s != nil {
		head = s.Head
	}
	if head != "" {
		if q, err := inquiry.New(r.ctx, inquiry.Options{Own: true, Store: r.storeHere(), Take: r.take}, head); err == nil {
			res, err := q.Ask(r.ctx, nil, "", head, "")
			add(q, res, err)
		}
	}
	for k, n := range now {
		if n > before[k] {
			return false
		}
	}
	return true
}

// absolute returns paths of the snapshot as absolute ones.
func absolute(s *workspace.Snapshot, paths []string) (list []string) {
	for _, p := range paths {
		list = append(list, filepath.Join(s.Root, filepath.FromSlash(p)))
	}
	return list
}
