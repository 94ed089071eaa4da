package edit

import (
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/routing"
)

// An Item is a text that may stand at a [Spot].
type Item struct {
	Label string
	Text  string       // what replaces the bytes from Spot.Start to Spot.End
	Key   *routing.Key // the key that it is; nil for a value or a header
	Value bool         // it is a value
}

// Complete returns what may stand at s in text: headers, the keys that the table does not have yet, or the
// values of a key. m is the matrix, for the names of bindings; it may be nil.
func Complete(m *routing.Matrix, text []byte, s Spot) (list []Item) {
	switch {
	case s.Header:
		for _, p := range routing.Places() {
			if path := p.Path(); path != "" && p != routing.InExpect && p != routing.InControl {
				list = append(list, Item{Label: path, Text: strings.TrimSuffix(path, "NAME")})
			}
		}
	case s.Key == "" && !s.Quoted:
		assigned := strings.HasPrefix(strings.TrimLeft(string(text[s.End:]), " \t"), "=")
		for _, k := range routing.KeysIn(s.Place) {
			header := s.Place == routing.InFile && (k.Type == routing.Table || k.Type == routing.Tables)
			if header || slices.Contains(s.Taken, k.Name) {
				continue
			}
			item := Item{Label: k.Name, Text: k.Name + " = ", Key: &k}
			if assigned {
				item.Text = k.Name
			}
			list = append(list, item)
		}
	case s.Key != "":
		for _, k := range routing.KeysIn(s.Place) {
			if k.Name == s.Key {
				return values(m, &k, s)
			}
		}
	}
	return list
}

func values(m *routing.Matrix, k *routing.Key, s Spot) (list []Item) {
	words := k.Values
	switch {
	case k.Type == routing.Boolean && !s.Quoted:
		return []Item{{Label: "true", Text: "true", Value: true}, {Label: "false", Text: "false", Value: true}}
	case k.Binding && m != nil:
		for _, b := range m.Bindings {
			words = append(words, b.Name)
		}
	}
	array := k.Type == routing.Texts || k.Type == routing.Words
	for _, w := range words {
		item := Item{Label: w, Text: w, Value: true}
		if !s.Quoted {
			item.Text = `"` + w + `"`
			if array && !s.Array {
				item.Text = "[" + item.Text + "]"
			}
		}
		list = append(list, item)
	}
	return list
}

// KeyAt returns the key that is written at offset, and the bytes of its name; ok is false if there is none.
func KeyAt(text []byte, offset int) (k routing.Key, start, end int, ok bool) {
	s, ok := At(text, offset)
	if !ok || s.Key != "" || s.Quoted || s.Start == s.End {
		return k, 0, 0, false
	}
	word := string(text[s.Start:s.End])
	if s.Header {
		if word, _, _ = strings.Cut(word, "."); s.Start+len(word) < offset {
			return k, 0, 0, false // at a NAME
		}
		s.Place, s.End = routing.InFile, s.Start+len(word)
	}
	for _, k := range routing.KeysIn(s.Place) {
		if k.Name == word {
			return k, s.Start, s.End, true
		}
	}
	return k, 0, 0, false
}
