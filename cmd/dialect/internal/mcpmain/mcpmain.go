// Package mcpmain is the command line of dialect-mcp. Nobody types it: dialect does.
package mcpmain

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/mcpserver"
	"github.com/command-dialect/dialect/runtime/mcpclient/broker"
)

const usage = `dialect-mcp is started by dialect; see "dialect mcp --help" and "dialect doctor --online".

usage: dialect-mcp client                     drive MCP servers, for a run
       dialect-mcp serve DIALECT ROOT VERSION serve an agent, as "dialect mcp" does
`

// Main runs dialect-mcp and returns its exit status.
func Main() int {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "client":
		err = broker.Serve(os.Stdin, os.Stdout)
	case len(os.Args) == 5 && os.Args[1] == "serve":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		o := mcpserver.Options{Self: os.Args[2], Root: os.Args[3], Version: os.Args[4]}
		if err = mcpserver.Serve(ctx, o, mcpserver.Lines(os.Stdin, os.Stdout)); ctx.Err() != nil {
			err = nil
		}
	default:
		fmt.Fprint(os.Stderr, usage)
		return exit.Usage
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "dialect-mcp: %v\n", err)
		return exit.Failed
	}
	return 0
}
