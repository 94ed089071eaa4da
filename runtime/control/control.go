// Package control says how a check is tested: what is broken, and whether the check noticed. In come a line that
// passed with the output of that run, the files of its snapshot, and how tools are broken ([plan.Control]); out go
// edits and a judgement. The package runs nothing, writes nothing, and knows no receipt.
//
// # What is broken
//
// A nonce chooses one place among those that the control of the line can break: a test whose name the passing run
// printed goes before a test in a file that it printed or was given, that before all others, and files of
// directories such as vendor and testdata come last. So the same line is tested at another place each time.
//
// # What counts
//
// A refusal counts that names, in a line which the passing run did not print, the nonce, the test or the
// file; an exit status alone never does. What else can happen is told apart:
//
//   - It passes. Perhaps the check does not look at the file: a project that does not include it, another package, a pattern
//     of file names, a module that nothing reaches. So all places are broken at once, and only if it
//     passes then, too, it is [Blind]. If it notices, the place that it names is the answer, and the first one is noted.
//   - It passes, and names it: [Lenient]. Warnings do not fail it.
//   - It refuses, but for another reason, such as a syntax error where a test has to fail ([Unlike]), or
//     without a name ([Unnamed]): other places are tried, [MaxTries] in all.
package control

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/runtime/scope"
)

// Bounds of a trial.
const (
	MaxTries  = 3
	maxRead   = 2000     // files that are read to find places
	maxBytes  = 64 << 20 // of them together
	maxPlaces = 500      // that are broken at once
)

// Nonce returns letters that nobody has seen.
func Nonce() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it does not fail
	for i := range b {
		b[i] = 'a' + b[i]%26
	}
	return string(b[:])
}

// Files are those of the snapshot that the line passed on.
type Files struct {
	Place string   // directory of the matrix below the root of the working tree; "" for the root itself
	Roots []string // absolute paths of the root of the working tree, by which commands may call it
	List  []string // paths from the root of the working tree, with slashes
	Read  func(path string) ([]byte, error)
}

// A Place is where something can be broken.
type Place struct {
	Path string // from the root of the working tree
	Line int    // 1-based, of the broken text
	Test string // name of the test that is broken; empty for none

	nonce string // of this place alone
	made  bool   // the file is not there
	at    int    // offset of the text; -1 for the end of the file
	text  string // with {nonce}
}

// A Trial tests one line. Its methods are called in turns: Next, Judge, Next, until Next returns nil.
type Trial struct {
	step    *plan.Step
	control plan.Control
	nonce   string
	files   Files
	after   *regexp.Regexp  // nil for none
	unlike  *regexp.Regexp  // likewise
	passed  map[string]bool // lines of the passing run; see normal
	said    map[string]bool // words of it, and of the command
	places  []Place         // in the order of preference

	tries, single int // of them those with one place
	now           []Place
	all           bool // all places were broken at once
	last          Judgement
	skipped       []string // places that it passed with
}

// New begins to test a line that passed with the given output. There is nothing to break where [Trial.Next]
// returns nil at once.
func New(s *plan.Step, c plan.Control, output []byte, files Files, nonce string) *Trial {
	t := &Trial{control: c, step: s, nonce: nonce, files: files, passed: make(map[string]bool), said: make(map[string]bool)}
	text := clean(output)
	for line := range strings.Lines(text) {
		t.passed[normal(line)] = true
	}
	t.hear(text)
	for _, arg := range s.Argv[min(1, len(s.Argv)):] {
		t.hear(arg)
	}
	if c.After != "" {
		t.after = regexp.MustCompile(c.After) // the matrix was checked
	}
	if c.Unlike != "" {
		t.unlike = regexp.MustCompile(c.Unlike)
	}
	t.find()
	return t
}

// hear notes the words of a text, and what of them may be a path.
func (t *Trial) hear(text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`()[]{},;:<>=|&", r) }) {
		word = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(word, "./"), "..."), "/")
		if word == "" || word == "." {
			continue
		}
		t.said[word] = true
		for i := range len(word) { // a package of Go is named by the path of its module and its directory
			if word[i] == '/' {
				t.said[word[i+1:]] = true
			}
		}
	}
}

// unlikely are directories whose files most tools leave out.
var unlikely = []string{"vendor", "third_party", "testdata", "node_modules", "target", "dist", "build", "fixtures", "examples", "snapshots", "__snapshots__"}

// weight says how far a place is from what the passing run says that it looked at.
func (t *Trial) weight(p *Place) (w int) {
	if p.Test != "" && !t.said[p.Test] && !t.saidAll(p.Test) {
		w += 4
	}
	if !t.named(p.Path) {
		w += 2
	}
	for part := range strings.SplitSeq(p.Path, "/") {
		if part[0] == '.' || part[0] == '_' && part != "__tests__" && !strings.HasPrefix(part, "__init__") || slices.Contains(unlikely, part) {
			return w + 8
		}
	}
	if strings.HasSuffix(p.Path, ".d.ts") {
		w += 8
	}
	return w
}

// saidAll reports whether each word of a name is among those that the run said.
func (t *Trial) saidAll(name string) bool {
	words := strings.Fields(name)
	for _, w := range words {
		if !t.said[strings.Trim(w, ",.:;")] {
			return false
		}
	}
	return len(words) > 1
}

// named reports whether the run named a file, or a directory that it is in.
func (t *Trial) named(name string) bool {
	rel := t.relative(name)
	for ; rel != "." && rel != "/" && rel != ""; rel = path.Dir(rel) {
		if t.said[rel] {
			return true
		}
	}
	return false
}

// relative is the path of a file from the directory of the matrix.
func (t *Trial) relative(name string) string {
	if t.files.Place == "" {
		return name
	}
	return strings.TrimPrefix(name, t.files.Place+"/")
}

// order is where the nonce puts a name.
func (t *Trial) order(name string) string {
	h := sha256.Sum256([]byte(t.nonce + "\x00" + t.step.ID + "\x00" + name))
	return string(h[:])
}

// find finds the places, in the order of preference.
func (t *Trial) find() {
	var names []string
	for _, name := range t.files.List {
		rel := t.relative(name)
		if t.files.Place != "" && rel == name {
			continue // beside the project
		}
		if scope.Names(t.control.Files, rel) {
			names = append(names, name)
		}
	}
	if len(names) == 0 && t.after == nil && len(t.control.Files) == 1 && !strings.ContainsAny(t.control.Files[0], `*?[\`) {
		name := path.Join(t.files.Place, t.control.Files[0])
		t.places = append(t.places, Place{Path: name, Line: 1, at: -1, made: true, text: t.control.Text, nonce: t.nonce})
		return
	}
	// Files are read in an order of their own, so that the bound leaves out others each time.
	slices.SortStableFunc(names, func(a, b string) int {
		wa, wb := t.weight(&Place{Path: a}), t.weight(&Place{Path: b})
		return cmp.Or(cmp.Compare(wa, wb), cmp.Compare(t.order(a), t.order(b)))
	})
	read := 0
	for _, name := range names[:min(len(names), maxRead)] {
		content, err := t.files.Read(name)
		if read += len(content); read > maxBytes {
			break
		}
		if err != nil || bytes.IndexByte(content, 0) >= 0 {
			continue // too large, or no text
		}
		t.places = append(t.places, t.in(name, content)...)
	}
	type rank struct {
		weight int
		order  string
	}
	ranks := make(map[string]rank, len(t.places))
	for i := range t.places {
		p := &t.places[i]
		p.nonce = t.nonce + letters(i)
		ranks[p.nonce] = rank{t.weight(p), t.order(p.Path + "\x00" + p.Test)}
	}
	slices.SortFunc(t.places, func(a, b Place) int {
		ra, rb := ranks[a.nonce], ranks[b.nonce]
		return cmp.Or(cmp.Compare(ra.weight, rb.weight), cmp.Compare(ra.order, rb.order), cmp.Compare(a.nonce, b.nonce))
	})
}

// in returns the places in a file.
func (t *Trial) in(name string, content []byte) (places []Place) {
	if t.after == nil {
		return []Place{{Path: name, Line: bytes.Count(content, []byte("\n")) + 1, at: -1, text: t.control.Text}}
	}
	group := t.after.SubexpIndex("name")
	for _, m := range t.after.FindAllSubmatchIndex(content, -1) {
		p := Place{Path: name, at: m[1], Line: 1 + bytes.Count(content[:m[1]], []byte("\n"))}
		p.text = string(t.after.Expand(nil, []byte(t.control.Text), content, m))
		if group > 0 && m[2*group] >= 0 {
			p.Test = string(content[m[2*group]:m[2*group+1]])
		}
		places = append(places, p)
	}
	return places
}

// An Edit is a file with its new content.
type Edit struct {
	Path    string
	Content []byte
}

// Empty reports whether there is nothing to break.
func (t *Trial) Empty() bool { return len(t.places) == 0 }

// Next returns what is to be broken for the next run of the line; nil if the trial is over.
func (t *Trial) Next() (edits []Edit) {
	if t.tries == MaxTries {
		return nil
	}
	wasAll := t.all
	switch t.last.Outcome {
	case Blind:
		if t.all = true; wasAll || len(t.places) == 1 {
			return nil
		}
		t.now = t.places[:min(len(t.places), maxPlaces)]
	case "", Unlike, Unnamed:
		if t.single == len(t.places) {
			return nil
		}
		t.now, t.all = t.places[t.single:t.single+1], false
		t.single++
	default:
		return nil
	}
	t.tries++
	byPath := make(map[string][]Place)
	for _, p := range t.now {
		byPath[p.Path] = append(byPath[p.Path], p)
	}
	for _, name := range slices.Sorted(maps.Keys(byPath)) {
		if content, err := t.broken(name, byPath[name]); err == nil {
			edits = append(edits, Edit{name, content})
		}
	}
	return edits
}

// broken is the content of a file with places in it broken.
func (t *Trial) broken(name string, places []Place) (content []byte, err error) {
	if !places[0].made {
		if content, err = t.files.Read(name); err != nil {
			return nil, err
		}
	}
	// From the end to the begin, so that offsets stay true.
	slices.SortFunc(places, func(a, b Place) int { return cmp.Compare(b.at, a.at) })
	for _, p := range places {
		text := strings.ReplaceAll(p.text, "{nonce}", p.nonce)
		switch {
		case p.at >= 0:
			content = slices.Concat(content[:p.at], []byte(text), content[p.at:])
		case len(content) > 0 && content[len(content)-1] != '\n':
			content = slices.Concat(content, []byte("\n"), []byte(text), []byte("\n"))
		default:
			content = slices.Concat(content, []byte(text), []byte("\n"))
		}
	}
	return content, nil
}

// letters writes a number in letters, of one length.
func letters(n int) string {
	b := [4]byte{}
	for i := range b {
		b[len(b)-1-i] = 'a' + byte(n%26)
		n /= 26
	}
	return string(b[:])
}
