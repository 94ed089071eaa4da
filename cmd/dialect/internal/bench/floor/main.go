// Command floor does what a recorded run cannot do without, and nothing else: what it takes is what the kernel, the Go runtime,
// SQLite and the disk take, and what dialect takes beyond it is dialect's own.
//
//	floor PROGRAM COUNT JOBS [TREE [STORE]]
//
// It starts PROGRAM COUNT times, JOBS at a time, each in a session of its own, and hashes what comes out of its two pipes. With TREE it
// reads and hashes the files of that folder before and after. With STORE it keeps as many records there as dialect does, in as many
// transactions: one before the first command, durable before that starts; one for each command, gathered for as long as
// dialect gathers them; two at the end. With "-" for TREE nothing is read, and nothing kept at the end, as by dialect exec.
package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "modernc.org/sqlite"
)

// none in the place of a tree stands for no tree.
const none = "-"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 || len(args) > 5 {
		return fmt.Errorf("want PROGRAM COUNT JOBS [TREE [STORE]], not %q", args)
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	jobs, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	var s *store
	if len(args) == 5 {
		if s, err = open(args[4]); err != nil {
			return err
		}
		if args[3] != none {
			s.ending = 2
		}
	}
	look := func() error {
		if len(args) < 4 || args[3] == none {
			return nil
		}
		return read(args[3])
	}
	if err := look(); err != nil {
		return err
	}
	if s != nil {
		if err := s.commit(1); err != nil {
			return err
		}
		go s.write()
	}
	if err := commands(args[0], count, jobs, s); err != nil {
		return err
	}
	if err := look(); err != nil || s == nil {
		return err
	}
	return s.close()
}

// commands starts program count times, jobs at a time.
func commands(program string, count, jobs int, s *store) error {
	todo := make(chan struct{}, count)
	for range count {
		todo <- struct{}{}
	}
	close(todo)
	failed := make(chan error, max(count, 1))
	var all sync.WaitGroup
	for range min(jobs, count) {
		all.Go(func() {
			for range todo {
				if err := command(program); err != nil {
					failed <- err
				} else if s != nil {
					s.submitted <- struct{}{}
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// command runs program, and hashes what it prints.
func command(program string) error {
	cmd := exec.Command(program)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr = pipe{sha256.New()}, pipe{sha256.New()}
	return cmd.Run()
}

// A pipe hides from os/exec what is written to, so that it makes a pipe, and a goroutine that reads it.
type pipe struct{ io.Writer }

// read hashes the files below root.
func read(root string) error {
	sum := sha256.New()
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir // of git and of dialect
			}
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(sum, f)
		return err
	})
}

// A store keeps records in one table.
type store struct {
	db        *sql.DB
	conn      *sql.Conn
	submitted chan struct{}
	written   chan error
	made      int
	waiting   int // submitted, and in no transaction yet; of write until it has ended
	ending    int // records that stand for the gate and its consumption
}

// Of a queue of records, as in the package sqlite of dialect.
const (
	linger    = 25 * time.Millisecond
	fullBatch = 64
	bodySize  = 1200 // bytes of a record
)

func open(path string) (*store, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	_, err = conn.ExecContext(context.Background(), "CREATE TABLE IF NOT EXISTS record(seq INTEGER PRIMARY KEY, sha BLOB NOT NULL UNIQUE, body BLOB NOT NULL) STRICT")
	return &store{db: db, conn: conn, submitted: make(chan struct{}, fullBatch), written: make(chan error, 1)}, err
}

// commit makes n records durable.
func (s *store) commit(n int) error {
	ctx := context.Background()
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for range n {
		s.made++
		body := make([]byte, bodySize)
		copy(body, fmt.Sprint(os.Getpid(), time.Now().UnixNano(), s.made))
		sha := sha256.Sum256(body)
		if _, err := s.conn.ExecContext(ctx, "INSERT INTO record(sha, body) VALUES (?, ?)", sha[:], body); err != nil {
			return err
		}
	}
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	return err
}

// write commits what is submitted in groups, but for the last, which [store.close] commits with what ends the run.
func (s *store) write() {
	var ripe <-chan time.Time
	for {
		select {
		case _, more := <-s.submitted:
			if !more {
				s.written <- nil
				return
			}
			if s.waiting++; s.waiting == 1 {
				ripe = time.After(linger)
			}
			if s.waiting < fullBatch {
				continue
			}
		case <-ripe:
		}
		if err := s.commit(s.waiting); err != nil {
			s.written <- err
			for range s.submitted { // nobody hangs on it
			}
			return
		}
		s.waiting, ripe = 0, nil
	}
}

// close commits what waits, with what ends a run, and closes the file.
func (s *store) close() error {
	close(s.submitted)
	if err := <-s.written; err != nil {
		return err
	}
	if err := s.commit(s.waiting + s.ending); err != nil {
		return err
	}
	if err := s.conn.Close(); err != nil {
		return err
	}
	return s.db.Close()
}
