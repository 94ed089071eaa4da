package redact

import (
	"slices"
	"strconv"
	"strings"
)

// Variable is the environment variable that carries secret values to runs that a command starts, which cannot know what the
// line's binding declares. It holds values one after the other, each as a netstring: its length in bytes, a
// colon, the value, a comma ("7:hunter2,"). So each value stands in it unchanged, and is hidden if a command prints
// its environment. A text that does not parse is ignored.
//
// A program that sets the variable can have words taken out of what a run keeps, and nothing else.
const Variable = "DIALECT_SECRETS"

// maxHanded bounds the values that are handed on, in bytes. Linux starts no program with a variable of more than 128 KiB.
const maxHanded = 64 << 10

// minPart is how long a secret must be to be looked for in the words of a command: a shorter one stands in words that have
// nothing to do with it.
const minPart = 4

// HandOn returns the value of [Variable] for a command; empty if the command gets none. It holds the secrets own, those that
// were handed to this process, and those of r that stand in words, which the command has in its arguments. A value that
// would exceed the bound is left out.
func (r *Redactor) HandOn(own, words []string) string {
	if r == nil {
		return ""
	}
	var text strings.Builder
	seen, left := make(map[string]bool), maxHanded
	add := func(v string) {
		if v != "" && !seen[v] && len(v) <= left {
			seen[v] = true
			left -= len(v)
			text.WriteString(strconv.Itoa(len(v)) + ":" + v + ",")
		}
	}
	for _, v := range own {
		add(v)
	}
	for _, v := range r.handed {
		add(v)
	}
	for _, v := range r.values {
		if len(v) >= minPart && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, v) }) {
			add(v)
		}
	}
	return text.String()
}

// parseHanded returns what a value of [Variable] holds; nothing if it does not parse, or holds more than the bound.
func parseHanded(value string) (values []string) {
	left := maxHanded
	for value != "" {
		size, rest, ok := strings.Cut(value, ":")
		n, err := strconv.Atoi(size)
		if !ok || err != nil || n <= 0 || n > left || n >= len(rest) || rest[n] != ',' {
			return nil
		}
		values = append(values, rest[:n])
		value, left = rest[n+1:], left-n
	}
	return values
}
