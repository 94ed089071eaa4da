package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/notary"
)

// Sessions are those that last: the document of `dialect guard status --json`.
type Sessions struct {
	Schema   string    `json:"schema"` // dialect.sessions/1
	Inside   bool      `json:"inside"` // asked from within
	Sessions []Session `json:"sessions"`
}

// A Session is one of them.
type Session struct {
	Socket string        `json:"socket"`
	Notary notary.Status `json:"notary"`
}

// Status asks the notary of this domain, else those of all sessions of this user.
func Status(ctx context.Context) (*Sessions, error) {
	s := &Sessions{Schema: "dialect.sessions/1", Sessions: []Session{}}
	if socket := os.Getenv(notary.Variable); socket != "" {
		s.Inside = true
		status, err := ask(ctx, socket)
		if err != nil {
			return nil, exit.Failf(exit.Failed, "%w", err)
		}
		s.Sessions = append(s.Sessions, Session{socket, status})
		return s, nil
	}
	return s, s.find(ctx, folderPath(folderParent))
}

// find adds the sessions of a folder of notaries.
func (s *Sessions) find(ctx context.Context, folder string) error {
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() || regular.Owner(info) != os.Geteuid() {
		return nil
	}
	list := regular.In(folder, "*/"+socketName)
	answers, errs := make([]notary.Status, len(list)), make([]error, len(list))
	var asked errgroup.Group
	asked.SetLimit(32)
	for i, socket := range list {
		asked.Go(func() error {
			answers[i], errs[i] = ask(ctx, socket) // one that is silent holds up no other
			return nil
		})
	}
	_ = asked.Wait()
	var faults []error
	for i, socket := range list {
		switch err := errs[i]; {
		case err == nil:
			s.Sessions = append(s.Sessions, Session{socket, answers[i]})
		case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist): // of a session that was killed, or that ended just now
		default:
			faults = append(faults, err)
		}
	}
	if len(s.Sessions) == 0 && len(faults) > 0 {
		return exit.Failf(exit.Failed, "%w", errors.Join(faults...))
	}
	return nil
}

func ask(ctx context.Context, socket string) (notary.Status, error) {
	c, err := notary.Dial(ctx, socket)
	if err != nil {
		return notary.Status{}, err
	}
	return c.Status(ctx)
}

// WriteText writes the sessions for people.
func (s *Sessions) WriteText(w io.Writer) error {
	if len(s.Sessions) == 0 {
		_, err := fmt.Fprintln(w, "no guarded session of this user is running")
		return err
	}
	for _, session := range s.Sessions {
		if err := session.Notary.WriteText(w); err != nil {
			return err
		}
	}
	return nil
}
