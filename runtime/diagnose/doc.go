// Package diagnose reads what tools print: how many tests ran, and what failed, with
// its place. What comes in is the output of one command, as bytes; what goes out are
// [Tests] and [Failures]. The package runs nothing and decides nothing: an output is a
// claim of the tool that wrote it, and a tool can print what it likes.
//
// # Tests
//
// A [Counter] knows go test (-v and -json), the Test Anything Protocol, and the sums of about ninety test runners: one table (kinds.go), which
// also has what each of them prints when no test ran. [JUnit] reads the XML files that most others can write. The sums of several runners in
// one output add up. go test without -v prints no count: nothing is known then, unless each package says that it has no tests. prove and
// Gradle do not say how many tests passed, only that there was none. That Maven or Gradle had no test to run counts only if they did nothing
// else: a build, or another check, can pass without tests. A test that is disabled, skipped or only listed has not passed, whatever the
// runner's own sum says.
//
// What stands after a prefix that another tool put before each line (prefix.go) counts where the lines without one say nothing of tests: such
// a prefix is that of sbt, Docker Compose or a CI service, or of any log.
//
// # Failures
//
// A [Reader] finds what failed while the output is written, wherever in it that is, in bounded memory. Of the test runners whose reports it
// knows it takes the tests that failed, never what a test printed that passed: go test (as text, with -v and -json; of Ginkgo and gocheck the
// specs and methods), TAP, Test::More, node, pytest, unittest, cargo, jest, vitest, uvu, mocha, ava, RSpec, minitest, ctest, GoogleTest,
// utest.h, cmocka, meson, automake, shunit2, and "[fail] a test". Of all else it looks for lines that are an error with a place, as go, vet,
// gcc, clang, mypy, ruff, flake8, eslint, tsc, rustc, Python, shellcheck, javac, MSVC, Ruby and GitHub's annotations write it, then for one
// without a place. Patterns of the routing matrix go before its own: see [Pattern]. [FailedTests] has it name the tests, to compare two
// outputs.
//
// # Packages
//
// [Unfetched] knows what package managers print where they cannot fetch a package.
//
// # Workspaces
//
// Where turbo, pnpm -r, nx or lerna mixes the lines of several commands, a Counter and a Reader read each command by itself.
//
// # Size
//
// It is one package of up to 6,340 lines because each form has a reader of its own, of some 100 lines; they share
// what a [Failure] is, the patterns of places and the bounds.
package diagnose
