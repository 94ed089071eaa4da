// Package diagnose reads what tools print: how many tests ran, and the first error with
// its place. What comes in is the output of one command, as bytes; what goes out are
// [Tests] and a [Finding]. The package runs nothing and decides nothing: an output is a
// claim of the tool that wrote it, and a tool can print what it likes.
//
// # Tests
//
// A [Counter] knows go test (-v and -json), the Test Anything Protocol, pytest, unittest,
// cargo, nextest, jest, vitest, node, mocha, deno, bun, RSpec, Maven Surefire, PHPUnit,
// dotnet and ctest; [JUnit] reads the XML files that most others can write. The summaries
// of several runners in one output add up. go test without -v prints no count: then
// nothing is known, unless each package says that it has no tests.
//
// # Errors
//
// [First] looks for the first line that is an error with a place, as go, vet, gcc, clang,
// mypy, ruff, flake8, eslint, tsc, rustc, pytest, Python, jest, vitest, node, shellcheck,
// javac, MSVC and GitHub's annotations write it, then for one without a place. Patterns
// of the routing matrix go before its own: see [Pattern].
package diagnose
