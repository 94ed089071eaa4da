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
//  2. No record that the answer rests on changed after it was read (TestChanged), and none that was read stands in the log a second time (TestTwice).
//  3. It begins with the records of the checkpoint that the verifier kept, if it kept one
//     (TestKeptCheckpoint), with those of the signed checkpoint (TestSignedCheckpoint), and with those
//     that the memory answers for (TestMemoryDoubted).
//  4. With keys: every record signed by a key K that the answer rests on, or that this session
//     read, is below a checkpoint that K signed. Of remembered records only the last one of K is
//     checked. No record names K as its signer without carrying K's signature. A checkpoint of
//     any of the keys covers a worker's receipt. Without such a checkpoint the worker's signature
//     does not count (TestHanded). An audit asks the same of every record ([Coverage])
//     (TestSignedCheckpoint, TestCovered, TestChanged, TestReadAgain). Of a bundle: each record
//     has a proof (TestBundle), and the checkpoint is signed if a record is (TestBundleCheckpoint).
//
// The gate (all in TestConditions, unless another test is named):
//
//  5. It is final (TestOne), and has at least one receipt below it. Every member, and every member
//     of a gate below it, is in the log, and is a receipt of a success or, where it was
//     pending, was settled as one. Each earlier attempt that it, or a gate below it, names as failed or ended early
//     ([receipts.Gate.Failed]) is in the log, too, or in the bundle.
//  6. It, each member, each gate below it and each settlement has at least the level
//     that is asked for (TestLevel); a checkpoint that the verifier kept covers it, if that is asked for (TestKeptCheckpoint).
//  7. It is about the tree that the query names, and so is each required member. If nothing is
//     required, so is each member that did not change the tree. If the query is about a commit,
//     the gate's tree is exact: a clone has the bytes that were tested. No file that the gate's tree does not have, and that git does not
//     track, came while a command of it read, or of a run below it on these files ([receipts.Gate.Came]); one that its last command
//     left counts as come (TestConditions, TestInnerCame).
//  8. It and its members belong to the place that the query names: a run in another
//     project of the working tree proves nothing here.
//  9. The present matrix is the trusted one, and the gate and its bound members belong to
//     it.
//  10. A member covers each required command, with the same binding, command and
//     directory. A receipt under no binding covers no requirement: another folder may have another
//     program of the same name, and no rules applied to runs that its command started.
//  11. If the caller computed the inputs of a member's binding, the member ran with them.
//  12. It has the session and nonce that the query names. It has at most the age that the query allows, and so has the run of each
//     member: one that repeats a result is as old as the receipt that it repeats (TestAge). No member repeats an earlier result if
//     the query wants fresh ones. If the query names a run, all of it was recorded after that run began (TestAfter).
//
// The last word (TestLastWord):
//
//  13. No command of the gate failed after it passed, on this tree, in this place and with these inputs. After is recorded later or,
//     in another run, begun later, unless it was recorded before the run of the pass began: which of two writers comes into the log
//     first is chance (TestRecordedLate). A pass that repeats a result is as old as that (TestRecordedLateRepeated). It does not
//     matter whether the failing run began with the inputs or left them, nor what its environment was. A failure that was
//     accepted (15) is excepted. A failure is an exit status, an expectation, a tool's answer or a crash
//     ([receipts.StopReason.Failed]). It is on this tree if it began on the same bytes, even if git names them otherwise;
//     if the passing command changed files, also if it left the bytes that the pass left (TestDecideLastWord).
//  14. The last word about each required command, or about each bound command if the query requires
//     nothing, is not a failure on this tree, unless that failure was accepted. Only a later pass,
//     or a later attempt of the same step that passed with whatever inputs, under the same binding and of no lower level undoes a failure;
//     a failure under no binding is undone by a later one under any (TestUndone, TestUndoneByAttempt, TestNamedGate). Each binding has a last word of
//     its own: a pass under no binding, or under another one, does not replace a failure, since that
//     run met weaker expectations.
//  15. If the query is strict, no command of the gate failed so before it passed either,
//     unless its binding has retries, or the pass is a later attempt of the same step of the same run, which no worker signed (TestHandedRetry), or
//     somebody of no lower level accepted that failure after it happened (TestLevel). If it is not strict, the result counts such failures.
//
// Two bindings may run the same command with different env. They are then judged separately, and so are the runs that they start: a
// failure under one does not count for the other, and a pass of one does not undo a failure of the other (TestLastWord, TestBelowOthers).
//
// Conditions 12 to 15 also apply to receipts of runs that a command of the gate started, if the gate names their gates or receipts, and to
// receipts below a gate that an agent handed back (TestInner). If such a receipt repeats a result, that result has at least the required
// level (TestInnerLevel). What those runs executed themselves needs no level, since the command that started them belongs to the gate, and
// their failures count at any level (TestBelow). A record below the required level excuses nothing: it cannot say that a line is apart
// ([receipts.Receipt.Apart]: the runs that it started do not count), nor that an attempt was not the first (TestInnerForged), nor, after
// the receipt of the line, that a command passed (TestNotExcusedAfterLine). Of a run
// without a gate, these count: the runs that it started, and receipts of commands that failed, or were ended early, before the gate. Each
// receipt is about the files it began with and the files it left. A receipt that does not record them is about the files of the nearest
// enclosing line that does. A failure on the files of the gate counts even if the command passed on other files only.
// A gate that an agent handed back has the matrix, the project and the files of the receipt of its task (TestHandedBack), and where the query is about a
// commit it is exact (TestHandedExact).
//
// Where it ran:
//
//  16. If the query wants a clean checkout, each member ran in one, confined to it, and saw nothing of the
//     machine that its user can write, as far as its producer knows. Built-ins, which read no file, are
//     excepted. 13 to 15 are then about runs in clean checkouts only: failures elsewhere are counted, and
//     passes elsewhere undo no failure (TestClean). If it wants checks that were tested, each command of the gate noticed a mistake
//     that [receipts.Control] says was put before it on these files (TestControlRefused).
//
// Recorded by a notary (all in TestNotary, unless another test is named):
//
//  17. The level of a notary ([receipts.LevelNotary]) counts only under keys that the verifier names as those of notaries:
//     for records that such a key signed itself, and for records that the key of a session signed, if one of them vouches
//     for the session. It vouches by its signature of the first record of the log, which names the log's origin, the key of
//     the session and what kept the asker from the notary; a session in which nothing did has no level.
//  18. The bundle of a session is complete: it has each record of the log, under a checkpoint that the key of the session
//     signed, and last the closing record of that key, which counts them. Otherwise the session was cut. The log of a
//     service stays open, so its bundle has no closing record.
//  19. A pass has no level of a notary if it ran in the working tree or in an unconfined checkout, or could read files
//     that its user can write: the asker could have influenced it.
//
// Conditions 13 to 15 ignore records below the required level. Exception: records of a run that a line started count if a later record
// of that line's run has the level. Ignored records neither refuse nor hide anything (TestLevel, TestBelowLeft, TestUnfinished).
//
// If the verdict is MISSING, STALE or RAN OUTSIDE THE MATRIX, the result names the receipts that
// a gate would take (TestUngated). They are advice, and count for nothing.
//
// The result also counts commands that gave no answer (TestNoAnswer), and names runs on the
// tree that did not reach a gate (TestUnfinished, TestStoppedBefore). Neither refuses.
//
// [Session.Consume] asks the same of each record, strictly, and that nothing consumed it
// before (TestConsumed). A receipt, or a gate that is not final, is judged without 5's
// "final", 10 and 14; if something is required it is refused. [Session.Decide] makes the gate of a run. It asks 5, 7, 8, 13 and 15 of
// the run's own lines and of the runs that they started, and counts earlier failures unless it is asked to refuse them. Of lines that an
// earlier gate of the run took in it asks 13 and 15 once more (TestDecideEarlier), and 7 no more: a verdict does. 14 is about
// other lines: a gate does not ask it, and a verdict does. Where Decide and the verdict judge the same records, they agree
// (TestGateAgreesWithVerdict), except about files that came: the gate of a run counts them ([receipts.Gate.Came]), and the verdict refuses.
//
// # What VERIFIED FOR CHANGED PATHS means
//
// Only [Session.Verify] returns [Scoped], and only if the query allows it, its answer would be STALE, and all of
// these hold (all in TestScoped, unless another test is named):
//
//  20. A final gate, the full run, would be VERIFIED about its own tree: 1 to 15 hold there, under the present
//     rules and inputs, with all that the query asks for. All of its members are bound, and none may write.
//  21. The files that no binding of its script's lines names have not changed.
//  22. Each member's command has a pass in that run or a later one, under the same binding, in the same directory and
//     place, below a gate that would be VERIFIED about its own tree, except that it need not be final. Either that was the
//     present tree, or the files that the binding names, at least one, are the present ones, and so were those of 21.
//  23. After that pass, which may be older than the full run, the command did not fail under the binding on the
//     files that it names, or on files that are not known, unless that was accepted as in 15. If the query is strict,
//     it did not fail since the full run either. The same holds, since the full run, for every other line whose binding
//     names files, and 14 holds for the present tree. Failures on these files that refuse nothing, and commands that were
//     ended early, are counted (TestScopedCounts).
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
//     present files itself, and the matrix from a baseline that it trusts; and the caller's
//     working directory is in the repository that it means. Nothing changed the files while the
//     caller read them: it reads one after another.
//  26. If files changed while a command with the effect "write" ran, that command changed them.
//  27. The holder of a key signs only what it ran. Without a key anybody who can write the
//     store, the agent included, could have made all of it: level 0 says that the records are
//     consistent, not that they happened.
//  28. A failure on other files says nothing about these: one more untracked file makes another tree.
//  29. A log shows what was recorded. Records that were cut off the end of a log that
//     nobody kept a checkpoint of, and commands that ran without a record, or with one in another log, leave no trace.
//  30. If MemoryKept is set, only the verifier writes the folder of the memory.
//  31. The files were not changed and put back while a command ran, and nothing outside
//     of the tree decided: see package runtime/workspace.
//  32. For 20 to 23: a command under a binding reads no files of the project except those that the binding names and
//     those that no line names. The author of the trusted matrix says so.
//
// It is one package of up to 6,470 lines because all answers are of one [Session]: authenticated records must not leave it, or an
// answer could rest on other bytes.
package verify
