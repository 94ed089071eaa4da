//go:build !linux

package cleanroom

import "context"

// Keep is for systems that have mount namespaces.
func (s *Stay) Keep(context.Context) error {
	s.discard()
	return errNoNamespaces
}
