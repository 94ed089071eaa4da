// Package receipts is the evidence that dialect leaves: the bytes of a record, its
// hash, and the decision of a gate about a set of them. It touches no disk; a
// store, such as package receipts/sqlite, keeps what this package makes and asks
// it what is valid. It imports the standard library and golang.org/x/mod alone, so
// that anyone who verifies need trust little else; it has up to 3,200 lines because that is all of the format,
// its canonical JSON, signatures and checkpoints included.
//
// # Records
//
// A record is a text: a line that names its kind and the version of the format,
// and a body, which is canonical JSON:
//
//	dialect.consumption/1
//	{"by":"boss","consumed":["5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"],"timestamp":"2026-02-17T16:20:00.000000000Z","version":1}
//
// There is one "\n", after the first line. The identity of a record is the hash
// of that text, and its place in the log is under the leaf hash of the same text:
//
//	sha  = SHA-256("dialect." || kind || "/1\n" || body)
//	leaf = SHA-256(0x00 || "dialect." || kind || "/1\n" || body)
//
// For the record above sha is
//
//	ec42001940889ba091a9ef2fbd909bd8098a61efb805f5bc418b775f154c2a8a
//
// The kinds are run ([Run]), receipt ([Receipt]), gate ([Gate]), consumption
// ([Consumption]), settlement ([Settlement]), trust ([Trust]), notary ([Notary]) and closing
// ([Closing]). The idea of a receipt's hash is SHA-256(command + timestamp + exit code +
// output hash); here it is injective, and it also covers the members that this leaves out.
//
// # Canonical JSON
//
// RFC 8785, restricted: numbers are integers from -(2^53-1) to 2^53-1; there is no
// null, a member that has no value is absent; strings are UTF-8 without unpaired
// surrogates; names do not repeat; at most 64 KiB, nested 16 deep. A time is RFC 3339
// in UTC with nine digits of a second; a hash is 64 lower-case hex digits.
//
// # Texts
//
// A text of the outside world (an argument, a path, a value, what a tool says of itself)
// is a [Datum], in one of four forms:
//
//	"..."                            the text, if it is UTF-8
//	{"base64":"..."}                 the text, if it is not
//	{"bytes":N,"sha256":"HEX"}       its length and SHA-256: it found no room
//	{"redacted":"... [redacted:M]"}  what is left of it without its secrets
//
// A body always fits. Where it would be larger than 64 KiB, the longest texts are carried
// by digest, and no more of them than it takes; then argv as one text, whose digest is
// command and whose length is that of all arguments together; then values as one text
// without a name, over their canonical JSON. Lists of planned commands and of files are
// cut, and a member counts what is missing. dir and place, by which receipts are compared,
// keep their form to the last. Names (session, run, step, binding, nonce, ...) have at
// most 256 bytes; a longer one, or one that is not UTF-8, has in each record the form
//
//	sha256:HEX:N    SHA-256 and length of the name
//
// # Secrets
//
// What a command line, a value or a claim holds of secrets is not in a record: a text
// they were taken out of has the redacted form. The digest command is made otherwise,
// since it says whether two commands are the same: it is over the arguments as they are,
// where "[secret]" stands for each value that the matrix declares secret for that binding.
// So nobody can try such a value out on the digest, and no variable of the environment and
// no file changes it: otherwise a changed secret would separate a pass from its requirement
// and a failure from its command. Two command lines that differ in such a value alone are one
// command. A secret that is not declared and stands in a command line is in that digest; one
// that is easy to guess must be declared.
//
// Parsing is strict: bytes that parse are the bytes that encoding would make. There
// are never two spellings of a record, and so never two hashes.
//
// # The log
//
// Records form an append-only Merkle log as of RFC 6962 and
// golang.org/x/mod/sumdb/tlog. The order is the log's, never that of clocks. A
// record is consumed by a later record that names it; that it is not consumed
// cannot be proven by a log, which is why the place that keeps what is spent is
// part of the trust.
//
// The state of a log is its [Checkpoint]: the store's origin, the number of records and the
// root over them, in the text form of a checkpoint of a transparency log. Anyone who keeps
// one finds later what was cut off, rolled back or rewritten. A [Bundle] carries some
// records with the proofs that lead to a checkpoint.
//
// # Signatures and trust levels
//
// Keys and signatures are those of golang.org/x/mod/sumdb/note (Ed25519). A producer
// with a key signs each of its records for the store that it is in, see [Signature], and
// the checkpoint with each transaction. The signature of a checkpoint says: this is the log that the
// key saw. Only the record's own signature says who made it, so that rows
// which others slip in get no level from the checkpoint above them.
//
// A level belongs to a record, under the keys of the verifier; it is computed, never
// stored. [LevelHash] (L0): the hash and the log hold. [LevelKey] (L1): the record is
// signed, and its producer took the key from where the commands could not reach it;
// where it found that they could, it claims 0 and the signature raises nothing.
// [LevelNotary] (L2): the record claims it, and is signed with the key of a notary that the
// verifier names as one ([OfNotaries]), or with the key of a session that such a notary
// vouches for. A pass that ran in the working tree, or that saw files its user can write, has
// at most L1. A gate has the lowest level of its members.
//
// # Gates and verdicts
//
// Package verify decides: what a gate takes in, what may be consumed, and whether a tree
// was tested.
//
// # How the format may change
//
// Version 1 is closed: a body with a member that this package does not know is
// refused, since its meaning for a gate would be unknown too. Whatever is added
// gets the next number in the first line, and with it another hash; a reader of
// several versions tells them apart by that line.
package receipts
