// Package workspace says which files a run was about: it takes a snapshot of the
// tree that holds a project, as two digests, and tells what changed between two
// snapshots.
//
// In comes a directory; out comes a [Snapshot]. The package knows no receipts and
// no plans, and decides nothing. It writes nothing into the worktree, its index or
// its objects.
//
// # Which files count
//
// The worktree that holds the directory counts as a whole: every file, symbolic
// link and special file, whether git tracks it or not, except
//
//   - what an ignore file hides that is itself in the index, as it stands in the
//     worktree;
//   - what is in a cache ([DefaultCaches], [Options.Caches], which a matrix names) or
//     excepted by [Options.Except];
//   - anything named .git.
//
// What the index holds always counts. Nothing else hides a file: neither an ignore
// file that is not tracked, nor info/exclude and core.excludesFile, nor the
// assume-unchanged and skip-worktree bits, core.fsmonitor, core.untrackedCache,
// core.fileMode, core.ignoreStat, core.worktree and the like, hooks, replacements
// or variables of the environment. So before the first commit of a .gitignore all
// that it names counts, and is listed as Untracked: it is beyond what the commit
// will hold, and the commit's tree will be another than Tree.
//
// A submodule is gone into, under its own index and its own tracked ignore files;
// so is a nested repository that is not a submodule, where nothing is hidden. Without
// a repository, or in one that ignores the project's directory altogether, all
// files below the directory count except caches. Whether that is as the verifier
// trusts it, package policy asks ([Snapshot.Root]).
//
// # The two digests
//
// Tree is the name of the tree that "git add -A" and "git commit" would record, so
// that a snapshot taken before a commit of everything has the Tree of HEAD^{tree}
// after it. Git's conversions apply as the .gitattributes in the worktree and the
// configuration say (text, eol, core.autocrlf, ident, working-tree-encoding,
// clean filters such as LFS); info/attributes, core.attributesFile and the
// system's attributes do not. As in git, a filter that is not configured, or fails
// without being required, leaves the file as it is; a required one that fails is a
// Reason. A submodule or nested repository is its commit. Executable bits and
// links are those of the file system. What a sparse checkout left out is in Tree,
// and listed as Absent, if core.sparseCheckout is set; a skip-worktree bit alone
// does not keep a file that is gone.
//
// Tree is empty, and Reason says why, where no commit of everything can be: outside
// of a repository, with an unmerged index, with a FIFO in the place of a tracked
// file, with a nested repository that has no commit; and where git is missing or
// refuses the repository.
//
// Bytes is of what a program reads when it opens the files: no conversion applies,
// and files of submodules and nested repositories are in it. What a filter hides
// from Tree shows here. It is
//
//	SHA-256("dialect.workspace/1\n" + entry + entry + ...)
//
// with an entry for each path, in the bytewise order of paths:
//
//	kind + uint64(len(path)) + path + uint64(size) + SHA-256(content)
//	kind + uint64(len(path)) + path
//
// The first form is that of kind "f" (file), "x" (file that its owner may execute)
// and "l" (link; its content is its target). The second is that of "p" (FIFO), "s"
// (socket) and "d" (device), which are never opened. Numbers are big-endian, paths
// relative to the root with slashes. Entries parse back from the left in one way
// only, so two different lists of files have different inputs. Another formula
// would have another first line.
//
// # When Tree is exact
//
// Tree names what git would store, which is not always what a program read. A
// snapshot is Exact if a fresh clone of a commit of Tree, submodules and LFS
// included, has its Bytes; else Beyond lists the paths that differ, each with a
// reason. Exact are
//
//   - a file whose blob is its content, unless attributes of the tree (eol=crlf,
//     ident, an encoding) would change it on checkout;
//   - a file with CR LF whose blob has LF, if attributes of the tree say eol=crlf;
//   - a file whose blob is the canonical LFS pointer to its content; it is also in
//     Stored, since a clone must fetch it;
//   - a link that leads, through other links or not, to a path that counts, or to one in the
//     tree where nothing is and a file would count;
//   - a submodule that .gitmodules names, whose files are just those of its commit,
//     and which is exact itself. What attributes convert inside of a submodule is
//     not followed: it is not exact then.
//
// Some things are in neither digest, and commands see them all the same. Not exact is a
// snapshot where there is, or the tracker has seen it earlier,
//
//   - a file of a cache of [DefaultCaches], or an empty directory, that stood there at
//     the first snapshot of a [Tracker], and that neither a tracked ignore file nor, of
//     a cache, [Options.Caches] names. What
//     came after that was left by the commands of the run, and those of a clone leave
//     it too; so the second run of a project that does not ignore its caches is not
//     exact, and says which to ignore. What dialect keeps in a .dialect does not count;
//   - something named .git that is not a repository.
//
// Not exact is all else: a name that git does not store or check out (".Git", "git~1",
// a link ".gitmodules" or "GITMOD~1" and the like), a special file, what a sparse checkout
// left out, other filters, core.autocrlf and core.eol, attributes files that no commit will
// hold; attributes files that git reads otherwise from the index, as at a checkout, than from
// the working tree (a link, one in LFS, one with a NUL, a byte order mark or a long line); files
// in LFS where .lfsconfig says more than where to fetch from; a .gitmodules that git itself would
// not write; a file of whose attributes git, asked in a temporary repository that others of this user
// can write into, said something else than the attributes files do. It
// is about a clone on Unix by a git without configuration of its own; whether the
// commits of submodules and the content in LFS were pushed, nobody here knows.
//
// # How it is computed
//
// The walk, the hashes and the tree are made here; nothing is written, and git is
// only asked what it tracks, how it is configured and, in a temporary repository
// that borrows the objects of the real one, what its conversions make of those few
// files that they could change. Directories are descended by descriptor, so that
// one swapped for a link leads nowhere. A file that changes while it is read is
// read once more, then it is an [*Error]; one that vanishes was not there.
//
// The first snapshot reads every file. The stat data in git's index could save
// that, and is not used: its owner can write the index, or put back the time stamp
// (utimensat) and switch core.trustctime off. A [Tracker] remembers, in memory,
// what it read itself, by device, inode, size, mode, mtime and ctime. The ctime is
// what counts: the kernel sets it at every change, and nobody but the
// administrator sets the clock. A file is remembered only if its ctime was at
// least two seconds old, since two changes within one tick of the clock have the
// same.
// Another process can be given what a Tracker remembers ([Tracker.Recall]), and
// believes it: no verdict is made of that, only the answer of an agent's hook.
//
// # What it cannot see
//
// A file that is edited and put back between two snapshots. Ignored files, such as
// a virtual environment. Caches, compiled code in them, and empty directories, where a
// question is about the present files or they came after the first snapshot; a nested
// repository without a file is one of them. The inside of .git, such as a key in .git/config,
// the index and the refs, and of a .dialect. Modes other than the
// owner's executable bit, hard links, times, owners, extended attributes: a commit has
// none of them, and a test that depends on one fails in a clone of an exact Tree. Files outside of the worktree
// that links lead to. With a Tracker, what is stored through a shared writable
// mapping that was dirty before the file was read: the kernel does not move the
// ctime for that until the page is written back (on tmpfs, ever), and
// [Tracker.Forget] makes the next snapshot read everything; [Take] always does. A
// file system that lies (FUSE), and the administrator. Processes that a clean filter leaves
// in sessions of their own: verify, gate and consume end them on Linux, and a run leaves them.
//
// It is one package of up to 5,130 lines because its two digests are made of one walk: what git would
// make of a file, and whether a clone has its bytes, is decided from what was read then, and from no second look.
package workspace
