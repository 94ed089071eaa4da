#!/usr/bin/env python3
"""Checks receipts without dialect: bytes, hashes and the root of a log.

    check.py vectors.json      the conformance vectors
    check.py export.jsonl      what `dialect receipts export` printed

Nothing but Python's standard library, and none of dialect's code: where the two
disagree, the specification (the package documentation of receipts) decides.
"""
import base64
import hashlib
import json
import re
import sys

MAX_BODY, MAX_INT, MAX_DEPTH = 64 << 10, 2**53 - 1, 16


def fail(text):
    sys.exit(f"check.py: {text}")


def pairs(members):
    names = [name for name, _ in members]
    if len(set(names)) != len(names):
        raise ValueError("a member stands twice")
    return dict(members)


def refuse(text):
    raise ValueError(f"{text} has no place in a record")


def integer(text):
    if text == "-0" or abs(int(text)) > MAX_INT:
        raise ValueError(f"{text} is not an integer of 53 bits")
    return int(text)


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def string(s):
    s.encode("utf-8")  # an unpaired surrogate is an error
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda m: ESCAPES.get(m[0], f"\\u{ord(m[0]):04x}"), s) + '"'


def canonical(value, depth=0):
    """The canonical form of a value, RFC 8785 as the format restricts it."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(v, depth + 1) for v in value) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda n: n.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(string(n) + ":" + canonical(value[n], depth + 1) for n in names) + "}"
    raise ValueError("null has no place in a record")


def check_body(body):
    """Raises ValueError unless body is its own canonical form."""
    if len(body) > MAX_BODY:
        raise ValueError(f"{len(body)} bytes")
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=pairs, parse_int=integer, parse_float=refuse, parse_constant=refuse)
        if canonical(value).encode("utf-8") != body:
            raise ValueError("not canonical")
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


def check_command(kind, value):
    """Raises ValueError unless the command of a receipt is the digest of its arguments, where all are there."""
    argv = value["argv"] if kind == "receipt" else []
    if argv and all(isinstance(a, str) or "base64" in a for a in argv):
        if sha256(canonical(argv).encode("utf-8")).hex() != value["command"]:
            raise ValueError("another command than argv")


def text_of(kind, body):
    return b"dialect." + kind.encode() + b"/1\n" + body


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def root(leaves):
    """The Merkle tree hash of RFC 6962, section 2.1; all zero over nothing."""
    if not leaves:
        return bytes(32)
    if len(leaves) == 1:
        return leaves[0]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01", root(leaves[:k]), root(leaves[k:]))


def check_vectors(doc):
    leaves = []
    for v in doc["records"]:
        body = base64.b64decode(v["body"])
        try:
            value = check_body(body)
            ok = True
        except ValueError:
            ok = False
        if v["expect"] not in ("valid", "not-canonical", "not-a-record"):
            fail(f"{v['name']}: unknown class {v['expect']}: check.py is older than the vectors")
        if ok != (v["expect"] != "not-canonical"):
            fail(f"{v['name']}: canonical is {ok}, expected {v['expect']}")
        if v["expect"] == "valid":
            check_command(v["kind"], value)
            text = text_of(v["kind"], body)
            leaves.append(sha256(b"\x00", text))
            if sha256(text).hex() != v["sha256"] or leaves[-1].hex() != v["leaf"]:
                fail(f"{v['name']}: another hash")
    for n, want in enumerate(doc["roots"]):
        if root(leaves[:n]).hex() != want:
            fail(f"another root over {n} records")
    print(f"check.py: {len(doc['records'])} vectors, {len(doc['roots'])} roots: all agree")


def check_export(lines):
    leaves, head = [], None
    for n, line in enumerate(lines):
        entry = json.loads(line)
        if "root" in entry:
            head = entry
            continue
        body = entry["body"].encode("utf-8")
        try:
            check_command(entry["kind"], check_body(body))
        except ValueError as e:
            fail(f"record {n}: {e}")
        text = text_of(entry["kind"], body)
        if entry["seq"] != n or sha256(text).hex() != entry["sha256"]:
            fail(f"record {n} is not what its hash says")
        leaves.append(sha256(b"\x00", text))
    if head is None or head["count"] != len(leaves) or root(leaves).hex() != head["root"]:
        fail(f"the root over {len(leaves)} records is {root(leaves).hex()}, the head says {head}")
    print(f"check.py: {len(leaves)} records, root {head['root']}: consistent")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        fail("usage: check.py vectors.json|export.jsonl")
    with open(sys.argv[1], encoding="utf-8") as f:
        if sys.argv[1].endswith(".jsonl"):
            check_export(f.read().splitlines())
        else:
            check_vectors(json.load(f))
