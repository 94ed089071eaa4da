// Command flood writes BYTES to standard output and, at the same time, BYTES to
// standard error.
//
//	flood STDOUT-BYTES STDERR-BYTES
package main

import (
	"os"
	"strconv"
	"sync"
)

func main() {
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = "the quick brown fox jumps over the lazy dog\n"[i%44]
	}
	var wg sync.WaitGroup
	for i, f := range []*os.File{os.Stdout, os.Stderr} {
		n, _ := strconv.Atoi(os.Args[1+i])
		wg.Go(func() {
			for ; n > 0; n -= len(block) {
				if _, err := f.Write(block[:min(n, len(block))]); err != nil {
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
}
