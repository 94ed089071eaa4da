package hook

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// maxRefs bounds how many refs of a push are looked at. A push of more is refused: one of them would hide behind the others.
const maxRefs = 500

// Push answers git's pre-push hook: whether the tips that are pushed are verified. What git writes of a push is read from in; where pre-commit
// is between, its variables say it. It returns what to say of each tip that is refused, and what to warn of; a fault of our own, a
// commit without a matrix and a ref that is deleted refuse nothing; what git wrote and cannot be read refuses.
func Push(store string, in io.Reader) (refused, warnings []string) {
	skip := os.Getenv("DIALECT") == "0"
	tips, unread := pushed(in)
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
		if ctx.Err() != nil && len(tips) > 1 {
			text := fmt.Sprintf("the refs from %s on were not checked within a minute\n  next: push fewer at once", tip.name)
			log(decide.Refuse, "push-unverified", text)
			return append(refused, diag.PrintableLines(text)), warnings
		}
		switch {
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("%s is not checked: %v", tip.name, err))
			log(decide.Tell, "no-look", err.Error())
		case l.res.Verdict == verify.Verified:
			log(decide.Allow, "verified", tip.name)
		case l.res.Verdict == verify.Degraded, l.q.Trusted() == nil:
			warnings = append(warnings, fmt.Sprintf("%s is not checked: %s", tip.name, cmp.Or(l.evidence.Why, "it has no routing.toml")))
			log(decide.Tell, "not-checked", l.evidence.Why)
		default:
			text := fmt.Sprintf("%s: %s is not verified: %s\n  next: %s", l.res.Verdict, tip.name, l.evidence.Why, strings.Join(l.doc.Next, "\n  next: "))
			refused = append(refused, diag.PrintableLines(text))
			log(decide.Refuse, "push-unverified", text)
		}
	}
	return refused, warnings
}

// A tip is what one ref of a push will be.
type tip struct{ name, rev string }

// pushed returns the tips of a push, each once. The error says that what git wrote cannot be read: a tip could be there
// that nobody checked.
func pushed(in io.Reader) (tips []tip, err error) {
	add := func(name, rev string) {
		if strings.Trim(rev, "0") == "" { // deleted
			return
		}
		short := strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/")
		if !slices.ContainsFunc(tips, func(t tip) bool { return t.rev == rev }) && len(tips) <= maxRefs {
			tips = append(tips, tip{cmp.Or(short, rev), rev})
		}
	}
	if rev := os.Getenv("PRE_COMMIT_TO_REF"); rev != "" {
		add(os.Getenv("PRE_COMMIT_LOCAL_BRANCH"), rev) // and what git itself says, if this was called by git: anyone can set a variable
	} else if os.Getenv("PRE_COMMIT_REMOTE_URL") != "" { // the first push of all: pre-commit names no tip
		tips = append(tips, tip{"HEAD", "HEAD"})
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
			add(strings.Join(words[:n-3], " "), words[n-3])
		case strings.TrimSpace(line) != "" && err == nil:
			err = fmt.Errorf("the line %q is not that of a ref", git.Clip(line))
		}
	}
	return tips, err
}
