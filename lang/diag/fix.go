package diag

import "slices"

// An Applicability says how sure a fix is, by the levels of rustc.
type Applicability uint8

const (
	// Certain fixes keep the meaning, whatever was meant: check --fix makes them.
	Certain Applicability = iota
	// MaybeIncorrect fixes are a guess that a person or a model has to confirm.
	MaybeIncorrect
	// HasPlaceholders fixes hold text that somebody has to fill in.
	HasPlaceholders
)

// String returns the level as rustc's JSON names it.
func (a Applicability) String() string {
	return [...]string{"MachineApplicable", "MaybeIncorrect", "HasPlaceholders"}[a]
}

// An Edit replaces the text of Span by New. Edits of one fix do not overlap.
type Edit struct {
	File string // as diagnostics name it
	Span Span
	New  string
}

// A Fix is a change that would take a finding away.
type Fix struct {
	Message       string // what it does: "replace \"pytst\" by \"pytest\""
	Applicability Applicability
	Edits         []Edit
}

// WithFix returns d with a further fix of one edit, in the file of d.
func (d Diagnostic) WithFix(a Applicability, message string, span Span, text string) Diagnostic {
	d.Fixes = append(slices.Clip(d.Fixes), Fix{message, a, []Edit{{d.File, span, text}}})
	return d
}
