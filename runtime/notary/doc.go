// Package notary is an engine in another process, one that the processes which ask it cannot reach: it holds
// the store and the key, loads the rules itself, runs the lines of a script, records and signs. In comes the
// text of a script with the values of its variables, over a UNIX socket; out come the events of its run and its
// outcome, of which the client makes the report. No plan, no request of a gate and no expectation comes in, so the asker cannot weaken any of them.
//
// The process that calls [Open] is the notary. What surrounds it is its caller's: package guard makes the domain
// in which an agent cannot reach it, and a service runs it under another user. The caller makes this process
// undumpable before it calls Open, which makes the key.
//
// # A session
//
// [Open] makes the key of the session, in memory alone, opens the store, and appends the first record: a
// [receipts.Notary], which says what the session rests on (mode, baseline, shares, ...) and is signed by an
// identity key, where there is one. [Notary.Serve] answers connections. [Notary.Close] ends the runs, appends
// the [receipts.Closing], and signs nothing more: nothing can be added to the log from then on. [Notary.Bundle] is the
// proof of the session: the whole log, red runs included. The verifier accepts it by the identity keys that it
// names, and says "cut" where the closing record is missing.
//
// # What is asked
//
// A message is a frame: four bytes of length, big-endian, at most [MaxFrame], and one JSON object. The client begins
// with a hello that names the version; the notary answers with its own. Then comes one request for a connection:
//
//	start    a [Spec]; the answers are events, the last of them the outcome
//	cut      ends the run of an id
//	pause    stops, or continues, the run of an id
//	events   the events of the run of an id, from a number on; as those of start
//	status   what the session has come to
//	bundle   the whole log so far, with proofs
//	store    a copy of the store, as a file
//	document what was kept of the run of an id
//	output   the recorded output of a digest
//
// A client that closes the connection of a start ends its run, as one that is killed ends the commands that it started itself. Other
// connections may follow the run, and end nothing.
//
// # What runs
//
// The rules are those of the working tree, and have to be those of the baseline: a matrix or a pinned file that was
// changed since is refused by name. Of the bounds that a client asks for (timeout, stall, output, jobs) those count
// that are stricter than the matrix. Commands run in a clean checkout that nobody else can reach, unless
// [Config.InPlace] says otherwise, which lowers the level.
//
// It is one package of up to 2,900 lines because both sides of the protocol share its frames, which nobody else is to make or
// read, and a session and a service share the runs.
package notary
