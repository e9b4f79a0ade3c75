"""The hash chain over a log's stored bytes: how a record is linked, and how damage is found.

Rules of the chain:

1. ``digest = SHA-256(previous || version || topic || body)``, version in 8 bytes, big-endian.
2. A record is stored as ``previous || body``. Its own digest is stored in its successor, and the
   last one in the head row, so each record is authenticated by what comes after it (its voucher).
3. No hashed byte names the space: a copied prefix keeps its chain under any name.
4. Topics end in a digit and bodies open with a bracket, so the seam between them cannot move.

Finding the first bad record takes one look ahead. When the voucher at k+1 disagrees with k, one
of the two is damaged: if k+1 is itself authenticated, it is k; otherwise it is k+1. (With both
damaged, k+1 is named, for nothing else is left to check k against.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain as concatenation
from typing import TypeAlias

from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import GENESIS_DIGEST, Head, Log, Record

DIGEST_BYTES = len(GENESIS_DIGEST)
VERSION_BYTES = 8
EMPTY = Head(-1, GENESIS_DIGEST)
"""Where a log without records ends."""

Row: TypeAlias = tuple[int, object, object]
"""Version, topic and state of one record; damage may have changed the types of the last two."""

_record = partial(tuple.__new__, Record)
"""Makes a record from three values, in half the time of calling its class."""


def digest(previous: bytes, version: int, topic: str, body: bytes) -> bytes:
    """Return what the successor of this record names as its predecessor."""
    seal = version.to_bytes(VERSION_BYTES, "big")
    return sha256(previous + seal + topic.encode() + body).digest()


def digest_of(row: Row | None) -> bytes | None:
    """Return the digest of a stored record, or None if it is gone or its types are damaged."""
    if row is None:
        return None
    version, topic, state = row
    if not isinstance(topic, str) or not isinstance(state, bytes):
        return None
    return digest(state[:DIGEST_BYTES], version, topic, state[DIGEST_BYTES:])


def verified_together(
    stretches: Iterable[Sequence[Row]],
    *,
    after: int,
    upto: int,
    head: Head,
    start: bytes | None = None,
) -> Iterator[Sequence[Record]]:
    """Yield what ``verified`` yields, and raise what it raises, a batch at a time.

    Where a whole batch is sound, the order of checks does not matter, and columns are checked in a
    third of the time. Where it is not, ``verified`` finds out which record is to blame.

    Args:
        stretches: The rows that ``verified`` takes, in batches of any size.
        after: As ``verified``.
        upto: As ``verified``.
        head: As ``verified``.
        start: As ``verified``.

    Raises:
        LogCorrupt: As ``verified``.
    """
    source = iter(stretches)
    done = after
    known: list[Row] = []
    for stretch in source:
        first = max(done, 0)
        known += stretch
        sound = _sound(known, first=first, head=head, start=start if done == after else None)
        if sound is None:
            break
        fresh = sound[done + 1 - first : upto + 1 - first]
        if fresh:
            yield fresh
            done = fresh[-1].version
        if done >= upto:
            return
        known = known[max(done, 0) - first :]
    left = concatenation(known, concatenation.from_iterable(source))
    start = start if done == after else None
    for record in verified(left, after=done, upto=upto, head=head, start=start):
        yield (record,)


def _sound(
    rows: Sequence[Row], *, first: int, head: Head, start: bytes | None
) -> list[Record] | None:
    """Return the authenticated records: all, or all but the last.

    Returns:
        None if anything about *rows*, which should begin at version *first*, does not fit.
    """
    if not rows:
        return None
    versions, topics, states = zip(*rows, strict=True)
    last = first + len(rows) - 1
    if versions != tuple(range(first, last + 1)):
        return None
    if {*map(type, topics)} != {str} or {*map(type, states)} != {bytes}:
        return None
    links = [state[:DIGEST_BYTES] for state in states]
    bodies = [state[DIGEST_BYTES:] for state in states]
    # The formula of ``digest``, column by column.
    seals = [version.to_bytes(VERSION_BYTES, "big") for version in versions]
    hashed = map(b"".join, zip(links, seals, map(str.encode, topics), bodies, strict=False))
    digests = [each.digest() for each in map(sha256, hashed)]
    starts = (GENESIS_DIGEST if first == 0 else links[0], start or digests[0])
    if links[1:] != digests[:-1] or (links[0], digests[0]) != starts:
        return None
    records = list(map(_record, zip(versions, topics, bodies, strict=True)))
    if last != head.version:
        return records[:-1]
    return records if digests[-1] == head.digest else None


def verified(
    rows: Iterable[Row], *, after: int, upto: int, head: Head, start: bytes | None = None
) -> Iterator[Record]:
    """Yield the records with version in (after, upto], each once its voucher has agreed.

    Args:
        rows: In order and without gaps, from ``max(after, 0)`` to ``upto + 2`` or to the head,
            whichever comes first: the record at *after* opens the check, two beyond *upto* end it.
        after: Last version that the reader already has; -1 for none.
        upto: Last version wanted. Range: (after, head.version].
        head: Where the log ends, as its head row says.
        start: The digest that the record at *after* must have; None: any, or there is none.

    Raises:
        LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
    """
    source = iter(rows)
    expected = max(after, 0)
    link = GENESIS_DIGEST if expected == 0 else None
    pending: Record | None = None
    for row in source:
        version, topic, state = row
        if version != expected or not isinstance(state, bytes) or not isinstance(topic, str):
            bad = expected
            break
        previous, body = state[:DIGEST_BYTES], state[DIGEST_BYTES:]
        # The formula of ``digest``, inlined because a replay computes it for every record.
        seal = version.to_bytes(VERSION_BYTES, "big")
        own = sha256(previous + seal + topic.encode() + body).digest()
        if previous != link and link is not None:
            is_vouched_for = own == _voucher(version, next(source, None), head)
            bad = expected - 1 if is_vouched_for and pending is not None else expected
            break
        if version == after and start not in {None, own}:
            bad = version
            break
        if pending is not None:
            if version > after + 1:
                yield pending
            if version > upto:
                return
        link = own
        pending = Record(version, topic, body)
        expected += 1
    else:
        is_refuted = expected - 1 == head.version and link != head.digest
        bad = expected - 1 if is_refuted else expected
    if pending is not None and after < pending.version < bad:
        yield pending
    if bad <= upto:
        raise damage(bad)


def damage(version: int, *, reason: str = "unreadable or off the chain") -> LogCorrupt:
    """Return the error for a log whose first bad record is at *version*."""
    return LogCorrupt(f"the log is damaged at version {version}: {reason}", version=version)


def holds(known: Head, rows: Sequence[Row], head: Head) -> bool:
    """Return whether a log holds *known*: as its record there says, or the voucher of that record.

    Either is enough: a damaged record, or a damaged voucher, is no other history.

    Args:
        known: The head in question, of a version from 0.
        rows: The records at its version and the next, as far as there are any.
        head: Where the log ends, as its head row says.
    """
    if known.version > head.version:
        return False
    places = {row[0]: row for row in rows}
    own = digest_of(places.get(known.version))
    voucher = _voucher(known.version, places.get(known.version + 1), head)
    return known.digest in {own, voucher} or own is voucher is None


def _voucher(version: int, successor: Row | None, head: Head) -> bytes | None:
    """Return the digest of the record at *version* as its successor or the head states it."""
    if version == head.version:
        return head.digest
    if successor is None or successor[0] != version + 1 or not isinstance(successor[2], bytes):
        return None
    return successor[2][:DIGEST_BYTES]


def check_end(log: Log) -> None:
    """Refuse a log that ends before its acknowledged end.

    A reader up to some earlier version is not refused: what it asks for is there.

    Raises:
        LogCorrupt: Its store knows of more than can be read, or its head row cannot be read.
    """
    next(log.read(log.head().version), None)
