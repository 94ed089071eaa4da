package routing

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// mostBelow bounds the folders that [Below] looks into.
const mostBelow = 1000

// Below returns the folders of dir, and those of them, that have a routing.toml, by their paths from dir with slashes: where dir has none
// itself, one of these may be meant. Folders below one that has a matrix are left out, and so are hidden ones and node_modules.
func Below(dir string) (folders []string) {
	looked := 0
	var look func(at string, depth int)
	look = func(at string, depth int) {
		entries, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(at))) // one that cannot be read has none that could be run
		for _, e := range entries {
			if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
				continue
			}
			if looked++; looked > mostBelow {
				return
			}
			below := path.Join(at, e.Name())
			if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(below), FileName)); err == nil && !info.IsDir() {
				folders = append(folders, below)
			} else if depth > 1 {
				look(below, depth-1)
			}
		}
	}
	look("", 2)
	return folders
}

// MeantBelow says, where no matrix was found for dir, in which folders below there is one, and how it is reached; empty where there is none.
func MeantBelow(dir string) string {
	folders := Below(dir)
	if len(folders) == 0 {
		return ""
	}
	script := "SCRIPT"
	if list, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(folders[0]), "*.dlct")); err == nil && len(list) > 0 {
		script = filepath.Base(list[0])
		for _, name := range list {
			if filepath.Base(name) == "quality.dlct" {
				script = "quality.dlct"
			}
		}
	}
	text := strings.Join(folders[:min(len(folders), 3)], ", ")
	if n := len(folders) - 3; n > 0 {
		text += ", ..."
	}
	return "a matrix is in " + text + ": run there, or name a script of it: dialect run " + folders[0] + "/" + script
}
