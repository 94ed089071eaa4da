package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/runtime/blob"
)

// Limits say what a collection leaves.
type Limits struct {
	Age    time.Duration // what is older is dropped; 0: nothing is too old
	Size   int64         // bytes; the oldest beyond it are dropped
	DryRun bool          // nothing is dropped, only counted
}

// A Collection is what [Archive.Collect] did, the document of `dialect receipts gc --json`.
type Collection struct {
	Schema       string `json:"schema"` // dialect.gc/1
	DryRun       bool   `json:"dry_run"`
	Dropped      int    `json:"dropped"` // files
	DroppedBytes int64  `json:"dropped_bytes"`
	Kept         int    `json:"kept"`
	KeptBytes    int64  `json:"kept_bytes"`
	Setups       int    `json:"setups,omitempty"` // results of setups of clean checkouts that were dropped, of all projects
}

// abandoned is the age at which a temporary file belongs to nobody any more.
const abandoned = 24 * time.Hour

// mostKey is how long the key of a run is kept that nobody took up again: a depot keeps its files for a week.
const mostKey = 30 * 24 * time.Hour

type file struct {
	path string // relative to the archive
	size int64
	at   time.Time
}

// Collect drops blobs and documents of runs that are beyond the limits at the time now, and
// temporary files that nobody writes any more.
func (a Archive) Collect(now time.Time, l Limits) (Collection, error) {
	c := Collection{Schema: "dialect.gc/1", DryRun: l.DryRun}
	root, err := a.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer root.Close()
	drop := func(f file) {
		if !l.DryRun && root.Remove(f.path) != nil {
			return // another collection was faster, or it may not
		}
		c.Dropped++
		c.DroppedBytes += f.size
	}
	var files []file
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be read, and what is not a file, stays
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		f := file{name, info.Size(), info.ModTime()}
		switch {
		case blob.IsTemp(d.Name()):
			if now.Sub(f.at) > abandoned {
				drop(f)
			}
		case path.Dir(name) == "runs/key":
			if now.Sub(f.at) > mostKey {
				drop(f)
			}
		case blob.Is(name) || isDocument(name):
			files = append(files, f)
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	slices.SortFunc(files, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range files {
		if l.Age > 0 && now.Sub(f.at) > l.Age || c.KeptBytes+f.size > l.Size {
			drop(f)
			continue
		}
		c.Kept++
		c.KeptBytes += f.size
	}
	return c, nil
}

// open opens the archive as a root, which keeps every path below it, whatever links somebody
// plants. None of its [Archive.folders] is a link, also if they are exchanged meanwhile: what
// was opened through one is never the same as what stands at the name. With create its own folder is made where there is none.
func (a Archive) open(create bool) (*os.Root, error) {
	if a == "" {
		return nil, fs.ErrNotExist
	}
	if err := a.own(); err != nil {
		return nil, err
	}
	folders := a.folders()
	root, err := os.OpenRoot(filepath.Dir(folders[0]))
	if err != nil {
		return nil, err
	}
	for _, path := range folders {
		name := filepath.Base(path)
		next, err := root.OpenRoot(name)
		if errors.Is(err, fs.ErrNotExist) && create && path == string(a) {
			if err = root.Mkdir(name, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
				next, err = root.OpenRoot(name)
			}
		}
		if err == nil {
			var opened, named fs.FileInfo
			if opened, err = next.Stat("."); err == nil {
				named, err = root.Lstat(name)
			}
			if err == nil && !os.SameFile(named, opened) {
				err = fmt.Errorf("%s was exchanged", path)
			}
			if err != nil {
				next.Close()
			}
		}
		root.Close()
		if err != nil {
			return nil, err
		}
		root = next
	}
	return root, nil
}

// isDocument reports whether a path, with slashes, is of the document of a run.
func isDocument(name string) bool {
	dir, file := path.Split(name)
	return dir == "runs/" && strings.HasPrefix(file, "r-")
}
