package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A launched is the package for npm in a folder of its own, beside a package of the platform whose program is a script.
type launched struct{ node, dir, program string }

func launcher(t *testing.T, version, script string) launched {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no node, or no sh")
	}
	platform, err := exec.Command(node, "-p", "process.platform + '-' + process.arch").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	l := launched{node, filepath.Join(modules, "dialect"), filepath.Join(modules, "@command-dialect", strings.TrimSpace(string(platform)), "dialect")}
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(l.dir, "dialect.js"), string(read(t, "../../npm/dialect.js")))
	write(filepath.Join(l.dir, "package.json"), string(read(t, "../../npm/package.json")))
	if version != "" {
		write(filepath.Join(filepath.Dir(l.program), "package.json"), `{"version": "`+version+`"}`)
		write(l.program, "#!/bin/sh\n"+script)
	}
	return l
}

func (l launched) command(args ...string) *exec.Cmd {
	cmd := exec.Command(l.node, append([]string{filepath.Join(l.dir, "dialect.js")}, args...)...)
	cmd.Env = append(os.Environ(), "DIALECT_KEY_FD=")
	return cmd
}

// end runs cmd, and returns its exit status, or minus the signal, and what was printed.
func end(t *testing.T, cmd *exec.Cmd) (int, string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return -int(status.Signal()), string(out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestLauncher holds that the package for npm starts its program as if node were not there, and nothing else.
func TestLauncher(t *testing.T) {
	const own = "0.0.0" // of the package.json that is packed
	l := launcher(t, own, `printf '[%s]' "$@"; cat; exit 3`)
	cmd := l.command("run", "a b", "--", "--key-fd=3", "$HOME")
	cmd.Stdin = strings.NewReader("lines")
	if status, out := end(t, cmd); status != 3 || out != "[run][a b][--][--key-fd=3][$HOME]lines" {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := end(t, launcher(t, own, "kill -TERM $$").command()); status != -int(syscall.SIGTERM) {
		t.Errorf("a program that was ended by SIGTERM: status %d: %s", status, out)
	}
	for _, wrong := range []struct {
		version, want string
		args, environ []string
		status        int
	}{
		{own, "a signing key cannot be handed through node", []string{"run", "--key-fd", "3"}, nil, 64},
		{own, "a signing key cannot be handed through node", []string{"run", "--key-fd=3"}, nil, 64},
		{own, "a signing key cannot be handed through node", []string{"guard", "--identity", "3", "--", "agent"}, nil, 64},
		{own, "a signing key cannot be handed through node", nil, []string{"DIALECT_KEY_FD=3"}, 64},
		{"9.9.9", "is of version 9.9.9, and this is " + own, nil, nil, 127},
		{"", "is not installed\nhint: npm leaves it out", nil, nil, 127},
	} {
		l := launcher(t, wrong.version, "echo started")
		cmd := l.command(wrong.args...)
		cmd.Env = append(cmd.Env, wrong.environ...)
		status, out := end(t, cmd)
		if status != wrong.status || !strings.Contains(out, wrong.want) || strings.Contains(out, "started") {
			t.Errorf("%q: status %d: %s", wrong.args, status, out)
		}
		if wrong.status == 64 && !strings.HasSuffix(out, "hint: start the program itself: "+l.program+"\n") {
			t.Errorf("the program is not named: %s", out)
		}
	}
}

// waiting is a program that a signal reaches at any moment: a shell could wait for something else right after it has looked for one.
const waiting = `exec node -e "
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => { console.log('got'); process.exit(7); });
	setInterval(() => {}, 1 << 30);
	console.log('ready');"
`

// TestLauncherSignals holds that a signal to node reaches the program once, whatever its stdin is.
func TestLauncherSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		l := launcher(t, "0.0.0", waiting)
		cmd := l.command()
		var out bytes.Buffer
		reader, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready := make([]byte, len("ready\n"))
		if _, err := io.ReadFull(reader, ready); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if _, err := out.ReadFrom(reader); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != 7 || out.String() != "got\n" {
			t.Errorf("%v: status %d: %q", signal, status, out.String())
		}
	}
}
