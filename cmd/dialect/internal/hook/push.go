package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/shell"
	"github.com/command-dialect/dialect/cmd/dialect/internal/inquiry"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/attempt"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
	"github.com/command-dialect/dialect/runtime/report"
	"github.com/command-dialect/dialect/runtime/workspace"
	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// maxRefs bounds how many refs of a push are looked at. A push of more is refused: one of them would hide behind the others.
const maxRefs = 500

// pushWait bounds how long a push is looked at.
const pushWait = time.Minute

// Push answers git's pre-push hook: whether the tips that are pushed are verified. What git writes of a push is read from in; where pre-commit
// is between, its variables say it. remote is the name of the remote, or its URL. It returns what to say of each tip that is refused, and what to
// warn of; a fault of our own before the rules are known, a ref that is deleted, and a commit without rules where nothing before it had any refuse nothing; what
// git wrote and cannot be read refuses, and so does what is not a commit of a folder with rules, or lacks a matrix that was there.
func Push(store, remote string, in io.Reader) (refused, warnings []string) {
	skip := os.Getenv("DIALECT") == "0"
	ctx, cancel := context.WithTimeout(context.Background(), pushWait)
	defer cancel()
	tips, hidden, unread := pushed(ctx, in)
	if dir, err := os.Getwd(); err == nil { // before it goes elsewhere
		store = attempt.AbsoluteStore(dir, store)
	}
	findNotary()
	p := &push{ctx: ctx, store: store, remote: cmp.Or(remote, os.Getenv("PRE_COMMIT_REMOTE_NAME"))}
	if dir, err := os.Getwd(); err == nil {
		p.from = dir
		if at := filepath.Join(dir, os.Getenv("GIT_PREFIX")); filepath.IsLocal(os.Getenv("GIT_PREFIX")) && place.Exists(at) {
			p.from = at
		}
	}
	// Git calls its hooks in the root of the worktree; with --git-dir it calls them where the user is.
	if dir := os.Getenv("GIT_DIR"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			p.gitDir = abs
		}
	}
	if dir, unknown := folderOf(shell.Action{GitDir: os.Getenv("GIT_DIR")}); unknown == "" && dir != "" {
		_ = os.Chdir(dir)
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"} {
		_ = os.Unsetenv(name) // git sets them for its hooks, whose folder is that of the worktree
	}
	forgetKeys()
	if p.enter(); skip {
		p.log(decide.Tell, "skipped", "DIALECT=0")
		return nil, []string{"DIALECT=0: the push is not checked, which is recorded"}
	}
	if p.off() {
		return nil, nil
	}
	switch {
	case unread != nil:
		p.refuse(fmt.Sprintf("git's description of the push cannot be read: %v\n  next: push fewer refs at once, by their names", unread))
		return p.refused, nil
	case len(tips) > maxRefs:
		p.refuse(fmt.Sprintf("a push of more than %d refs is not checked\n  next: push fewer at once", maxRefs))
		return p.refused, nil
	}
	if hidden && p.hides() {
		p.refuse("pre-commit passes on only one ref of a push, so the other refs cannot be checked\n  next: dialect hook install --git, once in each clone")
	}
	p.checkAll(tips)
	return p.refused, p.warnings
}

// checkAll checks tips. Where the time is over, nothing is known of the rest: also of one, which its writer can make slow.
func (p *push) checkAll(tips []tip) {
	for i, tip := range tips {
		if p.check(tip); p.ctx.Err() == nil {
			continue
		}
		if i == len(tips)-1 {
			p.refuse(fmt.Sprintf("%s was not checked within a minute\n  next: push again, or verify it in CI%s", tip.name, meant))
		} else {
			p.refuse(fmt.Sprintf("the refs from %s on were not checked within a minute\n  next: push fewer at once", tip.name))
		}
		return
	}
}

// A push is what was found out about one.
type push struct {
	ctx               context.Context
	store, remote     string
	from              string           // the folder that git was called in, as far as git says, where its user reads what is next; empty if that is not known
	gitDir            string           // that git names, absolute; empty for none
	journal           *journal.Journal // of the present folder; nil where none can be kept
	refused, warnings []string
}

// enter takes the journal of the present folder.
func (p *push) enter() {
	p.journal = nil
	if j, err := of("."); err == nil {
		p.journal = j
	}
}

// off reports whether a person switched the hooks of the present folder off, and records it.
func (p *push) off() bool {
	if p.journal == nil || p.journal.OffUntil(time.Now()).IsZero() {
		return false
	}
	p.log(decide.Tell, "off", "")
	return true
}

func (p *push) log(action decide.Action, rule, text string) {
	if p.journal != nil {
		p.journal.Log(journal.Entry{Time: time.Now().UTC().Truncate(time.Millisecond), Agent: "git", Event: "push", Action: string(action), Rule: rule, Text: text})
	}
}

func (p *push) refuse(text string) {
	p.refused = append(p.refused, diag.PrintableLines(text))
	p.log(decide.Refuse, "push-unverified", text)
}

func (p *push) warn(rule, text, why string) {
	p.warnings = append(p.warnings, diag.PrintableLines(text))
	p.log(decide.Tell, rule, why)
}

// meant is what a person can do who knows better.
const meant = ", or run DIALECT=0 git push to push anyway (this is recorded)"

// check checks a tip: by the rules of the root or, where only folders below have some, by those of each folder that the push changes.
func (p *push) check(t tip) {
	root, err := os.Getwd()
	if err != nil {
		p.refuse(fmt.Sprintf("%s is not verified: %v\n  next: push it from a folder that is there%s", t.name, err, meant))
		return
	}
	beside := sync.OnceValues(func() ([][]*folders, string) { return p.bases(root, t) })
	j := judgement{tip: t, own: true, beside: func() string { _, from := beside(); return from }}
	matrix, err := project.MatrixIn(p.ctx, t.rev, root)
	rooted := err == nil && matrix == filepath.Join(root, routing.FileName)
	if rooted {
		p.judge(j)
		bases, _ := beside()
		if !slices.ContainsFunc(slices.Concat(bases...), func(b *folders) bool { return len(b.ruled) > 0 && b.ruled[0] != "." }) {
			return // else folders had rules of their own, without those of the root
		}
	}
	at, env := p.pushes(root)
	f, err := foldersOf(p.ctx, at, env, t.rev)
	kind := ""
	if err != nil {
		kind = kindOf(p.ctx, at, env, t.rev)
	}
	switch {
	case err == nil:
	case kind == notHere && j.beside() == "" && !p.ruled():
		p.warn("no-look", fmt.Sprintf("%s is not checked: its commit is not in this clone, and nothing here has a routing.toml", t.name), err.Error())
		return
	case kind != aFile:
		p.refuse(fmt.Sprintf("%s is not verified: its folders cannot be listed: %v\n  next: verify it in CI%s", t.name, err, meant))
		return
	default:
		f = &folders{rev: t.rev}
	}
	bases, from := beside()
	if bases == nil {
		p.refuse(fmt.Sprintf("%s is not verified: it has no routing.toml, and %s\n  next: git fetch%s", t.name, from, meant))
		return
	}
	j.own = len(f.ruled) > 0
	dirs, gone := f.toVerify(bases)
	for _, dir := range slices.Sorted(maps.Keys(gone)) {
		p.refuse(fmt.Sprintf("%s: %s is not verified in %s: it has no routing.toml, and %s has rules\n  next: put %s back%s%s", verify.Policy, t.name, git.Display(dir), gone[dir], git.Display(path.Join(dir, routing.FileName)), moved(f, dir), meant))
	}
	real, err := place.Real(root)
	if err != nil {
		real = root
	}
	for _, dir := range dirs {
		if dir == "." {
			if !rooted {
				p.judge(j)
			}
			continue
		}
		if err := os.Chdir(filepath.Join(root, filepath.FromSlash(dir))); err != nil {
			p.refuse(fmt.Sprintf("%s is not verified in %s: that folder is not here\n  next: push it from a checkout of it%s", t.name, git.Display(dir), meant))
			continue
		}
		if at := filepath.Join(real, filepath.FromSlash(dir)); !standsAt(at) { // a link would have another project asked
			p.refuse(fmt.Sprintf("%s is not verified in %s: that folder is not here: its path leads through a link\n  next: push it from a checkout of it%s", t.name, git.Display(dir), meant))
			if os.Chdir(root) != nil {
				return
			}
			continue
		}
		if p.enter(); !p.off() {
			j.dir = dir
			p.judge(j)
		}
		if p.ctx.Err() != nil {
			p.refuse(fmt.Sprintf("%s: the folders from %s on were not checked within a minute\n  next: push again, or verify each of them in CI%s", t.name, git.Display(dir), meant))
			return
		}
		if os.Chdir(root) != nil {
			p.refuse(fmt.Sprintf("the rest of %s is not verified: the folder %s is gone\n  next: push it from a folder that is there%s", t.name, git.Display(root), meant))
			return
		}
		p.enter()
	}
}

// standsAt reports whether the present folder is the one of that path, and no link leads there.
func standsAt(path string) bool {
	real, err := place.Real(path)
	return err == nil && real == path && place.Same(".", path)
}

// moved says what else a person can do about rules that are gone with their folder, whose name is dir.
func moved(f *folders, dir string) string {
	if f.ids[dir] != "" {
		return ""
	}
	return ", or take it, unchanged, to where the folder is now"
}

// hides reports whether there are rules here, and a push by pre-commit has refs that nobody looks at: before the hooks of its configuration
// pre-commit runs the hook that was there, and that one is not ours.
func (p *push) hides() bool {
	in, err := installer(".")
	if err == nil && in.BeforePreCommit() {
		return false
	}
	root := cmp.Or(in.Root, ".")
	if _, missing, err := matrixOf(root); err != nil || !missing {
		return true
	}
	return ruledIn(p.ctx, root, git.Here(root), "HEAD")
}

// pushes returns a folder, and the variables, with which git finds the repository that it pushes; dir is where the hook stands.
func (p *push) pushes(dir string) (at string, env []string) {
	if p.gitDir != "" {
		return p.gitDir, []string{"GIT_DIR=" + p.gitDir}
	}
	return dir, git.Here(dir)
}

// bases returns what the remote has in each place that a tip is pushed to: the commit that is there or, where there is none yet, the remote's branches as
// they were last seen, which is empty where nothing is known. from says what of that has rules, or the user's pin; empty for nothing. Where something of it
// cannot be read here, from says so, and bases is nil.
func (p *push) bases(root string, t tip) (bases [][]*folders, from string) {
	at, env := p.pushes(root)
	look := func(rev, name string) *folders {
		f, err := foldersOf(p.ctx, at, env, rev)
		if err != nil {
			return nil
		}
		if f.rev = name; len(f.ruled) > 0 && from == "" {
			from = name + " has rules"
		}
		return f
	}
	unread := func(name string) string {
		return "whether " + name + ", which the remote has, has rules is not known: it cannot be read here"
	}
	fresh := false
	for _, rev := range t.onto {
		if strings.Trim(rev, "0") == "" {
			fresh = true
			continue
		}
		name := rev[:min(12, len(rev))]
		f := look(rev, name)
		if f == nil { // a fetch brings it
			return nil, unread(name)
		}
		bases = append(bases, []*folders{f})
	}
	if !fresh {
		return bases, from
	}
	seen := []*folders{}
	for _, branch := range lastSeen(p.ctx, at, env, p.remote) {
		if f := look("refs/remotes/"+branch, branch); f != nil {
			f.fork = sync.OnceValue(func() *folders { return cmp.Or(forkOf(p.ctx, at, env, t.rev, "refs/remotes/"+branch), f) })
			seen = append(seen, f)
		} else if p.named(at, env, "refs/remotes/"+branch) {
			return nil, unread(branch)
		}
	}
	if from == "" {
		from = pinned(root)
	}
	return append(bases, seen), from
}

// named reports whether there is a ref of that name, or git does not say.
func (p *push) named(at string, env []string, ref string) bool {
	g, err := git.FindGit(at)
	if err != nil {
		return true
	}
	out, err := g.Run(p.ctx, at, env, nil, "for-each-ref", "--count=1", "--format=x", ref)
	return err != nil || len(out) > 0
}

// A judgement is a tip that is asked about in the present folder, which is dir, from the root; empty for the root itself.
type judgement struct {
	tip
	dir    string
	own    bool          // the tip has rules, somewhere
	beside func() string // what else has; empty for nothing
}

// next are the lines that say what is next, commands as they can be pasted where git was called, and the commit of t by its name.
func (p *push) next(t judgement, steps []string) string {
	at := "."
	if dir, err := os.Getwd(); err == nil && p.from != "" {
		if at = place.From(p.from, dir); strings.HasPrefix(at, "-") { // cd has options, and - is the folder before
			at = "./" + at
		}
	}
	var b strings.Builder
	for _, step := range steps {
		switch {
		case strings.HasPrefix(step, "# "):
			step = strings.ReplaceAll(step, t.rev, t.name)
		case at != ".":
			step = "(" + report.Command([]string{"cd", at}) + " && " + step + ")"
		}
		b.WriteString("\n  next: " + step)
	}
	return b.String()
}

// again is the command that pushes t, as far as git says what that is.
func (p *push) again(t tip) string {
	if p.remote == "" || strings.ContainsAny(p.remote, "/:\\") { // a URL can hold a password
		return "git push"
	}
	return report.Command([]string{"git", "push", p.remote, cmp.Or(t.to, t.name)})
}

func (p *push) judge(t judgement) {
	where := ""
	if t.dir != "" {
		where = " in " + git.Display(t.dir)
	}
	r := &run{Options: Options{Store: p.store}, ctx: p.ctx, then: p.again(t.tip)}
	l, err := r.ask(t.rev, nil)
	var why *exit.Failure
	switch {
	case errors.As(err, &why) && len(why.Hints) > 0 && (t.own || t.beside() != "" || p.ruled()):
		p.refuse(fmt.Sprintf("%s is not verified%s: %v%s", t.name, where, err, p.next(t, inquiry.Steps(why))))
	case err != nil && (t.own || t.beside() != "" || p.ruled()):
		p.refuse(fmt.Sprintf("%s is not verified%s: %v\n  next: fix that, or push it from the folder that it was checked in%s", t.name, where, err, meant))
	case err != nil:
		p.warn("no-look", fmt.Sprintf("%s is not checked%s: %v", t.name, where, err), err.Error())
	case l.noRules != "" && t.beside() != "":
		p.refuse(fmt.Sprintf("%s: %s is not verified%s: %s, and %s\n  next: put routing.toml back%s", verify.Policy, t.name, where, l.noRules, t.beside(), meant))
	case l.res.Verdict == verify.Verified:
		p.log(decide.Allow, "verified", t.name+where)
	case l.res.Verdict == verify.Degraded && l.noRules == "": // an agent can break its store
		p.refuse(fmt.Sprintf("%s: %s is not verified%s: %s\n  next: fix the store, and run the script again%s", l.res.Verdict, t.name, where, l.evidence.Why, meant))
	case l.res.Verdict == verify.Degraded, l.q.Trusted() == nil:
		p.warn("not-checked", fmt.Sprintf("%s is not checked%s: %s", t.name, where, cmp.Or(l.noRules, l.evidence.Why)), l.evidence.Why)
	default:
		why := l.evidence.Why
		if text := l.q.Beyond(); text != "" {
			why += ": " + strings.ReplaceAll(text, t.rev, t.name)
		}
		p.refuse(fmt.Sprintf("%s: %s is not verified%s: %s%s", l.res.Verdict, t.name, where, why, p.next(t, l.doc.Next)))
	}
}

// ruled reports whether there are rules here, or in the HEAD of the repository that git pushes: a tip that nobody can ask about may have to keep them.
func (p *push) ruled() bool {
	dir, err := os.Getwd()
	if err != nil {
		return true
	}
	if _, missing, err := matrixOf(dir); err != nil || !missing {
		return true
	}
	at, env := p.pushes(dir)
	return ruledIn(p.ctx, at, env, "HEAD")
}

// ruledIn reports whether the commit rev has rules, or is here and cannot be listed.
func ruledIn(ctx context.Context, dir string, env []string, rev string) bool {
	f, err := foldersOf(ctx, dir, env, rev)
	if err != nil {
		return kindOf(ctx, dir, env, rev) != notHere
	}
	return len(f.ruled) > 0
}

// A tip is what one ref of a push will be.
type tip struct {
	name, rev string
	to        string   // what pushes it to the first of those places; empty where that is not known
	onto      []string // what the remote has in the places that it is pushed to; zeros or empty where that is not known
}

// pushed returns the tips of a push, each once. hidden says that pre-commit named one of them, and git none: there can be others. The error says
// that what git wrote cannot be read: a tip could be there that nobody checked.
func pushed(ctx context.Context, in io.Reader) (tips []tip, hidden bool, err error) {
	add := func(name, rev, ref, onto string) {
		if strings.Trim(rev, "0") == "" { // deleted
			return
		}
		short := strings.TrimPrefix(strings.TrimPrefix(name, "refs/heads/"), "refs/tags/")
		if i := slices.IndexFunc(tips, func(t tip) bool { return t.rev == rev }); i >= 0 {
			if !slices.Contains(tips[i].onto, onto) {
				tips[i].onto = append(tips[i].onto, onto)
			}
		} else if len(tips) <= maxRefs {
			t := tip{name: git.Display(cmp.Or(short, rev)), rev: rev, onto: []string{onto}}
			switch {
			case ref == "":
			case name == ref:
				t.to = short
			default:
				t.to = rev[:min(len(rev), 12)] + ":" + ref
			}
			tips = append(tips, t)
		}
	}
	// What pre-commit says is looked at in addition to what git itself says, if this was called by git: anyone can set a variable.
	branch, rev := os.Getenv("PRE_COMMIT_LOCAL_BRANCH"), os.Getenv("PRE_COMMIT_TO_REF")
	if hidden = rev != "" || os.Getenv("PRE_COMMIT_REMOTE_URL") != ""; hidden {
		add(branch, cmp.Or(rev, branch, "HEAD"), "", os.Getenv("PRE_COMMIT_FROM_REF")) // a first push has no commits that it is of
	}
	type result struct {
		text []byte
		err  error
	}
	got := make(chan result, 1) // who reads may go on reading: the process ends soon
	go func() {
		text, err := io.ReadAll(io.LimitReader(in, maxStdin+1))
		got <- result{text, err}
	}()
	var text []byte
	select {
	case g := <-got:
		text, err = g.text, g.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil && len(text) > maxStdin {
		err = fmt.Errorf("it is longer than %d bytes", maxStdin)
	}
	for line := range strings.Lines(string(text)) {
		// LOCAL HASH REMOTE HASH: the first is what the user wrote, if that is not the name of a ref, and can have blanks.
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		switch n := len(words); {
		case n >= 4:
			hidden = false
			add(strings.Join(words[:n-3], " "), words[n-3], words[n-2], words[n-1])
		case strings.TrimSpace(line) != "" && err == nil:
			err = fmt.Errorf("the line %q is not that of a ref", git.Clip(line))
		}
	}
	return tips, hidden, err
}

// maxSeen bounds how many branches of remotes are looked at.
const maxSeen = 64

// lastSeen returns the branches of a remote that may have what is reviewed, and those of origin, as refs/remotes has them: HEAD, main and master; where one
// has none of these, all of its own, up to [maxSeen], and where neither has any, as for the URL of a remote, those of all remotes.
func lastSeen(ctx context.Context, at string, env []string, remote string) (list []string) {
	g, err := git.FindGit(at)
	seen := func(refs ...string) (found []string) {
		if err != nil {
			return nil
		}
		var out []byte
		out, err = g.Run(ctx, at, env, nil, append([]string{"for-each-ref", "--count=" + strconv.Itoa(maxSeen), "--format=%(refname:lstrip=2)"}, refs...)...)
		return strings.Fields(string(out))
	}
	remotes := slices.DeleteFunc(slices.Compact([]string{remote, "origin"}), func(name string) bool { return name == "" })
	for _, name := range remotes {
		ref := "refs/remotes/" + name + "/"
		found := seen(ref+"HEAD", ref+"main", ref+"master")
		if len(found) == 0 {
			found = seen(ref)
		}
		list = append(list, found...)
	}
	if len(list) == 0 {
		list = seen("refs/remotes/")
	}
	if err == nil {
		return list
	}
	for _, name := range remotes { // what is there is not known: who looks at these says so
		list = append(list, name+"/HEAD", name+"/main", name+"/master")
	}
	return list
}

// upstream names what has rules for dir beside HEAD, or cannot be read and may have some: a branch of the remote as it was last seen, else the user's
// pin. It returns "" where none has.
func upstream(ctx context.Context, dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for _, branch := range lastSeen(ctx, dir, nil, "") {
		switch path, err := project.MatrixIn(ctx, "refs/remotes/"+branch, dir); {
		case path != "":
			return branch + " has rules"
		case err != nil && !errors.Is(err, workspace.ErrNoCommit) && !errors.Is(err, workspace.ErrNoRepository):
			return branch + ", which cannot be read, may have rules"
		}
	}
	return pinned(dir)
}

// pinned says that the user pinned rules for dir; empty if there are none.
func pinned(dir string) string {
	for at := range regular.Above(dir) {
		if policy.IsPinned(at) {
			return "your pin has rules"
		}
	}
	return ""
}
