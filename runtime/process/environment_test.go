package process

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

func TestEnviron(t *testing.T) {
	const plain = "GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 NO_COLOR=1 PAGER=cat"
	for _, test := range []struct {
		name    string
		base    string // words
		options EnvOptions
		env     string
		removed string
	}{
		{"empty", "", EnvOptions{}, plain, ""},
		{"kept", "PATH=/bin LANG=de_DE LC_ALL=C HOME=/h TERM=xterm", EnvOptions{}, "PATH=/bin LANG=de_DE LC_ALL=C HOME=/h TERM=xterm " + plain, ""},
		{"last wins", "A=1 B=2 A=3", EnvOptions{}, "B=2 A=3 " + plain, ""},
		{"no CI", "CI=", EnvOptions{}, "CI= " + plain, ""},
		{"color", "FORCE_COLOR=1", EnvOptions{Color: true}, "FORCE_COLOR=1 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 PAGER=cat", ""},
		{"no color", "FORCE_COLOR=1 CLICOLOR_FORCE=1 NO_COLOR=", EnvOptions{}, plain, ""},
		{"keys", "DIALECT_KEY=k DIALECT_KEY_FILE=/k DIALECT_SESSION=s", EnvOptions{Set: map[string]string{"DIALECT_KEY": "x"}}, "DIALECT_SESSION=s " + plain, ""},
		{"mark", "DIALECT_STEP_MARK=x", EnvOptions{}, plain, ""},
		{"removed", "PYTHONPATH=. GOFLAGS=-exec=true LD_PRELOAD=x.so GIT_DIR=/x GIT_CONFIG_COUNT=1 BASH_FUNC_ls%%=x DYLD_INSERT_LIBRARIES=y CARGO_TARGET_X_RUNNER=true npm_config_script-shell=true",
			EnvOptions{}, plain, "BASH_FUNC_ls%% CARGO_TARGET_X_RUNNER DYLD_INSERT_LIBRARIES GIT_CONFIG_COUNT GIT_DIR GOFLAGS LD_PRELOAD PYTHONPATH npm_config_script-shell"},
		{"removed without a word, being empty", "MAKEFLAGS= PYTHONPATH=", EnvOptions{}, plain, ""},
		{"not removed", "GIT_AUTHOR_NAME=a GIT_SSH_COMMAND=ssh GIT_COMMIT=1 CARGO_TARGET_DIR=/t npm_config_registry=r PYTHONUNBUFFERED=1 MAKELEVEL=1",
			EnvOptions{}, "GIT_AUTHOR_NAME=a GIT_SSH_COMMAND=ssh GIT_COMMIT=1 CARGO_TARGET_DIR=/t npm_config_registry=r PYTHONUNBUFFERED=1 MAKELEVEL=1 " + plain, ""},
		{"set", "GOFLAGS=-exec=true A=1 PAGER=less", EnvOptions{Set: map[string]string{"GOFLAGS": "-mod=vendor", "A": "2", "PAGER": "more", "": "x", "B=": "x"}},
			"A=2 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 GOFLAGS=-mod=vendor NO_COLOR=1 PAGER=more", ""},
		{"nonsense", "=C:=x novalue", EnvOptions{}, plain, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := strings.Fields(test.base)
			before := slices.Clone(base)
			env, removed := Environ(base, test.options)
			if got := strings.Join(env, " "); got != test.env {
				t.Errorf("got  %s\nwant %s", got, test.env)
			}
			if got := strings.Join(removed, " "); got != test.removed {
				t.Errorf("removed %s\nwant    %s", got, test.removed)
			}
			if !slices.Equal(base, before) {
				t.Error("base was changed")
			}
		})
	}
}

// The formula is part of the receipts that hold the digest.
func TestEnvironDigest(t *testing.T) {
	digest := func(text string) string {
		sum := EnvironDigest(strings.Split(text, "|"))
		return hex.EncodeToString(sum[:])
	}
	formula := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	for _, test := range []struct{ env, formula string }{
		{"", "dialect.environ/1\n"},
		{"TERM=xterm|TMPDIR=/t|DIALECT_SESSION=1", "dialect.environ/1\n"},
		{"PATH=/bin|HOME=|LC_ALL=C|GOFLAGS=-mod=vendor|TERM=x", "dialect.environ/1\nGOFLAGS=11:-mod=vendor\nHOME=0:\nLC_ALL=1:C\nPATH=4:/bin\n"},
		{"PATH=/a|PATH=/b", "dialect.environ/1\nPATH=2:/b\n"},
		{"LANG=C\nPATH=4:/bin", "dialect.environ/1\nLANG=13:C\nPATH=4:/bin\n"},
	} {
		if got, want := digest(test.env), formula(test.formula); got != want {
			t.Errorf("%q: got %s, want %s", test.env, got, want)
		}
	}
}

// FuzzEnviron: whatever comes in, what goes out is well formed, once each, without
// keys, and stable.
func FuzzEnviron(f *testing.F) {
	f.Add("A=1\x00B=2\x00A=3", false)
	f.Add("DIALECT_KEY=1\x00=x\x00PATH", true)
	f.Add("npm_config_\x00CARGO_TARGET_\x00LC_=\x00BASH_FUNC_=", false)
	f.Fuzz(func(t *testing.T, text string, color bool) {
		env, _ := Environ(strings.Split(text, "\x00"), EnvOptions{Color: color})
		seen := make(map[string]bool)
		for _, kv := range env {
			name, _, ok := strings.Cut(kv, "=")
			if !ok || name == "" || seen[fold(name)] || secret(name) {
				t.Errorf("%q in %q", kv, env)
			}
			seen[fold(name)] = true
		}
		again, removed := Environ(env, EnvOptions{Color: color})
		if len(removed) > 0 || EnvironDigest(again) != EnvironDigest(env) || len(again) != len(env) {
			t.Errorf("%q became %q, removed %q", env, again, removed)
		}
	})
}
