package template

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/tomltree"
)

func TestParse(t *testing.T) {
	values := map[string]string{
		"id": "BD 1; $(x)", "object": "{args...}", "preposition": "as", "empty": "",
	}
	rest := []string{"a b", "", "-c"}
	for _, tt := range []struct {
		source string
		names  string
		argv   []string
	}{
		{"x", "", []string{"x", "a b", "", "-c"}},
		{"x {args...}", "", []string{"x", "a b", "", "-c"}},
		{"x {args...} y", "", []string{"x", "a b", "", "-c", "y"}},
		{`x "{args...}" y`, "", []string{"x", "a b", "", "-c", "y"}},
		{"x {id} {args...}", "id", []string{"x", "BD 1; $(x)", "a b", "", "-c"}},
		{"x --id={id}.{id} {args...}", "id", []string{"x", "--id=BD 1; $(x).BD 1; $(x)", "a b", "", "-c"}},
		{"x {empty} {object} {args...}", "object empty", []string{"x", "", "{args...}", "a b", "", "-c"}},
		{"x {preposition} {args...}", "", []string{"x", "as", "a b", "", "-c"}},
		{"x {{id}} {{ }} } {args...}", "", []string{"x", "{id}", "{", "}", "}", "a b", "", "-c"}},
		{`x 'a b' "c d" e\ f '' "" {args...}`, "", []string{"x", "a b", "c d", "e f", "", "", "a b", "", "-c"}},
		{`x "a\"b\\c\d\$e" 'f\g' h\'i {args...}`, "", []string{"x", `a"b\c\d$e`, `f\g`, "h'i", "a b", "", "-c"}},
		{`x a"b"'c'd {args...}`, "", []string{"x", "abcd", "a b", "", "-c"}},
		{"x\t a\r\n b {args...}", "", []string{"x", "a", "b", "a b", "", "-c"}},
		{"x a\\\n b {args...}", "", []string{"x", "a", "b", "a b", "", "-c"}},
		{`x "{id}" '{id}' {args...}`, "id", []string{"x", "BD 1; $(x)", "BD 1; $(x)", "a b", "", "-c"}},
		{`x '{{"k": "{id}"}}' {args...}`, "id", []string{"x", `{"k": "BD 1; $(x)"}`, "a b", "", "-c"}},
		{`x $HOME *.go | y {args...}`, "", []string{"x", "$HOME", "*.go", "|", "y", "a b", "", "-c"}},
		{"x ünï {args...}", "", []string{"x", "ünï", "a b", "", "-c"}},
	} {
		tmpl, err := Parse(tt.source)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.source, err)
			continue
		}
		if got := strings.Join(tmpl.Names(), " "); got != tt.names {
			t.Errorf("names of %q: %q, want %q", tt.source, got, tt.names)
		}
		if got := tmpl.Argv(func(name string) string { return values[name] }, rest); !slices.Equal(got, tt.argv) {
			t.Errorf("argv of %q:\n got %q\nwant %q", tt.source, got, tt.argv)
		}
	}
}

// TestSplitsAsTheShellDoes compares with /bin/sh where the template says
// nothing that only one of the two understands.
func TestSplitsAsTheShellDoes(t *testing.T) {
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("no /bin/sh")
	}
	for _, source := range []string{
		`x a  b`, `x 'a b'`, `x "a b"`, `x a\ b`, `x "a\"b"`, `x "a\b"`, `x 'a\b'`, `x "" ''`, `x a''b`, `x "a
b"`, `x "\\\$"`, `x \\`, `x a\
b`, `x "a\
b"`, `x =~ a~b %`,
	} {
		tmpl, err := Parse(source)
		if err != nil {
			t.Errorf("Parse(%q): %v", source, err)
			continue
		}
		got := tmpl.Argv(nil, nil)
		out, err := exec.Command("/bin/sh", "-c", "x() { printf '%s\\0' x \"$@\"; }; "+source).Output()
		if err != nil {
			t.Fatalf("sh: %q: %v", source, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n  got %q\n   sh %q", source, got, want)
		}
	}
}

func TestScript(t *testing.T) {
	for _, tt := range []struct {
		text  string
		arity int
		rest  bool
	}{
		{`echo hi`, 0, false},
		{`echo "$1"`, 1, false},
		{`echo "$2" $1`, 2, false},
		{`echo ${10} $1`, 10, false},
		{`echo $10`, 1, false},
		{`echo ${3:-x} ${#4}`, 4, false},
		{`echo "$@"`, 0, true},
		{`echo "${@}" $1`, 1, true},
		{`echo $*`, 0, true},
		{`awk '{print $1}'`, 0, false},
		{`awk "{print \$1}"`, 0, false},
		{`echo \$1`, 0, false},
		{`echo "$(cut -d' ' -f1 <<<"$2")"`, 2, false},
		{"# don't use $1\necho $2", 2, false},
		{"echo a#b $1", 1, false},
		{`echo ${HOME} $? $$ $# $!`, 0, false},
		{`echo "it's $1"`, 1, false},
		{`echo 'unclosed $1`, 0, false},
	} {
		s, err := ParseScript(tt.text)
		if err != nil {
			t.Errorf("ParseScript(%q): %v", tt.text, err)
			continue
		}
		if s.Arity != tt.arity || s.Rest != tt.rest {
			t.Errorf("ParseScript(%q): arity %d, rest %v; want %d, %v", tt.text, s.Arity, s.Rest, tt.arity, tt.rest)
		}
	}
	s, err := ParseScript(`echo "$1"`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Argv([]string{"x; touch pwned"}), []string{"/bin/sh", "-c", `echo "$1"`, "sh", "x; touch pwned"}; !slices.Equal(got, want) {
		t.Errorf("Argv: %q, want %q", got, want)
	}
}

func FuzzTemplate(f *testing.F) {
	seeds := []string{"x", "x {id}", `x "{args...}" 'a'`, "x {{ }}", `x \`, "{", "'", `"`, "{object} x", "x {a}{b}{preposition}"}
	cases, err := filepath.Glob("../routing/testdata/cases/*.txtar")
	if err != nil || len(cases) == 0 {
		f.Fatal("no cases of matrices", err)
	}
	for _, name := range cases {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if filepath.Ext(file.Name) != ".toml" {
				continue
			}
			root, _ := tomltree.Parse(diag.NewSource(file.Name, file.Data), false)
			if commands := root.Get("commands"); commands != nil {
				for _, b := range commands.Entries {
					if tool := b.Value.Get("tool"); tool != nil {
						seeds = append(seeds, tool.Text)
					}
				}
			}
		}
	}
	for _, seed := range seeds {
		f.Add(seed, "value {id} '\"$x")
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		if s, err := ParseScript(source); err == nil {
			_ = s.Argv(nil)
		}
		_ = NeverFails(source)
		tmpl, err := Parse(source)
		if err != nil {
			var te *Error
			if !errors.As(err, &te) || te.Start < 0 || te.Start > te.End || te.End > len(source) || te.Message == "" {
				t.Fatalf("Parse(%q): %#v", source, err)
			}
			return
		}
		// The number of elements is that of the template, whatever the values.
		plain := tmpl.Argv(func(string) string { return "" }, nil)
		filled := tmpl.Argv(func(string) string { return value }, nil)
		if len(plain) != len(filled) || len(plain) == 0 || plain[0] != filled[0] || plain[0] == "" {
			t.Fatalf("%q: %q without values, %q with", source, plain, filled)
		}
		more := tmpl.Argv(func(string) string { return value }, []string{value, value})
		if len(more) != len(plain)+2 {
			t.Fatalf("%q: %q with two more values", source, more)
		}
	})
}

// TestShellCode: no value becomes a part of what a shell reads as code.
func TestShellCode(t *testing.T) {
	for source, want := range map[string]bool{
		`sh -c 'echo {object}'`:                      true,
		`sh -c {object}`:                             true,
		`sh -c {args...}`:                            true,
		`sh -c`:                                      true, // values are appended
		`/bin/bash -lc 'x {id}'`:                     true,
		`bash -o errexit -c 'x {id}'`:                true,
		`bash -c -x 'x {id}'`:                        true,
		`sh -c -o errexit 'x {id}'`:                  true,
		`env A=1 sh -c 'x {id}'`:                     true,
		`timeout 5 sh -c 'x {id}'`:                   true,
		`find . -exec sh -c 'echo {object}' ';'`:     true,
		`busybox sh -c 'x {id}'`:                     true,
		`fish --command {id}`:                        true,
		`fish --command='x {id}'`:                    true,
		`sh -oc errexit {object}`:                    true,
		`rbash -c 'echo {object}'`:                   true,
		`bash5 -c 'echo {object}'`:                   true,
		`/opt/mksh-static -c 'echo {object}'`:        true,
		`setpriv sh -c 'echo {object}'`:              true,
		`kubectl exec x -- sh -c 'x {id}'`:           true,
		`find . -name bash -cmin {object}`:           false,
		`pwsh --command {object}`:                    true,
		`pwsh -CommandWithArgs 'x {object}'`:         true,
		`pwsh -cwa {object}`:                         true,
		`sh -Ic {object}`:                            true,
		`zsh -dfc {object}`:                          true,
		`prlimit --nofile=100 sh -c {object}`:        true,
		`setpriv --no-new-privs sh -c {object}`:      true,
		`setarch -R sh -c {object}`:                  true,
		`strace -f sh -c 'x {object}'`:               true,
		`ssh host -t sh -c {object}`:                 true,
		`sudo -E sh -c 'x {id}'`:                     true,
		`xterm -e sh -c {object}`:                    true,
		`cmd /d /s /c 'x {object}'`:                  true,
		`powershell 'echo {object}'`:                 true,
		`powershell -File x.ps1 {object}`:            false,
		`nu --commands 'x {object}'`:                 true,
		`fish -C {object}`:                           true,
		`shfmt -ln bash -ci -d {object}`:             false,
		`shellcheck -s bash -fgcc {object}`:          false,
		`pwsh -Command 'Invoke-Pester'`:              false,
		`pwsh -NoProfile -Command Invoke-Pester -CI`: false,
		`pwsh -c 'x {object}'`:                       true,
		`rg sh -c {object}`:                          false,
		`pwsh -Command {id}`:                         true,
		`cmd /c {id}`:                                true,
		`sh -c 'echo "$1"' sh {object}`:              false,
		`sh -c 'exit 0'`:                             false,
		`env sh -c 'exit 0' {id}`:                    false,
		`sh {object}`:                                false,
		`sh build.sh -c {object}`:                    false,
		`sh -e build.sh -c {object}`:                 false,
		`grep sh -c {object}`:                        false,
		`pytest -c {object}`:                         false,

		`env -i sh -eu -c {object}`:              true,
		`env -i bash --norc -c {object}`:         true,
		`setsid -w bash -e -c {object}`:          true,
		`time -p sh -e -c {object}`:              true,
		`unshare -r sh -e -c {object}`:           true,
		`docker run -it bash -e -c {object}`:     true,
		`sh +c {object}`:                         true,
		`bash -eeeeeeeeeeeeec {object}`:          true,
		`bash -{mode} {object}`:                  true,
		`env -S 'bash -c "{object}"'`:            true,
		`env -S 'bash -c' {object}`:              true,
		`env -S 'bash -c'`:                       true,
		`env -S 'bash -c "echo $1"' sh {object}`: false,
		`echo 'the shell is bash' {object}`:      false,
		`docker run -it bash -x {object}`:        false,
		`env --split-string="sh -c" {object}`:    true,
		`pytest tests/sh -c {config}`:            false,
		`cargo run --bin nu -- -c {args...}`:     false,
	} {
		_, err := Parse(source)
		if got := err != nil && strings.Contains(err.Error(), "a shell reads as code"); got != want {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestManyShells bounds what a hostile matrix costs.
func TestManyShells(t *testing.T) {
	many := strings.Repeat("sh -o ", 100_000)
	if _, err := Parse(many); err == nil || err.Error() != isCode {
		t.Error(err)
	}
}

// TestScriptCode: a value is not the code of a shell that a script starts, either.
func TestScriptCode(t *testing.T) {
	for script, want := range map[string]bool{
		`sh -c "$1"`:                           true,
		`cd sub && bash -lc "make $1"`:         true,
		`docker compose exec app sh -c "$1"`:   true,
		`find . -exec sh -c "$1" ';'`:          true,
		`env -i sh -ec "$@"`:                   true,
		`sh -c 'grep -r "$1"' sh "$1"`:         false,
		`sh build.sh "$1"; echo sh -c`:         false,
		`grep -c "$1" x`:                       false,
		`bash "$1"`:                            false,
		`bash -c 'exit 0' && pytest -c "$1"`:   false,
		`if sh -c 'exit 0'; then x "$1"; fi`:   false,
		`x=$(sh -c 'date') make "VERSION=$1"`:  false,
		`go test ./cmd/sh -count 1 -run "$1"`:  false,
		`docker run -v "$1":/x -it image bash`: false,

		`(cd x && bash -c "$1")`:                             true,
		`x=$(bash -c "$1"); echo "$x"`:                       true,
		`echo "$(bash -c "$1")"`:                             true,
		"x=`bash -c \"$1\"`":                                 true,
		"x=`echo \\`bash -c \"$1\"\\``":                      true,
		`( ( ( bash -c "$1" ) ) )`:                           true,
		`(bash -c "$1"`:                                      true, // never closed
		`bash 2>log -c "$1"`:                                 true,
		"bash \\\n  -c \"$1\"":                               true,
		strings.Repeat("(", 40) + `"$1"`:                     true, // too deep to look
		strings.Repeat("(", 40) + `x`:                        false,
		`(cd x && bash build.sh "$1")`:                       false,
		`echo $(($1 + 1)) $(bash -c 'date')`:                 false,
		`bash -c 'exit 0' "$(cat "$1")"`:                     false,
		`bash -c "$(cat "$1")"`:                              true,
		`case "$1" in a) sh -c "$2";; esac`:                  true,
		"case x in a) true;; esac; (date); grep -c \"$1\" x": false,
	} {
		_, err := ParseScript(script)
		if got := err != nil; got != want {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestOption(t *testing.T) {
	for _, c := range []struct{ source, a, b, want string }{
		{"printf {a}-{b}", "", "version", "-version"},
		{"printf {a}{b}-x", "", "", "-x"},
		{"printf {a}-{b}", "1", "version", ""},
		{"printf {a}-{b}", "-", "x", ""}, // the value itself is an option
		{"printf x{a}-{b}", "", "version", ""},
		{"printf {a} -{b}", "", "version", ""}, // the matrix says that this is one
		{"printf {a}+{b}", "", "version", ""},
		{"bash {a}+c {b}", "", "x", "+c"},
		{"bash {a}+c {b}", "1", "x", ""},
	} {
		tmpl, err := Parse(c.source)
		if err != nil {
			t.Fatal(err)
		}
		if got := tmpl.Option(func(name string) string { return map[string]string{"a": c.a, "b": c.b}[name] }); got != c.want {
			t.Errorf("%s with %q and %q: %q", c.source, c.a, c.b, got)
		}
	}
}

func TestScriptOptions(t *testing.T) {
	for script, want := range map[string]bool{
		`bash "$@"`:                 true,
		`cd x && bash -e "$1" "$2"`: true,
		`env sh $1`:                 true,
		`bash build.sh "$@"`:        false,
		`echo "$1" | bash`:          false,
		`bash -e; echo "$1"`:        false,
		`make "$@"`:                 false,

		`FOO=1 bash "$@"`:                   true,
		`FOO="a b" BAR=$(x y) bash "$@"`:    true,
		`exec bash "$@"`:                    true,
		`exec -a x bash "$@"`:               true,
		`command -p bash "$@"`:              true,
		`! bash "$@"`:                       true,
		`time -p bash "$@"`:                 true,
		`if true; then bash "$@"; fi`:       true,
		`if bash "$@"; then x; else y; fi`:  true,
		`if x; then y; else bash "$@"; fi`:  true,
		`while bash "$@"; do x; done`:       true,
		`until x; do FOO=1 bash "$@"; done`: true,
		`{ bash "$@"; }`:                    true,
		`f() { bash "$@"; }; f "$@"`:        true,
		`2>&1 bash "$@"`:                    true,
		`> log bash "$@"`:                   true,
		`bash 2>log "$@"`:                   true,
		`bash>log "$@"`:                     true,
		`(cd . && bash "$@")`:               true,
		`x=$(bash "$@")`:                    true,
		"x=`exec bash \"$@\"`":              true,
		`case x in x) bash "$@";; esac`:     true,
		"bash \\\n \"$@\"":                  true,
		`\bash "$@"`:                        true,
		`FOO=1 bash build.sh "$@"`:          false,
		`exec bash build.sh "$@"`:           false,
		`(cd x && bash build.sh "$@")`:      false,
		`echo bash "$@"`:                    false,
		`FOO=$1 make bash "$@"`:             false,
		`bash build.sh >"$1"`:               false,
		`bash <"$1"`:                        false, // what it reads there, the matrix says
	} {
		if s, err := ParseScript(script); err != nil || s.ShellOptions() != want {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestShellOptions(t *testing.T) {
	for source, want := range map[string]bool{
		`bash {args...}`:              true,
		`bash`:                        true,
		`bash -e`:                     true,
		`env -i sh -e {object}`:       true,
		`timeout 5 sh {object}`:       true,
		`sh build.sh {args...}`:       false,
		`sh -c 'exit 0' sh {object}`:  false,
		`shellcheck -s bash {object}`: false,
		`pytest {args...}`:            false,
		`go test ./cmd/sh {args...}`:  false,
		`make dash {args...}`:         false,
		`git grep bash {args...}`:     false,
		`nice -n 5 bash {args...}`:    true,
	} {
		if tmpl, err := Parse(source); err != nil || tmpl.ShellOptions() != want {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestManyGroups bounds what a hostile script costs.
func TestManyGroups(t *testing.T) {
	const n = 1 << 18
	for _, script := range []string{
		strings.Repeat("(", n) + `"$1"` + strings.Repeat(")", n),
		strings.Repeat(`(x "$1") `, n/8),
		strings.Repeat("$(", n) + "$1",
		strings.Repeat("`x $1` ", n/8),
		strings.Repeat(`"$(`, n) + "$1",
		strings.Repeat("VAR=1 ", n/8) + `"$1"`,
	} {
		begun := time.Now()
		_, _ = ParseScript(script)
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%.20s: %v", script, took)
		}
	}
}
