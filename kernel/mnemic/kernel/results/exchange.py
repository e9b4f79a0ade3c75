"""What leaves a space and comes back: receipts, exports, imports, forks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
from attrs import frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.identity import BlockId, DecisionId, PolicyId, decision_version, short
from mnemic.kernel.results.shape import Result, plural, unit

RECEIPT = "mnemic.receipt.1"
"""What a document says to be a receipt, and of which form."""
ROWS_MAX = 100_000
"""More blocks than any answer holds."""

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
    """What a third party needs to check a decision later. It holds no words."""

    kind: str = RECEIPT
    space: str
    """Name of the space when the receipt was made; a copy may have another."""
    genesis: str
    """Chain digest of the first event, hex: which memory this is, whatever its name."""
    decision_id: DecisionId
    version: int
    """Of the event that records the decision."""
    chain: str
    """Chain digest of the log as it ends with that event, hex."""
    read_version: int
    """The log as the search saw it."""
    read_chain: str
    """Chain digest there, hex."""
    policy_id: PolicyId
    embedder_id: str
    """Empty without an embedder, and of decisions before release 0.3.0."""
    recipe: str
    answer_digest: str
    """Of the ordered answer with its scores, 16 hex characters."""
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
        """Return the receipt that ``to_dict`` gave.

        Raises:
            FieldRefused: It is no receipt, or one of another form; the fact ``field`` says where.
        """
        names = [entry.name for entry in attrs.fields(cls)]
        if not isinstance(document, Mapping) or document.get("kind") != RECEIPT:
            raise _unreadable("kind", f"it is not a {RECEIPT}")
        given = dict(document)
        for name in sorted({*names} ^ {*given}, key=str):
            missing = name in names
            raise _unreadable(str(name), "it is missing" if missing else "no receipt has it")
        for name, value in given.items():
            if not _FIELDS[name](value):
                raise _unreadable(name, f"{value!r:.80} cannot stand there")
        if decision_version(given["decision_id"]) is None:
            raise _unreadable("decision_id", f"{given['decision_id']!r:.80} is no decision")
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
"""What may stand in each field of a receipt."""


def _unreadable(field: str, problem: str) -> FieldRefused:
    return FieldRefused(
        f"this is no receipt that can be read: {field}: {problem}",
        recovery="Give what receipt() or `mnemic receipt` wrote, unchanged.",
        field=field,
    )


@frozen(kw_only=True)
class ReceiptDifference(Result):
    """One field in which a receipt and the log part."""

    field: str
    claimed: Any
    """As the receipt has it."""
    found: Any
    """As the log has it."""

    @property
    def summary(self) -> str:
        return f"{self.field}: the receipt says {self.claimed}, the log {self.found}"


@frozen(kw_only=True, str=False)
class ReceiptCheck(Result):
    """What came of comparing a receipt with a log."""

    decision_id: DecisionId
    verdict: str
    """``confirmed`` · ``renamed`` (all but the space's name: a copy of the space) · ``differs`` ·
    ``unknown`` (not on this chain) · ``damaged`` (the log is, at or before the decision)."""
    space: str
    """Name of the space or of the export that was asked."""
    differences: tuple[ReceiptDifference, ...] = ()
    problem: str | None = None
    """Why it is unknown or damaged."""
    replayed: str | None = None
    """What a replay came out as, if one was asked for: ``reproduced``, ``differs``, ``sealed``,
    ``no-words`` or ``recipe-retired``."""

    @property
    def holds(self) -> bool:
        """Whether the log says what the receipt says."""
        return self.verdict in {"confirmed", "renamed"}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "holds": self.holds}

    @property
    def summary(self) -> str:
        if self.problem is not None:
            told = f": {self.problem}"
        elif self.differences:
            told = ": " + "; ".join(str(each) for each in self.differences)
        else:
            told = ""
        replayed = "" if self.replayed is None else f" Replayed: {self.replayed}."
        return f"{self.decision_id} {self.verdict} by the log of {self.space}{told}.{replayed}"


# --- copies ---------------------------------------------------------------------------------


@frozen(kw_only=True, str=False)
class ExportResult(Result):
    """A space, or its beginning, as files that anyone can check."""

    path: str
    vectors_path: str | None
    """None without words."""
    space: str
    version: int
    """The last one exported."""
    chain: str
    """Chain digest there, hex."""
    events: int
    payloads: int
    vectors: int
    bytes: int
    """Of both files."""
    words: bool
    """Whether texts, vectors and their keys are in it; receipts can be checked without."""

    @property
    def summary(self) -> str:
        told = f"{plural(self.payloads, 'payload')}" if self.words else "no words"
        return (
            f"Exported {plural(self.events, 'event')} of {self.space} with {told} to {self.path}; "
            f"head {self.chain[:16]}."
        )


@frozen(kw_only=True, str=False)
class _Copied(Result):
    """What copies of a log have in common."""

    space: str
    """Name of the copy."""
    version: int
    """The last one copied."""
    chain: str
    """Chain digest there, hex: the same in both."""
    events: int
    """How many were written."""
    payloads: int
    erasures: tuple[BlockId, ...] = ()
    """Blocks erased in the original after this point: the copy has no words of them either, and
    says so in events of its own that follow."""

    def _told(self) -> str:
        again = f" Erased here too: {plural(len(self.erasures), 'block')}." if self.erasures else ""
        return (
            f"version {self.version} with {plural(self.payloads, 'payload')}, "
            f"head {self.chain[:16]}.{again}"
        )


@frozen(kw_only=True, str=False)
class ImportResult(_Copied):
    """An export that became a space again."""

    exported_as: str
    """Name of the space that was exported."""

    @property
    def summary(self) -> str:
        return f"Imported {self.exported_as} as {self.space} up to {self._told()}"


@frozen(kw_only=True, str=False)
class ForkResult(_Copied):
    """A new space that shares its past with another."""

    forked_from: str
    into: str | None = None
    """The file, if it is another one."""
    note: str = (
        "The two live on alone: what is erased in one from here on stays in the other. "
        "Erase it in both."
    )

    @property
    def summary(self) -> str:
        return f"Forked {self.forked_from} as {self.space} at {self._told()} {self.note}"
