"""Concurrent work in one space: an agent over MCP, one over HTTP, and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from attrs import Factory, define, frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.results import LogEntry, ReplaySummary, Status
from tests.agreement.interfaces.processes import (
    PATIENCE_S,
    Commands,
    agent_over_http,
    agent_over_pipes,
)

pytestmark = pytest.mark.extended

SUBJECTS = ("the gate", "the ferry", "the lamp", "the archive", "the orchard", "the tide table")
AT_ONCE = 2
"""Rounds of each agent while the person's next command starts and runs."""
PROMOTION = "blocks-promoted"
SESSION = "session-started"
KINDS = {
    "start_session": (SESSION,),
    "learn": ("block-learned",),
    "recall": ("recall-recorded",),
    "outcome": ("outcome-recorded",),
    "connect": ("edge-connected", "edge-deferred"),
    "compose": ("blocks-composed",),
    "label": ("composition-labelled",),
    "end_session": ("session-ended",),
}
"""The kinds of events of an operation, once each; promotions on the side belong to none."""
OPERATIONS = {kind: operation for operation, kinds in KINDS.items() for kind in kinds}


@define
class Worker:
    """A user of one interface, with all its acknowledged operations."""

    name: str
    interface: Any
    answered: Callable[[], object] = lambda: None
    """Called after each operation."""
    promised: dict[str, str] = Factory(dict)
    """Operations by command id."""
    said: dict[str, str] = Factory(dict)
    """Text by block."""

    def work(self, rounds: Iterable[int]) -> None:
        """Run rounds of all usual operations, in one session."""
        self.do("start_session")
        for number in rounds:
            subject = SUBJECTS[number % len(SUBJECTS)]
            words = f"{self.name} writes note {number} about {subject}."
            # Near-duplicate messages do not supersede each other.
            mine = self.do("learn", words, category="message").block_id
            self.said[mine] = words
            # A frame with no floor: blocks on other subjects are returned as well.
            found = self.do("recall", f"What is known about {subject}?", frame="attention")
            self.do("outcome", decision_id=found.decision_id, signal=0.9)
            other = next(each for each in found.block_ids if each != mine)
            self.do("connect", mine, other, "supports")
            made = self.do("compose", [mine, other], composition_id=f"{self.name}-{number}")
            self.do("label", made.composition_id, "helpful")
            self.do("consolidate")
        self.do("end_session")

    def do(self, operation: str, *args: Any, **named: Any) -> Any:
        """Run one operation, under an id of its own, and note that it was acknowledged."""
        name = f"{self.name}-{len(self.promised)}"
        answer = getattr(self.interface, operation)(*args, **named, command_id=name)
        self.promised[name] = operation
        self.answered()
        return answer


@frozen(kw_only=True)
class Afterwards:
    """The store after all users have finished."""

    store: Path
    workers: tuple[Worker, ...]
    log: tuple[LogEntry, ...]
    heard: dict[tuple[str, str], str]
    """The last text of the second user, as read by the first user at its own interface."""
    statuses: dict[str, Status]
    """By user, each at its own interface."""


@pytest.fixture(scope="module")
def afterwards(tmp_path_factory: pytest.TempPathFactory) -> Generator[Afterwards]:
    store = tmp_path_factory.mktemp("interfaces") / "agent.db"
    with SyncMemory.open(store, actor="before") as memory:
        memory.learn("There was a note before anybody came.", category="message")
    with (
        start_blocking_portal() as portal,
        agent_over_http(store, "ben") as ben,
        agent_over_pipes(store, "ada", portal) as ada,
    ):
        workers = (
            Worker("ada", ada),
            Worker("ben", ben),
            Worker("ines", Commands(store, "ines")),
        )
        together(workers)
        heard = {
            (one.name, other.name): found(one.interface, other)
            for one in workers
            for other in workers
        }
        statuses = {worker.name: worker.interface.status() for worker in workers}
        yield Afterwards(
            store=store, workers=workers, log=logged(store), heard=heard, statuses=statuses
        )


def together(workers: Sequence[Worker]) -> None:
    """Run one round of the last worker, and some of the others during each of its commands."""
    *agents, person = workers
    turns = [Semaphore(0) for _ in agents]

    def go_on() -> None:
        for each in turns:
            each.release(AT_ONCE)

    def in_turn(turn: Semaphore) -> Iterator[int]:
        for number in count():
            assert turn.acquire(timeout=PATIENCE_S)
            if gone.is_set():
                return
            yield number

    gone = Event()
    person.answered = go_on
    with ThreadPoolExecutor() as threads:
        working = [
            threads.submit(agent.work, in_turn(turn))
            for agent, turn in zip(agents, turns, strict=True)
        ]
        try:
            person.work(range(1))
        finally:
            gone.set()
            go_on()
        for each in working:
            each.result()


def found(interface: Any, other: Worker) -> str:
    """Return the content of the last block of another worker, as an interface returns it."""
    return str(interface.block(list(other.said)[-1]).content)


def logged(store: Path) -> tuple[LogEntry, ...]:
    """Return the whole log, as a later reader finds it."""
    with SyncMemory.open(store, read_only=True) as memory:
        return memory.log(limit=1000)


def test_the_log_is_sound(afterwards: Afterwards) -> None:
    with SyncMemory.open(afterwards.store, read_only=True) as memory:
        checked = memory.verify()
    assert (checked.sound, checked.events) == (True, len(afterwards.log))


def test_the_agents_worked_concurrently_with_the_person(afterwards: Afterwards) -> None:
    *_, person = afterwards.workers
    mine = [event.version for event in afterwards.log if event.actor == person.name]
    between = Counter(event.actor for event in afterwards.log[mine[0] : mine[-1]])
    assert min(between["ada"], between["ben"]) > len(mine)


def test_every_acknowledged_command_is_in_the_log_once_with_its_actor(
    afterwards: Afterwards,
) -> None:
    stands = Counter(
        (event.actor, OPERATIONS[event.kind])
        for event in afterwards.log
        if event.actor != "before" and event.kind in OPERATIONS
    )
    promised = Counter(
        (worker.name, operation)
        for worker in afterwards.workers
        for operation in worker.promised.values()
        if operation in KINDS
    )
    assert stands == promised


def test_every_command_id_has_events_of_its_own(afterwards: Afterwards) -> None:
    known = {
        name: operation
        for worker in afterwards.workers
        for name, operation in worker.promised.items()
    }
    with closing(SQLiteStore(afterwards.store, read_only=True)) as store:
        log = store.log("default")
        rows = {name: log.command(name) for name, operation in known.items() if operation in KINDS}
    found_there = {
        name: OPERATIONS[afterwards.log[row.first].kind]
        for name, row in rows.items()
        if row is not None
    }
    assert found_there == {name: known[name] for name in rows}
    assert len({row.first for row in rows.values() if row is not None}) == len(rows)


def test_every_event_belongs_to_a_session_of_its_actor(afterwards: Afterwards) -> None:
    begun = {event.session_id: event.actor for event in afterwards.log if event.kind == SESSION}
    actors = {
        (event.actor, begun.get(event.session_id, "nobody"))
        for event in afterwards.log
        if event.kind != PROMOTION  # on a slow machine some are of the hosts, in the background
    }
    assert actors == {("before", "nobody"), ("ada", "ada"), ("ben", "ben"), ("ines", "ines")}


def test_every_decision_of_all_actors_is_reproduced(afterwards: Afterwards) -> None:
    recalls = [event.version for event in afterwards.log if event.kind == "recall-recorded"]
    with SyncMemory.open(afterwards.store, read_only=True) as memory:
        again = memory.replay_all()
    assert again == ReplaySummary(
        decisions=len(recalls),
        reproduced=len(recalls),
        differs=0,
        sealed=0,
        retired=0,
        first_version=recalls[0],
        last_version=recalls[-1],
    )


def test_each_interface_shows_blocks_learned_through_the_others(afterwards: Afterwards) -> None:
    names = [worker.name for worker in afterwards.workers]
    last = {worker.name: list(worker.said.values())[-1] for worker in afterwards.workers}
    assert afterwards.heard == {(one, other): last[other] for one in names for other in names}


def test_each_interface_answers_like_a_later_reader(afterwards: Afterwards) -> None:
    with SyncMemory.open(afterwards.store, read_only=True) as memory:
        status = memory.status()
    assert afterwards.statuses == {worker.name: status for worker in afterwards.workers}
