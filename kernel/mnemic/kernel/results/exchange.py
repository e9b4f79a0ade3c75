"""Results about transfer: receipts, exports, imports and forks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
from attrs import frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.identity import (
    BlockId,
    DecisionId,
    PolicyId,
    decision_version,
    short,
)
from mnemic.kernel.results.shape import Result, plural, unit

RECEIPT = "mnemic.receipt.1"
"""Value of ``kind`` that identifies a receipt and its format version."""
ROWS_MAX = 100_000
"""Larger than the number of blocks in any answer."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHORT_DIGEST = re.compile(r"[0-9a-f]{16}")


# --- receipts -------------------------------------------------------------------------------


@frozen(kw_only=True)
class ReceiptRow(Result):
    """One block of an answer."""

    block_id: BlockId
    score: int
    """Nano-units."""

    @property
    def summary(self) -> str:
        return f"{short(self.block_id)} {unit(self.score):.3f}"


@frozen(kw_only=True, str=False)
class Receipt(Result):
    """Receipt that lets a third party check a decision later. It contains no texts."""

    kind: str = RECEIPT
    space: str
    """Name of the space when the receipt was made; a copy may have another."""
    genesis: str
    """Chain digest of the first event, hex: identifies the memory independently of its name."""
    decision_id: DecisionId
    version: int
    """Version of the event that records the decision."""
    chain: str
    """Chain digest of the log as it ends with that event, hex."""
    read_version: int
    """Version of the log that the search read."""
    read_chain: str
    """Chain digest at that version, hex."""
    policy_id: PolicyId
    embedder_id: str
    """Empty without an embedder, and for decisions before release 0.3.0."""
    recipe: str
    answer_digest: str
    """Digest of the ordered answer with its scores, 16 hex characters."""
    answer: tuple[ReceiptRow, ...]
    """Best first."""

    @property
    def summary(self) -> str:
        return (
            f"Receipt for {self.decision_id} of {self.space}: "
            f"{plural(len(self.answer), 'block')}, chain {self.chain[:16]}."
        )

    @classmethod
    def from_dict(cls, document: object) -> Receipt:
        """Return the receipt that ``to_dict`` converted.

        Raises:
            FieldRefused: It is not a receipt, or one of another format; the fact ``field`` names
                the field.
        """
        names = [entry.name for entry in attrs.fields(cls)]
        if not isinstance(document, Mapping) or document.get("kind") != RECEIPT:
            raise _unreadable("kind", f"it is not a {RECEIPT}")
        given = dict(document)
        for name in sorted({*names} ^ {*given}, key=str):
            missing = name in names
            raise _unreadable(str(name), "it is missing" if missing else "no such field exists")
        for name, value in given.items():
            if not _FIELDS[name](value):
                raise _unreadable(name, f"{value!r:.80} is not a valid value")
        if decision_version(given["decision_id"]) is None:
            raise _unreadable("decision_id", f"{given['decision_id']!r:.80} is not a decision id")
        rows = tuple(ReceiptRow(**row) for row in given.pop("answer"))
        return cls(answer=rows, **given)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _version(value: object) -> bool:
    return type(value) is int and -1 <= value < 2**62


def _short_digest(value: object) -> bool:
    return isinstance(value, str) and _SHORT_DIGEST.fullmatch(value) is not None


def _rows(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) <= ROWS_MAX
        and all(
            isinstance(row, Mapping)
            and set(row) == {"block_id", "score"}
            and _text(row["block_id"])
            and type(row["score"]) is int
            for row in value
        )
    )


_FIELDS = {
    "kind": _text,
    "space": _text,
    "genesis": _digest,
    "decision_id": _text,
    "version": _version,
    "chain": _digest,
    "read_version": _version,
    "read_chain": _digest,
    "policy_id": _text,
    "embedder_id": _text,
    "recipe": _text,
    "answer_digest": _short_digest,
    "answer": _rows,
}
"""Check of each field of a receipt."""


def _unreadable(field: str, problem: str) -> FieldRefused:
    return FieldRefused(
        f"this is not a readable receipt: {field}: {problem}",
        recovery="Give the unchanged output of receipt() or `mnemic receipt`.",
        field=field,
    )


@frozen(kw_only=True)
class ReceiptDifference(Result):
    """One field in which a receipt and the log differ."""

    field: str
    claimed: Any
    """Value in the receipt."""
    found: Any
    """Value in the log."""

    @property
    def summary(self) -> str:
        return f"{self.field}: the receipt says {self.claimed}, the log {self.found}"


@frozen(kw_only=True, str=False)
class ReceiptCheck(Result):
    """Result of comparing a receipt with a log."""

    decision_id: DecisionId
    verdict: str
    """``confirmed`` · ``renamed`` (all but the space's name: a copy of the space) · ``differs`` ·
    ``unknown`` (not on this chain) · ``log-behind-receipt`` (the log ends before the decision) ·
    ``damaged`` (the log is, at or before the decision)."""
    space: str
    """Name of the space or of the export that was checked."""
    differences: tuple[ReceiptDifference, ...] = ()
    problem: str | None = None
    """Why it is unknown or damaged."""
    replayed: str | None = None
    """Result of a replay, if one was requested: ``reproduced``, ``differs``, ``sealed``,
    ``no-words`` or ``recipe-retired``."""

    @property
    def holds(self) -> bool:
        """Whether the log agrees with the receipt."""
        return self.verdict in {"confirmed", "renamed"}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "holds": self.holds}

    @property
    def summary(self) -> str:
        if self.problem is not None:
            finding = f": {self.problem}"
        elif self.differences:
            finding = ": " + "; ".join(str(each) for each in self.differences)
        else:
            finding = ""
        replayed = "" if self.replayed is None else f" Replayed: {self.replayed}."
        return f"{self.decision_id} {self.verdict} by the log of {self.space}{finding}.{replayed}"


# --- copies ---------------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class ExportResult(Result):
    """Result of an export: a space, or its beginning, as files that anyone can verify."""

    path: str
    vectors_path: str | None
    """None if texts were left out."""
    space: str
    version: int
    """The last version exported."""
    chain: str
    """Chain digest at that version, hex."""
    events: int
    payloads: int
    vectors: int
    bytes: int
    """Size of both files."""
    words: bool
    """Whether it contains texts, vectors and their keys; receipts can be checked without them."""

    @property
    def summary(self) -> str:
        payloads = f"{plural(self.payloads, 'payload')}" if self.words else "no words"
        return (
            f"Exported {plural(self.events, 'event')} of {self.space} with {payloads} "
            f"to {self.path}; head {self.chain[:16]}."
        )


@frozen(kw_only=True, str=False)
class _Copied(Result):
    """Base of the results of copying a log."""

    space: str
    """Name of the copy."""
    version: int
    """The last version copied."""
    chain: str
    """Chain digest at that version, hex: the same in both."""
    events: int
    """Number of events written."""
    payloads: int
    erasures: tuple[BlockId, ...] = ()
    """Blocks erased in the original after this point: the copy has no text of them either, and
    records the erasures in events after the copied ones."""

    def _extent(self) -> str:
        again = f" Erased here too: {plural(len(self.erasures), 'block')}." if self.erasures else ""
        return (
            f"version {self.version} with {plural(self.payloads, 'payload')}, "
            f"head {self.chain[:16]}.{again}"
        )


@frozen(kw_only=True, str=False)
class ImportResult(_Copied):
    """Result of an import."""

    exported_as: str
    """Name of the space that was exported."""

    @property
    def summary(self) -> str:
        return f"Imported {self.exported_as} as {self.space} up to {self._extent()}"


@frozen(kw_only=True, str=False)
class ForkResult(_Copied):
    """Result of a fork: a new space that shares its history with another."""

    forked_from: str
    into: str | None = None
    """The target file, if it is another one."""
    note: str = (
        "The two are independent: what is erased in one from now on stays in the other. "
        "Erase it in both."
    )

    @property
    def summary(self) -> str:
        return f"Forked {self.forked_from} as {self.space} at {self._extent()} {self.note}"
