//go:build !unix

package inputs

func isNotDir(error) bool { return false } // the system says that it does not exist
