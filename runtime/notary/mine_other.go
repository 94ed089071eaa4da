//go:build !unix

package notary

import "io/fs"

func mine(fs.FileInfo) bool { return true }

func owner(fs.FileInfo) int { return -1 }
