// Package doctrine judges receipts that tools write of themselves: by the eight rules
// of the receipt doctrine ([Lint]), and as the handles of mutating tools
// ([ParseResult]). It judges form alone: that a receipt is well made says nothing of
// whether it is true.
//
// # The rules
//
//	1  status_must_be_terminal         blocker  succeeded, failed or not_configured
//	2  result_must_be_object           blocker
//	3  effects_must_be_object          blocker  it may be empty
//	4  success_requires_data           blocker  an empty result, unless the status is failed or not_configured
//	5  receipt_field_missing           blocker  each expected field is there and not null
//	6  not_configured_needs_guidance   warning  reason and next_steps, in result or beside it
//	7  effects_must_be_well_formed     warning  db_writes, messages_sent, files_written, external_calls, errors
//	8  error_contradicts_success       warning  a succeeded receipt has no error
//
// A receipt is valid if no blocker is violated. The score is 8 less the number of
// rules that are violated, however often, and says "(failed)" if the receipt is not
// valid. Where the worked examples of the doctrine disagree with its rules the
// examples win: an empty result violates rule 4 also where the status is pending.
package doctrine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Severity is blocker or warning.
type Severity string

// The severities.
const (
	Blocker Severity = "blocker" // fails the validation
	Warning Severity = "warning" // suspicious, but allowed
)

// A Violation is one rule that a receipt does not keep.
type Violation struct {
	Rule     string   `json:"rule"`
	Expected string   `json:"expected"`
	Actual   string   `json:"actual"`
	Severity Severity `json:"severity"`
	Fix      string   `json:"fix"`
}

// A Report is the judgement of a receipt; its JSON is the doctrine's output.
type Report struct {
	Valid      bool                `json:"valid"`
	Violations []Violation         `json:"violations"`
	Score      string              `json:"doctrine_compliance_score"`
	Status     StatusValidation    `json:"status_validation"`
	Structure  StructureValidation `json:"structure_validation"`
	Fields     FieldValidation     `json:"field_validation"`
}

// StatusValidation is what a [Report] says of the status.
type StatusValidation struct {
	IsTerminal   bool   `json:"is_terminal"`
	IsValidValue bool   `json:"is_valid_value"`
	Status       string `json:"status"` // empty if it is absent or no string
}

// StructureValidation is what a [Report] says of the members of the receipt.
type StructureValidation struct {
	HasStatus       bool `json:"has_status"`
	HasResult       bool `json:"has_result"`
	HasEffects      bool `json:"has_effects"`
	ResultIsObject  bool `json:"result_is_object"`
	EffectsIsObject bool `json:"effects_is_object"`
}

// FieldValidation is what a [Report] says of the expected fields.
type FieldValidation struct {
	AllPresent bool     `json:"all_expected_fields_present"`
	Missing    []string `json:"missing_fields"`
}

// A Refusal says why there is nothing to judge.
type Refusal struct {
	Refused       bool   `json:"refused"` // true
	Reason        string `json:"reason"`
	Fix           string `json:"fix"`
	Documentation string `json:"documentation"`
}

func refuse(fix, reason string, args ...any) *Refusal {
	return &Refusal{true, fmt.Sprintf(reason, args...), fix, "See /docs/CONSTRAINTS.md for receipt doctrine"}
}

var (
	toolName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`) })
	fieldPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`)
	})
)

// terminal are the statuses that a receipt may have.
var terminal = []string{"succeeded", "failed", "not_configured"}

// Lint judges the doctrine's input: an object with receipt, tool_name and
// expected_receipt_fields. Exactly one of the two answers is not nil. Without a
// registry it is not known whether the tool exists; with one, the tool must be in it,
// and expected fields that differ from its own are refused.
func Lint(input []byte, registry *Registry) (*Report, *Refusal) {
	const shape = "Pass an object with receipt, tool_name and expected_receipt_fields"
	v, err := parse(input)
	if err != nil {
		return nil, refuse(shape, "Input cannot be parsed (%s)", clip(err.Error()))
	}
	in, ok := v.(object)
	if !ok {
		return nil, refuse(shape, "Input is not a valid object (received: %s)", typeName(v))
	}
	for _, m := range in {
		if !slices.Contains([]string{"receipt", "tool_name", "expected_receipt_fields"}, m.name) {
			return nil, refuse("Remove it, or move it into the receipt", "Input has an unknown member (%s)", clip(m.name))
		}
	}
	receipt, _ := in.get("receipt")
	r, ok := receipt.(object)
	if !ok {
		return nil, refuse("Ensure handler returns a receipt object with status, result, effects",
			"Receipt is not a valid object (received: %s)", typeName(receipt))
	}
	for _, name := range []string{"tool_name", "expected_receipt_fields"} {
		if _, ok := in.get(name); !ok {
			return nil, refuse(shape, "Required input is missing (%s)", name)
		}
	}
	tv, _ := in.get("tool_name")
	tool, ok := tv.(string)
	if !ok || !toolName().MatchString(tool) {
		return nil, refuse("Use the domain.method format (e.g., leads.create)", "Tool name is malformed (received: %s)", show(tv))
	}
	ev, _ := in.get("expected_receipt_fields")
	expected, refusal := fields(ev)
	if refusal != nil {
		return nil, refusal
	}
	if registry != nil {
		want, known := registry.Fields(tool)
		if !known {
			return nil, refuse("Add the tool to tools.registry.json, or correct its name", "Tool is not in the registry (tool_name: %s)", tool)
		}
		if !sameSet(want, expected) {
			return nil, refuse("Pass the fields that the registry defines for the tool",
				"Expected fields do not match the registry (received: %s; registry: %s)", list(expected), list(want))
		}
	}
	return judge(r, expected), nil
}

// fields reads a list of field paths.
func fields(v any) ([]string, *Refusal) {
	items, ok := v.([]any)
	if !ok {
		return nil, refuse("Pass an array of dotted paths (e.g., [\"result.lead_id\"])", "Expected fields are not an array (received: %s)", typeName(v))
	}
	expected := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok || !fieldPath().MatchString(s) {
			return nil, refuse("Write each field as a dotted path (e.g., result.lead_id)", "Expected field is not a dotted path (received: %s)", show(item))
		}
		expected = append(expected, s)
	}
	return expected, nil
}

func list(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	return clip(strings.Join(s, ", "))
}

func sameSet(a, b []string) bool {
	in := func(list []string) func(string) bool {
		return func(s string) bool { return !slices.Contains(list, s) }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// A judgement gathers violations.
type judgement struct {
	Report
	rules map[string]bool
}

func (j *judgement) violate(severity Severity, rule, expected, actual, fix string) {
	j.Violations = append(j.Violations, Violation{rule, expected, actual, severity, fix})
	j.rules[rule] = true
	if severity == Blocker {
		j.Valid = false
	}
}

func judge(r object, expected []string) *Report {
	j := &judgement{Report{Valid: true, Violations: []Violation{}, Fields: FieldValidation{AllPresent: true, Missing: []string{}}}, make(map[string]bool)}
	sv, hasStatus := r.get("status")
	status, isString := sv.(string)
	rv, hasResult := r.get("result")
	result, resultIsObject := rv.(object)
	ev, hasEffects := r.get("effects")
	effects, effectsIsObject := ev.(object)
	ok := slices.Contains(terminal, status)
	j.Status = StatusValidation{ok, ok, status}
	j.Structure = StructureValidation{hasStatus, hasResult, hasEffects, resultIsObject, effectsIsObject}

	if !ok {
		actual, fix := clip(status), fmt.Sprintf("Change status to a terminal value. '%s' is not allowed in receipts.", clip(status))
		if !isString {
			actual, fix = typeName(sv), "Set status to a terminal value."
			if !hasStatus {
				actual = "undefined"
			}
		}
		j.violate(Blocker, "status_must_be_terminal", strings.Join(terminal, "|"), actual, fix)
	}
	if !resultIsObject {
		j.violate(Blocker, "result_must_be_object", "result object", absent(rv, hasResult), "Add a 'result' object to the receipt.")
	}
	if !effectsIsObject {
		j.violate(Blocker, "effects_must_be_object", "effects object (can be empty)", absent(ev, hasEffects), "Add an 'effects' object to the receipt; it can be empty.")
	}
	if resultIsObject && len(result) == 0 && status != "failed" && status != "not_configured" {
		j.violate(Blocker, "success_requires_data", "result with at least one field", "empty result object",
			fmt.Sprintf("Add fields to result (e.g., %s) to prove operation succeeded.", example(expected)))
	}
	for _, path := range expected {
		v, there := r.find(path)
		if there && v != nil {
			continue
		}
		j.Fields.AllPresent = false
		j.Fields.Missing = append(j.Fields.Missing, path)
		parent, name := "receipt", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			parent, name = path[:i], path[i+1:]
		}
		j.violate(Blocker, "receipt_field_missing", path, absent(v, there),
			fmt.Sprintf("Add '%s' field to %s object as required by registry.", name, parent))
	}
	if status == "not_configured" {
		j.guidance(r, result)
	}
	j.effects(effects, status)
	if e, there := r.get("error"); there && e != nil && status == "succeeded" {
		j.violate(Warning, "error_contradicts_success", "no error on a succeeded receipt", show(e), "Remove 'error', or change status to 'failed'.")
	}

	j.Score = fmt.Sprintf("%d/8", 8-len(j.rules))
	if !j.Valid {
		j.Score += " (failed)"
	}
	return &j.Report
}

// example is the field that a fix names.
func example(expected []string) string {
	for _, path := range expected {
		if name, ok := strings.CutPrefix(path, "result."); ok {
			return name
		}
	}
	return "id"
}

// guidance is rule 6. What helps is accepted in result or beside it: tools do both.
func (j *judgement) guidance(r, result object) {
	const rule = "not_configured_needs_guidance"
	either := func(name string) any {
		if v, ok := result.get(name); ok && v != nil {
			return v
		}
		v, _ := r.get(name)
		return v
	}
	if s, ok := either("reason").(string); !ok || strings.TrimSpace(s) == "" {
		j.violate(Warning, rule, "reason that explains why", show(either("reason")), "Add 'reason' to result.")
	}
	steps, ok := either("next_steps").([]any)
	if !ok || len(steps) == 0 || slices.ContainsFunc(steps, func(v any) bool { _, ok := v.(string); return !ok }) {
		j.violate(Warning, rule, "next_steps as array of strings", show(either("next_steps")), "Add 'next_steps' to result: an array of strings.")
	}
	if v, there := result.get("status"); there && v != "not_configured" {
		j.violate(Warning, rule, "result.status \"not_configured\"", show(v), "Set result.status to 'not_configured'.")
	}
}

// effects is rule 7.
func (j *judgement) effects(effects object, status string) {
	const rule = "effects_must_be_well_formed"
	for _, name := range []string{"db_writes", "messages_sent", "files_written", "external_calls"} {
		v, there := effects.get(name)
		if !there {
			continue
		}
		items, ok := v.([]any)
		if !ok {
			j.violate(Warning, rule, "effects."+name+" as array", typeName(v), "Make effects."+name+" an array.")
			continue
		}
		for i, item := range items {
			if name != "db_writes" {
				break
			}
			where := fmt.Sprintf("effects.db_writes[%d]", i)
			w, ok := item.(object)
			if !ok {
				j.violate(Warning, rule, where+" as object with table, action, id", typeName(item), "Make "+where+" an object.")
				continue
			}
			for _, key := range []string{"table", "action", "id"} {
				if v, there := w.get(key); !there || v == nil {
					j.violate(Warning, rule, where+"."+key, absent(v, there), fmt.Sprintf("Add '%s' to %s.", key, where))
				}
			}
		}
	}
	if status == "failed" {
		if v, there := effects.get("errors"); !isArray(v) {
			j.violate(Warning, rule, "effects.errors as array", absent(v, there), "Add 'errors' to effects: an array that says what went wrong.")
		}
	}
}

func isArray(v any) bool { _, ok := v.([]any); return ok }

// absent names what is in the place of a member.
func absent(v any, there bool) string {
	if !there {
		return "undefined"
	}
	return typeName(v)
}

// JSON returns a [*Report] or [*Refusal] as the doctrine prints it: indented by two
// spaces, the list of missing fields on one line.
func JSON(answer any) []byte {
	const none = `"missing_fields": null`
	fields := `"missing_fields": []`
	if r, ok := answer.(*Report); ok {
		quoted := make([]string, len(r.Fields.Missing))
		for i, f := range r.Fields.Missing {
			quoted[i] = compact(f)
		}
		fields = `"missing_fields": [` + strings.Join(quoted, ", ") + `]`
		c := *r
		c.Fields.Missing = nil
		answer = &c
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(answer) // plain structs
	// The list is the last member; no text before it can hold an unescaped quote.
	i := bytes.LastIndex(b.Bytes(), []byte(none))
	if i < 0 {
		return b.Bytes()
	}
	return slices.Concat(b.Bytes()[:i], []byte(fields), b.Bytes()[i+len(none):])
}
