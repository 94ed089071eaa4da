package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of what a server may make the validator do. It recurses into every schema that applies to a value and into every value
// of a value, and knows neither time nor depth.
const (
	maxInPlace = 100     // schemas that apply to one value, each because of the one before it
	maxSteps   = 1 << 16 // ways from a schema to those that apply to the same value
	maxEdges   = 1 << 20 // of the graph of those
	maxNesting = 100     // of arguments
)

// A place is an object or a list of a schema's JSON.
type place struct {
	in    map[string]*place // by key or index
	texts map[string]string // members that are strings

	next  []*place // schemas that apply to the same value; nil before they are looked for
	state int      // of the search: new, begun, done
	steps int      // ways out of here
	depth int      // length of the longest of them
}

const (
	begun = 1 + iota
	done
)

// bounded returns an error if a schema leads to itself without a step into the value ({"$ref": "#"}), which the validator follows
// until its stack is full, or if it leads to more than maxSteps schemas. What a reference means where a schema has several bases
// ($id) is not worked out: it may mean any, and a schema that may lead to itself is refused.
//
// Sources: JSON Schema Core 2020-12, sections 8.2 and 10.2; RFC 6901 for the pointers.
func bounded(s *jsonschema.Schema) error {
	raw, err := json.Marshal(s) // as the validator has read it: with its own idea of a key's spelling
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	g := &places{anchors: make(map[string][]*place)}
	root := g.add(v)
	if root == nil {
		return nil // true, or false
	}
	g.bases = append(g.bases, root)
	for _, p := range g.all {
		if err := g.link(p); err != nil {
			return err
		}
	}
	for _, p := range g.all {
		if err := p.search(0); err != nil {
			return err
		}
	}
	return nil
}

// places are those of one schema.
type places struct {
	all     []*place
	bases   []*place            // the root, and those that have an $id
	anchors map[string][]*place // by name
	edges   int
}

// add takes in a value, and returns its place; nil for one that is neither an object nor a list.
func (g *places) add(v any) *place {
	p := &place{in: make(map[string]*place), texts: make(map[string]string)}
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if text, ok := x.(string); ok {
				p.texts[key] = text
			} else if in := g.add(x); in != nil {
				p.in[key] = in
			}
		}
	case []any:
		for i, x := range v {
			if in := g.add(x); in != nil {
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
		if g.edges++; g.edges > maxEdges {
			return errors.New("too intricate: it has too many references")
		}
		at := base
		for _, s := range steps {
			if at = at.in[strings.NewReplacer("~1", "/", "~0", "~").Replace(s)]; at == nil {
				break
			}
		}
		if at != nil {
			p.next = append(p.next, at)
		}
	}
	return nil
}

// search counts the ways out of p. level is how many led to it, which keeps the search itself from what it looks for.
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
	p.steps = 1
	for _, in := range p.next {
		if err := in.search(level + 1); err != nil {
			return err
		}
		p.depth = max(p.depth, in.depth+1)
		if p.steps += in.steps; p.steps > maxSteps {
			return fmt.Errorf("it leads to more than %d others", maxSteps)
		}
	}
	if p.state = done; p.depth > maxInPlace {
		return fmt.Errorf("it is more than %d references deep", maxInPlace)
	}
	return nil
}

// nested reports whether a value is nested deeper than arguments may be.
func nested(v any, level int) bool {
	if level > maxNesting {
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
