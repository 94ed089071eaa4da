package routing

import (
	"slices"

	"github.com/command-dialect/dialect/lang/tomltree"
)

// AddKey adds a key of text to the table of keys until the returned function is called.
func AddKey(k Key, got func(text string)) (remove func()) {
	before := keys
	k.apply = func(r *reader, _ *target, v *tomltree.Value, where string) { got(r.String(v, where)) }
	keys = append(slices.Clone(keys), k)
	return func() { keys = before }
}
