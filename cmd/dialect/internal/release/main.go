// Command release says what a release of dialect is made of. It is a module of its own: what it needs enters no build of dialect.
//
//	release sbom PROGRAM VERSION FILE   writes the bill of materials of a built program (CycloneDX, JSON)
//	release dependencies FILE           writes the page that says why each module is there and what it costs
//
// Both read the modules that the linker recorded in a program, so that they list what is in it and nothing else. Modules, and their
// licences, are looked up in the module cache of this machine. The same program gives the same bytes.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "sbom":
		document, err := sbom(args[1], args[2])
		if err != nil {
			return err
		}
		return os.WriteFile(args[3], document, 0o644)
	case len(args) == 2 && args[0] == "dependencies":
		page, err := dependencies()
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], page, 0o644)
	}
	return errors.New("usage: release sbom PROGRAM VERSION FILE, or release dependencies FILE")
}
