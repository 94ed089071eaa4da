package process

import "context"

// Identify returns the executable that a command of argv0 would start, and the
// SHA-256 of its content, which is zero if it cannot be read, is too large for a digest, or ctx ends. lookupDir and env are
// as in [Command].
func (l *Launcher) Identify(ctx context.Context, argv0, lookupDir string, env []string) (path string, sum [32]byte, err error) {
	path, err = l.LookPath(argv0, lookupDir, env)
	if err != nil {
		return "", sum, err
	}
	sum, err = l.digests.sum(ctx, path)
	if err != nil {
		return path, [32]byte{}, nil
	}
	return path, sum, nil
}
