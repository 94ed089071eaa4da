package cleanroom

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// homes are the home directories of the user, without links: that of the environment, and that of
// the system's list of users.
func homes() []string {
	var all []string
	if u, err := user.Current(); err == nil {
		all = append(all, u.HomeDir)
	}
	if home := os.Getenv("HOME"); home != "" {
		all = append([]string{home}, all...)
	}
	var found []string
	for _, dir := range all {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && filepath.IsAbs(real) && !slices.Contains(found, real) {
			found = append(found, real)
		}
	}
	return found
}

// ofSystem are the directories that hold those of users, projects and programs, and are the system's themselves.
var ofSystem = []string{
	"/", "/bin", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/nix", "/opt", "/proc", "/run", "/run/user", "/sbin", "/snap",
	"/srv", "/sys", "/usr", "/usr/local", "/usr/src", "/var", "/var/lib", "/var/www",
}

// needed are those of the system without which no command runs.
var needed = []string{"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/nix", "/proc", "/run", "/sbin", "/snap", "/sys", "/usr", "/usr/local", "/var"}

// private are the directories of the machine that are empty in the room of a working tree at root,
// those that hold others first.
func private(root string, asker int) []string {
	all := append(homes(), "/tmp", "/var/tmp", "/run/user/"+strconv.Itoa(os.Geteuid()), "/run/lock", "/var/crash")
	around := around(root, asker)
	all = append(all, around...)
	var found []string
	for _, dir := range all {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || slices.Contains(ofSystem, real) && !slices.Contains(around, real) || slices.Contains(found, real) {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			continue
		}
		if _, in := git.Within(root, real); !in { // else the checkout is mounted over it
			found = append(found, real)
		}
	}
	slices.Sort(found)
	return found
}

// around are the directories that hold what lies beside root, and above it, and does not belong to it: the outermost one above root that
// is not the system's, else the system's one that root is directly in. Where no command runs without that one they are those in it that
// the asker can change.
func around(root string, asker int) (found []string) {
	outermost := ""
	for dir := filepath.Dir(root); !slices.Contains(ofSystem, dir); dir = filepath.Dir(dir) {
		outermost = dir
	}
	parent := filepath.Dir(root)
	switch {
	case outermost != "":
		return []string{outermost}
	case !slices.Contains(needed, parent):
		return []string{parent}
	}
	list, _ := os.ReadDir(parent)
	for _, d := range list {
		dir := filepath.Join(parent, d.Name())
		if d.IsDir() && dir != root && !slices.Contains(ofSystem, dir) && changeableBy(asker, dir) {
			found = append(found, dir)
		}
	}
	return found
}
