package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A devServer is the server of the program temporal, which can be killed.
type devServer struct {
	*proc
	l    *lab
	port int
	db   string
}

func (s *devServer) start() {
	p := &proc{Cmd: exec.Command("temporal", "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(s.port), "--db-filename", s.db, "--log-level", "error"), done: make(chan struct{})}
	p.Stdout, p.Stderr = &p.out, &p.err
	if err := p.Start(); err != nil {
		s.l.t.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.done)
	}()
	s.proc = p
	s.l.until("the server listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// TestKills kills dialect, its workers and the server at random, round after round: each line has one verdict and at most
// one receipt that a gate has consumed, a line that changes files is carried out once at most, nothing is left running, and every run ends. DIALECT_SOAK=1 has it run, for DIALECT_KILLS rounds (200); the
// server is killed where the program temporal is in PATH.
func TestKills(t *testing.T) {
	if os.Getenv("DIALECT_SOAK") == "" {
		t.Skip("make soak runs it")
	}
	rounds := 200
	if n, err := strconv.Atoi(os.Getenv("DIALECT_KILLS")); err == nil {
		rounds = n
	}
	const reads = 6
	const lines = reads + 1
	log := filepath.Join(t.TempDir(), "log")
	stamps := func() int {
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "\n")
	}
	script, matrix := "", "[limits]\nnouns = 100\nbindings = 100\n"
	for i := range reads {
		script += fmt.Sprintf("Check part%d\n", i)
		matrix += fmt.Sprintf("[commands.part%d]\nverb = \"check\"\nnoun = \"part%[1]d\"\ntool = \"sleep 0.3%[1]d7\"\neffect = \"read\"\n", i)
	}
	matrix += "[commands.stamp]\nverb = \"write\"\nnoun = \"stamp\"\ntool = \"sh stamp.sh\"\neffect = \"write\"\nexclusive = \"stamp-" + filepath.Base(filepath.Dir(log)) + "\"\n[run]\norder = \"parallel\"\n"
	l := newLab(t, map[string]string{
		"routing.toml": matrix, "parts.dlct": script + "Write stamp\nGate against results\n",
		"stamp.sh": "echo x >>" + log + "; sleep 0.3; wc -l <" + log + " >stamp.txt\n", "stamp.txt": "0\n",
	})
	where := l.address()
	var dev *devServer
	if _, err := exec.LookPath("temporal"); err == nil {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		dev = &devServer{l: l, port: free.Addr().(*net.TCPAddr).Port, db: filepath.Join(t.TempDir(), "temporal.db")}
		free.Close()
		dev.start()
		t.Cleanup(func() { _ = dev.Process.Kill(); <-dev.done })
		where = []string{"--address", fmt.Sprintf("127.0.0.1:%d", dev.port), "--task-queue", l.queue}
	} else {
		t.Log("the server is not killed: the program temporal is not in PATH")
	}
	worker := func() *proc {
		args := append([]string{"worker", "--remote", l.depot, "--folder", t.TempDir(), "--key-fd", "3", "--slots", "3"}, where...)
		return l.start(l.private, "dialect-temporal", args...)
	}
	flags := append([]string{"--engine", "temporal", "--remote", l.depot, "--worker-key", l.keys[0], "--json"}, where...)
	workers := []*proc{worker(), worker()}
	r := rand.New(rand.NewPCG(7, uint64(rounds)))
	kills, ends := make(map[string]int), make(map[string]int)
	for round := range rounds {
		before := stamps()
		p := l.start("", "dialect", append([]string{"run", "parts.dlct"}, flags...)...)
		run := ""
		for tries := 0; ; tries++ {
			if tries > 20 {
				t.Fatalf("round %d does not end", round)
			}
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
			switch victim := r.IntN(4); {
			case tries > 3: // no more kills
			case victim == 0:
				kills["dialect"]++
				_ = p.Process.Kill()
			case victim == 1:
				kills["worker"]++
				i := r.IntN(len(workers))
				_ = workers[i].Process.Kill()
				<-workers[i].done
				workers[i] = worker()
			case victim == 2 && dev != nil && r.IntN(3) == 0:
				kills["server"]++
				_ = dev.Process.Kill()
				<-dev.done
				dev.start()
			}
			got := l.wait(p)
			unknown := strings.Contains(p.err.String(), "is not known to the server") // it was killed before it handed the run out
			if got >= 0 && got < 64 && !unknown {
				break
			}
			if strings.Contains(p.err.String(), "it is over here") { // it was killed once it had reported it
				kills["dialect, after its report"]++
				if text, err := os.ReadFile(filepath.Join(l.dir, ".dialect/log/runs", run)); err == nil {
					_, _ = p.out.Write(text)
				}
				break
			}
			if unknown {
				run = ""
				p = l.start("", "dialect", append([]string{"run", "parts.dlct"}, flags...)...)
				continue
			}
			if run == "" {
				run = lastRun(l)
			}
			if run == "" { // it was killed before it began
				p = l.start("", "dialect", append([]string{"run", "parts.dlct"}, flags...)...)
				continue
			}
			p = l.start("", "dialect", append([]string{"runs", "attach", run}, flags...)...)
		}
		d := l.document(p)
		if d.Run == "" || len(d.Lines) != lines+1 {
			t.Fatalf("round %d: %s%s", round, &p.out, &p.err)
		}
		for _, line := range d.Lines {
			if line.Verdict == "" {
				t.Errorf("round %d: step %s has no verdict", round, line.ID)
			}
		}
		if n := stamps() - before; n > 1 {
			t.Errorf("round %d: the line that changes files was carried out %d times", round, n)
		}
		why := ""
		for _, line := range d.Lines { // a line of the script that did not pass says why
			if line.Verdict != "passed" && line.Verdict != "flaky" && line.Reason != "" && line.ID != "8" {
				why += fmt.Sprintf(", step %s %s", line.ID, line.Reason)
				t.Logf("round %d: step %s: %s", round, line.ID, line.Detail)
			}
		}
		ends[fmt.Sprintf("%s, exit %d%s", d.Gate.Verdict, p.ProcessState.ExitCode(), why)]++
		consumed := consumedOf(l, d.Run)
		for step, n := range consumed {
			if n > 1 {
				t.Errorf("round %d: %d receipts of step %s were consumed", round, n, step)
			}
		}
		if d.Gate.Verdict == "passed" && len(consumed) != lines {
			t.Errorf("round %d: the gate passed, and consumed %v", round, consumed)
		}
	}
	for _, w := range workers {
		_ = w.Process.Signal(syscall.SIGTERM)
		<-w.done
	}
	l.until("nothing is left running", func() bool {
		for i := range reads {
			if exec.Command("pgrep", "-fx", fmt.Sprintf("sleep 0.3%d7", i)).Run() == nil {
				return false
			}
		}
		return true
	})
	t.Logf("%d rounds; kills %v; ends %v", rounds, kills, ends)
}

// lastRun is the newest run of the store; empty if nothing was started.
func lastRun(l *lab) string {
	p := l.start("", "dialect", "runs", "--json", "--limit", "1")
	if l.wait(p) != 0 {
		return ""
	}
	var d struct {
		Runs []struct {
			Run string `json:"run"`
		} `json:"runs"`
	}
	if json.Unmarshal([]byte(p.out.String()), &d) != nil || len(d.Runs) == 0 {
		return ""
	}
	return d.Runs[len(d.Runs)-1].Run
}

// consumedOf counts, by step, the receipts of a run that were consumed.
func consumedOf(l *lab, run string) map[string]int {
	var d struct {
		Records []struct {
			Kind     string `json:"kind"`
			Consumed bool   `json:"consumed"`
			Body     struct {
				Step string `json:"step"`
			} `json:"body"`
		} `json:"records"`
	}
	out := l.dialect(0, "receipts", "list", "--run", run, "--json", "--limit", "1000")
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		l.t.Fatal(err)
	}
	n := make(map[string]int)
	for _, r := range d.Records {
		if r.Kind == "receipt" && r.Consumed {
			n[r.Body.Step]++
		}
	}
	return n
}
