package routing

import (
	"errors"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
	"github.com/command-dialect/dialect/lang/template"
	"github.com/command-dialect/dialect/lang/tomltree"
)

func applyTimeout(r *reader, t *target, v *tomltree.Value, where string) {
	t.budget.timeout = r.duration(v, where)
}

func applyStall(r *reader, t *target, v *tomltree.Value, where string) {
	t.budget.stall = r.duration(v, where)
}

func applyMaxOutput(r *reader, t *target, v *tomltree.Value, where string) {
	t.budget.maxOutput = r.size(v, where)
}

func applyEnv(r *reader, t *target, v *tomltree.Value, where string) {
	env := r.StringTable(v, where)
	for _, e := range v.Entries {
		if e.Key == "" || strings.ContainsAny(e.Key, "=\x00") || strings.Contains(env[e.Key], "\x00") {
			r.Errorf(diag.BadValue, r.KeySpan(e), "%q cannot be an environment variable", e.Key)
			delete(env, e.Key)
		}
	}
	*t.env = env
}

// patterns reads patterns of files below the directory of the matrix, each once. what says in a message what one
// cannot do, and examples are of good ones.
func (r *reader) patterns(v *tomltree.Value, where, what, examples string) (patterns []string) {
	for i, p := range r.Strings(v, where) {
		if err := plan.CheckInput(p); err != nil {
			r.Errorf(diag.BadValue, r.ItemSpan(v, i), "%q cannot %s: %v", p, what, err).
				Hint = "write a path or a pattern below the directory of the matrix, with slashes: " + examples
			continue
		}
		if p = path.Clean(p); slices.Contains(patterns, p) {
			continue
		}
		if len(patterns) == maxPatterns {
			r.Errorf(diag.BadValue, r.Span(v), "%s has %d patterns; a binding has at most %d", where, len(v.Items), maxPatterns)
			return nil
		}
		patterns = append(patterns, p)
	}
	return patterns
}

func (r *reader) limit(to **tomltree.Value, v *tomltree.Value, where string) {
	if _, ok := r.Integer(v, where, 0, math.MaxInt32); ok {
		*to = v
	}
}

// isLockName reports whether text can name a lock: it becomes the name of a file.
func isLockName(text string) bool {
	for i := range len(text) {
		if !template.IsNameByte(text[i]) && (i == 0 || text[i] != '-' && text[i] != '.') {
			return false
		}
	}
	return text != "" && len(text) <= 64 && text[0] != '_'
}

// lockName reads the name of a lock; "" for what cannot be one.
func (r *reader) lockName(v *tomltree.Value, where string) string {
	text := r.String(v, where)
	if v.Kind == tomltree.String && !isLockName(text) {
		r.Errorf(diag.BadValue, r.Span(v), "%q cannot name a lock", text).
			Hint = "a name is of at most 64 letters, digits, \"_\", \"-\" and \".\", and begins with a letter or digit"
		return ""
	}
	return text
}

// queueName reads the name of a task queue; "" for what cannot be one.
func (r *reader) queueName(v *tomltree.Value, where string) string {
	text := r.String(v, where)
	if v.Kind == tomltree.String && !isQueueName(text) {
		r.Errorf(diag.BadValue, r.Span(v), "%q cannot name a task queue", text).
			Hint = "a name is of 1 to 200 printable characters of ASCII, and does not begin with \"/\""
		return ""
	}
	return text
}

// isQueueName reports whether text can name a task queue of Temporal, which keeps names that begin with "/_sys/" for itself.
func isQueueName(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= 200 && text[0] != '/'
}

// regexp reads a regular expression; "" if it is not one. Those of packs are checked by tests, and not at each start.
func (r *reader) regexp(v *tomltree.Value, where string) string {
	text := r.String(v, where)
	if strings.HasPrefix(r.Source.Name, "pack:") {
		return text
	}
	if _, err := regexp.Compile(text); err != nil {
		r.Errorf(diag.BadValue, r.Span(v), "%s: %s", where, strings.TrimPrefix(err.Error(), "error parsing regexp: ")).Hint = "it is a regular expression (RE2)"
		return ""
	}
	return text
}

// checkProblem says why text cannot find an error in an output.
func checkProblem(text string) error {
	re, err := regexp.Compile("(?m)" + text)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if re.SubexpIndex("message") < 0 && re.SubexpIndex("file") < 0 {
		return errors.New("it has neither a group message nor a group file")
	}
	return nil
}

// fieldPath is the form of a field of a tool's receipt.
var fieldPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`)
})
