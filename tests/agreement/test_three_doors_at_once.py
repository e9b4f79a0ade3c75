"""An agent over MCP, one over HTTP and a person at the command line work in one space at once."""

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
from mnemic.kernel.results import Moment, ReplaySummary, Status
from tests.agreement.processes import PATIENCE_S, Commands, agent_over_http, agent_over_pipes

SUBJECTS = ("the gate", "the ferry", "the lamp", "the archive", "the orchard", "the tide table")
AT_ONCE = 2
"""Rounds that each agent does while the person's next command starts and runs."""
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
"""What a verb leaves in the log, once. What is promoted by the way stands under no verb."""
VERBS = {kind: verb for verb, kinds in KINDS.items() for kind in kinds}


@define
class Worker:
    """Somebody at one of the doors, and all that was acknowledged to them."""

    name: str
    door: Any
    answered: Callable[[], object] = lambda: None
    """Called after each thing that was done."""
    promised: dict[str, str] = Factory(dict)
    """Verbs by command id."""
    said: dict[str, str] = Factory(dict)
    """Words by the block that holds them."""

    def work(self, rounds: Iterable[int]) -> None:
        """Do everything that one does with a memory, again and again, in one session."""
        self.do("start_session")
        for number in rounds:
            subject = SUBJECTS[number % len(SUBJECTS)]
            words = f"{self.name} writes note {number} about {subject}."
            # Of two messages that are much alike, none takes the place of the other.
            mine = self.do("learn", words, category="message").block_id
            self.said[mine] = words
            found = self.do("recall", f"What is known about {subject}?")
            self.do("outcome", decision_id=found.decision_id, signal=0.9)
            other = next(each for each in found.block_ids if each != mine)
            self.do("connect", mine, other, "supports")
            made = self.do("compose", [mine, other], composition_id=f"{self.name}-{number}")
            self.do("label", made.composition_id, "helpful")
            self.do("consolidate")
        self.do("end_session")

    def do(self, verb: str, *args: Any, **named: Any) -> Any:
        """Do one thing, under an id of its own, and note that it was answered."""
        name = f"{self.name}-{len(self.promised)}"
        answer = getattr(self.door, verb)(*args, **named, command_id=name)
        self.promised[name] = verb
        self.answered()
        return answer


@frozen(kw_only=True)
class Afterwards:
    """What is there once all have done their work."""

    store: Path
    workers: tuple[Worker, ...]
    log: tuple[Moment, ...]
    heard: dict[tuple[str, str], str]
    """The last words of somebody (second), as somebody (first) reads them at their own door."""
    statuses: dict[str, Status]
    """By who asked for it, at their own door."""


@pytest.fixture(scope="module")
def afterwards(tmp_path_factory: pytest.TempPathFactory) -> Generator[Afterwards]:
    store = tmp_path_factory.mktemp("doors") / "agent.db"
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
            (one.name, other.name): found(one.door, other) for one in workers for other in workers
        }
        statuses = {worker.name: worker.door.status() for worker in workers}
        yield Afterwards(
            store=store, workers=workers, log=logged(store), heard=heard, statuses=statuses
        )


def together(workers: Sequence[Worker]) -> None:
    """Let the last one do one round, and the others some while each of its commands is run."""
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


def found(door: Any, other: Worker) -> str:
    """Return what a door says the last block of somebody holds."""
    return str(door.block(list(other.said)[-1]).content)


def logged(store: Path) -> tuple[Moment, ...]:
    """Return the whole log, as a reader that comes afterwards finds it."""
    with SyncMemory.open(store, read_only=True) as memory:
        return memory.log(limit=1000)


def test_the_log_is_sound(afterwards: Afterwards) -> None:
    with SyncMemory.open(afterwards.store, read_only=True) as memory:
        checked = memory.verify()
    assert (checked.sound, checked.events) == (True, len(afterwards.log))


def test_the_agents_were_at_work_while_the_person_was(afterwards: Afterwards) -> None:
    *_, person = afterwards.workers
    mine = [event.version for event in afterwards.log if event.actor == person.name]
    between = Counter(event.actor for event in afterwards.log[mine[0] : mine[-1]])
    assert min(between["ada"], between["ben"]) > len(mine)


def test_whatever_was_answered_stands_once_under_the_name_of_who_did_it(
    afterwards: Afterwards,
) -> None:
    stands = Counter(
        (event.actor, VERBS[event.kind])
        for event in afterwards.log
        if event.actor != "before" and event.kind in VERBS
    )
    promised = Counter(
        (worker.name, verb)
        for worker in afterwards.workers
        for verb in worker.promised.values()
        if verb in KINDS
    )
    assert stands == promised


def test_every_id_of_a_command_leads_to_events_of_its_own(afterwards: Afterwards) -> None:
    known = {name: verb for worker in afterwards.workers for name, verb in worker.promised.items()}
    with closing(SQLiteStore(afterwards.store, read_only=True)) as store:
        log = store.log("default")
        rows = {name: log.command(name) for name, verb in known.items() if verb in KINDS}
    found_there = {
        name: VERBS[afterwards.log[row.first].kind] for name, row in rows.items() if row is not None
    }
    assert found_there == {name: known[name] for name in rows}
    assert len({row.first for row in rows.values() if row is not None}) == len(rows)


def test_every_event_of_somebody_belongs_to_a_session_of_theirs(afterwards: Afterwards) -> None:
    begun = {event.session_id: event.actor for event in afterwards.log if event.kind == SESSION}
    actors = {(event.actor, begun.get(event.session_id, "nobody")) for event in afterwards.log}
    assert actors == {("before", "nobody"), ("ada", "ada"), ("ben", "ben"), ("ines", "ines")}


def test_every_decision_of_everybody_is_computed_again_as_it_was(afterwards: Afterwards) -> None:
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


def test_each_door_shows_what_was_said_at_the_others(afterwards: Afterwards) -> None:
    names = [worker.name for worker in afterwards.workers]
    last = {worker.name: list(worker.said.values())[-1] for worker in afterwards.workers}
    assert afterwards.heard == {(one, other): last[other] for one in names for other in names}


def test_each_door_tells_the_same_as_who_comes_afterwards(afterwards: Afterwards) -> None:
    with SyncMemory.open(afterwards.store, read_only=True) as memory:
        status = memory.status()
    assert afterwards.statuses == {worker.name: status for worker in afterwards.workers}
