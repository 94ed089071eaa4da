//go:build !unix

package examples_test

import "os/exec"

func asAgent(*exec.Cmd) {}
func asSelf(*exec.Cmd)  {}
