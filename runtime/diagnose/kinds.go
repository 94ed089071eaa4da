package diagnose

// sumKinds returns the sums that test runners print, and what they print when no test ran. If two match a line, the first counts.
// TestEachSum wants a line of each in the tests.
func sumKinds() []sum {
	return []sum{
		// Go: a package without test files, with -cover; what gotestsum and ginkgo's own command print at the end. With repeated runs, a test that failed may have passed later.
		{re: `^\t\S+\t\tcoverage: 0\.0% of statements`, read: func(c *Counter, _ *sum, _ [][]byte) { c.found |= goEmpty }},
		{re: `^DONE (?P<n>\d+) tests(?:, (?P<s>\d+) skipped)?(?:, (?P<f>\d+) failures?)?(?:, (?P<e>\d+) errors?)? in [\d.]+m?s$`, read: later(ofGotestsum)},
		{re: `^DONE \d+ runs, (?P<n>\d+) tests(?:, (?P<s1>\d+) skipped)?(?:, (?P<s2>\d+) failures?)?(?:, \d+ errors?)? in [\d.]+m?s$`, read: later(ofGotestsum)},
		{re: `^(?:SUCCESS!|FAIL!).* -- (?P<p>\d+) Passed \| (?P<f>\d+) Failed(?: \| \d+ Flaked)? \| (?P<s1>\d+) Pending \| (?P<s2>\d+) Skipped`, read: later(ofGinkgo)},

		// Rust: cargo, one a crate, or a list of them; nextest
		{re: `^test result: \w+\. \d+ passed; \d+ failed; \d+ ignored`, read: words},
		{re: `^\d+ tests?, \d+ benchmarks?$`, read: none},
		{re: `^ *Summary \[.*\] +(\d+)(?:/(\d+))? tests? run: (.*)`, read: nextest},

		// Python, and what prints like its runners: pytest, with and without its frame; luaunit; stestr; unittest, trial and shunit2, whose
		// failures come in a line of their own; doctest; behave; robot, a line a suite; avocado
		{re: `^(?:=+ )?no tests ran in [\d.]+s`, read: none},
		{re: `^(?:=+ )?(?:\d+(?:/\d+)?|no) tests? collected(?: \(\d+ deselected\))? in [\d.]+s`, read: none},
		{re: `^(=+ )?\d+ (passed|failed|skipped|errors?|xfailed|xpassed|deselected)\b.* in [\d.]+s`, read: words},
		{re: `^Ran \d+ tests in [\d.]+ seconds, (?P<p>\d+) success(?:es)?(?:, (?P<f1>\d+) failures?)?(?:, (?P<f2>\d+) errors?)?(?:, (?P<s>\d+) skipped)?`},
		{re: `^Ran: (\d+) tests? in [\d.]+ sec\.$`, read: announces(ofStestr)},
		{re: `^Ran (\d+) tests? in `, read: unit},
		{re: `^Ran (\d+) tests?\.$`, read: unit},
		{re: `^(?:OK|FAILED|PASSED) \((.*=\d+.*)\)$`, read: unitEnd},
		{re: `^ - (?:Passed: (?P<p>\d+)|(?:Skipped|Expected Fail): (?P<s>\d+))$`, under: ofStestr, read: part},
		{re: `^ - (?:Failed|Unexpected Success): (?P<f>\d+)$`, under: ofStestr, read: part},
		{re: `^\*\*\*Test Failed\*\*\* (?P<f>\d+) failures?\.$`},
		{re: `^(?P<p>\d+) scenarios? passed, (?P<f1>\d+) failed(?:, (?P<f2>\d+) error)?, (?P<s1>\d+) skipped(?:, (?P<s2>\d+) undefined)?(?:, (?P<s3>\d+) untested)?$`},
		{re: `^\d+ tests?, (?P<p>\d+) passed, (?P<f>\d+) failed(?:, (?P<s>\d+) skipped)?$`, read: later(ofLast)},
		{re: `^RESULTS +: PASS (?P<p1>\d+) \| ERROR (?P<f1>\d+) \| FAIL (?P<f2>\d+) \| SKIP (?P<s>\d+) \| WARN (?P<p2>\d+) \| INTERRUPT (?P<f3>\d+)`},

		// JavaScript: jest and vitest, which do not count the tests of a file that did not load; deno; bun; mocha; tap-spec; ava, which says how
		// many passed where none failed, and then what else there was; karma, whose reporters print the sum of all browsers, or a line of each,
		// or both, or words of their own
		{re: `^Test Suites: (\d+) failed, `, read: failedFiles},
		{re: `^Tests: +(?:\d+ \w+, )*\d+ total$`, read: ofFiles},
		{re: `^No tests? (?:files )?found, exiting with code [01]$`, read: none},
		{re: `^(?:Incomplete: )?No specs found$`, read: none},
		{re: `^No tests found related to files changed since `, read: none},
		{re: `^ Test Files  (\d+) failed `, read: failedFiles},
		{re: `^ +Tests  no tests$`, read: ofFiles},
		{re: `^ +Tests  ((?:\d+ \w+ ?\|? ?)+)\(\d+\)`, read: ofFiles},
		{re: `^     Errors  (\d+) errors?$`, read: refuted},
		{re: `^ (\d+) errors?$`, read: refuted},
		{re: `^  (\d+) (?:uncaught exceptions?|unhandled rejections?)$`, read: refuted},
		{re: `^  (\d+) tests? failed$`, read: func(c *Counter, _ *sum, m [][]byte) { c.denied.add(0, amount(m[1])) }},
		{re: `^(?:ok|FAILED) \| \d+ passed.*?\| \d+ failed(?: \| \d+ ignored)?`, read: words},
		{re: `^ +(?P<p>\d+) pass(?:ing \(\w+\))?$`, read: part},
		{re: `^ +(?P<f>\d+) fail(?:ing)?$`, read: part},
		{re: `^ +(?P<s>\d+) skip$`, read: part},
		{re: `^ +(?P<s>\d+) pending$`, read: part},
		{re: `^  passing: +(?P<p>\d+)$`, read: part},
		{re: `^  failing: +(?P<f>\d+)$`, read: part},
		{re: `^  (?P<p>\d+) tests? passed$`, read: part},
		{re: `^  (?P<s>\d+) (?:known failures?|tests? skipped|tests? todo)$`, read: func(c *Counter, s *sum, m [][]byte) {
			if c.found&anySummary != 0 {
				c.total(s.tests(m))
			}
		}},
		{re: `^TOTAL: (?:(?P<f>\d+) FAILED, )?(?P<p>\d+) SUCCESS$`, read: func(c *Counter, s *sum, m [][]byte) {
			c.whole(c.karma.all(s.tests(m)))
		}},
		{re: `^(?:([A-Za-z][^|]*): )?Executed (\d+) of \d+(?: \((\d+) FAILED\))?(?: \(skipped (\d+)\))?( DISCONNECTED| ERROR| SUCCESS)? \((\d.*) / \d.*\)$`, read: executed},
		{re: `^SUMMARY:$`, read: announces(ofKarmaMocha)},
		{re: `^[✔√] (?P<p>\d+) tests? completed$`, under: ofKarmaMocha, read: part},
		{re: `^[ℹi] (?P<s>\d+) tests? skipped$`, under: ofKarmaMocha, read: part},
		{re: `^[✖×] (?P<f>\d+) tests? failed$`, under: ofKarmaMocha, read: part},
		// node, and tape
		{re: `^(?:#|ℹ) tests +\d+$`, read: func(c *Counter, _ *sum, _ [][]byte) {
			c.found |= nodeSummary
			c.denied.begin()
		}},
		{re: `^(?:#|ℹ) pass +(\d+)$`, read: func(c *Counter, _ *sum, m [][]byte) { c.node.Passed += group(m) }},
		{re: `^(?:#|ℹ) (?:fail|cancelled) +(\d+)$`, read: func(c *Counter, _ *sum, m [][]byte) {
			c.node.Failed += amount(m[1])
			c.denied.add(0, amount(m[1]))
		}},
		{re: `^(?:#|ℹ) (?:skipped|skip|todo) +(\d+)$`, read: func(c *Counter, _ *sum, m [][]byte) { c.node.Skipped += group(m) }},
		// playwright; uvu, which does not say how many failed; jasmine
		{re: `^Running (\d+) tests? using \d+ workers?`, read: announces(ofPlaywright)},
		{re: `^  (?P<p>\d+) passed(?: \(.*\))?$`, under: ofPlaywright, read: side},
		{re: `^  (\d+) flaky$`, under: ofPlaywright, read: flaky},
		{re: `^  (?:(?P<f>\d+) (?:failed|interrupted))$`, under: ofPlaywright, read: side},
		{re: `^  (?:(?P<s>\d+) (?:skipped|did not run))$`, under: ofPlaywright, read: side},
		{re: `^  (\d+) (failed|interrupted|flaky)$`, read: above},
		{re: `^    (?:\[.*\] › )?\S.*:\d+:\d+ › `, read: headed},
		{re: `^::notice title=🎭 Playwright Run Summary::(.*)$`, read: notice},
		{re: `^  Total:     (\d+)$`, read: announces(ofUVU)},
		{re: `^  Passed:    (?P<p>\d+)$`, under: ofUVU, read: func(c *Counter, s *sum, m [][]byte) {
			c.all -= group(m)
			c.total(s.tests(m))
		}},
		{re: `^  Skipped:   (\d+)$`, under: ofUVU, read: func(c *Counter, _ *sum, m [][]byte) {
			c.total(Tests{Failed: max(c.all, 0), Skipped: group(m)}) // those are beside the total
		}},
		// what Heft prints of jest
		{re: `^Tests finished:$`, read: announces(ofHeft)},
		{re: `^  Successes: (?P<p>\d+)$`, under: ofHeft, read: part},
		{re: `^  (?:Failures|Failed test suites): (?P<f>\d+)$`, under: ofHeft, read: part},
		// testcafe; CodeceptJS
		{re: `^ (?P<p>\d+) passed \((?:\d+h )?(?:\d+m )?\d+s\)$`},
		{re: `^ (?P<f>\d+)/(?P<n>\d+) failed \((?:\d+h )?(?:\d+m )?\d+s\)$`},
		{re: `^  (?:OK|FAIL)  \| .*\d+ passed.* // `, read: words},
		{re: `^(?P<n>\d+) specs?, (?P<f>\d+) failures?(?:, (?P<s>\d+) pending specs?)?$`},
		// dart
		{re: `^\d+:\d\d \+(?P<p>\d+)(?: ~(?P<s>\d+))?(?: -(?P<f>\d+))?: (?:All tests passed!|Some tests failed\.|All tests skipped\.|No tests ran\.)$`},

		// Ruby: RSpec, and its like for shells, Crystal and Scala; minitest and test-unit; cucumber, in many languages
		{re: `^(?P<n>\d+) examples?(?:, \d+ expectations?)?, (?P<f1>\d+) failures?, (?P<f2>\d+) errors?(?:, (?P<s1>\d+) pending)?(?:, (?P<s2>\d+) skipped)?$`},
		{re: `^(?P<n>\d+) examples?, (?P<f>\d+) failures?(?:, \d+ warnings?)?(?:, (?P<s1>\d+) skips?)?(?:, (?P<s2>\d+) pending)?(?:, (?P<e>\d+) errors? occurred outside of examples)?`},
		{re: `^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors(?:, \d+ \w+)*$`, read: of},
		{re: `^\d+ [Ss]cenarios? \((?:\d+ (?:failed|passed|skipped|pending|undefined|ambiguous|flaky)(?:, )?)+\)$`, read: words},
		{re: `^(?:0|No) scenarios$`, read: func(c *Counter, _ *sum, _ [][]byte) { c.emptyAt = c.lines }},
		{re: `^(?:0|No) steps$`, read: func(c *Counter, s *sum, m [][]byte) {
			if c.emptyAt == c.lines-1 {
				none(c, s, m)
			}
		}},

		// Elixir and Erlang, and bats on a terminal
		{re: `^(?:\d+ \w+, )*?(\d+) tests?, \d+ failures?(?:, \d+ (?:excluded|invalid|skipped|cancelled|timed out|not run))*(?: in \d+ seconds)?$`, read: of},
		{re: `^(?:There are|  There were) no tests to run\.?$`, read: none},

		// Java and its kin: Surefire, one a class, with its time, and one of all; TestNG; JUnit 4, and its platform
		{re: `^(?:\[\w+\] )?Tests run: (?P<n>\d+), Failures: (?P<f1>\d+), Errors: (?P<f2>\d+), Skipped: (?P<s>\d+)(?:, Flakes: \d+)?$`},
		{re: `^\[INFO\] (?:No tests to run|Tests are skipped)\.$`, read: func(c *Counter, _ *sum, _ [][]byte) { c.idle = true }},
		{re: `^\[INFO\] --- (?:maven-)?(?:jar|war|ear|ejb|install|deploy)(?:-plugin)?:`, read: func(c *Counter, _ *sum, _ [][]byte) { c.built = true }},
		{re: `^ *Total tests run: (?P<n>\d+)(?:, Passes: \d+)?, Failures: (?P<f>\d+), Skips: (?P<s>\d+)$`},
		{re: `^OK \((?P<p>\d+) tests?\)$`},
		{re: `^Tests run: (?P<n>\d+),  Failures: (?P<f>\d+)$`},
		{re: `^\[ +(?P<p>\d+) tests successful +\]$`, read: side},
		{re: `^\[ +(?P<f>\d+) tests failed +\]$`, read: side},
		{re: `^\[ +(?P<s>\d+) tests (?:skipped|aborted) +\]$`, read: part},
		{re: `^> Task :(?:\S*:)?([^\s:]+)(?: ([A-Z-]+))?$`, read: gradle},
		{re: `^:(?:\S*:)?([^\s:]+) (SKIPPED)$`, read: gradle}, // a dry run
		{re: `^(?P<n>\d+) tests? completed(?:, (?P<f>\d+) failed)?(?:, (?P<s>\d+) skipped)?$`},
		// Scala and Clojure: sbt repeats what its runners say, if they are several or say nothing; ScalaTest; utest; ZIO; JUnit and MUnit
		{re: `^\[info\] No tests (?:were executed\.|to run for \S.*)$`, read: func(c *Counter, _ *sum, _ [][]byte) { c.aggregate = true }},
		{re: `^\[\w+\] (Passed|Failed|Error): Total (?P<n>\d+), Failed (?P<f1>\d+), Errors (?P<f2>\d+), Passed \d+(?:, \w+ (?P<s1>\d+))?(?:, \w+ (?P<s2>\d+))?(?:, \w+ (?P<s3>\d+))?(?:, \w+ (?P<s4>\d+))?$`, read: sbt},
		{re: `^\*\*\* (\d+) SUITES? ABORTED \*\*\*$`, read: refuted},
		{re: `^Tests: succeeded (?P<p>\d+), failed (?P<f>\d+), canceled (?P<s1>\d+), ignored (?P<s2>\d+), pending (?P<s3>\d+)$`},
		{re: `^Tests: (?P<n>\d+), Passed: \d+, Failed: (?P<f>\d+)$`},
		{re: `^(?P<p>\d+) tests passed\. (?P<f>\d+) tests failed\.(?: (?P<s>\d+) tests ignored\.)?$`},
		{re: `^Test run (?:\S+ )?finished: (?P<f>\d+) failed, (?P<s>\d+) ignored, (?P<n>\d+) total, [\d.]+s$`},
		{re: `^Ran (\d+) tests containing \d+ assertions\.$`, read: announces(ofClojure)},
		{re: `^(?P<f1>\d+) failures, (?P<f2>\d+) errors\.$`, under: ofClojure, read: remain},
		{re: `^(?P<n>\d+) tests, \d+ assertions(?:, (?P<f1>\d+) errors)?(?:, (?P<s>\d+) pending)?, (?P<f2>\d+) failures\.$`},

		// PHP
		{re: `^No tests executed!$`, read: none},
		{re: `^OK \((?P<p>\d+) tests?, \d+ assertions?\)$`},
		{re: `^Tests: (\d+), Assertions: \d+(.*)\.$`, read: phpUnit},
		{re: `^ +Tests: +(?:\d+ \w+,? )+\(\d+ assertions?\)$`, read: words},

		// .NET: one a project, or one of all, in the words of two generations; two that have runners of their own; Pester
		{re: `^(?:Passed|Failed|Skipped)! +- Failed: +(?P<f>\d+), Passed: +(?P<p>\d+), Skipped: +(?P<s>\d+)`},
		{re: `^Test summary: total: \d+, failed: (?P<f>\d+), succeeded: (?P<p>\d+), skipped: (?P<s>\d+), duration: `},
		{re: `^No test (?:is available in .*\. Make sure |matches the given testcase filter )`, read: none},
		{re: `^Test run summary: `, read: announces(ofPlatform)},
		{re: `^  succeeded: (?P<p>\d+)$`, under: ofPlatform, read: side},
		{re: `^  failed: (?P<f>\d+)$`, under: ofPlatform, read: side},
		{re: `^  skipped: (?P<s>\d+)$`, under: ofPlatform, read: side},
		{re: `^Total tests: (?:\d+|Unknown)\. Passed: (?P<p>\d+)\. Failed: (?P<f>\d+)\. Skipped: (?P<s>\d+)\.$`},
		{re: `^(?:Test Run (?:Successful|Failed|Aborted)\.|Total tests: (?:\d+|Unknown))$`, read: announces(ofVSTest)},
		{re: `^     Passed: (?P<p>\d+)$`, under: ofVSTest, read: side},
		{re: `^     Failed: (?P<f>\d+)$`, under: ofVSTest, read: side},
		{re: `^    Skipped: (?P<s>\d+)$`, under: ofVSTest, read: side},
		{re: `^ *Tests run: (?P<n>\d+),(?: Passed: \d+,)? Errors: (?P<f1>\d+), Failures: (?P<f2>\d+), Inconclusive: (?P<s>\d+)(?:, Time: .*)?$`},
		{re: `^ +Test Count: (?P<n>\d+), Pass(?:ed)?: \d+, Fail(?:ed)?: (?P<f>\d+), Warn(?:ings)?: \d+, Inconclusive: (?P<s1>\d+), Skip(?:ped)?: (?P<s2>\d+)$`},
		{re: `^ +\S+ +Total: (?P<n>\d+), Errors: (?P<e>\d+), Failed: (?P<f>\d+), Skipped: (?P<s1>\d+)(?:, Not Run: (?P<s2>\d+))?, Time: `},
		{re: `^Tests Passed: (?P<p>\d+), Failed: (?P<f>\d+), Skipped: (?P<s1>\d+)(?:, Inconclusive: (?P<s2>\d+))?,? NotRun: (?P<s3>\d+)$`},

		// Swift: a line a suite, and one of all; what the newer one skipped it counts as passed, and names before
		{re: `^Test Suite '(?:All|Selected) tests' (?:passed|failed) at `, read: announces(ofXCTest)},
		{re: `^Test Suite '`, read: announces(0)},
		{re: `^\s+Executed (?P<n>\d+) tests?, with (?:(?P<s>\d+) tests? skipped and )?(?P<f>\d+) failures?`, under: ofXCTest},
		{re: `^\S+ Test run with (\d+) tests?(?: in \d+ suites?)? (passed|failed) after `, read: swift},
		{re: `^\S+ Test \S.* skipped(?:\.|: ".*)$`, read: func(c *Counter, _ *sum, _ [][]byte) { c.single.Skipped++ }},
		{re: `^\S+ Test \S.* failed after [\d.]+ seconds`, read: func(c *Counter, _ *sum, _ [][]byte) { c.single.Failed++ }},

		// C and C++: GoogleTest and cmocka; doctest; Catch2; Boost.Test; CppUTest; Unity; Criterion; Check; Qt, which counts what goes before and after
		{re: `^\[  PASSED  \] (?P<p>\d+) test(?:s|\(s\))?\.$`, read: part},
		{re: `^\[  FAILED  \] (?P<f>\d+) test(?:s|\(s\))?, listed below:$`, read: part},
		{re: `^\[  SKIPPED \] (?P<s>\d+) test(?:s|\(s\))?, listed below:$`, read: part},
		{re: `^\[doctest\] test cases: +\d+ \| +(?P<p>\d+) passed \| +(?P<f>\d+) failed \| +(?P<s>\d+) skipped$`},
		{re: `^test cases: +\d+ (?:\| +(?P<p>\d+) passed ?)?(?:\| +(?P<f>\d+) failed ?)?(?:\| +(?P<s1>\d+) skipped ?)?(?:\| +(?P<s2>\d+) failed as expected ?)?(?:\| +(?P<s3>\d+) skipped)?$`},
		{re: `^All tests passed \(\d+ assertions? in (?P<p>\d+) test cases?\)$`},
		{re: `^No tests ran$`, read: none},
		{re: `^Running (\d+) test cases?\.\.\.$`, read: announces(ofBoost)},
		{re: `^\*\*\* (?:No errors detected|(?P<f>\d+) failures? (?:is|are) detected in the test .*)$`, under: ofBoost, read: remain},
		{re: `^OK \(\d+ tests, (?P<p>\d+) ran, \d+ checks, (?P<s1>\d+) ignored, (?P<s2>\d+) filtered out, `},
		{re: `^Errors \((?P<f>\d+) failures?, \d+ tests, (?P<n>\d+) ran, `},
		{re: `^(?P<n>\d+) Tests (?P<f>\d+) Failures (?P<s>\d+) Ignored$`},
		{re: `^\[====\] Synthesis: Tested: (?P<n>\d+) \| Passing: \d+ \| Failing: (?P<f>\d+) \| Crash(?:ing|ed): \d+$`},
		{re: `^\d+%: Checks: (?P<n>\d+), Failures: (?P<f1>\d+), Errors: (?P<f2>\d+)$`},
		{re: `^Totals: (?P<p>\d+) passed, (?P<f>\d+) failed, (?P<s>\d+) skipped(?:, \d+ blacklisted)?(?:, \d+ms)?$`, read: func(c *Counter, s *sum, m [][]byte) {
			t := s.tests(m)
			t.Passed = max(t.Passed-2, 0)
			c.whole(t)
		}},
		// ctest counts what was skipped as passed, and lists it later; what is disabled it does not count
		{re: `^\d+% tests passed, (\d+) tests? failed out of (\d+)$`, read: func(c *Counter, _ *sum, m [][]byte) {
			failed := amount(m[1])
			c.ctest = max(number(m[2])-failed, 0)
			c.whole(Tests{Passed: c.ctest, Failed: failed})
		}},
		{re: `^\s+\d+ - .+ \(Skipped\)`, read: func(c *Counter, _ *sum, _ [][]byte) {
			if c.ctest > 0 {
				c.ctest--
				c.sum.add(Tests{Passed: -1, Skipped: 1})
			}
		}},
		{re: `^ *\d+/\d+ Test +#\d+: .*\*\*\*Not Run \(Disabled\)`, read: func(c *Counter, _ *sum, _ [][]byte) { c.total(Tests{Skipped: 1}) }},
		{re: `^No tests were found!!!$`, read: none},
		{re: `^Test project \S`, read: announces(ofCTest)},
		{re: `^Total Tests: \d+$`, under: ofCTest, read: none},
		// automake and meson: a line for each outcome, of which one that is always there begins them; DejaGnu; lit; what tests Tcl
		{re: `^# (TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +(\d+)$`, read: outcome},
		{re: `^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout): +(\d+)$`, read: outcome},
		{re: `^# of expected passes\s+(?P<p>\d+)$`, read: part},
		{re: `^# of (?:unexpected failures|unexpected successes|unresolved testcases)\s+(?P<f>\d+)$`, read: part},
		{re: `^# of (?:expected failures|known failures|untested testcases|unsupported tests)\s+(?P<s>\d+)$`, read: part},
		{re: `^Total Discovered Tests: (\d+)$`, read: announces(ofLit)},
		{re: `^  Passed *: +(?P<p>\d+) \(`, under: ofLit, read: side},
		{re: `^  (?:Failed|Unexpectedly Passed|Timed Out|Unresolved) *: +(?P<f>\d+) \(`, under: ofLit, read: side},
		{re: `^  (?:Unsupported|Skipped|Expectedly Failed|Excluded) *: +(?P<s>\d+) \(`, under: ofLit, read: side},
		{re: `^\S+:\tTotal\t(?P<n>\d+)\tPassed\t\d+\tSkipped\t(?P<s>\d+)\tFailed\t(?P<f>\d+)$`},

		// Perl: prove, where all files were skipped, or there is none; of others it does not say how many tests were skipped
		{re: `^Files=\d+, Tests=0, `, read: none},
		{re: `^Files=\d+, Tests=(\d+), `, read: func(c *Counter, s *sum, m [][]byte) {
			announces(ofProve)(c, s, m)
			c.found |= someRan
		}},
		{re: `^\S.* \(Wstat: .*Tests: \d+ Failed: (\d+)\)$`, read: func(c *Counter, _ *sum, m [][]byte) { c.single.Failed += amount(m[1]) }},
		{re: `^Result: (PASS|FAIL)$`, under: ofProve, read: proved},

		// Haskell, OCaml, Zig, Lua, R, Julia
		{re: `^ *All (?P<p>\d+) tests passed(?:\.| \([\d.]+s\))$`},
		{re: `^(?P<f>\d+) out of (?P<n>\d+) tests failed \([\d.]+s\)$`},
		{re: `^Ran: (\d+) tests in: [\d.]+ seconds\.$`, read: unit},
		{re: `^(?:FAILED: Cases: \d+ Tried: \d+ Errors: (?P<f1>\d+) Failures: (?P<f2>\d+)|OK: Cases: \d+)(?: Skip: *(?P<s1>\d+))?(?: Todo: *(?P<s2>\d+))?(?: Timeouts: *(?P<f3>\d+))?\.?$`, read: func(c *Counter, s *sum, m [][]byte) {
			c.unitRest(s.tests(m))
		}},
		{re: `^Cases: \d+  Tried: (?P<n>\d+)  Errors: (?P<f1>\d+)  Failures: (?P<f2>\d+)$`},
		{re: `^(?:Test Successful|(?P<f>\d+) failures?!) in [\d.]+s\. (?P<n>\d+) tests? run\.$`},
		{re: `^(?P<p>\d+) passed; (?P<s>\d+) skipped; (?P<f>\d+) failed\.$`},
		{re: `^(?P<p>\d+) success(?:es)? / (?P<f1>\d+) failures? / (?P<f2>\d+) errors? / (?P<s>\d+) pending : `},
		{re: `^Test Summary: +\| Pass +Total(?: +Time)?$`, read: announces(ofJulia)},
		{re: `^Test Summary: +\| .*(?:Fail|Error) .*Total`, read: func(c *Counter, _ *sum, _ [][]byte) {
			c.under, c.denied.said = 0, true // there is no column of what did not happen
		}},
		{re: `^\S.* \| +(?P<p>\d+) +\d+(?: +[\dm.]+s)?$`, under: ofJulia, read: func(c *Counter, s *sum, m [][]byte) {
			c.whole(s.tests(m))
			c.under = 0 // those below are parts of it
		}},
		{re: `^(?:ERROR: (?:LoadError: )?)?Some tests did not pass: (?P<p>\d+) passed, (?P<f1>\d+) failed, (?P<f2>\d+) errored(?:, (?P<s>\d+) broken)?\.$`},
		{re: `^\[ FAIL (?P<f>\d+) \| WARN \d+ \| SKIP (?P<s>\d+) \| PASS (?P<p>\d+) \]$`, read: later(ofLast)},

		// Bazel and Buck, whose tests are programs, too
		{re: `^Tests finished: Pass (?P<p>\d+)\. Fail (?P<f1>\d+)\.(?: Timeout (?P<f2>\d+)\.)? Fatal (?P<f3>\d+)\. Skip (?P<s1>\d+)\.(?: Omit (?P<s2>\d+)\.)?(?: Infra Failure (?P<f4>\d+)\.)? Build failure (?P<f5>\d+)$`},
		{re: `^Executed \d+ out of (\d+) tests?: .*`, read: bazel},
		{re: `^(?:ERROR: )?No test targets were found, yet testing was requested$`, read: none},

		// what is tested in languages of its own: terraform, conftest, Hurl, forge; cram
		{re: `^(?:Success|Failure)! (?P<p>\d+) passed, (?P<f>\d+) failed(?:, (?P<s>\d+) skipped)?\.$`},
		{re: `^\d+ tests?, (?P<p>\d+) passed, \d+ warnings?, (?P<f1>\d+) failures?, (?P<f2>\d+) exceptions?(?:, (?P<s>\d+) skipped)?$`},
		{re: `^Executed files: +\d+$`, read: announces(ofHurl)},
		{re: `^Succeeded files: +(?P<p>\d+)(?: \([\d.]+%\))?$`, under: ofHurl, read: side},
		{re: `^Failed files: +(?P<f>\d+)(?: \([\d.]+%\))?$`, under: ofHurl, read: side},
		{re: `^No tests found in project!`, read: none},
		{re: `^Ran \d+ test suites? in .*: (?P<p>\d+) tests passed, (?P<f>\d+) failed, (?P<s>\d+) skipped \(\d+ total tests\)$`},
		{re: `^# Ran (?P<n>\d+) tests, (?P<s>\d+) skipped, (?P<f>\d+) failed\.$`},

		// what projects print of runners of their own
		{re: `^[Pp]ass(?:ed)?:? (?P<p>\d+), [Ff]ail(?:ed)?:? (?P<f>\d+)$`, plain: true},
		{re: `^Tests passed: +(?P<p>\d+)$`, plain: true, read: side},
		{re: `^Tests failed: +(?P<f>\d+)$`, plain: true, read: side},
		{re: `^PASSED: +(\d+)$`, plain: true, read: func(c *Counter, _ *sum, m [][]byte) { c.bare(group(m), false) }},
		{re: `^FAILED: +(\d+)$`, plain: true, read: func(c *Counter, _ *sum, m [][]byte) { c.bare(amount(m[1]), true) }},
		{re: `^SKIPPED: +(?P<s>\d+)$`, plain: true, read: bareRest},
		{re: `^ERRORS?: +(?P<f>\d+)$`, plain: true, read: bareRest},
	}
}
