// Package verify answers whether a tree was tested. A log of receipts, the keys and the
// checkpoint that the verifier holds, and a [Query] come in; a [Result] with one
// [Verdict] comes out, or the [receipts.Decision] of a gate or a consumption. It runs
// nothing, writes nothing to the log, and looks at no file but its own [Memory].
//
// [Open] reads the log once and authenticates it. Every answer of the [Session] is made
// of those bytes: a record that is read again must have the hash that it had. What a
// store keeps beside its log (the projection, stored nodes) is never believed, so it
// does not matter what is written to the store while it is asked.
//
// # What VERIFIED means
//
// [Session.Verify] and [Session.One] return [Verified] only if all of these hold. After
// each stands the test that breaks it.
//
// The log:
//
//  1. Its records are numbered without a gap, and the root over them is that of the
//     log's checkpoint (TestWhole).
//  2. No record that the answer rests on changed after it was read (TestChanged).
//  3. It begins with the records of the checkpoint that the verifier kept, if it kept one
//     (TestKeptCheckpoint), with those of the signed checkpoint (TestSignedCheckpoint), and with those
//     that the memory answers for (TestMemoryDoubted).
//  4. With keys: a checkpoint that the same key signed covers each record signed by one of
//     them that the answer rests on, or that was read and not remembered, and of the
//     remembered ones the last of each key; and none of these names one of the keys as its
//     signer and lacks its signature. A receipt of a worker is covered by a checkpoint of any of them, and without one its signature does not count (TestHanded). An audit asks the same of every record ([Coverage])
//     (TestSignedCheckpoint, TestCovered, TestChanged, TestReadAgain). Of a bundle: each record
//     has a proof (TestBundle), and the checkpoint is signed if a record is (TestBundleCheckpoint).
//
// The gate (all in TestConditions, unless another test is named):
//
//  5. It is final (TestOne), and has at least one receipt below it. Every member, and every member
//     of a gate below it, is in the log, and is a receipt of a success or, where it was
//     pending, was settled as one.
//  6. It, each member, each gate below it and each settlement has at least the level
//     that is asked for (TestLevel); a checkpoint that the verifier kept covers it, if that is asked for (TestKeptCheckpoint).
//  7. It is about the tree that is asked about, and so is each member that is required;
//     where nothing is required, each that did not change the tree. If the question is
//     about a commit, the gate's tree is exact: a clone has the bytes that were tested.
//  8. It and its members are of the place that is asked about: what ran in another
//     project of the working tree proves nothing here.
//  9. The present matrix is the trusted one, and the gate and its bound members are of
//     it.
//  10. Each required command is covered by a member with its binding, command and
//     directory. A receipt that was taken under no binding covers none: another folder has another program
//     of the same name, and runs that its command started were held to no rules.
//  11. The inputs of each member's binding are those that the caller computed, where it
//     did.
//  12. It is of the session and nonce that are asked for. It has at most the age that is asked for, and so has the run of each
//     member: one that repeats a result is as old as the receipt that it repeats (TestAge). No member repeats an earlier result if
//     fresh ones are asked for. If a run is named, all of it was recorded after that run began (TestAfter).
//
// The last word (TestLastWord):
//
//  13. No command of the gate failed on this tree, in this place and with these inputs, whether it began with them or left them,
//     after it passed, unless that was accepted as in 15; the environment does not matter. A failure is an exit status, an
//     expectation, a tool's answer or a crash ([receipts.StopReason.Failed]). It is on this tree if it began
//     on the same bytes, whatever git calls them; where the passing command changed files, also if
//     it left the bytes that the pass left (TestDecideLastWord).
//  14. The last word about each required command, or about each bound command where
//     the query requires nothing, is not a failure on this tree, unless
//     that was accepted. Only a later pass under the same binding and of no lower level
//     undoes a failure; one under no binding is undone by a later pass under any
//     (TestUndone, TestNamedGate). Each
//     binding has a last word of its own: a pass that was held to less, under no binding
//     or another one, does not take the place of a failure.
//  15. If the query is strict, no command of the gate failed so before it passed either,
//     unless its binding has retries, or somebody of no lower level accepted that
//     failure after it happened (TestLevel). If it is not, the result counts them.
//
// Two bindings of the rules that run the same command with other variables of their own are about two things, and so are the runs that they start: what fails under
// the one says nothing of the other, and no pass of the one undoes it (TestLastWord, TestBelowOthers).
//
// 12 to 15 are also of the receipts of runs that a command of the gate started, as far as the gate has taken theirs in, and of
// those below a gate that an agent handed back (TestInner). A result that one of them repeats has at least the level that is asked
// for (TestInnerLevel); what they ran themselves needs none, since the command that started them is of the gate, and what failed in
// them counts at any level (TestBelow). Records below the level that is asked for excuse nothing of it: neither that a line's runs decide
// nothing, nor that an attempt was not the first (TestInnerForged). Of runs that leave no gate, those that they started count, and receipts of what had failed or
// was ended early before the gate. Each of them is about the files that it began with and those that it left; one that does not say it, about those
// of the nearest line around it that does. What failed on the files of the gate counts also where the command passed on other files alone.
// A gate that an agent handed back is of the matrix, the project and the files of the receipt of its task (TestHandedBack).
//
// Where it ran:
//
//  16. If a clean checkout is asked for, each member ran in one, confined to it, and saw nothing of the
//     machine that its user can write, as far as its producer knows; built-ins, which look at no
//     file, apart. 13 to 15 are then of what ran in a clean checkout alone: what failed outside of one is
//     counted, and what passed there undoes no failure (TestClean).
//
// Recorded by a notary (all in TestNotary, unless another test is named):
//
//  17. The level of a notary ([receipts.LevelNotary]) counts only under keys that the verifier names as those of notaries:
//     of what such a key signed itself, and of what the key of a session signed, if one of them vouches for the
//     session. It vouches by its signature of the first record of the log, which names the log's origin, the key of
//     the session and what kept the asker from the notary; a session in which nothing did has no level.
//  18. A bundle of a session is all of it: each record of the log, under a checkpoint that the key of the session signed,
//     and last the closing record of that key, which has counted them. Else the session was cut. A service goes on and
//     closes no log.
//  19. A pass has no level of a notary if it ran in the working tree, in an unconfined checkout, or saw what
//     its user can write: the asker could have a say in it.
//
// Records below the level that is asked for are left out of 13 to 15, but for those of runs that lines started where a
// record of the run of the line has that level, and came after them: they refuse nothing, and they hide nothing (TestLevel, TestBelowLeft, TestUnfinished).
//
// Where the verdict is MISSING, STALE or RAN OUTSIDE THE MATRIX the result names the receipts that
// a gate would take (TestUngated). They are advice, and count for nothing.
//
// The result also counts commands that gave no answer (TestNoAnswer), and names runs on the
// tree that did not reach a gate (TestUnfinished, TestStoppedBefore). Neither refuses.
//
// [Session.Consume] asks the same of each record, strictly, and that nothing consumed it
// before (TestConsumed). A receipt, or a gate that is not final, is judged without 5's
// "final", 10 and 14; where something is required it is refused. [Session.Decide] makes the gate of a run: the run's own, which counts
// earlier failures unless it is asked to refuse them, and refuses what these conditions do (TestGateAgreesWithVerdict).
//
// # What VERIFIED FOR CHANGED PATHS means
//
// [Session.Verify], and nothing else, returns [Scoped] where the query allows it, its answer would be STALE, and all of
// these hold (all in TestScoped, unless another test is named):
//
//  20. A final gate, the full run, would be VERIFIED about its own tree: 1 to 15 hold there, under the present
//     rules and inputs, with all that is asked for. All of its members are bound, and none may write.
//  21. The files that the binding of no line of its script names are the present ones.
//  22. Each member's command has a pass in that run or a later one, under the same binding, in the same directory and
//     place, below a gate that would be VERIFIED about its own tree but for being final. Either that was the present
//     tree, or the files that the binding names, at least one, are the present ones, and so were those of 21.
//  23. After that pass, which may be older than the full run, the command did not fail under the binding on the
//     files that it names, or on files that are not known, unless that was accepted as in 15; if the query is strict,
//     it did not since the full run either. Since the full run the same holds of each other line that names files,
//     and 14 of the present tree. What failed, or was ended early, on these files all the same is counted
//     (TestScopedCounts).
//
// A bundle, a commit, and a record by its name have no such answer, nor has a consumption (TestScopedIsNoGate).
//
// # What it assumes
//
// stdlib/docs/trust.md says the same to users, under the same numbers.
//
//  24. SHA-256 has no collisions, Ed25519 signatures are not forged, and nobody finds a
//     command whose digest has the first 64 bits of another's (see index).
//  25. The query is right: the caller computed the tree, the place and the inputs of the
//     present files itself, and the matrix from a baseline that it trusts; and the folder
//     that it stands in is in the repository that it means. Nothing changed the files meanwhile:
//     they are read one after another.
//  26. What changed while a command ran that writes was changed by it.
//  27. Anyone who holds a key signs what it ran. Without a key anybody who can write the
//     store, the agent included, could have made all of it: level 0 says that what was
//     recorded is consistent, and not that it happened.
//  28. A failure on other files says nothing of these: one more untracked file makes another tree.
//  29. A log shows what was recorded. Records that were cut off the end of a log that
//     nobody kept a checkpoint of, and commands that ran without a record, or with one in another log, leave no trace.
//  30. The folder of the memory is written by the verifier alone, where MemoryKept is set.
//  31. The files were not changed and put back while a command ran, and nothing outside
//     of the tree decided: see package runtime/workspace.
//  32. For 20 to 23: a command under a binding reads no files of the project but those that the binding names and
//     those that no line names. Anyone who writes the trusted matrix says so.
//
// It is one package of more than 1,500 lines because all answers are of one [Session]: what was read and
// authenticated must not leave it, or an answer could rest on other bytes.
package verify
