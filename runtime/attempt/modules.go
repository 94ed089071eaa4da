package attempt

import (
	"context"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

var goFiles = sync.OnceValue(func() (p struct{ use, module *regexp.Regexp }) {
	p.use = regexp.MustCompile(`(?m)^[ \t]*(?:use[ \t]+)?"?(\.[^\s"()]*)"?[ \t]*(?://.*)?\r?$`)
	p.module = regexp.MustCompile(`(?m)^module[ \t]+"?([^\s"]+)"?`)
	return p
})

// Bounds of what is read of a workspace of Go.
const (
	maxModules    = 500
	maxModuleFile = 64 << 10 // bytes
)

// modules returns the folder of an import path, seen from dir, by the go.work that is there: a module need not be called as its
// folder is. The files are read once, when the first path is asked about.
func modules(ctx context.Context, from files, dir string) func(path string) (folder string, ok bool) {
	read := func(name string) string {
		list, err := from.expand(ctx, dir, name)
		if err != nil || len(list) != 1 {
			return ""
		}
		f, err := from.open(list[0].Name)
		if err != nil {
			return ""
		}
		defer f.Close()
		text, _ := io.ReadAll(io.LimitReader(f, maxModuleFile))
		return string(text)
	}
	folders := sync.OnceValue(func() map[string]string {
		list := make(map[string]string)
		for _, m := range goFiles().use.FindAllStringSubmatch(read("go.work"), maxModules) {
			at := path.Clean(m[1])
			if !filepath.IsLocal(at) || strings.ContainsAny(at, `*?[\`) {
				continue
			}
			if module := goFiles().module.FindStringSubmatch(read(path.Join(at, "go.mod"))); module != nil {
				list[module[1]] = at
			}
		}
		return list
	})
	return func(imported string) (string, bool) {
		for module, rest := imported, ""; module != "." && module != "/"; module, rest = path.Dir(module), path.Join(path.Base(module), rest) {
			if at, ok := folders()[module]; ok {
				return path.Join(at, rest), true
			}
		}
		return "", false
	}
}
