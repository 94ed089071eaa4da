package environ

import (
	"runtime"
	"strings"
)

// A class says what becomes of a variable.
type class uint8

const (
	free     class = iota // handed on, and in no digest
	digested              // handed on, and in the digest of [Digest]
	removed               // not handed on unless the matrix sets it
)

// classOf is the one table of variables. It says of each family, from the documents of its
// tools, what changes a verdict:
//
//   - removed is what can turn a red check green on the same files, by other code, other
//     options, another selection of tests or a planted cache, and what a job does not need in
//     order to find its tools. Jobs use some of it in earnest (GOFLAGS=-mod=vendor,
//     MAVEN_OPTS=-Xmx2g), and nothing but their text tells the two apart: so they belong into
//     the matrix, where they can be reviewed.
//   - digested is what can change a verdict, too, and what ordinary work needs in some form:
//     where tools, toolchains and their settings are, the locale, the mode of an application.
//   - free is the rest: who somebody is (GIT_AUTHOR_*, tokens), where things are fetched
//     from (proxies, indexes, registries), how output looks, and variables of the project.
//
// A name that is not an identifier of a shell is removed: no tool that a person starts from a shell needs
// one, and make takes .SHELLFLAGS from it. npm and Windows have names of their own, see
// [odd].
//
// The list cannot be complete. A program reads what it likes. In make each variable of the
// environment is a variable of the makefile: it wins over the built-in rules and over what a makefile
// sets by ?=. Of these the names that make itself has are in the table; those of a makefile, such as
// CHECK ?= true, are not: a makefile that decides a verdict must set them by = or :=. README says so.
//
// It is a switch, since a map would be filled at each start of the binary, and since the
// compiler then refuses a name that stands in two places.
func classOf(name string) class {
	switch name {

	// The loader and libc (ld.so(8), dyld(1), gconv): other code in any dynamic program.
	// The prefixes LD_ and DYLD_ are below.
	case "GLIBC_TUNABLES", "GCONV_PATH", "GETCONF_DIR", "HOSTALIASES", "RES_OPTIONS", "LOCALDOMAIN",
		"OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES":
		return removed
	case "LOCPATH", "NLSPATH", "LOCALE_ARCHIVE", "SSL_CERT_FILE", "SSL_CERT_DIR":
		return digested

	// Shells (bash(1), zshparam(1), dash(1)): files that are read first, options, prompts whose
	// substitutions are executed, and where cd and functions are looked for.
	case "BASH_ENV", "ENV", "ZDOTDIR", "SHELLOPTS", "BASHOPTS", "BASH_COMPAT", "BASH_LOADABLES_PATH", "BASH_XTRACEFD",
		"PROMPT_COMMAND", "PS4", "CDPATH", "FPATH", "GLOBIGNORE", "EXECIGNORE", "POSIXLY_CORRECT":
		return removed
	case "SHELL", "TMOUT":
		return digested

	// git (git(1), "Environment Variables"): another repository, index, configuration or
	// reading of attributes and paths. Hooks set some, for another repository than what they
	// run. Jenkins and others have GIT_COMMIT, GIT_BRANCH and the like: hence no prefix.
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INDEX_VERSION", "GIT_COMMON_DIR", "GIT_IMPLICIT_WORK_TREE",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_ATTR_SOURCE", "GIT_ATTR_NOSYSTEM", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_NO_LAZY_FETCH", "GIT_REF_PARANOIA",
		"GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
		"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
		"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT":
		return removed

	// Python (python(1), "Command line and environment"): the prefix PYTHON with a letter after
	// it is removed, see below; here are those of it that ordinary work needs.
	case "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONCOERCECLOCALE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH",
		"PYTHONMALLOC", "PYTHONINTMAXSTRDIGITS", "PYTHON_GIL", "PYTHON_JIT", "PYTHON_CPU_COUNT",
		"VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION", "DJANGO_SETTINGS_MODULE", "PRE_COMMIT_HOME":
		return digested
	case "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER":
		return free
	// pytest, mypy, coverage and the like: options, plugins, configuration, and caches that
	// say of a file that it is fine. Their prefixes are below.
	case "PYTHON_PRESITE", "PYTHON_FROZEN_MODULES", "PYLINTRC", "PYLINTHOME", "TOXENV", "NOXSESSION", "NOXPYTHON", "NOXEXTRAPYTHON", "NOXFORCEPYTHON",
		"UV_CONFIG_FILE", "UV_ENV_FILE", "UV_PROJECT", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY", "UV_OVERRIDE", "UV_CONSTRAINT", "UV_NO_SYNC",
		"PIPENV_PIPFILE", "YAMLLINT_CONFIG_FILE", "ANSIBLE_CONFIG",
		"SKIP", "PRE_COMMIT_ALLOW_NO_CONFIG", "LEFTHOOK", "HUSKY", "HUSKY_SKIP_HOOKS": // hooks that are left out
		return removed
	case "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_THEME", "PYTEST_THEME_MODE", "MYPY_FORCE_COLOR":
		return free

	// Node (node(1)): options, preloaded code, other module paths, a planted compile cache, and
	// a test reporter that reports to nobody (NODE_TEST_CONTEXT). No prefix: NODE_VERSION and
	// tokens are free.
	case "NODE_OPTIONS", "NODE_PATH", "NODE_PRESERVE_SYMLINKS", "NODE_PRESERVE_SYMLINKS_MAIN", "NODE_TEST_CONTEXT",
		"NODE_COMPILE_CACHE", "NODE_ICU_DATA", "NODE_SKIP_PLATFORM_CHECK", "NODE_REDIRECT_WARNINGS", "NODE_V8_COVERAGE",
		"NODE_PENDING_DEPRECATION", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_CHANNEL_FD", "NODE_UNIQUE_ID",
		"PREFIX", "DESTDIR", // where npm looks for its global configuration
		"npm_execpath", "npm_node_execpath", "NPM_EXECPATH", "NPM_NODE_EXECPATH", // the npm that npm-run-all starts
		"TSX_TSCONFIG_PATH", "SWC_BINARY_PATH", "ESBUILD_BINARY_PATH", "MOCHA_OPTIONS", "BUN_OPTIONS",
		"DENO_V8_FLAGS", "DENO_NO_PACKAGE_JSON", "DENO_CERT", "TURBO_CACHE", "TURBO_CACHE_DIR", "NX_CACHE_DIRECTORY", "NX_WORKSPACE_DATA_DIRECTORY":
		return removed
	case "NODE_ENV", "NODE_EXTRA_CA_CERTS", "BABEL_ENV", "BROWSERSLIST", "BROWSERSLIST_ENV", "BROWSERSLIST_CONFIG",
		"NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME", "COREPACK_HOME", "COREPACK_ENABLE_STRICT", "COREPACK_ENABLE_PROJECT_SPEC":
		return digested
	case "YARN_VERSION", "YARN_CACHE_FOLDER", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY":
		return free

	// Go (go help environment, runtime, race detector): options, other files by build
	// constraints, another workspace, other tools, an exit status of its own.
	case "GOFLAGS", "GOENV", "GOROOT", "GOTOOLDIR", "GODEBUG", "GOEXPERIMENT", "GOWORK", "GO111MODULE", "GOCACHEPROG", "GOFIPS140", "GORACE",
		"GOOS", "GOARCH", "GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM", "CGO_ENABLED",
		"GO_EXTLINK_ENABLED", "GOPACKAGESDRIVER", "GOLANGCI_LINT_CACHE", "STATICCHECK_CACHE":
		return removed
	case "GOTOOLCHAIN", "GOPATH", "GOMODCACHE", "GOCACHE", "GOBIN", "GOMAXPROCS", "GOSUMDB", "GONOSUMDB", "GOINSECURE",
		"CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS":
		return digested

	// Rust (The Cargo Book, "Environment Variables"; rustc, clippy, rustdoc): other compilers
	// and flags, and snapshot and property tests that accept anything. The prefixes are below.
	case "RUSTC", "RUSTDOC", "RUSTFMT", "RUSTFLAGS", "RUSTDOCFLAGS", "CARGO", "CARGO_INCREMENTAL",
		"CARGO_ENCODED_RUSTFLAGS", "CARGO_ENCODED_RUSTDOCFLAGS", "MIRIFLAGS", "TRYBUILD":
		return removed
	case "RUSTUP_TOOLCHAIN", "RUSTUP_HOME", "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUST_MIN_STACK", "RUST_TEST_THREADS":
		return digested
	case "CARGO_BUILD_JOBS":
		return free

	// Perl (perlrun, "ENVIRONMENT"; prove and Test::Harness): other interpreters, switches,
	// libraries, and exit statuses that do not count. The prefixes PERL and HARNESS_ are below.
	case "PERL_HASH_SEED", "PERL_PERTURB_KEYS", "PERL_RAND_SEED", "PERL_LOCAL_LIB_ROOT", "PERLBREW_ROOT", "PERLBREW_PERL",
		"AUTHOR_TESTING", "RELEASE_TESTING", "EXTENDED_TESTING", "AUTOMATED_TESTING":
		return digested

	// Ruby (ruby(1), bundle-config(1), rake, rspec): options, libraries, another Gemfile, a
	// selection of tests.
	case "RUBYOPT", "RUBYLIB", "RUBYPATH", "RUBYSHELL", "BUNDLE_GEMFILE", "SPEC_OPTS", "SPEC", "TESTOPTS", "TEST":
		return removed
	case "GEM_HOME", "GEM_PATH", "BUNDLE_PATH", "BUNDLE_APP_CONFIG", "BUNDLE_WITH", "BUNDLE_WITHOUT", "BUNDLE_FROZEN", "RBENV_ROOT", "RBENV_VERSION",
		"RAILS_ENV", "RACK_ENV", "APP_ENV", "MIX_ENV":
		return digested

	// The JVM and .NET (java, mvn, gradle, ant, sbt; the .NET host): agents, class paths, options
	// that skip tests, another java.
	case "CLASSPATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS", "JDK_JAVADOC_OPTIONS", "JAVA_OPTS", "JAVACMD",
		"MAVEN_OPTS", "MAVEN_ARGS", "MAVEN_CONFIG", "MAVEN_BASEDIR", "MAVEN_PROJECTBASEDIR", "MAVEN_CMD_LINE_ARGS", "MAVEN_DEBUG_OPTS",
		"GRADLE_OPTS", "ANT_OPTS", "ANT_ARGS", "SBT_OPTS",
		"DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "DOTNET_SHARED_STORE":
		return removed
	case "JAVA_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "DOTNET_ROOT":
		return digested

	// make and test runners (GNU make, "Variables from the Environment"): options, files that are
	// read first, where sources are looked for. Below make, MAKEFLAGS also has the number of a pipe
	// that is not handed on.
	case "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEOVERRIDES", "MAKEFILES", "VPATH", "GPATH",
		"MAKE", "MAKE_COMMAND", "RM", "LINT", "OUTPUT_OPTION", "SUFFIXES",
		"TESTBRIDGE_TEST_ONLY", "TEST_TARGET", "SHELLCHECK_OPTS", "DEJAGNU", "RUNTEST", "RUNTESTFLAGS", "ROBOT_OPTIONS", "REBOT_OPTIONS":
		return removed
	case "CYPRESS_RECORD_KEY":
		return free
	case "CYPRESS_CACHE_FOLDER", "CYPRESS_RUN_BINARY", "CYPRESS_INSTALL_BINARY":
		return digested

	// Tools of GNU and their like, from their manuals: options that come before those of the command
	// line, units of what they print, files that are read first, and where programs of awk and m4 are
	// looked for. A script compares what they print.
	case "GREP_OPTIONS", "GREP_COLOR", "GREP_COLORS", "TAR_OPTIONS", "TAR_READER_OPTIONS", "TAR_WRITER_OPTIONS", "TAPE",
		"GZIP", "BZIP", "BZIP2", "XZ_OPT", "XZ_DEFAULTS", "LZOP", "UNZIP", "UNZIPOPT", "ZIPOPT", "ZIPINFO", "ZIPINFOOPT",
		"BLOCKSIZE", "BLOCK_SIZE", "QUOTING_STYLE", "TIME_STYLE", "TABSIZE", "_POSIX2_VERSION", "VERSION_CONTROL", "SIMPLE_BACKUP_SUFFIX",
		"AWKPATH", "AWKLIBPATH", "M4PATH", "BC_ENV_ARGS", "DC_ENV_ARGS", "PARALLEL", "PARALLEL_HOME", "PATCH_GET", "PATCH_VERSION_CONTROL",
		"WGETRC", "SYSTEM_WGETRC", "CURL_HOME", "RIPGREP_CONFIG_PATH", "ACKRC", "ACK_OPTIONS", "HTML_TIDY", "XML_CATALOG_FILES", "SGML_CATALOG_FILES":
		return removed
	case "GTEST_COLOR", "GTEST_OUTPUT", "CTEST_OUTPUT_ON_FAILURE", "CTEST_PROGRESS_OUTPUT":
		return free

	// C and C++ (gcc(1), "Environment"; clang; ccache; the sanitizers): another compiler below the
	// one that is named, and sanitizers that find nothing or exit with 0.
	case "GCC_EXEC_PREFIX", "COMPILER_PATH", "CCC_OVERRIDE_OPTIONS", "CCC_ADD_ARGS", "CCACHE_COMPILER", "CCACHE_PREFIX", "CCACHE_PREFIX_CPP",
		"ASAN_OPTIONS", "LSAN_OPTIONS", "MSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS":
		return removed
	case "AS", "FC", "F77", "LEX", "YACC", "ARFLAGS", "ASFLAGS", "FFLAGS", "LFLAGS", "YFLAGS", "LDLIBS", "LOADLIBES", "TARGET_ARCH", // of make's own rules
		"CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
		"CCACHE_DIR", "CCACHE_CONFIGPATH", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR",
		"CMAKE_TOOLCHAIN_FILE", "CMAKE_PREFIX_PATH", "CMAKE_GENERATOR":
		return digested

	// Other languages, from their manuals.
	case "PHPRC", "PHP_INI_SCAN_DIR", "COMPOSER", "LEIN_JVM_OPTS", "VALGRIND_OPTS",
		"R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "JULIA_LOAD_PATH", "JULIA_PROJECT",
		"ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS", "ELIXIR_ERL_OPTIONS", "MIX_EXS",
		"STACK_YAML", "GHC_PACKAGE_PATH", "GHCRTS", "TF_CLI_CONFIG_FILE":
		return removed

	// Where settings, caches and programs are. HOME and PATH cannot be left out, and what is
	// planted there is not caught in place: the digest says that it was another place.
	// XDG_CONFIG_HOME can be: without it tools look below HOME, as they do for most users. What
	// desktops set for everybody (XDG_CONFIG_DIRS, XDG_DATA_DIRS), and where a cache is in a
	// sandbox, stays.
	case "XDG_CONFIG_HOME":
		return removed
	case "PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CACHE_HOME", "XDG_STATE_HOME",
		"LANG", "LANGUAGE", "TZ", "SOURCE_DATE_EPOCH",
		"CI": // many tools are stricter, or quieter, under it
		return digested
	}
	return classOfPrefix(name)
}

// classOfPrefix is the part of the table for families whose names are open: one more option is
// one more variable.
func classOfPrefix(name string) class {
	switch name { // registries and their credentials
	case "SEMGREP_APP_TOKEN", "TRIVY_USERNAME", "TRIVY_PASSWORD", "TRIVY_REGISTRY_TOKEN", "TRIVY_TOKEN", "TRIVY_CACHE_DIR", "TRIVY_DB_REPOSITORY", "TRIVY_JAVA_DB_REPOSITORY":
		return free
	}
	if strings.HasPrefix(name, "YARN_NPM_") {
		return free
	}
	for _, p := range [...]string{
		"LD_", "DYLD_", // the loader
		"BASH_FUNC_",              // a function instead of a command
		"GIT_CONFIG", "GIT_TEST_", // _GLOBAL, _SYSTEM, _COUNT, _KEY_n, _VALUE_n, _PARAMETERS
		"PYTEST_", "MYPY", "RUFF_", "BLACK_", "PYLINT_", "COVERAGE_", "TOX_", "HYPOTHESIS_", "LEFTHOOK_",
		"YARN_", "pnpm_config_", "PNPM_CONFIG_", "ESLINT_", "PRETTIER_", "TS_NODE_", "VITEST", "BIOME_",
		"CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_UNSTABLE_", "CARGO_ALIAS_", "RUSTC_", "RUST_TEST_", "CLIPPY_", "NEXTEST_", "MIRI_",
		"INSTA_", "PROPTEST_", "QUICKCHECK_",
		"PERL", "HARNESS_", "RUBOCOP_",
		"CORECLR_", "COR_", "COMPlus_", "COMPLUS_", "VSTEST_",
		"BOOST_TEST_", "CK_", "CRITERION_", "CMOCKA_", "QTEST_", "TASTY_", "HSPEC_", "ALCOTEST_", "CYPRESS_", "CUCUMBER_", "NOSE_",
		"LESS", "DIFF_", "ZSTD_", "LZ4_", "GAWK_", "PATCH_",
		"GTEST_", "CTEST_", "BATS_", "JUST_", "HADOLINT_", "TF_CLI_ARGS",
		"HK_", "TFLINT_", "VALE_", "SEMGREP_", "TRIVY_", "TAP_",
		"LUA_INIT", "LUA_PATH", "LUA_CPATH", // also of one version: LUA_INIT_5_4
	} {
		if strings.HasPrefix(name, p) {
			return removed
		}
	}
	const python, target, npm = "PYTHON", "CARGO_TARGET_", "npm_config_"
	switch {
	case strings.HasPrefix(name, "LC_"),
		strings.HasPrefix(name, "ORG_GRADLE_PROJECT_"): // also the credentials of a publication
		return digested
	case strings.HasPrefix(name, python) && len(name) > len(python) && name[len(python)] != '_':
		return removed // PYTHON_VERSION and the like are those of images
	case strings.HasPrefix(name, target):
		// CARGO_TARGET_<triple>_RUNNER=true runs no test at all.
		if strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_RUSTFLAGS") || strings.HasSuffix(name, "_RUSTDOCFLAGS") || strings.HasSuffix(name, "_LINKER") {
			return removed
		}
	case len(name) > len(npm) && strings.EqualFold(name[:len(npm)], npm):
		return npmClass(name[len(npm):])
	case strings.HasSuffix(name, "_BLOCK_SIZE"), odd(name):
		return removed
	}
	return free
}

// odd reports whether name is not an identifier of a shell. npm exports what a package.json has
// (npm_package_bin_my-tool), and Windows has ProgramFiles(x86) and its like.
func odd(name string) bool {
	if strings.HasPrefix(name, "npm_package_") || strings.HasSuffix(name, "(X86)") && runtime.GOOS == "windows" {
		return false
	}
	for i, c := range []byte(name) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return true
		}
	}
	return false
}

// npmClass is the class of a setting of npm (npm help config), which reads it in any case,
// with "-" or "_". npm run exports many; only those that say where packages come from, who
// fetches them, and how it looks are free.
func npmClass(setting string) class {
	if strings.HasPrefix(setting, "//") || setting[0] == '@' && strings.HasSuffix(setting, ":registry") { // the credentials of a registry, and that of a scope
		return free
	}
	switch strings.ReplaceAll(strings.ToLower(setting), "-", "_") {
	case "registry", "cache", "proxy", "https_proxy", "noproxy", "user_agent", "ca", "cafile", "cert", "key", "strict_ssl", "maxsockets",
		"fetch_retries", "fetch_retry_factor", "fetch_retry_mintimeout", "fetch_retry_maxtimeout", "fetch_timeout",
		"_auth", "_authtoken", "username", "email", "otp", "loglevel", "color", "progress", "fund", "audit", "update_notifier", "unicode",
		"prefer_offline", "prefer_online", "offline", "npm_version", "node_version", "init_author_name", "init_author_email", "init_license", "init_module":
		return free
	}
	return removed
}
