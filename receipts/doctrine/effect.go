package doctrine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/command-dialect/dialect/receipts"
)

// MaxResult bounds what a tool may write about itself, in bytes.
const MaxResult = 256 << 10

// MaxPreview is how many runes a receipt has of the preview of a handle.
const MaxPreview = 200

// A Result is what a tool claims of itself: by the file that DIALECT_RESULT names, or
// as the structured answer of an MCP tool.
type Result struct {
	Status    receipts.Status  // empty if it says none
	Result    string           // compact JSON; empty if there is none
	Effects   string           // likewise
	Handle    *receipts.Handle // nil if there is none
	Reason    string           // why it is not configured
	NextSteps []string

	receipt object
}

// handleKeys are the members of an effect receipt.
var handleKeys = []string{"route", "type", "operation", "external_id", "verifiable_url", "preview", "error"}

// ParseResult parses what a tool wrote. The document is an object. An effect receipt,
// which is the handle of what a mutating tool did, stands at its top, or under the
// member receipt beside the tool's payload. Nothing that the tool wrote is shortened, in the result or in the error: a secret in it is found only
// as long as it is whole. Where there is neither a result nor an
// effect receipt, the whole object is the result. A member that is null is absent; a
// status "success" is read as succeeded.
func ParseResult(text []byte) (*Result, error) {
	if len(text) > MaxResult {
		return nil, fmt.Errorf("the tool's result has %d bytes; at most %d", len(text), MaxResult)
	}
	v, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the tool's result cannot be parsed: %w", err)
	}
	o, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("the tool's result is %s, not an object", typeName(v))
	}
	r := &Result{receipt: o}
	top := o
	if inner, there := o.get("receipt"); there && inner != nil {
		if top, ok = inner.(object); !ok {
			return nil, fmt.Errorf("the member receipt is %s, not an object", typeName(inner))
		}
	}
	if err := r.handle(top); err != nil {
		return nil, err
	}
	if r.Status == "" {
		if err := r.status(o); err != nil {
			return nil, err
		}
	}
	for name, to := range map[string]*string{"result": &r.Result, "effects": &r.Effects} {
		for _, from := range []object{top, o} {
			if v, there := from.get(name); there && v != nil && *to == "" {
				*to = compact(v)
			}
		}
	}
	if r.Result == "" && r.Effects == "" && r.Handle == nil && r.Status == "" {
		r.Result = compact(o)
	}
	r.guidance(o, top)
	return r, nil
}

// No returns the status of an object that is not a proper result, if it says that the tool failed or is
// not configured; empty if it says neither.
func No(text []byte) receipts.Status {
	var o struct {
		Status  any
		Receipt any
	}
	if json.Unmarshal(text, &o) != nil {
		return ""
	}
	inner, _ := o.Receipt.(map[string]any)
	for _, v := range []any{o.Status, inner["status"]} {
		s, _ := v.(string)
		switch s := receipts.Status(strings.ToLower(s)); s {
		case receipts.StatusFailed, receipts.NotConfigured:
			return s
		}
	}
	return ""
}

func (r *Result) status(o object) error {
	v, there := o.get("status")
	if !there || v == nil {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		s = typeName(v)
	}
	switch status := receipts.Status(s); status {
	case "success":
		r.Status = receipts.Succeeded
	case receipts.Succeeded, receipts.StatusFailed, receipts.NotConfigured, receipts.Pending:
		r.Status = status
	default:
		return fmt.Errorf("the status %q is not one of success, succeeded, pending, failed, not_configured", s)
	}
	return nil
}

// handle reads the members of an effect receipt. Nothing is stored for what is absent.
func (r *Result) handle(o object) error {
	h := new(receipts.Handle)
	to := []*receipts.Datum{&h.Route, &h.Type, &h.Operation, &h.ExternalID, &h.VerifiableURL, &h.Preview, &h.Error}
	found := false
	for i, name := range handleKeys {
		v, there := o.get(name)
		if !there || v == nil {
			continue
		}
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("the member %s is %s, not a string", name, typeName(v))
		}
		*to[i], found = receipts.Text(s), true
	}
	// A type or an error alone can be anything; a handle says where it leads.
	if !found || h.Route.IsZero() && h.Operation.IsZero() && h.ExternalID.IsZero() && h.VerifiableURL.IsZero() {
		return nil
	}
	if err := r.status(o); err != nil {
		return err
	}
	h.Status = receipts.Text(string(r.Status))
	if !h.Error.IsZero() && r.Status != "" && r.Status != receipts.StatusFailed {
		return errors.New("an effect receipt has an error, and its status is not failed")
	}
	r.Handle = h
	return nil
}

// guidance reads why something is not configured, from the top or from result.
func (r *Result) guidance(objects ...object) {
	for _, o := range objects {
		if v, _ := o.get("result"); v != nil {
			if in, ok := v.(object); ok {
				objects = append(objects, in)
			}
		}
	}
	for _, o := range objects {
		if v, _ := o.get("reason"); r.Reason == "" {
			r.Reason, _ = v.(string)
		}
		if v, _ := o.get("next_steps"); len(r.NextSteps) == 0 {
			items, _ := v.([]any)
			for _, item := range items {
				if s, ok := item.(string); ok {
					r.NextSteps = append(r.NextSteps, s)
				}
			}
		}
	}
}

// Missing returns those of the expected fields, as dotted paths, that the tool did not
// write.
func (r *Result) Missing(expected []string) []string {
	var missing []string
	for _, path := range expected {
		v, there := r.receipt.find(path)
		if inner, _ := r.receipt.get("receipt"); !there || v == nil {
			if in, ok := inner.(object); ok {
				v, there = in.find(path)
			}
		}
		if !there || v == nil {
			missing = append(missing, path)
		}
	}
	return missing
}
