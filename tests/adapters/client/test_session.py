"""The state that a client keeps: its session, its recent ids, and its connection."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mnemic.adapters.client import Memory, SyncMemory
from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import (
    Closed,
    FieldRefused,
    Forbidden,
    PointOutOfRange,
    SessionState,
    SpaceNotFound,
    Unauthenticated,
)
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.adapters.client.serving import Served


def recent(memory: SyncMemory) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    return (
        memory.last_learned_block_id,
        memory.last_recall_block_ids,
        memory.session_block_ids,
    )


def test_recent_ids_are_kept_as_a_handle_in_the_process_keeps_them(memory: SyncMemory) -> None:
    assert recent(memory) == (None, (), ())
    gate = memory.learn("angle 0: the gate opens at six").block_id
    again = memory.learn("angle 0: the gate opens at six")
    several = memory.learn_many(["angle 900: tea", "angle 100: oil", ""])
    tea, oil = (each.block_id for each in several.results)
    assert again.action == "restated"
    assert recent(memory) == (oil, (), (gate, tea, oil))
    recalled = memory.recall("angle 0: gate", top_k=1).block_ids
    coffee = memory.revise(tea, "angle 900: coffee").block_id
    memory.outcome([oil], signal=1.0)
    assert recent(memory) == (coffee, recalled, (gate, tea, oil, coffee))
    said = memory.add([{"role": "user", "content": "angle 300: bread"}]).results[0].block_id
    assert recent(memory) == (said, recalled, (gate, tea, oil, coffee, said))
    with memory.session():
        assert recent(memory) == (None, (), ())


def test_a_view_of_the_past_leaves_no_recent_ids(memory: SyncMemory) -> None:
    memory.learn("the gate opens at six")
    memory.consolidate()
    assert memory.as_of(version=memory.status().version).recall("gate").block_ids != ()
    assert memory.last_recall_block_ids == ()


def test_time_passes_in_a_session_and_commands_belong_to_it(
    memory: SyncMemory, clock: ManualClock
) -> None:
    with memory.session() as session:
        clock.advance(hours=0.5)
        memory.learn("the gate opens at six")
        assert memory.status().hour == 0.5
    learned = next(each for each in memory.log() if each.kind == "block-learned")
    assert (learned.session_id, learned.actor, learned.hour) == (session, "ines", 0.5)
    with pytest.raises(SessionState):
        memory.end_session()


def test_another_client_can_continue_a_session(server: Served, memory: SyncMemory) -> None:
    ben = server.token("ben")
    with SyncMemory.open(server.address, token=ben) as first:
        started = first.start_session()
    with SyncMemory.open(server.address, token=ben, session=started.session_id) as second:
        second.learn("the gate opens at six")
        assert second.end_session().session_id == started.session_id
    assert memory.status().open_sessions == ()


def test_operations_continue_after_another_client_ended_the_session(server: Served) -> None:
    ben = server.token("ben")
    with SyncMemory.open(server.address, token=ben, make=True) as memory:
        session = memory.start_session().session_id
        with SyncMemory.open(server.address, token=ben, session=session) as other:
            other.end_session()
        assert memory.learn("the gate opens at six").action == "created"
        assert memory.recall("gate").decision_id is not None
        written = [each for each in memory.log() if each.kind == "block-learned"]
        assert [each.session_id for each in written] == [None]


def test_a_new_session_can_begin_after_another_client_ended_one(server: Served) -> None:
    ben = server.token("ben")
    with SyncMemory.open(server.address, token=ben, make=True) as memory:
        session = memory.start_session().session_id
        with SyncMemory.open(server.address, token=ben, session=session) as other:
            other.end_session()
        started = memory.start_session().session_id
        assert memory.status().open_sessions == (started,)


def test_a_session_of_another_actor_is_kept(server: Served) -> None:
    ben, ines = server.token("ben"), server.token("ines")
    with SyncMemory.open(server.address, token=ben, make=True) as memory:
        session = memory.start_session().session_id
    with SyncMemory.open(server.address, token=ines, session=session) as memory:
        for _ in range(2):
            with pytest.raises(SessionState, match="not started by"):
                memory.learn("the gate opens at six")


@pytest.mark.anyio
async def test_an_async_client_continues_after_its_session_was_ended(server: Served) -> None:
    ben = server.token("ben")
    async with Memory.open(server.address, token=ben, make=True) as memory:
        started = await memory.start_session()
        async with Memory.open(server.address, token=ben, session=started.session_id) as other:
            await other.end_session()
        assert (await memory.learn("the gate opens at six")).action == "created"
        with pytest.raises(SessionState):
            await memory.end_session()


def test_a_failing_block_ends_its_session(memory: SyncMemory) -> None:
    with pytest.raises(FieldRefused), memory.session():
        memory.learn("x", confidence=2.0)
    assert memory.status().open_sessions == ()


# --- views --------------------------------------------------------------------------------------


def test_a_view_of_the_current_hour_does_not_change(memory: SyncMemory) -> None:
    memory.learn("the gate opens at six")
    views = [
        memory.as_of(hour=2.0),
        memory.as_of(version=memory.status().version),
        memory.as_of(at="2030-01-01"),
    ]
    answer = [view.status() for view in views]
    memory.learn("the crane needs oil")
    assert [view.status() for view in views] == answer
    assert [(view.version, view.hour) for view in views] == [
        (each.version, each.hour) for each in answer
    ]
    assert [view.hour for view in views] == [2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "point",
    [{}, {"hour": 1.0, "version": 1}, {"hour": "1"}, {"version": "1"}, {"version": True}],
)
def test_an_invalid_time_point_is_refused(memory: SyncMemory, point: dict[str, int]) -> None:
    with pytest.raises(FieldRefused):
        memory.as_of(**point)  # type: ignore[arg-type]


def test_a_missing_time_point_is_refused_at_once(memory: SyncMemory) -> None:
    with pytest.raises(PointOutOfRange):
        memory.as_of(version=999)


# --- who may what -------------------------------------------------------------------------------


def test_a_space_is_created_only_on_request(server: Served) -> None:
    token = server.token()
    with (
        SyncMemory.open(server.address, token=token) as memory,
        pytest.raises(SpaceNotFound, match="no space 'default'"),
    ):
        memory.status()
    with SyncMemory.open(server.address, token=token, make=True) as memory:
        assert memory.status().space == "default"
    with SyncMemory.open(server.address, token=token, make=True) as again:
        assert again.status().version == 1


def test_an_unauthorized_client_gets_an_error(server: Served, memory: SyncMemory) -> None:
    reader = server.token("reader", {"default": "read"})
    with SyncMemory.open(server.address, token=reader) as reading:
        assert reading.status() == memory.status()
        with pytest.raises(Forbidden):
            reading.learn("the gate opens at six")
    with SyncMemory.open(server.address, token="") as nobody, pytest.raises(Unauthenticated):
        nobody.status()
    with pytest.raises(Forbidden):
        SyncMemory.open(server.address, token=reader, make=True)


# --- ends ---------------------------------------------------------------------------------------


def test_a_closed_memory_is_closed(memory: SyncMemory) -> None:
    view = memory.as_of(version=0)
    memory.close()
    memory.close()
    for ask in (memory.status, view.status, lambda: next(memory.events())):
        with pytest.raises(Closed):
            ask()
    assert memory.guide("learn").name == "learn"


@pytest.mark.anyio
async def test_an_async_memory_is_entered_first_and_closed_at_the_end(server: Served) -> None:
    memory = Memory.open(server.address, token=server.token(), make=True)
    with pytest.raises(Closed, match="not open"):
        await memory.status()
    async with memory:
        assert (await memory.status()).version == 1
        assert (await memory.policy()).id == (await memory.status()).policy_id
    with pytest.raises(Closed, match="is closed"):
        await memory.status()


def test_many_threads_share_a_client(memory: SyncMemory) -> None:
    def learn(number: int) -> str:
        return memory.learn(f"lesson {number}").block_id

    with ThreadPoolExecutor(8) as pool:
        learned = [*pool.map(learn, range(40))]
    assert len({*learned}) == 40
    assert {*learned} == {*memory.session_block_ids}
    assert memory.status().inbox == 40


# --- what a server cannot be given --------------------------------------------------------------


def test_shipped_embedders_are_sent_by_name_and_others_refused(memory: SyncMemory) -> None:
    memory.learn("the gate opens at six")
    memory.consolidate()
    steps: list[tuple[int, int]] = []
    answer = memory.reembed(BundledEmbedder(), progress=lambda *step: steps.append(step))
    assert (answer.embedder, answer.staged, steps) == ("wordllama/l2_supercat", 1, [(1, 1)])
    assert memory.reembed("bundled").staged == 0
    for other in (PlaneEmbedder(), "own"):
        with pytest.raises(FieldRefused) as refused:
            memory.reembed(other)  # type: ignore[arg-type]
        assert refused.value.facts == {"field": "embedder"}


def test_files_of_the_server_cannot_be_named(memory: SyncMemory, tmp_path: Path) -> None:
    with pytest.raises(FieldRefused) as refused:
        memory.fork("copy", into=tmp_path / "other.db")
    assert refused.value.facts == {"field": "into"}
    assert memory.fork("copy", version=1).version == 1
