package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// age parses a duration that may be in days.
func age(text string) (time.Duration, error) {
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

// byteSize parses a number of bytes with a unit.
func byteSize(text string) (int64, error) {
	units := []struct {
		name string
		n    float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			if n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64); err == nil && n >= 0 && n*u.n <= 1<<62 {
				return int64(n * u.n), nil
			}
			break
		}
	}
	return 0, fmt.Errorf("%q is not a size: want 0, 500MiB, 2GB", text)
}
