"""Strategies for conversations as plain values: messages with thread, time and author, questions.

The vocabulary is small, so that texts share words with each other and with the questions; times are
inside a sitting, after it, or unknown; threads interleave.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from attrs import evolve, field, frozen
from hypothesis import strategies as st

from mnemic.specs.strategies import commands

WORDS = "bees honey hive bloom garden Ann Ben the may where what kept moved twice".split()
"""A stop word or two, a name or two, a month."""
FOREIGN = """die der und nicht Biene Bienen summten Anns drei 3 1.000 les abeilles abeille dans la
    bees Mullers 蜂蜜 蜜 王小明""".split()
"""German and French, recognised in some of the texts made of them, and some Chinese."""
LONG = " ".join(3 * WORDS)
"""Longer than a text that takes all words of its neighbours."""
ODD = ("🧠", "the of and", "Ann", "7 May 2023 bees", LONG, LONG[5:])
AUTHORS = (None, "Ann", "Ben Hale", "Hale Ann", "the", "user", "王小明", "Jürgen Müller")
SIDES = ("", "", "", "where did I", "what did you", "do my", "how many of my", "my summary of")
"""Beginnings of questions: in no person, the first and the second."""
ASKERS = (None, None, "Ann", "user", "assistant", "Nobody")
THREADS = (None, None, "porch", "kitchen")
BEGUN = datetime.fromisoformat("2023-05-05T22:00:00+00:00")
MINUTES = (0, 1, 5, 60, 180, 181, 400, 1440, 3000, 12_000, 45_000)
DATES = ("", "", "", "in May", "on 7 May", "May 6th, 2023", "in 2023", "2022-05-08", "of June 2023")
DATES_ABROAD = ("im Mai", "am 7. Mai 2023", "le 6 mai", "2023年5月7日", "5月8日", "7.5.2023")
ZONED = ("unknown", None)
PERIODS = (
    *((None, None),) * 6,
    (None, "2023-06-01"),
    ("2020-01-01", "2099-01-01"),
    ("2098-01-01", None),
)
"""Mostly none; one that has ended when the question is asked, one that holds, one yet to begin."""


@frozen(kw_only=True)
class Say:
    """``learn``, with all fields of a turn of a conversation."""

    content: str
    author: str | None = None
    thread: str | None = None
    category: str = "message"
    minute: int | str | None = None
    """Since the beginning; "unknown", or None for now."""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    role: str | None = None
    zone: str | None = None
    period: tuple[str | None, str | None] = (None, None)
    """When its fact holds."""

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``learn``."""
        created: Any = self.minute
        if isinstance(created, int):
            created = BEGUN + timedelta(minutes=created)
        return {
            "content": self.content,
            "author": self.author,
            "thread": self.thread,
            "category": self.category,
            "created_at": created,
            "tags": self.tags,
            "metadata": self.metadata,
            "role": self.role,
            "zone": self.zone,
            "valid_from": self.period[0],
            "valid_until": self.period[1],
        }


@frozen(kw_only=True)
class Ask:
    """A question and the limits of its answer."""

    query: str | None
    frame: str = "attention"
    asked_by: str | None = None
    where: dict[str, Any] = field(factory=dict)
    top_k: int | None = None
    budget: int | None = None
    recipe: str = "recall-3"
    min_probability: int | None = None
    """The caller's floor of probability, nano-units."""
    floor: int = 0
    """The frame's."""


def sentences(
    *, least: int = 1, most: int = 6, words: Sequence[str] = WORDS
) -> st.SearchStrategy[str]:
    """Texts of a few words."""
    return st.lists(st.sampled_from(words), min_size=least, max_size=most).map(" ".join)


def essays() -> st.SearchStrategy[str]:
    """Texts of one passage or several."""
    ends = st.sampled_from((". ", ".\n", " "))
    parts = st.lists(sentences(least=5, most=9), min_size=8, max_size=20)
    return st.builds(lambda end, sentences: end.join(sentences), ends, parts)


PROVENANCE = (None, None, None, "vetted", "imported", "untrusted", "elsewhere", "quarantined")


def turns() -> st.SearchStrategy[Say]:
    """Draw a turn of a conversation, or an independent fact."""
    minutes = st.one_of(st.sampled_from(MINUTES), st.integers(0, 500), st.sampled_from(ZONED))
    longer = sentences(least=3, most=9)
    return st.builds(
        Say,
        content=st.one_of(
            longer,
            longer,
            longer,
            sentences(),
            st.sampled_from(ODD),
            essays(),
            sentences(least=3, most=9, words=FOREIGN),
        ),
        author=st.sampled_from(AUTHORS),
        thread=st.sampled_from(THREADS),
        category=st.sampled_from(("message", "message", "knowledge", "observation")),
        minute=minutes,
        tags=st.sampled_from(((), (), ("a",), ("a", "project/x"), ("self/constitutional",))),
        metadata=st.sampled_from((None, None, {"room": 1}, {"room": 2, "loud": True})),
        role=st.sampled_from((None, None, "user", "assistant", "tool")),
        zone=st.sampled_from(PROVENANCE),
        period=st.sampled_from(PERIODS),
    )


BLOCKS = st.integers(min_value=0, max_value=40)
TIES: st.SearchStrategy[commands.Command] = st.builds(
    commands.Connect,
    source=BLOCKS,
    target=BLOCKS,
    relation=st.sampled_from((None, "supports", "contradicts", "outcome")),
    weight=st.sampled_from((None, 0.2, 0.9)),
)
UPHEAVALS: st.SearchStrategy[commands.Command] = st.one_of(
    st.builds(commands.Consolidate, limit=st.sampled_from((None, 2))),
    st.builds(
        commands.Outcome,
        blocks=st.lists(BLOCKS, min_size=1, max_size=3).map(tuple),
        signal=st.sampled_from((0.0, 0.6, 1.0)),
    ),
    st.builds(commands.Recall, query=sentences(), record=st.booleans()),
    st.builds(commands.Forget, block=BLOCKS),
    st.builds(commands.Erase, block=BLOCKS),
    st.builds(commands.Revise, block=BLOCKS, content=sentences(least=3)),
    st.builds(commands.StartSession),
    st.builds(commands.EndSession),
    st.builds(
        commands.MoveClock,
        by_us=st.sampled_from((60, 9000, 10**6)).map(lambda count: count * 1_000_000),
    ),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Say | commands.Command]:
    """Draw whole conversations: turns, then other commands, twice; some turns are repeated."""
    steps: list[Say | commands.Command] = []
    said = draw(st.lists(turns(), min_size=6, max_size=12))
    steps += said
    sitting = draw(st.lists(sentences(least=2), max_size=9))
    thread = draw(st.sampled_from(THREADS))
    steps += [Say(content=content, thread=thread) for content in sitting]
    steps += draw(st.lists(UPHEAVALS, max_size=4))
    steps.append(commands.Consolidate())
    steps += draw(st.lists(TIES, max_size=6))
    steps += draw(st.lists(UPHEAVALS, max_size=3))
    for again in draw(st.lists(st.sampled_from(said), max_size=2)):
        steps.append(evolve(again, thread=draw(st.sampled_from(THREADS)), minute=None))
    steps += draw(st.lists(turns(), max_size=5))
    steps.append(commands.Consolidate())
    steps += draw(st.lists(TIES, max_size=3))
    return steps


def filters() -> st.SearchStrategy[dict[str, Any]]:
    """Filters in plain form."""
    return st.sampled_from(
        (
            {"author": ["Ann"]},
            {"thread": ["kitchen", "porch"]},
            {"tags": ["a", "project/"]},
            {"category": ["message", "observation"]},
            {"since": "2023-05-06T00:00:00+00:00"},
            {"until": "2023-05-06T02:00:00+00:00", "author": ["Ann", "Ben Hale"]},
            {"metadata": {"room": 2}},
            {"range": {"metadata": {"room": {"from": 2}}}, "not": {"author": ["Ann"]}},
            {"zone": ["trusted", "imported"]},
            {"range": {"confidence": {"from": 0.5, "to": 0.8}}},
            {"any": [{"tags": ["a"]}, {"thread": ["porch"]}, {"user": ["Ann"]}]},
            {"all": [{"not": {"since": "2023-05-06T00:00:00+00:00"}}, {"thread": ["porch"]}]},
            {"valid_at": "2024-01-01T00:00:00+00:00"},
        )
    )


def questions() -> st.SearchStrategy[Ask]:
    """Questions, half of them with a date or a name, half of them with a person."""
    queries = st.builds(
        "{} {} {}".format, st.sampled_from(SIDES), sentences(), st.sampled_from(DATES)
    ).map(str.strip)
    abroad = st.builds(
        "{} {}".format, sentences(words=FOREIGN), st.sampled_from(("", *DATES_ABROAD))
    )
    return st.builds(
        Ask,
        query=st.one_of(queries, queries, queries, abroad, st.none()),
        frame=st.sampled_from(
            ("attention", "answer", "answer", "self", "task", "short_term", "world")
        ),
        asked_by=st.sampled_from(ASKERS),
        where=st.one_of(st.just({}), st.just({}), filters()),
        top_k=st.sampled_from((None, None, 1, 3, 50)),
        budget=st.sampled_from((None, None, 20, 40, 70)),
        recipe=st.sampled_from(("recall-1", "recall-2", "recall-3", "recall-3", "recall-3")),
        min_probability=st.sampled_from((None, None, None, 0, 300_000_000, 900_000_000)),
        floor=st.sampled_from((0, 0, 100_000_000, 800_000_000)),
    )
