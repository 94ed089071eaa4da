package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/google/licensecheck"
)

// root is the folder of dialect's own module, seen from here, where `go run` and `go test` of this module work.
const root = "../../../.."

// linked returns the modules that the program at path was linked from, without its own, sorted by path.
func linked(path string) (*debug.BuildInfo, []*debug.Module, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	deps := make([]*debug.Module, 0, len(info.Deps))
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, nil, fmt.Errorf("%s was built with %s replaced: a release is built from what go.mod names", path, m.Path)
		}
		deps = append(deps, m)
	}
	sort.Slice(deps, func(i, j int) bool { return deps[i].Path < deps[j].Path })
	return info, deps, nil
}

// licences returns the SPDX identifiers of the licences in the module cache's copies of modules, by path of the module.
// A module with no licence that is known is an error: nobody may be given it.
func licences(modules []*debug.Module) (map[string][]string, error) {
	if len(modules) == 0 {
		return nil, nil
	}
	args := []string{"mod", "download", "-json"}
	for _, m := range modules {
		args = append(args, m.Path+"@"+m.Version)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w: %s", err, stderr.Bytes())
	}
	found := map[string][]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if found[m.Path], err = licenceOf(m.Dir); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return found, nil
}

// licenceOf returns the SPDX identifiers of the licence files directly in dir.
func licenceOf(dir string) (ids []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, m := range licensecheck.Scan(text).Match {
			if !m.IsURL && !seen[m.ID] {
				seen[m.ID] = true
				ids = append(ids, m.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("no licence that is known")
	}
	sort.Strings(ids)
	return ids, nil
}
