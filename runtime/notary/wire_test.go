package notary

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/command-dialect/dialect/runtime/engine"
)

// populate gives each exported member of a struct a value other than zero.
func populate(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case v.Type().Field(i).Anonymous:
			populate(f)
		case !f.CanSet():
		case f.Type() == reflect.TypeFor[time.Time]():
			f.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		case f.Kind() == reflect.Struct:
			populate(f)
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case f.Kind() == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case f.Kind() == reflect.Array:
			f.Index(0).SetUint(1)
		case f.Kind() == reflect.String:
			f.SetString("failed") // a verdict, too
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.CanInt():
			f.SetInt(1)
		}
	}
}

// compare tells which members of two structs differ, but for some.
func compare(t *testing.T, want, got reflect.Value, but map[string]bool) {
	t.Helper()
	for i := range want.NumField() {
		switch f := want.Type().Field(i); {
		case f.Anonymous:
			compare(t, want.Field(i), got.Field(i), but)
		case f.IsExported() && !but[f.Name] && !reflect.DeepEqual(want.Field(i).Interface(), got.Field(i).Interface()):
			t.Errorf("%s is %+v, and was %+v", f.Name, got.Field(i), want.Field(i))
		}
	}
}

// What a client learns of a run is all that an engine says of one, but for what the client has itself and what only a receipt is made of.
func TestWhole(t *testing.T) {
	over := func(from, to any) {
		text, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var r, again engine.Result
	populate(reflect.ValueOf(&r).Elem())
	var w result
	over(wireResult(&r), &w)
	w.into(&again)
	compare(t, reflect.ValueOf(r), reflect.ValueOf(again), map[string]bool{"Step": true, "Members": true, "Claim": true})
	var o engine.Outcome
	populate(reflect.ValueOf(&o).Elem())
	var x outcome
	over(wireOutcome(&o), &x)
	compare(t, reflect.ValueOf(o), reflect.ValueOf(*x.outcome(o.Plan, o.Results)), nil)
}
