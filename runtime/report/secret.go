package report

import "github.com/command-dialect/dialect/runtime/redact"

// Syntax is that of the reports that are printed and kept: JSON, or text for people.
func Syntax(json bool) redact.Syntax {
	if json {
		return redact.JSON("schema", "verdict", "run", "started", "time", "id", "step", "kind", "effect", "reason", "stop_reason", "event", "stream",
			"sha256", "receipt", "gate_id", "level", "rules", "tree", "bytes", "clean", "severity", "code", "applicability")
	}
	return redact.Text
}

// Markup is the form of those that are XML or HTML.
func Markup() redact.Syntax {
	return redact.Markup("type", "timestamp", "class", "id", "href", "lang")
}
