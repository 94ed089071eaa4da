package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// session reads the log in the transaction under way, and hands it to f, authenticated.
// save keeps what was audited for the next one; it is to be called once the transaction
// has ended, and after a commit if it wrote, so that it is never ahead of the log.
func (s *Store) session(ctx context.Context, f func(*verify.Session) error) (save func() error, err error) {
	save = func() error { return nil }
	if err := s.ownMemory(ctx); err != nil {
		return save, err
	}
	o := verify.Options{Keys: s.keys, Kept: s.kept, Before: s.before}
	if s.memory != nil {
		o.Memory, o.MemoryKept = s.memory.Memory, s.memory.kept
	}
	v, err := verify.Open(ctx, sqlLog{s}, o)
	s.between.over("authenticated")
	if err == nil {
		err = f(v)
	}
	if err != nil {
		return save, err
	}
	return func() error {
		s.before = v
		switch m := s.memory; {
		case m == nil || !m.own: // another process writes the one beside the store
		case !m.kept:
			// One that is older than it could be costs the next verification time, no more.
			_ = v.Save(m.Memory)
		default:
			if err := v.Save(m.Memory); err != nil {
				return &StateError{Dir: s.state, Err: err}
			}
		}
		return nil
	}, nil
}

// ErrUnprotected is wrapped by the error of a folder of [Options.State] that somebody who writes the store can write, too.
var ErrUnprotected = errors.New("the folder of --state belongs to the user who owns the store, whose writers write there too")

// A memory is the file in which the verifier keeps how far it has audited the store.
type memory struct {
	*verify.Memory
	file *os.File
	own  bool // no other process writes it
	kept bool // the store's writers cannot write it
}

// ErrUnread says that what is kept in the folder of a verifier cannot be read, so that it does not show what was cut off the log.
var ErrUnread = errors.New("it is damaged, or of another version of dialect")

func unread(path string) error {
	return fmt.Errorf("what %s keeps of earlier verifications cannot be read: %w", path, ErrUnread)
}

// MemorySuffix ends the name of the file beside a store in which its verifiers keep how
// far they have audited it.
const MemorySuffix = "-audit"

// remember opens the memory; nil if there is none that may be used. The one beside the
// store, which its writers can write, serves only where nothing better is asked for than
// their word: without keys, and without a checkpoint that was kept elsewhere.
func (s *Store) remember() (*memory, error) {
	m := &memory{kept: s.state != ""}
	path := s.path + MemorySuffix
	switch {
	case m.kept:
		if err := privateDir(s.state); err != nil {
			return nil, err
		}
		dir, err := os.Lstat(s.state)
		if err != nil {
			return nil, err
		}
		if ownedBy(dir) == ownedBy(s.info) {
			return nil, ErrUnprotected
		}
		path = StateFile(s.state)
	case s.keys != nil || s.kept != nil || ownedBy(s.info) != os.Geteuid():
		// In another user's folder nothing is written, and what stands there is not ours.
		return nil, nil
	}
	var err error
	if m.file, err = openRegular(path); err != nil {
		if s.state == "" {
			return nil, nil
		}
		return nil, err
	}
	m.own = tryLock(m.file)
	name := path
	if m.kept {
		name = "" // of whatever store it is asked about
	}
	if m.Memory, err = verify.Recollect(m.file, name); err != nil {
		m.file.Close()
		if s.state == "" {
			return nil, nil
		}
		return nil, err
	}
	if m.kept && m.own && m.Unread() { // else another process may be at it
		m.file.Close()
		return nil, unread(path)
	}
	return m, nil
}

// ownMemory opens the memory, if it was not. A folder of a verifier has to be writable before anything is answered by what it
// holds, or what this answer saw would be forgotten: it waits, as for the store, while another process has it.
func (s *Store) ownMemory(ctx context.Context) error {
	for until := time.Now().Add(s.busy); ; {
		if !s.remembering {
			var err error
			if s.memory, err = s.remember(); err != nil {
				return &StateError{Dir: s.state, Err: err}
			}
			s.remembering = true
		}
		if s.memory == nil || s.memory.own || !s.memory.kept {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("%w: it has %s open, where answers are kept", ErrBusy, StateFile(s.state))
		}
		// What it has of the log may be another thing once it is free.
		s.memory.file.Close()
		s.memory, s.remembering = nil, false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// sync makes durable what was saved, and the name of the file in its folder.
func (m *memory) sync(dir string) error {
	if err := m.file.Sync(); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// ErrNoOwners says that this system does not tell who may write a folder, so that no folder of
// a verifier is any better than the store's own.
var ErrNoOwners = errors.New("this system does not tell who may write a folder, so nothing that is kept in one proves anything")

// privateDir checks that nobody but its owner, who is the caller or root, can write a
// folder or replace it: so must all folders above it be, those with the sticky bit apart.
func privateDir(dir string) error {
	if !knowsOwners {
		return ErrNoOwners
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Mkdir(dir, 0o700); err == nil {
			info, err = os.Lstat(dir)
		}
	}
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others: files in it prove nothing (chmod 700)", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	for above := real; ; above = filepath.Dir(above) {
		info, err := os.Lstat(above)
		if err != nil {
			return err
		}
		if uid := ownedBy(info); uid != 0 && uid != os.Geteuid() {
			return fmt.Errorf("%s belongs to another user: files below it prove nothing", above)
		}
		if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s can be written by others: files below it prove nothing", above)
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}

// A sqlLog is the log of a store in the transaction under way. Its statements have no end by a
// context, for the reason that [Store.immediate] gives: its context is looked at between records.
type sqlLog struct{ s *Store }

func (l sqlLog) State(ctx context.Context) (verify.State, error) {
	h, err := l.s.readHead(context.WithoutCancel(ctx))
	return verify.State{Checkpoint: h.public(), Note: h.note}, err
}

func (l sqlLog) Records(outer context.Context, from int64, f func(verify.Raw) bool) error {
	ctx := context.WithoutCancel(outer)
	st, err := l.s.stmt(ctx, "SELECT seq, kind, body, signature FROM record WHERE seq >= ? ORDER BY seq")
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, from)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := outer.Err(); err != nil {
			return err
		}
		var r verify.Raw
		var signature sql.NullString
		if err := rows.Scan(&r.Seq, &r.Kind, &r.Body, &signature); err != nil {
			return err
		}
		r.Signature, r.Known = receipts.Signature(signature.String), l.s.fresh[r.Seq]
		if !f(r) {
			return nil
		}
	}
	return rows.Err()
}

func (l sqlLog) Record(ctx context.Context, seq int64) (verify.Raw, bool, error) {
	var found verify.Raw
	ok := false
	err := l.Records(ctx, seq, func(r verify.Raw) bool {
		found, ok = r, r.Seq == seq
		return false
	})
	return found, ok, err
}

func (l sqlLog) Hashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error) {
	w := &appender{s: l.s, ctx: context.WithoutCancel(ctx), nodes: make(map[int64]tlog.Hash)}
	return w.ReadHashes(indexes)
}

// unsaved runs f over the log in the transaction under way, and keeps nothing of it.
func (s *Store) unsaved(ctx context.Context, f func(*verify.Session) error) error {
	if err := s.checkSchema(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	_, err := s.session(ctx, f)
	return err
}

// read runs f over the log in one snapshot of the store.
func (s *Store) read(ctx context.Context, f func(*verify.Session) error) error {
	var problem *verify.ProblemError
	err := s.snapshot(ctx, func() error {
		// Before the first look at the log: what others keep meanwhile is of a longer one than this snapshot has.
		if err := s.ownMemory(ctx); err != nil {
			return err
		}
		if err := s.checkSchema(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		save, err := s.session(ctx, f)
		switch {
		case err == nil:
			return save()
		case errors.As(err, &problem):
			return nil
		}
		return err
	})
	if err == nil && problem != nil {
		return problem
	}
	return err
}

// answer returns what f makes of the log in one snapshot of the store.
func answer[T any](ctx context.Context, s *Store, f func(*verify.Session) (T, error)) (v T, err error) {
	err = s.read(ctx, func(log *verify.Session) (err error) {
		v, err = f(log)
		return err
	})
	return v, err
}

// Ask answers a query: by the record that id names, or by any gate if it is empty. The
// error is a [*verify.LookupError] or the store's.
func (s *Store) Ask(ctx context.Context, q verify.Query, id string) (*verify.Result, error) {
	return answer(ctx, s, func(v *verify.Session) (*verify.Result, error) {
		if id != "" {
			return v.One(q, id)
		}
		return v.Verify(q)
	})
}

// Standing says which of some commands need not run again; see [verify.Session.Standing].
func (s *Store) Standing(ctx context.Context, q verify.Query, commands []verify.Requirement) (*verify.Standing, error) {
	return answer(ctx, s, func(v *verify.Session) (*verify.Standing, error) { return v.Standing(q, commands) })
}

// Validate says whether records are evidence of a success: in the log, of no lower level than the store's signer, or where it has
// none of that of its keys, and succeeded. It changes nothing, may be asked any number of times, and does not care whether they
// were consumed.
func (s *Store) Validate(ctx context.Context, ids ...string) (receipts.Decision, error) {
	level := s.level()
	if s.signer == nil && s.keys != nil {
		level = receipts.LevelKey
	}
	return answer(ctx, s, func(v *verify.Session) (receipts.Decision, error) { return v.Validate(level, ids...) })
}

// Passed returns the last receipt of a command on a tree, if it says that the command
// succeeded.
func (s *Store) Passed(ctx context.Context, command receipts.Hash, dir, place receipts.Datum, t receipts.Tree) (e receipts.Entry, ok bool, err error) {
	err = s.read(ctx, func(v *verify.Session) error {
		e, ok, err = v.Passed(command, dir, place, t)
		return err
	})
	return e, ok, err
}

// Met reports whether the last word about a command is a pass that meets accepts; see [verify.Session.Met].
func (s *Store) Met(ctx context.Context, q verify.Query, meets func(*receipts.Receipt) bool) (bool, error) {
	return answer(ctx, s, func(v *verify.Session) (bool, error) { return v.Met(q, meets) })
}

// Counted returns, for each of some commands, the last receipt, not of run, of a success that counted tests; see [verify.Session.Counted].
func (s *Store) Counted(ctx context.Context, asked []receipts.Counting, run string) (map[receipts.Counting]receipts.Entry, error) {
	by := ""
	if s.signer != nil && s.signer.Level() >= receipts.LevelKey {
		by = s.signerID()
	}
	return answer(ctx, s, func(v *verify.Session) (map[receipts.Counting]receipts.Entry, error) {
		return v.Counted(asked, run, by)
	})
}

// Authentic returns the record that id names, with what the log says of it, and the checkpoint
// of the log that was verified.
func (s *Store) Authentic(ctx context.Context, id string) (e receipts.Entry, h receipts.Checkpoint, err error) {
	err = s.read(ctx, func(v *verify.Session) error {
		h = v.Last()
		e, err = v.Entry(id)
		return err
	})
	return e, h, err
}

// OfRun returns the records of a run, as [verify.Session.OfRun] does.
func (s *Store) OfRun(ctx context.Context, run string) ([]receipts.Entry, error) {
	return answer(ctx, s, func(v *verify.Session) ([]receipts.Entry, error) { return v.OfRun(run) })
}

// Tested counts the tests below the gate that id names, as [verify.Session.Tested] does.
func (s *Store) Tested(ctx context.Context, id string) (*receipts.Tested, error) {
	return answer(ctx, s, func(v *verify.Session) (*receipts.Tested, error) { return v.Tested(id) })
}

// AuthenticReceipts returns the records that ids name, or all receipts and gates if
// there are none, in the order of ids or of the log.
func (s *Store) AuthenticReceipts(ctx context.Context, ids ...string) ([]receipts.Entry, error) {
	return answer(ctx, s, func(v *verify.Session) (list []receipts.Entry, err error) {
		if len(ids) == 0 {
			return v.Receipts()
		}
		for _, id := range ids {
			e, err := v.Entry(id)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		return list, nil
	})
}
