//go:build !unix

package worker

func identity(string) (string, error) { return "", nil }
