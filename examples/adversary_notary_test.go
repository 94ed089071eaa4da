package examples_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// The column notary: the agent works under `dialect guard`, which the orchestrator has started with its key as the identity, and
// the orchestrator looks at the bundle of the session alone (`--level notary --key boss.pub`). It is level 2 of a world.
const levelNotary = 2

// A guardedSession is a guard with an agent that carries out what the test hands to it.
type guardedSession struct {
	out    bytes.Buffer
	dir    string // of requests and answers
	bundle string
	ended  chan struct{} // closed when guard has ended
	done   func()
	asked  int
}

// lasts says that the agent still answers.
func (s *guardedSession) lasts() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// answering carries requests out until the request "end": each is a script whose output and exit status it leaves.
const answering = `exec 3<>"$1/requests"
touch "$1/ready"
while read -r n <&3; do
	test "$n" != end || exit 0
	(sh "$1/$n.sh" >"$1/$n.out" 2>&1 3>&-; echo $? >"$1/$n.new"; mv "$1/$n.new" "$1/$n.status") &
done
`

// asking is the other side: it asks with the environment, the directory and the words that it was started with.
const asking = `s=$1 n=$2
shift 2
{
	export -p
	echo "unset DIALECT_KEY_FD"
	printf "cd '%s'\nexec" "$PWD"
	for word; do printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")"; done
	echo
} >"$s/$n.sh"
echo "$n" >"$s/requests"
while ! test -e "$s/$n.status"; do sleep 0.02; done
cat "$s/$n.out"
exit "$(cat "$s/$n.status")"
`

// outside asks the test whether the tests are red: a clean room sees no file outside of the tree that could tell.
const outside = `import socket, sys
s = socket.create_connection(("127.0.0.1", %d), 20)
sys.exit(s.recv(9) != b"green")
`

// An outsider is what the world outside of the tree says to those who ask.
type outsider struct {
	red   atomic.Bool
	waits atomic.Bool   // it says nothing before it may
	asked chan struct{} // one for each that waits
	may   chan struct{}
}

// answer begins to answer, and has the tests of the project ask.
func (w *world) answer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	o := &outsider{asked: make(chan struct{}, 9), may: make(chan struct{})}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if o.waits.Load() {
				o.asked <- struct{}{}
				<-o.may
			}
			text := "green"
			if o.red.Load() {
				text = "red"
			}
			_, _ = c.Write([]byte(text))
			c.Close()
		}
	}()
	w.outside = o
	w.write("outside.py", fmt.Sprintf(outside, l.Addr().(*net.TCPAddr).Port))
	w.write("tests.sh", project["tests.sh"])
}

// guard starts a session, where none lasts. It reports whether there is one: a guard may refuse.
func (w *world) guard() bool {
	w.t.Helper()
	if w.session != nil && w.session.lasts() {
		return true
	}
	w.sessions++
	s := &guardedSession{ended: make(chan struct{}), dir: w.path(fmt.Sprintf("home/session-%d", w.sessions))}
	s.bundle = s.dir + ".json"
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.own(s.dir, 0o700)
	for name, text := range map[string]string{"answering.sh": answering, "asking.sh": asking} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	if out, status := w.run(w.outer("mkfifo", s.dir+"/requests")); status != 0 {
		w.t.Fatal(out)
	}
	cmd := w.outer(w.path("dialect"), "guard", "--bundle", s.bundle, "--identity", "3", "--", "sh", s.dir+"/answering.sh", s.dir)
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }), "PATH="+w.base+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	var r *os.File
	if w.identity != "" {
		f, err := os.Open(w.identity)
		if err != nil {
			w.t.Fatal(err)
		}
		r, s.done = f, func() { f.Close() }
	} else {
		r, s.done = pipeOf(w.t, w.key)
	}
	cmd.ExtraFiles = []*os.File{r}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.session = s
	go func() { _ = cmd.Wait(); close(s.ended) }()
	for range 6000 {
		if _, err := os.Stat(s.dir + "/ready"); err == nil {
			return true
		}
		select {
		case <-s.ended:
			s.done()
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	w.t.Fatalf("the agent never begins: %s", s.out.String())
	return false
}

// inside makes a command of the agent in its session.
func (w *world) inside(argv ...string) *exec.Cmd {
	w.t.Helper()
	if !w.guard() {
		w.t.Fatal(w.session.out.String())
	}
	w.session.asked++
	return w.outer(append([]string{"sh", w.session.dir + "/asking.sh", w.session.dir, fmt.Sprint(w.session.asked)}, argv...)...)
}

// over ends the session, whose bundle is then whole. What was never begun has none.
func (w *world) over() string {
	w.t.Helper()
	if w.session == nil {
		w.guard()
	}
	s := w.session
	if s.lasts() {
		if out, status := w.run(w.outer("sh", "-c", "echo end >"+s.dir+"/requests")); status != 0 {
			w.t.Fatal(out)
		}
		<-s.ended // its command has a context
		s.done()
	}
	return s.bundle
}

// seek prints the stores that it finds below directories for temporary files, those of each process's root too, and among open files.
// The first argument is one more directory, the second the store that is the agent's own.
const seek = `import glob, os, sys
roots = [""] + glob.glob("/proc/[0-9]*/root")
for top in sys.argv[1:2] + [r + d for r in roots for d in ("/var/tmp", "/run")]:
    for place, _, names in os.walk(top):
        for n in names:
            if n.startswith("receipts.db") and not place.startswith(sys.argv[2]):
                print(os.path.join(place, n))
for fd in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        to = os.readlink(fd)
    except OSError:
        continue
    if "receipts.db" in to:
        print(fd, to)
`

// reach has the agent look for the store of the notary, and returns what it found of one.
func (w *world) reach() string {
	w.t.Helper()
	out, _ := w.run(w.inside(python(), "-c", seek, w.base, filepath.Join(w.dir, ".dialect")))
	return strings.TrimSpace(out)
}

// unreached is the cell of an attack on the store that before has filled.
func unreached(before func(*world)) func(*world) string {
	return func(w *world) string {
		before(w)
		if found := w.reach(); found != "" {
			w.t.Errorf("the agent reaches the store: %s", found)
			return uncaught
		}
		if cell := w.ask(); cell != uncaught {
			return cell
		}
		return "out of reach"
	}
}

// notary is how the attacks of the other columns are made under guard, where they are made in another way.
var notary = map[string]func(w *world) string{
	"a row is forged by INSERT":                         onePass,
	"a row is edited":                                   onePass,
	"two rows change places":                            onePass,
	"a row is deleted from the middle":                  onePass,
	"rows that settle themselves (`settlement = seq`)":  onePass,
	"a failure is painted over in the projection":       unreached(failedLast),
	"the tail is deleted, and the checkpoint rewritten": unreached(failedLast),
	"the whole store is rolled back to a copy":          unreached(failedLast),
	"a failure is undone by a copy of the store from after the kept checkpoint; at L3 with `--level L3`":                                          unreached(redGreen),
	"the same of a failure after the checkpoint, by a copy from before the failure: the checkpoint covers the pass, and has not seen the failure": unreached(failedLast),
	"the signature of a failure is taken away":                                                                 unreached(failedLast),
	"the projection is toggled while verify asks, by SQL":                                                      unreached(failedLast),
	"the projection is toggled while verify asks, by pwrite(2) on the file":                                    unreached(failedLast),
	"a failure is painted over before the run's own gate":                                                      unreached(redGreen),
	"a failure is cut out of the middle of the log, which is built anew":                                       unreached(redGreen),
	"the same, and then the orchestrator runs once more":                                                       unreached(redGreen),
	"the same, the signatures emptied while the orchestrator runs once more, and put back":                     unreached(redGreen),
	"the same, under the signed checkpoint of before it, in a table whose inner keys mislead a second reading": unreached(redGreen),
	"a pass is hidden by 200 gates that nobody signed":                                                         none, // all are signed
	"the store is deleted, and a pass forged in a new one": func(w *world) string {
		w.honest()
		red(w)
		w.start(nil, "run", "quality.dlct")
		forge(w)
		return w.ask()
	},
	"rows without a key slip in before a keyed append": unreached(func(w *world) {
		w.honest()
		forge(w)
		w.honest()
	}),
	"a file is dropped during the run": func(w *world) string {
		w.write("tests.sh", "echo ok 1; echo ok 2; echo 1..2; echo x >conftest.py\n")
		w.sh("git add . && git commit --quiet --message=x")
		w.honest()
		if _, err := os.Stat(filepath.Join(w.dir, "conftest.py")); err == nil {
			return w.ask()
		}
		return "stays in the room"
	},
	"a command attacks the store while it runs": func(w *world) string {
		w.write("seek.py", seek)
		w.write("tests.sh", python()+" seek.py . ./.dialect | grep . && exit 1; echo ok 1; echo ok 2; echo 1..2\n")
		w.sh("git add . && git commit --quiet --message=x")
		w.passes(nil)
		return "out of reach"
	},

	"a copy of the store is consumed too, without a ledger":                      spent,
	"a copy of the store is consumed too, with a ledger":                         spent,
	"a gate is set back to unconsumed by UPDATE":                                 spent,
	"the record of the consumption is deleted":                                   spent,
	"`consumed` is toggled while one gate is consumed ten times":                 spent,
	"the consumption is cut off the log, and the gate consumed again":            spent,
	"the same, and the orchestrator keeps its own decisions (`consume --state`)": spent,
	"what ran in another project of the working tree is handed up, with a copy of its store": func(w *world) string {
		w.sh("mkdir b && cp routing.toml Makefile alpha.txt quality.dlct b/ && echo 'exit 1' >b/tests.sh && git add . && git commit --quiet --message=b")
		w.honest()
		return w.askIn("b")
	},

	"the run is killed on red, after an earlier pass": func(w *world) string {
		w.honest()
		w.killedInside()
		return w.ask()
	},
	"the run is killed between a command and its receipt": func(w *world) string {
		w.killedInside()
		return w.ask()
	},
	"a weaker script passes on the files that failed; plain `verify`": func(w *world) string {
		red(w)
		w.start(nil, "run", "quality.dlct")
		if out, status := w.start(nil, "run", "-e", "Check with alpha\nGate against results"); status != 0 {
			w.t.Fatal(out)
		}
		return w.plain()
	},

	"the matrix is edited and committed; the verifier names no base": begun("the matrix is edited and committed; the verifier names no base"),
	"the agent's own matrix is put below the one that the commit has for the folder": func(w *world) string {
		w.sh("mkdir b && cp quality.dlct alpha.txt b/ && git add . && git commit --quiet --message=b")
		w.guard()
		w.sh(`sed 's/tool = .*/tool = "echo ok 1; echo ok 2; echo 1..2"\nshell = true/' routing.toml >b/routing.toml`)
		return w.ends(nil, "b/quality.dlct")
	},
	"`files` are edited in the matrix so that the test is left out; with `--base`": func(w *world) string {
		scoped(w, false, true)
		w.sh(`sed -i 's/, "alpha.txt"]/]/' routing.toml && git commit --quiet --all --message=x`)
		return w.ends(nil, "--changed", "quality.dlct")
	},
	"a pin is a link to an ignored file that changes during the run":                  pinSwapped("cp Makefile m.log; ln -sf m.log Makefile", "m.log"),
	"a pinned file is ignored and taken out of the index, and changes during the run": pinSwapped(untrack, "Makefile"),
	"the same; `--tree HEAD` of a commit that does not have it":                       pinSwapped(untrack, "Makefile", "--tree", "HEAD"),
	"a pin that is not there is ignored, and there during the run (`GNUmakefile`)":    pinSwapped("echo GNUmakefile >>.gitignore; git commit --quiet --all --message=x", "GNUmakefile"),
	"and committed afterwards; `--tree HEAD`": func(w *world) string {
		w.honest()
		w.sh("echo x >conftest.py && git add . && git commit --quiet --message=y")
		return w.ask("--tree", "HEAD")
	},
	"an ignored file is edited": func(w *world) string {
		w.write("venv.log", "good\n")
		w.write("check.sh", "test ! -e venv.log\n")
		checks(w, "sh check.sh", "")
		w.honest()
		return "decides nothing"
	},

	"a tool is replaced after an honest run": func(w *world) string {
		w.honest()
		forgeTools(w)
		red(w)
		return w.ends([]string{"PATH=" + w.path("fake") + ":" + os.Getenv("PATH")}, "quality.dlct")
	},
	"a variable that nobody listed": func(w *world) string {
		w.write("check.sh", "test \"$MODE\" = lenient\n")
		checks(w, "sh check.sh", "")
		return w.ends([]string{"MODE=lenient"}, "quality.dlct")
	},
	"configuration in HOME (`go env -w GOFLAGS=-n`)": func(w *world) string {
		w.write("check.sh", "grep GOFLAGS \"$HOME/.config/go/env\"\n") // Go itself would build all of its library in the room
		checks(w, "sh check.sh", "")
		w.sh("mkdir -p ../home/.config/go && echo GOFLAGS=-n >../home/.config/go/env")
		return w.ends(nil, "quality.dlct")
	},

	"a command looks for the key: environment, descriptors, its parent's environment, descriptors and memory": func(w *world) string {
		w.write("thief.py", strings.Replace(thief, `os.path.join(os.environ["HOME"], "loot")`, `"loot.log"`, 1))
		w.write("Makefile", "test:\n\t@"+python()+" thief.py; test ! -s loot.log && echo ok 1 && echo ok 2; echo 1..2\n")
		w.sh("git add . && git commit --quiet --message=x")
		w.passes(nil)
		return "out of reach"
	},
	"the same, and the binary is one that the user can read": func(w *world) string {
		w.readable()
		if w.guard() {
			return uncaught
		}
		return "guard REFUSED"
	},
	"the key is handed over in a file that commands can read": func(w *world) string {
		w.identity = w.handOver()
		if !w.guard() {
			return "guard REFUSED"
		}
		w.passes(nil)
		return w.ask()
	},
}

// onePass is a store that is out of reach after one pass.
var onePass = unreached((*world).honest)

func redGreen(w *world) {
	failedLast(w)
	w.passes(nil)
}

// spent is the cell of a consumption: nobody consumes in the store of a notary.
func spent(w *world) string {
	w.honest()
	return w.consume(w.gate())
}

// none is the cell of what cannot be tried.
func none(*world) string { return "-" }

// begun has the session begin before what a row does: what is committed later is not what it trusts.
func begun(name string) func(*world) string {
	return func(w *world) string {
		w.guard()
		for _, a := range attacks {
			if a.name == name {
				return a.do(w)
			}
		}
		panic("there is no attack " + name)
	}
}

// killedInside kills the dialect of the agent while the second command of its run waits for an answer.
func (w *world) killedInside() {
	w.t.Helper()
	w.outside.waits.Store(true)
	red(w)
	cmd := w.inside("sh", "-c", w.path("dialect")+" run quality.dlct & echo $! >$0; wait $!", w.path("home/pid"))
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	<-w.outside.asked
	if out, status := w.run(w.inside("sh", "-c", "kill -9 $(cat $0)", w.path("home/pid"))); status != 0 {
		w.t.Fatal(out)
	}
	_ = cmd.Wait()
	w.outside.waits.Store(false)
	close(w.outside.may)
}

// pinSwapped is unseenPin in a session: the file is swapped while the run waits for an answer.
func pinSwapped(hide, file string, args ...string) func(*world) string {
	return func(w *world) string {
		w.write("check.sh", python()+" outside.py\n")
		w.write("routing.toml", strings.Replace(project["routing.toml"], `pins = ["Makefile"]`, `pins = ["Makefile", "GNUmakefile"]`, 1))
		w.sh(`sed -i 's/tool = "grep.*/tool = "sh check.sh"/' routing.toml && git add . && git commit --quiet --message=tool && git tag --force trusted >/dev/null`)
		base := w.trusted()
		w.sh(hide)
		w.guard()
		w.outside.waits.Store(true)
		over := make(chan string)
		go func() {
			out, status := w.start(nil, "run", "quality.dlct")
			over <- w.ended(out, status)
		}()
		select {
		case cell := <-over:
			return cell
		case <-w.outside.asked:
		}
		red(w)
		w.sh(`test ! -e "` + file + `" || mv "` + file + `" ../good; printf 'test:\n\t@echo ok 1; echo ok 2; echo 1..2\n' >"` + file + `"`)
		w.outside.waits.Store(false)
		close(w.outside.may)
		<-over
		w.sh("rm " + file + "; test ! -e ../good || mv ../good " + file)
		return w.ask(append([]string{"--base", base}, args...)...)
	}
}
