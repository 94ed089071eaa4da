package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/tomltree"
)

// Codex reads hooks from hooks.json and from the [hooks] of its config.toml, and warns where one folder has both. Where they stand
// in the TOML, ours go there, at the end, each as the lines of [Client.unit]: an array of tables takes one more from anywhere in the file. They are found by
// their form and not by marks around them, since Codex writes into the same file, and would write between the marks.

// tomlBeside returns the config.toml beside path, if hooks stand in that and there is no file at path; else "".
func tomlBeside(path string) string {
	if text, err := current(path); err != nil || text != nil {
		return ""
	}
	beside := filepath.Join(filepath.Dir(path), "config.toml")
	text, err := regular.Read(beside, maxConfig)
	if err != nil {
		return ""
	}
	root, faults := tomltree.Parse(diag.NewSource("config.toml", text), false)
	if hooks := root.Get("hooks"); hooks != nil {
		if hooks.Kind != tomltree.Table || len(faults) > 0 {
			return beside // for add to refuse it
		}
		for _, e := range hooks.Entries {
			if e.Key != "state" { // what the user trusts
				return beside
			}
		}
	}
	return ""
}

func isTOML(path string) bool { return filepath.Ext(path) == ".toml" }

// unit is the entry of an event.
func (c Client) unit(program string, l Level, e event) string {
	matcher := ""
	if e.matcher != "" {
		matcher = fmt.Sprintf("matcher = %s\n", compact(e.matcher))
	}
	return fmt.Sprintf("[[hooks.%s]]\n%shooks = [{ type = \"command\", command = %s, timeout = %d }]\n", e.name, matcher, compact(c.Command(program, l, e.name)), c.timeout)
}

// units finds what may be entries of ours.
var units = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\[\[hooks\.[A-Za-z]+\]\]\r?\n(?:matcher = "[^"\n]*"\r?\n)?hooks = \[\{ type = "command", command = ("(?:[^"\\\n]|\\.)*"), timeout = [0-9]+ \}\]\r?(?:\n|\z)`)
})

// oursTOML returns where our entries begin and end.
func oursTOML(text []byte) (spans [][]int) {
	for _, m := range units().FindAllSubmatchIndex(text, -1) {
		var command string
		if json.Unmarshal(text[m[2]:m[3]], &command) == nil && ours().MatchString(command) {
			spans = append(spans, m[:2])
		}
	}
	return spans
}

// removeTOML returns a configuration without our entries.
func removeTOML(text []byte) []byte {
	out, at := make([]byte, 0, len(text)), 0
	for _, s := range oursTOML(text) {
		out = append(out, text[at:s[0]]...)
		at = s[1]
	}
	return append(out, text[at:]...)
}

// addTOML returns a configuration with our entries, and only those of this call.
func (c Client) addTOML(text []byte, program string, l Level) ([]byte, error) {
	if err := parseTOML(text); err != nil {
		return nil, err
	}
	out := removeTOML(text)
	size := len(text) - len(out)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	for _, e := range c.events {
		unit := c.unit(program, l, e)
		if out = append(out, unit...); bytes.Contains(text, []byte(unit)) {
			size -= len(unit)
		} else {
			size = -1 << 30
		}
	}
	if size == 0 {
		return text, nil // just these are in it, wherever
	}
	if err := parseTOML(out); err != nil {
		return nil, &manual{"its hooks are written in a form that takes no further ones at the end of the file", "write each event's hooks as [[hooks.EVENT]], or move them into hooks.json beside it"}
	}
	return out, nil
}

func parseTOML(text []byte) error {
	_, l := tomltree.Parse(diag.NewSource("config.toml", text), false)
	return l.Err()
}

// hasTOML reports whether a configuration has our entry at the event of a stop.
func (c Client) hasTOML(text []byte) bool {
	head := []byte("[[hooks." + c.stop() + "]]")
	return slices.ContainsFunc(oursTOML(text), func(s []int) bool { return bytes.HasPrefix(text[s[0]:], head) })
}
