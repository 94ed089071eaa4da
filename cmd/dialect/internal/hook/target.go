package hook

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/decide"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/journal"
	"github.com/command-dialect/dialect/cmd/dialect/internal/hook/shell"
	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/lang/routing"
	"github.com/command-dialect/dialect/receipts/verify"
	"github.com/command-dialect/dialect/runtime/place"
	"github.com/command-dialect/dialect/runtime/policy"
	"github.com/command-dialect/dialect/runtime/project"
)

// before decides whether the agent may run a command line. One that acts on several repositories has to be allowed in each.
func (r *run) before(intent shell.Intent) reply {
	actions := intent.Actions
	if intent.Bypass != "" {
		actions = append([]shell.Action{{Dir: "."}}, actions...)
	}
	worst := reply{Decision: decide.Decision{Action: decide.Allow}}
	for _, a := range actions {
		switch out := r.action(a, intent.Bypass); {
		case out.Action == decide.Refuse:
			return out
		case out.Action == decide.Tell && worst.Action == decide.Allow:
			worst = out
		}
	}
	return worst
}

// action decides about one use of git, in the repository that it is about.
func (r *run) action(a shell.Action, bypass string) (out reply) {
	was, err := os.Getwd()
	if err != nil {
		return fault("no-folder", err)
	}
	own := r.journal
	defer func() {
		_ = os.Chdir(was)
		r.journal = own
	}()
	dir, unknown := folderOf(a)
	if unknown == "" && os.Chdir(dir) != nil {
		unknown = "there is no folder " + dir
	}
	if unknown == "" {
		if dir, err = os.Getwd(); err != nil {
			return fault("no-folder", err)
		}
	} else {
		dir = was
	}
	root, missing, err := matrixOf(dir)
	if err != nil {
		return fault("no-matrix", err)
	}
	if r.journal, err = journal.Of(root); err != nil {
		return fault("no-journal", err)
	}
	scope := decide.Scope{Off: !r.journal.OffUntil(r.now).IsZero(), NoProject: missing, Untrusted: r.User && !policy.IsPinned(root)}
	f := decide.Tool{Scope: scope, Bypass: bypass, Commit: !a.Push, Push: a.Push, Unknown: unknown}
	rev, subject, what := "", "the working tree", "commit"
	if a.Push {
		rev, subject, what = "HEAD", "HEAD", "push"
	}
	if missing { // here; what HEAD or the remote has counts
		switch {
		case unknown != "":
		case r.inHead(dir):
			f.NoProject = false
		case a.Push:
			if from := upstream(r.ctx, dir); from != "" {
				f.NoProject, f.Evidence = false, &decide.Evidence{RulesGone: true, Why: "it has no routing.toml, and " + from}
			}
		}
	}
	if !missing && !a.Push && !scope.Off {
		if s, err := r.journal.Session(r.ctx, r.Agent.Name, r.event.Session); err == nil {
			r.begin(s)
			s.Close()
		}
	}
	d := f.Decide()
	var l *look
	if d.Action == decide.Look {
		if l, err = r.ask(rev, nil); err != nil {
			return fault("no-look", err)
		}
		if a.Push && l.noRules != "" {
			if from := upstream(r.ctx, dir); from != "" {
				l.evidence.RulesGone, l.evidence.Why = true, l.noRules+", and "+from
			}
		}
		if l.evidence.Verdict == verify.Failed && !a.Push {
			s, err := r.journal.Session(r.ctx, r.Agent.Name, r.event.Session)
			if err == nil {
				defer s.Close()
			}
			if err == nil || r.event.Session == "" {
				l.evidence.Old = r.old(l, s)
			}
		}
		f.Evidence = &l.evidence
		d = f.Decide()
	}
	out = reply{Decision: d}
	if d.Action != decide.Refuse {
		return out
	}
	switch {
	case d.Rule == "bypass":
		out.say = "dialect refused this command: " + bypass + " bypasses a check. Only a person may decide that; " + instead(bypass)
	case d.Rule == "push-unknown":
		out.say = "dialect refused this push: it is not known which repository it is about: " + unknown + ". Run it from the folder of the repository, in a command of its own: cd FOLDER && git push"
	case f.Evidence.RulesGone:
		out.say = "dialect refused this push: " + string(verify.Policy) + ": " + subject + " is not verified: " + f.Evidence.Why + ". Put routing.toml back, or ask a person to push."
	default:
		out.say = "dialect refused this " + what + ": " + string(l.res.Verdict) + ": " + subject + " is not verified: " + l.evidence.Why + "\n"
		step, first := next(l.doc), ""
		switch runs := strings.Contains(step, "dialect run"); {
		case runs && l.evidence.Verdict == verify.Failed && a.Push:
			first = "fix what fails, and commit it, then "
		case runs && l.evidence.Verdict == verify.Failed:
			first = "fix what fails, then "
		case runs && l.q.Uncommitted():
			first = "commit what you changed, then "
		}
		out.say += first + "run: " + step
	}
	out.say = diag.PrintableLines(out.say)
	return out
}

// instead says what an agent does instead of going around a check: without that there is nothing left of a command that does nothing else.
func instead(bypass string) string {
	if strings.HasPrefix(bypass, "dialect ") || strings.HasSuffix(bypass, " uninstall") {
		return "leave it to a person."
	}
	return "run the command without it."
}

// inHead reports whether HEAD has a matrix for dir, or is there and cannot say.
func (r *run) inHead(dir string) bool {
	path, err := project.Lost(r.ctx, dir, routing.ErrNotFound)
	return path != "" || err != nil
}

// matrixOf returns the folder of the matrix for dir; missing says that there is none, and then it returns the root of the repository. One above
// the repository that dir is in is not about that.
func matrixOf(dir string) (root string, missing bool, err error) {
	path, _, err := project.FindMatrix(dir, "")
	if err != nil && !errors.Is(err, routing.ErrNotFound) {
		return "", false, err
	}
	top := place.Repository(dir)
	if err != nil {
		return top, true, nil
	}
	root = filepath.Dir(path)
	if rel, err := filepath.Rel(top, root); place.Exists(filepath.Join(top, ".git")) && (err != nil || !filepath.IsLocal(rel)) {
		return top, true, nil
	}
	return root, false, nil
}

// folderOf returns the folder of the worktree that an action is about, or why it is not known.
func folderOf(a shell.Action) (dir, unknown string) {
	if a.Unknown != "" {
		return "", a.Unknown
	}
	if a.GitDir == "" {
		return home(a.Dir), ""
	}
	gitDir := filepath.Clean(home(a.GitDir))
	if filepath.Base(gitDir) == ".git" {
		return filepath.Dir(gitDir), ""
	}
	if real, err := filepath.EvalSymlinks(gitDir); err == nil && filepath.Base(real) == ".git" { // by a link of another name
		return filepath.Dir(real), ""
	}
	// That of a linked worktree names the .git of it.
	if text, err := regular.Read(filepath.Join(gitDir, "gitdir"), 1<<16); err == nil {
		if file := strings.TrimSpace(string(text)); filepath.IsAbs(file) && filepath.Base(file) == ".git" {
			return filepath.Dir(file), ""
		}
	}
	return "", "GIT_DIR is not the .git of a folder: " + a.GitDir
}

// home returns a path of a shell with the user's home in the place of the tilde.
func home(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if dir, err := os.UserHomeDir(); ok && err == nil && (rest == "" || rest[0] == '/') {
		return filepath.Join(dir, filepath.FromSlash(rest))
	}
	return filepath.FromSlash(path)
}
