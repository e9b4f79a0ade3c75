"""Port for extractors, which find facts in messages.

Messages and existing blocks are passed and named by their place in the call, so that an answer can
name nothing else. An extractor proposes; what becomes of a proposal, and with which author, scope
and zone, is decided by ``kernel.extraction.accepting``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from mnemic.kernel.values import Value

RELATIONS = ("same", "updates", "contradicts", "unrelated")
"""How a fact may relate to an existing block."""


@frozen(kw_only=True)
class Message(Value):
    """A message as an extractor sees it."""

    content: str
    author: str | None = None
    role: str | None = None
    said_at: str | None = None
    """ISO 8601, UTC; None: unknown."""


@frozen(kw_only=True)
class KnownBlock(Value):
    """An existing block that may be about the same."""

    content: str
    author: str | None = None
    said_at: str | None = None


@frozen(kw_only=True)
class Span(Value):
    """A quotation: the words of a message that a fact rests on."""

    message: int
    """Place of the message in the call, from 0."""
    text: str
    """As in the message, word for word."""


@frozen(kw_only=True)
class Fact(Value):
    """A fact as an extractor proposes it."""

    text: str
    quotes: tuple[Span, ...]
    about: str | None = None
    """Whom or what it is about, in words of the quotation; None: its speaker."""
    since: str | None = None
    """From when it holds, ISO 8601; None: not said."""
    until: str | None = None
    confidence: float = 0.8
    """Range: [0, 1]."""
    relation: str = "unrelated"
    """One of ``RELATIONS``."""
    other: int | None = None
    """Place of the existing block that it relates to, from 0."""


@frozen(kw_only=True)
class Extract(Value):
    """The answer of an extractor to one call."""

    facts: tuple[Fact, ...] = ()
    answer: str | None = None
    """The raw answer of a model; None: there is no model, or no answer."""
    problem: str = ""
    """Code of what went wrong; empty: nothing. Then the facts are those found nevertheless."""
    detail: str = ""
    """The same in words; not recorded."""


class Extractor(Protocol):
    """Finds facts in messages. Called without holding any lock; never called by a replay."""

    @property
    def name(self) -> str:
        """Name and version, such as ``rules-1``; recorded."""
        ...

    @property
    def model(self) -> str:
        """Name of the model behind it; empty: none."""
        ...

    @property
    def prompt(self) -> str:
        """Digest of its instructions; empty: it has none."""
        ...

    @property
    def window(self) -> int:
        """How many consecutive messages of a thread one call takes, at least 1.

        A raw answer is kept only of up to two, since a payload has at most two owners.
        """
        ...

    @property
    def compares(self) -> bool:
        """Whether it relates facts to existing blocks; if not, none are looked up."""
        ...

    def extract(self, messages: Sequence[Message], known: Sequence[KnownBlock]) -> Extract:
        """Return the facts in *messages*, and how they relate to *known*. It may raise anything."""
        ...
