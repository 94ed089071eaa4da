// Package redact takes secrets out of text that is kept or shown: values that were
// declared as secret, values of environment variables whose names say so, and tokens
// of well-known forms. In comes text, out comes the same text with a mark in the place
// of each secret; the same secret has the same mark under one key. The package knows
// no receipts and no commands.
//
// The value of a secret is found as it is, in hex, in base64 (also in the middle of a longer
// text), with its characters escaped for URLs, JSON, HTML, shells, Python and Go, with escape sequences of a terminal
// or control characters in its midst, and with the line ends of Unix or of Windows.
//
// The work for each byte of a text is bounded, whatever the secrets are and however many, see [search]. A text that would need
// more loses its rest.
//
// The name of a variable stays, also where it holds a secret's text or has the form of a token.
//
// It is a net, not a wall. A secret goes through that has no known form and is in no such
// variable, that is shorter than [minValue], or that the command compressed, encrypted, split over
// lines, or wrote in another encoding. What a command gets is not touched.
//
// It is one package of up to 1,700 lines because what is secret, in which writings, and in which documents is answered in one search of a text.
package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/command-dialect/dialect/lang/diag"
)

// Bounds, in bytes.
const (
	minValue = 8        // of the value of a variable
	maxMatch = 16 << 10 // of one secret: what goes beyond belongs to it no more
	block    = 64 << 10 // that a [Writer] gathers
	maxName  = 128      // of the name of a variable, to stay as it is
)

// Options say what is secret beside tokens of known forms.
type Options struct {
	Environ  []string // "K=V"; the values of variables whose names look secret count, and what [Variable] holds
	Declared []string // values that are secret whatever they look like
	// Key makes the marks: without it nobody can try out what a mark stands for.
	Key []byte
}

// A Redactor takes secrets out of text. It is safe for concurrent use; a nil Redactor
// takes out nothing.
type Redactor struct {
	key      []byte
	literals []literal            // the longest first
	by       [256][]literal       // the same by their first byte
	firsts   []byte               // the first bytes that there are
	hold     int                  // bytes that a secret can have
	pairs    [1 << 16 / 64]uint64 // which two bytes a secret can begin with
	single   [256]bool            // likewise, for literals of one byte
	names    map[string]bool      // of variables: they stay as they are
	lines    bool                 // whether one of the literals has several lines
	values   []string             // what is secret, as it is
	handed   []string             // what [Variable] held of them
}

// New returns a Redactor.
func New(o Options) *Redactor {
	r := &Redactor{key: o.Key, hold: maxMatch}
	add := func(v string, least int) {
		r.values = append(r.values, v)
		r.literals = append(r.literals, writings([]byte(v))...)
		if line := strings.TrimRight(v, "\r\n"); len(line) >= least && len(line) < len(v) { // as a file gives it; who prints it ends the line himself
			r.literals = append(r.literals, writings([]byte(line))...)
		}
	}
	for _, kv := range o.Environ {
		if value, ok := strings.CutPrefix(kv, Variable+"="); ok {
			r.handed = append(r.handed, parseHanded(value)...)
		}
	}
	for _, v := range slices.Concat(o.Declared, r.handed) {
		if v != "" {
			add(v, 1)
		}
	}
	for _, kv := range o.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(name) <= maxName {
			if r.names == nil {
				r.names = make(map[string]bool, len(o.Environ))
			}
			r.names[name] = true
		}
		if Secret(name, value) {
			add(value, minValue)
		}
	}
	slices.SortStableFunc(r.literals, func(a, b literal) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return bytes.Compare(a.text, b.text)
	})
	r.literals = slices.CompactFunc(r.literals, func(a, b literal) bool { return bytes.Equal(a.text, b.text) })
	for _, l := range r.literals {
		if r.by[l.text[0]] == nil {
			r.firsts = append(r.firsts, l.text[0])
		}
		r.by[l.text[0]] = append(r.by[l.text[0]], l)
		r.beginLiteral(l.text)
		// A secret with all of its characters escaped is found up to the bound.
		r.hold = max(r.hold, len(l.text)+4, min(maxUnit*len(l.text), maxUnit*maxMatch))
		r.lines = r.lines || l.lines()
	}
	for _, f := range forms {
		r.begin(f.prefix)
	}
	return r
}

func (r *Redactor) begin(s string) {
	if len(s) == 1 {
		r.single[s[0]] = true
		return
	}
	i := int(s[0])<<8 | int(s[1])
	r.pairs[i/64] |= 1 << (i % 64)
}

// beginLiteral notes what v can begin with, in any writing.
func (r *Redactor) beginLiteral(v []byte) {
	const hexDigits = "0123456789abcdefABCDEF"
	if len(v) == 1 {
		r.single[v[0]] = true
	} else {
		r.begin(string(v[:2]))
		for _, c := range []byte{'%', '\\', '&', '\'', '+', '"', v[0]} {
			r.begin(string([]byte{v[0], c}))
		}
		for c := range byte(' ') {
			if unseen([]byte{c}) > 0 {
				r.begin(string([]byte{v[0], c}))
			}
		}
		r.begin(string([]byte{v[0], 0x7f}))
		if v[1] == '\n' {
			r.begin(string([]byte{v[0], '\r'}))
		}
	}
	if lineEnd[v[0]] { // a text can be cut right after it
		r.single[v[0]] = true
	}
	if v[0] == ' ' {
		r.single['+'] = true
	}
	r.begin("%" + hexDigits[v[0]>>4:][:1])
	r.begin("%" + strings.ToUpper(hexDigits[v[0]>>4:][:1]))
	for _, c := range []byte("uxU01234567\\") {
		r.begin(string([]byte{'\\', c}))
	}
	if i := strings.IndexByte("\a\b\f\n\r\t\v\x1b", v[0]); i >= 0 {
		r.begin("\\" + "abfnrtve"[i:i+1])
		r.begin(`\E`)
	}
	if !word[v[0]] {
		r.begin(string([]byte{'\\', v[0]}))
	}
	r.begin("&#")
	r.begin("\\&")
	for _, name := range [...]string{"&a", "&l", "&g", "&q"} {
		if strings.IndexByte("&<>\"'", v[0]) >= 0 {
			r.begin(name)
		}
	}
}

// A form is a kind of token that is known by how it begins.
type form struct {
	prefix      string
	keep        int // bytes of the prefix that stay
	set         *charset
	least, most int // bytes of set behind the prefix
	// special, if set, says instead which bytes of s, which begins with the prefix, are
	// the secret: those from skip to n; n is 0 for none.
	special func(x *search, at int) (skip, n int)
}

var forms = [...]form{
	{prefix: "ghp_", set: &word, least: 36, most: 255}, {prefix: "gho_", set: &word, least: 36, most: 255},
	{prefix: "ghs_", set: &word, least: 36, most: 255}, {prefix: "ghu_", set: &word, least: 36, most: 255},
	{prefix: "ghr_", set: &word, least: 36, most: 255}, {prefix: "github_pat_", set: &word, least: 22, most: 255},
	{prefix: "glpat-", set: &dashed, least: 20, most: 255}, {prefix: "npm_", set: &word, least: 36, most: 255},
	{prefix: "AKIA", set: &capital, least: 16, most: 16}, {prefix: "ASIA", set: &capital, least: 16, most: 16},
	{prefix: "xoxa-", set: &dashed, least: 10, most: 255}, {prefix: "xoxb-", set: &dashed, least: 10, most: 255},
	{prefix: "xoxp-", set: &dashed, least: 10, most: 255}, {prefix: "xoxr-", set: &dashed, least: 10, most: 255},
	{prefix: "xoxs-", set: &dashed, least: 10, most: 255}, {prefix: "sk-", set: &dashed, least: 20, most: 400},
	{prefix: "sk_live_", set: &word, least: 16, most: 255}, {prefix: "rk_live_", set: &word, least: 16, most: 255},
	{prefix: "pypi-", set: &dashed, least: 40, most: 400}, {prefix: "hf_", set: &word, least: 30, most: 255},
	{prefix: "AIza", set: &dashed, least: 35, most: 35},
	{prefix: "Bearer ", keep: 7, set: &bearer, least: 16, most: maxMatch - 7}, {prefix: "bearer ", keep: 7, set: &bearer, least: 16, most: maxMatch - 7},
	{prefix: "eyJ", special: webToken}, {prefix: "-----BEGIN ", special: privateKey}, {prefix: diag.KeyPrefix[:len("PRIVATE")], special: signingKey}, {prefix: "://", special: userInfo},
}

// A charset is a set of bytes.
type charset [256]bool

func chars(more string) (c charset) {
	for b := byte('0'); b <= '9'; b++ {
		c[b] = true
	}
	for b := byte('A'); b <= 'Z'; b++ {
		c[b] = true
		c[b|0x20] = more != ""
	}
	for i := range len(more) {
		c[more[i]] = true
	}
	return c
}

var (
	capital = chars("")
	word    = chars("_")
	dashed  = chars("_-")
	bearer  = chars("_-.~+/=")
)

// span returns how many bytes of s, at most limit, are in set.
func span(s []byte, set *charset, limit int) int {
	n := 0
	for n < len(s) && n < limit && set[s[n]] {
		n++
	}
	return n
}

// webToken is a JSON Web Token: three parts of base64url with dots between.
func webToken(x *search, at int) (int, int) {
	n := 0
	for part := range 3 {
		if part > 0 {
			if at+n >= len(x.s) || x.s[at+n] != '.' {
				return 0, 0
			}
			n++
		}
		k := min(x.dashed(part, at+n), maxMatch-n)
		if k < 10 {
			return 0, 0
		}
		n += k
	}
	return 0, n
}

// privateKey is a PEM block of a private key, to its end or the bound.
func privateKey(x *search, at int) (int, int) {
	s := x.s[at:]
	line := s[:min(len(s), 80)]
	i := bytes.Index(line, []byte("PRIVATE KEY-----"))
	if i < 0 || bytes.ContainsAny(line[:i], "\r\n") {
		return 0, 0
	}
	body := s[:min(len(s), maxMatch)]
	if e := bytes.Index(body, []byte("-----END ")); e >= 0 {
		if f := bytes.Index(body[e+9:min(len(body), e+9+80)], []byte("-----")); f >= 0 {
			return 0, e + 9 + f + 5
		}
	}
	return 0, len(body)
}

// minKey is how long what follows on the beginning of a signing key must be to be one, in bytes: more than a placeholder has,
// "NAME+HASH+KEY", and less than the name and the hash of a key.
const minKey = 16

// signingKey is a key of a log of dialect, or of another one in the note format, on one line. Its plus signs, slashes and the
// like can be escaped, since a URL, JSON and HTML do so, and control characters can stand in its midst.
func signingKey(x *search, at int) (int, int) {
	s := x.s[at:min(len(x.s), at+4*diag.MaxKey)] // this bounds the work
	n := 0
	for i := range len(diag.KeyPrefix) {
		if n >= len(s) {
			return 0, 0
		}
		k := unit(s[n:], diag.KeyPrefix[i])
		if k == 0 {
			return 0, 0
		}
		n += k
	}
	begin, end := n, n // end is where the last character of the key ends
	for n < len(s) {
		k := keyUnit(s[n:])
		if k > 0 {
			end = n + k
		} else if k = unseen(s[n:]); k == 0 {
			break
		}
		n += k
	}
	switch {
	case x.cut && n == len(s): // it could go on in the next event of go test -json
		return 0, n
	case end-begin < minKey:
		return 0, 0
	}
	return 0, end
}

// keyUnit returns the length of the character of a signing key that s begins with, in any writing; 0 if there is none.
func keyUnit(s []byte) int {
	if bearer[s[0]] || s[0] == '@' {
		return 1
	}
	switch s[0] {
	case '%', '\\', '&':
		for _, c := range []byte("+/=@") {
			if n := unit(s, c); n > 0 {
				return n
			}
		}
	}
	return 0
}

// userInfo is the password of a URL: ://user:password@host.
func userInfo(x *search, at int) (int, int) {
	s := x.s[at:]
	rest := s[3:min(len(s), 512)]
	end := bytes.IndexAny(rest, "@/ \t\r\n\"'<>")
	if end < 0 || rest[end] != '@' {
		return 0, 0
	}
	colon := bytes.IndexByte(rest[:end], ':')
	if colon < 0 || end-colon < 2 || bytes.HasPrefix(rest[colon+1:], []byte(markBegin)) {
		return 0, 0
	}
	return 3 + colon + 1, 3 + end
}

// A search goes through one text, from its begin to its end.
//
// Reading a literal at each place of a text costs more than a step for each byte of the text only
// where the text repeats a long beginning of the literal at short distances, again and again: a
// secret of ten thousand equal letters, in a text of such letters. No secret of real life is like
// that, but a tool can print what it likes, and a caller can set any variable. So each byte of the
// text gives credit for some steps, and a search that has used up its credit ends: what
// follows is taken out whole, since a secret could be in it.
type search struct {
	r      *Redactor
	s      []byte
	credit int
	each   int  // credit for each byte
	cut    bool // the end of s was lost: the beginning of a secret, there, counts as one
	// runs has for each part of a web token where the characters of it that were read last begin
	// and end in s, so that each character is read once.
	runs [3]struct{ from, to int }
}

// Steps of a [search].
const (
	creditOf  = 64      // for each byte of the text; one for each literal, at most maxEach, comes on top of it
	maxEach   = 1 << 10 // so many literals a hundred secrets have
	maxCredit = 1 << 22 // that a text saves up
)

func (r *Redactor) search(s []byte) search {
	return search{r: r, s: s, credit: maxCredit, each: creditOf + min(len(r.literals), maxEach)}
}

// spent reports whether the search has used up its credit.
func (x *search) spent() bool { return x.credit < 0 }

// dashed returns how many characters of base64url begin at the byte at.
func (x *search) dashed(part, at int) int {
	run := &x.runs[part]
	if at < run.from || at >= run.to {
		run.from, run.to = at, at+span(x.s[at:], &dashed, len(x.s))
	}
	return run.to - at
}

// literal returns the length of the first literal of list that s begins with, and what it is a
// writing of.
func (x *search) literal(list []literal, s []byte) (n int, of []byte) {
	for i := range list {
		if n := list[i].match(x, s, 0); n > 0 {
			return n, list[i].of
		}
	}
	return 0, nil
}

// match returns which bytes of the text, from the byte at on, are a secret: those from skip to
// n, and of what secret they are another writing; nil for what they are themselves. n is 0 if
// there is none.
func (x *search) match(at int) (skip, n int, of []byte) {
	r, s := x.r, x.s[at:]
	if n, of := x.literal(r.by[s[0]], s); n > 0 {
		return 0, n, of
	}
	switch s[0] {
	case '%', '\\', '&', '\'', '+': // can stand for another character
		for _, c := range r.firsts {
			if c != s[0] && (c >= utf8.RuneSelf || unit(s, c) > 0) {
				if n, of := x.literal(r.by[c], s); n > 0 {
					return 0, n, of
				}
			}
		}
	}
	for i := range forms {
		f := &forms[i]
		if len(s) <= len(f.prefix) || string(s[:len(f.prefix)]) != f.prefix {
			continue
		}
		if f.special != nil {
			if skip, n = f.special(x, at); n > 0 {
				return skip, n, nil
			}
		} else if k := span(s[len(f.prefix):], f.set, f.most); k >= f.least {
			return f.keep, len(f.prefix) + k, nil
		}
	}
	return 0, 0, nil
}

// next returns the first secret that begins between at and limit, with what stays of its
// prefix: the bytes from from to to, and the text that its mark is made of. Where the search is
// spent, that is the rest of the text.
func (x *search) next(at, limit int) (from, to int, of []byte, ok bool) {
	r, s := x.r, x.s
	last := len(s) - 1
	for i := at; i < limit; i++ {
		x.credit = min(x.credit+x.each, maxCredit)
		c := s[i]
		if !r.single[c] {
			if i >= last {
				break
			}
			if p := int(c)<<8 | int(s[i+1]); r.pairs[p/64]&(1<<(p%64)) == 0 {
				continue
			}
		}
		skip, n, of := x.match(i)
		if n <= skip && x.spent() {
			skip, n = 0, len(s)-i
		}
		if n > skip && !x.named(i+skip, i+n) {
			if of == nil {
				of = s[i+skip : i+n]
			}
			return i + skip, i + n, of, true
		}
	}
	return 0, 0, nil, false
}

// named reports whether the bytes from from to to are, or are inside of, the name of a variable: npm exports its settings
// under names that look like its tokens. A name is in every report that says which variables were left out.
func (x *search) named(from, to int) bool {
	for from > 0 && to-from <= maxName && word[x.s[from-1]] {
		from--
	}
	for to < len(x.s) && to-from <= maxName && word[x.s[to]] {
		to++
	}
	return to-from <= maxName && x.r.names[string(x.s[from:to])]
}

// tooCostly stands for the rest of a text that cannot be searched.
const tooCostly = markBegin + "the rest, which nearly repeats a secret too often to be searched]"

// pass appends the text to out, without the secrets that begin before limit, and returns how much
// of it that was. If there is no secret it appends nothing.
func (x *search) pass(out []byte, limit int) (_ []byte, at int, replaced bool) {
	for at < limit {
		from, to, of, ok := x.next(at, limit)
		if !ok {
			if replaced {
				out = append(out, x.s[at:limit]...)
			}
			return out, limit, replaced
		}
		out = append(out, x.s[at:from]...)
		at, replaced = to, true
		if x.spent() {
			out = append(out, tooCostly...)
			return out, len(x.s), true
		}
		out = x.r.mark(out, of)
	}
	return out, at, replaced
}

// Bytes returns p without its secrets: p itself if it holds none.
func (r *Redactor) Bytes(p []byte) []byte {
	if r == nil {
		return p
	}
	return r.bytes(p, len(p))
}

// bytes returns the first n bytes of p without the secrets that begin there.
func (r *Redactor) bytes(p []byte, n int) []byte {
	x := r.search(p)
	if out, _, replaced := x.pass(nil, n); replaced {
		return out
	}
	return p[:n]
}

// Text returns s without its secrets.
func (r *Redactor) Text(s string) string {
	if r == nil || s == "" {
		return s
	}
	p := []byte(s)
	out := r.Bytes(p)
	if len(out) == len(p) && &out[0] == &p[0] {
		return s
	}
	return string(out)
}

const markBegin = "[redacted:"

// Marked reports whether a text holds what stands for a secret that was taken out of it.
func Marked(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, markBegin)
		if !ok {
			return false
		}
		if len(rest) > 8 && rest[8] == ']' && strings.Trim(rest[:8], "0123456789abcdef") == "" {
			return true
		}
		text = rest
	}
}

// Tail is Bytes of a text whose beginning was lost: what a secret that was cut there
// left behind goes too.
func (r *Redactor) Tail(p []byte) []byte { return r.Part(p, true, false) }

// Head is Bytes of a text whose end was lost: the beginning of a secret that was cut there
// goes too.
func (r *Redactor) Head(p []byte) []byte { return r.Part(p, false, true) }

// Part is Bytes of a text of which the beginning, the end, or both were lost. The two are one step: a mark in the place of one secret
// would hide from the other end that it is a line of a longer one.
func (r *Redactor) Part(p []byte, beginning, end bool) []byte {
	if r == nil {
		return p
	}
	from, to, x := 0, len(p), r.search(p)
	if end {
		to = x.whole()
	}
	if beginning {
		from = x.rest()
	}
	if from >= to {
		return nil
	}
	return r.bytes(p[from:], to-from)
}

// Rest returns how many bytes Part leaves out at the beginning of a text whose beginning was lost.
func (r *Redactor) Rest(p []byte) int {
	if r == nil {
		return 0
	}
	x := r.search(p)
	return min(x.rest(), len(p))
}

// Hold returns how many bytes a secret can have.
func (r *Redactor) Hold() int {
	if r == nil {
		return 0
	}
	return r.hold
}

// lineEnd has the bytes that end a line. No writing of a character, but of these, holds one.
var lineEnd = charset{'\r': true, '\n': true}

// rest returns how much of the text, whose beginning was lost, belongs to a secret that was cut there, or could: what goes up to the
// first line end, as far as that is near, then the last lines of a secret of several; and what other secrets have that begin in all that.
func (x *search) rest() int {
	p := x.s
	near := min(len(p), x.r.hold)
	n := near
	if i := bytes.IndexAny(p[:near], "\r\n"); i >= 0 {
		n = i + span(p[i:], &lineEnd, len(p))
		n += x.lastLines(p[n:min(len(p), n+x.r.hold)])
	}
	if x.spent() {
		n = max(n, near)
	}
	for at := 0; at < n && n < len(p); {
		from, to, _, ok := x.next(at, n)
		if !ok {
			break
		}
		at, n = from+1, max(n, to)
	}
	end := []byte("PRIVATE KEY-----")
	if i := bytes.Index(p[n:], end); i >= 0 && !bytes.Contains(p[n:n+i], []byte(keyBegin)) {
		n += i + len(end)
	}
	return n
}

// lastLines returns the length of the last lines of a secret that s begins with; len(s) if s ends before they do.
func (x *search) lastLines(s []byte) (n int) {
	if !x.r.lines || len(s) == 0 {
		return 0
	}
	x.cut = true
	defer func() { x.cut = false }()
	for i := range x.r.literals {
		l := &x.r.literals[i]
		for at := 1; at < len(l.text) && !x.spent(); at++ {
			if !lineEnd[l.text[at-1]] || lineEnd[l.text[at]] {
				continue
			}
			if k := l.match(x, s, at); k > 0 { // later lines are fewer
				n = max(n, k)
				break
			}
		}
	}
	return n
}

// whole returns how much of the text, whose end was lost, holds no beginning of a secret that was
// cut: what goes up to the last line end, as far as that is near, less what a secret could have begun
// with that goes on after it: one of several lines, a private key, and one that go test -json has in two events. What is left of the
// text are whole lines.
func (x *search) whole() int {
	from := max(0, len(x.s)-x.r.hold)
	n := from + bytes.LastIndexAny(x.s[from:], "\r\n") + 1
	if n == from || x.spent() {
		return from
	}
	x.s = x.s[:n]
	p := x.s[from:]
	if !x.r.lines && !bytes.HasSuffix(bytes.TrimRight(p, "\r\n"), []byte("}")) && !bytes.Contains(p, []byte(keyBegin)) {
		return n
	}
	x.cut = true
	defer func() { x.cut = false }()
	for at := from; at < n; {
		begin, to, _, ok := x.next(at, n)
		switch {
		case !ok:
			return n
		case to == n:
			return begin
		}
		at = begin + 1
	}
	return n
}

// mark appends what stands for a secret.
func (r *Redactor) mark(out, secret []byte) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write(secret)
	out = append(out, markBegin...)
	out = hex.AppendEncode(out, h.Sum(nil)[:4])
	return append(out, ']')
}

// A Writer passes on what is written to it, without the secrets. It holds back what
// could belong to a secret that has not ended; Close writes that.
type Writer struct {
	r        *Redactor
	w        io.Writer
	buf      []byte
	out      []byte
	credit   int // of the [search], which goes on from block to block
	seen     int // bytes of buf that Pass has seen
	watch    int // credit of the searches of Pass, which see what is held back again and again
	replaced bool
	ended    bool // the rest of the text cannot be searched, and is dropped
}

// Writer returns a [Writer] to w.
func (r *Redactor) Writer(w io.Writer) *Writer {
	return &Writer{r: r, w: w, credit: maxCredit, watch: maxCredit}
}

func (w *Writer) Write(p []byte) (int, error) {
	if w.r == nil {
		return w.w.Write(p)
	}
	if w.ended {
		return len(p), nil
	}
	w.buf = append(w.buf, p...)
	if len(w.buf) < block+w.r.hold {
		return len(p), nil
	}
	return len(p), w.pass(len(w.buf) - w.r.hold)
}

// pass writes what begins before limit.
func (w *Writer) pass(limit int) error {
	x := w.r.search(w.buf)
	x.credit = w.credit
	out, at, replaced := x.pass(w.out[:0], limit)
	if !replaced {
		out = append(out, w.buf[:at]...)
	}
	w.out, w.credit, w.ended, w.replaced = out, x.credit, x.spent(), w.replaced || replaced
	w.buf, w.seen = append(w.buf[:0], w.buf[at:]...), max(0, w.seen-at)
	_, err := w.w.Write(w.out)
	return err
}

// Pass writes what is held back of whole lines, but for those that could be the first of a secret of several. A text that is read while it comes
// needs that; what it could still belong to is at most as long as those of Hold. Where the search for that has used up its credit, Pass
// writes nothing until more text has come.
func (w *Writer) Pass() error {
	if w.r == nil {
		return nil
	}
	fresh := w.buf[w.seen:]
	w.seen = len(w.buf)
	if !bytes.ContainsAny(fresh, "\r\n") {
		return nil
	}
	x := w.r.search(w.buf)
	x.credit, x.each = min(w.watch+x.each*len(fresh), maxCredit), -1
	n := x.whole()
	if w.watch = x.credit; n <= 0 {
		return nil
	}
	return w.pass(n)
}

// keyBegin is how a private key in PEM begins.
const keyBegin = "-----BEGIN "

// Cut ends the text at this place, where its end was lost: of what is held back it drops
// what could be the beginning of a secret, and returns how many bytes that was: at most
// those of Hold, if as many were written.
func (w *Writer) Cut() (dropped int, err error) {
	if w.r == nil {
		return 0, nil
	}
	x := w.r.search(w.buf)
	n := x.whole()
	dropped = len(w.buf) - n
	if n > 0 {
		err = w.pass(n)
	}
	w.buf, w.seen = w.buf[:0], 0
	return dropped, err
}

// Close writes what is held back, and reports whether a secret was taken out. It does
// not close what is below.
func (w *Writer) Close() (replaced bool, err error) {
	if len(w.buf) > 0 {
		err = w.pass(len(w.buf))
	}
	return w.replaced, err
}
