//go:build !unix

package notary

import "io/fs"

func mine(fs.FileInfo) bool { return true }
