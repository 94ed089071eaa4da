package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/install/jsonc"
)

// group is what a client runs at an event: the shape that all of them took over from Claude Code.
type group struct {
	Matcher string `json:"matcher,omitempty"`
	Hooks   []line `json:"hooks"`
}

type line struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// compact is v as JSON on one line, without escapes of HTML.
func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // of strings and numbers
	return bytes.TrimSpace(b.Bytes())
}

// groupOf is the entry of an event.
func (c Client) groupOf(program string, l Level, e event) []byte {
	return compact(group{e.matcher, []line{{"command", c.Command(program, l, e.name), c.timeout}}})
}

// add returns a configuration with our lines, and only those of this call. Nothing else of its bytes changes, but for the white
// space and commas around them. An empty text becomes a configuration of our own.
func (c Client) add(text []byte, program string, l Level) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
	} else if c.complete(text, program, l) {
		return text, nil
	} else {
		clean, err := c.remove(text)
		if err != nil {
			return nil, err
		}
		text = clean
	}
	root, top, err := object(text)
	if err != nil {
		return nil, err
	}
	d := jsonc.NewLayout(text)
	hooks := jsonc.Member(top, "hooks")
	if hooks == nil {
		var b bytes.Buffer
		for i, e := range c.events {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%s:[%s]", compact(e.name), c.groupOf(program, l, e))
		}
		d.AppendMember(top, "hooks", []byte("{"+b.String()+"}"), "")
		return root.Pack(), nil
	}
	events, ok := hooks.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New(`its "hooks" is not an object`)
	}
	for _, e := range c.events {
		list := jsonc.Member(events, e.name)
		if list == nil {
			d.AppendMember(events, e.name, fmt.Appendf(nil, "[%s]", c.groupOf(program, l, e)), d.Unit)
			continue
		}
		array, ok := list.Value.(*hujson.Array)
		if !ok {
			return nil, fmt.Errorf("its hooks of %q are not an array", e.name)
		}
		d.AppendElement(array, c.groupOf(program, l, e), d.Unit+d.Unit)
	}
	return root.Pack(), nil
}

// object parses a configuration.
func object(text []byte) (root hujson.Value, top *hujson.Object, err error) {
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return root, nil, &manual{"it begins with a byte order mark, which JSON has none of", "save it as UTF-8 without one"}
	}
	if root, err = hujson.Parse(text); err != nil {
		return root, nil, errors.New("it is not JSON: " + strings.TrimPrefix(err.Error(), "hujson: "))
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return root, nil, errors.New("it is not a JSON object")
	}
	return root, top, once(top)
}

// complete reports whether a configuration has just the lines that [Client.add] would add.
func (c Client) complete(text []byte, program string, l Level) bool {
	root, err := hujson.Parse(text)
	if err != nil {
		return false
	}
	n := 0
	for v := range root.All() {
		if isOurs(*v) {
			n++
		}
	}
	for _, e := range c.events {
		list := root.Find("/hooks/" + e.name)
		if list == nil {
			return false
		}
		array, ok := list.Value.(*hujson.Array)
		if !ok || !slices.ContainsFunc(array.Elements, func(v hujson.Value) bool {
			v = v.Clone()
			v.Minimize()
			return bytes.Equal(v.Pack(), c.groupOf(program, l, e))
		}) {
			return false
		}
	}
	return n == len(c.events)
}

// remove returns a configuration without our lines.
func (c Client) remove(text []byte) ([]byte, error) {
	root, top, err := object(text)
	if err != nil {
		return nil, err
	}
	hooks := jsonc.Member(top, "hooks")
	if hooks == nil {
		return text, nil
	}
	events, ok := hooks.Value.(*hujson.Object)
	if !ok {
		return text, nil
	}
	changed := false
	for i := 0; i < len(events.Members); i++ {
		array, ok := events.Members[i].Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		before := len(array.Elements)
		for k := 0; k < len(array.Elements); k++ {
			inner, ok := array.Elements[k].Value.(*hujson.Object)
			if !ok {
				continue
			}
			list := jsonc.Member(inner, "hooks")
			if list == nil {
				continue
			}
			lines, ok := list.Value.(*hujson.Array)
			if !ok {
				continue
			}
			had := len(lines.Elements)
			for n := 0; n < len(lines.Elements); n++ {
				if isOurs(lines.Elements[n]) {
					jsonc.DeleteElement(lines, n)
					n, changed = n-1, true
				}
			}
			if had > len(lines.Elements) && len(lines.Elements) == 0 && len(inner.Members) <= 2 && jsonc.Plain(&array.Elements[k]) {
				jsonc.DeleteElement(array, k)
				k--
			}
		}
		if before > len(array.Elements) && len(array.Elements) == 0 && jsonc.Plain(&events.Members[i].Value) {
			jsonc.DeleteMember(events, i)
			i--
		}
	}
	if !changed {
		return text, nil
	}
	if len(events.Members) == 0 {
		for i := range top.Members {
			if jsonc.Name(top.Members[i]) == "hooks" && jsonc.Plain(&top.Members[i].Value) {
				jsonc.DeleteMember(top, i)
				break
			}
		}
	}
	return root.Pack(), nil
}

// once returns an error if a key that we write below stands twice: readers of JSON differ in which one counts.
func once(top *hujson.Object) error {
	isHooks := func(m hujson.ObjectMember) bool { return jsonc.Name(m) == "hooks" }
	first := slices.IndexFunc(top.Members, isHooks)
	if first < 0 {
		return nil
	}
	if slices.ContainsFunc(top.Members[first+1:], isHooks) {
		return &manual{`it has "hooks" twice, of which the client reads one`, `merge them into one "hooks"`}
	}
	if events, ok := top.Members[first].Value.Value.(*hujson.Object); ok {
		seen := make(map[string]bool)
		for _, m := range events.Members {
			if seen[jsonc.Name(m)] {
				return &manual{fmt.Sprintf("its hooks have %q twice, of which the client reads one", jsonc.Name(m)), "merge them into one"}
			}
			seen[jsonc.Name(m)] = true
		}
	}
	return nil
}

// isOurs reports whether an entry runs our command.
func isOurs(v hujson.Value) bool {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	command := jsonc.Member(o, "command")
	if command == nil {
		return false
	}
	text, ok := command.Value.(hujson.Literal)
	return ok && text.Kind() == '"' && ours().MatchString(text.String())
}
