package guard

import "github.com/command-dialect/dialect/runtime/namespace"

// closeInherited has no command of this process inherit what this process inherited.
func closeInherited() error { return namespace.CloseInherited() }
