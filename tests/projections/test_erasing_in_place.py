"""Erasing in place gives the state that a replay of the log gives without the erased texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import BlockErased, BlockLearned, Recorded
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import ERASED, Payload
from mnemic.kernel.policy import DEFAULT
from mnemic.projections.state.apply import apply
from mnemic.projections.state.checkpoint import freeze, thaw
from mnemic.projections.state.erasing import Capture, erased
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from tests.agreement.log_checker import read
from tests.projections.histories import logs


def without(value: Any, owners: Collection[str]) -> Any:
    """Return an event, or a part of one, without the payloads of *owners*."""
    if isinstance(value, Payload):
        return ERASED if set(value.of) & set(owners) else value
    if isinstance(value, tuple):
        return tuple(without(each, owners) for each in value)
    if not attrs.has(type(value)):
        return value
    changes = {
        field.name: new
        for field in attrs.fields(type(value))
        if (new := without(old := getattr(value, field.name), owners)) is not old and new != old
    }
    return attrs.evolve(value, **changes) if changes else value


def gone(log: Iterable[Recorded], owners: Collection[str]) -> list[Recorded]:
    return [attrs.evolve(each, event=without(each.event, owners)) for each in log]


def erasures(log: list[Recorded], blocks: Iterable[BlockId]) -> list[Recorded]:
    """Return the events that record the erasure of *blocks* behind *log*."""
    last = log[-1]
    return [
        Recorded(
            version=version,
            active_us=last.active_us,
            recorded_us=last.recorded_us,
            command_id=CommandId("erase"),
            event=BlockErased(block_id=block, context=()),
        )
        for version, block in enumerate(blocks, start=last.version + 1)
    ]


def ids(log: Iterable[Recorded]) -> list[BlockId]:
    return list(
        dict.fromkeys(each.event.block_id for each in log if isinstance(each.event, BlockLearned))
    )


def differing(one: State, other: State) -> list[str]:
    """Return the names of the arrays in which two states differ."""
    left, right = comparable(freeze(one)), comparable(freeze(other))
    return sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))


def comparable(parts: Mapping[str, NDArray[Any]]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (part.dtype.str, part.shape, part.tobytes()) for name, part in parts.items()}


LONG = ". ".join(f"sentence {number} of a long story about the harbour" for number in range(14))
CONTENTS = st.one_of(
    st.lists(
        st.sampled_from("the bees tea harbour walking walked night orange jazz".split()),
        min_size=1,
        max_size=7,
    ).map(" ".join),
    st.sampled_from(
        (
            "Anna hat die Katzen ihrer Nachbarin gefüttert",
            "Die Katzen von Anna schlafen am Abend in der Küche",
            "und das ist nicht 1.234,5",
            "Les chats dorment sous la table",
            "Анна кормит кошек своей соседки каждый вечер",
            "猫は夜に庭を歩く",
            "in Berlin there were 1.234,5 bees",
            LONG,
            f"{LONG}. The bees walked home",
            f"bees. {LONG}. Night",
            f"{LONG}. Die Katzen schlafen am Abend in der Küche und nicht unter dem Tisch. {LONG}",
        )
    ),
)
HOURS = st.sampled_from((0, 1, 2, 3, 4, 7, 23))
TALKS = st.lists(
    st.fixed_dictionaries(
        {"content": CONTENTS, "tags": st.lists(st.sampled_from("abcd"), max_size=2, unique=True)},
        optional={
            "author": st.sampled_from(("Ann Miller", "Ben", "user")),
            "thread": st.sampled_from(("talk", "walk")),
            "category": st.just("message"),
            "metadata": st.sampled_from(({"role": "user"}, {"of": "zanzibar"})),
            "created_at": st.one_of(
                st.just("unknown"),
                HOURS.map("2026-01-01T{:02}:00Z".format),
            ),
        },
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Recorded]:
    """Logs of texts in several languages, threads and lengths, some of them replaced by others."""
    store, clock = MemoryStore(), ManualClock()
    policy = attrs.evolve(DEFAULT, name="eager", auto_consolidate=False, tags_max=3)
    with SyncMemory.open(store, embedder=HashEmbedder(8), clock=clock, policy=policy) as memory:
        for _ in range(draw(st.integers(1, 4))):
            learned = [each.block_id for each in memory.learn_many(draw(TALKS)).results]
            block = st.sampled_from(learned)
            if draw(st.booleans()):
                memory.consolidate()
            for _ in range(draw(st.integers(0, 3))):
                with suppress(Refused):
                    _take_turn(draw, memory, block)
    return read(store.log("default"))


def _take_turn(draw: st.DrawFn, memory: SyncMemory, block: st.SearchStrategy[str]) -> None:
    match draw(st.integers(0, 4)):
        case 0:
            memory.connect(draw(block), draw(block), "supports", note="so it is")
        case 1:
            memory.compose(
                [{"block_id": draw(block), "preview": "as it was"}, draw(block)], query="why"
            )
        case 2:
            memory.revise(draw(block), draw(CONTENTS))
        case 3:
            memory.recall("bees at night", top_k=3)
        case _:
            memory.learn(draw(CONTENTS), tags=["later"])


@given(log=st.one_of(logs(), conversations(), conversations()), data=st.data())
def test_a_state_erased_in_place_equals_one_that_is_replayed(
    log: list[Recorded], data: st.DataObject
) -> None:
    """Several erasures in a row, each of several blocks, on a state that may come from arrays."""
    state = rebuild(State(), log)
    if data.draw(st.booleans(), label="thawed"):
        state = thaw(freeze(state))
    for _ in range(data.draw(st.integers(1, 3), label="erasures")):
        blocks = data.draw(st.lists(st.sampled_from(ids(log)), min_size=1, max_size=3, unique=True))
        arrays = freeze(state)
        before = comparable(arrays)
        fresh = erasures(log, blocks)
        is_folded = data.draw(st.booleans(), label="events applied first")
        new = erased(state, blocks)
        assert comparable(arrays) == comparable(freeze(state)) == before
        if is_folded:
            for event in fresh:
                apply(state, event)
            new = erased(state, blocks)
        log = [*gone(log, blocks), *fresh]
        state = rebuild(State(), log)
        if new is not None:
            for event in () if is_folded else fresh:
                apply(new, event)
            differences = differing(new, state)
            assert differences == []
            state = new


@given(log=st.one_of(logs(), conversations()), data=st.data())
def test_what_is_derived_before_the_writer_goes_on_gives_the_same_state(
    log: list[Recorded], data: st.DataObject
) -> None:
    known = [at for at in range(len(log)) if ids(log[: at + 1])]
    cut = data.draw(st.sampled_from(known), label="last event before") + 1
    blocks = data.draw(st.lists(st.sampled_from(ids(log[:cut])), min_size=1, max_size=3))
    state = rebuild(State(), log[:cut])
    if data.draw(st.booleans(), label="searched before"):
        state.passages.settle()
        state.lexicon.settle()
    capture = Capture.of(state, blocks)
    assert capture is not None
    derived = capture.derived()
    for event in log[cut:]:
        apply(state, event)
    new = erased(state, blocks, derived)
    fresh = erasures(log, blocks)
    if new is not None:
        for event in fresh:
            apply(new, event)
        assert differing(new, rebuild(State(), [*gone(log, blocks), *fresh])) == []


def test_texts_learned_since_are_added_to_what_was_derived() -> None:
    store = MemoryStore()
    with SyncMemory.open(store, embedder=HashEmbedder(8), clock=ManualClock()) as memory:
        first = memory.learn("the bees walk at night", tags=["a"])
        memory.learn("tea in the harbour")
        memory.consolidate()
        log = read(store.log("default"))
        memory.learn("jazz at night")
        memory.connect(first.block_id, memory.blocks().items[1].id, "supports", note="so it is")
        later = read(store.log("default"))[len(log) :]
    state = rebuild(State(), log)
    state.lexicon.settle()
    capture = Capture.of(state, [first.block_id])
    assert capture is not None
    derived = capture.derived()
    for event in later:
        apply(state, event)
    assert derived.fits(state, [first.block_id])
    new = erased(state, [first.block_id], derived)
    assert new is not None
    assert new.indexes is derived.indexes
    assert new.lexicon is derived.lexicon
    assert differing(new, rebuild(State(), gone([*log, *later], [first.block_id]))) == []
