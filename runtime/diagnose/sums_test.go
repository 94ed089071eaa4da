package diagnose

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// A runner is a test runner, and what it prints.
type runner struct {
	tool  string
	none  []string // no test came to a result
	green string   // three passed
	red   string   // one failed
	other []string // it looks like it, and says nothing of tests
}

func runners() []runner {
	const rule = "===============================================\n"
	return []runner{
		{
			"go test -cover", []string{"\texample.com/m\t\tcoverage: 0.0% of statements\n", "\texample.com/m\t\tcoverage: 0.0% of statements in ./...\n?   \texample.com/n\t[no test files]\n"},
			"", "", []string{"coverage: 0.0% of statements\n", "\ta\t\tcoverage: 3.0% of what\n", "\texample.com/m\t\tcoverage: 0.0% of statements\nok  \texample.com/n\t0.01s\tcoverage: 80.0% of statements\n"},
		}, {
			"bats --pretty", []string{"2 tests, 0 failures, 2 skipped in 0 seconds\n", "2 tests, 0 failures, 2 not run in 1 seconds\n", "0 tests, 0 failures in 0 seconds\n"},
			"3 tests, 0 failures in 0 seconds\n", "2 tests, 1 failure in 1 seconds\n", []string{"2 tests, 1 failure in the last week\n"},
		}, {
			"bats, a time-out", nil, "", "2 tests, 0 failures, 1 timed out\n", nil,
		}, {
			"pytest --collect-only", []string{"test_p.py::test_a\n\n1 test collected in 0.00s\n", "=========== 12 tests collected in 0.10s ============\n", "1/3 tests collected (2 deselected) in 0.01s\n", "no tests collected (3 deselected) in 0.01s\n"},
			"===== 3 passed in 0.01s =====\n", "", []string{"1 test collected dust in 0.5s of work\n", "2 samples collected in 0.1s\n"},
		}, {
			"ctest -N", []string{"Test project /x\n  Test #1: skip\n\nTotal Tests: 1\n", "Test project C:/x\n\nTotal Tests: 0\n"},
			"Test project /x\n100% tests passed, 0 tests failed out of 3\n\nTotal Test time (real) =   0.01 sec\n", "50% tests passed, 1 test failed out of 2\n", []string{"Total Tests: 5\n"},
		}, {
			"vitest", []string{" Test Files  no tests\n      Tests  no tests\n", "No test files found, exiting with code 0\n"},
			" Test Files  1 passed (1)\n      Tests  3 passed (3)\n", "      Tests  1 failed | 2 passed (3)\n", []string{"Tests no tests\n", "vitest exiting with code 0\n"},
		}, {
			"jest", []string{"No tests found, exiting with code 0\n", "No tests found, exiting with code 1\n", "Tests:       2 skipped, 2 total\n", "No tests found related to files changed since last commit.\n"},
			"Tests:       3 passed, 3 total\n", "Tests:       1 failed, 2 passed, 3 total\n", []string{"No tests found in the archive\n"},
		}, {
			"jest, a file that does not load", nil, "Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\n",
			"FAIL ./b.test.js\n  ● Test suite failed to run\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       3 passed, 3 total\n", []string{"Test Suites: 1 failed, 1 passed, 2 total\n"},
		}, {
			"vitest, a file that does not load", nil, " Test Files  1 passed (1)\n      Tests  3 passed (3)\n", " Test Files  1 failed | 1 passed (2)\n      Tests  3 passed (3)\n", nil,
		}, {
			"vitest, files that do not load", nil, "", " Test Files  1 failed (1)\n      Tests  no tests\n", nil,
		}, {
			"karma", []string{"Chrome Headless 120.0.0.0 (Linux 0.0.0): Executed 0 of 0 SUCCESS (0.002 secs / 0 secs)\nTOTAL: 0 SUCCESS\n"},
			"TOTAL: 3 SUCCESS\n", "TOTAL: 1 FAILED, 2 SUCCESS\n", []string{"TOTAL: 3\n"},
		}, {
			"karma, a browser", []string{"Chrome Headless 120.0.0.0 (Linux 0.0.0): Executed 0 of 0 ERROR (0.002 secs / 0 secs)\n", "Chrome 54.0.2840 (Mac OS X 10.11.6): Executed 0 of 2 (skipped 2) SUCCESS (0.001 secs / 0 secs)\n"},
			"Chrome 54.0.2840 (Mac OS X 10.11.6): Executed 1 of 3 SUCCESS (0 secs / 0.01 secs)\n\x1b[1A\x1b[2KChrome 54.0.2840 (Mac OS X 10.11.6): Executed 3 of 3 SUCCESS (0 secs / 0.02 secs)\n\x1b[1A\x1b[2KChrome 54.0.2840 (Mac OS X 10.11.6): Executed 3 of 3 SUCCESS (1 min 2.045 secs / 0.014 secs)\n",
			"Chrome 54.0.2840 (Mac OS X 10.11.6): Executed 1 of 2 SUCCESS (0 secs / 0.01 secs)\nChrome 54.0.2840 (Mac OS X 10.11.6) sub test always fails FAILED\n\tExpected 0 to be 1.\nChrome 54.0.2840 (Mac OS X 10.11.6): Executed 2 of 2 (1 FAILED) (0.045 secs / 0.014 secs)\n",
			[]string{"Executed 3 of 3 steps (0.1 secs / 0.2 secs)\n", "Executed 3 of 3 (1 FAILED)\n"},
		}, {
			"karma, browsers", nil, "Firefox 58.0.0 (Ubuntu 0.0.0): Executed 1 of 1 SUCCESS (0.01 secs / 0 secs)\nSafari 9.0.3 (Mac OS X 10.11.3): Executed 2 of 2 SUCCESS (0.02 secs / 0 secs)\nTOTAL: 3 SUCCESS\nSafari 9.0.3 (Mac OS X 10.11.3): Executed 2 of 2 DISCONNECTED (10.093 secs / 0 secs)\n",
			"Firefox 58.0.0 (Ubuntu 0.0.0): Executed 3 of 3 SUCCESS (0.01 secs / 0 secs)\nSafari 9.0.3 (Mac OS X 10.11.3): Executed 3 of 3 (1 FAILED) (0.02 secs / 0 secs)\nFirefox 58.0.0 (Ubuntu 0.0.0): Executed 3 of 3 SUCCESS (0.01 secs / 0 secs)\n", nil,
		}, {
			"karma, a browser that went away", nil, "", "Executed 2 of 3 SUCCESS (0 secs / 0.01 secs)\nExecuted 2 of 3 DISCONNECTED (10.1 secs / 0.02 secs)\n", nil,
		}, {
			"karma-mocha-reporter", []string{"Finished in 0.002 secs / 0 secs\n\nSUMMARY:\n✔ 0 tests completed\nℹ 2 tests skipped\n"}, "SUMMARY:\n✔ 3 tests completed\nℹ 1 test skipped\n", "Finished in 0.02 secs / 0.01 secs @ 10:00:00\n\nSUMMARY:\n✔ 2 tests completed\n✖ 1 test failed\n\nFAILED TESTS:\n",
			[]string{"✔ 2 tests completed\n✖ 1 test failed\n"},
		}, {
			"buck2", []string{"Tests finished: Pass 0. Fail 0. Fatal 0. Skip 2. Build failure 0\n"}, "Tests finished: Pass 3. Fail 0. Timeout 0. Fatal 0. Skip 0. Omit 0. Infra Failure 0. Build failure 0\n", "Test execution completed but the tests failed\nTests finished: Pass 11. Fail 1. Fatal 0. Skip 0. Build failure 0\n1 TESTS FAILED\n", []string{"Tests finished: Pass\n"},
		}, {
			"Heft", nil, "Tests finished:\n  Successes: 3\n  Failures: 0\n  Total: 3\n", "FAIL lib/a.test.js (duration: 0.1s, 2 passed, 1 failed)\n\nTests finished:\n  Successes: 2\n  Failures: 1\n  Total: 3\n", []string{"  Successes: 2\n  Failures: 1\n"},
		}, {
			"Heft, a file that does not load", nil, "", "Tests finished:\n  Successes: 2\n  Failures: 0\n  Failed test suites: 1\n  Total: 2\n", nil,
		}, {
			"bazel", []string{"ERROR: No test targets were found, yet testing was requested\n", "Executed 0 out of 2 tests: 2 were skipped.\n"},
			"Executed 1 out of 3 tests: 3 tests pass.\n", "Executed 3 out of 4 tests: 2 tests pass, 1 fails locally and 1 was skipped.\n", []string{"Executed 3 out of 4 plans: 1 fails\n"},
		}, {
			"dotnet", []string{
				"No test is available in /x/a.dll. Make sure that test discoverer & executors are registered and platform & framework version settings are appropriate and try again.\n",
				"No test matches the given testcase filter `x` in /x/a.dll\n", "Test summary: total: 0, failed: 0, succeeded: 0, skipped: 0, duration: 0.5s\n",
				"Test run summary: Zero tests ran - /x/a.dll (net9.0|x64)\n  total: 0\n  failed: 0\n  succeeded: 0\n  skipped: 0\n  duration: 45ms\n",
			},
			"Test summary: total: 4, failed: 0, succeeded: 3, skipped: 1, duration: 0.5s\n", "Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 0.5s\n",
			[]string{"No test is available to us\n", "  failed: 1\n  succeeded: 2\n", "Test summary: all is well, 3 of 3\n"},
		}, {
			"dotnet, the platform", nil, "Test run summary: Passed! - /x/a.dll (net9.0|x64)\n  total: 4\n  failed: 0\n  succeeded: 3\n  skipped: 1\n  duration: 45ms\n",
			"Test run summary: Failed! - /x/a.dll (net9.0|x64)\n  total: 3\n  failed: 1\n  succeeded: 2\n  skipped: 0\n", nil,
		}, {
			"vstest", []string{"Test Run Successful.\nTotal tests: 2\n    Skipped: 2\n Total time: 0.5 Seconds\n"},
			"Test Run Successful.\nTotal tests: 3\n     Passed: 3\n Total time: 0.5 Seconds\n", "Test Run Failed.\nTotal tests: 3\n     Passed: 2\n     Failed: 1\n",
			[]string{"     Passed: 3\n", "Total tests: 3\n", "Failed: 1\n     Failed: 1\n"},
		}, {
			"vstest, its end alone", nil, "Total tests: 4\n     Passed: 3\n    Skipped: 1\n Total time: 0.5 Seconds\n", "Total tests: 3\n     Passed: 2\n     Failed: 1\n", []string{"Total tests: many\n     Passed: 2\n"},
		}, {
			"vstest, before 16.3", []string{"Total tests: 2. Passed: 0. Failed: 0. Skipped: 2.\nTest Run Successful.\nTest execution time: 1.2 Seconds\n"},
			"Total tests: 4. Passed: 3. Failed: 0. Skipped: 1.\nTest Run Successful.\nTest execution time: 17.1337 Minutes\n", "Total tests: 3. Passed: 2. Failed: 1. Skipped: 0.\nTest Run Failed.\n",
			[]string{"Total tests: 3. Passed: 2.\n"},
		}, {
			"mix", []string{"There are no tests to run\n", "All tests have been excluded.\n\n3 tests, 0 failures, 3 excluded\n"},
			"3 tests, 0 failures\n", "2 doctests, 1 property, 5 tests, 1 failure\n", []string{"There are no tests to run here, look elsewhere\n"},
		}, {
			"eunit", []string{"  There were no tests to run.\n"}, "  All 3 tests passed.\n", "3 tests, 0 failures, 1 cancelled\n", nil,
		}, {
			"surefire", []string{"[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n", "[INFO] --- surefire:3.2.5:test (default-test) @ app ---\n[INFO] Tests are skipped.\n", "[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 3, Flakes: 0\n"},
			"[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1\n", "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Flakes: 1\n",
			[]string{"[INFO] No tests to run.\n[INFO] --- jar:3.4.1:jar (default-jar) @ x ---\n", "No tests to run.\n", "[INFO] No tests to run.\n[INFO] --- maven-install-plugin:3.1.1:install (default-install) @ x ---\n"},
		}, {
			"gradle", []string{
				"> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n", "> Task :a:test SKIPPED\n> Task :b:test NO-SOURCE\n> Task :check UP-TO-DATE\n", "> Task :checkstyleMain NO-SOURCE\n> Task :test NO-SOURCE\n",
				"> Task :app:checkDebugAarMetadata\n> Task :app:testDebugUnitTest NO-SOURCE\n", "> Task :checkKotlinGradlePluginConfigurationErrors\n> Task :test NO-SOURCE\n", ":compileJava SKIPPED\n:test SKIPPED\n:build SKIPPED\n",
			},
			"", "3 tests completed, 1 failed\n\n> Task :test FAILED\n",
			[]string{
				"> Task :a:test NO-SOURCE\n> Task :b:test\n", "> Task :a:test NO-SOURCE\n> Task :b:test UP-TO-DATE\n", "> Task :compileTestJava NO-SOURCE\n", "> Task :assemble\n> Task :test NO-SOURCE\n> Task :build\n",
				"> Task :assembleAndroidTest NO-SOURCE\n", "> Task :checkstyleMain\n> Task :test NO-SOURCE\n> Task :check\n", "> Task :a:ktlintCheck UP-TO-DATE\n> Task :a:test NO-SOURCE\n", "> Task :a:testDebugUnitTest FROM-CACHE\n> Task :test NO-SOURCE\n",
				"> Task :checkFormat\n> Task :test NO-SOURCE\n",
			},
		}, {
			"TestNG", []string{rule + "Total tests run: 0, Passes: 0, Failures: 0, Skips: 0\n" + rule, "    Total tests run: 2, Failures: 0, Skips: 2\n"},
			"Total tests run: 3, Passes: 3, Failures: 0, Skips: 0\n", "Total tests run: 3, Failures: 1, Skips: 0\n", []string{"Total tests run: 3\n"},
		}, {
			"JUnit 4", []string{"OK (0 tests)\n"}, "OK (3 tests)\n", "Tests run: 3,  Failures: 1\n", []string{"OK (3 tests are enough)\n"},
		}, {
			"JUnit platform", []string{"[         2 tests found           ]\n[         2 tests skipped         ]\n[         0 tests started         ]\n[         0 tests aborted         ]\n[         0 tests successful      ]\n[         0 tests failed          ]\n"},
			"[         0 tests skipped         ]\n[         3 tests successful      ]\n[         0 tests failed          ]\n", "[         2 tests successful      ]\n[         1 tests failed          ]\n", []string{"[ 3 tests planned ]\n"},
		}, {
			"sbt", []string{"[info] No tests were executed.\n", "[info] Passed: Total 2, Failed 0, Errors 0, Passed 0, Skipped 2\n"},
			"[info] Tests: succeeded 3, failed 0, canceled 0, ignored 0, pending 0\n[info] Passed: Total 3, Failed 0, Errors 0, Passed 3\n", "[error] Failed: Total 3, Failed 1, Errors 0, Passed 2\n",
			[]string{"[info] No tests today\n"},
		}, {
			"jasmine", []string{"No specs found\n", "Incomplete: No specs found\n"}, "3 specs, 0 failures\n", "3 specs, 1 failure\n", []string{"No specs found in x\n"},
		}, {
			"ScalaTest, a suite that was aborted", nil, "", "Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0\n*** 1 SUITE ABORTED ***\n", nil,
		}, {
			"ScalaTest", []string{"Tests: succeeded 0, failed 0, canceled 0, ignored 2, pending 0\n"}, "Tests: succeeded 3, failed 0, canceled 0, ignored 0, pending 0\n", "Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0\n", nil,
		}, {
			"sbt, whose runner died", nil, "", "[error] Error: Total 1, Failed 0, Errors 1, Passed 0\n[error] Error during tests:\n[error] \tSearchSpec\n", nil,
		}, {
			"utest", []string{"Tests: 0, Passed: 0, Failed: 0\n"}, "Tests: 3, Passed: 3, Failed: 0\n", "Tests: 48, Passed: 47, Failed: 1\n", []string{"Tests: 48, Passed: all\n"},
		}, {
			"ZIO", []string{"0 tests passed. 0 tests failed. 2 tests ignored.\n"}, "3 tests passed. 0 tests failed. 0 tests ignored.\nExecuted in 3 s 298 ms\n", "15 tests passed. 1 tests failed. 0 tests ignored.\n", []string{"3 tests passed. All is well.\n"},
		}, {
			"terra", nil, "3 tests passed. 0 tests failed.\n", "470 tests passed. 1 tests failed.\n", nil,
		}, {
			"specs2", []string{"2 examples, 0 failure, 0 error, 2 skipped\n"}, "Total for specification MassFragmentsTest\nFinished in 5 ms\n3 examples, 0 failure, 0 error\n", "3 examples, 9 expectations, 0 failure, 1 error\n", []string{"3 examples, 9 expectations and more\n"},
		}, {
			"JUnit by sbt's interface", []string{"Test run finished: 0 failed, 2 ignored, 0 total, 0.05s\n"}, "Test run started\nTest run finished: 0 failed, 0 ignored, 1 total, 0.05s\nTest run com.example.T finished: 0 failed, 0 ignored, 2 total, 0.049s\n",
			"Test run finished: 1 failed, 0 ignored, 3 total, 0.011s\n", []string{"Test run finished\n"},
		}, {
			"doctest", []string{"[doctest] test cases: 0 | 0 passed | 0 failed | 0 skipped\n[doctest] assertions: 0 | 0 passed | 0 failed |\n[doctest] Status: SUCCESS!\n", "[doctest] test cases: 0 | 0 passed | 0 failed | 4 skipped\n"},
			"[doctest] test cases:  3 |  3 passed | 0 failed | 0 skipped\n[doctest] assertions: 9 | 9 passed | 0 failed |\n", "[doctest] test cases: 3 | 2 passed | 1 failed | 0 skipped\n[doctest] Status: FAILURE!\n",
			[]string{"[doctest] assertions: 0 | 0 passed | 0 failed |\n"},
		}, {
			"Catch2", []string{"test cases: 2 | 2 skipped\nassertions: - none -\n", "No tests ran\n"},
			"All tests passed (5 assertions in 3 test cases)\n", "test cases: 3 | 2 passed | 1 failed\nassertions: 5 | 4 passed | 1 failed\n", []string{"test cases: a | b\n", "No tests ran since Monday\n"},
		}, {
			"Boost.Test", []string{"Running 0 test cases...\n\n*** No errors detected\n"}, "Running 3 test cases...\n\n*** No errors detected\n", "Running 3 test cases...\n\n*** 1 failure is detected in the test module \"x\"\n", []string{"*** 1 failure a day\n"},
		}, {
			"CppUTest", []string{"OK (3 tests, 0 ran, 0 checks, 0 ignored, 3 filtered out, 0 ms)\n"}, "OK (3 tests, 3 ran, 5 checks, 0 ignored, 0 filtered out, 1 ms)\n", "Errors (1 failures, 3 tests, 3 ran, 5 checks, 0 ignored, 0 filtered out, 1 ms)\n", nil,
		}, {
			"Unity", []string{"2 Tests 0 Failures 2 Ignored\nOK\n"}, "3 Tests 0 Failures 0 Ignored \nOK\n", "3 Tests 1 Failures 0 Ignored \nFAIL\n", nil,
		}, {
			"Criterion", []string{"[====] Synthesis: Tested: 0 | Passing: 0 | Failing: 0 | Crashing: 0 \n"}, "[\x1b[0;34m====\x1b[0m] \x1b[0;1mSynthesis: Tested: \x1b[0;34m3\x1b[0;1m | Passing: \x1b[0;32m3\x1b[0;1m | Failing: \x1b[0;31m0\x1b[0;1m | Crashing: \x1b[0;31m0\x1b[0;1m \x1b[0m\n", "[====] Synthesis: Tested: 3 | Passing: 2 | Failing: 1 | Crashing: 1 \n", []string{"[====] Running 3 tests\n"},
		}, {
			"Check", []string{"100%: Checks: 0, Failures: 0, Errors: 0\n"}, "100%: Checks: 3, Failures: 0, Errors: 0\n", "66%: Checks: 3, Failures: 1, Errors: 0\n", nil,
		}, {
			"Qt", []string{"Totals: 2 passed, 0 failed, 3 skipped, 0 blacklisted, 5ms\n"}, "Totals: 5 passed, 0 failed, 0 skipped, 0 blacklisted, 5ms\n", "Totals: 4 passed, 1 failed, 0 skipped, 0 blacklisted, 5ms\n", []string{"Totals: 3 passed on\n"},
		}, {
			"XCTest", []string{"Test Suite 'All tests' started at 2026\nTest Suite 'All tests' passed at 2026\n\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n", "Test Suite 'Selected tests' passed at 2026.\n\t Executed 2 tests, with 2 tests skipped and 0 failures (0 unexpected) in 0.000 (0.000) seconds\n"},
			"Test Suite 'A' passed at 2026\n\t Executed 3 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\nTest Suite 'All tests' passed at 2026\n\t Executed 3 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n",
			"Test Suite 'A' passed at 2026\n\t Executed 3 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds\nTest Suite 'All tests' failed at 2026\n\t Executed 4 tests, with 1 failure (0 unexpected) in 0.0 (0.0) seconds\n",
			[]string{"\t Executed 3 tests, with 1 failure (0 unexpected) in 0.000 (0.000) seconds\n"},
		}, {
			"swift-testing", []string{"✔ Test run with 0 tests passed after 0.001 seconds.\n", "➜ Test a() skipped.\n➜ Test b() skipped: \"no\"\n✔ Test run with 2 tests in 1 suite passed after 0.001 seconds.\n"},
			"✔ Test a() passed after 0.001 seconds.\n✔ Test run with 3 tests passed after 0.001 seconds.\n", "✘ Test a() failed after 0.001 seconds with 2 issues.\n✘ Test run with 3 tests failed after 0.001 seconds with 2 issues.\n", nil,
		}, {
			"gotestsum", []string{"\nDONE 0 tests in 0.100s\n", "∅  example.com/m\n\nDONE 2 tests, 2 skipped in 0.100s\n"}, "✓  example.com/m (1ms)\n\nDONE 3 tests in 0.100s\n", "DONE 3 tests, 1 failure in 0.100s\n", []string{"DONE 3 tests of the engine\n"},
		}, {
			"gotestsum, standard-verbose", nil, "=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \texample.com/m\t0.01s\n\nDONE 3 tests in 0.100s\n", "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/m\t0.01s\n\nDONE 2 tests, 1 failure in 0.1s\n", nil,
		}, {
			"ginkgo", []string{"Ran 0 of 5 Specs in 0.001 seconds\nSUCCESS! -- 0 Passed | 0 Failed | 0 Pending | 5 Skipped\n"}, "SUCCESS! -- 3 Passed | 0 Failed | 0 Pending | 2 Skipped\n", "FAIL! -- 2 Passed | 1 Failed | 0 Pending | 0 Skipped\n",
			[]string{"SUCCESS! -- 0 Passed | 0 Failed | 0 Pending | 5 Skipped\nok  \texample.com/m\t0.01s\n"},
		}, {
			"playwright", []string{"\nRunning 1 test using 1 worker\n\n  -  1 a.spec.ts:3:5 › x\n\n  1 skipped\n", "Running 2 tests using 1 worker\n  2 did not run\n"},
			"\nRunning 4 tests using 2 workers\n\n  1 flaky\n    a.spec.ts:3:5 › x\n  1 skipped\n  2 passed (2.0s)\n", "\nRunning 4 tests using 1 worker\n\n  1 failed\n    a.spec.ts:3:5 › x\n  1 flaky\n    a.spec.ts:9:5 › y\n  1 skipped\n  1 passed (2.0s)\n",
			[]string{"  1 failed\n", "  1 skipped\n  3 passed (2.0s)\n", "Running 3 tests using 2 machines\n"},
		}, {
			"playwright, its end alone", nil, "  1 flaky\n    [chromium] › a.spec.ts:3:5 › x › y ───────────────\n  2 passed (2.0s)\n", "  1 failed\n    [chromium] › tests/a.spec.ts:3:5 › x › y ───────────\n  1 flaky\n    [chromium] › a.spec.ts:9:5 › z\n  1 skipped\n  2 passed (3.1s)\n",
			[]string{"  1 failed\n    at x (a.ts:3:5)\n  2 passed (3.1s)\n", "  1 failed\n\n    a.spec.ts:3:5 › x\n"},
		}, {
			"playwright, without a project", nil, "", "  1 interrupted\n    a.spec.ts:3:1 › x\n", nil,
		}, {
			"playwright, in a workflow", []string{"::notice title=🎭 Playwright Run Summary::  2 skipped\n"}, "::notice title=🎭 Playwright Run Summary::  1 flaky%0A    [chromium] › a.spec.ts:3:5 › 7 failed%0A  1 skipped%0A  2 passed (2.0s)\n",
			"::notice title=🎭 Playwright Run Summary::  1 failed%0A    [chromium] › a.spec.ts:3:5 › " + strings.Repeat("long ", 100) + "%0A  1 did not run%0A  2 passed (2.0s)\n", []string{"::notice title=Summary::  1 failed\n", "::notice title=🎭 Playwright Run Summary::\n"},
		}, {
			"behave", []string{"0 features passed, 0 failed, 0 skipped\n0 scenarios passed, 0 failed, 0 skipped\n0 steps passed, 0 failed, 0 skipped, 0 undefined\nTook 0m0.000s\n", "0 scenarios passed, 0 failed, 0 skipped, 2 untested\n"},
			"1 feature passed, 0 failed, 0 skipped\n3 scenarios passed, 0 failed, 0 skipped\n9 steps passed, 0 failed, 0 skipped, 0 undefined\n",
			"0 features passed, 1 failed, 0 skipped\n0 scenarios passed, 0 failed, 1 error, 0 skipped\n0 steps passed, 1 failed, 0 skipped, 0 undefined\n", []string{"3 scenarios passed us by\n"},
		}, {
			"cucumber", []string{"0 scenarios\n0 steps\n0m00.000s\n", "2 scenarios (2 skipped)\n4 steps (4 skipped)\n", "1 scenario (1 undefined)\n", "No scenarios\nNo steps\n"},
			"3 scenarios (3 passed)\n9 steps (9 passed)\n", "3 scenarios (1 failed, 2 passed)\n", []string{"0 scenarios\n", "3 scenarios (of many)\n", "No scenarios\n"},
		}, {
			"prove", []string{"x.t .. skipped: no net\nFiles=1, Tests=0,  0 wallclock secs\nResult: NOTESTS\n"}, "",
			"z.t (Wstat: 256 (exited 1) Tests: 2 Failed: 1)\n  Failed test:  1\n  Non-zero exit status: 1\nFiles=1, Tests=2,  0 wallclock secs\nResult: FAIL\n",
			[]string{"Result: FAIL\n", "Files=1, Tests=2,  0 wallclock secs\nResult: PASS\nNo tests found, exiting with code 0\n"},
		}, {
			"rspec", []string{"0 examples, 0 failures\n", "2 examples, 0 failures, 2 pending\n"}, "4 examples, 0 failures, 1 pending\n", "0 examples, 0 failures, 1 error occurred outside of examples\n", nil,
		}, {
			"shellspec", []string{"2 examples, 0 failures, 2 skips\n"}, "4 examples, 0 failures, 1 skip\n", "2 examples, 1 failure, aborted by an unexpected error\n", nil,
		}, {
			"crystal", []string{"1 examples, 0 failures, 0 errors, 1 pending\n"}, "3 examples, 0 failures, 0 errors, 0 pending\n", "3 examples, 0 failures, 1 errors, 0 pending\n", nil,
		}, {
			"cargo test -- --list", []string{"a: test\n\n1 test, 0 benchmarks\n"}, "test result: ok. 3 passed; 0 failed; 0 ignored; x\n", "test result: FAILED. 2 passed; 1 failed; 0 ignored; x\n", []string{"1 test, 0 complaints\n"},
		}, {
			"trial", []string{"Ran 2 tests in 0.001s\n\nPASSED (skips=2)\n"}, "Ran 4 tests in 0.001s\n\nPASSED (skips=1, successes=3)\n", "Ran 3 tests in 0.001s\n\nFAILED (failures=1, successes=2)\n", nil,
		}, {
			"shunit2", []string{"Ran 0 tests.\n\nOK\n"}, "Ran 3 tests.\n\nOK\n", "Ran 3 tests.\n\nFAILED (failures=1)\n", nil,
		}, {
			"luaunit", []string{"Ran 0 tests in 0.000 seconds, 0 successes, 0 failures, 2 skipped\n"}, "Ran 3 tests in 0.000 seconds, 3 successes, 0 failures\nOK\n", "Ran 3 tests in 0.000 seconds, 2 successes, 1 failure\n", nil,
		}, {
			"busted", []string{"0 successes / 0 failures / 0 errors / 2 pending : 0.001 seconds\n"}, "3 successes / 0 failures / 0 errors / 0 pending : 0.001 seconds\n", "2 successes / 0 failures / 1 error / 0 pending : 0.001 seconds\n", nil,
		}, {
			"doctest of Python", nil, "", "***Test Failed*** 1 failures.\n", []string{"***Test Failed***\n"},
		}, {
			"stestr", []string{"Totals\n======\nRan: 2 tests in 0.1000 sec.\n - Passed: 0\n - Skipped: 2\n - Failed: 0\n"}, "Ran: 3 tests in 0.1000 sec.\n - Passed: 3\n - Skipped: 0\n - Expected Fail: 0\n - Unexpected Success: 0\n - Failed: 0\n", "Ran: 3 tests in 0.1000 sec.\n - Passed: 2\n - Skipped: 0\n - Failed: 1\n",
			[]string{" - Passed: 2\n - Failed: 1\n"},
		}, {
			"robot", []string{"A :: x\n2 tests, 0 passed, 0 failed, 2 skipped\n"}, "2 tests, 2 passed, 0 failed\n3 tests, 3 passed, 0 failed\n", "2 tests, 2 passed, 0 failed\n3 tests, 2 passed, 1 failed\n", []string{"3 tests, 2 passed, 1 failed us\n"},
		}, {
			"avocado", []string{"RESULTS    : PASS 0 | ERROR 0 | FAIL 0 | SKIP 2 | WARN 0 | INTERRUPT 0 | CANCEL 0\n"}, "RESULTS    : PASS 3 | ERROR 0 | FAIL 0 | SKIP 0 | WARN 0 | INTERRUPT 0 | CANCEL 0\n", "RESULTS    : PASS 2 | ERROR 1 | FAIL 0 | SKIP 0 | WARN 0 | INTERRUPT 0\n", nil,
		}, {
			"uvu", []string{"  Total:     0\n  Passed:    0\n  Skipped:   2\n  Duration:  0.50ms\n"}, "  Total:     3\n  Passed:    3\n  Skipped:   2\n", "  Total:     3\n  Passed:    2\n  Skipped:   1\n", []string{"  Passed:    3\n"},
		}, {
			"TestCafe", nil, " Running tests in:\n - Chrome 120\n\n Page\n ✓ a\n\n\n 3 passed (1m 02s)\n", " 1/3 failed (2s)\n", []string{" 3 passed (of 4)\n", " 1/3 failed\n"},
		}, {
			"CodeceptJS", []string{"  OK  | 0 passed   // 10ms\n"}, "  OK  | 3 passed, 1 skipped   // 10ms\n", "  FAIL  | 2 passed, 1 failed   // 3s\n", []string{"  OK  | all passed\n"},
		}, {
			"jasmine", []string{"2 specs, 0 failures, 2 pending specs\n"}, "4 specs, 0 failures, 1 pending spec\n", "3 specs, 1 failure\n", []string{"3 specs, 0 failures so far\n"},
		}, {
			"tape", []string{"TAP version 13\n\n1..0\n# tests 0\n# pass  0\n\n# ok\n"}, "TAP version 13\n# a\nok 1 a\nok 2 b\nok 3 c\n\n1..3\n# tests 3\n# pass  3\n\n# ok\n", "TAP version 13\nok 1 a\nnot ok 2 b\n\n1..2\n# tests 2\n# pass  1\n# fail  1\n", nil,
		}, {
			"Pest", []string{"  Tests:    2 skipped (0 assertions)\n"}, "  Tests:    1 skipped, 3 passed (4 assertions)\n", "  Tests:    1 failed, 2 passed (3 assertions)\n", []string{"  Tests:    2 of them (4 assertions)\n"},
		}, {
			"NUnit", []string{"  Test Count: 2, Pass: 0, Fail: 0, Warn: 0, Inconclusive: 0, Skip: 2\n"}, "  Test Count: 3, Pass: 3, Fail: 0, Warn: 0, Inconclusive: 0, Skip: 0\n", "  Test Count: 3, Passed: 2, Failed: 1, Warnings: 0, Inconclusive: 0, Skipped: 0\n", nil,
		}, {
			"NUnit, before 3.0", []string{"Tests run: 0, Errors: 0, Failures: 0, Inconclusive: 0, Time: 0.0050003 seconds\n  Not run: 0, Invalid: 0, Ignored: 0, Skipped: 0\n"}, "Tests run: 3, Errors: 0, Failures: 0, Inconclusive: 0, Time: 5.237 seconds\n", "   Tests run: 59, Passed: 57, Errors: 1, Failures: 0, Inconclusive: 1\n     Not run: 8, Invalid: 1, Ignored: 4, Explicit: 1, Skipped: 2\n", nil,
		}, {
			"xUnit", []string{"   a  Total: 2, Errors: 0, Failed: 0, Skipped: 2, Not Run: 0, Time: 0.1s\n"}, "   a  Total: 3, Errors: 0, Failed: 0, Skipped: 0, Time: 0.100s\n", "   a  Total: 3, Errors: 0, Failed: 1, Skipped: 0, Time: 0.100s\n", nil,
		}, {
			"Pester", []string{"Tests Passed: 0, Failed: 0, Skipped: 2, Inconclusive: 0, NotRun: 0\n", "Tests Passed: 0, Failed: 0, Skipped: 2 NotRun: 1\n"}, "Tests Passed: 3, Failed: 0, Skipped: 0, Inconclusive: 0, NotRun: 0\n", "Tests Passed: 2, Failed: 1, Skipped: 0 NotRun: 0\n", nil,
		}, {
			"clojure.test", []string{"Ran 0 tests containing 0 assertions.\n0 failures, 0 errors.\n"}, "Ran 3 tests containing 5 assertions.\n0 failures, 0 errors.\n", "Ran 3 tests containing 5 assertions.\n1 failures, 0 errors.\n", []string{"1 failures, 0 errors.\n"},
		}, {
			"kaocha", []string{"0 tests, 0 assertions, 0 failures.\n"}, "3 tests, 5 assertions, 0 failures.\n", "3 tests, 5 assertions, 1 errors, 0 failures.\n", nil,
		}, {
			"zig", []string{"All 0 tests passed.\n"}, "All 3 tests passed.\n", "2 passed; 0 skipped; 1 failed.\n", []string{"All 3 tests passed over him\n"},
		}, {
			"tasty", []string{"All 0 tests passed (0.00s)\n"}, "All 3 tests passed (0.00s)\n", "1 out of 3 tests failed (0.00s)\n", nil,
		}, {
			"OUnit", []string{"Ran: 2 tests in: 0.01 seconds.\nOK: Cases: 2 Skip: 2\n"}, "..\nRan: 3 tests in: 0.01 seconds.\nOK\n", "Ran: 3 tests in: 0.14 seconds.\nFAILED: Cases: 3 Tried: 3 Errors: 0 Failures: 1 Skip:  0 Todo: 0 Timeouts: 0.\n", []string{"FAILED: Cases: many\n"},
		}, {
			"Julia", nil, "Test Summary: | Pass  Total  Time\nFoo Tests     |    3      3  0.0s\n  Animals     |    2      2  0.0s\n",
			"Test Summary: | Pass  Fail  Total  Time\nFoo Tests     |    3     1      4  0.0s\n  Animals     |    2            2  0.0s\nERROR: LoadError: Some tests did not pass: 3 passed, 1 failed, 0 errored, 0 broken.\n", []string{"Foo Tests     |    3      3  0.0s\n"},
		}, {
			"HUnit", []string{"Cases: 0  Tried: 0  Errors: 0  Failures: 0\n"}, "Cases: 3  Tried: 3  Errors: 0  Failures: 0\n", "Cases: 3  Tried: 3  Errors: 0  Failures: 1\n", nil,
		}, {
			"alcotest", []string{"Test Successful in 0.001s. 0 tests run.\n"}, "Test Successful in 0.001s. 3 tests run.\n", "1 failure! in 0.002s. 3 tests run.\n", []string{"3 tests run.\n"},
		}, {
			"terraform", []string{"Success! 0 passed, 0 failed.\n", "Success! 0 passed, 0 failed, 2 skipped.\n"}, "Success! 3 passed, 0 failed.\n", "Failure! 2 passed, 1 failed.\n", nil,
		}, {
			"Hurl", nil, "Executed files:    3\nExecuted requests: 129 (1675.3/s)\nSucceeded files:   3 (100.0%)\nFailed files:      0 (0.0%)\nDuration:          77 ms\n", "Executed files:  6\nSucceeded files: 5 (83.3%)\nFailed files:    1 (16.7%)\n", []string{"Succeeded files:  714\nFailed files:     3\n"},
		}, {
			"conftest", []string{"0 tests, 0 passed, 0 warnings, 0 failures, 0 exceptions\n"}, "3 tests, 3 passed, 0 warnings, 0 failures, 0 exceptions\n", "3 tests, 2 passed, 0 warnings, 1 failure, 0 exceptions\n", nil,
		}, {
			"forge", []string{"No tests found in project! Forge looks for functions that start with `test`.\n", "Ran 1 test suite in 1.00ms (0.50ms CPU time): 0 tests passed, 0 failed, 2 skipped (2 total tests)\n"},
			"Suite result: ok. 3 passed; 0 failed; 0 skipped; finished in 1.00ms (0.50ms CPU time)\n\nRan 1 test suite in 1.00ms (0.50ms CPU time): 3 tests passed, 0 failed, 0 skipped (3 total tests)\n", "Ran 2 test suites in 1.00ms (0.50ms CPU time): 2 tests passed, 1 failed, 0 skipped (3 total tests)\n", nil,
		}, {
			"dart", []string{"00:00 +0 ~2: All tests skipped.\n", "00:00 +0: No tests ran.\n"}, "00:00 +0: a\n00:01 +3 ~1: All tests passed!\n", "00:01 +2 -1: Some tests failed.\n", []string{"00:01 +2 -1: a test\n"},
		}, {
			"testthat", []string{"[ FAIL 0 | WARN 0 | SKIP 2 | PASS 0 ]\n"}, "[ FAIL 0 | WARN 0 | SKIP 0 | PASS 1 ]\n[ FAIL 0 | WARN 0 | SKIP 0 | PASS 3 ]\n", "[ FAIL 0 | WARN 0 | SKIP 0 | PASS 2 ]\n[ FAIL 1 | WARN 0 | SKIP 0 | PASS 2 ]\n", nil,
		}, {
			"tcltest", []string{"all.tcl:\tTotal\t2\tPassed\t0\tSkipped\t2\tFailed\t0\n"}, "all.tcl:\tTotal\t3\tPassed\t3\tSkipped\t0\tFailed\t0\n", "all.tcl:\tTotal\t3\tPassed\t2\tSkipped\t0\tFailed\t1\n", []string{"Total\t3\tPassed\t3\n"},
		}, {
			"DejaGnu", nil, "# of expected passes\t\t3\n", "# of expected passes\t\t2\n# of unexpected failures\t1\n", []string{"# of expected guests\t\t3\n"},
		}, {
			"lit", []string{"Total Discovered Tests: 2\n  Unsupported: 2 (100.00%)\n"}, "Total Discovered Tests: 4\n  Unsupported: 1 (25.00%)\n  Passed     : 3 (75.00%)\n", "Total Discovered Tests: 3\n  Passed: 2 (66.67%)\n  Failed: 1 (33.33%)\n", []string{"  Failed: 1 (33.33%)\n"},
		}, {
			"cram", []string{"# Ran 2 tests, 2 skipped, 0 failed.\n"}, "# Ran 4 tests, 1 skipped, 0 failed.\n", "# Ran 3 tests, 0 skipped, 1 failed.\n", nil,
		}, {
			"a list of words", []string{"PASSED: 0\nSKIPPED: 4\nFAILED: 0\n"}, "PASSED: 3\nSKIPPED: 1\nERRORS: 0\nFAILED: 0\n", "PASSED: 3\nSKIPPED: 1\nFAILED: 1\n", []string{"PASSED: 3\nSKIPPED: 1\n", "SKIPPED: 1\nFAILED: 1\n"},
		}, {
			"a list of words, with errors", nil, "FAILED: 0\nERRORS: 0\nPASSED: 3\n", "PASSED: 3\nERRORS: 1\nFAILED: 0\n", nil,
		},
	}
}

// TestEachSum: each kind of a sum is one of a runner in a table of these tests. One below an announcement does not take the lines of others.
func TestEachSum(t *testing.T) {
	var text strings.Builder
	for _, r := range runners() {
		text.WriteString(strings.Join(r.none, "") + r.green + r.red + strings.Join(r.other, ""))
	}
	for _, s := range summaries() {
		text.WriteString(s.out)
	}
	reached := make(map[string]bool)
	for l := range bytes.Lines(escapes().ReplaceAll([]byte(text.String()), nil)) {
		l = bytes.TrimRight(l, "\r\n\t ")
		for _, s := range sums()[append(l, 0)[0]] {
			if s.has(l) && s.match(l) != nil {
				if reached[s.re] = true; s.under == 0 {
					break
				}
			}
		}
	}
	kinds := sumKinds()
	for i := range kinds {
		if re := kinds[i].re; !reached[re] {
			t.Errorf("no test has a line like %s", re)
		}
	}
}

// TestFirst holds that what first says of a pattern is all that a line of it can begin with.
func TestFirst(t *testing.T) {
	kinds := sumKinds()
	n := 0
	for i := range kinds {
		firsts := first(kinds[i].re)
		if firsts == "" {
			continue
		}
		n++
		var can, want [256]bool
		for _, b := range []byte(firsts) {
			want[b] = true
		}
		if begins(kinds[i].tree(), &can); can != want {
			t.Errorf("a line of %s can begin otherwise", kinds[i].re)
		}
	}
	if n < len(kinds)*2/3 {
		t.Errorf("only %d of %d patterns say it", n, len(kinds))
	}
}

// TestSums holds each runner's counts and failures to what it printed.
func TestSums(t *testing.T) {
	for _, tt := range runners() {
		count := func(out string, pieces bool) *Counter {
			var c Counter
			if pieces {
				for i := range len(out) {
					c.Write(0, []byte(out[i:i+1]))
				}
			} else {
				c.Write(0, []byte(out))
			}
			return &c
		}
		for _, pieces := range []bool{false, true} {
			for _, out := range tt.none {
				c := count(out, pieces)
				if got, ok := c.Tests(); !ok || got.Ran() != 0 {
					t.Errorf("%s, no test: %q: got %v %t", tt.tool, out, got, ok)
				}
				if n, denied := c.Denied(); denied {
					t.Errorf("%s, no test: %q: %d are said to have failed", tt.tool, out, n)
				}
				for _, lines := range []string{strings.ReplaceAll(out, "\n", "\r\n"), "\x1b[32m" + strings.ReplaceAll(out, "\n", "\x1b[0m\n\x1b[32m")} {
					if got, ok := count(lines, pieces).Tests(); !ok || got.Ran() != 0 {
						t.Errorf("%s, no test: %q: got %v %t", tt.tool, lines, got, ok)
					}
				}
				// Another runner that ran some is not undone.
				if got, ok := count(out+"==== 3 passed in 0.01s ====\n", pieces).Tests(); ok && got.Passed < 3 {
					t.Errorf("%s, no test, and three of another: %v", tt.tool, got)
				}
			}
			if tt.green != "" {
				c := count(tt.green, pieces)
				if got, ok := c.Tests(); !ok || got.Passed != 3 || got.Failed != 0 {
					t.Errorf("%s: %q: got %v %t", tt.tool, tt.green, got, ok)
				}
				if n, denied := c.Denied(); denied {
					t.Errorf("%s: %q: %d are said to have failed", tt.tool, tt.green, n)
				}
			}
			if tt.red != "" {
				if n, denied := count(tt.red, pieces).Denied(); !denied || n != 1 {
					t.Errorf("%s, red: %q: %d, %t", tt.tool, tt.red, n, denied)
				}
				for i, out := range []string{tt.red + tt.green, tt.green + tt.red} {
					if tt.tool == "robot" || tt.tool == "testthat" || tt.green == "" {
						continue // the last line is of all
					}
					if n, denied := count(out, pieces).Denied(); denied {
						t.Errorf("%s, red and green, %d: %q: %d", tt.tool, i, out, n)
					}
				}
			}
			for _, out := range tt.other {
				c := count(out, pieces)
				if got, ok := c.Tests(); ok {
					t.Errorf("%s, nothing: %q: got %v", tt.tool, out, got)
				}
				if n, denied := c.Denied(); denied {
					t.Errorf("%s, nothing: %q: %d are said to have failed", tt.tool, out, n)
				}
			}
		}
	}
}

// TestTooManyTests: a number that is too large is not one of tests that passed, and one of tests that failed is not zero.
func TestTooManyTests(t *testing.T) {
	const huge = "99999999999999999999"
	for _, out := range []string{huge + " runs, 0 assertions, 0 failures, 0 errors, 0 skips\n", "==== " + huge + " passed in 0.1s ====\n", "OK (" + huge + " tests)\n", "Ran " + huge + " tests in 0.1s\n"} {
		var c Counter
		c.Write(0, []byte(out))
		if got, ok := c.Tests(); !ok || got.Ran() != 0 {
			t.Errorf("%q: %v, %t", out, got, ok)
		}
	}
	for _, out := range []string{"3 runs, 0 assertions, " + huge + " failures, 0 errors, 0 skips\n", "==== " + huge + " failed, 3 passed in 0.1s ====\n", "[  FAILED  ] " + huge + " tests, listed below:\n", "PASSED: 3\nFAILED: " + huge + "\n"} {
		var c Counter
		c.Write(0, []byte(out))
		if _, denied := c.Denied(); !denied {
			t.Errorf("%q is no failure", out)
		}
	}
}

// TestListAfterTheSum: ctest and GoogleTest list after the sum which tests it does not count as passed, one a line, however many.
func TestListAfterTheSum(t *testing.T) {
	const n = 20_000
	list := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	noise := strings.Repeat("a line of what was built\n", 10_000)
	for name, out := range map[string]struct {
		text   string
		want   Tests
		denied bool
	}{
		"ctest, skipped":      {fmt.Sprintf("100%% tests passed, 0 tests failed out of %d\n\nThe following tests did not run:\n", n) + list("\t%5d - a_longer_name_of_a_test (Skipped)\n"), Tests{0, 0, n}, false},
		"ctest, failed":       {fmt.Sprintf("0%% tests passed, %d tests failed out of %d\n\n", n, n) + list("\t%5d - a_longer_name_of_a_test (Failed)\n"), Tests{0, n, 0}, true},
		"GoogleTest, skipped": {fmt.Sprintf("[  PASSED  ] 0 tests.\n[  SKIPPED ] %d tests, listed below:\n", n) + list("[  SKIPPED ] Suite.ALongerName%d\n"), Tests{0, 0, n}, false},
		"GoogleTest, failed":  {fmt.Sprintf("[  PASSED  ] 1 test.\n[  FAILED  ] %d tests, listed below:\n", n) + list("[  FAILED  ] Suite.ALongerName%d\n"), Tests{1, n, 0}, true},
	} {
		for _, before := range []string{"", noise} {
			var c Counter
			c.Write(0, []byte(before+out.text))
			if got, ok := c.Tests(); !ok || got != out.want {
				t.Errorf("%s: %v, %t; want %v", name, got, ok, out.want)
			}
			if _, denied := c.Denied(); denied != out.denied {
				t.Errorf("%s: denied: %t", name, denied)
			}
		}
	}
}

// TestOrdinaryLines: the lines that fill long outputs have no text of a sum, and do not use up what is looked at: 64 KiB after the
// beginning, a list of 20,000 of them ended the search before.
func TestOrdinaryLines(t *testing.T) {
	for _, l := range []string{
		"    ✓ does it (5ms)", "  ✓ does it", "    1) does it", "  - one to be done", "    at Object.x  (foo.js:1:2)", "        at com.example.Main.main(Main.java:5)",
		"  File \"a.py\", line 3, in f", " lib/index.js       |   95.12 |    88.2 |     100 |   95.12 | 12-14,98", "[INFO] a line of a build", "  web-1  | GET / 200",
		"\tat org.junit.Assert.fail(Assert.java:89)", "# a comment", "12:00:01 INFO a line of a log", "> Task", "[ 12%] Building CXX object x.cpp.o",
	} {
		for h := range ofXCTest + 1 {
			c := Counter{seen: scanned, under: h}
			c.line([]byte(l + "\n"))
			if c.spent > 1 {
				t.Errorf("under %d, %q costs as much as %d lines", h, l, c.spent)
			}
		}
	}
}
