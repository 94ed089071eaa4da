package cli

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/runner"
)

// heartbeat is how often a run off a terminal says that it is alive.
const heartbeat = 30 * time.Second

// A watch shows on standard error what runs now: a line that is redrawn on a
// terminal, a heartbeat elsewhere.
type watch struct {
	u    *ui
	live bool
	tick *time.Ticker
	quit chan struct{}
	idle sync.WaitGroup

	mu      sync.Mutex
	running map[string]*running // by step ID
	total   int
	done    int
	began   time.Time
	drawn   bool
}

type running struct {
	step *plan.Step
	at   time.Time
}

func newWatch(u *ui, live bool) *watch {
	w := &watch{u: u, live: live, quit: make(chan struct{}), running: make(map[string]*running), began: time.Now()}
	every := heartbeat
	if live {
		every = 200 * time.Millisecond
	}
	w.tick = time.NewTicker(every)
	w.idle.Go(func() {
		for {
			select {
			case <-w.tick.C:
				w.draw()
			case <-w.quit:
				return
			}
		}
	})
	return w
}

func (w *watch) listen(e runner.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case runner.RunStarted:
		w.total = len(e.Plan.Steps)
	case runner.StepStarted:
		w.running[e.Step.ID] = &running{step: e.Step, at: time.Now()}
	case runner.StepFinished:
		delete(w.running, e.Result.Step.ID)
		if !strings.Contains(e.Result.Step.ID, ".") {
			w.done++
		}
	}
}

func (w *watch) draw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) == 0 {
		return
	}
	now := make([]*running, 0, len(w.running))
	for _, r := range w.running {
		now = append(now, r)
	}
	sort.Slice(now, func(i, j int) bool { return now[i].at.Before(now[j].at) })
	oldest := now[0]
	text := fmt.Sprintf("[%d/%d] %s", w.done, w.total, oldest.step.Line.Text)
	if strings.Contains(oldest.step.ID, ".") {
		text = fmt.Sprintf("[%d/%d] %s %s", w.done, w.total, oldest.step.Verb, oldest.step.Noun)
	}
	if len(now) > 1 {
		text += fmt.Sprintf(" and %d more", len(now)-1)
	}
	text += fmt.Sprintf(", %d s", int(time.Since(oldest.at).Seconds()))
	if !w.live {
		w.u.notef("running for %d s: %s", int(time.Since(w.began).Seconds()), text)
		return
	}
	if len(text) > 78 {
		text = text[:75] + "..."
	}
	w.u.mu.Lock()
	fmt.Fprintf(w.u.err, "\r\x1b[K%s", text)
	w.u.mu.Unlock()
	w.drawn = true
}

// close stops the watch and wipes its line.
func (w *watch) close() {
	w.tick.Stop()
	close(w.quit)
	w.idle.Wait()
	if w.drawn {
		fmt.Fprint(w.u.err, "\r\x1b[K")
	}
}
