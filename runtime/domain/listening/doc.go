// Package listening finds what listens on this machine, as the kernel tells it: paths of UNIX sockets, TCP addresses with their
// owners. It connects to nothing, and judges nothing.
package listening
