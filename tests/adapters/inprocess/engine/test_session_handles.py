"""Session handles: callers of one open memory with actors, sessions and recent ids of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Closed, MnemicError
from mnemic.kernel.events import EmbedderIdentity
from tests.adapters.inprocess.conftest import Open
from tests.adapters.inprocess.engine.blocking_embedder import PATIENCE_S, Barrier
from tests.adapters.inprocess.engine.test_two_handles import Interrupted


def refusal(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(MnemicError) as caught:
        call()
    return caught.value.code, caught.value.recovery


def written(memory: SyncMemory, after: int = 1) -> list[tuple[str, str | None, str | None]]:
    log = memory.log(after=after, limit=1000)
    return [(moment.kind, moment.actor, moment.session_id) for moment in log]


# --- of their own -------------------------------------------------------------------------------


def test_each_session_handle_writes_under_its_own_actor_and_session(opened: Open) -> None:
    memory = opened(actor="host")
    ines, omar = memory.session_handle(actor="ines"), memory.session_handle(actor="omar")
    first, second = ines.start_session().session_id, omar.start_session().session_id
    memory.learn("said by the host")
    ines.learn("said by Ines")
    omar.learn("said by Omar")
    assert written(memory) == [
        ("session-started", "ines", first),
        ("session-started", "omar", second),
        ("block-learned", "host", None),
        ("block-learned", "ines", first),
        ("block-learned", "omar", second),
    ]
    assert ines.status() == omar.status() == memory.status()


def test_each_session_handle_has_its_own_recent_ids(memory: SyncMemory) -> None:
    one, two = memory.session_handle(actor="ines"), memory.session_handle(actor="ines")
    gate = one.learn("the harbour gate").block_id
    crane = two.learn("a crane").block_id
    assert one.recall("crane", top_k=1).block_ids == (crane,)
    assert (memory.last_learned_block_id, memory.session_block_ids) == (None, ())
    assert (one.last_learned_block_id, one.last_recall_block_ids) == (gate, (crane,))
    assert (two.last_learned_block_id, two.last_recall_block_ids) == (crane, ())
    two.start_session()
    assert (one.session_block_ids, two.session_block_ids) == ((gate, crane), ())


def test_a_session_handle_can_create_session_handles(memory: SyncMemory) -> None:
    ines = memory.session_handle(actor="ines")
    ines.start_session()
    with ines.session_handle(actor="omar") as omar:
        omar.learn("said by Omar")
    assert written(memory, after=2) == [("block-learned", "omar", None)]


def test_a_session_handle_needs_a_valid_actor(memory: SyncMemory) -> None:
    assert refusal(lambda: memory.session_handle(actor=""))[0] == "field-refused"
    assert refusal(lambda: memory.session_handle(actor=None))[0] == "field-refused"  # type: ignore[arg-type]
    assert refusal(lambda: memory.session_handle(actor="a", session=3))[0] == "field-refused"  # type: ignore[arg-type]


def test_a_session_handle_on_a_read_only_memory_can_read(opened: Open) -> None:
    opened().learn("the harbour gate")
    reader = opened(read_only=True).session_handle(actor="ines")
    assert reader.recall("harbour").decision_id is None
    assert refusal(reader.start_session)[0] == "view-read-only"
    assert refusal(lambda: reader.learn("more"))[0] == "view-read-only"


# --- going on with a session --------------------------------------------------------------------


def test_a_session_is_continued_by_its_id(memory: SyncMemory, clock: ManualClock) -> None:
    session = memory.session_handle(actor="ines").start_session().session_id
    clock.advance(minutes=30)
    again = memory.session_handle(actor="ines", session=session)
    again.learn("half an hour later")
    assert refusal(again.start_session)[0] == "session-state"
    assert again.end_session().to_dict() == {
        "session_id": session,
        "action": "ended",
        "hour": 0.5,
        "superseded": [],
        "contradictions": [],
    }
    assert {each[2] for each in written(memory)} == {session}


def test_a_session_outlives_the_memory_it_was_begun_on(opened: Open, path: Path) -> None:
    with opened(path) as first:
        session = first.session_handle(actor="ines").start_session().session_id
    later = opened(path).session_handle(actor="ines", session=session)
    assert later.end_session().session_id == session


def test_the_session_of_another_actor_is_refused(memory: SyncMemory) -> None:
    session = memory.session_handle(actor="ines").start_session().session_id
    assert refusal(lambda: memory.session_handle(actor="omar", session=session)) == (
        "session-state",
        "Continue it as the actor that started it, or start another session.",
    )


def test_an_ended_or_unknown_session_is_refused(memory: SyncMemory) -> None:
    ines = memory.session_handle(actor="ines")
    ended = ines.start_session().session_id
    ines.end_session()
    expected = ("session-state", "Start a session, or leave the session out.")
    assert refusal(lambda: memory.session_handle(actor="ines", session=ended)) == expected
    assert refusal(lambda: memory.session_handle(actor="ines", session="nobody")) == expected


def test_ending_a_session_ends_it_for_all_session_handles(memory: SyncMemory) -> None:
    one = memory.session_handle(actor="ines")
    session = one.start_session().session_id
    two = memory.session_handle(actor="ines", session=session)
    two.end_session()
    one.learn("afterwards")
    assert written(memory)[-1] == ("block-learned", "ines", None)
    assert refusal(one.end_session)[0] == "session-state"
    assert one.start_session().session_id != session


def test_a_command_id_gives_no_access_to_another_actors_session(memory: SyncMemory) -> None:
    ines, omar = memory.session_handle(actor="ines"), memory.session_handle(actor="omar")
    started = ines.start_session(command_id="begin")
    assert omar.start_session(command_id="begin").session_id != started.session_id
    assert memory.session_handle(actor="ines").start_session(command_id="begin") == started
    ended = ines.end_session(command_id="end")
    assert omar.end_session(command_id="end").session_id != ended.session_id
    assert ines.end_session(command_id="end") == ended


# --- closing ------------------------------------------------------------------------------------


def test_closing_a_session_handle_leaves_others_open(memory: SyncMemory) -> None:
    one, two = memory.session_handle(actor="ines"), memory.session_handle(actor="omar")
    session = one.start_session().session_id
    one.close()
    one.close()
    assert refusal(one.status)[0] == "closed"
    assert two.status().open_sessions == memory.status().open_sessions == (session,)


def test_closing_the_memory_closes_every_session_handle(opened: Open, path: Path) -> None:
    memory = opened(path)
    session_handle = memory.session_handle(actor="ines")
    memory.close()
    operations = (
        session_handle.status,
        lambda: session_handle.learn("more"),
        lambda: session_handle.session_handle(actor="omar"),
    )
    assert [refusal(operation)[0] for operation in operations] == ["closed"] * 3
    session_handle.close()


def test_an_operation_in_progress_when_the_memory_closes_writes_nothing(
    opened: Open, path: Path
) -> None:
    gate = Barrier()
    memory = opened(path, embedder=gate)
    memory.learn("pending")
    session_handle, found = memory.session_handle(actor="ines"), list[tuple[str, str]]()
    thread = threading.Thread(target=lambda: found.append(refusal(session_handle.consolidate)))
    thread.start()
    assert gate.reached.wait(PATIENCE_S)
    memory.close()
    gate.opened.set()
    thread.join()
    assert found == [("closed", "Open the memory again.")]
    assert opened(path).status().inbox == 1


# --- at once ------------------------------------------------------------------------------------


def concurrently(*operations: Callable[[], object]) -> list[object]:
    """Run each operation on a thread of its own, and return each answer or exception."""
    answers: list[object] = [None] * len(operations)
    start = threading.Barrier(len(operations))

    def run(place: int, operation: Callable[[], object]) -> None:
        start.wait(PATIENCE_S)
        try:
            answers[place] = operation()
        except BaseException as error:  # noqa: BLE001 - returned to the test
            answers[place] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(operations)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


class BarrierEmbedder:
    """The hash embedder; each thread's first call waits for a given number of threads."""

    def __init__(self, callers: int, dimension: int = 64) -> None:
        self._behind = HashEmbedder(dimension)
        self.identity: EmbedderIdentity = self._behind.identity
        self._meeting = threading.Barrier(callers)
        self._met = threading.local()

    def embed(self, texts: Sequence[str]) -> Any:
        if not hasattr(self._met, "before"):
            self._met.before = True
            self._meeting.wait(PATIENCE_S)
        return self._behind.embed(texts)


def test_two_consolidations_at_once_promote_each_block_once(opened: Open) -> None:
    memory = opened(embedder=BarrierEmbedder(2))
    handles = [memory.session_handle(actor=actor) for actor in ("ines", "omar")]
    blocks = memory.learn_many([f"note {n}" for n in range(100)]).results
    done = concurrently(*(session_handle.consolidate for session_handle in handles))
    assert sum(each.promoted for each in done) == 100  # type: ignore[attr-defined]
    assert memory.status().active == 100
    assert [memory.block(each.block_id).reinforcements for each in blocks] == [1] * 100
    assert memory.verify().sound


def test_concurrent_repetition_of_a_consolidation_runs_once(opened: Open) -> None:
    memory = opened(embedder=BarrierEmbedder(2))
    handles = [memory.session_handle(actor="ines") for _ in range(2)]
    memory.learn_many([f"note {n}" for n in range(100)])
    one, two = concurrently(
        *(
            lambda session_handle=session_handle: session_handle.consolidate(command_id="c")
            for session_handle in handles
        )
    )
    assert one == two == handles[0].consolidate(command_id="c")
    assert (memory.status().active, memory.status().inbox) == (100, 0)


def test_a_concurrently_repeated_consolidation_is_answered_from_the_log(opened: Open) -> None:
    slow = Interrupted()
    memory = opened(embedder=slow)
    one, two = memory.session_handle(actor="ines"), memory.session_handle(actor="ines")
    memory.learn("the harbour gate")

    def meanwhile() -> None:
        memory.learn("the harbour crane")
        two.consolidate(command_id="c")

    slow.meanwhile = meanwhile
    done = one.consolidate(command_id="c")
    assert (done.promoted, done.chunks) == (2, 1)
    assert done == two.consolidate(command_id="c")


def test_concurrent_repetition_of_a_recall_is_one_decision(opened: Open) -> None:
    memory = opened(embedder=BarrierEmbedder(2))
    memory.learn("the harbour gate")
    memory.learn("the harbour crane")
    concurrently(
        memory.session_handle(actor="a").consolidate, memory.session_handle(actor="b").consolidate
    )
    one, two = concurrently(
        lambda: memory.session_handle(actor="ines").recall("harbour", command_id="r"),
        lambda: memory.session_handle(actor="ines").recall("harbour", command_id="r"),
    )
    assert one == two
    assert memory.status().decisions == 1


def test_concurrent_repetition_of_start_session_is_one_session(memory: SyncMemory) -> None:
    one, two = memory.session_handle(actor="ines"), memory.session_handle(actor="ines")
    first, second = concurrently(
        *(
            lambda session_handle=session_handle: session_handle.start_session(command_id="s")
            for session_handle in (one, two)
        )
    )
    assert first == second
    one.learn("a")
    two.learn("b")
    assert {each[2] for each in written(memory)} == {first.session_id}  # type: ignore[attr-defined]


def test_a_recall_uses_the_embedder_adopted_while_it_waited(opened: Open) -> None:
    gate = Barrier()
    gate.opened.set()
    memory = opened(embedder=gate)
    memory.learn("the harbour gate")
    memory.consolidate()
    gate.opened.clear()
    gate.reached.clear()
    session_handle, found = memory.session_handle(actor="ines"), list[Any]()
    thread = threading.Thread(target=lambda: found.append(session_handle.recall("harbour gate")))
    thread.start()
    assert gate.reached.wait(PATIENCE_S)
    memory.reembed(HashEmbedder(32))
    gate.opened.set()
    thread.join()
    (answer,) = found
    assert memory.replay(answer.decision_id).recall == answer


def test_a_recall_whose_session_ends_meanwhile_is_recorded_without_session(opened: Open) -> None:
    gate = Barrier()
    gate.opened.set()
    memory = opened(embedder=gate)
    session_handle = memory.session_handle(actor="ines")
    session = session_handle.start_session().session_id
    session_handle.learn("the harbour gate")
    session_handle.consolidate()
    memory.session_handle(
        actor="omar"
    ).start_session()  # the latest session, without learned blocks
    gate.opened.clear()
    gate.reached.clear()
    found = list[Any]()
    thread = threading.Thread(
        target=lambda: found.append(session_handle.recall("harbour gate", frame="short_term"))
    )
    thread.start()
    assert gate.reached.wait(PATIENCE_S)
    memory.session_handle(actor="ines", session=session).end_session()
    gate.opened.set()
    thread.join()
    (answer,) = found
    assert answer.block_ids == ()
    assert memory.replay(answer.decision_id).recall == answer
    assert written(memory)[-1] == ("recall-recorded", "ines", None)


def test_all_session_handles_use_the_embedder_adopted_by_one(memory: SyncMemory) -> None:
    memory.learn("the harbour gate")
    session_handle, other = memory.session_handle(actor="ines"), memory.session_handle(actor="omar")
    session_handle.consolidate()
    session_handle.reembed(HashEmbedder(32))
    assert other.recall("harbour gate").block_ids == memory.recall("harbour gate").block_ids != ()


# --- async --------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_async_session_handles_run_concurrently(clock: ManualClock) -> None:
    # Both recalls wait for each other in the embedder: run in sequence they would never finish.
    meeting = BarrierEmbedder(3)
    async with Memory.open(":memory:", embedder=meeting, clock=clock) as memory:
        await memory.learn("the harbour gate")
        handles = [await memory.session_handle(actor=actor) for actor in ("ines", "omar", "zoe")]
        async with anyio.create_task_group() as tasks:
            for session_handle in handles:
                tasks.start_soon(session_handle.recall, "harbour gate")
        actors = [each.actor for each in await memory.log() if each.kind == "recall-recorded"]
        assert sorted(str(actor) for actor in actors) == ["ines", "omar", "zoe"]


@pytest.mark.anyio
async def test_async_session_handles_continue_sessions_and_close_individually(
    clock: ManualClock,
) -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder(), clock=clock) as memory:
        async with await memory.session_handle(actor="ines") as ines:
            session = (await ines.start_session()).session_id
            learned = await ines.learn("the harbour gate")
        with pytest.raises(Closed):
            await ines.status()
        again = await memory.session_handle(actor="ines", session=session)
        assert (again.last_learned_block_id, again.session_block_ids) == (None, ())
        assert (await again.block(learned.block_id)).content == "the harbour gate"
        with pytest.raises(MnemicError) as caught:
            await memory.session_handle(actor="omar", session=session)
        assert caught.value.code == "session-state"
        assert (await again.end_session()).session_id == session


@pytest.mark.anyio
async def test_closing_an_async_memory_waits_for_its_session_handles(path: Path) -> None:
    gate = Barrier()
    async with Memory.open(path, embedder=gate, synchronous="normal") as memory:
        await memory.learn("pending")
        session_handle = await memory.session_handle(actor="ines")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session_handle.consolidate)
            await gate.wait_until_reached()
            tasks.start_soon(memory.close)
            await anyio.wait_all_tasks_blocked()
            gate.opened.set()
        with pytest.raises(Closed):
            await session_handle.status()
    async with Memory.open(path, embedder=HashEmbedder()) as later:
        assert (await later.status()).active == 1


@pytest.mark.anyio
async def test_an_unopened_memory_has_no_session_handles() -> None:
    with pytest.raises(Closed):
        await Memory.open(":memory:").session_handle(actor="ines")
