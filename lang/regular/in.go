package regular

import (
	"io/fs"
	"os"
	"path/filepath"
)

// In returns the paths below dir whose rest matches a pattern of [path.Match], with slashes, sorted. Only the pattern is one:
// what the name of dir has of its characters stands for itself.
func In(dir, pattern string) []string {
	list, _ := fs.Glob(os.DirFS(dir), pattern) // the patterns are good
	for i, name := range list {
		list[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return list
}
