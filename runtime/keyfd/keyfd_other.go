//go:build !linux

package keyfd

import (
	"errors"
	"io/fs"
	"os"
)

func protect() string { return Weakness() }

func starter() string { return "" }

// Seal fails: this system does not keep other processes of the user out.
func Seal() error { return errors.New(Weakness()) }

// Weakness says why a key that was handed to this process would give level 0.
func Weakness() string {
	return "this system does not keep other processes of the user from the key"
}

func named(*os.File) bool { return true }

func linked(fs.FileInfo) bool { return true }
