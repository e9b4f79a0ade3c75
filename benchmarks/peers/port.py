"""The interface of all memories in the comparison, and their input.

The other packages need environments of their own, so nothing here imports more than attrs and
numpy. Vectors are computed beforehand and looked up: all get the same ones, and no time includes
that of a model.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

TOP_K = 10
"""Number of items in an answer."""


class Unfit(Exception):
    """A memory cannot be measured here; the message is the reason."""


class Ability(StrEnum):
    """What some memories can do and others cannot."""

    DATES = "dates"
    """It accepts a date for an item, beside the text."""
    CLOCK = "clock"
    """Its clock can be set, and moved."""
    USERS = "users"
    """It keeps what several users said apart."""
    LISTING = "listing"
    """It can list what it keeps."""
    LINKS = "links"
    """It notes, without a language model, which items contradict each other."""
    REPLAYS = "replays"
    """It records its answers, computes them again, and can erase an item for good."""


@frozen(kw_only=True)
class Item:
    """One thing to remember."""

    id: str
    text: str
    author: str | None = None
    at: str | None = None
    """ISO 8601 without a zone."""
    thread: str | None = None
    user: str | None = None
    """On whose behalf it is kept; only they are answered with it."""
    category: str = "message"

    @property
    def line(self) -> str:
        """The text as a line of a transcript, which improves the results of all that rank texts."""
        said = self.text if self.author is None else f"{self.author}: {self.text}"
        if self.at is None:
            return said
        return f"{datetime.fromisoformat(self.at):%I:%M %p on %d %B, %Y}, {said}"


@frozen(kw_only=True)
class Answer:
    """What a memory returns for a question."""

    ids: list[str]
    """At most ten items, best first."""
    scores: list[float]
    """The memory's own score of each item; empty if it gives none. Greater is better."""
    answerable: float | None = None
    """How sure the memory is that it holds an answer, if it says so. Range: [0, 1]."""
    verdict: str | None = None
    """The same as ``yes``, ``weak`` or ``no``."""

    @property
    def sureness(self) -> float:
        """*answerable*; the best score in its place, and 0 for an empty answer."""
        return max(self.scores, default=0.0) if self.answerable is None else self.answerable


@frozen(kw_only=True)
class Replays:
    """How many recorded answers come out the same when they are computed again."""

    reproduced: int
    sealed: int
    """Text that they read has been erased."""
    differs: int


class Vectors:
    """Vectors computed beforehand, by text; surrounding whitespace is ignored."""

    def __init__(self, texts: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Map *texts* to *rows*, shape (len(texts), dimension)."""
        self._places = {text.strip(): place for place, text in enumerate(texts)}
        self._rows = rows
        self.dimension = int(rows.shape[1])

    def row(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a text.

        Raises:
            Unfit: The text is unknown: the memory embeds other texts than it was given.
        """
        place = self._places.get(text.strip())
        if place is None:
            raise Unfit(f"embeds words that were not given to it: {text[:60]!r}")
        found: NDArray[np.float32] = self._rows[place]
        return found

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        return np.array([self.row(text) for text in texts], dtype=np.float32)

    def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one list of floats per text, as most libraries want them."""
        found: list[list[float]] = self.rows(texts).tolist()
        return found


class Peer(ABC):
    """A memory with its documented defaults, in a folder of its own."""

    name: ClassVar[str]
    requirements: ClassVar[tuple[str, ...]] = ()
    """Requirements for pip; the version in the table is that of the first."""
    npm: ClassVar[str] = ""
    """Package for npm instead."""
    home: ClassVar[str] = ""
    """Name of the memory whose environment it uses; its own, if empty."""
    search: ClassVar[str]
    """What an answer is ranked by."""
    durability: ClassVar[str]
    """What a write survives once it has returned: power loss, the end of the process, nothing."""
    note: ClassVar[str] = ""
    """How it was set up, and how that affects its numbers, for readers of the table."""
    abilities: ClassVar[frozenset[Ability]] = frozenset()

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Use *folder*, which exists and is empty, and look up vectors in *vectors*."""
        self.folder = folder
        self.vectors = vectors

    @classmethod
    def opened_at(cls, folder: Path, vectors: Vectors, now: datetime) -> Self:
        """Return a new memory whose clock is at *now*, if it can be set."""
        del now
        return cls(folder, vectors)

    @classmethod
    def release(cls) -> str:
        """Return the version that is measured."""
        return version(cls.requirements[0].partition("==")[0])

    @abstractmethod
    def write(self, item: Item) -> None:
        """Remember one thing, in the way the documentation shows first."""

    @abstractmethod
    def write_many(self, items: Sequence[Item]) -> None:
        """Remember many, in the fastest documented way."""

    def settle(self) -> None:
        """Complete pending work, so that everything written can be found."""
        return

    @abstractmethod
    def ask(self, question: str) -> list[str]:
        """Return the ids of at most ten items, best first."""

    def answer(self, question: str, *, user: str | None = None, record: bool = False) -> Answer:
        """Return an answer with all that the memory says about it.

        Args:
            question: The question.
            user: Who asks; None: nobody in particular.
            record: Whether to keep a record of the answer, where that is a choice.
        """
        del user, record
        return Answer(ids=self.ask(question), scores=[])

    def revise(self, old: str, item: Item) -> None:
        """Replace the item with the id *old*; a memory that cannot do this writes *item* too."""
        del old
        self.write(item)

    def listed(self) -> list[str]:
        """Return the ids of the items that it still keeps. Ability: ``LISTING``.

        Of items that share one record, one is listed; of two where one replaced the other, one.
        """
        raise NotImplementedError

    def contradictions(self) -> list[tuple[str, str]]:
        """Return the pairs of items that it links as contradicting. Ability: ``LINKS``."""
        raise NotImplementedError

    def pass_time(self, days: float, *, in_use: bool) -> None:
        """Move its clock ahead. Ability: ``CLOCK``.

        Args:
            days: How far.
            in_use: Whether the memory is in use all the while: active time passes too.
        """
        raise NotImplementedError

    def erase(self, item: str) -> None:
        """Make an item unrecoverable. Ability: ``REPLAYS``."""
        raise NotImplementedError

    def replays(self) -> Replays:
        """Compute every recorded answer again. Ability: ``REPLAYS``."""
        raise NotImplementedError

    def close(self) -> None:
        """Release files, connections and processes."""
        return

    def children(self) -> list[int]:
        """Return the ids of processes whose memory counts too."""
        return []


def module(name: str) -> Any:
    """Import a module that only the environment of one memory has.

    Raises:
        Unfit: It is not there, or does not load.
    """
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Unfit(f"cannot import {name}: {error}") from error
