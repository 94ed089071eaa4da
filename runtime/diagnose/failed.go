package diagnose

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"sync"
)

// MaxFailed bounds how many names [FailedTests] returns.
const MaxFailed = 1000

// listed finds the line that a runner whose report a [Reader] does not know prints of a test that failed. Group 1 is the name.
var listed = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^\s*(?:FAIL|TIMEOUT) \[[^]]*\]\s+(?:\([^)]*\)\s+)?(\S.*)$`), // nextest, which may count it: (3/9)
		regexp.MustCompile(`^rspec (\S+)`),                                              // RSpec
		regexp.MustCompile(`^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT)\)\s*$`),       // ctest
	}
})

// FailedTests returns the names of the tests that an output says failed, sorted; none where the output names
// none. They are good for comparing two outputs of the same command: a name has the package or the file of its test, and
// what failed besides tests, such as a package that cannot be built, has its message as its name. Tests that the output does not tell apart, such as
// assertions of TAP with the same words, have one name, which comes as often as they failed.
func FailedTests(output []byte) (names []string) {
	var r Reader
	r.describe(MaxFailed)
	for part := range slices.Chunk(output, unknown) { // what is of no runner is not read to its end
		r.Write(0, part)
	}
	f, _ := r.Failures()
	tests := slices.ContainsFunc(f.List, func(x Failure) bool { return x.Test != "" })
	for _, x := range f.List {
		switch in := cmp.Or(x.Package, path.Join(x.folder, x.File)); {
		case !tests:
		case x.Test == "":
			names = append(names, in+": "+x.Message)
		case in == "":
			names = append(names, x.Test)
		default:
			names = append(names, in+" "+x.Test)
		}
	}
	if !tests {
		names = lines(output)
	}
	slices.Sort(names)
	return names[:min(len(names), MaxFailed)]
}

// describe sets how many of the tests that failed are described.
func (r *Reader) describe(most int) {
	for _, f := range []*Failures{&r.gotest.Failures, &r.tap.Failures, &r.spec.Failures, &r.blocks.Failures, &r.blocks.short, &r.marks.Failures} {
		f.most = most
	}
}

// lines returns what [listed] finds.
func lines(output []byte) (names []string) {
	for line := range bytes.Lines(Readable(output)) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > maxLine || len(names) > 8*MaxFailed {
			continue
		}
		for _, re := range listed() {
			if m := re.FindSubmatch(line); m != nil {
				names = append(names, string(m[1]))
				break
			}
		}
	}
	return names
}
