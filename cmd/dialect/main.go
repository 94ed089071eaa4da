// Dialect runs command-dialect scripts, keeps a receipt of each command, and
// gates on them. See README.md, and `dialect --help`.
package main

import (
	"os"

	"github.com/command-dialect/dialect/cmd/dialect/internal/cli"
)

func main() { os.Exit(cli.Main()) }
