package environ

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// Names of each family, by class; what is planted through them is in families_test.go.
func TestClassOf(t *testing.T) {
	for want, names := range map[class]string{
		removed: `npm_config_userconfig NPM_CONFIG_USERCONFIG npm_config_script-shell npm_config_ignore_scripts pnpm_config_x YARN_RC_FILENAME
			HARNESS_PERL HARNESS_OPTIONS PERL5OPT PERL5LIB PERLIO PYTHONPYCACHEPREFIX PYTHONPATH PYTHONANYTHINGNEW PYTEST_ADDOPTS MYPY_CACHE_DIR MYPYPATH RUFF_CONFIG
			BLACK_CACHE_DIR COVERAGE_RCFILE XDG_CONFIG_HOME NODE_COMPILE_CACHE NODE_OPTIONS ESLINT_FLAGS TS_NODE_SKIP_PROJECT VITEST_MODE GOFLAGS GOENV GOOS CGO_ENABLED GORACE GOWORK
			RUSTFLAGS RUSTC_WRAPPER CARGO_PROFILE_TEST_DEBUG_ASSERTIONS CARGO_TARGET_X_RUNNER CARGO_BUILD_TARGET INSTA_FORCE_PASS RUBYOPT BUNDLE_GEMFILE RUBOCOP_OPTS
			MAVEN_OPTS JAVACMD GRADLE_OPTS JAVA_TOOL_OPTIONS MAKEFLAGS MAKEFILES GNUMAKEFLAGS GIT_DIR GIT_CONFIG_KEY_0 GIT_TEST_X LD_PRELOAD DYLD_X BASH_ENV ENV ZDOTDIR PROMPT_COMMAND PS4
			BASH_FUNC_ls%% TSAN_OPTIONS GTEST_FILTER TF_CLI_ARGS_plan
			.SHELLFLAGS .DEFAULT_GOAL .RECIPEPREFIX COMPILE.c a-b 1A spring.profiles.active MAKE MAKE_COMMAND RM LINT PREFIX DESTDIR npm_config_prefix
			npm_config_@scope:ignore-scripts JDK_JAVAC_OPTIONS XZ_OPT XZ_DEFAULTS BLOCK_SIZE BLOCKSIZE DU_BLOCK_SIZE LS_BLOCK_SIZE GOPACKAGESDRIVER
			BOOST_TEST_RUN_TEST BOOST_TEST_CATCH_SYSTEM_ERRORS CK_RUN_CASE TASTY_PATTERN HSPEC_OPTIONS HSPEC_DRY_RUN CYPRESS_specPattern AWKPATH AWKLIBPATH DEJAGNU
			RUNTESTFLAGS GREP_OPTIONS GREP_COLOR GREP_COLORS LESSOPEN LESS TAR_OPTIONS GZIP BZIP2 ZSTD_CLEVEL POSIXLY_CORRECT DIFF_OPTIONS CURL_HOME WGETRC UNZIP
			M4PATH HK_SKIP_STEPS TFLINT_CONFIG_FILE VALE_CONFIG_PATH SEMGREP_RULES LUA_INIT LUA_INIT_5_4 LUA_CPATH_5_1 TRIVY_EXIT_CODE TAP_RCFILE LEIN_JVM_OPTS VALGRIND_OPTS`,
		digested: `PATH HOME LANG LC_ALL TZ CI XDG_CACHE_HOME XDG_CONFIG_DIRS PYTHONHASHSEED VIRTUAL_ENV NODE_ENV GOCACHE GOTOOLCHAIN CARGO_HOME CARGO_TARGET_DIR CC CFLAGS
			JAVA_HOME GEM_HOME BUNDLE_PATH RAILS_ENV GRADLE_USER_HOME ORG_GRADLE_PROJECT_x PERL_HASH_SEED SSL_CERT_FILE RUST_TEST_THREADS
			YACC LDLIBS CYPRESS_CACHE_FOLDER`,
		free: `TERM USER PYTHON_VERSION PYTHONUNBUFFERED GIT_AUTHOR_NAME GIT_COMMIT GIT_SSH_COMMAND NODE_VERSION NODE_AUTH_TOKEN npm_config_registry npm_config_//r/:_authToken
			NPM_CONFIG_CACHE YARN_NPM_AUTH_TOKEN CARGO_TERM_COLOR CARGO_REGISTRY_TOKEN MAVEN_PASSWORD MAVEN_VERSION TMPDIR MAKELEVEL DIALECT_SESSION npm_config_ PYTHON CARGO_TARGET_X
			npm_config_//registry.example.org/:_authToken npm_config_@scope:registry npm_package_bin_my-tool npm_lifecycle_event CYPRESS_RECORD_KEY _
			__CF_USER_TEXT_ENCODING MY_OWN_2 COLUMNS SEMGREP_APP_TOKEN TRIVY_TOKEN LUA_VERSION`,
	} {
		for name := range strings.FieldsSeq(names) {
			if got := classOf(name); got != want {
				t.Errorf("%s has class %d, want %d", name, got, want)
			}
		}
	}
}

func TestMake(t *testing.T) {
	const plain = "COLUMNS=240 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 PAGER=cat"
	for _, test := range []struct {
		name    string
		base    string // words
		set     map[string]string
		env     string
		removed string
	}{
		{"empty", "", nil, plain, ""},
		{"kept", "PATH=/bin LANG=de_DE LC_ALL=C HOME=/h TERM=xterm", nil, "PATH=/bin LANG=de_DE LC_ALL=C HOME=/h TERM=xterm " + plain, ""},
		{"last wins", "A=1 B=2 A=3", nil, "B=2 A=3 " + plain, ""},
		{"no CI", "CI=", nil, "CI= " + plain, ""},
		{"color is the caller's", "FORCE_COLOR=1 CLICOLOR_FORCE=1 PY_COLORS=1", nil, "FORCE_COLOR=1 CLICOLOR_FORCE=1 PY_COLORS=1 " + plain, ""},
		{"no color is the caller's, too", "NO_COLOR=1", nil, "NO_COLOR=1 " + plain, ""},
		{"width", "COLUMNS=60", nil, plain, ""},
		{"width of the matrix", "COLUMNS=60", map[string]string{"COLUMNS": "80"}, "COLUMNS=80 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 PAGER=cat", ""},
		{"keys", "DIALECT_KEY=k DIALECT_KEY_FILE=/k DIALECT_SESSION=s", map[string]string{"DIALECT_KEY": "x"}, "DIALECT_SESSION=s " + plain, ""},
		{"mark", "DIALECT_STEP_MARK=x", nil, plain, ""},
		{"removed", "PYTHONPATH=. GOFLAGS=-exec=true LD_PRELOAD=x.so GIT_DIR=/x GIT_CONFIG_COUNT=1 BASH_FUNC_ls%%=x DYLD_INSERT_LIBRARIES=y CARGO_TARGET_X_RUNNER=true npm_config_script-shell=true",
			nil, plain, "BASH_FUNC_ls%% CARGO_TARGET_X_RUNNER DYLD_INSERT_LIBRARIES GIT_CONFIG_COUNT GIT_DIR GOFLAGS LD_PRELOAD PYTHONPATH npm_config_script-shell"},
		{"removed without a word, being empty", "MAKEFLAGS= PYTHONPATH=", nil, plain, ""},
		{"not removed", "GIT_AUTHOR_NAME=a GIT_SSH_COMMAND=ssh GIT_COMMIT=1 CARGO_TARGET_DIR=/t npm_config_registry=r PYTHONUNBUFFERED=1 MAKELEVEL=1",
			nil, "GIT_AUTHOR_NAME=a GIT_SSH_COMMAND=ssh GIT_COMMIT=1 CARGO_TARGET_DIR=/t npm_config_registry=r PYTHONUNBUFFERED=1 MAKELEVEL=1 " + plain, ""},
		{"set", "GOFLAGS=-exec=true A=1 PAGER=less", map[string]string{"GOFLAGS": "-mod=vendor", "A": "2", "PAGER": "more", "": "x", "B=": "x"},
			"A=2 COLUMNS=240 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 GOFLAGS=-mod=vendor PAGER=more", ""},
		{"nonsense", "=C:=x novalue", nil, plain, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := strings.Fields(test.base)
			before := slices.Clone(base)
			env, left := Make(base, Options{Set: test.set})
			if got := strings.Join(env, " "); got != test.env {
				t.Errorf("got  %s\nwant %s", got, test.env)
			}
			if got := strings.Join(left, " "); got != test.removed {
				t.Errorf("removed %s\nwant    %s", got, test.removed)
			}
			if !slices.Equal(base, before) {
				t.Error("base was changed")
			}
		})
	}
}

// TestMakeClean: what a command in a clean checkout gets of the caller is a list of names, not of families: anyone can make one up.
func TestMakeClean(t *testing.T) {
	base := strings.Fields("PATH=/bin LC_ALL=C LC_CTYPE=x LC_MODE=x DIALECT_SESSION=s DIALECT_MODE=x DIALECT_SECRETS=y MODE=x OTHER=x GOFLAGS=-v")
	env, left := Make(base, Options{Clean: true, Pass: []string{"OTHER"}})
	const want = "PATH=/bin LC_ALL=C LC_CTYPE=x DIALECT_SESSION=s DIALECT_SECRETS=y OTHER=x COLUMNS=240 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 PAGER=cat"
	if got := strings.Join(env, " "); got != want || !slices.Equal(left, []string{"GOFLAGS", "LC_MODE"}) {
		t.Errorf("got  %s\nwant %s\nleft %q", got, want, left)
	}
}

// The formula is part of the receipts that hold the digest.
func TestDigest(t *testing.T) {
	digest := func(text string) string {
		sum := Digest(strings.Split(text, "|"))
		return hex.EncodeToString(sum[:])
	}
	formula := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	for _, test := range []struct{ env, formula string }{
		{"", "dialect.environ/1\n"},
		{"TERM=xterm|TMPDIR=/t|DIALECT_SESSION=1|DIALECT_SECRETS=1:a,", "dialect.environ/1\n"},
		{"PATH=/bin|HOME=|LC_ALL=C|GOFLAGS=-mod=vendor|TERM=x", "dialect.environ/1\nGOFLAGS=11:-mod=vendor\nHOME=0:\nLC_ALL=1:C\nPATH=4:/bin\n"},
		{"PATH=/a|PATH=/b", "dialect.environ/1\nPATH=2:/b\n"},
		{"LANG=C\nPATH=4:/bin", "dialect.environ/1\nLANG=13:C\nPATH=4:/bin\n"},
	} {
		if got, want := digest(test.env), formula(test.formula); got != want {
			t.Errorf("%q: got %s, want %s", test.env, got, want)
		}
	}
}

// FuzzMake: whatever comes in, what goes out is well formed, once each, without
// keys, and stable.
func FuzzMake(f *testing.F) {
	f.Add("A=1\x00B=2\x00A=3")
	f.Add("DIALECT_KEY=1\x00=x\x00PATH")
	f.Add("npm_config_\x00CARGO_TARGET_\x00LC_=\x00BASH_FUNC_=")
	f.Fuzz(func(t *testing.T, text string) {
		env, _ := Make(strings.Split(text, "\x00"), Options{})
		seen := make(map[string]bool)
		for _, kv := range env {
			name, _, ok := strings.Cut(kv, "=")
			if !ok || name == "" || seen[fold(name)] || secret(name) {
				t.Errorf("%q in %q", kv, env)
			}
			seen[fold(name)] = true
		}
		again, left := Make(env, Options{})
		if len(left) > 0 || Digest(again) != Digest(env) || len(again) != len(env) {
			t.Errorf("%q became %q, removed %q", env, again, left)
		}
	})
}
