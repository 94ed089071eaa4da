package environ

import (
	"strings"
	"testing"
)

func TestConcerns(t *testing.T) {
	for _, test := range []struct {
		variable, argv, output string
		want                   bool
	}{
		{"GOFLAGS", "go test ./...", "", true},
		{"GOFLAGS", "/usr/local/go/bin/go test ./...", "", true},
		{"GOLANGCI_LINT_CACHE", "go test ./...", "", false},
		{"TOX_OVERRIDE", "go test ./...", "", false},
		{"TOX_OVERRIDE", "tox run", "", true},
		{"TOX_OVERRIDE", "make test", "", false},
		{"TOX_OVERRIDE", "make test", "tox run -e py3\nERROR: no", true},
		{"TOX_OVERRIDE", "make test", "make: tox: No such file or directory", true},
		{"TOX_OVERRIDE", "make test", "detox your life", false},
		{"TF_CLI_CONFIG_FILE", "npm test", "", false},
		{"TF_CLI_CONFIG_FILE", "sh -c terraform validate", "", true},
		{"PYTHONPATH", "make test", "", true},
		{"PYTHONPATH", ".venv/bin/python -m mypy src", "", true},
		{"PYTHONPATH", "go test ./...", "", false},
		{"PYTHONPATH", "go test ./...", "set PYTHONPATH first", true},
		{"PYTHONPATH", "./run", "ModuleNotFoundError in python3: x", true},
		{"NODE_OPTIONS", "npm test", "", true},
		{"GOFLAGS", "./check", "we go on", true}, // a word of its own is enough: a hint too many costs less than one that is missing
		{"GOFLAGS", "./check", "cargo on", false},
		{"GIT_DIR", "go test ./...", "", true},
		{"LD_PRELOAD", "./check", "", true},
		{"BASH_ENV", "./check", "", true},
	} {
		if got := Concerns(test.variable, strings.Fields(test.argv), []byte(test.output)); got != test.want {
			t.Errorf("%s of %s, %q: %v", test.variable, test.argv, test.output, got)
		}
	}
}
