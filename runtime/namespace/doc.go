// Package namespace has what a process does to itself in new namespaces, before it becomes a command: it makes its
// user known there, hides a file, gives up what let it mount, enters a Landlock domain, and closes what it inherited. It starts nothing and
// decides nothing: what is hidden, its callers say.
package namespace

// ScopesABI is the first Landlock ABI that keeps signals and abstract sockets in.
const ScopesABI = 6
