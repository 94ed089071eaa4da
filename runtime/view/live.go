package view

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/diagnose"
	"github.com/command-dialect/dialect/runtime/engine"
	"github.com/command-dialect/dialect/runtime/schedule"
)

const (
	liveEvery = 100 * time.Millisecond
	// firstDraw is how long a run may last before anything is drawn: what ends sooner
	// would only flash.
	firstDraw = 150 * time.Millisecond
	keepTail  = 16 << 10 // bytes of the end of a step's output: a private key that comes line by line has its first one there
)

// Control sequences (ECMA-48, and the mode for synchronised output that terminals
// without it ignore).
const (
	clearLine = "\x1b[K"
	clearDown = "\x1b[J"
	syncOn    = "\x1b[?2026h"
	syncOff   = "\x1b[?2026l"
)

// A live view draws a region of a few lines at the end of the terminal: what runs, for
// how long and with its last line of output; what waits; a bar over the script. Failures
// are written above it when they happen. A drawing is one write, of which the terminal
// shows all or nothing, so that nothing flickers.
type live struct {
	o     Options
	began time.Time
	ticks ticks
	now   func() time.Time

	mu      sync.Mutex
	closed  bool
	total   int
	done    map[schedule.Verdict]int
	ended   int
	order   map[*plan.Step]int // in the script
	running []*running         // in that order
	waiting []*plan.Step       // that have not begun, in order
	locked  map[*plan.Step]string

	drawn []int  // widths of the lines on the terminal, the cursor at the end of the last
	shown string // the last drawing
}

type running struct {
	step    *plan.Step
	attempt int
	at      time.Time
	tail    []byte
}

func newLive(o Options) *live {
	l := &live{o: o, now: time.Now, done: make(map[schedule.Verdict]int), locked: make(map[*plan.Step]string), order: make(map[*plan.Step]int)}
	l.began = l.now()
	every := o.every
	if every == 0 {
		every = liveEvery
	}
	l.ticks.start(every, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.draw()
	})
	return l
}

func (l *live) Listen(e engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := e.(type) {
	case engine.RunStarted:
		plan.Walk(e.Plan.Steps, func(s *plan.Step) {
			if s.Kind != plan.Composite {
				l.order[s] = len(l.waiting)
				l.waiting = append(l.waiting, s)
			}
		})
		l.total = len(l.waiting)
	case engine.StepWaiting:
		l.locked[e.Step] = e.Lock
		if e.Holder != "" {
			l.locked[e.Step] += ", held by " + e.Holder
		}
	case attempt.Started:
		l.begin(e.Step)
		i := len(l.running)
		for i > 0 && l.order[l.running[i-1].step] > l.order[e.Step] {
			i--
		}
		l.running = slices.Insert(l.running, i, &running{step: e.Step, attempt: e.Attempt, at: e.At})
	case attempt.Output:
		for _, r := range l.running {
			if r.step == e.Step {
				r.keep(e.Data)
			}
		}
	case engine.StepFinished:
		l.finish(e.Result)
	case engine.RunFinished:
		l.hide()
		l.closed = true
	}
}

// begin takes s out of what waits. It is usually the first.
func (l *live) begin(s *plan.Step) {
	delete(l.locked, s)
	l.end(s)
	for i, w := range l.waiting {
		if w == s {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return
		}
	}
}

func (l *live) end(s *plan.Step) {
	for i, r := range l.running {
		if r.step == s {
			l.running = append(l.running[:i], l.running[i+1:]...)
			return
		}
	}
}

func (l *live) finish(r *engine.Result) {
	if r.Step.Kind == plan.Composite {
		delete(l.locked, r.Step)
		return
	}
	l.begin(r.Step)
	l.done[r.Verdict]++
	l.ended++
	if !r.Verdict.Bad() {
		return
	}
	text := l.o.name(r.Step) + ": " + string(r.Verdict)
	if why := l.o.plain(r.Detail); why != "" {
		text += ", " + why
	}
	if r.Failures.Total > 0 {
		text += ": " + l.o.plain(r.Failures.List[0].String())
	}
	cols, _ := l.size()
	l.print(l.paint("1;31", "FAIL") + " " + fit(text, cols-6))
}

// keep keeps the end of the output, as far as a line of it may be shown.
func (r *running) keep(data []byte) {
	data = data[max(0, len(data)-keepTail):]
	if len(r.tail)+len(data) > 2*keepTail {
		r.tail = append(r.tail[:0], r.tail[max(0, len(r.tail)-keepTail):]...)
	}
	r.tail = append(r.tail, data...)
}

// last returns the last complete line that is not blank; also one that a progress bar
// is about to write over.
func (r *running) last(o Options) string {
	text := r.tail[:bytes.LastIndexAny(r.tail, "\r\n")+1]
	text = o.Redact.Part(text, len(r.tail) >= keepTail, true)
	for len(text) > 0 {
		i := bytes.LastIndexAny(text, "\r\n")
		plain, _ := diagnose.EventText(text[i+1:])
		if line := o.plain(string(plain)); line != "" && !strings.HasPrefix(line, `{"Time":"`) {
			return line
		}
		text = text[:max(i, 0)]
	}
	return ""
}

func (l *live) size() (cols, rows int) {
	if l.o.Size != nil {
		cols, rows = l.o.Size()
	}
	if cols <= 0 {
		cols = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return max(cols, 8), rows
}

func (l *live) paint(sgr, text string) string {
	if !l.o.Color {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// name is what a step is called in little space.
func (o Options) name(s *plan.Step) string {
	if strings.Contains(s.ID, ".") {
		return s.ID + " " + o.plain(s.Verb+" "+s.Noun)
	}
	return s.ID + " " + o.plain(s.Line.Text)
}

// frame returns the lines to draw for a terminal of cols columns and rows rows, plain, and
// the widths of them.
func (l *live) frame(cols, rows int) (text []string, widths []int) {
	add := func(plain, painted string) {
		widths = append(widths, textWidth(plain))
		text = append(text, painted)
	}
	width := cols - 1 // the last column is left free: some terminals wrap in it
	most := max(1, min(rows/2, 16)-2)
	names := 0
	for i, r := range l.running {
		if i < most {
			names = max(names, textWidth(l.o.name(r.step)))
		}
	}
	names = min(names, max(width/2-4, 10))
	for i, r := range l.running {
		if i == most {
			s := fit(fmt.Sprintf("  and %d more", len(l.running)-i), width)
			add(s, s)
			break
		}
		took := clock(l.now().Sub(r.at))
		head := pad(fit(l.o.name(r.step), names), names) + " " + fmt.Sprintf("%6s", took)
		if r.attempt > 1 {
			head += fmt.Sprintf(" attempt %d", r.attempt)
		}
		head = fit("  "+head, width)
		painted := head
		if room := width - textWidth(head) - 2; room >= 8 {
			if last := fit(r.last(l.o), room); last != "" {
				painted = head + "  " + l.paint("2", last)
				head += "  " + last
			}
		}
		add(head, painted)
	}
	if s := fit(l.rest(), width); s != "" {
		add(s, l.paint("2", s))
	}
	// The bar is what fits last: nothing scrolls away, or it could not be drawn over.
	if most := max(1, rows-1) - 1; len(text) > most {
		text, widths = text[:most], widths[:most]
	}
	add(l.bar(width))
	return text, widths
}

// rest says what waits.
func (l *live) rest() string {
	var words []string
	for _, s := range l.waiting {
		if lock := l.locked[s]; lock != "" {
			words = append(words, l.o.name(s)+" (for "+lock+")")
		}
	}
	for _, s := range l.waiting {
		if len(words) >= 4 {
			break
		}
		if l.locked[s] == "" {
			words = append(words, l.o.name(s))
		}
	}
	if len(words) == 0 {
		return ""
	}
	shown := min(len(words), 3)
	text := "  waiting: " + strings.Join(words[:shown], ", ")
	if n := len(l.waiting) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// bar renders how far the script is.
func (l *live) bar(width int) (plain, painted string) {
	tail := fmt.Sprintf(" %d/%d", l.ended, l.total)
	bad := l.done[schedule.Failed] + l.done[schedule.Fault]
	failed := ""
	if bad > 0 {
		failed = fmt.Sprintf(", %d failed", bad)
	}
	rest := ", " + clock(l.now().Sub(l.began))
	room := width - len(tail) - len(failed) - len(rest) - 2
	if room < 4 {
		s := fit(strings.TrimSpace(tail)+failed+rest, width)
		return s, s
	}
	size := min(room, 30)
	full := 0
	if l.total > 0 {
		full = size * l.ended / l.total
	}
	color := "32"
	if bad > 0 {
		color = "31"
	}
	bar := strings.Repeat("#", full)
	dots := strings.Repeat(".", size-full)
	plain = "[" + bar + dots + "]" + tail + failed + rest
	return plain, "[" + l.paint(color, bar) + l.paint("2", dots) + "]" + tail + l.paint("1;31", failed) + rest
}

// clock renders a time that goes on: "3.2s", "1m05s".
func clock(d time.Duration) string {
	if d < time.Minute {
		return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 1, 64) + "s"
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

func (l *live) draw() {
	if l.closed || l.total == 0 || l.now().Sub(l.began) < firstDraw || len(l.running) == 0 && len(l.locked) == 0 || l.o.Busy != nil && l.o.Busy() {
		return
	}
	cols, rows := l.size()
	text, widths := l.frame(cols, rows)
	var b strings.Builder
	for i, line := range text {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + clearLine)
	}
	if b.String() == l.shown && !l.wrapped(cols) {
		return
	}
	l.shown = b.String()
	fmt.Fprint(l.o.Out, syncOn+l.home(cols)+l.shown+clearDown+syncOff)
	l.drawn = widths
}

// wrapped reports whether a line of the last drawing is wider than the terminal is now.
func (l *live) wrapped(cols int) bool {
	for _, w := range l.drawn {
		if w >= cols {
			return true
		}
	}
	return false
}

// home moves the cursor to where the region begins, also if the terminal became narrower
// and wrapped its lines.
func (l *live) home(cols int) string {
	if len(l.drawn) == 0 {
		return ""
	}
	up := -1
	for _, w := range l.drawn {
		up += max(1, (w+cols-1)/cols)
	}
	if up == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", up)
}

func (l *live) hide() {
	if len(l.drawn) > 0 {
		cols, _ := l.size()
		fmt.Fprint(l.o.Out, syncOn+l.home(cols)+clearDown+syncOff)
		l.drawn, l.shown = nil, ""
	}
}

func (l *live) print(text string) {
	if l.closed || len(l.drawn) == 0 {
		fmt.Fprintln(l.o.Out, text)
		return
	}
	cols, _ := l.size()
	fmt.Fprint(l.o.Out, syncOn+l.home(cols)+clearDown+text+"\r\n")
	l.drawn, l.shown = nil, ""
	l.draw()
	fmt.Fprint(l.o.Out, syncOff)
}

func (l *live) Print(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print(strings.ReplaceAll(text, "\n", "\r\n"))
}

func (l *live) Hide() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hide()
}

func (l *live) Close() {
	l.ticks.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hide()
	l.closed = true
}
