package store

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/runtime/history"
)

// Age parses a duration that may be in days.
func Age(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	var days float64
	var rest string
	if n, _ := fmt.Sscanf(text, "%fd%s", &days, &rest); n == 1 && strings.HasSuffix(text, "d") && days > 0 && days < 1e5 {
		return time.Duration(days * float64(24*time.Hour)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not an age: want 90m, 12h, 2d", text)
	}
	return d, nil
}

// NotKept makes an error of a look-up among the documents of runs one of the command.
func NotKept(err error) error {
	f := exit.Failf(exit.Failed, "%w", err)
	var e *history.LookupError
	if errors.As(err, &e) && e.Bad {
		f.Status = exit.Usage
	}
	if e != nil && e.Hint != "" {
		f.Hint("%s", e.Hint)
	}
	return f
}
