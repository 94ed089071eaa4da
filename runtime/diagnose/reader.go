package diagnose

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/runtime/redact"
)

// Bounds of what a Reader keeps.
const (
	maxFailures = 64       // that are described; further ones are counted
	maxDetail   = 12       // lines of one failure beside its message
	maxText     = 500      // bytes of one line
	unknown     = 1 << 20  // bytes that are read of an output that is not of a known test runner; then its end
	lastBytes   = 64 << 10 // of that end
)

// A Failure is a test that failed, or an error that a tool reports.
type Failure struct {
	Finding
	Test    string   // its name; empty for an error that belongs to no test
	Package string   // of go test: the import path, in whose folder File is; empty where Go says nothing
	Detail  []string // what stands beside the message: the values that differ, a diff; at most 12 lines

	folder string // where the command ran that names File, if it is one of a workspace; "" if unknown
}

// String renders f as one line: "a_test.go:3: TestA: got 1, want 2".
func (f Failure) String() string {
	if f.Test == "" || strings.HasPrefix(f.Message, f.Test) {
		return f.Finding.String()
	}
	f.Message = f.Test + ": " + f.Message
	return f.Finding.String()
}

// Failures are what failed in an output, in its order.
type Failures struct {
	List  []Failure // the first 64
	Total int       // how many there are

	most int // that List has; 0 means maxFailures
}

// First returns the first failure; nil if there is none.
func (f Failures) First() *Finding {
	if len(f.List) == 0 {
		return nil
	}
	return &f.List[0].Finding
}

// Locate names the files as they are seen from dir, an absolute path in which the tool ran. go test names files without
// their folder, and says the import path of the package: the folder is the longest end of that for which the file exists, else what
// folder says of it, if that is set. cargo
// names them from the root of its workspace, above dir: that is the nearest folder of the repository from which the file exists.
func (f *Failures) Locate(dir string, exists func(path string) bool, folder func(imported string) (string, bool)) {
	for i := range f.List {
		x := &f.List[i]
		switch {
		case x.File == "":
		case x.inFolder(dir, exists):
		case filepath.IsAbs(x.File):
			if rel, err := filepath.Rel(dir, x.File); err == nil && filepath.IsLocal(rel) {
				x.File = filepath.ToSlash(rel)
			}
		case x.Package != "" && !strings.ContainsAny(x.File, `/\\`):
			if x.below(x.Package, dir, exists) || x.below(unversioned(x.Package), dir, exists) || folder == nil || exists(filepath.Join(dir, x.File)) {
				continue
			}
			if at, ok := folder(x.Package); ok && exists(filepath.Join(dir, filepath.FromSlash(at), x.File)) {
				x.File = at + "/" + x.File
			}
		case filepath.IsLocal(x.File) && !exists(filepath.Join(dir, x.File)):
			up := ""
			for above := dir; !exists(filepath.Join(above, ".git")) && filepath.Dir(above) != above && len(up) < 3*maxAbove; {
				above, up = filepath.Dir(above), up+"../"
				if exists(filepath.Join(above, x.File)) {
					x.File = up + x.File
					break
				}
			}
		}
	}
}

// below names the file of f from dir, in the folder that the longest end of the import path is.
func (f *Failure) below(path, dir string, exists func(path string) bool) bool {
	for ; path != ""; _, path, _ = strings.Cut(path, "/") {
		if name := filepath.Join(filepath.FromSlash(path), f.File); filepath.IsLocal(name) && exists(filepath.Join(dir, name)) {
			f.File = filepath.ToSlash(name)
			return true
		}
	}
	return false
}

// unversioned returns an import path without the major version of its module, which is mostly no folder: "m/sub/v2/x" is in sub/x.
func unversioned(path string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool {
		return len(part) > 1 && part[0] == 'v' && strings.Trim(part[1:], "0123456789") == ""
	}), "/")
}

// maxAbove bounds how many folders above that of a command a file is looked for.
const maxAbove = 6

// Add adds what failed elsewhere.
func (f *Failures) Add(o Failures) {
	f.add(o.List...)
	f.Total += o.Total - len(o.List)
}

func (f *Failures) add(list ...Failure) {
	for _, x := range list {
		if x.Test == "" && slices.ContainsFunc(f.List, func(o Failure) bool { return o.Finding == x.Finding && o.folder == x.folder }) {
			continue // one error in several targets, or in several files that include it
		}
		if f.Total++; len(f.List) < cmp.Or(f.most, maxFailures) {
			f.List = append(f.List, x.tidy())
		}
	}
}

func (f Failure) tidy() Failure {
	f.Finding = f.Finding.tidy()
	f.Test = short(f.Test)
	f.Detail = slices.Clone(f.Detail[:min(len(f.Detail), maxDetail)])
	indent := -1 // that all have
	for _, l := range f.Detail {
		if n := len(l) - len(strings.TrimLeft(l, " ")); indent < 0 || n < indent {
			indent = n
		}
	}
	for i, l := range f.Detail {
		f.Detail[i] = short(l[indent:])
	}
	return f
}

// A Reader finds what failed in an output while it is written, wherever in it that is. The zero Reader is ready.
// What it holds is bounded: of tests that run the lines around what reads like an error, and
// nothing of tests that have passed. An output in which no test runner was recognised is read for
// 1 MiB, and then from its end alone.
type Reader struct {
	// Secret, if not nil, takes secrets out of each stream before anything else is done with it: before it is cut into lines, mixed with the other
	// one, or shortened.
	Secret *redact.Redactor

	clean  *redact.Streams // to part; nil before the first byte
	last   [2]byte         // what came last on each stream, while it is read; 0 for nothing
	part   partial
	seen   int64
	runner bool    // a test runner was recognised
	unread bool    // what comes is not read any more
	late   [2]ring // the end of what was not read
	cut    [2]bool
	done   bool

	gotest goTests
	tap    tapTests
	spec   specTests
	blocks blockTests
	ava    avaTests
	perl   perlTests
	marks  markTests
	scan   scan
	before scan // as it was when the present section of go test began

	forks  forks
	forked []*readerFork
}

// Write reads p, bytes of stream 0 or 1 in the order of their arrival.
func (r *Reader) Write(stream int, p []byte) {
	if len(p) == 0 {
		return
	}
	if !r.unread && !r.runner && r.seen >= unknown {
		r.giveUp()
	}
	if r.unread {
		r.late[stream].write(p)
		return
	}
	if r.clean == nil {
		r.clean = r.Secret.Streams(func(stream int, p []byte) { r.part.cut(stream, p, maxEvent, r.line) })
	}
	r.seen += int64(len(p))
	r.last[stream] = p[len(p)-1]
	r.clean.Write(stream, p)
}

// giveUp ends the reading, unless what is held back is of a test runner. What is kept of the rest of a stream begins with the byte before it.
func (r *Reader) giveUp() {
	if r.clean.Pass(); r.runner {
		return
	}
	r.unread = true
	for s := range r.late {
		r.clean.Cut(s)
		r.late[s].write([]byte{cmp.Or(r.last[s], '\n')})
	}
}

// Cut says that the rest of a stream is lost. What came last is not read: it may be the beginning of a secret, and of a line.
func (r *Reader) Cut(stream int) {
	r.cut[stream] = true
	if r.clean != nil {
		r.clean.Cut(stream)
	}
	r.part[stream] = r.part[stream][:0]
	late := &r.late[stream]
	late.buf = late.buf[:bytes.LastIndexByte(late.buf, '\n')+1]
}

// maxEvent bounds a line, in bytes: an event of go test -json holds one of the test's, quoted.
const maxEvent = 8 << 10

// partial holds the lines of two streams that are not yet at their ends.
type partial [2][]byte

// cut calls line with each line that p, bytes of a stream, ends, without its end. Of a line that comes in several
// pieces the first limit bytes are kept.
func (s *partial) cut(stream int, p []byte, limit int, line func([]byte)) {
	part := &s[stream]
	for len(p) > 0 {
		l, rest, ended := bytes.Cut(p, []byte{'\n'})
		if !ended || len(*part) > 0 {
			*part = append(*part, l[:min(len(l), max(limit-len(*part), 0))]...)
			l = *part
		}
		if !ended {
			return
		}
		line(l)
		*part = (*part)[:0]
		p = rest
	}
}

// line takes one line, without its end.
func (r *Reader) line(raw []byte) {
	if len(raw) > maxEvent {
		raw = raw[:maxEvent]
	}
	r.read(raw)
}

// read reads one line.
func (r *Reader) read(raw []byte) {
	if bytes.IndexByte(raw, 0x1b) >= 0 {
		raw = escapes().ReplaceAll(raw, nil)
	}
	if len(raw) > 0 && raw[0] == '{' && r.gotest.event(raw) {
		r.runner = true
		return
	}
	if r.fork(raw) {
		return
	}
	raw = bytes.TrimRight(raw, "\r\t ")
	l := string(raw[:min(len(raw), 2000)])
	switch use := r.gotest.line(l); use {
	case goOwned:
		r.runner = true
		return
	case goEnded:
		// What the tests of a package printed says nothing of the command: its section has been judged.
		r.runner, r.scan = true, r.before
		return
	case goBegan:
		r.before = r.scan
	}
	marks := r.marks.line(l)
	perl := r.perl.line(l)
	if ava := r.ava.line(l); r.tap.line(l) || r.spec.line(l) || r.blocks.line(l) || ava || perl || marks {
		r.runner = true
	}
	r.scan.line(l)
}

// Failures returns what failed. sure is false if nothing reads like an error, and then the message of
// the only failure is the last line; there is none if nothing was written. Nothing may be written
// any more.
func (r *Reader) Failures() (f Failures, sure bool) {
	if !r.done {
		r.done = true
		if r.clean != nil {
			r.clean.Close()
		}
		for s := range r.late {
			for line := range bytes.Lines(bytes.TrimLeft(r.Secret.Part(r.late[s].text(), true, r.cut[s]), "\r\n")) {
				r.line(bytes.TrimRight(line, "\r\n"))
			}
			r.late[s] = ring{}
			r.line(r.part[s])
		}
	}
	f.most = r.gotest.most
	tap := r.tap.end()
	if perl := r.perl.end(); perl.Total > 0 && perl.Total >= tap.Total {
		tap = perl // the same tests, with their places
	}
	for _, of := range []*Failures{r.gotest.end(), tap, r.spec.end(), r.blocks.end(), r.ava.end()} {
		f.Add(*of)
	}
	f.Add(r.endForks())
	if f.Total > 0 {
		return f, true
	}
	marked := *r.marks.end()
	if located := slices.ContainsFunc(marked.List, func(x Failure) bool { return x.File != "" }); marked.Total > 0 && (located || len(r.scan.list) == 0) {
		return marked, true
	}
	return r.scan.end()
}

// Matches returns what patterns find in an output: all that the first of them finds that finds anything. Once ctx has ended it looks for no more.
func Matches(ctx context.Context, output []byte, patterns []Pattern) (f Failures) {
	if len(patterns) == 0 {
		return f
	}
	text := Readable(output)
	for _, p := range patterns {
		for len(text) > 0 && f.Total < 10000 && ctx.Err() == nil {
			found, end, ok := p.find(text)
			if !ok {
				break
			}
			f.add(Failure{Finding: found})
			text = text[max(end, 1):]
		}
		if f.Total > 0 {
			break
		}
	}
	return f
}

// A ring holds the last bytes that were written to it.
type ring struct{ buf []byte }

func (r *ring) write(p []byte) {
	if len(p) > lastBytes {
		p = p[len(p)-lastBytes:]
	}
	if len(r.buf)+len(p) > 2*lastBytes {
		r.buf = append(r.buf[:0], r.buf[len(r.buf)-lastBytes:]...)
	}
	r.buf = append(r.buf, p...)
}

// text returns the lines, with the line end before them. A text without one is the end of a line.
func (r *ring) text() []byte {
	text := r.buf[max(0, len(r.buf)-lastBytes):]
	return text[max(0, bytes.IndexByte(text, '\n')):]
}

// kept holds of a long text what is most likely to say why a test failed: the first lines, those
// that read like an error, and the last.
type kept struct {
	n      int // lines seen
	list   []keptLine
	tail   []keptLine // a ring
	marked int
	sure   int // lines that keep took
}

type keptLine struct {
	at   int
	text string
}

const (
	keptFirst  = 40
	keptMarked = 40
	keptLast   = 30
	keptCrash  = 150 // lines from that of a panic on
)

// add takes one line. worth says that it reads like an error.
func (k *kept) add(l string, worth bool) {
	k.n++
	x := keptLine{k.n, diag.ClipBytes(l, maxText)}
	switch {
	case k.n <= keptFirst:
		k.list = append(k.list, x)
	case worth && k.marked < keptMarked:
		k.marked++
		k.list = append(k.list, x)
	case len(k.tail) < keptLast:
		k.tail = append(k.tail, x)
	default:
		k.tail[k.n%keptLast] = x
	}
}

// keep takes a line that says why: it has room of its own.
func (k *kept) keep(l string) {
	if k.sure == keptMarked {
		k.add(l, true)
		return
	}
	k.n++
	k.sure++
	k.list = append(k.list, keptLine{k.n, diag.ClipBytes(l, maxText)})
}

// lines returns what is kept, in order.
func (k *kept) lines() []string {
	all := append(slices.Clone(k.list), k.tail...)
	slices.SortFunc(all, func(a, b keptLine) int { return a.at - b.at })
	list := make([]string, 0, len(all))
	for _, x := range all {
		list = append(list, x.text)
	}
	return list
}
