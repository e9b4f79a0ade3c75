"""Seats: several callers on one open memory, each with an actor, a session and breadcrumbs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.kernel.errors import Closed, MnemicError
from mnemic.kernel.events import EmbedderIdentity
from tests.adapters.inprocess.conftest import Open
from tests.adapters.inprocess.gates import PATIENCE_S, Gate
from tests.adapters.inprocess.test_two_handles import Interrupted


def refusal(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(MnemicError) as caught:
        call()
    return caught.value.code, caught.value.recovery


def written(memory: SyncMemory, after: int = 1) -> list[tuple[str, str | None, str | None]]:
    log = memory.log(after=after, limit=1000)
    return [(moment.kind, moment.actor, moment.session_id) for moment in log]


# --- of their own -------------------------------------------------------------------------------


def test_each_seat_writes_under_its_own_actor_and_in_its_own_session(opened: Open) -> None:
    memory = opened(actor="host")
    ines, omar = memory.seat(actor="ines"), memory.seat(actor="omar")
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


def test_each_seat_leaves_its_own_breadcrumbs(memory: SyncMemory) -> None:
    one, two = memory.seat(actor="ines"), memory.seat(actor="ines")
    gate = one.learn("the harbour gate").block_id
    crane = two.learn("a crane").block_id
    assert one.recall("crane", top_k=1).block_ids == (crane,)
    assert (memory.last_learned_block_id, memory.session_block_ids) == (None, ())
    assert (one.last_learned_block_id, one.last_recall_block_ids) == (gate, (crane,))
    assert (two.last_learned_block_id, two.last_recall_block_ids) == (crane, ())
    two.start_session()
    assert (one.session_block_ids, two.session_block_ids) == ((gate, crane), ())


def test_a_seat_of_a_seat_is_one_like_any_other(memory: SyncMemory) -> None:
    ines = memory.seat(actor="ines")
    ines.start_session()
    with ines.seat(actor="omar") as omar:
        omar.learn("said by Omar")
    assert written(memory, after=2) == [("block-learned", "omar", None)]


def test_a_seat_needs_a_name_for_its_actor(memory: SyncMemory) -> None:
    assert refusal(lambda: memory.seat(actor=""))[0] == "field-refused"
    assert refusal(lambda: memory.seat(actor=None))[0] == "field-refused"  # type: ignore[arg-type]
    assert refusal(lambda: memory.seat(actor="a", session=3))[0] == "field-refused"  # type: ignore[arg-type]


def test_a_seat_on_a_memory_that_is_only_read_reads(opened: Open) -> None:
    opened().learn("the harbour gate")
    reader = opened(read_only=True).seat(actor="ines")
    assert reader.recall("harbour").decision_id is None
    assert refusal(reader.start_session)[0] == "view-read-only"
    assert refusal(lambda: reader.learn("more"))[0] == "view-read-only"


# --- going on with a session --------------------------------------------------------------------


def test_a_session_is_gone_on_with_by_its_id(memory: SyncMemory, clock: ManualClock) -> None:
    session = memory.seat(actor="ines").start_session().session_id
    clock.advance(minutes=30)
    again = memory.seat(actor="ines", session=session)
    again.learn("half an hour later")
    assert refusal(again.start_session)[0] == "session-state"
    assert again.end_session().to_dict() == {
        "session_id": session,
        "action": "ended",
        "hour": 0.5,
    }
    assert {each[2] for each in written(memory)} == {session}


def test_a_session_outlives_the_memory_it_was_begun_on(opened: Open, path: Path) -> None:
    with opened(path) as first:
        session = first.seat(actor="ines").start_session().session_id
    later = opened(path).seat(actor="ines", session=session)
    assert later.end_session().session_id == session


def test_a_session_of_another_actor_is_refused(memory: SyncMemory) -> None:
    session = memory.seat(actor="ines").start_session().session_id
    assert refusal(lambda: memory.seat(actor="omar", session=session)) == (
        "session-state",
        "Go on with it as the actor that began it, or start one.",
    )


def test_a_session_that_has_ended_or_never_was_is_refused(memory: SyncMemory) -> None:
    ines = memory.seat(actor="ines")
    ended = ines.start_session().session_id
    ines.end_session()
    expected = ("session-state", "Leave out session, and start one.")
    assert refusal(lambda: memory.seat(actor="ines", session=ended)) == expected
    assert refusal(lambda: memory.seat(actor="ines", session="nobody")) == expected


def test_a_session_that_another_seat_ended_is_over_for_all(memory: SyncMemory) -> None:
    one = memory.seat(actor="ines")
    session = one.start_session().session_id
    two = memory.seat(actor="ines", session=session)
    two.end_session()
    one.learn("afterwards")
    assert written(memory)[-1] == ("block-learned", "ines", None)
    assert refusal(one.end_session)[0] == "session-state"
    assert one.start_session().session_id != session


def test_nobody_comes_to_a_session_of_another_actor_by_its_command_id(memory: SyncMemory) -> None:
    ines, omar = memory.seat(actor="ines"), memory.seat(actor="omar")
    started = ines.start_session(command_id="begin")
    assert refusal(lambda: omar.start_session(command_id="begin"))[0] == "command-id-reused"
    assert memory.seat(actor="ines").start_session(command_id="begin") == started
    ended = ines.end_session(command_id="end")
    assert refusal(lambda: omar.end_session(command_id="end"))[0] == "command-id-reused"
    assert ines.end_session(command_id="end") == ended


# --- closing ------------------------------------------------------------------------------------


def test_closing_a_seat_closes_nobody_else(memory: SyncMemory) -> None:
    one, two = memory.seat(actor="ines"), memory.seat(actor="omar")
    session = one.start_session().session_id
    one.close()
    one.close()
    assert refusal(one.status)[0] == "closed"
    assert two.status().open_sessions == memory.status().open_sessions == (session,)


def test_closing_the_memory_closes_every_seat(opened: Open, path: Path) -> None:
    memory = opened(path)
    seat = memory.seat(actor="ines")
    memory.close()
    verbs = (seat.status, lambda: seat.learn("more"), lambda: seat.seat(actor="omar"))
    assert [refusal(verb)[0] for verb in verbs] == ["closed"] * 3
    seat.close()


def test_a_verb_that_runs_while_the_memory_is_closed_writes_nothing(
    opened: Open, path: Path
) -> None:
    gate = Gate()
    memory = opened(path, embedder=gate)
    memory.learn("pending")
    seat, found = memory.seat(actor="ines"), list[tuple[str, str]]()
    thread = threading.Thread(target=lambda: found.append(refusal(seat.consolidate)))
    thread.start()
    assert gate.reached.wait(PATIENCE_S)
    memory.close()
    gate.opened.set()
    thread.join()
    assert found == [("closed", "Open the memory again.")]
    assert opened(path).status().inbox == 1


# --- at once ------------------------------------------------------------------------------------


def together(*verbs: Callable[[], object]) -> list[object]:
    """Run each verb on a thread of its own, and return what each answered or raised."""
    answers: list[object] = [None] * len(verbs)
    start = threading.Barrier(len(verbs))

    def run(place: int, verb: Callable[[], object]) -> None:
        start.wait(PATIENCE_S)
        try:
            answers[place] = verb()
        except BaseException as error:  # noqa: BLE001 - told to the test
            answers[place] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(verbs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


class Meeting:
    """The hash embedder, for the first of whose questions as many callers have to come as meet."""

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
    memory = opened(embedder=Meeting(2))
    seats = [memory.seat(actor=actor) for actor in ("ines", "omar")]
    blocks = memory.learn_many([f"note {n}" for n in range(100)]).results
    done = together(*(seat.consolidate for seat in seats))
    assert sum(each.promoted for each in done) == 100  # type: ignore[attr-defined]
    assert memory.status().active == 100
    assert [memory.block(each.block_id).reinforcements for each in blocks] == [1] * 100
    assert memory.verify().sound


def test_one_command_that_runs_twice_at_once_consolidates_once(opened: Open) -> None:
    memory = opened(embedder=Meeting(2))
    seats = [memory.seat(actor="ines") for _ in range(2)]
    memory.learn_many([f"note {n}" for n in range(100)])
    one, two = together(*(lambda seat=seat: seat.consolidate(command_id="c") for seat in seats))
    assert one == two == memory.consolidate(command_id="c")
    assert (memory.status().active, memory.status().inbox) == (100, 0)


def test_a_command_whose_twin_took_more_is_answered_as_it_stands_in_the_log(opened: Open) -> None:
    slow = Interrupted()
    memory = opened(embedder=slow)
    one, two = memory.seat(actor="ines"), memory.seat(actor="ines")
    memory.learn("the harbour gate")

    def meanwhile() -> None:
        memory.learn("the harbour crane")
        two.consolidate(command_id="c")

    slow.meanwhile = meanwhile
    done = one.consolidate(command_id="c")
    assert (done.promoted, done.chunks) == (2, 1)
    assert done == memory.consolidate(command_id="c")


def test_one_recall_that_runs_twice_at_once_is_one_decision(opened: Open) -> None:
    memory = opened(embedder=Meeting(2))
    memory.learn("the harbour gate")
    memory.learn("the harbour crane")
    together(memory.seat(actor="a").consolidate, memory.seat(actor="b").consolidate)
    one, two = together(
        lambda: memory.seat(actor="ines").recall("harbour", command_id="r"),
        lambda: memory.seat(actor="ines").recall("harbour", command_id="r"),
    )
    assert one == two
    assert memory.status().decisions == 1


def test_one_start_that_runs_twice_at_once_is_one_session(memory: SyncMemory) -> None:
    one, two = memory.seat(actor="ines"), memory.seat(actor="ines")
    first, second = together(
        *(lambda seat=seat: seat.start_session(command_id="s") for seat in (one, two))
    )
    assert first == second
    one.learn("a")
    two.learn("b")
    assert {each[2] for each in written(memory)} == {first.session_id}  # type: ignore[attr-defined]


def test_a_recall_goes_by_the_embedder_that_took_over_while_it_waited(opened: Open) -> None:
    gate = Gate()
    gate.opened.set()
    memory = opened(embedder=gate)
    memory.learn("the harbour gate")
    memory.consolidate()
    gate.opened.clear()
    gate.reached.clear()
    seat, found = memory.seat(actor="ines"), list[Any]()
    thread = threading.Thread(target=lambda: found.append(seat.recall("harbour gate")))
    thread.start()
    assert gate.reached.wait(PATIENCE_S)
    memory.reembed(HashEmbedder(32))
    gate.opened.set()
    thread.join()
    (answer,) = found
    assert memory.replay(answer.decision_id).recall == answer


def test_a_recall_whose_session_ends_while_it_waits_is_asked_without_one(opened: Open) -> None:
    gate = Gate()
    gate.opened.set()
    memory = opened(embedder=gate)
    seat = memory.seat(actor="ines")
    session = seat.start_session().session_id
    seat.learn("the harbour gate")
    seat.consolidate()
    memory.seat(actor="omar").start_session()  # the latest session, and nothing is learned in it
    gate.opened.clear()
    gate.reached.clear()
    found = list[Any]()
    thread = threading.Thread(
        target=lambda: found.append(seat.recall("harbour gate", frame="short_term"))
    )
    thread.start()
    assert gate.reached.wait(PATIENCE_S)
    memory.seat(actor="ines", session=session).end_session()
    gate.opened.set()
    thread.join()
    (answer,) = found
    assert answer.block_ids == ()
    assert memory.replay(answer.decision_id).recall == answer
    assert written(memory)[-1] == ("recall-recorded", "ines", None)


def test_what_one_seat_reembeds_is_asked_by_all(memory: SyncMemory) -> None:
    memory.learn("the harbour gate")
    seat, other = memory.seat(actor="ines"), memory.seat(actor="omar")
    seat.consolidate()
    seat.reembed(HashEmbedder(32))
    assert other.recall("harbour gate").block_ids == memory.recall("harbour gate").block_ids != ()


# --- async --------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_async_seats_run_beside_each_other(clock: ManualClock) -> None:
    # Both recalls meet in the embedder: one after the other they would never get there.
    meeting = Meeting(3)
    async with Memory.open(":memory:", embedder=meeting, clock=clock) as memory:
        await memory.learn("the harbour gate")
        seats = [await memory.seat(actor=actor) for actor in ("ines", "omar", "zoe")]
        async with anyio.create_task_group() as tasks:
            for seat in seats:
                tasks.start_soon(seat.recall, "harbour gate")
        actors = [each.actor for each in await memory.log() if each.kind == "recall-recorded"]
        assert sorted(str(actor) for actor in actors) == ["ines", "omar", "zoe"]


@pytest.mark.anyio
async def test_async_seats_go_on_with_sessions_and_close_alone(clock: ManualClock) -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder(), clock=clock) as memory:
        async with await memory.seat(actor="ines") as ines:
            session = (await ines.start_session()).session_id
            learned = await ines.learn("the harbour gate")
        with pytest.raises(Closed):
            await ines.status()
        again = await memory.seat(actor="ines", session=session)
        assert (again.last_learned_block_id, again.session_block_ids) == (None, ())
        assert (await again.block(learned.block_id)).content == "the harbour gate"
        with pytest.raises(MnemicError) as caught:
            await memory.seat(actor="omar", session=session)
        assert caught.value.code == "session-state"
        assert (await again.end_session()).session_id == session


@pytest.mark.anyio
async def test_closing_an_async_memory_waits_for_the_verbs_of_its_seats(path: Path) -> None:
    gate = Gate()
    async with Memory.open(path, embedder=gate, synchronous="normal") as memory:
        await memory.learn("pending")
        seat = await memory.seat(actor="ines")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(seat.consolidate)
            await gate.wait_until_reached()
            tasks.start_soon(memory.close)
            await anyio.wait_all_tasks_blocked()
            gate.opened.set()
        with pytest.raises(Closed):
            await seat.status()
    async with Memory.open(path, embedder=HashEmbedder()) as later:
        assert (await later.status()).active == 1


@pytest.mark.anyio
async def test_a_memory_that_was_never_opened_has_no_seats() -> None:
    with pytest.raises(Closed):
        await Memory.open(":memory:").seat(actor="ines")
