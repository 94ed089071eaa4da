// Package bounds finds the JSON Schemas by which a validator would not end, or would take more time or memory than a call is worth:
// in comes what a server says of the arguments of its tool, and what those are; out comes an error, or nil. The validator recurses into
// every schema that applies to a value and into every value of a value, and knows neither time nor depth.
package bounds

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// MaxSchema is how large a schema may be, in bytes.
const MaxSchema = 1 << 20

// MaxNesting is how deep arguments may be nested.
const MaxNesting = 100

const (
	maxReading  = 8 << 20  // bytes that are read, or made, for a schema
	maxPatterns = 1 << 17  // instructions of all patterns
	maxTables   = 1 << 12  // tables of letters that the classes of all patterns are made of
	foldTables  = 40       // that a range takes as long as, if it is without regard to case
	maxInPlace  = 100      // schemas that apply to one value, each because of the one before it
	maxEdges    = 1 << 20  // of the graph of those
	maxWork     = 64 << 20 // to check arguments: about the bytes that are looked at, and put into errors
	workOfByte  = 32       // that each byte of arguments adds to that
)

// A place is an object or a list of a schema's JSON.
type place struct {
	list              bool
	in                map[string]*place // by key or index
	texts             map[string]string // members that are strings
	flat              []string          // keys of the others that have no place
	own               int               // bytes of what is neither a schema nor holds some, and of what an error calls it
	pattern, patterns int               // instructions of that for texts, and of those for keys

	next  []*place // schemas that apply to the same value; nil before they are looked for
	state int      // of the search: new, begun, done
	depth int      // length of the longest way out of here
}

const (
	begun = 1 + iota
	done
)

// Readable returns an error if a schema takes long to read: the validator reads the text of an object once more for each object
// around it, and has for each a path from the root and, where it names or refers to one, an address.
func Readable(raw []byte) error {
	if len(raw) > MaxSchema {
		return fmt.Errorf("it has more than %d bytes", MaxSchema)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	var sum, names, ids int64
	var weigh func(v any, path int64) int64
	weigh = func(v any, path int64) (size int64) {
		switch v := v.(type) {
		case map[string]any:
			for key, x := range v {
				size += int64(len(key)) + weigh(x, path+int64(len(key)))
				switch text, ok := x.(string); {
				case ok && strings.EqualFold(key, "$id"):
					ids += int64(len(text))
					names++
				case strings.EqualFold(key, "$ref"), strings.EqualFold(key, "$dynamicRef"):
					names++
				}
			}
			sum += size + path
		case []any:
			for _, x := range v {
				size += weigh(x, path)
			}
		case string:
			size = int64(len(v))
		}
		return size + 4
	}
	if weigh(v, 0); sum+names*ids > maxReading {
		return errors.New("it takes too long to read: it is too deep, or its names are too long")
	}
	return nil
}

// ErrLong is that of [Check] for a schema and arguments that are fine each, and take too long together: blocks of ten kinds in blocks in blocks do,
// as each kind is tried on each of them.
var ErrLong = errors.New("it takes too long to check these arguments by it")

// Check returns an error if the validator is not to check v by a schema that is [Readable]: if the schema leads to itself, or the two take
// too long together, which is [ErrLong].
func Check(s *jsonschema.Schema, v any) error {
	g, err := bounded(s)
	if err != nil {
		return err
	}
	return g.checkable(v)
}

// Compilable takes away the patterns that the validator cannot compile from a schema that [Check] has let pass: ECMA-262 has more, such
// as (?!x), than Go has. Of what they are for, the server judges alone.
func Compilable(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if _, err := syntax.Parse(s.Pattern, syntax.Perl); err != nil {
		s.Pattern = ""
	}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		switch in := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			Compilable(in)
		case []*jsonschema.Schema:
			for _, s := range in {
				Compilable(s)
			}
		case map[string]*jsonschema.Schema:
			for _, s := range in {
				Compilable(s)
			}
		}
	}
}

// bounded returns the places of a schema. It returns an error if the schema leads to itself without a step into the value ({"$ref": "#"}), which
// the validator follows until its stack is full, or if its patterns are too large. What a reference means where a schema has several bases ($id) is
// not worked out: it may mean any, and a schema that may lead to itself is refused.
//
// Sources: JSON Schema Core 2020-12, sections 8.2 and 10.2; RFC 6901 for the pointers.
func bounded(s *jsonschema.Schema) (*places, error) {
	raw, err := json.Marshal(s) // as the validator has read it: with its own idea of a key's spelling
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	g := &places{anchors: make(map[string][]*place)}
	if g.root = g.add(v, 0); g.root == nil {
		return g, nil // true, or false
	}
	g.bases = append(g.bases, g.root)
	for _, p := range g.all {
		if err := errors.Join(g.link(p), g.compile(p)); err != nil {
			return nil, err
		}
	}
	for _, p := range g.all {
		if err := p.search(0); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// compile finds how large the patterns of a schema are. One that cannot be compiled is nothing here: see [Compilable].
func (g *places) compile(p *place) error {
	size := func(pattern string) int {
		if g.tables += tables(pattern); g.tables > maxTables {
			g.patterns = maxPatterns + 1
			return 0
		}
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return 0
		}
		n, runes := instructions(re)
		g.patterns += n + runes
		return n
	}
	if text := p.texts["pattern"]; text != "" {
		p.pattern = size(text)
	}
	if in := p.in["patternProperties"]; in != nil {
		for _, text := range slices.AppendSeq(slices.Clone(in.flat), maps.Keys(in.in)) {
			if p.patterns += size(text); g.patterns > maxPatterns {
				break
			}
		}
	}
	if g.patterns > maxPatterns {
		return errors.New("its patterns are too large")
	}
	return nil
}

// folds begins a part of a pattern that is without regard to case, and wide matches what may be the end of a range of many letters.
var (
	folds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(\?[a-zA-Z]*i`) })
	wide  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[^\x00-\x5b\x5d-\x7f]`) })
)

// tables is at most how many tables of letters (\pL) are put together to read a pattern, each as often as it is written.
func tables(pattern string) int {
	n := strings.Count(pattern, `\p`) + strings.Count(pattern, `\P`)
	if folds().MatchString(pattern) {
		n += foldTables * len(wide().FindAllStringIndex(pattern, maxTables))
	}
	return n
}

// instructions is about how many a pattern has, and how many bounds its classes of letters.
func instructions(re *syntax.Regexp) (n, runes int) {
	n, runes = 1, len(re.Rune)
	if re.Op == syntax.OpLiteral {
		n, runes = len(re.Rune), 0
	}
	for _, sub := range re.Sub {
		k, r := instructions(sub)
		n, runes = n+k, runes+r
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n, runes
}

// checkable returns an error if the validator takes long to check a value. Each schema counts that may apply to one, whatever
// comes of the others.
func (g *places) checkable(v any) error {
	w := &work{maxWork + workOfByte*sizeOf(v)}
	if g.root != nil && !w.check(g.root, v, 1) {
		return ErrLong
	}
	return nil
}

// work is what is left to do, at most.
type work struct{ left int }

// check takes off what it costs to check a value by a schema, and returns false if too little is left. Each error is put into that
// of the level above.
func (w *work) check(p *place, v any, level int) bool {
	cost := 64 + p.own + sizeOf(v)
	if text, ok := v.(string); ok {
		cost += p.pattern * len(text)
	}
	if w.left -= cost * level; w.left < 0 {
		return false
	}
	for _, in := range p.next {
		if !w.check(in, v, level+1) {
			return false
		}
	}
	all := func(v any, in ...*place) bool {
		for _, p := range in {
			if p != nil && !w.check(p, v, level+1) {
				return false
			}
		}
		return true
	}
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			each := []*place{p.in["contains"], p.in["additionalItems"], p.in["unevaluatedItems"]}
			for _, key := range []string{"items", "prefixItems"} {
				in := p.in[key]
				if in != nil && in.list {
					in = in.in[strconv.Itoa(i)]
				}
				each = append(each, in)
			}
			if !all(x, each...) {
				return false
			}
		}
	case map[string]any:
		for name, x := range v {
			each := []*place{p.in["additionalProperties"], p.in["unevaluatedProperties"]}
			if in := p.in["properties"]; in != nil {
				each = append(each, in.in[name])
			}
			if in := p.in["patternProperties"]; in != nil {
				for _, s := range in.in {
					each = append(each, s)
				}
				w.left -= p.patterns * len(name)
			}
			if !all(x, each...) || !all(name, p.in["propertyNames"]) {
				return false
			}
		}
	}
	return true
}

// named is about how many bytes an error has that names the schemas which v holds.
func named(v any) (n int) {
	name := func(v any) {
		n += 32
		m, ok := v.(map[string]any)
		if !ok {
			n += sizeOf(v)
		}
		for _, key := range []string{"$id", "$anchor", "$dynamicAnchor"} {
			text, _ := m[key].(string)
			n += len(text)
		}
	}
	name(v)
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			n += len(key)
			name(x)
		}
	case []any:
		n = 0
		for _, x := range v {
			name(x)
		}
	}
	return n
}

// sizeOf is about how many bytes a value has.
func sizeOf(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		for _, x := range v {
			n += 8 + sizeOf(x)
		}
	case map[string]any:
		for key, x := range v {
			n += 8 + len(key) + sizeOf(x)
		}
	default:
		n = 8
	}
	return n
}

// places are those of one schema.
type places struct {
	root    *place // nil for a schema that takes any value, or none
	all     []*place
	bases   []*place            // the root, and those that have an $id
	anchors map[string][]*place // by name
	edges   int

	patterns int // instructions of all
	tables   int // of all
}

// holders are the keys whose value is a schema, or holds some.
var holders = []string{
	"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies", "contentSchema", "$defs", "definitions",
	"items", "prefixItems", "contains", "additionalItems", "unevaluatedItems", "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
}

// add takes in a value, and returns its place; nil for one that is neither an object nor a list. path is how long that is from the root.
func (g *places) add(v any, path int) *place {
	p := &place{in: make(map[string]*place), texts: make(map[string]string), own: path}
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if p.own += len(key); slices.Contains(holders, key) {
				p.own += named(x)
			} else {
				p.own += sizeOf(x)
			}
			if text, ok := x.(string); ok {
				p.texts[key] = text
			} else if in := g.add(x, path+len(key)); in != nil {
				p.in[key] = in
			} else {
				p.flat = append(p.flat, key)
			}
		}
	case []any:
		p.list = true
		for i, x := range v {
			if in := g.add(x, path); in != nil {
				p.in[strconv.Itoa(i)] = in
			}
		}
	default:
		return nil
	}
	if id := p.texts["$id"]; id != "" {
		g.bases = append(g.bases, p)
		if _, fragment, _ := strings.Cut(id, "#"); fragment != "" { // an anchor of draft 7
			g.anchors[fragment] = append(g.anchors[fragment], p)
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name := p.texts[key]; name != "" {
			g.anchors[name] = append(g.anchors[name], p)
		}
	}
	g.all = append(g.all, p)
	return p
}

// link finds the schemas that apply to a value because p does.
func (g *places) link(p *place) error {
	for _, key := range []string{"not", "if", "then", "else"} {
		if in := p.in[key]; in != nil {
			p.next = append(p.next, in)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"} {
		if list := p.in[key]; list != nil {
			for _, in := range list.in {
				p.next = append(p.next, in)
			}
		}
	}
	for _, key := range []string{"$ref", "$dynamicRef"} {
		if ref := p.texts[key]; ref != "" {
			if err := g.follow(p, ref); err != nil {
				return err
			}
		}
	}
	if g.edges += len(p.next); g.edges > maxEdges {
		return errors.New("too intricate: it has too many references")
	}
	return nil
}

var pointers = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("~1", "/", "~0", "~") })

// follow adds what a reference may mean. What it means nowhere, the validator refuses.
func (g *places) follow(p *place, ref string) error {
	u, err := url.Parse(ref)
	if err != nil {
		return err
	}
	if u.Fragment != "" && !strings.HasPrefix(u.Fragment, "/") {
		p.next = append(p.next, g.anchors[u.Fragment]...)
		return nil
	}
	var steps []string
	if u.Fragment != "" {
		steps = strings.Split(u.Fragment[1:], "/")
	}
	for _, base := range g.bases {
		if !mayMean(u, base.texts["$id"]) {
			continue
		}
		if g.edges++; g.edges > maxEdges {
			return errors.New("too intricate: it has too many references")
		}
		at := base
		for _, s := range steps {
			if s = pointers().Replace(s); at.list { // the validator takes +0 for 0
				n, err := strconv.Atoi(s)
				if err != nil {
					at = nil
					break
				}
				s = strconv.Itoa(n)
			}
			if at = at.in[s]; at == nil {
				break
			}
		}
		if at != nil {
			p.next = append(p.next, at)
		}
	}
	return nil
}

// mayMean reports whether a reference can be to the schema whose $id is id, or into it. The two are not resolved: whatever they are relative
// to, that leaves the last part of their paths as it is, unless it is "." or "..".
func mayMean(ref *url.URL, id string) bool {
	if ref.Path == "" && ref.Host == "" || ref.Opaque != "" {
		return true
	}
	base, err := url.Parse(id)
	if err != nil || base.Opaque != "" {
		return true
	}
	last := func(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
	a, b := last(ref.Path), last(base.Path)
	return a == b || strings.Trim(a, ".") == "" || id != "" && strings.Trim(b, ".") == ""
}

// search looks for ways out of p that lead back to it. level is how many led to it, which keeps the search itself from what it looks for.
func (p *place) search(level int) error {
	switch {
	case p.state == begun:
		return errors.New("it leads to itself before it has looked at anything")
	case p.state == done:
		return nil
	case level > maxInPlace:
		return fmt.Errorf("it is more than %d references deep", maxInPlace)
	}
	p.state = begun
	for _, in := range p.next {
		if err := in.search(level + 1); err != nil {
			return err
		}
		p.depth = max(p.depth, in.depth+1)
	}
	if p.state = done; p.depth > maxInPlace {
		return fmt.Errorf("it is more than %d references deep", maxInPlace)
	}
	return nil
}

// Nested reports whether a value is nested deeper than [MaxNesting].
func Nested(v any) bool { return nested(v, 0) }

func nested(v any, level int) bool {
	if level > MaxNesting {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			if nested(x, level+1) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if nested(x, level+1) {
				return true
			}
		}
	}
	return false
}
