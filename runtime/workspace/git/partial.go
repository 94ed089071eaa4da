package git

import (
	"errors"
	"strings"
)

// Unfetched returns the name of the object that err says a partial clone lacks; empty for any other error. Git fetches such an object where
// it may use the network, which no git that is started here may.
func Unfetched(err error) string {
	var failed *Error
	if !errors.As(err, &failed) {
		return ""
	}
	_, rest, _ := strings.Cut(failed.stderr, "could not fetch ")
	name, _, ok := strings.Cut(rest, " from promisor remote")
	if !ok {
		return ""
	}
	return name
}
