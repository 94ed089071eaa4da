// Package store does what a command line asks of a store of receipts: it finds and opens the store,
// hands out what was asked for as documents, and gives errors their exit status and advice. It
// judges nothing, which is for receipts/verify, and prints nothing.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/interrupt"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/sqlite"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/history"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/records"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// A Place is a store as a command line names it, and the keys whose signatures count.
type Place struct {
	Name   string         // its path; empty for the notary's, or else the nearest project's
	Notary string         // the socket of the notary; empty for that of DIALECT_NOTARY
	Keys   note.Verifiers // nil for none
}

// ErrNone says that there is no store at the path of a place.
var ErrNone = errors.New("there is no store")

// Path returns the path of the store: that of the nearest project, walking up from the working
// directory, where it has no name.
func (p Place) Path() (string, error) {
	if p.Name != "" {
		return p.Name, nil
	}
	if path, err := Copied(p.Notary); path != "" || err != nil {
		return path, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	path, err := archive.Nearest(dir)
	switch {
	case err != nil:
		return "", unusable(exit.Failf(exit.Refused, "the store cannot be used: %v", err), err, true)
	case path != "":
		return path, nil
	}
	f := exit.Failf(exit.Failed, "there is no store of receipts: looked for %s in %s and above it", archive.Store(""), dir)
	if below := archive.Below(); len(below) > 0 {
		return "", f.Hint("receipts are stored next to routing.toml: --store %s", strings.Join(below[:min(len(below), 3)], " or --store "))
	}
	if others := Elsewhere(dir); len(others) > 0 {
		return "", f.Hint("another worktree of the repository has one: --store %s", strings.Join(others[:min(len(others), 3)], " or --store "))
	}
	return "", f.Hint("a run makes one: dialect run; --store PATH names another")
}

// Elsewhere returns the paths of the stores that the project at root has in the other worktrees of its
// repository, such as that of the agent who started the one that works here.
func Elsewhere(root string) (stores []string) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil
	}
	top := place.Repository(root)
	rel, err := filepath.Rel(top, root)
	if err != nil {
		return nil
	}
	for _, dir := range git.Worktrees(top) {
		if path := archive.Store(filepath.Join(dir, rel)); place.Exists(path) {
			stores = append(stores, place.Short(path))
		}
	}
	return stores
}

// Documents returns what runs have left beside the store, and the path of the store.
func (p Place) Documents() (history.Documents, string, error) {
	path, err := p.Path()
	return history.Documents{Archive: archive.Of(path)}, path, err
}

// With opens the store, which must exist, and calls f with it. A signal ends it.
func (p Place) With(o sqlite.Options, f func(ctx context.Context, s *sqlite.Store) error) error {
	path, err := p.Path()
	if err != nil {
		return err
	}
	if isCopy(path) && !o.ReadOnly {
		return exit.Failf(exit.Refused, "the store is the notary's: no asker can write to it").Hint("the person who has its bundle decides: dialect verify --bundle FILE --key KEY --level notary")
	}
	o.Existing = true // a run makes one
	if p.Keys != nil {
		o.Keys = p.Keys
	}
	none := exit.Failf(exit.Failed, "%w %s", ErrNone, path).Hint("a run makes one: dialect run; --store PATH names another, such as that of another worktree")
	_, err = os.Lstat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err := archive.CheckStore(path); err != nil && (missing || !o.ReadOnly) {
		return unusable(exit.Failf(exit.Refused, "%v", err), err, o.ReadOnly)
	}
	if missing {
		return none
	}
	ctx, stop := interrupt.Context()
	defer stop()
	err = interrupt.Await(ctx, func() error {
		s, err := sqlite.Open(ctx, path, o)
		if err == nil {
			err = f(ctx, s)
			if cerr := s.Close(); err == nil && cerr != nil {
				err = cerr
			}
		}
		return err
	})
	var broken *sqlite.UnusableError
	var state *sqlite.StateError
	switch {
	case errors.Is(err, sqlite.ErrNoStore):
		return none
	case errors.Is(err, sqlite.ErrBusy):
		return exit.Failf(exit.Refused, "%v", err).Hint("%s", Remedy(err))
	case errors.As(err, &broken), errors.As(err, &state):
		return unusable(exit.Failf(exit.Refused, "%v", err), err, o.ReadOnly)
	}
	return err
}

// unusable returns f, which says that a store cannot be used, with what to do about err. reads says that nothing was to be written.
func unusable(f *exit.Failure, err error, reads bool) error {
	switch hint := Remedy(err); {
	case !reads && errors.Is(err, syscall.EROFS): // of records that are in this store
		return f.Hint("its file system can only be read: do it where it can be written, since no other store has these records")
	case hint != "":
		return f.Hint("%s", hint)
	}
	if broken := (*sqlite.UnusableError)(nil); errors.As(err, &broken) {
		return f.Hint("move it away to begin a new one: %s", Aside(broken.Path))
	}
	return f.Hint("move it away to begin a new one")
}

// Aside returns the command that moves a store away with all that it is made of: the last records can be in its WAL alone. --store opens
// what was moved. A project's own store has a folder of its own.
func Aside(path string) string {
	from := []string{filepath.Dir(path)}
	to := from[0] + archive.Aside
	if archive.Project(path) == "" {
		from = slices.DeleteFunc(archive.Files(path), func(file string) bool { return file != path && !place.Exists(file) })
		to = path + archive.Aside
	}
	free := to
	for i := 2; place.Exists(free) && i < 100; i++ { // what is there may be evidence, too
		free = to + strconv.Itoa(i)
	}
	for i, file := range from {
		from[i] = place.Short(file)
	}
	free = place.Short(free)
	command := report.Command(slices.Concat([]string{"mv"}, from, []string{free}))
	if archive.Project(path) == "" {
		command = report.Command([]string{"mkdir", free}) + " && " + command
	}
	return command
}

// Remedy says what to do about an error of a store that may be whole, and only cannot be reached. It is empty where
// the fault is in the store: whose records are proof, so that no advice moves a whole one away. Nor does any move what
// is not a project's own store, and may be anything that a person named by mistake.
func Remedy(err error) string {
	var broken *sqlite.UnusableError
	var foreign sqlite.ForeignError
	var other *regular.NotFolderError
	var state *sqlite.StateError
	switch {
	case errors.As(err, &state):
		return ofState(state)
	case errors.As(err, &other):
		if path := linked(other.Path); path != "" {
			return "the link leads to a store, which another project may have: name it with --store " + report.Command([]string{place.Short(path)}) + "; or, once the link is removed, run again"
		}
		return "once it is removed, run again; or name a store elsewhere: --store PATH"
	case errors.As(err, &broken) && errors.As(err, &foreign) && archive.Project(broken.Path) == "":
		return "dialect did not make what stands there: name another path for the store: --store PATH"
	case errors.Is(err, sqlite.ErrBusy):
		return "try again, once that process is done or has ended: the records are still there"
	case errors.Is(err, sqlite.ErrNoRoom):
		return "make room on its disk, then try again: the records are still there"
	case errors.Is(err, sqlite.ErrLongPath):
		return "name a store with a shorter path: --store PATH"
	case errors.Is(err, fs.ErrPermission):
		return "it belongs to another user, or lacks the rights: run as that user, have it given to you (chown, chmod u+rwX), or name a store of your own: --store PATH"
	case errors.Is(err, syscall.EROFS):
		return "its file system can only be read: name a store elsewhere: --store PATH"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise `ulimit -n`, then try again: the records are still there"
	}
	return ""
}

// ofState says what to do where the folder of --state cannot be used.
func ofState(err *sqlite.StateError) string {
	hint := "see to it that you can write there, then ask again"
	switch {
	case errors.Is(err, sqlite.ErrUnprotected):
		hint = "ask as another user, with a folder of that user's"
	case errors.Is(err, sqlite.ErrBusy):
		hint = "try again, once that process is done or has ended"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		hint = "make room there, then ask again"
	}
	if err.Recorded {
		return hint + "; if it was to be consumed, treat it as not consumed, and run again for a new gate"
	}
	return hint + ": the store is whole"
}

// linked returns the path of the store that is where a link leads which takes the place of a folder of stores, or of the folder around it; empty if
// none is there.
func linked(folder string) string {
	name := strings.TrimPrefix(archive.Store(""), archive.Folder+string(filepath.Separator))
	if filepath.Base(folder) != archive.Folder {
		name = filepath.Base(name)
	}
	real, err := filepath.EvalSymlinks(folder)
	if path := filepath.Join(real, name); err == nil && real != folder && place.Exists(path) {
		return path
	}
	return ""
}

// RemedyOf is [Remedy] of an error of which only the text is left, for those of the disk and of other processes.
func RemedyOf(text string) string {
	for _, err := range []error{sqlite.ErrNoRoom, sqlite.ErrBusy, syscall.EROFS} {
		if strings.Contains(text, err.Error()) {
			return Remedy(err)
		}
	}
	return ""
}

// Do opens the store as [Place.With] does, and returns what f makes of it.
func Do[T any](p Place, o sqlite.Options, f func(ctx context.Context, s *sqlite.Store) (T, error)) (made T, err error) {
	out := make(chan T, 1) // after an interruption f may go on
	err = p.With(o, func(ctx context.Context, s *sqlite.Store) error {
		made, err := f(ctx, s)
		out <- made
		return err
	})
	if err == nil {
		made = <-out
	}
	return made, err
}

// RemedyAt is [RemedyOf], and for a project's own store at path, in which the fault is, how to begin a new one.
func RemedyAt(text, path string) string {
	if hint := RemedyOf(text); hint != "" || archive.Project(path) == "" {
		return hint
	}
	if strings.Contains(text, notSQLite) || strings.Contains(text, sqlite.ErrUnread.Error()) {
		return "move it away to begin a new one: " + Aside(path)
	}
	return ""
}

// notSQLite is part of the text of a [sqlite.ForeignError].
const notSQLite = "it is not a SQLite database"

func read[T any](p Place, f func(ctx context.Context, s *sqlite.Store) (T, error)) (T, error) {
	return Do(p, sqlite.Options{ReadOnly: true}, f)
}

// notFound gives an error about an id its exit status.
func notFound(err error) error {
	var broken *sqlite.UnusableError
	var problem *verify.ProblemError
	var lookup *verify.LookupError
	switch {
	case err == nil || errors.As(err, &broken):
		return err
	case errors.As(err, &problem):
		return exit.Failf(exit.Refused, "TAMPERED: %v", err).Hint("`dialect receipts audit` says what was changed")
	case errors.As(err, &lookup) && lookup.Bad: // as of verify, gate and consume
		return exit.Usagef("%v", err).Hint("`dialect receipts list` shows what there is")
	}
	return exit.Failf(exit.Failed, "%v", err).Hint("`dialect receipts list` shows what there is")
}

// A Filter says which records are listed. Empty members do not narrow.
type Filter = sqlite.Filter

// List returns receipts and gates, the oldest first.
func (p Place) List(f Filter) (records.List, error) {
	return read(p, func(ctx context.Context, s *sqlite.Store) (records.List, error) {
		es, err := s.List(ctx, f)
		return records.NewList(es), err
	})
}

// Record returns the document of the record that id names, with what the authenticated log says of it.
func (p Place) Record(id string) (records.Record, error) {
	return read(p, func(ctx context.Context, s *sqlite.Store) (doc records.Record, err error) {
		e, _, err := s.Authentic(ctx, id)
		if err != nil {
			return doc, notFound(err)
		}
		doc = records.New(e)
		if e.Kind == receipts.KindGate {
			t, err := s.Tested(ctx, e.SHA.String())
			if err != nil {
				return doc, err
			}
			doc.Count(t)
		}
		return doc, nil
	})
}

// Receipt returns the receipt that id names, intact, and what lies beside its store.
func (p Place) Receipt(id string) (*receipts.Receipt, archive.Archive, error) {
	e, err := read(p, func(ctx context.Context, s *sqlite.Store) (receipts.Entry, error) {
		e, err := s.Get(ctx, id)
		return e, notFound(err)
	})
	if err != nil {
		return nil, "", err
	}
	v, err := e.Parse()
	r, ok := v.(*receipts.Receipt)
	if err != nil || !ok {
		return nil, "", exit.Failf(exit.Failed, "%s is a record of kind %s: only receipts have a log", e.SHA.Short(), e.Kind)
	}
	if reason, text := receipts.Intact(e); reason != "" {
		return nil, "", exit.Failf(exit.Refused, "the receipt %s %s", e.SHA.Short(), text)
	}
	path, err := p.Path()
	return r, archive.Of(path), err
}

// Output returns the receipt of the command whose output id means, a receipt or what [history.Documents.Line] finds,
// and what lies beside its store.
func (p Place) Output(id string) (*receipts.Receipt, archive.Archive, error) {
	r, logs, err := p.output(id)
	if path, perr := p.Path(); err == nil && perr == nil {
		outputs(path, r)
	}
	return r, logs, err
}

func (p Place) output(id string) (*receipts.Receipt, archive.Archive, error) {
	if _, err := verify.ParseID(id); err == nil && !strings.HasPrefix(id, "r-") {
		return p.Receipt(id)
	}
	h, _, err := p.Documents()
	if err != nil {
		return nil, "", err
	}
	doc, l, err := h.Line(id)
	if err == nil {
		l, err = history.Recorded(doc, l)
	}
	if err != nil {
		return nil, "", err
	}
	return p.Receipt(l.Receipt)
}

// Validate decides whether receipts are there, intact and of a success.
func (p Place) Validate(ids ...string) (records.Decision, error) {
	return read(p, func(ctx context.Context, s *sqlite.Store) (records.Decision, error) {
		d, err := s.Validate(ctx, ids...)
		return records.NewDecision(d, "valid", nil), err
	})
}

// Audit compares all of the store with its log, and that with each of the checkpoints that were kept.
// Besides the document it says whether something was changed.
func (p Place) Audit(kept ...receipts.Checkpoint) (doc records.Audit, tampered bool, err error) {
	a, err := read(p, func(ctx context.Context, s *sqlite.Store) (*sqlite.Audit, error) { return s.Audit(ctx, kept...) })
	if err != nil {
		return doc, false, err
	}
	return records.NewAudit(a, p.Keys != nil), a.Tampered(), nil
}

// Checkpoint returns the text of the checkpoint of the log.
func (p Place) Checkpoint() ([]byte, error) {
	return read(p, func(ctx context.Context, s *sqlite.Store) ([]byte, error) {
		_, text, err := s.Checkpoint(ctx)
		return text, notFound(err)
	})
}

// Settle ends the receipt that id names, signed by signer if that is not nil.
func (p Place) Settle(id string, t receipts.Settlement, signer *receipts.Signer) (records.Decision, error) {
	o := sqlite.Options{Signer: signer}
	if signer != nil {
		o.Keys = signer.Keys()
	}
	return Do(p, o, func(ctx context.Context, s *sqlite.Store) (records.Decision, error) {
		d, err := s.Settle(ctx, id, t)
		doc := records.NewDecision(d, "settled as "+string(t.Status), nil)
		if signer != nil && err == nil && doc.Passed() { // the receipt is as it was
			e := d.Records[0]
			doc.Summary = fmt.Sprintf("%s %s, signed by %s (the receipt: %s)", e.SHA, doc.Verdict, diag.Name(signer.Name()), records.RecordedBy(e.Level, e.Key))
		}
		return doc, err
	})
}

// Runs returns the newest runs, at most limit, of a script if one is named, and how their lines did.
func (p Place) Runs(script string, limit int) (*history.Report, error) {
	return read(p, func(ctx context.Context, s *sqlite.Store) (*history.Report, error) {
		return history.Newest(ctx, s, script, limit)
	})
}

// Trust records that by trusts the files of a pin, if there is a store yet.
func (p Place) Trust(pin *policy.Pin, by string) error {
	if _, err := p.Path(); err != nil {
		return nil // no run has left a store yet
	}
	t := &receipts.Trust{Version: 1, What: receipts.TrustMatrix, Matrix: pin.Matrix, By: by, Timestamp: receipts.Time{Time: pin.At}}
	for _, f := range pin.Files {
		t.Files = append(t.Files, receipts.File{Path: receipts.Text(f.Path), SHA256: f.SHA256()})
	}
	rec, err := t.Record()
	if err != nil {
		return err
	}
	return p.With(sqlite.Options{}, func(ctx context.Context, s *sqlite.Store) error { return s.Append(ctx, rec) })
}

// IDs returns the newest records, each with a tab and what it is, for a shell.
func (p Place) IDs() (ids []string) {
	ctx := context.Background()
	_ = p.peek(ctx, func(s *sqlite.Store) {
		es, _ := s.List(ctx, Filter{Limit: 50}) // none is what is known after an error
		for i := len(es) - 1; i >= 0; i-- {
			id, what := es[i].SHA.Short(), ""
			v, _ := es[i].Parse() // what cannot be read has an id all the same
			switch b := v.(type) {
			case *receipts.Gate:
				id, what = receipts.GateID(es[i].SHA), "gate, "+records.Stamp(b.Timestamp.Time)
			case *receipts.Receipt:
				what = string(b.Status) + ": " + b.Line.Text.Text
			}
			ids = append(ids, id+"\t"+strings.ReplaceAll(diag.Printable(what), "\n", " "))
		}
	})
	return ids
}

// last returns the receipts that f narrows to, and what the last of them says; nil if there is none.
func last(ctx context.Context, s *sqlite.Store, f Filter) ([]receipts.Entry, *receipts.Receipt, error) {
	f.Kinds = []receipts.Kind{receipts.KindReceipt}
	es, err := s.List(ctx, f)
	if err != nil || len(es) == 0 {
		return nil, nil, err
	}
	v, _ := es[len(es)-1].Parse()
	r, _ := v.(*receipts.Receipt)
	return es, r, nil
}

// Last says in a line what receipts a binding has; empty if the store cannot be read.
func (p Place) Last(binding string) (text string) {
	ctx := context.Background()
	_ = p.peek(ctx, func(s *sqlite.Store) {
		es, r, err := last(ctx, s, Filter{Binding: binding})
		switch {
		case err == nil && len(es) == 0:
			text = "none"
		case r != nil:
			text = fmt.Sprintf("%d; the last is %s, %s, %s", len(es), es[len(es)-1].SHA.Short(), r.Status, records.When(r))
		}
	})
	return text
}

// lookLong bounds how long [OnTree] looks at the files of a project.
const lookLong = 3 * time.Second

// OnTree says in a line what the store of the project of m knows of a step on the present files.
func OnTree(ctx context.Context, step *plan.Step, m *plan.Matrix) (text string) {
	ctx, cancel := context.WithTimeout(ctx, lookLong)
	defer cancel()
	path := archive.Store(m.Root)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	err := Place{Name: path}.peek(ctx, func(s *sqlite.Store) {
		_, ever, _ := last(ctx, s, Filter{Binding: step.Binding, Limit: 1})
		if ever == nil {
			text = "none yet"
			return
		}
		text = fmt.Sprintf("the last is %s, %s", ever.Status, records.When(ever))
		snap, err := workspace.Take(ctx, m.Root, workspace.Options{Caches: m.Caches, Except: archive.Except(m.Root, path)})
		if err != nil {
			return
		}
		_, now, _ := last(ctx, s, Filter{Binding: step.Binding, Tree: &receipts.Tree{Tree: snap.Tree, Bytes: snap.Bytes}, Limit: 1})
		if now == nil {
			text = "none on the present files; " + text
			return
		}
		text = fmt.Sprintf("%s on the present files, %s", now.Status, records.When(now))
	})
	if err != nil {
		return fmt.Sprintf("the store cannot be read: %v", err)
	}
	return text
}

// peek opens the store to read it, for a caller that can do without.
func (p Place) peek(ctx context.Context, f func(s *sqlite.Store)) error {
	path, err := p.Path()
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	f(s)
	return nil
}

// maxKeys bounds a file of public keys, and of a checkpoint, in bytes.
const maxKeys = 1 << 20

// ReadKeys parses the public keys that --key names, each by itself or by a file of them; nil for no names.
func ReadKeys(names []string) (note.Verifiers, error) {
	var texts []string
	for _, k := range names {
		if strings.Count(k, "+") >= 2 {
			texts = append(texts, k)
			continue
		}
		b, err := regular.Read(k, maxKeys)
		if err != nil {
			return nil, exit.Usagef("--key %s: it is neither a public key nor a file of them: %v", k, err)
		}
		texts = append(texts, strings.Fields(string(b))...)
	}
	switch {
	case len(names) == 0:
		return nil, nil
	case len(texts) == 0:
		return nil, exit.Usagef("--key: there is no key in %s", strings.Join(names, ", "))
	}
	v, err := receipts.ParseKeys(texts...)
	if err != nil {
		return nil, exit.Usagef("--key: %v", err)
	}
	return v, nil
}

// ReadCheckpoint reads the checkpoint that was kept in a file, for --since; nil for no name. A
// signature that is there must hold where there are keys.
func ReadCheckpoint(file string, keys note.Verifiers) (*receipts.Checkpoint, error) {
	if file == "" {
		return nil, nil
	}
	if file == "-" {
		return nil, exit.Usagef("--since -: a checkpoint is not read from standard input").Hint("name the file that it was kept in: --since FILE")
	}
	b, err := regular.Read(file, maxKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("--since: there is no file %s", file).Hint("`dialect receipts checkpoint >%s` makes one", file)
	}
	if err != nil {
		return nil, exit.Usagef("--since: %v", err)
	}
	h, _, err := receipts.ParseCheckpoint(b, keys)
	if err != nil {
		return nil, exit.Failf(exit.Refused, "--since %s: %v", file, err)
	}
	return &h, nil
}
