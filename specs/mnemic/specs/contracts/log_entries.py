"""Test data for stores: records, payloads and commands with arbitrary contents."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from mnemic.kernel.ports import GENESIS_DIGEST, CommandRow, Head, Log, PayloadRow, Record

EMPTY = Head(-1, GENESIS_DIGEST)
"""The head of a log without records."""


def records(first: int, count: int, *, author: str = "a") -> tuple[Record, ...]:
    """Return *count* records from version *first*; another *author* means other bytes."""
    return tuple(
        Record(version, f"thing-noted.{1 + version % 2}", b'{"%s":%d}' % (author.encode(), version))
        for version in range(first, first + count)
    )


def payload(version: int, slot: int = 0, *owners: str) -> PayloadRow:
    """Return the payload of *version* and *slot*."""
    name = f"{version}-{slot}"
    key = sha256(name.encode()).digest()
    return PayloadRow(version, slot, name, key, owners, f"words of {name}".encode())


def answered(version: int) -> CommandRow:
    """Return the command that was answered by the one record at *version*."""
    return CommandRow(f"command {version}", b"request %d" % version, version, version)


def contents(log: Log) -> list[tuple[Record, tuple[PayloadRow, ...]]]:
    """Return all records of *log* with their payloads."""
    return list(log.read())


def bare(entries: Sequence[Record]) -> list[tuple[Record, tuple[PayloadRow, ...]]]:
    """Return *entries* as a log without payloads yields them."""
    return [(record, ()) for record in entries]


def chained(entries: Sequence[Record]) -> bytes:
    """Return the digest of a log that holds *entries*, from version 0 on."""
    link = GENESIS_DIGEST
    for record in entries:
        seal = record.version.to_bytes(8, "big")
        link = sha256(link + seal + record.topic.encode() + record.body).digest()
    return link
