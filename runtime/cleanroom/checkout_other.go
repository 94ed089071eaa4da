//go:build !unix

package cleanroom

import (
	"context"
	"errors"
	"os"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// A checkout is for systems whose files have modes and links as a snapshot has them.
type checkout struct {
	dir   string
	files []workspace.File
}

var errNoCheckout = errors.New("this system has no clean room: its file systems have neither the modes nor the links of a snapshot")

func keep(context.Context, string, string, []workspace.File, *os.Root) (*checkout, func(), error) {
	return nil, nil, errNoCheckout
}

func (c *checkout) at(string) string                          { return c.dir }
func (c *checkout) has(string) bool                           { return false }
func (c *checkout) differs(context.Context) ([]string, error) { return nil, errNoCheckout }
func (c *checkout) changed(context.Context) ([]string, error) { return nil, errNoCheckout }
func (c *checkout) stat(b []byte, _ int) ([]byte, error)      { return b, errNoCheckout }

func statusIn(b []byte, _ string, _ workspace.FileKind) ([]byte, error) { return b, errNoCheckout }

func (c *checkout) below(string) []string { return nil }

// BringBack is for systems with modes and links.
func BringBack(context.Context, *workspace.Snapshot, func(string) string, []string) error {
	return errNoCheckout
}

// Below is for systems with modes and links.
func Below(string) func(string) string { return func(string) string { return "" } }
