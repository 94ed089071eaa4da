package verify

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// A record that the process says it knows spares parsing where its bytes are those of the log, and decides nothing where they are not.
func TestKnown(t *testing.T) {
	made := func(of recorder) receipts.Record {
		rec, err := of.Record()
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	body := func(sha receipts.Hash, m *maker) *receipts.Receipt {
		e, err := m.open(Options{}).Entry(sha.String())
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Parse()
		if err != nil {
			t.Fatal(err)
		}
		return v.(*receipts.Receipt)
	}
	m := newMaker(t)
	passed, failed := m.receipt(), m.receipt(failing)
	good := made(body(passed, m))

	m.log.recs[1].Known = good // and the log says that it failed
	for _, id := range []receipts.Hash{passed, failed} {
		d, err := m.open(Options{}).Validate(receipts.LevelHash, id.String())
		if err != nil || d.Passed() != (id == passed) {
			t.Errorf("with the record of another row: %+v, %v", d, err)
		}
	}
	if r := body(failed, m); r.Status == receipts.Succeeded {
		t.Error("what the process says that it knows was taken for the record")
	}

	m.log.recs[0].Known = good
	if v, err := m.log.recs[0].record().Parse(); err != nil || v != any(mustParse(t, good)) {
		t.Errorf("a record that is known was parsed anew: %v", err)
	}
	other := good
	other.Kind = receipts.KindRun
	m.log.recs[0].Known = other
	if got := m.log.recs[0].record(); got.Kind != receipts.KindReceipt {
		t.Errorf("the kind is %q", got.Kind)
	}
}

func mustParse(t *testing.T, r receipts.Record) any {
	t.Helper()
	v, err := r.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
