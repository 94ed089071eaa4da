package verify

import (
	"testing"

	"github.com/command-dialect/dialect/receipts"
)

// TestClean asks where the members of a gate ran, and of a clean checkout alone.
func TestClean(t *testing.T) {
	clean := func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} }
	open := func(r *receipts.Receipt) { r.Clean = &receipts.Clean{Unconfined: true} }
	shared := func(r *receipts.Receipt) {
		r.Clean = &receipts.Clean{Lowered: []receipts.Datum{receipts.Text(".venv")}}
	}
	builtin := func(r *receipts.Receipt) { of("validate")(r); r.Kind = "builtin" }
	pass := func(m *maker, change ...func(*receipts.Receipt)) { m.gate([]receipts.Hash{m.receipt(change...)}) }
	for name, c := range map[string]struct {
		log         func(m *maker)
		plain, asks Verdict
		ground      receipts.Ground
		inPlace     int
	}{
		"in place":                          {func(m *maker) { pass(m) }, Verified, Missing, receipts.InPlace, 0},
		"clean":                             {func(m *maker) { pass(m, clean) }, Verified, Verified, receipts.InClean, 0},
		"unconfined":                        {func(m *maker) { pass(m, open) }, Verified, Missing, receipts.Unconfined, 0},
		"shared":                            {func(m *maker) { pass(m, shared) }, Verified, Missing, receipts.InPlace, 0},
		"one of two in place":               {func(m *maker) { m.gate([]receipts.Hash{m.receipt(clean), m.receipt(of("other"))}) }, Verified, Missing, receipts.InPlace, 0},
		"and a built-in":                    {func(m *maker) { m.gate([]receipts.Hash{m.receipt(clean), m.receipt(builtin)}) }, Verified, Verified, receipts.InClean, 0},
		"an older gate":                     {func(m *maker) { pass(m, clean); pass(m) }, Verified, Verified, receipts.InClean, 0},
		"failed in place before":            {func(m *maker) { m.receipt(failing); pass(m, clean) }, Flaky, Verified, receipts.InClean, 1},
		"failed in place after":             {func(m *maker) { pass(m, clean); m.receipt(failing) }, Failed, Verified, receipts.InClean, 1},
		"failed unconfined after":           {func(m *maker) { pass(m, clean); m.receipt(failing, open) }, Failed, Verified, receipts.InClean, 1},
		"failed after, with something lent": {func(m *maker) { pass(m, clean); m.receipt(failing, shared) }, Failed, Failed, receipts.InClean, 0},
		"passed after that, with it":        {func(m *maker) { pass(m, clean); m.receipt(failing, shared); m.receipt(shared) }, Failed, Failed, receipts.InClean, 0},
		"failed clean before":               {func(m *maker) { m.receipt(failing, clean); pass(m, clean) }, Flaky, Flaky, receipts.InClean, 0},
		"failed clean after":                {func(m *maker) { pass(m, clean); m.receipt(failing, clean) }, Failed, Failed, receipts.InClean, 0},
		"failed clean, passed in place":     {func(m *maker) { m.receipt(failing, clean); pass(m) }, Flaky, Flaky, receipts.InPlace, 0},
		"and in place after it":             {func(m *maker) { pass(m, clean); m.receipt(failing, clean); m.receipt() }, Failed, Failed, receipts.InClean, 0},
		"a failure in place hides no other": {func(m *maker) { pass(m, clean); m.receipt(failing, clean); m.receipt(failing) }, Failed, Failed, receipts.InClean, 1},
	} {
		m := newMaker(t)
		c.log(m)
		if res := ask(t, m.open(Options{}), asked(strict)); res.Verdict != c.plain {
			t.Errorf("%s: %s\nwant %s", name, told(res), c.plain)
		}
		res := ask(t, m.open(Options{}), asked(strict, func(q *Query) { q.Clean = true }))
		if res.Verdict != c.asks || res.InPlace != c.inPlace {
			t.Errorf("%s, clean: %s, %d in place\nwant %s, %d", name, told(res), res.InPlace, c.asks, c.inPlace)
		}
		if res.Ground != c.ground {
			t.Errorf("%s: it ran %q, want %q", name, res.Ground, c.ground)
		}
	}
}

// TestCleanBuiltins has a gate over nothing that looks at a file.
func TestCleanBuiltins(t *testing.T) {
	m := newMaker(t)
	m.gate([]receipts.Hash{m.receipt(func(r *receipts.Receipt) { r.Kind = "builtin" })})
	if res := ask(t, m.open(Options{}), asked(nothing, func(q *Query) { q.Clean = true })); res.Verdict != Missing {
		t.Errorf("a gate over built-ins alone: %s", told(res))
	}
}

// TestCleanInner has a command fail after its pass in a run that a line in a clean checkout started: its record does not say where it ran.
func TestCleanInner(t *testing.T) {
	clean := func(r *receipts.Receipt) { r.Clean = &receipts.Clean{} }
	for name, c := range map[string]struct {
		line     func(*receipts.Receipt)
		below    string // the step that started the run of the failure
		want     Verdict
		inPlace  int
		failures int
	}{
		"below the line":        {clean, "r-1/1", Failed, 0, 1},
		"below a line in place": {func(*receipts.Receipt) {}, "r-1/1", Missing, 1, 0},
		"in a run of its own":   {clean, "", Verified, 1, 0},
	} {
		m := newMaker(t)
		m.run("r-2", func(r *receipts.Run) { r.Parent = c.below })
		g := m.inside(m.receipt(started))
		m.receipt(started, failing)
		m.outer([]receipts.Hash{g}, c.line)
		res := ask(t, m.open(Options{}), asked(nothing, strict, func(q *Query) { q.Clean = true }))
		if res.Verdict != c.want || res.InPlace != c.inPlace || res.Failures != c.failures {
			t.Errorf("%s: %s, %d in place, %d failures", name, told(res), res.InPlace, res.Failures)
		}
	}
}
