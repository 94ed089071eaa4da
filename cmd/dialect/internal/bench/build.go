package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// builds holds the paths of what was built from this checkout.
type builds struct {
	dialect string

	empty, loop, tee, flood, spawn string // see testdata
	program                        string // true(1), by its full path: every subject starts the same file
}

// build builds dialect as the Makefile does, and the baselines likewise.
func build(work string) (*builds, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return nil, errors.New("run this inside the repository: there is no go.mod here")
	}
	root := filepath.Dir(mod)
	b := new(builds)
	for _, p := range []struct {
		path *string
		pkg  string
	}{
		{&b.dialect, "./cmd/dialect"},
		{&b.empty, "./cmd/dialect/internal/bench/testdata/empty"},
		{&b.loop, "./cmd/dialect/internal/bench/testdata/loop"},
		{&b.tee, "./cmd/dialect/internal/bench/testdata/tee"},
		{&b.flood, "./cmd/dialect/internal/bench/testdata/flood"},
		{&b.spawn, "./cmd/dialect/internal/bench/testdata/spawn"},
	} {
		*p.path = filepath.Join(work, filepath.Base(p.pkg))
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", *p.path, p.pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %s: %w\n%s", p.pkg, err, out)
		}
	}
	if b.program, err = exec.LookPath("true"); err != nil {
		return nil, err
	}
	return b, nil
}
