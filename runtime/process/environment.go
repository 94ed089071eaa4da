package process

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// EnvOptions say how to make an environment.
type EnvOptions struct {
	// Color leaves colour to the tools: a person is watching. Otherwise NO_COLOR is
	// set, and what forces colour is taken away.
	Color bool
	// Set is what the routing matrix sets. It wins over everything but keys.
	Set map[string]string
}

// Environ makes the environment of a command from base, usually os.Environ.
//
// It names each variable once, the last one winning, in the order of base; what
// is added comes after that, sorted. The locale stays as it is, and CI is never
// added: a tool must behave as it does for the user. Nothing can page (PAGER) or
// ask for a password (GIT_TERMINAL_PROMPT). The keys of dialect itself
// (DIALECT_KEY*) are never handed to a tool.
//
// Variables through which a caller could change what a check does, so that it
// passes on the same bytes, are left out unless o.Set has them. The names of those
// that had a value are returned in removed, sorted: a report shows them, since a
// job may mean them. It then says so in the matrix, where it can be reviewed.
func Environ(base []string, o EnvOptions) (env, removed []string) {
	add := map[string]string{"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
	if !o.Color {
		add["NO_COLOR"] = "1"
	}
	for name, value := range o.Set {
		if !secret(name) && validName(name) {
			add[name] = value
		}
	}
	last := make(map[string]int, len(base))
	for i, kv := range base {
		if name, _, ok := strings.Cut(kv, "="); ok {
			last[fold(name)] = i
		}
	}
	env = make([]string, 0, len(base)+len(add))
	for i, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || last[fold(name)] != i || secret(name) || fold(name) == MarkVariable {
			continue
		}
		if _, set := add[name]; set {
			continue
		}
		if alters(fold(name)) {
			if strings.TrimSpace(value) != "" {
				removed = append(removed, name)
			}
			continue
		}
		if !o.Color && forcesColor(fold(name)) {
			continue
		}
		env = append(env, kv)
	}
	for _, name := range slices.Sorted(maps.Keys(add)) {
		env = append(env, name+"="+add[name])
	}
	slices.Sort(removed)
	return env, removed
}

// EnvironDigest returns a digest of the variables in env that are known to change
// what a tool does: those that [Environ] leaves out unless the matrix sets them,
// and those that every job needs in some form (PATH, the locale, HOME, the chosen
// toolchain).
//
//	SHA-256("dialect.environ/1\n" || for each known NAME, ascending by bytes:
//	        NAME || "=" || decimal length of VALUE in bytes || ":" || VALUE || "\n")
//
// Of a name that occurs twice the last counts; one that is absent is left out, so
// that absent and empty differ. What changes from run to run without changing a
// tool (session ids, terminals, temporary folders, colour) is not in it: equal
// digests mean that two runs can be held against each other.
func EnvironDigest(env []string) [32]byte {
	known := make(map[string]string)
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if name = fold(name); ok && (selects(name) || strings.HasPrefix(name, "LC_") || alters(name)) {
			known[name] = value
		}
	}
	h := sha256.New()
	buf := []byte("dialect.environ/1\n")
	for _, name := range slices.Sorted(maps.Keys(known)) {
		buf = append(append(buf, name...), '=')
		buf = append(strconv.AppendInt(buf, int64(len(known[name])), 10), ':')
		buf = append(append(buf, known[name]...), '\n')
		h.Write(buf)
		buf = buf[:0]
	}
	h.Write(buf) // the heading, if nothing is known
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

func secret(name string) bool { return strings.HasPrefix(fold(name), "DIALECT_KEY") }

func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

// alters reports whether the variable name, folded, is one that changes what a
// check does.
func alters(name string) bool {
	switch {
	case altersByName(name),
		strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"), // the dynamic linker
		strings.HasPrefix(name, "GIT_CONFIG"), // _GLOBAL, _SYSTEM, _COUNT, _KEY_n, _VALUE_n, _PARAMETERS
		strings.HasPrefix(name, "BASH_FUNC_"): // a function instead of a command
		return true
	case strings.HasPrefix(name, "CARGO_TARGET_"):
		// CARGO_TARGET_<triple>_RUNNER=true runs no test at all; CARGO_TARGET_DIR
		// is only a place.
		return strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_RUSTFLAGS") || strings.HasSuffix(name, "_LINKER")
	case len(name) > len("npm_config_") && strings.EqualFold(name[:len("npm_config_")], "npm_config_"):
		// npm run exports all of its settings this way; these few decide what runs.
		switch strings.ReplaceAll(strings.ToLower(name[len("npm_config_"):]), "-", "_") {
		case "script_shell", "ignore_scripts", "node_options", "if_present", "dry_run":
			return true
		}
	}
	return false
}

// altersByName is the part of alters that is a plain list. A switch, since a map
// would be filled at each start of the binary.
//
// Jobs do use some of these in earnest: GOFLAGS=-mod=vendor, RUSTFLAGS=-Dwarnings,
// MAVEN_OPTS=-Xmx2g, LD_LIBRARY_PATH of a hosted Python, SKIP of pre-commit. Each
// can as well make a check pass that fails without it (GOFLAGS=-exec=true,
// RUSTFLAGS=-Awarnings, MAVEN_OPTS=-DskipTests), and nothing but their text tells
// the two apart: so they belong into the matrix. What only says who or where
// somebody is (GIT_AUTHOR_*, GIT_SSH_COMMAND, proxies, caches, indexes, tokens,
// GIT_COMMIT of Jenkins) stays.
func altersByName(name string) bool {
	switch name {
	case "BASH_ENV", "ENV", "ZDOTDIR", // files that a shell reads first
		"SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE", "EXECIGNORE", "POSIXLY_CORRECT":
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", // set in hooks, and another repository to what hooks run
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_ATTR_SOURCE", "GIT_ATTR_NOSYSTEM", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
		"GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
		"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
		"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_DEFAULT_HASH", "GIT_TEST_ASSUME_DIFFERENT_OWNER":
	case "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE",
		"PYTHONOPTIMIZE", // takes the assertions out of tests
		"PYTHONWARNINGS", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONCASEOK", "PYTHONDEVMODE",
		"PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
		"MYPYPATH", "COVERAGE_RCFILE", "COVERAGE_PROCESS_START", "TOX_SKIP_ENV", "TOX_OVERRIDE",
		"SKIP", "PRE_COMMIT_ALLOW_NO_CONFIG", "LEFTHOOK", "LEFTHOOK_EXCLUDE":
	case "NODE_OPTIONS", "NODE_PATH", "NODE_PRESERVE_SYMLINKS", "NODE_TEST_CONTEXT", // nested, node --test reports to nobody
		"TS_NODE_PROJECT", "TS_NODE_TRANSPILE_ONLY", "ESLINT_USE_FLAT_CONFIG",
		"BIOME_BINARY", "ESBUILD_BINARY_PATH", "DENO_V8_FLAGS", "BUN_OPTIONS":
	case "GOFLAGS", "GOENV", "GOROOT", "GOTOOLDIR", "GODEBUG", "GOEXPERIMENT":
	case "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC", "RUSTFLAGS", "RUSTDOCFLAGS",
		"CARGO_ENCODED_RUSTFLAGS", "CARGO_ENCODED_RUSTDOCFLAGS", "CARGO_BUILD_RUSTC", "CARGO_BUILD_RUSTC_WRAPPER",
		"CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET", "CLIPPY_ARGS", "CLIPPY_CONF_DIR":
	case "CLASSPATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS",
		"MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "ANT_OPTS", "ANT_ARGS", "SBT_OPTS",
		"DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "CORECLR_ENABLE_PROFILING", "CORECLR_PROFILER_PATH":
	case "RUBYOPT", "RUBYLIB", "SPEC_OPTS", "TESTOPTS", "PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB",
		"PHPRC", "PHP_INI_SCAN_DIR", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER":
	case "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEOVERRIDES", "MAKEFILES", // below make, also the number of a pipe that is not handed on
		"GTEST_FILTER", "GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", "TESTBRIDGE_TEST_ONLY", "TEST_TARGET",
		"SHELLCHECK_OPTS", "TAR_OPTIONS", "GREP_OPTIONS":
	default:
		return false
	}
	return true
}

// selects reports whether the variable name, folded, changes what a tool does in a
// way that every job needs: it is handed on, and in the digest.
func selects(name string) bool {
	switch name {
	case "PATH", "PATHEXT", "HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", // where tools and their settings are
		"LANG", "LANGUAGE", "TZ", "SOURCE_DATE_EPOCH",
		"CI", // many tools are stricter, or quieter, under it
		"VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_VERSION", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONIOENCODING",
		"NODE_ENV", "BABEL_ENV", "NVM_BIN",
		"GOOS", "GOARCH", "GOARM", "GOAMD64", "GOTOOLCHAIN", "GOWORK", "GO111MODULE", "GOPATH", "GOMODCACHE", "GOBIN", "CGO_ENABLED",
		"CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS",
		"RUSTUP_TOOLCHAIN", "RUSTUP_HOME", "CARGO_HOME", "RUST_TEST_THREADS",
		"JAVA_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "DOTNET_ROOT",
		"GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "RAILS_ENV", "RACK_ENV", "APP_ENV":
		return true
	}
	return false
}

// forcesColor reports whether the variable name, folded, asks for colour against
// NO_COLOR, which some tools answer with a warning in their output.
func forcesColor(name string) bool {
	switch name {
	case "FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS":
		return true
	}
	return false
}
