package view

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/process"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/schedule"
)

const (
	beatEvery = 30 * time.Second
	tailLines = 10 // of a step, in mode Tail
)

// A lines view writes lines that stay: for a pipe, a file, a terminal that can do no more.
type lines struct {
	o     Options
	mode  Mode
	ticks ticks
	began time.Time

	mu      sync.Mutex
	cut     report.Lines
	width   int // of the names, in mode Stream
	running []*running
	waiting []engine.StepWaiting
	total   int
	ended   int
}

func newLines(m Mode, o Options) *lines {
	l := &lines{o: o, mode: m, began: time.Now(), cut: report.Lines{Secret: o.Redact}}
	if m != Beat {
		return l
	}
	every := o.every
	if every == 0 {
		every = beatEvery
	}
	l.ticks.start(every, l.beat)
	return l
}

func (l *lines) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("dialect: running for %d s: [%d/%d]", int(time.Since(l.began).Seconds()), l.ended, l.total)
	if len(l.running) > 0 {
		r := l.running[0]
		text += " " + l.o.name(r.step)
		if n := len(l.running) - 1; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		text += fmt.Sprintf(", %d s", int(time.Since(r.at).Seconds()))
	}
	if len(l.waiting) > 0 {
		text += "; " + l.waits(l.waiting[0])
	}
	if len(l.running)+len(l.waiting) > 0 {
		fmt.Fprintln(l.o.Out, strings.Replace(text, "]; ", "] ", 1))
	}
}

// waits says which lock a step waits for, and what is known of who holds it.
func (l *lines) waits(e engine.StepWaiting) string {
	text := l.o.name(e.Step) + " waits for " + l.o.plain(e.Lock)
	if e.Holder != "" {
		text += ", held by " + l.o.plain(e.Holder)
	}
	return text
}

// waited forgets that a step waits.
func (l *lines) waited(s *plan.Step) {
	l.waiting = slices.DeleteFunc(l.waiting, func(e engine.StepWaiting) bool { return e.Step == s })
}

func (l *lines) Listen(e engine.Event) {
	if l.mode == None {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := e.(type) {
	case engine.RunStarted:
		plan.Walk(e.Plan.Steps, func(s *plan.Step) {
			if s.Kind != plan.Composite {
				l.total++
				l.width = max(l.width, min(textWidth(l.o.name(s)), 28))
			}
		})
	case engine.StepWaiting:
		l.waiting = append(l.waiting, e)
		if l.mode != Beat {
			fmt.Fprintln(l.o.Out, l.waits(e))
		}
	case attempt.Started:
		l.waited(e.Step)
		l.running = append(l.running, &running{step: e.Step, at: e.At})
		if l.mode == Stream {
			l.line(e.Step, "$ "+report.Command(e.Step.Argv))
		}
	case attempt.Output:
		if l.mode == Stream {
			l.cut.Add(e, func(line []byte) {
				if text, event := diagnose.EventText(line); !event || len(text) > 0 {
					l.line(e.Step, string(bytes.TrimRight(text, "\n")))
				}
			})
		}
	case engine.StepFinished:
		l.waited(e.Result.Step)
		if e.Result.Step.Kind != plan.Composite {
			l.finish(e.Result)
		}
	}
}

func (l *lines) line(s *plan.Step, text string) {
	fmt.Fprintf(l.o.Out, "%s | %s\n", pad(fit(l.o.name(s), l.width), l.width), l.o.plain(text))
}

func (l *lines) finish(r *engine.Result) {
	l.ended++
	for i, x := range l.running {
		if x.step == r.Step {
			l.running = append(l.running[:i], l.running[i+1:]...)
			break
		}
	}
	if l.mode == Beat {
		return
	}
	if l.mode == Stream {
		l.cut.Flush(r.Step, func(_ process.Stream, line []byte) { l.line(r.Step, string(line)) })
	}
	text := string(r.Verdict)
	if r.Verdict == schedule.Fault {
		text += " " + string(r.Reason)
	}
	if r.Detail != "" {
		text += ", " + l.o.plain(r.Detail)
	}
	if !r.Started.IsZero() {
		text += fmt.Sprintf(", %.2f s", r.Duration.Seconds())
	}
	switch {
	case l.mode == Stream:
		l.line(r.Step, text)
		return
	case l.o.Color && r.Verdict.Bad():
		text = "\x1b[1;31m" + text + "\x1b[0m"
	case l.o.Color && r.Verdict == schedule.Passed:
		text = "\x1b[32m" + text + "\x1b[0m"
	}
	fmt.Fprintf(l.o.Out, "== %s: %s\n", l.o.name(r.Step), text)
	if r.Process == nil {
		return
	}
	tail := bytes.Trim(diagnose.Readable(r.Process.Tail), "\n")
	if len(tail) == 0 {
		return
	}
	all := bytes.Split(tail, []byte("\n"))
	left := r.Process.Stdout.Bytes + r.Process.Stderr.Bytes - int64(len(r.Process.Tail))
	if l.mode == Tail && len(all) > tailLines {
		all, left = all[len(all)-tailLines:], 1
	}
	if left > 0 {
		fmt.Fprintf(l.o.Out, "  ... (all of it: %s)\n", l.o.plain(strings.Join(logs(r.Process), ", ")))
	}
	for _, line := range all {
		fmt.Fprintf(l.o.Out, "  %s\n", strings.TrimRight(l.o.plain(string(line)), " "))
	}
}

// logs are the files that keep the output of p.
func logs(p *process.Result) []string {
	var paths []string
	for _, o := range []process.Output{p.Stdout, p.Stderr} {
		if o.Log != "" {
			paths = append(paths, o.Log)
		}
	}
	if paths == nil {
		return []string{"not kept"}
	}
	return paths
}

func (l *lines) Print(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.o.Out, text)
}

func (l *lines) Hide() {}

func (l *lines) Close() { l.ticks.stop() }
