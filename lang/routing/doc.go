// Package routing reads the routing matrix: the TOML file that says what a verb
// and a noun really run.
//
// In come the bytes of routing.toml and of what it extends (packs of the
// stdlib, other matrices). Out comes a [Matrix]: its bindings, checked as far as
// they can be without running anything, with templates split into argv once and
// with the place of every fault. The package runs no tool, reads no script and
// knows nothing of receipts; package lint looks for executables, package edit makes
// edits, and package reference writes down what the keys mean.
//
// It is longer than other packages because its table of keys (keys.go) is the reference of the format.
//
// # The file
//
//	extends = ["python", "../base.toml"]   # packs, or paths relative to this file
//
//	[commands.test_pytest]
//	verb = "test"
//	noun = "pytest"
//	tool = ".venv/bin/python -m pytest -q {args...}"
//	receipt_required = true
//	timeout = "3m"
//	expect = { min_tests = 1 }
//
// What each key means is in the table of keys ([Keys]), of which `dialect explain KEY` and the reference page
// stdlib/docs/routing.md are made.
// Durations are strings as [time.ParseDuration] reads them; "0" means unbounded.
// Sizes are integers of bytes, or strings such as "10MB" (10^6) and "1GiB"
// (2^30). Words are compared in lower case. An unknown key is a warning.
//
// # Inputs
//
// The tree of the project does not hold all that decides a verdict: what a package
// manager installed lies in ignored folders. A binding names such files:
//
//	inputs = ["node_modules/.package-lock.json", ".venv/**/RECORD"]
//
// Each is a path or a pattern relative to the directory of the root matrix, with
// slashes; "*", "?" and "[a-z]" match within one name, and "**" any number of directories.
// Absolute paths and ".." are errors. Receipts of the binding carry one digest of these
// files, which a verifier computes again; package runtime/inputs specifies it and its
// bounds. Name records of what is installed rather than all of it.
//
// # Files
//
// A binding that only reads can say which files of the project its verdict is about:
//
//	files = ["**/*.go", "go.*"]
//
// in patterns as those of inputs. `dialect run --changed` leaves a line out while its files are as they were when it
// passed. A file that no line names may be read by all of them. Packages runtime/scope and
// receipts/verify say what follows from it. It is enough for a strict query only with [verify] scoped = true.
//
// # Extending
//
// The pack "core" is loaded first, then what extends names, in order, each
// before the file that names it and once only; then the file itself. A later
// binding replaces an earlier one that has its name or its verb and noun, as a
// whole: no key is inherited. A composite that names a replaced member gets the
// binding that took its place. [defaults], [limits], [verify], [hooks], [vars],
// [aliases], [servers] and [agents] are merged key by key, the later value winning.
//
// # Digest
//
// A matrix is identified by
//
//	SHA-256("dialect.matrix/1\n" || file || file || ...)
//	file = len(name) ":" name "," len(content) ":" content ","
//
// over all its files, packs included, in the order in which they were loaded, and then the files
// that bindings pin, sorted by path, and then the files that decide a line whose tool is dialect itself, in the order of the
// bindings: the script that it runs, the matrix of that, and what that matrix consists of; a file that is absent is left out;
// len is in bytes, in decimal. The name of a pack is "pack:NAME"; any other is
// the path relative to the directory of the root matrix, with slashes, so that
// the digest is the same on every machine. The lengths make it injective. Two
// builds of dialect with different packs give different digests to a matrix
// that extends one, as they should: it does not run the same commands.
//
// It is one package of up to 3,600 lines because the one table of keys decodes them all, and a quarter of it is that
// table; what is found in a matrix (lint), changed in it (edit) and written about it (reference) are packages of their own.
package routing
