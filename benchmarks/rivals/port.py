"""What every memory in the comparison is asked to do, and what it is given.

The other packages need environments of their own, so nothing here imports more than attrs and
numpy. Vectors are made beforehand and looked up: all get the same ones, and nobody's time holds
that of a model.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

TOP_K = 10
"""How much a question is answered with."""


class Unfit(Exception):
    """A memory cannot be measured here; its words are the reason."""


@frozen(kw_only=True)
class Item:
    """One thing to remember."""

    id: str
    text: str
    author: str | None = None
    at: str | None = None
    """ISO 8601 without a zone."""
    thread: str | None = None

    @property
    def line(self) -> str:
        """The text as a transcript has it: all that rank texts do better than without the rest."""
        said = self.text if self.author is None else f"{self.author}: {self.text}"
        if self.at is None:
            return said
        return f"{datetime.fromisoformat(self.at):%I:%M %p on %d %B, %Y}, {said}"


class Vectors:
    """Vectors made beforehand, by text; blanks around it do not count."""

    def __init__(self, texts: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Answer *texts* with *rows*, shape (len(texts), dimension)."""
        self._places = {text.strip(): place for place, text in enumerate(texts)}
        self._rows = rows
        self.dimension = int(rows.shape[1])

    def row(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a text.

        Raises:
            Unfit: Nobody thought of it: the memory embeds other words than it was given.
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
    """What pip is told to install; the version in the table is that of the first."""
    npm: ClassVar[str] = ""
    """What npm is told to install instead."""
    home: ClassVar[str] = ""
    """Whose environment it runs in, by name; its own, if empty."""
    search: ClassVar[str]
    """What an answer is ranked by."""
    durability: ClassVar[str]
    """What a write survives once it has returned: power loss, the end of the process, nothing."""
    note: ClassVar[str] = ""
    """How it was set up, and what its numbers owe to that, for readers of the table."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Be in *folder*, which exists and is empty, and look up vectors in *vectors*."""
        self.folder = folder
        self.vectors = vectors

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
        """Do what must be done before everything written is found."""
        return

    @abstractmethod
    def ask(self, question: str) -> list[str]:
        """Return the ids of at most ten items, best first."""

    def close(self) -> None:
        """Let go of files, connections and processes."""
        return

    def children(self) -> list[int]:
        """Return the ids of processes whose memory counts too."""
        return []


def module(name: str) -> Any:
    """Import what only the environment of one memory has.

    Raises:
        Unfit: It is not there, or does not load.
    """
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Unfit(f"cannot import {name}: {error}") from error
