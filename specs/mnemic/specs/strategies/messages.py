"""Messages of random conversations, and an extractor whose answer follows from their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen
from hypothesis import strategies as st

from mnemic.kernel.ports import Extract, Fact, KnownBlock, Message, Span
from mnemic.kernel.ports.extractors import RELATIONS
from mnemic.specs.strategies import clocks, texts


@frozen(kw_only=True)
class Said:
    """One message of ``add``."""

    content: str
    role: str = "user"
    author: str | None = None
    thread: str | None = None
    id: str | None = None
    said_in_us: int | None = None
    """When it was said, wall clock from now on; None: now."""


@frozen(kw_only=True)
class Add:
    """``add``, with the facts that the extractor of the host finds."""

    messages: tuple[Said, ...]
    user: str | None = None
    """Whose scope they are in; None: they have none."""


def said() -> st.SearchStrategy[Said]:
    """Messages of few speakers, some of them with an id that is said again."""
    return st.builds(
        Said,
        content=texts.contents(),
        role=st.sampled_from(("user", "user", "user", "assistant", "tool")),
        author=st.sampled_from(("ann", "ann", "ben", None)),
        thread=st.sampled_from((None, "talk")),
        id=st.sampled_from((None, None, "1", "2")),
        said_in_us=st.sampled_from((None, None, -clocks.HOUR_US)),
    )


def additions() -> st.SearchStrategy[Add]:
    """Short conversations."""
    return st.builds(
        Add,
        messages=st.lists(said(), min_size=1, max_size=4).map(tuple),
        user=st.sampled_from((None, None, None, "ann")),
    )


class TextExtractor:
    """An extractor that proposes facts by the code points of a message. Deterministic.

    Most messages are a fact as a whole, in any relation to any of the known blocks; some are
    shortened, quoted together with the message before, or become a fact that they do not bear out.
    One in seven has an answer that is not complete, and one in eleven none.
    """

    name = "text-1"
    model = ""
    prompt = ""
    window = 2
    """An answer is kept for up to two messages."""
    compares = True

    def extract(self, messages: Sequence[Message], known: Sequence[KnownBlock]) -> Extract:
        """Return the facts of each message, and what it says as the raw answer."""
        total = sum(_number(each) for each in messages)
        if total % 11 == 0:
            raise ValueError("no answer")
        return Extract(
            facts=tuple(
                fact
                for place in range(len(messages))
                for fact in _facts(messages, place, len(known))
            ),
            answer="\n".join(each.content for each in messages),
            problem="" if total % 7 else "cut-short",
        )


def _facts(messages: Sequence[Message], place: int, known: int) -> Iterator[Fact]:
    """Yield the facts of the message at *place*, with *known* existing blocks beside it."""
    message, number = messages[place], _number(messages[place])
    whole = Span(message=place, text=message.content)
    relation, other = RELATIONS[number % len(RELATIONS)], number % (known + 1)
    text = message.content.strip()
    if number % 13:
        yield Fact(text=text, quotes=(whole,), relation=relation, other=other)
    if number % 3 == 0:
        yield Fact(text=f"{text} 4711", quotes=(whole,))
    if number % 5 == 0:
        yield Fact(text=" ".join(text.split()[:2]), quotes=(whole,), relation="same", other=other)
    if place and number % 2:
        before = Span(message=place - 1, text=messages[place - 1].content)
        both = f"{before.text.strip()} {text}"
        yield Fact(text=both, quotes=(before, whole), relation="updates", other=0)


def _number(message: Message) -> int:
    return sum(map(ord, message.content))
