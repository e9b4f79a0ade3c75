"""Ports for models: embedders, analysts, judges and token counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.values import Value


class Embedder(Protocol):
    """Converts texts to vectors. Called without holding any lock; never called by a replay."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension and digest of the weights; vectors of two models are never mixed."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return one row per text, shape (len(texts), dimension), finite floats."""
        ...


@runtime_checkable
class QuestionEmbedder(Embedder, Protocol):
    """An embedder that embeds questions in another way than texts.

    Optional: the questions of any other embedder are embedded as texts are.
    """

    def embed_question(self, question: str) -> NDArray[np.floating]:
        """Return the vector to search with, shape (dimension,), finite floats."""
        ...


@frozen(kw_only=True)
class Passage(Value):
    """The part of a block that is passed to an analyst."""

    content: str
    category: str = "knowledge"
    tags: tuple[str, ...] = ()
    """As declared by the caller, sorted."""
    author: str | None = None
    source: str = "api"


@frozen(kw_only=True)
class Analysis(Value):
    """The result of analysing one block."""

    tags: tuple[str, ...] = ()
    """Extra tags, added to the declared ones."""
    alignment: float | None = None
    """How much the block belongs to the agent's self. Range: [0, 1]."""
    summary: str | None = None


class Analyst(Protocol):
    """Analyses new blocks before they are promoted. A failure degrades to no analysis."""

    @property
    def name(self) -> str:
        """Human-readable name of the analyst."""
        ...

    def analyse(self, passages: Sequence[Passage]) -> Iterable[Analysis | None]:
        """Return or yield one analysis per passage, in order; None where it failed.

        When the host's time limit expires, the analyses yielded so far are used.
        """
        ...


class Judge(Protocol):
    """Optional capability of an analyst: judge whether two texts contradict each other."""

    def contradicts(self, pairs: Sequence[tuple[Passage, Passage]]) -> Iterable[bool | None]:
        """Return or yield one verdict per pair, in order; None where it cannot tell."""
        ...


class TokenCounter(Protocol):
    """Counts tokens as the model that reads the recall does."""

    name: str

    def count(self, text: str) -> int:
        """Return the number of tokens in *text*, at least 1 for a text that is not empty."""
        ...
