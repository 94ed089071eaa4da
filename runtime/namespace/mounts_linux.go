package namespace

import (
	"strconv"
	"strings"

	"github.com/command-dialect/dialect/lang/regular"
)

// maxTable bounds the table of mounts, in bytes.
const maxTable = 16 << 20

// A Mount is a line of the table of mounts.
type Mount struct {
	Device string // "8:1"
	Root   string // the path within the file system that is seen at At
	At     string
	Kind   string // of the file system: "ext4", "cgroup2"
}

// Mounts returns what is mounted in the mount namespace of this process; a later mount covers an earlier one.
func Mounts() ([]Mount, error) {
	text, err := regular.Read("/proc/self/mountinfo", maxTable)
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text)), nil
}

// parseMounts reads a table as proc_pid_mountinfo(5) has it. It leaves out every other line.
func parseMounts(table string) (list []Mount) {
	for line := range strings.Lines(table) {
		of, rest, _ := strings.Cut(line, " - ")
		f := strings.Fields(of)
		kind, _, _ := strings.Cut(rest, " ")
		if len(f) > 4 {
			list = append(list, Mount{Device: f[2], Root: unescape(f[3]), At: unescape(f[4]), Kind: kind})
		}
	}
	return list
}

// unescape undoes the octal escapes of mountinfo.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
