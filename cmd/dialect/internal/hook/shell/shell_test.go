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
		"for d in a b; do (cd $d && git push); done":       push("a", "b"),
		"for d in */; do (cd $d && git push); done":        unknown(".", runs),
		"env -C x git push":                                push("x"),
		"env --chdir=x git push":                           push("x"),
		"git --work-tree /x push":                          push("."),
		"GIT_WORK_TREE=/x git push":                        push("."),
		"cd x && GIT_DIR=../y/.git git push":               of("x", "y/.git"),
		"cd /tmp && git --git-dir=/y/.git push":            of("/tmp", "/y/.git"),
		"git --git-dir y/.git -C x push":                   of("x", "x/y/.git"),
		"export GIT_DIR=/y/.git; cd x; git push":           of("x", "/y/.git"),
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
		"git svn dcommit":                                               push("."),
		"git review -f":                                                 push("."),
		"git lfs push origin":                                           push("."),
		"git bisect run git push":                                       unknown(".", "it is run by git bisect"),
		"git submodule foreach 'git push'":                              unknown(".", "it is run by git submodule"),
		"git push --receive-pack -n origin":                             push("."),
		"git push --push-opt -n origin":                                 push("."),
		"git push -o -d origin main":                                    push("."),
		"git push --dry-run --no-dry-run":                               push("."),
		"git push -d --no-delete origin main":                           push("."),
		"GIT_CONFIG_PARAMETERS=\"'core.hooksPath'='/x'\" git push":      bypass("core.hooksPath", push(".")),
		"cat >f <<E\n" + strings.Repeat("x\n", maxText) + "E\ngit push": push("."),
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
		// What wraps a command, and what a shell reads.
		"xargs -i git push {}":                                 push("."),
		"xargs -0I {} git push":                                push("."),
		"echo origin | xargs -a l git push":                    push("."),
		`flock /tmp/l -c "git push"`:                           push("."),
		`watch -n 5 "git push"`:                                push("."),
		`ssh-agent bash -c "ssh-add k; git push"`:              push("."),
		"parallel git push ::: origin":                         push("."),
		"taskset 1 git push":                                   push("."),
		"chrt -i 0 git push":                                   push("."),
		"unshare -U git push":                                  push("."),
		"direnv exec . git push":                               push("."),
		"mise exec -- git push":                                push("."),
		"uv run --with x git push":                             push("."),
		"uv pip install git push":                              nothing,
		"uv run pytest -k 'git push'":                          nothing,
		`npx -c "git push"`:                                    push("."),
		`nix-shell --run "git push"`:                           push("."),
		`tmux new -d "git push"`:                               push("."),
		"runuser -u root -- git push":                          push("."),
		`sg root -c "git push"`:                                push("."),
		`mksh -c "git push"`:                                   push("."),
		`fish --command "git push"`:                            push("."),
		`pwsh -Command "git push"`:                             push("."),
		"sudo bash <<E\ngit push\nE":                           push("."),
		`echo "git push" | sudo sh`:                            push("."),
		`echo "git push" | env bash`:                           push("."),
		"bash -s -- origin <<E\ngit push $1\nE":                push("."),
		`bash /dev/stdin <<< "git push"`:                       push("."),
		`. /dev/stdin <<< "git push"`:                          push("."),
		"source <(echo git push)":                              push("."),
		"bash <(echo git push)":                                push("."),
		`{ echo "cd x"; echo "git push"; } | sh`:               push("x"),
		`echo "git push" | tee /dev/null | sh`:                 push("."),
		"eval \"$(cat <<E\ngit push\nE\n)\"":                   push("."),
		`bash -c "$(echo git push)"`:                           push("."),
		"git $(echo push)":                                     push("."),
		`$'\x67it' push`:                                       push("."),
		"{git,push,origin}":                                    push("."),
		"eval eval eval eval eval git push":                    push("."),
		`eval "eval \"eval \\\"eval eval git push\\\"\""`:      push("."),
		"pushd /tmp; pushd; git push":                          unknown("/tmp", runs),
		`PROMPT_COMMAND="git push" bash -i`:                    push("."),
		`GIT_EDITOR="git push;:" git commit --amend`:           {Actions: []Action{{Push: true, Dir: "."}, {Dir: "."}}},
		`git -c core.editor="git push #" commit --amend`:       {Actions: []Action{{Push: true, Dir: "."}, {Dir: "."}}},
		`git -c sequence.editor="git push;:" rebase -i HEAD~`:  push("."),
		`git rebase -x"git push" HEAD~`:                        unknown(".", "it is run by git rebase"),
		`git rebase --exec="git push" HEAD~`:                   unknown(".", "it is run by git rebase"),
		`git submodule --quiet foreach --recursive "git push"`: unknown(".", "it is run by git submodule"),
		"git config alias.x push; git x":                       push("."),
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0='push --no-verify' git p":      bypass("--no-verify", push(".")),
		"export GIT_CONFIG_VALUE_9=push; env GIT_CONFIG_KEY_9=Alias.p git P":                           push("."),
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=status git p":                  nothing,
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.editor GIT_CONFIG_VALUE_0='gh pr create' git commit": {Actions: []Action{{Push: true, Dir: "."}, {Dir: "."}}},
		`GIT_CONFIG_PARAMETERS="'user.name=x' 'alias.p=push --no-verify'" git p`:                       bypass("--no-verify", push(".")),
		`GIT_CONFIG_PARAMETERS="'alias.p'='push' 'user.name'='x'" git p`:                               push("."),
		"A='push --no-verify' git --config-env=alias.p=A p origin HEAD":                                bypass("--no-verify", push(".")),
		"A='push --no-verify' git --config-env alias.p=A p origin HEAD":                                bypass("--no-verify", push(".")),
		"env A=push git --config-env=alias.p=A p":                                                      push("."),
		"git --config-env=user.name=NAME status":                                                       nothing,
		"git -c x.y=/r for-each-repo --config=x.y push --no-verify origin HEAD":                        bypass("--no-verify", unknown(".", "it is run by git for-each-repo")),
		"git for-each-repo --keep-going --config x.y -- push":                                          unknown(".", "it is run by git for-each-repo"),
		"git for-each-repo --config=x.y -C y -c alias.p=push p":                                        unknown("y", "it is run by git for-each-repo"),
		"git for-each-repo --config=x.y maintenance run":                                               nothing,
		"choom -n 0 -- git push --no-verify origin HEAD":                                               bypass("--no-verify", push(".")),
		"bwrap --ro-bind / / --dev /dev git push":                                                      push("."),
		"nsenter -t 1 -m git push":                                                                     push("."),
		"ltrace -o x git push":                                                                         push("."),
		"firejail --noprofile git push":                                                                push("."),
		"faketime '2020-01-01' git push":                                                               push("."),
		"catchsegv git commit -n":                                                                      bypass("-n", commit(".")),
		"bwrap --ro-bind / / sh -c 'cd x && git push'":                                                 push("x"),
		"bwrap --setenv push git ls":                                                                   nothing,
		"git config --global alias.pp 'push origin' && git pp":                                         push("."),
		"gh api repos/o/r/pulls -f head=x":                                                             push("."),
		"gh api -X PUT repos/o/r/pulls/1/merge":                                                        push("."),
		"gh api repos/o/r/pulls":                                                                       nothing,
		"tea pr -r o/r create":                                                                         push("."),
		"az repos pr create":                                                                           push("."),
		"dialect hook --store x off --for 1h":                                                          bypass("dialect hook off", nothing),
		"dialect -- hook off":                                                                          bypass("dialect hook off", nothing),
		"dialect hook --store x log":                                                                   nothing,
		"dialect trust":                                                                                bypass("dialect trust", nothing),
		`script -qc "dialect trust" /dev/null <<< y`:                                                   bypass("dialect trust", nothing),
		// What the text itself defines.
		"git${IFS}push":                                     push("."),
		"g=git; $g push":                                    push("."),
		`x="git push"; $x origin`:                           push("."),
		"p=push; git $p":                                    push("."),
		`a=pu; b=sh; git "$a$b"`:                            push("."),
		"p=pu; p+=sh; git $p":                               push("."),
		`G=git P=push; "$G" "$P"`:                           push("."),
		"git ${p:-push}":                                    push("."),
		"p=status; git ${p:-push}":                          nothing,
		`a=(git push); "${a[@]}"`:                           push("."),
		"p=push; p=status; git $p":                          nothing,
		"p=push git $p":                                     nothing,
		"d=x; cd $d && git push":                            push("x"),
		`d=$(cat f); cd "$d" && git push`:                   unknown(".", runs),
		"if a; then p=push; fi; git $p":                     push("."),
		"for p in push; do git $p; done":                    push("."),
		"read p <<< push; git $p":                           push("."),
		"printf -v p pu%s sh; git $p":                       push("."),
		"set -- push; git $1":                               push("."),
		`sh -c 'git "$1"' x push`:                           push("."),
		`gp() { git "$@"; }; gp push`:                       push("."),
		`git() { command git "$@"; }; git push`:             push("."),
		"f() { f; git $1; }; f push":                        push("."),
		"alias gp='git push'; gp origin":                    push("."),
		"alias g=git\ng push":                               push("."),
		"alias git='git --no-pager'\ngit push":              push("."),
		"alias gp='git push'":                               nothing,
		"printf '%s %s' git push | sh":                      push("."),
		"printf 'git %s' push | sh":                         push("."),
		"echo Z2l0IHB1c2g= | base64 -d | sh":                push("."),
		"echo push | xargs git":                             push("."),
		"echo push | xargs -I{} git {} origin":              push("."),
		"printf 'git push' | xargs -0 sh -c":                push("."),
		"echo 'git push' > x.sh; sh x.sh":                   push("."),
		"echo 'git push' > x.sh && chmod +x x.sh; ./x.sh":   push("."),
		"cat > x.sh <<'E'\ngit $1\nE\nbash x.sh push":       push("."),
		"tee x <<< 'git push'; . ./x":                       push("."),
		"echo cd x > x.sh; echo git push >> x.sh; sh x.sh":  push("x"),
		"echo 'git push' > x.md; cat x.md":                  nothing,
		"bash < <(echo git push)":                           push("."),
		"$(which git) push":                                 push("."),
		`"$(command -v git)" push`:                          push("."),
		"/usr/bin/g?t push":                                 push("."),
		"env -iS 'git push'":                                push("."),
		"trap -- 'git push' EXIT":                           push("."),
		"PS4='$(git push)'; set -x; :":                      push("."),
		"BASH_ENV=<(echo git push) bash -c :":               push("."),
		"mapfile -C 'git push' -c 1 x <<< a":                push("."),
		"fd . -x git push":                                  push("."),
		"ls | entr -c git push":                             push("."),
		"git -c core.fsmonitor='git push' status":           push("."),
		"X=0; DIALECT=$X git push":                          bypass("DIALECT=0", push(".")),
		"DIALECT=$((0)) git push":                           bypass("DIALECT=...", push(".")),
		"read DIALECT <<< 0; export DIALECT":                bypass("DIALECT=0", nothing),
		"d=dialect; $d hook off":                            bypass("dialect hook off", nothing),
		"LEFTHOOK=false git push":                           bypass("LEFTHOOK=false", push(".")),
		"HUSKY_SKIP_HOOKS=1 git push":                       bypass("HUSKY_SKIP_HOOKS=1", push(".")),
		"lefthook uninstall":                                bypass("lefthook uninstall", nothing),
		"git push --help":                                   nothing,
		"git config include.path /x":                        bypass("include.path", nothing),
		"git config set --global include.path /x; git push": bypass("include.path", push(".")),
		"git config --get include.path; git config get --all includeIf.gitdir:/a.path; git config --unset include.path": nothing,
		"$SHELL -c 'git push'":                                    push("."),
		"exec \"$SHELL\" -lc 'git push'":                          push("."),
		"$SHELL -c 'git status'; $EDITOR -n push; $PAGER -c push": nothing,
		"eval -- git push":                                        push("."),
		"git -c include.path=/x status":                           nothing,
		"git -c include.path=/x push":                             bypass("include.path", push(".")),
		"GIT_CONFIG_KEY_0=include.path git push":                  bypass("include.path", push(".")),
		"git config --remove-section core":                        bypass("core.hooksPath", nothing),
		"git config alias.ci 'commit --no-verify'":                bypass("--no-verify", nothing),
		"dialect hook off --help":                                 nothing,
		"dialect hook --store --help off":                         bypass("dialect hook off", nothing),
		"gh api -X PUT repos/o/r/contents/x -f content=x":         push("."),
		// A program that is not the shell does not change where the shell is, or what it has set.
		"env cd /other; git push":                      push("."),
		"nohup export GIT_DIR=/o/.git; git push":       push("."),
		"command cd x; git push":                       push("x"),
		"time cd x && git push":                        push("x"),
		"cd /other more; git push":                     unknown(".", runs),
		"GIT_DIR=/o/.git; git push":                    {Actions: []Action{{Push: true, Dir: ".", GitDir: "/o/.git", Unknown: "GIT_DIR may not be exported"}}},
		"GIT_DIR=/o/.git env -u GIT_DIR git push":      push("."),
		"cd x && GIT_DIR=/y/.git env -S'git push -i'":  of("x", "/y/.git"),
		"env - git push":                               push("."),
		"GIT_DIR=/o/.git env --unset GIT_DIR git push": push("."),
		"GIT_DIR=/o/.git env -vi git push":             push("."),
		"GIT_DIR=/o/.git env -uGIT_DIR git push":       push("."),
		"GIT_DIR=/o/.git env -i git push":              push("."),
		"GIT_DIR=/o/.git env --unset=GIT_DIR git push": push("."),
		"$SUDO git push":                               push("."),
		"git $X push":                                  push("."),
		"git ${X[@]} -C y push":                        push("y"),
		"env $X git push":                              push("."),
		"git $(true) push":                             push("."),
		"$X push":                                      nothing,
		"git $X status push":                           nothing,
		"cd $X; git push":                              unknown(".", runs),
		"git -C $X push":                               unknown(".", runs),
		"pwsh -NoProfile -Command git push":            push("."),
		"powershell.exe -c 'git push'":                 push("."),
		"cmd //c git push":                             push("."),
		"echo git push | pwsh -":                       push("."),
		"pwsh -File x.ps1 push":                        nothing,
		"mise exec node@20 -- git push":                push("."),
		"git --attr-source HEAD push":                  push("."),
		"git --shallow-file x push":                    push("."),
		"git commit --mess --dry-run":                  commit("."),
		"git commit -SC -n":                            bypass("-n", commit(".")),
		"gh pr create --help":                          nothing,
		"gh pr create --title --help":                  push("."),
		"jj git push --help":                           nothing,
		// What only speaks of it.
		"grep -rn 'git push' docs | xargs sed -n 's/git push/x/p'": nothing,
		"find . -name '*.md' | xargs grep -l 'git push'":           nothing,
		"echo $(git log --grep 'git push')":                        nothing,
		"tee f <<'E'\ngit push\nE":                                 nothing,
		"git log --grep --no-verify; git log -S --no-verify":       nothing,
		"git stash push -m --no-verify; git tag -m --no-verify v1": nothing,
		"git commit -m x --author --no-verify --trailer -n":        commit("."),
		"git ci --no-verify":                                       bypass("--no-verify", commit(".")),
		"git my-commit --no-verify":                                bypass("--no-verify", nothing),
		"git pull --no-verify":                                     bypass("--no-verify", nothing),
		"((((":                                                     nothing,
		"git push '":                                               nothing,
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
	for _, s := range []string{"git commit -n", "cd x && bash -c 'git push'", "env -u A git -C y push", "((", "<<E\n", "((true); git push)", "cat <<'E' | sudo sh\ngit push\nE", "{a,b} $'\\x67' <(echo x)", "() { git push; }", "f g() { git push; }; g", "for x; do git $x; done", "x=(a b)[1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { Parse(text, "a") })
}

// TestHostile parses short texts that nest as deeply as they can: a stack that overflows ends the hook, and the push is let through.
func TestHostile(t *testing.T) {
	for _, unit := range []string{"(", "$(", "{ ", "`", "\"$(", "((", "${a:-", "if ", "while ", "! ", "a|", "a&&", "<(", "eval ", "[[ (", "$((", "case a in a) ", "f() ", "\\", "<<E\n", "bash -c '", "env ", "x=(", "cat <<'E'\n", "echo $(echo ", "cat | ", "{ echo x; } | ", "sh <(", "$'", "uv run --x "} {
		text := strings.Repeat(unit, maxText/len(unit))
		before := debug.SetMaxStack(512 << 20) // half of what a program gets; the race detector makes frames larger
		Parse(text, "")
		Parse(text+"git push", "")
		Parse(strings.Repeat(text, 8), "")
		debug.SetMaxStack(before)
	}
}

// TestWork reads words in each way that they can be read: what takes too long is no way to a push.
func TestWork(t *testing.T) {
	for _, text := range []string{"env " + strings.Repeat("--x ", maxText/4-8), strings.Repeat("find . -exec ", maxText/13-3), strings.Repeat("x=$x$x$x;", 3000), "git rebase " + strings.Repeat("-x a ", maxText/5-10), strings.Repeat("cd "+strings.Repeat("a", 200)+"\n", 500), strings.Repeat("bwrap x ", maxText/8-8), strings.Repeat("GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='git a' ", 400) + strings.Repeat("git a; ", 500)} {
		in := Parse(text+"git push", "")
		if len(in.Actions) == 0 || !in.Actions[len(in.Actions)-1].Push {
			t.Errorf("%.20s: %+v", text, in)
		}
	}
}

// TestMany has more uses of git in a command line than are looked at: commits stay commits, and a push among them is seen.
// TestItself reads command lines that lead to themselves, or to what they were before.
func TestItself(t *testing.T) {
	for _, text := range []string{
		"git push <<<a <<<b", "cat <<<x <<<\"$(cat)y\"; git push", "true <<A <<'B'\na\nA\nb\nB\ngit push",
		"x='PS1=$x'; PS1=$x; git push", "echo 'BASH_ENV=a' > a; BASH_ENV=a true; git push", "f() { f <<<\"$(cat)x\"; }; f; git push",
		"x='eval \"$x\"'; eval \"$x\"; git push", "alias a='PS1=a'; a; git push",
	} {
		if in := Parse(text, ""); len(in.Actions) == 0 || !in.Actions[0].Push {
			t.Errorf("%s: %+v", text, in)
		}
	}
}

func TestMany(t *testing.T) {
	text := ""
	for _, d := range strings.Split("abcdefghijkl", "") {
		text += "git -C " + d + " commit -m x\n"
	}
	for _, a := range Parse(text, "").Actions {
		if a.Push {
			t.Errorf("a commit became a push: %+v", a)
		}
	}
	if list := Parse(text+"git push\ngit -C x push", "").Actions; len(list) != maxActions+2 || !list[len(list)-1].Push || list[len(list)-1].Unknown == "" {
		t.Errorf("%+v", list)
	}
}

// TestLong writes long texts: what a document says in a text of its own does not count, and what a shell reads, or what only looks like such a text, does.
// Each is tried with a text that is parsed as a whole, and with one that is too deep for that.
func TestLong(t *testing.T) {
	says := "git push origin main\ngit commit --no-verify is never used.\n"
	for fill, unknown := range map[string]string{strings.Repeat("a line of text\n", maxText/10): "", strings.Repeat("a; (line) of {text}\n", maxText/4): tooLong} {
		pushed := func(dir string) Intent {
			return Intent{Actions: []Action{{Push: true, Dir: dir, Unknown: unknown}}}
		}
		unread := func(dir string) Intent {
			if unknown == "" {
				return Intent{}
			}
			return pushed(dir)
		}
		for text, want := range map[string]Intent{
			"cat > f <<'E'\n" + fill + says + "E\n":                                         {},
			"cat > f <<\"E O\"\n" + fill + says + "E O\nls":                                 {},
			"cat > f <<-'E'\n" + fill + "\t" + says + "\tE\ncat > g <<'E'\n" + says + "E\n": {},
			"cat > f <<'E'\n" + fill + "E\ngit -C x push":                                   {Actions: []Action{{Push: true, Dir: "x", Unknown: unknown}}},
			"bash <<'E'\n" + fill + says + "E\n":                                            {Bypass: "--no-verify", Actions: []Action{{Push: true, Dir: ".", Unknown: unknown}, {Dir: ".", Unknown: unknown}}},
			"cat <<'E' | sh\n" + fill + "git push\nE\n":                                     pushed("."),
			"cat <<E\n" + fill + "$(git push)\nE\n":                                         pushed("."),
			": \"<<'E'\"\ngit push\nE\n" + fill:                                             pushed("."),
			"# <<'E'\ngit push\nE\n" + fill:                                                 pushed("."),
			"cat <<'E'\n" + fill + "git push":                                               unread("."),
			// A line that ends the text of an earlier one cannot be read by itself.
			"true '" + fill + "'; git push":                                       pushed("."),
			"python3 -c \"" + fill + "\" && git push":                             pushed("."),
			"git commit -m '" + fill + "' && echo":                                {Actions: []Action{{Push: unknown != "", Dir: ".", Unknown: unknown}}},
			"printf %s " + strings.ReplaceAll(fill, "\n", " ") + "; git push":     pushed("."),
			"git push; true " + strings.ReplaceAll(fill, "\n", " "):               pushed("."),
			"true '" + strings.ReplaceAll(fill, "\n", " ") + "'; git push":        pushed("."),
			"true '" + strings.ReplaceAll(fill, "\n", " ") + "' digit; ls pushed": {},
			"true '" + fill + "'; ls":                                             {},
		} {
			if got := Parse(text, ""); !reflect.DeepEqual(got, want) {
				t.Errorf("%.40q ... %.40q\n got %+v\nwant %+v", text, text[len(text)-40:], got, want)
			}
		}
	}
}
