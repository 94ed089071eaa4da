//go:build race

package process

// raceEnabled says that the race detector's memory comes on top.
const raceEnabled = true
