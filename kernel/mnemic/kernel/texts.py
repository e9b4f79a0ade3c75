"""Payloads: everything that a space may be asked to forget.

Rules of this module:

1. All words of a caller and all vectors are payloads; an event body holds none of them.
2. A payload belongs to one or two owners (a block, both ends of an edge, a decision, the space).
   Erasing an owner destroys its payloads and their keys. Owners are never shared across spaces.
3. After erasure an event reads ``ERASED`` where the payload was. Folds must live with that.
"""

from __future__ import annotations

from attrs import field, frozen


@frozen(kw_only=True)
class Payload:
    """Base of all payloads."""

    of: tuple[str, ...] = ()
    """Owners: one or two ids; none means the event itself. Stored beside the bytes, not in them."""


@frozen(kw_only=True)
class Erased(Payload):
    """Stands where a payload was."""


ERASED = Erased()


@frozen(kw_only=True)
class Salt(Payload):
    """The space's salt; block ids are keyed with it. Owner: the event itself."""

    value: bytes


@frozen(kw_only=True)
class BlockText(Payload):
    """What a caller said when a block was learned. Owner: the block."""

    content: str
    tags: tuple[str, ...] = ()
    """Sorted, without repetition."""
    author: str | None = None
    thread: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes (sorted keys, no white space)."""


@frozen(kw_only=True)
class Embedding(Payload):
    """A quantised vector: ``vectors.pack`` of int16. Owner: the block; none for a question's."""

    packed: bytes = field(repr=False)


@frozen(kw_only=True)
class AnalysisText(Payload):
    """What an analyst added at promotion. Owner: the block."""

    tags: tuple[str, ...] = ()
    summary: str | None = None


@frozen(kw_only=True)
class Remark(Payload):
    """A note on an edge or the reason of a removal. Owners: the block or both ends."""

    text: str


@frozen(kw_only=True)
class Question(Payload):
    """What a recall asked. Owner: the decision, that is the event itself."""

    query: str | None = None
    where: str | None = None
    """The filter as canonical JSON."""


@frozen(kw_only=True)
class MemberText(Payload):
    """What a composition keeps of one member's words. Owner: the member."""

    preview: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes; ``tags`` holds those of the moment."""


@frozen(kw_only=True)
class CompositionText(Payload):
    """What a composition was for. Owner: the event itself."""

    query: str | None = None
    query_hash: str | None = None
    output_preview: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes."""


@frozen(kw_only=True)
class LabelText(Payload):
    """Why a composition was labelled. Owner: the event itself."""

    notes: str | None = None
    metadata: str | None = None
    """A small JSON object, in canonical bytes."""
