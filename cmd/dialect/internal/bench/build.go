package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// builds holds the paths of what was built from this checkout.
type builds struct {
	dialect string

	empty, loop, tee, flood, spawn string // see testdata
	floor                          string
	program                        string // true(1), by its full path: every subject starts the same file
}

// build builds dialect as the Makefile does, and the baselines likewise.
func build(work string) (*builds, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	root := filepath.Join(here, "../../../..")
	if _, err := os.Stat(filepath.Join(root, "routing.toml")); err != nil {
		return nil, fmt.Errorf("run this in cmd/dialect/internal/bench, as `make bench` does: %w", err)
	}
	b := new(builds)
	for _, p := range []struct {
		path     *string
		dir, pkg string
	}{
		{&b.dialect, root, "./cmd/dialect"},
		{&b.empty, here, "./testdata/empty"},
		{&b.loop, here, "./testdata/loop"},
		{&b.tee, here, "./testdata/tee"},
		{&b.flood, here, "./testdata/flood"},
		{&b.spawn, here, "./testdata/spawn"},
		{&b.floor, here, "./floor"},
	} {
		linked := filepath.Join(work, "linked")
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", linked, p.pkg)
		cmd.Dir = p.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %s: %w\n%s", p.pkg, err, out)
		}
		*p.path = filepath.Join(work, filepath.Base(p.pkg))
		if err := install(linked, *p.path); err != nil {
			return nil, err
		}
	}
	if b.program, err = exec.LookPath("true"); err != nil {
		return nil, err
	}
	return b, nil
}

// install copies a program, as it comes to who installs it. The linker writes a file through a mapping, page by page, and Linux then
// keeps it in small pages: a program of 20 MB starts some 1.3 ms slower from those than from a copy.
func install(from, to string) error {
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o755)
	}
	return errors.Join(err, os.Remove(from))
}
