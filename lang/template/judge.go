package template

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/plan"
)

// This file says of a tool what can be seen from its text alone.

// CannotFail says why a command line without a shell succeeds whatever it finds,
// or returns "".
func (t *Template) CannotFail(x plan.Expect) string {
	words := make([]string, len(t.args))
	for i, e := range t.args {
		if e.literal() {
			words[i] = e.text()
		}
	}
	if x.EmptyStdout || x.Stdout != "" {
		return ""
	}
	program := filepath.Base(words[0])
	if program == "env" && len(words) > 1 && words[1] != "" {
		program, words = filepath.Base(words[1]), words[1:]
	}
	switch program {
	case "true", ":", "echo", "printf":
		return fmt.Sprintf("%q always succeeds", program)
	case "sh", "bash", "dash", "zsh":
		if i := slices.Index(words, "-c"); i > 0 && i+1 < len(words) {
			return NeverFails(words[i+1])
		}
	case "gofmt":
		if slices.Contains(words, "-l") {
			return "gofmt -l lists what it finds and exits 0; add expect = { stdout = \"\" }"
		}
	}
	for i, w := range words {
		switch w {
		case "--passWithNoTests", "--pass-with-no-tests", "--passWithNoTests=true":
			return w + " passes when no test ran"
		case "--exit-zero":
			return w + " hides what it finds"
		case "||":
			if i+1 < len(words) && (words[i+1] == "true" || words[i+1] == ":") {
				return fmt.Sprintf("it ends in %q", "|| "+words[i+1])
			}
		}
	}
	return ""
}

// NeverFails says why the shell script text exits 0 whatever its tools find, or
// returns "".
func NeverFails(text string) string {
	if strings.Contains(text, "pipefail") {
		return ""
	}
	// The last command decides, and the operator before it.
	var operator string
	var words []string
	end := len(strings.TrimSpace("x"+text)) - 1 // where the white space at its end begins
	for t := range shellTokens(text) {
		switch t.kind {
		case shellOperator:
			if len(words) == 0 && operator != "" && text[t.start] == '\n' {
				continue // a blank line, or one behind an operator
			}
			if t.end >= end {
				continue // a final ";" or line end
			}
			operator, words = text[t.start:t.end], nil
		case shellWord:
			words = append(words, text[t.start:t.end])
		}
	}
	if len(words) == 0 {
		return ""
	}
	if (operator == ";" || operator == "\n") && (strings.Contains(text, "set -e") || strings.Contains(text, "errexit")) {
		return ""
	}
	quiet := words[0] == "true" || words[0] == ":" || words[0] == "echo" || words[0] == "printf" ||
		words[0] == "exit" && len(words) == 2 && words[1] == "0"
	last := strings.Join(words, " ")
	switch {
	case operator == "|" && slices.Contains([]string{"tail", "head", "cat", "tee", "sort", "less", "wc"}, words[0]):
		return fmt.Sprintf("the exit status is that of %q, the last of the pipe", words[0])
	case quiet && operator == "&&":
		return ""
	case quiet && operator == "":
		return fmt.Sprintf("%q always succeeds", last)
	case quiet && operator == "\n":
		return fmt.Sprintf("it ends in %q", last)
	case quiet:
		return fmt.Sprintf("it ends in %q", operator+" "+last)
	}
	return ""
}
