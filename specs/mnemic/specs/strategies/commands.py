"""Commands as plain values, and whole histories of them.

A command names blocks by a number: the place of a block among those learned so far, wrapping
round; ``UNKNOWN`` names one that was never learned. So every part of a history is valid on its own,
and hypothesis can remove any part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from attrs import frozen
from hypothesis import strategies as st

from mnemic.kernel.model import compositions
from mnemic.kernel.policy import RELATION_WEIGHTS
from mnemic.specs.strategies import clocks, texts
from mnemic.specs.strategies.messages import Add, additions

UNKNOWN = -1
UNKNOWN_ID = "0" * 16


def resolved(block: int, ids: Sequence[str]) -> str:
    """Return the id of the block that a command names.

    Args:
        block: The number in the command.
        ids: Every block learned so far, in order.
    """
    return UNKNOWN_ID if block == UNKNOWN or not ids else ids[block % len(ids)]


# --- commands ---------------------------------------------------------------------------------


@frozen(kw_only=True)
class Learn:
    """``learn``."""

    content: str
    tags: tuple[str, ...] = ()
    category: str = "knowledge"
    source: str = "api"
    confidence: float = 0.8
    expires_in_us: int | None = None
    """Wall clock from now on; None: never."""
    holds_in_us: tuple[int | None, int | None] = (None, None)
    """Beginning and end of the period in which its fact holds, wall clock from now on."""


@frozen(kw_only=True)
class LearnMany:
    """``learn_many``."""

    lessons: tuple[Learn, ...]


@frozen(kw_only=True)
class Revise:
    """``revise``."""

    block: int
    content: str


@frozen(kw_only=True)
class Consolidate:
    """``consolidate``."""

    limit: int | None = None
    relink: bool = False


@frozen(kw_only=True)
class Recall:
    """``recall``."""

    query: str | None
    frame: str = "attention"
    top_k: int | None = None
    record: bool = True


@frozen(kw_only=True)
class Outcome:
    """``outcome`` of named blocks."""

    blocks: tuple[int, ...]
    signal: float
    weight: float = 1.0


@frozen(kw_only=True)
class Connect:
    """``connect``."""

    source: int
    target: int
    relation: str | None = None
    weight: float | None = None
    note: str | None = None
    if_exists: str = "reinforce"


@frozen(kw_only=True)
class Disconnect:
    """``disconnect``."""

    source: int
    target: int
    guard_relation: str | None = None


@frozen(kw_only=True)
class Curate:
    """``curate``."""


@frozen(kw_only=True)
class Forget:
    """``forget``."""

    block: int


@frozen(kw_only=True)
class Erase:
    """``erase``."""

    block: int


@frozen(kw_only=True)
class Revert:
    """``revert``."""

    back: int
    """Number of events between the end of the range and the end of the log."""
    length: int
    """Number of events in the range, limited by the start of the log."""


@frozen(kw_only=True)
class Compose:
    """``compose``."""

    members: tuple[tuple[int, str], ...]
    """Blocks and their roles."""
    name: str | None = None
    """The composition's id; None: one from the log."""
    query: str | None = None
    consume: str = "all"


@frozen(kw_only=True)
class Label:
    """``label``."""

    name: str
    """Id of the composition."""
    label: str
    notes: str | None = None
    confidence_delta: float | None = None


@frozen(kw_only=True)
class RetractLabel:
    """``retract_label``."""

    label: int
    """Index among the labels that count, wrapping round."""


@frozen(kw_only=True)
class ScoreComposition:
    """``outcome`` of all members of a composition."""

    name: str
    signal: float


@frozen(kw_only=True)
class StartSession:
    """Start a session, if none is open."""


@frozen(kw_only=True)
class EndSession:
    """End the open session, if there is one."""


@frozen(kw_only=True)
class MoveClock:
    """Move the wall clock, perhaps back."""

    by_us: int


LedgerCommand = Compose | Label | RetractLabel | ScoreComposition

Command = (
    Learn
    | LearnMany
    | Add
    | Revise
    | Consolidate
    | Recall
    | Outcome
    | Connect
    | Disconnect
    | Curate
    | Forget
    | Erase
    | Revert
    | StartSession
    | EndSession
    | MoveClock
)


# --- strategies -------------------------------------------------------------------------------

RELATIONS = (*(name for name, _ in RELATION_WEIGHTS), "reminds me of", "  SUPPORTS ")


def blocks() -> st.SearchStrategy[int]:
    """A block by its place, rarely one that does not exist."""
    known = st.integers(min_value=0, max_value=11)
    return st.one_of(known, known, known, known, st.just(UNKNOWN))


HOLDS_IN_US: tuple[tuple[int | None, int | None], ...] = (
    *((None, None),) * 5,
    (-clocks.HOUR_US, clocks.HOUR_US),
    (None, 0),
    (400 * clocks.HOUR_US, None),
)
"""Periods: mostly none; one that holds, one that has ended, and one that is yet to begin."""


def lessons() -> st.SearchStrategy[Learn]:
    """Things to learn."""
    return st.builds(
        Learn,
        content=texts.contents(),
        tags=texts.tags(),
        category=texts.categories(),
        source=texts.sources(),
        confidence=st.sampled_from((0.0, 0.5, 0.8, 1.0)),
        expires_in_us=st.sampled_from((None, None, None, clocks.HOUR_US, 400 * clocks.HOUR_US)),
        holds_in_us=st.sampled_from(HOLDS_IN_US),
    )


def signals() -> st.SearchStrategy[float]:
    """Outcome signals, often at thresholds."""
    return st.one_of(
        st.sampled_from((0.0, 0.199999999, 0.20, 0.5, 0.500000001, 1.0)),
        st.floats(min_value=0.0, max_value=1.0),
    )


def edge_weights() -> st.SearchStrategy[float | None]:
    """Weights of connections: none, below the pruning threshold, at it, and full."""
    return st.sampled_from((None, None, 0.0, 0.05, 0.099999999, 0.1, 0.5, 0.95, 1.0))


def connections() -> st.SearchStrategy[Connect]:
    """Connections, including those of a block with itself."""
    return st.builds(
        Connect,
        source=blocks(),
        target=blocks(),
        relation=st.one_of(st.none(), st.sampled_from(RELATIONS)),
        weight=edge_weights(),
        note=st.sampled_from((None, None, "why", "")),
        if_exists=st.sampled_from(("reinforce", "reinforce", "update", "skip", "error")),
    )


def commands(*, learning: bool = True) -> st.SearchStrategy[Command]:
    """Any one command.

    Args:
        learning: Whether commands that create a block are included.
    """
    some = st.lists(blocks(), min_size=1, max_size=5).map(tuple)
    new = (
        lessons(),
        lessons(),
        st.builds(LearnMany, lessons=st.lists(lessons(), min_size=1, max_size=6).map(tuple)),
        st.builds(Revise, block=blocks(), content=texts.contents()),
        additions(),
    )
    return st.one_of(
        *(new if learning else ()),
        st.builds(
            Consolidate,
            limit=st.sampled_from((None, None, 1, 3)),
            relink=st.sampled_from((False, False, True)),
        ),
        st.builds(
            Recall,
            query=st.one_of(st.none(), texts.contents()),
            frame=st.sampled_from(("attention", "self", "task", "short_term", "world")),
            top_k=st.sampled_from((None, 1, 3)),
            record=st.sampled_from((True, True, True, False)),
        ),
        st.builds(
            Outcome,
            blocks=some,
            signal=signals(),
            weight=st.sampled_from((1.0, 1.0, 0.333333333, 2.5)),
        ),
        connections(),
        connections(),
        st.builds(
            Disconnect,
            source=blocks(),
            target=blocks(),
            guard_relation=st.sampled_from((None, None, "similar")),
        ),
        st.builds(Curate),
        st.builds(Forget, block=blocks()),
        st.builds(Erase, block=blocks()),
        reverts(),
        st.builds(StartSession),
        st.builds(EndSession),
        st.builds(MoveClock, by_us=clocks.steps()),
    )


def reverts() -> st.SearchStrategy[Revert]:
    """Reverts of a range near the end of the log, mostly at its very end."""
    return st.builds(
        Revert,
        back=st.sampled_from((0, 0, 0, 1, 3, 8)),
        length=st.sampled_from((1, 1, 2, 4, 9)),
    )


def stretch(command: Revert, head: int) -> tuple[int, int]:
    """Return the range of versions of a revert, in a log that ends at *head*."""
    last = max(1, head - command.back)
    return max(1, last - command.length + 1), last


NAMES = ("lane", "other lane", "c0 is mine")
"""Ids of compositions, few enough to be repeated."""


def ledger_commands() -> st.SearchStrategy[LedgerCommand]:
    """Any one command on the ledger, including those on unknown compositions."""
    roles = st.sampled_from(("primary", *compositions.ROLES))
    names = st.sampled_from(NAMES)
    return st.one_of(
        st.builds(
            Compose,
            members=st.lists(st.tuples(blocks(), roles), min_size=1, max_size=4).map(tuple),
            name=st.one_of(st.none(), names),
            query=st.sampled_from((None, None, "why", "")),
            consume=st.sampled_from(("all", *compositions.CONSUMES)),
        ),
        st.builds(
            Label,
            name=names,
            label=st.sampled_from((*compositions.LABELS, "great")),
            notes=st.sampled_from((None, None, "so it is", "")),
            confidence_delta=st.sampled_from((None, -1.0, 0.25, 1.5)),
        ),
        st.builds(RetractLabel, label=st.integers(min_value=0, max_value=9)),
        st.builds(ScoreComposition, name=names, signal=signals()),
    )


def histories(*, max_size: int = 40) -> st.SearchStrategy[list[Command]]:
    """Whole histories: a few lessons first, then any commands in any order."""
    begun = st.lists(lessons(), min_size=3, max_size=8)
    return st.builds(
        lambda first, rest: [StartSession(), *first, Consolidate(), *rest],
        begun,
        st.lists(commands(), max_size=max_size),
    )


def crowd(*, spokes: int = 14) -> list[Command]:
    """Return commands that create a crowd: a hub, block 0, and *spokes* more, all consolidated.

    Half of the blocks are close together, so that the hub is immediately full of similar edges; the
    others have none, and get edges by connections, outcomes and sessions. Messages are never near-
    duplicates, so all of them stay.
    """
    turns = [40 * place if place % 2 else 1300 + 300 * place for place in range(1, spokes + 1)]
    answer = [Learn(content=f"angle {turn}: spoke", category="message") for turn in (0, *turns)]
    return [StartSession(), LearnMany(lessons=tuple(answer)), Consolidate()]


def crowds(*, spokes: int = 14) -> st.SearchStrategy[list[Command]]:
    """Histories around one hub that all blocks connect to, to test the cap and displacement.

    Args:
        spokes: Number of blocks other than the hub; above the degree cap, so that it is reached.
    """
    spoke = st.integers(min_value=1, max_value=spokes)
    some = st.lists(st.one_of(st.just(0), spoke), min_size=2, max_size=4).map(tuple)
    later = st.one_of(
        _ties(spoke),
        _ties(spoke),
        _ties(spoke),
        st.builds(Outcome, blocks=some, signal=st.sampled_from((0.6, 1.0))),
        st.builds(Recall, query=st.none(), top_k=st.integers(min_value=2, max_value=6)),
        st.builds(Disconnect, source=st.just(0), target=spoke),
        st.builds(Consolidate, relink=st.just(value=True)),
        st.builds(MoveClock, by_us=st.integers(min_value=0, max_value=clocks.HOUR_US)),
        st.sampled_from((Curate(), StartSession(), EndSession())),
    )
    steps = st.one_of(*[later.map(lambda command: [command])] * 5, visits())
    return st.lists(steps, max_size=40).map(
        lambda rest: [*crowd(spokes=spokes), *chain.from_iterable(rest)]
    )


def visits() -> st.SearchStrategy[list[Command]]:
    """A few successive sessions in which the same blocks are returned together."""
    return st.builds(
        lambda times, top_k: (
            [EndSession(), StartSession(), Recall(query=None, top_k=top_k)] * times
        ),
        st.integers(min_value=1, max_value=3),
        st.sampled_from((2, 3, 4, None)),
    )


def _ties(spoke: st.SearchStrategy[int]) -> st.SearchStrategy[Connect]:
    """Connections of the hub."""
    return st.builds(
        Connect,
        source=st.just(0),
        target=spoke,
        relation=st.sampled_from(RELATIONS),
        weight=edge_weights(),
    )
