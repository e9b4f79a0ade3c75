"""Event of an extraction: which facts were found in messages, on what they rest, and by whom."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import AnswerText, Erased, Remark
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class Quote(Value):
    """A span of a message, in characters of its content."""

    message: BlockId
    start: int
    end: int
    """First character after it."""


@frozen(kw_only=True)
class ExtractedFact(Value):
    """A fact that was accepted. The events before this one learned, revised and connected it."""

    block_id: BlockId
    """The block that holds the fact."""
    action: str
    """``created``, ``reactivated``, ``restated`` or ``duplicate``, as of ``learn``."""
    quotes: tuple[Quote, ...]
    """What it rests on, at least one span."""
    relation: str = "unrelated"
    """How the extractor relates it to *other*: ``same``, ``updates``, ``contradicts`` or
    ``unrelated``."""
    other: BlockId | None = None
    effect: str = "none"
    """What was done about it: ``revised`` (*other* is archived, superseded by the fact),
    ``contradicts`` (the two are connected), ``restated`` (*other* holds the fact), or ``none``."""


@frozen(kw_only=True)
class RefusedFact(Value):
    """A fact that the extractor proposed and that was not accepted."""

    reason: str
    """A code, see ``kernel.extraction.grounding``."""
    messages: tuple[BlockId, ...]
    """The messages that its text belongs to, one or two."""
    text: Remark | Erased | None = None
    """What was proposed, shortened."""


@frozen(kw_only=True)
class FactsExtracted(Value):
    """An extractor has read messages. A replay uses what is recorded here and asks no model."""

    extractor: str
    """Its name, such as ``rules-1`` or ``chat``."""
    model: str = ""
    """The model behind it; empty: none."""
    prompt: str = ""
    """Digest of its instructions; empty: it has none."""
    messages: tuple[BlockId, ...]
    """The messages that it was shown, in order."""
    known: tuple[BlockId, ...] = ()
    """The existing blocks that it was shown."""
    status: str = "done"
    """``done``, ``partial`` (an answer was cut short, or too long), or ``failed``."""
    problem: str = ""
    """Code of what went wrong; empty: nothing."""
    facts: tuple[ExtractedFact, ...] = ()
    refused: tuple[RefusedFact, ...] = ()
    """The first of the facts that were not accepted."""
    refused_count: int = 0
    """How many were not accepted."""
    answer: AnswerText | Erased | None = None
    """The raw answer; None: there is none, or it belongs to more than two messages."""
    preceding: int = 0
    """How many events before this one its facts caused."""
