package routing

import (
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/stdlib"
)

// A Vocabulary describes the words that the dialect starts with. It binds
// nothing: a word of it that no binding has is a fault in a script all the same.
type Vocabulary struct {
	Verbs        []Verb        `toml:"verbs"`
	Nouns        []Noun        `toml:"nouns"`
	Prepositions []Preposition `toml:"prepositions"`
}

// A Verb is an operation.
type Verb struct {
	Name        string      `toml:"name"`
	Weight      string      `toml:"weight"` // "high" or "medium"
	Family      string      `toml:"family"` // operation family
	Effect      plan.Effect `toml:"effect"`
	Preposition string      `toml:"preposition"` // the one that reads best
}

// A Noun is a domain object.
type Noun struct {
	Name   string `toml:"name"`
	Object string `toml:"object"`
}

// A Preposition is one of [lang.Prepositions].
type Preposition struct {
	Name    string `toml:"name"`
	Meaning string `toml:"meaning"`
}

// StandardVocabulary returns the vocabulary of the stdlib. It is shared and must
// not be changed.
var StandardVocabulary = sync.OnceValue(func() *Vocabulary {
	// By way of the tree, which takes a quarter of the time of decoding into the types: every
	// run waits for it.
	root, _ := tomltree.Parse(diag.NewSource("vocabulary.toml", stdlib.Vocabulary()), true)
	v := new(Vocabulary)
	each := func(key string, add func(text func(string) string)) {
		if list := root.Get(key); list != nil {
			for _, item := range list.Items {
				add(func(name string) string {
					if x := item.Get(name); x != nil {
						return x.Text
					}
					return ""
				})
			}
		}
	}
	each("verbs", func(text func(string) string) {
		v.Verbs = append(v.Verbs, Verb{text("name"), text("weight"), text("family"), plan.Effect(text("effect")), text("preposition")})
	})
	each("nouns", func(text func(string) string) { v.Nouns = append(v.Nouns, Noun{text("name"), text("object")}) })
	each("prepositions", func(text func(string) string) {
		v.Prepositions = append(v.Prepositions, Preposition{text("name"), text("meaning")})
	})
	return v
})

// verb returns the entry of a verb, or nil.
func (v *Vocabulary) verb(name string) *Verb {
	for i := range v.Verbs {
		if v.Verbs[i].Name == name {
			return &v.Verbs[i]
		}
	}
	return nil
}
