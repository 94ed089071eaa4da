package regular

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Familiar reports whether what info is about, which was found in folder and named by nobody, belongs to somebody who may decide what runs in dir:
// this user, root or the owner of dir. Anyone can put a file into /tmp.
func Familiar(dir string, info, folder fs.FileInfo) bool {
	owner := Owner(info)
	if owner == os.Geteuid() || owner == 0 {
		return true
	}
	if here, err := os.Stat(dir); err == nil && Owner(here) == owner {
		return true
	}
	return folder != nil && folder.Mode().Perm()&0o022 == 0 && unmapped(owner)
}

// unmapped reports whether owner stands for users that have no id in this user namespace, root among them: nobody here can give a file to one of
// those, nor put one of theirs where others may not write.
func unmapped(owner int) bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(ids)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "0" {
			return false
		}
	}
	overflow, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	return err == nil && strings.TrimSpace(string(overflow)) == strconv.Itoa(owner)
}
