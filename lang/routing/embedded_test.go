package routing_test

import (
	"reflect"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/lang/tomltree"
	"github.com/command-dialect/dialect/stdlib"
)

// What is embedded is read without the decoder's judgement: here it gives it.
func TestEmbedded(t *testing.T) {
	var want routing.Vocabulary
	if err := toml.Unmarshal(stdlib.Vocabulary(), &want); err != nil {
		t.Fatal(err)
	}
	if got := routing.StandardVocabulary(); !reflect.DeepEqual(*got, want) {
		t.Errorf("the vocabulary is\n%+v\nwant\n%+v", *got, want)
	}
	for _, name := range stdlib.Packs() {
		text, _ := stdlib.Pack(name)
		if _, faults := tomltree.Parse(diag.NewSource(name, text), false); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
		}
	}
}
