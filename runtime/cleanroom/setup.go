package cleanroom

import (
	"context"
	"time"

	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/workspace"
)

// A Setup says what is installed in a room before commands are let in: see [Room.Install].
type Setup struct {
	Commands [][]string             // argv of each, in their order
	Locks    func(name string) bool // whether a file of the project, by its path from Options.Root with slashes, decides what they install
	Keep     []string               // directories below the home directory, with slashes, in which they install as well
	Env      []string               // of the commands, before the room changes it
	Own      map[string]string      // those of the variables that the matrix sets: whatever their names, they decide
}

// An Installed is what the commands of a [Setup] left.
type Installed struct {
	Key     [32]byte      // of what decided, see [Room.key]
	Sum     [32]byte      // of what was installed, see manifest; zero in an unconfined room
	Kept    bool          // an earlier run installed it
	Took    time.Duration // 0 if it was kept
	Locks   []string      // the files that decided, as the matrix would name them
	Lowered []string      // what was seen of the machine meanwhile, or is led to, that its user can change
}

// installed is an Installed with what the room knows of it.
type installed struct {
	Installed
	of   *workspace.Snapshot // that it was installed for
	err  error               // why it is not
	dir  string              // has tree and home, for a room in namespaces
	has  *checkout           // of dir
	keep []string            // of the Setup, those that are there

	tools []sight // toolchains of the setup's commands that what it left leads to
}

// A Run carries out one command of a setup. The error says how it failed.
type Run func(ctx context.Context, c *process.Command) error
