package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writers is a project with lines that change files: fix changes one that is tracked, makes one and removes one, and leaves a
// file that git ignores, without which the line after it fails.
func writers(t *testing.T) (l *lab, place string) {
	t.Helper()
	place = t.TempDir()
	return newLab(t, map[string]string{
		"text.txt": "bad\n", "old.txt": "old\n", ".gitignore": ".dialect/\n*.cache\n",
		"fix.sh":  "sed -i s/bad/good/ text.txt; mkdir -p sub; echo new >sub/new.txt; chmod +x sub/new.txt; rm old.txt; echo warm >build.cache\n",
		"wait.sh": fmt.Sprintf("echo $$ $PPID >>%s/pids; echo half >>text.txt\nwhile ! test -e %[1]s/go; do sleep 0.05; done\n", place),
		"routing.toml": "[commands.fix]\nverb = \"fix\"\nnoun = \"text\"\ntool = \"sh fix.sh\"\neffect = \"write\"\n" +
			"[commands.seen]\nverb = \"check\"\nnoun = \"text\"\ntool = \"grep -q good text.txt build.cache sub/new.txt --include=text.txt\"\neffect = \"read\"\n" +
			"[commands.warm]\nverb = \"check\"\nnoun = \"cache\"\ntool = \"test -x sub/new.txt -a -e build.cache -a ! -e old.txt\"\neffect = \"read\"\n" +
			"[commands.slow]\nverb = \"write\"\nnoun = \"slowly\"\ntool = \"sh wait.sh\"\neffect = \"write\"\n" +
			"[commands.break]\nverb = \"break\"\nnoun = \"text\"\ntool = \"sh -c 'echo broken >text.txt; exit 1'\"\neffect = \"write\"\n" +
			"[commands.commit]\nverb = \"commit\"\nnoun = \"text\"\ntool = \"git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x\"\neffect = \"write\"\n" +
			"[commands.both]\nverb = \"do\"\nnoun = \"both\"\norder = \"parallel\"\ncomposite = [\"fix\", \"seen\"]\n",
		"fix.dlct":    "Fix text\nCheck text\nCheck cache\nFix text\nCheck cache\nGate against results\n",
		"slow.dlct":   "Write slowly\nCheck cache\nGate against results\n",
		"break.dlct":  "Break text\nGate against results\n",
		"commit.dlct": "Commit text\nGate against results\n",
		"both.dlct":   "Do both\nGate against results\n",
	}), place
}

func (l *lab) read(name string) string {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Lines that change files, and those after them, stay on one worker; what they changed comes back, and the run ends as here.
func TestWriters(t *testing.T) {
	t.Parallel()
	l, _ := writers(t)
	workers := []*proc{l.worker(), l.worker()}
	p := l.run("fix.dlct")
	if got := l.wait(p); got != 0 {
		t.Fatalf("status %d\n%s%s%s%s", got, &p.out, &p.err, &workers[0].err, &workers[1].err)
	}
	if text := l.read("text.txt") + l.read("sub/new.txt"); text != "good\nnew\n" {
		t.Errorf("%q", text)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "old.txt")); err == nil {
		t.Error("what a line removed is still there")
	}
	if _, err := os.Stat(filepath.Join(l.dir, "build.cache")); err == nil {
		t.Error("a file came back that git ignores")
	}
	if info, err := os.Stat(filepath.Join(l.dir, "sub/new.txt")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
	l.dialect(0, "verify")
	if left := l.git(l.depot, "for-each-ref"); left != "" {
		t.Errorf("left in the depot:\n%s", left)
	}
	there := plain(p.out.String())
	l.git(l.dir, "checkout", "-q", ".")
	l.git(l.dir, "clean", "-fdqx", "-e", ".dialect")
	if here := plain(l.dialect(0, "run", "fix.dlct")); here != there {
		t.Errorf("on the workers:\n%s\nhere:\n%s", there, here)
	}
}

// What somebody edited meanwhile is not written over, and the run does not pass.
func TestWriterEdited(t *testing.T) {
	t.Parallel()
	l, place := writers(t)
	l.worker()
	p := l.run("slow.dlct")
	waiting(l, place, 1)
	if err := os.WriteFile(filepath.Join(l.dir, "text.txt"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	release(t, place)
	if got := l.wait(p); got == 0 || !strings.Contains(p.out.String()+p.err.String(), "edited meanwhile: text.txt") {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
	if text := l.read("text.txt"); text != "mine\n" {
		t.Errorf("%q", text)
	}
}

// A folder that a line makes a file, or a link, is one here, too.
func TestWriterFolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{
		"a.txt": "a\n", "build/x": "x\n", "build/sub/y": "y\n", "more/z": "z\n",
		"routing.toml": "[commands.fix]\nverb = \"fix\"\nnoun = \"folder\"\ntool = \"sh -c 'rm -r build more; echo f >build; ln -s a.txt more'\"\neffect = \"write\"\n",
		"f.dlct":       "Fix folder\nGate against results\n",
	})
	l.worker()
	p := l.run("f.dlct")
	l.ends(p, 0)
	if target, err := os.Readlink(filepath.Join(l.dir, "more")); err != nil || target != "a.txt" || l.read("build") != "f\n" {
		t.Errorf("%q, %v, %q", target, err, l.read("build"))
	}
	l.dialect(0, "verify")
}

// What a line changed that failed, and what it did to the history of the repository, stays where it was.
func TestWriterFailed(t *testing.T) {
	t.Parallel()
	l, _ := writers(t)
	l.worker()
	for script, want := range map[string]string{"break.dlct": "FAILED", "commit.dlct": "changed the history of the repository"} {
		p := l.run(script)
		if got := l.wait(p); got != 1 && got != 2 || !strings.Contains(p.out.String()+p.err.String(), want) {
			t.Errorf("%s: status %d\n%s%s", script, got, &p.out, &p.err)
		}
	}
	if text := l.read("text.txt"); text != "bad\n" {
		t.Errorf("%q", text)
	}
}

// A worker that is killed in a line that changes files is lost: nobody carries the line out a second time, though another worker
// asks for work.
func TestWriterKilled(t *testing.T) {
	t.Parallel()
	l, place := writers(t)
	workers := []*proc{l.worker(), l.worker()}
	p := l.run("slow.dlct", "--json")
	first := waiting(l, place, 1)[0]
	for _, w := range workers {
		if w.Process.Pid == first[1] {
			_ = w.Process.Kill()
		}
	}
	l.ends(p, 2)
	d := l.document(p)
	if len(d.Lines) < 2 || d.Lines[0].Reason != "worker_lost" || d.Lines[1].Reason != "worker_lost" {
		t.Errorf("%+v", d)
	}
	if again := waiting(l, place, 1); len(again) != 1 {
		t.Errorf("it was carried out again: %v", again)
	}
	if text := l.read("text.txt"); text != "bad\n" {
		t.Errorf("%q", text)
	}
}

// A dialect that is killed once a line has changed files leaves a run that another one finishes: each change comes back once.
func TestWriterAttached(t *testing.T) {
	t.Parallel()
	l, place := writers(t)
	l.worker()
	if err := os.WriteFile(filepath.Join(l.dir, "both.dlct"), []byte("Fix text\nWrite slowly\nCheck cache\nGate against results\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := l.run("both.dlct")
	waiting(l, place, 1)
	if text := l.read("text.txt"); text != "good\n" {
		t.Errorf("%q", text)
	}
	run := l.runID()
	_ = p.Process.Kill()
	<-p.done
	release(t, place)
	again := l.start("", "dialect", append([]string{"runs", "attach", run, "--json"}, l.flags()...)...)
	l.ends(again, 0)
	if text := l.read("text.txt"); text != "good\nhalf\n" {
		t.Errorf("%q", text)
	}
	l.dialect(0, "verify")
}
