package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A peer is another program that does what dialect does, or a part of it.
type peer struct {
	name    string // as it is called
	version []string
	// runner writes a script of count steps, each of which runs program, to be
	// done by so many jobs at a time, and returns the arguments that run it. Nil
	// if the peer is not a runner.
	runner func(dir, program string, count, jobs int) ([]string, error)
	// wrapper returns the arguments that run program and leave a signed record.
	wrapper func(dir, program string) ([]string, error)
}

// peers are those that can be had for this comparison. The others whose figures
// the design quotes (mise, dagu) are slower than these.
var peers = []peer{
	{name: "make", version: []string{"--version"}, runner: makeScript},
	{name: "ninja", version: []string{"--version"}, runner: ninjaScript},
	{name: "just", version: []string{"--version"}, runner: justScript},
	{name: "task", version: []string{"--version"}, runner: taskScript},
	{name: "lefthook", version: []string{"version"}, runner: lefthookScript},
	{name: "in-toto-golang", wrapper: inTotoKey},
	{name: "witness", version: []string{"version"}, wrapper: witnessKey},
}

// A foundPeer is a peer that is on PATH.
type foundPeer struct {
	peer
	path string
	is   string // its version, empty if it does not say
}

// findPeers looks for the peers, and returns the names of those that are not
// there.
func findPeers() (found []foundPeer, missing []string) {
	number := regexp.MustCompile(`\d+\.\d+(\.\d+)?`)
	for _, p := range peers {
		path, err := exec.LookPath(p.name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			missing = append(missing, p.name)
			continue
		}
		f := foundPeer{peer: p, path: path}
		if p.version != nil {
			if out, err := exec.Command(path, p.version...).Output(); err == nil {
				f.is = number.FindString(string(out))
			}
		}
		found = append(found, f)
	}
	return found, missing
}

// names returns "s1", ..., "sCOUNT".
func names(count int) []string {
	s := make([]string, count)
	for i := range s {
		s[i] = "s" + strconv.Itoa(i+1)
	}
	return s
}

// each renders format once for each name.
func each(format string, names []string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, format, n)
	}
	return b.String()
}

// Make runs a line without shell characters directly.
func makeScript(dir, program string, count, jobs int) ([]string, error) {
	steps := names(count)
	all := strings.Join(steps, " ")
	text := "all: " + all + "\n" + all + ":\n\t@" + program + "\n.PHONY: all " + all + "\n"
	return []string{"-s", "-j" + strconv.Itoa(jobs), "all"}, write(dir, "Makefile", text)
}

// The outputs never appear, so that each build runs all.
func ninjaScript(dir, program string, count, jobs int) ([]string, error) {
	steps := names(count)
	text := "rule r\n  command = " + program + "\n" + each("build %s: r\n", steps) + "build all: phony " + strings.Join(steps, " ") + "\n"
	return []string{"--quiet", "-j" + strconv.Itoa(jobs), "all"}, write(dir, "build.ninja", text)
}

// Just has no limit for parallel dependencies: it starts all of them at once.
func justScript(dir, program string, count, jobs int) ([]string, error) {
	steps := names(count)
	text := "all: " + strings.Join(steps, " ") + "\n" + each("%s:\n  @"+program+"\n", steps)
	if jobs > 1 {
		text = "[parallel]\n" + text
	}
	return []string{"all"}, write(dir, "justfile", text)
}

func taskScript(dir, program string, count, jobs int) ([]string, error) {
	steps := names(count)
	text := "version: '3'\nsilent: true\ntasks:\n" + each("  %s: {cmds: ['"+program+"']}\n", steps)
	if jobs > 1 {
		text += "  all: {deps: [" + strings.Join(steps, ", ") + "]}\n"
	} else {
		text += "  all: {cmds: [" + strings.TrimSuffix(each("{task: %s}, ", steps), ", ") + "]}\n"
	}
	return []string{"--concurrency", strconv.Itoa(jobs), "all"}, write(dir, "Taskfile.yml", text)
}

// Lefthook needs a repository, and has no limit for parallel jobs.
func lefthookScript(dir, program string, count, jobs int) ([]string, error) {
	if err := gitInit(dir); err != nil {
		return nil, err
	}
	text := "all:\n  parallel: " + strconv.FormatBool(jobs > 1) + "\n  jobs:\n" + each("    - {name: %s, run: "+program+"}\n", names(count))
	return []string{"run", "--no-auto-install", "all"}, write(dir, "lefthook.yml", text)
}

func inTotoKey(dir, program string) ([]string, error) {
	return []string{"run", "-n", "bench", "-k", "key.pem", "-d", ".", "--", program}, writeKey(dir)
}

func witnessKey(dir, program string) ([]string, error) {
	return []string{"run", "--step", "bench", "--signer-file-key-path", "key.pem", "--outfile", "out.json", "--", program}, writeKey(dir)
}

func writeKey(dir string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return write(dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// gitInit makes dir a repository with one commit of what is in it.
func gitInit(dir string) error {
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty", "--message=bench"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
