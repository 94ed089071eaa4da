package shell

import (
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	commit := func(dir string) Intent { return Intent{Actions: []Action{{Dir: dir}}} }
	push := func(dirs ...string) (in Intent) {
		for _, dir := range dirs {
			in.Actions = append(in.Actions, Action{Push: true, Dir: dir})
		}
		return in
	}
	of := func(dir, gitDir string) Intent {
		return Intent{Actions: []Action{{Push: true, Dir: dir, GitDir: gitDir}}}
	}
	unknown := func(dir, why string) Intent { return Intent{Actions: []Action{{Push: true, Dir: dir, Unknown: why}}} }
	const runs = "the folder is known only when the command runs"
	nothing := Intent{}
	bypass := func(words string, i Intent) Intent { i.Bypass = words; return i }
	for text, want := range map[string]Intent{
		"":                                                 nothing,
		"ls -la":                                           nothing,
		`echo "git commit"`:                                nothing,
		"echo git push":                                    nothing,
		"# git push":                                       nothing,
		"cat <<EOF\ngit push\nEOF":                         nothing,
		"git status && git log -n 3":                       nothing,
		"git stash push":                                   nothing,
		"git commit -m x":                                  commit("."),
		"git add -A && git commit -m 'a b'":                commit("."),
		"cd x && git -C y commit -qm z":                    commit("x/y"),
		"(cd x; git commit -am z)":                         commit("x"),
		"cd /abs && git commit -m z":                       commit("/abs"),
		"git -c user.name=x commit -m z":                   commit("."),
		"git --no-pager commit -m z":                       commit("."),
		"if true; then git commit -m z; fi":                commit("."),
		"x=$(git commit -m z)":                             commit("."),
		"true | xargs git commit -m":                       commit("."),
		"bash -lc 'cd x && git commit -m z'":               commit("x"),
		`sh -c "bash -c 'git push'"`:                       push("."),
		"eval git push":                                    push("."),
		`g\it pu"sh" origin main`:                          push("."),
		"git push -f origin HEAD":                          push("."),
		"git push --dry-run":                               nothing,
		"git push -n":                                      nothing,
		"git commit --dry-run":                             nothing,
		"GIT_SSH_COMMAND=x git push":                       push("."),
		"env A=b timeout -k 1 30 git push":                 push("."),
		"sudo -u me git push":                              push("."),
		"timeout --signal KILL 60 git push":                push("."),
		"env --unset X git push":                           push("."),
		"nice --adjustment 5 sudo --user u git push":       push("."),
		"git push --tags origin :gone":                     push("."),
		"git push --follow-tags origin :gone":              push("."),
		"git push -fo --dry-run origin main":               push("."),
		"gh pr -R o/r create":                              push("."),
		"gh --repo o/r pr merge 3":                         push("."),
		"gh repo create x --source . --push":               push("."),
		"dialect trust --yes=true":                         bypass("dialect trust", nothing),
		"/usr/bin/git push":                                push("."),
		"gh pr create --fill":                              push("."),
		"gh pr list":                                       nothing,
		"glab mr create":                                   push("."),
		"jj git push":                                      push("."),
		"git commit -m x && git push":                      {Actions: []Action{{Dir: "."}, {Push: true, Dir: "."}}},
		"git commit --no-verify -m x":                      bypass("--no-verify", commit(".")),
		"git push --no-verif":                              bypass("--no-verify", push(".")),
		"git merge --no-verify b":                          bypass("--no-verify", nothing),
		"git commit -nm x":                                 bypass("-n", commit(".")),
		"git commit -an -m x":                              bypass("-n", commit(".")),
		"git commit -m -n":                                 commit("."),
		"git commit -mn":                                   commit("."),
		"git commit -m 'say --no-verify'":                  commit("."),
		"git commit -m --no-verify":                        commit("."),
		"git commit -- --no-verify":                        commit("."),
		"git -c core.hooksPath=/dev/null commit -m x":      bypass("core.hooksPath", commit(".")),
		"git -c CORE.HOOKSPATH= push":                      bypass("core.hooksPath", push(".")),
		"git config core.hooksPath /dev/null":              bypass("core.hooksPath", nothing),
		"git config --get core.hooksPath":                  nothing,
		"git config core.hooksPath":                        nothing,
		"git config --unset core.hooksPath":                bypass("core.hooksPath", nothing),
		"GIT_CONFIG_KEY_0=core.hooksPath git push":         bypass("core.hooksPath", push(".")),
		"DIALECT=0 git push":                               bypass("DIALECT=0", push(".")),
		"export DIALECT=0; git push":                       bypass("DIALECT=0", push(".")),
		"env DIALECT=0 git push":                           bypass("DIALECT=0", push(".")),
		"dialect hook off --for 9h":                        bypass("dialect hook off", nothing),
		"dialect trust --yes":                              bypass("dialect trust", nothing),
		"dialect trust --show":                             nothing,
		"dialect hook status":                              nothing,
		"HUSKY=0 git push":                                 bypass("HUSKY=0", push(".")),
		`git commit -am "-n in a message"`:                 commit("."),
		"git commit -qm -n":                                commit("."),
		"git commit -m x -n":                               bypass("-n", commit(".")),
		"git push origin --delete b":                       nothing,
		"git push -d origin b":                             nothing,
		"git push origin :b :c":                            nothing,
		"git push origin :b main":                          push("."),
		"git push -o ci.skip origin":                       push("."),
		"echo '{}' | dialect hook claude UserPromptSubmit": bypass("dialect hook claude", nothing),
		"/opt/dialect hook generic prompt":                 bypass("dialect hook generic", nothing),
		"dialect exec --as x -- git push":                  push("."),
		"dialect exec -- ls":                               nothing,
		"ar exec -- git commit -m x":                       commit("."),
		"dialect hook":                                     nothing,
		"dialect hook --help":                              nothing,
		"dialect hook install --dry-run":                   nothing,
		"git commit -m \"$(cat <<'EOF'\ngit push --no-verify\nEOF\n)\"": commit("."),
		// The repository that it is about.
		"cd x; git push; cd ../y; git push":                push("x", "y"),
		"(cd /tmp); git push":                              push("."),
		"cd /tmp | true; git push":                         push("."),
		"cd /tmp & git push":                               push("."),
		"false && cd /tmp; git push":                       push(".", "/tmp"),
		"if false; then cd /tmp; fi; git push":             push(".", "/tmp"),
		"if a; then cd x; elif b; then cd y; fi; git push": push(".", "x", "y"),
		"f() { cd /tmp; }; git push":                       push(".", "/tmp"),
		"cd x && cd y && git push":                         push("x/y"),
		"cd ~/x && git push":                               push("~/x"),
		`cd "$HOME/x" && git push`:                         push("~/x"),
		"cd && git push":                                   push("~"),
		`cd "$PWD/x" && git push`:                          push("x"),
		"cd $(git rev-parse --show-toplevel) && git push":  push("."),
		`cd "$X" && git push`:                              unknown(".", runs),
		"cd - && git push":                                 unknown(".", runs),
		`git -C "$X" push`:                                 unknown(".", runs),
		"cd $X && cd /abs && git push":                     push("/abs"),
		"for d in a b; do (cd $d && git push); done":       unknown(".", runs),
		"env -C x git push":                                push("x"),
		"env --chdir=x git push":                           push("x"),
		"git --work-tree /x push":                          push("."),
		"GIT_WORK_TREE=/x git push":                        push("."),
		"cd x && GIT_DIR=../y/.git git push":               of("x", "y/.git"),
		"cd /tmp && git --git-dir=/y/.git push":            of("/tmp", "/y/.git"),
		"git --git-dir y/.git -C x push":                   of("x", "x/y/.git"),
		"export GIT_DIR=/y/.git; cd x; git push":           of("x", "/y/.git"),
		"GIT_DIR=/y/.git; git push":                        of(".", "/y/.git"),
		"cd $X; GIT_DIR=/y/.git git push":                  of(".", "/y/.git"),
		"GIT_DIR=/y true; git push":                        push("."),
		"export GIT_DIR=/y; unset GIT_DIR; git push":       push("."),
		"GIT_DIR=$X git push":                              unknown(".", "GIT_DIR is known only when the command runs"),
		"GIT_COMMON_DIR=/y git push":                       unknown(".", "GIT_COMMON_DIR names another repository"),
		"git $X":                                           nothing,
		// Where a push hides that no script and no file is needed for.
		"bash <<EOF\ngit push\nEOF":                                     push("."),
		`sh -e <<< "git push"`:                                          push("."),
		"echo git push | sh":                                            push("."),
		`printf 'cd x\ngit push\n' | bash -s`:                           push("x"),
		"cat <<EOF | sh\ngit push\nEOF":                                 push("."),
		"bash script.sh <<EOF\ngit push\nEOF":                           nothing,
		`find . -maxdepth 0 -exec git push \;`:                          push("."),
		"git -c alias.x=push x origin":                                  push("."),
		`git -c alias.x="!git push" x`:                                  push("."),
		"git -c alias.x=status x":                                       nothing,
		`env -S "git push" origin`:                                      push("."),
		"exec -a x git push":                                            push("."),
		"flock l git push":                                              push("."),
		"strace -f git push":                                            push("."),
		`bash -c -- "git push"`:                                         push("."),
		`su -c "git push"`:                                              push("."),
		`trap "git push" EXIT`:                                          push("."),
		"/usr/lib/git-core/git-push origin":                             push("."),
		"git lfs push origin":                                           push("."),
		"git bisect run git push":                                       unknown(".", "it is run by git bisect"),
		"git submodule foreach 'git push'":                              unknown(".", "it is run by git submodule"),
		"git push --receive-pack -n origin":                             push("."),
		"git push --push-opt -n origin":                                 push("."),
		"git push -o -d origin main":                                    push("."),
		"git push --dry-run --no-dry-run":                               push("."),
		"git push -d --no-delete origin main":                           push("."),
		"GIT_CONFIG_PARAMETERS=\"'core.hooksPath'='/x'\" git push":      bypass("core.hooksPath", push(".")),
		"cat >f <<E\n" + strings.Repeat("x\n", maxText) + "E\ngit push": unknown(".", "the command line is too long to be read as a whole"),
		// Two parentheses that no arithmetic stands in are two subshells.
		"((true); git push)":                                     push("."),
		"(((true); git push) )":                                  push("."),
		"((true) && (git push) )":                                push("."),
		"((cd x && ls -l /) | cat); git push":                    push("."),
		"((cd 'x y'; git push) | cat)":                           push("x y"),
		"((cd x); cd y; git push)":                               push("y"),
		"cd x; ((true); git push)":                               push("x"),
		`echo "$((true); git push)"`:                             push("."),
		"x=$((true); git commit -m x)":                           commit("."),
		"for ((i = 0; i < 1; i++)); do ((true); git push); done": push("."),
		"for ((i = 0; i < 1; i++)); do git push; done; )":        push("."),
		"((i++)); ((true); git push --no-verify)":                bypass("--no-verify", push(".")),
		"if ((true); git push); then :; fi":                      push("."),
		"((cat <<E\nx\nE\n); git push)":                          push("."),
		`((echo "(("); git push)`:                                push("."),
		strings.Repeat("((true); true); ", 100) + "git push":     push("."),
		"echo $((1 + (2))) $((i << 2)); ((i = (1)))":             nothing,
		"echo '((true); git push)'":                              nothing,
		"repeat 3 git push":                                      push("."),
		"noglob git push":                                        push("."),
		"((((":                                                   nothing,
		"git push '":                                             nothing,
	} {
		if got := Parse(text, ""); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
}

// TestParseIn starts command lines in a folder that the client's tool names.
func TestParseIn(t *testing.T) {
	for _, c := range []struct{ dir, text, want, gitDir string }{
		{"x", "git push", "x", ""}, {"x/", "cd y; git push", "x/y", ""}, {"../x", "cd ..; git push", "..", ""}, {"/x", "git push", "/x", ""},
		{"x", "cd /y; git push", "/y", ""}, {"x", `cd "$PWD/y" && git push`, "x/y", ""}, {"x", "git --git-dir=.git push", "x", "x/.git"},
		{"x", "bash -c 'git push'", "x", ""},
	} {
		if got := Parse(c.text, c.dir).Actions; len(got) != 1 || got[0] != (Action{Push: true, Dir: c.want, GitDir: c.gitDir}) {
			t.Errorf("%s: %s: %+v", c.dir, c.text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"git commit -n", "cd x && bash -c 'git push'", "env -u A git -C y push", "((", "<<E\n", "((true); git push)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { Parse(text, "a") })
}

// TestHostile parses short texts that nest as deeply as they can: a stack that overflows would end the process with status 2, which
// clients take for a refusal.
func TestHostile(t *testing.T) {
	for _, unit := range []string{"(", "$(", "{ ", "`", "\"$(", "((", "${a:-", "if ", "while ", "! ", "a|", "a&&", "<(", "eval ", "[[ (", "$((", "case a in a) ", "f() ", "\\", "<<E\n", "bash -c '", "env ", "x=("} {
		text := strings.Repeat(unit, maxText/len(unit))
		before := debug.SetMaxStack(512 << 20) // half of what a program gets; the race detector makes frames larger
		Parse(text, "")
		Parse(text+"git push", "")
		debug.SetMaxStack(before)
	}
}
