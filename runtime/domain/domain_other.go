//go:build !linux || portable

package domain

import (
	"errors"

	"github.com/command-dialect/dialect/runtime/process"
)

// A Domain is for Linux.
type Domain struct{}

const why = "it takes namespaces and Landlock, which only Linux has"

// Start says that there is no domain here.
func Start(o Options) (*Domain, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return nil, &Refusal{Why: why}
}

// Probe says that there is no domain here.
func Probe([]string) (Facts, error) { return Facts{}, &Refusal{Why: why} }

// Become is for systems that have domains.
func Become([]string) int { return process.StatusNotBegun }

// Facts says that there is no domain.
func (*Domain) Facts() Facts { return Facts{Mode: None} }

// Run runs nothing.
func (*Domain) Run() (Status, error) { return Status{}, errors.New(why) }

// Close does nothing.
func (*Domain) Close() {}
