// Command loop runs PROGRAM COUNT times, JOBS at a time, and does nothing else:
// what a runner written in Go cannot go below without forking by other means.
//
//	loop PROGRAM COUNT JOBS
package main

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
)

func main() {
	program := os.Args[1]
	count, _ := strconv.Atoi(os.Args[2])
	jobs, _ := strconv.Atoi(os.Args[3])
	if jobs == 1 {
		for range count {
			run(program)
		}
		return
	}
	todo := make(chan struct{}, count)
	for range count {
		todo <- struct{}{}
	}
	close(todo)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for range todo {
				run(program)
			}
		})
	}
	wg.Wait()
}

func run(program string) {
	if err := exec.Command(program).Run(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
