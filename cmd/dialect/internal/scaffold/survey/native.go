package survey

import (
	"path"
	"regexp"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/scaffold/habit"
	"github.com/command-dialect/dialect/runtime/place"
)

// native binds the tests of a project in C or C++, in the folder in which its user has configured it. What is not
// configured is not bound: with which generator, and which options, is the user's choice.
func (d *draft) native() {
	if d.has("Test") {
		return
	}
	home := regexp.MustCompile(`(?m)^CMAKE_HOME_DIRECTORY:INTERNAL=(.+?)\r?$`)
	for _, cache := range d.glob("*/CMakeCache.txt", "*/*/CMakeCache.txt") {
		dir := path.Dir(cache)
		text, _ := d.read(cache)
		m := home.FindSubmatch(text)
		if m == nil || !place.Same(string(m[1]), d.dir) || !habit.IsPlain(dir) || !d.exists(dir+"/CTestTestfile.cmake") {
			continue
		}
		if !installed("cmake") || !installed("ctest") {
			d.leaveOut(dir, "cmake is not installed")
			return
		}
		d.found("CMakeLists.txt, built in " + dir)
		d.bind("Build with cmake", binding{tool: "cmake --build " + dir}, "CMakeLists.txt", "")
		d.bind("Test with ctest", binding{tool: "ctest --test-dir " + dir + " --output-on-failure", expect: "{ min_tests = 1 }"}, "CMakeLists.txt", "")
		return
	}
	for _, data := range d.glob("*/meson-private/coredata.dat") {
		dir, _, _ := strings.Cut(data, "/")
		if !d.exists("meson.build") || !habit.IsPlain(dir) {
			continue
		}
		if !installed("meson") {
			d.leaveOut(dir, "meson is not installed")
			return
		}
		d.found("meson.build, built in " + dir)
		d.bind("Test with meson", binding{tool: "meson test -C " + dir + " --print-errorlogs", expect: "{ min_tests = 1 }"}, "meson.build", "")
		return
	}
}
