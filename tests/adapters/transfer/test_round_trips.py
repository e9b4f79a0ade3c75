"""Any history, exported and imported at any version: the same chain, texts and decisions."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.receipt_replay import verify
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of
from mnemic.specs.strategies import commands, episodes
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.agents import TIGHT, Agent, Command
from tests.agreement.log_checker import read
from tests.agreement.snapshots import StateDict, state_of_view

ASKED = (
    commands.Recall(query="angle 0: one"),
    commands.Recall(query=None, frame="task"),
    commands.Recall(query="angle 318: one two", top_k=2),
)
HISTORIES: st.SearchStrategy[list[Command]] = st.builds(
    lambda first, then, erased: [*first, *ASKED, *then, *erased, *ASKED],
    commands.histories(max_size=15),
    st.one_of(commands.visits(), episodes.eventful_histories(most=2)),
    st.lists(st.builds(commands.Erase, block=st.integers(min_value=0, max_value=9)), max_size=2),
)
BACK = st.integers(min_value=0, max_value=20)
"""Versions that a copy lacks."""


def played(history: list[Command]) -> tuple[MemoryStore, SyncMemory]:
    """Run a history, every command with an id; refused ones are left out."""
    store, clock = MemoryStore(), ManualClock()
    agent = Agent("ann", store, embedder=PlaneEmbedder(), clock=clock, policy=TIGHT)
    for step, command in enumerate(history):
        call = agent.call(command, list(agent.space.state.catalogue.ids), [])
        if call is not None:
            try:
                call(f"c{step}")
            except Refused:
                continue
    memory: SyncMemory = agent.memory
    memory.status()
    return store, memory


def decisions(memory: SyncMemory, upto: int) -> list[str]:
    """Return the ids of the decisions in a log up to a version."""
    moments = [each for page in range(0, upto + 1, 1000) for each in memory.log(after=page - 1)]
    return [f"d{each.version}" for each in moments if each.kind == "recall-recorded"
            and each.version <= upto]  # fmt: skip


def then(store: MemoryStore, space: str, version: int) -> StateDict:
    """Return the whole state of a space at a version, read out of its log."""
    state = rebuild(State(), read(store.log(space)))
    return state_of_view(as_of(state, version))


def reader(store: MemoryStore, space: str) -> SyncMemory:
    return SyncMemory.open(store, space=space, embedder=PlaneEmbedder(), read_only=True)


@given(history=HISTORIES)
def test_a_whole_memory_round_trips_byte_for_byte(history: list[Command]) -> None:
    store, memory = played(history)
    target = MemoryStore()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.ndjson"
        memory.export(path)
        SyncMemory.import_space(path, target)
        original, copied = store.log("default"), target.log("default")
        answer = decisions(memory, memory.status().version)
        checks = [verify(memory.receipt(each), path).verdict for each in answer]
    assert copied.head() == original.head()
    assert list(copied.read()) == list(original.read())
    ids = [f"c{step}" for step in range(len(history))]
    assert [copied.command(each) for each in ids] == [original.command(each) for each in ids]
    with reader(target, "default") as copy:
        assert copy.verify() == memory.verify()
        assert [copy.replay(each) for each in answer] == [memory.replay(each) for each in answer]
    assert set(checks) <= {"confirmed"}


@given(history=HISTORIES, back=BACK)
def test_import_and_fork_at_any_version_are_equal_and_sound(
    history: list[Command], back: int
) -> None:
    store, memory = played(history)
    version = max(0, memory.status().version - back)
    fork = memory.fork("fork", version=version)
    with TemporaryDirectory() as folder:
        memory.export(Path(folder) / "log.ndjson", upto=version)
        SyncMemory.import_space(Path(folder) / "log.ndjson", store, space="import")
    forked, imported = (store.log(name).read(-1, version) for name in ("fork", "import"))
    assert list(forked) == list(imported) == list(store.log("default").read(-1, version))
    answer = decisions(memory, version)
    for name in ("fork", "import"):
        with reader(store, name) as copy:
            assert copy.verify().sound
            assert copy.status().version == version + len(fork.erasures)
            for each in answer:
                replayed = copy.replay(each)
                # What a copy erases anew has no context, so more may depend on it.
                is_sealed = replayed.outcome == "sealed" and bool(fork.erasures)
                assert is_sealed or replayed == memory.replay(each)
        assert then(store, name, version) == then(store, "default", version)
