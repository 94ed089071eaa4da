package examples_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// TestInstall follows each way to dialect that README.md shows, in a copy of this tree and without the network.
func TestInstall(t *testing.T) {
	if os.Getenv("CI") == "" && os.Getenv("DIALECT_SOAK") == "" {
		t.Skip("NOT TESTED: it builds dialect three times, once with all that it needs; CI and DIALECT_SOAK do")
	}
	require(t, "go", "gofmt", "git", "make", "tar", "sha256sum")
	tree := filepath.Join(t.TempDir(), "dialect")
	copySource(t, "..", tree)
	git(t, tree, "init", "--quiet")
	git(t, tree, "add", "--all")
	git(t, tree, "commit", "--quiet", "--message=dialect")

	t.Run("make build", func(t *testing.T) {
		out := bash(t, tree, nil, "make build && ./bin/dialect run examples/go/quality.dlct")
		if !strings.Contains(out, "passed: 4 lines") {
			t.Error(out)
		}
	})
	t.Run("archive", func(t *testing.T) {
		dist := filepath.Join(t.TempDir(), "dist")
		platform := runtime.GOOS + "/" + runtime.GOARCH
		out := bash(t, tree, []string{"DIST=" + dist}, "make dist DIST=$DIST PLATFORMS="+platform+" && cd $DIST && sha256sum -c SHA256SUMS && tar -xzf *.tar.gz && cd dialect_*/ && ls && ./dialect version && ./dialect help platforms")
		for _, want := range []string{".tar.gz: OK", "LICENSE\nREADME.md\ncompletions\ndialect\ndialect-mcp\n", "\ndialect ", "Linux is fully supported"} {
			if !strings.Contains(out, want) {
				t.Errorf("there is no %q in\n%s", want, out)
			}
		}
		again := filepath.Join(t.TempDir(), "dist")
		bash(t, tree, nil, "make dist DIST="+again+" PLATFORMS="+platform+" && cmp "+dist+"/SHA256SUMS "+again+"/SHA256SUMS")

		// The packages for npm are made of that archive, and installed as a user does who has downloaded them.
		require(t, "node", "npm")
		prefix := t.TempDir()
		install := "npm install --global --offline --no-audit --no-fund --prefix " + prefix + " "
		bash(t, tree, nil, "node cmd/dialect/npm/pack.mjs $(git describe --tags --always --dirty --abbrev=12) "+dist+" "+dist+" && cd "+dist+" && "+install+"./command-dialect-*.tgz ./dialect-*.tgz")
		out = bash(t, tree, nil, prefix+"/bin/dialect run examples/go/quality.dlct && "+"($(dirname $(find "+prefix+"/lib -name dialect-mcp -type f))/dialect-mcp --version 2>&1 || true) && "+
			"("+prefix+"/bin/dialect frobnicate || echo status $?)\n"+
			prefix+"/bin/dialect exec --no-tree -- sh -c 'touch begun; exec sleep 600' & until test -e begun; do sleep 0.05; done; kill -TERM $!; wait $! || echo status $?")
		for _, want := range []string{"passed: 4 lines", "usage: dialect-mcp", "status 64", "status 143"} {
			if !strings.Contains(out, want) {
				t.Errorf("there is no %q in\n%s", want, out)
			}
		}
		out = bash(t, tree, nil, "npm uninstall --silent --global --prefix "+prefix+" @command-dialect/"+npmPlatform()+" && ("+prefix+"/bin/dialect version 2>&1 || echo status $?)")
		if want := "dialect: the package @command-dialect/" + npmPlatform() + " is not installed\nhint: "; !strings.Contains(out, want) || !strings.Contains(out, "status 127") {
			t.Error(out)
		}
	})
	t.Run("go install", func(t *testing.T) {
		// A proxy that has this tree as a release, and of other modules what this machine has.
		proxy, version := t.TempDir(), module.Version{Path: "github.com/command-dialect/dialect", Version: "v0.1.0"}
		folder := filepath.Join(proxy, filepath.FromSlash(version.Path), "@v")
		var zipped bytes.Buffer
		if err := modzip.CreateFromDir(&zipped, version, tree); err != nil {
			t.Fatal(err)
		}
		if _, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len())); err != nil {
			t.Fatal(err)
		}
		mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "list"), version.Version+"\n")
		write(t, filepath.Join(folder, version.Version+".info"), `{"Version":"`+version.Version+`"}`)
		write(t, filepath.Join(folder, version.Version+".mod"), string(mod))
		write(t, filepath.Join(folder, version.Version+".zip"), zipped.String())
		cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		downloads := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
		if _, err := os.Stat(downloads); err != nil {
			t.Skip("NOT TESTED: the modules that dialect needs were not downloaded:", err)
		}
		bin := t.TempDir()
		command := ""
		for line := range strings.Lines(readmeText(t)) {
			if strings.HasPrefix(line, "go install ") {
				command = strings.TrimSpace(line)
			}
		}
		if command == "" {
			t.Fatal("README.md has no go install")
		}
		out := bash(t, t.TempDir(), []string{
			"GOBIN=" + bin, "GOPATH=" + t.TempDir(), "GOMODCACHE=", "GOPROXY=file://" + proxy + ",file://" + downloads, "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath", "CGO_ENABLED=0",
		}, command+" && ls "+bin+" && "+bin+"/dialect version")
		if !strings.Contains(out, "dialect\ndialect-mcp\n") || !strings.Contains(out, "dialect v0.1.0 ") {
			t.Error(out)
		}
	})
}

// npmPlatform returns what npm calls this platform.
func npmPlatform() string {
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return map[string]string{"linux": "linux", "darwin": "darwin"}[runtime.GOOS] + "-" + cpu
}

func readmeText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// bash runs a script that has to succeed, and returns what it printed.
func bash(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir, cmd.Env = dir, append(environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// copySource copies the files of this repository without what is built, installed or recorded in it.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, name)
		switch {
		case d.IsDir() && (rel == "bin" || d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == ".dialect"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		in, err := os.Open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil {
			return err
		}
		out, err := os.OpenFile(filepath.Join(to, rel), os.O_CREATE|os.O_WRONLY, info.Mode().Perm())
		if err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
		return out.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}
