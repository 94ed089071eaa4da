package hook

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/shell"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// maxRefs bounds how many refs of a push are looked at. A push of more is refused: one of them would hide behind the others.
const maxRefs = 500

// maxOnto bounds how many commits of the remote are looked at for one tip.
const maxOnto = 20

// Push answers git's pre-push hook: whether the tips that are pushed are verified. What git writes of a push is read from in; where pre-commit
// is between, its variables say it. remote is the name of the remote, or its URL. It returns what to say of each tip that is refused, and what to
// warn of; a fault of our own, a ref that is deleted, and a commit without rules where nothing before it had any refuse nothing; what git wrote and
// cannot be read refuses, and what is not a commit of a folder with rules.
func Push(store, remote string, in io.Reader) (refused, warnings []string) {
	skip := os.Getenv("DIALECT") == "0"
	tips, unread := pushed(in)
	// Git calls its hooks in the root of the worktree; with --git-dir it calls them where the user is.
	if dir, unknown := folderOf(shell.Action{GitDir: os.Getenv("GIT_DIR")}); unknown == "" && dir != "" {
		_ = os.Chdir(dir)
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"} {
		_ = os.Unsetenv(name) // git sets them for its hooks, whose folder is that of the worktree
	}
	forgetKeys()
	j, err := of(".")
	log := func(action decide.Action, rule, text string) {
		if err == nil {
			j.Log(journal.Entry{Time: time.Now().UTC().Truncate(time.Millisecond), Agent: "git", Event: "push", Action: string(action), Rule: rule, Text: text})
		}
	}
	if skip {
		log(decide.Tell, "skipped", "DIALECT=0")
		return nil, []string{"DIALECT=0: the push is not checked, which is recorded"}
	}
	if err == nil && !j.OffUntil(time.Now()).IsZero() {
		log(decide.Tell, "off", "")
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if unread != nil {
		text := fmt.Sprintf("what git says of the push cannot be read: %v\n  next: push fewer refs at once, by their names", unread)
		log(decide.Refuse, "push-unverified", text)
		return []string{diag.PrintableLines(text)}, nil
	}
	if len(tips) > maxRefs {
		text := fmt.Sprintf("a push of more than %d refs is not checked\n  next: push fewer at once", maxRefs)
		log(decide.Refuse, "push-unverified", text)
		return []string{text}, nil
	}
	for _, tip := range tips {
		r := &run{Options: Options{Store: store}, ctx: ctx}
		l, err := r.ask(tip.rev, nil)
		from := ""
		if err == nil && l.noRules != "" {
			from = upstream(ctx, ".", cmp.Or(remote, os.Getenv("PRE_COMMIT_REMOTE_NAME")), tip.onto...)
		}
		if ctx.Err() != nil && len(tips) > 1 {
			text := fmt.Sprintf("the refs from %s on were not checked within a minute\n  next: push fewer at once", tip.name)
			log(decide.Refuse, "push-unverified", text)
			return append(refused, diag.PrintableLines(text)), warnings
		}
		switch {
		case err != nil && ruled(ctx, tip.rev):
			text := fmt.Sprintf("%s is not verified: %v\n  next: push it from the folder that it was checked in, or DIALECT=0 git push if you mean it; this is recorded", tip.name, err)
			refused = append(refused, diag.PrintableLines(text))
			log(decide.Refuse, "push-unverified", text)
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("%s is not checked: %v", tip.name, err))
			log(decide.Tell, "no-look", err.Error())
		case from != "":
			text := fmt.Sprintf("%s: %s is not verified: %s, and %s has rules\n  next: put routing.toml back, or DIALECT=0 git push if you mean it; this is recorded", verify.Policy, tip.name, l.noRules, from)
			refused = append(refused, diag.PrintableLines(text))
			log(decide.Refuse, "push-unverified", text)
		case l.res.Verdict == verify.Verified:
			log(decide.Allow, "verified", tip.name)
		case l.res.Verdict == verify.Degraded, l.q.Trusted() == nil:
			warnings = append(warnings, fmt.Sprintf("%s is not checked: %s", tip.name, cmp.Or(l.noRules, l.evidence.Why)))
			log(decide.Tell, "not-checked", l.evidence.Why)
		default:
			text := fmt.Sprintf("%s: %s is not verified: %s\n  next: %s", l.res.Verdict, tip.name, l.evidence.Why, strings.Join(l.doc.Next, "\n  next: "))
			refused = append(refused, diag.PrintableLines(text))
			log(decide.Refuse, "push-unverified", text)
		}
	}
	return refused, warnings
}

// ruled reports whether the present folder has rules, and rev is not a commit that it could ask about by them: a tag of a tree, or a commit of the
// repository that git pushes, which is another one.
func ruled(ctx context.Context, rev string) bool {
	dir, err := os.Getwd()
	if err != nil {
		return false
	}
	if _, err := workspace.Resolve(ctx, dir, rev, workspace.Options{}); err == nil || ctx.Err() != nil {
		return false // a fault of another kind
	}
	_, missing, err := matrixOf(dir)
	return err == nil && !missing
}

// A tip is what one ref of a push will be.
type tip struct {
	name, rev string
	onto      []string // what the remote has in the places that it is pushed to; zeros or empty where that is not known
}

// pushed returns the tips of a push, each once. The error says that what git wrote cannot be read: a tip could be there
// that nobody checked.
func pushed(in io.Reader) (tips []tip, err error) {
	add := func(name, rev, onto string) {
		if strings.Trim(rev, "0") == "" { // deleted
			return
		}
		short := strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/")
		if i := slices.IndexFunc(tips, func(t tip) bool { return t.rev == rev }); i >= 0 {
			tips[i].onto = append(tips[i].onto, onto)
		} else if len(tips) <= maxRefs {
			tips = append(tips, tip{cmp.Or(short, rev), rev, []string{onto}})
		}
	}
	if rev := os.Getenv("PRE_COMMIT_TO_REF"); rev != "" {
		add(os.Getenv("PRE_COMMIT_LOCAL_BRANCH"), rev, os.Getenv("PRE_COMMIT_FROM_REF")) // and what git itself says, if this was called by git: anyone can set a variable
	} else if os.Getenv("PRE_COMMIT_REMOTE_URL") != "" { // the first push of all: pre-commit names no tip
		tips = append(tips, tip{"HEAD", "HEAD", []string{""}})
	}
	text, err := io.ReadAll(io.LimitReader(in, maxStdin+1))
	if err == nil && len(text) > maxStdin {
		err = fmt.Errorf("it is longer than %d bytes", maxStdin)
	}
	for line := range strings.Lines(string(text)) {
		// LOCAL HASH REMOTE HASH: the first is what the user wrote, if that is not the name of a ref, and can have blanks.
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		switch n := len(words); {
		case n >= 4:
			add(strings.Join(words[:n-3], " "), words[n-3], words[n-1])
		case strings.TrimSpace(line) != "" && err == nil:
			err = fmt.Errorf("the line %q is not that of a ref", git.Clip(line))
		}
	}
	return tips, err
}

// upstream names what has rules for dir beside the commit that is pushed: the ref that it is pushed to, whose commit is onto, else the branches
// of the remote as they were last seen, else the user's pin. It returns "" where none has.
func upstream(ctx context.Context, dir, remote string, onto ...string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	known := true
	for _, rev := range onto[:min(len(onto), maxOnto)] {
		_, err := workspace.Resolve(ctx, dir, rev, workspace.Options{})
		switch known = known && err == nil; {
		case strings.Trim(rev, "0") == "":
			known = false
		case project.MatrixIn(ctx, rev, dir) != "":
			return rev[:min(12, len(rev))]
		}
	}
	if known && len(onto) > 0 {
		return "" // a person decided that when it was pushed
	}
	for _, name := range []string{remote, "origin"} {
		for _, branch := range []string{"HEAD", "main", "master"} {
			if rev := "refs/remotes/" + name + "/" + branch; name != "" && project.MatrixIn(ctx, rev, dir) != "" {
				return name + "/" + branch
			}
		}
	}
	for at := dir; ; at = filepath.Dir(at) {
		if policy.IsPinned(at) {
			return "your pin"
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}
