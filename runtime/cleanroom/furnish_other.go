//go:build !linux

package cleanroom

import (
	"context"
	"errors"
	"os"

	"github.com/command-dialect/dialect/runtime/process"
)

var errNoNamespaces = errors.New("this system has no mount namespaces")

const noAccess = 0

func (r *Room) namespace(*Stay, []string) (*process.Room, error) { return nil, errNoNamespaces }

// Furnish is for systems that have mount namespaces.
func Furnish([]byte) error { return errNoNamespaces }

func (c *checkout) changedBy(context.Context, string) ([]string, error) { return nil, errNoNamespaces }

// A layer is what a line that writes hands on to those after it.
type layer struct {
	dir string
	has *checkout
}

func (l *layer) differs(context.Context) ([]string, error) { return nil, errNoNamespaces }

func (r *Room) hideStrays() string { return "" }

func (r *Room) left() []string { return nil }

func hold(string) *os.File { return nil }

// Masked is not to be had: this system has no mount namespaces.
func Masked([]string, *Away, ...string) (*process.Room, error) {
	return nil, errNoNamespaces
}
