package examples_test

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// picture is the recording that README.md shows.
const picture = "../stdlib/docs/run.svg"

// scene are the commands of the recording, in the project median.
var scene = []string{
	"dialect verify",
	"dialect run quality.dlct",
	"git apply ../sort.patch",
	"dialect run quality.dlct",
	"dialect verify",
}

// TestPicture plays the scene on a terminal. The text that it leaves there must be that of the picture, ids and times
// apart; -update makes the picture of what was seen.
func TestPicture(t *testing.T) {
	t.Parallel()
	s := begin(t, "median")
	write(t, filepath.Join(s.home, "sort.patch"), sortPatch) // in the tree it would change what was tested
	screen := newScreen(columns, 30)
	var film film
	for _, command := range scene {
		screen.write([]byte("$ "))
		for word := range strings.FieldsFuncSeq(command, func(r rune) bool { return r == ' ' }) {
			screen.write([]byte(word + " "))
			film.take(screen, 250*time.Millisecond)
		}
		screen.write([]byte("\r\n"))
		film.take(screen, 300*time.Millisecond)
		s.play(t, command, screen, &film)
		film.take(screen, 2500*time.Millisecond)
	}
	got := screen.transcript()
	text, err := os.ReadFile(picture)
	if err != nil && !*update {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(string(text), "<desc>")
	want, _, _ = strings.Cut(want, "</desc>")
	switch same := slices.Equal(form(got), form(strings.Split(html.UnescapeString(want), "\n"))); {
	case !same && *update:
		write(t, picture, film.svg(got))
	case !same:
		t.Errorf("%s shows another session (make golden, if this is right)\n%s", picture, strings.Join(got, "\n"))
	}
}

// sortPatch takes the fault out of the project median.
const sortPatch = `--- a/median.go
+++ b/median.go
@@ -1,10 +1,13 @@
 // Package median finds the middle of a list.
 package median

+import "slices"
+
 // Median returns the middle element of xs in ascending order, the lower one of two. It returns 0 for an empty xs.
 func Median(xs []int) int {
 	if len(xs) == 0 {
 		return 0
 	}
+	xs = slices.Sorted(slices.Values(xs))
 	return xs[(len(xs)-1)/2]
 }
`

// play runs a command on a terminal of the size of the screen, and takes a picture of each change.
func (s *session) play(t *testing.T, command string, screen *screen, film *film) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(screen.rows), Col: uint16(screen.cols)}); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = s.work, append(slices.Clone(s.env), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	last := time.Now()
	short := &shortener{home: s.home}
	for buffer := make([]byte, 64<<10); ; {
		n, err := control.Read(buffer)
		if n > 0 {
			// What took long is shown shorter.
			film.take(screen, min(time.Since(last), 500*time.Millisecond))
			last = time.Now()
			screen.write(short.next(buffer[:n]))
		}
		if err != nil { // EIO once the last of its processes has closed the terminal
			screen.write(short.rest)
			break
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", command, err)
	}
}

// A shortener writes ~ for the path of a home, wherever a terminal cuts what was written to it.
type shortener struct {
	home string
	rest []byte // which may be the beginning of the path
}

func (s *shortener) next(p []byte) []byte {
	p = bytes.ReplaceAll(append(s.rest, p...), []byte(s.home), []byte("~"))
	n := min(len(p), len(s.home)-1)
	for !bytes.HasSuffix(p, []byte(s.home[:n])) {
		n--
	}
	s.rest = bytes.Clone(p[len(p)-n:])
	return p[:len(p)-n]
}

// TestParts has a terminal hand out what was written to it in parts of any length.
func TestParts(t *testing.T) {
	const text = "\x1b[1m✓\x1b[0m /h/h/home/x, /h/home/é😀\r\n/h/ho"
	for size := 1; size <= len(text); size++ {
		screen, short := newScreen(columns, 30), &shortener{home: "/h/home"}
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			screen.write(short.next([]byte(rest[:min(size, len(rest))])))
		}
		screen.write(short.rest)
		if got := screen.transcript(); !slices.Equal(got, []string{"✓ /h~/x, ~/é😀", "/h/ho"}) {
			t.Errorf("in parts of %d bytes: %q", size, got)
		}
	}
}

// A screen is as much of a terminal as dialect and git use.
type screen struct {
	cols, rows int
	lines      [][]cell // all that there ever were; the last rows of them are shown
	row, col   int      // of the cursor; row counts from the first of lines
	style      string   // the SGR codes in force
	rest       []byte   // of a sequence that is not whole yet
}

type cell struct {
	r     rune
	style string
}

func newScreen(cols, rows int) *screen { return &screen{cols: cols, rows: rows, lines: [][]cell{nil}} }

func (s *screen) write(p []byte) {
	p = append(s.rest, p...)
	s.rest = nil
	for len(p) > 0 {
		if p[0] == 0x1b {
			i := bytes.IndexFunc(p[min(2, len(p)):], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			if i < 0 {
				s.rest = bytes.Clone(p)
				return
			}
			s.control(string(p[2:2+i]), p[2+i])
			p = p[3+i:]
			continue
		}
		if !utf8.FullRune(p) {
			s.rest = bytes.Clone(p)
			return
		}
		r, n := utf8.DecodeRune(p)
		p = p[n:]
		switch r {
		case '\r':
			s.col = 0
		case '\n':
			s.down()
		case '\t':
			for s.put(' '); s.col%8 != 0; {
				s.put(' ')
			}
		default:
			s.put(r)
		}
	}
}

func (s *screen) down() {
	s.row++
	if s.row == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) put(r rune) {
	if s.col == s.cols {
		s.col = 0
		s.down()
	}
	line := s.lines[s.row]
	for len(line) <= s.col {
		line = append(line, cell{r: ' '})
	}
	line[s.col] = cell{r, s.style}
	s.lines[s.row] = line
	s.col++
}

func (s *screen) control(args string, end byte) {
	n, _ := strconv.Atoi(args)
	switch end {
	case 'm':
		if s.style = args; args == "0" {
			s.style = ""
		}
	case 'A':
		s.row = max(s.row-max(n, 1), 0)
	case 'K':
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	case 'J':
		s.control("", 'K')
		s.lines = s.lines[:s.row+1]
	}
}

// shown returns what is on the screen.
func (s *screen) shown() [][]cell {
	return s.lines[max(len(s.lines)-s.rows, 0):]
}

// transcript returns all that was on the screen at some time and was not replaced.
func (s *screen) transcript() (text []string) {
	for _, line := range s.lines {
		var b strings.Builder
		for _, c := range line {
			b.WriteRune(c.r)
		}
		text = append(text, strings.TrimRight(b.String(), " "))
	}
	for len(text) > 0 && text[len(text)-1] == "" {
		text = text[:len(text)-1]
	}
	return text
}

// A film is what a screen showed, as elements of SVG with the times at which each was to be seen.
type film struct {
	now  time.Duration
	rows []map[string]int // by row: where the element of what is there now is in shots
	shot []shot
}

type shot struct {
	row      int
	svg      string
	from, to time.Duration // to is -1 for what is there in the end
}

// take adds what is on the screen for a time.
func (f *film) take(s *screen, length time.Duration) {
	if length < 40*time.Millisecond { // nobody would see it
		return
	}
	shown := s.shown()
	for len(f.rows) < s.rows {
		f.rows = append(f.rows, map[string]int{})
	}
	for row := range f.rows {
		text := ""
		if row < len(shown) {
			text = spans(shown[row])
		}
		if _, same := f.rows[row][text]; same {
			continue
		}
		for _, i := range f.rows[row] {
			f.shot[i].to = f.now
		}
		f.rows[row] = map[string]int{}
		if text != "" {
			f.rows[row][text] = len(f.shot)
			f.shot = append(f.shot, shot{row, text, f.now, -1})
		}
	}
	f.now += length
}

// columns is wide enough for each line of the scene: a wrapped date would not be known as one.
const columns = 108

// Sizes in pixels.
const (
	cellWidth  = 8.43
	lineHeight = 19
	margin     = 14
	textWidth  = 911 // of columns
)

// colours are the classes of SGR codes.
var colours = map[string]string{"1": "b", "2": "d", "31": "r", "1;31": "r b", "32": "g", "1;32": "g b", "33": "y", "1;33": "y b", "36": "c", "1;36": "c b"}

// spans returns the text of a line: a part for each style, each at its column.
func spans(line []cell) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		j := i + 1
		for j < len(line) && line[j].style == line[i].style {
			j++
		}
		var text []rune
		for _, c := range line[i:j] {
			text = append(text, c.r)
		}
		if strings.TrimSpace(string(text)) != "" {
			class := ""
			if name := colours[line[i].style]; name != "" {
				class = ` class="` + name + `"`
			}
			fmt.Fprintf(&b, `<tspan x="%.1f"%s>%s</tspan>`, margin+cellWidth*float64(i), class, html.EscapeString(strings.TrimRight(string(text), " ")))
		}
		i = j
	}
	return b.String()
}

// svg returns the film. Without animation, as where a reader wants no motion, it shows the last picture.
func (f *film) svg(transcript []string) string {
	rows := 0
	for _, s := range f.shot {
		rows = max(rows, s.row+1)
	}
	width, height := 2*margin+textWidth, 2*margin+lineHeight*rows
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>dialect: a failure caught, fixed and verified</title>\n<desc>%s</desc>\n<style>\n", html.EscapeString(strings.Join(transcript, "\n")))
	b.WriteString("text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#c9d1d9;white-space:pre}\n" +
		".r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.c{fill:#79c0ff}.d{fill:#8b949e}.b{font-weight:bold}.x{visibility:hidden}\n" +
		"@media (prefers-reduced-motion:no-preference){\n")
	percent := func(d time.Duration) string {
		return strconv.FormatFloat(100*float64(d)/float64(f.now), 'f', 2, 64) + "%"
	}
	for i, s := range f.shot {
		if s.from == 0 && s.to < 0 {
			continue
		}
		end := ""
		if s.to >= 0 {
			end = percent(s.to) + "{visibility:hidden}"
		}
		fmt.Fprintf(&b, "@keyframes k%d{0%%{visibility:hidden}%s{visibility:visible}%s}#t%d{animation:k%d %.1fs step-end infinite}\n", i, percent(s.from), end, i, i, f.now.Seconds())
	}
	fmt.Fprintf(&b, "}\n</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0d1117\"/>\n")
	for i, s := range f.shot {
		class := ""
		if s.to >= 0 {
			class = ` class="x"`
		}
		fmt.Fprintf(&b, `<text id="t%d" y="%d"%s>%s</text>`+"\n", i, margin+lineHeight*(s.row+1)-5, class, s.svg)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
