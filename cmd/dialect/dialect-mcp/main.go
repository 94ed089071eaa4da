// Dialect-mcp is what of dialect speaks the Model Context Protocol: a program of its own, since
// the protocol's SDK would cost every start of dialect. It lies beside dialect, which starts it.
package main

import (
	"os"

	"github.com/command-dialect/dialect/cmd/dialect/internal/mcpmain"
)

func main() { os.Exit(mcpmain.Main()) }
