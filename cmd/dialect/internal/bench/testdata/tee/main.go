// Command tee runs a command, hashes each of its two streams, and keeps up to
// LIMIT bytes of each in DIR: the least that a recorder of output has to do.
//
//	tee DIR LIMIT PROGRAM [ARGUMENT]...
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

func main() {
	limit, _ := strconv.ParseInt(os.Args[2], 10, 64)
	cmd := exec.Command(os.Args[3], os.Args[4:]...)
	stdout, err := cmd.StdoutPipe()
	check(err)
	stderr, err := cmd.StderrPipe()
	check(err)
	check(cmd.Start())
	var wg sync.WaitGroup
	for name, stream := range map[string]io.Reader{"stdout": stdout, "stderr": stderr} {
		wg.Go(func() {
			f, err := os.Create(filepath.Join(os.Args[1], name))
			check(err)
			h := sha256.New()
			buf := make([]byte, 64<<10)
			for left := limit; ; {
				n, err := stream.Read(buf)
				h.Write(buf[:n])
				keep := min(int64(n), left)
				_, werr := f.Write(buf[:keep])
				check(werr)
				left -= keep
				if err == io.EOF {
					break
				}
				check(err)
			}
			check(f.Close())
			fmt.Printf("%s %x\n", name, h.Sum(nil))
		})
	}
	wg.Wait()
	check(cmd.Wait())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
