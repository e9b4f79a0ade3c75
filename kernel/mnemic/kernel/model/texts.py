"""Payloads: all data of a space that can be erased.

Rules of this module:

1. All text from callers and all vectors are payloads; an event body holds none of them.
2. A payload belongs to one or two owners (a block, both ends of an edge, a decision, the space).
   Erasing an owner destroys its payloads and their keys. Owners are never shared across spaces.
3. After erasure an event has ``ERASED`` in place of the payload. Every replay must handle that.
4. A payload that is missing although no erasure covers it is lost. In a space that is opened
   read-only it has ``LOST`` in its place, which is treated as ``ERASED`` and shown as lost.
"""

from __future__ import annotations

from attrs import field, frozen

from mnemic.kernel.values import Value


@frozen(kw_only=True)
class Payload(Value):
    """Base of all payloads."""

    of: tuple[str, ...] = ()
    """Owners: one or two ids; none means the event itself. Not part of the stored bytes."""


@frozen(kw_only=True)
class Erased(Payload):
    """Placeholder for a payload that was erased."""


ERASED = Erased()


@frozen(kw_only=True)
class Lost(Erased):
    """Placeholder for a payload that is missing, though no erasure in the log accounts for it."""


LOST = Lost()


def placeholder(missing: Payload | None) -> str:
    """Return what is shown in place of a text that is missing.

    >>> placeholder(ERASED), placeholder(LOST)
    ('[erased]', '[lost]')
    """
    return "[lost]" if isinstance(missing, Lost) else "[erased]"


@frozen(kw_only=True)
class Salt(Payload):
    """The space's salt; block ids are keyed with it. Owner: the event itself."""

    value: bytes


@frozen(kw_only=True)
class BlockText(Payload):
    """The text and descriptive fields given when a block was learned. Owner: the block."""

    content: str
    tags: tuple[str, ...] = ()
    """Sorted, without repetition."""
    author: str | None = None
    thread: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes (sorted keys, no white space)."""


@frozen(kw_only=True)
class Embedding(Payload):
    """A quantised vector: ``vectors.pack`` of int16. Owner: the block; none for a query vector."""

    packed: bytes = field(repr=False)


@frozen(kw_only=True)
class AnalysisText(Payload):
    """Tags and summary that an analyst added at promotion. Owner: the block."""

    tags: tuple[str, ...] = ()
    summary: str | None = None


@frozen(kw_only=True)
class Remark(Payload):
    """A note on an edge or the reason for a removal. Owners: the block or both ends."""

    text: str


@frozen(kw_only=True)
class Question(Payload):
    """Query and filter of a recall. Owner: the decision, that is, the event itself."""

    query: str | None = None
    where: str | None = None
    """The filter as canonical JSON."""
    asked_by: str | None = None
    """Who asked; None: it is not known."""


@frozen(kw_only=True)
class MemberText(Payload):
    """Text that a composition keeps about one member. Owner: the member."""

    preview: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes; ``tags`` holds the tags at the time."""


@frozen(kw_only=True)
class CompositionText(Payload):
    """Query, output preview and metadata of a composition. Owner: the event itself."""

    query: str | None = None
    query_hash: str | None = None
    output_preview: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes."""


@frozen(kw_only=True)
class LabelText(Payload):
    """Notes and metadata of a label. Owner: the event itself."""

    notes: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes."""


@frozen(kw_only=True)
class AnswerText(Payload):
    """Raw answer of an extractor. Owners: the messages that it was shown, one or two."""

    text: str
    """Its beginning, if it is longer than what is kept."""
    length: int = 0
    """Its length in characters."""
