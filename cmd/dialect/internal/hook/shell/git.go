package shell

import (
	"cmp"
	"slices"
	"strings"
)

// add adds an action in each place that it may happen in.
func (in *Intent) add(push bool, st *state) {
	for _, w := range st.at {
		a := Action{Push: push, Dir: w.dir, Unknown: cmp.Or(w.unknown, st.unknown)}
		if st.gitDir != "" {
			var absolute bool
			if a.GitDir, absolute = join(w.dir, st.gitDir); absolute {
				a.Unknown = st.unknown
			}
		}
		if len(in.Actions) >= maxActions && !slices.Contains(in.Actions, a) {
			a = Action{Push: push, Dir: ".", Unknown: "there are too many in one command line"}
		}
		if !slices.Contains(in.Actions, a) {
			in.Actions = append(in.Actions, a)
		}
	}
}

// gitValues are the options of git itself that take the next word.
var gitValues = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env", "--attr-source", "--shallow-file"}

// git reads the arguments of git.
func (in *Intent) git(words []word, st *state, depth int) {
	st = st.clone() // what its options say holds for it alone
	words = append(in.configured(st), words...)
	args, included := texts(words), false
	for len(args) > 0 && (strings.HasPrefix(args[0], "-") || words[0].hidden()) {
		flag, value := args[0], word{known: words[0].known}
		args, words = args[1:], words[1:]
		if slices.Contains(gitValues, flag) && len(args) > 0 {
			value, args, words = words[0], args[1:], words[1:]
		} else if f, v, ok := strings.Cut(flag, "="); ok {
			flag, value.text = f, v
		}
		name, to, _ := strings.Cut(value.text, "=")
		if flag == "--config-env" {
			flag = "-c"
			to, _, _ = in.value(st, to)
		}
		switch {
		case flag == "-c" && len(name) > len("alias.") && strings.EqualFold(name[:len("alias.")], "alias."):
			st.aliases[strings.ToLower(name[len("alias."):])] = to
		case flag == "-C":
			st.cd(value)
		case flag == "--git-dir":
			in.variable("GIT_DIR", value, st)
		case flag == "--bare":
			st.unknown = "the repository is a bare one"
		case flag == "-c" && strings.EqualFold(name, "core.hooksPath"):
			in.Bypass = "core.hooksPath"
		case flag == "-c" && isInclude(name):
			included = true
		case flag == "-c" && slices.Contains(programs, strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])):
			in.read(strings.TrimPrefix(to, "!"), st.clone(), depth+1)
		}
	}
	if len(args) == 0 {
		return
	}
	command, rest := args[0], args[1:]
	if included && !slices.Contains(unverified, command) && !slices.Contains(reading, command) {
		in.Bypass = "include.path"
	}
	if to := st.aliases[strings.ToLower(command)]; to != "" && depth < maxDepth {
		if shell, ok := strings.CutPrefix(to, "!"); ok {
			in.read(shell+" "+strings.Join(rest, " "), st, depth+1)
			return
		}
		var list []word
		for _, f := range strings.Fields(to) {
			list = append(list, word{text: f, known: true})
		}
		in.git(append(list, words[1:]...), st, depth+1)
		return
	}
	if command == "config" {
		if i := slices.IndexFunc(rest, isHooksPath); i >= 0 && writesConfig(rest, i) {
			in.Bypass = "core.hooksPath"
		}
		if i := slices.IndexFunc(rest, isInclude); i >= 0 && i+1 < len(rest) && writesConfig(rest, i) {
			in.Bypass = "include.path"
		}
		if i := slices.IndexFunc(rest, func(a string) bool {
			return strings.HasPrefix(strings.TrimLeft(a, "-"), "re") && strings.HasSuffix(a, "e-section")
		}); i >= 0 && slices.Contains(rest[i:], "core") {
			in.Bypass = "core.hooksPath"
		}
		for i, a := range rest[:max(0, len(rest)-1)] {
			if name, ok := strings.CutPrefix(strings.ToLower(a), "alias."); ok {
				st.aliases[name] = rest[i+1]
				if goesAround(rest[i+1]) {
					in.Bypass = "--no-verify"
				}
			}
		}
		return
	}
	dry := false
	for i, a := range rest {
		if a == "--" {
			break
		}
		if i > 0 && (command == "commit" && takesNext(rest[i-1]) || command == "push" && pushTakesNext(rest[i-1])) {
			continue // the value of an option
		}
		switch {
		case isNoVerify(a) && !slices.Contains(unverified, command):
			in.Bypass = "--no-verify"
		case command == "commit" && hasShort(a, 'n'):
			in.Bypass = "-n"
		case a == "--dry-run", a == "--help", a == "-h", command == "push" && hasShort(a, 'n'):
			dry = true
		case len(a) > len("--no-d") && strings.HasPrefix("--no-dry-run", a):
			dry = false
		}
	}
	switch command {
	case "for-each-repo":
		words = words[1:]
		for len(words) > 0 && strings.HasPrefix(words[0].text, "-") && words[0].text != "-C" && words[0].text != "-c" {
			if words[0].text == "--config" && len(words) > 1 {
				words = words[1:]
			}
			words = words[1:]
		}
		if depth < maxDepth {
			st.unknown = "it is run by git " + command
			in.git(words, st, depth+1)
		}
	case "submodule", "rebase", "bisect": // foreach COMMAND, --exec COMMAND, run COMMAND
		for i, a := range rest {
			text, next := "", rest[i+1:]
			if !in.spend(len(rest)) {
				return
			}
			switch {
			case a == "foreach", a == "run", a == "-x", a == "--exec":
				for len(next) > 0 && strings.HasPrefix(next[0], "-") {
					next = next[1:]
				}
				text = strings.Join(next, " ")
			case strings.HasPrefix(a, "--exec="):
				text = strings.TrimPrefix(a, "--exec=")
			case command == "rebase" && strings.HasPrefix(a, "-x"):
				text = strings.TrimPrefix(a, "-x")
			}
			if text != "" {
				st.unknown = "it is run by git " + command
				in.read(text, st, depth+1)
			}
		}
	case "subtree", "lfs", "svn", "p4", "cl", "annex":
		if len(rest) > 0 && slices.Contains([]string{"push", "dcommit", "submit", "upload", "sync"}, rest[0]) {
			in.add(true, st)
		}
	case "commit", "ci":
		if !dry {
			in.add(false, st)
		}
	case "push", "send-pack", "http-push", "request-pull", "review":
		if !dry && !deletes(rest) {
			in.add(true, st)
		}
	}
}

// configured returns what variables say of git's configuration, as options of git.
func (in *Intent) configured(st *state) (list []word) {
	set := func(name, value string) {
		list = append(list, word{text: "-c", known: true}, word{text: name + "=" + value, known: true})
	}
	for d := st.names; d != nil && in.spend(1); d = d.before {
		if n, ok := strings.CutPrefix(d.name, "GIT_CONFIG_KEY_"); ok {
			value, _, _ := in.value(st, "GIT_CONFIG_VALUE_"+n)
			set(d.value, value)
		} else if d.name == "GIT_CONFIG_PARAMETERS" { // 'NAME'='VALUE' or 'NAME=VALUE', each
			for item := range strings.SplitSeq(strings.Trim(d.value, "' "), "' '") {
				name, value, _ := strings.Cut(strings.Replace(item, "'='", "=", 1), "=")
				set(name, value)
			}
		}
	}
	return list
}

// programs are the last parts of the names of git's configuration whose value is a command line.
var programs = []string{"editor", "sshcommand", "pager", "fsmonitor", "external", "askpass", "helper", "program", "gitproxy", "clean", "smudge", "process", "driver", "textconv", "cmd"}

// isInclude reports whether a name of git's configuration has it read a file that nobody here does.
func isInclude(name string) bool {
	name = strings.ToLower(name)
	return name == "include.path" || strings.HasPrefix(name, "includeif.")
}

// goesAround reports whether an alias is one that leaves a check out.
func goesAround(alias string) bool {
	words := strings.Fields(alias)
	return slices.ContainsFunc(words, isNoVerify) && !slices.Contains(unverified, words[0])
}

// unverified are the commands of git that go past no check, so that the words for it are about something else there.
var unverified = []string{"log", "grep", "show", "diff", "blame", "shortlog", "rev-list", "stash", "tag", "notes"}

// reading are further ones that run no hook.
var reading = []string{"status", "config", "rev-parse", "ls-files", "ls-tree", "cat-file", "branch", "fetch", "describe", "add", "reset", "restore", "checkout", "switch"}

// takesNext reports whether an option of git commit takes the next word: the last of its letters is the first of them that takes a value. Git
// takes an abbreviation for the option.
func takesNext(a string) bool {
	if len(a) > len("--r") && strings.HasPrefix(a, "--") {
		return slices.ContainsFunc([]string{"--message", "--file", "--author", "--date", "--trailer", "--fixup", "--squash", "--template", "--cleanup", "--reuse-message", "--reedit-message", "--pathspec-from-file"},
			func(o string) bool { return strings.HasPrefix(o, a) })
	}
	if len(a) < 2 || a[0] != '-' || a[1] == '-' {
		return false
	}
	return strings.IndexAny(a, "mFCctuS") == len(a)-1 && strings.IndexByte("mFCct", a[len(a)-1]) >= 0
}

// pushTakesNext reports whether an option of git push takes the next word. Git takes an abbreviation for the option.
func pushTakesNext(a string) bool {
	if i := strings.IndexByte(a, 'o'); i > 0 && i == len(a)-1 && a[0] == '-' && a[1] != '-' { // -o, alone or after others
		return true
	}
	return len(a) > len("--r") && slices.ContainsFunc([]string{"--push-option", "--receive-pack", "--exec", "--repo"}, func(o string) bool { return strings.HasPrefix(o, a) })
}

// deletes reports whether a push with these arguments only deletes refs.
func deletes(args []string) bool {
	refs, gone := 0, 0
	for i, a := range args {
		switch {
		case a == "--tags", a == "--all", a == "--branches", a == "--mirror", a == "--follow-tags": // what it pushes beside the refs that are named
			return false
		case i > 0 && pushTakesNext(args[i-1]):
		case len(a) > len("--no-d") && strings.HasPrefix("--no-delete", a):
			return false
		case a == "--delete", hasShort(a, 'd'):
			return !slices.ContainsFunc(args[i+1:], func(a string) bool { return len(a) > len("--no-d") && strings.HasPrefix("--no-delete", a) })
		case strings.HasPrefix(a, "-"):
		default:
			if refs++; strings.HasPrefix(a, ":") && len(a) > 1 && a[1] != ':' {
				gone++
			}
		}
	}
	return gone > 0 && gone == refs-1 // the first one is the remote
}

// isNoVerify reports whether a is --no-verify, or what git takes for it: an abbreviation.
func isNoVerify(a string) bool {
	return len(a) >= len("--no-veri") && strings.HasPrefix("--no-verify", a)
}

func isHooksPath(s string) bool {
	name, _, _ := strings.Cut(s, "=")
	return strings.EqualFold(name, "core.hooksPath")
}

// writesConfig reports whether `git config` with args, of which the one at i names core.hooksPath, changes it.
func writesConfig(args []string, i int) bool {
	for _, a := range args {
		if a == "--get" || a == "--get-all" || a == "get" || a == "--list" || a == "-l" || a == "list" {
			return false
		}
	}
	return i+1 < len(args) || slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "unset") })
}

// hasShort reports whether a holds the short option c, alone or among others. What stands after an option that takes a value is
// its value.
func hasShort(a string, c byte) bool {
	if len(a) < 2 || a[0] != '-' || a[1] == '-' {
		return false
	}
	for i := 1; i < len(a); i++ {
		if a[i] == c {
			return true
		}
		if strings.IndexByte("mFCctuSo", a[i]) >= 0 {
			return false
		}
	}
	return false
}

// forge reads the arguments of a program of a forge.
func (in *Intent) forge(name string, args []string, st *state) {
	var words []string
	for i, a := range args {
		value := i > 0 && slices.Contains([]string{"-R", "--repo", "--hostname", "--login", "--remote", "-r", "-X", "--method"}, args[i-1])
		if !value && !strings.HasPrefix(a, "-") {
			words = append(words, a)
		}
	}
	has := func(list ...string) bool {
		for i, w := range list {
			if i >= len(words) || !slices.Contains(strings.Split(w, "|"), words[i]) {
				return false
			}
		}
		return true
	}
	switch {
	case len(words) > 1 && args[len(args)-1] == "--help" && !strings.HasPrefix(args[len(args)-2], "-"): // only asks what it does
	case name == "gh" && has("pr", "create|new|merge|ready"), name == "glab" && has("mr", "create|new|merge"),
		name == "hub" && has("pull-request|push"), name == "tea" && has("pr|pull|pulls", "create|c|merge"), name == "gh" && has("release", "create"),
		name == "gh" && has("repo", "create") && slices.Contains(args, "--push"), name == "az" && has("repos", "pr", "create"),
		name == "gh" && has("api") && len(words) > 1 && slices.ContainsFunc([]string{"/pulls", "/merge", "/git/refs", "/contents/"}, func(s string) bool { return strings.Contains(words[1], s) }) &&
			slices.ContainsFunc(args, func(a string) bool {
				return slices.Contains([]string{"-f", "-F", "--field", "--raw-field", "--input", "POST", "PUT", "PATCH", "-XPOST", "-XPUT", "-XPATCH", "--method=POST", "--method=PUT", "--method=PATCH"}, a)
			}):
		in.add(true, st)
	}
}
