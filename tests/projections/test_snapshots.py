"""Published snapshots are read by any thread, without a lock, while the writer goes on."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess.engine.embedding import embedded_question
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import PointOutOfRange, Refused
from mnemic.kernel.events import Recorded
from mnemic.kernel.statements import Statement
from mnemic.projections.listing.blocks import status
from mnemic.projections.retrieval import Request, answer
from mnemic.projections.state.apply import apply
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.storage.array_bundle import Lazy
from mnemic.projections.view import Snapshot, View, as_of, live, publish
from tests.agreement.agents import POLICIES, Agent
from tests.agreement.log_checker import read
from tests.agreement.snapshots import state_of_view
from tests.projections.histories import logs
from tests.thread_switches import switching_often

EMBEDDER = HashEmbedder(16)
WORDS = "bees hum tea night cedar harbour Zürich 3.11 lamp rain Tuesday May 7 walked swam".split()
NOW_US = 1_700_000_000_000_000
HOUR_US = 3_600_000_000


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same in every run


def text(source: random.Random, words: int) -> str:
    return " ".join(source.choices(WORDS, k=words)) + "."


@cache
def history() -> tuple[Recorded, ...]:
    """Return a log in which every table, map and index changes often."""
    source, clock, store = seeded(7), ManualClock(), MemoryStore()
    agent = Agent("ann", store, embedder=EMBEDDER, clock=clock, policy=POLICIES["tight"])
    memory = agent.memory
    memory.start_session()
    known: list[str] = []
    for turn in range(60):
        author = source.choice(("Ann", "Ben of Cork", None))
        items = [
            {
                "content": text(source, source.choice((4, 9, 400 if turn % 9 == 4 else 6))),
                "author": author,
                "thread": source.choice((None, "porch")),
                "tags": source.sample(("home", "work/a", "work/b", f"t{turn}"), 2),
                "category": source.choice(("message", "knowledge")),
            }
            for _ in range(1 + turn % 3)
        ]
        known += [each.block_id for each in memory.learn_many(items).results]
        clock.advance(hours=1)
        if turn % 2:
            memory.consolidate()
        memory.recall(text(source, 3), top_k=6)
        for name, arguments in changes(source, known, turn):
            try:
                getattr(memory, name)(*arguments)
            except Refused:
                continue
    return tuple(read(agent.space.log))


def changes(source: random.Random, known: list[str], turn: int) -> list[tuple[str, list[Any]]]:
    """Return some operations, by name, and their arguments."""
    one, other, third = source.choices(known, k=3)
    relation = source.choice(("contradicts", "similar", "refines"))
    possible: list[tuple[str, list[Any]]] = [
        ("connect", [one, other, relation]),
        ("disconnect", [one, third]),
        ("outcome", [[one, other], source.choice((0.0, 1.0))]),
        ("compose", [[one, other]]),
        ("quarantine", [{"block": third}]) if turn % 2 else ("forget", [third]),
        ("revise", [one, "The harbour is closed on Tuesday."]),
        ("curate", []),
    ]
    return source.sample(possible, 3)


def versions_of(log: Sequence[Recorded]) -> Iterator[tuple[State, Snapshot]]:
    """Apply event by event, and yield the state and each snapshot."""
    state = State()
    for recorded in log:
        apply(state, recorded)
        yield state, publish(state)


# --- what is read -----------------------------------------------------------------------------


def view_of(snapshot: Snapshot) -> View:
    return snapshot.view(active_us=5 * HOUR_US, instant_us=NOW_US)


def recalled(question: str) -> Callable[[Snapshot], Any]:
    vector = embedded_question(EMBEDDER, question)

    def read_it(snapshot: Snapshot) -> Any:
        view = view_of(snapshot)
        found = answer(view, Request(query=question), vector if view.embedder else None)
        return found.result

    return read_it


def walked(snapshot: Snapshot) -> Any:
    """Walk the graph, and read what is kept by block or by pair."""
    view = view_of(snapshot)
    known = view.known()
    return [
        [
            view.edges_of(number),
            view.predecessors(number),
            view.returned_by(number),
            view.context(number),
            view.composed_with(number),
            view.staged_with(number),
            view.state.catalogue.reviews.memory(number, snapshot.version),
        ]
        for number in known.tolist()[-9:]
    ] + [
        view.contradictions().tolist(),
        np.stack(view.successions()).tolist(),
        view.sighted().tolist(),
        view.pairs_at(known).tolist(),
        list(view.staging_order()),
        [column.tolist() for column in stabilities(view)],
    ]


def stabilities(view: View) -> tuple[Any, ...]:
    return view.state.catalogue.reviews.stabilities(view.known(), view.version)


def indexed(snapshot: Snapshot) -> Any:
    """Read the indexes that are extended when a query needs it."""
    view, lexicon = view_of(snapshot), snapshot.state.lexicon
    alive = view.present.alive
    numbers = view.known()[:5].tolist()
    said = [view.statement(number) for number in numbers]
    assert said == [Statement.of(content(view, number)) for number in numbers]
    return [
        *(column.tolist() for column in lexicon.search("bees in Zürich, May 7", alive)),
        lexicon.trusted_rarity(20)[view.present.texts].tolist(),
        snapshot.state.sequence.author[view.present.texts].tolist(),
        view.restated(said),
    ]


def content(view: View, number: int) -> str:
    return getattr(view.text(int(number)), "content", "")


def past(snapshot: Snapshot) -> Any:
    """Read earlier versions."""
    versions = sorted({snapshot.version // 3, snapshot.version // 2})
    views = [snapshot.as_of(version) for version in versions]
    return [(len(each.known()), each.pairs().tolist(), each.inbox()) for each in views]


READS: tuple[Callable[[Snapshot], Any], ...] = (
    recalled("do bees hum at the harbour"),
    recalled("what did Ben say on Tuesday"),
    walked,
    indexed,
    past,
    lambda snapshot: status(view_of(snapshot), "default"),
    lambda snapshot: state_of_view(view_of(snapshot)),
)


# --- equal answers ----------------------------------------------------------------------------


@given(log=logs(), cuts=st.lists(st.integers(1, 5), min_size=1, max_size=8))
def test_a_snapshot_says_what_the_live_view_and_a_fresh_replay_say(
    log: list[Recorded], cuts: list[int]
) -> None:
    state, place, kept = State(), 0, []
    while place < len(log):
        for recorded in log[place : place + cuts[place % len(cuts)]]:
            apply(state, recorded)
        place = state.version + 1
        snapshot = publish(state)
        shown = state_of_view(view_of(snapshot))
        assert shown == state_of_view(live(state, active_us=5 * HOUR_US, instant_us=NOW_US))
        assert (snapshot.policy, snapshot.embedder) == (
            state.timeline.policy,
            state.timeline.embedder,
        )
        assert snapshot.sessions == state.timeline.sessions.current
        kept.append((snapshot, shown, walked(snapshot)))
    for snapshot, shown, seen in kept[:: max(1, len(kept) // 3)]:
        fresh = rebuild(State(), log[: snapshot.version + 1])
        assert state_of_view(view_of(snapshot)) == shown
        assert state_of_view(as_of(fresh, snapshot.version)) == shown
        assert walked(snapshot) == walked(publish(fresh)) == seen


def test_a_snapshot_is_as_it_was_after_everything_that_followed() -> None:
    seen = [(snapshot, [each(snapshot) for each in READS]) for _, snapshot in every(9)]
    for snapshot, answers in reversed(seen):
        assert [each(snapshot) for each in READS] == answers


def every(step: int) -> Iterator[tuple[State, Snapshot]]:
    for place, found in enumerate(versions_of(history())):
        if place % step == 0:
            yield found


def test_a_snapshot_has_no_later_version() -> None:
    first, *_, (_, last) = versions_of(history()[:20])
    with pytest.raises(PointOutOfRange):
        first[1].as_of(last.version)


# --- threads ----------------------------------------------------------------------------------


def test_readers_in_other_threads_get_the_answers_of_their_version() -> None:
    log = history()
    published: list[Snapshot] = []
    given: list[tuple[int, int, Any]] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for _, snapshot in versions_of(log):
                published.append(snapshot)
        except BaseException as error:  # noqa: BLE001 - the test raises it
            errors.append(error)
        finally:
            done.set()

    def look(seed: int) -> None:
        source = seeded(seed)
        try:
            while not done.is_set():
                count = len(published)
                if count:
                    snapshot = published[source.choice((count - 1, source.randrange(count)))]
                    place = source.randrange(len(READS))
                    given.append((snapshot.version, place, READS[place](snapshot)))
        except BaseException as error:  # noqa: BLE001 - the test raises it
            errors.append(error)

    with switching_often():
        threads = [threading.Thread(target=write)]
        threads += [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    asked = {(version, place) for version, place, _ in given}
    assert len(asked) > len(READS)
    expected = {
        (snapshot.version, place): READS[place](snapshot)
        for _, snapshot in versions_of(log)
        for place in range(len(READS))
        if (snapshot.version, place) in asked
    }
    wrong = [(version, place) for version, place, got in given if got != expected[version, place]]
    assert wrong == []


# --- reads change nothing ---------------------------------------------------------------------

CACHES = frozenset({"_cache", "_index", "_sorted", "_cached", "_sets_with", "_numbers", "_floats"})
"""Attributes that a query may replace: what they hold is computed again if it is missing."""
ON_DEMAND = frozenset({"lexicon", "statements", "sequence", "passages", "terms", "past"})
"""Parts of a state that are extended when a query needs them, and caches."""


def fingerprint(value: Any, path: str = "", found: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return everything that a state consists of, caches excepted, by its path."""
    found = {} if found is None else found
    if isinstance(value, Lazy):
        return found
    if isinstance(value, np.ndarray):
        found[path] = value.__array_interface__["data"], value.shape, value.tobytes()
    elif type(value).__module__.startswith("mnemic.projections") and hasattr(value, "__dict__"):
        for name, part in vars(value).items():
            if name not in CACHES | ON_DEMAND:
                fingerprint(part, f"{path}.{name}", found)
    elif isinstance(value, dict):
        found[path] = list(value), len(value)
        for key, part in value.items():
            fingerprint(part, f"{path}[{key!r}]", found)
    else:
        found[path] = repr(value)
    return found


def test_a_read_changes_neither_what_was_published_nor_what_was_written_since() -> None:
    log, state = history(), State()
    half = 2 * len(log) // 3
    for recorded in log[:half]:
        apply(state, recorded)
    snapshot = publish(state)
    for recorded in log[half:]:  # not published
        apply(state, recorded)
    before = fingerprint(state)
    for each in READS:
        each(snapshot)
    after = fingerprint(state)
    assert {path for path in before | after if before.get(path) != after.get(path)} == set()
    assert state.version > snapshot.version
