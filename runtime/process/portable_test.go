//go:build !linux || portable

package process

// portable says that a descendant in a session of its own escapes.
const portable = true
