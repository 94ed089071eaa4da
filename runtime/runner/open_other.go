//go:build !unix

package runner

const openFlags = 0
