package diag

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
)

//go:embed pages.txt
var pages string

// A Page explains a code: what it means, an example that has the fault, and one that has
// not. Codes whose example would be too large, or is not a text, have none.
type Page struct {
	Code      Code
	Text      string
	Bad, Good string
	Matrix    bool // the examples are of routing.toml, not of a script
}

// PageOf returns the page of a code; ok is false if there is no such code.
func PageOf(code Code) (p Page, ok bool) {
	for _, text := range strings.Split(pages, "== ")[1:] {
		head, rest, _ := strings.Cut(text, "\n")
		if name, _, _ := strings.Cut(head, " "); Code(name) == code {
			return parsePage(code, rest), true
		}
	}
	return p, false
}

// Codes returns the codes of the stages that are named by their packages, such as "lang/resolve", or all codes if none is, in the order
// of the stages.
func Codes(stages ...string) (codes []Code) {
	for _, text := range strings.Split(pages, "== ")[1:] {
		head, _, _ := strings.Cut(text, "\n")
		name, stage, _ := strings.Cut(head, " ")
		if len(stages) == 0 || slices.Contains(stages, stage) {
			codes = append(codes, Code(name))
		}
	}
	return codes
}

func parsePage(code Code, text string) Page {
	parts := strings.Split(text, "--- ")
	p := Page{Code: code, Text: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		head, body, _ := strings.Cut(part, "\n")
		words := strings.Fields(head)
		for _, w := range words[1:] {
			switch w {
			case "routing.toml":
				p.Matrix = true
			case "escaped":
				if s, err := strconv.Unquote(`"` + strings.TrimSuffix(body, "\n") + `"`); err == nil {
					body = s
				}
			}
		}
		if words[0] == "bad" {
			p.Bad = body
		} else {
			p.Good = body
		}
	}
	return p
}
