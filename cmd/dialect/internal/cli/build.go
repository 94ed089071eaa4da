package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// stamped is set by the linker (see Makefile); empty in a plain go build.
var stamped string

// version is the version of this binary: what the linker stamped, else the
// module's version, else "devel".
func version() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func versionString() string {
	return fmt.Sprintf("dialect %s %s/%s %s", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
