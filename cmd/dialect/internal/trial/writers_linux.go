package trial

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// writers returns, of these files, those that a process has open for writing, each with its pid. Of processes of other users only root learns.
func writers(files []string) map[string]int {
	type id struct{ dev, ino uint64 }
	names := make(map[id]string)
	for _, name := range files {
		var st unix.Stat_t
		if unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			names[id{st.Dev, st.Ino}] = name
		}
	}
	if len(names) == 0 {
		return nil
	}
	open := make(map[string]int)
	all, _ := os.ReadDir("/proc")
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", p.Name(), "fd")
		list, _ := os.ReadDir(dir)
		for _, fd := range list {
			link := filepath.Join(dir, fd.Name())
			info, err := os.Lstat(link)
			if err != nil || info.Mode()&0o200 == 0 { // the permissions are those that it was opened with
				continue
			}
			var st unix.Stat_t
			if unix.Stat(link, &st) != nil {
				continue
			}
			if name, ok := names[id{st.Dev, st.Ino}]; ok {
				open[name] = pid
			}
		}
	}
	return open
}
