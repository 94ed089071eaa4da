// Package cleanroom makes the place where commands run that are not to see the working tree:
// a checkout of exactly a snapshot. In comes what takes snapshots; out come, command by command,
// where it runs, with which variables, and what it changed there. The package starts nothing,
// and knows no plan and no receipt.
//
// # What a command sees
//
// With namespaces the checkout is mounted over the project's own path, so that what names it
// by its path, such as the script of an editable install, leads to the checkout. Below it are
// directories that are read-only for every command: the checkout, and a .git made for it. What a
// command writes is in a directory of its own, and the next command that only reads does not see
// it. These places are empty when the run starts, and belong to the run, or to each command where they are kept apart: the home directory, /tmp,
// /var/tmp, /dev/shm, /run/user/UID, /run/lock, /var/crash, and the outermost directory above the project that is no
// directory of the system, such as /data for /data/team/project, or else the one that the project is directly in (see around). So no configuration
// beside or above the project is seen, and no file of another project. Each command has an ipc namespace and a session keyring of
// its own: no memory, no queue and no key that somebody left.
//
// Where namespaces cannot be had the room is unconfined: a copy of the checkout in a folder of the
// run, and a home directory and a temporary one by variables. Absolute paths lead to the machine
// as it is then. [Room.Unconfined] says why.
//
// A control sees some files with other contents ([Stay.Edit]): they are in a layer of its own above the checkout.
//
// # The checkout
//
// It has the files of [workspace.Snapshot], byte by byte; each is read once from the working tree,
// and has the digest that the snapshot says, or the room is not made. Modes are 0755 and 0644, as of a
// clone, and all files have one time, of these files (timeOf). It holds nothing else: no ignored file, no cache, no empty
// directory. A FIFO, socket or device, and a link that leads out of the tree, are refused by name.
// Names that the file system of the checkout takes for one (case, Unicode forms) are found since one
// of the files has not its content then, and are refused by name.
//
// Checkouts are kept from run to run, below [Options].Cache, one for each working tree. Each run reads
// all of it again, and repairs what is not as it has to be: what somebody changed there has no effect. What
// is changed while the run lasts is found when a gate asks for the snapshot.
//
// The .git has a configuration of its own, no hooks, the snapshot as its index, the tags, the
// commit that is checked out, and the objects of the repository, read-only, without what lies among them when the room is made (strays). Which objects there are,
// reached by a ref or not, the user decides. A commit that a command makes is gone with the run. If commands are kept from their asker, who can change all of the repository, it has nothing of that:
// only a pack with the blobs of the files, kept beside the checkout, and one commit of them. The edit of a control is in its
// index and its commit.
//
// # What a line hands on
//
// A line that is meant to write, and passed, hands on a copy of what it left ([Stay.Keep]): the files that count, which go back to the working
// tree, with the modes of a clone and in a new .git, and ignored ones. All of them go back or none: each replaced file is kept beside the new one,
// as .NAME.dialect-back-NUMBER, until the last one is there; only a run that is killed meanwhile leaves such files. The layer is made below an open
// directory, each file is read once, and only the copy is compared and brought back: a process that still has a descriptor of the line's files cannot
// change it. Of ignored files the layer knows the
// snapshot that the line ran on, and what else decided it ([Stay.Lower]). A stay that sees them on another one names them ([Stay.Shared]), and so it
// does with what the layer hides of ignored files below it.
//
// # What is installed
//
// The commands of a setup ([Room.Install]) see their lock files alone, in a room with places of its own and in a pid namespace. What they left
// is copied, with its digests, into a directory that is kept below [Options].Cache, setup/TREE-KEY: files/tree and files/home, a manifest, and a
// signature where the run signs. TREE is of the path of the working tree, KEY of what decided ([Room.key]):
// nothing of it is left out by what a snapshot ignores, and each snapshot says anew whether it fits. A run that makes it holds an
// exclusive lock of the directory, runs that use it a shared one: two runs make it once, and nobody removes what is used. It takes its name
// when it is whole. Each run compares all of it with the manifest, and sets all times again; a gate compares both.
//
// It is the lowest layer of the checkout, so that it takes the place of no file of the snapshot, and has nothing that the snapshot would count.
//
// # What is left behind
//
// Nothing, but for checkouts and what was installed: mounts end with the command's namespace, also if dialect is killed. The folder of a run that was
// killed is removed by a later run (package tempdir), and what was kept and no run used for 30 days is, too.
//
// # What it does not close
//
// The network, services of the machine, the clock, the kernel, /etc, /usr and what else belongs to the
// system are shared. A process of the same user that means to can change the checkout between its
// verification and a read, and can trace commands: that takes another user, or a guard.
//
// It is one package of up to 6,000 lines because what a room has, what is mounted over it and what is brought back
// from it are three views of the same list of paths, and what is installed in it is compared as its checkout is.
package cleanroom
