package namespace

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/command-dialect/dialect/lang/regular"
)

// maxTable bounds the table of mounts, in bytes.
const maxTable = 16 << 20

// HoldControlGroups has the control groups be read-only in this mount namespace, in which nothing is seen elsewhere any more. A desktop gives those of a session to its
// user: who writes there freezes or ends every process of a group, whatever domain it is in, and joins another one.
func HoldControlGroups() error {
	text, err := regular.Read("/proc/self/mountinfo", maxTable)
	if err != nil {
		return err
	}
	for _, dir := range controlGroups(string(text)) {
		err := unix.MountSetattr(unix.AT_FDCWD, dir, unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		if err != nil && err != unix.ENOENT && err != unix.EINVAL { // another mount hides it
			return &os.PathError{Op: "make read-only", Path: dir, Err: err}
		}
	}
	return nil
}

// controlGroups returns where a table of mounts has control groups.
func controlGroups(table string) (list []string) {
	escapes := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")
	for line := range strings.Lines(table) {
		of, kind, _ := strings.Cut(line, " - ")
		if f := strings.Fields(of); len(f) > 4 && strings.HasPrefix(kind, "cgroup") {
			list = append(list, escapes.Replace(f[4]))
		}
	}
	return list
}
