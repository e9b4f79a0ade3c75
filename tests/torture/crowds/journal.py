"""What the members of a crowd record, for the audit of the log at the end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
from attrs import frozen

from mnemic.kernel.policy import DEFAULT

WORDS = "amber birch cedar delta ember fjord grove heron inlet jetty kelp lagoon moor north".split()
"""Texts and queries are made of these, so that every query finds something."""
CROWDED = attrs.evolve(
    DEFAULT,
    name="crowded",
    consolidate_chunk=8,
    degree_cap=6,
    edge_candidates=3,
    co_retrieval_sessions=2,
    staging_pairs_max=200,
)
"""Limits are reached soon; and a recall promotes staged blocks, those of other writers too."""
SEEDS = 24
"""Blocks that all members know from the beginning."""
RACE = "race"
"""Prefix of the ids of commands that two writers give at once."""


def actor_of(place: int) -> str:
    """Return the actor of a writer. Twins share one: a command id belongs to an actor."""
    return f"w{place - place % 2}"


@frozen(kw_only=True)
class Done:
    """One answer to a writer."""

    who: str
    id: str
    operation: str
    wait_s: float
    """From the call to its answer."""
    first: int | None = None
    """Version of the first event of the command; None if this answer tells of none."""
    last: int | None = None
    answer: str = ""
    """Digest of what was answered."""
    refused: str = ""
    """The code, if it was."""


@frozen(kw_only=True)
class Seen:
    """One answer to a reader."""

    who: str
    head: int
    """Where the log ended, for this reader, before it asked."""
    version: int
    """The version stated by the answer."""
    choice: int
    """Which query it was."""
    answer: str
    """Digest of what was answered."""
    past: bool
    """Whether it was asked of a view of the past, or of the log's end."""


@frozen(kw_only=True)
class Heard:
    """The final record of a reader."""

    who: str
    answers: int
    worst_s: float
    """The longest wait for an answer."""
    wholes: int
    """Batches that were checked and complete, repeatedly."""
    versions: Sequence[int]
    """At which answers were computed."""
    troubles: Sequence[str] = ()


N = TypeVar("N", Done, Seen, Heard)


def keep(path: Path, notes: Iterable[Done | Seen | Heard]) -> None:
    """Write *notes* to a file, one to a line."""
    lines = (json.dumps(attrs.asdict(note)) for note in notes)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def kept(folder: Path, kind: type[N]) -> list[N]:
    """Return the notes of one kind that all members have left in *folder*."""
    files = sorted(folder.glob(f"*.{kind.__name__.lower()}"))
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return [kind(**json.loads(line)) for line in lines]


def place(folder: Path, who: str, kind: type[N]) -> Path:
    """Return the path of a member's notes of one kind."""
    return folder / f"{who}.{kind.__name__.lower()}"


def digest(answer: Any) -> str:
    """Return a short digest of plain values."""
    body = json.dumps(answer, sort_keys=True, default=str)
    return hashlib.sha256(body.encode()).hexdigest()[:16]
